"""``scipy.special`` for tensors: its ufuncs are SciPy's own, which take tensors; its other functions are here."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .._tensor.tensor import Tensor, wrap
from ..arrays.lazy import special as _special
from ..autograd.function import Function
from ..ops.numpy_entries.registry import alike, axes_of, floating, op
from ..ops.numpy_entries.special import SPECIAL
from ._like import like, names_of, scipys

_FUNCTIONS = (
    "comb diric factorial h1vp h2vp ivp jvp kvp log_softmax logsumexp multigammaln perm polygamma softmax spherical_in"
    " spherical_jn spherical_kn spherical_yn yvp zeta"
)
__all__ = sorted({*_FUNCTIONS.split(), *SPECIAL})  # noqa: PLE0605 - those that are registered


_EXAMPLES = {  # of functions that are no ufuncs in SciPy
    "lambertw": """Lambert's function, the inverse of ``w * exp(w)``.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.scipy.special.lambertw(dt.tensor([0.0])).real
    tensor([0.], dtype=dualtape.float64)
    """,
    "sph_harm_y": """The spherical harmonic of degree n and order m, by two angles.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.scipy.special.sph_harm_y(0, 0, dt.tensor([0.5]), dt.tensor([0.1])).real.shape
    dualtape.Size([1])
    """,
    "sinc": """``sin(pi * x) / (pi * x)``.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.scipy.special.sinc(dt.tensor([0.0]))
    tensor([1.])
    """,
    "softplus": """``log(1 + exp(x))``.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.scipy.special.softplus(dt.tensor([0.0]))
    tensor([0.6931])
    """,
}


def __getattr__(name: str) -> Any:
    if name not in SPECIAL:
        return scipys(_special, name, __name__)
    theirs = getattr(_special, name, None)
    if isinstance(theirs, np.ufunc):  # it asks tensors itself
        return theirs
    found: Any = SPECIAL[name] if theirs is None else like(_special, name)(SPECIAL[name])
    found.__name__ = found.__qualname__ = name
    found.__doc__ = _EXAMPLES.get(name, found.__doc__)
    globals()[name] = found
    return found


__dir__ = names_of(_special, __name__)


@like(_special)
def logsumexp(a: Any, axis: Any = None, b: Any = None, keepdims: bool = False, return_sign: bool = False) -> Any:
    """The logarithm of the sum of exponentials, each times ``b``.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.scipy.special.logsumexp(dt.tensor([0.0, 0.0]))
    tensor(0.6931)
    """
    x: Any = floating(a)
    if b is None and not return_sign:
        return op("logsumexp")(x, axes_of(axis, x.ndim), keepdims)
    weights: Any
    x, weights = np.broadcast_arrays(*alike(x, 1.0 if b is None else b))
    top = x.detach().masked_fill(weights.detach() == 0, -np.inf).amax(axes_of(axis, x.ndim), keepdim=True)
    top = top.masked_fill(~top.isfinite(), 0.0)
    total = np.sum(weights * np.exp(x - top), axis=axis, keepdims=keepdims)
    top = top if keepdims else top.reshape(total.shape)
    if return_sign:
        return np.log(np.abs(total)) + top, np.sign(total.detach())
    return np.log(total) + top


@like(_special)
def softmax(x: Any, axis: Any = None) -> Any:
    """Exponentials divided by their sum.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.scipy.special.softmax(dt.tensor([0.0, 0.0]))
    tensor([0.5000, 0.5000])
    """
    return np.exp(log_softmax(x, axis))


@like(_special)
def log_softmax(x: Any, axis: Any = None) -> Any:
    """The logarithm of :func:`softmax`.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.scipy.special.log_softmax(dt.tensor([0.0, 0.0]))
    tensor([-0.6931, -0.6931])
    """
    x = floating(x)
    return x - op("logsumexp")(x, axes_of(axis, x.ndim), True)


@like(_special)
def polygamma(n: Any, x: Any) -> Any:
    """The derivatives of :func:`digamma`, of integer order ``n``.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.scipy.special.polygamma(1, dt.tensor(1.0))
    tensor(1.6449)
    """
    return op("polygamma")(int(n), floating(x))


@like(_special)
def zeta(x: Any, q: Any = None) -> Any:
    """Hurwitz's zeta function; it has no derivative with respect to ``x``.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.scipy.special.zeta(2.0, dt.tensor(1.0))
    tensor(1.6449)
    """
    return op("special.zeta")(*alike(x, 1.0 if q is None else q))


@like(_special)
def multigammaln(a: Any, d: int) -> Any:
    """The logarithm of the gamma function of ``d`` dimensions.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.scipy.special.multigammaln(dt.tensor(3.0), 2)
    tensor(1.5502)
    """
    return op("mvlgamma")(floating(a), d)


@like(_special)
def factorial(n: Any, exact: bool = False, extend: str = "zero") -> Any:
    """The gamma function of ``n + 1``; zero for negative ``n``.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.scipy.special.factorial(dt.tensor([3.0, 0.5]))
    tensor([6.0000, 0.8862])
    """
    if exact or extend != "zero":
        raise TypeError("factorial on tensors: exact=False and extend='zero' only")
    n = floating(n)
    return np.where(n < 0, 0.0, op("scipy_gamma")(np.where(n < 0, 0.0, n) + 1))


@like(_special)
def comb(N: Any, k: Any, *, exact: bool = False, repetition: bool = False) -> Any:
    """The number of ways to take ``k`` of ``N``.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.scipy.special.comb(dt.tensor([4.5]), 2)
    tensor([7.8750])
    """
    if exact:
        raise TypeError("comb on tensors: exact=False only")
    N, k = alike(N, k)
    if repetition:
        N = N + k - 1
    inside = (k <= N) & (N >= 0) & (k >= 0)
    return np.where(inside, SPECIAL["binom"](np.where(inside, N, 1.0), np.where(inside, k, 0.0)), 0.0)


@like(_special)
def perm(N: Any, k: Any, exact: bool = False) -> Any:
    """The number of sequences of ``k`` of ``N``.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.scipy.special.perm(dt.tensor([4.5]), 2)
    tensor([15.7500])
    """
    if exact:
        raise TypeError("perm on tensors: exact=False only")
    N, k = alike(N, k)
    inside = (k <= N) & (N >= 0) & (k >= 0)
    return np.where(inside, SPECIAL["poch"](np.where(inside, N - k + 1, 1.0), np.where(inside, k, 0.0)), 0.0)


@like(_special)
def diric(x: Any, n: Any) -> Any:
    """Dirichlet's function, the periodic sinc.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.scipy.special.diric(dt.tensor(0.0), 3)
    tensor(1., dtype=dualtape.float64)
    """
    x, order = floating(x), np.asarray(n.detach() if hasattr(n, "detach") else n)
    # A sum of cosines for each parity has neither poles nor limits.
    size = int(np.max(order))
    k = np.arange(size)
    angles = x[..., None] * (k - (order[..., None] - 1) / 2)
    return np.sum(np.where(k < order[..., None], np.cos(angles), 0.0), axis=-1) / order


def _derivative(name: str, of: str, phase: int) -> Callable:
    def derivative(v: Any, z: Any, n: int = 1) -> Any:
        if not isinstance(n, (int, np.integer)) or n < 0:
            raise ValueError("n must be a non-negative integer.")
        found, factor = SPECIAL[of](v - n, z), 1.0
        for k in range(1, n + 1):
            factor = phase * factor * (n - k + 1) / k
            found = found + factor * SPECIAL[of](v - n + 2 * k, z)
        return found / 2.0**n * ((-1) ** n if of == "kv" else 1)

    derivative.__name__ = derivative.__qualname__ = name
    derivative.__doc__ = f"""The derivative of order ``n`` of :func:`{of}`, of a fixed order ``v``.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.scipy.special.{name}(1.0, dt.tensor([2.0])).shape
    dualtape.Size([1])
    """
    return like(_special)(derivative)


jvp, yvp, ivp, h1vp, h2vp, kvp = (
    _derivative(*one)
    for one in (
        ("jvp", "jv", -1),
        ("yvp", "yv", -1),
        ("ivp", "iv", 1),
        ("h1vp", "hankel1", -1),
        ("h2vp", "hankel2", -1),
        ("kvp", "kv", 1),
    )
)


def _spherical(name: str, next_sign: int) -> Callable:
    def bessel(n: Any, z: Any, derivative: bool = False) -> Any:
        n = np.asarray(n.detach() if hasattr(n, "detach") else n)
        z = floating(z)
        return _slope(n, z) if derivative else _value(n, z)

    def _slope(n: Any, z: Any) -> Any:
        return n / z * _value(n, z) + next_sign * _value(n + 1, z)

    def _value(n: Any, z: Any) -> Any:
        shape = np.broadcast_shapes(np.shape(n), tuple(z.shape))
        return _Spherical.apply(name, np.broadcast_to(n, shape), _slope, np.broadcast_to(z, shape))

    bessel.__name__ = bessel.__qualname__ = name
    bessel.__doc__ = f"""The spherical Bessel function of SciPy's name, of an integer order, or its derivative.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.scipy.special.{name}(1, dt.tensor([2.0])).shape
    dualtape.Size([1])
    """
    return like(_special)(bessel)


class _Spherical(Function):
    @staticmethod
    def forward(ctx: Any, name: str, n: Any, slope: Callable, z: Tensor) -> Tensor:
        ctx.save_for_backward(z)
        ctx.order, ctx.slope = n, slope
        return wrap(np.asarray(getattr(_special, name)(n, z.detach().numpy())))

    @staticmethod
    def backward(ctx: Any, gradient: Any) -> tuple:
        (z,) = ctx.saved_tensors
        return None, None, None, gradient * ctx.slope(ctx.order, z)


spherical_jn, spherical_yn = _spherical("spherical_jn", -1), _spherical("spherical_yn", -1)
spherical_in, spherical_kn = _spherical("spherical_in", 1), _spherical("spherical_kn", -1)
