"""The generalised Pareto distribution."""

from __future__ import annotations

import math
from typing import Any

import dualtape as dt

from .._tensor.tensor import Tensor
from . import constraints
from .distribution import Distribution
from .utils import attribute, broadcast_all

__all__ = ["GeneralizedPareto"]


class GeneralizedPareto(Distribution):
    """Generalised Pareto distributions: the excess over a threshold ``loc``, by ``scale``, with tails that are heavy
    (``concentration > 0``), exponential (0) or bounded (below 0).

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.distributions.GeneralizedPareto(0.0, 1.0, 0.5).mean
    tensor(2.)
    """

    arg_constraints = {"loc": constraints.real, "scale": constraints.positive, "concentration": constraints.real}
    has_rsample = True
    _dt_expands = ("loc", "scale", "concentration")

    def __init__(self, loc: Any, scale: Any, concentration: Any, validate_args: bool | None = None) -> None:
        self.loc, self.scale, self.concentration = broadcast_all(loc, scale, concentration)
        super().__init__(self.loc.shape, validate_args=validate_args)

    @constraints.dependent_property(is_discrete=False, event_dim=0)
    def support(self) -> Any:
        bounded = self.loc - self.scale / self.concentration
        return constraints.interval(self.loc, dt.where(self.concentration < 0, bounded, math.inf))

    def _dt_tail(self, z: Any) -> Any:
        """Return ``log(1 + concentration * z) / concentration``, by its series where the concentration is near zero."""
        small = dt.isclose(self.concentration, dt.zeros_like(self.concentration))
        a = self.concentration.masked_fill(small, 1)
        return dt.where(small, z - 0.5 * self.concentration * z**2, (a * z).log1p() / a)

    def _z(self, x: Any) -> Any:
        return (x - self.loc) / self.scale

    @property
    def mean(self) -> Tensor:
        a = self.concentration
        return dt.where(a < 1, self.loc + self.scale / (1 - a.masked_fill(~(a < 1), 0)), math.nan)

    mode = attribute("loc")

    @property
    def variance(self) -> Tensor:
        a = self.concentration.masked_fill(~(self.concentration < 0.5), 0)
        return dt.where(self.concentration < 0.5, self.scale**2 / ((1 - a) ** 2 * (1 - 2 * a)), math.nan)

    def rsample(self, sample_shape: Any = ()) -> Tensor:
        return self.icdf(dt.rand(self._extended_shape(sample_shape), dtype=self.loc.dtype, device=self.loc.device))

    def log_prob(self, value: Any) -> Tensor:
        self._dt_check_value(value)
        return -(1 + self.concentration) * self._dt_tail(self._z(value)) - self.scale.log()

    def log_survival_function(self, value: Any) -> Tensor:
        """The logarithm of the probability of more than ``value``."""
        self._dt_check_value(value)
        return -self._dt_tail(self._z(value))

    def log_cdf(self, value: Any) -> Tensor:
        """The logarithm of the probability of at most ``value``."""
        return (-self.log_survival_function(value).expm1()).log()

    def cdf(self, value: Any) -> Tensor:
        return self.log_cdf(value).exp()

    def icdf(self, value: Any) -> Tensor:
        t = -(-value).log1p()
        small = dt.isclose(self.concentration, dt.zeros_like(self.concentration))
        a = self.concentration.masked_fill(small, 1)
        at_end = t.isinf()
        t = t.masked_fill(at_end, 1)
        z = dt.where(small, t + 0.5 * self.concentration * t**2, (a * t).expm1() / a)
        end = dt.where(a < 0, -1 / a, math.inf)
        return self.loc + self.scale * dt.where(at_end, end, z)

    def entropy(self) -> Tensor:
        return self.scale.log() + self.concentration + 1
