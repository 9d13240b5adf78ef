"""The binomial distribution."""

from __future__ import annotations

from typing import Any

import dualtape as dt

from .._tensor.tensor import Tensor
from . import constraints
from ._odds import Odds
from .distribution import Distribution
from .utils import holds_everywhere, softplus

__all__ = ["Binomial"]


class Binomial(Odds, Distribution):
    """Binomial distributions: the number of successes among ``total_count`` trials of probability ``probs``.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.distributions.Binomial(2, dt.tensor(0.5)).enumerate_support()
    tensor([0., 1., 2.])
    """

    arg_constraints = {"total_count": constraints.nonnegative_integer, **Odds.arg_constraints}
    has_enumerate_support = True
    _dt_expands = ("total_count", "probs", "logits")

    def __init__(
        self, total_count: Any = 1, probs: Any = None, logits: Any = None, validate_args: bool | None = None
    ) -> None:
        super().__init__(self._dt_set_counted_odds(total_count, probs, logits), validate_args=validate_args)

    @constraints.dependent_property(is_discrete=True, event_dim=0)
    def support(self) -> Any:
        return constraints.integer_interval(0, self.total_count)

    @property
    def mean(self) -> Tensor:
        return self.total_count * self.probs

    @property
    def mode(self) -> Tensor:
        return dt.minimum(((self.total_count + 1) * self.probs).floor(), self.total_count)

    @property
    def variance(self) -> Tensor:
        return self.total_count * self.probs * (1 - self.probs)

    def sample(self, sample_shape: Any = ()) -> Tensor:
        shape = self._extended_shape(sample_shape)
        with dt.no_grad():
            return dt.binomial(self.total_count.expand(shape), self.probs.expand(shape))

    def log_prob(self, value: Any) -> Tensor:
        self._dt_check_value(value)
        count = self.total_count
        ways = (count + 1).lgamma() - (value + 1).lgamma() - (count - value + 1).lgamma()
        return ways + value * self.logits - count * softplus(self.logits)

    def entropy(self) -> Tensor:
        log_prob = self.log_prob(self._values("entropy"))
        return -(log_prob.exp() * log_prob).sum(0)

    def enumerate_support(self, expand: bool = True) -> Tensor:
        values = self._values("enumerate_support")
        return values.expand(-1, *self._batch_shape) if expand else values

    def _values(self, name: str) -> Tensor:
        total = int(self.total_count.max())
        if not holds_everywhere(self.total_count == total):
            raise NotImplementedError(f"Binomial.{name}: expected one total_count for the whole batch, got several")
        values = dt.arange(1 + total, dtype=self._param.dtype, device=self._param.device)
        return values.view(-1, *[1] * len(self._batch_shape))
