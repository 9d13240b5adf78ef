"""Python numbers as arrays.

A ufunc takes an array in half the time that it takes a number, and a program uses few different numbers.
"""

from __future__ import annotations

from math import inf
from typing import Any

import numpy as np

single, double, LONG = np.dtype(np.float32), np.dtype(np.float64), np.dtype(np.int64)
_LARGEST, _FAR = float(np.finfo(np.float32).max), 2**63
SINGLES: dict[Any, np.ndarray] = {}  # those that were met
DOUBLES: dict[Any, np.ndarray] = {}
_MOST = 1024
_SMALL = 1e-37


def number_array(y: Any, dtype: np.dtype) -> np.ndarray:
    """Return a real number as a read-only 0-d array of single or double precision."""
    known = SINGLES if dtype is single else DOUBLES
    array = known.get(y)
    if array is None:
        array = np.asarray(y, dtype)
        # The two zeros are equal, and differ; NaN is found by nobody; of a number too large or too small for the
        # dtype NumPy may complain, each time.
        if abs(y) > _SMALL and (abs(array) < inf or abs(y) == inf) and len(known) < _MOST:
            array.flags.writeable = False
            known[y] = array
    return array


def element(value: Any, dtype: np.dtype) -> Any:
    """Return a Python number as a 0-d array of a dtype that can hold it; None if that needs a closer check."""
    if type(value) is float:
        fits = dtype is double or dtype is single and -_LARGEST <= value <= _LARGEST
    else:
        fits = type(value) is int and -_FAR < value < _FAR and (dtype is single or dtype is double or dtype is LONG)
    return np.asarray(value, dtype) if fits else None


def fits_into(b: np.ndarray, a: np.ndarray) -> bool:
    """Return whether ``b`` can be broadcast to the shape of ``a``."""
    shape = a.shape[a.ndim - b.ndim :]
    return b.ndim <= a.ndim and all([m == n or m == 1 for m, n in zip(b.shape, shape, strict=True)])
