"""The logistic-normal distribution."""

from __future__ import annotations

from typing import Any

from . import constraints
from .independent import Independent
from .normal import Normal
from .transformed_distribution import TransformedDistribution
from .transforms import StickBreakingTransform
from .utils import attribute

__all__ = ["LogisticNormal"]


class LogisticNormal(TransformedDistribution):
    """Proportions by stick breaking: one more than the independent normal variables.

    Examples
    --------
    >>> import dualtape as dt
    >>> d = dt.distributions.LogisticNormal(dt.zeros(3), dt.ones(3))
    >>> d.event_shape, d.sample().sum().allclose(dt.tensor(1.0))
    (dualtape.Size([4]), True)
    """

    arg_constraints = {"loc": constraints.real, "scale": constraints.positive}
    support = constraints.simplex
    has_rsample = True
    base_dist: Independent
    _dt_expands = ()

    def __init__(self, loc: Any, scale: Any, validate_args: bool | None = None) -> None:
        base = Normal(loc, scale, validate_args=validate_args)
        if not base.batch_shape:
            base = base.expand([1])
        super().__init__(base, StickBreakingTransform(), validate_args=validate_args)

    loc = attribute("base_dist.base_dist.loc", "The means of the normal variables.")
    scale = attribute("base_dist.base_dist.scale", "The standard deviations of the normal variables.")
