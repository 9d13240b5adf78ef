"""Placement rules of arithmetic: ufuncs, their reductions, products."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import Any

import numpy

from ....arrays import module_of
from ....arrays.bfloat16_dtype import BFLOAT16
from ..array import RULES, UFUNC_METHODS, Sharded, apply, as_local, ready, remember, ufunc_key, unknown
from ..spec import Code
from .ways import Ways, along, axes_of, axis_of, contraction, elementwise, reduction, rule, shape_of, write_into

np: Any = numpy

# what stays pending through a ufunc: the result's code, the arrays'
_PENDING: dict[Any, list[tuple[Code, tuple]]] = {
    **dict.fromkeys((np.negative, np.positive, np.conjugate), [("sum", ("sum",)), ("avg", ("avg",))]),
    **dict.fromkeys((np.add, np.subtract), [("sum", ("sum", "sum")), ("avg", ("avg", "avg"))]),
    np.multiply: [("sum", ("sum", None)), ("sum", (None, "sum"))],
    np.maximum: [("max", ("max", "max"))],
    np.minimum: [("min", ("min", "min"))],
}
# reductions: what parts of a reduced dimension leave pending
_REDUCTIONS: dict[Any, Code] = {
    np.add: "sum",
    np.multiply: "product",
    np.maximum: "max",
    np.minimum: "min",
    np.logical_or: "max",
    np.logical_and: "min",
}


def _called(ufunc: Any, inputs: tuple, kwargs: dict) -> Any:
    plain = not kwargs and len(inputs) == 2 and ufunc.nout == 1
    out = kwargs.pop("out", None)
    where = kwargs.pop("where", True)
    if ufunc.signature is not None:
        if ufunc is not np.matmul or kwargs:
            result = unknown(ufunc, inputs, kwargs, ufunc.__name__)
        else:
            result = _matmul(*inputs)
    else:
        # parts of a sum divided by a zero would be infinities of both signs
        divides = ufunc is np.true_divide and isinstance(inputs[1], (int, float)) and inputs[1] != 0
        static = ufunc_key(ufunc, divides, kwargs)

        def rule() -> Ways:
            yield from elementwise([shape_of(x) for x in inputs])
            yield from _PENDING.get(ufunc, ())
            if divides:
                yield "sum", ("sum", None)

        arrays = list(inputs)
        if ufunc.nout > 1:
            several = ufunc.nout
            ways = lambda: (((out,) * several, ins) for out, ins in elementwise([shape_of(x) for x in inputs]))
            result = apply(static, arrays, ways, lambda parts, plan: ufunc(*parts, **kwargs))
        else:
            result = apply(static, arrays, rule, lambda parts, plan: ufunc(*parts, **kwargs))
    if plain:
        remember(ufunc, inputs, result)
    if out is None:
        if where is not True:
            raise TypeError(f"{ufunc.__name__}: where= without out= leaves values undefined")
        return result
    results = result if isinstance(result, tuple) else (result,)
    for target, found in zip(out, results, strict=True):
        if where is not True:
            found = np.where(where, found, target)
        write_into(target, found)
    return out[0] if len(out) == 1 else out


def _letters(shapes: Sequence[tuple]) -> tuple[str, str, str]:
    """Return the letters of a matrix product's dimensions."""
    x, y = shapes
    batch = "abcdefghij"
    rank = max(len(x) - 2, len(y) - 2, 0)
    lead = batch[:rank]
    first = "k" if len(x) == 1 else lead[rank - len(x) + 2 :] + "mk"
    second = "k" if len(y) == 1 else lead[rank - len(y) + 2 :] + "kn"
    return first, second, lead + ("m" if len(x) > 1 else "") + ("n" if len(y) > 1 else "")


def _matmul(x: Any, y: Any) -> Any:
    shapes = [x.shape, y.shape]
    return apply(
        ufunc_key(np.matmul),
        [x, y],
        lambda: contraction(*_letters(shapes), shapes),
        lambda parts, plan: np.matmul(*parts),
    )


def _dot(x: Any, y: Any) -> Any:
    shapes = [shape_of(x), shape_of(y)]
    if not all(shapes):
        return np.multiply(x, y)
    first = "abcdefgh"[: len(shapes[0]) - 1] + "z"
    second = "z" if len(shapes[1]) == 1 else "ijklmnop"[: len(shapes[1]) - 2] + "zy"
    return apply(
        np.dot,
        [x, y],
        lambda: contraction(first, second, (first + second).replace("z", ""), shapes),
        lambda parts, plan: np.dot(*parts),
    )


def _neutral(ufunc: Any, dtype: Any) -> Any:
    low = ufunc in (np.maximum, np.logical_or)
    if dtype.kind == "b":
        return not low
    if dtype.kind == "f":
        return -np.inf if low else np.inf
    limits = np.iinfo(dtype)
    return limits.min if low else limits.max


def _reduced(ufunc: Any, inputs: tuple, kwargs: dict) -> Any:
    options = dict(zip(("array", "axis", "dtype", "out", "keepdims", "initial", "where"), inputs, strict=False))
    options.update(kwargs)
    x = options["array"]
    if options.get("out") not in (None, (None,)) or "initial" in options or options.get("where", True) is not True:
        return unknown(ufunc.reduce, inputs, kwargs, f"{ufunc.__name__}.reduce")
    return reduce(ufunc, x, options.get("axis", 0), options.get("dtype"), bool(options.get("keepdims", False)))


def reduce(ufunc: Any, x: Any, axis: Any, dtype: Any, keepdims: bool) -> Any:
    """Return ``ufunc.reduce`` of a sharded array."""
    axes = axes_of(axis, x.ndim)
    if dtype is BFLOAT16 and x.dtype is BFLOAT16:  # which NumPy does not take as an argument
        dtype = None
    key = ("reduce", ufunc, axes, keepdims, dtype)
    plan = ready(key, x)
    if plan is not None and x.local.size:
        found = ufunc.reduce(x.local, axes, dtype, None, keepdims)
        return Sharded(found if type(found) is numpy.ndarray else as_local(found), plan.specs[0])
    kind = None if x.dtype.kind == "c" and ufunc not in (np.add, np.multiply) else _REDUCTIONS.get(ufunc)

    def call(parts: list, plan: Any) -> Any:
        local = parts[0]
        there, here = (all(shape[a] for a in axes) for shape in (x.shape, local.shape))
        if there and not here and ufunc not in (np.add, np.multiply):  # nothing of what is reduced lies here
            shape = [1 if d in axes else n for d, n in enumerate(local.shape) if keepdims or d not in axes]
            logical = ufunc in (np.logical_or, np.logical_and)
            return module_of(local).full(
                tuple(shape),
                _neutral(ufunc, np.dtype(bool) if logical else local.dtype),
                bool if logical else local.dtype,
            )
        return ufunc.reduce(local, axis=axes, keepdims=keepdims, **({} if dtype is None else {"dtype": dtype}))

    return apply(key, [x], lambda: reduction(x.ndim, axes, keepdims, kind), call)


def _accumulated(ufunc: Any, inputs: tuple, kwargs: dict) -> Any:
    x = inputs[0]
    axis = axis_of(inputs[1] if len(inputs) > 1 else kwargs.pop("axis", 0), x.ndim)
    return along(
        f"{ufunc.__name__}.accumulate",
        [x],
        (axis,),
        lambda a: ufunc.accumulate(a, axis=axis, **kwargs),
        str(kwargs),
        linear=ufunc is np.add,
    )


UFUNC_METHODS.update(__call__=_called, reduce=_reduced, accumulate=_accumulated)


# --- NumPy's functions ----------------------------------------------------------------------------


def _reducing(ufunc: Any, typed: bool) -> Callable:
    """Return the NumPy function that equals a ufunc's ``reduce``; of sums and products a dtype comes before ``out``."""

    def function(x: Any, axis: Any = None, *args: Any, dtype: Any = None, keepdims: bool = False, **kwargs: Any) -> Any:
        if not args and not kwargs:
            return reduce(ufunc, x, axis, dtype, bool(keepdims))
        options = dict(
            zip(("dtype", "out", "keepdims") if typed else ("out", "keepdims"), args, strict=False), **kwargs
        )
        out, dtype, keep = options.pop("out", None), options.pop("dtype", dtype), options.pop("keepdims", keepdims)
        if options:
            return unknown(ufunc.reduce, (x,), {"axis": axis, "keepdims": keep, **options}, ufunc.__name__)
        found = reduce(ufunc, x, axis, dtype, bool(keep))
        if out is None:
            return found
        write_into(out, found)
        return out

    return function


for _function, _ufunc in (
    (np.sum, np.add),
    (np.prod, np.multiply),
    (np.max, np.maximum),
    (np.min, np.minimum),
    (np.any, np.logical_or),
    (np.all, np.logical_and),
):
    RULES[_function] = _reducing(_ufunc, _function in (np.sum, np.prod))

RULES[np.dot] = _dot


@rule(np.mean)
def _mean(x: Any, axis: Any = None, dtype: Any = None, out: Any = None, keepdims: bool = False) -> Any:
    axes = axes_of(axis, x.ndim)
    found = np.true_divide(reduce(np.add, x, axis, dtype, keepdims), prod([x.shape[a] for a in axes]))
    if out is None:
        return found
    write_into(out, found)
    return out


@rule(np.count_nonzero)
def _count_nonzero(x: Any, axis: Any = None, keepdims: bool = False) -> Any:
    return reduce(np.add, np.not_equal(x, 0), axis, np.int64, keepdims)


@rule(np.where)
def _where(condition: Any, *others: Any) -> Any:
    if not others:
        return unknown(np.where, (condition,), {}, "numpy.where")
    arrays = [condition, *others]
    return apply(
        np.where, arrays, lambda: elementwise([shape_of(x) for x in arrays]), lambda parts, plan: np.where(*parts)
    )


@rule(np.clip)
def _clip(x: Any, a_min: Any = None, a_max: Any = None, out: Any = None, **kwargs: Any) -> Any:
    found = x if a_min is None else np.maximum(x, a_min)
    found = found if a_max is None else np.minimum(found, a_max)
    if out is None:
        return found
    write_into(out, found)
    return out


@rule(np.result_type)
def _result_type(*args: Any) -> Any:
    return np.result_type(*[a.local if type(a) is Sharded else a for a in args])


@rule(np.may_share_memory)
def _may_share(x: Any, y: Any, *args: Any) -> bool:
    return np.may_share_memory(*[a.local if type(a) is Sharded else a for a in (x, y)])


@rule(np.shape)
def _shape_of(x: Any) -> tuple:
    return x.shape


@rule(np.ndim)
def _ndim_of(x: Any) -> int:
    return x.ndim


@rule(np.iscomplexobj)
def _is_complex(x: Any) -> bool:
    return x.dtype.kind == "c"


@rule(np.real)
def _real(x: Any) -> Any:
    return x.real


@rule(np.imag)
def _imag(x: Any) -> Any:
    return x.imag if x.dtype.kind == "c" else np.zeros_like(x)


for _function in (np.round, np.sinc, np.nan_to_num, np.isclose):

    def _pointwise(*args: Any, _function: Any = _function, **kwargs: Any) -> Any:
        count = 2 if _function is np.isclose else 1
        arrays, rest = list(args[:count]), args[count:]
        out = kwargs.pop("out", None)
        found = apply(
            (_function, str(rest), str(kwargs)),
            arrays,
            lambda: elementwise([shape_of(x) for x in arrays]),
            lambda parts, plan: _function(*parts, *rest, **kwargs),
        )
        if out is None:
            return found
        write_into(out, found)
        return out

    RULES[_function] = _pointwise
