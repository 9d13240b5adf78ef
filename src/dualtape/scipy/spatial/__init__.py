"""``scipy.spatial`` for tensors: distances."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from ...arrays.lazy import scipy_spatial as _spatial
from .._like import names_of, scipys

__all__ = ["distance"]


def __getattr__(name: str) -> Any:
    if name == "distance":
        return import_module(f".{name}", __name__)
    return scipys(_spatial, name, __name__)


__dir__ = names_of(_spatial, __name__)
