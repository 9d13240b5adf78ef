"""``numpy.fft`` on tensors: PyTorch's functions have its names, parameters and meaning."""

from __future__ import annotations

from typing import Any

import numpy as np

from .registry import entry, op, tensor


def _along_one(name: str) -> None:
    @entry(getattr(np.fft, name))
    def transform(a: Any, n: int | None = None, axis: int = -1, norm: str | None = None, out: None = None) -> Any:
        return op(f"fft.{name}")(tensor(a), n, axis, norm)


def _along_several(name: str, default: Any) -> None:
    @entry(getattr(np.fft, name))
    def transform(a: Any, s: Any = None, axes: Any = default, norm: str | None = None, out: None = None) -> Any:
        if axes is None and s is not None:
            raise ValueError(f"np.fft.{name} on tensors: s needs axes")
        return op(f"fft.{name}")(tensor(a), s, axes, norm)


def _shift(name: str) -> None:
    @entry(getattr(np.fft, name))
    def transform(x: Any, axes: Any = None) -> Any:
        return op(f"fft.{name}")(x, axes)


for _name in ("fft", "ifft", "rfft", "irfft", "hfft", "ihfft"):
    _along_one(_name)
for _name in ("fftn", "ifftn", "rfftn", "irfftn"):
    _along_several(_name, None)
for _name in ("fft2", "ifft2", "rfft2", "irfft2"):
    _along_several(_name, (-2, -1))
for _name in ("fftshift", "ifftshift"):
    _shift(_name)
