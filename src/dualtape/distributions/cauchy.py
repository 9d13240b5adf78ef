"""The Cauchy distribution."""

from __future__ import annotations

import math
from typing import Any

import dualtape as dt

from .._tensor.tensor import Tensor
from ._location_scale import LocationScale

__all__ = ["Cauchy"]


class Cauchy(LocationScale):
    """Cauchy distributions around ``loc``, half of whose values are within ``scale`` of it.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.distributions.Cauchy(0.0, 1.0).cdf(dt.tensor(1.0))
    tensor(0.7500)
    """

    _dt_noise_entropy = math.log(4 * math.pi)

    @property
    def mean(self) -> Tensor:
        return dt.full_like(self.loc, math.nan)

    @property
    def variance(self) -> Tensor:
        return dt.full_like(self.loc, math.inf)

    def _dt_noise(self, shape: Any) -> Tensor:
        return dt.empty(shape, dtype=self.loc.dtype, device=self.loc.device).cauchy_()

    def _dt_log_density(self, z: Any) -> Any:
        return -math.log(math.pi) - (z**2).log1p()

    def _dt_probability(self, z: Any) -> Any:
        return z.atan() / math.pi + 0.5

    def _dt_quantile(self, p: Any) -> Any:
        return (math.pi * (p - 0.5)).tan()
