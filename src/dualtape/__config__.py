"""``dualtape.__config__``: what NumPy and the compiler are built on, in words."""

from __future__ import annotations

import platform

import numpy as np

from . import settings
from .arrays.kernels import blas

__all__ = ["parallel_info", "show"]


def show() -> str:
    """Return the versions of NumPy and Python, and the BLAS that products use, as text.

    Examples
    --------
    >>> import dualtape.__config__ as config
    >>> "NumPy" in config.show()
    True
    """
    lines = [f"dualtape on NumPy {np.__version__}", f"  - Python {platform.python_version()}, {platform.machine()}"]
    lines += [f"  - BLAS: {library.path}" for library in blas.libraries()]
    return "\n".join(lines) + "\n"


def parallel_info() -> str:
    """Return the numbers of threads, as text.

    Examples
    --------
    >>> import dualtape.__config__ as config
    >>> "get_num_threads() : " in config.parallel_info()
    True
    """
    return (
        "dualtape parallel info:\n"
        f"\tget_num_threads() : {settings.get_num_threads()}\n"
        f"\tget_num_interop_threads() : {settings.get_num_interop_threads()}\n"
    )
