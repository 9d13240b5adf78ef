"""Reductions: sums, products, extremes, moments, truth of all or any elements; along one axis, several, none or all."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import dualtape as dt

from .._tensor.tensor import Tensor

__all__ = [
    "all",
    "any",
    "count_nonzero",
    "cumulative_prod",
    "cumulative_sum",
    "diff",
    "max",
    "mean",
    "min",
    "prod",
    "std",
    "sum",
    "var",
]


def _reduced(op: Callable, x: Tensor, axis: Any, keepdims: bool, **more: Any) -> Tensor:
    if axis is None and not keepdims:
        return op(x, **more)
    axes = tuple(range(x.ndim)) if axis is None else axis if isinstance(axis, tuple) else (axis,)
    # Without an axis, each element is a result of its own; PyTorch takes () for all axes.
    if not axes:
        return op(x.unsqueeze(-1), -1, **more)
    return op(x, axes, keepdim=keepdims, **more)


def _of_sums(x: Tensor, dtype: Any) -> Any:
    """Return the dtype of sums of ``x``: of integers, the widest with their sign."""
    if dtype is not None or x.dtype.kind in "fc":
        return dtype
    return dt.uint64 if x.dtype.kind == "u" else dt.int64


def _product(x: Tensor, axes: Any = None, keepdim: bool = False, dtype: Any = None) -> Tensor:
    if axes is None:
        return dt.prod(x, dtype=dtype)
    axes = sorted({a % x.ndim for a in (axes if isinstance(axes, tuple) else (axes,))})
    for a in reversed(axes):
        x = dt.prod(x, a, keepdim=keepdim, dtype=dtype)
    return x


def _free(result: Tensor) -> Tensor:
    """Return a result that no node refers to: array API libraries write into results."""
    return result.clone() if result.requires_grad else result


def all(x: Tensor, /, *, axis: Any = None, keepdims: bool = False) -> Tensor:
    """Whether all elements are nonzero.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.array_api.all(dt.tensor([[1, 0], [1, 1]]), axis=1)
    tensor([False,  True])
    """
    return _reduced(dt.all, x.to(dt.bool), axis, keepdims)


def any(x: Tensor, /, *, axis: Any = None, keepdims: bool = False) -> Tensor:
    """Whether any element is nonzero.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.array_api.any(dt.tensor([[1, 0], [0, 0]]), axis=1)
    tensor([ True, False])
    """
    return _reduced(dt.any, x.to(dt.bool), axis, keepdims)


def count_nonzero(x: Tensor, /, *, axis: Any = None, keepdims: bool = False) -> Tensor:
    """The number of nonzero elements.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.array_api.count_nonzero(dt.tensor([1, 0, 2]))
    tensor(2)
    """
    return _reduced(dt.sum, x != 0, axis, keepdims)


def max(x: Tensor, /, *, axis: Any = None, keepdims: bool = False) -> Tensor:
    """The largest element.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.array_api.max(dt.tensor([[1, 3], [2, 0]]), axis=0)
    tensor([2, 3])
    """
    return _free(_reduced(dt.amax, x, axis, keepdims))


def min(x: Tensor, /, *, axis: Any = None, keepdims: bool = False) -> Tensor:
    """The smallest element.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.array_api.min(dt.tensor([[1, 3], [2, 0]]), axis=0)
    tensor([1, 0])
    """
    return _free(_reduced(dt.amin, x, axis, keepdims))


def mean(x: Tensor, /, *, axis: Any = None, keepdims: bool = False) -> Tensor:
    """The mean of the elements.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.array_api.mean(dt.tensor([1.0, 3.0]))
    tensor(2.)
    """
    return _reduced(dt.mean, x, axis, keepdims)


def prod(x: Tensor, /, *, axis: Any = None, dtype: Any = None, keepdims: bool = False) -> Tensor:
    """The product of the elements.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.array_api.prod(dt.tensor([[2, 3], [4, 5]]), axis=(0, 1))
    tensor(120)
    """
    return _reduced(_product, x, axis, keepdims, dtype=_of_sums(x, dtype))


def std(x: Tensor, /, *, axis: Any = None, correction: float = 0.0, keepdims: bool = False) -> Tensor:
    """The standard deviation.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.array_api.std(dt.tensor([1.0, 3.0]))
    tensor(1.)
    """
    return _reduced(dt.std, x, axis, keepdims, correction=correction)


def sum(x: Tensor, /, *, axis: Any = None, dtype: Any = None, keepdims: bool = False) -> Tensor:
    """The sum of the elements; of unsigned integers, unsigned.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.array_api.sum(dt.ones(2, dtype=dt.uint8))
    tensor(2, dtype=dualtape.uint64)
    """
    kind = _of_sums(x, dtype)
    return _reduced(dt.sum, x, axis, keepdims) if kind is None else _reduced(dt.sum, x, axis, keepdims, dtype=kind)


def var(x: Tensor, /, *, axis: Any = None, correction: float = 0.0, keepdims: bool = False) -> Tensor:
    """The variance; ``correction`` is what is subtracted from the number of elements.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.array_api.var(dt.tensor([1.0, 3.0]), correction=1)
    tensor(2.)
    """
    return _reduced(dt.var, x, axis, keepdims, correction=correction)


def _cumulative(op: Callable, first: int, x: Tensor, axis: int | None, dtype: Any, include_initial: bool) -> Tensor:
    if axis is None:
        if x.ndim > 1:
            raise ValueError(f"axis is needed for an array of shape {tuple(x.shape)}: only 1-d arrays have just one")
        axis = 0
    result = op(x, axis, dtype=_of_sums(x, dtype))
    if not include_initial:
        return result
    shape = list(result.shape)
    shape[axis] = 1
    return dt.cat([dt.full(shape, first, dtype=result.dtype, device=result.device), result], axis)


def cumulative_sum(
    x: Tensor, /, *, axis: int | None = None, dtype: Any = None, include_initial: bool = False
) -> Tensor:
    """Running sums; ``include_initial`` prepends the sum of no elements.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.array_api.cumulative_sum(dt.tensor([1, 2, 3]), include_initial=True)
    tensor([0, 1, 3, 6])
    """
    return _cumulative(dt.cumsum, 0, x, axis, dtype, include_initial)


def cumulative_prod(
    x: Tensor, /, *, axis: int | None = None, dtype: Any = None, include_initial: bool = False
) -> Tensor:
    """Running products; ``include_initial`` prepends the product of no elements.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.array_api.cumulative_prod(dt.tensor([1, 2, 3]))
    tensor([1, 2, 6])
    """
    return _cumulative(dt.cumprod, 1, x, axis, dtype, include_initial)


def diff(
    x: Tensor, /, *, axis: int = -1, n: int = 1, prepend: Tensor | None = None, append: Tensor | None = None
) -> Tensor:
    """Differences of neighbours, applied ``n`` times.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.array_api.diff(dt.tensor([1, 4, 9]))
    tensor([3, 5])
    """
    return dt.diff(x, n, axis, prepend=prepend, append=append)
