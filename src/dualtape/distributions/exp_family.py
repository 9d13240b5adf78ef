"""Exponential families: densities ``exp(<t(x), theta> - F(theta) + k(x))``, whose entropies follow from ``F``."""

from __future__ import annotations

from typing import Any

import dualtape as dt

from .._tensor.tensor import Tensor
from .distribution import Distribution

__all__ = ["ExponentialFamily"]


class ExponentialFamily(Distribution):
    """A distribution with natural parameters and log-normaliser, whose gradients give the entropy and divergences
    within a family.

    Examples
    --------
    >>> from dualtape.distributions import ExponentialFamily, Normal
    >>> ExponentialFamily.entropy(Normal(0.0, 1.0))
    tensor(1.4189)
    """

    @property
    def _natural_params(self) -> tuple[Tensor, ...]:
        raise NotImplementedError(f"{type(self).__name__} does not give its natural parameters")

    def _log_normalizer(self, *natural_params: Any) -> Any:
        raise NotImplementedError(f"{type(self).__name__} does not give its log-normalizer")

    @property
    def _mean_carrier_measure(self) -> Any:
        """The mean of ``k(x)``."""
        raise NotImplementedError(f"{type(self).__name__} does not give the mean of its carrier measure")

    def entropy(self) -> Tensor:
        carrier = self._mean_carrier_measure
        natural, normalizer, slopes = normalizer_slopes(self)
        entropy = normalizer - carrier
        for parameter, slope in zip(natural, slopes, strict=True):
            entropy = entropy - (parameter * slope).reshape(*self._batch_shape, -1).sum(-1)
        return entropy


def normalizer_slopes(family: ExponentialFamily) -> tuple[tuple[Tensor, ...], Tensor, tuple[Tensor, ...]]:
    """Return natural parameters, the log-normaliser, and its gradient; with history where the parameters have it."""
    natural = family._natural_params
    recorded = dt.is_grad_enabled() and any(p.requires_grad for p in natural)
    with dt.enable_grad():
        inputs = [p if recorded and p.requires_grad else p.detach().requires_grad_() for p in natural]
        normalizer = family._log_normalizer(*inputs)
        slopes = dt.autograd.grad(normalizer.sum(), inputs, create_graph=recorded)
    return natural, normalizer if recorded else normalizer.detach(), slopes
