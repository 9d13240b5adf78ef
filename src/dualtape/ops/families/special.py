"""Elementwise functions that fewer programs use: inverse hyperbolic and error functions, sinc, the replacement of
NaN.
"""

from __future__ import annotations

from math import pi, sqrt
from typing import Any

import numpy as np

from ...arrays.kernels.approximations import erf_single
from ...arrays.lazy import special
from ..samples import above_one, edge, exact, real, sample
from ..table import ELEMENTWISE, op
from .elementwise import PLAIN, UNIT, function_row, in_kind

function_row("asinh", np.arcsinh, lambda x: 1 / np.sqrt(x * x + 1), PLAIN, """The inverse hyperbolic sine.

   >>> import dualtape as dt
   >>> dt.asinh(dt.tensor([0.0, 1.0]))
   tensor([0.0000, 0.8814])
   """, also=("arcsinh",))  # fmt: skip
function_row("acosh", np.arccosh, lambda x: 1 / (np.sqrt(x - 1) * np.sqrt(x + 1)),
    (sample(above_one(3, 4)), edge(exact([1.0, 2.0]))),
   """The inverse hyperbolic cosine.

   >>> import dualtape as dt
   >>> dt.acosh(dt.tensor([1.0, 2.0]))
   tensor([0.0000, 1.3170])
   """, also=("arccosh",))  # fmt: skip
function_row("atanh", np.arctanh, lambda x: 1 / (1 - x * x), UNIT, """The inverse hyperbolic tangent.

   >>> import dualtape as dt
   >>> dt.atanh(dt.tensor([0.0, 0.5]))
   tensor([0.0000, 0.5493])
   """, also=("arctanh",))  # fmt: skip


def _sinc(x: Any) -> Any:
    return np.sinc(x)


def _sinc_derivative(x: Any) -> Any:
    """(cos(pi x) - sinc(x)) / x, and near 0 its series: so that every order is right there."""
    y = x * np.pi
    small = np.absolute(y) < 0.1
    safe = np.where(small, 1, y)
    series = np.where(small, y, 0)
    s = series * series
    near = series * (-1 / 3 + s * (1 / 30 + s * (-1 / 840 + s * (1 / 45360 - s / 3991680))))
    return np.pi * np.where(small, near, (np.cos(safe) * safe - np.sin(safe)) / (safe * safe))


function_row("sinc", _sinc, _sinc_derivative, (*PLAIN[:3], sample(exact([0.0, 0.5, -1.3]))), """sin(pi x) / (pi x), and
1 at 0.

   >>> import dualtape as dt
   >>> dt.sinc(dt.tensor([0.0, 0.5]))
   tensor([1.0000, 0.6366])
   """)  # fmt: skip

# --- the error function ---------------------------------------------------------------------------

_TWO_OVER_ROOT_PI = 2 / sqrt(pi)


def error_function(x: Any) -> Any:
    """SciPy's erf, or a quicker one where single precision and many elements ask for it."""
    return erf_single(x) if type(x) is np.ndarray and x.dtype == np.float32 and x.size > _MANY else special.erf(x)


_MANY = 2000  # elements from which the passes over a block pay

function_row("erf", in_kind(error_function), lambda x: _TWO_OVER_ROOT_PI * np.exp(-(x * x)), PLAIN, """The error
function.

   >>> import dualtape as dt
   >>> dt.erf(dt.tensor([0.0, 1.0]))
   tensor([0.0000, 0.8427])
   """, complex=False)  # fmt: skip
function_row("erfc", in_kind(lambda x: special.erfc(x)), lambda x: -_TWO_OVER_ROOT_PI * np.exp(-(x * x)), PLAIN, """1 -
erf(x), exact for large x.

   >>> import dualtape as dt
   >>> dt.erfc(dt.tensor([0.0, 1.0]))
   tensor([1.0000, 0.1573])
   """, complex=False)  # fmt: skip


def _nan_to_num(x: Any, nan: float | None = 0.0, posinf: float | None = None, neginf: float | None = None) -> Any:
    if x.dtype.kind != "f":
        return x.copy()
    limits = np.finfo(x.dtype)
    high, low = float(limits.max) if posinf is None else posinf, float(limits.min) if neginf is None else neginf
    return np.where(np.isnan(x), nan or 0.0, np.where(np.isinf(x), np.where(x > 0, high, low), x)).astype(x.dtype)


op("nan_to_num", _nan_to_num, kind=ELEMENTWISE,
   vjp=dict(x=lambda g, x: np.where(np.isfinite(x), g, 0)), jvp=dict(x=lambda t, x: np.where(np.isfinite(x), t, 0)),
   complex=False,
   samples=(sample(real(3, 4)), sample(real()), edge(exact([np.nan, np.inf, -np.inf, 1.0])),
       edge(exact([np.nan, np.inf, -np.inf, 1.0]), 7.0, 1.0, -1.0)),
   doc="""NaN and infinities replaced: by 0 and by the largest numbers of the dtype, or by what is given; no gradient
   flows there.

   >>> import dualtape as dt
   >>> dt.nan_to_num(dt.tensor([float("nan"), 1.0, float("inf")]), posinf=9.0)
   tensor([0., 1., 9.])
   """)  # fmt: skip
