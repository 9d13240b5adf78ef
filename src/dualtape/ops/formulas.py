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
from ..arrays.bfloat16_dtype import cast
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


def in_dtype_of(value: Any, g: Any) -> Any:
    """A real argument in the dtype of ``g``, as the forward saw it: arguments come to formulas as they were given, and
    NumPy's logarithm of 8-bit integers, say, has half precision.
    """
    if value is True or value is False:
        return float(value)
    kind = getattr(getattr(value, "dtype", None), "kind", "")
    if kind not in "biuf" or not kind or value.dtype == g.dtype or g.dtype.kind != "f":
        return value
    return value.to(g.dtype) if isinstance(value, Tensor) else cast(value, g.dtype)


def times(factor: Any, value: Any) -> Any:
    """``value`` times a number; integers stay integers, as in PyTorch."""
    if factor == 1:
        return value
    return value * (int(factor) if value.dtype.kind in "iu" else factor)


def times_checked(name: str, alpha: Any, value: Any) -> Any:
    """``value`` times a number, the argument ``name``; raises RuntimeError if ``value``'s dtype has no place for it."""
    if type(alpha) is int and alpha == 1:
        return value
    kind = value.dtype.kind
    if isinstance(alpha, (bool, np.bool_)) and kind != "b":
        raise RuntimeError(f"Boolean {name} only supported for Boolean results, got {name}={alpha}")
    if isinstance(alpha, (float, np.floating)) and kind in "biu":
        raise RuntimeError(
            f"For integral input tensors, argument {name} must not be a floating point number, got {alpha}"
        )
    if isinstance(alpha, (complex, np.complexfloating)) and kind != "c":
        raise RuntimeError(f"For non-complex input tensors, argument {name} must not be a complex number, got {alpha}")
    return value * (bool(alpha) if kind == "b" else alpha)


def normal_dims(dim: Any, ndim: int) -> tuple[int, ...]:
    """``dim`` (None, an int or several) as a tuple of axes from 0 up; raises IndexError out of range."""
    if dim is None:
        return tuple(range(ndim))
    dims = tuple(dim) if isinstance(dim, (tuple, list)) else (dim if isinstance(dim, bool) else index(dim),)
    return tuple(normal_dim(d, ndim) for d in dims) if dims else tuple(range(ndim))


def is_whole(value: Any) -> bool:
    """Whether ``value`` is one integer: Python's, NumPy's, or that of a 0-d tensor."""
    return isinstance(value, int) or hasattr(value, "__index__") and not getattr(value, "ndim", 1)


def _as_dim(dim: Any) -> int:
    if dim is True or dim is False:
        raise TypeError(f"argument 'dim' must be int, not bool: got {dim}, did you mean keepdim={dim}?")
    if not hasattr(dim, "__index__"):
        raise TypeError(f"argument 'dim' must be int, not {type(dim).__name__}")
    return index(dim)


def normal_dim(dim: int, ndim: int) -> int:
    """``dim`` counted from the front; a 0-d tensor counts as having one dimension."""
    bound = max(ndim, 1)
    if type(dim) is not int:
        dim = _as_dim(dim)
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
