"""Batching rules of NumPy's functions, written as the same functions on the arrays inside.

Each rule gets the level to remove, then the function's own arguments. A function without a rule runs sample by sample.
Products and linear algebra are in ``products.py``.
"""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import Any

import numpy

from ..bfloat16_dtype import result_type
from ..kernels.repeats import check_tile
from ..protocol import module_of
from .array import (
    RULES,
    Batched,
    BatchLevel,
    DynamicShape,
    NotBatchable,
    holds,
    inner_axes,
    inner_axis,
    newest,
    padded,
    per_sample,
)

np: Any = numpy  # its stubs know nothing of other kinds of arrays

_WHOLE = slice(None)


def rule(*functions: Callable) -> Callable[[Callable], Callable]:
    """Return a decorator that registers the rule of some of NumPy's functions."""

    def register(answer: Callable) -> Callable:
        for function in functions:
            RULES[function] = answer
        return answer

    return register


# --- getting at the arrays inside -----------------------------------------------------------------


def mine(x: Any, level: BatchLevel) -> bool:
    return type(x) is Batched and x.level is level


def front(x: Any, level: BatchLevel) -> Any:
    """Return the array inside; an array that is the same for all samples gets an axis of length 1 in front."""
    if type(x) is Batched and x.level is level:
        return x.values
    return (x if hasattr(x, "ndim") else np.asarray(x))[None]


def _rank(values: Any) -> int:
    return max((v.ndim for v in values if hasattr(v, "ndim")), default=0)


def wrapped(result: Any, level: BatchLevel) -> Any:
    if isinstance(result, (tuple, list)):
        items = [wrapped(m, level) for m in result]
        return type(result)(*items) if hasattr(result, "_fields") else type(result)(items)
    return Batched(result, level)


def _flat(x: Any, level: BatchLevel) -> Any:
    values = front(x, level)
    return values.reshape((values.shape[0], prod(values.shape[1:])))


# --- ufuncs ---------------------------------------------------------------------------------------


@rule(np.ufunc)
def call_ufunc(level: BatchLevel, ufunc: Any, method: str, inputs: tuple, kwargs: dict) -> Any:
    """Apply a ufunc, or one of its methods, to batched arrays."""
    out = kwargs.pop("out", None)
    if out is not None and method in ("__call__", "reduce", "accumulate"):
        return _into(getattr(ufunc, method)(*inputs, **kwargs), out, kwargs.get("casting", "same_kind"))
    if method == "__call__":
        if ufunc.signature is not None:
            core = CORE.get(ufunc.__name__)
            if core is None:
                return per_sample(ufunc, level, inputs, kwargs, f"numpy.{ufunc.__name__}")
            return core(level, *inputs, **kwargs)
        where = kwargs.get("where", True)
        rank = _rank((*inputs, where))
        if where is not True:
            kwargs["where"] = padded(where, level, rank)
        return wrapped(ufunc(*(padded(i, level, rank) for i in inputs), **kwargs), level)
    if method in ("reduce", "accumulate"):
        x, axis = inputs[0], kwargs.pop("axis", 0) if len(inputs) == 1 else inputs[1]
        return Batched(getattr(ufunc, method)(front(x, level), axis=inner_axes(axis, x.ndim), **kwargs), level)
    if method == "at" and ufunc is np.add:
        from .index import add

        return add(*inputs)
    if method == "outer":
        a, b = inputs
        return ufunc(a.reshape((*a.shape, *(1,) * b.ndim)), b, **kwargs)
    return per_sample(getattr(ufunc, method), level, inputs, kwargs, f"numpy.{ufunc.__name__}.{method}")


def _into(output: Any, out: tuple, casting: str) -> Any:
    results = output if isinstance(output, tuple) else (output,)
    for target, result in zip(out, results, strict=True):
        if target is not None:
            if not np.can_cast(result.dtype, target.dtype, casting):
                raise TypeError(f"ufunc: cannot cast {result.dtype} to {target.dtype} with casting rule {casting!r}")
            _check_target(target, result)
            target[...] = result
    return out[0] if len(out) == 1 else out


def _check_target(target: Any, *values: Any) -> None:
    from .index import _CANNOT_WRITE

    if not all(holds(target, value) for value in values):
        raise NotBatchable(_CANNOT_WRITE)


CORE: dict[str, Callable] = {}  # the rules of generalised ufuncs, by name

# --- functions along axes -------------------------------------------------------------------------


def _reduction(function: Callable) -> None:
    def answer(level: BatchLevel, a: Any, axis: Any = None, *args: Any, **kwargs: Any) -> Any:
        return Batched(function(front(a, level), inner_axes(axis, a.ndim), *args, **kwargs), level)

    RULES[function] = answer


for _function in (
    np.sum,
    np.prod,
    np.max,
    np.min,
    np.amax,
    np.amin,
    np.mean,
    np.any,
    np.all,
    np.var,
    np.std,
    np.median,
    np.count_nonzero,
    np.nansum,
    np.nanmean,
):
    _reduction(_function)


def _along(function: Callable, default: Any, before: int = 0) -> None:
    """Return the rule of a function along one axis, which is its argument number ``before + 1``; None means the
    flattened array.
    """

    def answer(level: BatchLevel, a: Any, *args: Any, **kwargs: Any) -> Any:
        given = list(args)
        if len(given) > before:
            kwargs["axis"] = given.pop(before)
        axis = kwargs.pop("axis", default)
        if newest((given, kwargs)) is not None:
            return per_sample(function, level, (a, *given), {**kwargs, "axis": axis}, f"numpy.{function.__name__}")
        values = _flat(a, level) if axis is None or not a.ndim else front(a, level)
        return wrapped(
            function(values, *given, axis=1 if axis is None or not a.ndim else inner_axis(axis, a.ndim), **kwargs),
            level,
        )

    def scalar(level: BatchLevel, a: Any, *args: Any, **kwargs: Any) -> Any:
        result = answer(level, a, *args, **kwargs)
        return result if a.ndim or function in (np.cumsum, np.cumprod) else np.reshape(result, ())

    RULES[function] = scalar


for _function, _default, _before in (
    (np.cumsum, None, 0),
    (np.cumprod, None, 0),
    (np.sort, -1, 0),
    (np.argsort, -1, 0),
    (np.partition, -1, 1),
    (np.argpartition, -1, 1),
    (np.repeat, None, 1),
    (np.diff, -1, 1),
):
    _along(_function, _default, _before)


@rule(np.argmax)
def _argmax(
    level: BatchLevel, a: Any, axis: Any = None, out: Any = None, keepdims: bool = False, function: Callable = np.argmax
) -> Any:
    if axis is None:
        result = function(_flat(a, level), 1)
        return Batched(result.reshape((result.shape[0], *(1,) * (a.ndim if keepdims else 0))), level)
    return Batched(function(front(a, level), inner_axis(axis, a.ndim), keepdims=keepdims), level)


@rule(np.argmin)
def _argmin(level: BatchLevel, a: Any, axis: Any = None, out: Any = None, keepdims: bool = False) -> Any:
    return _argmax(level, a, axis, out, keepdims, np.argmin)


@rule(np.flip)
def _flip(level: BatchLevel, m: Any, axis: Any = None) -> Any:
    return Batched(np.flip(front(m, level), inner_axes(axis, m.ndim)), level)


@rule(np.roll)
def _roll(level: BatchLevel, a: Any, shift: Any, axis: Any = None) -> Any:
    if axis is None:
        return np.reshape(np.roll(np.ravel(a), shift, 0), a.shape)
    return Batched(np.roll(front(a, level), shift, inner_axes(axis, a.ndim)), level)


def _transform(function: Callable, several: bool) -> None:
    """Return the rule of a Fourier transform, whose axis or axes are given by keyword."""
    key, shift = ("axes", inner_axes) if several else ("axis", inner_axis)

    def answer(level: BatchLevel, a: Any, **kwargs: Any) -> Any:
        kwargs[key] = shift(kwargs[key], a.ndim)
        return Batched(function(front(a, level), **kwargs), level)

    RULES[function] = answer


for _function, _many in ((np.fft.fftn, True), (np.fft.ifftn, True), (np.fft.rfft, False), (np.fft.irfft, False)):
    _transform(_function, _many)

# --- shapes ---------------------------------------------------------------------------------------


RULES[np.reshape] = lambda level, a, shape=None, order="C", **ignored: a.reshape(shape)


@rule(np.ravel)
def _ravel(level: BatchLevel, a: Any, order: str = "C") -> Any:
    return Batched(_flat(a, level), level)


@rule(np.transpose)
def _transpose(level: BatchLevel, a: Any, axes: Any = None) -> Any:
    if axes is None:
        inner = tuple(range(a.ndim, 0, -1))
    else:
        inner = tuple(inner_axis(d, a.ndim) for d in axes)
        if len(inner) != a.ndim:
            raise ValueError("axes don't match array")
    return Batched(front(a, level).transpose((0, *inner)), level)


@rule(np.swapaxes)
def _swapaxes(level: BatchLevel, a: Any, axis1: int, axis2: int) -> Any:
    return Batched(front(a, level).swapaxes(inner_axis(axis1, a.ndim), inner_axis(axis2, a.ndim)), level)


@rule(np.moveaxis)
def _moveaxis(level: BatchLevel, a: Any, source: Any, destination: Any) -> Any:
    listed = lambda axes: list(axes) if hasattr(axes, "__iter__") else [axes]
    return Batched(
        np.moveaxis(
            front(a, level), *([inner_axis(d, a.ndim) for d in listed(axes)] for axes in (source, destination))
        ),
        level,
    )


@rule(np.expand_dims)
def _expand_dims(level: BatchLevel, a: Any, axis: Any) -> Any:
    axes = axis if isinstance(axis, (tuple, list)) else (axis,)
    return Batched(np.expand_dims(front(a, level), tuple(inner_axis(d, a.ndim + len(axes)) for d in axes)), level)


@rule(np.squeeze)
def _squeeze(level: BatchLevel, a: Any, axis: Any = None) -> Any:
    axes = tuple(d + 1 for d, n in enumerate(a.shape) if n == 1) if axis is None else inner_axes(axis, a.ndim)
    return Batched(np.squeeze(front(a, level), axes), level)


@rule(np.broadcast_to)
def _broadcast_to(level: BatchLevel, array: Any, shape: Any, subok: bool = False) -> Any:
    shape = tuple(shape) if isinstance(shape, (tuple, list)) else (shape,)
    if array.ndim > len(shape):
        raise ValueError("input operand has more dimensions than allowed by the axis remapping")
    values = padded(array, level, len(shape))
    return Batched(np.broadcast_to(values, (values.shape[0], *shape)), level)


@rule(np.broadcast_arrays)
def _broadcast_arrays(level: BatchLevel, *args: Any, subok: bool = False) -> Any:
    shape = np.broadcast_shapes(*(np.shape(a) for a in args))
    return tuple(np.broadcast_to(a, shape) for a in args)


@rule(np.atleast_1d)
def _atleast_1d(level: BatchLevel, *arrays: Any) -> Any:
    result = tuple(a if np.ndim(a) else np.reshape(a, (1,)) for a in arrays)
    return result[0] if len(result) == 1 else result


@rule(np.tile)
def _tile(level: BatchLevel, A: Any, reps: Any) -> Any:
    reps = tuple(reps) if isinstance(reps, (tuple, list)) else (reps,)
    rank = max(A.ndim, len(reps))
    values = padded(A, level, rank)
    check_tile("tile", values.shape, reps)
    return Batched(np.tile(values, (1, *(1,) * (rank - len(reps)), *reps)), level)


@rule(np.diagonal)
def _diagonal(level: BatchLevel, a: Any, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Any:
    return Batched(np.diagonal(front(a, level), offset, inner_axis(axis1, a.ndim), inner_axis(axis2, a.ndim)), level)


@rule(np.trace)
def _trace(
    level: BatchLevel, a: Any, offset: int = 0, axis1: int = 0, axis2: int = 1, dtype: Any = None, out: Any = None
) -> Any:
    return np.sum(np.diagonal(a, offset, axis1, axis2), axis=-1, dtype=dtype)


def _triangle(function: Callable) -> None:
    def answer(level: BatchLevel, m: Any, k: int = 0) -> Any:
        return Batched(function(front(m if m.ndim > 1 else np.broadcast_to(m, (*m.shape, *m.shape)), level), k), level)

    RULES[function] = answer


_triangle(np.tril)
_triangle(np.triu)


@rule(np.concatenate)
def _concatenate(
    level: BatchLevel, arrays: Any, axis: Any = 0, out: Any = None, dtype: Any = None, casting: str = "same_kind"
) -> Any:
    parts = [_flat(a, level) if axis is None else front(a, level) for a in arrays]
    n = max(p.shape[0] for p in parts) if all(p.shape[0] for p in parts) else 0
    parts = [p if p.shape[0] == n else np.broadcast_to(p, (n, *p.shape[1:])) for p in parts]
    result = np.concatenate(
        parts, 1 if axis is None else inner_axis(axis, parts[0].ndim - 1), dtype=dtype, casting=casting
    )
    # NumPy goes by the parts, in which the hidden axis may lie anywhere
    if type(result) is np.ndarray and not result.flags.c_contiguous:
        result = result.copy()
    return Batched(result, level)


@rule(np.stack)
def _stack(level: BatchLevel, arrays: Any, axis: int = 0, out: Any = None, **kwargs: Any) -> Any:
    if len({a.shape for a in arrays}) != 1:
        raise ValueError("all input arrays must have the same shape")
    return np.concatenate([np.expand_dims(a, axis) for a in arrays], inner_axis(axis, arrays[0].ndim + 1) - 1, **kwargs)


# --- elementwise functions that are no ufuncs -----------------------------------------------------


@rule(np.where)
def _where(level: BatchLevel, condition: Any, x: Any = None, y: Any = None) -> Any:
    if x is None or y is None:
        _nonzero(level, condition)
    rank = _rank((condition, x, y))
    return Batched(np.where(*(padded(v, level, rank) for v in (condition, x, y))), level)


def _elementwise(function: Callable) -> None:
    def answer(level: BatchLevel, *args: Any, **kwargs: Any) -> Any:
        rank = _rank((*args, *kwargs.values()))
        return wrapped(
            function(*(padded(a, level, rank) for a in args), **{k: padded(v, level, rank) for k, v in kwargs.items()}),
            level,
        )

    RULES[function] = answer


for _function in (
    np.clip,
    np.round,
    np.around,
    np.real,
    np.imag,
    np.angle,
    np.isclose,
    np.nan_to_num,
    np.sinc,
    np.i0,
    np.iscomplex,
    np.isreal,
    np.real_if_close,
):
    _elementwise(_function)


@rule(np.copyto)
def _copyto(level: BatchLevel, dst: Any, src: Any, casting: str = "same_kind", where: Any = True) -> None:
    _check_target(dst, src, where)
    rank = dst.ndim
    if type(dst) is Batched and dst.level is level:
        np.copyto(dst.values, padded(src, level, rank), casting=casting, where=padded(where, level, rank))


# --- making arrays --------------------------------------------------------------------------------


def _like(function: Callable, make: Callable) -> None:
    def answer(
        level: BatchLevel,
        a: Any,
        *args: Any,
        dtype: Any = None,
        order: str = "K",
        subok: bool = True,
        shape: Any = None,
        **ignored: Any,
    ) -> Any:
        rest = list(args)
        value = rest.pop(0) if function is np.full_like and rest else ignored.get("fill_value")
        dtype = rest[0] if rest else dtype
        if not mine(a, level):  # the value is what is batched
            a = Batched(a[None], level)
        values = a.values
        if values.shape[0] == level.size and shape is None:
            result = np.empty_like(values, dtype=dtype)
        else:
            sizes = a.shape if shape is None else tuple(shape) if isinstance(shape, (tuple, list)) else (shape,)
            result = np.empty((level.size, *sizes), a.dtype if dtype is None else dtype, like=values)
        out = Batched(result, level)
        if function is not np.empty_like:
            if newest(value) is not None and not holds(out, value):
                return np.zeros_like(a, dtype=out.dtype) + value
            out[...] = make(value)
        return out

    RULES[function] = answer


for _function, _make in (
    (np.zeros_like, lambda v: 0),
    (np.ones_like, lambda v: 1),
    (np.full_like, lambda v: v),
    (np.empty_like, lambda v: None),
):
    _like(_function, _make)


def _creation(function: Callable) -> None:
    """Return the rule of a function with ``like=``: it gets that array in place of the level."""

    def answer(like: Batched, shape: Any, *args: Any, **kwargs: Any) -> Any:
        sizes = tuple(shape) if isinstance(shape, (tuple, list)) else (shape,)
        return Batched(function((like.level.size, *sizes), *args, like=like.values, **kwargs), like.level)

    RULES[function] = answer


for _function in (np.zeros, np.ones, np.empty):
    _creation(_function)


@rule(np.full)
def _full(like: Batched, shape: Any, fill_value: Any, dtype: Any = None, order: str = "C", **ignored: Any) -> Any:
    out = np.empty(shape, np.result_type(fill_value) if dtype is None else dtype, like=like)
    out[...] = fill_value
    return out


for _function in (np.eye, np.arange):
    RULES[_function] = lambda like, *args, _function=_function, **kwargs: Batched(
        _function(*args, like=like.values, **kwargs)[None], like.level
    )
for _function in (np.asarray, np.array):
    RULES[_function] = lambda like, a, dtype=None, **kwargs: module_of(like).asarray(a, dtype)

# --- questions about arrays -----------------------------------------------------------------------

RULES[np.shape] = lambda level, a: a.shape
RULES[np.ndim] = lambda level, a: a.ndim
RULES[np.size] = lambda level, a, axis=None: a.size if axis is None else a.shape[axis]
RULES[np.iscomplexobj] = lambda level, x: x.dtype.kind == "c"
RULES[np.isrealobj] = lambda level, x: x.dtype.kind != "c"
RULES[np.result_type] = lambda level, *args: result_type([a.dtype if type(a) is Batched else a for a in args])
RULES[np.can_cast] = lambda level, a, *args, **kwargs: np.can_cast(a.dtype, *args, **kwargs)
RULES[np.copy] = lambda level, a, *args, **kwargs: a.copy()


@rule(np.may_share_memory, np.shares_memory)
def _may_share_memory(level: BatchLevel, a: Any, b: Any, **ignored: Any) -> bool:
    inner = lambda x: x.values if type(x) is Batched and x.level is level else x
    first, second = inner(a), inner(b)
    return not first.size or np.may_share_memory(first, second)  # without samples there is nothing to keep apart


@rule(np.nonzero, np.flatnonzero, np.argwhere, np.unique, np.extract)
def _nonzero(level: BatchLevel, *args: Any, **kwargs: Any) -> Any:
    raise DynamicShape(
        "vmap: We do not support batching operators that can output dynamic shape: how many entries there are (nonzero,"
        " unique, a mask as an index)"
        " may differ from sample to sample; use where(mask, a, b) instead"
    )


# --- indices --------------------------------------------------------------------------------------


@rule(np.take)
def _take(level: BatchLevel, a: Any, indices: Any, axis: Any = None, out: Any = None, mode: str = "raise") -> Any:
    if axis is None:
        a, axis = np.ravel(a), 0
    if newest(indices) is None and mine(a, level):
        return Batched(
            np.take(a.values, indices, inner_axis(axis, a.ndim), **({} if mode == "raise" else {"mode": mode})), level
        )
    if not mine(a, level):
        a = Batched(a[None], level)
    return a[(_WHOLE,) * (inner_axis(axis, a.ndim) - 1) + (indices,)]


def _aligned(level: BatchLevel, *arrays: Any) -> list:
    """Return the arrays inside with hidden axes of equal length, since index functions do not broadcast that axis."""
    parts = [front(a, level) for a in arrays]
    n = max(p.shape[0] for p in parts) if all(p.shape[0] for p in parts) else 0
    return [p if p.shape[0] == n else np.broadcast_to(p, (n, *p.shape[1:])) for p in parts]


@rule(np.take_along_axis)
def _take_along_axis(level: BatchLevel, arr: Any, indices: Any, axis: Any = -1) -> Any:
    if axis is None:
        return np.take_along_axis(np.ravel(arr), indices, 0)
    return Batched(np.take_along_axis(*_aligned(level, arr, indices), inner_axis(axis, arr.ndim)), level)


@rule(np.put_along_axis)
def _put_along_axis(level: BatchLevel, arr: Any, indices: Any, values: Any, axis: int) -> None:
    _check_target(arr, indices, values)
    rank = arr.ndim
    places, given = padded(indices, level, rank), padded(values, level, rank)
    if hasattr(places, "ndim") and places.ndim == rank:
        places = places[None]
    np.put_along_axis(
        arr.values, np.broadcast_to(places, (arr.values.shape[0], *places.shape[1:])), given, inner_axis(axis, rank)
    )


@rule(np.searchsorted)
def _searchsorted(level: BatchLevel, a: Any, v: Any, side: Any = "left", sorter: Any = None) -> Any:
    if sorter is None and (not mine(a, level) or a.values.shape[0] == 1):
        return Batched(np.searchsorted(a.values[0, ...] if mine(a, level) else a, front(v, level), side), level)
    return per_sample(np.searchsorted, level, (a, v, side, sorter), {}, "numpy.searchsorted")


@rule(np.bincount)
def _bincount(level: BatchLevel, x: Any, weights: Any = None, minlength: int = 0) -> Any:
    places = front(x, level)
    if weights is not None or type(places) is not np.ndarray or (places.size and places.max() >= minlength):
        return per_sample(np.bincount, level, (x, weights, minlength), {}, "numpy.bincount")
    n = places.shape[0]
    counts = np.bincount((places + np.arange(n)[:, None] * minlength).ravel(), minlength=n * minlength)
    return Batched(counts.reshape(n, minlength), level)
