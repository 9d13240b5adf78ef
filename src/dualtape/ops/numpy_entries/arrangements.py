"""NumPy's functions that rearrange elements (joins, splits, repetitions, padding) and that write elements.

Where an op has the same meaning it is called. Otherwise NumPy rearranges the *indices* of the elements, and the result
is gathered by them: every option has NumPy's meaning, and the derivative is that of indexing.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.lib.array_utils import normalize_axis_index

from ..._tensor.tensor import Tensor, new_tensor, raw, wrap
from ...arrays.kernels.repeats import check_repeats, check_tile
from ...pytree import tree_flatten, tree_map, tree_unflatten
from ..dispatch import FUNCTIONS
from . import as_arrays
from .registry import axes_of, entry, op, plain, tensor
from .vocabulary import _broadcast_to, _concatenate, _full_like, _reshape

# --- elements moved, by their indices -------------------------------------------------------------


def moved(arrange: Callable, *values: Any) -> Any:
    """Return ``arrange(*values)``, computed by rearranging indices."""
    tensors = [tensor(v) for v in values]
    places, start = [], 0
    for x in tensors:
        size = x._array.size
        places.append(np.arange(start, start + size).reshape(x._array.shape))
        start += size
    flat = tensors[0].reshape(-1) if len(tensors) == 1 else FUNCTIONS["cat"]([x.reshape(-1) for x in tensors])
    return tree_map(lambda index: flat[wrap(np.asarray(index))], arrange(*places))


def _moving(numpy: Callable, *parameters: str) -> None:
    """Return an entry for a function that moves the elements of its first arguments."""

    @entry(numpy)
    def arranged(*args: Any, **kwargs: Any) -> Any:
        args = (*args, *(kwargs.pop(name) for name in parameters[len(args) :] if name in kwargs))
        count = len(parameters)
        rest, options = as_arrays(numpy, args[count:]), as_arrays(numpy, kwargs)
        return moved(lambda *places: numpy(*places, *rest, **options), *args[:count])


for _numpy in (np.resize, np.delete, np.rot90, np.fliplr, np.flipud):
    _moving(_numpy, {np.fliplr: "m", np.flipud: "m", np.rot90: "m", np.delete: "arr"}.get(_numpy, "a"))


@entry(np.tile)
def _tile(A: Any, reps: Any) -> Any:
    counts = np.atleast_1d(raw(reps))
    if counts.dtype.kind in "iuO":
        check_tile("tile", tensor(A)._array.shape, counts.tolist())
    return moved(lambda places: np.tile(places, raw(reps)), A)


@entry(np.repeat)
def _repeat(a: Any, repeats: Any, axis: int | None = None) -> Any:
    array, counts = tensor(a)._array, raw(repeats)
    n = array.size if axis is None else array.shape[normalize_axis_index(axis, array.ndim)]
    check_repeats("repeat", n, np.asarray(counts) if isinstance(counts, (list, tuple)) else counts)
    return moved(lambda places: np.repeat(places, counts, axis), a)


@entry(np.take)
def _take(a: Any, indices: Any, axis: int | None = None, out: None = None, mode: Any = "raise") -> Any:
    return moved(lambda places: np.take(places, raw(indices), axis, mode=mode), a)


@entry(np.append)
def _append(arr: Any, values: Any, axis: int | None = None) -> Any:
    return _concatenate((tensor(arr), tensor(values)), axis)


@entry(np.insert)
def _insert(arr: Any, obj: Any, values: Any, axis: int | None = None) -> Any:
    arr = tensor(arr)
    return moved(lambda a, v: np.insert(a, raw(obj), v, axis), arr, tensor(values).to(arr.dtype))


@entry(np.block)
def _block(arrays: Any) -> Any:
    leaves, spec = tree_flatten(arrays)
    return moved(lambda *places: np.block(tree_unflatten(list(places), spec)), *leaves)


@entry(np.choose)
def _choose(a: Any, choices: Any, out: None = None, mode: Any = "raise") -> Any:
    return moved(lambda *places: np.choose(raw(a), places, mode=mode), *choices)


@entry(np.select)
def _select(condlist: Any, choicelist: Any, default: Any = 0) -> Any:
    conditions = [np.asarray(raw(c)) for c in condlist]
    return moved(lambda *places: np.select(conditions, places[:-1], places[-1]), *choicelist, default)


@entry(np.compress)
def _compress(condition: Any, a: Any, axis: int | None = None, out: None = None) -> Any:
    return moved(lambda places: np.compress(raw(condition), places, axis), a)


@entry(np.extract)
def _extract(condition: Any, arr: Any) -> Any:
    return moved(lambda places: np.extract(raw(condition), places), arr)


@entry(np.trim_zeros)
def _trim_zeros(filt: Any, trim: str = "fb", axis: Any = None) -> Any:
    mask = np.asarray(raw(filt)) != 0
    index = [slice(None)] * filt.ndim
    for one in axes_of(axis, filt.ndim):
        found = np.nonzero(mask.any(tuple(d for d in range(filt.ndim) if d != one)))[0]
        if not found.size:
            index[one] = slice(0, 0)
            continue
        start = int(found[0]) if "f" in trim.lower() else 0
        index[one] = slice(start, int(found[-1]) + 1 if "b" in trim.lower() else None)
    return filt[tuple(index)]


_MOVED_PADS = ("edge", "reflect", "symmetric", "wrap")


@entry(np.pad)
def _pad(array: Any, pad_width: Any, mode: Any = "constant", **kwargs: Any) -> Any:
    x = tensor(array)
    if mode in _MOVED_PADS and kwargs.get("reflect_type", "even") == "even":
        return moved(lambda places: np.pad(places, pad_width, mode, **kwargs), x)
    if mode not in ("constant", "empty"):
        if not x.requires_grad:
            return new_tensor(np.pad(*as_arrays(np.pad, (x, pad_width, mode)), **as_arrays(np.pad, kwargs)))
        raise TypeError(f"np.pad on tensors: mode={mode!r} is not supported, only constant, {', '.join(_MOVED_PADS)}")
    values = kwargs.pop("constant_values", 0)
    if kwargs:
        raise ValueError(f"unsupported keyword arguments for mode '{mode}': {set(kwargs)}")
    fills, spec = tree_flatten(values if isinstance(values, (list, tuple)) else [values])
    fills = [tensor(fill).to(x.dtype) for fill in fills]
    sizes = [0, *np.cumsum([x._array.size, *(fill._array.size for fill in fills)])]
    starts = tree_unflatten([int(start) for start in sizes[1:-1]], spec)
    return moved(lambda places, *_: np.pad(places, pad_width, constant_values=starts), x, *fills)


# --- elements written, by their indices -----------------------------------------------------------


def _writing(numpy: Callable, target: Any, write: Callable, *values: Any) -> None:
    """Let ``write`` store the elements of ``values`` in ``target``."""
    if not isinstance(target, Tensor):
        write(target, *as_arrays(numpy, values))
        return
    sources = [tensor(v).to(target.dtype) for v in values]

    def places(*arrays: np.ndarray) -> np.ndarray:
        write(arrays[0], *arrays[1:])
        return arrays[0]

    target.copy_(moved(places, target, *sources))


@entry(np.put)
def _put(a: Any, ind: Any, v: Any, mode: Any = "raise") -> None:
    _writing(np.put, a, lambda a, v: np.put(a, raw(ind), v, mode), v)


@entry(np.place)
def _place(arr: Any, mask: Any, vals: Any) -> None:
    _writing(np.place, arr, lambda a, v: np.place(a, raw(mask), v), vals)


@entry(np.putmask)
def _putmask(a: Any, mask: Any, values: Any) -> None:
    _writing(np.putmask, a, lambda a, v: np.putmask(a, raw(mask), v), values)


@entry(np.put_along_axis)
def _put_along_axis(arr: Any, indices: Any, values: Any, axis: int | None) -> None:
    _writing(np.put_along_axis, arr, lambda a, v: np.put_along_axis(a, raw(indices), v, axis), values)


@entry(np.fill_diagonal)
def _fill_diagonal(a: Any, val: Any, wrap: bool = False) -> None:
    _writing(np.fill_diagonal, a, lambda a, v: np.fill_diagonal(a, v, wrap), val)


@entry(np.copyto)
def _copyto(dst: Any, src: Any, casting: Any = "same_kind", where: Any = True) -> None:
    if not np.can_cast(np.dtype(tensor(src).dtype), np.dtype(dst.dtype), casting):
        raise TypeError(
            f"np.copyto: cannot cast from {tensor(src).dtype} to {dst.dtype} according to the rule {casting!r}"
        )
    _writing(np.copyto, dst, lambda a, v: np.copyto(a, v, where=raw(where)), src)


# --- joins and splits -----------------------------------------------------------------------------


def _stacking(numpy: Callable, least: str, axis: Callable[[list], int]) -> None:
    @entry(numpy)
    def stacked(tup: Any, *, dtype: Any = None, casting: str = "same_kind") -> Any:
        parts = [op(least)(tensor(one)) for one in tup]
        return _concatenate(parts, axis(parts), dtype=dtype, casting=casting)


_stacking(np.hstack, "atleast_1d", lambda parts: 0 if parts[0].ndim == 1 else 1)
_stacking(np.vstack, "atleast_2d", lambda parts: 0)
_stacking(np.dstack, "atleast_3d", lambda parts: 2)


@entry(np.column_stack)
def _column_stack(tup: Any) -> Any:
    return _concatenate([one.reshape(-1, 1) if one.ndim < 2 else one for one in map(tensor, tup)], 1)


def _split_points(x: Tensor, sections: Any, axis: int) -> list[int]:
    size = x._array.shape[axis]
    if not isinstance(sections, (int, np.integer)):
        return [int(point) for point in raw(sections)]
    if sections <= 0:
        raise ValueError("number sections must be larger than 0.")
    each, more = divmod(size, int(sections))
    return np.cumsum([each + (k < more) for k in range(int(sections) - 1)], dtype=int).tolist()


@entry(np.array_split)
def _array_split(ary: Any, indices_or_sections: Any, axis: int = 0) -> list:
    points = _split_points(ary, indices_or_sections, axis)
    index: Sequence = (slice(None),) * (axis % ary.ndim)
    return [ary[(*index, slice(a, b))] for a, b in zip([0, *points], [*points, None], strict=True)]


@entry(np.split)
def _split(ary: Any, indices_or_sections: Any, axis: int = 0) -> list:
    if isinstance(indices_or_sections, (int, np.integer)) and ary._array.shape[axis] % indices_or_sections:
        raise ValueError("array split does not result in an equal division")
    return _array_split(ary, indices_or_sections, axis)


def _splitting(numpy: Callable, axis: Callable[[Any], int], least: int) -> None:
    @entry(numpy)
    def pieces(ary: Any, indices_or_sections: Any) -> list:
        if ary.ndim < least:
            raise ValueError(f"{numpy.__name__} only works on arrays of {least} or more dimensions")
        return _split(ary, indices_or_sections, axis(ary))


_splitting(np.hsplit, lambda ary: 1 if ary.ndim > 1 else 0, 1)
_splitting(np.vsplit, lambda ary: 0, 2)
_splitting(np.dsplit, lambda ary: 2, 3)


@entry(getattr(np, "unstack", None))
def _unstack(x: Any, /, *, axis: int = 0) -> tuple:
    if x.ndim == 0:
        raise ValueError("Input array must be at least 1-d.")
    return tuple(x.unbind(axis))


# --- shapes ---------------------------------------------------------------------------------------


def _at_least(numpy: Callable) -> None:
    @entry(numpy)
    def at_least(*arys: Any) -> Any:
        found = tuple(op(numpy.__name__)(tensor(one)) for one in arys)
        return found[0] if len(found) == 1 else found


for _least in (np.atleast_1d, np.atleast_2d, np.atleast_3d):
    _at_least(_least)


@entry(np.broadcast_arrays)
def _broadcast_arrays(*args: Any, subok: bool = False) -> tuple:  # a subclass is what tensors keep anyway
    given = [_tensor_or_array(one) for one in args]
    shape = np.broadcast_shapes(*(x.shape for x in given))
    return tuple(_broadcast_to(x, shape) if isinstance(x, Tensor) else np.broadcast_to(x, shape) for x in given)


def _tensor_or_array(value: Any) -> Any:
    """Return ``value`` as a tensor; as an array if a tensor cannot hold it (text, objects: matplotlib has some)."""
    try:
        return tensor(value)
    except TypeError:
        if (array := np.asarray(value)).dtype.kind in "biufc":
            raise
        return array


@entry(np.meshgrid)
def _meshgrid(*xi: Any, copy: bool = True, sparse: bool = False, indexing: str = "xy") -> tuple:
    if indexing not in ("xy", "ij"):
        raise ValueError("Valid values for `indexing` are 'xy' and 'ij'.")
    tensors = [tensor(one).reshape(-1) for one in xi]
    order = list(range(len(tensors)))
    if indexing == "xy" and len(tensors) > 1:
        order[:2] = [1, 0]
    shaped = [x.reshape([-1 if d == order[k] else 1 for d in range(len(tensors))]) for k, x in enumerate(tensors)]
    if not sparse:
        shaped = list(_broadcast_arrays(*shaped))
    return tuple(x.clone() for x in shaped) if copy else tuple(shaped)


@entry(np.rollaxis)
def _rollaxis(a: Any, axis: int, start: int = 0) -> Any:
    (axis,) = axes_of(axis, a.ndim)
    if not -a.ndim <= start <= a.ndim:
        raise np.exceptions.AxisError(f"'start' arg requires {-a.ndim} <= start <= {a.ndim}, but {start} was passed in")
    start += a.ndim * (start < 0)
    return a.movedim(axis, start - (axis < start))


@entry(np.matrix_transpose, np.linalg.matrix_transpose)
def _matrix_transpose(x: Any, /) -> Any:
    if x.ndim < 2:
        raise ValueError(f"Input array must be at least 2-dimensional, but it is {x.ndim}")
    return x.transpose(-2, -1)


@entry(np.diag)
def _diag(v: Any, k: int = 0) -> Any:
    return op("diag")(v, k)


@entry(np.diagflat)
def _diagflat(v: Any, k: int = 0) -> Any:
    return op("diagflat")(tensor(v), k)


@entry(np.lib.stride_tricks.sliding_window_view)
def _sliding_window_view(
    x: Any, window_shape: Any, axis: Any = None, *, subok: bool = False, writeable: bool = False
) -> Any:
    plain("sliding_window_view", writeable=(writeable, False))
    sizes = (window_shape,) if isinstance(window_shape, (int, np.integer)) else tuple(window_shape)
    if axis is None and len(sizes) != x.ndim:
        raise ValueError(f"Since axis is None, must provide window_shape for all dimensions of `x`; got {len(sizes)}")
    axes = axes_of(axis, x.ndim) if axis is None else tuple(axis) if isinstance(axis, (tuple, list)) else (axis,)
    for size, one in zip(sizes, axes, strict=True):
        x = x.unfold(one, int(size), 1)
    return x


@entry(np.copy)
def _copy(a: Any, order: str = "K", subok: bool = False) -> Any:
    plain("copy", order=(order, "K"))
    return a.clone()


@entry(np.astype)
def _astype(x: Any, dtype: Any, /, *, copy: bool = True, device: Any = None) -> Any:
    plain("astype", device=(device, None))
    return x.to(dtype, copy=copy)


@entry(np.real_if_close)
def _real_if_close(a: Any, tol: float = 100) -> Any:
    if not a.is_complex():
        return a
    size = tol * np.finfo(a._array.dtype).eps if tol > 1 else tol
    return a.real if bool((a.imag.detach().abs() < size).all()) else a


@entry(np.linspace)
def _linspace(
    start: Any,
    stop: Any,
    num: int = 50,
    endpoint: bool = True,
    retstep: bool = False,
    dtype: Any = None,
    axis: int = 0,
    *,
    device: Any = None,
) -> Any:
    plain("linspace", device=(device, None))
    first, last = (
        x if x.is_floating_point() or x.is_complex() else x.to(np.float64) for x in map(tensor, (start, stop))
    )
    first, last = _broadcast_arrays(first, last)
    parts = num - 1 if endpoint else num
    step = (last - first) / parts if parts > 0 else (last - first) * np.nan
    share = np.arange(num, dtype=np.float64) / max(parts, 1)
    weights = wrap(share.reshape((-1,) + (1,) * first.ndim).astype(first._array.real.dtype))
    points = first * (1 - weights) + last * weights
    if axis not in (0, -points.ndim):
        points = points.movedim(0, axis)
    points = points if dtype is None else points.to(dtype)
    return (points, step) if retstep else points


@entry(np.logspace)
def _logspace(
    start: Any, stop: Any, num: int = 50, endpoint: bool = True, base: Any = 10.0, dtype: Any = None, axis: int = 0
) -> Any:
    points = FUNCTIONS["pow"](tensor(base), _linspace(*_broadcast_arrays(start, stop), num, endpoint, axis=axis))
    return points if dtype is None else points.to(dtype)


@entry(np.geomspace)
def _geomspace(start: Any, stop: Any, num: int = 50, endpoint: bool = True, dtype: Any = None, axis: int = 0) -> Any:
    first, last = _broadcast_arrays(start, stop)
    if first.is_complex() or last.is_complex() or bool((first.detach() * last.detach() <= 0).any()):
        raise ValueError("np.geomspace on tensors: start and stop are real, not zero, and of one sign")
    logs = _linspace(first.abs().log(), last.abs().log(), num, endpoint, axis=0)
    points = logs.exp() * first.detach().sign()
    points = points.movedim(0, axis) if axis not in (0, -points.ndim) else points
    return points if dtype is None else points.to(dtype)


@entry(np.apply_along_axis)
def _apply_along_axis(func1d: Callable, axis: int, arr: Any, *args: Any, **kwargs: Any) -> Any:
    x = tensor(arr)
    (axis,) = axes_of(axis, x.ndim)
    rest = tuple(n for d, n in enumerate(x._array.shape) if d != axis)
    lines = x.movedim(axis, -1).reshape(-1, x._array.shape[axis])
    results = FUNCTIONS["stack"]([tensor(func1d(line, *args, **kwargs)) for line in lines.unbind(0)])
    inner = tuple(results.shape[1:])
    shaped = results.reshape((*rest, *inner))
    return shaped.permute(*range(axis), *range(len(rest), len(rest) + len(inner)), *range(axis, len(rest)))


@entry(np.apply_over_axes)
def _apply_over_axes(func: Callable, a: Any, axes: Any) -> Any:
    x = tensor(a)
    for axis in (axes,) if isinstance(axes, (int, np.integer)) else tuple(axes):
        result = func(x, axis)
        if result.ndim not in (x.ndim, x.ndim - 1):
            raise ValueError("function is not returning an array of the correct shape")
        x = result if result.ndim == x.ndim else result.unsqueeze(axis)
    return x


@entry(np.piecewise)
def _piecewise(x: Any, condlist: Any, funclist: Any, *args: Any, **kw: Any) -> Any:
    values = tensor(x)
    conditions = list(condlist) if isinstance(condlist, (list, tuple)) else [condlist]
    if not isinstance(condlist, (list, tuple)) and tensor(condlist).ndim > values.ndim:
        conditions = list(tensor(condlist).unbind(0))
    masks = [np.broadcast_to(np.asarray(raw(c), bool), values._array.shape) for c in conditions]
    if len(funclist) == len(masks) + 1:
        masks.append(~np.any(masks, axis=0))
    elif len(funclist) != len(masks):
        raise ValueError(
            f"with {len(masks)} condition(s), either {len(masks)} or {len(masks) + 1} functions are expected"
        )
    result = _full_like(values, 0)
    for mask, function in zip(masks, funclist, strict=True):
        if not mask.any():
            continue
        part = function(values[wrap(mask.copy())], *args, **kw) if callable(function) else function
        result = FUNCTIONS["index_put"](result, (wrap(mask.copy()),), tensor(part).to(values.dtype))
    return result


@entry(np.ix_)
def _ix(*args: Any) -> tuple:
    if any(one.ndim != 1 for one in map(tensor, args)):
        raise ValueError("Cross index must be 1 dimensional")
    return tuple(_reshape(tensor(x), tuple(-1 if d == k else 1 for d in range(len(args)))) for k, x in enumerate(args))
