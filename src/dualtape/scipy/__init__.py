"""SciPy's names for functions that can be differentiated: ``dualtape.scipy.special`` and so on, imported on demand.

Numbers and arrays give arrays; if an argument is a tensor, so is the result, with its history.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

from .. import errors

__all__ = [
    "fft",
    "integrate",
    "interpolate",
    "linalg",
    "ndimage",
    "optimize",
    "signal",
    "sparse",
    "spatial",
    "special",
    "stats",
]


def __getattr__(name: str) -> Any:
    if name in __all__:
        return import_module(f".{name}", __name__)
    raise errors.missing(__name__, name, __all__)


def __dir__() -> list[str]:
    return sorted(__all__)
