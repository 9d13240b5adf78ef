"""PyTorch's checkpoints: a zip archive of storages, and a pickle that says how tensors use them.

The pickle is read by :mod:`.pickles`, which runs nothing; this module has the globals that such a pickle may name, and
checks each tensor against its storage.
"""

from __future__ import annotations

import errno
import struct
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
from . import allowed
from .limits import Budget, check_sizes, check_span, set_attributes, short, strided_over
from .objects import Unpickler
from .pickles import Refused, Word, unpickled
from .safetensors import from_stored
from .source import FileFormatError, Source

_STORAGES = {
    "FloatStorage": "float32",
    "DoubleStorage": "float64",
    "HalfStorage": "float16",
    "BFloat16Storage": "bfloat16",
    "LongStorage": "int64",
    "IntStorage": "int32",
    "ShortStorage": "int16",
    "CharStorage": "int8",
    "ByteStorage": "uint8",
    "BoolStorage": "bool",
    "ComplexFloatStorage": "complex64",
    "ComplexDoubleStorage": "complex128",
    "UntypedStorage": "uint8",
}
_LOCAL_HEADER = 30  # bytes of a zip member's own header, before its name


class _Storage:
    """Elements in the archive, whether they are bfloat16, and their present location, if not the CPU's memory."""

    __slots__ = ("array", "brief", "moved", "_forms")

    def __init__(self, array: np.ndarray, brief: bool, moved: Tensor | None) -> None:
        self.array, self.brief, self.moved = array, brief, moved
        # Other dtypes of this storage, each made once, so that tensors still share memory.
        self._forms: dict[Any, _Storage] = {}

    def resolved(self, conj: bool, neg: bool) -> _Storage:
        """Return the storage with its elements conjugated and negated, as PyTorch's tensors request by a bit.

        All elements are computed, rather than those of a tensor: an expanded tensor has more than there are.
        """
        if not (conj or neg):
            return self
        if (conj, neg) not in self._forms:
            array, moved = self.array, self.moved
            if conj:
                array, moved = np.conjugate(array), moved if moved is None else moved.conj()
            if neg:
                array, moved = np.negative(array), moved if moved is None else -moved
            self._forms[conj, neg] = _Storage(array, self.brief, moved)
        return self._forms[conj, neg]

    def of_type(self, dtype: dtypes.dtype, order: Any) -> _Storage:
        """Return the storage with its bytes read as a dtype, in the byte order of the file."""
        if dtype not in self._forms:
            element = np.dtype(np.uint16) if dtype is dtypes.bfloat16 else dtype.numpy
            whole = self.array[: self.array.size - self.array.size % element.itemsize]
            elements: Any = whole.view(element.newbyteorder(order)).astype(element, copy=False)
            elements = from_stored(elements, dtype is dtypes.bfloat16)
            moved = None
            if self.moved is not None:
                moved = wrap(elements).to(self.moved.device)
            brief = dtype is dtypes.bfloat16
            self._forms[dtype] = _Storage(elements.values if brief else elements, brief, moved)
        return self._forms[dtype]


def read(source: Source, placed: Callable[[Tensor, str], Tensor], unsafe: bool = False) -> Any:
    """Return the object in a checkpoint; if ``unsafe``, the code that it asks for is run."""
    try:
        with zipfile.ZipFile(source.file) as archive:
            return _Checkpoint(source, archive, placed, unsafe).value()
    except FileFormatError:
        raise
    except (zipfile.BadZipFile, EOFError, NotImplementedError, OverflowError, struct.error) as error:
        raise FileFormatError(f"not a whole zip archive: {short(error)}") from None
    except OSError as error:
        if error.errno != errno.EINVAL:  # a seek to before the file's begin
            raise
        raise FileFormatError("not a whole zip archive: it points before its begin") from None


class _Checkpoint:
    def __init__(
        self, source: Source, archive: zipfile.ZipFile, placed: Callable[[Tensor, str], Tensor], unsafe: bool
    ) -> None:
        self.source, self.archive, self.placed, self.unsafe = source, archive, placed, unsafe
        self.storages: dict[str, _Storage] = {}
        members = archive.infolist()
        if sum(member.file_size for member in members) > source.size:
            raise FileFormatError("its members claim to be larger than all of it: truncated, or one over the other")
        for member in members:
            parts = member.filename.replace("\\", "/").split("/")
            if ".." in parts or parts[0] == "" or ":" in parts[0]:
                raise FileFormatError(f"its member {short(member.filename)} points out of the archive")
            if member.compress_type != zipfile.ZIP_STORED:
                raise FileFormatError(f"its member {short(member.filename)} is compressed; PyTorch's are not")
            if member.flag_bits & 1 or member.compress_size != member.file_size or member.header_offset < 0:
                raise FileFormatError(f"its member {short(member.filename)} is encrypted, or its sizes are damaged")
        self.names = {member.filename for member in members}
        if len(self.names) != len(members):
            raise FileFormatError("two members of one name")
        roots = [name[: -len("data.pkl")] for name in self.names if name.endswith("/data.pkl")]
        if len(roots) != 1:
            raise FileFormatError("a zip archive, but not a checkpoint: no data.pkl in its folder")
        self.root = roots[0]
        if self.root + "constants.pkl" in self.names:
            raise FileFormatError("a TorchScript program: what can be read are the tensors of a dict")
        order = self._member("byteorder").decode().strip() if self.root + "byteorder" in self.names else "little"
        if order not in ("little", "big"):
            raise FileFormatError(f"byte order {short(order)}, where 'little' or 'big' was expected")
        self.order: Any = "<" if order == "little" else ">"

    def _member(self, name: str) -> bytes:
        return self.archive.read(self.root + name)

    def value(self) -> Any:
        data = self._member("data.pkl")
        self.budget = Budget(len(data), self.source.size)
        tensors: dict[tuple[str, str], Callable[..., Any]] = {
            ("torch._utils", "_rebuild_tensor_v2"): self.tensor,
            ("torch._utils", "_rebuild_tensor_v3"): self.typed,
            ("torch._utils", "_rebuild_parameter"): self.parameter,
            ("torch._utils", "_rebuild_parameter_with_state"): self.parameter,
            ("torch._utils", "_rebuild_sparse_tensor"): self.sparse,
            ("torch._tensor", "_rebuild_from_type_v2"): self.of_type,
        }
        words = {**_WORDS, **containers(self.budget), **{key: Word(key[1], made) for key, made in tensors.items()}}
        if self.unsafe:
            taken = {key: word for key, word in words.items() if key[0].partition(".")[0] == "torch"}
            return Unpickler(data, self.storage, taken).load()
        return unpickled(data, {**words, **allowed.words()}, self.storage, self.budget)

    # --- what the pickle asks for -----------------------------------------------------------------

    def storage(self, identity: Any) -> _Storage:
        """Return the storage with this persistent identity: ('storage', type, key, location, count)."""
        if not (isinstance(identity, tuple) and len(identity) == 5 and identity[0] == "storage"):
            raise Refused(f"a persistent identity {short(identity)}: a checkpoint has storages and nothing else")
        _, kind, key, location, count = identity
        if not isinstance(kind, dtypes.dtype) or not isinstance(key, str) or not isinstance(location, str):
            raise Refused(f"a storage that is not one: {short(identity)}")
        name = f"{self.root}data/{key}"
        if name not in self.names:
            raise FileFormatError(f"its storage {short(key)} is missing")
        brief = kind is dtypes.bfloat16
        element = np.dtype(np.uint16) if brief else kind.numpy
        if key not in self.storages:
            data = self._bytes(self.archive.getinfo(name))
            if type(count) is not int or count < 0 or count * element.itemsize != data.size:
                raise FileFormatError(f"storage {short(key)} has {data.size} bytes, not {short(count)} {kind}")
            array = data.view(element.newbyteorder(self.order)).astype(element, copy=False)
            whole = from_stored(array, brief)
            moved = self.placed(wrap(whole), location)
            self.storages[key] = _Storage(whole.values if brief else whole, brief, moved if moved.is_cuda else None)
        found = self.storages[key]
        if found.brief != brief or not brief and found.array.dtype != element:
            raise FileFormatError(f"storage {short(key)} has two types")
        return found

    def _bytes(self, member: zipfile.ZipInfo) -> np.ndarray:
        if not self.source.mapped:
            return np.frombuffer(bytearray(self.archive.read(member)), np.uint8)
        header = self.source.read(member.header_offset, _LOCAL_HEADER)
        name, extra = int.from_bytes(header[26:28], "little"), int.from_bytes(header[28:30], "little")
        return self.source.array(member.header_offset + _LOCAL_HEADER + name + extra, member.file_size)

    def tensor(
        self,
        storage: Any,
        offset: Any,
        size: Any,
        stride: Any,
        requires_grad: Any = False,
        hooks: Any = None,
        metadata: Any = None,
    ) -> Tensor:
        """Return a tensor over a storage."""
        if not isinstance(storage, _Storage):
            raise Refused(f"a tensor over {short(storage)}, which is no storage")
        if not isinstance(size, tuple) or not isinstance(stride, tuple):
            raise Refused(f"a tensor of size {short(size)} and stride {short(stride)}")
        check_sizes("the strides of a tensor", stride)
        check_span("a tensor", size, stride, offset, 1, storage.array.size)
        storage = storage.resolved(*_bits(metadata, storage))
        if storage.moved is not None:
            return _flagged(wrap(storage.moved.as_strided(size, stride, offset)._array), requires_grad)
        array = storage.array
        step = array.itemsize
        laid = strided_over("a tensor", array, array.dtype, size, offset * step, [n * step for n in stride])
        return _flagged(wrap(BFloat16Array(laid, True) if storage.brief else laid), requires_grad)

    def typed(
        self,
        storage: Any,
        offset: Any,
        size: Any,
        stride: Any,
        requires_grad: Any,
        hooks: Any,
        dtype: Any,
        metadata: Any = None,
    ) -> Tensor:
        """Return a tensor over bytes, whose dtype it states itself."""
        if not isinstance(storage, _Storage) or storage.brief or storage.array.dtype != np.uint8:
            raise Refused(f"a tensor over {short(storage)}, which is no storage of bytes")
        if not isinstance(dtype, dtypes.dtype):
            raise Refused(f"a tensor of {short(dtype)}, which is no dtype")
        return self.tensor(storage.of_type(dtype, self.order), offset, size, stride, requires_grad, hooks, metadata)

    def parameter(self, data: Any, requires_grad: Any, hooks: Any, state: Any = None) -> Parameter:
        """Return a parameter, with its attributes."""
        if not isinstance(data, Tensor) or type(requires_grad) is not bool:
            raise Refused("a parameter that is not over a tensor")
        made = Parameter(data, requires_grad)
        if state:
            set_attributes(made, state)
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
        if not isinstance(tensor, Tensor):
            raise Refused(f"a tensor that is {short(tensor)}")
        if state:
            set_attributes(tensor, state)
        return tensor

    def sparse(self, layout: Any, data: Any) -> Tensor:
        """Return a sparse tensor."""
        if not isinstance(data, tuple) or len(data) < 3:
            raise Refused(f"a sparse tensor of {short(data)}")
        for part in data:
            if isinstance(part, Tensor):
                self.budget.copied(part.numel() * part.element_size())
        if layout is devices.sparse_coo:
            indices, values, size, *coalesced = data
            _check_parts(size, indices, values)
            return sparse.sparse_coo_tensor(indices, values, size, is_coalesced=(coalesced or [None])[0] or None)
        ends, others, values, size = data
        _check_parts(size, ends, others, values)
        return sparse.sparse_compressed_tensor(ends, others, values, size, layout=layout)


def _flagged(tensor: Tensor, requires_grad: Any) -> Tensor:
    return tensor.requires_grad_() if requires_grad is True else tensor


_TENSOR = Word("Tensor", None)


def _bits(metadata: Any, storage: _Storage) -> tuple[bool, bool]:
    """Return whether the elements of a tensor are to be conjugated, and negated."""
    if metadata is None:
        return False, False
    if type(metadata) is not dict or not all(type(bit) is bool for bit in metadata.values()):
        raise Refused(f"a tensor with metadata {short(metadata)}, where 'conj' and 'neg' are known")
    unknown = [name for name, bit in metadata.items() if bit and name not in ("conj", "neg")]
    if unknown:
        raise Refused(f"a tensor with {short(unknown)} in its metadata, where 'conj' and 'neg' are known")
    conj, neg = metadata.get("conj", False), metadata.get("neg", False)
    if conj and storage.array.dtype.kind != "c" or neg and storage.array.dtype.kind == "b":
        raise FileFormatError(f"a tensor of {storage.array.dtype} that is conjugated or negated")
    return conj, neg


def _check_parts(size: object, *parts: object) -> None:
    """Raise unless these are a valid size and parts of a sparse tensor."""
    if not all(isinstance(part, Tensor) for part in parts):
        raise Refused(f"a sparse tensor of {short(parts)}, which are not tensors")
    check_sizes("the size of a sparse tensor", size)


def _layout(name: Any) -> Any:
    found = _LAYOUTS.get(name) if isinstance(name, str) else None
    if found is None:
        raise Refused(f"a layout {short(name)}")
    return found


def _device(kind: Any, index: Any = None) -> device:
    if not isinstance(kind, str) or index is not None and type(index) is not int:
        raise Refused(f"a device {short(kind)} {short(index)}")
    return device(kind, index)


def _complex(real: Any, imag: Any = 0.0) -> complex:
    if not isinstance(real, (int, float)) or not isinstance(imag, (int, float)):
        raise Refused(f"a complex number of {short(real)} and {short(imag)}")
    return complex(float(real), float(imag))


def containers(budget: Budget) -> dict[tuple[str, str], Word]:
    """Return the globals for containers, which charge a budget for copying and hashing."""

    def of_items(made: Any) -> Callable[..., Any]:
        """Return the function that a pickle calls with a list of items, or nothing, for a container's constructor."""

        def build(*args: Any) -> Any:
            if len(args) > 1 or args and type(args[0]) not in (list, tuple, dict, OrderedDict, set, frozenset):
                raise Refused(f"a {made.__name__} of {short(args[0] if args else args)}, which is not a list")
            if not args:
                return made()
            items = args[0]
            budget.elements(len(items))
            if made in (set, frozenset, Counter):
                budget.keys(set(), items)
            elif made in (dict, OrderedDict):
                items = [*items.items()] if isinstance(items, dict) else items
                if not all(isinstance(pair, (list, tuple)) and len(pair) == 2 for pair in items):
                    raise FileFormatError(f"a {made.__name__} of items that are no pairs")
                budget.keys({}, [key for key, _ in items])
            return made(items)

        return build

    def encoded(text: Any, encoding: Any) -> bytes:
        if not isinstance(text, str) or encoding != "latin1":
            raise Refused("bytes that are not written as latin1")
        budget.elements(len(text) // 8)
        return text.encode("latin1")

    def in_bytearray(data: Any = b"", *how: Any) -> bytearray:
        if isinstance(data, bytes) and not how:
            budget.elements(len(data) // 8)
            return bytearray(data)
        return bytearray(encoded(data, *(how or (None,))))

    words: dict[tuple[str, str], Any] = {
        ("torch", "Size"): Size,
        ("collections", "OrderedDict"): OrderedDict,
        ("collections", "Counter"): Counter,
        **{(module, kind.__name__): kind for module in _BUILTINS for kind in (set, frozenset, list, dict, tuple)},
    }
    made = {key: Word(key[1], of_items(kind)) for key, kind in words.items()}
    made["_codecs", "encode"] = Word("encode", encoded)
    for module in _BUILTINS:
        made[module, "bytearray"] = Word("bytearray", in_bytearray)
    return made


def _default(*args: Any) -> defaultdict:
    if len(args) > 1:
        raise Refused(f"a defaultdict of {short(args)}")
    if not args or args[0] is None:
        return defaultdict(None)
    if not isinstance(args[0], Word) or args[0].name not in _FACTORIES:
        raise Refused("a defaultdict with a function of its own")
    return defaultdict(_FACTORIES[args[0].name])


_BUILTINS = ("builtins", "__builtin__")
_FACTORIES: dict[str, Any] = {
    "list": list,
    "dict": dict,
    "set": set,
    "int": int,
    "float": float,
    "str": str,
    "bool": bool,
    "tuple": tuple,
    # the names of int and str in Python 2, which protocol 2 writes
    "long": int,
    "unicode": str,
}
_LAYOUTS = {
    f"torch.{layout.name}": layout
    for layout in (
        devices.strided,
        devices.sparse_coo,
        devices.sparse_csr,
        devices.sparse_csc,
        devices.sparse_bsr,
        devices.sparse_bsc,
    )
}
_WORDS: dict[tuple[str, str], Any] = {
    **{("torch", name): dtypes.NAMED[dtype] for name, dtype in _STORAGES.items()},
    ("torch.storage", "UntypedStorage"): dtypes.uint8,
    **{("torch", name): value for name, value in dtypes.NAMED.items()},
    ("torch", "device"): Word("device", _device),
    ("torch", "Tensor"): _TENSOR,
    ("torch.nn.parameter", "Parameter"): Word("Parameter", None),
    ("torch.serialization", "_get_layout"): Word("layout", _layout),
    ("collections", "defaultdict"): Word("defaultdict", _default),
    **{(module, name): Word(name, None) for module in _BUILTINS for name in ("int", "float", "str", "bool")},
    **{("__builtin__", name): Word(name, None) for name in ("long", "unicode")},
    **{(module, "complex"): Word("complex", _complex) for module in _BUILTINS},
}


def known_names() -> set[tuple[str, str]]:
    """Return the globals that a checkpoint may name, by module and name."""
    rebuilt = ("_rebuild_tensor_v2", "_rebuild_tensor_v3", "_rebuild_parameter", "_rebuild_parameter_with_state")
    return {
        *_WORDS,
        *containers(Budget(0, 0)),
        *(("torch._utils", name) for name in (*rebuilt, "_rebuild_sparse_tensor")),
        ("torch._tensor", "_rebuild_from_type_v2"),
    }
