"""Bases of losses: a reduction, and optionally a weight for each class."""

from __future__ import annotations

from typing import Any

from ...ops.families.losses import reduction_of
from .module import Module


class _Loss(Module):
    """A reduction, ``"mean"``, ``"sum"`` or ``"none"``; two deprecated arguments say the same."""

    reduction: str

    def __init__(self, size_average: Any = None, reduce: Any = None, reduction: str = "mean") -> None:
        super().__init__()
        old = size_average is not None or reduce is not None
        self.reduction = reduction_of(size_average, reduce, reduction) if old else reduction


class _WeightedLoss(_Loss):
    """A loss with a weight for each class, which is a buffer."""

    weight: Any

    def __init__(
        self, weight: Any = None, size_average: Any = None, reduce: Any = None, reduction: str = "mean"
    ) -> None:
        super().__init__(size_average, reduce, reduction)
        self.register_buffer("weight", weight)
