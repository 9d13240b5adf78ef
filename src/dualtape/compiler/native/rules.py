"""Lowering rules of NumPy functions that are neither ufuncs nor reductions.

A rule gets the lowering, the result and the call's arguments; if it cannot lower the call it raises ``Unsupported``,
and the call remains.
"""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

from ...arrays.kernels.approximations import normal_share
from ...arrays.traced.tape import Value
from .geometry import _elements, _number, _order, _region
from .ir import EMPTY, NATIVE, SCALAR, SELECT, Unsupported, dense, steps

if TYPE_CHECKING:
    from .lower import Lowering

RULES: dict[Any, Callable] = {}


def _rule(*functions: Any) -> Callable:
    def register(rule: Callable) -> Callable:
        for function in functions:
            RULES[function] = rule
        return rule

    return register


@_rule(np.where)
def _where(low: Lowering, result: Value, condition: Any, *values: Any) -> None:
    if len(values) != 2 or result.dtype not in NATIVE or not isinstance(condition, Value) or condition.dtype != bool:
        raise Unsupported
    order = _order(result)
    shape = tuple([result.shape[d] for d in order])
    chosen = [low._over(v, result.shape, order, result.dtype) for v in values]
    chosen = [(SCALAR, _number(a[1], result.dtype)) if a[0] == SCALAR else a for a in chosen]
    low._made(result, low.add(SELECT, result.dtype, shape, (low._over(condition, result.shape, order), *chosen)))


@_rule(normal_share)
def _normal_share(low: Lowering, result: Value, x: Any) -> None:
    if type(x) is not Value or result.dtype != np.float32 or x.dtype != np.float32:
        raise Unsupported
    order = _order(result)
    shape = tuple([result.shape[d] for d in order])
    low._made(result, low.add("normal_share", result.dtype, shape, (low._over(x, result.shape, order),)))


@_rule(np.clip)
def _clip(
    low: Lowering, result: Value, x: Any, lower: Any = None, upper: Any = None, out: Any = None, **more: Any
) -> None:
    lower, upper = more.pop("min", lower), more.pop("max", upper)
    if out is not None or more or result.dtype.kind != "f" or result.dtype not in NATIVE or lower is upper is None:
        raise Unsupported
    order = _order(result)
    shape = tuple([result.shape[d] for d in order])
    access = low._over(x, result.shape, order, result.dtype)
    for name, bound in (("maximum", lower), ("minimum", upper)):
        if bound is not None:
            other = low._over(bound, result.shape, order, result.dtype)
            access = (low.add(name, result.dtype, shape, (access, other)), 0, dense(shape))
    low._made(result, access[0])


@_rule(np.concatenate)
def _concatenate(low: Lowering, result: Value, arrays: Any, axis: Any = 0, out: Any = None, **more: Any) -> None:
    if out is not None or more or axis is None or result.dtype not in NATIVE:
        raise Unsupported
    if steps(result.shape, _elements(result)) != dense(result.shape) or not all(type(a) is Value for a in arrays):
        raise Unsupported
    axis %= len(result.shape)
    low._made(result, low.add(EMPTY, result.dtype, (prod(result.shape),)))
    _written_side_by_side(low, result, [(a, a.shape[axis]) for a in arrays], axis)


@_rule(np.stack)
def _stack(low: Lowering, result: Value, arrays: Any, axis: int = 0, out: Any = None, **more: Any) -> None:
    if out is not None or more or result.dtype not in NATIVE:
        raise Unsupported
    if steps(result.shape, _elements(result)) != dense(result.shape) or not all(type(a) is Value for a in arrays):
        raise Unsupported
    axis %= len(result.shape)
    low._made(result, low.add(EMPTY, result.dtype, (prod(result.shape),)))
    _written_side_by_side(low, result, [(a, None) for a in arrays], axis)


def _written_side_by_side(low: Lowering, result: Value, parts: list, axis: int) -> None:
    at = 0
    for part, width in parts:
        region = _region(result, (slice(None),) * axis + ((slice(at, at + width)) if width is not None else at,))
        at += 1 if width is None else width
        source = low._over(part, region.shape, list(range(len(region.shape))))
        low._write(region, source, part.dtype if source[0] != SCALAR else None)


@_rule(np.mean)
def _mean(
    low: Lowering, result: Value, x: Any, axis: Any = None, dtype: Any = None, out: Any = None, keepdims: Any = False
) -> None:
    if (
        dtype is not None
        or out is not None
        or type(x) is not Value
        or x.dtype != result.dtype
        or not prod(result.shape)
    ):
        raise Unsupported
    count = prod(x.shape) // prod(result.shape)
    if not count:
        raise Unsupported
    low._reduce(np.sum, (x,), {"axis": axis}, result)
    summed = low._versions[id(result.memory)]
    shape = low.nodes[summed].shape
    low._made(result, low.add("divide", result.dtype, shape, ((summed, 0, dense(shape)), (SCALAR, float(count)))))


@_rule(np.ravel)
def _ravel(low: Lowering, result: Value, x: Any, order: str = "C") -> None:
    if order != "C" or type(x) is not Value:
        raise Unsupported
    low._copied(x, result, in_order=True)


@_rule(np.reshape)
def _reshape(low: Lowering, result: Value, x: Any, *shape: Any, order: str = "C", **more: Any) -> None:
    if order != "C" or type(x) is not Value or more.keys() - {"newshape", "shape"}:
        raise Unsupported
    low._copied(x, result, in_order=True)


@_rule(np.copy)
def _copy(low: Lowering, result: Value, x: Any, *order: Any, **more: Any) -> None:
    if type(x) is not Value:
        raise Unsupported
    low._copied(x, result, in_order=False)


@_rule(np.zeros_like, np.ones_like, np.full_like, np.empty_like)
def _like(low: Lowering, result: Value, *args: Any, **more: Any) -> None:
    # Parts of constants are constants; others are filled by calls, unless they are told apart below.
    raise Unsupported


@_rule(np.dot)
def _dot(low: Lowering, result: Value, a: Any, b: Any, out: Any = None) -> None:
    if (
        out is not None
        or type(a) is not Value
        or type(b) is not Value
        or not a.shape
        or not b.shape
        or len(b.shape) > 2
    ):
        raise Unsupported
    if len(a.shape) > 2:
        raise Unsupported
    low._product("matmul", (a, b), result)


@_rule(np.tensordot)
def _tensordot(low: Lowering, result: Value, a: Any, b: Any, axes: Any = 2) -> None:
    if type(a) is not Value or type(b) is not Value:
        raise Unsupported
    rank_a, rank_b = len(a.shape), len(b.shape)
    if isinstance(axes, int):
        first, second = list(range(rank_a - axes, rank_a)), list(range(axes))
    else:
        first, second = [[i] if isinstance(i, int) else list(i) for i in axes]
    first, second = [i % rank_a for i in first], [i % rank_b for i in second]
    left, right = [d for d in range(rank_a) if d not in first], [d for d in range(rank_b) if d not in second]
    if len(first) != 1 or len(left) > 1 or len(right) > 1:
        raise Unsupported
    m, n = [prod([v.shape[d] for d in ds]) for v, ds in ((a, left), (b, right))]
    k = a.shape[first[0]]
    low._contract(
        a,
        b,
        result,
        lambda a, b: (
            (),
            m,
            k,
            n,
            [(left[0] if left else -1, m), (first[0], k)],
            [(second[0], k), (right[0] if right else -1, n)],
        ),
    )
