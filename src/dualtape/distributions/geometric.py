"""The geometric distribution."""

from __future__ import annotations

from typing import Any

import dualtape as dt

from .._tensor.tensor import Tensor
from . import constraints
from ._odds import Odds
from .distribution import Distribution, batch_shape_of
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

    arg_constraints = {"probs": constraints.unit_interval, "logits": constraints.real}
    support = constraints.nonnegative_integer

    def __init__(self, probs: Any = None, logits: Any = None, validate_args: bool | None = None) -> None:
        name, given = self._given(probs, logits)
        (self.__dict__[name],) = broadcast_all(given)
        super().__init__(batch_shape_of(given), validate_args=validate_args)
        if self._validate_args and probs is not None and not holds_everywhere(self.probs > 0):
            raise ValueError(f"{self!r}: parameter probs has to be positive, got invalid values:\n{shown(self.probs)}")

    def expand(self, batch_shape: Any, _instance: Any = None) -> Geometric:
        return self._expanded(Geometric, batch_shape, _instance, "probs", "logits")

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
        if self._validate_args:
            self._validate_sample(value)
        value, probs = broadcast_all(value, self.probs)
        failing = probs.masked_fill((probs == 1) & (value == 0), 0)  # 0 * log(0) is nothing
        return value * (-failing).log1p() + probs.log()

    def entropy(self) -> Tensor:
        return dt.nn.functional.binary_cross_entropy_with_logits(self.logits, self.probs, reduction="none") / self.probs
