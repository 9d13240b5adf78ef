"""In-place updates of a matrix, each in one pass over its memory: products of few columns by BLAS, and scaled rows.

NumPy allocates a product before it adds it, and multiplies a matrix by a column row by row at some cost for each. Rows
must be contiguous; the arrays have single or double precision, and one dtype.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np


@cache
def _kernels(dtype: Any) -> tuple:
    """Return BLAS's product, and two kernels of SciPy for scaled rows, added or in place, which are not public and may
    be missing.
    """
    from scipy.linalg import blas

    try:
        from scipy.sparse._sparsetools import csr_matvecs, csr_scale_rows
    except ImportError:
        csr_matvecs = csr_scale_rows = None
    single = dtype == np.float32
    return blas.sgemm if single else blas.dgemm, blas.sger if single else blas.dger, csr_matvecs, csr_scale_rows


def product(out: np.ndarray, left: np.ndarray, right: np.ndarray, add: bool = False) -> np.ndarray:
    """Write ``left @ right`` into ``out``, or add it."""
    # BLAS counts in columns: it sees every matrix transposed
    _kernels(out.dtype)[0](1.0, right.T, left.T, float(add), out.T, overwrite_c=True)
    return out


def add_outer(out: np.ndarray, column: np.ndarray, row: np.ndarray) -> np.ndarray:
    """Add ``column[:, None] * row`` to ``out``."""
    _kernels(out.dtype)[1](1.0, row, column, a=out.T, overwrite_a=True)
    return out


def add_rows(out: np.ndarray, factors: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """Add ``factors[:, None] * rows`` to ``out``, as the product of a diagonal matrix with rows."""
    kernel = _kernels(out.dtype)[2]
    if kernel is None:
        out += factors[:, None] * rows
    else:
        n, width = out.shape
        places = np.arange(n + 1, dtype=np.int32)
        kernel(n, n, width, places, places[:n], factors, rows.reshape(-1), out.reshape(-1))
    return out


def scale_rows(out: np.ndarray, factors: np.ndarray) -> np.ndarray:
    """Multiply ``out`` by ``factors[:, None]``, as a sparse matrix without zeros."""
    kernel = _kernels(out.dtype)[3]
    if kernel is None:
        out *= factors[:, None]
    else:
        n, width = out.shape
        ends = np.arange(0, (n + 1) * width, width)
        kernel(n, width, ends, ends[:0], out.reshape(-1), factors)
    return out
