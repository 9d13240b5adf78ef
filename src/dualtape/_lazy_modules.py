"""The parts of the package that load on first use: ``dualtape.nn``, ``dualtape.linalg``, printing options."""

from __future__ import annotations

import sys
from importlib import import_module
from typing import Any

_MODULES = ("nn", "linalg", "data", "tour", "draw")
_NAMES = {"set_printoptions": "printing", "result_type": "promotion"}


def __getattr__(name: str) -> Any:
    package = sys.modules[__package__]
    if name in _MODULES:
        value = import_module(f".{name}", __package__)
    elif name in _NAMES:
        value = getattr(import_module(f".{_NAMES[name]}", __package__), name)
    else:
        raise AttributeError(f"module 'dualtape' has no attribute {name!r}")
    setattr(package, name, value)
    return value
