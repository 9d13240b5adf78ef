"""Tensors as buffers that a transport reads and writes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .._tensor.tensor import Tensor
from ..arrays import module_of
from ..arrays.bfloat16_dtype import BFLOAT16
from ..autograd.versions import bump_after

__all__ = ["check_tensor", "check_tensors", "count_write", "memory", "pack", "unpack"]


def check_tensor(name: str, argument: str, value: Any, dense: bool = True) -> Tensor:
    """Return ``value``; raise unless it is a tensor, and with ``dense`` one with memory."""
    if not isinstance(value, Tensor):
        raise TypeError(
            f"{name}: Invalid function argument. Expected parameter `{argument}` of type dualtape.Tensor but got"
            f" {type(value).__name__}"
        )
    array = value._array
    if dense and not isinstance(array, np.ndarray) and array.dtype is not BFLOAT16 and not _foreign(array):
        raise TypeError(
            f"{name}: `{argument}` must be a dense tensor outside vmap, got one over {type(array).__name__}"
        )
    return value


def _foreign(array: Any) -> bool:
    """Return whether an array is another library's (CuPy's): the memory of this package's own kinds is not laid out as
    the array appears.
    """
    return not type(array).__module__.startswith("dualtape")


def check_tensors(
    name: str,
    argument: str,
    values: Any,
    count: int,
    like: Tensor | None = None,
    shapes: bool = True,
    dense: bool = True,
) -> list[Tensor]:
    """Return ``values``; raise unless they are ``count`` tensors of the dtype of ``like``, and of its shape."""
    if not isinstance(values, Sequence) or isinstance(values, str):
        raise TypeError(
            f"{name}: Invalid function argument. Expected parameter `{argument}` to be a list of tensors, but got"
            f" {type(values).__name__}"
        )
    if len(values) != count:
        raise ValueError(f"{name}: `{argument}` must hold a tensor for each rank: {count} expected, got {len(values)}")
    found = [check_tensor(name, argument, value, dense) for value in values]
    for k, tensor in enumerate(found):
        like = found[0] if like is None else like
        if tensor._array.dtype != like._array.dtype:
            raise ValueError(
                f"{name}: Invalid usage of tensors with different dtypes: `{argument}[{k}]` is of {tensor.dtype!r},"
                f" where {like.dtype!r} was expected"
            )
        if shapes and tensor.shape != like.shape:
            raise ValueError(
                f"{name}: invalid tensor size: `{argument}[{k}]` has shape {list(tensor.shape)}, where"
                f" {list(like.shape)} was expected"
            )
    return found


def memory(array: Any, on_host: bool, fresh: bool = False) -> Any:
    """Return the values of an array, contiguous, for the transport: the array itself if it is contiguous.

    ``fresh`` wants memory of its own.
    """
    values = array.values if array.dtype is BFLOAT16 else array
    if on_host and not isinstance(values, np.ndarray):
        return values.get()  # from the GPU
    if fresh or not values.flags.c_contiguous:
        return values.copy(order="C")
    return values


def write_back(array: Any, values: Any) -> None:
    """Copy received values into ``array``, unless they are there already; bfloat16 is rounded."""
    if values is array:
        return
    if array.dtype is not BFLOAT16 and not isinstance(array, np.ndarray):
        values = module_of(array).asarray(values)  # from the host
    array[...] = values.reshape(array.shape)


def count_write(tensors: Sequence[Tensor]) -> None:
    """Count a write to each of the tensors, so that a backward that saved them raises."""
    for tensor in tensors:
        bump_after(tensor._shared_counter)


def pack(tensors: Sequence[Tensor], on_host: bool) -> Any:
    """Return one contiguous buffer with the values of several tensors, concatenated."""
    parts = [memory(tensor._array, on_host).reshape(-1) for tensor in tensors]
    return module_of(parts[0]).concatenate(parts)


def room(tensors: Sequence[Tensor], on_host: bool) -> Any:
    """Return an uninitialised buffer for the values of several tensors."""
    first = memory(tensors[0]._array, on_host)
    return module_of(first).empty(sum(tensor._array.size for tensor in tensors), first.dtype)


def unpack(tensors: Sequence[Tensor], values: Any) -> Callable[[], None]:
    """Return a function that copies such a buffer into the tensors."""

    def finish() -> None:
        start = 0
        for tensor in tensors:
            size = tensor._array.size
            write_back(tensor._array, values[start : start + size])
            start += size

    return finish
