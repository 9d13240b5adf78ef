"""Digital filters: recursions whose gradient is the recursion backward in time, and what is made of them."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..._tensor.tensor import Tensor, wrap
from ...arrays.lazy import scipy_signal as _signal
from ...autograd.function import Function
from .._arguments import plain
from .._like import like
from .._tensors import alike, axes_of, floating, op
from .convolution import convolve

__all__ = [
    "decimate",
    "deconvolve",
    "detrend",
    "filtfilt",
    "hilbert",
    "hilbert2",
    "lfilter",
    "lfilter_zi",
    "lfiltic",
    "medfilt",
    "medfilt2d",
    "order_filter",
    "resample",
    "resample_poly",
    "savgol_filter",
    "sosfilt",
    "sosfilt_zi",
    "sosfiltfilt",
    "upfirdn",
    "wiener",
]


def _recursion(a: Any, x: Any) -> Any:
    dtype = np.result_type(a._array.dtype, x._array.dtype)
    return _Recursion.apply(a.to(dtype), x.to(dtype))


class _Recursion(Function):
    """y with ``y[n] = x[n] - sum(a[k] * y[n - k] for k >= 1)`` along the last axis; ``a`` begins with 1."""

    @staticmethod
    def forward(ctx: Any, a: Tensor, x: Tensor) -> Tensor:
        y = wrap(np.asarray(_signal.lfilter(np.ones(1, a._array.dtype), plain(a), plain(x))))
        ctx.save_for_backward(a, y)
        return y

    @staticmethod
    def backward(ctx: Any, gradient: Any) -> tuple:
        a, y = ctx.saved_tensors
        weights = np.flip(_Recursion.apply(np.conj(a), np.flip(gradient, -1)), -1)
        parts = [0 * weights.sum()]
        size = y.shape[-1]
        for k in range(1, a.shape[0]):
            parts.append(-np.sum(weights[..., k:] * np.conj(y[..., : size - k])) if k < size else 0 * weights.sum())
        found = op("stack")(parts)
        return (found if a.is_complex() else found.real if found.is_complex() else found), (
            weights if y.is_complex() else weights
        )


def _causal(b: Any, x: Any) -> Any:
    """Return the whole convolution with ``b`` along the last axis."""
    size, count = x.shape[-1], b.shape[0]
    padded = np.pad(x, [(0, 0)] * (x.ndim - 1) + [(count - 1, count - 1)])
    seen: Any = np.lib.stride_tricks.sliding_window_view(padded, count, axis=-1)
    assert seen.shape[-2] == size + count - 1
    dtype = np.result_type(seen._array.dtype, b._array.dtype)
    return seen.to(dtype) @ np.flip(b.to(dtype))


@like(_signal)
def lfilter(b: Any, a: Any, x: Any, axis: int = -1, zi: Any = None) -> Any:
    """The signal filtered by ``b / a``, whose coefficients may have history; with ``zi`` also the final state.

    Examples
    --------
    >>> import dualtape as dt
    >>> a = dt.tensor([1.0, -0.5], dtype=dt.float64, requires_grad=True)
    >>> y = dt.scipy.signal.lfilter([1.0], a, [1.0, 0.0, 0.0])
    >>> y.detach()
    tensor([1.0000, 0.5000, 0.2500], dtype=dualtape.float64)
    >>> y.sum().backward(); a.grad
    tensor([-2.7500, -2.0000], dtype=dualtape.float64)
    """
    b, a, x, *state = alike(b, a, x, *(() if zi is None else (zi,)))
    b, a = np.atleast_1d(b), np.atleast_1d(a)
    if b.ndim != 1 or a.ndim != 1:
        raise ValueError("object of too small depth for desired array" if not b.ndim else "b and a must be 1-D")
    if plain(a)[0] == 0:
        raise ValueError("a[0] must not be zero")
    b, a = b / a[0], a / a[0]
    axis = axes_of(axis, x.ndim)[0]
    x = np.moveaxis(x, axis, -1)
    size, order = x.shape[-1], max(a.shape[0], b.shape[0]) - 1
    moving = _causal(b, x)
    if not state:
        y = moving[..., :size]
        y = _recursion(a, y) if a.shape[0] > 1 else y
        return np.moveaxis(y, -1, axis)
    start = np.moveaxis(state[0], axis, -1) if state[0].ndim == x.ndim else state[0]
    length = max(size, order) + order
    total = _to_length(moving, length) + _to_length(np.broadcast_to(start, (*x.shape[:-1], order)), length)
    y = _recursion(a, total[..., :size]) if a.shape[0] > 1 else total[..., :size]
    rest = total[..., size:] - _to_length(_causal(a, y), length)[..., size:]
    return np.moveaxis(y, -1, axis), np.moveaxis(rest[..., :order], -1, axis)


def _to_length(x: Any, length: int) -> Any:
    if x.shape[-1] >= length:
        return x[..., :length]
    return np.pad(x, [(0, 0)] * (x.ndim - 1) + [(0, length - x.shape[-1])])


@like(_signal)
def lfilter_zi(b: Any, a: Any) -> Any:
    """The state of a filter that a step leaves unchanged.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.scipy.signal.lfilter_zi(dt.tensor([0.5, 0.5]), dt.tensor([1.0, 0.0]))
    tensor([0.5000])
    """
    b, a = alike(b, a)
    b, a = b / a[0], a / a[0]
    size = max(a.shape[0], b.shape[0])
    a, b = _to_length(a, size), _to_length(b, size)
    inner = b[1:] - a[1:] * b[0]
    first = np.sum(inner) / (1 + np.sum(a[1:]))
    return np.flip(np.cumsum(np.flip(inner - a[1:] * first)))


@like(_signal)
def lfiltic(b: Any, a: Any, y: Any, x: Any = None) -> Any:
    """The state of a filter after these outputs and inputs, the latest first.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.scipy.signal.lfiltic([1.0], dt.tensor([1.0, -0.5]), [2.0])
    tensor([1.], dtype=dualtape.float64)
    """
    b, a, y, x = alike(b, a, y, 0.0 if x is None else x)
    b, a = b / a[0], a / a[0]
    order = max(a.shape[0], b.shape[0]) - 1
    y, x = _to_length(np.atleast_1d(y), a.shape[0] - 1), _to_length(np.atleast_1d(x), b.shape[0] - 1)
    parts: list[Any] = []
    for m in range(order):
        part: Any = 0 * np.sum(b) + 0 * np.sum(a)
        if m < b.shape[0] - 1:
            part = part + np.sum(b[m + 1 :] * x[: b.shape[0] - 1 - m])
        if m < a.shape[0] - 1:
            part = part - np.sum(a[m + 1 :] * y[: a.shape[0] - 1 - m])
        parts.append(part)
    return op("stack")(parts) if parts else floating(np.zeros(0))


def _extended(x: Any, kind: Any, length: int) -> Any:
    """Return a signal with as many values before its beginning and after its end."""
    if kind not in ("even", "odd", "constant", None):
        raise ValueError(f"Unknown value '{kind}' for padtype. padtype must be 'even', 'odd', 'constant', or None.")
    if not length or kind is None:
        return x
    if kind == "constant":
        before, after = x[..., :1] * np.ones(length), x[..., -1:] * np.ones(length)
    else:
        before, after = np.flip(x[..., 1 : length + 1], -1), np.flip(x[..., -length - 1 : -1], -1)
        if kind == "odd":
            before, after = 2 * x[..., :1] - before, 2 * x[..., -1:] - after
    return np.concatenate([before, x, after], axis=-1)


def _edge(padtype: Any, padlen: int | None, default: int, size: int) -> int:
    length = 0 if padtype is None else default if padlen is None else padlen
    if size <= length:
        raise ValueError(f"The length of the input vector x must be greater than padlen, which is {length}.")
    return length


@like(_signal)
def filtfilt(
    b: Any,
    a: Any,
    x: Any,
    axis: int = -1,
    padtype: Any = "odd",
    padlen: int | None = None,
    method: str = "pad",
    irlen: int | None = None,
) -> Any:
    """The signal filtered forward and backward.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.scipy.signal.filtfilt([0.5, 0.5], [1.0], dt.ones(8)).round(decimals=4)[:3]
    tensor([1., 1., 1.], dtype=dualtape.float64)
    """
    if method != "pad":
        raise TypeError("filtfilt on tensors: method='pad' only")
    b, a, x = alike(b, a, x)
    b, a = np.atleast_1d(b), np.atleast_1d(a)
    axis = axes_of(axis, x.ndim)[0]
    x = np.moveaxis(x, axis, -1)
    edge = _edge(padtype, padlen, 3 * max(a.shape[0], b.shape[0]), x.shape[-1])
    ext = _extended(x, padtype, edge)
    zi = lfilter_zi.__wrapped__(b, a)
    y, _ = lfilter.__wrapped__(b, a, ext, zi=zi * ext[..., :1])
    y, _ = lfilter.__wrapped__(b, a, np.flip(y, -1), zi=zi * y[..., -1:])
    y = np.flip(y, -1)
    return np.moveaxis(y[..., edge : y.shape[-1] - edge], -1, axis)


@like(_signal)
def sosfilt(sos: Any, x: Any, axis: int = -1, zi: Any = None) -> Any:
    """The signal filtered by sections of second order, one after the other; with ``zi`` also the final states.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.scipy.signal.sosfilt(dt.tensor([[1.0, 0.0, 0.0, 1.0, -0.5, 0.0]]), [1.0, 0.0, 0.0])
    tensor([1.0000, 0.5000, 0.2500], dtype=dualtape.float64)
    """
    sos, x = alike(sos, x)
    if sos.ndim != 2 or sos.shape[1] != 6:
        raise ValueError("sos array must be shape (n_sections, 6)")
    states = []
    for k in range(sos.shape[0]):
        if zi is None:
            x = lfilter.__wrapped__(sos[k, :3], sos[k, 3:], x, axis)
        else:
            x, state = lfilter.__wrapped__(sos[k, :3], sos[k, 3:], x, axis, floating(zi)[k])
            states.append(state)
    return x if zi is None else (x, op("stack")(states))


@like(_signal)
def sosfilt_zi(sos: Any) -> Any:
    """The states of sections of second order that a step leaves unchanged.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.scipy.signal.sosfilt_zi(dt.tensor([[0.5, 0.5, 0.0, 1.0, 0.0, 0.0]]))
    tensor([[0.5000, 0.0000]])
    """
    sos = floating(sos)
    scale, found = 1.0 + 0 * sos.sum(), []
    for k in range(sos.shape[0]):
        b, a = sos[k, :3], sos[k, 3:]
        found.append(scale * lfilter_zi.__wrapped__(b, a))
        scale = scale * np.sum(b) / np.sum(a)
    return op("stack")(found)


@like(_signal)
def sosfiltfilt(sos: Any, x: Any, axis: int = -1, padtype: Any = "odd", padlen: int | None = None) -> Any:
    """The signal filtered forward and backward by sections of second order.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.scipy.signal.sosfiltfilt([[0.5, 0.5, 0.0, 1.0, 0.0, 0.0]], dt.ones(20)).round(decimals=4)[:2]
    tensor([1., 1.], dtype=dualtape.float64)
    """
    sos, x = alike(sos, x)
    axis = axes_of(axis, x.ndim)[0]
    x = np.moveaxis(x, axis, -1)
    known = plain(sos)
    taps = 2 * len(known) + 1 - min(int((known[:, 2] == 0).sum()), int((known[:, 5] == 0).sum()))
    edge = _edge(padtype, padlen, 3 * taps, x.shape[-1])
    ext = _extended(x, padtype, edge)
    zi = sosfilt_zi.__wrapped__(sos).reshape(len(known), *(1,) * (x.ndim - 1), 2)
    y, _ = sosfilt.__wrapped__(sos, ext, zi=zi * ext[..., :1])
    y, _ = sosfilt.__wrapped__(sos, np.flip(y, -1), zi=zi * y[..., -1:])
    y = np.flip(y, -1)
    return np.moveaxis(y[..., edge : y.shape[-1] - edge], -1, axis)


@like(_signal)
def deconvolve(signal: Any, divisor: Any) -> tuple:
    """The quotient and the remainder of polynomials.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.scipy.signal.deconvolve(dt.tensor([1.0, 3.0, 2.0]), dt.tensor([1.0, 1.0]))
    (tensor([1., 2.]), tensor([0., 0., 0.]))
    """
    signal, divisor = alike(signal, divisor)
    size, count = signal.shape[0], divisor.shape[0]
    if count > size:
        return floating(np.zeros(0)), signal
    impulse = np.pad(np.ones(1, signal._array.dtype), (0, size - count))
    quotient = lfilter.__wrapped__(signal, divisor, impulse)
    return quotient, signal - convolve.__wrapped__(divisor, quotient)


# --- polyphase and Fourier resampling -------------------------------------------------------------


@like(_signal)
def upfirdn(h: Any, x: Any, up: int = 1, down: int = 1, axis: int = -1, mode: str = "constant", cval: float = 0) -> Any:
    """The signal with zeros inserted, filtered by ``h``, of which each ``down``-th value is kept.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.scipy.signal.upfirdn([1.0, 1.0], dt.tensor([1.0, 2.0]), up=2)
    tensor([1., 1., 2., 2.], dtype=dualtape.float64)
    """
    if mode != "constant" or cval:
        raise TypeError("upfirdn on tensors: mode='constant' and cval=0 only")
    h, x = alike(h, x)
    axis = axes_of(axis, x.ndim)[0]
    x = np.moveaxis(x, axis, -1)
    size = x.shape[-1]
    spread = np.concatenate([x[..., None], np.zeros((*x.shape, up - 1))], axis=-1) if up > 1 else x[..., None]
    spread = spread.reshape(*x.shape[:-1], size * up)[..., : (size - 1) * up + 1]
    return np.moveaxis(_causal(h, spread)[..., ::down], -1, axis)


@like(_signal)
def resample_poly(
    x: Any,
    up: int,
    down: int,
    axis: int = 0,
    window: Any = ("kaiser", 5.0),
    padtype: str = "constant",
    cval: Any = None,
) -> Any:
    """The signal at ``up / down`` times its rate, by a polyphase filter.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.scipy.signal.resample_poly(dt.ones(8), 1, 2).shape
    dualtape.Size([4])
    """
    if padtype != "constant" or cval:
        raise TypeError("resample_poly on tensors: padtype='constant' and cval=0 only")
    x = floating(x)
    common = int(np.gcd(int(up), int(down)))
    up, down = int(up) // common, int(down) // common
    if up == down == 1:
        return x * 1
    size = x.shape[axis]
    out = -(-size * up // down)
    if isinstance(window, (list, np.ndarray, Tensor)):
        h, half = floating(window), (len(window) - 1) // 2
    else:
        widest = max(up, down)
        half = 10 * widest
        h = floating(_signal.firwin(2 * half + 1, 1.0 / widest, window=window))
    h = h.to(x.real.dtype if x.is_complex() else x.dtype) * up
    before = down - half % down
    skip, after = (half + before) // down, 0
    while (size - 1) * up + h.shape[0] + before + after < (out + skip - 1) * down + 1:
        after += 1
    y = upfirdn.__wrapped__(np.pad(h, (before, after)), x, up, down, axis)
    index = [slice(None)] * x.ndim
    index[axis] = slice(skip, skip + out)
    return y[tuple(index)]


@like(_signal)
def decimate(x: Any, q: int, n: Any = None, ftype: Any = "iir", axis: int = -1, zero_phase: bool = True) -> Any:
    """The signal filtered and kept at each ``q``-th value.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.scipy.signal.decimate(dt.ones(60), 2).shape
    dualtape.Size([30])
    """
    x = floating(x)
    every = tuple(slice(None, None, q) if d == axes_of(axis, x.ndim)[0] else slice(None) for d in range(x.ndim))
    if ftype == "iir":
        sos = _signal.cheby1(8 if n is None else n, 0.05, 0.8 / q, output="sos")
        filtered = (sosfiltfilt if zero_phase else sosfilt).__wrapped__(sos, x, axis)
        return filtered[every]
    if ftype != "fir":
        raise TypeError("decimate on tensors: ftype is 'iir' or 'fir'")
    half = 10 * q if n is None else n / 2
    b = _signal.firwin(int(2 * half) + 1, 1.0 / q, window="hamming")
    if zero_phase:
        return resample_poly.__wrapped__(x, 1, q, axis, b)
    filtered = lfilter.__wrapped__(b, [1.0], x, axis)
    return filtered[every]


@like(_signal)
def resample(x: Any, num: int, t: Any = None, axis: int = 0, window: Any = None, domain: str = "time") -> Any:
    """The signal with ``num`` values, by Fourier transforms.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.scipy.signal.resample(dt.ones(4), 8).round(decimals=4)[:2]
    tensor([1., 1.])
    """
    if window is not None or domain != "time" or t is not None:
        raise TypeError("resample on tensors takes no window, t or domain='freq'")
    x = np.moveaxis(floating(x), axis, -1)
    size, kept = x.shape[-1], min(num, x.shape[-1])
    real = not x.is_complex()
    spectrum = op("fft.rfft" if real else "fft.fft")(x)
    half = kept // 2 + 1
    low = spectrum[..., :half]
    if real:
        if kept % 2 == 0 and num != size:
            factors = np.ones(half)
            factors[kept // 2] = 2.0 if num < size else 0.5
            low = low * factors.astype(x._array.dtype)
        y = op("fft.irfft")(low, num) * (num / size)
        return np.moveaxis(y, -1, axis)
    negative = (kept + 1) // 2
    middle = spectrum[..., kept // 2 : kept // 2 + 1]
    first, last = spectrum[..., :negative], spectrum[..., spectrum.shape[-1] - (kept - negative) :]
    if kept % 2 == 0 and num != size:
        if num < size:
            last = np.concatenate([last[..., :1] + middle, last[..., 1:]], axis=-1)
            gap = np.zeros((*x.shape[:-1], num - kept))
        else:
            first = np.concatenate([first, middle / 2], axis=-1)
            last = np.concatenate([last[..., :1] / 2, last[..., 1:]], axis=-1)
            gap = np.zeros((*x.shape[:-1], num - kept - 1))
    else:
        gap = np.zeros((*x.shape[:-1], num - kept))
    y = op("fft.ifft")(np.concatenate([first, gap, last], axis=-1)) * (num / size)
    return np.moveaxis(y, -1, axis)


# --- analytic signals, trends, windows of values --------------------------------------------------


def _analytic(size: int) -> np.ndarray:
    h = np.zeros(size)
    h[0] = 1
    h[1 : (size + 1) // 2] = 2
    if size % 2 == 0:
        h[size // 2] = 1
    return h


@like(_signal)
def hilbert(x: Any, N: int | None = None, axis: int = -1) -> Any:
    """The analytic signal.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.scipy.signal.hilbert(dt.tensor([1.0, 0.0, -1.0, 0.0])).imag
    tensor([ 0.,  1.,  0., -1.])
    """
    x = np.moveaxis(floating(x), axis, -1)
    if x.is_complex():
        raise ValueError("x must be real.")
    spectrum = op("fft.fft")(x, N)
    h = _analytic(spectrum.shape[-1]).astype(x._array.dtype)
    return np.moveaxis(op("fft.ifft")(spectrum * h), -1, axis)


@like(_signal)
def hilbert2(x: Any, N: Any = None, axes: Any = (-2, -1)) -> Any:
    """The analytic signal of two dimensions.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.scipy.signal.hilbert2(dt.ones(2, 2)).shape
    dualtape.Size([2, 2])
    """
    x = floating(x)
    if x.is_complex():
        raise ValueError("x must be real.")
    axes = axes_of(axes, x.ndim)
    size = None if N is None else (N, N) if np.ndim(N) == 0 else tuple(N)
    spectrum = op("fft.fft2")(x, size, axes)
    for axis in axes:
        count = spectrum.shape[axis]
        factors = _analytic(count)
        spectrum = spectrum * factors.reshape([-1 if d == axis else 1 for d in range(x.ndim)])
    return op("fft.ifft2")(spectrum, None, axes)


@like(_signal)
def detrend(data: Any, axis: int = -1, type: str = "linear", bp: Any = 0, overwrite_data: bool = False) -> Any:
    """The signal without its mean, or without its line of least squares between breakpoints.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.scipy.signal.detrend(dt.tensor([1.0, 2.0, 3.0])).round(decimals=4).abs()
    tensor([0., 0., 0.])
    """
    x = floating(data)
    if type in ("constant", "c"):
        return x - np.mean(x, axis=axis, keepdims=True)
    if type not in ("linear", "l"):
        raise ValueError("Trend type must be 'linear' or 'constant'.")
    x = np.moveaxis(x, axis, -1)
    size = x.shape[-1]
    breaks = np.unique(np.concatenate([[0], np.atleast_1d(plain(bp)), [size]])).astype(int)
    if (breaks > size).any():
        raise ValueError("Breakpoints must be less than length of data along given axis.")
    projection = np.eye(size)
    for start, stop in zip(breaks[:-1], breaks[1:], strict=True):
        line = np.stack([np.arange(1, stop - start + 1) / (stop - start), np.ones(stop - start)], 1)
        q, _ = np.linalg.qr(line)
        projection[start:stop, start:stop] -= q @ q.T
    return np.moveaxis(x @ projection.astype(x.real._array.dtype if x.is_complex() else x._array.dtype), -1, axis)


@like(_signal)
def savgol_filter(
    x: Any,
    window_length: int,
    polyorder: int,
    deriv: int = 0,
    delta: float = 1.0,
    axis: int = -1,
    mode: str = "interp",
    cval: float = 0.0,
) -> Any:
    """The signal smoothed by polynomials of least squares, or its derivative.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.scipy.signal.savgol_filter(dt.tensor([1.0, 4.0, 9.0, 16.0, 25.0]), 3, 2).round(decimals=4)
    tensor([ 1.,  4.,  9., 16., 25.])
    """
    if mode not in ("mirror", "constant", "nearest", "interp", "wrap"):
        raise ValueError("mode must be 'mirror', 'constant', 'nearest' 'wrap' or 'interp'.")
    from ..ndimage.filters import convolve1d

    x = np.moveaxis(floating(x), axis, -1)
    weights = _signal.savgol_coeffs(window_length, polyorder, deriv=deriv, delta=delta).astype(x._array.dtype)
    if mode != "interp":
        return np.moveaxis(convolve1d.__wrapped__(x, weights, -1, None, mode, cval), -1, axis)
    size, half = x.shape[-1], window_length // 2
    if window_length > size:
        raise ValueError("If mode is 'interp', window_length must be less than or equal to the size of x.")
    inner = convolve1d.__wrapped__(x, weights, -1, None, "constant", 0.0)
    # The ends are values of the polynomial of the first and the last window.
    ends = _signal.savgol_filter(np.eye(window_length), window_length, polyorder, deriv, delta, 0, "interp")
    ends = ends.astype(x._array.dtype)
    first, last = x[..., :window_length] @ ends[:half].T, x[..., size - window_length :] @ ends[half + 1 :].T
    return np.moveaxis(np.concatenate([first, inner[..., half : size - half], last], axis=-1), -1, axis)


@like(_signal)
def order_filter(a: Any, domain: Any, rank: int) -> Any:
    """The element of this rank among those where ``domain`` is not zero.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.scipy.signal.order_filter(dt.tensor([1.0, 2.0, 4.0]), [1, 1, 1], 2)
    tensor([2., 4., 4.])
    """
    from ..ndimage.ranks import rank_filter

    return rank_filter.__wrapped__(a, int(rank), footprint=plain(domain), mode="constant")


@like(_signal)
def medfilt(volume: Any, kernel_size: Any = None) -> Any:
    """The median of windows; zeros are beyond the border.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.scipy.signal.medfilt(dt.tensor([1.0, 9.0, 4.0]))
    tensor([1., 4., 4.])
    """
    from ..ndimage.ranks import rank_filter

    x = floating(volume)
    sizes = [int(n) for n in np.broadcast_to(3 if kernel_size is None else kernel_size, x.ndim)]
    if not all(n % 2 for n in sizes):
        raise ValueError("Each element of kernel_size should be odd.")
    return rank_filter.__wrapped__(x, int(np.prod(sizes)) // 2, size=sizes, mode="constant")


@like(_signal)
def medfilt2d(input: Any, kernel_size: Any = 3) -> Any:
    """The median of windows of a matrix.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.scipy.signal.medfilt2d(dt.ones(3, 3))[1]
    tensor([1., 1., 1.])
    """
    return medfilt.__wrapped__(input, kernel_size)


@like(_signal)
def wiener(im: Any, mysize: Any = None, noise: Any = None) -> Any:
    """Wiener's filter, by means and variances of windows.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.scipy.signal.wiener(dt.tensor([1.0, 2.0, 6.0]), 3).shape
    dualtape.Size([3])
    """
    x = floating(im)
    sizes = [int(n) for n in np.broadcast_to(3 if mysize is None else mysize, x.ndim)]
    ones = np.ones(sizes, x._array.dtype)
    count = float(np.prod(sizes))
    mean = convolve.__wrapped__(x, ones, "same") / count
    variance = convolve.__wrapped__(x * x, ones, "same") / count - mean * mean
    level = np.mean(variance) if noise is None else floating(noise)
    smooth = plain(variance) < plain(level)
    safe = np.where(smooth, 1.0, variance)
    return np.where(smooth, mean, mean + (x - mean) * (1 - level / safe))
