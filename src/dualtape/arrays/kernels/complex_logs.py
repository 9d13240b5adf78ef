"""Logarithms of complex numbers where the textbook formulas lose digits: ``log(1 + z)``, and ``log(exp(a) + exp(b))``.

NumPy's ``log1p`` of complex numbers computes ``1 + z`` first, so that a real part below the spacing of numbers near 1
is lost.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..batched.array import Batched

# 2 ** 27 + 1 splits 53 bits into two halves whose products are exact.
_SPLITTER = 134217729.0


def _two_sum(a: Any, b: Any) -> tuple[Any, Any]:
    """Return the rounded sum of two float64, and its rounding error."""
    total = a + b
    part = total - a
    return total, (a - (total - part)) + (b - part)


def _two_square(a: Any) -> tuple[Any, Any]:
    """Return the rounded square of a float64, and its rounding error."""
    square = a * a
    scaled = _SPLITTER * a
    high = scaled - (scaled - a)
    low = a - high
    return square, low * low - ((square - high * high) - 2 * high * low)


def _squared_modulus_minus_one(x: Any, y: Any) -> Any:
    """Return ``|1 + x + iy|**2 - 1``, which is ``2x + x**2 + y**2``, for ``x`` and ``y`` of at most moderate size.

    The three terms cancel near the unit circle around -1, so that their rounding errors are added back.
    """
    (x_square, x_error), (y_square, y_error) = _two_square(x), _two_square(y)
    total, first_error = _two_sum(2 * x, x_square)
    total, second_error = _two_sum(total, y_square)
    return total + (first_error + second_error + x_error + y_error)


def log1p(z: Any) -> Any:
    """Return ``log(1 + z)`` of complex numbers, both parts accurate also where ``z`` is small or ``1 + z`` on the unit
    circle.
    """
    if not isinstance(z, (np.ndarray, np.generic)):
        return _of_others(log1p, np.log1p, z)
    wide = z if z.dtype == np.complex128 else z.astype(np.complex128)
    x, y = np.real(wide), np.imag(wide)
    near = np.logical_and(np.absolute(x + 1) < 2, np.absolute(y) < 2)
    excess = _squared_modulus_minus_one(np.where(near, x, 0), np.where(near, y, 0))
    near = np.logical_and(near, excess > -0.75)
    modulus = np.where(near, 0.5 * np.log1p(np.where(near, excess, 0)), np.log(np.hypot(x + 1, y)))
    broken = np.logical_or(np.isnan(x), np.isnan(y))
    out = np.asarray(np.positive(z))  # laid out as a ufunc lays it out
    out.real = np.where(broken, np.nan, modulus)
    out.imag = np.where(broken, np.nan, np.arctan2(y, x + 1))
    return out


def _of_others(function: Any, ufunc: Any, z: Any) -> Any:
    """Return ``function`` of an array that is not NumPy's: of its values, where it has some, else by a ufunc.

    The parts of other arrays cannot be written one by one.
    """
    from ..traced.array import Traced, called

    if type(z) is Traced:
        return called(function, (z,))
    if type(z) is Batched:
        return Batched(function(z.values), z.level)
    return ufunc(z)


def logaddexp(a: Any, b: Any) -> Any:
    """Return ``log(exp(a) + exp(b))`` of complex numbers without overflow; of minus infinities ``-inf + 0j``."""
    first = np.real(a) >= np.real(b)
    larger, smaller = np.where(first, a, b), np.where(first, b, a)
    unbounded = np.isinf(np.real(larger))
    # of infinities the difference is NaN: what is added to one is a power of a number that is far below it
    change = np.where(unbounded, -np.inf, smaller - np.where(unbounded, 0, larger))
    out = larger + log1p(np.exp(change))
    both = np.logical_and(np.isposinf(np.real(smaller)), unbounded)
    out = np.where(both, np.log(np.exp(a) + np.exp(b)), out)
    out = np.where(np.isneginf(np.real(larger)), np.asarray(-np.inf, a.dtype), out)
    return np.where(np.logical_or(np.isnan(a), np.isnan(b)), np.asarray(complex(np.nan, np.nan), a.dtype), out)
