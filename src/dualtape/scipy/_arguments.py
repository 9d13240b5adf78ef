"""A function's ``args=``: their tensors extracted and put back."""

from __future__ import annotations

from typing import Any

from .._tensor.tensor import Tensor
from ..pytree import tree_flatten, tree_unflatten


class Arguments:
    """``args`` with placeholders for their tensors."""

    def __init__(self, args: tuple) -> None:
        self._leaves, self._spec = tree_flatten(tuple(args))
        self._places = [k for k, leaf in enumerate(self._leaves) if isinstance(leaf, Tensor)]
        self.tensors = [self._leaves[k] for k in self._places]

    def filled(self, values: Any) -> tuple:
        """Return the arguments with ``values`` in place of their tensors."""
        leaves = list(self._leaves)
        for place, value in zip(self._places, values, strict=True):
            leaves[place] = value
        return tree_unflatten(leaves, self._spec)

    def plain(self) -> tuple:
        """Return the arguments with arrays in place of their tensors."""
        return self.filled([plain(x) for x in self.tensors])


def plain(value: Any) -> Any:
    """Return the values of a tensor as an array; other objects unchanged."""
    return value.detach().numpy() if isinstance(value, Tensor) else value
