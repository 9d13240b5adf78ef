"""Copying and pickling tensors: a leaf with its values, flags and attributes; a tensor with history refuses."""

from __future__ import annotations

import copy
from typing import Any

from .tensor import Tensor, wrap


def deepcopy(tensor: Tensor, memo: dict) -> Tensor:
    """A deep copy of a leaf: its own memory, gradient and attributes."""
    if not tensor.is_leaf:
        raise RuntimeError(
            "Only Tensors created explicitly by the user (graph leaves) support the deepcopy protocol at the moment: this one was"
            f" computed by {tensor.grad_fn.name()}; copy tensor.detach()"  # type: ignore[union-attr]
        )
    if id(tensor) in memo:
        return memo[id(tensor)]
    new = _made(type(tensor), tensor._array.copy(order="K"), tensor._requires_grad)
    memo[id(tensor)] = new
    if tensor._grad is not None:
        new._grad = copy.deepcopy(tensor._grad, memo)
    new.__dict__.update(copy.deepcopy(tensor.__dict__, memo))
    return new


def reduce(tensor: Tensor) -> tuple:
    """How a tensor is pickled: its values, whether it requires grad, its attributes."""
    if not tensor.is_leaf:
        raise RuntimeError(
            "a Tensor with history cannot be pickled: only leaves can be serialised, pickle tensor.detach() instead"
        )
    if tensor._extra is not None and tensor._extra.hooks:
        import warnings

        warnings.warn("backward hooks of a tensor are not serialised: register them again after loading", stacklevel=3)
    return (_made, (type(tensor), tensor._array, tensor._requires_grad), tensor.__dict__ or None)


def _made(cls: type, array: Any, requires_grad: bool) -> Tensor:
    tensor = wrap(array)
    tensor._requires_grad = requires_grad
    if cls is Tensor:
        return tensor
    from .creation import as_class

    return as_class(tensor, cls)
