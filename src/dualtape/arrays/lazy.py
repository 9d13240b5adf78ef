"""Modules imported on first use: importing SciPy takes longer than importing everything else here."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import numpy as np


class Lazy:
    """Placeholder of a module until an attribute is read; functions are cached."""

    def __init__(self, name: str) -> None:
        self.__name__ = name

    def __getattr__(self, attribute: str) -> Any:
        value = getattr(import_module(self.__name__), attribute)
        setattr(self, attribute, value)
        return value


class Ufuncs(Lazy):
    """A module whose ufuncs are unwrapped from the functions that ask arrays for their namespace.

    SciPy wraps them where SCIPY_ARRAY_API is set, and tensors' namespace leads back here.
    """

    def __getattr__(self, attribute: str) -> Any:
        value = super().__getattr__(attribute)
        inside = getattr(value, "__wrapped__", None)
        if isinstance(inside, np.ufunc):
            setattr(self, attribute, value := inside)
        return value


special = Ufuncs("scipy.special")
scipy_linalg = Lazy("scipy.linalg")
scipy_blas = Lazy("scipy.linalg.blas")
scipy_lapack = Lazy("scipy.linalg.lapack")
scipy_fft = Lazy("scipy.fft")
scipy_stats = Lazy("scipy.stats")
scipy_signal = Lazy("scipy.signal")
scipy_integrate = Lazy("scipy.integrate")
scipy_optimize = Lazy("scipy.optimize")
scipy_sparse = Lazy("scipy.sparse")
scipy_sparse_linalg = Lazy("scipy.sparse.linalg")
