"""Elementwise functions of one tensor: powers, exponentials, trigonometry, rounding, activations."""

from __future__ import annotations

from math import log
from typing import Any

import numpy as np

from ..._tensor.tensor import Tensor
from ...arrays.bfloat16_dtype import in_single
from ...arrays.kernels.complex_logs import log1p as complex_log1p
from ...arrays.kernels.fused import fused
from ...arrays.kernels.masks import kept
from ...arrays.lazy import special
from ..dispatch import FUNCTIONS
from ..samples import apart, edge, exact, positive, real, sample, unit
from ..table import BROADCASTING, COMMON, ELEMENTWISE, FLOAT, LINEAR, UFUNCS, composite, op

PLAIN = (sample(real(3, 4)), sample(real()), sample(real(0, 3)), sample(real(3, 4, layout="strided")))
_POSITIVE = (sample(positive(3, 4)), sample(positive()), edge(exact([0.0, 1.0, np.inf])))
UNIT = (sample(unit(3, 4)), sample(unit()), edge(exact([0.0, 1.0, -1.0])))
_APART = (sample(apart(3, 4)), sample(apart()), edge(exact([0.0, -0.0, 1.5, -1.5, 2.5])))


def nothing(g: Any) -> Any:
    """Return zero, also where ``g`` is not finite; recorded, it has a history whose gradient is zero in turn."""
    return np.where(np.logical_and(g > 0, g < 0), g, 0)


STILL: dict[str, Any] = dict(
    vjp=dict(x=lambda g: nothing(g)), jvp=dict(x=lambda t: nothing(t)), numpy_vjp=dict(x=lambda g: np.zeros_like(g))
)

# --- sign and rounding ----------------------------------------------------------------------------

op("neg", np.negative, kind=ELEMENTWISE, vjp=dict(x=lambda g: -g), jvp=LINEAR, samples=PLAIN, also=("negative",),
   doc="""The negative of each element.

   >>> import dualtape as dt
   >>> dt.neg(dt.tensor([1.0, -2.0]))
   tensor([-1.,  2.])
   """)  # fmt: skip
op("positive_copy", np.positive, kind=ELEMENTWISE, vjp=dict(x=lambda g: g), jvp=LINEAR, samples=PLAIN, inplace=False,
   public=False, method=False, torch_name="-", doc="""What np.positive makes: a copy.""")  # fmt: skip


@composite("positive", samples=PLAIN)
def positive_function(input: Any) -> Any:
    """The tensor itself.

    Examples
    --------
    >>> import dualtape as dt
    >>> +dt.tensor([1.0])
    tensor([1.])
    """
    if input._array.dtype.kind == "b":
        raise RuntimeError("positive: the `+` operator, on a bool tensor is not supported: convert it with .to(...)")
    return input


def sign_of(x: Any) -> Any:
    if x.dtype.kind == "b":
        return x.copy()
    return np.where(np.isnan(x), 0, np.sign(x)) if x.dtype.kind == "f" else np.sign(x)  # NaN has none


op("sign", sign_of, kind=ELEMENTWISE, **STILL, samples=(*_APART, edge(exact([np.nan, -np.inf]))),
    complex=False,
   doc="""The sign of each element: -1, 0 or 1.

   >>> import dualtape as dt
   >>> dt.sign(dt.tensor([-3.0, 0.0, 2.0]))
   tensor([-1.,  0.,  1.])
   """)  # fmt: skip


def _abs_gradient(g: Any, x: Any) -> Any:
    if x.dtype.kind == "c":
        return np.multiply(g, direction(x))
    return bent(np.where(x > 0, g, np.where(x < 0, -g, g * 0)), x)  # not g * sign(x): at NaN the gradient is 0


def bent(slope: Any, x: Any) -> Any:
    """Return the gradient of a piecewise linear function; where it is recorded, its own gradient with respect to ``x``
    is zero, as in PyTorch, not missing.
    """
    return _bent(slope, x) if isinstance(slope, Tensor) or isinstance(x, Tensor) else slope


_bent = op("bent", lambda x, y: np.positive(x), kind=BROADCASTING, promote=COMMON, public=False, method=False,
    torch_name="-", inplace=False, scalars=False,
   vjp=dict(x=lambda g: g, y=lambda g: np.zeros_like(g)), jvp=dict(x=lambda t: t, y=lambda t: np.zeros_like(t)),
   samples=(sample(real(3, 4), real(3, 4)), sample(real(), real())),
   doc="""x, which was computed from y by comparisons.""")  # fmt: skip


def direction(x: Any) -> Any:
    """Return x / |x| of complex x, and 0 at 0: the subgradient of the absolute value, itself differentiable."""
    size = np.absolute(x)
    return np.where(size == 0, 0, x / np.where(size == 0, 1, size))


op("abs", np.absolute, kind=ELEMENTWISE, vjp=dict(x=_abs_gradient),
   jvp=dict(x=lambda t, x: np.real(t * direction(x).conj()) if x.dtype.kind == "c" else _abs_gradient(t, x)),
   samples=(*_APART, edge(exact([0.0, np.nan, -np.inf]))), also=("absolute",),
   doc="""The absolute value of each element; the gradient at 0 is 0.

   >>> import dualtape as dt
   >>> dt.abs(dt.tensor([-1.5, 2.0]))
   tensor([1.5000, 2.0000])
   """)  # fmt: skip


def _flat(name: str, forward: Any, doc: str, **more: Any) -> None:
    """Declare a step function: its gradient is zero wherever it has one."""
    op(name, forward, kind=ELEMENTWISE, **STILL,
       samples=_APART, complex=False, doc=doc, **more)  # fmt: skip


_flat("floor", np.floor, """The largest integer not above each element.

   >>> import dualtape as dt
   >>> dt.floor(dt.tensor([1.7, -1.2]))
   tensor([ 1., -2.])
   """)  # fmt: skip
_flat("ceil", np.ceil, """The smallest integer not below each element.

   >>> import dualtape as dt
   >>> dt.ceil(dt.tensor([1.2, -1.7]))
   tensor([ 2., -1.])
   """)  # fmt: skip
_flat("trunc", np.trunc, """Each element without its fraction.

   >>> import dualtape as dt
   >>> dt.trunc(dt.tensor([1.7, -1.7]))
   tensor([ 1., -1.])
   """, also=("fix",))  # fmt: skip


def _need_floats(name: str, x: Any) -> None:
    if x.dtype.kind in "biu":
        raise NotImplementedError(f"{name} is not implemented for {x.dtype}: convert the tensor with .to(...) first")


def _round(x: Any, decimals: int = 0) -> Any:
    if x.dtype.kind in "iu" and not decimals:
        return x.copy()
    _need_floats("round", x)
    return in_single(np.round)(x, decimals) if decimals else np.rint(x)


def _frac(x: Any) -> Any:
    _need_floats("frac", x)
    return x - np.trunc(x)


op("round", _round, kind=ELEMENTWISE, keywords=("decimals",), also=("special.round",), **STILL,
   node=("RoundBackward0", "RoundBackward1"), variant=lambda x, decimals: int(decimals != 0),
   samples=(*_APART, sample(apart(3, 4), decimals=1)), complex=False,
   doc="""The nearest integer (the even one of two), or the nearest number of ``decimals`` digits.

   >>> import dualtape as dt
   >>> dt.round(dt.tensor([0.5, 1.5, -1.2]))
   tensor([ 0.,  2., -1.])
   """)  # fmt: skip
op("frac", _frac, kind=ELEMENTWISE, vjp=dict(x=lambda g: g), jvp=dict(x=lambda t: t),
    samples=_APART,
   complex=False,
   doc="""The fraction of each element, with its sign.

   >>> import dualtape as dt
   >>> dt.frac(dt.tensor([1.5, -2.25]))
   tensor([ 0.5000, -0.2500])
   """)  # fmt: skip

# --- powers and exponentials ----------------------------------------------------------------------


def function_row(name: str, forward: Any, derivative: Any, samples: Any, doc: str, **more: Any) -> None:
    op(name, forward, kind=ELEMENTWISE, promote=FLOAT, derivative=derivative, samples=samples, doc=doc, **more)


function_row("exp", np.exp, lambda out: out, PLAIN, """e to the power of each element.

   >>> import dualtape as dt
   >>> dt.exp(dt.tensor([0.0, 1.0]))
   tensor([1.0000, 2.7183])
   """)  # fmt: skip
function_row("exp2", np.exp2, lambda out: out * log(2.0), PLAIN, also=("special.exp2",), doc="""2 to the power of each element.

   >>> import dualtape as dt
   >>> dt.exp2(dt.tensor([0.0, 3.0]))
   tensor([1., 8.])
   """)  # fmt: skip
function_row("expm1", np.expm1, lambda out: out + 1, PLAIN, also=("special.expm1",), doc="""exp(x) - 1, exact for small x.

   >>> import dualtape as dt
   >>> dt.expm1(dt.tensor([0.0, 1.0]))
   tensor([0.0000, 1.7183])
   """)  # fmt: skip
function_row("log", np.log, lambda x: np.reciprocal(x), _POSITIVE, """The natural logarithm.

   >>> import dualtape as dt
   >>> dt.log(dt.tensor([1.0, 10.0]))
   tensor([0.0000, 2.3026])
   """)  # fmt: skip
function_row("log2", np.log2, lambda x: 1 / (x * log(2.0)), _POSITIVE, """The logarithm to base 2.

   >>> import dualtape as dt
   >>> dt.log2(dt.tensor([1.0, 8.0]))
   tensor([0., 3.])
   """)  # fmt: skip
function_row("log10", np.log10, lambda x: 1 / (x * log(10.0)), _POSITIVE, """The logarithm to base 10.

   >>> import dualtape as dt
   >>> dt.log10(dt.tensor([1.0, 50.0]))
   tensor([0.0000, 1.6990])
   """)  # fmt: skip


def _log1p(x: Any) -> Any:
    return complex_log1p(x) if x.dtype.kind == "c" else np.log1p(x)


_log1p.of_reals = np.log1p  # type: ignore[attr-defined]


function_row("log1p", _log1p, lambda x: 1 / (x + 1), _POSITIVE, node="Log1PBackward0", also=("special.log1p",),
    doc="""log(1 + x), exact for small x.

   >>> import dualtape as dt
   >>> dt.log1p(dt.tensor([0.0, 1.0]))
   tensor([0.0000, 0.6931])
   """)  # fmt: skip
UFUNCS[np.log1p] = FUNCTIONS["log1p"]
function_row("sqrt", np.sqrt, lambda out: 0.5 / out, _POSITIVE, """The square root; the gradient at 0 is infinite, as
PyTorch's.

   >>> import dualtape as dt
   >>> dt.sqrt(dt.tensor([4.0, 9.0]))
   tensor([2., 3.])
   """)  # fmt: skip
function_row("rsqrt", lambda x: 1 / np.sqrt(x), lambda out: -0.5 * out * out * out, _POSITIVE, """One over the square
root.

   >>> import dualtape as dt
   >>> dt.rsqrt(dt.tensor([4.0, 0.25]))
   tensor([0.5000, 2.0000])
   """)  # fmt: skip
op("square", lambda x: np.square(x) if x.dtype.kind != "b" else x.astype(np.int64), kind=ELEMENTWISE,
   numpy_forward=np.square, derivative=lambda x: 2 * x, samples=PLAIN, node="PowBackward0",
   doc="""The square of each element.

   >>> import dualtape as dt
   >>> dt.square(dt.tensor([2.0, -3.0]))
   tensor([4., 9.])
   """)  # fmt: skip
function_row("reciprocal", lambda x: 1 / x, lambda out: -out * out, (*PLAIN[:3], edge(exact([0.0, np.inf, -1.0]))),
   """One over each element.

   >>> import dualtape as dt
   >>> dt.reciprocal(dt.tensor([2.0, 4.0]))
   tensor([0.5000, 0.2500])
   """)  # fmt: skip

# --- trigonometric and hyperbolic -----------------------------------------------------------------

function_row("sin", np.sin, lambda x: np.cos(x), PLAIN, """The sine.

   >>> import dualtape as dt
   >>> dt.sin(dt.tensor([0.0, 1.0]))
   tensor([0.0000, 0.8415])
   """)  # fmt: skip
function_row("cos", np.cos, lambda x: -np.sin(x), PLAIN, """The cosine.

   >>> import dualtape as dt
   >>> dt.cos(dt.tensor([0.0, 1.0]))
   tensor([1.0000, 0.5403])
   """)  # fmt: skip
function_row("tan", np.tan, lambda out: 1 + out * out, UNIT[:2], """The tangent.

   >>> import dualtape as dt
   >>> dt.tan(dt.tensor([0.0, 1.0]))
   tensor([0.0000, 1.5574])
   """)  # fmt: skip
function_row("asin", np.arcsin, lambda x: 1 / np.sqrt(1 - x * x), UNIT, """The inverse sine.

   >>> import dualtape as dt
   >>> dt.asin(dt.tensor([0.0, 1.0]))
   tensor([0.0000, 1.5708])
   """, also=("arcsin",))  # fmt: skip
function_row("acos", np.arccos, lambda x: -1 / np.sqrt(1 - x * x), UNIT, """The inverse cosine.

   >>> import dualtape as dt
   >>> dt.acos(dt.tensor([1.0, 0.0]))
   tensor([0.0000, 1.5708])
   """, also=("arccos",))  # fmt: skip
function_row("atan", np.arctan, lambda x: 1 / (1 + x * x), PLAIN, """The inverse tangent.

   >>> import dualtape as dt
   >>> dt.atan(dt.tensor([0.0, 1.0]))
   tensor([0.0000, 0.7854])
   """, also=("arctan",))  # fmt: skip
function_row("sinh", np.sinh, lambda x: np.cosh(x), PLAIN, """The hyperbolic sine.

   >>> import dualtape as dt
   >>> dt.sinh(dt.tensor([0.0, 1.0]))
   tensor([0.0000, 1.1752])
   """)  # fmt: skip
function_row("cosh", np.cosh, lambda x: np.sinh(x), PLAIN, """The hyperbolic cosine.

   >>> import dualtape as dt
   >>> dt.cosh(dt.tensor([0.0, 1.0]))
   tensor([1.0000, 1.5431])
   """)  # fmt: skip

multiply, subtract = np.multiply, np.subtract
# a ufunc takes an array in half the time that it takes a number in
ONE = {np.dtype(kind): np.asarray(1, kind) for kind in (np.float32, np.float64)}
single, ONE_SINGLE = np.dtype(np.float32), ONE[np.dtype(np.float32)]


def _tanh_gradient(g: Any, out: Any) -> Any:
    """Return g * (1 - out**2), allocating a single array."""
    one = ONE_SINGLE if out.dtype is single else ONE.get(out.dtype)
    slope = multiply(out, out)
    if one is None or type(slope) is not np.ndarray:
        return g * (1 - slope).conjugate()
    subtract(one, slope, slope)
    return multiply(g, slope, slope)


def _sigmoid_gradient(g: Any, out: Any) -> Any:
    """Return g * out * (1 - out), allocating a single array."""
    one = ONE_SINGLE if out.dtype is single else ONE.get(out.dtype)
    if one is None or not out.ndim:
        return g * (out * (1 - out)).conjugate()
    slope = subtract(one, out)
    multiply(slope, out, slope)
    return multiply(g, slope, slope)


function_row("tanh", np.tanh, lambda out: 1 - out * out, PLAIN, also=("nn.functional.tanh",), numpy_vjp=dict(x=_tanh_gradient),
   doc="""The hyperbolic tangent.

   >>> import dualtape as dt
   >>> dt.tanh(dt.tensor([0.0, 1.0]))
   tensor([0.0000, 0.7616])
   """)  # fmt: skip
# --- special functions ----------------------------------------------------------------------------


def in_kind(forward: Any) -> Any:
    """Return a SciPy function such that its result has the dtype of its argument: SciPy has no half precision."""
    return lambda x: forward(x).astype(x.dtype, copy=False) if x.dtype.kind in "fc" else forward(x)


function_row("sigmoid", in_kind(lambda x: special.expit(x) if x.dtype.kind != "c" else 1 / (1 + np.exp(-x))),
    lambda out: out * (1 - out),
   (*PLAIN, edge(exact([-200.0, 0.0, 200.0]))), also=("nn.functional.sigmoid", "special.expit"), numpy_forward=fused(lambda x: special.expit(x)), numpy_vjp=dict(x=fused(_sigmoid_gradient, lambda g, out: g * (out * (1 - out)))),
   doc="""1 / (1 + exp(-x)).

   >>> import dualtape as dt
   >>> dt.sigmoid(dt.tensor([0.0, 2.0]))
   tensor([0.5000, 0.8808])
   """)  # fmt: skip

# --- activations ----------------------------------------------------------------------------------

ZERO = {kind: np.asarray(0, kind) for kind in ONE}


# From so many elements on, a selection by bits is faster than one by branches.
_MANY = 2000


def _relu_gradient(g: Any, out: Any) -> Any:
    """Return g where out is not 0: an infinite gradient is not multiplied by 0."""
    zero = ZERO.get(out.dtype)
    if out.size > _MANY:
        return kept(g, out <= 0, False)
    return np.where(out <= 0, 0, g) if zero is None else np.where(np.less_equal(out, zero), zero, g)


op("relu", lambda x: np.maximum(x, 0), kind=ELEMENTWISE, vjp=dict(x=lambda g, out: bent(np.where(out <= 0, 0, g), out)),
   numpy_forward=lambda x: np.maximum(x, ZERO.get(x.dtype, 0)),
   numpy_vjp=dict(x=_relu_gradient),
   jvp=dict(x=lambda t, out: np.where(out <= 0, 0, t)),
   samples=(*_APART, edge(exact([0.0, np.nan]))), complex=False, also=("nn.functional.relu",),
   doc="""The positive part of each element; the gradient at 0 is 0.

   >>> import dualtape as dt
   >>> dt.relu(dt.tensor([-1.0, 2.0]))
   tensor([0., 2.])
   """)  # fmt: skip

UFUNCS.update({np.sign: FUNCTIONS["sign"], np.square: FUNCTIONS["square"]})
