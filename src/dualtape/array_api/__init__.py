"""The array API standard's namespace for tensors, version 2024.12: the result of ``x.__array_namespace__()``.

Libraries that are written for any array (SciPy's and scikit-learn's functions among them) ask their arguments for it,
and then run on tensors. Each function has the standard's name, signature and promotion, and is made of the ops, so that
its results can be differentiated. ``special`` is not part of the standard: SciPy looks there for its own functions.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

import dualtape as dt

from .. import errors
from . import creation, elementwise, fft, linalg, manipulation, reductions, searching, types
from .creation import *  # noqa: F403 - what its __all__ names
from .elementwise import *  # noqa: F403 - likewise
from .linalg import matmul as matmul
from .linalg import matrix_transpose as matrix_transpose
from .linalg import tensordot as tensordot
from .linalg import vecdot as vecdot
from .manipulation import *  # noqa: F403 - likewise
from .reductions import *  # noqa: F403 - likewise
from .searching import *  # noqa: F403 - likewise
from .types import *  # noqa: F403 - likewise
from .types import _DTYPES, Info

__array_api_version__ = "2024.12"
__array_namespace_info__ = Info
_VERSIONS = ("2021.12", "2022.12", "2023.12", "2024.12")
_CONSTANTS = ("e", "inf", "nan", "newaxis", "pi")

__all__ = [  # noqa: PLE0605 - those of the parts
    "fft",
    "linalg",
    "matmul",
    "matrix_transpose",
    "tensordot",
    "vecdot",
    *_CONSTANTS,
    *_DTYPES,
    *(name for part in (creation, elementwise, manipulation, reductions, searching, types) for name in part.__all__),
    "__array_api_version__",
    "__array_namespace_info__",
]

globals().update({name: getattr(dt, name) for name in (*_CONSTANTS, *_DTYPES)})


def for_version(api_version: str | None) -> Any:
    """Return the namespace for that version of the standard, for ``Tensor.__array_namespace__``; raise for other
    versions.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.array_api.for_version("2023.12").__name__
    'dualtape.array_api'
    """
    if api_version is not None and api_version not in _VERSIONS:
        raise ValueError(f"api_version {api_version!r} is not there: this is 2024.12, which answers for {_VERSIONS}")
    return dt.array_api


def __getattr__(name: str) -> Any:
    # This loads SciPy, which a program without special functions does not need.
    if name == "special":
        return import_module(".special", __name__)
    raise errors.missing(__name__, name, __all__, "these are the names of the array API standard")


def __dir__() -> list[str]:
    return sorted([*__all__, "special"])
