"""Writes files that mean harm: native ones from a header, PyTorch's from the opcodes of a pickle."""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Iterable
from typing import Any

NESTED = 200_000  # tuples in tuples, enough to exhaust the C stack


def native(structure: Any, arrays: dict[str, tuple[str, list[int], bytes]], **more: Any) -> bytes:
    """A .safetensors file with a structure in its metadata, and arrays by name: type code, shape, bytes."""
    header: dict[str, Any] = {"__metadata__": {"dualtape": json.dumps(structure)}}
    end, data = 0, b""
    for name, (code, shape, content) in arrays.items():
        header[name] = {"dtype": code, "shape": shape, "data_offsets": [end, end + len(content)]}
        data += content
        end += len(content)
    return with_header({**header, **more}, data)


def with_header(header: Any, data: bytes) -> bytes:
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    return len(text).to_bytes(8, "little") + text + data


def archive(pickled: bytes, members: Iterable[tuple[str, bytes]] = ()) -> bytes:
    """A checkpoint as PyTorch writes it, of a pickle and storages by key."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as z:
        z.writestr("archive/data.pkl", pickled)
        for key, content in members:
            z.writestr(f"archive/data/{key}", content)
    return file.getvalue()


# --- pieces of pickles ----------------------------------------------------------------------------


def text(value: str) -> bytes:
    return b"X" + len(value.encode()).to_bytes(4, "little") + value.encode()


def whole(number: int) -> bytes:
    data = number.to_bytes((number.bit_length() + 8) // 8, "little", signed=True)
    if len(data) < 256:
        return b"\x8a" + bytes([len(data)]) + data
    return b"\x8b" + len(data).to_bytes(4, "little") + data


def word(module: str, name: str) -> bytes:
    return f"c{module}\n{name}\n".encode()


def tuple_of(*items: bytes) -> bytes:
    return b"(" + b"".join(items) + b"t"


def program(*parts: bytes) -> bytes:
    return b"\x80\x04" + b"".join(parts) + b"."


def called(module: str, name: str, *arguments: bytes) -> bytes:
    return word(module, name) + tuple_of(*arguments) + b"R"


def storage(kind: str = "FloatStorage", key: str = "0", location: str = "cpu", count: int = 4) -> bytes:
    return tuple_of(text("storage"), word("torch", kind), text(key), text(location), whole(count)) + b"Q"


def tensor(of: bytes, offset: int, size: Iterable[int], stride: Iterable[int], *more: bytes) -> bytes:
    return called(
        "torch._utils",
        "_rebuild_tensor_v2",
        of,
        whole(offset),
        tuple_of(*map(whole, size)),
        tuple_of(*map(whole, stride)),
        b"\x89",
        called("collections", "OrderedDict"),
        *more,
    )


DEEP = b")" + b"\x85" * NESTED  # () in a tuple in a tuple ...
DEEP_BELOW_THE_LIMIT = b")" + b"\x85" * 900
DOUBLED = b")" + b"".join(b"\x94h" + bytes([k]) + b"\x86" for k in range(40))  # t, (t, t), ((t, t), (t, t)), ...


def bombs() -> dict[str, bytes]:
    """Small files that would take memory or time without end, or exhaust the stack."""
    found: dict[str, bytes] = {}
    for name, shape in (("deep", DEEP), ("doubled", DOUBLED)):
        pickles = {
            "a key": b"}" + shape + b"Ns",
            "a member": b"\x8f(" + shape + b"\x90",
            "frozen": b"(" + shape + b"\x91",
            "a key of a DICT": b"(" + shape + b"Nd",
            "a persistent identity": shape + b"Q",
            "part of an identity": tuple_of(text("storage"), shape, text("0"), text("cpu"), whole(1)) + b"Q",
            "a storage key": tuple_of(text("storage"), word("torch", "FloatStorage"), shape, text("cpu"), whole(1))
            + b"Q",
            "a count": tuple_of(text("storage"), word("torch", "FloatStorage"), text("0"), text("cpu"), shape) + b"Q",
            "a called word": shape + b")R",
            "a module": shape + text("x") + b"\x93",
            "a name": text("x") + shape + b"\x93",
            "a device": called("torch", "device", shape),
            "a layout": called("torch.serialization", "_get_layout", shape),
            "a size": called("torch", "Size", shape),
            "sizes": called("torch", "Size", b"(" + shape + b"l"),
            "a set": called("builtins", "set", b"(" + shape + b"l"),
            "a Counter": called("collections", "Counter", b"(" + shape + b"l"),
            "a dict": called("builtins", "dict", b"(" + shape + b"N\x86l"),
            "an OrderedDict": called("collections", "OrderedDict", b"(" + shape + b"N\x86l"),
            "a complex": called("builtins", "complex", shape),
            "a bytearray": called("builtins", "bytearray", shape),
            "a factory": called("collections", "defaultdict", shape),
            "an encoding": called("_codecs", "encode", shape, shape),
            "a state": b"}" + shape + b"b",
            "a state of a dict": called("collections", "OrderedDict") + shape + b"b",
            "items of a list": shape + b"Na",
            "a tensor's storage": tensor(shape, 0, (1,), (1,)),
            "a tensor's metadata": tensor(storage(), 0, (1,), (1,), shape),
            "a parameter": called("torch._utils", "_rebuild_parameter", shape, b"\x88", b"}"),
            "a sparse tensor": called("torch._utils", "_rebuild_sparse_tensor", shape, shape),
        }
        for what, pickled in pickles.items():
            found[f"{name} as {what}"] = archive(program(pickled), [("0", b"\0" * 16)])
    many = 30_000
    million = text("x" * 1_000_000)
    colliding = [whole(k * (2**61 - 1)) for k in range(many)]
    found["a list copied again and again"] = archive(
        program(
            b"(" + b"N" * 30_000 + b"l\x94", b"(" + word("builtins", "list") + b"\x94", b"h\x01h\x00\x85R" * many, b"t"
        )
    )
    found["a bytearray copied again and again"] = archive(
        program(
            b"B" + (1_000_000).to_bytes(4, "little") + b"x" * 1_000_000 + b"\x94",
            b"(" + word("builtins", "bytearray") + b"\x94",
            b"h\x01h\x00\x85R" * many,
            b"t",
        )
    )
    found["keys of one hash"] = archive(program(b"}(", *(key + b"N" for key in colliding), b"u"))
    found["keys of one hash, one by one"] = archive(program(b"}", *(key + b"Ns" for key in colliding)))
    found["members of one hash"] = archive(program(b"\x8f(", *colliding, b"\x90"))
    found["a huge key again and again"] = archive(
        program(b"\x8b" + (1_000_000).to_bytes(4, "little") + b"\x01" * 1_000_000 + b"\x94}", b"h\x00Ns" * 300_000)
    )
    found["equal huge strings"] = archive(
        program(million + b"\x94" + million + b"\x94}", b"h\x00Ns" + b"h\x01Ns" * 1_000_000)
    )
    found["a huge offset"] = archive(
        program(
            called(
                "torch._utils",
                "_rebuild_tensor_v2",
                storage(),
                b"\x8b" + (1_000_000).to_bytes(4, "little") + b"\x01" * 1_000_000,
                tuple_of(whole(1)),
                tuple_of(whole(1)),
                b"\x89",
                b"}",
            )
        ),
        [("0", b"\0" * 16)],
    )
    found["a million dimensions"] = archive(
        program(tensor(storage(), 0, [2**62] * 50_000, [0] * 50_000)), [("0", b"\0" * 16)]
    )
    found["conjugates of an expanded tensor"] = archive(
        program(tensor(storage("ComplexFloatStorage", count=2), 0, (2**40,), (0,), b"}" + text("conj") + b"\x88s")),
        [("0", b"\0" * 16)],
    )
    found["a sparse tensor of an expanded one"] = archive(
        program(
            called(
                "torch._utils",
                "_rebuild_sparse_tensor",
                called("torch.serialization", "_get_layout", text("torch.sparse_coo")),
                tuple_of(
                    tensor(storage("LongStorage", count=2), 0, (1, 2**34), (0, 0)),
                    tensor(storage("LongStorage", count=2), 0, (2**34,), (0,)),
                    called("torch", "Size", tuple_of(whole(5))),
                ),
            )
        ),
        [("0", b"\0" * 16)],
    )
    numbers = ("F32", [250_000], b"\0" * 1_000_000)
    found["an array of long strings"] = native(
        {"array": "m", "dtype": "S100000000"}, {"m": ("F32", [250], b"\0" * 1000)}
    )
    found["arrays in the other byte order"] = native([{"array": "m", "dtype": ">f4"}] * 20_000, {"m": numbers})
    found["arrays in another type"] = native([{"array": "m", "dtype": "<c16"}] * 20_000, {"m": numbers})
    cube = ("F32", [50, 50, 100], b"\0" * 1_000_000)
    found["arrays in another order"] = native(
        [{"array": "m", "dtype": "<f4", "order": [2, 1, 0]}] * 20_000, {"m": cube}
    )
    found["sparse tensors of one array"] = native(
        [{"sparse": "sparse_coo", "size": [9], "parts": [{"tensor": "i"}, {"tensor": "m"}], "coalesced": False}]
        * 20_000,
        {"i": ("I64", [1, 250_000], b"\0" * 2_000_000), "m": numbers},
    )
    found["members of one hash in JSON"] = native({"set": [k * (2**61 - 1) for k in range(100_000)]}, {})
    found["deep structure"] = with_header({"__metadata__": {"dualtape": '{"tuple":[' * NESTED}}, b"")
    found["a header of dimensions"] = with_header(
        {"x": {"dtype": "F32", "shape": [2**62] * 300_000, "data_offsets": [0, 0]}}, b""
    )
    return found
