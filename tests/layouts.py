"""Copies of arrays that lie in memory in other ways than their values ask for."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np


def in_c_order(array: np.ndarray) -> np.ndarray:
    return array.copy()


def in_fortran_order(array: np.ndarray) -> np.ndarray:
    return np.asfortranarray(array).copy("K")


def permuted(array: np.ndarray) -> np.ndarray:
    axes = [*range(1, array.ndim), 0][: array.ndim]
    return array.transpose(axes).copy().transpose(np.argsort(axes))


def with_gaps(array: np.ndarray) -> np.ndarray:
    return np.repeat(array, 2, axis=-1)[..., ::2] if array.ndim else array.copy()


def expanded(array: np.ndarray) -> np.ndarray:
    if array.ndim < 2 or not array.size:
        return array.copy()
    first = np.ascontiguousarray(array[:1])
    return np.lib.stride_tricks.as_strided(first, array.shape, (0, *first.strides[1:]))


LAYOUTS: tuple[Callable[[np.ndarray], np.ndarray], ...] = (in_c_order, in_fortran_order, permuted, with_gaps, expanded)
