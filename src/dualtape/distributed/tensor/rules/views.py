"""Placement rules of functions that move elements and change none: views, and joining."""

from __future__ import annotations

from math import prod
from operator import index
from typing import Any

import numpy

from ....arrays.kernels.repeats import check_repeats, check_tile
from ..array import Sharded, apply
from .ways import Ways, along, axes_of, axis_of, mapped, rule, whole, whole_axes, write_into

np: Any = numpy

# --- views ----------------------------------------------------------------------------------------


@rule(np.transpose)
def _transpose(x: Any, axes: Any = None) -> Any:
    order = tuple(reversed(range(x.ndim))) if axes is None else tuple([axis_of(a, x.ndim) for a in axes])
    return apply(
        ("transpose", order), [x], lambda: mapped(order), lambda parts, plan: parts[0].transpose(order), view=True
    )


@rule(np.moveaxis)
def _moveaxis(x: Any, source: Any, destination: Any) -> Any:
    froms, tos = axes_of(source, x.ndim), axes_of(destination, x.ndim)
    order = [d for d in range(x.ndim) if d not in froms]
    for to, axis in sorted(zip(tos, froms, strict=True)):
        order.insert(to, axis)
    return np.transpose(x, order)


@rule(np.swapaxes)
def _swapaxes(x: Any, axis1: Any, axis2: Any) -> Any:
    order = list(range(x.ndim))
    a, b = axis_of(axis1, x.ndim), axis_of(axis2, x.ndim)
    order[a], order[b] = b, a
    return np.transpose(x, order)


@rule(np.expand_dims)
def _expand_dims(x: Any, axis: Any) -> Any:
    places = axis if isinstance(axis, (tuple, list)) else (axis,)
    rank = x.ndim + len(places)
    new = {axis_of(a, rank) for a in places}
    old = iter(range(x.ndim))
    dims = [None if d in new else next(old) for d in range(rank)]
    return apply(
        ("expand_dims", tuple(dims)),
        [x],
        lambda: mapped(dims),
        lambda parts, plan: np.expand_dims(parts[0], tuple(new)),
        view=True,
    )


@rule(np.squeeze)
def _squeeze(x: Any, axis: Any = None) -> Any:
    gone = tuple([d for d in range(x.ndim) if x.shape[d] == 1]) if axis is None else axes_of(axis, x.ndim)
    for d in gone:
        if x.shape[d] != 1:
            raise ValueError("cannot select an axis to squeeze out which has size not equal to one")
    dims = [d for d in range(x.ndim) if d not in gone]
    return apply(
        ("squeeze", gone), [x], lambda: mapped(dims), lambda parts, plan: np.squeeze(parts[0], gone), view=True
    )


@rule(np.broadcast_to)
def _broadcast_to(x: Any, shape: Any, **kwargs: Any) -> Any:
    shape = tuple(shape) if isinstance(shape, (tuple, list)) else (shape,)
    lead = len(shape) - x.ndim
    dims = [d - lead if d >= lead and x.shape[d - lead] == n else None for d, n in enumerate(shape)]
    np.broadcast_shapes(x.shape, shape)

    def call(parts: list, plan: Any) -> Any:
        codes = plan.outs[0][0]
        sizes = [parts[0].shape[d] if d is not None and new in codes else shape[new] for new, d in enumerate(dims)]
        return np.broadcast_to(parts[0], tuple(sizes))

    return apply(("broadcast_to", shape), [x], lambda: mapped(dims), call, view=True)


def _regrouped(old: tuple, new: tuple, count: int) -> Ways:
    """Return the dimensions that a reshape keeps, and those that lead others they are evenly merged with or split
    into.
    """
    yield from mapped([None] * len(new))
    i = j = 0
    while i < len(old) and j < len(new):
        if old[i] != new[j] and 1 in (old[i], new[j]):  # a length of one joins nothing
            i, j = i + (old[i] == 1), j + (new[j] == 1)
            continue
        ends_i, ends_j = i + 1, j + 1
        a, b = old[i], new[j]
        while a != b and (ends_i < len(old) or ends_j < len(new)):
            if a < b and ends_i < len(old) or ends_j == len(new):
                a *= old[ends_i] if ends_i < len(old) else 1
                ends_i += 1
            else:
                b *= new[ends_j]
                ends_j += 1
            if ends_i > len(old) or ends_j > len(new):
                return
        if (
            ends_i == i + 1
            and ends_j == j + 1
            and old[i] == new[j]
            or (old[i] > 1 and new[j] > 1 and not old[i] % count and not new[j] % count)
        ):
            yield j, (i,)
        i, j = ends_i, ends_j


@rule(np.reshape)
def _reshape(x: Any, /, shape: Any = None, order: str = "C", **kwargs: Any) -> Any:
    sizes = [index(n) for n in (shape if isinstance(shape, (tuple, list)) else (shape,))]
    rest = prod([n for n in sizes if n != -1])
    if -1 in sizes:
        if sizes.count(-1) > 1 or not rest or x.size % rest:
            raise ValueError(f"cannot reshape array of size {x.size} into shape {tuple(sizes)}")
        sizes[sizes.index(-1)] = x.size // rest
    elif rest != x.size:
        raise ValueError(f"cannot reshape array of size {x.size} into shape {tuple(sizes)}")
    target = tuple(sizes)
    mesh = x.spec.mesh

    def call(parts: list, plan: Any) -> Any:
        lengths = list(target)
        for k, code in enumerate(plan.outs[0][0]):
            if type(code) is int:
                place = plan.codes[0][k]
                if parts[0].shape[place] and x.shape[place]:
                    lengths[code] = target[code] * parts[0].shape[place] // x.shape[place]
                else:
                    lengths[code] = 0
        return parts[0].reshape(tuple(lengths))

    return apply(("reshape", target), [x], lambda: _regrouped(x.shape, target, prod(mesh.shape)), call, True, target)


@rule(np.ravel)
def _ravel(x: Any, order: str = "C") -> Any:
    return np.reshape(x, (x.size,))


@rule(np.atleast_1d)
def _atleast_1d(x: Any) -> Any:
    return x if x.ndim else np.reshape(x, (1,))


@rule("view")
def _view_as(x: Sharded, dtype: Any) -> Any:
    same = numpy.dtype(dtype).itemsize == x.itemsize
    dims = [d if same or d < x.ndim - 1 else None for d in range(x.ndim)]
    pending = not same or numpy.dtype(dtype).kind != x.dtype.kind

    def ways() -> Ways:
        for out, ins in mapped(dims):
            if type(out) is not str or not pending:
                yield out, ins

    return apply(("view", str(numpy.dtype(dtype))), [x], ways, lambda parts, plan: parts[0].view(dtype), view=True)


@rule("pairs")
def _pairs(x: Sharded) -> Any:
    def call(parts: list, plan: Any) -> Any:
        local = parts[0].real
        return numpy.lib.stride_tricks.as_strided(local, (*local.shape, 2), (*local.strides, local.itemsize))

    return apply("pairs", [x], lambda: mapped([*range(x.ndim), None]), call, view=True)


@rule(np.diagonal)
def _diagonal(x: Any, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Any:
    gone = (axis_of(axis1, x.ndim), axis_of(axis2, x.ndim))
    dims = [*[d for d in range(x.ndim) if d not in gone], None]
    return apply(
        ("diagonal", offset, gone),
        [x],
        lambda: mapped(dims),
        lambda parts, plan: _writable(np.diagonal(parts[0], offset, *gone), parts[0]),
        view=True,
    )


def _writable(view: Any, of: Any) -> Any:
    """Return NumPy's read-only view as a writable one."""
    if isinstance(view, numpy.ndarray):
        view.flags.writeable = of.flags.writeable
    return view


@rule(np.flip)
def _flip(m: Any, axis: Any = None) -> Any:
    axes = axes_of(axis, m.ndim)
    return apply(
        ("flip", axes),
        [m],
        lambda: mapped([None if d in axes else d for d in range(m.ndim)]),
        lambda parts, plan: np.flip(parts[0], axes),
        view=True,
    )


@rule(np.roll)
def _roll(x: Any, shift: Any, axis: Any = None) -> Any:
    if axis is None:
        return np.reshape(np.roll(np.ravel(x), shift, 0), x.shape)
    axes = axes_of(axis, x.ndim)
    return along(
        "roll",
        [x],
        axes,
        lambda a: np.roll(a, shift, axes if isinstance(shift, (tuple, list)) else axes[0]),
        str(shift),
        linear=True,
    )


# --- joining --------------------------------------------------------------------------------------


@rule(np.concatenate)
def _concatenate(arrays: Any, axis: Any = 0, out: Any = None, **kwargs: Any) -> Any:
    items = list(arrays)
    axis = axis_of(axis, items[0].ndim)
    found = apply(
        ("concatenate", axis),
        items,
        lambda: whole_axes([x.shape for x in items], (axis,), linear=True),
        lambda parts, plan: np.concatenate(parts, axis),
    )
    if out is None:
        return found
    write_into(out, found)
    return out


@rule(np.stack)
def _stack(arrays: Any, axis: Any = 0, out: Any = None, **kwargs: Any) -> Any:
    return _concatenate([np.expand_dims(x, axis_of(axis, x.ndim + 1)) for x in arrays], axis, out)


@rule(np.tile)
def _tile(x: Any, reps: Any) -> Any:
    reps = tuple(reps) if isinstance(reps, (tuple, list)) else (reps,)
    rank = max(x.ndim, len(reps))
    counts = (1,) * (rank - len(reps)) + reps
    check_tile("tile", x.shape, reps)
    dims = [d - rank + x.ndim if d >= rank - x.ndim and counts[d] == 1 else None for d in range(rank)]
    return apply(("tile", reps), [x], lambda: mapped(dims), lambda parts, plan: np.tile(parts[0], reps))


@rule(np.repeat)
def _repeat(a: Any, repeats: Any, axis: Any = None) -> Any:
    if axis is None:
        a, axis = np.ravel(a), 0
    axis = axis_of(axis, a.ndim)
    counts = whole(repeats)
    check_repeats("repeat", a.shape[axis], counts)
    return along("repeat", [a], (axis,), lambda x: np.repeat(x, counts, axis), str(counts), linear=True)
