"""Sums of single and double precision as products with ones: BLAS adds up several times as fast as ``np.add.reduce``.

Only about a thousand numbers of a row go into one product, whose lanes add up side by side; what the products of
longer arrays give is added up likewise. So the rounding error stays of the order of NumPy's. Everything else
(integers, half precision, complex, gaps in memory) is NumPy's.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import prod
from typing import Any

import numpy as np

WIDTH = 1024
_LINE = 16_384  # numbers in one product of two lines, of which BLAS keeps more lanes than of rows
# numbers of a row where rows can be cut at will: BLAS reads several at once, best if they are no power of two apart
_ROW = 1250
_ONES = {np.dtype(kind): np.ones(_LINE, kind) for kind in (np.float32, np.float64)}
BLOCK = 131_072  # elements that stay in a processor's own cache, with a few arrays of their size
_WORTHWHILE = 4096  # elements from which the shapes are worth a look
_reduce: Any = np.add.reduce
_empty = np.empty
# short pieces of them by length: found quicker than cut
_FEW: dict[np.dtype, dict[int, np.ndarray]] = {kind: {} for kind in _ONES}
_single = np.dtype(np.float32)
_few_single = _FEW[_single]


def sum_point(x: np.ndarray) -> np.ndarray:
    """The sum of all elements, as an array of no dimensions."""
    dtype, n = x.dtype, x.size
    pieces = _few_single if dtype is _single else _FEW.get(dtype)
    if pieces is None or n > WIDTH and (n > _LINE or not x.flags.c_contiguous):
        return np.asarray(sum_all(x))
    ones = pieces.get(n)
    if ones is None:
        ones = _ONES[dtype][:n]
        if n <= WIDTH:
            pieces[n] = ones
    out = _empty((), dtype)
    x.ravel().dot(ones, out)
    return out


def sum_all(x: np.ndarray) -> Any:
    """The sum of all elements, a NumPy scalar."""
    ones = _ONES.get(x.dtype)
    if ones is None or not x.flags.c_contiguous:
        return _reduce(x, None)
    n = x.size
    if n <= _LINE:
        return x.ravel().dot(ones[:n])
    flat = x.ravel()
    rows = n // _ROW
    whole = rows * _ROW
    total = sum_all(flat[:whole].reshape(rows, _ROW).dot(ones[:_ROW]))
    return total if whole == n else total + flat[whole:].dot(ones[: n - whole])


def sum_axis(x: np.ndarray, axis: int) -> Any:
    """The sum over one axis (counted from the front), which goes away."""
    ones = _ONES.get(x.dtype)
    if ones is not None and x.ndim == 2 and x.flags.c_contiguous:
        n = x.shape[axis]
        if n <= WIDTH:
            return x.dot(ones[:n]) if axis else ones[:n].dot(x)
    return _reduce(x, axis)


def sum_axes(x: np.ndarray, axis: Any, keepdims: bool) -> Any:
    """``np.add.reduce`` over axes, as a product where a large array has them all first or all last."""
    ones = _ONES.get(x.dtype)
    if x.size < _WORTHWHILE or ones is None or not x.flags.c_contiguous:
        return _reduce(x, axis, None, None, keepdims)
    shape = x.shape
    depth = len(shape)
    axes = (axis,) if type(axis) is int else tuple(range(depth)) if axis is None else axis
    if len(axes) == depth and not keepdims:
        return sum_all(x)
    places = sorted([a % depth for a in axes])
    count = len(places)
    n = 1
    for place in places:
        n *= shape[place]
    if places == list(range(depth - count, depth)) and n <= WIDTH:
        out = x.reshape(-1, n).dot(ones[:n])
        return out.reshape(shape[: depth - count] + (1,) * count if keepdims else shape[: depth - count])
    if places == list(range(count)):
        rows = x.reshape(n, -1)
        out = ones[: min(n, WIDTH)].dot(rows[:WIDTH])
        for start in range(WIDTH, n, WIDTH):
            part = rows[start : start + WIDTH]
            out += ones[: len(part)].dot(part)
        return out.reshape((1,) * count + shape[count:] if keepdims else shape[count:])
    return _reduce(x, axis, None, None, keepdims)


def row_step(shape: tuple, most: int = BLOCK) -> int:
    """How many of the rows of an array of ``shape`` have about :data:`BLOCK` elements, and at most so many."""
    return max(1, min(most, shape[0], BLOCK // max(1, prod(shape[1:]))))


def row_blocks(shape: tuple, most: int = BLOCK) -> Iterator[slice]:
    """The rows of an array of ``shape`` in slices of :func:`row_step`.

    What is made for a few rows stays in a cache, and its memory is used again for the next ones: arrays of
    megabytes come from the system anew each time.
    """
    step = row_step(shape, most)
    return (slice(start, start + step) for start in range(0, shape[0], step))
