"""Distributions of integers: differentiable in their parameters."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...ops.numpy_entries.special import SPECIAL
from .distribution import Discrete

_gammaln, _xlogy, _xlog1py = (SPECIAL[name] for name in ("gammaln", "xlogy", "xlog1py"))


def _natural(k: Any, *shapes: Any) -> Any:
    return k >= 0


def _choose(n: Any, k: Any) -> Any:
    return _gammaln(n + 1) - _gammaln(k + 1) - _gammaln(n - k + 1)


def _binom_cdf(k: Any, n: Any, p: Any) -> Any:
    inner = SPECIAL["betainc"](np.maximum(n - k, np.ones_like(n - k)), k + 1, 1 - p)
    return np.where(k >= n, 1.0, inner)


poisson = Discrete(
    "poisson",
    "mu",
    lambda k, mu: _xlogy(k, mu) - _gammaln(k + 1) - mu,
    inside=_natural,
    middle=0.0,
    cdf=lambda k, mu: SPECIAL["gammaincc"](k + 1, mu),
    sf=lambda k, mu: SPECIAL["gammainc"](k + 1, mu),
)
bernoulli = Discrete(
    "bernoulli",
    "p",
    lambda k, p: _xlogy(k, p) + _xlog1py(1 - k, -p),
    inside=lambda k, p: (k >= 0) & (k <= 1),
    middle=0.0,
    cdf=lambda k, p: np.where(k >= 1, 1.0, 1 - p),
)
binom = Discrete(
    "binom",
    "n p",
    lambda k, n, p: _choose(n, k) + _xlogy(k, p) + _xlog1py(n - k, -p),
    inside=lambda k, n, p: (k >= 0) & (k <= n),
    middle=0.0,
    cdf=_binom_cdf,
)
nbinom = Discrete(
    "nbinom",
    "n p",
    lambda k, n, p: _gammaln(n + k) - _gammaln(k + 1) - _gammaln(n) + _xlogy(n, p) + _xlog1py(k, -p),
    inside=_natural,
    middle=0.0,
    cdf=lambda k, n, p: SPECIAL["betainc"](n, k + 1, p),
)
geom = Discrete(
    "geom",
    "p",
    lambda k, p: _xlog1py(k - 1, -p) + np.log(p),
    inside=lambda k, p: k >= 1,
    middle=1.0,
    cdf=lambda k, p: -np.expm1(np.log1p(-p) * k),
    sf=lambda k, p: np.exp(np.log1p(-p) * k),
)
