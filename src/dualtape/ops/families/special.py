"""Elementwise special functions: inverse hyperbolic functions, error functions and the normal distribution, logit,
sinc, entropy, the replacement of NaN.
"""

from __future__ import annotations

from math import pi, sqrt
from typing import Any

import numpy as np
from numpy import ndarray

from ...arrays.bfloat16_dtype import limits
from ...arrays.kernels import accurate
from ...arrays.kernels.approximations import erf_single
from ...arrays.kernels.basics import on_host
from ...arrays.lazy import special
from ..dispatch import FUNCTIONS
from ..formulas import in_dtype_of, use
from ..samples import above_one, apart, edge, exact, positive, probability, real, sample
from ..table import BROADCASTING, ELEMENTWISE, FLOAT, composite, op
from .elementwise import PLAIN, UNIT, function_row, in_kind
from .reductions import HALF, SINGLE

function_row("asinh", np.arcsinh, lambda x: 1 / np.sqrt(x * x + 1), PLAIN, """The inverse hyperbolic sine.

   >>> import dualtape as dt
   >>> dt.asinh(dt.tensor([0.0, 1.0]))
   tensor([0.0000, 0.8814])
   """, also=("arcsinh",))  # fmt: skip


def _acosh_derivative(x: Any) -> Any:
    if x.dtype.kind != "c":
        # Below -1 the value is NaN and the formula is not, as in PyTorch.
        x = np.where(x < 0, -x, x)
    return 1 / (np.sqrt(x - 1) * np.sqrt(x + 1))


function_row("acosh", np.arccosh, _acosh_derivative,
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
    # pi * x in half precision is another argument, or infinite
    return np.sinc(x.astype(SINGLE)).astype(x.dtype) if x.dtype == HALF else np.sinc(x)


def _sinc_derivative(x: Any) -> Any:
    """Return (cos(pi x) - sinc(x)) / x, and near 0 its series, correct at every order."""
    if type(x) is ndarray and x.dtype == HALF:
        return _sinc_derivative(x.astype(SINGLE)).astype(x.dtype)
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
   """, also=("special.sinc",))  # fmt: skip

# --- the error function ---------------------------------------------------------------------------

_TWO_OVER_ROOT_PI = 2 / sqrt(pi)


def error_function(x: Any) -> Any:
    """Return SciPy's erf, or a faster one for many elements of single precision."""
    return erf_single(x) if type(x) is np.ndarray and x.dtype == np.float32 and x.size > _MANY else special.erf(x)


_MANY = 2000  # elements from which the passes over a block pay

function_row("erf", in_kind(error_function), lambda x: _TWO_OVER_ROOT_PI * np.exp(-(x * x)), PLAIN, """The error
function.

   >>> import dualtape as dt
   >>> dt.erf(dt.tensor([0.0, 1.0]))
   tensor([0.0000, 0.8427])
   """, complex=False, also=("special.erf",))  # fmt: skip
function_row("erfc", in_kind(accurate.erfc), lambda x: -_TWO_OVER_ROOT_PI * np.exp(-(x * x)), PLAIN, """1 -
erf(x), exact for large x.

   >>> import dualtape as dt
   >>> dt.erfc(dt.tensor([0.0, 1.0]))
   tensor([1.0000, 0.1573])
   """, complex=False, also=("special.erfc",))  # fmt: skip


def computed(forward: Any, *arrays: Any) -> Any:
    """Apply a SciPy function; to other kinds of arrays their own function, or, if they have none, by converting to
    NumPy.
    """
    try:
        return forward(*arrays)
    except TypeError:
        if all(isinstance(a, (np.ndarray, np.generic, float, int)) for a in arrays):
            raise
        return on_host(forward, *arrays)


def of_scipy(forward: Any) -> Any:
    """Return a SciPy function of real numbers such that its result has the dtype of its argument."""

    def function(x: Any) -> Any:
        if x.dtype.kind == "c":
            raise NotImplementedError(f"expected a tensor of real numbers, got {x.dtype}: it has no complex form here")
        found = computed(forward, x)
        return found.astype(x.dtype, copy=False) if x.dtype.kind == "f" else found

    return function


function_row("special_erfcx", of_scipy(lambda x: special.erfcx(x)), lambda x, out: 2 * x * out - _TWO_OVER_ROOT_PI,
    (*PLAIN, edge(exact([0.0, 5.0, -5.0, -30.0]))),
   """exp(x**2) * erfc(x), without overflow for large x.

   >>> import dualtape as dt
   >>> dt.special.erfcx(dt.tensor([0.0, 10.0]))
   tensor([1.0000, 0.0561])
   """, namespace="special", complex=False)  # fmt: skip
function_row("erfinv", of_scipy(lambda x: special.erfinv(x)), lambda out: (0.5 * sqrt(pi)) * np.exp(out * out),
    (*UNIT, edge(exact([2.0, -1.5, np.nan]))),
   """The inverse of the error function; NaN outside of [-1, 1].

   >>> import dualtape as dt
   >>> dt.erfinv(dt.tensor([0.0, 0.5]))
   tensor([0.0000, 0.4769])
   """, complex=False, also=("special.erfinv",))  # fmt: skip

# --- the normal distribution ----------------------------------------------------------------------


@composite(
    "special_ndtr", namespace="special", complex=False, samples=(*PLAIN, edge(exact([0.0, np.inf, -np.inf, np.nan])))
)
def ndtr(input: Any) -> Any:
    """The probability that a normally distributed number is less than each element.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.special.ndtr(dt.tensor([0.0, 1.0]))
    tensor([0.5000, 0.8413])
    """
    return FUNCTIONS["erfc"](input * -sqrt(0.5)) * 0.5


function_row("special_log_ndtr", of_scipy(accurate.log_ndtr),
    lambda x: sqrt(2 / pi) / use("special_erfcx")(x * -sqrt(0.5)),
    (*PLAIN, edge(exact([0.0, np.inf, 40.0, -40.0, np.nan]))),
   """The logarithm of :func:`ndtr`, also where that is too small to have one.

   >>> import dualtape as dt
   >>> dt.special.log_ndtr(dt.tensor([0.0, -100.0]))
   tensor([-6.9315e-01, -5.0055e+03])
   """, namespace="special", complex=False)  # fmt: skip
function_row("special_ndtri", of_scipy(lambda x: special.ndtri(x)), lambda out: sqrt(2 * pi) * np.exp(0.5 * out * out),
    (sample(probability(3, 4)), sample(probability()), edge(exact([0.0, 1.0, 0.5, -1.0, np.nan]))),
   """The inverse of :func:`ndtr`.

   >>> import dualtape as dt
   >>> dt.special.ndtri(dt.tensor([0.5, 0.9]))
   tensor([0.0000, 1.2816])
   """, namespace="special", complex=False)  # fmt: skip

# --- probabilities --------------------------------------------------------------------------------


def _logit(x: Any, eps: float | None = None) -> Any:
    # Of bounds that cross, the lower one is applied first, as in PyTorch.
    if eps is not None:
        x = np.where(x < eps, x.dtype.type(eps), np.where(x > 1 - eps, x.dtype.type(1 - eps), x))
    return of_scipy(special.logit)(x)


def _logit_derivative(x: Any, eps: float | None) -> Any:
    if eps is None:
        return np.where(np.logical_or(x < 0, x > 1), np.nan, 1 / (x * (1 - x)))
    return np.where(np.logical_or(x < eps, x > 1 - eps), 0, 1 / (x * (1 - x)))


op("logit", _logit, kind=ELEMENTWISE, promote=FLOAT, derivative=_logit_derivative, complex=False,
    also=("special.logit",),
    samples=(sample(probability(3, 4)), sample(probability()), sample(probability(3, 4), 0.05),
        edge(exact([-0.1, 0.0, 0.5, 1.0, 1.1, np.nan])), edge(exact([-0.1, 0.0, 0.5, 1.0, 1.1, 0.2, np.nan]), eps=0.2),
        edge(exact([0.3, 0.8]), eps=0.7)),
   doc="""log(x / (1 - x)); with ``eps``, of x kept between eps and 1 - eps.

   >>> import dualtape as dt
   >>> dt.logit(dt.tensor([0.5, 0.9]))
   tensor([0.0000, 2.1972])
   """)  # fmt: skip
function_row("special_entr", of_scipy(lambda x: special.entr(x)), lambda x: -np.log(x) - 1,
    (sample(positive(3, 4)), sample(positive()), edge(exact([-1.0, 0.0, 1.0, np.inf, np.nan]))),
   """-x * log(x), the share of each probability in an entropy; 0 at 0 and -inf below.

   >>> import dualtape as dt
   >>> dt.special.entr(dt.tensor([0.0, 0.5]))
   tensor([0.0000, 0.3466])
   """, namespace="special", complex=False)  # fmt: skip


def _by_log1p(g: Any, x: Any, y: Any) -> Any:
    """Return ``g * log1p(y)``, and 0 where that is not defined and g is 0, or x."""
    y = in_dtype_of(y, g)
    return np.where(np.logical_and(x == 0, y <= -1), 0, use("special_xlog1py")(g, y))


def of_pair(forward: Any) -> Any:
    """Return a SciPy function of two real arrays or numbers such that its result has NumPy's result dtype."""

    def function(x: Any, y: Any) -> Any:
        dtype = np.result_type(x, y)
        if dtype.kind == "c":
            raise NotImplementedError(f"expected tensors of real numbers, got {dtype}: it has no complex form here")
        return computed(forward, x, y).astype(dtype if dtype.kind == "f" else np.float64, copy=False)

    return function


def scalar_variant(x: Any, y: Any) -> int:
    """Return which of PyTorch's three nodes applies: of two tensors, of a number and a tensor, of a tensor and a
    number.
    """
    return 1 if isinstance(x, (int, float)) else 2 if isinstance(y, (int, float)) else 0


op("special_xlog1py", of_pair(lambda x, y: special.xlog1py(x, y)), kind=BROADCASTING, promote=FLOAT, complex=False,
    namespace="special",
    node=("SpecialXlog1PyBackward0", "SpecialXlog1PyBackward1", "SpecialXlog1PyBackward2"), variant=scalar_variant,
   vjp=dict(x=_by_log1p, y=lambda g, x, y: g * (x / (y + 1))),
   jvp=dict(x=lambda t, x, y: _by_log1p(t, x, y), y=lambda t, x, y: t * (x / (y + 1))),
   samples=(sample(real(3, 4), probability(4)), sample(real(), probability()), sample(2.0, probability(3)),
       sample(real(3), 0.5), edge(exact([0.0, 0.0, 1.0, 0.0]), exact([-1.0, 2.0, -1.0, np.nan]))),
   doc="""x * log(1 + y), and 0 where x is 0.

   >>> import dualtape as dt
   >>> dt.special.xlog1py(dt.tensor([0.0, 2.0]), dt.tensor([-1.0, 1.0]))
   tensor([0.0000, 1.3863])
   """)  # fmt: skip


def _xlogy(x: Any, y: Any) -> Any:
    out = np.where(x == 0, np.where(np.isnan(y), np.nan, 0)[()], x * np.log(np.where(x == 0, 1, y)))
    dtype = np.result_type(x, y)
    return out.astype(dtype, copy=False) if dtype.kind in "fc" else out


def _by_log(g: Any, x: Any, y: Any) -> Any:
    """Return ``g * log(y)``, and 0 where that is not defined and g is 0, or x."""
    return np.where(np.logical_and(x == 0, y <= 0), 0, use("xlogy")(g, in_dtype_of(y, g)))


op("xlogy", _xlogy, kind=BROADCASTING, promote=FLOAT, complex=False,
    node=("XlogyBackward0", "XlogyBackward1", "XlogyBackward2"),
   variant=scalar_variant, also=("special.xlogy",),
   vjp=dict(x=_by_log, y=lambda g, x, y: g * (x / y)),
   jvp=dict(x=lambda t, x, y: _by_log(t, x, y), y=lambda t, x, y: t * (x / y)),
   samples=(sample(real(3, 4), probability(4)), sample(real(), probability()), sample(2.0, probability(3)),
       sample(real(3), 0.5),
            edge(exact([0.0, 0.0, 1.0]), exact([0.0, 2.0, 0.0]))),
   doc="""x * log(y), and 0 where x is 0.

   >>> import dualtape as dt
   >>> dt.xlogy(dt.tensor([0.0, 2.0]), dt.tensor([0.0, 1.0]))
   tensor([0., 0.])
   """)  # fmt: skip


def _nan_to_num(x: Any, nan: float | None = 0.0, posinf: float | None = None, neginf: float | None = None) -> Any:
    if x.dtype.kind == "c":
        parts = [_nan_to_num(part, nan, posinf, neginf) for part in (np.real(x), np.imag(x))]
        return parts[0] + 1j * parts[1]
    if x.dtype.kind != "f":
        return x.copy()
    bounds = limits(x.dtype)
    high, low = float(bounds.max) if posinf is None else posinf, float(bounds.min) if neginf is None else neginf
    return np.where(np.isnan(x), nan or 0.0, np.where(np.isinf(x), np.where(x > 0, high, low), x)).astype(x.dtype)


def _where_finite(g: Any, x: Any) -> Any:
    """Return the gradient where x is finite; for complex numbers each part separately."""
    if x.dtype.kind != "c":
        return np.where(np.isfinite(x), g, 0)
    return np.where(np.isfinite(x.real), g.real, 0) + 1j * np.where(np.isfinite(x.imag), g.imag, 0)


op("nan_to_num", _nan_to_num, kind=ELEMENTWISE,
   vjp=dict(x=lambda g, x: _where_finite(g, x)), jvp=dict(x=lambda t, x: _where_finite(t, x)),
   samples=(sample(real(3, 4)), sample(real()), edge(exact([np.nan, np.inf, -np.inf, 1.0])),
       edge(exact([np.nan, np.inf, -np.inf, 1.0]), 7.0, 1.0, -1.0)),
   doc="""NaN and infinities replaced: by 0 and by the largest numbers of the dtype, or by what is given; no gradient
   flows there.

   >>> import dualtape as dt
   >>> dt.nan_to_num(dt.tensor([float("nan"), 1.0, float("inf")]), posinf=9.0)
   tensor([0., 1., 9.])
   """)  # fmt: skip

function_row("cbrt", np.cbrt, lambda out: 1 / (3 * out * out), (sample(apart(3, 4)), sample(positive())),
    "The cube root, of negative numbers too.", public=False, method=False, complex=False, torch_name="-")  # fmt: skip
