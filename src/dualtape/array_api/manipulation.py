"""Manipulation functions: shapes changed, arrays joined, split and repeated, elements taken by index."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import dualtape as dt

from .._tensor.tensor import Tensor
from . import types

__all__ = [
    "broadcast_arrays",
    "broadcast_to",
    "concat",
    "expand_dims",
    "flip",
    "moveaxis",
    "permute_dims",
    "repeat",
    "reshape",
    "roll",
    "squeeze",
    "stack",
    "take",
    "take_along_axis",
    "tile",
    "unstack",
]


def broadcast_arrays(*arrays: Tensor) -> tuple[Tensor, ...]:
    """Views of one shape.

    Examples
    --------
    >>> import dualtape as dt
    >>> [x.shape[0] for x in dt.array_api.broadcast_arrays(dt.ones(1), dt.ones(3))]
    [3, 3]
    """
    return tuple(dt.broadcast_tensors(*arrays))


def broadcast_to(x: Tensor, /, shape: tuple[int, ...]) -> Tensor:
    """A view of a larger shape.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.array_api.broadcast_to(dt.ones(1), (2, 3)).shape
    dualtape.Size([2, 3])
    """
    return dt.broadcast_to(x, shape)


def concat(arrays: Sequence[Tensor], /, *, axis: int | None = 0) -> Tensor:
    """Arrays concatenated along an axis, or, without one, all their elements.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.array_api.concat([dt.eye(1), dt.zeros(2, 1)], axis=None)
    tensor([1., 0., 0.])
    """
    joined = types.of_one_type(*arrays)
    return dt.cat([x.flatten() for x in joined]) if axis is None else dt.cat(joined, axis)


def expand_dims(x: Tensor, /, axis: int) -> Tensor:
    """A view with a new axis of size 1.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.array_api.expand_dims(dt.ones(2), -1).shape
    dualtape.Size([2, 1])
    """
    return dt.unsqueeze(x, axis)


def flip(x: Tensor, /, *, axis: Any = None) -> Tensor:
    """Elements in reverse order along axes, or all of them.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.array_api.flip(dt.arange(3))
    tensor([2, 1, 0])
    """
    return dt.flip(x, tuple(range(x.ndim)) if axis is None else axis if isinstance(axis, tuple) else (axis,))


def moveaxis(x: Tensor, source: Any, destination: Any, /) -> Tensor:
    """A view with axes moved to other positions.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.array_api.moveaxis(dt.ones(2, 3), 0, 1).shape
    dualtape.Size([3, 2])
    """
    return dt.movedim(x, source, destination)


def permute_dims(x: Tensor, /, axes: tuple[int, ...]) -> Tensor:
    """A view with its axes in another order.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.array_api.permute_dims(dt.ones(2, 3), (1, 0)).shape
    dualtape.Size([3, 2])
    """
    return dt.permute(x, axes)


def repeat(x: Tensor, repeats: Any, /, *, axis: int | None = None) -> Tensor:
    """Each element, or each slice of an axis, repeated.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.array_api.repeat(dt.arange(2), dt.tensor([1, 2]))
    tensor([0, 1, 1])
    """
    return dt.repeat_interleave(x, repeats, axis)


def reshape(x: Tensor, /, shape: tuple[int, ...], *, copy: bool | None = None) -> Tensor:
    """The elements in another shape: a view where that can be, always with ``copy=False``, never with ``copy=True``.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.array_api.reshape(dt.arange(4), (2, -1))
    tensor([[0, 1],
            [2, 3]])
    """
    if copy:
        return dt.reshape(x.clone(), shape)
    if copy is None:
        return dt.reshape(x, shape)
    try:
        return x.view(shape)
    except RuntimeError as reason:
        raise ValueError(f"reshape needs a copy for this, drop copy=False: {reason}") from None


def roll(x: Tensor, /, shift: Any, *, axis: Any = None) -> Tensor:
    """Elements shifted along axes, those at the end to the beginning.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.array_api.roll(dt.arange(3), 1)
    tensor([2, 0, 1])
    """
    if isinstance(axis, tuple) and isinstance(shift, int):
        shift = (shift,) * len(axis)
    return dt.roll(x, shift) if axis is None else dt.roll(x, shift, axis)


def squeeze(x: Tensor, /, axis: Any) -> Tensor:
    """A view without axes, which must be of size 1.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.array_api.squeeze(dt.ones(1, 2), 0).shape
    dualtape.Size([2])
    """
    axes = axis if isinstance(axis, tuple) else (axis,)
    if any(x.shape[a] != 1 for a in axes):
        raise ValueError(f"squeeze takes away axes of size 1, got axis={axis} of shape {tuple(x.shape)}")
    return dt.squeeze(x, axes)


def stack(arrays: Sequence[Tensor], /, *, axis: int = 0) -> Tensor:
    """Arrays of one shape along a new axis.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.array_api.stack([dt.zeros(2), dt.ones(2)], axis=-1).shape
    dualtape.Size([2, 2])
    """
    return dt.stack(types.of_one_type(*arrays), axis)


def take(x: Tensor, indices: Tensor, /, *, axis: int | None = None) -> Tensor:
    """Slices of an axis, by index.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.array_api.take(dt.arange(4) * 10, dt.tensor([3, 0]))
    tensor([30,  0])
    """
    if axis is None:
        if x.ndim != 1:
            raise ValueError(f"take needs an axis of an array of shape {tuple(x.shape)}: only 1-d arrays have just one")
        axis = 0
    return x[(slice(None),) * (axis + x.ndim if axis < 0 else axis) + (indices,)]


def take_along_axis(x: Tensor, indices: Tensor, /, *, axis: int = -1) -> Tensor:
    """Elements by their indices along an axis.

    Examples
    --------
    >>> import dualtape as dt
    >>> x = dt.tensor([[3, 1, 2]])
    >>> dt.array_api.take_along_axis(x, dt.array_api.argsort(x))
    tensor([[1, 2, 3]])
    """
    indices = indices.to(dt.int64)
    return dt.take_along_dim(x, dt.where(indices < 0, indices + x.shape[axis], indices), axis)


def tile(x: Tensor, repetitions: tuple[int, ...], /) -> Tensor:
    """Copies of an array beside one another.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.array_api.tile(dt.arange(2), (2,))
    tensor([0, 1, 0, 1])
    """
    return dt.tile(x, repetitions)


def unstack(x: Tensor, /, *, axis: int = 0) -> tuple[Tensor, ...]:
    """The slices of an axis.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.array_api.unstack(dt.arange(2))
    (tensor(0), tensor(1))
    """
    return tuple(dt.unbind(x, axis))
