"""The log-normal distribution."""

from __future__ import annotations

from typing import Any

from .._tensor.tensor import Tensor
from . import constraints
from .normal import Normal
from .transformed_distribution import TransformedDistribution
from .transforms import ExpTransform
from .utils import attribute

__all__ = ["LogNormal"]


class LogNormal(TransformedDistribution):
    """The exponentials of normal variables of mean ``loc`` and standard deviation ``scale``.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.distributions.LogNormal(0.0, 1.0).mean
    tensor(1.6487)
    """

    arg_constraints = Normal.arg_constraints
    support = constraints.positive
    has_rsample = True
    base_dist: Normal
    _dt_expands = ()

    def __init__(self, loc: Any, scale: Any, validate_args: bool | None = None) -> None:
        super().__init__(Normal(loc, scale, validate_args=validate_args), ExpTransform(), validate_args=validate_args)

    loc = attribute("base_dist.loc", "The mean of the logarithm.")

    scale = attribute("base_dist.scale", "The standard deviation of the logarithm.")

    @property
    def mean(self) -> Tensor:
        return (self.loc + self.scale**2 / 2).exp()

    @property
    def mode(self) -> Tensor:
        return (self.loc - self.scale**2).exp()

    @property
    def variance(self) -> Tensor:
        squared = self.scale**2
        return squared.expm1() * (2 * self.loc + squared).exp()

    def entropy(self) -> Tensor:
        return self.base_dist.entropy() + self.loc
