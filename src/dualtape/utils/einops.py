"""``dualtape.utils.einops``: the package einops, told of dualtape's tensors.

einops asks the libraries it knows whose a tensor is, and knows those that have a class of its own kind. Importing this
module makes one: from then on einops's functions take tensors, also where other libraries call them, and what they give
has history.

Examples
--------
>>> import dualtape as dt
>>> from dualtape.utils.einops import rearrange, reduce
>>> x = dt.arange(6.0).reshape(2, 3).requires_grad_()
>>> rearrange(x, "a b -> (b a)")
tensor([0., 3., 1., 4., 2., 5.], grad_fn=<...>)
>>> reduce(x, "a b -> a", "max").tolist()
[2.0, 5.0]
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .._listing import listing
from .._tensor import creation, shaped
from .._tensor.tensor import Tensor
from ..ops import FUNCTIONS, load

try:
    from einops import asnumpy, einsum, pack, parse_shape, rearrange, reduce, repeat, unpack
    from einops._backends import AbstractBackend
except ModuleNotFoundError as error:
    raise ModuleNotFoundError("dualtape.utils.einops needs the package einops: pip install einops") from error

__all__ = ["asnumpy", "einsum", "pack", "parse_shape", "rearrange", "reduce", "repeat", "unpack"]

_REDUCTIONS = {"min": "amin", "max": "amax"}


class DualtapeBackend(AbstractBackend):
    """The interface that einops asks of a library, implemented by ops."""

    framework_name = "dualtape"

    def is_appropriate_type(self, tensor: Any) -> bool:
        return isinstance(tensor, Tensor)

    def from_numpy(self, x: Any) -> Tensor:
        return creation.from_numpy(x)

    def to_numpy(self, x: Tensor) -> Any:
        return x.detach().numpy()

    def arange(self, start: int, stop: int) -> Tensor:
        return shaped.arange(start, stop)

    def shape(self, x: Tensor) -> tuple[int, ...]:
        return tuple(x.shape)

    def reshape(self, x: Tensor, shape: Sequence[int]) -> Tensor:
        return x.reshape(tuple(shape))

    def transpose(self, x: Tensor, axes: Sequence[int]) -> Tensor:
        return x.permute(tuple(axes))

    def reduce(self, x: Tensor, operation: str, axes: Sequence[int]) -> Tensor:
        if operation == "prod":  # which takes one at a time
            for axis in sorted(axes, reverse=True):
                x = x.prod(axis)
            return x
        return getattr(x, _REDUCTIONS.get(operation, operation))(tuple(axes))

    def stack_on_zeroth_dimension(self, tensors: list) -> Tensor:
        return FUNCTIONS["stack"](tensors)

    def add_axis(self, x: Tensor, new_position: int) -> Tensor:
        return x.unsqueeze(new_position)

    def add_axes(self, x: Tensor, n_axes: int, pos2len: dict[int, int]) -> Tensor:
        sizes = [-1] * n_axes
        for position, length in pos2len.items():
            x = x.unsqueeze(position)
            sizes[position] = length
        return x.expand(sizes)

    def tile(self, x: Tensor, repeats: Sequence[int]) -> Tensor:
        return x.repeat(tuple(repeats))

    def concat(self, tensors: list, axis: int) -> Tensor:
        return FUNCTIONS["cat"](tensors, axis)

    def is_float_type(self, x: Tensor) -> bool:
        return x.is_floating_point()

    def einsum(self, pattern: str, *x: Tensor) -> Tensor:
        load("einsum")
        return FUNCTIONS["einsum"](pattern, *x)


__dir__ = listing(__name__)
