"""Helpers of formulas: other ops as functions of any kind of argument, and small recurring expressions."""

from __future__ import annotations

from collections.abc import Callable
from operator import index
from typing import Any

import numpy as np

from .._tensor import dtypes
from .._tensor.tensor import Tensor
from ..arrays import zeros
from ..arrays.bfloat16_dtype import cast
from .table import TABLE


def use(name: str) -> Callable:
    """Return the op ``name`` for use in a formula: recorded if an argument is a tensor, on raw arrays otherwise."""

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
    """Return a real argument in the dtype of ``g``, as the forward used it: formulas get arguments as they were given,
    and NumPy's logarithm of 8-bit integers, for instance, has half precision.
    """
    if value is True or value is False:
        return float(value)
    kind = getattr(getattr(value, "dtype", None), "kind", "")
    if kind not in "biuf" or not kind or value.dtype == g.dtype or g.dtype.kind != "f":
        return value
    return value.to(g.dtype) if isinstance(value, Tensor) else cast(value, g.dtype)


def times(factor: Any, value: Any) -> Any:
    """Return ``value`` times a number; integers stay integers, as in PyTorch."""
    if factor == 1:
        return value
    kind = value.dtype.kind
    if kind in "iu":
        factor = int(factor)
        if kind == "u" and factor < 0:  # modulo the range, as PyTorch's
            factor = dtypes.number_as(factor, value.dtype)
    return value * factor


def times_checked(name: str, alpha: Any, value: Any) -> Any:
    """Return ``value`` times a number, the argument ``name``; raise RuntimeError if the dtype of ``value`` cannot hold
    that number.
    """
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
    if kind == "u" and alpha < 0:  # modulo the range, as PyTorch's
        alpha = dtypes.number_as(alpha, value.dtype)
    return value * (bool(alpha) if kind == "b" else alpha)


def normal_dims(dim: Any, ndim: int) -> tuple[int, ...]:
    """Return ``dim`` (None, an int or several) as a tuple of nonnegative axes; raise IndexError out of range."""
    if dim is None:
        return tuple(range(ndim))
    dims = tuple(dim) if isinstance(dim, (tuple, list)) else (dim if isinstance(dim, bool) else index(dim),)
    return tuple(normal_dim(d, ndim) for d in dims) if dims else tuple(range(ndim))


def is_whole(value: Any) -> bool:
    """Return whether ``value`` is one integer: Python's, NumPy's, or a 0-d tensor."""
    return isinstance(value, int) or hasattr(value, "__index__") and not getattr(value, "ndim", 1)


def _as_dim(dim: Any) -> int:
    if dim is True or dim is False:
        raise TypeError(f"argument 'dim' must be int, not bool: got {dim}, did you mean keepdim={dim}?")
    if not hasattr(dim, "__index__"):
        raise TypeError(f"argument 'dim' must be int, not {type(dim).__name__}")
    return index(dim)


def normal_dim(dim: int, ndim: int) -> int:
    """Return ``dim`` counted from the front; a 0-d tensor counts as having one dimension."""
    bound = max(ndim, 1)
    if type(dim) is not int:
        dim = _as_dim(dim)
    if not -bound <= dim < bound:
        raise IndexError(f"Dimension out of range (expected to be in range of [{-bound}, {bound - 1}], but got {dim})")
    return dim % bound


def restore(g: Any, shape: tuple, dim: Any, keepdim: bool) -> Any:
    """Return a reduced array with its reduced axes restored with length 1, ready to broadcast against ``shape``."""
    if keepdim or not shape:
        return g
    dims = normal_dims(dim, len(shape))
    return g.reshape(tuple(1 if i in dims else n for i, n in enumerate(shape)))


def spread(g: Any, shape: tuple, dim: Any, keepdim: bool) -> Any:
    """Return a reduced array broadcast back to ``shape``."""
    return np.broadcast_to(restore(g, shape, dim, keepdim), shape)


def transposed(x: Any) -> Any:
    """Return ``x`` with its last two axes exchanged."""
    return np.swapaxes(x, -1, -2)


def adjoint(x: Any) -> Any:
    """Return the conjugate transpose over the last two axes."""
    return np.swapaxes(x, -1, -2).conj()


def zeros_like_shape(shape: tuple, g: Any) -> Any:
    """Return zeros of ``shape`` with the dtype and kind of ``g``."""
    return zeros(shape, g._array.dtype if isinstance(g, Tensor) else g.dtype, g)
