"""What formulas share: other ops used as functions of whatever the formula was given, and small recurring
expressions.
"""

from __future__ import annotations

from collections.abc import Callable
from operator import index
from typing import Any

import numpy as np

from .._tensor.tensor import Tensor
from ..arrays import zeros
from .table import TABLE


def use(name: str) -> Callable:
    """The op ``name`` as a formula calls it: recorded if an argument is a tensor, on raw arrays otherwise."""

    def either(*args: Any) -> Any:
        row = TABLE[name]
        for arg in args:
            if isinstance(arg, Tensor):
                return row.function(*args)
            if type(arg) is list and any(isinstance(a, Tensor) for a in arg):
                return row.function(*args)
        return row.forward(*args)

    either.__name__ = name
    return either


def normal_dims(dim: Any, ndim: int) -> tuple[int, ...]:
    """``dim`` (None, an int or several) as a tuple of axes from 0 up; raises IndexError out of range."""
    if dim is None:
        return tuple(range(ndim))
    dims = tuple(dim) if isinstance(dim, (tuple, list)) else (index(dim),)
    return tuple(normal_dim(d, ndim) for d in dims) if dims else tuple(range(ndim))


def normal_dim(dim: int, ndim: int) -> int:
    """``dim`` counted from the front; a 0-d tensor counts as having one dimension."""
    bound = max(ndim, 1)
    if not -bound <= dim < bound:
        raise IndexError(f"Dimension out of range (expected to be in range of [{-bound}, {bound - 1}], but got {dim})")
    return dim % bound


def restore(g: Any, shape: tuple, dim: Any, keepdim: bool) -> Any:
    """A reduced array with its reduced axes put back as 1, ready to broadcast against ``shape``."""
    if keepdim or not shape:
        return g
    dims = normal_dims(dim, len(shape))
    return g.reshape(tuple(1 if i in dims else n for i, n in enumerate(shape)))


def spread(g: Any, shape: tuple, dim: Any, keepdim: bool) -> Any:
    """A reduced array broadcast back to ``shape``."""
    return np.broadcast_to(restore(g, shape, dim, keepdim), shape)


def transposed(x: Any) -> Any:
    """The last two axes exchanged."""
    return np.swapaxes(x, -1, -2)


def adjoint(x: Any) -> Any:
    """The conjugate transpose of the last two axes."""
    return np.swapaxes(x, -1, -2).conj()


def zeros_like_shape(shape: tuple, g: Any) -> Any:
    """Zeros of ``shape`` with the dtype and kind of ``g``."""
    return zeros(shape, g._array.dtype if isinstance(g, Tensor) else g.dtype, g)
