"""The Poisson distribution."""

from __future__ import annotations

from typing import Any

import dualtape as dt

from .._tensor.tensor import Tensor
from . import constraints
from .distribution import batch_shape_of
from .exp_family import Canonical, ExponentialFamily
from .utils import attribute, broadcast_all

__all__ = ["Poisson"]


class Poisson(ExponentialFamily):
    """Poisson distributions of the number of events that occur at ``rate``.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.distributions.Poisson(2.0).log_prob(dt.tensor(0.0))
    tensor(-2.)
    """

    arg_constraints = {"rate": constraints.nonnegative}
    support = constraints.nonnegative_integer
    _dt_expands = ("rate",)

    def __init__(self, rate: Any, validate_args: bool | None = None) -> None:
        (self.rate,) = broadcast_all(rate)
        super().__init__(batch_shape_of(rate), validate_args=validate_args)

    mean = attribute("rate")

    @property
    def mode(self) -> Tensor:
        return self.rate.floor()

    variance = attribute("rate")

    def sample(self, sample_shape: Any = ()) -> Tensor:
        with dt.no_grad():
            return dt.poisson(self.rate.expand(self._extended_shape(sample_shape)))

    def log_prob(self, value: Any) -> Tensor:
        self._dt_check_value(value)
        rate, value = broadcast_all(self.rate, value)
        return value.xlogy(rate) - rate - (value + 1).lgamma()

    def _dt_canonical(self) -> Canonical:
        return Canonical((self.rate.log(),), lambda x: x.exp())
