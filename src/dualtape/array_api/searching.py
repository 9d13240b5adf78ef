"""Searching and sorting functions, and sets."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

import dualtape as dt

from .._tensor.tensor import Tensor
from . import types

__all__ = [
    "argmax",
    "argmin",
    "argsort",
    "nonzero",
    "searchsorted",
    "sort",
    "unique_all",
    "unique_counts",
    "unique_inverse",
    "unique_values",
    "where",
]


def argmax(x: Tensor, /, *, axis: int | None = None, keepdims: bool = False) -> Tensor:
    """The index of the largest element, the first if there are several.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.array_api.argmax(dt.tensor([[1, 3], [2, 0]]), axis=1)
    tensor([1, 0])
    """
    return _place(dt.argmax, x, axis, keepdims)


def argmin(x: Tensor, /, *, axis: int | None = None, keepdims: bool = False) -> Tensor:
    """The index of the smallest element, the first if there are several.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.array_api.argmin(dt.tensor([[1, 3], [2, 0]]), axis=1)
    tensor([0, 1])
    """
    return _place(dt.argmin, x, axis, keepdims)


def _place(op: Any, x: Tensor, axis: int | None, keepdims: bool) -> Tensor:
    if axis is None:
        place = op(x)
        return place.reshape((1,) * x.ndim) if keepdims else place
    return op(x, axis, keepdims)


def argsort(x: Tensor, /, *, axis: int = -1, descending: bool = False, stable: bool = True) -> Tensor:
    """The indices that sort the elements.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.array_api.argsort(dt.tensor([3, 1, 2]), descending=True)
    tensor([0, 2, 1])
    """
    return dt.sort(x, stable=stable, dim=axis, descending=descending)[1]


def sort(x: Tensor, /, *, axis: int = -1, descending: bool = False, stable: bool = True) -> Tensor:
    """The elements in order.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.array_api.sort(dt.tensor([3, 1, 2]))
    tensor([1, 2, 3])
    """
    return dt.sort(x, stable=stable, dim=axis, descending=descending)[0]


def nonzero(x: Tensor, /) -> tuple[Tensor, ...]:
    """The indices of the nonzero elements: an array for each axis.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.array_api.nonzero(dt.tensor([0, 5, 6]))
    (tensor([1, 2]),)
    """
    if not x.ndim:
        raise ValueError("nonzero takes an array with axes, got a 0-d one: use x != 0")
    return tuple(dt.nonzero(x, as_tuple=True))


def searchsorted(x1: Tensor, x2: Any, /, *, side: str = "left", sorter: Tensor | None = None) -> Tensor:
    """The indices at which elements can be inserted into a sorted array in order.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.array_api.searchsorted(dt.tensor([1, 3, 5]), dt.tensor([3]), side="right")
    tensor([2])
    """
    x1, x2 = types.of_one_type(x1, x2)
    return dt.searchsorted(x1, x2, side=side, sorter=sorter)


def where(condition: Tensor, x1: Any, x2: Any, /) -> Tensor:
    """Elements of one array where a condition holds, else of another; a number may be either.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.array_api.where(dt.tensor([True, False]), dt.ones(2), 0)
    tensor([1., 0.])
    """
    return dt.where(condition, *types.of_one_type(x1, x2))


class UniqueAllResult(NamedTuple):
    """The result of ``unique_all``."""

    values: Tensor
    indices: Tensor
    inverse_indices: Tensor
    counts: Tensor


class UniqueCountsResult(NamedTuple):
    """The result of ``unique_counts``."""

    values: Tensor
    counts: Tensor


class UniqueInverseResult(NamedTuple):
    """The result of ``unique_inverse``."""

    values: Tensor
    inverse_indices: Tensor


def unique_all(x: Tensor, /) -> UniqueAllResult:
    """The distinct elements, their first indices, the index of each element among them, and their counts.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.array_api.unique_all(dt.tensor([7, 3, 7])).indices
    tensor([1, 0])
    """
    values, inverse, counts = _unique(x)
    places = inverse.flatten()
    first = dt.full_like(counts, places.numel()).scatter_reduce(
        0, places, dt.arange(places.numel(), device=x.device), "amin"
    )
    return UniqueAllResult(values, first, inverse, counts)


def unique_counts(x: Tensor, /) -> UniqueCountsResult:
    """The distinct elements, and their counts.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.array_api.unique_counts(dt.tensor([7, 3, 7])).counts
    tensor([1, 2])
    """
    values, _, counts = _unique(x)
    return UniqueCountsResult(values, counts)


def unique_inverse(x: Tensor, /) -> UniqueInverseResult:
    """The distinct elements, and the index of each element among them.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.array_api.unique_inverse(dt.tensor([7, 3, 7])).inverse_indices
    tensor([1, 0, 1])
    """
    values, inverse, _ = _unique(x)
    return UniqueInverseResult(values, inverse)


def unique_values(x: Tensor, /) -> Tensor:
    """The distinct elements.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.array_api.unique_values(dt.tensor([7, 3, 7]))
    tensor([3, 7])
    """
    return _unique(x)[0]


def _unique(x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Return distinct elements, the index of each element among them, and counts; of complex numbers as NumPy does."""
    if not x.dtype.is_complex:
        return dt.unique(x, return_inverse=True, return_counts=True)
    _, first, inverse, counts = np.unique(
        x.detach().numpy(), return_index=True, return_inverse=True, return_counts=True, equal_nan=False
    )
    values = x.flatten()[dt.asarray(first)]
    return values, dt.asarray(inverse.reshape(tuple(x.shape))), dt.asarray(counts)
