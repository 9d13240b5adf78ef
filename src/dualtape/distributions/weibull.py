"""The Weibull distribution."""

from __future__ import annotations

from typing import Any

import dualtape as dt

from .._tensor.tensor import Tensor
from . import constraints
from .exponential import Exponential
from .transformed_distribution import TransformedDistribution
from .transforms import AffineTransform, PowerTransform, Transform
from .utils import broadcast_all, euler_constant

__all__ = ["Weibull"]


class Weibull(TransformedDistribution):
    """Weibull distributions of shape ``concentration``, scaled by ``scale``.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.distributions.Weibull(2.0, 1.0).mean
    tensor(2.)
    """

    arg_constraints = {"scale": constraints.positive, "concentration": constraints.positive}
    support = constraints.positive
    _dt_expands = ("scale", "concentration")

    def __init__(self, scale: Any, concentration: Any, validate_args: bool | None = None) -> None:
        self.scale, self.concentration = broadcast_all(scale, concentration)
        base = Exponential(dt.ones_like(self.scale), validate_args=validate_args)
        super().__init__(base, self._dt_made_transforms(), validate_args=validate_args)

    def _dt_made_transforms(self) -> list[Transform]:
        return [PowerTransform(self.concentration.reciprocal()), AffineTransform(0, self.scale)]

    def _dt_moment(self, n: int) -> Any:
        """Return the mean of the ``n``-th power, for scale one."""
        return (1 + n / self.concentration).lgamma().exp()

    @property
    def mean(self) -> Tensor:
        return self.scale * self._dt_moment(1)

    @property
    def mode(self) -> Tensor:
        a = self.concentration
        return self.scale * ((a - 1) / a) ** a.reciprocal()

    @property
    def variance(self) -> Tensor:
        return self.scale**2 * (self._dt_moment(2) - self._dt_moment(1) ** 2)

    def entropy(self) -> Tensor:
        inverse = self.concentration.reciprocal()
        return euler_constant * (1 - inverse) + (self.scale * inverse).log() + 1
