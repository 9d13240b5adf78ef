"""Copying and pickling tensors: a leaf with its values, flags and attributes, and tensors over one memory together.

A deep copy needs to know what a tensor is, so a tensor with history refuses; a pickle holds values, and loads as a
leaf.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import warn
from .creation import as_class
from .tensor import Tensor, wrap

if TYPE_CHECKING:
    from .._typing import Array


def shallow(tensor: Tensor) -> Tensor:
    """Return another leaf over the same memory, with the same attributes."""
    new = _made(type(tensor), tensor._array, tensor.requires_grad)
    new._shared_counter = tensor._shared_counter
    new.__dict__.update(tensor.__dict__)
    return new


def deepcopy(tensor: Tensor, memo: dict) -> Tensor:
    """Return a deep copy of a leaf: its own memory, gradient and attributes."""
    return copied_leaf(tensor, memo, lambda: _made(type(tensor), _copied(tensor._array, memo), tensor._requires_grad))


def copied_leaf(tensor: Any, memo: dict, make: Callable[[], Any]) -> Any:
    """Return the deep copy of a leaf of any layout: the result of ``make``, with copies of its gradient and attributes.

    ``make`` copies the values alone; the attributes it sets itself are kept.
    """
    if not tensor.is_leaf:
        raise RuntimeError(
            "Only Tensors created explicitly by the user (graph leaves) support the deepcopy protocol at the moment:"
            " this one was"
            f" computed by {tensor.grad_fn.name()}; copy tensor.detach()"
        )
    if id(tensor) in memo:
        return memo[id(tensor)]
    new = make()
    memo[id(tensor)] = new
    if tensor._grad is not None:
        new._grad = copy.deepcopy(tensor._grad, memo)
    own = {name: value for name, value in tensor.__dict__.items() if name not in new.__dict__}
    new.__dict__.update(copy.deepcopy(own, memo))
    return new


def owner_of(array: Array) -> Any:
    """Return the array that owns the memory of ``array``: itself, if no other is known."""
    owner = array
    while isinstance(owner, np.ndarray) and owner.base is not None:
        # as_strided puts an object between
        base = owner.base if isinstance(owner.base, np.ndarray) else getattr(owner.base, "base", None)
        if not isinstance(base, np.ndarray):
            break
        owner = base
    known = isinstance(owner, np.ndarray) and not owner.dtype.hasobject
    return owner if known and (owner.flags.c_contiguous or owner.flags.f_contiguous) else array


def _copied(array: Any, memo: dict) -> Any:
    """Return a copy of the array; arrays that share memory, copied with one ``memo``, share memory again."""
    owner = owner_of(array)
    if owner is array and (not isinstance(array, np.ndarray) or not array.flags.forc or array.dtype.hasobject):
        return array.copy(order="K")
    memory = memo.get(id(owner))
    if memory is None:
        memory = memo[id(owner)] = owner.copy(order="K")
    start = array.__array_interface__["data"][0] - owner.__array_interface__["data"][0]
    flat = memory.reshape(-1, order="A").view(np.uint8)
    return np.ndarray(array.shape, array.dtype, flat, start, array.strides) if array.size else array.copy()


def reduce(tensor: Tensor) -> tuple:
    """Return the pickled form of a tensor: its values, whether it requires grad, its attributes."""
    if tensor._extra is not None and tensor._extra.hooks:
        warn("backward hooks of a tensor are not serialised: register them again after loading")
    return (_made, (type(tensor), tensor._array, tensor.requires_grad), tensor.__dict__ or None)


def _made(cls: type, array: Array, requires_grad: bool) -> Tensor:
    tensor = wrap(array)
    tensor._requires_grad = requires_grad
    if cls is Tensor:
        return tensor
    return as_class(tensor, cls)
