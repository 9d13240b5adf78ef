"""Python's numbers as arrays: a ufunc takes an array in half the time that it takes a number in, and a program has
few numbers.
"""

from __future__ import annotations

from math import inf
from typing import Any

import numpy as np

single = np.dtype(np.float32)
SINGLES: dict[Any, np.ndarray] = {}  # those that were met
DOUBLES: dict[Any, np.ndarray] = {}
_MOST = 1024
_SMALL = 1e-37


def number_array(y: Any, dtype: np.dtype) -> np.ndarray:
    """A real number as an array of single or double precision without dimensions, which nobody writes to."""
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
