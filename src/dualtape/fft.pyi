"""The names of ``dualtape.fft``. Written by ``python -m tools.stubs``."""

# ruff: noqa - written by a tool, one signature a line
from builtins import bool as _bool, complex as _complex, float as _float, int as _int
from typing import Any, NamedTuple

from . import Tensor

def _frequencies(name: str, n: _int, d: _float, half: _bool, out: Any, dtype: Any, layout: Any, device: Any, requires_grad: _bool) -> Tensor:
    """Return the multiples of 1 / (n * d) for ``n`` entries: the nonnegative ones, then the others."""
def fft(input: Any, n: _int | None = ..., dim: _int = ..., norm: str | None = ..., *, out: Any = ...) -> Tensor:
    """The discrete Fourier transform along a dimension."""
def fft2(input: Any, s: Any = ..., dim: Any = ..., norm: str | None = ..., *, out: Any = ...) -> Tensor:
    """The discrete Fourier transform of the last two dimensions."""
def fftfreq(n: _int, d: _float = ..., *, out: Any = ..., dtype: Any = ..., layout: Any = ..., device: Any = ..., requires_grad: _bool = ...) -> Tensor:
    """The frequencies of the entries of :func:`fft` of ``n`` entries, taken at a distance of ``d``."""
def fftn(input: Any, s: Any = ..., dim: Any = ..., norm: str | None = ..., *, out: Any = ...) -> Tensor:
    """The discrete Fourier transform of all dimensions."""
def fftshift(input: Any, dim: Any = ...) -> Tensor:
    """The frequencies in ascending order, with zero in the middle."""
def hfft(input: Any, n: _int | None = ..., dim: _int = ..., norm: str | None = ..., *, out: Any = ...) -> Tensor:
    """:func:`fft` of the numbers of which half are given, the rest their conjugates."""
def hfft2(input: Any, s: Any = ..., dim: Any = ..., norm: str | None = ..., *, out: Any = ...) -> Tensor:
    """The discrete Fourier transform of the last two dimensions of what is half given, the rest being its conjugate."""
def hfftn(input: Any, s: Any = ..., dim: Any = ..., norm: str | None = ..., *, out: Any = ...) -> Tensor:
    """The discrete Fourier transform of all dimensions of what is half given, the rest being its conjugate."""
def ifft(input: Any, n: _int | None = ..., dim: _int = ..., norm: str | None = ..., *, out: Any = ...) -> Tensor:
    """The inverse of :func:`fft`."""
def ifft2(input: Any, s: Any = ..., dim: Any = ..., norm: str | None = ..., *, out: Any = ...) -> Tensor:
    """The inverse discrete Fourier transform of the last two dimensions."""
def ifftn(input: Any, s: Any = ..., dim: Any = ..., norm: str | None = ..., *, out: Any = ...) -> Tensor:
    """The inverse discrete Fourier transform of all dimensions."""
def ifftshift(input: Any, dim: Any = ...) -> Tensor:
    """The inverse of :func:`fftshift`."""
def ihfft(input: Any, n: _int | None = ..., dim: _int = ..., norm: str | None = ..., *, out: Any = ...) -> Tensor:
    """The inverse of :func:`hfft`."""
def ihfft2(input: Any, s: Any = ..., dim: Any = ..., norm: str | None = ..., *, out: Any = ...) -> Tensor:
    """Half of the inverse discrete Fourier transform of the last two dimensions of real numbers."""
def ihfftn(input: Any, s: Any = ..., dim: Any = ..., norm: str | None = ..., *, out: Any = ...) -> Tensor:
    """Half of the inverse discrete Fourier transform of all dimensions of real numbers."""
def irfft(input: Any, n: _int | None = ..., dim: _int = ..., norm: str | None = ..., *, out: Any = ...) -> Tensor:
    """The inverse of :func:`rfft`; ``n`` says whether the result is even or odd in length."""
def irfft2(input: Any, s: Any = ..., dim: Any = ..., norm: str | None = ..., *, out: Any = ...) -> Tensor:
    """The real numbers whose transform of the last two dimensions has a given half."""
def irfftn(input: Any, s: Any = ..., dim: Any = ..., norm: str | None = ..., *, out: Any = ...) -> Tensor:
    """The real numbers whose transform of all dimensions has a given half."""
def rfft(input: Any, n: _int | None = ..., dim: _int = ..., norm: str | None = ..., *, out: Any = ...) -> Tensor:
    """:func:`fft` of real numbers: the frequencies that are not negative."""
def rfft2(input: Any, s: Any = ..., dim: Any = ..., norm: str | None = ..., *, out: Any = ...) -> Tensor:
    """The discrete Fourier transform of the last two dimensions of real numbers: in the last of them the frequencies that are not negative."""
def rfftfreq(n: _int, d: _float = ..., *, out: Any = ..., dtype: Any = ..., layout: Any = ..., device: Any = ..., requires_grad: _bool = ...) -> Tensor:
    """The frequencies of the entries of :func:`rfft` of ``n`` entries, taken at a distance of ``d``."""
def rfftn(input: Any, s: Any = ..., dim: Any = ..., norm: str | None = ..., *, out: Any = ...) -> Tensor:
    """The discrete Fourier transform of all dimensions of real numbers: in the last of them the frequencies that are not negative."""
