"""The Dirichlet distribution."""

from __future__ import annotations

from typing import Any

import dualtape as dt

from .._tensor.tensor import Tensor
from . import constraints
from .exp_family import Canonical, ExponentialFamily

__all__ = ["Dirichlet"]


class Dirichlet(ExponentialFamily):
    """Dirichlet distributions over proportions, as many as the last dimension of ``concentration`` has.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.distributions.Dirichlet(dt.tensor([1.0, 3.0])).mean
    tensor([0.2500, 0.7500])
    """

    arg_constraints = {"concentration": constraints.independent(constraints.positive, 1)}
    support = constraints.simplex
    has_rsample = True
    _dt_expands = ("concentration",)

    def __init__(self, concentration: Any, validate_args: bool | None = None) -> None:
        if concentration.dim() < 1:
            raise ValueError("Dirichlet: concentration needs a dimension for the parts, got a number")
        self.concentration = concentration
        super().__init__(concentration.shape[:-1], concentration.shape[-1:], validate_args=validate_args)

    @property
    def mean(self) -> Tensor:
        return self.concentration / self.concentration.sum(-1, True)

    @property
    def mode(self) -> Tensor:
        above = (self.concentration - 1).clamp(min=0)
        mode = above / above.sum(-1, True)
        corner = dt.nn.functional.one_hot(mode.argmax(-1), self._event_shape[0]).to(mode)
        return dt.where((self.concentration < 1).all(-1, keepdim=True), corner, mode)

    @property
    def variance(self) -> Tensor:
        a, total = self.concentration, self.concentration.sum(-1, True)
        return a * (total - a) / (total**2 * (total + 1))

    def rsample(self, sample_shape: Any = ()) -> Tensor:
        return dt._sample_dirichlet(self.concentration.expand(self._extended_shape(sample_shape)))

    def log_prob(self, value: Any) -> Tensor:
        self._dt_check_value(value)
        return (self.concentration - 1).xlogy(value).sum(-1) - log_multivariate_beta(self.concentration)

    def entropy(self) -> Tensor:
        a, total = self.concentration, self.concentration.sum(-1)
        spread = (a.shape[-1] - total) * total.digamma() + ((a - 1) * a.digamma()).sum(-1)
        return log_multivariate_beta(a) - spread

    def _dt_canonical(self) -> Canonical:
        return Canonical((self.concentration,), log_multivariate_beta)


def log_multivariate_beta(x: Any) -> Any:
    """Return the logarithm of the multivariate beta function, of the last dimension."""
    return x.lgamma().sum(-1) - x.sum(-1).lgamma()
