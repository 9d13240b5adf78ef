"""The negative binomial distribution."""

from __future__ import annotations

from typing import Any

import dualtape as dt

from .._tensor.tensor import Tensor
from . import constraints
from ._odds import Odds
from .distribution import Distribution
from .gamma import Gamma

__all__ = ["NegativeBinomial"]


class NegativeBinomial(Odds, Distribution):
    """Negative binomial distributions: the number of successes, of probability ``probs``, before ``total_count``
    failures.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.distributions.NegativeBinomial(3, dt.tensor(0.5)).mean
    tensor(3.)
    """

    arg_constraints = {
        "total_count": constraints.greater_than_eq(0),
        **Odds.arg_constraints,
        "probs": constraints.half_open_interval(0.0, 1.0),
    }
    support = constraints.nonnegative_integer
    _dt_expands = ("total_count", "probs", "logits")

    def __init__(
        self, total_count: Any, probs: Any = None, logits: Any = None, validate_args: bool | None = None
    ) -> None:
        super().__init__(self._dt_set_counted_odds(total_count, probs, logits), validate_args=validate_args)

    @property
    def mean(self) -> Tensor:
        return self.total_count * self.logits.exp()

    @property
    def mode(self) -> Tensor:
        return ((self.total_count - 1) * self.logits.exp()).floor().clamp(min=0)

    @property
    def variance(self) -> Tensor:
        return self.mean / (-self.logits).sigmoid()

    def sample(self, sample_shape: Any = ()) -> Tensor:
        with dt.no_grad():
            gamma = Gamma(self.total_count, (-self.logits).exp(), validate_args=False)
            return dt.poisson(gamma.sample(sample_shape))

    def log_prob(self, value: Any) -> Tensor:
        self._dt_check_value(value)
        count, logsigmoid = self.total_count, dt.nn.functional.logsigmoid
        unnormalised = count * logsigmoid(-self.logits) + value * logsigmoid(self.logits)
        ways = (count + value).lgamma() - (1 + value).lgamma() - count.lgamma()
        return unnormalised + ways.masked_fill(count + value == 0, 0)
