"""``dualtape.utils``: helpers around training code."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from .. import errors
from .._listing import listing
from .._tensor.swapping import swap_tensors as swap_tensors
from . import _pytree as _pytree
from . import checkpoint as checkpoint
from . import deterministic as deterministic
from . import dlpack as dlpack
from . import hooks as hooks


def __getattr__(name: str) -> Any:
    # These load the standard library's processes, and another package.
    if name in ("data", "einops"):
        return import_module(f".{name}", __name__)
    raise errors.missing(__name__, name, globals())


__dir__ = listing(__name__)
