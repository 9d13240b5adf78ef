"""Special functions in double precision where SciPy's lose digits: log-gamma near its zeros, the complementary error
function of large numbers, the Airy function of large negative numbers.

Elsewhere they return SciPy's result. The errors come from a rounded intermediate that is then amplified: a zero of a
rational approximation, a square that is exponentiated, a phase of many turns. Here it is computed as a sum of two
numbers.
"""

from __future__ import annotations

from functools import cache
from math import pi, sqrt
from typing import Any

import numpy as np

from ..lazy import special
from .complex_logs import _two_square, _two_sum


def _is_plain_double(x: Any) -> bool:
    return type(x) is np.ndarray and x.dtype == np.float64


def _own(found: Any) -> Any:
    """Return SciPy's result as a writable array; for 0-d arrays SciPy gives scalars."""
    return np.asarray(found) if isinstance(found, np.generic) else found


# --- the logarithm of gamma beside 1 and 2 ----------------------------------------------------------

# How far from 1, and from 2, the series is used: between, where its values are small, it cancels less around 2.
_NEAR_ONE, _NEAR_TWO = (-0.5, 0.3), (-0.7, 0.5)
_BLOCK = 4096
_EULER = 0.57721566490153286061


@cache
def _series() -> np.ndarray:
    """Return the coefficients of ``lgamma(2 + z) / z``, from the highest power on: differences of the zeta function and
    1.
    """
    k = np.arange(2, 36)  # of the largest z, later terms are below the last digit
    return np.concatenate([(special.zetac(k) * (-1.0) ** k / k)[::-1], [1 - _EULER]])


def _polynomial(coefficients: np.ndarray, z: np.ndarray) -> np.ndarray:
    """Return ``np.polyval(coefficients, z)`` of a vector, block by block, so that the blocks stay in the cache."""
    result = np.empty(z.shape)
    for start in range(0, z.size, _BLOCK):
        block, out = z[start : start + _BLOCK], result[start : start + _BLOCK]
        out[...] = coefficients[0]
        for coefficient in coefficients[1:]:
            out *= block
            out += coefficient
    return result


def lgamma(x: Any) -> Any:
    """Return the logarithm of the absolute value of the gamma function."""
    found = _own(special.gammaln(x))
    if not _is_plain_double(x):
        return found
    for zero, (below, above) in ((1, _NEAR_ONE), (2, _NEAR_TWO)):
        z = x - zero
        near = (z >= below) & (z <= above)
        if near.any():
            z = z[near]
            value = _polynomial(_series(), z)
            value *= z
            found[near] = value - np.log1p(z) if zero == 1 else value
    return found


# --- the complementary error function ---------------------------------------------------------------

_FAR = 0.5


def _exp_of_minus_square(x: np.ndarray) -> np.ndarray:
    """Return ``exp(-x * x)`` with the rounding error of the square taken into account."""
    square, error = _two_square(x)
    return np.exp(-square) * (1 - error)


def erfc(x: Any) -> Any:
    """Return 1 - erf(x)."""
    found = _own(special.erfc(x))
    if _is_plain_double(x):
        far = (x > _FAR) & (x < 27)  # beyond, it is 0
        if far.any():
            found[far] = special.erfcx(x[far]) * _exp_of_minus_square(x[far])
    return found


def ndtr(x: Any) -> Any:
    """Return the standard normal distribution function of ``x``."""
    found = _own(0.5 * erfc(x * -sqrt(0.5)))
    if _is_plain_double(x):
        far = (x < 0) & (x > -38)
        if far.any():
            square, error = _two_square(x[far])
            tail = special.erfcx(x[far] * -sqrt(0.5)) * np.exp(-0.5 * square) * (1 - 0.5 * error)
            found[far] = 0.5 * tail
    return found


def log_ndtr(x: Any) -> Any:
    """Return the logarithm of :func:`ndtr`."""
    found = _own(special.log_ndtr(x))
    if _is_plain_double(x):
        above = x > 2
        if above.any():
            found[above] = np.log1p(-ndtr(-x[above]))
    return found


# --- the Airy function --------------------------------------------------------------------------------

_OSCILLATES = -9.0  # below, the asymptotic series are exact


@cache
def _airy_series() -> tuple[np.ndarray, np.ndarray]:
    """Return the even and the odd coefficients of the asymptotic series with their signs, from the highest power on."""
    u = [1.0]
    for k in range(1, 20):
        u.append(u[-1] * (6 * k - 5) * (6 * k - 3) * (6 * k - 1) / (216 * k * (2 * k - 1)))
    signs = (-1.0) ** np.arange(10)
    return (np.array(u[0::2]) * signs)[::-1], (np.array(u[1::2]) * signs)[::-1]


def _airy_phase(t: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return ``2 / 3 * t ** 1.5`` as a sum of two numbers."""
    root = np.sqrt(t)
    square, error = _two_square(root)
    rest = ((t - square) - error) / (2 * root)  # of the root
    # t * root is (t + root)**2 / 4 - (t - root)**2 / 4, whose squares are known exactly
    total, difference = _two_sum(t, root), _two_sum(t, -root)
    (a, a_error), (b, b_error) = _two_square(total[0]), _two_square(difference[0])
    a_error, b_error = a_error + 2 * total[0] * total[1], b_error + 2 * difference[0] * difference[1]
    product, left = _two_sum(a, -b)
    left = (left + a_error - b_error) / 4 + t * rest
    product = product / 4
    phase = product * 2 / 3
    thrice, lost = _two_sum(2 * phase, phase)
    return phase, ((2 * product - thrice) - lost + 2 * left) / 3


def airy_ai(x: Any) -> Any:
    """Return the Airy function that vanishes at infinity."""
    found = _own(special.airy(x)[0])
    if _is_plain_double(x):
        low = (x < _OSCILLATES) & (x > -1e8)
        if low.any():
            t = -x[low]
            phase, rest = _airy_phase(t)
            even, odd = (np.polyval(series, 1 / (phase * phase)) for series in _airy_series())
            sine, cosine = np.sin(phase), np.cos(phase)
            sine, cosine = sine + cosine * rest, cosine - sine * rest
            # cos(phase - pi / 4) and sin(phase - pi / 4), times the root of 2
            wave = (cosine + sine) * even + (sine - cosine) * (odd / phase)
            found[low] = wave / (sqrt(2 * pi) * np.sqrt(np.sqrt(t)))
    return found
