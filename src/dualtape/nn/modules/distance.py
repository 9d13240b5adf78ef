"""Distances and similarities of pairs of vectors."""

from __future__ import annotations

from typing import Any

from .. import functional as F
from .module import Module

__all__ = ["CosineSimilarity", "PairwiseDistance"]


class PairwiseDistance(Module):
    """The p-norm of ``x1 - x2 + eps``, along the last dimension.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.nn.PairwiseDistance(eps=0.0)(dt.zeros(1, 2), dt.tensor([[3.0, 4.0]]))
    tensor([5.])
    """

    __constants__ = ["norm", "eps", "keepdim"]

    def __init__(self, p: float = 2.0, eps: float = 1e-6, keepdim: bool = False) -> None:
        super().__init__()
        self.norm, self.eps, self.keepdim = p, eps, keepdim

    def forward(self, x1: Any, x2: Any) -> Any:
        return F.pairwise_distance(x1, x2, self.norm, self.eps, self.keepdim)


class CosineSimilarity(Module):
    """The cosine of the angle between ``x1`` and ``x2``, along ``dim``.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.nn.CosineSimilarity(dim=0)(dt.tensor([1.0, 0.0]), dt.tensor([2.0, 0.0]))
    tensor(1.)
    """

    __constants__ = ["dim", "eps"]

    def __init__(self, dim: int = 1, eps: float = 1e-8) -> None:
        super().__init__()
        self.dim, self.eps = dim, eps

    def forward(self, x1: Any, x2: Any) -> Any:
        return F.cosine_similarity(x1, x2, self.dim, self.eps)
