"""Creating tensors of a given shape: filled with one value or uninitialised, like one another, ranges, the identity,
indices of triangles.

Conversions from arrays and data are in ``creation``.
"""

from __future__ import annotations

from math import isfinite
from operator import index
from typing import TYPE_CHECKING, Any

import numpy as np

from .._typing import DeviceLike, DTypeLike
from ..arrays import Batched, as_array, is_array
from ..arrays.bfloat16_dtype import BFLOAT16, cast, made
from ..arrays.kernels.basics import in_parts
from ..errors import too_large, warn
from . import dtypes
from .creation import _finished, _long, _numpy_dtype, as_tensor, in_dtype_of, in_memory_format, plain_memory, tensor
from .device import preserve_format, strided
from .tensor import Tensor

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import SupportsIndex

    from .._typing import Array, Layout, MemoryFormat, Number

__all__ = [
    "arange",
    "empty",
    "empty_like",
    "eye",
    "full",
    "full_like",
    "linspace",
    "logspace",
    "ones",
    "ones_like",
    "scalar_tensor",
    "tril_indices",
    "triu_indices",
    "zeros",
    "zeros_like",
]

_SAFE = 6e4  # what every floating-point type holds


def _sizes(size: tuple) -> tuple[int, ...]:
    if len(size) == 1 and type(size[0]) is tuple:
        size = size[0]
    for n in size:
        if type(n) is not int or n < 0:
            break
    else:
        return size
    if len(size) == 1 and isinstance(size[0], (tuple, list)):
        size = tuple(size[0])
    elif len(size) == 1 and isinstance(size[0], bool):
        raise TypeError(f"sizes must be integers, got {size[0]!r} (bool)")
    sizes = tuple(_one_size(n) for n in size)
    for n in sizes:
        if n < 0:
            raise RuntimeError(f"Trying to create tensor with negative dimension {n}: {list(sizes)}")
    return sizes


def _one_size(n: SupportsIndex) -> int:
    try:
        return n.__index__()
    except (AttributeError, TypeError):
        raise TypeError(f"sizes must be integers, got {n!r} ({type(n).__name__})") from None


def zeros(
    *size: int | Sequence[int],
    out: Tensor | None = None,
    dtype: DTypeLike | None = None,
    layout: Layout | None = None,
    device: DeviceLike | None = None,
    requires_grad: bool = False,
    **ignored: object,
) -> Tensor:
    """Zeros of a shape.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.zeros(2, 3)
    tensor([[0., 0., 0.],
            [0., 0., 0.]])
    """
    if out is not None:
        dtype = in_dtype_of(out, dtype)
    return _finished(made(np.zeros, *_shaped(size, dtype, layout, ignored)), device, requires_grad, out)


def ones(
    *size: int | Sequence[int],
    out: Tensor | None = None,
    dtype: DTypeLike | None = None,
    layout: Layout | None = None,
    device: DeviceLike | None = None,
    requires_grad: bool = False,
    **ignored: object,
) -> Tensor:
    """Ones of a shape.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.ones((2,), dtype=dt.int64)
    tensor([1, 1])
    """
    if out is not None:
        dtype = in_dtype_of(out, dtype)
    array = made(np.empty, *_shaped(size, dtype, layout, ignored))
    array.fill(1)
    return _finished(array, device, requires_grad, out)


def empty(
    *size: int | Sequence[int],
    out: Tensor | None = None,
    dtype: DTypeLike | None = None,
    layout: Layout | None = None,
    device: DeviceLike | None = None,
    requires_grad: bool = False,
    **ignored: Any,
) -> Tensor:
    """A tensor of a shape, its values uninitialised.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.empty(2, 3).shape
    dualtape.Size([2, 3])
    """
    if out is not None:
        dtype = in_dtype_of(out, dtype)
    memory_format = ignored.pop("memory_format", None)
    array = made(np.empty, *_shaped(size, dtype, layout, ignored))
    if memory_format is not None:
        array = in_memory_format(array, "empty", memory_format)
    return _finished(array, device, requires_grad, out)


def _shaped(size: tuple, dtype: DTypeLike | None, layout: Layout | None, kwargs: dict) -> tuple:
    """Return the shape and dtype of a new array."""
    if layout is not None:
        plain_memory(layout)
    if kwargs or not size:
        size = _size_of(size, kwargs)
    return _sizes(size), dtypes.default_float() if dtype is None else dtypes.to_numpy(dtype)


def _size_of(size: tuple, kwargs: dict) -> tuple:
    """Return the sizes, also when given as ``size=``; raise for unknown keywords."""
    if "size" in kwargs:
        size = (kwargs.pop("size"),)
    elif not size:
        raise TypeError("the sizes are missing: give them as integers or as a tuple; () is the shape of a 0-d tensor")
    plain_memory(memory_format=kwargs.pop("memory_format", None))
    kwargs.pop("pin_memory", None)
    if kwargs:
        raise TypeError(f"unexpected keyword arguments: {', '.join(kwargs)}")
    return size


def full(
    size: int | Sequence[int],
    fill_value: Number | Tensor,
    *,
    out: Tensor | None = None,
    dtype: DTypeLike | None = None,
    layout: Layout | None = None,
    device: DeviceLike | None = None,
    requires_grad: bool = False,
) -> Tensor:
    """A tensor of a shape, filled with one value, whose type is the default dtype.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.full((2,), 7)
    tensor([7, 7])
    """
    if out is not None:
        dtype = in_dtype_of(out, dtype)
    if layout is not None:
        plain_memory(layout)
    if not isinstance(size, (tuple, list)):
        raise TypeError(f"full(): argument 'size' must be a tuple of integers, got {type(size).__name__}")
    if type(fill_value) is float and dtype is None and -_SAFE < fill_value < _SAFE:
        value, wanted = fill_value, dtypes.default_float()
    else:
        value = _number("full", fill_value)
        wanted = dtypes.scalar_dtype(value) if dtype is None else dtypes.to_numpy(dtype)
        value = dtypes.number_as(value, wanted)
    array = made(np.empty, _sizes((size,)), wanted)
    array.fill(value)
    return _finished(array, device, requires_grad, out)


def _number(name: str, value: object) -> Any:
    if (
        isinstance(value, Tensor)
        and value._array.ndim == 0
        or isinstance(value, (np.ndarray, np.generic))
        and not value.ndim
    ):
        value = value.item()
    if not isinstance(value, (bool, int, float, complex)):
        raise TypeError(f"{name}(): argument 'fill_value' must be a number, got {type(value).__name__}")
    return value


def _like(
    make: Callable,
    input: Tensor,
    dtype: DTypeLike | None,
    layout: Layout | None,
    device: DeviceLike | None,
    requires_grad: bool,
    order: MemoryFormat | None,
    fill: tuple = (),
) -> Tensor:
    if layout is not None:
        plain_memory(layout)
    if not isinstance(input, Tensor):
        if not is_array(input):
            raise TypeError(
                f"{make.__name__}(): argument 'input' must be a Tensor or an array, got {type(input).__name__}"
            )
        input = as_tensor(input)
    if (
        type(input._array) is np.ndarray
        and dtype is None
        and device is None
        and not fill
        and order is None
        and input._array.flags.c_contiguous
    ):
        array = (
            np.empty(input._array.shape, input._array.dtype)
            if make is not np.zeros_like
            else np.zeros(input._array.shape, input._array.dtype)
        )
        if make is np.ones_like:
            array.fill(1)
        return _finished(array, None, requires_grad)
    wanted = _numpy_dtype(dtype, input._array.dtype)
    assert wanted is not None
    values = tuple(dtypes.number_as(_number(make.__name__, value), wanted) for value in fill)
    repeated = 0 in getattr(input._array, "strides", ())  # of an expanded tensor NumPy would put the repeated axes last
    array = input._array
    if wanted is BFLOAT16 and type(array) is np.ndarray:
        array = cast(array, BFLOAT16)  # which makes arrays of its kind
    by_rows = repeated or order is not None and order is not preserve_format
    result = make(array, *values, dtype=wanted, order="C" if by_rows else "K")
    if by_rows and not repeated or order is not None:
        result = in_memory_format(result, make.__name__, order)
    return _finished(result, device if device is not None else input.device, requires_grad)


def zeros_like(
    input: Tensor,
    *,
    dtype: DTypeLike | None = None,
    layout: Layout | None = None,
    device: DeviceLike | None = None,
    requires_grad: bool = False,
    memory_format: MemoryFormat | None = None,
) -> Tensor:
    """Zeros of the shape, dtype and device of ``input``.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.zeros_like(dt.ones(2))
    tensor([0., 0.])
    """
    if layout is not None and layout is not strided and type(input) is Tensor:
        zeros: Any = _like(np.zeros_like, input, dtype, None, device, False, memory_format)
        return zeros.to_sparse(layout=layout).requires_grad_(requires_grad)
    return _like(np.zeros_like, input, dtype, layout, device, requires_grad, memory_format)


def ones_like(
    input: Tensor,
    *,
    dtype: DTypeLike | None = None,
    layout: Layout | None = None,
    device: DeviceLike | None = None,
    requires_grad: bool = False,
    memory_format: MemoryFormat | None = None,
) -> Tensor:
    """Ones of the shape, dtype and device of ``input``.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.ones_like(dt.zeros(2))
    tensor([1., 1.])
    """
    return _like(np.ones_like, input, dtype, layout, device, requires_grad, memory_format)


def empty_like(
    input: Tensor,
    *,
    dtype: DTypeLike | None = None,
    layout: Layout | None = None,
    device: DeviceLike | None = None,
    requires_grad: bool = False,
    memory_format: MemoryFormat | None = None,
) -> Tensor:
    """A tensor of the shape, dtype and device of ``input``, its values uninitialised.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.empty_like(dt.zeros(2)).shape
    dualtape.Size([2])
    """
    return _like(np.empty_like, input, dtype, layout, device, requires_grad, memory_format)


def full_like(
    input: Tensor,
    fill_value: Number | Tensor,
    *,
    dtype: DTypeLike | None = None,
    layout: Layout | None = None,
    device: DeviceLike | None = None,
    requires_grad: bool = False,
    memory_format: MemoryFormat | None = None,
) -> Tensor:
    """One value in the shape, dtype and device of ``input``.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.full_like(dt.zeros(2), 3)
    tensor([3., 3.])
    """
    return _like(np.full_like, input, dtype, layout, device, requires_grad, memory_format, (fill_value,))


_LARGEST = 2**62  # a bound up to which there is no question of fitting


def _check_length(name: str, count: float) -> None:
    """Raise if nothing has so much memory; of sizes near 2**63 NumPy makes arrays without elements."""
    if count > 2**60:
        raise RuntimeError(f"{name}: there is no memory for {count:.3g} elements")


def _ranged(array: Array, device: DeviceLike | None, requires_grad: bool, out: Tensor | None) -> Tensor:
    if out is not None and out._array.size not in (0, array.size):
        warn(f"arange: out has {out._array.size} elements, and there are {array.size} numbers: it is resized")
    return _finished(array, device, requires_grad, out)


def arange(
    start: Any = None,
    end: Any = None,
    step: Any = 1,
    *,
    out: Tensor | None = None,
    dtype: DTypeLike | None = None,
    layout: Layout | None = None,
    device: DeviceLike | None = None,
    requires_grad: bool = False,
) -> Tensor:
    """Numbers from ``start`` up to, and without, ``end``.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.arange(1, 4)
    tensor([1, 2, 3])
    """
    plain_memory(layout)
    if out is not None:
        dtype = in_dtype_of(out, dtype)
    if end is None:
        start, end = 0, start
    if end is None:
        raise TypeError("arange() takes (end), (start, end) or (start, end, step): the end is missing")
    small = -_LARGEST <= start <= end <= _LARGEST if type(start) is int and type(end) is int else False
    if small and type(step) is int and step == 1 and dtype is None:
        return _ranged(np.arange(start, end, 1, dtype=_long), device, requires_grad, out)
    start, end, step = (
        v.item() if isinstance(v, (Tensor, np.generic)) else v for v in (0 if start is None else start, end, step)
    )
    whole = all(isinstance(v, int) for v in (start, end, step))
    wanted = _numpy_dtype(dtype, dtypes.int64.numpy if whole else dtypes.default_float())
    assert wanted is not None
    if not isfinite(start) or not isfinite(end):
        raise RuntimeError(f"arange: unsupported range: {start} -> {end}")
    if wanted.kind in "iu":
        start, end, step = int(start), int(end), int(step)
        for bound in (start, end, step):
            dtypes.number_as(bound, _long)
    if step == 0:
        raise RuntimeError("arange: step must be nonzero")
    if (end - start) / step < 0:
        raise RuntimeError(
            f"arange: upper bound and lower bound inconsistent with step sign: from {start} to {end} by {step}"
        )
    _check_length("arange", (end - start) / step)
    if wanted.kind in "iu":
        return _ranged(np.arange(start, end, step, dtype=wanted), device, requires_grad, out)
    count = int(np.ceil((end - start) / step))
    values = start + step * np.arange(count, dtype=np.float64)
    return _ranged(cast(values, wanted), device, requires_grad, out)


def linspace(
    start: Any,
    end: Any,
    steps: int,
    *,
    out: Tensor | None = None,
    dtype: DTypeLike | None = None,
    layout: Layout | None = None,
    device: DeviceLike | None = None,
    requires_grad: bool = False,
) -> Tensor:
    """``steps`` equally spaced numbers from ``start`` to ``end``, both included.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.linspace(0, 1, 3)
    tensor([0.0000, 0.5000, 1.0000])
    """
    plain_memory(layout)
    if out is not None:
        dtype = in_dtype_of(out, dtype)
    steps = index(steps)
    if steps < 0:
        raise RuntimeError(f"linspace: number of steps must be non-negative, got {steps}")
    start, end = (v.item() if isinstance(v, Tensor) else v for v in (start, end))
    complex_ends = isinstance(start + end, complex)
    default = dtypes.scalar_dtype(start + end) if complex_ends else dtypes.default_float()
    if complex_ends or steps < 2:
        values = np.linspace(start, end, steps)
    else:  # as np.linspace does it, without its questions
        values = np.arange(steps, dtype=np.float64)
        values *= (end - start) / (steps - 1)
        values += start
        values[-1] = end
    return _finished(cast(values, _numpy_dtype(dtype, default)), device, requires_grad, out)


def logspace(
    start: float,
    end: float,
    steps: int,
    base: float = 10.0,
    *,
    out: Tensor | None = None,
    dtype: DTypeLike | None = None,
    layout: Layout | None = None,
    device: DeviceLike | None = None,
    requires_grad: bool = False,
) -> Tensor:
    """``steps`` numbers from ``base ** start`` to ``base ** end``, equally spaced on a logarithmic scale.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.logspace(0, 2, 3)
    tensor([  1.,  10., 100.])
    """
    plain_memory(layout)
    if out is not None:
        dtype = in_dtype_of(out, dtype)
    if steps < 0:
        raise RuntimeError(f"logspace: number of steps must be non-negative, got {steps}")
    start, end = (v.item() if isinstance(v, Tensor) else v for v in (start, end))
    if isinstance(base, complex):
        raise TypeError("logspace(): argument 'base' must be a real number, got complex")
    complex_ends = isinstance(start + end, complex)
    default = dtypes.scalar_dtype(start + end) if complex_ends else dtypes.default_float()
    powers = np.power(complex(base) if complex_ends and base < 0 else base, np.linspace(start, end, steps))
    result = cast(powers, _numpy_dtype(dtype, default))
    return _finished(result, device, requires_grad, out)


def eye(
    n: int,
    m: int | None = None,
    *,
    out: Tensor | None = None,
    dtype: DTypeLike | None = None,
    layout: Layout | None = None,
    device: DeviceLike | None = None,
    requires_grad: bool = False,
) -> Tensor:
    """Ones on the diagonal, zeros elsewhere.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.eye(2)
    tensor([[1., 0.],
            [0., 1.]])
    """
    plain_memory(layout)
    if out is not None:
        dtype = in_dtype_of(out, dtype)
    for size in (n, m):
        if size is not None and size < 0:
            raise RuntimeError(f"eye: sizes must be greater or equal to 0, got {size}")
        _check_length("eye", size or 0)
    return _finished(cast(np.eye(n, m), _numpy_dtype(dtype, dtypes.default_float())), device, requires_grad, out)


def scalar_tensor(
    s: Number | Tensor, *, dtype: DTypeLike | None = None, device: DeviceLike | None = None, requires_grad: bool = False
) -> Tensor:
    """A 0-d tensor of one number.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.scalar_tensor(3)
    tensor(3.)
    """
    wanted = _numpy_dtype(dtype, dtypes.default_float())
    assert wanted is not None
    return _finished(as_array(dtypes.number_as(_number("scalar_tensor", s), wanted)), device, requires_grad)


def _check_sides(row: int, col: int) -> None:
    if row < 0 or col < 0:
        raise RuntimeError(f"row and col must be non-negative, got {row} and {col}")
    _check_length("tril_indices, triu_indices", max(row, col))


def tril_indices(
    row: int, col: int, offset: int = 0, *, dtype: DTypeLike | None = None, device: DeviceLike | None = None
) -> Tensor:
    """The row and column indices of the lower triangle.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.tril_indices(2, 2)
    tensor([[0, 1, 1],
            [0, 0, 1]])
    """
    _check_sides(row, col)
    return _finished(
        np.stack(np.tril_indices(row, offset, col)).astype(_numpy_dtype(dtype, dtypes.int64.numpy)), device, False
    )


def triu_indices(
    row: int, col: int, offset: int = 0, *, dtype: DTypeLike | None = None, device: DeviceLike | None = None
) -> Tensor:
    """The row and column indices of the upper triangle.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.triu_indices(2, 2)
    tensor([[0, 0, 1],
            [0, 1, 1]])
    """
    _check_sides(row, col)
    return _finished(
        np.stack(np.triu_indices(row, offset, col)).astype(_numpy_dtype(dtype, dtypes.int64.numpy)), device, False
    )


def _new_method(function: Callable) -> Any:
    def method(
        self: Tensor, *args: Any, dtype: DTypeLike | None = None, device: DeviceLike | None = None, **kwargs: Any
    ) -> Tensor:
        try:
            result = function(*args, dtype=dtype or self.dtype, device=device or self.device, **kwargs)
        except (MemoryError, ValueError) as error:
            raise too_large(method.__name__, error) from None
        if type(self._array) is Batched and function is not tensor:  # each sample has one of its own
            room = np.empty(result._array.shape, result._array.dtype, like=self._array)
            room[...] = result._array
            result._array = room
        elif in_parts(self._array) and function is not tensor:
            result._array = self._array.sharing(result._array)
        return result

    method.__name__ = f"new_{function.__name__}"
    args = {"full": "(2,), 7", "tensor": "[1, 2]"}.get(function.__name__, "2")
    method.__doc__ = f"""Like :func:`{function.__name__}`, with this tensor's dtype and device by default.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.ones(1, dtype=dt.float64).new_{function.__name__}({args}).dtype
    dualtape.float64
    """
    return method


for _function in (zeros, ones, empty, full, tensor):
    setattr(Tensor, f"new_{_function.__name__}", _new_method(_function))
