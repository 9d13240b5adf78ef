"""``scipy.special`` for tensors: its ufuncs are SciPy's own, which take tensors; its other functions are here."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..arrays.lazy import special as _special
from ..ops.numpy_entries.registry import alike, axes_of, floating, op
from ..ops.numpy_entries.special import SPECIAL
from ._like import like, scipys

__all__ = [
    "comb",
    "factorial",
    "log_softmax",
    "logsumexp",
    "multigammaln",
    "polygamma",
    "softmax",
    "zeta",
]


def __getattr__(name: str) -> Any:
    return scipys(_special, name, __name__)


def __dir__() -> list[str]:
    return sorted({*__all__, *SPECIAL})


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
