"""``scipy.signal`` for tensors: convolution in any number of dimensions."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._listing import listing
from ..arrays.lazy import scipy_signal as _signal
from ..ops.numpy_entries.registry import alike, op
from ._like import like, scipys

__all__ = [
    "convolve",
    "convolve2d",
    "correlate",
    "fftconvolve",
]


def __getattr__(name: str) -> Any:
    return scipys(_signal, name, __name__)


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


@like(_signal)
def fftconvolve(in1: Any, in2: Any, mode: str = "full", axes: Any = None) -> Any:
    """:func:`convolve` by Fourier transforms.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.scipy.signal.fftconvolve(dt.tensor([1.0, 2.0]), dt.tensor([1.0, 10.0])).round(decimals=4)
    tensor([ 1., 12., 20.])
    """
    if axes is not None:
        raise TypeError("fftconvolve on tensors: along all axes only")
    return convolve(in1, in2, mode, "fft")


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
    if boundary != "fill" or fillvalue != 0:
        raise TypeError("convolve2d on tensors: zeros outside only (boundary='fill', fillvalue=0)")
    return convolve(in1, in2, mode)


__dir__ = listing(__name__)
