"""The gamma distribution."""

from __future__ import annotations

from typing import Any

import dualtape as dt

from .._tensor.tensor import Tensor
from . import constraints
from .exp_family import Canonical, ExponentialFamily
from .utils import away_from_zero, broadcast_all

__all__ = ["Gamma"]


class Gamma(ExponentialFamily):
    """Gamma distributions of shape ``concentration`` and ``rate``.

    Samples move with ``concentration`` along their quantiles.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.distributions.Gamma(3.0, 2.0).mean
    tensor(1.5000)
    """

    arg_constraints: Any = {"concentration": constraints.positive, "rate": constraints.positive}
    support = constraints.nonnegative
    has_rsample = True
    _dt_expands = ("concentration", "rate")

    def __init__(self, concentration: Any, rate: Any, validate_args: bool | None = None) -> None:
        self.concentration, self.rate = broadcast_all(concentration, rate)
        super().__init__(self.concentration.shape, validate_args=validate_args)

    @property
    def mean(self) -> Tensor:
        return self.concentration / self.rate

    @property
    def mode(self) -> Tensor:
        return ((self.concentration - 1) / self.rate).clamp(min=0)

    @property
    def variance(self) -> Tensor:
        return self.concentration / self.rate**2

    def rsample(self, sample_shape: Any = ()) -> Tensor:
        shape = self._extended_shape(sample_shape)
        value = dt._standard_gamma(self.concentration.expand(shape)) / self.rate.expand(shape)
        return away_from_zero(value)

    def log_prob(self, value: Any) -> Tensor:
        value = dt.as_tensor(value, dtype=self.rate.dtype, device=self.rate.device)
        self._dt_check_value(value)
        powers = self.concentration.xlogy(self.rate) + (self.concentration - 1).xlogy(value)
        return powers - self.rate * value - self.concentration.lgamma()

    def cdf(self, value: Any) -> Tensor:
        self._dt_check_value(value)
        return dt.special.gammainc(self.concentration, self.rate * value)

    def entropy(self) -> Tensor:
        a = self.concentration
        return a - self.rate.log() + a.lgamma() + (1 - a) * a.digamma()

    def _dt_canonical(self) -> Canonical:
        return Canonical((self.concentration - 1, -self.rate), lambda x, y: (x + 1).lgamma() - (x + 1) * (-y).log(), 0)
