"""Functions of single precision by polynomials, for long arrays: NumPy's passes over a block in a cache, where SciPy's are scalar code.

The error function is ``tanh(x * p(x * x))``: what tanh has to be given is nearly a straight line, so that seven coefficients do for all of it. They are a
weighted minimax fit of ``atanh(erf(x)) / x``; the result is within 4 units in the last place, and exactly 1 from :data:`_END` on.
"""

from __future__ import annotations

import numpy as np

from .sums import row_blocks

PART = 16_384  # elements at a time: a few arrays of them fit into a cache
_END = np.asarray(4.1, np.float32)  # from here on erf is 1 to single precision
# arrays, since a ufunc turns Python's numbers into these anew each time
_ERF = [np.asarray(c, np.float32) for c in (
    1.418530177e-07, -5.668489591e-06, 8.763741389e-05, -6.197848923e-04, -1.918305266e-04, 1.027690557e-01, 1.128379274)]  # fmt: skip


def erf_single(x: np.ndarray) -> np.ndarray:
    """The error function of an array of single precision."""
    out = np.empty(x.shape, np.float32)
    flat, made = x.reshape(-1), out.reshape(-1)
    for some in row_blocks(flat.shape, PART):
        y, inner = made[some], np.minimum(flat[some], _END)
        np.maximum(inner, -_END, out=inner)
        square = inner * inner
        np.multiply(square, _ERF[0], y)
        for coefficient in _ERF[1:-1]:
            y += coefficient
            y *= square
        y += _ERF[-1]
        y *= inner
        np.tanh(y, y)
    return out
