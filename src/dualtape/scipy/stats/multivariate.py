"""Distributions of vectors."""

from __future__ import annotations

from math import log, pi
from typing import Any

import numpy as np

from ...ops.numpy_entries.registry import alike, floating, op
from ...ops.numpy_entries.special import SPECIAL
from .distribution import Distribution, answering

_gammaln, _xlogy = SPECIAL["gammaln"], SPECIAL["xlogy"]


class _MultivariateNormal(Distribution):
    functions = ("pdf", "logpdf")

    @answering("logpdf")
    def logpdf(self, x: Any, mean: Any = None, cov: Any = 1, allow_singular: bool = False) -> Any:
        """The logarithm of the density at the vectors along the last axis of x."""
        if allow_singular:
            raise TypeError("multivariate_normal on tensors: allow_singular=False only")
        x, cov, mean = alike(x, cov, 0 if mean is None else mean)
        size = mean.shape[0] if mean.ndim else cov.shape[0] if cov.ndim == 2 else 1
        if not x.ndim or (x.ndim == 1 and size == 1):
            x = x.unsqueeze(-1)
        if cov.ndim == 0:
            cov = cov * np.eye(size, dtype=cov._array.dtype)
        elif cov.ndim == 1:
            cov = np.diag(cov)
        factor = op("linalg.cholesky")(cov)
        scaled = op("linalg.solve_triangular")(factor, (x - mean).unsqueeze(-1), upper=False).squeeze(-1)
        half_log_det = np.sum(np.log(np.diagonal(factor)))
        return -np.sum(scaled * scaled, axis=-1) / 2 - half_log_det - size * (log(2 * pi) / 2)

    @answering("pdf")
    def pdf(self, x: Any, mean: Any = None, cov: Any = 1, allow_singular: bool = False) -> Any:
        """The density."""
        return np.exp(self.logpdf(x, mean, cov, allow_singular))


class _Dirichlet(Distribution):
    functions = ("pdf", "logpdf")

    @answering("logpdf")
    def logpdf(self, x: Any, alpha: Any) -> Any:
        """The logarithm of the density; the last of the probabilities may be left out."""
        x, alpha = alike(x, alpha)
        if x.shape[0] + 1 == alpha.shape[0]:
            x = np.concatenate([x, 1 - np.sum(x, axis=0, keepdims=True)])
        elif x.shape[0] != alpha.shape[0]:
            raise ValueError(f"dirichlet: {x.shape[0]} probabilities do not go with {alpha.shape[0]} parameters")
        if bool((np.abs(np.sum(x.detach(), axis=0) - 1) > 1e-9 + 10 * np.finfo(x._array.dtype).eps).any()):
            raise ValueError("dirichlet: the probabilities must add up to 1")
        norm = np.sum(_gammaln(alpha)) - _gammaln(np.sum(alpha))
        return np.sum(_xlogy(alpha.reshape([-1] + [1] * (x.ndim - 1)) - 1, x), axis=0) - norm

    @answering("pdf")
    def pdf(self, x: Any, alpha: Any) -> Any:
        """The density."""
        return np.exp(self.logpdf(x, alpha))


class _Multinomial(Distribution):
    functions = ("pmf", "logpmf")

    @answering("logpmf")
    def logpmf(self, x: Any, n: Any, p: Any) -> Any:
        """The logarithm of the probability of these counts."""
        counts, p = alike(x, p)
        counts = counts.detach()
        n = floating(n).detach().to(p.dtype)
        found = _gammaln(n + 1) + np.sum(_xlogy(counts, p) - _gammaln(counts + 1), axis=-1)
        return np.where(np.sum(counts, axis=-1) == n, found, -np.inf)

    @answering("pmf")
    def pmf(self, x: Any, n: Any, p: Any) -> Any:
        """The probability of these counts."""
        return np.exp(self.logpmf(x, n, p))


multivariate_normal = _MultivariateNormal("multivariate_normal")
dirichlet = _Dirichlet("dirichlet")
multinomial = _Multinomial("multinomial")
