"""Arrays made from shapes, numbers and other things, under the standard's names."""

from __future__ import annotations

from typing import Any

import dualtape as dt

from .._tensor.tensor import Tensor
from ..ops.numpy_entries.registry import tensor

__all__ = [
    "arange",
    "asarray",
    "empty",
    "empty_like",
    "eye",
    "from_dlpack",
    "full",
    "full_like",
    "linspace",
    "meshgrid",
    "ones",
    "ones_like",
    "tril",
    "triu",
    "zeros",
    "zeros_like",
]


def _holds_tensors(obj: Any) -> bool:
    return isinstance(obj, (list, tuple)) and any(isinstance(x, Tensor) or _holds_tensors(x) for x in obj)


def asarray(obj: Any, /, *, dtype: Any = None, device: Any = None, copy: bool | None = None) -> Tensor:
    """``obj`` as a tensor; of tensors in a list, with their history.

    Examples
    --------
    >>> import dualtape as dt
    >>> x = dt.ones(2, requires_grad=True)
    >>> dt.array_api.asarray([x[0], x[1]]).requires_grad
    True
    """
    if _holds_tensors(obj):
        if copy is False:
            raise ValueError("asarray cannot alias a list of tensors: drop copy=False")
        return tensor(obj).to(device=device, dtype=dtype)
    return dt.asarray(obj, dtype=dtype, device=device, copy=copy)


def arange(
    start: float, /, stop: float | None = None, step: float = 1, *, dtype: Any = None, device: Any = None
) -> Tensor:
    """Numbers from ``start`` to before ``stop``, or from 0 to before ``start`` alone.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.array_api.arange(1, 6, 2)
    tensor([1, 3, 5])
    """
    start, stop = (0, start) if stop is None else (start, stop)
    if (stop - start) * step < 0:  # which PyTorch refuses
        kind = dt.arange(start, start + step, step).dtype if dtype is None else dtype
        return dt.empty(0, dtype=kind, device=device)
    return dt.arange(start, stop, step, dtype=dtype, device=device)


def empty(shape: Any, *, dtype: Any = None, device: Any = None) -> Tensor:
    """An array of a shape, its values uninitialised.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.array_api.empty((2, 0)).shape
    dualtape.Size([2, 0])
    """
    return dt.empty(shape, dtype=dtype, device=device)


def empty_like(x: Tensor, /, *, dtype: Any = None, device: Any = None) -> Tensor:
    """An array as :func:`empty` makes it, of the shape of another.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.array_api.empty_like(dt.ones(2, 3)).shape
    dualtape.Size([2, 3])
    """
    return dt.empty_like(x, dtype=dtype, device=device)


def eye(n_rows: int, n_cols: int | None = None, /, *, k: int = 0, dtype: Any = None, device: Any = None) -> Tensor:
    """Ones on the diagonal ``k``, zeros elsewhere.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.array_api.eye(2, 3, k=1)
    tensor([[0., 1., 0.],
            [0., 0., 1.]])
    """
    n_cols = n_rows if n_cols is None else n_cols
    result = dt.zeros(n_rows, n_cols, dtype=dtype, device=device)
    if -n_rows < k < n_cols:
        result.diagonal(k).fill_(1)
    return result


def from_dlpack(x: Any, /, *, device: Any = None, copy: bool | None = None) -> Tensor:
    """A tensor over another library's memory, or a copy of it.

    Examples
    --------
    >>> import numpy as np, dualtape as dt
    >>> dt.array_api.from_dlpack(np.arange(2))
    tensor([0, 1])
    """
    return dt.from_dlpack(x, device=device, copy=copy)


def full(shape: Any, fill_value: Any, *, dtype: Any = None, device: Any = None) -> Tensor:
    """An array of a shape, every element one number.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.array_api.full(2, 3)
    tensor([3, 3])
    """
    return dt.full((shape,) if isinstance(shape, int) else shape, fill_value, dtype=dtype, device=device)


def full_like(x: Tensor, /, fill_value: Any, *, dtype: Any = None, device: Any = None) -> Tensor:
    """An array as :func:`full` makes it, of the shape and type of another.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.array_api.full_like(dt.ones(2), 3)
    tensor([3., 3.])
    """
    return dt.full_like(x, fill_value, dtype=dtype, device=device)


def linspace(
    start: complex, stop: complex, /, num: int, *, dtype: Any = None, device: Any = None, endpoint: bool = True
) -> Tensor:
    """``num`` numbers at equal distances, with or without the end.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.array_api.linspace(0, 1, 4, endpoint=False)
    tensor([0.0000, 0.2500, 0.5000, 0.7500])
    """
    if isinstance(start, complex) or isinstance(stop, complex):
        kind = dtype or dt.get_default_dtype().to_complex()
        steps = linspace(0, 1, num, dtype=dt.float64, device=device, endpoint=endpoint)
        return (start + (stop - start) * steps).to(kind)
    points = dt.linspace(start, stop, num + (not endpoint), dtype=dtype, device=device)
    return points if endpoint else points[:num].clone()


def meshgrid(*arrays: Tensor, indexing: str = "xy") -> tuple[Tensor, ...]:
    """The coordinates of a grid's points, from those of its axes.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.array_api.meshgrid(dt.arange(2), dt.arange(3))[0].shape
    dualtape.Size([3, 2])
    """
    return tuple(dt.meshgrid(*arrays, indexing=indexing)) if arrays else ()


def ones(shape: Any, *, dtype: Any = None, device: Any = None) -> Tensor:
    """An array of ones.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.array_api.ones(2, dtype=dt.int8)
    tensor([1, 1], dtype=dualtape.int8)
    """
    return dt.ones(shape, dtype=dtype, device=device)


def ones_like(x: Tensor, /, *, dtype: Any = None, device: Any = None) -> Tensor:
    """An array of ones, of the shape and type of another.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.array_api.ones_like(dt.tensor([4, 5]))
    tensor([1, 1])
    """
    return dt.ones_like(x, dtype=dtype, device=device)


def tril(x: Tensor, /, *, k: int = 0) -> Tensor:
    """What stands on and below the diagonal ``k``.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.array_api.tril(dt.ones(2, 2), k=-1)
    tensor([[0., 0.],
            [1., 0.]])
    """
    return dt.tril(x, diagonal=k)


def triu(x: Tensor, /, *, k: int = 0) -> Tensor:
    """What stands on and above the diagonal ``k``.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.array_api.triu(dt.ones(2, 2), k=1)
    tensor([[0., 1.],
            [0., 0.]])
    """
    return dt.triu(x, diagonal=k)


def zeros(shape: Any, *, dtype: Any = None, device: Any = None) -> Tensor:
    """An array of zeros.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.array_api.zeros((1, 2))
    tensor([[0., 0.]])
    """
    return dt.zeros(shape, dtype=dtype, device=device)


def zeros_like(x: Tensor, /, *, dtype: Any = None, device: Any = None) -> Tensor:
    """An array of zeros, of the shape and type of another.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.array_api.zeros_like(dt.tensor([4, 5]))
    tensor([0, 0])
    """
    return dt.zeros_like(x, dtype=dtype, device=device)
