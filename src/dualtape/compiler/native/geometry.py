"""Memory layout of traced values: strides in elements, the order of axes, the region that a key selects.

These are properties of single values and arrays; ``lower`` and its ``rules`` make nodes from them.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np

from ...arrays.traced.tape import Value
from .ir import Unsupported, dense


def _elements(value: Value) -> tuple:
    """Return the strides in elements."""
    size = value.dtype.itemsize
    return tuple([s // size for s in value.strides])


@lru_cache(4096)
def _element_steps(shape: tuple, strides: tuple, dtype: np.dtype) -> tuple:
    """Return the strides in elements, 0 along axes of length 1."""
    size = dtype.itemsize
    return tuple([0 if n == 1 else s // size for n, s in zip(shape, strides, strict=True)])


@lru_cache(4096)
def _axes(shape: tuple, strides: tuple, dtype: np.dtype) -> list[int]:
    """Return the axes in memory order, the slowest first."""
    axes = list(range(len(shape)))
    if _element_steps(shape, strides, dtype) == dense(shape):
        return axes
    return sorted(axes, key=lambda d: (-abs(strides[d]) if shape[d] != 1 else 0, d))


def _order(value: Value) -> list[int]:
    return _axes(value.shape, value.strides, value.dtype)


def _memory_order(array: np.ndarray) -> np.ndarray:
    """Return the elements of an array that owns its memory, in memory order."""
    return (
        array
        if array.flags.c_contiguous
        else array.transpose(sorted(range(array.ndim), key=lambda d: -array.strides[d]))
    )


def _differs(flat: np.ndarray) -> bool:
    """Return whether not all elements are equal, including the sign of zero."""
    bits = np.ascontiguousarray(flat).reshape(-1).view(f"u{flat.dtype.itemsize}")
    return bool(bits[0] != bits[-1] or (bits != bits[0]).any())


def _number(number: Any, dtype: np.dtype) -> Any:
    return np.asarray(number).astype(dtype).item()


def _region(value: Value, key: Any) -> Value:
    """Return the part of ``value`` that ``key``, of numbers and slices, selects."""
    keys = key if isinstance(key, tuple) else (key,)
    if any(
        not isinstance(part, (int, np.integer, slice, type(None), type(Ellipsis))) or isinstance(part, bool)
        for part in keys
    ):
        raise Unsupported
    stand_in = np.lib.stride_tricks.as_strided(np.empty(1, np.int8), value.shape, value.strides)
    part = stand_in[(*keys, Ellipsis) if Ellipsis not in keys else keys]
    region = object.__new__(Value)
    region.shape, region.strides, region.dtype, region.memory = part.shape, part.strides, value.dtype, value.memory
    region.offset = value.offset + part.__array_interface__["data"][0] - stand_in.__array_interface__["data"][0]
    region.constant, region._array, region.scalar = None, None, False
    return region
