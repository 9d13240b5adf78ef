"""The Gumbel distribution."""

from __future__ import annotations

import math
from typing import Any

import dualtape as dt

from .._tensor.tensor import Tensor
from . import constraints
from .transformed_distribution import TransformedDistribution
from .transforms import AffineTransform, ExpTransform, Transform
from .uniform import Uniform
from .utils import attribute, broadcast_all, euler_constant

__all__ = ["Gumbel"]


class Gumbel(TransformedDistribution):
    """Gumbel distributions, of maxima, around ``loc``.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.distributions.Gumbel(0.0, 1.0).mean
    tensor(0.5772)
    """

    arg_constraints = {"loc": constraints.real, "scale": constraints.positive}
    support = constraints.real
    _dt_expands = ("loc", "scale")

    def __init__(self, loc: Any, scale: Any, validate_args: bool | None = None) -> None:
        self.loc, self.scale = broadcast_all(loc, scale)
        super().__init__(_unit(self.loc, validate_args), self._dt_made_transforms(), validate_args=validate_args)

    def _dt_made_transforms(self) -> list[Transform]:
        exp = ExpTransform()
        return [exp.inv, AffineTransform(0, -dt.ones_like(self.scale)), exp.inv, AffineTransform(self.loc, -self.scale)]

    @property
    def mean(self) -> Tensor:
        return self.loc + self.scale * euler_constant

    mode = attribute("loc")

    @property
    def stddev(self) -> Tensor:
        return math.pi / math.sqrt(6) * self.scale

    @property
    def variance(self) -> Tensor:
        return self.stddev**2

    def log_prob(self, value: Any) -> Tensor:
        self._dt_check_value(value)
        y = (self.loc - value) / self.scale
        return y - y.exp() - self.scale.log()

    def entropy(self) -> Tensor:
        return self.scale.log() + (1 + euler_constant)


def _unit(like: Any, validate_args: bool | None) -> Uniform:
    """Return the uniform distribution between zero and one, bounds excluded, so that logarithms are finite."""
    limits = dt.finfo(like.dtype)
    return Uniform(dt.full_like(like, limits.tiny), dt.full_like(like, 1 - limits.eps), validate_args=validate_args)
