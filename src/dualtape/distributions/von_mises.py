"""The von Mises distribution."""

from __future__ import annotations

import math
from typing import Any

import dualtape as dt

from .._tensor.tensor import Tensor
from ..random import distributions as draws
from . import constraints
from .distribution import Distribution
from .utils import attribute, broadcast_all, lazy_property

__all__ = ["VonMises"]


class VonMises(Distribution):
    """Von Mises distributions of angles, around ``loc``; ``concentration`` corresponds to an inverse variance.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.distributions.VonMises(dt.tensor(0.0), dt.tensor(1.0)).log_prob(dt.tensor(0.0))
    tensor(-1.0738)
    """

    arg_constraints = {"loc": constraints.real, "concentration": constraints.positive}
    support = constraints.real
    has_rsample = False
    _dt_expands = ("loc", "concentration")

    def __init__(self, loc: Any, concentration: Any, validate_args: bool | None = None) -> None:
        self.loc, self.concentration = broadcast_all(loc, concentration)
        super().__init__(self.loc.shape, validate_args=validate_args)

    @property
    def mean(self) -> Tensor:
        """The mean of the angles on the circle."""
        return self.loc

    mode = attribute("loc")

    @lazy_property
    def variance(self) -> Tensor:
        """The variance on the circle: one minus the length of the mean direction."""
        return 1 - dt.special.i1e(self.concentration) / dt.special.i0e(self.concentration)

    def sample(self, sample_shape: Any = ()) -> Tensor:
        with dt.no_grad():
            shape = self._extended_shape(sample_shape)
            return draws.von_mises(self.loc.expand(shape), self.concentration.expand(shape))

    def log_prob(self, value: Any) -> Tensor:
        self._dt_check_value(value)
        # scaled by exp(-concentration), the Bessel function does not overflow
        exponent = self.concentration * ((value - self.loc).cos() - 1)
        return exponent - math.log(2 * math.pi) - dt.special.i0e(self.concentration).log()
