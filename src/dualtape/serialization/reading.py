"""Builds an object from the JSON that :mod:`.structure` wrote and the named arrays of its file.

Files are not trusted: each kind of object is read by a function of the table, which checks its input, and every view of
shared bytes is checked to lie inside them (:mod:`.limits`).
"""

from __future__ import annotations

import base64
from collections import Counter, OrderedDict, defaultdict
from collections.abc import Callable
from typing import Any

import numpy as np

from .. import sparse
from .._tensor import device as layouts
from .._tensor import dtypes
from .._tensor.device import device
from .._tensor.size import Size
from .._tensor.tensor import Tensor, wrap
from ..arrays.bfloat16 import BFloat16Array
from ..nested import nested_tensor_from_jagged
from ..nn import Parameter
from . import allowed
from .checkpoints import containers
from .limits import Budget, check_sizes, check_span, set_attributes, short, strided_over
from .objects import Unpickler
from .pickles import Refused, unpickled
from .source import DAMAGE, FileFormatError
from .structure import FACTORIES

_MAPPINGS: dict[str, type[dict]] = {"dict": dict, "OrderedDict": OrderedDict, "Counter": Counter}
_COMPRESSED = {
    layout.name: layout for layout in (layouts.sparse_csr, layouts.sparse_csc, layouts.sparse_bsr, layouts.sparse_bsc)
}
_NUMPY_DTYPES = {
    dtype.str: dtype
    for kind in ("b1", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f2", "f4", "f8", "c8", "c16")
    for dtype in (np.dtype("<" + kind), np.dtype(">" + kind))
}


class Reader:
    """Builds an object from JSON and named arrays.

    Parameters
    ----------
    arrays : dict of str to array
    place : callable
        Takes a tensor and the device it was on, and gives it where it is to be.
    budget : Budget
        Limits what is copied and hashed.
    """

    def __init__(self, arrays: dict[str, Any], place: Callable[[Tensor, str], Tensor], budget: Budget) -> None:
        self._arrays, self._place, self._budget = arrays, place, budget
        self._placed: dict[Any, Tensor] = {}
        self._converted: dict[
            tuple[str, str], np.ndarray
        ] = {}  # arrays in another byte order, so that each is made once
        self._complete: list[Tensor] = []

    def value(self, node: Any) -> Any:
        """Return the object that a part of the structure describes."""
        if node is None or isinstance(node, (bool, int, float, str)):
            return node
        if isinstance(node, list):
            return [self.value(item) for item in node]
        kind = next(iter(node), None)
        read = _READERS.get(kind)
        if read is None:
            raise FileFormatError(f"its structure has a {short(kind)}, which is not known: a newer dualtape's?")
        try:
            return read(self, node[kind], node)
        except FileFormatError:
            raise
        except DAMAGE as error:
            raise FileFormatError(f"its structure has a damaged {kind}: {short(error)}") from error

    def unpickled(self, node: dict, unsafe: bool) -> Any:
        """Return the object that was pickled, with its tensors; if ``unsafe``, the code that it asks for is run."""
        if set(node) != {"pickle", "tensors"} or not isinstance(node["tensors"], list):
            raise FileFormatError(f"its structure has a pickle beside {short(list(node))}: expected its tensors")
        data = base64.b64decode(_string(node["pickle"]), validate=True)
        tensors = self.value(node["tensors"])

        def persistent(identity: Any) -> Tensor:
            if not (type(identity) is tuple and len(identity) == 2 and identity[0] == "tensor"):
                raise FileFormatError(f"a persistent identity {short(identity)}: the pickle has tensors alone")
            number = identity[1]
            if type(number) is not int or not 0 <= number < len(tensors):
                raise FileFormatError(f"tensor {short(number)} of {len(tensors)}")
            return tensors[number]

        if unsafe:
            return Unpickler(data, persistent).load()
        try:
            return unpickled(data, {**containers(self._budget), **allowed.words()}, persistent, self._budget)
        except Refused as error:
            raise Refused(
                f"{error}; it was saved as an object: add its classes by serialization.add_safe_globals, or, if you"
                " would run the file as a program, load it with weights_only=False"
            ) from None

    # --- plain values -----------------------------------------------------------------------------

    def _float(self, text: Any, node: dict) -> float:
        return float(_string(text))

    def _complex(self, parts: Any, node: dict) -> complex:
        real, imag = parts
        return complex(float(_string(real)), float(_string(imag)))

    def _bytes(self, text: Any, node: dict) -> bytes:
        return base64.b64decode(_string(text), validate=True)

    def _bytearray(self, text: Any, node: dict) -> bytearray:
        return bytearray(self._bytes(text, node))

    def _Size(self, sizes: Any, node: dict) -> Size:
        if not isinstance(sizes, list) or not all(type(n) is int for n in sizes):
            raise FileFormatError(f"a Size of {short(sizes)}, where a list of ints was expected")
        return Size(sizes)

    def _range(self, ends: Any, node: dict) -> range:
        start, stop, step = ends
        return range(start, stop, step)

    def _slice(self, ends: Any, node: dict) -> slice:
        if not isinstance(ends, list) or any(isinstance(end, (list, dict)) for end in ends):
            raise FileFormatError(f"a slice of {short(ends)}, where three plain values were expected")
        start, stop, step = ends
        return slice(start, stop, step)

    def _ellipsis(self, _: Any, node: dict) -> Any:
        return ...

    def _dtype(self, name: Any, node: dict) -> dtypes.dtype:
        return _dtype(name)

    def _device(self, name: Any, node: dict) -> device:
        return device(_string(name))

    # --- containers -------------------------------------------------------------------------------

    def _items(self, items: Any) -> list:
        if not isinstance(items, list):
            raise FileFormatError(f"items that are {short(items)}, where a list was expected")
        return self.value(items)

    def _tuple(self, items: Any, node: dict) -> tuple:
        return tuple(self._items(items))

    def _set(self, items: Any, node: dict) -> set:
        members = self._items(items)
        self._budget.keys(set(), members)
        return set(members)

    def _frozenset(self, items: Any, node: dict) -> frozenset:
        return frozenset(self._set(items, node))

    def _mapping(self, items: Any, node: dict) -> dict:
        kind = next(iter(node))
        made = defaultdict(FACTORIES[node["factory"]]) if kind == "defaultdict" else _MAPPINGS[kind]()
        pairs = [(self.value(key), self.value(value)) for key, value in items]
        self._budget.keys(made, [key for key, _ in pairs])
        made.update(pairs) if kind != "Counter" else dict.update(made, pairs)
        if "attributes" in node:
            set_attributes(made, self.value(node["attributes"]))
        return made

    # --- arrays and tensors -----------------------------------------------------------------------

    def _stored(self, name: Any) -> Any:
        if _string(name) not in self._arrays:
            raise FileFormatError(f"its structure names an array {short(name)}, which is not in the file")
        return self._arrays[name]

    def _memory(self, name: Any) -> np.ndarray:
        """Return the bytes that several tensors share."""
        array = self._stored(name)
        if not isinstance(array, np.ndarray) or array.dtype != np.uint8 or array.ndim != 1:
            raise FileFormatError(f"tensors share the array {short(name)}, which is no vector of bytes")
        return array

    def _array(self, name: Any, node: dict) -> np.ndarray:
        dtype = _numpy_dtype(node["dtype"])
        if "steps" in node:
            return strided_over(
                f"array {short(name)}", self._memory(name), dtype, node["shape"], node["start"], node["steps"]
            )
        array = _unpaired(name, self._stored(name), dtype)
        if array.dtype != dtype:
            if (array.dtype.kind, array.dtype.itemsize) != (dtype.kind, dtype.itemsize):
                raise FileFormatError(f"array {short(name)} of {array.dtype} is said to be of {dtype}")
            if (name, dtype.str) not in self._converted:
                self._budget.copied(array.nbytes)
                self._converted[name, dtype.str] = array.astype(dtype)
            array = self._converted[name, dtype.str]
        return self._ordered(array, node["order"]) if "order" in node else array[...]

    def _scalar(self, name: Any, node: dict) -> Any:
        array = self._array(name, node)
        if array.ndim:
            raise FileFormatError(f"a number of shape {array.shape}")
        return array[()]

    def _tensor(self, name: Any, node: dict) -> Tensor:
        where = str(device(_string(node.get("device", "cpu"))))
        layout = ("start", "steps", "shape", "dtype") if "steps" in node else ("dtype", "order")
        key = (name, where, *(repr(node.get(what)) for what in layout))
        if key not in self._placed:
            self._placed[key] = self._laid(name, node, where)
        return self._finished(wrap(self._placed[key]._array), node)

    def _finished(self, tensor: Tensor, node: dict) -> Tensor:
        if node.get("parameter"):
            tensor = Parameter(tensor, requires_grad=bool(node.get("requires_grad")))
        elif node.get("requires_grad"):
            tensor.requires_grad_()
        if "attributes" in node:
            set_attributes(tensor, self.value(node["attributes"]))
        self._complete.append(tensor)
        return tensor

    def _same(self, number: Any, node: dict) -> Tensor:
        if type(number) is not int or not 0 <= number < len(self._complete):
            raise FileFormatError(f"the tensor {short(number)}, where {len(self._complete)} have been read")
        return self._complete[number]

    def _laid(self, name: Any, node: dict, where: str) -> Tensor:
        """Return a tensor over an array of the file, on its device."""
        if "steps" in node:
            shared = self._memory(name)
            view_of(shared, node)  # checks all of it, also for another device
            memory = self._placed.get((name, where))
            if memory is None:
                memory = self._placed[name, where] = self._place(wrap(shared), where)
            return wrap(view_of(shared, node)) if not memory.is_cuda else moved_view(memory, node)
        array: Any = self._stored(name)
        if "dtype" in node:
            dtype = _dtype(node["dtype"])
            if isinstance(array, BFloat16Array) != (dtype is dtypes.bfloat16):
                raise FileFormatError(f"tensor {short(name)} is said to be of {dtype}, which its array is not")
            if not isinstance(array, BFloat16Array):
                array = _unpaired(name, array, dtype.numpy)
                if array.dtype != dtype.numpy:
                    raise FileFormatError(f"tensor {short(name)} of {array.dtype} is said to be of {dtype}")
        if "order" in node:
            brief = isinstance(array, BFloat16Array)
            laid = self._ordered(array.values if brief else array, node["order"])
            array = BFloat16Array(laid, True) if brief else laid
        return self._place(wrap(array), where)

    def _ordered(self, array: np.ndarray, order: Any) -> np.ndarray:
        """Return a copy whose dimensions have this order in memory, the slowest first."""
        check_sizes("an order of dimensions", order)
        if sorted(order) != list(range(array.ndim)):
            raise FileFormatError(f"an order of dimensions {short(order)} for an array of {array.ndim}")
        self._budget.copied(array.nbytes)
        return np.ascontiguousarray(array.transpose(order)).transpose(np.argsort(order))

    # --- tensors that consist of others -----------------------------------------------------------

    def _parts(self, parts: Any, count: int) -> list:
        found = self._items(parts)
        if len(found) != count:
            raise FileFormatError(f"{len(found)} parts, where {count} were expected")
        for part in found:
            if isinstance(part, Tensor):
                self._budget.copied(part.numel() * part.element_size())
            elif isinstance(part, np.ndarray):
                self._budget.copied(part.nbytes)
            elif part is not None:
                raise FileFormatError(f"a part that is {short(part)}, where a tensor was expected")
        return found

    def _nested(self, parts: Any, node: dict) -> Tensor:
        values, offsets, lengths = self._parts(parts, 3)
        if not isinstance(offsets, np.ndarray) or isinstance(lengths, Tensor) or type(node["dim"]) is not int:
            raise FileFormatError("a nested tensor whose offsets, lengths or dimension are none")
        lengths = None if lengths is None else wrap(lengths)
        return self._finished(nested_tensor_from_jagged(values, wrap(offsets), lengths, node["dim"]), node)

    def _sparse(self, layout: Any, node: dict) -> Tensor:
        size = node["size"]
        check_sizes("the size of a sparse tensor", size)
        parts = self._parts(node["parts"], 2 if layout == "sparse_coo" else 3)
        if not all(isinstance(part, Tensor) for part in parts):
            raise FileFormatError("a sparse tensor of parts that are not tensors")
        if layout == "sparse_coo":
            indices, values = parts
            tensor: Any = sparse.sparse_coo_tensor(indices, values, size, is_coalesced=bool(node["coalesced"]) or None)
        elif isinstance(layout, str) and layout in _COMPRESSED:
            ends, others, values = parts
            tensor = sparse.sparse_compressed_tensor(ends, others, values, size, layout=_COMPRESSED[layout])
        else:
            raise FileFormatError(f"a sparse tensor of layout {short(layout)}, which is not known")
        return self._finished(tensor, node)


# what the first key of an object in the structure may be, and what reads it
_READERS: dict[Any, Callable[[Reader, Any, dict], Any]] = {
    "float": Reader._float,
    "complex": Reader._complex,
    "bytes": Reader._bytes,
    "bytearray": Reader._bytearray,
    "Size": Reader._Size,
    "range": Reader._range,
    "slice": Reader._slice,
    "ellipsis": Reader._ellipsis,
    "dtype": Reader._dtype,
    "device": Reader._device,
    "tuple": Reader._tuple,
    "set": Reader._set,
    "frozenset": Reader._frozenset,
    "dict": Reader._mapping,
    "OrderedDict": Reader._mapping,
    "Counter": Reader._mapping,
    "defaultdict": Reader._mapping,
    "array": Reader._array,
    "scalar": Reader._scalar,
    "tensor": Reader._tensor,
    "same": Reader._same,
    "nested": Reader._nested,
    "sparse": Reader._sparse,
}


def _string(text: Any) -> str:
    if not isinstance(text, str):
        raise FileFormatError(f"{short(text)}, where a string was expected")
    return text


def _dtype(name: Any) -> dtypes.dtype:
    if _string(name) not in dtypes.NAMED:
        raise FileFormatError(f"a dtype {short(name)}, which is not known")
    return dtypes.NAMED[name]


def _numpy_dtype(text: Any) -> np.dtype:
    if _string(text) not in _NUMPY_DTYPES:
        raise FileFormatError(f"a dtype {short(text)}, where one of NumPy's numbers was expected")
    return _NUMPY_DTYPES[text]


def _unpaired(name: Any, array: Any, dtype: np.dtype) -> np.ndarray:
    """Return the array; pairs of float64 become complex128, which the format lacks, if ``dtype`` says so."""
    if isinstance(array, BFloat16Array):
        raise FileFormatError(f"array {short(name)} of bfloat16 is said to be of {dtype}")
    if dtype.kind == "c" and dtype.itemsize == 16 and array.dtype == np.float64:
        if array.ndim == 0 or array.shape[-1] != 2:
            raise FileFormatError(f"array {short(name)} of shape {array.shape} holds no pairs of numbers")
        return array.view(np.complex128)[..., 0]
    return array


def view_of(memory: np.ndarray, node: dict) -> Any:
    """Return a tensor's array over shared bytes, at positions given by a file."""
    dtype = _dtype(node["dtype"])
    brief = dtype is dtypes.bfloat16
    element = np.dtype(np.float32) if brief else dtype.numpy
    array = strided_over("a tensor", memory, element, node["shape"], node["start"], node["steps"])
    return BFloat16Array(array, True) if brief else array


def moved_view(memory: Tensor, node: dict) -> Tensor:
    """Return a tensor over shared bytes on another device, at positions given by a file.

    Parameters
    ----------
    memory : Tensor
        A vector of bytes.
    node : dict
        From the file: `dtype`, `shape`, `steps` and `start` (in bytes).
    """
    dtype = _dtype(node["dtype"])
    brief = dtype is dtypes.bfloat16
    element = dtypes.float32 if brief else dtype
    shape, steps, start, size = node["shape"], node["steps"], node["start"], element.itemsize
    check_span("a tensor", shape, steps, start, size, memory.numel())
    if 0 in shape:
        return memory.new_empty(shape, dtype=dtype)
    if start % size or any(step % size or step < 0 for step in steps):
        raise FileFormatError(f"a tensor of {dtype} from byte {start} with strides {short(steps)}, which are not whole")
    elements = memory[: memory.numel() - memory.numel() % size].view(element)
    laid = elements.as_strided(shape, [step // size for step in steps], start // size)
    return wrap(BFloat16Array(laid._array, True)) if brief else laid
