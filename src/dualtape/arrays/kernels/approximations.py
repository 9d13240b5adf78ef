"""Functions of single precision by polynomials, for long arrays: NumPy's passes over a block in a cache, where SciPy's
are scalar code.

The error function is ``tanh(x * p(x * x))``: what tanh has to be given is nearly a straight line, so that seven
coefficients do for all of it. They are a weighted minimax fit of ``atanh(erf(x)) / x`` up to 4.1; the result is
within 4 units in the last place, and beyond that exactly 1, since p only grows there.

The exponential is a power of two where NumPy's ``exp2`` is a vector kernel, twice as quick as its ``exp``. Rounding
the exponent costs about ``abs(x) / 2`` units in the last place: no more than it cost to round an ``x`` that was
computed.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import cache
from math import sqrt
from typing import Any

import numpy as np

from ..lazy import special
from .sums import row_blocks

PART = 32_768  # elements at a time: a few arrays of them fit into a cache
_ERF = (
    1.418530177e-07,
    -5.668489591e-06,
    8.763741389e-05,
    -6.197848923e-04,
    -1.918305266e-04,
    1.027690557e-01,
    1.128379274,
)
_ONE = np.asarray(1, np.float32)

# --- the exponential ------------------------------------------------------------------------------


@cache
def exponential() -> tuple[Callable[..., Any], np.ndarray]:
    """Return the faster of ``np.exp`` and ``np.exp2`` in single precision, and the factor for its argument.

    NumPy has a vector kernel of ``exp2`` for the widest vectors of x86 processors, under Linux; elsewhere it
    computes one element after the other.
    """
    from numpy.lib.introspect import opt_func_info

    kernels = opt_func_info(func_name="^exp2$", signature="float32").get("exp2", {})
    if sys.platform == "linux" and any(one["current"] in ("X86_V4", "AVX512_SKX") for one in kernels.values()):
        return np.exp2, np.asarray(np.log2(np.e), np.float32)
    return np.exp, _ONE


def exponentials(x: np.ndarray, out: np.ndarray) -> np.ndarray:
    """Write ``exp(x)`` into ``out``."""
    if x.dtype != np.float32:
        return np.exp(x, out)
    function, factor = exponential()
    return np.exp(x, out) if function is np.exp else function(np.multiply(x, factor, out), out)


# --- the error function ---------------------------------------------------------------------------


@cache
def _coefficients(scale: float, factor: float = 1.0) -> list[np.ndarray]:
    """Return the coefficients of ``factor * atanh(erf(scale * x))`` as 0-d arrays: a ufunc would convert Python numbers
    at each call.
    """
    powers = range(2 * len(_ERF) - 1, 0, -2)
    return [np.asarray(factor * c * scale**k, np.float32) for c, k in zip(_ERF, powers, strict=True)]


def _odd(x: np.ndarray, coefficients: list[np.ndarray], out: np.ndarray, square: np.ndarray) -> np.ndarray:
    """Write ``x * p(x * x)`` into ``out``, and ``x * x`` into ``square``."""
    first, *middle, last = coefficients
    np.multiply(x, x, square)
    np.multiply(square, first, out)
    for coefficient in middle:
        out += coefficient
        out *= square
    out += last
    out *= x
    return out


def erf_single(x: np.ndarray, scale: float = 1.0) -> np.ndarray:
    """Return the error function of ``scale * x`` for an array of single precision."""
    coefficients = _coefficients(scale)
    out = np.empty(x.shape, np.float32)
    flat, result = x.reshape(-1), out.reshape(-1)
    square = np.empty(min(PART, flat.size), np.float32)
    for some in row_blocks(flat.shape, PART):
        part, y = flat[some], result[some]
        np.tanh(_odd(part, coefficients, y, square[: len(part)]), y)
    return out


def inverse_normal(x: np.ndarray, out: np.ndarray, square: np.ndarray) -> np.ndarray:
    """Write 1 / P into ``out``, where P is the standard normal distribution function of ``x``, and ``x * x`` into
    ``square``; all in single precision.

    2 P is 1 + tanh(t), where tanh(t) is the error function of x / sqrt(2); so 1 / P is 1 + exp(-2 t), which is
    exact where P is small, too.
    """
    function, factor = exponential()
    function(_odd(x, _coefficients(sqrt(0.5), -2 * float(factor)), out, square), out)
    out += _ONE
    return out


def normal_share(x: Any) -> Any:
    """Return the standard normal distribution function of ``x``.

    It is one instruction of a traced kernel. In single precision its error is small relative to 1, and larger than
    SciPy's relative to small results.
    """
    if type(x) is np.ndarray:
        return (0.5 * special.erfc(x * -sqrt(0.5))).astype(x.dtype, copy=False)
    from ..traced.array import recorded
    from ..traced.tape import CALL

    return recorded(CALL, normal_share, (x,), {})
