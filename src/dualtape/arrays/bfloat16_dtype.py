"""The dtype ``bfloat16``, which NumPy lacks, and conversions to it.

The arrays are in :mod:`dualtape.arrays.bfloat16`, which is imported when the first one is made.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from types import SimpleNamespace
from typing import Any

import numpy as np


class BFloat16Type:
    """The dtype of bfloat16 arrays, with the attributes of NumPy's dtypes; NumPy itself refuses it."""

    __slots__ = ()

    name, kind, char = "bfloat16", "f", "E"
    itemsize, isnative, type, num = 2, True, np.float32, -1

    def newbyteorder(self, order: str = "=") -> BFloat16Type:
        return self

    def __repr__(self) -> str:
        return "bfloat16"

    def __eq__(self, other: object) -> bool:
        return type(other) is BFloat16Type

    def __hash__(self) -> int:
        return hash("bfloat16")

    def __reduce__(self) -> Any:
        return "BFLOAT16"


BFLOAT16: Any = BFloat16Type()
SINGLE = np.dtype(np.float32)


def cast(array: Any, dtype: Any) -> Any:
    """Return ``array`` in another dtype, one of NumPy's or bfloat16."""
    if dtype is BFLOAT16 and isinstance(array, (np.ndarray, np.generic)):
        from .bfloat16 import rounded

        return rounded(np.asarray(array))
    if 0 in getattr(array, "strides", ()):
        axes = _order_of_axes(array.shape, array.strides)
        back = sorted(range(len(axes)), key=axes.__getitem__)
        turned = array.transpose(axes)
        if dtype is BFLOAT16 and isinstance(turned, np.ndarray):
            # A traced array gives its values, once the trace has been given up.
            return cast(turned.copy(), dtype).transpose(back)
        return turned.astype(dtype, order="C").transpose(back)
    return array.astype(dtype)


def _order_of_axes(shape: tuple, strides: tuple) -> list[int]:
    """Return the axes of an expanded array from outermost to innermost, as PyTorch orders those of a result.

    An expanded axis, whose stride is 0, stays beside the axes it stood beside.
    """
    order = list(range(len(shape)))[::-1]  # the innermost first
    for k in range(1, len(order)):
        for before in range(k - 1, -1, -1):
            inner, outer = order[before], order[k]
            if not strides[inner] or not strides[outer]:
                continue
            if strides[inner] < strides[outer] or strides[inner] == strides[outer] and shape[inner] <= shape[outer]:
                break
            order[before], order[k] = outer, inner
            k = before
    return order[::-1]


def number(value: Any, dtype: Any) -> Any:
    """Return a number for use beside arrays of ``dtype``; beside bfloat16 it keeps its float32 digits."""
    if dtype is BFLOAT16:
        from .bfloat16 import BFloat16Array

        return BFloat16Array(np.asarray(value, np.float32))
    return np.asarray(value).astype(dtype)


def kept_number(value: float, dtype: Any) -> float:
    """Return a number rounded to a half type; for other dtypes, the number itself."""
    if dtype.itemsize != 2 or dtype.kind != "f":
        return value
    return float(made(np.asarray, value, BFLOAT16 if dtype == BFLOAT16 else np.float16).item())


def in_single(function: Callable) -> Callable:
    """Return ``function`` such that half precision is computed in single precision and rounded once: for accumulations,
    which would round at every step.
    """

    @wraps(function)
    def computed(x: Any, *args: Any, **options: Any) -> Any:
        dtype = x.dtype
        if dtype.itemsize != 2 or dtype.kind != "f":
            return function(x, *args, **options)
        return cast(function(cast(x, SINGLE), *args, **options), dtype)

    return computed


def limits(dtype: Any) -> Any:
    """Return ``np.finfo``, also for bfloat16."""
    return _LIMITS if dtype is BFLOAT16 else np.finfo(dtype)


_LARGEST = (2.0 - 2.0**-7) * 2.0**127
_LIMITS = SimpleNamespace(bits=16, nmant=7, eps=2.0**-7, max=_LARGEST, min=-_LARGEST, tiny=2.0**-126, resolution=0.01)


def made(make: Any, what: Any, dtype: Any) -> Any:
    """Return ``make(what, dtype)`` for a NumPy function ``make`` and a dtype of NumPy's or bfloat16."""
    return make(what, dtype) if dtype is not BFLOAT16 else cast(make(what, SINGLE), dtype)


def from_bits(bits: np.ndarray) -> Any:
    """Return a new array of the bfloat16 numbers whose bits are given as uint16."""
    return cast((bits.astype(np.uint32) << 16).view(np.float32), BFLOAT16)


def result_type(values: Any) -> Any:
    """Return ``np.result_type`` of arrays, dtypes and numbers, bfloat16 among them."""
    if not any(value is BFLOAT16 or getattr(value, "dtype", None) is BFLOAT16 for value in values):
        return np.result_type(*values)
    from .bfloat16 import _result_type

    return _result_type(tuple(values))
