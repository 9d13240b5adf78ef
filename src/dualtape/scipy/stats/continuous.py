"""Distributions of real numbers, in standard form."""

from __future__ import annotations

from math import log, pi
from typing import Any

import numpy as np

from ...ops.numpy_entries.registry import op
from ...ops.numpy_entries.special import SPECIAL
from .distribution import Univariate


def _positive(z: Any, *shapes: Any) -> Any:
    return z >= 0


def _of(name: str) -> Any:
    return SPECIAL[name]


_gammaln, _xlogy, _ndtr, _log_ndtr, _ndtri = map(_of, ("gammaln", "xlogy", "ndtr", "log_ndtr", "ndtri"))
_gammainc, _gammaincc, _gammaincinv = map(_of, ("gammainc", "gammaincc", "gammaincinv"))
_betaln, _betainc, _betaincinv, _xlog1py = map(_of, ("betaln", "betainc", "betaincinv", "xlog1py"))


def _softplus(z: Any) -> Any:
    return np.logaddexp(z, np.zeros_like(z))


norm = Univariate(
    "norm",
    "",
    lambda z: -z * z / 2 - log(2 * pi) / 2,
    cdf=_ndtr,
    sf=lambda z: _ndtr(-z),
    logcdf=_log_ndtr,
    logsf=lambda z: _log_ndtr(-z),
    ppf=_ndtri,
)
uniform = Univariate(
    "uniform",
    "",
    lambda z: z * 0,
    inside=lambda z: (z >= 0) & (z <= 1),
    cdf=lambda z: z,
    sf=lambda z: 1 - z,
    ppf=lambda q: q,
)
expon = Univariate(
    "expon",
    "",
    lambda z: -z,
    inside=_positive,
    cdf=lambda z: -np.expm1(-z),
    sf=lambda z: np.exp(-z),
    logsf=lambda z: -z,
    ppf=lambda q: -np.log1p(-q),
)
laplace = Univariate(
    "laplace",
    "",
    lambda z: -np.abs(z) - log(2),
    cdf=lambda z: np.where(z > 0, 1 - np.exp(-np.abs(z)) / 2, np.exp(-np.abs(z)) / 2),
    sf=lambda z: np.where(z > 0, np.exp(-np.abs(z)) / 2, 1 - np.exp(-np.abs(z)) / 2),
    ppf=lambda q: np.where(q > 0.5, -np.log(2 * (1 - q)), np.log(2 * q)),
)
logistic = Univariate(
    "logistic",
    "",
    lambda z: -z - 2 * _softplus(-z),
    cdf=lambda z: op("sigmoid")(z),
    sf=lambda z: op("sigmoid")(-z),
    logcdf=lambda z: -_softplus(-z),
    logsf=lambda z: -_softplus(z),
    ppf=lambda q: np.log(q) - np.log1p(-q),
)
cauchy = Univariate(
    "cauchy",
    "",
    lambda z: -log(pi) - np.log1p(z * z),
    cdf=lambda z: 0.5 + np.arctan(z) / pi,
    sf=lambda z: 0.5 - np.arctan(z) / pi,
    ppf=lambda q: np.tan(pi * (q - 0.5)),
)
gumbel_r = Univariate(
    "gumbel_r",
    "",
    lambda z: -z - np.exp(-z),
    cdf=lambda z: np.exp(-np.exp(-z)),
    logcdf=lambda z: -np.exp(-z),
    sf=lambda z: -np.expm1(-np.exp(-z)),
    ppf=lambda q: -np.log(-np.log(q)),
)
halfnorm = Univariate(
    "halfnorm",
    "",
    lambda z: log(2 / pi) / 2 - z * z / 2,
    inside=_positive,
    cdf=lambda z: 2 * _ndtr(z) - 1,
    sf=lambda z: 2 * _ndtr(-z),
    ppf=lambda q: _ndtri((1 + q) / 2),
)
lognorm = Univariate(
    "lognorm",
    "s",
    lambda z, s: -np.square(np.log(z) / s) / 2 - np.log(s * z) - log(2 * pi) / 2,
    inside=lambda z, s: z > 0,
    cdf=lambda z, s: _ndtr(np.log(z) / s),
    sf=lambda z, s: _ndtr(-np.log(z) / s),
    ppf=lambda q, s: np.exp(s * _ndtri(q)),
)
gamma = Univariate(
    "gamma",
    "a",
    lambda z, a: _xlogy(a - 1, z) - z - _gammaln(a),
    inside=_positive,
    cdf=lambda z, a: _gammainc(a, z),
    sf=lambda z, a: _gammaincc(a, z),
    ppf=lambda q, a: _gammaincinv(a, q),
)
invgamma = Univariate(
    "invgamma",
    "a",
    lambda z, a: -(a + 1) * np.log(z) - _gammaln(a) - 1 / z,
    inside=lambda z, a: z > 0,
    cdf=lambda z, a: _gammaincc(a, 1 / z),
    sf=lambda z, a: _gammainc(a, 1 / z),
)
beta = Univariate(
    "beta",
    "a b",
    lambda z, a, b: _xlog1py(b - 1, -z) + _xlogy(a - 1, z) - _betaln(a, b),
    inside=lambda z, a, b: (z >= 0) & (z <= 1),
    cdf=lambda z, a, b: _betainc(a, b, z),
    sf=lambda z, a, b: _betainc(b, a, 1 - z),
    ppf=lambda q, a, b: _betaincinv(a, b, q),
)
t = Univariate(
    "t",
    "df",
    lambda z, df: _gammaln((df + 1) / 2) - _gammaln(df / 2) - np.log(df * pi) / 2 - (df + 1) / 2 * np.log1p(z * z / df),
    cdf=lambda z, df: _of("stdtr")(df, z),
    sf=lambda z, df: _of("stdtr")(df, -z),
    ppf=lambda q, df: _of("stdtrit")(df, q),
)
chi2 = Univariate(
    "chi2",
    "df",
    lambda z, df: _xlogy(df / 2 - 1, z) - z / 2 - _gammaln(df / 2) - df * (log(2) / 2),
    inside=_positive,
    cdf=lambda z, df: _gammainc(df / 2, z / 2),
    sf=lambda z, df: _gammaincc(df / 2, z / 2),
    ppf=lambda q, df: 2 * _gammaincinv(df / 2, q),
)
weibull_min = Univariate(
    "weibull_min",
    "c",
    lambda z, c: np.log(c) + _xlogy(c - 1, z) - z**c,
    inside=_positive,
    cdf=lambda z, c: -np.expm1(-(z**c)),
    sf=lambda z, c: np.exp(-(z**c)),
    logsf=lambda z, c: -(z**c),
    ppf=lambda q, c: (-np.log1p(-q)) ** (1 / c),
)
pareto = Univariate(
    "pareto",
    "b",
    lambda z, b: np.log(b) - (b + 1) * np.log(z),
    inside=lambda z, b: z >= 1,
    middle=2.0,
    cdf=lambda z, b: 1 - z**-b,
    sf=lambda z, b: z**-b,
    ppf=lambda q, b: (1 - q) ** (-1 / b),
)
