"""Updates of a matrix in place, each in one pass over its memory: products of few columns by BLAS, and multiples of rows.

NumPy makes a new array of a product before it adds it, and goes through a matrix times a column row by row at some cost for each. Rows must lie densely; the
arrays are of single or double precision, and of one dtype.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np


@cache
def _kernels(dtype: Any) -> tuple:
    """BLAS's product, and the one kernel of SciPy that adds multiples of rows to what is there: not of its public face, so that it may be missing."""
    from scipy.linalg import blas

    try:
        from scipy.sparse._sparsetools import csr_matvecs
    except ImportError:
        csr_matvecs = None
    return blas.sgemm if dtype == np.float32 else blas.dgemm, csr_matvecs


def product(out: np.ndarray, left: np.ndarray, right: np.ndarray, add: bool = False) -> np.ndarray:
    """``out`` becomes ``left @ right``, or has it added."""
    # BLAS counts in columns: it sees every matrix transposed
    _kernels(out.dtype)[0](1.0, right.T, left.T, float(add), out.T, overwrite_c=True)
    return out


def add_rows(out: np.ndarray, factors: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """``out += factors[:, None] * rows``, as the product of a diagonal matrix with rows."""
    kernel = _kernels(out.dtype)[1]
    if kernel is None:
        out += factors[:, None] * rows
    else:
        n, width = out.shape
        places = np.arange(n + 1, dtype=np.int32)
        kernel(n, n, width, places, places[:n], factors, rows.reshape(-1), out.reshape(-1))
    return out
