"""Activations of neural networks beyond relu, sigmoid and tanh: elementwise, one tensor (and a slope to learn, for
prelu); and the random ones, rrelu and gumbel_softmax.
"""

from __future__ import annotations

from math import pi, sqrt
from typing import Any

import numpy as np

from ..._tensor.tensor import new_tensor, raw
from ...arrays import zeros
from ...arrays.bfloat16_dtype import in_single, kept_number
from ...arrays.kernels.approximations import PART, exponential, inverse_normal, normal_share
from ...arrays.kernels.basics import asarray_like
from ...arrays.kernels.fused import fused
from ...arrays.kernels.sums import row_blocks
from ...arrays.lazy import special
from ...errors import warn
from ..dispatch import FUNCTIONS
from ..formulas import normal_dim, use
from ..publish import add_method
from ..samples import apart, edge, exact, ours, real, sample
from ..table import BROADCASTING, ELEMENTWISE, GENERAL, TABLE, composite, formula_names, named, op
from .elementwise import bent
from .special import error_function

_F = "nn.functional"

_SMOOTH = (
    sample(real(3, 4)),
    sample(real()),
    sample(real(0, 3)),
    sample(real(3, 4, layout="strided")),
    edge(exact([0.0, -0.0, 30.0, -30.0])),
)
_KINKED = (
    sample(apart(3, 4)),
    sample(apart()),
    sample(apart(3, 4, layout="F")),
    edge(exact([0.0, -0.0, 1.0, -1.0, 3.0, -3.0, 6.0])),
)


def _activation(name: str, forward: Any, doc: str, *, samples: Any, torch_name: str | None = None, **more: Any) -> Any:
    if "derivative" in more and "numpy_vjp" not in more:
        derivative = more["derivative"]
        through = named(lambda g, *v: g * derivative(*v), ("g", *formula_names(derivative)))
        more["numpy_vjp"] = dict(x=_fused(through))
    forward = forward if hasattr(forward, "kernel") else fused(forward)
    return op(name, forward, namespace="nn.functional", kind=ELEMENTWISE, samples=samples, doc=doc,
              torch_name=torch_name, **{"complex": False, **more})  # fmt: skip


def _fused(formula: Any) -> Any:
    return named(fused(formula), formula_names(formula))


def _masked(name: str, forward: Any, through: Any, doc: str, *, samples: Any, **more: Any) -> Any:
    """Declare a piecewise linear activation; ``through`` gives the gradient (and the tangent) that passes."""
    names = formula_names(through)
    bending = named(lambda *v: bent(through(*v), v[1]), ("g", *names[1:]))
    return _activation(name, forward, doc, samples=samples, vjp=dict(x=bending), numpy_vjp=dict(x=_fused(bending)),
                       jvp=dict(x=named(lambda *v: through(*v), ("t", *names[1:]))), **more)  # fmt: skip


# --- smooth ---------------------------------------------------------------------------------------

_ROOT_HALF = sqrt(0.5)
_NORMAL = 1 / sqrt(2 * pi)
_TANH_SCALE = sqrt(2 / pi)
_CUBIC = 0.044715
_MANY = 2000  # elements from which the passes over a block pay
_ONE, _HALF, _DENSITY = (np.asarray(v, np.float32) for v in (1, 0.5, _NORMAL))


def _gelu(x: Any, approximate: str = "none") -> Any:
    if approximate == "tanh":
        return 0.5 * x * (1 + np.tanh(_TANH_SCALE * (x + _CUBIC * x * x * x)))
    if approximate != "none":
        raise RuntimeError(f"gelu: approximate argument must be either none or tanh, got {approximate!r}")
    if type(x) is np.ndarray and x.dtype == np.float32 and x.size > _MANY:
        out = np.empty(x.shape, x.dtype)
        flat, result, square = x.reshape(-1), out.reshape(-1), np.empty(min(PART, x.size), x.dtype)
        for some in row_blocks(flat.shape, PART):
            part, y = flat[some], result[some]
            np.true_divide(part, inverse_normal(part, y, square[: len(part)]), y)
        return out
    y = error_function(x * _ROOT_HALF)
    return (0.5 * x * (1 + y)).astype(x.dtype, copy=False)


def _gelu_derivative(x: Any, approximate: str) -> Any:
    if approximate == "tanh":
        t = np.tanh(_TANH_SCALE * (x + _CUBIC * x * x * x))
        return 0.5 * (1 + t) + (0.5 * _TANH_SCALE) * x * (1 - t * t) * (1 + 3 * _CUBIC * x * x)
    return 0.5 * (1 + use("erf")(x * _ROOT_HALF)) + _NORMAL * x * np.exp(-0.5 * x * x)


def _gelu_gradient(g: Any, x: Any, approximate: str) -> Any:
    """Return g times the derivative, computed in blocks that stay in a cache."""
    if x.dtype == np.float16:  # the cubes of which overflow
        return (g * _gelu_derivative(x.astype(np.float32), approximate)).astype(np.float16)
    if x.size <= _MANY:
        return g * _gelu_derivative(x, approximate)
    out = np.empty(x.shape, np.result_type(g, x))
    derivative = (
        _gelu_derivative_single
        if approximate == "none" and x.dtype == np.float32
        else lambda part: _gelu_derivative(part, approximate)
    )
    g, x, result = g.reshape(-1), x.reshape(-1), out.reshape(-1)
    for some in row_blocks(x.shape, PART):
        np.multiply(g[some], derivative(x[some]), result[some])
    return out


def _gelu_derivative_single(x: np.ndarray) -> np.ndarray:
    """Return :func:`_gelu_derivative` using two arrays only."""
    function, factor = exponential()
    below, density = np.empty_like(x), np.empty_like(x)
    np.true_divide(_ONE, inverse_normal(x, below, density), below)
    density *= factor * -_HALF
    function(density, density)
    density *= x
    density *= _DENSITY
    below += density
    return below


def _whole_gelu(x: Any, approximate: str = "none") -> Any:
    """Return gelu in the form that a kernel is traced from."""
    return x * normal_share(x) if x.dtype == np.float32 and approximate == "none" else _gelu(x, approximate)


def _whole_gelu_gradient(g: Any, x: Any, approximate: str) -> Any:
    if x.dtype != np.float32 or approximate != "none":
        return g * _gelu_derivative(x, approximate)
    return g * (normal_share(x) + _NORMAL * x * np.exp(-0.5 * x * x))


_gelu_back = fused(_gelu_gradient, _whole_gelu_gradient)
_activation("gelu", fused(_gelu, _whole_gelu), derivative=_gelu_derivative, numpy_vjp=dict(x=_gelu_back),
    samples=(*_SMOOTH, sample(real(3, 4), approximate="tanh")),
   doc="""x times the normal distribution's probability of less than x; ``approximate="tanh"`` for the formula without
   erf.

   >>> import dualtape as dt
   >>> dt.nn.functional.gelu(dt.tensor([-1.0, 0.0, 1.0]))
   tensor([-0.1587,  0.0000,  0.8413])
   """)  # fmt: skip


def _silu_derivative(x: Any) -> Any:
    s = use("sigmoid")(x)
    return s * (1 + x * (1 - s))


def _silu(x: Any) -> Any:
    if x.dtype.kind in "biu":
        raise NotImplementedError(f"silu: not implemented for {x.dtype}: convert the tensor to a floating-point type")
    if x.dtype.kind == "c":
        return x / (1 + np.exp(-x))
    return (x * special.expit(x)).astype(x.dtype, copy=False)


_real_silu_gradient = _fused(named(lambda g, x: g * _silu_derivative(x), ("g", "x")))


def _silu_gradient(g: Any, x: Any) -> Any:
    return g * np.conj(_silu_derivative(x)) if x.dtype.kind == "c" else _real_silu_gradient(g, x)


_activation("silu", _silu, derivative=_silu_derivative, numpy_vjp=dict(x=_silu_gradient), complex=True,
    samples=_SMOOTH,
   doc="""x times its sigmoid.

   >>> import dualtape as dt
   >>> dt.nn.functional.silu(dt.tensor([-1.0, 0.0, 1.0]))
   tensor([-0.2689,  0.0000,  0.7311])
   """)  # fmt: skip


def _mish_derivative(x: Any) -> Any:
    t = np.tanh(np.logaddexp(x, 0))
    return t + x * (1 - t * t) * use("sigmoid")(x)


_activation("mish", lambda x: x * np.tanh(np.logaddexp(x, 0)), derivative=_mish_derivative, samples=_SMOOTH,
   doc="""x * tanh(softplus(x)).

   >>> import dualtape as dt
   >>> dt.nn.functional.mish(dt.tensor([-1.0, 0.0, 1.0]))
   tensor([-0.3034,  0.0000,  0.8651])
   """)  # fmt: skip
_masked("softplus", lambda x, beta=1, threshold=20: np.where(x * beta > threshold, x, np.logaddexp(x * beta, 0) / beta),
   lambda g, x, beta, threshold: np.where(x * beta > threshold, g, g * use("sigmoid")(x * beta)),
   samples=(*_SMOOTH, sample(real(3, 4), beta=2.5), edge(exact([1.0, 5.0]), beta=2, threshold=4)),
   doc="""log(1 + exp(beta * x)) / beta; x itself where beta * x is above the threshold.

   >>> import dualtape as dt
   >>> dt.nn.functional.softplus(dt.tensor([0.0, 30.0]))
   tensor([ 0.6931, 30.0000])
   """)  # fmt: skip


def _logsigmoid_derivative(x: Any) -> Any:
    """Return ``sigmoid(-x)``, computed from the smaller of sigmoid(x) and sigmoid(-x), so that its own derivative is
    exact.
    """
    small = use("sigmoid")(np.where(x < 0, x, -x))
    return np.where(x < 0, 1 - small, small)


_activation("logsigmoid", lambda x: -np.logaddexp(-x, 0), derivative=_logsigmoid_derivative, samples=_SMOOTH,
    node="LogSigmoidBackward0",
   doc="""The logarithm of the sigmoid, without overflow.

   >>> import dualtape as dt
   >>> dt.nn.functional.logsigmoid(dt.tensor([0.0, -100.0]))
   tensor([  -0.6931, -100.0000])
   """)  # fmt: skip


# --- exponential on one side ----------------------------------------------------------------------

_SELU_SCALE = 1.0507009873554804934193349852946
_SELU_ALPHA = 1.6732632423543772848170429916717
_ELU_SAMPLES = (*_KINKED, edge(exact([200.0, -200.0, 0.0])))

_masked("elu", lambda x, alpha=1.0: np.where(x > 0, x, alpha * np.expm1(np.minimum(x, 0))),
   lambda g, x, alpha: np.where(x > 0, g, g * (alpha * np.exp(np.minimum(x, 0)))),
   inplace=True, samples=(*_ELU_SAMPLES, sample(apart(3, 4), alpha=0.5)),
   doc="""x above 0, alpha * (exp(x) - 1) below.

   >>> import dualtape as dt
   >>> dt.nn.functional.elu(dt.tensor([-1.0, 2.0]))
   tensor([-0.6321,  2.0000])
   """)  # fmt: skip
_masked("selu", lambda x: _SELU_SCALE * np.where(x > 0, x, _SELU_ALPHA * np.expm1(np.minimum(x, 0))),
   lambda g, x: g * _SELU_SCALE * np.where(x > 0, 1, _SELU_ALPHA * np.exp(np.minimum(x, 0))), inplace=True, samples=_ELU_SAMPLES,
   node="EluBackward0",
   doc="""elu with the two constants that keep mean and variance.

   >>> import dualtape as dt
   >>> dt.selu(dt.tensor([-1.0, 2.0]))
   tensor([-1.1113,  2.1014])
   """)  # fmt: skip


def _celu(x: Any, alpha: float = 1.0) -> Any:
    if alpha == 0:
        raise RuntimeError("celu: ZeroDivisionError: alpha cannot be 0")
    return np.where(x > 0, x, alpha * np.expm1(np.minimum(x, 0) / alpha))


_masked("celu", _celu,
   lambda g, x, alpha: np.where(x > 0, g, g * np.exp(np.minimum(x, 0) / alpha)),
   inplace=True, samples=(*_ELU_SAMPLES, sample(apart(3, 4), alpha=0.5)),
   doc="""x above 0, alpha * (exp(x / alpha) - 1) below.

   >>> import dualtape as dt
   >>> dt.celu(dt.tensor([-1.0, 2.0]), alpha=0.5)
   tensor([-0.4323,  2.0000])
   """)  # fmt: skip


# --- piecewise linear -----------------------------------------------------------------------------

_masked("leaky_relu", lambda x, negative_slope=0.01: np.where(x > 0, x, x * negative_slope),
   lambda g, x, negative_slope: np.where(x > 0, g, g * negative_slope),
   inplace=True, samples=(*_KINKED, sample(apart(3, 4), negative_slope=0.2)),
   doc="""x above 0, a fraction of it below.

   >>> import dualtape as dt
   >>> dt.nn.functional.leaky_relu(dt.tensor([-1.0, 2.0]), 0.1)
   tensor([-0.1000,  2.0000])
   """)  # fmt: skip


def _inside(g: Any, x: Any, low: float, high: float) -> Any:
    return np.where(np.logical_and(x > low, x < high), g, 0)


def _not_outside(g: Any, x: Any, low: float, high: float) -> Any:
    """Return :func:`_inside`, but with the gradient passing where ``x`` is NaN."""
    return np.where(np.logical_or(x <= low, x >= high), 0, g)


_masked("hardtanh", lambda x, min_val=-1.0, max_val=1.0: np.minimum(np.maximum(x, min_val), max_val).astype(x.dtype, copy=False),
   lambda g, x, min_val, max_val: _not_outside(g, x, min_val, max_val), inplace=True, samples=(*_KINKED, sample(apart(3, 4), -0.5, 0.8)),
   doc="""x, but at least ``min_val`` and at most ``max_val``; no gradient on the bounds.

   >>> import dualtape as dt
   >>> dt.nn.functional.hardtanh(dt.tensor([-2.0, 0.5]))
   tensor([-1.0000,  0.5000])
   """)  # fmt: skip
_masked("relu6", lambda x: np.minimum(np.maximum(x, 0), 6), lambda g, x: _not_outside(g, x, 0, 6), samples=_KINKED,
    node="HardtanhBackward0",
   doc="""x between 0 and 6, cut there.

   >>> import dualtape as dt
   >>> dt.nn.functional.relu6(dt.tensor([-2.0, 8.0]))
   tensor([0., 6.])
   """)  # fmt: skip
_masked("threshold", lambda x, threshold, value: np.where(x <= threshold, x.dtype.type(value), x),
   lambda g, x, threshold: np.where(x <= threshold, 0, g),
   inplace=True, samples=(sample(apart(3, 4), 0.2, 20.0), edge(exact([0.0, 1.0]), 0.0, -3.0)),
   doc="""x above a threshold, a fixed value elsewhere.

   >>> import dualtape as dt
   >>> dt.threshold(dt.tensor([-2.0, 0.5]), 0.1, 20)
   tensor([20.0000,  0.5000])
   """)  # fmt: skip
_masked("hardsigmoid", lambda x: np.minimum(np.maximum(x + 3, 0), 6) / 6, lambda g, x: _inside(g / 6, x, -3, 3),
   # PyTorch divides by a 6 rounded to float32
   samples=(ours(apart(3, 4)), ours(apart()), edge(exact([3.0, -3.0, 5.0]))),
   doc="""A sigmoid of three lines: 0 below -3, 1 above 3.

   >>> import dualtape as dt
   >>> dt.nn.functional.hardsigmoid(dt.tensor([-4.0, 0.0]))
   tensor([0.0000, 0.5000])
   """)  # fmt: skip
_hardswish = in_single(lambda x: x * np.minimum(np.maximum(x + 3, 0), 6) / 6)
_masked("hardswish", lambda x: _hardswish(x),
   lambda g, x: np.where(x <= -3, 0, np.where(x >= 3, g, g * (x / 3 + 0.5))), samples=_KINKED,
   doc="""x times its hardsigmoid.

   >>> import dualtape as dt
   >>> dt.nn.functional.hardswish(dt.tensor([4.0, 1.0]))
   tensor([4.0000, 0.6667])
   """)  # fmt: skip


def _shrunk(x: Any, lambd: float) -> Any:
    """Return whether elements lie between -lambd and lambd, which is rounded to their dtype first."""
    limit = kept_number(lambd, x.dtype)
    return np.logical_and(x >= -limit, x <= limit)


_masked("hardshrink", lambda x, lambd=0.5: np.where(_shrunk(x, lambd), 0, x),
   lambda g, x, lambd: np.where(_shrunk(x, lambd), 0, g),
   samples=(*_KINKED, edge(exact([0.5, -0.5]))),
   doc="""x, but 0 between -lambd and lambd.

   >>> import dualtape as dt
   >>> dt.hardshrink(dt.tensor([-2.0, 0.4]))
   tensor([-2.,  0.])
   """)  # fmt: skip
_masked("softshrink", lambda x, lambd=0.5: np.where(x > lambd, x - lambd, np.where(x < -lambd, x + lambd, x * 0)),
   lambda g, x, lambd: np.where(np.logical_and(x >= -lambd, x <= lambd), 0, g),
   samples=(*_KINKED, edge(exact([0.5, -0.5]))),
   doc="""x moved towards 0 by lambd.

   >>> import dualtape as dt
   >>> dt.nn.functional.softshrink(dt.tensor([-2.0, 0.4]))
   tensor([-1.5000,  0.0000])
   """)  # fmt: skip
for _name in ("selu", "celu", "threshold", "hardshrink"):  # these PyTorch has in its own namespace, too
    FUNCTIONS[_name] = TABLE[_name].function
add_method("hardshrink", TABLE["hardshrink"].function)


# --- of more than one value -----------------------------------------------------------------------

_prelu_kernel = op("prelu_kernel", lambda x, weight: np.where(x > 0, x, weight * x), kind=BROADCASTING, public=False,
    method=False, inplace=False,
   node="PreluKernelBackward0", torch_name="-", complex=False,
   vjp=dict(x=lambda g, x, weight: bent(np.where(x > 0, g, g * weight), x), weight=lambda g,
       x: np.where(x > 0, 0, g * x)),
   jvp=dict(x=lambda t, x, weight: np.where(x > 0, t, t * weight), weight=lambda t, x: np.where(x > 0, 0, t * x)),
   samples=(sample(apart(3, 4), real(4)), sample(apart(2, 3, 2), real(1))),
   doc="""x above 0, x times a weight below.""")  # fmt: skip


@composite("prelu", torch_name="nn.functional.prelu", complex=False, also=("nn.functional.prelu",), samples=(
    sample(apart(3, 4), real(4)), sample(apart(2, 3, 2), real(1)), sample(apart(2, 3, 2), real(3)),
    sample(apart(3), real(1)), sample(apart(), real(1)), sample(apart(3), real()),
))  # fmt: skip
def prelu(input: Any, weight: Any) -> Any:
    """``input`` above 0, ``input`` times a weight (one, or one for each channel) below.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.prelu(dt.tensor([-2.0, 3.0]), dt.tensor([0.25]))
    tensor([-0.5000,  3.0000])
    """
    if weight.numel() != 1:
        channels = input.shape[1] if input.ndim > 1 else 1
        if weight.ndim != 1 or weight.numel() != channels:
            raise RuntimeError(
                f"prelu: mismatch of parameter numbers and input channel size: {list(weight.shape)} for {channels}"
                " channels"
            )
        weight = weight.reshape((1, channels) + (1,) * (input.ndim - 2))
    elif weight.ndim > input.ndim:
        weight = weight.reshape(())
    return _prelu_kernel(input, weight)


def _glu(x: Any, dim: int = -1) -> Any:
    a, b = _halves(x, dim)
    return (a * special.expit(b)).astype(x.dtype, copy=False)


def _halves(x: Any, dim: int) -> tuple:
    d = normal_dim(dim, len(x.shape))
    n = x.shape[d] if len(x.shape) else 0
    if n % 2 or not len(x.shape):
        raise RuntimeError(f"glu: Halving dimension must be even, but dimension {d} is size {n}")
    head = (slice(None),) * d
    return x[(*head, slice(None, n // 2))], x[(*head, slice(n // 2, None))]


def _glu_gradient(g: Any, x: Any, dim: int) -> Any:
    a, b = _halves(x, dim)
    s = use("sigmoid")(b)
    return np.concatenate([g * s, g * a * s * (1 - s)], axis=dim)


def _glu_tangent(t: Any, x: Any, dim: int) -> Any:
    (a, b), (u, v) = _halves(x, dim), _halves(t, dim)
    s = use("sigmoid")(b)
    return u * s + v * a * s * (1 - s)


op("glu", _glu, namespace="nn.functional", kind=GENERAL, complex=False,
    vjp=dict(x=_glu_gradient),
   jvp=dict(x=_glu_tangent), samples=(sample(real(3, 4)), sample(real(4, 3), 0), sample(real(2, 6, 2), 1), sample(real(2))),
   doc="""The first half along a dimension times the sigmoid of the second.

   >>> import dualtape as dt
   >>> dt.nn.functional.glu(dt.tensor([1.0, 0.0]))
   tensor([0.5000])
   """)  # fmt: skip


@composite("softsign", complex=False, namespace="nn.functional", samples=_KINKED)
def softsign(input: Any) -> Any:
    """x / (1 + abs(x)).

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.nn.functional.softsign(dt.tensor([1.0, -3.0]))
    tensor([ 0.5000, -0.7500])
    """
    return input / (abs(input) + 1)


@composite("tanhshrink", complex=False, namespace="nn.functional", samples=_SMOOTH)
def tanhshrink(input: Any) -> Any:
    """x - tanh(x).

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.nn.functional.tanhshrink(dt.tensor([1.0]))
    tensor([0.2384])
    """
    return input - input.tanh()


# --- random ---------------------------------------------------------------------------------------


@composite("nn_rrelu", method=False, public=False, torch_name=f"{_F}.rrelu", also=(f"{_F}.rrelu",), complex=False,
    samples=(sample(apart(3, 4)), sample(apart(3, 4), 0.1, 0.5), sample(apart(3), 0.2, 0.2, True)))  # fmt: skip
def rrelu(
    input: Any, lower: float = 1.0 / 8, upper: float = 1.0 / 3, training: bool = False, inplace: bool = False
) -> Any:
    """x above 0, below a fraction of it: in training a random one between two bounds for each entry, else their mean.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.nn.functional.rrelu(dt.tensor([-1.0, 2.0]), 0.25, 0.75)
    tensor([-0.5000,  2.0000])
    """
    if not lower <= upper:
        raise RuntimeError(
            f"rrelu: Lower bound should be less than or equal to the upper bound, got {lower} and {upper}"
        )
    slope: Any = (lower + upper) / 2
    if training and lower != upper:
        from ...random import rand

        drawn = rand(*input.shape) if input.ndim else rand(1).reshape(())
        slope = new_tensor(asarray_like(raw(drawn * (upper - lower) + lower), raw(input), raw(input).dtype))
    above = (input.detach() > 0).to(input.dtype)
    factor = above + (1 - above) * slope
    return input.mul_(factor) if inplace else input * factor


_CERTAIN = np.array([[0.0, 1e4, 0.0], [1e4, 0.0, 0.0]])  # whatever is drawn


@composite(
    "gumbel_softmax",
    complex=False,
    namespace=_F,
    torch_name="-",
    samples=(edge(_CERTAIN), edge(_CERTAIN, hard=True)),
)
def gumbel_softmax(logits: Any, tau: float = 1, hard: bool = False, eps: float = 1e-10, dim: int = -1) -> Any:
    """A random choice among classes, smoothed by a temperature ``tau`` so that it has a gradient; ``hard`` gives the
    choice itself, with that gradient.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.nn.functional.gumbel_softmax(dt.tensor([0.0, 1000.0]), hard=True)
    tensor([0., 1.])
    """
    if eps != 1e-10:
        warn("gumbel_softmax: the `eps` parameter is deprecated and has no effect: leave it out")
    from ...random import rand

    drawn = rand(*logits.shape, dtype=logits.dtype) if logits.ndim else rand(1, dtype=logits.dtype).reshape(())
    noise = new_tensor(asarray_like(-np.log(-np.log1p(-raw(drawn))), raw(logits)))
    soft = FUNCTIONS["softmax"]((logits + noise) / tau, dim)
    if not hard:
        return soft
    chosen = soft.detach().argmax(dim, keepdim=True)
    one = new_tensor(asarray_like(np.ones(tuple(chosen.shape)), raw(soft), raw(soft).dtype))
    nothing = new_tensor(zeros(tuple(soft.shape), raw(soft).dtype, raw(soft)))
    return nothing.scatter(dim, chosen, one) - soft.detach() + soft
