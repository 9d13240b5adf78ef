"""The Kumaraswamy distribution."""

from __future__ import annotations

import math
from typing import Any

import dualtape as dt

from .._tensor.tensor import Tensor
from . import constraints
from .transformed_distribution import TransformedDistribution
from .transforms import AffineTransform, PowerTransform, Transform
from .uniform import Uniform
from .utils import broadcast_all, euler_constant

__all__ = ["Kumaraswamy"]


class Kumaraswamy(TransformedDistribution):
    """Kumaraswamy distributions: similar to beta distributions, with a distribution function in closed form.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.distributions.Kumaraswamy(1.0, 1.0).mean
    tensor(0.5000)
    """

    arg_constraints = {"concentration1": constraints.positive, "concentration0": constraints.positive}
    support = constraints.unit_interval
    has_rsample = True
    _dt_expands = ("concentration1", "concentration0")

    def __init__(self, concentration1: Any, concentration0: Any, validate_args: bool | None = None) -> None:
        self.concentration1, self.concentration0 = broadcast_all(concentration1, concentration0)
        like = self.concentration0
        base = Uniform(dt.zeros_like(like), dt.ones_like(like), validate_args=validate_args)
        super().__init__(base, self._dt_made_transforms(), validate_args=validate_args)

    def _dt_made_transforms(self) -> list[Transform]:
        return [
            PowerTransform(self.concentration0.reciprocal()),
            AffineTransform(1.0, -1.0),
            PowerTransform(self.concentration1.reciprocal()),
        ]

    def _dt_moment(self, n: int) -> Any:
        """Return the mean of the ``n``-th power."""
        a, b = 1 + n / self.concentration1, self.concentration0
        return (a.lgamma() + b.lgamma() - (a + b).lgamma()).exp() * b

    @property
    def mean(self) -> Tensor:
        return self._dt_moment(1)

    @property
    def mode(self) -> Tensor:
        without = (self.concentration1 < 1) | (self.concentration0 < 1)
        a, b = (each.masked_fill(without, 2) for each in (self.concentration1, self.concentration0))
        log_mode = ((a - 1).log() - (a * b - 1).log()) / a
        return log_mode.exp().masked_fill(without, math.nan)

    @property
    def variance(self) -> Tensor:
        return self._dt_moment(2) - self._dt_moment(1) ** 2

    def entropy(self) -> Tensor:
        a, b = self.concentration1, self.concentration0
        harmonic = (b + 1).digamma() + euler_constant
        return (1 - b.reciprocal()) + (1 - a.reciprocal()) * harmonic - a.log() - b.log()
