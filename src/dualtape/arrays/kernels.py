"""Kernels that NumPy and CuPy spell differently: reductions, running reductions, scattered addition.

On NumPy's arrays these are the ufuncs' own methods, which are quickest; on other arrays the functions of the same meaning.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .protocol import module_of

_REDUCTIONS = {"add": "sum", "multiply": "prod", "maximum": "max", "minimum": "min", "logical_or": "any", "logical_and": "all"}
_RUNNING = {"add": "cumsum", "multiply": "cumprod"}


def reduce(ufunc: Any, x: Any, axis: Any = None, dtype: Any = None, keepdims: bool = False) -> Any:
    """``ufunc.reduce`` on any kind of array."""
    if isinstance(x, (np.ndarray, np.generic)):
        return ufunc.reduce(x, axis, dtype, None, keepdims)
    if axis == ():
        return x if dtype is None else x.astype(dtype)
    function = getattr(np, _REDUCTIONS[ufunc.__name__])
    if dtype is None or ufunc.__name__ not in ("add", "multiply"):
        return function(x, axis=axis, keepdims=keepdims)
    return function(x, axis=axis, dtype=dtype, keepdims=keepdims)


def add_reduce(x: Any, axis: Any = 0, dtype: Any = None, out: None = None, keepdims: bool = False) -> Any:
    """The sum over axes, with the signature of ``np.add.reduce``."""
    if isinstance(x, (np.ndarray, np.generic)):
        return np.add.reduce(x, axis, dtype, None, keepdims)
    return reduce(np.add, x, axis, dtype, keepdims)


def accumulate(ufunc: Any, x: Any, axis: int) -> Any:
    """``ufunc.accumulate`` on any kind of array."""
    if type(x) is np.ndarray or ufunc.__name__ not in _RUNNING:
        return ufunc.accumulate(x, axis)
    return getattr(np, _RUNNING[ufunc.__name__])(x, axis=axis)


def add_at(out: Any, index: Any, values: Any) -> None:
    """Add ``values`` to ``out`` at ``index``, as often as a place is named."""
    module_of(out).add.at(out, index, values)
