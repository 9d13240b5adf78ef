"""Check repetition counts before NumPy multiplies them.

``np.repeat`` and ``np.tile`` multiply sizes in 64 bits without an overflow check: a product that wraps around to a
small number allocates a small array, and all repetitions are written into it and beyond.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from .basics import host

_LARGEST = 2**63 - 1


def check_tile(name: str, shape: Sequence[int], counts: Sequence[int]) -> None:
    """Raise unless the size of an array repeated along each dimension fits into 64 bits.

    Parameters
    ----------
    name : str
        The op, for errors.
    shape : sequence of int
    counts : sequence of int
        How often along each dimension, the last of both together.
    """
    for count in counts:
        _check_count(name, count)
    # zeros apart: NumPy repeats one dimension after the other, and may overflow before it comes to a zero
    if math.prod(n for n in (*shape, *counts) if n) > _LARGEST:
        raise RuntimeError(
            f"{name}: repeating shape {list(shape)} by {list(counts)} gives more elements than there are numbers: the"
            " storage size calculation overflowed; repeat it less often"
        )


def check_repeats(name: str, n: int, counts: Any) -> None:
    """Raise unless the total number of repeated entries of a dimension of size ``n`` fits into 64 bits.

    Parameters
    ----------
    name : str
        The op, for errors.
    n : int
    counts : int or array of int
        One for all, or one for each.
    """
    if isinstance(counts, int):
        _check_count(name, counts)
        total = n * counts
    else:
        numbers = np.asarray(host(counts))
        if numbers.dtype.kind not in "iu" or not numbers.size:
            return  # which NumPy refuses, or has nothing to add up
        total = int(numbers.max()) * max(n, numbers.size)
        if total > _LARGEST and numbers.size > 1:
            total = sum(map(int, numbers.ravel()))
    if total > _LARGEST:
        raise RuntimeError(
            f"{name}: {total} repetitions are more than there are numbers: the storage size calculation overflowed;"
            " repeat the entries less often"
        )


def _check_count(name: str, count: int) -> None:
    if not -_LARGEST <= count <= _LARGEST:
        raise TypeError(f"{name}: Overflow when unpacking long long: {count} repetitions; the most are {_LARGEST}")
    if count < 0:
        raise RuntimeError(
            f"{name}: Trying to create tensor with negative dimension: {count} repetitions; expected at least 0"
        )
