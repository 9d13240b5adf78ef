"""Making tensors: from data, from shapes, like one another. Values are NumPy's, dtypes are chosen as PyTorch chooses them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from . import dtypes
from .arrays import is_array, settle
from .device import CPU, device, move
from .tensor import Tensor, wrap


def _numpy_dtype(dtype: Any, default: np.dtype | None) -> np.dtype | None:
    return default if dtype is None else dtypes.to_numpy(dtype)


def _finished(array: Any, where: Any, requires_grad: bool, out: Tensor | None = None) -> Tensor:
    target = CPU if where is None else where if isinstance(where, device) else device(where)
    if target.type != "cpu":
        array = move(array, target)
    if out is not None:
        return out.copy_(wrap(array)) if out.shape == array.shape else _resized(out, array)  # type: ignore[attr-defined]
    tensor = wrap(array)
    if requires_grad:
        tensor.requires_grad_(True)
    return tensor


def _resized(out: Tensor, array: Any) -> Tensor:
    out._array = array.astype(out._array.dtype)
    out._counter[0] += 1
    return out


def _inferred(data: Any) -> np.ndarray:
    """Nested Python data as an array of the dtype PyTorch would infer."""
    found: list = []
    stack = [data]
    while stack:
        item = stack.pop()
        if isinstance(item, (list, tuple)):
            stack.extend(item)
        elif isinstance(item, Tensor):
            found.append(item._array.dtype)
        elif is_array(item):
            found.append(item.dtype)
        elif isinstance(item, (bool, int, float, complex)):
            found.append(dtypes.scalar_dtype(item))
        elif isinstance(item, Sequence) and not isinstance(item, str):
            stack.extend(item)
        else:
            raise _not_data(item)
    if not found:
        return np.zeros(_shape_of(data), dtypes.default_float())
    dtype = found[0]
    for other in set(found[1:]):
        dtype = dtypes.promote_numpy(dtype, other)
    return _filled(data, dtype)


def _not_data(item: Any) -> Exception:
    if isinstance(item, str):
        return TypeError("new(): invalid data type 'str': a tensor holds numbers; encode text as integers first")
    return RuntimeError(f"Could not infer dtype of {type(item).__name__}: tensors are made of numbers, arrays and tensors")


def _shape_of(data: Any) -> tuple:
    shape = []
    while isinstance(data, (list, tuple)):
        shape.append(len(data))
        data = data[0] if data else None
    return tuple(shape)


def _filled(data: Any, dtype: np.dtype) -> np.ndarray:
    plain = _plain(data)
    try:
        return np.array(plain, dtype=dtype)
    except (ValueError, OverflowError) as error:
        if isinstance(error, OverflowError):
            raise RuntimeError(f"value cannot be converted to type {dtype} without overflow: {error}") from None
        raise ValueError(
            f"expected sequences of equal length at each level of nesting, got ragged data: {error}"
        ) from None


def _plain(data: Any) -> Any:
    if isinstance(data, Tensor):
        return data._array if data._array.ndim else data._array.item()
    if isinstance(data, (list, tuple)):
        return [_plain(item) for item in data]
    return data


def tensor(data: Any, *, dtype: Any = None, device: Any = None, requires_grad: bool = False, pin_memory: bool = False) -> Tensor:
    """A new leaf tensor holding a copy of ``data``.

    Parameters
    ----------
    data : number, nested sequence, array or Tensor
    dtype : dtype, optional
        Default: that of an array; for Python numbers, the default float type, int64, bool or the default complex type.
    device : device, optional
    requires_grad : bool
        Record operations on it.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.tensor([[1, 2], [3, 4]], dtype=dt.float64)
    tensor([[1., 2.],
            [3., 4.]], dtype=dualtape.float64)
    """
    wanted = _numpy_dtype(dtype, None)
    if isinstance(data, Tensor):
        import warnings

        warnings.warn(
            "To copy construct from a tensor, use x.detach().clone(), or x.detach().clone().requires_grad_(True), rather than"
            " dualtape.tensor(x)",
            UserWarning,
            stacklevel=2,
        )
        array = data._array.astype(wanted or data._array.dtype, copy=True)
    elif is_array(data):
        array = np.array(data, dtype=wanted) if isinstance(data, (np.ndarray, np.generic)) else data.astype(wanted or data.dtype)
        dtypes.of(array.dtype)
        array = settle(array)
    elif wanted is not None and not isinstance(data, (list, tuple)):
        array = _filled(data if isinstance(data, (bool, int, float, complex)) else _inferred(data), wanted)
    else:
        array = _inferred(data)
        if wanted is not None:
            with np.errstate(all="ignore"):
                array = array.astype(wanted) if array.dtype.kind != "f" or wanted.kind != "f" else _filled(data, wanted)
    return _finished(_native(array), device, requires_grad)


def _native(array: Any) -> Any:
    """Arrays of foreign byte order are converted: nothing below knows about them."""
    return array if array.dtype.isnative else array.astype(array.dtype.newbyteorder("="))


def as_tensor(data: Any, dtype: Any = None, device: Any = None) -> Tensor:
    """``data`` as a tensor, without copying where the memory can be shared.

    Examples
    --------
    >>> import dualtape as dt
    >>> a = np.zeros(2)
    >>> t = dt.as_tensor(a); t += 1; a
    array([1., 1.])
    """
    if isinstance(data, Tensor):
        return data if dtype is None and device is None else data.to(dtype=dtype, device=device)  # type: ignore[attr-defined]
    wanted = _numpy_dtype(dtype, None)
    if is_array(data):
        array = settle(data)
        dtypes.of(array.dtype)
        array = _native(array if wanted is None or array.dtype == wanted else array.astype(wanted))
        return _finished(array, device if device is not None or isinstance(array, np.ndarray) else _device_of(array), False)
    return tensor(data, dtype=dtype, device=device)


def _device_of(array: Any) -> Any:
    from .device import of

    return of(array)


asarray = as_tensor


def from_numpy(array: np.ndarray) -> Tensor:
    """A tensor that shares the array's memory: a write to one is seen in the other.

    Examples
    --------
    >>> import dualtape as dt
    >>> a = np.zeros(2)
    >>> t = dt.from_numpy(a); a[0] = 5; t
    tensor([5., 0.], dtype=dualtape.float64)
    """
    if not isinstance(array, np.ndarray):
        raise TypeError(f"expected np.ndarray (got {type(array).__name__}): use as_tensor for other data")
    dtypes.of(array.dtype)
    if not array.dtype.isnative:
        raise ValueError("given numpy array has byte order different from the native byte order: convert it with .astype first")
    return wrap(settle(array))


def legacy(cls: type, data: tuple, device: Any = None, **kwargs: Any) -> Tensor:
    """``Tensor(2, 3)`` and ``Tensor(data)``, as the class itself makes them."""
    if kwargs:
        raise TypeError(f"{cls.__name__}() takes sizes or data, got {', '.join(kwargs)}; use dualtape.tensor(data, dtype=...)")
    if len(data) == 1 and not isinstance(data[0], int):
        source = data[0]
        if isinstance(source, Tensor):
            made = wrap(source._array)
            made._counter = source._counter
        else:
            array = np.zeros((0,)) if source is None else _inferred(source) if not is_array(source) else np.asarray(source)
            made = wrap(array.astype(dtypes.default_float()))
    else:
        made = wrap(np.empty(_sizes(data) if data else (0,), dtypes.default_float()))
    return made if cls is Tensor else as_class(made, cls)


def as_class(tensor: Tensor, cls: type) -> Tensor:
    """The same array, history and counters in a tensor of another class."""
    new = object.__new__(cls)
    for slot in ("_array", "_edge", "_requires_grad", "_counter", "_view", "_grad", "_accumulator", "_extra"):
        setattr(new, slot, getattr(tensor, slot))
    return new


def _sizes(size: tuple) -> tuple[int, ...]:
    if len(size) == 1 and isinstance(size[0], (tuple, list)):
        size = tuple(size[0])
    sizes = tuple(_one_size(n) for n in size)
    for n in sizes:
        if n < 0:
            raise RuntimeError(f"Trying to create tensor with negative dimension {n}: {list(sizes)}")
    return sizes


def _one_size(n: Any) -> int:
    try:
        return n.__index__()
    except (AttributeError, TypeError):
        raise TypeError(f"sizes must be integers, got {n!r} ({type(n).__name__})") from None


def zeros(*size: Any, out: Tensor | None = None, dtype: Any = None, layout: Any = None, device: Any = None, requires_grad: bool = False, **ignored: Any) -> Tensor:
    """Zeros of a shape.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.zeros(2, 3)
    tensor([[0., 0., 0.],
            [0., 0., 0.]])
    """
    return _finished(np.zeros(_sizes(_size_of(size, ignored)), _numpy_dtype(dtype, dtypes.default_float())), device, requires_grad, out)


def ones(*size: Any, out: Tensor | None = None, dtype: Any = None, layout: Any = None, device: Any = None, requires_grad: bool = False, **ignored: Any) -> Tensor:
    """Ones of a shape.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.ones((2,), dtype=dt.int64)
    tensor([1, 1])
    """
    return _finished(np.ones(_sizes(_size_of(size, ignored)), _numpy_dtype(dtype, dtypes.default_float())), device, requires_grad, out)


def empty(*size: Any, out: Tensor | None = None, dtype: Any = None, layout: Any = None, device: Any = None, requires_grad: bool = False, **ignored: Any) -> Tensor:
    """A tensor of a shape, its values whatever is in memory.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.empty(2, 3).shape
    dualtape.Size([2, 3])
    """
    return _finished(np.empty(_sizes(_size_of(size, ignored)), _numpy_dtype(dtype, dtypes.default_float())), device, requires_grad, out)


def _size_of(size: tuple, kwargs: dict) -> tuple:
    """The sizes, also when given as ``size=``; anything else unknown is an error."""
    if "size" in kwargs:
        size = (kwargs.pop("size"),)
    kwargs.pop("memory_format", None)
    kwargs.pop("pin_memory", None)
    if kwargs:
        raise TypeError(f"unexpected keyword arguments: {', '.join(kwargs)}")
    return size


def full(size: Any, fill_value: Any, *, out: Tensor | None = None, dtype: Any = None, layout: Any = None, device: Any = None, requires_grad: bool = False) -> Tensor:
    """A shape filled with one value, whose type is the default dtype.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.full((2,), 7)
    tensor([7, 7])
    """
    if isinstance(fill_value, Tensor):
        fill_value = fill_value.item()
    made = np.full(_sizes((size,)), fill_value, _numpy_dtype(dtype, dtypes.scalar_dtype(fill_value)))
    return _finished(made, device, requires_grad, out)


def _like(make: Any, input: Tensor, dtype: Any, device: Any, requires_grad: bool, *fill: Any) -> Tensor:
    if not isinstance(input, Tensor):
        input = as_tensor(input)
    made = make(input._array, *fill, dtype=_numpy_dtype(dtype, input._array.dtype))
    return _finished(made, device if device is not None else input.device, requires_grad)


def zeros_like(input: Tensor, *, dtype: Any = None, layout: Any = None, device: Any = None, requires_grad: bool = False, memory_format: Any = None) -> Tensor:
    """Zeros of the shape, dtype and device of ``input``.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.zeros_like(dt.ones(2))
    tensor([0., 0.])
    """
    return _like(np.zeros_like, input, dtype, device, requires_grad)


def ones_like(input: Tensor, *, dtype: Any = None, layout: Any = None, device: Any = None, requires_grad: bool = False, memory_format: Any = None) -> Tensor:
    """Ones of the shape, dtype and device of ``input``.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.ones_like(dt.zeros(2))
    tensor([1., 1.])
    """
    return _like(np.ones_like, input, dtype, device, requires_grad)


def empty_like(input: Tensor, *, dtype: Any = None, layout: Any = None, device: Any = None, requires_grad: bool = False, memory_format: Any = None) -> Tensor:
    """A tensor of the shape, dtype and device of ``input``, its values whatever is in memory.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.empty_like(dt.zeros(2)).shape
    dualtape.Size([2])
    """
    return _like(np.empty_like, input, dtype, device, requires_grad)


def full_like(input: Tensor, fill_value: Any, *, dtype: Any = None, layout: Any = None, device: Any = None, requires_grad: bool = False, memory_format: Any = None) -> Tensor:
    """One value in the shape, dtype and device of ``input``.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.full_like(dt.zeros(2), 3)
    tensor([3., 3.])
    """
    return _like(np.full_like, input, dtype, device, requires_grad, fill_value)


def arange(start: Any = 0, end: Any = None, step: Any = 1, *, out: Tensor | None = None, dtype: Any = None, layout: Any = None, device: Any = None, requires_grad: bool = False) -> Tensor:
    """Numbers from ``start`` up to, and without, ``end``.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.arange(1, 4)
    tensor([1, 2, 3])
    """
    if end is None:
        start, end = 0, start
    start, end, step = (v.item() if isinstance(v, Tensor) else v for v in (start, end, step))
    if step == 0:
        raise RuntimeError("arange: step must be nonzero")
    if (end - start) / step < 0:
        raise RuntimeError(f"arange: upper bound and lower bound inconsistent with step sign: from {start} to {end} by {step}")
    whole = all(isinstance(v, int) for v in (start, end, step))
    wanted = _numpy_dtype(dtype, dtypes.int64.numpy if whole else dtypes.default_float())
    assert wanted is not None
    if whole and wanted.kind in "iu":
        return _finished(np.arange(start, end, step, wanted), device, requires_grad, out)
    count = int(np.ceil((end - start) / step))
    values = start + step * np.arange(count, dtype=np.float64)
    return _finished(values.astype(wanted), device, requires_grad, out)


def linspace(start: Any, end: Any, steps: int, *, out: Tensor | None = None, dtype: Any = None, layout: Any = None, device: Any = None, requires_grad: bool = False) -> Tensor:
    """``steps`` equally spaced numbers from ``start`` to ``end``, both included.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.linspace(0, 1, 3)
    tensor([0.0000, 0.5000, 1.0000])
    """
    if steps < 0:
        raise RuntimeError(f"linspace: number of steps must be non-negative, got {steps}")
    start, end = (v.item() if isinstance(v, Tensor) else v for v in (start, end))
    default = dtypes.scalar_dtype(start + end) if isinstance(start + end, complex) else dtypes.default_float()
    return _finished(np.linspace(start, end, steps).astype(_numpy_dtype(dtype, default)), device, requires_grad, out)


def logspace(start: float, end: float, steps: int, base: float = 10.0, *, out: Tensor | None = None, dtype: Any = None, layout: Any = None, device: Any = None, requires_grad: bool = False) -> Tensor:
    """``steps`` numbers from ``base ** start`` to ``base ** end``, equally spaced on a logarithmic scale.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.logspace(0, 2, 3)
    tensor([  1.,  10., 100.])
    """
    made = np.logspace(start, end, steps, base=base).astype(_numpy_dtype(dtype, dtypes.default_float()))
    return _finished(made, device, requires_grad, out)


def eye(n: int, m: int | None = None, *, out: Tensor | None = None, dtype: Any = None, layout: Any = None, device: Any = None, requires_grad: bool = False) -> Tensor:
    """Ones on the diagonal, zeros elsewhere.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.eye(2)
    tensor([[1., 0.],
            [0., 1.]])
    """
    for size in (n, m):
        if size is not None and size < 0:
            raise RuntimeError(f"eye: sizes must be greater or equal to 0, got {size}")
    return _finished(np.eye(n, m, dtype=_numpy_dtype(dtype, dtypes.default_float())), device, requires_grad, out)


def scalar_tensor(s: Any, *, dtype: Any = None, device: Any = None, requires_grad: bool = False) -> Tensor:
    """A 0-d tensor of one number.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.scalar_tensor(3)
    tensor(3.)
    """
    return _finished(np.asarray(s, _numpy_dtype(dtype, dtypes.default_float())), device, requires_grad)


def tril_indices(row: int, col: int, offset: int = 0, *, dtype: Any = None, device: Any = None) -> Tensor:
    """The row and column indices of the lower triangle.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.tril_indices(2, 2)
    tensor([[0, 1, 1],
            [0, 0, 1]])
    """
    return _finished(np.stack(np.tril_indices(row, offset, col)).astype(_numpy_dtype(dtype, dtypes.int64.numpy)), device, False)


def triu_indices(row: int, col: int, offset: int = 0, *, dtype: Any = None, device: Any = None) -> Tensor:
    """The row and column indices of the upper triangle.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.triu_indices(2, 2)
    tensor([[0, 0, 1],
            [0, 1, 1]])
    """
    return _finished(np.stack(np.triu_indices(row, offset, col)).astype(_numpy_dtype(dtype, dtypes.int64.numpy)), device, False)


def is_tensor(obj: Any) -> bool:
    """Whether ``obj`` is a Tensor.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.is_tensor(dt.ones(1)), dt.is_tensor(np.ones(1))
    (True, False)
    """
    return isinstance(obj, Tensor)


def _new_method(function: Any) -> Any:
    def method(self: Tensor, *args: Any, dtype: Any = None, device: Any = None, **kwargs: Any) -> Tensor:
        return function(*args, dtype=dtype or self.dtype, device=device or self.device, **kwargs)

    method.__name__ = f"new_{function.__name__}"
    method.__doc__ = f"Like :func:`{function.__name__}`, with this tensor's dtype and device by default."
    return method


for _function in (zeros, ones, empty, full, tensor):
    setattr(Tensor, f"new_{_function.__name__}", _new_method(_function))

FUNCTIONS = (
    tensor, as_tensor, asarray, from_numpy, zeros, ones, empty, full, zeros_like, ones_like, empty_like, full_like, arange,
    linspace, logspace, eye, scalar_tensor, tril_indices, triu_indices, is_tensor,
)  # fmt: skip
