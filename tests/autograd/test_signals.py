"""Windows, and spectra of pieces of signals."""

from __future__ import annotations

import pytest

from same_program import needs_torch, programs, same

SETUP = """
W = torch.signal.windows
x = torch.arange(20.0); c = torch.complex(x, x.flip(0)); w = torch.hann_window(4)
S = torch.stft(x, 4, window=w, return_complex=True)
"""
PROGRAMS = programs(
    r"""
    W.hann(5), torch.hann_window(5), torch.hann_window(1), torch.hann_window(0), W.hann(1), W.hann(0), W.hann(4, sym=False)
    torch.hann_window(-1)
    W.hann(-1)
    torch.hann_window(5, dtype=torch.int64)
    W.hann(5, dtype=torch.int64)
    W.hann(5, dtype=torch.float16)
    torch.kaiser_window(5, False, beta=3.0), W.kaiser(5, beta=3.0), W.kaiser(1, beta=3.0), torch.kaiser_window(5), torch.kaiser_window(6, True, 2.0)
    torch.hamming_window(5, True, 0.5, 0.4), torch.hamming_window(1, True, 0.5, 0.4), torch.bartlett_window(5), torch.bartlett_window(4, periodic=False)
    torch.blackman_window(5), torch.blackman_window(7, False), W.hamming(6), W.bartlett(6, sym=False)
    W.exponential(5, tau=2.0), W.exponential(5, center=0, sym=False), W.gaussian(4, std=2.0), W.gaussian(4, sym=False)
    W.exponential(5, center=0)
    W.exponential(5, tau=0)
    W.gaussian(5, std=0)
    W.general_cosine(5, a=[0.5, 0.3]), W.general_hamming(5, alpha=0.3), W.nuttall(5), W.cosine(4), W.cosine(4, sym=False), W.blackman(4, sym=False)
    W.general_cosine(5, a=[])
    W.general_cosine(5, a=0.3)
    W.kaiser(5, beta=-1)
    torch.hann_window(4.0)
    torch.hann_window(4, requires_grad=True), W.hann(3, dtype=torch.float64)
    torch.hann_window(4, nonsense=1)
    torch.stft(x, 4)
    torch.stft(c, 4), torch.stft(x, 4, return_complex=False), torch.stft(x, 4, window=w + 0j), x.stft(5, return_complex=True)
    torch.stft(c, 4, onesided=True)
    torch.stft(x, 4, win_length=2, return_complex=True, center=False), torch.stft(x, 4, win_length=2, return_complex=True, center=False, align_to_window=True)
    torch.stft(x, 4, win_length=2, return_complex=True, align_to_window=True)
    torch.stft(x, 4, win_length=2, window=w, return_complex=True)
    torch.stft(x, 30, return_complex=True, center=False)
    torch.stft(x, 0, return_complex=True)
    torch.stft(x, 4, hop_length=0, return_complex=True)
    torch.stft(x, 4, win_length=5, return_complex=True)
    torch.stft(x.reshape(2, 2, 5), 4, return_complex=True)
    torch.stft(torch.arange(20), 4, return_complex=True)
    torch.istft(S, 4, window=w), torch.istft(S, 4, window=w, length=25), torch.istft(S, 4, window=w, length=15), S.istft(4)
    torch.istft(S, 4, window=w, center=False)
    torch.istft(S, 4, window=w, return_complex=True)
    torch.istft(S.real, 4, window=w)
    torch.istft(torch.stft(c, 4, window=w), 4, window=w, return_complex=True), torch.istft(torch.stft(c, 4, window=w), 4, window=w)
    torch.istft(S, 6, window=w)
    torch.istft(S, 4, hop_length=5, window=w)
    torch.istft(S, 4, hop_length=4, window=w)
    torch.istft(S[None, None], 4, window=w)
    """
)


@needs_torch
@pytest.mark.parametrize("program", PROGRAMS)
def test_calls_mean_what_they_mean_in_pytorch(program: str) -> None:
    same(SETUP + program, 1e-4)
