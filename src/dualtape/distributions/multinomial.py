"""The multinomial distribution."""

from __future__ import annotations

import math
from typing import Any

import dualtape as dt

from .._tensor.tensor import Tensor
from . import constraints
from ._odds import OfCategories
from .binomial import Binomial
from .categorical import Categorical
from .distribution import Distribution
from .utils import broadcast_all

__all__ = ["Multinomial"]


class Multinomial(OfCategories, Distribution):
    """Multinomial distributions: how often each category comes up in ``total_count`` draws.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.distributions.Multinomial(4, dt.tensor([0.5, 0.5])).log_prob(dt.tensor([2.0, 2.0]))
    tensor(-0.9808)
    """

    total_count: int
    _dt_expands = ("_categorical",)
    _dt_shares = ("total_count",)

    def __init__(
        self, total_count: int = 1, probs: Any = None, logits: Any = None, validate_args: bool | None = None
    ) -> None:
        if not isinstance(total_count, int):
            raise NotImplementedError(
                f"Multinomial: total_count must be one int for the whole batch, got {type(total_count).__name__}"
            )
        self.total_count = total_count
        self._categorical = Categorical(probs, logits)
        self._binomial = Binomial(total_count, self.probs)
        super().__init__(*self._dt_shapes(), validate_args=validate_args)

    def expand(self, batch_shape: Any, _instance: Any = None) -> Multinomial:
        new = super().expand(batch_shape, _instance)
        new._binomial = Binomial(self.total_count, new.probs, validate_args=False)
        return new

    @constraints.dependent_property(is_discrete=True, event_dim=1)
    def support(self) -> Any:
        return constraints.multinomial(self.total_count)

    @property
    def mean(self) -> Tensor:
        return self.probs * self.total_count

    @property
    def variance(self) -> Tensor:
        return self.total_count * self.probs * (1 - self.probs)

    def sample(self, sample_shape: Any = ()) -> Tensor:
        drawn = self._categorical.sample((self.total_count, *sample_shape)).movedim(0, -1)
        counts = self.probs.detach().new_zeros(self._extended_shape(sample_shape))
        return counts.scatter_add_(-1, drawn, dt.ones_like(drawn, dtype=counts.dtype))

    def log_prob(self, value: Any) -> Tensor:
        self._dt_check_value(value)
        logits, value = broadcast_all(self.logits, value)
        logits = logits.masked_fill((value == 0) & (logits == -math.inf), 0)
        return (value.sum(-1) + 1).lgamma() - (value + 1).lgamma().sum(-1) + (logits * value).sum(-1)

    def entropy(self) -> Tensor:
        n = dt.tensor(float(self.total_count), dtype=self.probs.dtype, device=self.probs.device)
        counts = self._binomial.enumerate_support(expand=False)[1:]
        repeated = (self._binomial.log_prob(counts).exp() * (counts + 1).lgamma()).sum((0, -1))
        return n * self._categorical.entropy() - (n + 1).lgamma() + repeated
