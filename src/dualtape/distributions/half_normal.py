"""The half-normal distribution."""

from __future__ import annotations

import math
from typing import Any

from .._tensor.tensor import Tensor
from ._location_scale import Half
from .normal import Normal

__all__ = ["HalfNormal"]


class HalfNormal(Half):
    """The absolute values of normal variables of mean zero and standard deviation ``scale``.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.distributions.HalfNormal(1.0).mean
    tensor(0.7979)
    """

    _dt_whole = Normal

    @property
    def mean(self) -> Tensor:
        return self.scale * math.sqrt(2 / math.pi)

    @property
    def variance(self) -> Tensor:
        return self.scale**2 * (1 - 2 / math.pi)

    def cdf(self, value: Any) -> Tensor:
        self._dt_check_value(value)
        return (value / (self.scale * math.sqrt(2))).erf()
