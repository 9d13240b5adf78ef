"""A softmax over many classes, of which few are frequent: rare ones share clusters with smaller features."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from ...ops import FUNCTIONS
from .. import functional as F
from .container import ModuleList, Sequential
from .linear import Linear
from .module import Module

__all__ = ["AdaptiveLogSoftmaxWithLoss"]


class _ASMoutput(NamedTuple):
    output: Any
    loss: Any


class AdaptiveLogSoftmaxWithLoss(Module):
    """The log-probability of each target among many classes, sorted from frequent to rare, and the mean loss.

    Parameters
    ----------
    in_features, n_classes : int
    cutoffs : sequence of int
        Where clusters of classes begin after the first, which is the most frequent.
    div_value : float
        Each cluster has so many times fewer features than the one before it.
    head_bias : bool

    Examples
    --------
    >>> import dualtape as dt
    >>> loss = dt.nn.AdaptiveLogSoftmaxWithLoss(16, 20, [4, 10])
    >>> loss(dt.rand(3, 16), dt.tensor([0, 5, 19])).output.shape
    dualtape.Size([3])
    """

    def __init__(
        self,
        in_features: int,
        n_classes: int,
        cutoffs: Sequence[int],
        div_value: float = 4.0,
        head_bias: bool = False,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        cutoffs = list(cutoffs)
        if not cutoffs:
            raise ValueError("cutoffs must hold at least one class index, got none")
        if (
            cutoffs != sorted(set(cutoffs))
            or cutoffs[0] <= 0
            or cutoffs[-1] > n_classes - 1
            or any(int(c) != c for c in cutoffs)
        ):
            raise ValueError(
                "cutoffs should be a sequence of unique, positive integers sorted in an increasing order, where each"
                f" value is between 1 and n_classes-1, got {cutoffs} of {n_classes}"
            )
        self.in_features, self.n_classes, self.div_value, self.head_bias = in_features, n_classes, div_value, head_bias
        self.cutoffs = [*cutoffs, n_classes]
        self.shortlist_size, self.n_clusters = cutoffs[0], len(cutoffs)
        self.head_size = self.shortlist_size + self.n_clusters
        self.head = Linear(in_features, self.head_size, head_bias, device, dtype)
        self.tail = ModuleList()
        for k in range(self.n_clusters):
            inner = int(in_features // div_value ** (k + 1))
            size = self.cutoffs[k + 1] - self.cutoffs[k]
            first = Linear(in_features, inner, False, device, dtype)
            self.tail.append(Sequential(first, Linear(inner, size, False, device, dtype)))

    def reset_parameters(self) -> None:
        """Draw all weights again."""
        self.head.reset_parameters()
        for first, second in self.tail:
            first.reset_parameters()
            second.reset_parameters()

    def forward(self, input_: Any, target_: Any) -> _ASMoutput:
        """``output``: the log-probability of each target; ``loss``: the mean of their negatives."""
        if target_.dim() not in (0, 1):
            raise RuntimeError(f"0D or 1D target tensor expected, got {target_.dim()}D")
        if target_.dim() == 1 and (input_.dim() != 2 or input_.shape[0] != target_.shape[0]):
            raise RuntimeError(
                f"Input and target should have the same size in the batch dimension, got {list(input_.shape)} and"
                f" {list(target_.shape)}"
            )
        if target_.dim() == 0 and input_.dim() != 1:
            raise RuntimeError(f"0D target tensor expects 1D input tensors, got {input_.dim()}D")
        input = input_ if target_.dim() else input_.unsqueeze(0)
        target = target_ if target_.dim() else target_.unsqueeze(0)
        outside = (target < 0) | (target >= self.n_classes)
        if bool(outside.any()):
            raise RuntimeError(
                f"targets are classes from 0 to {self.n_classes - 1}, got values from {target.min().item()} to"
                f" {target.max().item()}"
            )
        places = target.clone()
        rest = input.new_zeros(target.shape)
        for k in range(self.n_clusters):
            inside = (target >= self.cutoffs[k]) & (target < self.cutoffs[k + 1])
            rows = inside.nonzero().squeeze(1)
            if rows.numel() == 0:
                continue
            own = F.log_softmax(self.tail[k](input.index_select(0, rows)), dim=1)
            offsets = (target.index_select(0, rows) - self.cutoffs[k]).unsqueeze(1)
            rest = rest.index_put((rows,), own.gather(1, offsets).squeeze(1))
            places.index_fill_(0, rows, self.shortlist_size + k)
        head = F.log_softmax(self.head(input), dim=1)
        output = rest + head.gather(1, places.unsqueeze(1)).squeeze(1)
        loss = (-output).mean()
        return _ASMoutput(output if target_.dim() else output.squeeze(0), loss)

    def _get_full_log_prob(self, input: Any, head_output: Any) -> Any:
        head = F.log_softmax(head_output, dim=1)
        parts = [head[:, : self.shortlist_size]]
        for k, tail in enumerate(self.tail):
            place = self.shortlist_size + k
            parts.append(F.log_softmax(tail(input), dim=1) + head[:, place : place + 1])
        return FUNCTIONS["cat"](parts, 1)

    def log_prob(self, input: Any) -> Any:
        """The log-probabilities of all classes."""
        return self._get_full_log_prob(input, self.head(input))

    def predict(self, input: Any) -> Any:
        """The most probable class of each sample; clusters are evaluated only where they are the most probable."""
        head = self.head(input)
        found = head.argmax(1)
        rare = found >= self.shortlist_size
        if not bool(rare.any()):
            return found
        if bool(rare.all()):
            return self.log_prob(input).argmax(1)
        rows = rare.nonzero().squeeze(1)
        found[rows] = self._get_full_log_prob(input[rows], head[rows]).argmax(1)
        return found
