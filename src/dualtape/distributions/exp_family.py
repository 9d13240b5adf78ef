"""Exponential families: densities ``exp(<t(x), theta> - F(theta) + k(x))``, whose entropies follow from ``F``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import dualtape as dt

from .._tensor.tensor import Tensor
from .distribution import Distribution

__all__ = ["ExponentialFamily"]


class Canonical(NamedTuple):
    """A member of a family in its canonical form: ``theta``, ``F``, and the mean of ``k(x)``, None if not known."""

    parameters: tuple[Tensor, ...]
    log_normalizer: Callable[..., Any]
    mean_carrier: Any = None


class ExponentialFamily(Distribution):
    """A distribution with natural parameters and log-normaliser, whose gradients give the entropy and divergences
    within a family.

    Examples
    --------
    >>> from dualtape.distributions import ExponentialFamily, Normal
    >>> ExponentialFamily.entropy(Normal(0.0, 1.0))
    tensor(1.4189)
    """

    def _dt_canonical(self) -> Canonical:
        # A user-defined family has these three if it was written for PyTorch.
        if not hasattr(self, "_natural_params") or not hasattr(self, "_log_normalizer"):
            raise NotImplementedError(f"{type(self).__name__} does not give its natural parameters")
        return Canonical(self._natural_params, self._log_normalizer, getattr(self, "_mean_carrier_measure", None))

    def entropy(self) -> Tensor:
        form = self._dt_canonical()
        if form.mean_carrier is None:
            raise NotImplementedError(f"{type(self).__name__} does not give the mean of its carrier measure")
        normalizer, slopes = normalizer_slopes(form)
        entropy = normalizer - form.mean_carrier
        for parameter, slope in zip(form.parameters, slopes, strict=True):
            entropy = entropy - (parameter * slope).reshape(*self._batch_shape, -1).sum(-1)
        return entropy


def normalizer_slopes(form: Canonical) -> tuple[Tensor, tuple[Tensor, ...]]:
    """Return the log-normaliser and its gradient; with history where the natural parameters have it."""
    recorded = dt.is_grad_enabled() and any(p.requires_grad for p in form.parameters)
    with dt.enable_grad():
        inputs = [p if recorded and p.requires_grad else p.detach().requires_grad_() for p in form.parameters]
        normalizer = form.log_normalizer(*inputs)
        slopes = dt.autograd.grad(normalizer.sum(), inputs, create_graph=recorded)
    return normalizer if recorded else normalizer.detach(), slopes
