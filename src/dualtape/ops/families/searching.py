"""Search in sorted boundaries, for what is not zero, and the unique elements of a tensor with their counts."""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np

from ..._tensor.tensor import Tensor, new_tensor
from ...arrays import zeros
from ...arrays.kernels.basics import all_samples, asarray_like, contiguous, full_like_shape, on_host
from ...autograd.underived import underived
from ..dispatch import FUNCTIONS
from ..formulas import normal_dim
from ..samples import edge, exact, exact_index, ints
from ..table import composite
from .reductions import LONG, refuse_complex

# --- searching and counting -----------------------------------------------------------------------


def _bisected(sequence: Any, values: Any, right: bool) -> Any:
    """Return the index of each value among sorted boundaries that contain NaN: a binary search by PyTorch's
    comparisons.

    Every step halves the interval ``[low, high)``; to be "not at least" a value is true of a NaN on either side.
    """
    shape, length = values.shape, sequence.shape[-1]
    if sequence.ndim == 1:
        values = values.reshape(1, -1)
    rows, wanted = sequence.reshape(-1, length), values.reshape(-1, values.shape[-1])
    low = zeros(wanted.shape, LONG, wanted)
    high = low + length
    for _ in range(length.bit_length()):
        unfinished = low < high
        middle = (low + high) // 2
        found = np.take_along_axis(rows, np.minimum(middle, length - 1), -1)
        goes_right = ~(found > wanted) if right else ~(found >= wanted)
        low = np.where(unfinished & goes_right, middle + 1, low)
        high = np.where(unfinished & ~goes_right, middle, high)
    return low.reshape(shape)


def _search(sequence: Any, values: Any, right: bool) -> Any:
    if sequence.dtype.kind == "f" and sequence.size and all_samples(np.isnan(sequence)).any():
        return _bisected(sequence, values, right)
    side: Any = "right" if right else "left"
    if sequence.ndim == 1:
        if type(sequence) is type(values) is np.ndarray and sequence.size and sequence[-1] == sequence[-1]:
            return sequence.searchsorted(values, side)  # where no NaN is, NaN goes last by itself
        found = np.searchsorted(sequence, values, side)
    else:
        by_row = lambda rows, wanted: np.array(
            [np.searchsorted(row, value, side) for row, value in zip(rows, wanted, strict=True)], LONG
        )
        rows = prod(sequence.shape[:-1])
        found = on_host(by_row, *[part.reshape(rows, part.shape[-1]) for part in (sequence, values)])
        found = found.reshape(values.shape)
    return np.where(np.isnan(values), sequence.shape[-1], found) if values.dtype.kind == "f" else found


_SEARCHED = (exact([1.0, 2.0, 3.0]), exact([[0.0, 2.0], [2.5, 9.0]]))


@composite("searchsorted", method=False, complex=False, samples=(
    edge(*_SEARCHED), edge(*_SEARCHED, right=True), edge(_SEARCHED[0], 2.0),
    edge(_SEARCHED[0], 2.0, side="right", out_int32=True),
    edge(exact([3.0, 1.0, 2.0]), exact([0.0, 2.0, 9.0]), sorter=exact_index([1, 2, 0])),
    edge(exact([[1.0, 2.0], [3.0, 4.0]]), exact([[1.5], [5.0]])),
))  # fmt: skip
def searchsorted(
    sorted_sequence: Any,
    input: Any,
    *,
    out_int32: bool = False,
    right: bool = False,
    side: str | None = None,
    sorter: Any = None,
) -> Any:
    """The index in the last dimension of ``sorted_sequence`` at which each value can be inserted in order.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.searchsorted(dt.tensor([1, 3, 5]), dt.tensor([3, 6]))
    tensor([1, 3])
    """
    if side not in (None, "left", "right") or (side == "left" and right):
        raise RuntimeError(
            f"searchsorted(): side and right can't be set to opposites, got side of {side} while right was {right}"
        )
    sequence = sorted_sequence._array
    if sorter is not None:
        sequence = np.take_along_axis(sequence, sorter._array, axis=-1)
    values = input._array if isinstance(input, Tensor) else asarray_like(input, sequence)
    for array in (sequence, values):
        refuse_complex("searchsorted", array)
    if sequence.ndim != 1 and sequence.shape[:-1] != values.shape[:-1]:
        raise RuntimeError(
            "searchsorted(): boundaries tensor should be 1 dimension or the first N-1 dimensions of boundaries tensor"
            " and input value"
            f" tensor must match, but we got boundaries tensor {list(sequence.shape)} and input value tensor"
            f" {list(values.shape)}"
        )
    return new_tensor(
        asarray_like(_search(sequence, values, right or side == "right"), sequence, np.int32 if out_int32 else LONG)
    )


@composite("bucketize", method=False, complex=False, samples=(
    edge(_SEARCHED[1], _SEARCHED[0]), edge(_SEARCHED[1], _SEARCHED[0], right=True), edge(2.0, _SEARCHED[0]),
))  # fmt: skip
def bucketize(input: Any, boundaries: Any, *, out_int32: bool = False, right: bool = False) -> Any:
    """The index of the bucket, between sorted ``boundaries``, that each value falls into.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.bucketize(dt.tensor([0, 2, 9]), dt.tensor([1, 3, 5]))
    tensor([0, 1, 3])
    """
    if boundaries.ndim != 1:
        raise RuntimeError(f"bucketize(): boundaries tensor must be 1 dimension, but got dim({boundaries.ndim})")
    return searchsorted(boundaries, input, out_int32=out_int32, right=right)


def _first_of_runs(flat: Any) -> Any:
    """Return where each run of equal elements begins."""
    first = np.empty(flat.shape, bool) if type(flat) is np.ndarray else full_like_shape(flat.shape, True, bool, flat)
    first[:1] = True
    first[1:] = flat[1:] != flat[:-1]
    return first


def _several(name: str, x: Tensor, parts: list, wanted: list) -> Any:
    chosen = [underived(name, new_tensor(part), x) for part, want in zip(parts, wanted, strict=True) if want]
    return chosen[0] if len(chosen) == 1 else tuple(chosen)


# PyTorch sorts up to as many slices by insertion; beyond, the order of slices that hold NaN is its algorithm's
_INSERTED = 16


def _precedes(a: list, b: list) -> bool:
    """Return whether a slice comes before another: by the first elements that compare as different, which NaN never
    does.
    """
    for x, y in zip(a, b, strict=True):
        if x < y:
            return True
        if x > y:
            return False
    return False


def _insertion_order(rows: list[list]) -> list[int]:
    """Return the order into which insertion sort brings slices.

    With NaN the comparison is no order, so the algorithm decides.
    """
    order: list[int] = []
    for new, row in enumerate(rows):
        place = len(order)
        if order and _precedes(row, rows[order[0]]):
            place = 0
        else:
            while place and _precedes(row, rows[order[place - 1]]):
                place -= 1
        order.insert(place, new)
    return order


def _unique_with_nan(array: Any, d: int) -> list:
    """Return values, inverse and counts of the few slices of an array that contains NaN, which equals nothing."""
    slices = np.moveaxis(array, d, 0)
    rows = slices.reshape(len(slices), -1)
    order = asarray_like(_insertion_order(rows.tolist()), array, LONG)
    ordered = rows[order]
    first = full_like_shape(order.shape, True, bool, order)
    first[1:] = (ordered[1:] != ordered[:-1]).any(axis=-1)
    inverse = full_like_shape(order.shape, 0, LONG, order)
    inverse[order] = np.cumsum(first) - 1
    values = np.moveaxis(slices[order[first]], 0, d)
    return [contiguous(values), inverse, np.bincount(inverse).astype(LONG, copy=False)]


@composite("unique", complex=False, samples=(
    edge(ints(3, 4, high=5)), edge(ints(3, 4, high=5), return_inverse=True, return_counts=True),
    edge(ints(6, 2, high=2), dim=0, return_inverse=True, return_counts=True), edge(exact_index([])),
))  # fmt: skip
def unique(
    input: Any, sorted: bool = True, return_inverse: bool = False, return_counts: bool = False, dim: int | None = None
) -> Any:
    """The different elements (or, with ``dim``, slices) in order; also where each came from, and how many there are of
    each.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.unique(dt.tensor([3, 1, 3]), return_counts=True)
    (tensor([1, 3]), tensor([1, 2]))
    """
    refuse_complex("unique", input._array)
    array = input._array
    if type(array) is np.ndarray and dim is None and not return_inverse and not return_counts and array.size:
        flat = np.sort(array, None)
        return underived("unique", new_tensor(flat[_first_of_runs(flat)]), input)
    if dim is not None and array.dtype.kind == "f" and 0 < array.shape[normal_dim(dim, array.ndim)] <= _INSERTED:
        if all_samples(np.isnan(array)).any():
            parts = _unique_with_nan(array, normal_dim(dim, array.ndim))
            return _several("unique", input, parts, [True, return_inverse, return_counts])
    values, inverse, counts = np.unique(array, return_inverse=True, return_counts=True, axis=dim, equal_nan=False)
    inverse = inverse.reshape(input._array.shape if dim is None else -1).astype(LONG, copy=False)
    parts = [values, inverse, counts.astype(LONG, copy=False)]
    return _several("unique", input, parts, [True, return_inverse, return_counts])


@composite(
    "unique_consecutive",
    complex=False,
    samples=(
        edge(exact_index([1, 1, 2, 2, 1]), return_inverse=True, return_counts=True), edge(ints(3, 4, high=2)),
        edge(exact_index([[1, 1], [1, 1], [2, 1]]), return_inverse=True, return_counts=True, dim=0),
        edge(exact_index([[1, 1, 2], [3, 3, 3]]), dim=-1),
    ),
)  # fmt: skip
def unique_consecutive(
    input: Any, return_inverse: bool = False, return_counts: bool = False, dim: int | None = None
) -> Any:
    """The elements in row-major order (or, with ``dim``, the slices), each run of equal ones once.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.unique_consecutive(dt.tensor([1, 1, 2, 1]))
    tensor([1, 2, 1])
    """
    if dim is None:
        flat = input._array.reshape(-1)
        first = _first_of_runs(flat)
        values, shape = flat[first], input._array.shape
    else:
        if not input.ndim:
            raise IndexError(f"Dimension specified as {dim} but tensor has no dimensions")
        d = normal_dim(dim, input.ndim)
        if not input._array.size and any(n == 0 for k, n in enumerate(input._array.shape) if k != d):
            raise RuntimeError("unique_consecutive: there are 0 sized dimensions, and they aren't selected")
        slices = np.moveaxis(input._array, d, 0)
        first = full_like_shape(slices.shape[:1], True, bool, slices)
        first[1:] = (slices[1:] != slices[:-1]).any(axis=tuple(range(1, slices.ndim)))
        values, shape = np.moveaxis(slices[first], 0, d).copy(), first.shape
        flat = first
    if not return_inverse and not return_counts:
        return underived("unique_consecutive", new_tensor(values), input)
    inverse = (np.cumsum(first) - 1).reshape(shape)
    starts = np.flatnonzero(first)
    counts = np.concatenate([starts[1:], asarray_like([flat.size], flat, LONG)]) - starts
    parts = [values, inverse, counts]
    return _several("unique_consecutive", input, parts, [True, return_inverse, return_counts])


@composite("nonzero_static", samples=(
    edge(exact([[0.0, 1.0], [2.0, 0.0]]), size=3), edge(exact([0.0, 1.0, 5.0]), size=1, fill_value=9),
))  # fmt: skip
def nonzero_static(input: Any, *, size: int, fill_value: int = -1) -> Any:
    """The indices of the entries that are not zero, as rows: the first ``size``, or filled up with ``fill_value``.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.nonzero_static(dt.tensor([0.0, 3.0]), size=2)
    tensor([[ 1],
            [-1]])
    """
    if size < 0:
        raise RuntimeError(f"nonzero_static: 'size' must be an non-negative integer, got {size}")
    found = FUNCTIONS["nonzero"](input)._array[:size]
    out = full_like_shape((size, input.ndim), fill_value, np.int64, found)
    out[: found.shape[0]] = found
    return new_tensor(out)
