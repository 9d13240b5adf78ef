"""Making tensors: from data, from shapes, like one another.

Values are NumPy's, dtypes are chosen as PyTorch chooses them.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import isfinite
from operator import index
from typing import Any

import numpy as np

from .. import errors
from ..arrays import Batched, as_array, is_array
from ..arrays.brief import BRIEF, cast, made
from ..arrays.fp_errors import fp_errors, ignore_fp_errors, restore_fp_errors
from ..arrays.protocol import becoming
from ..autograd.versions import bump
from ..autograd.views import check_write, untrack
from ..errors import warn
from ..modes import current
from . import dtypes
from .device import CPU, contiguous_format, device, move, of, preserve_format, strided
from .exchange import array_of, check_may_leave, imported
from .tensor import Tensor, new_tensor, wrap

__all__ = [
    "arange", "as_tensor", "asarray", "empty", "empty_like", "eye", "from_dlpack", "from_numpy",
    "frombuffer", "full", "full_like", "linspace", "logspace", "ones", "ones_like", "scalar_tensor",
    "tensor", "tril_indices", "triu_indices", "zeros", "zeros_like",
]  # fmt: skip


def _numpy_dtype(dtype: Any, default: np.dtype | None) -> np.dtype | None:
    return default if dtype is None else dtypes.to_numpy(dtype)


def plain_memory(layout: Any = None, memory_format: Any = None) -> None:
    """Raise for a layout or memory format that new tensors cannot have here, rather than ignore it."""
    if layout is not None and layout is not strided:
        raise NotImplementedError(
            f"new tensors are strided, got layout={layout!r}: make a sparse one with sparse_coo_tensor or .to_sparse()"
        )
    if memory_format not in (None, contiguous_format, preserve_format):
        raise NotImplementedError(
            f"new tensors are laid out row by row, or as the tensor they are like; got memory_format={memory_format!r}"
        )


def _finished(array: Any, where: Any, requires_grad: bool, out: Tensor | None = None) -> Tensor:
    if where is not None and where is not CPU:
        target = where if isinstance(where, device) else device(where)
        if target.type != "cpu":
            array = move(array, target)
    if out is not None:
        return _written(out, array, requires_grad)
    become = becoming.get()
    tensor = wrap(array if become is None else become(array))
    if current().inference:
        untrack(tensor)
    if requires_grad:
        tensor.requires_grad_(True)
    return tensor


def in_dtype_of(out: Any, dtype: Any) -> Any:
    """The dtype of what is made for ``out``: its own, which is the only one that may be asked for."""
    if not isinstance(out, Tensor):
        raise TypeError(f"argument 'out' must be Tensor, not {type(out).__name__}: pass one, or leave it out")
    if dtype is not None and dtypes.to_numpy(dtype) != out._array.dtype:
        raise RuntimeError(
            f"dtype {dtype!r} does not match dtype of out parameter ({out.dtype!r}): leave one of them out"
        )
    return out.dtype


def _written(out: Tensor, array: Any, requires_grad: bool) -> Tensor:
    """``out``, its values and shape those of a new array."""
    if current().grad and out.requires_grad:
        raise errors.no_history_for_out()
    if out.shape == array.shape:
        out.copy_(wrap(array))  # type: ignore[attr-defined]
    else:
        check_write(out, "out=", False)
        bump(out._shared_counter)
        out._array = cast(array, out._array.dtype)
    return out.requires_grad_(True) if requires_grad else out


_PLAIN = {bool, int, float, complex}
_SAFE = 6e4  # what every floating-point type holds
_FLOATS, _INTS, _LISTS, _long = {float}, {int}, {list}, np.dtype(np.int64)


_DEEPEST = 64  # dimensions that an array of NumPy's may have


def _is_sequence(item: Any) -> bool:
    return isinstance(item, (list, tuple)) or isinstance(item, Sequence) and not isinstance(item, (str, bytes))


def _shape_of(data: Any) -> tuple:
    """The shape that nested data has along its first entries."""
    shape: list[int] = []
    while _is_sequence(data):
        shape.append(len(data))
        if len(shape) > _DEEPEST:
            raise ValueError(f"too many dimensions '{type(data).__name__}': data may be nested {_DEEPEST} deep")
        if not len(data):
            break
        data = data[0]
    return (*shape, *data.shape) if is_array(data) else tuple(shape)


def _scan(item: Any, shape: tuple, found: set, depth: int = 0) -> None:
    """Check that ``item`` has ``shape``, and collect the Python types and dtypes of its numbers."""
    if _is_sequence(item):
        if not shape:
            raise TypeError(
                f"expected a number, got a {type(item).__name__}: the entries of nested data must be nested equally"
                " deep"
            )
        if len(item) != shape[0]:
            raise ValueError(f"expected sequence of length {shape[0]} at dim {depth} (got {len(item)})")
        kinds = set(map(type, item))
        if kinds <= _PLAIN and (len(shape) == 1 or not item):
            found |= kinds
        else:
            for part in item:
                _scan(part, shape[1:], found, depth + 1)
    elif isinstance(item, Tensor):
        if item._array.size != 1:
            raise ValueError(
                "only one element tensors can be converted to Python scalars: join larger ones with stack or cat"
            )
        found.add(item._array.dtype)
    elif is_array(item):
        if item.shape != shape:
            raise ValueError(
                f"expected arrays of equal shape, got {list(item.shape)} where the first entry has {list(shape)}"
            )
        found.add(item.dtype)
    elif isinstance(item, (bool, int, float, complex)):
        if shape:
            raise TypeError(
                f"not a sequence: got the number {item!r} where the first entry is a sequence of {shape[0]}"
            )
        found.add(next(kind for kind in (bool, int, float, complex) if isinstance(item, kind)))
    elif isinstance(item, (str, bytes)):
        raise ValueError(
            f"too many dimensions {type(item).__name__!r}: a tensor holds numbers; encode text as integers first"
        )
    else:
        raise RuntimeError(
            f"Could not infer dtype of {type(item).__name__}: tensors are made of numbers, arrays and tensors"
        )


def _plain(data: Any) -> Any:
    if isinstance(data, Tensor):
        return data._array.item()
    if _is_sequence(data):
        return data if set(map(type, data)) <= _PLAIN else [_plain(item) for item in data]
    return data


def _inferred(data: Any, wanted: np.dtype | None = None) -> np.ndarray:
    """Numbers and nested sequences of them as an array, of the dtype PyTorch would infer or of the one that is
    wanted.
    """
    if isinstance(data, (str, bytes)):
        raise TypeError(
            f"new(): invalid data type {type(data).__name__!r}: a tensor holds numbers; encode text as integers first"
        )
    shape = _shape_of(data)
    found: set = set()
    _scan(data, shape, found)
    if not found:
        return made(np.zeros, shape, wanted or dtypes.default_float())
    inferred = None
    for kind in sorted(found, key=str) if len(found) > 1 else found:
        dtype = kind if isinstance(kind, np.dtype) else dtypes.scalar_dtype(kind())
        inferred = dtype if inferred is None else dtypes.promote_numpy(inferred, dtype)
    assert inferred is not None
    plain = _plain(data)
    before = fp_errors()
    try:
        ignore_fp_errors()
        if wanted is None or wanted.kind in "fc":
            return _filled(plain, wanted or inferred)
        widest = {"f": dtypes.float64, "c": dtypes.complex128}.get(inferred.kind)
        try:
            array = np.array(plain, inferred if widest is None else widest.numpy)
        except OverflowError:
            return _filled(plain, wanted)
        return dtypes.checked_cast(array, wanted)
    finally:
        restore_fp_errors(before)


def _filled(plain: Any, dtype: np.dtype) -> np.ndarray:
    try:
        return made(np.array, plain, dtype)
    except OverflowError as error:
        raise ValueError(
            f"Overflow when unpacking long: a number does not fit in {dtypes.of(dtype)!r}: {error}"
        ) from None


def tensor(
    data: Any, *, dtype: Any = None, device: Any = None, requires_grad: bool = False, pin_memory: bool = False
) -> Tensor:
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
    wanted = None if dtype is None else dtypes.to_numpy(dtype)
    if wanted is None or wanted.kind == "f":
        kind = type(data)
        kinds = set(map(type, data)) if kind is list else {kind}
        if kinds == _LISTS and len(set(map(len, data))) == 1:
            kinds = set().union(*[map(type, row) for row in data])
        if kinds == _FLOATS or kinds == _INTS:  # a number, a list of them or a list of such lists: nearly always
            before = fp_errors()
            try:
                ignore_fp_errors()
                return _finished(
                    made(np.array, data, wanted or (dtypes.default_float() if kinds == _FLOATS else _long)),
                    device,
                    requires_grad,
                )
            except OverflowError:
                pass  # fails again, in the right words
            finally:
                restore_fp_errors(before)
    if isinstance(data, Tensor):
        warn(
            "To copy construct from a tensor, use x.detach().clone(), or x.detach().clone().requires_grad_(True),"
            " rather than dualtape.tensor(x)",
            UserWarning,
        )
        array = cast(data._array, wanted or data._array.dtype)
    elif is_array(data):
        data = _readable(data)
        array = (
            (np.array(data) if wanted is None else made(np.array, data, wanted))
            if isinstance(data, (np.ndarray, np.generic))
            else data.astype(wanted or data.dtype)
        )
        dtypes.of(array.dtype)
        array = as_array(array)
    elif (foreign := array_of(data)) is not None:
        return tensor(foreign, dtype=dtype, device=device, requires_grad=requires_grad)
    else:
        array = _inferred(data, wanted)
    return _finished(_native(array), device, requires_grad)


def _readable(data: Any) -> Any:
    """An array of the package ml_dtypes as one that is computed with here; any other as it is."""
    foreign = data.dtype.name == "bfloat16" and data.dtype is not BRIEF
    return cast(data.astype(np.float32), BRIEF) if foreign else data


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
    if not is_array(data):
        data = data if (foreign := array_of(data)) is None else foreign
    if is_array(data):
        array = as_array(_readable(data))
        dtypes.of(array.dtype)
        array = _native(array if wanted is None or array.dtype == wanted else cast(array, wanted))
        return _finished(
            array, device if device is not None or isinstance(array, np.ndarray) else _device_of(array), False
        )
    return tensor(data, dtype=dtype, device=device)


def _device_of(array: Any) -> Any:
    return of(array)


def asarray(
    obj: Any, *, dtype: Any = None, device: Any = None, copy: bool | None = None, requires_grad: bool | None = None
) -> Tensor:
    """``obj`` as a tensor; with ``copy=True`` always in memory of its own, with ``copy=False`` never.

    Examples
    --------
    >>> import dualtape as dt
    >>> a = np.zeros(2)
    >>> dt.asarray(a, copy=True).add_(1); a
    tensor([1., 1.], dtype=dualtape.float64)
    array([0., 0.])
    """
    given = obj._array if isinstance(obj, Tensor) else obj
    if not is_array(given) and (foreign := array_of(given)) is not None:
        given = obj = foreign
    result = as_tensor(obj, dtype=dtype, device=device)
    shared = is_array(given) and not isinstance(given, np.generic) and np.may_share_memory(result._array, given)
    if copy is False and not shared:
        raise ValueError(
            f"can't alias a {type(obj).__name__} as a tensor of {result.dtype!r} on {result.device}: a copy would be"
            " needed; drop copy=False"
        )
    if copy and shared:
        result = result.clone()  # type: ignore[attr-defined]
    if requires_grad is None or requires_grad == result.requires_grad:
        return result
    return result.detach().requires_grad_(requires_grad)


def _is_on(tensor: Tensor, where: Any) -> bool:
    target = device(where)
    return tensor.device.type == target.type and target.index in (None, tensor.device.index)


def from_dlpack(ext_tensor: Any, *, device: Any = None, copy: bool | None = None) -> Tensor:
    """A tensor over the memory of another library's array, by the DLPack protocol.

    Parameters
    ----------
    ext_tensor : object with ``__dlpack__``, or a capsule of it
    device : device, optional
        Where the tensor is to be. Default: where the memory is.
    copy : bool, optional
        True copies always, False never; by default only what another device needs is copied.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.from_dlpack(np.arange(3))
    tensor([0, 1, 2])
    """
    if isinstance(ext_tensor, Tensor):
        check_may_leave(ext_tensor)
        result = new_tensor(ext_tensor._array)
    else:
        array = imported(ext_tensor)
        dtypes.of(array.dtype)
        result = new_tensor(array)
    if device is not None and not _is_on(result, device):
        if copy is False:
            raise ValueError(f"memory on {result.device} reaches {device} by a copy: drop copy=False")
        return result.to(device)  # type: ignore[attr-defined]  # a method of the op table
    return result.clone() if copy else result  # type: ignore[attr-defined]  # likewise


def frombuffer(buffer: Any, *, dtype: Any, count: int = -1, offset: int = 0, requires_grad: bool = False) -> Tensor:
    """A one-dimensional tensor over the memory of a Python buffer; ``offset`` is in bytes.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.frombuffer(bytearray(b"ab"), dtype=dt.uint8)
    tensor([97, 98], dtype=dualtape.uint8)
    """
    return _finished(np.frombuffer(buffer, dtypes.to_numpy(dtype), count, offset), None, requires_grad)


def from_numpy(array: np.ndarray) -> Tensor:
    """A tensor that shares the array's memory: a write to one is seen in the other.

    Examples
    --------
    >>> import dualtape as dt
    >>> a = np.zeros(2)
    >>> t = dt.from_numpy(a); a[0] = 5; t
    tensor([5., 0.], dtype=dualtape.float64)
    """
    if getattr(array, "tape", None) is not None:  # that of a program that is traced
        return new_tensor(array)
    if not isinstance(array, np.ndarray):
        raise TypeError(f"expected np.ndarray (got {type(array).__name__}): use as_tensor for other data")
    dtypes.of(array.dtype)
    if not array.dtype.isnative:
        raise ValueError(
            "given numpy array has byte order different from the native byte order: convert it with .astype first"
        )
    return new_tensor(as_array(array))


def as_class(tensor: Tensor, cls: type) -> Tensor:
    """The same array, history and counters in a tensor of another class."""
    new: Any = object.__new__(cls)
    for slot in (
        "_array",
        "_edge",
        "_requires_grad",
        "_shared_counter",
        "_view",
        "_grad",
        "_grad_accumulator",
        "_extra",
    ):
        setattr(new, slot, getattr(tensor, slot))
    return new


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


def _one_size(n: Any) -> int:
    try:
        return n.__index__()
    except (AttributeError, TypeError):
        raise TypeError(f"sizes must be integers, got {n!r} ({type(n).__name__})") from None


def zeros(
    *size: Any,
    out: Tensor | None = None,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    requires_grad: bool = False,
    **ignored: Any,
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
    *size: Any,
    out: Tensor | None = None,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    requires_grad: bool = False,
    **ignored: Any,
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
    *size: Any,
    out: Tensor | None = None,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    requires_grad: bool = False,
    **ignored: Any,
) -> Tensor:
    """A tensor of a shape, its values whatever is in memory.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.empty(2, 3).shape
    dualtape.Size([2, 3])
    """
    if out is not None:
        dtype = in_dtype_of(out, dtype)
    return _finished(made(np.empty, *_shaped(size, dtype, layout, ignored)), device, requires_grad, out)


def _shaped(size: tuple, dtype: Any, layout: Any, kwargs: dict) -> tuple:
    """The shape and dtype of a new array."""
    if layout is not None:
        plain_memory(layout)
    if kwargs or not size:
        size = _size_of(size, kwargs)
    return _sizes(size), dtypes.default_float() if dtype is None else dtypes.to_numpy(dtype)


def _size_of(size: tuple, kwargs: dict) -> tuple:
    """The sizes, also when given as ``size=``; anything else unknown is an error."""
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
    size: Any,
    fill_value: Any,
    *,
    out: Tensor | None = None,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    requires_grad: bool = False,
) -> Tensor:
    """A shape filled with one value, whose type is the default dtype.

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


def _number(name: str, value: Any) -> Any:
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
    make: Any, input: Tensor, dtype: Any, device: Any, requires_grad: bool, order: Any, fill: tuple = ()
) -> Tensor:
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
    if wanted is BRIEF and type(array) is np.ndarray:
        array = cast(array, BRIEF)  # which makes arrays of its kind
    result = make(array, *values, dtype=wanted, order="C" if order is contiguous_format or repeated else "K")
    return _finished(result, device if device is not None else input.device, requires_grad)


def zeros_like(
    input: Tensor,
    *,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    requires_grad: bool = False,
    memory_format: Any = None,
) -> Tensor:
    """Zeros of the shape, dtype and device of ``input``.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.zeros_like(dt.ones(2))
    tensor([0., 0.])
    """
    if layout is not None or memory_format is not None:
        plain_memory(layout, memory_format=memory_format)
    return _like(np.zeros_like, input, dtype, device, requires_grad, memory_format)


def ones_like(
    input: Tensor,
    *,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    requires_grad: bool = False,
    memory_format: Any = None,
) -> Tensor:
    """Ones of the shape, dtype and device of ``input``.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.ones_like(dt.zeros(2))
    tensor([1., 1.])
    """
    if layout is not None or memory_format is not None:
        plain_memory(layout, memory_format=memory_format)
    return _like(np.ones_like, input, dtype, device, requires_grad, memory_format)


def empty_like(
    input: Tensor,
    *,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    requires_grad: bool = False,
    memory_format: Any = None,
) -> Tensor:
    """A tensor of the shape, dtype and device of ``input``, its values whatever is in memory.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.empty_like(dt.zeros(2)).shape
    dualtape.Size([2])
    """
    if layout is not None or memory_format is not None:
        plain_memory(layout, memory_format=memory_format)
    return _like(np.empty_like, input, dtype, device, requires_grad, memory_format)


def full_like(
    input: Tensor,
    fill_value: Any,
    *,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    requires_grad: bool = False,
    memory_format: Any = None,
) -> Tensor:
    """One value in the shape, dtype and device of ``input``.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.full_like(dt.zeros(2), 3)
    tensor([3., 3.])
    """
    if layout is not None or memory_format is not None:
        plain_memory(layout, memory_format=memory_format)
    return _like(np.full_like, input, dtype, device, requires_grad, memory_format, (fill_value,))


def _ranged(array: Any, device: Any, requires_grad: bool, out: Tensor | None) -> Tensor:
    if out is not None and out._array.size not in (0, array.size):
        warn(f"arange: out has {out._array.size} elements, and there are {array.size} numbers: it is resized")
    return _finished(array, device, requires_grad, out)


def arange(
    start: Any = None,
    end: Any = None,
    step: Any = 1,
    *,
    out: Tensor | None = None,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
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
    if type(start) is int and type(end) is int and type(step) is int and step == 1 and dtype is None and start <= end:
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
    if step == 0:
        raise RuntimeError("arange: step must be nonzero")
    if (end - start) / step < 0:
        raise RuntimeError(
            f"arange: upper bound and lower bound inconsistent with step sign: from {start} to {end} by {step}"
        )
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
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
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
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
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
    result = cast(np.logspace(start, end, steps, base=base), _numpy_dtype(dtype, dtypes.default_float()))
    return _finished(result, device, requires_grad, out)


def eye(
    n: int,
    m: int | None = None,
    *,
    out: Tensor | None = None,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
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
    return _finished(cast(np.eye(n, m), _numpy_dtype(dtype, dtypes.default_float())), device, requires_grad, out)


def scalar_tensor(s: Any, *, dtype: Any = None, device: Any = None, requires_grad: bool = False) -> Tensor:
    """A 0-d tensor of one number.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.scalar_tensor(3)
    tensor(3.)
    """
    wanted = _numpy_dtype(dtype, dtypes.default_float())
    assert wanted is not None
    return _finished(np.asarray(dtypes.number_as(_number("scalar_tensor", s), wanted)), device, requires_grad)


def _check_sides(row: int, col: int) -> None:
    if row < 0 or col < 0:
        raise RuntimeError(f"row and col must be non-negative, got {row} and {col}")


def tril_indices(row: int, col: int, offset: int = 0, *, dtype: Any = None, device: Any = None) -> Tensor:
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


def triu_indices(row: int, col: int, offset: int = 0, *, dtype: Any = None, device: Any = None) -> Tensor:
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


def _new_method(function: Any) -> Any:
    def method(self: Tensor, *args: Any, dtype: Any = None, device: Any = None, **kwargs: Any) -> Tensor:
        result = function(*args, dtype=dtype or self.dtype, device=device or self.device, **kwargs)
        if type(self._array) is Batched and function is not tensor:  # each sample has one of its own
            room = np.empty(result._array.shape, result._array.dtype, like=self._array)
            room[...] = result._array
            result._array = room
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
