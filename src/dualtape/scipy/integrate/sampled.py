"""Integrals of samples: sums with weights that depend on the points."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...arrays.lazy import scipy_integrate as _integrate
from .._like import like
from .._tensors import floating

__all__ = ["cumulative_simpson", "cumulative_trapezoid", "romb", "simpson", "trapezoid"]


def _steps(x: Any, dx: Any, y: Any, axis: int) -> Any:
    """Return the distances between points, of the shape that goes with ``y`` whose last axis is the integrated one."""
    if x is None:
        return (
            dx * np.ones(y.shape[-1] - 1, y.real._array.dtype if y.is_complex() else y._array.dtype)
            if np.ndim(dx) == 0
            else dx
        )
    x = floating(x)
    if x.ndim != 1:
        x = np.moveaxis(x, axis, -1)
    if x.shape[-1] != y.shape[-1]:
        raise ValueError("If given, length of `x` along `axis` must be the same as `y`.")
    return np.diff(x, axis=-1)


@like(_integrate)
def trapezoid(y: Any, x: Any = None, dx: Any = 1.0, axis: int = -1) -> Any:
    """The integral of samples by the trapezoidal rule.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.scipy.integrate.trapezoid(dt.tensor([1.0, 2.0, 4.0]))
    tensor(4.5000)
    """
    y = np.moveaxis(floating(y), axis, -1)
    return np.sum(_steps(x, dx, y, axis) * (y[..., 1:] + y[..., :-1]) / 2, axis=-1)


@like(_integrate)
def cumulative_trapezoid(y: Any, x: Any = None, dx: Any = 1.0, axis: int = -1, initial: Any = None) -> Any:
    """The integrals of samples up to each of them.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.scipy.integrate.cumulative_trapezoid(dt.tensor([1.0, 2.0, 4.0]), initial=0)
    tensor([0.0000, 1.5000, 4.5000])
    """
    y = np.moveaxis(floating(y), axis, -1)
    if initial is not None and initial != 0:
        raise ValueError("`initial` must be `None` or `0`.")
    found = np.cumsum(_steps(x, dx, y, axis) * (y[..., 1:] + y[..., :-1]) / 2, axis=-1)
    if initial is not None:
        found = np.concatenate([np.zeros_like(y[..., :1]), found], axis=-1)
    return np.moveaxis(found, -1, axis)


def _pairs(y: Any, h: Any, stop: int) -> Any:
    """Return the sum of Simpson's rule over pairs of intervals, up to the point ``stop``."""
    first, second = h[..., 0:stop:2], h[..., 1 : stop + 1 : 2]
    total = first + second
    left, middle, right = y[..., 0:stop:2], y[..., 1 : stop + 1 : 2], y[..., 2 : stop + 2 : 2]
    weighed = left * (2 - second / first) + middle * (total * total / (first * second)) + right * (2 - first / second)
    return np.sum(total / 6 * weighed, axis=-1)


@like(_integrate)
def simpson(y: Any, x: Any = None, *, dx: Any = 1.0, axis: int = -1) -> Any:
    """The integral of samples by Simpson's rule; with an even number of them, the last interval by Cartwright's.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.scipy.integrate.simpson(dt.tensor([0.0, 1.0, 4.0]))
    tensor(2.6667)
    """
    y = np.moveaxis(floating(y), axis, -1)
    count = y.shape[-1]
    h = _steps(x, dx, y, axis)
    h = np.broadcast_to(h, (*y.shape[:-1], count - 1))
    if count % 2:
        return _pairs(y, h, count - 2)
    if count == 2:
        return h[..., 0] * (y[..., 0] + y[..., 1]) / 2
    before, last = h[..., -2], h[..., -1]
    alpha = (2 * last * last + 3 * before * last) / (6 * (before + last))
    beta = (last * last + 3 * last * before) / (6 * before)
    eta = last**3 / (6 * before * (before + last))
    return _pairs(y, h, count - 3) + alpha * y[..., -1] + beta * y[..., -2] - eta * y[..., -3]


@like(_integrate)
def cumulative_simpson(y: Any, *, x: Any = None, dx: Any = 1.0, axis: int = -1, initial: Any = None) -> Any:
    """The integrals of samples up to each of them, by Simpson's rule.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.scipy.integrate.cumulative_simpson(dt.tensor([0.0, 1.0, 4.0], dtype=dt.float64), initial=0)
    tensor([0.0000, 0.3333, 2.6667], dtype=dualtape.float64)
    """
    y = np.moveaxis(floating(y), axis, -1)
    count = y.shape[-1]
    h = np.broadcast_to(_steps(x, dx, y, axis), (*y.shape[:-1], count - 1))
    if count < 3:
        found = np.cumsum(h * (y[..., 1:] + y[..., :-1]) / 2, axis=-1)
    else:
        ahead = _half(y, h)
        behind = np.flip(_half(np.flip(y, -1), np.flip(h, -1)), -1)
        # Each interval by the parabola through the next point where it begins a pair, else through the one before.
        even = np.arange(count - 1) % 2 == 0
        pad = np.zeros_like(ahead[..., :1])
        ahead, behind = np.concatenate([ahead, pad], -1), np.concatenate([pad, behind], -1)
        if (count - 1) % 2:
            even[-1] = False
        found = np.cumsum(np.where(even, ahead, behind), axis=-1)
    if initial is not None:
        start = np.broadcast_to(floating(initial), found[..., :1].shape) if np.ndim(initial) == 0 else initial
        found = np.concatenate([start, found + start], axis=-1)
    return np.moveaxis(found, -1, axis)


def _half(y: Any, h: Any) -> Any:
    """Return the integral over the first of two intervals under the parabola through three points, for each triple."""
    first, second = h[..., :-1], h[..., 1:]
    left, middle, right = y[..., :-2], y[..., 1:-1], y[..., 2:]
    ratio = first / (first + second)
    return (
        first
        / 6
        * (left * (3 - ratio) + middle * (3 + ratio * (first / second) + ratio) - right * (ratio * first / second))
    )


@like(_integrate)
def romb(y: Any, dx: Any = 1.0, axis: int = -1, show: bool = False) -> Any:
    """Romberg's integral of ``2**k + 1`` samples.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.scipy.integrate.romb(dt.tensor([0.0, 1.0, 4.0]))
    tensor(2.6667)
    """
    y = np.moveaxis(floating(y), axis, -1)
    count = y.shape[-1] - 1
    depth = count.bit_length() - 1
    if count < 1 or 2**depth != count:
        raise ValueError("Number of samples must be one plus a non-negative power of 2.")
    row = [(y[..., 0] + y[..., -1]) / 2 * count * dx]
    for k in range(1, depth + 1):
        step = count >> k
        new = [row[0] / 2 + dx * step * np.sum(y[..., step :: 2 * step], axis=-1)]
        for order in range(1, k + 1):
            new.append(new[-1] + (new[-1] - row[order - 1]) / (4**order - 1))
        row = new
    return row[-1]
