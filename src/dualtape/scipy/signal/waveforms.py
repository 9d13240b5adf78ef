"""Signals of a formula, and filters and polynomials from zeros and poles."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...arrays.lazy import scipy_signal as _signal
from .._arguments import plain
from .._like import like
from .._tensors import alike, floating

__all__ = [
    "bilinear_zpk",
    "chirp",
    "gausspulse",
    "lp2hp_zpk",
    "lp2lp_zpk",
    "sawtooth",
    "sos2tf",
    "sweep_poly",
    "zpk2tf",
]


@like(_signal)
def chirp(
    t: Any,
    f0: Any,
    t1: Any,
    f1: Any,
    method: str = "linear",
    phi: Any = 0,
    vertex_zero: bool = True,
    *,
    complex: bool = False,
) -> Any:
    """A cosine whose frequency changes from ``f0`` to ``f1``.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.scipy.signal.chirp(dt.tensor([0.0]), 1.0, 1.0, 2.0)
    tensor([1.])
    """
    t, f0, t1, f1, phi = alike(t, f0, t1, f1, phi)
    if method in ("linear", "lin", "li"):
        phase = 2 * np.pi * (f0 * t + 0.5 * (f1 - f0) / t1 * t * t)
    elif method in ("quadratic", "quad", "q"):
        beta = (f1 - f0) / t1**2
        phase = f0 * t + beta * t**3 / 3 if vertex_zero else f1 * t + beta * ((t1 - t) ** 3 - t1**3) / 3
        phase = 2 * np.pi * phase
    elif method in ("logarithmic", "log", "lo"):
        if bool((plain(f0) == plain(f1)).all()):
            phase = 2 * np.pi * f0 * t
        else:
            beta = t1 / np.log(f1 / f0)
            phase = 2 * np.pi * beta * f0 * ((f1 / f0) ** (t / t1) - 1.0)
    elif method in ("hyperbolic", "hyp"):
        if bool((plain(f0) == plain(f1)).all()):
            phase = 2 * np.pi * f0 * t
        else:
            sing = -f1 * t1 / (f0 - f1)
            phase = 2 * np.pi * (-sing * f0) * np.log(np.abs(1 - t / sing))
    else:
        raise ValueError(f"method must be 'linear', 'quadratic', 'logarithmic', or 'hyperbolic', got {method!r}")
    phase = phase + phi * (np.pi / 180)
    return np.exp(1j * phase) if complex else np.cos(phase)


@like(_signal)
def gausspulse(
    t: Any,
    fc: Any = 1000,
    bw: Any = 0.5,
    bwr: float = -6,
    tpr: float = -60,
    retquad: bool = False,
    retenv: bool = False,
) -> Any:
    """A cosine in an envelope of Gauss.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.scipy.signal.gausspulse(dt.tensor([0.0]), fc=5)
    tensor([1.])
    """
    t, fc, bw = alike(t, fc, bw)
    a = -((np.pi * fc * bw) ** 2) / (4.0 * np.log(10.0 ** (bwr / 20.0)))
    envelope = np.exp(-a * t * t)
    found = [envelope * np.cos(2 * np.pi * fc * t)]
    if retquad:
        found.append(envelope * np.sin(2 * np.pi * fc * t))
    if retenv:
        found.append(envelope)
    return found[0] if len(found) == 1 else tuple(found)


@like(_signal)
def sawtooth(t: Any, width: Any = 1) -> Any:
    """A wave that rises for the part ``width`` of its period and falls for the rest.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.scipy.signal.sawtooth(dt.tensor([0.0]))
    tensor([-1.])
    """
    t, width = np.broadcast_arrays(*alike(t, width))
    bad = (plain(width) > 1) | (plain(width) < 0)
    phase = t - 2 * np.pi * np.floor(plain(t) / (2 * np.pi))
    rising = plain(phase) < plain(width) * 2 * np.pi
    up = phase / (np.pi * np.where(rising, width, 1.0)) - 1
    down = (np.pi * (width + 1) - phase) / (np.pi * np.where(rising, 1.0, 1 - width))
    return np.where(bad, np.nan, np.where(rising, up, down))


@like(_signal)
def sweep_poly(t: Any, poly: Any, phi: Any = 0) -> Any:
    """A cosine whose frequency is a polynomial of the time.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.scipy.signal.sweep_poly(dt.tensor([0.0]), [1.0, 2.0])
    tensor([1.])
    """
    coefficients = getattr(poly, "coeffs", poly)
    t, c, phi = alike(t, coefficients, phi)
    degree = c.shape[0]
    found: Any = 0.0
    for k in range(degree):
        found = found * t + c[k] / (degree - k)
    return np.cos(2 * np.pi * found * t + phi * (np.pi / 180))


# --- zeros and poles ------------------------------------------------------------------------------


def _polynomial(roots: Any) -> Any:
    c = floating(np.ones(1)).to(roots.dtype)
    zero = 0 * c
    for k in range(roots.shape[0]):
        c = np.concatenate([c, zero]) - roots[k] * np.concatenate([zero, c])
    return c


def _real_if(c: Any) -> Any:
    """Return a polynomial as one of real numbers if its roots are conjugate pairs, as they are by value."""
    if c.is_complex() and np.allclose(plain(c).imag, 0, atol=1e-12 * np.abs(plain(c)).max()):
        return c.real
    return c


@like(_signal)
def zpk2tf(z: Any, p: Any, k: Any) -> tuple:
    """The polynomials of a filter of zeros, poles and gain.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.scipy.signal.zpk2tf(dt.tensor([1.0]), dt.tensor([2.0, 3.0]), 2.0)
    (tensor([ 2., -2.]), tensor([ 1., -5.,  6.]))
    """
    z, p = floating(z), floating(p)
    return _real_if(k * _polynomial(z)), _real_if(_polynomial(p))


@like(_signal)
def sos2tf(sos: Any) -> tuple:
    """The polynomials of sections of second order.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.scipy.signal.sos2tf(dt.tensor([[1.0, 2.0, 1.0, 1.0, 0.5, 0.0]]))
    (tensor([1., 2., 1.]), tensor([1.0000, 0.5000, 0.0000]))
    """
    from .convolution import convolve

    sos = floating(sos)
    b, a = sos[0, :3], sos[0, 3:]
    for k in range(1, sos.shape[0]):
        b, a = convolve.__wrapped__(b, sos[k, :3]), convolve.__wrapped__(a, sos[k, 3:])
    return b, a


def _zpk(z: Any, p: Any, k: Any) -> tuple:
    z, p = floating(z), floating(p)
    return np.atleast_1d(z), np.atleast_1d(p), floating(k)


@like(_signal)
def bilinear_zpk(z: Any, p: Any, k: Any, fs: Any) -> tuple:
    """The digital filter of an analog one, by the bilinear transform.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.scipy.signal.bilinear_zpk(dt.tensor([0.0]), dt.tensor([-1.0, -2.0]), 1.0, 1.0)[1]
    tensor([0.3333, 0.0000])
    """
    z, p, k = _zpk(z, p, k)
    twice = 2.0 * floating(fs)
    excess = p.shape[0] - z.shape[0]
    zeros = np.concatenate([(twice + z) / (twice - z), -np.ones(excess)])
    gain = k * (np.prod(twice - z) / np.prod(twice - p))
    return zeros, (twice + p) / (twice - p), gain.real if gain.is_complex() else gain


@like(_signal)
def lp2lp_zpk(z: Any, p: Any, k: Any, wo: Any = 1.0) -> tuple:
    """The lowpass filter with another cutoff.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.scipy.signal.lp2lp_zpk(dt.tensor([1.0]), dt.tensor([-1.0, -2.0]), 1.0, 2.0)[1]
    tensor([-2., -4.])
    """
    z, p, k = _zpk(z, p, k)
    wo = floating(wo)
    return wo * z, wo * p, k * wo ** (p.shape[0] - z.shape[0])


@like(_signal)
def lp2hp_zpk(z: Any, p: Any, k: Any, wo: Any = 1.0) -> tuple:
    """The highpass filter of a lowpass one.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.scipy.signal.lp2hp_zpk(dt.tensor([1.0]), dt.tensor([-1.0, -2.0]), 1.0, 2.0)[1]
    tensor([-2., -1.])
    """
    z, p, k = _zpk(z, p, k)
    wo = floating(wo)
    gain = k * (np.prod(-z) / np.prod(-p))
    zeros = np.concatenate([wo / z, np.zeros(p.shape[0] - z.shape[0])])
    return zeros, wo / p, gain.real if gain.is_complex() else gain
