"""Results in the memory order that PyTorch gives them: matrices by columns, images with their channels last."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from inspect import unwrap
from typing import Any

import numpy as np

from .basics import contiguous


def in_rows(x: Any) -> Any:
    """Return ``x`` in row-major order: itself if it is already."""
    return contiguous(x) if x.ndim else x


def in_columns(x: Any) -> Any:
    """Return ``x`` with the matrices of its last two axes in column-major order, as LAPACK returns them."""
    if x.ndim < 2 or not x.size:
        return x
    if type(x) is np.ndarray:
        return x.swapaxes(-1, -2).copy().swapaxes(-1, -2)
    return np.swapaxes(contiguous(np.swapaxes(x, -1, -2)), -1, -2)


def reduces_in_rows(forward: Callable) -> Callable:
    """Return a reduction whose results lie row by row, as PyTorch's do, however its argument lies: NumPy keeps the
    argument's order.
    """

    @wraps(forward)  # whose parameters the op table reads
    def ordered(*args: Any) -> Any:
        result = forward(*args)
        if type(result) is not tuple:
            return _ordered(result)
        for each in result:
            if type(each) is not np.ndarray or not each.flags.c_contiguous:
                return tuple([_ordered(each) for each in result])
        return result

    return ordered


def _ordered(x: Any) -> Any:
    if getattr(x, "ndim", 0) < 2:
        return x
    # A traced or batched array has the memory of its values; other kinds of arrays have an order of their own.
    held = x if type(x) is np.ndarray else getattr(x, "values", None)
    return contiguous(x) if type(held) is np.ndarray and not x.flags.c_contiguous else x


def copy_in_order(x: Any) -> Any:
    """Return a copy in the memory order of ``x``; in row-major order if ``x`` is expanded."""
    strides = getattr(x, "strides", None)
    return x.copy() if strides is None or 0 in strides else x.copy(order="K")


def channels_lie_last(x: Any) -> bool:
    """Return whether images (N, C, H, W) or volumes (N, C, D, H, W) are in channels-last order, by PyTorch's rule,
    which looks at the order of the strides alone and says no where sizes of 1 leave it open.
    """
    if type(x) is not np.ndarray or x.ndim not in (4, 5) or x.flags.c_contiguous or not x.size:
        return False
    strides, least = x.strides, 0
    for d in (1, *range(x.ndim - 1, 1, -1), 0):
        if not strides[1] or strides[d] < least or d == 0 and least == strides[1]:
            return False
        least = strides[d] * x.shape[d]
    return True


def with_channels_last(x: Any) -> Any:
    """Return ``x`` with the same values, its second axis innermost in memory."""
    return np.moveaxis(contiguous(np.moveaxis(x, 1, -1)), -1, 1)


def keeps_channels_last(forward: Callable) -> Callable:
    """Return ``forward`` of images so that its results have the channels last in memory if the images have."""

    @wraps(unwrap(forward))  # whose parameters the op table reads
    def ordered(x: Any, *args: Any) -> Any:
        result = forward(x, *args)
        if type(x) is np.ndarray and x.flags.c_contiguous or not channels_lie_last(x):
            return result
        if isinstance(result, tuple):
            return tuple([with_channels_last(each) if each.ndim == x.ndim else each for each in result])
        return with_channels_last(result) if result.ndim == x.ndim else result

    return ordered
