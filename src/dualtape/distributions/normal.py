"""The normal distribution."""

from __future__ import annotations

import math
from typing import Any

import dualtape as dt

from .._tensor.tensor import Tensor
from ._location_scale import LocationScale
from .exp_family import Canonical, ExponentialFamily
from .utils import _standard_normal, attribute

__all__ = ["Normal"]

_HALF_LOG_2PI = 0.5 * math.log(2 * math.pi)


class Normal(LocationScale, ExponentialFamily):
    """Normal distributions of mean ``loc`` and standard deviation ``scale``.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.distributions.Normal(0.0, 1.0).log_prob(dt.tensor(0.0))
    tensor(-0.9189)
    """

    _dt_noise_entropy = 0.5 + _HALF_LOG_2PI

    stddev = attribute("scale")

    @property
    def variance(self) -> Tensor:
        return self.scale**2

    def _dt_noise(self, shape: Any) -> Tensor:
        return _standard_normal(shape, self.loc.dtype, self.loc.device)

    def _dt_log_density(self, z: Any) -> Any:
        return -0.5 * z * z - _HALF_LOG_2PI

    def _dt_probability(self, z: Any) -> Any:
        return dt.special.ndtr(z)

    def _dt_quantile(self, p: Any) -> Any:
        return dt.special.ndtri(p)

    def _dt_canonical(self) -> Canonical:
        precision = 1 / self.scale**2
        return Canonical(
            (self.loc * precision, -0.5 * precision), lambda x, y: -0.25 * x * x / y + 0.5 * (-math.pi / y).log(), 0
        )
