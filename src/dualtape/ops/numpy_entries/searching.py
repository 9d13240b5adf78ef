"""NumPy's functions of order and position on tensors: sorting, searching, sets, indices, counting."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..._tensor.tensor import Tensor, raw, wrap
from ..dispatch import FUNCTIONS
from .registry import axes_of, by_value, entry, op, plain, tensor
from .vocabulary import _sum

# --- order ----------------------------------------------------------------------------------------


@entry(np.sort)
def _sort(
    a: Any, axis: int | None = -1, kind: Any = None, order: Any = None, *, stable: bool | None = None
) -> Any:  # kind= says how, not what
    plain("sort", order=(order, None))
    if a.is_complex():
        return _arranged(a, np.argsort(raw(a), axis, kind="stable"), axis)
    return op("sort")(a.reshape(-1) if axis is None else a, -1 if axis is None else axis)[0]


@entry(np.argsort)
def _argsort(a: Any, axis: int | None = -1, kind: Any = None, order: Any = None, *, stable: bool | None = None) -> Any:
    plain("argsort", order=(order, None))
    steady = bool(stable) or kind in ("stable", "mergesort")
    return op("argsort")(a.reshape(-1) if axis is None else a, -1 if axis is None else axis, stable=steady)


def _arranged(a: Tensor, index: np.ndarray, axis: int | None) -> Tensor:
    if axis is None:
        return a.reshape(-1)[wrap(index)]
    return FUNCTIONS["take_along_dim"](a, wrap(index), axis)


@entry(np.sort_complex)
def _sort_complex(a: Any) -> Any:
    complex_type = np.result_type(raw(a).dtype, np.complex64)
    return _sort(a if a.is_complex() else a.to(complex_type))


@entry(np.partition)
def _partition(a: Any, kth: Any, axis: int | None = -1, kind: Any = "introselect", order: Any = None) -> Any:
    return _arranged(a, np.argpartition(raw(a), kth, axis, kind, order), axis)


by_value(np.argpartition, np.lexsort)


def _extreme_place(numpy: Callable) -> None:
    @entry(numpy)
    def place(a: Any, axis: int | None = None, out: None = None, *, keepdims: bool = False) -> Any:
        found = op(numpy.__name__)(a, axis, keepdims if axis is not None else False)
        return found.reshape((1,) * a.ndim) if keepdims and axis is None else found


_extreme_place(np.argmax)
_extreme_place(np.argmin)


@entry(np.searchsorted)
def _searchsorted(a: Any, v: Any, side: str = "left", sorter: Any = None) -> Any:
    a, v = tensor(a), tensor(v)
    if a._array.dtype != v._array.dtype:
        common = np.result_type(a._array.dtype, v._array.dtype)
        a, v = a.to(common), v.to(common)
    return op("searchsorted")(a, v, side=side, sorter=None if sorter is None else tensor(sorter))


by_value(np.digitize, np.nonzero, np.flatnonzero, np.argwhere, np.ravel_multi_index, np.unravel_index)
by_value(np.diag_indices_from, np.tril_indices_from, np.triu_indices_from, np.packbits, np.unpackbits)

# --- questions ------------------------------------------------------------------------------------

by_value(np.allclose, np.array_equal, np.array_equiv, np.may_share_memory, np.shares_memory)
by_value(np.array2string, np.array_repr, np.array_str, np.save, np.savez, np.savez_compressed, np.savetxt)
by_value(np.einsum_path, np.min_scalar_type)


@entry(np.isclose)
def _isclose(a: Any, b: Any, rtol: Any = 1e-05, atol: Any = 1e-08, equal_nan: bool = False) -> Any:
    a, b = tensor(a), tensor(b)
    if a._array.dtype != b._array.dtype:
        common = np.result_type(a._array.dtype, b._array.dtype)
        a, b = a.to(common), b.to(common)
    return op("isclose")(a, b, rtol, atol, equal_nan)


@entry(np.isin)
def _isin(
    element: Any, test_elements: Any, assume_unique: bool = False, invert: bool = False, *, kind: str | None = None
) -> Any:  # kind= says how, not what
    return op("isin")(tensor(element), tensor(test_elements), assume_unique=assume_unique, invert=invert)


def _question(numpy: Callable, name: str) -> None:
    @entry(numpy)
    def question(x: Any, out: None = None) -> Any:
        return op(name)(x)


_question(np.isposinf, "isposinf")
_question(np.isneginf, "isneginf")
_question(np.isreal, "isreal")


@entry(np.iscomplex)
def _iscomplex(x: Any) -> Any:
    return FUNCTIONS["logical_not"](op("isreal")(x))


@entry(np.iscomplexobj)
def _iscomplexobj(x: Any) -> bool:
    return x.is_complex()


@entry(np.isrealobj)
def _isrealobj(x: Any) -> bool:
    return not x.is_complex()


@entry(np.common_type)
def _common_type(*arrays: Any) -> Any:
    return np.common_type(*(np.empty(0, tensor(a)._array.dtype) for a in arrays))


@entry(np.can_cast)
def _can_cast(from_: Any, to: Any, casting: str = "safe") -> bool:
    source, target = (v._array.dtype if isinstance(v, Tensor) else v for v in (from_, to))
    return np.can_cast(source, target, casting)  # type: ignore[arg-type]


# --- sets -----------------------------------------------------------------------------------------


@entry(np.unique)
def _unique(
    ar: Any,
    return_index: bool = False,
    return_inverse: bool = False,
    return_counts: bool = False,
    axis: int | None = None,
    *,
    equal_nan: bool = True,
    sorted: bool = True,
) -> Any:
    found = np.unique(raw(ar), True, True, True, axis, equal_nan=equal_nan)  # sorted, which is one of the orders
    index = wrap(found[1])
    values = ar.reshape(-1)[index] if axis is None else FUNCTIONS["index_select"](ar, axes_of(axis, ar.ndim)[0], index)
    wanted = (True, return_index, return_inverse, return_counts)
    results = tuple(result for result, wish in zip((values, *found[1:]), wanted, strict=True) if wish)
    return results if len(results) > 1 else values


def _unique_part(numpy: Callable, *fields: str) -> None:
    """Return an entry for ``np.unique_counts`` or a similar function, whose results have names."""

    @entry(numpy)
    def part(x: Any, /) -> Any:
        whole = numpy(raw(x))
        places = np.unique(raw(x), return_index=True, equal_nan=False)[1]
        values = x.reshape(-1)[wrap(places)]
        return whole._replace(values=values) if fields else values


_unique_part(np.unique_all, "values")
_unique_part(np.unique_counts, "values")
_unique_part(np.unique_inverse, "values")
_unique_part(np.unique_values)


def _flat(value: Any) -> Tensor:
    return tensor(value).reshape(-1)


@entry(np.union1d)
def _union1d(ar1: Any, ar2: Any) -> Any:
    return _unique(FUNCTIONS["cat"]([_flat(ar1), _flat(ar2)]))


@entry(np.intersect1d)
def _intersect1d(ar1: Any, ar2: Any, assume_unique: bool = False, return_indices: bool = False) -> Any:
    a, b = _flat(ar1), _flat(ar2)
    _, first, second = np.intersect1d(raw(a), raw(b), assume_unique, return_indices=True)
    values = a[wrap(first)]
    return (values, first, second) if return_indices else values


@entry(np.setdiff1d)
def _setdiff1d(ar1: Any, ar2: Any, assume_unique: bool = False) -> Any:
    a = _flat(ar1) if assume_unique else _unique(_flat(ar1))
    return a[wrap(~np.isin(raw(a), raw(_flat(ar2))))]


@entry(np.setxor1d)
def _setxor1d(ar1: Any, ar2: Any, assume_unique: bool = False) -> Any:
    a, b = (_flat(x) if assume_unique else _unique(_flat(x)) for x in (ar1, ar2))
    both = FUNCTIONS["cat"]([a[wrap(~np.isin(raw(a), raw(b)))], b[wrap(~np.isin(raw(b), raw(a)))]])
    return _sort(both)


# --- counts ---------------------------------------------------------------------------------------


@entry(np.bincount)
def _bincount(x: Any, /, weights: Any = None, minlength: int = 0) -> Any:
    if weights is None:
        return wrap(np.bincount(raw(x), minlength=minlength))
    index = np.asarray(raw(x))
    size = max(minlength, int(index.max()) + 1 if index.size else 0)
    w = tensor(weights).to(np.float64)
    return FUNCTIONS["index_put"](wrap(np.zeros(size)), (wrap(index),), w, True)


@entry(np.histogram_bin_edges)
def _histogram_bin_edges(a: Any, bins: Any = 10, range: Any = None, weights: Any = None) -> Any:
    if not isinstance(bins, (int, np.integer)):
        if isinstance(bins, str):
            plain("histogram_bin_edges", bins=(bins, "a number or edges"))
        return tensor(bins)
    x = tensor(a)
    low, high = (x.min(), x.max()) if range is None else map(tensor, range)
    if bool(low.detach() == high.detach()):
        low, high = low - 0.5, high + 0.5
    return np.linspace(low, high, bins + 1)


@entry(np.histogram)
def _histogram(a: Any, bins: Any = 10, range: Any = None, density: bool | None = None, weights: Any = None) -> tuple:
    x = tensor(a)
    edges = _histogram_bin_edges(x, bins, range)
    if weights is None:
        counts = wrap(np.histogram(raw(x), raw(bins), raw(range))[0])
    else:
        limits, flat = np.asarray(raw(edges)), np.asarray(raw(x)).reshape(-1)
        place = np.where(flat == limits[-1], limits.size - 1, np.searchsorted(limits, flat, "right")) - 1
        inside = (place >= 0) & (place < limits.size - 1)
        kept = tensor(weights).reshape(-1)[wrap(inside)]
        counts = FUNCTIONS["index_put"](
            wrap(np.zeros(limits.size - 1, kept._array.dtype)), (wrap(place[inside]),), kept, True
        )
    if density:
        return counts / op("diff")(edges) / _sum(counts), edges
    return counts, edges
