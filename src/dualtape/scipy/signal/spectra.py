"""Spectra: Fourier transforms of segments of a signal, and responses of filters to frequencies."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..._tensor.tensor import Tensor
from ...arrays.lazy import scipy_signal as _signal
from .._arguments import plain
from .._like import like
from .._tensors import alike, floating, op
from .filters import detrend as _detrended

__all__ = [
    "coherence",
    "csd",
    "czt",
    "freqs",
    "freqs_zpk",
    "freqz",
    "freqz_sos",
    "freqz_zpk",
    "istft",
    "lombscargle",
    "periodogram",
    "sosfreqz",
    "spectrogram",
    "stft",
    "welch",
    "zoom_fft",
]


def _window_of(window: Any, length: int | None, size: int) -> tuple[Any, int]:
    """Return the window, and the length of segments."""
    if isinstance(window, (str, tuple)):
        length = min(256, size) if length is None else min(length, size)
        return floating(_signal.get_window(window, length)), length
    window = floating(window)
    if window.ndim != 1:
        raise ValueError("window must be 1-D")
    if length is not None and length != window.shape[0]:
        raise ValueError("value specified for nperseg is different from length of window")
    return window, window.shape[0]


def _segments(x: Any, window: Any, overlap: int, nfft: int, detrend: Any, scale: Any, onesided: bool) -> Any:
    """Return the Fourier transform of each segment, along the last axis but one."""
    length = window.shape[0]
    seen = np.lib.stride_tricks.sliding_window_view(x, length, axis=-1)[..., :: length - overlap, :]
    if detrend:
        seen = detrend(seen) if callable(detrend) else _detrended.__wrapped__(seen, -1, detrend)
    transform = op("fft.rfft" if onesided else "fft.fft")(seen * window, nfft)
    return np.moveaxis(transform * np.sqrt(scale), -1, -2)


def _spectral(
    x: Any,
    y: Any,
    fs: float,
    window: Any,
    nperseg: int | None,
    noverlap: int | None,
    nfft: int | None,
    detrend: Any,
    return_onesided: bool,
    scaling: str,
    axis: int,
    mode: str = "psd",
    boundary: Any = None,
    padded: bool = False,
) -> tuple:
    """Return frequencies, times, and products of transforms of segments (or the transforms)."""
    same = y is x
    x, y = alike(x, y)
    x, y = (np.moveaxis(v, axis, -1) for v in (x, y))
    size = max(x.shape[-1], y.shape[-1])
    x, y = (
        v if v.shape[-1] == size else np.pad(v, [(0, 0)] * (v.ndim - 1) + [(0, size - v.shape[-1])]) for v in (x, y)
    )
    window, length = _window_of(window, nperseg, size)
    overlap = length // 2 if noverlap is None else noverlap
    nfft = length if nfft is None else nfft
    if overlap >= length:
        raise ValueError("noverlap must be less than nperseg.")
    if nfft < length:
        raise ValueError("nfft must be greater than or equal to nperseg.")
    step = length - overlap
    if boundary is not None:
        x = _bordered(x, boundary, length // 2)
        y = x if same else _bordered(y, boundary, length // 2)
    if padded:
        more = (-(x.shape[-1] - length) % step) % length
        x = np.pad(x, [(0, 0)] * (x.ndim - 1) + [(0, more)])
        y = x if same else np.pad(y, [(0, 0)] * (y.ndim - 1) + [(0, more)])
    total = x.shape[-1]
    scale = 1.0 / (fs * np.sum(window * window)) if scaling in ("density", "psd") else 1.0 / np.sum(window) ** 2
    onesided = return_onesided and not (x.is_complex() or y.is_complex())
    first = _segments(x, window, overlap, nfft, detrend, scale, onesided)
    frequencies = np.fft.rfftfreq(nfft, 1 / fs) if onesided else np.fft.fftfreq(nfft, 1 / fs)
    times = np.arange(length / 2, total - length / 2 + 1, step) / float(fs)
    if boundary is not None:
        times = times - (length / 2) / fs
    found = first
    if mode == "psd":
        second = first if same else _segments(y, window, overlap, nfft, detrend, scale, onesided)
        found = np.conj(first) * second
        if onesided:
            factors = np.full(found.shape[-2], 2.0)
            factors[0] = 1.0
            if nfft % 2 == 0:
                factors[-1] = 1.0
            found = found * factors[:, None]
        found = found.real if same else found
    return frequencies, times, found


def _bordered(x: Any, boundary: str, size: int) -> Any:
    from .filters import _extended

    if boundary == "zeros":
        return np.pad(x, [(0, 0)] * (x.ndim - 1) + [(size, size)])
    return _extended(x, boundary, size)


def _averaged(found: Any, average: str) -> Any:
    if average == "mean":
        return np.mean(found, axis=-1)
    if average != "median":
        raise ValueError(f'average must be "median" or "mean", got {average}')
    count = found.shape[-1]
    ii = 2 * np.arange(1.0, (count - 1) // 2 + 1)
    bias = 1 + np.sum(1.0 / (ii + 1) - 1.0 / ii)
    if found.is_complex():
        return (np.median(found.real, axis=-1) + 1j * np.median(found.imag, axis=-1)) / bias
    return np.median(found, axis=-1) / bias


@like(_signal)
def csd(
    x: Any,
    y: Any,
    fs: float = 1.0,
    window: Any = "hann",
    nperseg: int | None = None,
    noverlap: int | None = None,
    nfft: int | None = None,
    detrend: Any = "constant",
    return_onesided: bool = True,
    scaling: str = "density",
    axis: int = -1,
    average: str = "mean",
) -> tuple:
    """Frequencies and the cross spectral density of two signals.

    Examples
    --------
    >>> import dualtape as dt
    >>> x = dt.ones(16)
    >>> dt.scipy.signal.csd(x, x * 2, nperseg=8)[1].shape
    dualtape.Size([5])
    """
    frequencies, _, found = _spectral(
        x, y, fs, window, nperseg, noverlap, nfft, detrend, return_onesided, scaling, axis
    )
    return frequencies, np.moveaxis(_averaged(found, average), -1, axis)


@like(_signal)
def welch(
    x: Any,
    fs: float = 1.0,
    window: Any = "hann",
    nperseg: int | None = None,
    noverlap: int | None = None,
    nfft: int | None = None,
    detrend: Any = "constant",
    return_onesided: bool = True,
    scaling: str = "density",
    axis: int = -1,
    average: str = "mean",
) -> tuple:
    """Frequencies and the power spectral density by Welch's method.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.scipy.signal.welch(dt.ones(16), nperseg=8)[1].shape
    dualtape.Size([5])
    """
    return csd.__wrapped__(x, x, fs, window, nperseg, noverlap, nfft, detrend, return_onesided, scaling, axis, average)


@like(_signal)
def periodogram(
    x: Any,
    fs: float = 1.0,
    window: Any = "boxcar",
    nfft: int | None = None,
    detrend: Any = "constant",
    return_onesided: bool = True,
    scaling: str = "density",
    axis: int = -1,
) -> tuple:
    """Frequencies and the power spectral density of the whole signal.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.scipy.signal.periodogram(dt.ones(8))[1].shape
    dualtape.Size([5])
    """
    x = floating(x)
    size = x.shape[axis]
    length = size if nfft is None else min(nfft, size)
    if length < size:
        x = np.take(x, np.arange(length), axis=axis)
    window = "boxcar" if window is None else window
    return welch.__wrapped__(
        x,
        fs,
        window,
        length if isinstance(window, (str, tuple)) else None,
        0,
        nfft,
        detrend,
        return_onesided,
        scaling,
        axis,
    )


@like(_signal)
def coherence(
    x: Any,
    y: Any,
    fs: float = 1.0,
    window: Any = "hann",
    nperseg: int | None = None,
    noverlap: int | None = None,
    nfft: int | None = None,
    detrend: Any = "constant",
    axis: int = -1,
) -> tuple:
    """Frequencies and the squared coherence of two signals.

    Examples
    --------
    >>> import dualtape as dt
    >>> x = dt.tensor([1.0, 3.0, 2.0, 5.0, 1.0, 0.0])
    >>> dt.scipy.signal.coherence(x, x, nperseg=2)[1].round(decimals=4)
    tensor([1., 1.], dtype=dualtape.float64)
    """
    x, y = alike(x, y)
    how = (fs, window, nperseg, noverlap, nfft, detrend)
    frequencies, xx = welch.__wrapped__(x, *how, axis=axis)
    _, yy = welch.__wrapped__(y, *how, axis=axis)
    _, xy = csd.__wrapped__(x, y, *how, axis=axis)
    square = xy.real**2 + xy.imag**2 if xy.is_complex() else xy * xy
    return frequencies, square / xx / yy


@like(_signal)
def spectrogram(
    x: Any,
    fs: float = 1.0,
    window: Any = ("tukey", 0.25),
    nperseg: int | None = None,
    noverlap: int | None = None,
    nfft: int | None = None,
    detrend: Any = "constant",
    return_onesided: bool = True,
    scaling: str = "density",
    axis: int = -1,
    mode: str = "psd",
) -> tuple:
    """Frequencies, times, and the spectrum of each segment.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.scipy.signal.spectrogram(dt.ones(32), nperseg=8)[2].shape
    dualtape.Size([5, 4])
    """
    if mode not in ("psd", "complex", "magnitude", "angle"):
        raise TypeError("spectrogram on tensors: mode is 'psd', 'complex', 'magnitude' or 'angle'")
    x = floating(x)
    window, nperseg = _window_of(window, nperseg, x.shape[axis])
    noverlap = nperseg // 8 if noverlap is None else noverlap
    frequencies, times, found = _spectral(
        x,
        x,
        fs,
        window,
        None,
        noverlap,
        nfft,
        detrend,
        return_onesided,
        scaling,
        axis,
        "psd" if mode == "psd" else "stft",
    )
    if mode == "magnitude":
        found = np.abs(found)
    elif mode == "angle":
        found = np.angle(found)
    where = axis - 1 if axis < 0 else axis
    return frequencies, times, np.moveaxis(found, -2, where)


@like(_signal)
def stft(
    x: Any,
    fs: float = 1.0,
    window: Any = "hann",
    nperseg: int = 256,
    noverlap: int | None = None,
    nfft: int | None = None,
    detrend: Any = False,
    return_onesided: bool = True,
    boundary: Any = "zeros",
    padded: bool = True,
    axis: int = -1,
    scaling: str = "spectrum",
) -> tuple:
    """Frequencies, times, and the Fourier transform of each segment.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.scipy.signal.stft(dt.ones(32), nperseg=8)[2].shape
    dualtape.Size([5, 9])
    """
    x = floating(x)
    given = nperseg if isinstance(window, (str, tuple)) else None
    found = _spectral(
        x, x, fs, window, given, noverlap, nfft, detrend, return_onesided, scaling, axis, "stft", boundary, padded
    )
    where = axis - 1 if axis < 0 else axis
    return found[0], found[1], np.moveaxis(found[2], -2, where)


@like(_signal)
def istft(
    Zxx: Any,
    fs: float = 1.0,
    window: Any = "hann",
    nperseg: int | None = None,
    noverlap: int | None = None,
    nfft: int | None = None,
    input_onesided: bool = True,
    boundary: Any = True,
    time_axis: int = -1,
    freq_axis: int = -2,
    scaling: str = "spectrum",
) -> tuple:
    """Times and the signal of a transform of segments.

    Examples
    --------
    >>> import dualtape as dt
    >>> z = dt.scipy.signal.stft(dt.ones(32), nperseg=8)[2]
    >>> dt.scipy.signal.istft(z, nperseg=8)[1].round(decimals=4)[:2]
    tensor([1., 1.], dtype=dualtape.float64)
    """
    z = np.moveaxis(floating(Zxx), (freq_axis, time_axis), (-2, -1))
    count = z.shape[-1]
    default = 2 * (z.shape[-2] - 1) if input_onesided else z.shape[-2]
    length = default if nperseg is None else int(nperseg)
    if nfft is None:
        nfft = default + 1 if input_onesided and length == default + 1 else default
    overlap = length // 2 if noverlap is None else int(noverlap)
    step = length - overlap
    window, _ = _window_of(window, length, length)
    pieces = op("fft.irfft" if input_onesided else "fft.ifft")(np.swapaxes(z, -1, -2), nfft)[..., :length]
    factor = np.sum(window) if scaling == "spectrum" else np.sqrt(fs * np.sum(window * window))
    pieces = pieces * window * factor
    total = length + (count - 1) * step
    found: Any = 0.0
    norm: Any = 0.0
    for k in range(count):
        pads = (k * step, total - length - k * step)
        found = found + np.pad(pieces[..., k, :], [(0, 0)] * (pieces.ndim - 2) + [pads])
        norm = norm + np.pad(window * window, pads)
    if boundary:
        inner = slice(length // 2, total - length // 2)
        found, norm = found[..., inner], norm[inner]
    found = found / np.where(plain(norm) > 1e-10, norm, 1.0)
    found = found.real if input_onesided and found.is_complex() else found
    if found.ndim > 1 and time_axis != z.ndim - 1 and time_axis != -1:
        found = np.moveaxis(found, -1, time_axis - 1 if freq_axis < time_axis else time_axis)
    return np.arange(found.shape[-1]) / float(fs), found


@like(_signal)
def lombscargle(
    x: Any,
    y: Any,
    freqs: Any,
    precenter: bool = False,
    normalize: Any = False,
    *,
    weights: Any = None,
    floating_mean: bool = False,
) -> Any:
    """The power of frequencies in values at uneven times.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.scipy.signal.lombscargle(dt.tensor([0.0, 1.0, 3.0]), [1.0, -1.0, 0.5], [1.0]).shape
    dualtape.Size([1])
    """
    if precenter or floating_mean or normalize not in (False, True, "power", "normalize"):
        raise TypeError("lombscargle on tensors takes no precenter, floating_mean or amplitudes")
    x, y, freqs = (v.to(np.float64) for v in alike(x, y, freqs))
    weight = np.ones(x.shape[0]) if weights is None else floating(weights)
    weight = weight / np.sum(weight)
    angles = freqs[:, None] * x[None]
    tau = 0.5 * np.arctan2(
        2 * np.sum(weight * np.sin(angles) * np.cos(angles), axis=-1),
        np.sum(weight * (np.cos(angles) ** 2 - np.sin(angles) ** 2), axis=-1),
    )
    c, s = np.cos(angles - tau[:, None]), np.sin(angles - tau[:, None])
    yc, ys = np.sum(weight * y * c, axis=-1), np.sum(weight * y * s, axis=-1)
    cc, ss = np.sum(weight * c * c, axis=-1), np.sum(weight * s * s, axis=-1)
    power = yc * yc / cc + ys * ys / ss
    if normalize in (True, "normalize"):
        return power / np.sum(weight * y * y)
    return power * (x.shape[0] / 2.0)


# --- responses ------------------------------------------------------------------------------------


def _polyval(c: Any, z: Any) -> Any:
    """Return ``c[0] + c[1] * z + ...``."""
    found: Any = 0.0
    for k in range(c.shape[0] - 1, -1, -1):
        found = found * z + c[k]
    return found


def _angles(worN: Any, whole: bool, fs: float, include_nyquist: bool) -> Any:
    if worN is None or np.ndim(worN) == 0 and not isinstance(worN, Tensor):
        count = 512 if worN is None else int(worN)
        end = 2 * np.pi if whole else np.pi
        return np.linspace(0, end, count, endpoint=include_nyquist and not whole), True
    return (2 * np.pi * np.atleast_1d(floating(worN)) / fs), False


@like(_signal)
def freqz(
    b: Any,
    a: Any = 1,
    worN: Any = 512,
    whole: bool = False,
    plot: Any = None,
    fs: float = 2 * np.pi,
    include_nyquist: bool = False,
) -> tuple:
    """Frequencies and the response of a digital filter.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.scipy.signal.freqz(dt.tensor([0.5, 0.5]), worN=[0.0])[1]
    tensor([1.+0.j], dtype=dualtape.complex128)
    """
    if plot is not None:
        raise TypeError("freqz on tensors takes no plot")
    b, a = (np.atleast_1d(v) for v in alike(b, a))
    if b.ndim > 1 or a.ndim > 1:
        raise TypeError("freqz on tensors: b and a are vectors")
    w, made = _angles(worN, whole, fs, include_nyquist)
    z = np.exp(-1j * floating(w).to(np.float64))
    response = _polyval(b, z) / _polyval(a, z)
    return w * (fs / (2 * np.pi)) if fs != 2 * np.pi else w, response


@like(_signal)
def freqz_sos(sos: Any, worN: Any = 512, whole: bool = False, fs: float = 2 * np.pi) -> tuple:
    """Frequencies and the response of sections of second order.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.scipy.signal.freqz_sos(dt.tensor([[0.5, 0.5, 0.0, 1.0, 0.0, 0.0]]), [0.0])[1]
    tensor([1.+0.j], dtype=dualtape.complex128)
    """
    sos = floating(sos)
    found: Any = 1.0
    for k in range(sos.shape[0]):
        w, response = freqz.__wrapped__(sos[k, :3], sos[k, 3:], worN, whole, fs=fs)
        found = found * response
    return w, found


@like(_signal)
def sosfreqz(sos: Any, worN: Any = 512, whole: bool = False, fs: float = 2 * np.pi) -> tuple:
    """Frequencies and the response of sections of second order: :func:`freqz_sos`.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.scipy.signal.sosfreqz(dt.tensor([[0.5, 0.5, 0.0, 1.0, 0.0, 0.0]]), [0.0])[1]
    tensor([1.+0.j], dtype=dualtape.complex128)
    """
    return freqz_sos.__wrapped__(sos, worN, whole, fs)


def _product(values: Any, at: Any) -> Any:
    found: Any = 1.0
    for k in range(values.shape[0]):
        found = found * (at - values[k])
    return found


@like(_signal)
def freqz_zpk(z: Any, p: Any, k: Any, worN: Any = 512, whole: bool = False, fs: float = 2 * np.pi) -> tuple:
    """Frequencies and the response of a digital filter of zeros, poles and gain.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.scipy.signal.freqz_zpk(dt.tensor([-1.0]), dt.tensor([0.0]), 0.5, [0.0])[1]
    tensor([1.+0.j], dtype=dualtape.complex128)
    """
    z, p, k = floating(z), floating(p), floating(k)
    w, _ = _angles(worN, whole, fs, False)
    at = np.exp(1j * floating(w).to(np.float64))
    return (w * (fs / (2 * np.pi)) if fs != 2 * np.pi else w), k * _product(z, at) / _product(p, at)


@like(_signal)
def freqs(b: Any, a: Any, worN: Any = 200, plot: Any = None) -> tuple:
    """Frequencies and the response of an analog filter.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.scipy.signal.freqs(dt.tensor([1.0]), dt.tensor([1.0, 1.0]), [1.0])[1]
    tensor([0.5000-0.5000j], dtype=dualtape.complex128)
    """
    if plot is not None:
        raise TypeError("freqs on tensors takes no plot")
    b, a = alike(b, a)
    w = worN
    if not isinstance(worN, Tensor) and np.ndim(worN) == 0:
        w = _signal.freqs(plain(b), plain(a), 200 if worN is None else worN)[0]
    s = 1j * floating(w).to(np.float64)
    return w, _polyval(np.flip(b), s) / _polyval(np.flip(a), s)


@like(_signal)
def freqs_zpk(z: Any, p: Any, k: Any, worN: Any = 200) -> tuple:
    """Frequencies and the response of an analog filter of zeros, poles and gain.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.scipy.signal.freqs_zpk(dt.tensor([0.0]), dt.tensor([-1.0]), 1.0, [1.0])[1]
    tensor([0.5000+0.5000j], dtype=dualtape.complex128)
    """
    z, p, k = floating(z), floating(p), floating(k)
    w = worN
    if not isinstance(worN, Tensor) and np.ndim(worN) == 0:
        w = _signal.freqs_zpk(plain(z), plain(p), plain(k), 200 if worN is None else worN)[0]
    s = 1j * floating(w).to(np.float64)
    return w, k * _product(z, s) / _product(p, s)


@like(_signal)
def czt(x: Any, m: int | None = None, w: Any = None, a: Any = 1 + 0j, *, axis: int = -1) -> Any:
    """The chirp z-transform, as a product with its matrix; ``w`` and ``a`` are numbers.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.scipy.signal.czt(dt.ones(4)).abs().round(decimals=4)
    tensor([4., 0., 0., 0.], dtype=dualtape.float64)
    """
    x = np.moveaxis(floating(x), axis, -1)
    matrix = _signal.czt(np.eye(x.shape[-1]), m, plain(w), plain(a))
    return np.moveaxis(x.to(np.complex128) @ floating(matrix), -1, axis)


@like(_signal)
def zoom_fft(x: Any, fn: Any, m: int | None = None, *, fs: float = 2, endpoint: bool = False, axis: int = -1) -> Any:
    """The Fourier transform at frequencies in a range, as a product with its matrix.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.scipy.signal.zoom_fft(dt.ones(4), 2).abs().round(decimals=4)
    tensor([4., 0., 0., 0.], dtype=dualtape.float64)
    """
    x = np.moveaxis(floating(x), axis, -1)
    matrix = _signal.zoom_fft(np.eye(x.shape[-1]), fn, m, fs=fs, endpoint=endpoint)
    return np.moveaxis(x.to(np.complex128) @ floating(matrix), -1, axis)
