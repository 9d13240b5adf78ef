"""Divergences between families: minus the entropy of ``p``, minus the mean over ``p`` of ``log q``, which for most
``q`` needs only a few means: of ``x``, of its square, of ``log x``, of ``exp(-x)``.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import dualtape as dt

from ..bernoulli import Bernoulli
from ..beta import Beta
from ..binomial import Binomial
from ..continuous_bernoulli import ContinuousBernoulli
from ..exponential import Exponential
from ..gamma import Gamma
from ..gumbel import Gumbel
from ..laplace import Laplace
from ..normal import Normal
from ..pareto import Pareto
from ..poisson import Poisson
from ..uniform import Uniform
from ..utils import euler_constant
from .registry import register_kl

# --- pairs where p reaches further than q ---------------------------------------------------------

_INFINITE: dict[type, tuple[type, ...]] = {
    Beta: (Pareto,),
    ContinuousBernoulli: (Pareto,),
    Exponential: (Beta, ContinuousBernoulli, Pareto, Uniform),
    Gamma: (Beta, ContinuousBernoulli, Pareto, Uniform),
    Gumbel: (Beta, ContinuousBernoulli, Exponential, Gamma, Pareto, Uniform),
    Laplace: (Beta, ContinuousBernoulli, Exponential, Gamma, Pareto, Uniform),
    Normal: (Beta, ContinuousBernoulli, Exponential, Gamma, Pareto, Uniform),
    Pareto: (Beta, ContinuousBernoulli, Uniform),
    Poisson: (Bernoulli, Binomial),
}


def _infinite(p: Any, q: Any) -> Any:
    return dt.full_like(p.mean, math.inf)


for _p, _others in _INFINITE.items():
    for _q in _others:
        register_kl(_p, _q)(_infinite)


def _from(*families: type, to: type) -> Callable:
    """Return a decorator that registers one function for several ``p``."""

    def decorate(function: Callable) -> Callable:
        for family in families:
            register_kl(family, to)(function)
        return function

    return decorate


# --- means over p ---------------------------------------------------------------------------------


def _mean_log(p: Any) -> Any:
    """Return the mean of ``log x``, for positive variables."""
    if isinstance(p, Beta):
        return p.concentration1.digamma() - (p.concentration1 + p.concentration0).digamma()
    if isinstance(p, Exponential):
        return -euler_constant - p.rate.log()
    if isinstance(p, Pareto):
        return p.scale.log() + p.alpha.reciprocal()
    return _uniform_mean_log(p.low, p.high)


def _uniform_mean_log(low: Any, high: Any) -> Any:
    """Return the mean of ``log x`` between two numbers, the lower of which may be zero."""
    return (high.xlogy(high) - low.xlogy(low)) / (high - low) - 1


def _mean_exp(p: Any, scale: Any, loc: Any) -> Any:
    """Return the mean of ``exp(-(x - loc) / scale)``."""
    if isinstance(p, Exponential):
        return (loc / scale - (1 / (p.rate * scale)).log1p()).exp()
    if isinstance(p, Gamma):
        return (loc / scale - p.concentration * (1 / (p.rate * scale)).log1p()).exp()
    if isinstance(p, Normal):
        return (0.5 * (p.scale / scale) ** 2 - (p.loc - loc) / scale).exp()
    ends = (-(p.low - loc) / scale).exp() - (-(p.high - loc) / scale).exp()
    return scale * ends / (p.high - p.low)


def _outside(p: Any, low: Any, high: Any = math.inf) -> Any:
    """Return whether a uniform distribution extends beyond an interval."""
    return (p.low < low) | (p.high > high)


# --- by q -----------------------------------------------------------------------------------------


@_from(Beta, ContinuousBernoulli, Exponential, Gamma, Gumbel, Laplace, Pareto, Uniform, to=Normal)
def _to_normal(p: Any, q: Any) -> Any:
    spread = (p.variance + (p.mean - q.loc) ** 2) / q.scale**2
    return -p.entropy() + q.scale.log() + 0.5 * (math.log(2 * math.pi) + spread)


@_from(Beta, ContinuousBernoulli, Gamma, Pareto, to=Exponential)
def _to_exponential(p: Any, q: Any) -> Any:
    return -p.entropy() - q.rate.log() + q.rate * p.mean


@_from(Uniform, to=Exponential)
def _uniform_to_exponential(p: Any, q: Any) -> Any:
    return _to_exponential(p, q).masked_fill(_outside(p, 0), math.inf)


@_from(Beta, Exponential, Pareto, to=Gamma)
def _to_gamma(p: Any, q: Any) -> Any:
    a = q.concentration
    return -p.entropy() + a.lgamma() - a * q.rate.log() - (a - 1) * _mean_log(p) + q.rate * p.mean


@_from(Uniform, to=Gamma)
def _uniform_to_gamma(p: Any, q: Any) -> Any:
    return _to_gamma(p, q).masked_fill(_outside(p, 0), math.inf)


@_from(Exponential, Gamma, Normal, Uniform, to=Gumbel)
def _to_gumbel(p: Any, q: Any) -> Any:
    return -p.entropy() + q.scale.log() + (p.mean - q.loc) / q.scale + _mean_exp(p, q.scale, q.loc)


@_from(Beta, ContinuousBernoulli, to=Uniform)
def _to_uniform(p: Any, q: Any) -> Any:
    kl = -p.entropy() + (q.high - q.low).log()
    return kl.masked_fill((q.low > 0) | (q.high < 1), math.inf)


@_from(Beta, to=ContinuousBernoulli)
def _to_continuous_bernoulli(p: Any, q: Any) -> Any:
    return -p.entropy() - p.mean * q.logits - (-q.probs).log1p() - q._dt_log_norm()


@_from(Uniform, to=ContinuousBernoulli)
def _uniform_to_continuous_bernoulli(p: Any, q: Any) -> Any:
    return _to_continuous_bernoulli(p, q).masked_fill(_outside(p, 0, 1), math.inf)


@_from(Uniform, to=Beta)
def _uniform_to_beta(p: Any, q: Any) -> Any:
    a, b = q.concentration1, q.concentration0
    near_one = _uniform_mean_log(1 - p.high, 1 - p.low)
    kl = -p.entropy() + q._dt_canonical().log_normalizer(a, b) - (a - 1) * _mean_log(p) - (b - 1) * near_one
    return kl.masked_fill(_outside(p, 0, 1), math.inf)


@_from(Uniform, to=Pareto)
def _uniform_to_pareto(p: Any, q: Any) -> Any:
    kl = -p.entropy() - q.alpha.log() - q.alpha * q.scale.log() + (q.alpha + 1) * _mean_log(p)
    return kl.masked_fill(_outside(p, q.scale), math.inf)


@_from(Normal, to=Laplace)
def _normal_to_laplace(p: Any, q: Any) -> Any:
    z = (p.loc - q.loc) / p.scale
    distance = p.scale * (math.sqrt(2 / math.pi) * (-0.5 * z**2).exp() + z * (z * math.sqrt(0.5)).erf())
    return -p.entropy() + (2 * q.scale).log() + distance / q.scale


@_from(Bernoulli, to=Poisson)
def _bernoulli_to_poisson(p: Any, q: Any) -> Any:
    return -p.entropy() - (p.probs * q.rate.log() - q.rate)
