"""``torch._C._linalg``: the functions of ``linalg`` under the names that generated code has for them."""

from __future__ import annotations

from importlib import import_module
from typing import Any


def __getattr__(name: str) -> Any:
    if not name.startswith("linalg_"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module("dualtape.linalg"), name.removeprefix("linalg_"))
