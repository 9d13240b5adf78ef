"""Short-time Fourier transforms and their inverse: ``stft`` and ``istft``."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..._tensor.tensor import new_tensor, raw
from ...arrays.kernels.basics import all_samples, full_like_shape
from ...errors import warn
from ..dispatch import FUNCTIONS, NAMESPACES
from ..samples import positive, real, sample
from ..table import TABLE, composite
from . import fft as _transforms  # noqa: F401 - whose functions are used by their names
from .padding import pad

_fft = NAMESPACES["fft"]


def _steps(name: str, n_fft: int, hop_length: int | None, win_length: int | None) -> tuple[int, int]:
    hop = n_fft // 4 if hop_length is None else hop_length
    length = n_fft if win_length is None else win_length
    if hop <= 0:
        raise RuntimeError(f"{name}: expected hop_length > 0, but got hop_length={hop}")
    if not 0 < length <= n_fft:
        raise RuntimeError(f"{name}: expected 0 < win_length <= n_fft, but got win_length={length} and n_fft={n_fft}")
    return hop, length


def _whole_window(name: str, window: Any, like: Any, dtype: Any, length: int, n_fft: int) -> Any:
    """Return the window, ones if there is none, padded with zeros on both sides to ``n_fft`` entries."""
    if window is None:
        warn(
            f"{name}: a window was not provided, and is one of ones: frequencies leak into one another; pass"
            " hann_window(n_fft) or the like, the same to stft and istft, or ones if they are meant"
        )
        window = new_tensor(full_like_shape((length,), 1, dtype, raw(like)))
    elif window.ndim != 1 or window.shape[0] != length:
        raise RuntimeError(
            f"{name}: expected a 1D window tensor of size equal to win_length={length}, but got window with size"
            f" {list(window.shape)}"
        )
    left = (n_fft - length) // 2
    return FUNCTIONS["constant_pad_nd"](window, (left, n_fft - length - left), 0) if length < n_fft else window


@composite("stft", samples=(
    sample(real(20), 4, return_complex=True), sample(real(2, 16), 5, 2, 4, positive(4), return_complex=True),
    sample(real(20), 4, center=False, return_complex=False), sample(real(20), 6, normalized=True, return_complex=True),
    sample(real(20), 6, onesided=False, pad_mode="constant", return_complex=True),
    sample(real(20), 6, win_length=4, center=False, align_to_window=True, return_complex=True),
), complex=False)  # fmt: skip
def stft(
    input: Any, n_fft: int, hop_length: int | None = None, win_length: int | None = None, window: Any = None,
    center: bool = True, pad_mode: str = "reflect", normalized: bool = False, onesided: bool | None = None,
    return_complex: bool | None = None, align_to_window: bool | None = None,
) -> Any:  # fmt: skip
    """The spectra of pieces of ``n_fft`` entries of signals, ``hop_length`` apart, each times a window: (frequencies,
    pieces).

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.stft(dt.ones(8), 4, window=dt.hann_window(4), return_complex=True).shape
    dualtape.Size([3, 9])
    """
    if input.ndim not in (1, 2):
        raise RuntimeError(f"stft: expected a 1D or 2D tensor, got {list(input.shape)}")
    if not (input.is_floating_point() or input.is_complex()):
        raise RuntimeError(f"stft: expected a tensor of floating point or complex values, got {input.dtype!r}")
    hop, length = _steps("stft", n_fft, hop_length, win_length)
    is_complex = input.is_complex() or window is not None and window.is_complex()
    if return_complex is None:
        if not is_complex:
            raise RuntimeError("stft requires the return_complex parameter be given for real inputs: pass True")
        return_complex = True
    if not return_complex:
        warn("stft with return_complex=False is deprecated: take view_as_real of the complex result")
    if is_complex and onesided:
        raise RuntimeError("stft: Cannot have onesided output if window or input is complex")
    if align_to_window is not None and center:
        raise RuntimeError("stft align_to_window should only be set when center = false")
    whole = _whole_window("stft", window, input, raw(input).dtype, length, n_fft)
    signal = input if input.ndim == 2 else input.unsqueeze(0)
    if center:
        signal = pad(signal, (n_fft // 2, n_fft // 2), pad_mode)
    elif align_to_window:
        left = (n_fft - length) // 2
        signal = FUNCTIONS["constant_pad_nd"](signal, (left, n_fft - length - left), 0)
    if not 0 < n_fft <= signal.shape[-1]:
        raise RuntimeError(f"stft: expected 0 < n_fft <= {signal.shape[-1]}, but got n_fft={n_fft}")
    pieces = TABLE["unfold"].function(signal, -1, n_fft, hop) * whole
    half = not is_complex if onesided is None else onesided
    spectra = _fft["rfft" if half else "fft"](pieces, norm="ortho" if normalized else None).mT
    spectra = spectra if input.ndim == 2 else spectra.squeeze(0)
    return spectra if return_complex else FUNCTIONS["view_as_real"](spectra)


@composite("istft", complex="only", samples=(
    sample(real(3, 9), 4), sample(real(2, 3, 6), 5, 2), sample(real(3, 9), 4, length=7), sample(real(3, 9), 4, length=14),
    sample(real(3, 9), 4, normalized=True, center=False), sample(real(4, 9), 4, onesided=False),
    sample(real(4, 9), 4, return_complex=True), sample(real(3, 9), 4, win_length=3),
))  # fmt: skip
def istft(
    input: Any, n_fft: int, hop_length: int | None = None, win_length: int | None = None, window: Any = None,
    center: bool = True, normalized: bool = False, onesided: bool | None = None, length: int | None = None,
    return_complex: bool = False,
) -> Any:  # fmt: skip
    """The signals of which :func:`stft` gives these spectra, as nearly as there are any: pieces added up, divided by
    their windows' squares.

    Examples
    --------
    >>> import dualtape as dt
    >>> window = dt.hann_window(4)
    >>> dt.istft(dt.stft(dt.arange(4.0), 4, window=window, return_complex=True), 4, window=window)
    tensor([0., 1., 2., 3.])
    """
    if not input.is_complex():
        raise RuntimeError("istft requires a complex-valued input tensor matching the output from stft")
    if input.ndim not in (2, 3) or not input.numel():
        raise RuntimeError(f"istft: expected a tensor with 2 or 3 dimensions and elements, got {list(input.shape)}")
    hop, size = _steps("istft", n_fft, hop_length, win_length)
    if hop > size:
        raise RuntimeError(f"istft: expected 0 < hop_length <= win_length, but got {hop} and {size}")
    half = input.shape[-2] != n_fft if onesided is None else onesided
    if input.shape[-2] != (n_fft // 2 + 1 if half else n_fft):
        raise RuntimeError(
            f"istft: expected the frequency dimension (3rd to the last) of the input tensor to match n_fft="
            f"{n_fft} when onesided={half}, but got {input.shape[-2]}"
        )
    if half and (return_complex or window is not None and window.is_complex()):
        raise RuntimeError("istft: Cannot have onesided output if window or input is complex")
    whole = _whole_window("istft", window, input, raw(input).real.dtype, size, n_fft)
    spectra = (input if input.ndim == 3 else input.unsqueeze(0)).mT
    norm = "ortho" if normalized else None
    if return_complex:
        pieces = _fft["ifft"](spectra, norm=norm)
    else:  # the other half is not looked at
        pieces = _fft["irfft"](spectra[..., : n_fft // 2 + 1], n_fft, norm=norm)
    total = n_fft + hop * (spectra.shape[-2] - 1)
    add = TABLE["unfold_sum"].function
    signal = add(pieces * whole, (spectra.shape[0], total), -1, n_fft, hop)
    weight = add((whole * whole).expand((spectra.shape[-2], n_fft)), (total,), -1, n_fft, hop)
    start = n_fft // 2 if center else 0
    end = min(total, start + length) if length is not None else total - n_fft // 2 if center else total
    signal, weight = signal[..., start:end], weight[start:end]
    least = np.abs(all_samples(raw(weight)))
    if least.size and (least := least.min()) < 1e-11:
        raise RuntimeError(f"istft: window overlap add min: {least}: the windows leave a gap, or begin with 0")
    signal = signal / weight
    if length is not None and start + length > total:
        signal = FUNCTIONS["constant_pad_nd"](signal, (0, start + length - total), 0)
    return signal if input.ndim == 3 else signal.squeeze(0)
