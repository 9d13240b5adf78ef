"""The array protocol: how raw arrays are recognised, rounded, and created like one another."""

from __future__ import annotations

import sys
from collections.abc import Callable
from contextvars import ContextVar
from typing import Any

import numpy as np

from .bfloat16_dtype import BFLOAT16, cast

_KNOWN: set[type] = {np.ndarray}
_MODULES: dict[type, Any] = {np.ndarray: np}

# what new arrays become in a part of a program where another kind is to take in everything, also what is made there
# and written to later
becoming: ContextVar[Callable[[Any], Any] | None] = ContextVar("becoming", default=None)


def is_array(value: Any) -> bool:
    """Return whether ``value`` is a raw array: NumPy's, or another library's that follows NumPy's protocols
    (CuPy's).
    """
    kind = type(value)
    if kind in _KNOWN:
        return True
    if isinstance(value, (np.ndarray, np.generic)):
        return True
    if hasattr(kind, "__array_function__") and hasattr(kind, "__array_ufunc__") and hasattr(kind, "__dlpack__"):
        if not kind.__module__.startswith("dualtape"):
            _KNOWN.add(kind)
            return True
    return False


def as_array(value: Any) -> Any:
    """Return an op's raw result as an array: NumPy gives scalars for 0-d results, and only this function converts them
    back.
    """
    if isinstance(value, (np.generic, bool, int, float, complex)):
        return np.asarray(value)
    if type(value) is not np.ndarray and isinstance(value, np.ndarray):
        # Subclasses such as np.matrix and masked arrays have other operators.
        return np.asarray(value)
    settle = getattr(value, "settle", None)
    return value if settle is None else settle()  # a kind that computes with more digits than it keeps


def module_of(array: Any) -> Any:
    """Return the module whose functions create arrays of this kind: ``numpy``, ``cupy``, or a registered one."""
    kind = type(array)
    found = _MODULES.get(kind)
    if found is not None:
        return found if found is np or not callable(found) else found(array)
    return sys.modules["cupy"] if kind.__module__.partition(".")[0] == "cupy" else np


def register_module(kind: type, module: Any) -> None:
    """Register the module that creates arrays of another kind; it has CuPy's functions (``asarray``, ``zeros``,
    ``add.at``, ...).

    A function instead says it for each array.
    """
    _KNOWN.add(kind)
    _MODULES[kind] = module


def zeros(shape: tuple, dtype: Any, like: Any) -> Any:
    """Return zeros of the same kind of array as ``like``."""
    if type(like) is np.ndarray or isinstance(like, np.generic):
        return np.zeros(shape, dtype) if dtype is not BFLOAT16 else cast(np.zeros(shape, np.float32), BFLOAT16)
    # NumPy would refuse the dtype before it asks which array the new one is to be like.
    if dtype is BFLOAT16:
        module = module_of(like)
        if module is np:  # ``like`` is a tensor
            return cast(np.zeros(shape, np.float32, like=like), BFLOAT16)
        return module.zeros(shape, dtype)
    return np.zeros(shape, dtype, like=like)
