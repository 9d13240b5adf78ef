"""``torch.functional``: the functions that PyTorch writes in Python."""

from __future__ import annotations

import sys
from typing import Any

from .fx.names import FUNCTIONAL


def __getattr__(name: str) -> Any:
    if name not in FUNCTIONAL:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(sys.modules[__package__], name)
