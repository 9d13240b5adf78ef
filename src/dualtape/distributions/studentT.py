"""Student's t-distribution."""

from __future__ import annotations

import math
from typing import Any

from .._tensor.tensor import Tensor
from . import constraints
from .chi2 import Chi2
from .distribution import Distribution
from .utils import _standard_normal, attribute, broadcast_all

__all__ = ["StudentT"]


class StudentT(Distribution):
    """Student's t-distributions of ``df`` degrees of freedom around ``loc``, scaled by ``scale``.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.distributions.StudentT(4.0).variance
    tensor(2.)
    """

    arg_constraints = {"df": constraints.positive, "loc": constraints.real, "scale": constraints.positive}
    support = constraints.real
    has_rsample = True
    _dt_expands = ("df", "loc", "scale", "_chi2")

    def __init__(self, df: Any, loc: Any = 0.0, scale: Any = 1.0, validate_args: bool | None = None) -> None:
        self.df, self.loc, self.scale = broadcast_all(df, loc, scale)
        self._chi2 = Chi2(self.df, validate_args=False)
        super().__init__(self.df.shape, validate_args=validate_args)

    @property
    def mean(self) -> Tensor:
        return self.loc.masked_fill(self.df <= 1, math.nan)

    mode = attribute("loc")

    @property
    def variance(self) -> Tensor:
        heavy = self.df <= 2
        df = self.df.masked_fill(heavy, 3)  # whatever is not selected below must have a finite derivative
        spread = (self.scale**2 * df / (df - 2)).masked_fill(heavy, math.inf)
        return spread.masked_fill(self.df <= 1, math.nan)

    def rsample(self, sample_shape: Any = ()) -> Tensor:
        shape = self._extended_shape(sample_shape)
        normal = _standard_normal(shape, self.df.dtype, self.df.device)
        return self.loc + self.scale * normal * (self._chi2.rsample(sample_shape) / self.df).rsqrt()

    def log_prob(self, value: Any) -> Tensor:
        self._dt_check_value(value)
        z = (value - self.loc) / self.scale
        half = 0.5 * self.df
        normalizer = self.scale.log() + 0.5 * (math.pi * self.df).log() + half.lgamma() - (half + 0.5).lgamma()
        return -(half + 0.5) * (z**2 / self.df).log1p() - normalizer

    def entropy(self) -> Tensor:
        half = 0.5 * self.df
        log_beta = half.lgamma() + 0.5 * math.log(math.pi) - (half + 0.5).lgamma()
        spread = (half + 0.5) * ((half + 0.5).digamma() - half.digamma())
        return self.scale.log() + spread + 0.5 * self.df.log() + log_beta
