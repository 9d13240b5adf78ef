"""Fitting a gradient to the value it belongs to: sum over broadcast axes, drop an imaginary part, cast.

Done once, by the engine, at every edge: so that formulas need not know about broadcasting or mixed dtypes.
"""

from __future__ import annotations

from typing import Any

from .. import errors
from ..arrays.kernels import add_reduce
from .other_gradients import raw_gradient


def fit(grad: Any, meta: tuple, node: Any) -> Any:
    """A raw gradient with the (shape, dtype) of ``meta``."""
    shape, dtype = meta
    if hasattr(grad, "_array"):  # a gradient that is no array
        return raw_gradient(fit_recorded(grad, meta, node))
    if grad.shape != shape:
        grad = sum_to(grad, shape, node)
    if grad.dtype is not dtype and dtype is not None and grad.dtype != dtype:
        if grad.dtype.kind == "c" and dtype.kind != "c":
            grad = grad.real
        grad = grad.astype(dtype)
    return grad


def fit_recorded(grad: Any, meta: tuple, node: Any) -> Any:
    """The same for a gradient tensor, recorded."""
    shape, dtype = meta
    array = grad._array
    if array.shape != shape:
        grad = sum_to(grad, shape, node)
        array = grad._array
    if dtype is not None and array.dtype != dtype:
        if array.dtype.kind == "c" and dtype.kind != "c":
            grad = grad.real
        grad = grad.to(dtype)
    return grad


def sum_to(grad: Any, shape: tuple, node: Any) -> Any:
    """Sum the axes along which ``shape`` was broadcast."""
    lead = len(grad.shape) - len(shape)
    aligned = (1,) * lead + tuple(shape)
    if lead < 0 or any(n != m and n != 1 for n, m in zip(aligned, grad.shape, strict=True)):
        raise errors.formula_shape(node.name(), 0, tuple(grad.shape), tuple(shape))
    axes = tuple(i for i, (n, m) in enumerate(zip(aligned, grad.shape, strict=True)) if i < lead or n != m)
    return add_reduce(grad, axis=axes, keepdims=True).reshape(shape)
