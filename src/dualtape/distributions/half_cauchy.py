"""The half-Cauchy distribution."""

from __future__ import annotations

import math
from typing import Any

import dualtape as dt

from .._tensor.tensor import Tensor
from ._location_scale import Half
from .cauchy import Cauchy

__all__ = ["HalfCauchy"]


class HalfCauchy(Half):
    """The absolute values of Cauchy variables around zero, half of which are within ``scale``.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.distributions.HalfCauchy(1.0).cdf(dt.tensor(1.0))
    tensor(0.5000)
    """

    _dt_whole = Cauchy

    @property
    def mean(self) -> Tensor:
        return dt.full_like(self.scale, math.inf)

    @property
    def variance(self) -> Tensor:
        return self.base_dist.variance

    def log_prob(self, value: Any) -> Tensor:
        self._dt_check_value(value)
        return self._dt_log_folded(dt.as_tensor(value, dtype=self.scale.dtype, device=self.scale.device))

    def cdf(self, value: Any) -> Tensor:
        self._dt_check_value(value)
        return (value / self.scale).atan() * (2 / math.pi)
