"""Placement rules of reading and writing parts: by integers and slices, and by index arrays.

Along a sharded dimension each process reads, or writes, the positions in its shard: it reads zeros for the others, and
the sum over processes is pending.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy

from ..array import UFUNC_METHODS, WRITING, Sharded, apply, check_current, count_write, placed, store, unknown
from ..spec import Code, Spec, spec_of
from .ways import Ways, axis_of, mapped, rule, shape_of, whole, whole_axes, whole_key, write_into

np: Any = numpy


# --- by index arrays ------------------------------------------------------------------------------


def _here(places: list, dims: range, spec: Spec) -> tuple[list, Any]:
    """Return indices along some dimensions as indices into the local shard, and which of them are local; None if all
    are.
    """
    found, inside = [], None
    for place, d in zip(places, dims, strict=True):
        if d in spec.codes:
            n, start, length = spec.shape[d], spec.starts[d], spec.local_shape[d]
            if place.size and not -n <= place.min() <= place.max() < n:
                raise IndexError(f"index out of bounds for axis {d} with size {n}")
            place = np.where(place < 0, place + n, place) - start
            mask = (place >= 0) & (place < length)
            inside = mask if inside is None else inside & mask
        found.append(place)
    if inside is not None:
        found = [np.where(inside, place, 0) for place in found]
    return found, inside


def _arrays_of(key: Any, ndim: int) -> tuple[int, list] | None:
    """Return the first dimension and the arrays of a key that indexes neighbouring dimensions by integer arrays, and
    takes all of the others; None for other keys.
    """
    parts = list(key) if type(key) is tuple else [key]
    first = next((k for k, each in enumerate(parts) if not isinstance(each, slice)), len(parts))
    last = max((k + 1 for k, each in enumerate(parts) if not isinstance(each, slice)), default=0)
    arrays = parts[first:last]
    if not arrays or last > ndim or any(each != slice(None) for each in [*parts[:first], *parts[last:]]):
        return None
    if all(getattr(getattr(each, "dtype", None), "kind", "") in ("i", "u") for each in arrays):
        return first, arrays
    return None


def _taken(x: Any, first: int, arrays: list) -> Any:
    """Return ``x[:, ..., arrays, :, ...]``, with the arrays at dimension ``first``."""
    shapes = [shape_of(a) for a in arrays]
    shape, count = np.broadcast_shapes(*shapes), len(arrays)
    rank, block = len(shape), range(first, first + count)
    none = (None,) * count

    def ways() -> Ways:
        yield None, (None, *none)
        yield "sum", ("sum", *none)
        for d in range(x.ndim):
            if d not in block:
                yield (d if d < first else d - count + rank), (d, *none)
            elif x.dtype.kind != "b":
                yield "sum", (d, *none)
        for e in range(rank):
            places = [e - rank + len(s) for s in shapes]
            if shape[e] != 1:
                ins = [p if p >= 0 and s[p] == shape[e] else None for p, s in zip(places, shapes, strict=True)]
                yield first + e, (None, *ins)

    def call(parts: list, plan: Any) -> Any:
        local = parts[0]
        places, inside = _here(parts[1:], block, spec_of(plan.mesh, plan.codes[0], x.shape))
        if inside is None:
            return local[(*(slice(None),) * first, *places)]
        inside = np.broadcast_to(inside, np.broadcast_shapes(*[p.shape for p in places]))
        if not all(local.shape[d] for d in block):
            return np.zeros((*local.shape[:first], *inside.shape, *local.shape[first + count :]), local.dtype)
        picked = local[(*(slice(None),) * first, *places)]
        return np.where(inside.reshape(inside.shape + (1,) * (x.ndim - first - count)), picked, picked.dtype.type(0))

    return apply(("places", first, count, x.dtype.kind), [x, *arrays], ways, call)


def _put(target: Sharded, first: int, arrays: list, value: Any, write: Callable) -> bool:
    """Call ``write(target, key, value)`` on the local shard; return whether that is possible: not into pending sums."""
    spec, count = target.spec, len(arrays)
    if spec.partial:
        return False
    block = range(first, first + count)
    places, inside = _here([whole(a) for a in arrays], block, spec)
    shape = np.broadcast_shapes(*[p.shape for p in places])
    if shape_of(value):
        rank = len(shape)
        value = np.broadcast_to(value, (*spec.shape[:first], *shape, *spec.shape[first + count :]))
        moved: list[Code] = [
            None if code in block else code if code is None or code < first else code - count + rank  # type: ignore[operator]
            for code in spec.codes
        ]
        value = placed(value, spec.mesh, tuple(moved))
    if inside is not None:
        inside = np.broadcast_to(inside, shape)
        places = [np.broadcast_to(p, shape)[inside] for p in places]
        value = value[(*(slice(None),) * first, inside)] if shape_of(value) else value
    write(target.local, (*(slice(None),) * first, *places), value)
    count_write(target)
    return True


@rule(np.take)
def _take(a: Any, indices: Any, axis: Any = None, out: Any = None, mode: str = "raise") -> Any:
    if axis is None:
        a, axis = np.ravel(a), 0
    axis = axis_of(axis, a.ndim)
    places = np.asarray(indices) if not isinstance(indices, Sharded) else indices
    if mode != "raise":
        n = a.shape[axis]
        places = np.clip(places, 0, n - 1) if mode == "clip" else places % n
    found = _taken(a, axis, [places])
    if out is None:
        return found
    write_into(out, found)
    return out


@rule(np.take_along_axis)
def _take_along(arr: Any, indices: Any, axis: Any = -1) -> Any:
    if axis is None:
        return unknown(np.take_along_axis, (arr, indices, axis), {}, "numpy.take_along_axis")
    axis = axis_of(axis, arr.ndim)

    def ways() -> Ways:
        yield from whole_axes([arr.shape, indices.shape], (axis,))
        yield "sum", ("sum", None)
        if arr.dtype.kind != "b":
            yield "sum", (axis, None)

    def call(parts: list, plan: Any) -> Any:
        local = parts[0]
        (place,), inside = _here(parts[1:], range(axis, axis + 1), spec_of(plan.mesh, plan.codes[0], arr.shape))
        if inside is None:
            return np.take_along_axis(local, place, axis)
        if not local.shape[axis]:
            return np.zeros(place.shape, local.dtype)
        return np.where(inside, np.take_along_axis(local, place, axis), local.dtype.type(0))

    return apply(("take_along_axis", axis, arr.dtype.kind), [arr, indices], ways, call)


@rule(np.put_along_axis)
def _put_along(arr: Any, indices: Any, values: Any, axis: Any) -> None:
    axis = axis_of(axis, arr.ndim)
    check_current(arr)
    codes = arr.spec.codes
    if arr.spec.partial or any(indices.shape[d] != arr.shape[d] for d in codes if type(d) is int and d != axis):
        unknown(np.put_along_axis, (arr, indices, values, axis), {}, "numpy.put_along_axis")
        return
    parts = tuple([None if code == axis else code for code in codes])
    here = placed(indices, arr.spec.mesh, parts)
    if shape_of(values):
        values = placed(np.broadcast_to(values, indices.shape), arr.spec.mesh, parts)
    (place,), inside = _here([here], range(axis, axis + 1), arr.spec)
    if inside is None:
        np.put_along_axis(arr.local, place, values, axis)
    else:
        grid = [np.broadcast_to(g, place.shape)[inside] for g in np.ogrid[tuple([slice(n) for n in place.shape])]]
        grid[axis] = place[inside]
        arr.local[tuple(grid)] = values[inside] if shape_of(values) else values
    count_write(arr)


def _added_at(ufunc: Any, inputs: tuple, kwargs: dict) -> None:
    target, key, *values = inputs
    check_current(target)
    found = _arrays_of(key, target.ndim)
    if found is not None and values and _put(target, *found, values[0], ufunc.at):
        return
    everything = whole(target).copy()
    ufunc.at(everything, whole_key(key), *[whole(v) for v in values])
    store(target, everything)


UFUNC_METHODS["at"] = _added_at


# --- by integers and slices -----------------------------------------------------------------------


def _plain_key(key: Any, shape: tuple) -> tuple | None:
    """Return a key of integers, slices, None and an ellipsis, with every dimension spelled out; None for other keys."""
    parts = key if type(key) is tuple else (key,)
    for each in parts:
        if isinstance(each, bool) or not isinstance(each, (slice, int, numpy.integer, type(None), type(Ellipsis))):
            return None
    used = sum(1 for each in parts if each is not None and each is not Ellipsis)
    if used > len(shape):
        raise IndexError(f"too many indices for array: array is {len(shape)}-dimensional, but {used} were indexed")
    rest = (slice(None),) * (len(shape) - used)
    place = next((k for k, each in enumerate(parts) if each is Ellipsis), len(parts))
    return (*parts[:place], *rest, *parts[place + 1 :])


def _key_dims(key: tuple, shape: tuple) -> list[int | None]:
    """Return, for each dimension of the result, the dimension of the array, if it is all of one."""
    dims: list[int | None] = []
    d = 0
    for each in key:
        if each is None:
            dims.append(None)
            continue
        if isinstance(each, slice):
            dims.append(d if each.indices(shape[d]) == (0, shape[d], 1) else None)
        d += 1
    return dims


def _local_key(each: Any, dim: int | None) -> Any:
    return slice(None) if dim is not None else each


@rule("getitem")
def _getitem(x: Sharded, key: Any) -> Any:
    plain = _plain_key(key, x.shape)
    if plain is None:
        found = _arrays_of(key, x.ndim)
        if found is not None:
            return _taken(x, *found)
        return unknown(lambda a, k: a[k], (x, key if type(key) is tuple else (key,)), {}, "indexing by arrays")
    dims = _key_dims(plain, x.shape)
    static = tuple([(s.start, s.stop, s.step) if isinstance(s, slice) else s for s in plain])
    for d, each in zip([k for k in range(len(plain)) if plain[k] is not None], x.shape, strict=False):
        if not isinstance(plain[d], slice) and not -each <= plain[d] < each:
            raise IndexError(f"index {plain[d]} is out of bounds for axis with size {each}")
    # of a dimension in parts, all of it is all that is here
    kept = iter(dims)
    here = tuple([k if isinstance(k, (int, numpy.integer)) else _local_key(k, next(kept)) for k in plain])
    return apply(("getitem", static), [x], lambda: mapped(dims), lambda parts, plan: parts[0][(*here, ...)], view=True)


@rule("setitem")
def _setitem(x: Sharded, key: Any, value: Any) -> None:
    check_current(x)
    plain = _plain_key(key, x.shape)
    if plain is not None:
        if all(isinstance(k, slice) and k == slice(None) for k in plain):
            store(x, value)
            return
        dims = _key_dims(plain, x.shape)
        if all(code is None or code in dims for code in x.spec.codes):
            target = _getitem(x, plain)  # in the same memory
            store(target, value)
            return
    elif (found := _arrays_of(key, x.ndim)) is not None and _put(x, *found, value, _written):
        return
    if not x.spec.whole and plain is None:
        unknown(_written, (x, key, value), {}, "writing to places given by arrays")
        return
    everything = whole(x)
    everything = everything if everything is x.local else everything.copy()
    everything[whole_key(key)] = whole(value)
    if everything is not x.local:
        store(x, everything)
    else:
        count_write(x)


def _written(x: Any, key: Any, value: Any) -> None:
    x[key] = value


WRITING.add(_written)


@rule(np.copyto)
def _copyto(dst: Any, src: Any, casting: str = "same_kind", where: Any = True) -> None:
    if where is not True:
        src = np.where(where, src, dst)
    write_into(dst, src)
