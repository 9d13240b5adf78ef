"""The Laplace distribution."""

from __future__ import annotations

import math
from typing import Any

import dualtape as dt

from .._tensor.tensor import Tensor
from ._location_scale import LocationScale

__all__ = ["Laplace"]


class Laplace(LocationScale):
    """Laplace distributions around ``loc``, which decay over ``scale`` on both sides.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.distributions.Laplace(0.0, 1.0).variance
    tensor(2.)
    """

    _dt_noise_entropy = 1 + math.log(2)

    @property
    def variance(self) -> Tensor:
        return 2 * self.scale**2

    @property
    def stddev(self) -> Tensor:
        return 2**0.5 * self.scale

    def _dt_noise(self, shape: Any) -> Tensor:
        size = dt.empty(shape, dtype=self.loc.dtype, device=self.loc.device).exponential_()
        return (dt.randint(0, 2, shape, device=self.loc.device) * 2 - 1) * size

    def _dt_log_density(self, z: Any) -> Any:
        return -z.abs() - math.log(2)

    def _dt_probability(self, z: Any) -> Any:
        tail = 0.5 * (-z.abs()).exp()
        return dt.where(z < 0, tail, 1 - tail)

    def _dt_quantile(self, p: Any) -> Any:
        from_median = p - 0.5
        return -from_median.sign() * (-2 * from_median.abs()).log1p()
