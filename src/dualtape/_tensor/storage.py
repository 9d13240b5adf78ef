"""Storages: the memory behind tensors, as bytes or as elements of one dtype.

The storage of a tensor is the memory of its base; it is one object as long as a reference to it exists. Memory that
NumPy allocated for a tensor cannot be resized; a storage without tensors can.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any
from weakref import WeakValueDictionary

import numpy as np

from .._typing import DeviceLike, DTypeLike
from ..errors import warn
from . import dtypes, naming
from .device import CPU
from .tensor import Tensor

if TYPE_CHECKING:
    from typing import SupportsIndex

    from .._typing import Number

_known: WeakValueDictionary[int, UntypedStorage] = WeakValueDictionary()  # by the array that lives there


class UntypedStorage:
    """Memory as bytes: of a tensor (:meth:`Tensor.untyped_storage`), or new, of a size or with the bytes given.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.ones(2).untyped_storage().nbytes(), dt.UntypedStorage([1, 2]).tolist()
    (8, [1, 2])
    """

    __slots__ = ("_bytes", "_array", "__weakref__")

    is_cuda = is_sparse = False
    device = CPU

    def __init__(self, data: int | Sequence[int] = 0, *, device: DeviceLike | None = None) -> None:
        if device is not None and str(device) != "cpu":
            raise NotImplementedError(f"UntypedStorage: storages are in the memory of the CPU, not on {device}")
        if isinstance(data, int):
            if data < 0:
                raise RuntimeError(f"UntypedStorage: a size of {data} bytes is negative")
            self._bytes = np.empty(data, np.uint8)
        elif isinstance(data, Sequence) and not isinstance(data, str):
            self._bytes = np.array([int(byte) & 255 for byte in data], np.uint8)
        else:
            raise RuntimeError(f"UntypedStorage(): Expected a sequence type, but got {type(data).__name__}")
        self._array: Any = None  # what lives here, if a tensor does

    def nbytes(self) -> int:
        """The number of bytes.

        Examples
        --------
        >>> import dualtape as dt
        >>> dt.UntypedStorage(3).nbytes()
        3
        """
        return self._bytes.size

    size = nbytes

    def __len__(self) -> int:
        return self._bytes.size

    def data_ptr(self) -> int:
        """The address of the first byte.

        Examples
        --------
        >>> import dualtape as dt
        >>> x = dt.ones(3)
        >>> x[1:].untyped_storage().data_ptr() == x.data_ptr()
        True
        """
        return self._bytes.__array_interface__["data"][0] if self._bytes.size else 0

    def element_size(self) -> int:
        """1, the size of a byte.

        Examples
        --------
        >>> import dualtape as dt
        >>> dt.UntypedStorage(3).element_size()
        1
        """
        return 1

    def __getitem__(self, key: SupportsIndex | slice) -> Any:
        if not isinstance(key, slice):
            return int(self._bytes[_place(key, self._bytes.size)])
        if key.step not in (None, 1):
            raise RuntimeError(f"UntypedStorage: slices of step 1 are supported, got a step of {key.step}")
        part = UntypedStorage()
        part._bytes, part._array = self._bytes[key], self._bytes
        return part

    def __setitem__(self, key: SupportsIndex | slice, value: int) -> None:
        self._bytes[key if isinstance(key, slice) else _place(key, self._bytes.size)] = int(value) & 255

    def __iter__(self) -> Iterator[int]:
        return iter(self.tolist())

    def tolist(self) -> list[int]:
        """The bytes as a list.

        Examples
        --------
        >>> import dualtape as dt
        >>> dt.UntypedStorage([1, 2]).tolist()
        [1, 2]
        """
        return self._bytes.tolist()

    def fill_(self, value: int) -> UntypedStorage:
        """Write one byte everywhere.

        Examples
        --------
        >>> import dualtape as dt
        >>> dt.UntypedStorage(2).fill_(7).tolist()
        [7, 7]
        """
        self._bytes[...] = int(value) & 255
        return self

    def copy_(self, source: UntypedStorage, non_blocking: bool | None = None) -> UntypedStorage:
        """Write the bytes of another storage over these; there is nothing that could block.

        Examples
        --------
        >>> import dualtape as dt
        >>> dt.UntypedStorage(2).copy_(dt.UntypedStorage([1, 2])).tolist()
        [1, 2]
        """
        if source.nbytes() != self.nbytes():
            raise RuntimeError(f"copy_: size mismatch: {source.nbytes()} bytes for a storage of {self.nbytes()}")
        self._bytes[...] = source._bytes
        return self

    def clone(self) -> UntypedStorage:
        """A copy.

        Examples
        --------
        >>> import dualtape as dt
        >>> dt.UntypedStorage([1, 2]).clone().tolist()
        [1, 2]
        """
        return UntypedStorage(self.nbytes()).copy_(self)

    def cpu(self) -> UntypedStorage:
        """Itself: it is there.

        Examples
        --------
        >>> import dualtape as dt
        >>> dt.UntypedStorage(2).cpu().device
        device(type='cpu')
        """
        return self

    def resize_(self, size: int) -> UntypedStorage:
        """Make the storage larger or smaller, unless a tensor lives in it.

        Examples
        --------
        >>> import dualtape as dt
        >>> dt.UntypedStorage([1, 2, 3]).resize_(2).tolist()
        [1, 2]
        """
        if size == self.nbytes():
            return self
        if self._array is not None:
            raise RuntimeError(
                "resize_: a tensor lives in this storage, whose memory NumPy cannot move: use the tensor's resize_"
            )
        old, self._bytes = self._bytes, np.empty(size, np.uint8)
        kept = min(old.size, size)
        self._bytes[:kept] = old[:kept]
        return self

    def is_shared(self) -> bool:
        """False: no memory is shared among processes.

        Examples
        --------
        >>> import dualtape as dt
        >>> dt.UntypedStorage(2).is_shared()
        False
        """
        return False

    is_pinned = is_shared

    def type(self) -> str:
        """The name of the class.

        Examples
        --------
        >>> import dualtape as dt
        >>> dt.UntypedStorage(2).type()
        'dualtape.UntypedStorage'
        """
        return f"{naming.package}.UntypedStorage"

    def __repr__(self) -> str:
        lines = [f" {byte}" for byte in self._bytes[:1000].tolist()] + [" ..."] * (self._bytes.size > 1000)
        return "\n".join([*lines, f"[dualtape.UntypedStorage(device=cpu) of size {len(self)}]"])


def _place(key: SupportsIndex, size: int) -> int:
    place = key.__index__()
    if not -size <= place < size:
        raise IndexError(f"index {place} out of range for storage of size {size}")
    return place


class TypedStorage:
    """Memory as elements of one dtype: of a tensor (:meth:`Tensor.storage`), or new, of a size or with elements given.

    PyTorch is about to drop it, and warns; so does :meth:`Tensor.storage`.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.TypedStorage([1, 2], dtype=dt.int8).tolist()
    [1, 2]
    """

    __slots__ = ("_untyped", "dtype")

    is_cuda = is_sparse = False
    device = CPU

    def __init__(
        self,
        data: int | Sequence = 0,
        *,
        wrap_storage: UntypedStorage | None = None,
        dtype: DTypeLike | None = None,
        device: DeviceLike | None = None,
    ) -> None:
        self.dtype = dtypes.of(dtypes.to_numpy(dtype)) if dtype is not None else dtypes.get_default_dtype()
        kind = self.dtype.numpy
        if wrap_storage is not None:
            self._untyped = wrap_storage
        elif isinstance(data, int):
            self._untyped = UntypedStorage(data * kind.itemsize, device=device)
        else:
            self._untyped = UntypedStorage(0, device=device)
            self._untyped._bytes = np.array(data, kind).view(np.uint8)

    @property
    def _elements(self) -> np.ndarray:
        return self._untyped._bytes.view(self.dtype.numpy)

    def untyped(self) -> UntypedStorage:
        """The same memory as bytes.

        Examples
        --------
        >>> import dualtape as dt
        >>> dt.FloatStorage(2).untyped().nbytes()
        8
        """
        return self._untyped

    def size(self) -> int:
        """The number of elements.

        Examples
        --------
        >>> import dualtape as dt
        >>> dt.FloatStorage(2).size()
        2
        """
        return self._elements.size

    __len__ = size

    def nbytes(self) -> int:
        """The number of bytes.

        Examples
        --------
        >>> import dualtape as dt
        >>> dt.FloatStorage(2).nbytes()
        8
        """
        return self._untyped.nbytes()

    def element_size(self) -> int:
        """The bytes of one element.

        Examples
        --------
        >>> import dualtape as dt
        >>> dt.FloatStorage(2).element_size()
        4
        """
        return self.dtype.itemsize

    def data_ptr(self) -> int:
        """The address of the first element.

        Examples
        --------
        >>> import dualtape as dt
        >>> storage = dt.FloatStorage(2)
        >>> storage.data_ptr() == storage.untyped().data_ptr()
        True
        """
        return self._untyped.data_ptr()

    def __getitem__(self, key: SupportsIndex | slice) -> Any:
        if isinstance(key, slice):
            raise RuntimeError("TypedStorage: slices are only supported of UntypedStorage")
        return self._elements[_place(key, len(self))].item()

    def __setitem__(self, key: SupportsIndex | slice, value: Number) -> None:
        self._elements[key if isinstance(key, slice) else _place(key, len(self))] = value

    def __iter__(self) -> Iterator:
        return iter(self.tolist())

    def tolist(self) -> list:
        """The elements as a list.

        Examples
        --------
        >>> import dualtape as dt
        >>> dt.FloatStorage([1.0, 2.0]).tolist()
        [1.0, 2.0]
        """
        return self._elements.tolist()

    def fill_(self, value: Number) -> TypedStorage:
        """Write one value everywhere.

        Examples
        --------
        >>> import dualtape as dt
        >>> dt.FloatStorage(2).fill_(3).tolist()
        [3.0, 3.0]
        """
        self._elements[...] = value
        return self

    def copy_(self, source: TypedStorage | UntypedStorage, non_blocking: bool | None = None) -> TypedStorage:
        """Write the bytes of another storage over these; there is nothing that could block.

        Examples
        --------
        >>> import dualtape as dt
        >>> dt.FloatStorage(2).copy_(dt.FloatStorage([1.0, 2.0])).tolist()
        [1.0, 2.0]
        """
        self._untyped.copy_(source.untyped() if isinstance(source, TypedStorage) else source)
        return self

    def clone(self) -> TypedStorage:
        """A copy.

        Examples
        --------
        >>> import dualtape as dt
        >>> dt.FloatStorage([1.0]).clone().tolist()
        [1.0]
        """
        return TypedStorage(wrap_storage=self._untyped.clone(), dtype=self.dtype)

    def resize_(self, size: int) -> TypedStorage:
        """Make the storage larger or smaller, unless a tensor lives in it.

        Examples
        --------
        >>> import dualtape as dt
        >>> dt.FloatStorage([1.0, 2.0]).resize_(1).tolist()
        [1.0]
        """
        self._untyped.resize_(size * self.dtype.itemsize)
        return self

    def type(self) -> str:
        """The name of the class of storages of this dtype.

        Examples
        --------
        >>> import dualtape as dt
        >>> dt.FloatStorage(1).type()
        'dualtape.FloatStorage'
        """
        return f"{naming.package}.{self.pickle_storage_type()}"

    def pickle_storage_type(self) -> str:
        """The name under which storages of this dtype are known.

        Examples
        --------
        >>> import dualtape as dt
        >>> dt.FloatStorage(1).pickle_storage_type()
        'FloatStorage'
        """
        return _LEGACY[self.dtype.name]

    def __repr__(self) -> str:
        lines = [f" {value}" for value in self._elements[:1000].tolist()] + [" ..."] * (len(self) > 1000)
        return "\n".join([*lines, f"[dualtape.TypedStorage(dtype={self.dtype!r}, device=cpu) of size {len(self)}]"])


_LEGACY = {
    "bool": "BoolStorage",
    "uint8": "ByteStorage",
    "int8": "CharStorage",
    "int16": "ShortStorage",
    "int32": "IntStorage",
    "int64": "LongStorage",
    "float16": "HalfStorage",
    "float32": "FloatStorage",
    "float64": "DoubleStorage",
    "complex64": "ComplexFloatStorage",
    "complex128": "ComplexDoubleStorage",
}


class _OfOneType(type):
    """The classes of storages of one dtype, whose instances are TypedStorages of it."""

    dtype: dtypes.dtype

    def __call__(cls, data: int | Sequence = 0) -> Any:
        return TypedStorage(data, dtype=cls.dtype)

    def __instancecheck__(cls, instance: object) -> bool:
        return isinstance(instance, TypedStorage) and instance.dtype == cls.dtype


for _dtype, _name in _LEGACY.items():
    _doc = f"""Storages of {_dtype}.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.{_name}(2).size()
    2
    """
    globals()[_name] = _OfOneType(
        _name, (), {"dtype": dtypes.of(np.dtype(_dtype)), "__doc__": _doc, "__module__": "dualtape"}
    )


def is_storage(obj: object) -> bool:
    """Whether ``obj`` is a storage.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.is_storage(dt.ones(1).untyped_storage()), dt.is_storage(dt.ones(1))
    (True, False)
    """
    return isinstance(obj, (UntypedStorage, TypedStorage))


def untyped_storage(self: Tensor) -> UntypedStorage:
    """The memory of the tensor, or of the base that it views, as bytes.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.ones(3)[1:].untyped_storage().nbytes()
    12
    """
    array = self._array if self._base is None else self._base._array
    if hasattr(array, "shared"):
        array = array.shared()  # while a program is traced
    if type(array) is not np.ndarray:
        raise NotImplementedError(f"untyped_storage: the memory of {type(array).__name__} cannot be read as bytes")
    found = _known.get(id(array))
    if found is None or found._array is not array:
        flat = array.transpose(sorted(range(array.ndim), key=lambda d: (-array.strides[d], d)))
        if not flat.flags.c_contiguous:
            raise RuntimeError("untyped_storage: the memory behind this tensor has gaps: call contiguous() first")
        found = UntypedStorage()
        found._bytes, found._array = flat.reshape(-1).view(np.uint8), array
        _known[id(array)] = found
    return found


def storage(self: Tensor) -> TypedStorage:
    """The memory of the tensor, or of the base that it views, as elements; deprecated in favour of
    :meth:`untyped_storage`.

    Examples
    --------
    >>> import dualtape as dt, warnings
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("ignore")
    ...     dt.arange(3)[1:].storage().tolist()
    [0, 1, 2]
    """
    warn(
        "TypedStorage is deprecated. It will be removed in the future and UntypedStorage will be the only storage"
        " class: use tensor.untyped_storage() instead of tensor.storage()",
        UserWarning,
    )
    return TypedStorage(wrap_storage=untyped_storage(self), dtype=self.dtype)


def storage_type(self: Tensor) -> Any:
    """The class of storages of the tensor's dtype.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.ones(1).storage_type() is dt.FloatStorage
    True
    """
    return globals()[_LEGACY[self.dtype.name]]
