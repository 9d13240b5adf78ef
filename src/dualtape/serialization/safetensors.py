"""The ``.safetensors`` format: a table of names, dtypes and positions as JSON, then the bytes of the arrays.

The table is checked before anything is allocated. Dtypes that the format lacks (complex128) are refused here;
:mod:`.structure` writes them as pairs of numbers.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from typing import Any

import numpy as np

from .._tensor.device import strided
from .._tensor.tensor import Tensor, wrap
from ..arrays.bfloat16 import BFloat16Array
from .limits import check_sizes, short
from .source import FileFormatError, Source, replacing

_TYPES = {
    "BOOL": "bool",
    "U8": "uint8",
    "I8": "int8",
    "U16": "uint16",
    "I16": "int16",
    "U32": "uint32",
    "I32": "int32",
    "U64": "uint64",
    "I64": "int64",
    "F16": "float16",
    "BF16": "bfloat16",
    "F32": "float32",
    "F64": "float64",
    "C64": "complex64",
}
_CODES = {name: code for code, name in _TYPES.items()}
_HEADER_LIMIT = 100_000_000  # bytes; the limit of the format's own reader


def stored(array: Any) -> np.ndarray:
    """Return the array in the form of a file: in the CPU's memory, row-major, little-endian, bfloat16 as two bytes."""
    if isinstance(array, BFloat16Array):
        array = (np.ascontiguousarray(array.settle().values).view(np.uint32) >> np.uint32(16)).astype(np.uint16)
    elif not isinstance(array, np.ndarray):
        array = array.get()  # CuPy's
    return np.asarray(array, array.dtype.newbyteorder("<"), order="C")


def type_code(array: Any) -> str | None:
    """Return the format's name for the dtype of an array, or None."""
    return "BF16" if isinstance(array, BFloat16Array) else _CODES.get(array.dtype.name)


def write(file: Any, arrays: Mapping[str, Any], metadata: Mapping[str, str] | None = None) -> None:
    """Write arrays with a type code into an open file."""
    header: dict[str, Any] = {} if metadata is None else {"__metadata__": dict(metadata)}
    # large elements first, so that each array begins where its elements may
    order = sorted(arrays, key=lambda name: -_element_size(arrays[name]))
    end = 0
    for name in order:
        array = arrays[name]
        start, end = end, end + int(np.prod(array.shape, dtype=object)) * _element_size(array)
        header[name] = {"dtype": type_code(array), "shape": list(array.shape), "data_offsets": [start, end]}
    text = json.dumps(header, ensure_ascii=False, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    file.write(len(text).to_bytes(8, "little"))
    file.write(text)
    for name in order:
        file.write(stored(arrays[name]).reshape(-1).view(np.uint8).data)


def _element_size(array: Any) -> int:
    return array.itemsize if isinstance(array, BFloat16Array) else array.dtype.itemsize


def read(source: Source) -> tuple[dict[str, Any], dict[str, str]]:
    """Return the arrays and the metadata of a file."""
    header, start = _header(source)
    metadata = header.pop("__metadata__", {})
    if not isinstance(metadata, dict) or not all(isinstance(v, str) for v in metadata.values()):
        raise FileFormatError("its __metadata__ must map names to strings")
    places = {name: _place(name, entry) for name, entry in header.items()}
    end = 0
    for name, (_, _, first, last) in sorted(places.items(), key=lambda item: item[1][2:]):
        if first != end:
            raise FileFormatError(f"{short(name)} begins at byte {first}, where {end} was expected")
        end = last
    if start + end != source.size:
        raise FileFormatError(
            f"it has {source.size} bytes, where the table of its tensors asks for {start + end}: the file is"
            " truncated or damaged"
        )
    arrays = {}
    for name, (code, shape, first, last) in places.items():
        dtype = np.dtype(np.uint16) if code == "BF16" else np.dtype(_TYPES[code])
        array = source.array(start + first, last - first).view(dtype.newbyteorder("<")).astype(dtype, copy=False)
        arrays[name] = from_stored(array.reshape(shape), code == "BF16")
    return arrays, metadata


def from_stored(array: np.ndarray, brief: bool) -> Any:
    """Return an array of a file in the form that tensors have."""
    if not brief:
        return array
    bits = array.reshape(-1).astype(np.uint32) << np.uint32(16)
    return BFloat16Array(bits.view(np.float32).reshape(array.shape), True)


def _header(source: Source) -> tuple[dict, int]:
    length = int.from_bytes(source.read(0, 8), "little")
    if length > _HEADER_LIMIT or 8 + length > source.size:
        raise FileFormatError(f"a table of {length} bytes in a file of {source.size}: not a .safetensors")
    try:
        header = json.loads(source.read(8, length))
    except (ValueError, RecursionError) as error:
        raise FileFormatError(f"the table of its tensors is not JSON: {error}") from None
    if not isinstance(header, dict):
        raise FileFormatError(f"the table of its tensors is a {type(header).__name__}, not an object")
    return header, 8 + length


def _place(name: str, entry: Any) -> tuple[str, tuple, int, int]:
    if not isinstance(entry, dict) or not {"dtype", "shape", "data_offsets"} <= set(entry):
        raise FileFormatError(f"{short(name)} has no dtype, shape and data_offsets: {short(entry)}")
    code, shape, offsets = entry["dtype"], entry["shape"], entry["data_offsets"]
    check_sizes(f"the shape of {short(name)}", shape)
    check_sizes(f"the data_offsets of {short(name)}", offsets)
    if len(offsets) != 2 or offsets[0] > offsets[1]:
        raise FileFormatError(f"{short(name)} has data_offsets {short(offsets)}, which are no begin and end")
    first, last = offsets
    if not isinstance(code, str) or code not in _TYPES:
        raise FileFormatError(f"{short(name)} has type {short(code)}; known are {', '.join(_TYPES)}")
    needed = 2 if code == "BF16" else np.dtype(_TYPES[code]).itemsize
    for size in shape:
        needed *= size
    if needed != last - first:
        raise FileFormatError(f"{short(name)} of shape {short(shape)} takes {short(needed)} bytes, not {last - first}")
    return code, tuple(shape), first, last


# --- for users ------------------------------------------------------------------------------------


def save_file(
    tensors: Mapping[str, Tensor], filename: str | os.PathLike, metadata: Mapping[str, str] | None = None
) -> None:
    """Write named tensors into a ``.safetensors`` file.

    Parameters
    ----------
    tensors : mapping of str to Tensor
        Their values; :func:`dualtape.save` keeps flags and containers as well.
    filename : path
        Replaced at once when all is written.
    metadata : mapping of str to str, optional

    Examples
    --------
    >>> import dualtape as dt
    >>> from dualtape.serialization.safetensors import load_file, save_file
    >>> save_file({"w": dt.ones(2)}, "w.safetensors")  # doctest: +SKIP
    >>> load_file("w.safetensors")  # doctest: +SKIP
    {'w': tensor([1., 1.])}
    """
    arrays = {}
    for name, tensor in tensors.items():
        if not isinstance(name, str) or name == "__metadata__":
            raise ValueError(f"save_file: a tensor's name must be a str other than '__metadata__', got {name!r}")
        if not isinstance(tensor, Tensor):
            raise TypeError(f"save_file: {name!r} is a {type(tensor).__name__}, not a Tensor")
        if tensor.layout is not strided or type_code(tensor._array) is None:
            raise ValueError(
                f"save_file: {name!r} is {tensor.dtype}, {tensor.layout}: the format has dense tensors of"
                f" {', '.join(_CODES)}; dualtape.save writes others too"
            )
        arrays[name] = tensor._array
    for key, value in (metadata or {}).items():
        if not isinstance(key, str) or not isinstance(value, str):
            raise TypeError(f"save_file: metadata maps str to str, got {key!r}: {value!r:.80}")
    with replacing(filename) as file:
        write(file, arrays, metadata)


def load_file(filename: str | os.PathLike, device: Any = "cpu") -> dict[str, Tensor]:
    """The tensors of a ``.safetensors`` file, by name.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.serialization.safetensors.load_file("w.safetensors")  # doctest: +SKIP
    {'w': tensor([1., 1.])}
    """
    with Source.opened(filename) as source, source.reading():
        arrays, _ = read(source)
    tensors = {name: wrap(array) for name, array in arrays.items()}
    return tensors if str(device) == "cpu" else {name: tensor.to(device) for name, tensor in tensors.items()}
