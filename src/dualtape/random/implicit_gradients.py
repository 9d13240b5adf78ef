"""Implicit gradients of draws with respect to shape parameters, at a fixed quantile: ``-(dF/d shape) / (dF/dx)``.

In the logarithm (of gamma variables) or the log-odds (of beta variables) both derivatives are integrals from the draw
outwards, over either side, of ``exp(a concave exponent)``. On one of the two sides the other factor of the integrand
has one sign: there nothing cancels, whatever the shapes and however far in the tail the draw is.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

from ..arrays.lazy import special

_NEGLIGIBLE = 42.0  # exp(-42) is less than the rounding of what it is added to
_BLOCK = 4096  # draws at once, each of which takes some hundred points


@cache
def _places(exact: bool) -> tuple[np.ndarray, np.ndarray]:
    """Return the nodes between 0 and 2 and the weights of Gauss-Legendre quadrature."""
    places, weights = np.polynomial.legendre.leggauss(48 if exact else 20)
    return places + 1, weights


def _integral(parts: Callable, bends: list, end: np.ndarray, exact: bool) -> np.ndarray:
    """Return the integral from zero to ``end`` of ``exp(exponent) * factor``, which ``parts(s)`` gives.

    The exponent is concave and zero at zero; between ``bends`` it is smooth for its length.
    """
    places, weights = _places(exact)
    edges = [np.zeros_like(end), *[np.clip(bend, 0, end) for bend in bends], end]
    total = np.zeros(len(end))
    for left, right in zip(edges, edges[1:], strict=False):
        half = (right - left) / 2
        if half.any():
            exponent, factor = parts(left + half * places)
            total += half[:, 0] * ((np.exp(exponent) * factor) @ weights)
    return total


def _gamma_end(a: np.ndarray, x: np.ndarray, side: np.ndarray) -> np.ndarray:
    """Return a point beyond which the integrand for gamma variables is negligible, and not much further out than
    needed.

    ``exp(s) - 1 - s`` reaches ``c`` before ``log(1 + c + sqrt(2 c))``, ``exp(-s) - 1 + s`` before ``c + sqrt(2 c)``,
    and what is linear before its quotient.
    """
    c = _NEGLIGIBLE / np.where(side > 0, np.maximum(a, x), x)
    peak = np.maximum(np.log(a) - np.log(x), 0)
    above, below = np.log1p(c + np.sqrt(2 * c)), c + np.sqrt(2 * c)
    linear = _NEGLIGIBLE / np.maximum(np.abs(x - a), 1e-200)
    return np.where(side < 0, np.minimum(below, linear), np.where(x > a, np.minimum(above, linear), peak + above))


def _beta_end(parts: Callable, peak: np.ndarray) -> np.ndarray:
    """Return the same for beta variables, whose exponent is largest at ``peak``, by bisection of its logarithm."""
    target = np.maximum(parts(peak)[0], 0) - _NEGLIGIBLE
    low, high = np.full(peak.shape, -30.0), np.full(peak.shape, 30.0)
    for _ in range(12):
        middle = (low + high) / 2
        s = np.exp(middle)
        beyond = (s > peak) & (parts(s)[0] < target)
        low, high = np.where(beyond, low, middle), np.where(beyond, middle, high)
    return np.exp(high)


def _in_blocks(compute: Callable, *arrays: Any) -> np.ndarray:
    """Return ``compute`` of columns of float64, one block of elements at a time, in the common shape of the arrays."""
    whole = np.broadcast_arrays(*[np.asarray(a, np.float64) for a in arrays])
    columns = [a.reshape(-1, 1) for a in whole]
    blocks = [compute(*[c[i : i + _BLOCK] for c in columns]) for i in range(0, len(columns[0]), _BLOCK)]
    return np.concatenate(blocks or [np.empty(0)]).reshape(whole[0].shape)


def gamma_slope(alpha: np.ndarray, x: np.ndarray) -> np.ndarray:
    """Return ``dx / d alpha`` of draws ``x`` from gamma distributions of the shapes ``alpha``."""
    exact = np.asarray(x).dtype == np.float64

    def compute(a: np.ndarray, x: np.ndarray) -> np.ndarray:
        x = np.maximum(x, 1e-305)  # of which everything below stays finite
        log_x, mean = np.log(x), special.digamma(a)
        side = np.where(log_x > mean, 1.0, -1.0)
        bend = np.where(side > 0, np.log1p(a) - log_x - 4, np.log1p(x) + 4)

        def parts(s: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
            return a * (side * s) - x * np.expm1(side * s), side * (log_x - mean) + s

        relative = _integral(parts, [bend - 12 * (side > 0), bend], _gamma_end(a, x, side), exact)
        return x[:, 0] * relative

    return _in_blocks(compute, alpha, x)


def _log_sigmoids(w: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the logarithms of the sigmoid of ``w`` and of ``-w``."""
    shared = np.log1p(np.exp(-np.abs(w)))
    return np.minimum(w, 0) - shared, np.minimum(-w, 0) - shared


def beta_slope(alpha: np.ndarray, beta: np.ndarray, x: np.ndarray) -> np.ndarray:
    """Return ``(d log-odds of x) / d alpha`` of draws ``x`` from beta distributions of the shapes ``alpha`` and
    ``beta``.
    """
    exact = np.asarray(x).dtype == np.float64
    limits = np.finfo(np.asarray(x).dtype)

    def compute(a: np.ndarray, b: np.ndarray, x: np.ndarray) -> np.ndarray:
        x = np.clip(x, limits.tiny, 1 - float(limits.epsneg))
        start = np.log(x) - np.log1p(-x)
        mean = special.digamma(a) - special.digamma(a + b)
        log_x, log_rest = _log_sigmoids(start)
        side = np.where(log_x > mean, 1.0, -1.0)
        ends = np.where(side > 0, -np.log1p(b), -np.log1p(a)), np.where(side > 0, np.log1p(a), np.log1p(b))
        bends = [
            end - side * start + more for end, mores in zip(ends, ((-16, -4), (4, 16)), strict=True) for more in mores
        ]

        def parts(s: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
            one, rest = _log_sigmoids(start + side * s)
            return a * (one - log_x) + b * (rest - log_rest), side * (one - mean)

        peak = np.maximum(side * (np.log(a) - np.log(b) - start), 0)
        return _integral(parts, bends, _beta_end(parts, peak), exact)

    return _in_blocks(compute, alpha, beta, x)
