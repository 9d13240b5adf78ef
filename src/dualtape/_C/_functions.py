"""``_C._functions``: the classes of nodes, by PyTorch's names."""

from __future__ import annotations

from typing import Any

from ..autograd.function_once import _Error as Error
from ..autograd.node import AccumulateGrad
from ..autograd.views import AsStridedBackward0, CopySlices
from ..ops import load_all
from ..ops.table import TABLE

__all__ = ["AccumulateGrad", "AsStridedBackward0", "CopySlices", "Error"]


def __getattr__(name: str) -> Any:
    if "Backward" in name:
        load_all()
        for row in TABLE.values():
            for variant in range(len(getattr(row, "_node_classes", ()))):
                kind = row.node_class(variant)
                if kind.__name__ == name:
                    globals()[name] = kind
                    return kind
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
