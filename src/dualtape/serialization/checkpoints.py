"""Checkpoints of PyTorch's: a zip archive of storages, and a pickle that says how tensors lie on them.

The pickle is read by :mod:`.pickles`, which runs nothing; this module has the words that such a pickle may use, and
checks each tensor against the storage it claims to lie on.
"""

from __future__ import annotations

import zipfile
from collections import Counter, OrderedDict, defaultdict
from collections.abc import Callable
from typing import Any

import numpy as np

from .. import sparse
from .._tensor import device as devices
from .._tensor import dtypes
from .._tensor.device import device
from .._tensor.size import Size
from .._tensor.tensor import Tensor, wrap
from ..arrays.bfloat16 import BFloat16Array
from ..nn import Parameter
from .pickles import Refused, Word, unpickled
from .safetensors import from_stored
from .source import FileFormatError, Source

_STORAGES = {
    "FloatStorage": "float32", "DoubleStorage": "float64", "HalfStorage": "float16", "BFloat16Storage": "bfloat16",
    "LongStorage": "int64", "IntStorage": "int32", "ShortStorage": "int16", "CharStorage": "int8",
    "ByteStorage": "uint8", "BoolStorage": "bool", "ComplexFloatStorage": "complex64",
    "ComplexDoubleStorage": "complex128", "UntypedStorage": "uint8",
}  # fmt: skip
_LOCAL_HEADER = 30  # bytes of a zip member's own header, before its name


class _Storage:
    """Elements in the archive, whether they are bfloat16, and where they are now, if not in the CPU's memory."""

    __slots__ = ("array", "brief", "moved")

    def __init__(self, array: np.ndarray, brief: bool, moved: Tensor | None) -> None:
        self.array, self.brief, self.moved = array, brief, moved


def read(source: Source, placed: Callable[[Tensor, str], Tensor]) -> Any:
    """The object in a checkpoint."""
    try:
        with zipfile.ZipFile(source.file) as archive:
            return _Checkpoint(source, archive, placed).value()
    except (zipfile.BadZipFile, EOFError, NotImplementedError, OverflowError) as error:
        raise FileFormatError(f"{source.name} is not a whole zip archive: {error}") from None


class _Checkpoint:
    def __init__(self, source: Source, archive: zipfile.ZipFile, placed: Callable[[Tensor, str], Tensor]) -> None:
        self.source, self.archive, self.placed = source, archive, placed
        self.storages: dict[str, _Storage] = {}
        members = archive.infolist()
        for member in members:
            parts = member.filename.replace("\\", "/").split("/")
            if ".." in parts or parts[0] == "" or ":" in parts[0]:
                raise FileFormatError(f"{source.name}: its member {member.filename!r} points out of the archive")
            if member.compress_type != zipfile.ZIP_STORED:
                raise FileFormatError(f"{source.name}: its member {member.filename!r} is compressed; PyTorch's are not")
        self.names = [member.filename for member in members]
        if len(set(self.names)) != len(self.names):
            raise FileFormatError(f"{source.name}: two members of one name")
        roots = [name[: -len("data.pkl")] for name in self.names if name.endswith("/data.pkl")]
        if len(roots) != 1:
            raise FileFormatError(f"{source.name} is a zip archive, but not a checkpoint: no data.pkl in its folder")
        self.root = roots[0]
        if self.root + "constants.pkl" in self.names:
            raise FileFormatError(f"{source.name} is a TorchScript program: what can be read are the tensors of a dict")
        order = self._member("byteorder").decode().strip() if self.root + "byteorder" in self.names else "little"
        if order not in ("little", "big"):
            raise FileFormatError(f"{source.name}: byte order {order!r}, where 'little' or 'big' was expected")
        self.order: Any = "<" if order == "little" else ">"

    def _member(self, name: str) -> bytes:
        return self.archive.read(self.root + name)

    def value(self) -> Any:
        words = {**_WORDS, **{(m, n): Word(n, getattr(self, f)) for (m, n), f in _OF_TENSORS.items()}}
        return unpickled(self._member("data.pkl"), words, self.storage)

    # --- what the pickle asks for -----------------------------------------------------------------

    def storage(self, identity: Any) -> _Storage:
        """The storage with this persistent identity: ('storage', type, key, location, count)."""
        if not (isinstance(identity, tuple) and len(identity) == 5 and identity[0] == "storage"):
            raise Refused(f"a persistent identity {identity!r:.80}: a checkpoint has storages and nothing else")
        _, kind, key, location, count = identity
        if not isinstance(kind, dtypes.dtype) or not isinstance(key, str) or not isinstance(location, str):
            raise Refused(f"a storage that is not one: {identity!r:.80}")
        name = f"{self.root}data/{key}"
        if name not in self.names:
            raise FileFormatError(f"{self.source.name}: its storage {key!r} is missing")
        brief = kind is dtypes.bfloat16
        element = np.dtype(np.uint16) if brief else kind.numpy
        if key not in self.storages:
            data = self._bytes(self.archive.getinfo(name))
            if type(count) is not int or count < 0 or count * element.itemsize != data.size:
                raise FileFormatError(f"{self.source.name}: storage {key!r} has {data.size} bytes, not {count} {kind}")
            array = data.view(element.newbyteorder(self.order)).astype(element, copy=False)
            whole = from_stored(array, brief)
            moved = self.placed(wrap(whole), location)
            self.storages[key] = _Storage(whole.values if brief else whole, brief, moved if moved.is_cuda else None)
        found = self.storages[key]
        if found.brief != brief or not brief and found.array.dtype != element:
            raise FileFormatError(f"{self.source.name}: storage {key!r} has two types")
        return found

    def _bytes(self, member: zipfile.ZipInfo) -> np.ndarray:
        if member.file_size > self.source.size:
            raise FileFormatError(
                f"{self.source.name}: {member.filename!r} claims {member.file_size} bytes: truncated?"
            )
        if not self.source.mapped:
            return np.frombuffer(bytearray(self.archive.read(member)), np.uint8)
        header = self.source.read(member.header_offset, _LOCAL_HEADER)
        name, extra = int.from_bytes(header[26:28], "little"), int.from_bytes(header[28:30], "little")
        return self.source.array(member.header_offset + _LOCAL_HEADER + name + extra, member.file_size)

    def tensor(
        self, storage: Any, offset: Any, size: Any, stride: Any, requires_grad: Any = False, hooks: Any = None,
        metadata: Any = None,
    ) -> Tensor:  # fmt: skip
        """A tensor over a storage."""
        if not isinstance(storage, _Storage) or not isinstance(size, tuple) or not isinstance(stride, tuple):
            raise Refused("a tensor without storage, size and stride")
        numbers = (offset, *size, *stride)
        if not all(type(n) is int and n >= 0 for n in numbers) or len(size) != len(stride) or len(size) > 64:
            raise Refused(f"a tensor of size {size!r:.80} and stride {stride!r:.80} at {offset!r:.20}")
        array = storage.array
        last = offset + sum((n - 1) * step for n, step in zip(size, stride, strict=True))
        if 0 not in size and last >= array.size or offset > array.size:
            raise FileFormatError(f"a tensor of size {size} and stride {stride} at {offset} ends outside its storage")
        if storage.moved is not None:
            return _flagged(wrap(storage.moved.as_strided(size, stride, offset)._array), requires_grad)
        step = array.dtype.itemsize
        try:
            laid = np.ndarray(size, array.dtype, array.data, offset * step, [n * step for n in stride])
        except ValueError as error:
            raise FileFormatError(f"a tensor of size {size} and stride {stride}: {error}") from None
        return _flagged(wrap(BFloat16Array(laid, True) if storage.brief else laid), requires_grad)

    def typed(
        self, storage: Any, offset: Any, size: Any, stride: Any, requires_grad: Any, hooks: Any, dtype: Any, *more: Any
    ) -> Tensor:
        """A tensor over bytes, of which it says itself what they are."""
        if not isinstance(storage, _Storage) or storage.brief or not isinstance(dtype, dtypes.dtype):
            raise Refused("a tensor without storage and dtype")
        if storage.moved is not None or dtype is dtypes.bfloat16:
            raise Refused(f"a tensor of {dtype} over untyped bytes on this device")
        array = storage.array.view(dtype.numpy.newbyteorder(self.order)).astype(dtype.numpy, copy=False)
        return self.tensor(_Storage(array, False, None), offset, size, stride, requires_grad)

    def parameter(self, data: Any, requires_grad: Any, hooks: Any, state: Any = None) -> Parameter:
        """A parameter, with its attributes."""
        if not isinstance(data, Tensor) or type(requires_grad) is not bool:
            raise Refused("a parameter that is not over a tensor")
        made = Parameter(data, requires_grad)
        if isinstance(state, dict) and all(isinstance(name, str) for name in state):
            made.__dict__.update(state)
        return made

    def of_type(self, function: Any, kind: Any, args: Any, state: Any) -> Tensor:
        """A tensor of a class: of ours alone."""
        if (
            not isinstance(function, Word)
            or function.build is None
            or kind is not _TENSOR
            or not isinstance(args, tuple)
        ):
            raise Refused("a tensor of a class of its own")
        tensor = function.build(*args)
        if isinstance(state, dict) and all(isinstance(name, str) for name in state):
            tensor.__dict__.update(state)
        return tensor

    def sparse(self, layout: Any, data: Any) -> Tensor:
        """A sparse tensor."""
        if layout is devices.sparse_coo:
            indices, values, size, *coalesced = data
            return sparse.sparse_coo_tensor(indices, values, size, is_coalesced=(coalesced or [None])[0] or None)
        ends, others, values, size = data
        return sparse.sparse_compressed_tensor(ends, others, values, size, layout=layout)


def _flagged(tensor: Tensor, requires_grad: Any) -> Tensor:
    return tensor.requires_grad_() if requires_grad is True else tensor


_TENSOR = Word("Tensor", None)
_OF_TENSORS = {
    ("torch._utils", "_rebuild_tensor_v2"): "tensor",
    ("torch._utils", "_rebuild_tensor_v3"): "typed",
    ("torch._utils", "_rebuild_parameter"): "parameter",
    ("torch._utils", "_rebuild_parameter_with_state"): "parameter",
    ("torch._utils", "_rebuild_sparse_tensor"): "sparse",
    ("torch._tensor", "_rebuild_from_type_v2"): "of_type",
}


def _layout(name: Any) -> Any:
    found = getattr(devices, str(name).removeprefix("torch."), None)
    if not isinstance(found, devices.layout):
        raise Refused(f"a layout {name!r:.40}")
    return found


def _container(made: Any) -> Callable[..., Any]:
    """Of a container's constructor, what a pickle calls: with a list of items, or nothing."""

    def build(*args: Any) -> Any:
        if len(args) > 1 or args and not isinstance(args[0], (list, tuple, dict)):
            raise Refused(f"a {made.__name__} of something that is not a list")
        return made(*args)

    return build


def _encoded(text: Any, encoding: Any) -> bytes:
    if not isinstance(text, str) or encoding != "latin1":
        raise Refused("bytes that are not written as latin1")
    return text.encode("latin1")


def _default(*args: Any) -> defaultdict:
    factories = {"list": list, "dict": dict, "set": set, "int": int, "float": float}
    if args and not (isinstance(args[0], Word) and args[0].name in factories):
        raise Refused("a defaultdict with a function of its own")
    return defaultdict(factories[args[0].name] if args else None)


_WORDS: dict[tuple[str, str], Any] = {
    **{("torch", name): dtypes.NAMED[dtype] for name, dtype in _STORAGES.items()},
    ("torch.storage", "UntypedStorage"): dtypes.uint8,
    **{
        ("torch", name): value
        for name, value in dtypes.NAMED.items()
    },
    ("torch", "Size"): Word("Size", _container(Size)),
    ("torch", "device"): Word("device", lambda kind, index=None: device(kind, index)),
    ("torch", "Tensor"): _TENSOR,
    ("torch.nn.parameter", "Parameter"): Word("Parameter", None),
    ("torch.serialization", "_get_layout"): Word("layout", _layout),
    ("collections", "OrderedDict"): Word("OrderedDict", _container(OrderedDict)),
    ("collections", "Counter"): Word("Counter", _container(Counter)),
    ("collections", "defaultdict"): Word("defaultdict", _default),
    ("_codecs", "encode"): Word("encode", _encoded),
    **{
        (module, kind.__name__): Word(kind.__name__, _container(kind))
        for module in ("builtins", "__builtin__")
        for kind in (set, frozenset, list, dict, tuple)
    },
    **{
        (module, name): Word(name, None)
        for module in ("builtins", "__builtin__")
        for name in ("int", "float")
    },
    ("builtins", "complex"): Word("complex", lambda real, imag=0.0: complex(float(real), float(imag))),
    ("__builtin__", "complex"): Word("complex", lambda real, imag=0.0: complex(float(real), float(imag))),
    ("builtins", "bytearray"): Word("bytearray", lambda data=b"", *how: bytearray(_as_bytes(data, *how))),
    ("__builtin__", "bytearray"): Word("bytearray", lambda data=b"", *how: bytearray(_as_bytes(data, *how))),
}  # fmt: skip


def _as_bytes(data: Any, *how: Any) -> bytes:
    return _encoded(data, *how) if how else data if isinstance(data, bytes) else _encoded(data, None)
