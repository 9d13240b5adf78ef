"""What filters share: axes, values beyond the border, windows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..._tensor.tensor import wrap
from .._arguments import plain
from .._tensors import axes_of, floating

PADS: dict[str, Any] = {
    "reflect": "symmetric",
    "grid-mirror": "symmetric",
    "mirror": "reflect",
    "nearest": "edge",
    "wrap": "wrap",
    "grid-wrap": "wrap",
    "constant": "constant",
    "grid-constant": "constant",
}


def image(value: Any, output: Any = None) -> Any:
    """Return an input as a tensor; SciPy's ``output`` may be a dtype."""
    if output is not None and not isinstance(output, (str, type, np.dtype)):
        raise TypeError("filters on tensors take no array for output=, only a dtype")
    x = floating(value)
    return x if output is None else x.to(np.dtype(output))


def per_axis(value: Any, count: int) -> list:
    """Return one value for each axis, of one for all or of a sequence."""
    if isinstance(value, (str, int, float)) or value is None or (not hasattr(value, "__len__")) or np.ndim(value) == 0:
        return [value] * count
    found = [value[k] for k in range(len(value))]
    if len(found) != count:
        raise RuntimeError("sequence argument must have length equal to input rank")
    return found


def chosen(axes: Any, ndim: int) -> tuple[int, ...]:
    """Return the axes to work along."""
    return axes_of(axes, ndim)


def extended(x: Any, axis: int, before: int, after: int, mode: str, cval: Any = 0.0) -> Any:
    """Return ``x`` with values beyond both ends of an axis."""
    if mode not in PADS:
        raise RuntimeError("boundary mode not supported")
    if not before and not after:
        return x
    if PADS[mode] == "constant":
        pads = [(before, after) if d == axis else (0, 0) for d in range(x.ndim)]
        return np.pad(x, pads, constant_values=float(plain(cval)))
    size = x.shape[axis]
    index = np.pad(np.arange(size), (before, after), PADS[mode]) if size > 1 else np.zeros(before + size + after, int)
    return x[(slice(None),) * axis + (wrap(index),)]


def reach(size: int, origin: int, flipped: bool = False) -> tuple[int, int]:
    """Return how many values before and after it an output looks at."""
    before = size // 2 + origin
    if not 0 <= before < size:
        raise ValueError("invalid origin")
    return before, size - 1 - before


def windows(x: Any, axes: Sequence[int], shape: Sequence[int], origins: Sequence[int], mode: Any, cval: Any) -> Any:
    """Return the neighbourhoods of all elements, as further axes at the end."""
    modes = per_axis(mode, len(axes))
    for axis, size, origin, one in zip(axes, shape, origins, modes, strict=True):
        x = extended(x, axis, *reach(size, origin), one, cval)
    return np.lib.stride_tricks.sliding_window_view(x, tuple(shape), axis=tuple(axes))
