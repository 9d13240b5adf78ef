"""Creating tensors from data: numbers, nested sequences, arrays, buffers; and helpers of all creation functions.

Values are NumPy's, dtypes are chosen as PyTorch chooses them. Tensors given by their shape are created in ``shaped``.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import errors
from .._typing import DeviceLike, DTypeLike
from ..arrays import as_array, is_array
from ..arrays.bfloat16_dtype import BFLOAT16, BFloat16Type, cast, from_bits, made
from ..arrays.fp_errors import fp_errors, ignore_fp_errors, restore_fp_errors
from ..arrays.kernels.memory_order import with_channels_last
from ..arrays.protocol import becoming
from ..autograd.versions import bump
from ..autograd.views import check_write, untrack
from ..errors import warn
from ..modes import current
from . import dtypes
from .device import CPU, channels_last, channels_last_3d, contiguous_format, device, move, of, preserve_format, strided
from .exchange import array_of, check_may_leave, imported
from .tensor import Tensor, new_tensor, wrap

if TYPE_CHECKING:
    from .._typing import Array, Layout, MemoryFormat

__all__ = ["as_tensor", "asarray", "from_dlpack", "from_numpy", "frombuffer", "tensor"]


def _numpy_dtype(dtype: DTypeLike | None, default: np.dtype | None) -> np.dtype | None:
    return default if dtype is None else dtypes.to_numpy(dtype)


def check_rank(name: str, rank: int, memory_format: MemoryFormat) -> None:
    """Raise if tensors of ``rank`` dimensions have no such memory format."""
    wanted = {channels_last: 4, channels_last_3d: 5}.get(memory_format, rank)
    if rank != wanted:
        raise RuntimeError(
            f"{name}: required rank {wanted} tensor to use {memory_format!r} format, got {rank} dimensions: pass"
            " contiguous_format, or add the missing ones"
        )


def in_memory_format(array: Array, name: str, memory_format: MemoryFormat | None, like: Any = None) -> Any:
    """A new array in a memory format; without one, in the order in memory of the array ``like``, if it is dense."""
    if memory_format is channels_last or memory_format is channels_last_3d:
        check_rank(name, array.ndim, memory_format)
        return with_channels_last(array)
    if like is None or memory_format is contiguous_format or type(like) is not np.ndarray or 0 in like.strides:
        return array
    if like.flags.c_contiguous or type(array) is not np.ndarray:
        return array
    ordered = np.empty_like(like, dtype=array.dtype)
    ordered[...] = array
    return ordered


def plain_memory(layout: Layout | None = None, memory_format: MemoryFormat | None = None) -> None:
    """Raise for a layout or memory format that new tensors cannot have here, rather than ignore it."""
    if layout is not None and layout is not strided:
        raise NotImplementedError(
            f"new tensors are strided, got layout={layout!r}: make a sparse one with sparse_coo_tensor or .to_sparse()"
        )
    if memory_format not in (None, contiguous_format, preserve_format):
        raise NotImplementedError(
            f"new tensors are laid out row by row, or as the tensor they are like; got memory_format={memory_format!r}"
        )


def _finished(array: Array, where: DeviceLike | None, requires_grad: bool, out: Tensor | None = None) -> Tensor:
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


def in_dtype_of(out: object, dtype: DTypeLike | None) -> Any:
    """Return the dtype of a result for ``out``: its own; raise if another one was asked for."""
    if not isinstance(out, Tensor):
        raise TypeError(f"argument 'out' must be Tensor, not {type(out).__name__}: pass one, or leave it out")
    if dtype is not None and dtypes.to_numpy(dtype) != out._array.dtype:
        raise RuntimeError(
            f"dtype {dtype!r} does not match dtype of out parameter ({out.dtype!r}): leave one of them out"
        )
    return out.dtype


def _written(out: Tensor, array: Array, requires_grad: bool) -> Tensor:
    """Return ``out`` with the values and shape of a new array."""
    if current().grad and out.requires_grad:
        raise errors.no_history_for_out()
    if out.shape == array.shape:
        out.copy_(wrap(array))
    else:
        check_write(out, "out=", False)
        bump(out._shared_counter)
        out._array = cast(array, out._array.dtype)
    return out.requires_grad_(True) if requires_grad else out


_PLAIN = {bool, int, float, complex}
_FLOATS, _INTS, _LISTS, _long = {float}, {int}, {list}, np.dtype(np.int64)


_DEEPEST = 64  # dimensions that an array of NumPy's may have


def _is_sequence(item: object) -> bool:
    return isinstance(item, (list, tuple)) or isinstance(item, Sequence) and not isinstance(item, (str, bytes))


def _shape_of(data: Any) -> tuple:
    """Return the shape of nested data along its first entries."""
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


def _inferred(data: object, wanted: np.dtype | None = None) -> np.ndarray:
    """Return numbers, or nested sequences of them, as an array, of the dtype PyTorch would infer or the
    ``wanted`` one.
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
    inferred: Any = None
    for kind in sorted(found, key=str) if len(found) > 1 else found:
        dtype: Any = kind if isinstance(kind, (np.dtype, BFloat16Type)) else dtypes.scalar_dtype(kind())
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


def _filled(plain: object, dtype: np.dtype) -> np.ndarray:
    try:
        return made(np.array, plain, dtype)
    except OverflowError:
        raise ValueError(f"Overflow when unpacking long long: a number does not fit in {dtypes.of(dtype)!r}") from None


def tensor(
    data: Any,
    *,
    dtype: DTypeLike | None = None,
    device: DeviceLike | None = None,
    requires_grad: bool = False,
    pin_memory: bool = False,
) -> Tensor:
    """A new leaf tensor with a copy of ``data``.

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
        data = _readable(_as_traced(data))
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


def _as_traced(array: Any) -> Any:
    """Return ``array``, or its traced form in a function that is being compiled."""
    tracing = current().tracing
    return array if tracing is None or type(array) is not np.ndarray else tracing.array(array)


def _readable(data: Array) -> Any:
    """Return an array of the package ml_dtypes as one of ours; any other unchanged."""
    foreign = data.dtype.name == "bfloat16" and data.dtype is not BFLOAT16
    return cast(data.astype(np.float32), BFLOAT16) if foreign else data


def _native(array: Array) -> Any:
    """Return an array in native byte order, which everything below assumes."""
    return array if array.dtype.isnative else array.astype(array.dtype.newbyteorder("="))


def as_tensor(data: Any, dtype: DTypeLike | None = None, device: DeviceLike | None = None) -> Tensor:
    """``data`` as a tensor, without copying where the memory can be shared.

    Examples
    --------
    >>> import dualtape as dt
    >>> a = np.zeros(2)
    >>> t = dt.as_tensor(a); t += 1; a
    array([1., 1.])
    """
    if isinstance(data, Tensor):
        return data if dtype is None and device is None else data.to(dtype=dtype, device=device)
    wanted = _numpy_dtype(dtype, None)
    if not is_array(data):
        data = data if (foreign := array_of(data)) is None else foreign
    if is_array(data):
        array = as_array(_readable(_as_traced(data)))
        dtypes.of(array.dtype)
        array = _native(array if wanted is None or array.dtype == wanted else cast(array, wanted))
        return _finished(
            array, device if device is not None or isinstance(array, np.ndarray) else _device_of(array), False
        )
    return tensor(data, dtype=dtype, device=device)


def _device_of(array: Array) -> Any:
    return of(array)


def asarray(
    obj: Any,
    *,
    dtype: DTypeLike | None = None,
    device: DeviceLike | None = None,
    copy: bool | None = None,
    requires_grad: bool | None = None,
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
    given = obj._array if isinstance(obj, Tensor) else _as_traced(obj)
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
        result = result.clone()
    if requires_grad is None or requires_grad == result.requires_grad:
        return result
    return result.detach().requires_grad_(requires_grad)


def _is_on(tensor: Tensor, where: DeviceLike | None) -> bool:
    target = device(where)
    return tensor.device.type == target.type and target.index in (None, tensor.device.index)


def from_dlpack(ext_tensor: object, *, device: DeviceLike | None = None, copy: bool | None = None) -> Tensor:
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
        return result.to(device)  # a method of the op table
    return result.clone() if copy else result  # likewise


def frombuffer(
    buffer: Any, *, dtype: DTypeLike | None, count: int = -1, offset: int = 0, requires_grad: bool = False
) -> Tensor:
    """A one-dimensional tensor over the memory of a Python buffer; ``offset`` is in bytes.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.frombuffer(bytearray(b"ab"), dtype=dt.uint8)
    tensor([97, 98], dtype=dualtape.uint8)
    """
    kind = dtypes.to_numpy(dtype)
    if kind is BFLOAT16:  # arrays of bfloat16 have other bits in memory: a copy
        return _finished(from_bits(np.frombuffer(buffer, np.uint16, count, offset)), None, requires_grad)
    return _finished(np.frombuffer(buffer, kind, count, offset), None, requires_grad)


def from_numpy(array: np.ndarray) -> Tensor:
    """A tensor that shares the array's memory: a write to one changes the other.

    Examples
    --------
    >>> import dualtape as dt
    >>> a = np.zeros(2)
    >>> t = dt.from_numpy(a); a[0] = 5; t
    tensor([5., 0.], dtype=dualtape.float64)
    """
    array = _as_traced(array)
    if getattr(array, "tape", None) is not None:
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
    """Return the same array, history and counters in a tensor of another class."""
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
