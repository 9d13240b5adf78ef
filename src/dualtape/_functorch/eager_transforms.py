"""Helpers for functions of chosen arguments, and unit vectors for Jacobians."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from .._tensor.tensor import Tensor, wrap
from ..arrays import zeros
from ..func import scope

__all__: list[str] = []


def _validate_and_wrap_argnum(argnum: Any, num_args: int) -> int:
    """The place of an argument, counted from the front."""
    return scope.check_argnums(argnum, num_args)[0]


def _validate_and_wrap_argnums(argnums: Any, num_args: int) -> Any:
    """The nonnegative positions of arguments: one, or a tuple of them."""
    places = scope.check_argnums(argnums, num_args)
    return places if isinstance(argnums, tuple) else places[0]


def _slice_argnums(args: tuple, argnums: Any, as_tuple: bool = True) -> Any:
    """The chosen arguments."""
    places = _validate_and_wrap_argnums(argnums, len(args))
    if isinstance(places, tuple):
        return tuple(args[n] for n in places)
    return (args[places],) if as_tuple else args[places]


def _construct_standard_basis_for(tensors: Sequence[Tensor], tensor_numels: Sequence[int]) -> tuple[Tensor, ...]:
    """The unit vectors of the space of several tensors: for each tensor its part of all of them."""
    return next(_chunked_standard_basis_for_(tensors, tensor_numels))


def _chunked_standard_basis_for_(
    tensors: Sequence[Tensor], tensor_numels: Sequence[int], chunk_size: int | None = None
) -> Iterator[tuple[Tensor, ...]]:
    """The same, at most ``chunk_size`` of them at a time."""
    if len(tensors) != len(tensor_numels):
        raise AssertionError(f"{len(tensors)} tensors and {len(tensor_numels)} numbers of elements: one for each")
    if not tensors:
        raise AssertionError("there must be a tensor to have unit vectors of")
    if chunk_size is not None and chunk_size < 1:
        raise AssertionError(f"chunk_size must be positive, got {chunk_size}")
    total = sum(tensor_numels)
    offsets = np.cumsum([0, *tensor_numels])
    size = max(total, 1) if chunk_size is None else chunk_size
    for start in range(0, max(total, 1), size):
        rows = min(size, total - start)
        parts = []
        for tensor, numel, offset in zip(tensors, tensor_numels, offsets, strict=False):
            units = zeros((rows, numel), tensor._array.dtype, tensor._array)
            for row in range(max(offset - start, 0), min(offset + numel - start, rows)):
                units[row, start + row - offset] = 1
            parts.append(wrap(units.reshape(rows, *tensor.shape)))
        yield tuple(parts)
