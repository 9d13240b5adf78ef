"""Sums in single and double precision as products with ones: BLAS adds several times as fast as ``np.add.reduce``.

Only about two hundred numbers enter one product, in memory order; the results for longer arrays are added the same way.
So the rounding error stays that of NumPy's pairwise sums. Everything else (integers, half precision, complex, gaps in
memory) uses NumPy.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from math import prod
from typing import Any

import numpy as np

# The numbers in one product of two lines, of which BLAS adds up 32 side by side.
WIDTH = 1024
_PAIRWISE = 8192  # numbers up to which NumPy's own sum is as quick
# numbers of a row in one product: of rows BLAS adds up fewer side by side; best if they are no power of two apart
_ROW = 200
# rows in one product over columns, of which each is added up by itself; and how many are not worth cutting up
_COLUMN, _FEW_ROWS = 64, 256
_ONES = {np.dtype(kind): np.ones(WIDTH, kind) for kind in (np.float32, np.float64)}
# So many elements stay in a processor's own cache, with a few arrays of their size.
BLOCK = 131_072
_WORTHWHILE = 4096  # elements from which the shapes are worth a look
_reduce: Any = np.add.reduce
_empty = np.empty
# short pieces of them by length: found quicker than cut
_FEW: dict[np.dtype, dict[int, np.ndarray]] = {kind: {} for kind in _ONES}
_single = np.dtype(np.float32)
_few_single = _FEW[_single]


def sum_point(x: np.ndarray) -> np.ndarray:
    """Return the sum of all elements as a 0-d array."""
    dtype, n = x.dtype, x.size
    pieces = _few_single if dtype is _single else _FEW.get(dtype)
    if pieces is None or n > WIDTH:
        return np.asarray(sum_all(x))
    ones = pieces.get(n)
    if ones is None:
        ones = pieces[n] = _ONES[dtype][:n]
    out = _empty((), dtype)
    x.ravel().dot(ones, out)
    return out


def sum_all(x: np.ndarray) -> Any:
    """Return the sum of all elements as a NumPy scalar."""
    ones = _ONES.get(x.dtype)
    if ones is None:
        return _reduce(x, None)
    if not x.flags.c_contiguous:
        if x.size < _WORTHWHILE:
            return _reduce(x, None)
        return sum_all(x.T) if x.flags.f_contiguous else _in_parts(x, range(x.ndim), False)
    n = x.size
    if n <= WIDTH:
        return x.ravel().dot(ones[:n])
    if n <= _PAIRWISE:
        return _reduce(x.ravel())
    flat = x.ravel()
    rows = n // _ROW
    whole = rows * _ROW
    total = sum_all(flat[:whole].reshape(rows, _ROW).dot(ones[:_ROW]))
    return total if whole == n else total + flat[whole:].dot(ones[: n - whole])


def sum_axis(x: np.ndarray, axis: int) -> Any:
    """Return the sum over one axis (counted from the front), without that axis."""
    ones = _ONES.get(x.dtype)
    if ones is None or x.size < _WORTHWHILE and not x.flags.c_contiguous:
        return _reduce(x, axis)
    if x.ndim != 2 or not x.flags.c_contiguous:
        return _in_parts(x, (axis,), False)
    return _sum_rows(x, ones) if axis else _sum_columns(x, ones)


def _sum_rows(x: np.ndarray, ones: np.ndarray) -> Any:
    n = x.shape[1]
    if n <= _ROW:
        return x.dot(ones[:n])
    parts = _parts(n)
    if not parts:
        return _reduce(x, 1)
    return x.reshape(-1, n // parts).dot(ones[: n // parts]).reshape(-1, parts).dot(ones[:parts])


@lru_cache(maxsize=256)
def _parts(n: int) -> int:
    """Return the number of equal segments of at most :data:`_ROW` numbers that a row of ``n`` can be split into; 0 if
    there is none.
    """
    if n > WIDTH:
        return 0
    return next((k for k in range(-(-n // _ROW), 17) if n % k == 0), 0)


def _sum_columns(x: np.ndarray, ones: np.ndarray, few: int = _FEW_ROWS) -> Any:
    n, width = x.shape
    if n <= few:
        return ones[:n].dot(x)
    blocks = n // _COLUMN
    whole = blocks * _COLUMN
    total = _sum_columns(np.matmul(ones[:_COLUMN], x[:whole].reshape(blocks, _COLUMN, width)), ones, _COLUMN)
    return total if whole == n else total + ones[: n - whole].dot(x[whole:])


def sum_axes(x: np.ndarray, axis: Any, keepdims: bool) -> Any:
    """Return ``np.add.reduce`` over axes, as a product where a large array has them all first or all last."""
    ones = _ONES.get(x.dtype)
    if x.size < _WORTHWHILE or ones is None:
        return _reduce(x, axis, None, None, keepdims)
    shape = x.shape
    depth = len(shape)
    axes = (axis,) if type(axis) is int else tuple(range(depth)) if axis is None else axis
    if not x.flags.c_contiguous:
        return _in_parts(x, axes, keepdims)
    if len(axes) == depth and not keepdims:
        return sum_all(x)
    places = sorted([a % depth for a in axes])
    count = len(places)
    n = 1
    for place in places:
        n *= shape[place]
    if places == list(range(depth - count, depth)) and (n <= _ROW or _parts(n)):
        out = _sum_rows(x.reshape(-1, n), ones)
        return out.reshape(shape[: depth - count] + (1,) * count if keepdims else shape[: depth - count])
    if places == list(range(count)):
        out = _sum_columns(x.reshape(n, -1), ones)
        return out.reshape((1,) * count + shape[count:] if keepdims else shape[count:])
    return _in_parts(x, axes, keepdims)


def _in_parts(x: np.ndarray, axes: Any, keepdims: bool) -> Any:
    """Return ``np.add.reduce`` over axes one at a time, long ones in segments.

    NumPy adds up pairwise only along memory without gaps, and one after the other along any other axis: there the
    rounding error grows with the length.
    """
    places = sorted([axis % x.ndim for axis in axes], reverse=True)
    if x.size < _WORTHWHILE or all([x.shape[axis] <= _FEW_ROWS for axis in places]):
        return _reduce(x, tuple(places), None, None, keepdims)
    for axis in places:
        x = _along(x, axis, keepdims)
    return x


def _along(x: Any, axis: int, keepdims: bool) -> Any:
    n = x.shape[axis]
    if n <= _FEW_ROWS or x.strides[axis] == x.itemsize:
        return _reduce(x, axis, None, None, keepdims)
    lead, blocks = (slice(None),) * axis, n // _COLUMN
    whole = x[(*lead, slice(blocks * _COLUMN))]
    parts = whole.reshape((*x.shape[:axis], blocks, _COLUMN, *x.shape[axis + 1 :]))
    total = _along(_reduce(parts, axis + 1), axis, keepdims)
    if blocks * _COLUMN == n:
        return total
    return total + _reduce(x[(*lead, slice(blocks * _COLUMN, None))], axis, None, None, keepdims)


def row_step(shape: tuple, most: int = BLOCK) -> int:
    """Return the number of rows of an array of ``shape`` with about :data:`BLOCK` elements together, at most
    ``most``.
    """
    return max(1, min(most, shape[0], BLOCK // max(1, prod(shape[1:]))))


def row_blocks(shape: tuple, most: int = BLOCK) -> Iterator[slice]:
    """Yield slices of :func:`row_step` rows that cover an array of ``shape``.

    What is made for a few rows stays in a cache, and its memory is used again for the next ones: arrays of
    megabytes are requested from the system each time.
    """
    step = row_step(shape, most)
    return (slice(start, start + step) for start in range(0, shape[0], step))
