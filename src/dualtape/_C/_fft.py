"""``torch._C._fft``: the functions of ``fft`` under the names that generated code has for them."""

from __future__ import annotations

from importlib import import_module
from typing import Any


def __getattr__(name: str) -> Any:
    if not name.startswith("fft_"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module("dualtape.fft"), name.removeprefix("fft_"))
