"""``scipy.signal`` for tensors: convolution in any number of dimensions."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...arrays.lazy import scipy_signal as _signal
from .._like import like
from .._tensors import alike, axes_of, op

__all__ = [
    "convolve",
    "convolve2d",
    "correlate",
    "correlate2d",
    "fftconvolve",
    "oaconvolve",
]


def _window(mode: str, m: tuple, n: tuple) -> list[tuple[int, int]]:
    """Return the start of a mode's result in the full one, and its size, for each axis."""
    if mode == "full":
        return [(0, a + b - 1) for a, b in zip(m, n, strict=True)]
    if mode == "same":
        return [((b - 1) // 2, a) for a, b in zip(m, n, strict=True)]
    if mode == "valid":
        return [(b - 1, a - b + 1) for a, b in zip(m, n, strict=True)]
    raise ValueError("acceptable mode flags are 'valid', 'same', or 'full'")


def _pair(in1: Any, in2: Any, mode: str) -> tuple[Any, Any, bool]:
    """Return both as tensors, and whether they were exchanged, since the second must be the smaller one."""
    x, w = alike(in1, in2)
    if x.ndim != w.ndim:
        raise ValueError("in1 and in2 should have the same dimensionality")
    if mode == "valid" and not all(a >= b for a, b in zip(x.shape, w.shape, strict=True)):
        if not all(a <= b for a, b in zip(x.shape, w.shape, strict=True)):
            raise ValueError("For 'valid' mode, one must be at least as large as the other in every dimension")
        return w, x, True
    return x, w, False


@like(_signal)
def convolve(in1: Any, in2: Any, mode: str = "full", method: str = "auto") -> Any:
    """The convolution of two arrays, directly or, with ``method="fft"``, by Fourier transforms.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.scipy.signal.convolve(dt.tensor([1.0, 2.0]), dt.tensor([1.0, 10.0]))
    tensor([ 1., 12., 20.])
    """
    if method not in ("auto", "direct", "fft"):
        raise ValueError("Acceptable method flags are 'auto', 'direct', or 'fft'.")
    x, w, _ = _pair(in1, in2, mode)
    if not x.ndim:
        return x * w
    where = _window(mode, x.shape, w.shape)
    if method == "fft":
        shape = [a + b - 1 for a, b in zip(x.shape, w.shape, strict=True)]
        axes = tuple(range(x.ndim))
        if x.is_complex() or w.is_complex():
            full = op("fft.ifftn")(op("fft.fftn")(x, shape, axes) * op("fft.fftn")(w, shape, axes), shape, axes)
        else:
            full = op("fft.irfftn")(op("fft.rfftn")(x, shape, axes) * op("fft.rfftn")(w, shape, axes), shape, axes)
        return full[tuple(slice(start, start + size) for start, size in where)]
    pads = [(b - 1 - start, start + size - a) for (start, size), a, b in zip(where, x.shape, w.shape, strict=True)]
    padded = op("constant_pad_nd")(x, tuple(p for pair in reversed(pads) for p in pair), 0)
    windows = np.lib.stride_tricks.sliding_window_view(padded, tuple(w.shape))
    last = tuple(range(-x.ndim, 0))
    return np.tensordot(windows, np.flip(w), axes=(tuple(d % windows.ndim for d in last), tuple(range(w.ndim))))


def _along(in1: Any, in2: Any, mode: str, axes: Any) -> Any:
    """Return the convolution along some axes by Fourier transforms; the others are broadcast."""
    x, w = alike(in1, in2)
    if x.ndim != w.ndim:
        raise ValueError("in1 and in2 should have the same dimensionality")
    axes = axes_of(axes, x.ndim)
    m, n = tuple(x.shape[d] for d in axes), tuple(w.shape[d] for d in axes)
    if mode == "valid" and not all(a >= b for a, b in zip(m, n, strict=True)):
        if not all(a <= b for a, b in zip(m, n, strict=True)):
            raise ValueError("For 'valid' mode, one must be at least as large as the other in every dimension")
        x, w, m, n = w, x, n, m
    where = _window(mode, m, n)
    shape = [a + b - 1 for a, b in zip(m, n, strict=True)]
    kind = "" if x.is_complex() or w.is_complex() else "r"
    forward, back = op(f"fft.{kind}fftn"), op(f"fft.i{kind}fftn")
    full = back(forward(x, shape, axes) * forward(w, shape, axes), shape, axes)
    index = [slice(None)] * x.ndim
    for axis, (start, size) in zip(axes, where, strict=True):
        index[axis] = slice(start, start + size)
    return full[tuple(index)]


@like(_signal)
def fftconvolve(in1: Any, in2: Any, mode: str = "full", axes: Any = None) -> Any:
    """:func:`convolve` by Fourier transforms, along some axes.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.scipy.signal.fftconvolve(dt.tensor([1.0, 2.0]), dt.tensor([1.0, 10.0])).round(decimals=4)
    tensor([ 1., 12., 20.])
    """
    return _along(in1, in2, mode, axes)


@like(_signal)
def oaconvolve(in1: Any, in2: Any, mode: str = "full", axes: Any = None) -> Any:
    """:func:`convolve` by Fourier transforms, along some axes.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.scipy.signal.oaconvolve(dt.tensor([1.0, 2.0]), dt.tensor([1.0, 10.0])).round(decimals=4)
    tensor([ 1., 12., 20.])
    """
    return _along(in1, in2, mode, axes)


@like(_signal)
def correlate(in1: Any, in2: Any, mode: str = "full", method: str = "auto") -> Any:
    """The correlation of two arrays.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.scipy.signal.correlate(dt.tensor([1.0, 2.0]), dt.tensor([1.0, 10.0]))
    tensor([10., 21.,  2.])
    """
    x, w, exchanged = _pair(in1, in2, mode)
    if exchanged:
        return np.flip(np.conj(correlate(x, w, mode, method)))
    return convolve(x, np.conj(np.flip(w)), mode, method)


@like(_signal)
def convolve2d(in1: Any, in2: Any, mode: str = "full", boundary: str = "fill", fillvalue: float = 0) -> Any:
    """:func:`convolve` of matrices.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.scipy.signal.convolve2d(dt.ones(2, 2), dt.ones(2, 2), mode="valid")
    tensor([[4.]])
    """
    x, w = alike(in1, in2)
    return _bordered(x, w, mode, boundary, fillvalue)


@like(_signal)
def correlate2d(in1: Any, in2: Any, mode: str = "full", boundary: str = "fill", fillvalue: float = 0) -> Any:
    """:func:`correlate` of matrices.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.scipy.signal.correlate2d(dt.ones(2, 2), dt.ones(2, 2), mode="valid")
    tensor([[4.]])
    """
    x, w = alike(in1, in2)
    if mode == "valid" and _pair(x, w, mode)[2]:
        return np.flip(np.conj(correlate2d.__wrapped__(w, x, mode, boundary, fillvalue)))
    return _bordered(x, np.conj(np.flip(w)), mode, boundary, fillvalue)


def _bordered(x: Any, w: Any, mode: str, boundary: str, fillvalue: float) -> Any:
    """Return the convolution of matrices with values beyond the border of the first."""
    if x.ndim != 2 or w.ndim != 2:
        raise ValueError("convolve2d inputs must both be 2-D arrays")
    if boundary not in ("fill", "pad", "wrap", "circular", "symm", "symmetric"):
        raise ValueError("Acceptable boundary flags are 'fill', 'circular' (or 'wrap'), and 'symmetric' (or 'symm').")
    if mode == "valid" or (boundary in ("fill", "pad") and fillvalue == 0):
        return convolve.__wrapped__(x, w, mode)
    where = _window(mode, tuple(x.shape), tuple(w.shape))
    pads = [(n - 1, n - 1) for n in w.shape]
    if boundary in ("fill", "pad"):
        x = np.pad(x, pads, constant_values=fillvalue)
    else:
        how: Any = "wrap" if boundary in ("wrap", "circular") else "symmetric"
        for axis, (before, after) in enumerate(pads):
            index = np.pad(np.arange(x.shape[axis]), (before, after), how)
            x = np.take(x, index, axis=axis)
    full = convolve.__wrapped__(x, w, "valid")
    return full[tuple(slice(start, start + size) for start, size in where)]
