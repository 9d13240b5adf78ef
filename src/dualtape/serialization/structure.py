"""The JSON structure of a file: the containers and plain values of an object, and the layout of its tensors on the
arrays.

:class:`Writer` writes it; :mod:`.reading` reads it.

Everything but ``null``, booleans, integers, finite floats, strings and lists is an object whose first key names its
kind. Arrays are named by their position (``model.0.weight``), so that a mapping of names to tensors is an ordinary
``.safetensors`` file. Tensors over one memory share memory again when they are read. Objects of other types are refused
with their position: nothing is pickled, nothing is left out.
"""

from __future__ import annotations

import base64
import math
from collections import Counter, OrderedDict, defaultdict
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from .. import sparse
from .._tensor import dtypes
from .._tensor.copying import owner_of
from .._tensor.device import device, strided
from .._tensor.size import Size
from .._tensor.tensor import Tensor
from ..arrays.bfloat16 import BFloat16Array
from ..nested import NestedTensor
from ..nn import Parameter
from .limits import check_attribute
from .safetensors import type_code
from .source import FileFormatError

_CLASSES = (Tensor, Parameter, NestedTensor, sparse.SparseTensor, sparse.CompressedTensor)
FACTORIES: dict[str, Any] = {
    "dict": dict,
    "list": list,
    "set": set,
    "int": int,
    "float": float,
    "str": str,
    "bool": bool,
    "tuple": tuple,
    "None": None,
}


class Writer:
    """Converts an object to JSON and named arrays.

    Attributes
    ----------
    arrays : dict of str to array
        What goes into the file beside the structure.
    """

    def __init__(self, obj: Any) -> None:
        self.arrays: dict[str, Any] = {}
        self._names: dict[Any, str] = {}  # of what was written, by where it lies
        self._kept: list = []  # so that no address is used twice meanwhile
        # The number of each tensor, in the order in which they are complete.
        self._tensors: dict[int, int] = {}
        self._open: set[int] = set()  # containers on the way down: one that holds itself has no end
        self._regions: dict[int, set] = {}  # the views of each memory
        for tensor in _tensors(obj, set()):
            self._regions.setdefault(id(_owner(_memory(tensor))), set()).add(_region(_memory(tensor)))
        self.structure = self._encode(obj, ())

    def _encode(self, obj: Any, path: tuple) -> Any:
        if obj is None or type(obj) in (bool, int, str):
            return obj
        if type(obj) is float:
            return obj if math.isfinite(obj) else {"float": repr(obj)}
        if isinstance(obj, Tensor):
            return self._tensor(obj, path)
        if isinstance(obj, np.ndarray):
            node = {"array": self._array(obj, path), **self._way(obj)}
            return {**node, "dtype": obj.dtype.str}
        if isinstance(obj, np.generic):
            return {"scalar": self._array(np.asarray(obj), path), "dtype": obj.dtype.str}
        encode = _PLAIN.get(type(obj))
        if encode is not None:
            return encode(obj)
        if type(obj) not in (list, tuple, dict, OrderedDict, defaultdict, Counter, set, frozenset):
            raise _refused(obj, path)
        if id(obj) in self._open:
            raise ValueError(f"save: {_place(path)} contains itself, which a file cannot")
        self._open.add(id(obj))
        try:
            return self._container(obj, path)
        finally:
            self._open.discard(id(obj))

    def _container(self, obj: Any, path: tuple) -> Any:
        kind = type(obj).__name__
        if isinstance(obj, dict):
            items = [[self._encode(k, (*path, "a key")), self._encode(v, (*path, k))] for k, v in obj.items()]
            node: dict[str, Any] = {kind: items}
            if isinstance(obj, defaultdict):
                node["factory"] = _factory(obj, path)
            extra = getattr(obj, "__dict__", None)  # a state_dict has versions of its modules there
            if extra:
                node["attributes"] = self._attributes(obj, dict(extra), path)
            return node
        items = [self._encode(item, (*path, k)) for k, item in enumerate(obj)]
        return items if kind == "list" else {kind: items}

    def _attributes(self, obj: Any, attributes: dict[str, Any], path: tuple) -> Any:
        for name in attributes:
            try:
                check_attribute(type(obj), name)
            except FileFormatError as error:
                raise TypeError(f"save: {_place(path)} has {error}: no file may do that") from None
        return self._encode(attributes, (*path, "attributes"))

    def _tensor(self, tensor: Tensor, path: tuple) -> dict:
        if type(tensor) not in _CLASSES:
            raise _refused(tensor, path, "its values are saved by x.detach().as_subclass(Tensor)")
        if id(tensor) in self._tensors:
            return {"same": self._tensors[id(tensor)]}
        node: dict[str, Any]
        if tensor.is_nested or tensor.layout is not strided:
            node = self._parts(tensor, path)
        else:
            node = {"tensor": self._array(tensor._array, path), **self._way(tensor._array)}
        if tensor.requires_grad:
            node["requires_grad"] = True
        if isinstance(tensor, Parameter):
            node["parameter"] = True
        if tensor.is_cuda:
            node["device"] = str(tensor.device)
        attributes = {k: v for k, v in tensor.__dict__.items() if type(tensor) in (Tensor, Parameter)}
        if attributes:
            node["attributes"] = self._attributes(tensor, attributes, path)
        self._tensors[id(tensor)] = len(self._tensors)
        self._kept.append(tensor)
        return node

    def _parts(self, tensor: Any, path: tuple) -> dict:
        """Return the parts of a tensor that consists of others."""
        if tensor.is_nested:
            ragged, values = tensor._ragged, tensor._values
            parts = [values.detach(), ragged.offsets, ragged.lengths]
            return {"nested": self._encode(parts, path), "dim": ragged.dim}
        plain = tensor.detach()
        if tensor.layout.name == "sparse_coo":
            parts, options = [plain._indices(), plain._values()], {"coalesced": plain.is_coalesced()}
        else:
            by_row = tensor.layout.name in ("sparse_csr", "sparse_bsr")
            ends = plain.crow_indices() if by_row else plain.ccol_indices()
            parts, options = [ends, plain.col_indices() if by_row else plain.row_indices(), plain.values()], {}
        return {"sparse": tensor.layout.name, "size": list(tensor.shape), "parts": self._encode(parts, path), **options}

    def _way(self, array: Any) -> dict:
        """Return the layout of a tensor on the array that is written, if it is not row-major."""
        memory = array.values if isinstance(array, BFloat16Array) else array
        node: dict[str, Any] = {}
        if type_code(array) is None or isinstance(array, BFloat16Array):
            node["dtype"] = array.dtype.name
        if self._is_shared(array):
            start = _address(memory) - _address(_owner(memory))
            return {
                "dtype": array.dtype.name,
                "shape": list(array.shape),
                "start": start,
                "steps": list(memory.strides),
            }
        if memory.ndim > 1 and memory.size and not memory.flags.c_contiguous:
            order = sorted(range(memory.ndim), key=lambda d: -memory.strides[d])
            if memory.transpose(order).flags.c_contiguous:
                node["order"] = order
        return node

    def _is_shared(self, array: Any) -> bool:
        memory = array.values if isinstance(array, BFloat16Array) else array
        return len(self._regions.get(id(_owner(memory)), ())) > 1 and array.size > 0

    def _array(self, array: Any, path: tuple) -> str:
        memory = array.values if isinstance(array, BFloat16Array) else array
        if memory.dtype.kind not in "biufc" or memory.dtype.itemsize > 16 or memory.dtype.name == "float128":
            raise TypeError(f"save: {_place(path)} is an array of {memory.dtype}, which files have not")
        shared = self._is_shared(array)
        key: Any = ("memory", id(_owner(memory))) if shared else (_region(memory), type(array), memory.dtype.str)
        if key not in self._names or not memory.size:
            name = base = ".".join(map(str, path)) or "value"
            if shared:
                array = _owner(memory).reshape(-1, order="A").view(np.uint8)
            elif type_code(array) is None:
                array = np.ascontiguousarray(array).view(array.real.dtype).reshape(*array.shape, 2)
            count = 1
            while name in self.arrays or name == "__metadata__":
                name, count = f"{base}#{count}", count + 1
            self.arrays[name] = array
            self._names[key] = name
            self._kept.append(memory)
        return self._names[key]


class NotPlain(TypeError):
    """An object is no plain data: it can be saved as a pickle alone."""


def is_plain_tensor(tensor: Tensor) -> bool:
    """Return whether a tensor can be written without a pickle: its class is one of ours, its attributes are plain."""
    attributes = {name: value for name, value in tensor.__dict__.items() if name != "_is_param"}
    return type(tensor) in _CLASSES and not attributes


def _tensors(obj: Any, seen: set) -> Iterator[Any]:
    """Yield the strided tensors and arrays in an object."""
    if isinstance(obj, (Tensor, np.ndarray)):
        if isinstance(obj, np.ndarray) or not obj.is_nested and obj.layout is strided:
            yield obj
    elif isinstance(obj, (dict, list, tuple)) and id(obj) not in seen:
        seen.add(id(obj))
        for item in obj.values() if isinstance(obj, dict) else obj:
            yield from _tensors(item, seen)


def _memory(obj: Any) -> Any:
    array = obj if isinstance(obj, np.ndarray) else obj._array
    return array.values if isinstance(array, BFloat16Array) else array


def _owner(memory: Any) -> Any:
    """Return the array that owns the memory of a view."""
    if isinstance(memory, np.ndarray):
        return owner_of(memory)
    owner = memory
    while getattr(owner, "base", None) is not None:
        owner = owner.base
    return owner if owner.flags.c_contiguous or owner.flags.f_contiguous else memory


def _address(memory: Any) -> int:
    return memory.__array_interface__["data"][0] if isinstance(memory, np.ndarray) else memory.data.ptr


def _region(memory: Any) -> tuple:
    """Return the region that a view covers; two tensors with the same region are one array in the file."""
    return (_address(memory), memory.shape, memory.strides, memory.dtype.str)


_PLAIN: dict[type, Callable] = {
    complex: lambda z: {"complex": [repr(z.real), repr(z.imag)]},
    bytes: lambda data: {"bytes": base64.b64encode(data).decode()},
    bytearray: lambda data: {"bytearray": base64.b64encode(data).decode()},
    Size: lambda size: {"Size": list(size)},
    range: lambda r: {"range": [r.start, r.stop, r.step]},
    slice: lambda s: {"slice": [s.start, s.stop, s.step]},
    dtypes.dtype: lambda dtype: {"dtype": dtype.name},
    device: lambda where: {"device": str(where)},
    type(Ellipsis): lambda _: {"ellipsis": True},
}


def _factory(obj: defaultdict, path: tuple) -> str:
    for name, factory in FACTORIES.items():
        if obj.default_factory is factory:
            return name
    raise _refused(obj.default_factory, path, f"a defaultdict's factory may be {', '.join(FACTORIES)}")


def _place(path: tuple) -> str:
    return "the object" + "".join(f"[{key!r}]" for key in path)


def _refused(obj: Any, path: tuple, hint: str = "") -> NotPlain:
    kind = obj if isinstance(obj, type) else type(obj)
    if not hint:
        hint = (
            "save its state_dict(), and load that into a new one"
            if hasattr(obj, "state_dict")
            else "a file holds tensors, arrays, numbers, strings, bytes, lists, tuples, dicts and sets"
        )
    return NotPlain(f"save: {_place(path)} is a {kind.__module__}.{kind.__qualname__}, which is not saved: {hint}")
