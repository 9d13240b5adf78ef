"""Modules imported on first use: importing SciPy takes longer than importing everything else here."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import numpy as np

from .kernels import blas


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


class Guarded(Lazy):
    """A module of linear algebra, whose functions do not split matrices of moderate size between threads."""

    def __getattr__(self, attribute: str) -> Any:
        value = super().__getattr__(attribute)
        blas.loaded_scipy()
        if callable(value) and not isinstance(value, type) and not attribute.startswith("get_"):
            setattr(self, attribute, value := blas.guarded(value))
        return value


def lapack(name: str, *arrays: np.ndarray) -> Any:
    """Return LAPACK's routine for arrays of these dtypes."""
    (found,) = scipy_linalg.get_lapack_funcs((name,), arrays)
    return blas.guarded(found)


special = Ufuncs("scipy.special")
numpy_linalg = Guarded("numpy.linalg")
scipy_linalg = Guarded("scipy.linalg")
scipy_blas = Lazy("scipy.linalg.blas")
scipy_lapack = Guarded("scipy.linalg.lapack")
scipy_fft = Lazy("scipy.fft")
scipy_stats = Lazy("scipy.stats")
scipy_signal = Lazy("scipy.signal")
scipy_integrate = Lazy("scipy.integrate")
scipy_optimize = Lazy("scipy.optimize")
scipy_sparse = Lazy("scipy.sparse")
scipy_sparse_linalg = Lazy("scipy.sparse.linalg")
scipy_interpolate = Lazy("scipy.interpolate")
scipy_ndimage = Lazy("scipy.ndimage")
scipy_distance = Lazy("scipy.spatial.distance")
scipy_spatial = Lazy("scipy.spatial")
scipy_windows = Lazy("scipy.signal.windows")
