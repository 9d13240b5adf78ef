"""Distributions of ``loc + scale * noise``, which are declared by the noise, and those of their absolute values."""

from __future__ import annotations

import math
from typing import Any

import dualtape as dt

from .._tensor.tensor import Tensor
from . import constraints
from .distribution import Distribution
from .transformed_distribution import TransformedDistribution
from .transforms import AbsTransform
from .utils import attribute, broadcast_all


class LocationScale(Distribution):
    """A distribution that is symmetric around ``loc``; a subclass declares its noise, of ``loc`` 0 and ``scale`` 1."""

    arg_constraints = {"loc": constraints.real, "scale": constraints.positive}
    support = constraints.real
    has_rsample = True
    _dt_expands = ("loc", "scale")
    loc: Tensor
    scale: Tensor
    # The entropy of the noise.
    _dt_noise_entropy: float

    def __init__(self, loc: Any, scale: Any, validate_args: bool | None = None) -> None:
        self.loc, self.scale = broadcast_all(loc, scale)
        super().__init__(self.loc.shape, validate_args=validate_args)

    def _dt_noise(self, shape: Any) -> Tensor:
        raise NotImplementedError

    def _dt_log_density(self, z: Any) -> Any:
        raise NotImplementedError

    def _dt_probability(self, z: Any) -> Any:
        raise NotImplementedError

    def _dt_quantile(self, p: Any) -> Any:
        raise NotImplementedError

    mean = attribute("loc")
    mode = attribute("loc")

    def rsample(self, sample_shape: Any = ()) -> Tensor:
        return self.loc + self.scale * self._dt_noise(self._extended_shape(sample_shape))

    def log_prob(self, value: Any) -> Tensor:
        self._dt_check_value(value)
        return self._dt_log_density((value - self.loc) / self.scale) - self.scale.log()

    def cdf(self, value: Any) -> Tensor:
        self._dt_check_value(value)
        return self._dt_probability((value - self.loc) / self.scale)

    def icdf(self, value: Any) -> Tensor:
        return self.loc + self.scale * self._dt_quantile(value)

    def entropy(self) -> Tensor:
        return self._dt_noise_entropy + self.scale.log()


class Half(TransformedDistribution):
    """The distribution of absolute values of a variable of class ``_whole`` around zero."""

    arg_constraints = {"scale": constraints.positive}
    support = constraints.nonnegative
    has_rsample = True
    _dt_expands = ()
    _dt_whole: type[LocationScale]
    base_dist: LocationScale

    def __init__(self, scale: Any, validate_args: bool | None = None) -> None:
        super().__init__(self._dt_whole(0, scale, validate_args=False), AbsTransform(), validate_args=validate_args)

    @property
    def scale(self) -> Tensor:
        """The scale of the variable whose absolute value this is."""
        return self.base_dist.scale

    @property
    def mode(self) -> Tensor:
        return dt.zeros_like(self.scale)

    def log_prob(self, value: Any) -> Tensor:
        self._dt_check_value(value)
        return self._dt_log_folded(value)

    def _dt_log_folded(self, value: Any) -> Tensor:
        return dt.where(value >= 0, self.base_dist.log_prob(value) + math.log(2), -math.inf)

    def icdf(self, prob: Any) -> Tensor:
        return self.base_dist.icdf((prob + 1) / 2)

    def entropy(self) -> Tensor:
        return self.base_dist.entropy() - math.log(2)
