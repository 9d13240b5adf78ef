"""The geometric distribution."""

from __future__ import annotations

from typing import Any

import dualtape as dt

from .._tensor.tensor import Tensor
from . import constraints
from ._odds import Odds
from .distribution import Distribution
from .utils import broadcast_all, holds_everywhere, open_uniform, shown

__all__ = ["Geometric"]


class Geometric(Odds, Distribution):
    """Geometric distributions: the number of failures of trials of probability ``probs`` before a success.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.distributions.Geometric(0.25).mean
    tensor(3.)
    """

    support = constraints.nonnegative_integer
    _dt_expands = ("probs", "logits")

    def __init__(self, probs: Any = None, logits: Any = None, validate_args: bool | None = None) -> None:
        super().__init__(self._dt_set_odds(probs, logits), validate_args=validate_args)
        if self._validate_args and probs is not None and not holds_everywhere(self.probs > 0):
            raise ValueError(f"{self!r}: parameter probs has to be positive, got invalid values:\n{shown(self.probs)}")

    @property
    def mean(self) -> Tensor:
        return 1 / self.probs - 1

    @property
    def mode(self) -> Tensor:
        return dt.zeros_like(self.probs)

    @property
    def variance(self) -> Tensor:
        return (1 / self.probs - 1) / self.probs

    def sample(self, sample_shape: Any = ()) -> Tensor:
        with dt.no_grad():
            uniform = open_uniform(self._extended_shape(sample_shape), self.probs)
            return (uniform.log() / (-self.probs).log1p()).floor()

    def log_prob(self, value: Any) -> Tensor:
        self._dt_check_value(value)
        value, probs = broadcast_all(value, self.probs)
        failing = probs.masked_fill((probs == 1) & (value == 0), 0)  # 0 * log(0) is nothing
        return value * (-failing).log1p() + probs.log()

    def entropy(self) -> Tensor:
        return dt.nn.functional.binary_cross_entropy_with_logits(self.logits, self.probs, reduction="none") / self.probs
