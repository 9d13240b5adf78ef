"""Discrete Fourier transforms under PyTorch's names: ``dualtape.fft.rfft`` and so on, declared in :mod:`dualtape.ops`;
and their frequencies.
"""

from __future__ import annotations

from operator import index as _index
from typing import Any

import numpy as np

from ._listing import listing
from ._tensor import shaped as _shaped
from ._tensor.tensor import Tensor
from .ops import namespace
from .ops.formulas import is_whole as _is_whole
from .ops.table import TABLE
from .overrides.active_overrides import overridable

_FUNCTIONS = namespace("fft")
globals().update(_FUNCTIONS)


def _frequencies(
    name: str, n: int, d: float, half: bool, out: Any, dtype: Any, layout: Any, device: Any, requires_grad: bool
) -> Tensor:
    """Return the multiples of 1 / (n * d) for ``n`` entries: the nonnegative ones, then the others."""
    if not _is_whole(n):
        raise TypeError(f"{name}(): argument 'n' (position 1) must be int, not {type(n).__name__}")
    n = _index(n)
    if n < 0:
        raise RuntimeError(f"{name}: Trying to create tensor with negative dimension {n}")
    if dtype is not None and not dtype.is_floating_point:
        raise RuntimeError(f"{name} requires a floating point dtype, got {dtype!r}")
    steps = _shaped.arange(float(n // 2 + 1 if half else n), dtype=dtype, layout=layout, device=device)
    result = (steps if half else steps - (steps >= (n + 1) // 2) * n) * float(np.divide(1.0, n * d))
    if out is not None:
        return TABLE["into"].function(result, out=out)
    return result.requires_grad_() if requires_grad else result


def fftfreq(
    n: int,
    d: float = 1.0,
    *,
    out: Any = None,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    requires_grad: bool = False,
) -> Tensor:
    """The frequencies of the entries of :func:`fft` of ``n`` entries, taken at a distance of ``d``.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.fft.fftfreq(4, 0.5)
    tensor([ 0.0000,  0.5000, -1.0000, -0.5000])
    """
    return _frequencies("fftfreq", n, d, False, out, dtype, layout, device, requires_grad)


def rfftfreq(
    n: int,
    d: float = 1.0,
    *,
    out: Any = None,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    requires_grad: bool = False,
) -> Tensor:
    """The frequencies of the entries of :func:`rfft` of ``n`` entries, taken at a distance of ``d``.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.fft.rfftfreq(4, 0.5)
    tensor([0.0000, 0.5000, 1.0000])
    """
    return _frequencies("rfftfreq", n, d, True, out, dtype, layout, device, requires_grad)


fftfreq, rfftfreq = overridable(fftfreq, leaf=True), overridable(rfftfreq, leaf=True)

__all__ = sorted([*_FUNCTIONS, "fftfreq", "rfftfreq"])

__dir__ = listing(__name__)
