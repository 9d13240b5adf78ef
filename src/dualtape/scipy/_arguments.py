"""A function's ``args=``: their tensors extracted and put back, and the function on plain arrays for SciPy to call."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .._tensor.tensor import Tensor
from ..modes import enable_grad
from ..pytree import tree_flatten, tree_map, tree_unflatten


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


def on_arrays(function: Callable, name: str) -> Callable:
    """Return ``function`` for SciPy to call, from arrays to arrays.

    A result with history has it from outside of args, which raises.
    """

    def call(*args: Any, **kwargs: Any) -> Any:
        # Also inside of a Function: only then does the result show where it comes from.
        with enable_grad():
            return tree_map(_bare, function(*args, **kwargs))

    def _bare(leaf: Any) -> Any:
        if not isinstance(leaf, Tensor):
            return leaf
        if leaf.requires_grad:
            raise RuntimeError(
                f"{name}: the function computes with a tensor that requires grad and is none of its arguments; pass it"
                " in args=, so that its gradient can be computed"
            )
        return np.asarray(leaf)

    return call
