"""Functions that NumPy and CuPy spell differently, or only NumPy has.

On NumPy's arrays they are the ufuncs' own methods and NumPy's functions, which are fastest; on other arrays, functions
with the same result that both have. Index arrays, masks and constants are created beside the array they are for:
NumPy's cannot be mixed with others.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numpy as np

from ..batched.array import Batched, inner_axes, innermost
from ..bfloat16_dtype import BFLOAT16, cast
from ..protocol import module_of
from .sums import row_blocks, row_step, sum_axes

_REDUCTIONS = {
    "add": "sum",
    "multiply": "prod",
    "maximum": "max",
    "minimum": "min",
    "logical_or": "any",
    "logical_and": "all",
}
_RUNNING = {"add": "cumsum", "multiply": "cumprod"}

# --- reductions -----------------------------------------------------------------------------------


def reduce(ufunc: Any, x: Any, axis: Any = None, dtype: Any = None, keepdims: bool = False) -> Any:
    """Return ``ufunc.reduce`` of any kind of array."""
    if isinstance(x, (np.ndarray, np.generic)):
        return ufunc.reduce(x, axis, dtype, None, keepdims)
    if type(x) is Batched:
        return Batched(reduce(ufunc, x.values, inner_axes(axis, x.ndim), dtype, keepdims), x.level)
    if axis == ():  # nothing is reduced, but the dtype is that of a reduction
        if dtype is None and isinstance(x.dtype, np.dtype):
            dtype = ufunc.reduce(np.zeros(1, x.dtype)).dtype
        if dtype is not None and dtype != x.dtype:
            return x.astype(dtype)
        return x.copy() if hasattr(x, "copy") else x
    function = getattr(np, _REDUCTIONS[ufunc.__name__])
    if dtype is None or ufunc.__name__ not in ("add", "multiply"):
        return function(x, axis=axis, keepdims=keepdims)
    return function(x, axis=axis, dtype=dtype, keepdims=keepdims)


def add_reduce(x: Any, axis: Any = 0, dtype: Any = None, out: None = None, keepdims: bool = False) -> Any:
    """Return the sum over axes, with the signature of ``np.add.reduce``."""
    if type(x) is np.ndarray and dtype is None:
        return sum_axes(x, axis, keepdims)
    if type(x) is Batched:
        return Batched(add_reduce(x.values, inner_axes(axis, x.ndim), dtype, None, keepdims), x.level)
    if isinstance(x, (np.ndarray, np.generic)):
        if dtype is BFLOAT16:
            return cast(np.add.reduce(x, axis, None, None, keepdims), dtype)  # type: ignore[call-overload]
        return np.add.reduce(x, axis, dtype, None, keepdims)  # type: ignore[call-overload]
    return reduce(np.add, x, axis, dtype, keepdims)


def largest(x: Any, axis: tuple, keepdims: bool = False) -> Any:
    """Return the largest element over axes; -inf of no elements."""
    if type(x) is np.ndarray or isinstance(x, np.generic):
        return np.maximum.reduce(x, axis, None, None, keepdims, -np.inf)  # type: ignore[call-overload]
    if x.size or not any(x.shape[d] == 0 for d in axis):
        return reduce(np.maximum, x, axis, None, keepdims)
    shape = tuple(1 if d in axis else n for d, n in enumerate(x.shape) if keepdims or d not in axis)
    return module_of(x).full(shape, -np.inf, x.dtype)


def accumulate(ufunc: Any, x: Any, axis: int) -> Any:
    """Return ``ufunc.accumulate`` of any kind of array, contiguous.

    A ufunc other than add and multiply must be associative.
    """
    if type(x) is np.ndarray:
        out = ufunc.accumulate(x, axis)
        return out if out.flags.c_contiguous else out.copy()
    if ufunc.__name__ in _RUNNING:
        out = getattr(np, _RUNNING[ufunc.__name__])(x, axis=axis)
        flags = getattr(out, "flags", None)  # tensors have none, and are contiguous
        return out if flags is None or flags.c_contiguous else out.copy()
    out = x.copy()
    rows = np.moveaxis(out, axis, 0)
    step = 1
    while step < len(rows):  # each row takes in twice as many as before
        rows[step:] = ufunc(rows[step:], rows[:-step])
        step *= 2
    return out


def all_samples(x: Any) -> Any:
    """Return ``x`` with all samples of a batch as an ordinary axis: for checks whose result holds for all of them."""
    return innermost(x)


def in_parts(x: Any) -> bool:
    """Return whether ``x`` is distributed over processes: its strides then describe no memory."""
    return getattr(type(x), "in_parts", False)


# --- arrays beside others -------------------------------------------------------------------------


def asarray_like(values: Any, like: Any, dtype: Any = None) -> Any:
    """Return ``values`` (a number, a list, an array) as the same kind of array as ``like``."""
    if type(values) is Batched:
        return values if dtype is None or values.dtype == dtype else values.astype(dtype)
    return module_of(like).asarray(values, dtype)


def arange_like(n: int, like: Any, dtype: Any = None) -> Any:
    """Return 0, 1, ... n - 1 in the same kind of array as ``like``."""
    if n > 2**60:  # near 2**63 NumPy makes an array without elements
        raise MemoryError(f"there is no memory for {n} elements")
    return np.arange(n, dtype=dtype) if type(like) is np.ndarray else module_of(like).arange(n, dtype=dtype)


def full_like_shape(shape: tuple, value: Any, dtype: Any, like: Any) -> Any:
    """Return an array of one value, of the same kind as ``like``."""
    return module_of(like).full(shape, value, dtype)


def eye(n: int, dtype: Any, like: Any) -> Any:
    """Return the identity in the same kind of array as ``like``; formulas may pass a tensor."""
    module = module_of(like)
    if module is np and not isinstance(like, (np.ndarray, np.generic)):
        return np.eye(n, dtype=dtype, like=like)
    return module.eye(n, dtype=dtype)


def contiguous(x: Any) -> Any:
    """Return ``x`` in row-major order: itself if it is already."""
    return np.ascontiguousarray(x) if type(x) is np.ndarray else module_of(x).ascontiguousarray(x)


def host(x: Any) -> Any:
    """Return ``x`` as a NumPy array."""
    return x.get() if hasattr(x, "get") and not isinstance(x, np.ndarray) else x


def on_host(function: Callable, *arrays: Any) -> Any:
    """Return ``function`` of the arrays as NumPy's, in the arrays' own kind: for functions that only NumPy and SciPy
    have.
    """
    first = next((a for a in arrays if type(a) is not np.ndarray and hasattr(a, "shape")), None)
    if first is None:
        return function(*arrays)
    own = getattr(module_of(first), "on_host", None)
    if own is not None:
        return own(function, *arrays)
    result = function(*(host(a) for a in arrays))
    return tuple(asarray_like(m, first) for m in result) if isinstance(result, tuple) else asarray_like(result, first)


def strided(x: Any, shape: tuple, strides: tuple) -> Any:
    """Return a view of the memory of ``x``, from its first element on, with another shape and other strides, which are
    not checked.
    """
    if type(x) is np.ndarray and x.flags.c_contiguous and x.dtype.kind in "fciub":
        return np.ndarray(shape, x.dtype, x, 0, strides)  # a tenth of the time of as_strided
    return module_of(x).lib.stride_tricks.as_strided(x, shape, strides)


# --- indices --------------------------------------------------------------------------------------


def add_at(out: Any, index: Any, values: Any) -> None:
    """Add ``values`` to ``out`` at ``index``, once for each time an index occurs."""
    if type(out) is np.ndarray and out.size > _MANY and _add_at_places(out, index, values):
        return
    most = selected_ndim(out, index) if type(out) is np.ndarray and type(index) is tuple else values.ndim
    if values.ndim > most:  # NumPy's add.at reads and writes outside of the arrays
        raise ValueError(
            f"values of shape {list(values.shape)} cannot be broadcast to a selection of {most} dimensions"
        )
    module_of(out).add.at(out, index, values)


def selected_ndim(x: Any, index: tuple) -> int:
    """Return the number of dimensions of ``x[index]``, for an index of arrays, masks and slices."""
    arrays = [i for i in index if not isinstance(i, slice)]
    if not arrays:
        return x.ndim
    depth = max(1 if i.dtype.kind == "b" else i.ndim for i in arrays)
    return x.ndim - sum(i.ndim if i.dtype.kind == "b" else 1 for i in arrays) + depth


def take_along(x: Any, index: Any, axis: int) -> Any:
    """Return ``np.take_along_axis``, faster for small arrays."""
    if type(x) is np.ndarray and type(index) is np.ndarray and index.size <= FEW and x.ndim == index.ndim and x.ndim:
        return x[small_grid(axis, index)] if x.ndim > 1 else x.take(index)
    return np.take_along_axis(x, index, axis=axis)


def small_grid(axis: int, index: np.ndarray) -> tuple:
    """Return full index arrays that address a small ``index`` along one axis and each element's own position along the
    others.
    """
    others = _own_places(index.shape)
    return (*others[:axis], index, *others[axis + 1 :])


@lru_cache(maxsize=256)
def _own_places(shape: tuple) -> tuple:
    return tuple([frozen(np.arange(n).reshape((-1,) + (1,) * (len(shape) - i - 1))) for i, n in enumerate(shape)])


def frozen(x: np.ndarray) -> np.ndarray:
    """Return ``x``, made read-only: it is shared."""
    x.flags.writeable = False
    return x


# Up to so many numbers, an index for each axis is faster than flat indices.
FEW = 128
_MANY = 1000  # elements from which a count of the indices pays
_LOTS = 100_000  # elements from which a sparse matrix is worth its making
# From so many numbers in a row on, adding rows one by one is faster.
_WIDE = 256


def _add_at_places(out: np.ndarray, index: Any, values: Any) -> bool:
    """Apply :func:`add_at` with flat indices, which ``np.add.at`` takes ten times as fast; return False if there are
    none.
    """
    if type(index) is not tuple or not out.flags.c_contiguous or getattr(values, "dtype", None) != out.dtype:
        return False
    if any(type(i) is not np.ndarray or i.dtype.kind not in "iu" for i in index):
        return False
    if len(index) == 1 and out.ndim > 1:
        rows = index[0]
        width = out.size // out.shape[0]
        if values.shape != rows.shape + out.shape[1:]:
            return False
        if width >= _WIDE:
            parts = values.reshape(rows.size, width)
            if (
                rows.size >= len(out)
                and out.size > _LOTS
                and values.dtype.char in "fdFD"
                and rows.min() >= 0
                and rows.max() < len(out)
            ):
                out += _one_in_each_column(rows.ravel(), len(out), values.dtype) @ parts
                return True
            for row, part in zip(rows.ravel().tolist(), parts, strict=True):
                into = out[row].reshape(width)
                np.add(into, part, into)
            return True
        places = rows.reshape(-1, 1) * width + np.arange(width)
    elif len(index) == out.ndim:
        places = 0
        step = out.size
        for i, n in zip(index, out.shape, strict=True):
            step //= n
            places = places + (np.where(i < 0, i + n, i) if i.size and i.min() < 0 else i) * step
        if places.shape != values.shape:
            return False
    else:
        return False
    np.add.at(out.reshape(-1), places.ravel(), values.ravel())
    return True


def _one_in_each_column(rows: np.ndarray, n: int, dtype: Any) -> Any:
    """Return a sparse matrix of ``n`` rows with one entry in each column, which adds each row of its right operand to
    the row that ``rows`` names.
    """
    from scipy.sparse import csc_array

    return csc_array((np.ones(rows.size, dtype), rows, np.arange(rows.size + 1)), shape=(n, rows.size))


def taken_along_rows(x: np.ndarray, places: np.ndarray) -> np.ndarray:
    """Return (..., count): in each row of ``x``, the entries at the indices ``places`` of that row, which are not
    checked.
    """
    n, count = x.shape[-1], places.shape[-1]
    rows, index = x.reshape(-1, n), places.reshape(-1, count)
    out = np.empty(places.shape, x.dtype)
    into, step = out.reshape(-1, count), row_step(index.shape)
    starts, buffer = np.arange(0, step * n, n).reshape(-1, 1), np.empty((step, count), np.int64)
    for some in row_blocks(index.shape):
        part = index[some]
        k = len(part)
        # of all modes the quickest
        rows[some].reshape(-1).take(np.add(part, starts[:k], buffer[:k]), None, into[some], "wrap")
    return out


def added_along_rows(places: np.ndarray, values: np.ndarray, n: int) -> np.ndarray:
    """Return (..., n): in each row, the sums of values at equal indices ``places``, computed as a sparse matrix is
    expanded.
    """
    from scipy.sparse import csr_array

    count, out = places.shape[-1], np.empty((*places.shape[:-1], n), values.dtype)
    matrix = csr_array(
        (values.ravel(), places.ravel(), np.arange(0, places.size + 1, count)), shape=(places.size // count, n)
    )
    matrix.toarray(out=out.reshape(matrix.shape))
    return out


def added_up(places: Any, values: Any, n: int) -> Any:
    """Return the sums of the values at each of ``n`` indices: ``np.bincount`` in the values' own dtype."""
    if type(values) is np.ndarray and values.dtype.kind == "f" and values.size > _MANY:
        out = np.zeros(n, values.dtype)
        # of one list of integers, and one dtype: quicker than bincount, which counts in doubles
        np.add.at(out, places, values)
        return out
    if type(values) is np.ndarray:
        summed: Any = np.bincount(places, values.real, n)
        if values.dtype.kind == "c":
            summed = summed + 1j * np.bincount(places, values.imag, n)
        return summed.astype(values.dtype, copy=False)
    out = module_of(values).zeros(n, values.dtype)
    add_at(out, places, values)
    return out
