"""What stands in a file as JSON: the containers and plain values of an object, and how its tensors lie on the arrays.

Everything but ``null``, booleans, whole numbers, finite floats, strings and lists is an object whose first key says
what it is. Arrays are named by where they stand (``model.0.weight``), so that a mapping of names to tensors is an
ordinary ``.safetensors`` file. Tensors over one memory share memory again when they are read. What is not known is
refused with its place: nothing is pickled, nothing is left out.
"""

from __future__ import annotations

import base64
import math
from collections import Counter, OrderedDict, defaultdict
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from .. import sparse
from .._tensor import device as layouts
from .._tensor import dtypes
from .._tensor.copying import owner_of
from .._tensor.device import device, strided
from .._tensor.size import Size
from .._tensor.tensor import Tensor, wrap
from ..arrays.bfloat16 import BFloat16Array
from ..nested import NestedTensor, nested_tensor_from_jagged
from ..nn import Parameter
from .safetensors import type_code
from .source import FileFormatError

_CLASSES = (Tensor, Parameter, NestedTensor, sparse.SparseTensor, sparse.CompressedTensor)
_FACTORIES: dict[str, Any] = {"dict": dict, "list": list, "set": set, "int": int, "float": float, "None": None}


class Writer:
    """Turns an object into JSON and named arrays.

    Attributes
    ----------
    arrays : dict of str to array
        What goes into the file beside the structure.
    """

    def __init__(self, obj: Any) -> None:
        self.arrays: dict[str, Any] = {}
        self._names: dict[Any, str] = {}  # of what was written, by where it lies
        self._kept: list = []  # so that no address is used twice meanwhile
        self._tensors: dict[int, int] = {}  # the number of each tensor, in the order in which they are complete
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
            return {"array": self._array(obj, path), "dtype": obj.dtype.str}
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
                node["attributes"] = self._encode(dict(extra), (*path, "attributes"))
            return node
        items = [self._encode(item, (*path, k)) for k, item in enumerate(obj)]
        return items if kind == "list" else {kind: items}

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
            node["attributes"] = self._encode(attributes, (*path, "attributes"))
        self._tensors[id(tensor)] = len(self._tensors)
        self._kept.append(tensor)
        return node

    def _parts(self, tensor: Any, path: tuple) -> dict:
        """Of a tensor that consists of others."""
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
        """How a tensor lies on the array that is written, where that is not row by row."""
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


def _tensors(obj: Any, seen: set) -> Iterator[Any]:
    """The strided tensors and arrays in an object."""
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
    """The array that has the memory on which an array is a view."""
    if isinstance(memory, np.ndarray):
        return owner_of(memory)
    owner = memory
    while getattr(owner, "base", None) is not None:
        owner = owner.base
    return owner if owner.flags.c_contiguous or owner.flags.f_contiguous else memory


def _address(memory: Any) -> int:
    return memory.__array_interface__["data"][0] if isinstance(memory, np.ndarray) else memory.data.ptr


def _region(memory: Any) -> tuple:
    """What a view covers; two tensors of which this is the same are one array in the file."""
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
    for name, factory in _FACTORIES.items():
        if obj.default_factory is factory:
            return name
    raise _refused(obj.default_factory, path, f"a defaultdict's factory may be {', '.join(_FACTORIES)}")


def _place(path: tuple) -> str:
    return "the object" + "".join(f"[{key!r}]" for key in path)


def _refused(obj: Any, path: tuple, hint: str = "") -> TypeError:
    kind = obj if isinstance(obj, type) else type(obj)
    if not hint:
        hint = (
            "save its state_dict(), and load that into a new one"
            if hasattr(obj, "state_dict")
            else "a file holds tensors, arrays, numbers, strings, bytes, lists, tuples, dicts and sets"
        )
    return TypeError(f"save: {_place(path)} is a {kind.__module__}.{kind.__qualname__}, which is not saved: {hint}")


# --- reading --------------------------------------------------------------------------------------


class Reader:
    """Puts an object together from JSON and named arrays.

    Parameters
    ----------
    arrays : dict of str to array
    place : callable
        Takes a tensor and the device it was on, and gives it where it is to be.
    """

    def __init__(self, arrays: dict[str, Any], place: Callable[[Tensor, str], Tensor]) -> None:
        self._arrays, self._function = arrays, place
        self._theirs: Exception | None = None  # what the user's function raised, which is no fault of the file
        self._placed: dict[Any, Tensor] = {}
        self._complete: list[Tensor] = []

    def _place(self, tensor: Tensor, where: str) -> Tensor:
        try:
            return self._function(tensor, where)
        except Exception as error:
            self._theirs = error
            raise

    def value(self, node: Any) -> Any:
        """The object that a piece of structure stands for."""
        if node is None or isinstance(node, (bool, int, float, str)):
            return node
        if isinstance(node, list):
            return [self.value(item) for item in node]
        kind = next(iter(node), None) if isinstance(node, dict) else None
        read = getattr(self, f"_{kind}", None) if kind in _KINDS else None
        if read is None:
            raise FileFormatError(f"the structure of the file has a {kind!r}, which is not known: a newer dualtape's?")
        try:
            return read(node[kind], node)
        except (TypeError, ValueError, KeyError, IndexError, AttributeError) as error:
            if error is self._theirs:
                raise
            raise FileFormatError(f"the structure of the file has a damaged {kind}: {error!r:.200}") from None

    def _float(self, text: str, node: dict) -> float:
        return float(text)

    def _complex(self, parts: list, node: dict) -> complex:
        return complex(float(parts[0]), float(parts[1]))

    def _bytes(self, text: str, node: dict) -> bytes:
        return base64.b64decode(text, validate=True)

    def _bytearray(self, text: str, node: dict) -> bytearray:
        return bytearray(base64.b64decode(text, validate=True))

    def _Size(self, sizes: list, node: dict) -> Size:
        return Size(sizes)

    def _range(self, ends: list, node: dict) -> range:
        return range(*ends)

    def _slice(self, ends: list, node: dict) -> slice:
        return slice(*ends)

    def _ellipsis(self, _: Any, node: dict) -> Any:
        return ...

    def _dtype(self, name: str, node: dict) -> dtypes.dtype:
        return _dtype(name)

    def _device(self, name: str, node: dict) -> device:
        return device(name)

    def _tuple(self, items: list, node: dict) -> tuple:
        return tuple(self.value(items))

    def _set(self, items: list, node: dict) -> set:
        return set(self.value(items))

    def _frozenset(self, items: list, node: dict) -> frozenset:
        return frozenset(self.value(items))

    def _mapping(self, items: list, node: dict) -> dict:
        kinds: dict[str, Any] = {"dict": dict, "OrderedDict": OrderedDict, "Counter": Counter}
        kind = next(iter(node))
        made = defaultdict(_FACTORIES[node["factory"]]) if kind == "defaultdict" else kinds[kind]()
        for key, value in items:
            made[self.value(key)] = self.value(value)
        if "attributes" in node:
            vars(made).update(self.value(node["attributes"]))
        return made

    _dict = _OrderedDict = _Counter = _defaultdict = _mapping

    def _array(self, name: str, node: dict) -> np.ndarray:
        array = self._arrays[name]
        dtype = np.dtype(node["dtype"])
        if dtype.kind == "c" and array.dtype.kind == "f":
            array = array.view(dtype)[..., 0]
        return array.astype(dtype, copy=False)

    def _scalar(self, name: str, node: dict) -> Any:
        return self._array(name, node)[()]

    def _tensor(self, name: str, node: dict) -> Tensor:
        where = node.get("device", "cpu")
        key = (name, where, *(repr(node.get(what)) for what in ("start", "steps", "shape", "dtype")))
        if key not in self._placed:
            self._placed[key] = self._laid(name, node, where)
        return self._finished(wrap(self._placed[key]._array), node)

    def _finished(self, tensor: Tensor, node: dict) -> Tensor:
        if node.get("parameter"):
            tensor = Parameter(tensor, requires_grad=bool(node.get("requires_grad")))
        elif node.get("requires_grad"):
            tensor.requires_grad_()
        if "attributes" in node:
            tensor.__dict__.update(self.value(node["attributes"]))
        self._complete.append(tensor)
        return tensor

    def _same(self, number: int, node: dict) -> Tensor:
        return self._complete[number]

    def _laid(self, name: str, node: dict, where: str) -> Tensor:
        array = self._arrays[name]
        if "steps" in node:
            memory = self._placed.get((name, where))
            if memory is None:
                memory = self._placed[name, where] = self._place(wrap(array), where)
            return wrap(_view(array, node)) if not memory.is_cuda else _moved_view(memory, node)
        if "dtype" in node and not isinstance(array, BFloat16Array):
            array = array.view(_dtype(node["dtype"]).numpy)[..., 0]
        if "order" in node:
            order = [int(d) for d in node["order"]]
            values = array.values if isinstance(array, BFloat16Array) else array
            laid = np.ascontiguousarray(values.transpose(order)).transpose(np.argsort(order))
            array = BFloat16Array(laid, True) if isinstance(array, BFloat16Array) else laid
        return self._place(wrap(array), where)

    def _nested(self, parts: list, node: dict) -> Tensor:
        values, offsets, lengths = self.value(parts)
        return self._finished(
            nested_tensor_from_jagged(
                values, wrap(offsets), lengths if lengths is None else wrap(lengths), node["dim"]
            ),
            node,
        )

    def _sparse(self, layout: str, node: dict) -> Tensor:
        size, parts = [int(n) for n in node["size"]], self.value(node["parts"])
        if layout == "sparse_coo":
            indices, values = parts
            tensor: Any = sparse.sparse_coo_tensor(indices, values, size, is_coalesced=bool(node["coalesced"]) or None)
        else:
            ends, others, values = parts
            tensor = sparse.sparse_compressed_tensor(ends, others, values, size, layout=getattr(layouts, layout))
        return self._finished(tensor, node)


_KINDS = {
    name[1:] for name in vars(Reader) if name[0] == "_" and name not in ("_finished", "_laid", "_mapping", "_place")
}


def _dtype(name: str) -> dtypes.dtype:
    try:
        return dtypes.NAMED[name]
    except KeyError:
        raise FileFormatError(f"the structure of the file has dtype {name!r}, which is not known") from None


def _view(memory: np.ndarray, node: dict) -> Any:
    """A tensor's array over bytes that others share; nothing outside of them is ever touched."""
    dtype = _dtype(node["dtype"])
    brief = dtype is dtypes.bfloat16
    element = np.dtype(np.float32) if brief else dtype.numpy
    # NumPy checks that all of it lies inside
    array = np.ndarray(tuple(node["shape"]), element, memory.data, int(node["start"]), tuple(node["steps"]))
    return BFloat16Array(array, True) if brief else array


def _moved_view(memory: Tensor, node: dict) -> Tensor:
    """The same over bytes that are on another device."""
    elements = memory.view(_dtype(node["dtype"]))
    size = elements.element_size()
    return elements.as_strided(node["shape"], [step // size for step in node["steps"]], node["start"] // size)
