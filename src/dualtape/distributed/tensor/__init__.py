"""Distributed tensors: :class:`DTensor`.

A tensor over a sharded array passes through every op, formula, hook and transform like any other.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

from .api import DTensor, distribute_module, distribute_tensor
from .creation import empty, full, ones, rand, randn, zeros
from .placement_types import Partial, Placement, Replicate, Shard

__all__ = [
    "DTensor",
    "Partial",
    "Placement",
    "Replicate",
    "Shard",
    "distribute_module",
    "distribute_tensor",
    "empty",
    "full",
    "ones",
    "rand",
    "randn",
    "zeros",
]


def __getattr__(name: str) -> Any:
    if name == "parallel":
        return import_module(".parallel", __name__)
    raise AttributeError(f"module 'dualtape.distributed.tensor' has no attribute {name!r}")
