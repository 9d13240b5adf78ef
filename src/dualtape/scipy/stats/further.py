"""Further distributions of real numbers, in standard form.

Where there is no formula for a distribution function or its inverse, SciPy computes it, and the density
is its derivative.
"""

from __future__ import annotations

from math import log, pi, sqrt
from typing import Any

import numpy as np

from ...ops.numpy_entries.special import SPECIAL
from .._arguments import plain
from .._tensors import op
from .continuous import _softplus
from .distribution import Univariate

_gammaln, _xlogy, _xlog1py, _betaln = (SPECIAL[name] for name in ("gammaln", "xlogy", "xlog1py", "betaln"))
_ndtr, _log_ndtr, _ndtri = (SPECIAL[name] for name in ("ndtr", "log_ndtr", "ndtri"))
_LOG_ROOT = log(2 * pi) / 2


def _normal(z: Any) -> Any:
    return -z * z / 2 - _LOG_ROOT


def _positive(z: Any, *shapes: Any) -> Any:
    return z > 0


def _from_zero(z: Any, *shapes: Any) -> Any:
    return z >= 0


def _unit(z: Any, *shapes: Any) -> Any:
    return (z >= 0) & (z <= 1)


def _open_unit(z: Any, *shapes: Any) -> Any:
    return (z > 0) & (z < 1)


def _symmetric_unit(z: Any, *shapes: Any) -> Any:
    return (z > -1) & (z < 1)


def _log_mean_exp(a: Any, b: Any) -> Any:
    return np.logaddexp(a, b)


def _log1mexp(t: Any) -> Any:
    """Return log(1 - exp(-t)) of positive t."""
    small = plain(t) < log(2)
    return np.where(small, np.log(-np.expm1(-np.where(small, t, 1.0))), np.log1p(-np.exp(-np.where(small, 1.0, t))))


def _bessel(name: str, order: float) -> Any:
    return lambda z: SPECIAL[name](order, z)


_DECLARED = (
    Univariate("alpha", "a", lambda z, a: -2 * np.log(z) - _log_ndtr(a) + _normal(a - 1 / z), inside=_positive,
               cdf=lambda z, a: _ndtr(a - 1 / z) / _ndtr(a), ppf=lambda q, a: 1 / (a - _ndtri(q * _ndtr(a)))),
    Univariate("anglit", "", lambda z: np.log(np.cos(2 * z)), inside=lambda z: np.abs(z) <= pi / 4, middle=0.0,
               cdf=lambda z: np.sin(z + pi / 4) ** 2, sf=lambda z: np.cos(z + pi / 4) ** 2,
               ppf=lambda q: np.arcsin(np.sqrt(q)) - pi / 4),
    Univariate("arcsine", "", lambda z: -log(pi) - np.log(z * (1 - z)) / 2, inside=_open_unit,
               cdf=lambda z: 2 / pi * np.arcsin(np.sqrt(z)), ppf=lambda q: np.sin(pi / 2 * q) ** 2),
    Univariate("argus", "chi", lambda z, chi: 3 * np.log(chi) - _LOG_ROOT - np.log(_psi(chi)) + np.log(z)
               + np.log1p(-z * z) / 2 - chi**2 * (1 - z * z) / 2, inside=_open_unit,
               sf=lambda z, chi: _psi(chi * np.sqrt(1 - z * z)) / _psi(chi)),
    Univariate("betaprime", "a b", lambda z, a, b: _xlogy(a - 1, z) - _xlog1py(a + b, z) - _betaln(a, b),
               inside=_from_zero, cdf=lambda z, a, b: SPECIAL["betainc"](a, b, z / (1 + z)),
               sf=lambda z, a, b: SPECIAL["betainc"](b, a, 1 / (1 + z))),
    Univariate("bradford", "c", lambda z, c: np.log(c) - np.log1p(c * z) - np.log(np.log1p(c)), inside=_unit,
               cdf=lambda z, c: np.log1p(c * z) / np.log1p(c), ppf=lambda q, c: np.expm1(q * np.log1p(c)) / c),
    Univariate("burr", "c d", lambda z, c, d: np.log(c * d) + _xlogy(c * d - 1, z) - (d + 1) * np.log1p(z**c),
               inside=_positive, cdf=lambda z, c, d: (1 + z**-c) ** -d,
               sf=lambda z, c, d: -np.expm1(-d * np.log1p(z**-c)), ppf=lambda q, c, d: (q ** (-1 / d) - 1) ** (-1 / c)),
    Univariate("burr12", "c d", lambda z, c, d: np.log(c * d) + _xlogy(c - 1, z) - (d + 1) * np.log1p(z**c),
               inside=_from_zero, cdf=lambda z, c, d: -np.expm1(-d * np.log1p(z**c)),
               sf=lambda z, c, d: np.exp(-d * np.log1p(z**c)), logsf=lambda z, c, d: -d * np.log1p(z**c),
               ppf=lambda q, c, d: np.expm1(-np.log1p(-q) / d) ** (1 / c)),
    Univariate("chi", "df", lambda z, df: log(2) - df / 2 * log(2) - _gammaln(df / 2) + _xlogy(df - 1, z) - z * z / 2,
               inside=_from_zero, cdf=lambda z, df: SPECIAL["gammainc"](df / 2, z * z / 2),
               sf=lambda z, df: SPECIAL["gammaincc"](df / 2, z * z / 2),
               ppf=lambda q, df: np.sqrt(2 * SPECIAL["gammaincinv"](df / 2, q))),
    Univariate("cosine", "", lambda z: np.log1p(np.cos(z)) - log(2 * pi), inside=lambda z: np.abs(z) < pi, middle=0.0,
               cdf=lambda z: (pi + z + np.sin(z)) / (2 * pi), sf=lambda z: (pi - z - np.sin(z)) / (2 * pi)),
    Univariate("crystalball", "beta m", lambda z, beta, m: _crystalball(z, beta, m), middle=0.0),
    Univariate("dgamma", "a", lambda z, a: _xlogy(a - 1, np.abs(z)) - log(2) - _gammaln(a) - np.abs(z),
               cdf=lambda z, a: 0.5 + np.sign(plain(z)) * SPECIAL["gammainc"](a, np.abs(z)) / 2),
    Univariate("dweibull", "c", lambda z, c: np.log(c) - log(2) + _xlogy(c - 1, np.abs(z)) - np.abs(z) ** c,
               cdf=lambda z, c: np.where(plain(z) > 0, 1 - np.exp(-(np.abs(z) ** c)) / 2,
               np.exp(-(np.abs(z) ** c)) / 2)),
    Univariate("erlang", "a", lambda z, a: _xlogy(a - 1, z) - z - _gammaln(a), inside=_from_zero,
               cdf=lambda z, a: SPECIAL["gammainc"](a, z), sf=lambda z, a: SPECIAL["gammaincc"](a, z),
               ppf=lambda q, a: SPECIAL["gammaincinv"](a, q)),
    Univariate("exponnorm", "K", lambda z, K: 1 / (2 * K * K) - z / K + _log_ndtr(z - 1 / K) - np.log(K),
               cdf=lambda z, K: _ndtr(z) - np.exp(1 / (2 * K * K) - z / K + _log_ndtr(z - 1 / K)),
               sf=lambda z, K: _ndtr(-z) + np.exp(1 / (2 * K * K) - z / K + _log_ndtr(z - 1 / K))),
    Univariate("exponpow", "b", lambda z, b: 1 + np.log(b) + _xlogy(b - 1, z) + z**b - np.exp(z**b), inside=_from_zero,
               cdf=lambda z, b: -np.expm1(-np.expm1(z**b)), sf=lambda z, b: np.exp(-np.expm1(z**b)),
               ppf=lambda q, b: np.log1p(-np.log1p(-q)) ** (1 / b)),
    Univariate("exponweib", "a c", lambda z, a, c: np.log(a * c) + _xlogy(a - 1, -np.expm1(-(z**c)))
               + _xlogy(c - 1, z) - z**c, inside=_positive, cdf=lambda z, a, c: (-np.expm1(-(z**c))) ** a,
               ppf=lambda q, a, c: (-np.log1p(-(q ** (1 / a)))) ** (1 / c)),
    Univariate("f", "dfn dfd", lambda z, n, d: n / 2 * np.log(n) + d / 2 * np.log(d) + _xlogy(n / 2 - 1, z)
               - (n + d) / 2 * np.log(d + n * z) - _betaln(n / 2, d / 2), inside=_from_zero,
               cdf=lambda z, n, d: SPECIAL["betainc"](n / 2, d / 2, n * z / (n * z + d)),
               sf=lambda z, n, d: SPECIAL["betainc"](d / 2, n / 2, d / (n * z + d))),
    Univariate("fatiguelife", "c", lambda z, c: np.log1p(z) - (z - 1) ** 2 / (2 * z * c**2) - np.log(2 * c)
               - (log(2 * pi) + 3 * np.log(z)) / 2, inside=_positive, middle=1.0,
               cdf=lambda z, c: _ndtr((np.sqrt(z) - 1 / np.sqrt(z)) / c),
               sf=lambda z, c: _ndtr(-(np.sqrt(z) - 1 / np.sqrt(z)) / c),
               ppf=lambda q, c: (c * _ndtri(q) + np.sqrt((c * _ndtri(q)) ** 2 + 4)) ** 2 / 4),
    Univariate("fisk", "c", lambda z, c: np.log(c) + _xlogy(c - 1, z) - 2 * np.log1p(z**c), inside=_positive,
               cdf=lambda z, c: 1 / (1 + z**-c), sf=lambda z, c: 1 / (1 + z**c),
               ppf=lambda q, c: (q / (1 - q)) ** (1 / c)),
    Univariate("foldcauchy", "c", lambda z, c: np.log((1 / (1 + (z - c) ** 2) + 1 / (1 + (z + c) ** 2)) / pi),
               inside=_from_zero, cdf=lambda z, c: (np.arctan(z - c) + np.arctan(z + c)) / pi),
    Univariate("foldnorm", "c", lambda z, c: np.logaddexp(_normal(z - c), _normal(z + c)), inside=_from_zero,
               cdf=lambda z, c: _ndtr(z - c) - _ndtr(-z - c), sf=lambda z, c: _ndtr(c - z) + _ndtr(-z - c)),
    Univariate("genexpon", "a b c", lambda z, a, b, c: np.log(a - b * np.expm1(-c * z)) - (a + b) * z
               - b * np.expm1(-c * z) / c, inside=_from_zero,
               cdf=lambda z, a, b, c: -np.expm1(-(a + b) * z - b * np.expm1(-c * z) / c),
               sf=lambda z, a, b, c: np.exp(-(a + b) * z - b * np.expm1(-c * z) / c)),
    Univariate("genextreme", "c", lambda z, c: np.log1p(-c * z) / c - np.log1p(-c * z) - (1 - c * z) ** (1 / c),
               inside=lambda z, c: c * z < 1, middle=0.0, cdf=lambda z, c: np.exp(-((1 - c * z) ** (1 / c))),
               sf=lambda z, c: -np.expm1(-((1 - c * z) ** (1 / c))), logcdf=lambda z, c: -((1 - c * z) ** (1 / c)),
               ppf=lambda q, c: -np.expm1(c * np.log(-np.log(q))) / c),
    Univariate("gengamma", "a c", lambda z, a, c: np.log(np.abs(c)) + _xlogy(c * a - 1, z) - z**c - _gammaln(a),
               inside=_positive, middle=1.0,
               cdf=lambda z, a, c: np.where(plain(c) > 0, SPECIAL["gammainc"](a, z**c), SPECIAL["gammaincc"](a, z**c))),
    Univariate("genhalflogistic", "c", lambda z, c: log(2) + (1 / c - 1) * np.log1p(-c * z)
               - 2 * np.log1p((1 - c * z) ** (1 / c)), inside=lambda z, c: (z >= 0) & (c * z < 1), middle=0.0,
               cdf=lambda z, c: (1 - (1 - c * z) ** (1 / c)) / (1 + (1 - c * z) ** (1 / c)),
               ppf=lambda q, c: (1 - ((1 - q) / (1 + q)) ** c) / c),
    Univariate("genlogistic", "c", lambda z, c: np.log(c) - z - (c + 1) * _softplus(-z),
               cdf=lambda z, c: np.exp(-c * _softplus(-z)), logcdf=lambda z, c: -c * _softplus(-z),
               sf=lambda z, c: -np.expm1(-c * _softplus(-z)), ppf=lambda q, c: -np.log(np.expm1(-np.log(q) / c))),
    Univariate("gennorm", "beta", lambda z, b: np.log(b / 2) - _gammaln(1 / b) - np.abs(z) ** b,
               cdf=lambda z, b: 0.5 + np.sign(plain(z)) * SPECIAL["gammainc"](1 / b, np.abs(z) ** b) / 2),
    Univariate("genpareto", "c", lambda z, c: -(1 + 1 / c) * np.log1p(c * z),
               inside=lambda z, c: (z >= 0) & (1 + c * z > 0), middle=0.0,
               cdf=lambda z, c: -np.expm1(-np.log1p(c * z) / c), sf=lambda z, c: np.exp(-np.log1p(c * z) / c),
               logsf=lambda z, c: -np.log1p(c * z) / c, ppf=lambda q, c: np.expm1(-c * np.log1p(-q)) / c),
    Univariate("gibrat", "", lambda z: -np.log(z) - np.log(z) ** 2 / 2 - _LOG_ROOT, inside=_positive,
               cdf=lambda z: _ndtr(np.log(z)), sf=lambda z: _ndtr(-np.log(z)), ppf=lambda q: np.exp(_ndtri(q))),
    Univariate("gompertz", "c", lambda z, c: np.log(c) + z - c * np.expm1(z), inside=_from_zero,
               cdf=lambda z, c: -np.expm1(-c * np.expm1(z)), sf=lambda z, c: np.exp(-c * np.expm1(z)),
               logsf=lambda z, c: -c * np.expm1(z), ppf=lambda q, c: np.log1p(-np.log1p(-q) / c)),
    Univariate("gumbel_l", "", lambda z: z - np.exp(z), cdf=lambda z: -np.expm1(-np.exp(z)),
               sf=lambda z: np.exp(-np.exp(z)), logsf=lambda z: -np.exp(z), ppf=lambda q: np.log(-np.log1p(-q))),
    Univariate("halfcauchy", "", lambda z: log(2 / pi) - np.log1p(z * z), inside=_from_zero,
               cdf=lambda z: 2 / pi * np.arctan(z), sf=lambda z: 2 / pi * np.arctan2(np.ones_like(z), z),
               ppf=lambda q: np.tan(pi / 2 * q)),
    Univariate("halfgennorm", "beta", lambda z, b: np.log(b) - _gammaln(1 / b) - z**b, inside=_positive,
               cdf=lambda z, b: SPECIAL["gammainc"](1 / b, z**b), sf=lambda z, b: SPECIAL["gammaincc"](1 / b, z**b)),
    Univariate("halflogistic", "", lambda z: log(2) - z - 2 * np.log1p(np.exp(-z)), inside=_from_zero,
               cdf=lambda z: np.tanh(z / 2), sf=lambda z: 2 * op("sigmoid")(-z), ppf=lambda q: 2 * np.arctanh(q)),
    Univariate("hypsecant", "", lambda z: -log(pi) - np.logaddexp(z, -z) + log(2),
               cdf=lambda z: 2 / pi * np.arctan(np.exp(z)), sf=lambda z: 2 / pi * np.arctan(np.exp(-z)),
               ppf=lambda q: np.log(np.tan(pi * q / 2))),
    Univariate("invgauss", "mu", lambda z, mu: -_LOG_ROOT - 1.5 * np.log(z) - ((z - mu) / mu) ** 2 / (2 * z),
               inside=_positive,
               cdf=lambda z, mu: _ndtr((z / mu - 1) / np.sqrt(z))
               + np.exp(2 / mu + _log_ndtr(-(z / mu + 1) / np.sqrt(z))),
               sf=lambda z, mu: _ndtr(-(z / mu - 1) / np.sqrt(z))
               - np.exp(2 / mu + _log_ndtr(-(z / mu + 1) / np.sqrt(z)))),
    Univariate("invweibull", "c", lambda z, c: np.log(c) - (c + 1) * np.log(z) - z**-c, inside=_positive,
               cdf=lambda z, c: np.exp(-(z**-c)), sf=lambda z, c: -np.expm1(-(z**-c)), logcdf=lambda z, c: -(z**-c),
               ppf=lambda q, c: (-np.log(q)) ** (-1 / c)),
    Univariate("jf_skew_t", "a b", lambda z, a, b: (a + 0.5) * np.log1p(z / np.sqrt(a + b + z * z))
               + (b + 0.5) * np.log1p(-z / np.sqrt(a + b + z * z)) - (a + b - 1) * log(2) - _betaln(a, b)
               - np.log(a + b) / 2, middle=0.0),
    Univariate("johnsonsb", "a b", lambda z, a, b: np.log(b) - np.log(z * (1 - z)) + _normal(a + b * np.log(z / (1
               - z))),
               inside=_open_unit, cdf=lambda z, a, b: _ndtr(a + b * np.log(z / (1 - z))),
               sf=lambda z, a, b: _ndtr(-a - b * np.log(z / (1 - z))),
               ppf=lambda q, a, b: op("sigmoid")((_ndtri(q) - a) / b)),
    Univariate("johnsonsu", "a b", lambda z, a, b: np.log(b) - np.log1p(z * z) / 2 + _normal(a + b * np.arcsinh(z)),
               cdf=lambda z, a, b: _ndtr(a + b * np.arcsinh(z)), sf=lambda z, a, b: _ndtr(-a - b * np.arcsinh(z)),
               ppf=lambda q, a, b: np.sinh((_ndtri(q) - a) / b)),
    Univariate("kappa3", "a", lambda z, a: np.log(a) - (1 / a + 1) * np.log(a + z**a), inside=_positive,
               cdf=lambda z, a: z * (a + z**a) ** (-1 / a), ppf=lambda q, a: (a / (q**-a - 1)) ** (1 / a)),
    Univariate("laplace_asymmetric", "kappa", lambda z, k: np.where(plain(z) >= 0, -z * k, z / k) - np.log(k + 1 / k),
               cdf=lambda z, k: np.where(plain(z) >= 0, 1 - np.exp(-np.abs(z) * k) * (1 / k) / (k + 1 / k),
                                         np.exp(-np.abs(z) / k) * k / (k + 1 / k))),
    Univariate("levy", "", lambda z: -_LOG_ROOT - 1.5 * np.log(z) - 1 / (2 * z), inside=_positive,
               cdf=lambda z: 2 * _ndtr(-1 / np.sqrt(z)), sf=lambda z: SPECIAL["erf"](1 / np.sqrt(2 * z)),
               ppf=lambda q: _ndtri(q / 2) ** -2.0),
    Univariate("levy_l", "", lambda z: -_LOG_ROOT - 1.5 * np.log(-z) + 1 / (2 * z), inside=lambda z: z < 0, middle=-0.5,
               cdf=lambda z: 2 * _ndtr(1 / np.sqrt(-z)) - 1, sf=lambda z: 2 * _ndtr(-1 / np.sqrt(-z)),
               ppf=lambda q: -(_ndtri((q + 1) / 2) ** -2.0)),
    Univariate("loggamma", "c", lambda z, c: c * z - np.exp(z) - _gammaln(c),
               cdf=lambda z, c: SPECIAL["gammainc"](c, np.exp(z)), sf=lambda z, c: SPECIAL["gammaincc"](c, np.exp(z)),
               ppf=lambda q, c: np.log(SPECIAL["gammaincinv"](c, q))),
    Univariate("loglaplace", "c", lambda z, c: np.log(c / 2) - np.log(z) - c * np.abs(np.log(z)), inside=_positive,
               cdf=lambda z, c: np.where(plain(z) < 1, 0.5 * z**c, 1 - 0.5 * z**-c),
               sf=lambda z, c: np.where(plain(z) < 1, 1 - 0.5 * z**c, 0.5 * z**-c),
               ppf=lambda q, c: np.where(plain(q) < 0.5, (2 * q) ** (1 / c), (2 * (1 - q)) ** (-1 / c))),
    *(Univariate(name, "a b", lambda z, a, b: -np.log(z) - np.log(np.log(b) - np.log(a)),
                 inside=lambda z, a, b: (z >= a) & (z <= b), middle=1.0,
                 cdf=lambda z, a, b: (np.log(z) - np.log(a)) / (np.log(b) - np.log(a)),
                 ppf=lambda q, a, b: a * (b / a) ** q) for name in ("loguniform", "reciprocal")),
    Univariate("lomax", "c", lambda z, c: np.log(c) - (c + 1) * np.log1p(z), inside=_from_zero,
               cdf=lambda z, c: -np.expm1(-c * np.log1p(z)), sf=lambda z, c: np.exp(-c * np.log1p(z)),
               logsf=lambda z, c: -c * np.log1p(z), ppf=lambda q, c: np.expm1(-np.log1p(-q) / c)),
    Univariate("maxwell", "", lambda z: log(2 / pi) / 2 + 2 * np.log(z) - z * z / 2, inside=_positive,
               cdf=lambda z: SPECIAL["gammainc"](1.5, z * z / 2), sf=lambda z: SPECIAL["gammaincc"](1.5, z * z / 2),
               ppf=lambda q: np.sqrt(2 * SPECIAL["gammaincinv"](1.5, q))),
    Univariate("mielke", "k s", lambda z, k, s: np.log(k) + _xlogy(k - 1, z) - (1 + k / s) * np.log1p(z**s),
               inside=_positive, cdf=lambda z, k, s: z**k / (1 + z**s) ** (k / s),
               ppf=lambda q, k, s: (q ** (s / k) / (1 - q ** (s / k))) ** (1 / s)),
    Univariate("moyal", "", lambda z: -(z + np.exp(-z)) / 2 - _LOG_ROOT, cdf=lambda z: 2 * _ndtr(-np.exp(-z / 2)),
               sf=lambda z: SPECIAL["erf"](np.exp(-z / 2) / sqrt(2)), ppf=lambda q: -2 * np.log(-_ndtri(q / 2))),
    Univariate("nakagami", "nu", lambda z, nu: log(2) + _xlogy(nu, nu) - _gammaln(nu) + _xlogy(2 * nu - 1,
               z) - nu * z * z,
               inside=_positive, cdf=lambda z, nu: SPECIAL["gammainc"](nu, nu * z * z),
               sf=lambda z, nu: SPECIAL["gammaincc"](nu, nu * z * z)),
    Univariate("pearson3", "skew", lambda z, k: _pearson(z, k), inside=lambda z, k: 2 / k * (z + 2 / k) > 0,
               middle=0.0),
    Univariate("powerlaw", "a", lambda z, a: np.log(a) + _xlogy(a - 1, z), inside=_unit, cdf=lambda z, a: z**a,
               ppf=lambda q, a: q ** (1 / a)),
    Univariate("powerlognorm", "c s", lambda z, c, s: np.log(c) - np.log(z) - np.log(s) + _normal(np.log(z) / s)
               + (c - 1) * _log_ndtr(-np.log(z) / s), inside=_positive,
               cdf=lambda z, c, s: -np.expm1(c * _log_ndtr(-np.log(z) / s)),
               sf=lambda z, c, s: np.exp(c * _log_ndtr(-np.log(z) / s)), ppf=lambda q, c,
               s: np.exp(-s * _ndtri((1 - q) ** (1 / c)))),
    Univariate("powernorm", "c", lambda z, c: np.log(c) + _normal(z) + (c - 1) * _log_ndtr(-z),
               cdf=lambda z, c: -np.expm1(c * _log_ndtr(-z)), sf=lambda z, c: np.exp(c * _log_ndtr(-z)),
               logsf=lambda z, c: c * _log_ndtr(-z), ppf=lambda q, c: -_ndtri((1 - q) ** (1 / c))),
    Univariate("rayleigh", "", lambda z: np.log(z) - z * z / 2, inside=_positive, cdf=lambda z: -np.expm1(-z * z / 2),
               sf=lambda z: np.exp(-z * z / 2), logsf=lambda z: -z * z / 2, ppf=lambda q: np.sqrt(-2 * np.log1p(-q))),
    Univariate("rdist", "c", lambda z, c: (c / 2 - 1) * np.log1p(-z * z) - _betaln(c / 2, c * 0 + 0.5),
               inside=_symmetric_unit, middle=0.0),
    Univariate("recipinvgauss", "mu", lambda z, mu: -_LOG_ROOT - np.log(z) / 2 - (1 - mu * z) ** 2 / (2 * z * mu**2),
               inside=_positive,
               cdf=lambda z, mu: _ndtr(-(1 / mu - z) / np.sqrt(z))
               - np.exp(2 / mu + _log_ndtr(-(1 / mu + z) / np.sqrt(z)))),
    Univariate("rel_breitwigner", "rho", lambda z, rho: log(2 * sqrt(2) / pi) + np.log(rho * rho)
               + np.log(np.sqrt(1 + 1 / (rho * rho)) / np.sqrt(1 + np.sqrt(1 + 1 / (rho * rho)))) - np.log((z * z
               - rho * rho) ** 2 + rho * rho),
               inside=_positive),
    Univariate("rice", "b", lambda z, b: np.log(z) - (z - b) ** 2 / 2 + np.log(SPECIAL["i0e"](z * b)),
               inside=_positive),
    Univariate("semicircular", "", lambda z: log(2 / pi) + np.log1p(-z * z) / 2, inside=_symmetric_unit, middle=0.0,
               cdf=lambda z: 0.5 + (z * np.sqrt(1 - z * z) + np.arcsin(z)) / pi),
    Univariate("skewcauchy", "a", lambda z, a: -np.log(pi * (z * z / (a * np.sign(plain(z)) + 1) ** 2 + 1)),
               cdf=lambda z, a: np.where(plain(z) <= 0, (1 - a) / 2 + (1 - a) / pi * np.arctan(z / (1 - a)),
                                         (1 - a) / 2 + (1 + a) / pi * np.arctan(z / (1 + a)))),
    Univariate("skewnorm", "a", lambda z, a: log(2) + _normal(z) + _log_ndtr(a * z),
               cdf=lambda z, a: _ndtr(z) - 2 * SPECIAL["owens_t"](z, a)),
    Univariate("triang", "c", lambda z, c: log(2) + np.log(np.where(plain(z) < plain(c), z / c, (1 - z) / (1 - c))),
               inside=_open_unit, cdf=lambda z, c: np.where(plain(z) < plain(c), z * z / c,
               (z * z - 2 * z + c) / (c - 1)),
               ppf=lambda q, c: np.where(plain(q) < plain(c), np.sqrt(c * q), 1 - np.sqrt((1 - c) * (1 - q)))),
    Univariate("truncexpon", "b", lambda z, b: -z - _log1mexp(b), inside=lambda z, b: (z >= 0) & (z <= b), middle=0.0,
               cdf=lambda z, b: np.expm1(-z) / np.expm1(-b), ppf=lambda q, b: -np.log1p(q * np.expm1(-b))),
    Univariate("truncnorm", "a b", lambda z, a, b: _normal(z) - _log_between(a, b),
               inside=lambda z, a, b: (z >= a) & (z <= b), middle=0.0,
               cdf=lambda z, a, b: np.exp(_log_between(a, z) - _log_between(a, b)),
               sf=lambda z, a, b: np.exp(_log_between(z, b) - _log_between(a, b))),
    Univariate("truncpareto", "b c", lambda z, b, c: np.log(b) - (b + 1) * np.log(z) - np.log1p(-(c**-b)),
               inside=lambda z, b, c: (z >= 1) & (z <= c), middle=1.0,
               cdf=lambda z, b, c: (1 - z**-b) / (1 - c**-b), ppf=lambda q, b, c: (1 - q * (1 - c**-b)) ** (-1 / b)),
    Univariate("truncweibull_min", "c a b", lambda z, c, a, b: np.log(c) + _xlogy(c - 1, z) - z**c
               - np.log(np.exp(-(a**c)) - np.exp(-(b**c))), inside=lambda z, c, a, b: (z >= a) & (z <= b), middle=0.5,
               cdf=lambda z, c, a, b: (np.exp(-(a**c)) - np.exp(-(z**c))) / (np.exp(-(a**c)) - np.exp(-(b**c)))),
    *(Univariate(name, "kappa", lambda z, k: k * (np.cos(z) - 1) - log(2 * pi) - np.log(SPECIAL["i0e"](k)))
      for name in ("vonmises", "vonmises_line")),
    Univariate("wald", "", lambda z: -_LOG_ROOT - 1.5 * np.log(z) - (z - 1) ** 2 / (2 * z), inside=_positive),
    Univariate("weibull_max", "c", lambda z, c: np.log(c) + _xlogy(c - 1, -z) - (-z) ** c, inside=lambda z, c: z < 0,
               middle=-0.5, cdf=lambda z, c: np.exp(-((-z) ** c)), logcdf=lambda z, c: -((-z) ** c),
               sf=lambda z, c: -np.expm1(-((-z) ** c)), ppf=lambda q, c: -((-np.log(q)) ** (1 / c))),
    Univariate("wrapcauchy", "c", lambda z, c: np.log(1 - c * c) - log(2 * pi) - np.log(1 + c * c - 2 * c * np.cos(z)),
               inside=lambda z, c: (z >= 0) & (z <= 2 * pi)),
)  # fmt: skip


def _psi(chi: Any) -> Any:
    return _ndtr(chi) - chi * np.exp(_normal(chi)) - 0.5


def _pearson(z: Any, skew: Any) -> Any:
    beta = 2 / skew
    alpha = beta * beta
    y = beta * (z + beta)
    return np.log(np.abs(beta)) + _xlogy(alpha - 1, y) - y - _gammaln(alpha)


def _crystalball(z: Any, beta: Any, m: Any) -> Any:
    norm = m / beta / (m - 1) * np.exp(-beta * beta / 2) + sqrt(2 * pi) * _ndtr(beta)
    tail = plain(z) <= -plain(beta)
    base = np.where(tail, m / beta - beta - z, 1.0)
    power = m * np.log(m / beta) - beta * beta / 2 - m * np.log(base)
    return -np.log(norm) + np.where(tail, power, -z * z / 2)


def _log_between(a: Any, b: Any) -> Any:
    """Return the logarithm of the probability that a standard normal number is between a and b, in the lower tail."""
    upper = plain(a) > 0
    low, high = np.where(upper, -b, a), np.where(upper, -a, b)
    top, bottom = _log_ndtr(high), _log_ndtr(low)
    return top + np.log(-np.expm1(bottom - top))


for _distribution in _DECLARED:
    globals()[_distribution.name] = _distribution
