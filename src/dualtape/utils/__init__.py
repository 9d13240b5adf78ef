"""``dualtape.utils``: helpers around training code."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from . import _pytree as _pytree
from . import checkpoint as checkpoint
from . import dlpack as dlpack
from . import hooks as hooks


def __getattr__(name: str) -> Any:
    if name == "data":  # which brings the standard library's processes with it
        return import_module(".data", __name__)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
