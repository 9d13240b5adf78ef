"""``make_tensor``: a tensor of random values to try things on."""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import random
from .._tensor import dtypes, shaped
from .._tensor.device import preserve_format
from .._tensor.tensor import Tensor, wrap


def make_tensor(
    *shape: Any,
    dtype: Any,
    device: Any,
    low: float | None = None,
    high: float | None = None,
    requires_grad: bool = False,
    noncontiguous: bool = False,
    exclude_zero: bool = False,
    memory_format: Any = None,
) -> Tensor:
    """A tensor of values drawn uniformly from ``low`` to ``high``.

    Parameters
    ----------
    *shape : int or sequence of int
    dtype : dtype
    device : device
    low, high : float, optional
        Default: -9 and 9 (integers: to 9; unsigned and bool: from 0). What the dtype cannot hold is cut off.
    requires_grad : bool
    noncontiguous : bool
        Whether every second element in memory is left out.
    exclude_zero : bool
        Whether zeros become the smallest number of the dtype.
    memory_format : memory_format, optional

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.testing.make_tensor(2, 3, dtype=dt.float32, device="cpu").shape
    dualtape.Size([2, 3])
    """
    kind = dtypes.of(dtypes.to_numpy(dtype))
    sizes = tuple(shape[0]) if len(shape) == 1 and isinstance(shape[0], (list, tuple)) else tuple(shape)
    if noncontiguous and memory_format is not None:
        raise ValueError(
            f"The parameters `noncontiguous` and `memory_format` are mutually exclusive, got {memory_format=}"
        )
    if requires_grad and not (kind.is_floating_point or kind.is_complex):
        raise ValueError(
            f"only floating and complex tensors can require grad, got requires_grad=True with dtype={kind}"
        )
    low, high = _range(kind, low, high)
    room = (*sizes[:-1], 2 * sizes[-1]) if noncontiguous and sizes else sizes
    values = wrap(_drawn(kind, room, low, high))
    result = values.to(kind)
    if exclude_zero:
        tiny = 1 if kind.numpy.kind in "iub" else dtypes.finfo(kind.to_real()).tiny
        result = result.where(result != 0, shaped.full((), tiny, dtype=kind))
    if noncontiguous and sizes:
        result = result[..., ::2]
    if memory_format not in (None, preserve_format):
        result = result.clone(memory_format=memory_format)
    result = result.to(device).detach()
    return result.requires_grad_() if requires_grad else result


def _range(kind: Any, low: Any, high: Any) -> tuple[float, float]:
    lowest: Any
    highest: Any
    integral = kind.numpy.kind in "iu"
    if kind.numpy.kind == "b":
        lowest, highest, least, most = 0, 2, 0, 2
    elif integral:
        limits = dtypes.iinfo(kind)
        lowest, highest = limits.min, limits.max
        least, most = (0 if kind.numpy.kind == "u" else -9), 10
    else:
        bounds = dtypes.finfo(kind.to_real())
        lowest, highest, least, most = bounds.min, bounds.max, -9, 9
    low, high = least if low is None else low, most if high is None else high
    if low != low or high != high:
        raise ValueError(f"low and high must be numbers, got {low=} and {high=}")
    if low > high or low == high and (integral or kind.numpy.kind == "b"):
        raise ValueError(f"low must be less than high, got {low} and {high}")
    return max(low, lowest), min(high, highest + 1 if integral and high > highest else highest)


def _drawn(kind: Any, sizes: tuple, low: float, high: float) -> np.ndarray:
    source = random.generator.source(None)
    if kind.numpy.kind in "iub":
        return np.asarray(
            source.integers(int(np.ceil(low)), int(np.ceil(high)), sizes, np.int64 if low < 0 else np.uint64)
        )
    parts = [low / 2 + source.random(sizes) * (high / 2 - low / 2) for _ in range(2 if kind.is_complex else 1)]
    return np.asarray(2 * parts[0] if len(parts) == 1 else 2 * (parts[0] + 1j * parts[1]))
