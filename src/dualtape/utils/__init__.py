"""``dualtape.utils``: helpers around training code."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from . import checkpoint as checkpoint


def __getattr__(name: str) -> Any:
    if name == "hooks":  # which reads all of nn
        return import_module(".hooks", __package__)
    raise AttributeError(f"module 'dualtape.utils' has no attribute {name!r}")
