"""The standard's extension for Fourier transforms: PyTorch's, with the standard's arguments."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import dualtape as dt

from .._tensor.tensor import Tensor

_ONE_AXIS = ("fft", "ifft", "rfft", "irfft", "hfft", "ihfft")
_AXES = ("fftn", "ifftn", "rfftn", "irfftn")

__all__ = [*_ONE_AXIS, *_AXES, "fftfreq", "rfftfreq", "fftshift", "ifftshift"]  # noqa: PLE0605 - the tables above


def _along_one(transform: Callable) -> Callable:
    def function(x: Tensor, /, *, n: int | None = None, axis: int = -1, norm: str = "backward") -> Tensor:
        return transform(x, n, axis, norm)

    return function


def _along_many(transform: Callable) -> Callable:
    def function(x: Tensor, /, *, s: Any = None, axes: Any = None, norm: str = "backward") -> Tensor:
        return transform(x, s, axes, norm)

    return function


for _names, _made in ((_ONE_AXIS, _along_one), (_AXES, _along_many)):
    for _name in _names:
        _function: Any = _made(getattr(dt.fft, _name))
        _function.__name__ = _function.__qualname__ = _name
        _function.__doc__ = getattr(dt.fft, _name).__doc__
        globals()[_name] = _function


def fftfreq(n: int, /, *, d: float = 1.0, dtype: Any = None, device: Any = None) -> Tensor:
    """The frequencies of :func:`fft`'s elements.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.array_api.fft.fftfreq(4)
    tensor([ 0.0000,  0.2500, -0.5000, -0.2500])
    """
    return dt.fft.fftfreq(n, d, dtype=dtype, device=device)


def rfftfreq(n: int, /, *, d: float = 1.0, dtype: Any = None, device: Any = None) -> Tensor:
    """The frequencies of :func:`rfft`'s elements.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.array_api.fft.rfftfreq(4)
    tensor([0.0000, 0.2500, 0.5000])
    """
    return dt.fft.rfftfreq(n, d, dtype=dtype, device=device)


def fftshift(x: Tensor, /, *, axes: Any = None) -> Tensor:
    """The frequency zero moved to the middle.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.array_api.fft.fftshift(dt.arange(4))
    tensor([2, 3, 0, 1])
    """
    return dt.fft.fftshift(x, axes)


def ifftshift(x: Tensor, /, *, axes: Any = None) -> Tensor:
    """The frequency zero moved back to the beginning.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.array_api.fft.ifftshift(dt.array_api.fft.fftshift(dt.arange(3)))
    tensor([0, 1, 2])
    """
    return dt.fft.ifftshift(x, axes)
