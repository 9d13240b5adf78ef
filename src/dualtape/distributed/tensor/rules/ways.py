"""The kinds of placement rules: under which placements a NumPy function of shards gives a shard of the result.

A rule lists, for one dimension of the mesh, the code of the result and those of the arrays: an int shards that
dimension, None is replicated, "sum" (or another reduction) is pending. There are few kinds: elementwise, reduction,
contraction, a map of dimensions, axes that must be whole.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from operator import index
from typing import Any

import numpy

from ..array import RULES, Sharded, apply, placed, store
from ..spec import REDUCTIONS, Code

np: Any = numpy

Ways = Iterator[tuple[Any, tuple]]

_PASSING = [(code, (code,)) for code in REDUCTIONS]  # through whatever only moves elements


def elementwise(shapes: Sequence[tuple]) -> Ways:
    """Return the rule of an elementwise function, with broadcasting."""
    rank = max(map(len, shapes))
    out = np.broadcast_shapes(*shapes)
    yield None, (None,) * len(shapes)
    for d in range(rank):
        places = [d - rank + len(shape) for shape in shapes]
        if out[d] != 1:
            yield d, tuple([e if e >= 0 and s[e] == out[d] else None for e, s in zip(places, shapes, strict=True)])


def reduction(ndim: int, axes: tuple, keepdims: bool, kind: Code) -> Ways:
    """Return the rule of a reduction over axes; ``kind`` is the reduction that sharded ones leave pending, None if they
    must be whole.
    """
    yield None, (None,)
    if kind is not None:
        yield kind, (kind,)
    for d in range(ndim):
        if d not in axes:
            yield (d if keepdims else d - sum(a < d for a in axes)), (d,)
        elif kind is not None:
            yield kind, (d,)


def contraction(a: str, b: str, out: str, shapes: Sequence[tuple]) -> Ways:
    """Return the rule of a product of two arrays whose dimensions have letters; those not in ``out`` are summed
    over.
    """
    yield None, (None, None)
    yield "sum", ("sum", None)
    yield "sum", (None, "sum")
    sizes = dict(zip(a, shapes[0], strict=True))
    for letter, n in zip(b, shapes[1], strict=True):
        sizes[letter] = max(n, sizes.get(letter, n))
    for letter, n in sizes.items():
        ins = []
        for letters, shape in ((a, shapes[0]), (b, shapes[1])):
            d = letters.find(letter)
            ins.append(d if d >= 0 and shape[d] == n else None)
        if n != 1 and (letter in out or None not in ins):
            yield (out.index(letter) if letter in out else "sum"), tuple(ins)


def mapped(dims: Sequence[int | None]) -> Ways:
    """Return the rule of a view, given the dimension of the array for each of the result's, if it is one."""
    yield None, (None,)
    yield from _PASSING
    for new, old in enumerate(dims):
        if old is not None:
            yield new, (old,)


def whole_axes(shapes: Sequence[tuple], axes: Sequence[int], outputs: int = 1, linear: bool = False) -> Ways:
    """Return the rule of a function with axes that must be whole; the others, where all arrays are equally long, may be
    sharded.
    """
    several = (lambda code: (code,) * outputs) if outputs > 1 else (lambda code: code)
    yield several(None), (None,) * len(shapes)
    if linear:
        yield several("sum"), ("sum",) * len(shapes)
    for d in range(len(shapes[0])):
        if d not in axes and all(len(s) == len(shapes[0]) and s[d] == shapes[0][d] for s in shapes):
            yield several(d), (d,) * len(shapes)


def axis_of(axis: Any, ndim: int) -> int:
    axis = index(axis)
    if not -ndim <= axis < ndim:
        raise np.exceptions.AxisError(axis, ndim)
    return axis % ndim


def axes_of(axis: Any, ndim: int) -> tuple[int, ...]:
    if axis is None:
        return tuple(range(ndim))
    return tuple([axis_of(a, ndim) for a in axis]) if isinstance(axis, (tuple, list)) else (axis_of(axis, ndim),)


# --- what rules are written with -------------------------------------------------------------------


def rule(*functions: Any) -> Callable:
    """Return a decorator that registers a rule for NumPy functions, or by name."""

    def register(function: Callable) -> Callable:
        RULES.update(dict.fromkeys(functions, function))
        return function

    return register


def shape_of(x: Any) -> tuple:
    return getattr(x, "shape", ())


def write_into(target: Any, found: Any) -> None:
    if type(target) is Sharded:
        store(target, found)
    else:
        target[...] = numpy.asarray(found)


def whole(x: Any) -> Any:
    return placed(x, x.spec.mesh, (None,) * len(x.spec.codes)) if type(x) is Sharded else x


def whole_key(key: Any) -> Any:
    return tuple([whole(k) for k in key]) if type(key) is tuple else whole(key)


def along(
    name: str, arrays: list, axes: Any, call: Callable, *static: Any, outputs: int = 1, linear: bool = False
) -> Any:
    """Apply a function along axes that must be whole."""
    return apply(
        (name, axes, *static),
        arrays,
        lambda: whole_axes([x.shape for x in arrays], axes, outputs, linear),
        lambda parts, plan: call(*parts),
    )
