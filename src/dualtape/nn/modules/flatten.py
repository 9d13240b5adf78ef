"""Merging several dimensions into one, and splitting one."""

from __future__ import annotations

from typing import Any

from ..._tensor.tensor import Tensor
from .module import Module

__all__ = ["Flatten", "Unflatten"]


class Flatten(Module):
    """The dimensions from ``start_dim`` to ``end_dim`` merged into one.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.nn.Flatten()(dt.ones(2, 3, 4)).shape
    dualtape.Size([2, 12])
    """

    __constants__ = ["start_dim", "end_dim"]

    def __init__(self, start_dim: int = 1, end_dim: int = -1) -> None:
        super().__init__()
        self.start_dim, self.end_dim = start_dim, end_dim

    def forward(self, input: Tensor) -> Tensor:
        return input.flatten(self.start_dim, self.end_dim)

    def extra_repr(self) -> str:
        return f"start_dim={self.start_dim}, end_dim={self.end_dim}"


class Unflatten(Module):
    """The dimension ``dim`` split into several.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.nn.Unflatten(1, (3, 4))(dt.ones(2, 12)).shape
    dualtape.Size([2, 3, 4])
    """

    __constants__ = ["dim", "unflattened_size"]

    def __init__(self, dim: int, unflattened_size: Any) -> None:
        super().__init__()
        if not isinstance(dim, int):
            raise TypeError(f"Unflatten takes the number of a dimension, got {dim!r}: named dimensions are not here")
        if not isinstance(unflattened_size, (tuple, list)):
            raise TypeError(
                f"unflattened_size must be a tuple of ints, or of pairs of a name and an int; got a"
                f" {type(unflattened_size).__name__}"
            )
        for k, size in enumerate(unflattened_size):
            if not isinstance(size, int):
                raise TypeError(
                    f"unflattened_size must be a tuple of ints, but found element of type {type(size).__name__} at pos"
                    f" {k}"
                )
        self.dim, self.unflattened_size = dim, unflattened_size

    def forward(self, input: Tensor) -> Tensor:
        return input.unflatten(self.dim, self.unflattened_size)

    def extra_repr(self) -> str:
        return f"dim={self.dim}, unflattened_size={self.unflattened_size}"
