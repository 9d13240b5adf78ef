"""Fit a gradient to its input: sum over broadcast axes, drop an imaginary part, cast.

The engine does this at every edge, so that formulas need not handle broadcasting or mixed dtypes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from .. import errors
from ..arrays.bfloat16_dtype import cast
from ..arrays.kernels.basics import add_reduce
from ..arrays.kernels.sums import sum_axis, sum_point
from .other_gradients import raw_gradient

if TYPE_CHECKING:
    from .node import Node


class AnyDtype:
    """Stands for the dtype of a leaf's gradient where ``grad_dtype`` is None: it arrives in the one it has.

    A real leaf still takes the real part of a complex gradient, and no gradient is an integer.
    """

    __slots__ = ("kind",)

    def __init__(self, kind: str) -> None:
        self.kind = kind

    def chosen(self, dtype: Any, source: Any) -> Any:
        """The dtype in which a gradient of ``dtype`` arrives that ``source``, a node or a hook, has computed."""
        if dtype.kind not in "fc":
            name = source._title() if hasattr(source, "_title") else f"hook '{source!r}'"
            raise RuntimeError(
                f"{name} returned a gradient of {dtype}: a gradient must be of a floating or complex dtype"
            )
        return np.empty(0, dtype).real.dtype if dtype.kind == "c" != self.kind else dtype


ANY_REAL, ANY_COMPLEX = AnyDtype("f"), AnyDtype("c")


def fit(grad: Any, meta: tuple, node: Node) -> Any:
    """Return a raw gradient with the shape and dtype of ``meta``."""
    shape, dtype = meta
    if type(grad) is np.ndarray:
        if grad.shape != shape:
            grad = _summed(grad, shape, node)
    elif hasattr(grad, "_array"):  # a gradient that is no array
        return raw_gradient(fit_recorded(grad, meta, node))
    elif grad.shape != shape:
        grad = sum_to(grad, shape, node)
    if type(dtype) is AnyDtype:
        dtype = dtype.chosen(grad.dtype, node)
    if grad.dtype is not dtype and grad.dtype != dtype:
        if grad.dtype.kind == "c" and dtype.kind != "c":
            grad = grad.real
        grad = cast(grad, dtype)
    return grad


# (from shape, to shape): the axes to sum over, and whether the result needs to be reshaped.
_ways: dict[tuple, tuple] = {}


def _summed(grad: np.ndarray, shape: tuple, node: Node) -> Any:
    """Return ``sum_to(grad, shape)`` for NumPy's arrays; the axes for a pair of shapes are cached."""
    way = _ways.get((grad.shape, shape))
    if way is None:
        axes = _axes(grad, shape, node)
        kept = tuple(n for i, n in enumerate(grad.shape) if i not in axes)
        if len(_ways) > 4096:
            _ways.clear()
        way = _ways[grad.shape, shape] = (axes, len(axes) == grad.ndim, kept != shape)
    axes, whole, reshaped = way
    if whole:
        grad = sum_point(grad)
    elif len(axes) == 1:
        grad = sum_axis(grad, axes[0])
    else:
        grad = np.add.reduce(grad, axes)
    return grad.reshape(shape) if reshaped else grad


def fit_recorded(grad: Any, meta: tuple, node: Any) -> Any:
    """Return a gradient tensor with the shape and dtype of ``meta``; the ops are recorded."""
    shape, dtype = meta
    array = grad._array
    if array.shape != shape:
        grad = sum_to(grad, shape, node)
        array = grad._array
    if type(dtype) is AnyDtype:
        dtype = dtype.chosen(array.dtype, node)
    if array.dtype != dtype:
        if array.dtype.kind == "c" and dtype.kind != "c":
            grad = grad.real
        grad = grad.to(dtype)
    return grad


def sum_to(grad: Any, shape: tuple, node: Any) -> Any:
    """Return ``grad`` summed over the axes along which ``shape`` was broadcast."""
    return add_reduce(grad, axis=_axes(grad, shape, node), keepdims=True).reshape(shape)


def _axes(grad: Any, shape: tuple, node: Any) -> tuple[int, ...]:
    """Return the axes along which ``shape`` was broadcast to the shape of ``grad``."""
    lead = len(grad.shape) - len(shape)
    aligned = (1,) * lead + tuple(shape)
    if lead < 0 or any(n != m and n != 1 for n, m in zip(aligned, grad.shape, strict=True)):
        raise errors.formula_shape(node._title(), 0, tuple(grad.shape), tuple(shape))
    return tuple(i for i, (n, m) in enumerate(zip(aligned, grad.shape, strict=True)) if i < lead or n != m)
