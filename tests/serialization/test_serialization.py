"""Saving and loading: round trips, PyTorch's checkpoints, safetensors both ways, and files that mean harm."""

from __future__ import annotations

import collections
import dataclasses
import io
import json
import math
import os
import pickle
import sys
import zipfile
from pathlib import Path

import numpy as np
import pytest

import dualtape as dt
from dualtape.serialization.pickles import Refused
from dualtape.serialization.safetensors import load_file, save_file
from dualtape.serialization.source import FileFormatError
from same_program import needs_torch


def again(obj, **options):
    file = io.BytesIO()
    dt.save(obj, file)
    file.seek(0)
    return dt.load(file, **options)


PLAIN = [
    None,
    True,
    3,
    2**80,
    -1.5,
    "text",
    "",
    b"\x00\xff",
    bytearray(b"ab"),
    1 - 2j,
    (1, (2,)),
    [1, [2]],
    {1, 2},
    frozenset({"a"}),
    {"a": 1, 2: "b", (1, 2): None, None: 0, 1.5: []},
    collections.OrderedDict(b=1, a=2),
    collections.Counter("aab"),
    collections.defaultdict(list, a=[1]),
    range(2, 9, 3),
    slice(None, 3),
    ...,
    dt.Size([2, 3]),
    dt.float16,
    dt.bool,
    dt.device("cpu"),
    [],
    {},
    (),
]


@pytest.mark.parametrize("obj", PLAIN, ids=lambda o: f"{type(o).__name__}")
def test_plain_values_come_back_as_they_were(obj):
    found = again({"k": obj})["k"]
    assert found == obj and type(found) is type(obj)
    assert again(obj) == obj


def test_numbers_that_json_has_not_come_back():
    found = again([math.inf, -math.inf, math.nan, complex(math.nan, -0.0)])
    assert found[:2] == [math.inf, -math.inf] and math.isnan(found[2])
    assert math.isnan(found[3].real) and math.copysign(1, found[3].imag) == -1


@pytest.mark.parametrize("dtype", sorted({d.name for d in dt._tensor.dtypes.NAMED.values()}))
@pytest.mark.parametrize("shape", [(), (0, 3), (5,), (2, 3)])
def test_every_dtype_and_shape_comes_back(dtype, shape):
    x = (dt.arange(math.prod(shape)) % 2).reshape(shape).to(getattr(dt, dtype))
    found = again({"x": x, "list": [x + x]})
    assert found["x"].dtype == x.dtype and found["x"].shape == x.shape and dt.equal(found["x"], x)
    assert dt.equal(found["list"][0], x + x)
    found["x"].zero_()  # the memory can be written


@pytest.mark.parametrize(
    "array", [np.arange(3), np.ones((2, 2), np.complex128), np.float32(2.5), np.array([], np.int8), np.bool_(True)]
)
def test_arrays_and_numbers_of_numpy_stay_what_they_are(array):
    found = again([array])[0]
    assert type(found) is type(array) and found.dtype == array.dtype and np.array_equal(found, array)


def test_tensors_over_one_memory_share_it_again():
    base = dt.arange(12.0).reshape(3, 4)
    found = again({"column": base[:, 1], "base": base, "transposed": base.t(), "bits": base.view(dt.int32)})
    found["base"][2, 1] = 100
    assert found["column"].tolist() == [1, 5, 100] and found["transposed"][1, 2] == 100
    assert found["bits"][2, 1] == dt.tensor(100.0).view(dt.int32)
    assert found["transposed"].stride() == (1, 4)


def test_a_part_of_a_large_tensor_is_saved_alone():
    file = io.BytesIO()
    dt.save(dt.zeros(100_000)[5:7], file)
    assert len(file.getvalue()) < 1000


def test_one_parameter_in_two_places_is_one_parameter():
    p = dt.nn.Parameter(dt.ones(2))
    found = again({"a": p, "b": [p], "c": p.detach()})
    assert found["a"] is found["b"][0] and type(found["a"]) is dt.nn.Parameter and found["a"].requires_grad
    found["c"][0] = 7
    assert found["a"].tolist() == [7, 1] and not found["c"].requires_grad


def test_flags_attributes_and_order_in_memory_come_back():
    x = dt.ones(2, 3, 4, 5).contiguous(memory_format=dt.channels_last)
    y = dt.ones(2, requires_grad=True)
    y.note = {"by": "hand"}
    frozen = dt.nn.Parameter(dt.ones(1), requires_grad=False)
    x2, y2, history, frozen2 = again([x, y, y * 2, frozen])
    assert x2.stride() == x.stride() and y2.requires_grad and y2.note == {"by": "hand"}
    assert history.requires_grad and history.is_leaf
    assert type(frozen2) is dt.nn.Parameter and not frozen2.requires_grad


def test_the_versions_in_a_state_dict_come_back():
    state = collections.OrderedDict(w=dt.ones(1))
    state._metadata = {"": {"version": 2}}
    assert again(state)._metadata == {"": {"version": 2}}


@pytest.mark.parametrize("layout", ["sparse_coo", "sparse_csr", "sparse_csc"])
def test_sparse_tensors_come_back(layout):
    x = dt.tensor([[0.0, 2.0], [3.0, 0.0]]).to_sparse(layout=getattr(dt, layout)).requires_grad_()
    found = again({"x": x})["x"]
    assert found.layout is x.layout and found.requires_grad and dt.equal(found.to_dense(), x.to_dense())


def test_ragged_batches_come_back():
    x = dt.nested.nested_tensor([dt.ones(2, 2), dt.zeros(3, 2)], layout=dt.jagged)
    assert [s.shape for s in again(x).unbind()] == [s.shape for s in x.unbind()]


class Own(dt.Tensor):
    pass


REFUSED = {
    "function": lambda: 1,
    "factory": collections.defaultdict(lambda: 1),
    "file": sys.stdout,
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_cannot_be_pickled_is_refused_with_its_place_and_nothing_is_written(name, tmp_path):
    path = tmp_path / "file"
    dt.save([1], path)
    with pytest.raises(TypeError, match=r"the object\['model'\]\[1\]"):
        dt.save({"model": [0, REFUSED[name]]}, path)
    assert dt.load(path) == [1] and os.listdir(tmp_path) == ["file"]


def test_a_container_in_itself_is_refused():
    loop: list = [1]
    loop.append({"me": loop})
    with pytest.raises(ValueError, match="contains itself"):
        dt.save(loop, io.BytesIO())


def test_a_file_that_fails_in_the_middle_leaves_the_old_one(tmp_path, monkeypatch):
    path = tmp_path / "file"
    dt.save(dt.ones(3), path)
    monkeypatch.setattr(os, "fsync", lambda _: (_ for _ in ()).throw(OSError("disk full")))
    with pytest.raises(OSError, match="disk full"):
        dt.save(dt.zeros(3), path)
    assert dt.load(path).tolist() == [1, 1, 1] and os.listdir(tmp_path) == ["file"]


def test_a_link_stays_a_link(tmp_path):
    (tmp_path / "link").symlink_to(tmp_path / "file")
    dt.save(1, tmp_path / "link")
    assert (tmp_path / "link").is_symlink() and dt.load(tmp_path / "file") == 1


def test_a_folder_that_is_not_there_is_named(tmp_path):
    with pytest.raises(RuntimeError, match="does not exist"):
        dt.save(1, tmp_path / "none" / "file")


def test_a_mapped_file_is_not_written_back(tmp_path):
    path = tmp_path / "file"
    dt.save({"x": dt.arange(4.0)}, path)
    x = dt.load(path, mmap=True)["x"]
    x.mul_(2)
    assert x.tolist() == [0, 2, 4, 6] and dt.load(path)["x"].tolist() == [0, 1, 2, 3]
    with pytest.raises(ValueError, match="path"):
        dt.load(io.BytesIO(path.read_bytes()), mmap=True)


def test_places_are_mapped():
    x = dt.ones(2)
    for where in ("cpu", dt.device("cpu"), {"cuda:0": "cpu"}, lambda storage, location: storage, lambda s, loc: None):
        assert again(x, map_location=where).tolist() == [1, 1]
    with pytest.raises(TypeError, match="map_location"):
        again(x, map_location=3)
    with pytest.raises(TypeError, match="storage"):
        again(x, map_location=lambda storage, location: "cpu")


def test_an_open_file_is_read_from_where_it_stands():
    file = io.BytesIO()
    file.write(b"before")
    dt.save([1, 2], file)
    file.seek(6)
    assert dt.load(file) == [1, 2]


# --- safetensors ----------------------------------------------------------------------------------


def test_files_go_to_the_safetensors_library_and_back(tmp_path):
    library = pytest.importorskip("safetensors.numpy")
    path = tmp_path / "x.safetensors"
    dt.save({"a.w": dt.arange(3.0), "b": dt.tensor([[True]]), "n": dt.tensor(2)}, path)
    found = library.load_file(path)
    assert found["a.w"].tolist() == [0, 1, 2] and found["b"].tolist() == [[True]] and found["n"] == 2
    library.save_file({"h": np.ones((2, 1), np.float16), "i": np.arange(2, dtype=np.uint64)}, path, {"by": "them"})
    for read in (dt.load, load_file):
        found = read(path)
        assert found["h"].dtype == dt.float16 and found["i"].tolist() == [0, 1]
    save_file({"w": dt.ones(2), "b": dt.ones(3, dtype=dt.bfloat16)}, path, {"format": "pt"})
    assert load_file(path)["b"].dtype == dt.bfloat16
    with pytest.raises(ValueError, match="complex128"):
        save_file({"z": dt.ones(1, dtype=dt.complex128)}, path)
    assert load_file(path)["w"].tolist() == [1, 1]


def made(header, data=b""):
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    return len(text).to_bytes(8, "little") + text + data


F = {"dtype": "F32", "shape": [1], "data_offsets": [0, 4]}
DAMAGED = {
    "too short": b"abc",
    "empty": b"",
    "not json": made(b"{nonsense"),
    "deep": made(b'{"a":' * 100_000),
    "a list": made(b"[1]"),
    "huge table": (2**62).to_bytes(8, "little") + b"{}",
    "truncated": made({"x": F}, b"\0\0"),
    "too long": made({"x": F}, b"\0" * 8),
    "unknown type": made({"x": {**F, "dtype": "F99"}}, b"\0" * 4),
    "huge shape": made({"x": {**F, "shape": [2**62, 2**62]}}, b"\0" * 4),
    "negative": made({"x": {**F, "shape": [-1]}}, b"\0" * 4),
    "overlap": made({"x": F, "y": F}, b"\0" * 4),
    "hole": made({"x": {**F, "data_offsets": [4, 8]}}, b"\0" * 8),
    "no shape": made({"x": {"dtype": "F32", "data_offsets": [0, 4]}}, b"\0" * 4),
    "metadata": made({"__metadata__": {"a": 1}}),
    "structure": made({"__metadata__": {"dualtape": "{"}}),
    "unknown kind": made({"__metadata__": {"dualtape": '{"__reduce__": 1}'}}),
    "private kind": made({"__metadata__": {"dualtape": '{"place": 1}'}}),
    "missing array": made({"__metadata__": {"dualtape": '{"tensor": "x"}'}}),
    "outside": made(
        {
            "__metadata__": {"dualtape": '{"tensor": "x", "dtype": "float32", "shape": [9], "start": 0, "steps": [4]}'},
            "x": {"dtype": "U8", "shape": [4], "data_offsets": [0, 4]},
        },
        b"\0" * 4,
    ),
    "plain pickle": pickle.dumps({"a": 1}),
}


@pytest.mark.parametrize("name", DAMAGED)
def test_a_damaged_file_is_refused(name):
    with pytest.raises(FileFormatError):
        dt.load(io.BytesIO(DAMAGED[name]))


# --- PyTorch's checkpoints ------------------------------------------------------------------------


def archive(data: bytes, members=(), compression=zipfile.ZIP_STORED):
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", compression) as z:
        z.writestr("archive/data.pkl", data)
        for name, content in members:
            z.writestr(name, content)
    file.seek(0)
    return file


def persistent(storage, offset, size, stride):
    """The pickle of a tensor, written by hand, over the persistent identity of a storage."""
    words = b"\x80\x02ctorch._utils\n_rebuild_tensor_v2\n("
    kind, key, location, count = storage
    words += b"(X\x07\0\0\0storagectorch\n" + kind + b"\n" + _text(key) + _text(location) + _whole(count) + b"tQ"
    words += _whole(offset) + b"(" + b"".join(map(_whole, size)) + b"t(" + b"".join(map(_whole, stride)) + b"t"
    return words + b"\x89ccollections\nOrderedDict\n)RtR."


def _text(text):
    return b"X" + len(text).to_bytes(4, "little") + text.encode()


def _whole(number):
    data = number.to_bytes((number.bit_length() + 8) // 8, "little", signed=True)
    return b"\x8a" + bytes([len(data)]) + data


def test_a_tensor_is_read_from_its_storage_without_pytorch():
    data = persistent((b"FloatStorage", "0", "cpu", 4), 1, (3,), (1,))
    file = archive(data, [("archive/data/0", np.arange(4, dtype="<f4").tobytes()), ("archive/byteorder", b"little")])
    assert dt.load(file).tolist() == [1, 2, 3]
    file = archive(data, [("archive/data/0", np.arange(4, dtype=">f4").tobytes()), ("archive/byteorder", b"big")])
    assert dt.load(file).tolist() == [1, 2, 3]


class Evil:
    def __init__(self, function, *args):
        self.how = (function, args)

    def __reduce__(self):
        return self.how


def ran(*_):
    raise AssertionError("code of the file was run")


HOSTILE = {
    "os.system": (pickle.dumps(Evil(os.system, "echo hacked")), "system"),
    "eval": (pickle.dumps(Evil(eval, "1")), "eval"),
    "a function of ours": (pickle.dumps(Evil(ran)), "ran"),
    "getattr": (pickle.dumps(Evil(getattr, "a", "upper")), "getattr"),
    "import": (pickle.dumps(Evil(__import__, "os")), "__import__"),
    "a class of numpy": (pickle.dumps(np.float64(1.0)), "numpy"),
    "an instance": (pickle.dumps(Path("x")), "Path"),
    "two words": (b"\x80\x04\x8c\x02os\x8c\x06system\x93\x8c\x02ls\x85R.", "os.system"),
    "a word with a dot": (b"\x80\x04\x8c\x0bcollections\x8c\x10OrderedDict.copy\x93)R.", "OrderedDict.copy"),
    "inst": (b"(S'ls'\nios\nsystem\n.", "INST|STRING"),
    "obj": (b"\x80\x02(ccollections\nOrderedDict\no.", "OBJ"),
    "extension": (b"\x80\x02\x82\x01.", "EXT1"),
    "buffer": (b"\x80\x05\x97.", "NEXT_BUFFER"),
    "state of a dict": (b"\x80\x02}}b.", "state"),
    "state of a word": (b"\x80\x02ccollections\nOrderedDict\n}b.", "state"),
    "a call of a name": (b"\x80\x02ctorch\nTensor\n)R.", "Tensor"),
    "a call of a string": (b"\x80\x02X\x01\0\0\0a)R.", "calls"),
    "a large bytearray": (b"\x80\x02c__builtin__\nbytearray\n\x8a\x06\0\0\0\0\0\x7f\x85R.", "bytes"),
    "a large list": (b"\x80\x02c__builtin__\nlist\n\x8a\x06\0\0\0\0\0\x7f\x85R.", "list"),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_pickle_is_refused_by_name_and_nothing_runs(name, capfd):
    data, word = HOSTILE[name]
    with pytest.raises(Refused, match=word):
        dt.load(archive(data))
    assert "hacked" not in capfd.readouterr().out


BROKEN = {
    "truncated pickle": archive(pickle.dumps([1, 2, 3])[:-4]),
    "no stop": archive(b"\x80\x02]"),
    "nothing to pop": archive(b"\x80\x02."),
    "no such memo": archive(b"\x80\x02h\x05."),
    "huge bytes": archive(b"\x80\x05\x8e\xff\xff\xff\xff\xff\xff\xff\x00."),
    "huge bytearray": archive(b"\x80\x05\x96\xff\xff\xff\xff\xff\xff\xff\x00."),
    "protocol 200": archive(b"\x80\xc8."),
    "negative size": archive(
        persistent((b"FloatStorage", "0", "cpu", 1), 0, (-1,), (1,)), [("archive/data/0", b"1234")]
    ),
}
FOREIGN = {
    "dots": archive(b"\x80\x02N.", [("archive/../../etc/passwd", b"x")]),
    "absolute": archive(b"\x80\x02N.", [("/etc/passwd", b"x")]),
    "backslash": archive(b"\x80\x02N.", [("archive\\..\\x", b"x")]),
    "compressed": archive(b"\x80\x02N.", compression=zipfile.ZIP_DEFLATED),
    "no storage": archive(persistent((b"FloatStorage", "0", "cpu", 1), 0, (1,), (1,))),
    "short storage": archive(
        persistent((b"FloatStorage", "0", "cpu", 9), 0, (1,), (1,)), [("archive/data/0", b"1234")]
    ),
    "outside": archive(persistent((b"FloatStorage", "0", "cpu", 1), 0, (2,), (1,)), [("archive/data/0", b"1234")]),
    "far away": archive(persistent((b"FloatStorage", "0", "cpu", 1), 2**70, (1,), (1,)), [("archive/data/0", b"1234")]),
    "huge": archive(
        persistent((b"FloatStorage", "0", "cpu", 1), 0, (2**62, 2**62), (0, 0)), [("archive/data/0", b"1234")]
    ),
    "script": archive(b"\x80\x02N.", [("archive/constants.pkl", b"")]),
    "byte order": archive(b"\x80\x02N.", [("archive/byteorder", b"middle")]),
    "no pickle": io.BytesIO(b"PK\x05\x06" + b"\0" * 18),
}


@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_pickle_is_refused(name):
    with pytest.raises(pickle.UnpicklingError):
        dt.load(BROKEN[name])


@pytest.mark.parametrize("name", FOREIGN)
def test_an_archive_that_is_not_a_checkpoint_is_refused(name):
    with pytest.raises(FileFormatError):
        dt.load(FOREIGN[name])


def test_a_truncated_archive_is_refused():
    whole = archive(persistent((b"FloatStorage", "0", "cpu", 1), 0, (1,), (1,)), [("archive/data/0", b"1234")])
    data = whole.getvalue()
    assert dt.load(io.BytesIO(data)).shape == (1,)
    for end in range(0, len(data), 7):
        with pytest.raises((FileFormatError, pickle.UnpicklingError)):
            dt.load(io.BytesIO(data[:end]))


@needs_torch
@pytest.mark.parametrize("mapped", [False, True])
@pytest.mark.parametrize("protocol", [2, 4])
def test_a_checkpoint_of_pytorch_is_read(mapped, protocol, tmp_path):
    import torch

    model = torch.nn.Sequential(torch.nn.Linear(2, 3), torch.nn.BatchNorm1d(3))
    optimizer = torch.optim.Adam(model.parameters())
    model(torch.randn(4, 2)).square().sum().backward()
    optimizer.step()
    base = torch.arange(6.0).reshape(2, 3)
    saved = {
        "model": model.state_dict(),
        "optimizer": optimizer.state_dict(),
        "views": [base, base[1], base.t()],
        "types": [torch.ones(2).to(getattr(torch, name)) for name in dt._tensor.dtypes.NAMED],
        "parameter": torch.nn.Parameter(torch.ones(1)),
        "leaf": torch.ones(1, requires_grad=True),
        "plain": (1, None, 2**70, b"ab", {1, 2}, 1j, torch.float64, torch.device("cpu"), torch.Size([1]), ["x"], 2.5),
        "sparse": torch.eye(2).to_sparse(),
        "counter": collections.Counter("aab"),
        "bytes": bytearray(b"xy"),
    }
    path = tmp_path / "x.pt"
    torch.save(saved, path, pickle_protocol=protocol)
    found = dt.load(path, mmap=mapped)
    for ours, theirs in (
        (found["model"], saved["model"]),
        (found["optimizer"]["state"][0], saved["optimizer"]["state"][0]),
    ):
        assert list(ours) == list(theirs)
        for name in theirs:
            assert np.array_equal(ours[name].numpy(), theirs[name].numpy()), name
    assert found["model"]._metadata == saved["model"]._metadata
    assert found["optimizer"]["param_groups"] == saved["optimizer"]["param_groups"]
    found["views"][0][1, 0] = 7
    assert found["views"][1][0] == 7 and found["views"][2][0, 1] == 7 and found["views"][2].stride() == (1, 3)
    assert [str(x.dtype)[9:] for x in found["types"]] == [str(x.dtype)[6:] for x in saved["types"]]
    assert all(x.float().tolist() == [1, 1] for x in found["types"] if not x.is_complex())
    assert type(found["parameter"]) is dt.nn.Parameter and found["leaf"].requires_grad
    assert found["plain"][:6] == saved["plain"][:6] and found["plain"][6:9] == (dt.float64, dt.device("cpu"), (1,))
    assert found["sparse"].to_dense().tolist() == [[1, 0], [0, 1]]
    assert found["counter"] == saved["counter"] and found["bytes"] == saved["bytes"]


@needs_torch
def test_what_pytorch_itself_refuses_by_default_is_refused(tmp_path):
    import torch

    for value in (torch.nn.Linear(1, 1), Path("x"), np.ones(1), torch.nn.functional.relu):
        torch.save({"x": value}, tmp_path / "x.pt")
        with pytest.raises(pickle.UnpicklingError):
            torch.load(tmp_path / "x.pt")
        with pytest.raises(pickle.UnpicklingError, match="asks for"):
            dt.load(tmp_path / "x.pt")


@pytest.mark.parametrize("step", [1, -1, 2])
def test_arrays_of_numpy_over_one_memory_share_it_again(step):
    """They are written as bytes and positions, as tensors are: read as their own memory they would be other numbers."""
    base = np.arange(12, dtype=">i4" if step == 2 else "<i4").reshape(3, 4)
    found = again([base, base[::step, 1:], base.T, dt.tensor([1.0]), base])
    assert [type(x) for x in found[:3]] == [np.ndarray] * 3
    for ours, whole in zip(found[:3], [base, base[::step, 1:], base.T], strict=True):
        assert ours.dtype == whole.dtype and np.array_equal(ours, whole)
    found[0][0, 1] = 99
    assert found[2][1, 0] == 99 and 99 in found[1]
    assert again([np.asfortranarray(base.astype("f8"))])[0].flags.f_contiguous


CONJUGATED = {
    "conj": lambda t, z: z.conj(),
    "slice": lambda t, z: z.conj()[1:, ::2],
    "transposed": lambda t, z: z.mH,
    "expanded": lambda t, z: z[:1, :1].conj().expand(3, 4),
    "0-d": lambda t, z: z[1, 2].conj(),
    "in a dict": lambda t, z: {"a": {"b": z.conj()}, "c": [z.clone(), z.conj() + 0]},
    "both": lambda t, z: {
        "z": z,
        "conj": z.conj(),
        "neg": t._neg_view(z),
        "twice": t._neg_view(z.conj()),
        "again": z.conj()[0],
    },
    "parameter": lambda t, z: t.nn.Parameter(z.conj()),
    "leaf": lambda t, z: z.conj().detach().requires_grad_(),
    "imaginary part": lambda t, z: z.conj().imag,
    "imaginary row": lambda t, z: z.conj().imag[0],
    "negative": lambda t, z: t._neg_view(z.real.contiguous()),
    "bfloat16": lambda t, z: t._neg_view(z.real.to(t.bfloat16)),
    "int8": lambda t, z: t._neg_view(z.real.to(t.int8)),
    "double": lambda t, z: z.to(t.complex128).conj(),
    "uint8": lambda t, z: t._neg_view(z.real.to(t.uint8)),
    "empty": lambda t, z: z[:0].conj(),
}


@needs_torch
@pytest.mark.parametrize("mapped", [False, True])
@pytest.mark.parametrize("name", CONJUGATED)
def test_conjugate_and_negative_tensors_of_pytorch_have_their_values(name, mapped, tmp_path):
    """PyTorch writes the memory as it is, and beside it that the tensor is its conjugate, or its negative."""
    import torch

    z = torch.view_as_complex(torch.arange(24.0).reshape(3, 4, 2) - 7)
    torch.save(CONJUGATED[name](torch, z), tmp_path / "x.pt")
    theirs, ours = torch.load(tmp_path / "x.pt"), dt.load(tmp_path / "x.pt", mmap=mapped)

    def compare(ours, theirs):
        if isinstance(theirs, (dict, list)):
            for key in theirs if isinstance(theirs, dict) else range(len(theirs)):
                compare(ours[key], theirs[key])
            return
        assert str(ours.dtype)[9:] == str(theirs.dtype)[6:] and ours.stride() == theirs.stride()
        assert ours.requires_grad == theirs.requires_grad and type(ours).__name__ == type(theirs).__name__
        plain = theirs.detach().resolve_conj().resolve_neg()
        if plain.dtype == torch.bfloat16:
            plain, ours = plain.float(), ours.float()
        assert np.array_equal(ours.detach().numpy(), plain.numpy())

    compare(ours, theirs)


@needs_torch
def test_conjugates_of_one_memory_share_it_and_not_with_the_memory_itself(tmp_path):
    import torch

    z = torch.tensor([1 + 2j, 3j])
    torch.save([z, z.conj(), z.conj()[1:]], tmp_path / "x.pt")
    z, conj, part = dt.load(tmp_path / "x.pt")
    conj[1] = 5
    assert part.tolist() == [5] and z.tolist() == [1 + 2j, 3j]


@needs_torch
@pytest.mark.parametrize("protocol", [2, 3, 4, 5])
def test_containers_of_pytorch_are_read_under_the_names_of_every_protocol(protocol, tmp_path):
    """Protocol 2 has the names of Python 2: long for int, unicode for str."""
    import torch

    plain = {
        "factories": [
            collections.defaultdict(kind, a=kind()) for kind in (int, float, str, bool, list, dict, set, tuple)
        ],
        "none": collections.defaultdict(None, a=1),
        "sets": [{1, "a"}, frozenset({(1, 2), 3})],
        "complex": 1 - 2j,
        "bytes": [b"\xff", bytearray(b"\xffa"), bytearray()],
        "counter": collections.Counter("aab"),
        "size": torch.Size([2, 3]),
        "ordered": collections.OrderedDict([((1, "a"), [1])]),
        "big": -(2**3000),
        "deep": [[[[{}]]]],
    }
    torch.save(plain, tmp_path / "x.pt", pickle_protocol=protocol)
    found = dt.load(tmp_path / "x.pt")
    assert found == plain
    assert [d.default_factory for d in found["factories"]] == [d.default_factory for d in plain["factories"]]


@needs_torch
@pytest.mark.parametrize("shape", [(0,), (0, 3), (3, 0), (2, 0, 4), (1, 1), ()])
def test_layouts_of_empty_and_small_tensors_of_pytorch_come_back(shape, tmp_path):
    import torch

    x = torch.ones(shape)
    some = {"x": x, "t": x.mT if x.ndim > 1 else x, "e": x.expand(5, *shape), "s": torch.ones(7)[7:]}
    torch.save(some, tmp_path / "x.pt")
    found = dt.load(tmp_path / "x.pt")
    for name, theirs in some.items():
        assert found[name].shape == theirs.shape, name
        # the strides of an expanded tensor without elements are those of a new one (docs/differences.md)
        assert found[name].stride() == theirs.stride() or name == "e" and not theirs.numel(), name


@needs_torch
def test_untyped_bytes_are_read_as_the_type_a_tensor_says(tmp_path):
    import torch

    x = torch.arange(6).to(torch.uint16)
    torch.save({"x": x, "part": x[2:4], "wide": torch.arange(3).to(torch.uint64)}, tmp_path / "x.pt")
    found = dt.load(tmp_path / "x.pt")
    assert found["x"].tolist() == [0, 1, 2, 3, 4, 5] and found["wide"].dtype == dt.uint64
    found["x"][2] = 9
    assert found["part"].tolist() == [9, 3]


# --- objects of any class -----------------------------------------------------------------------------


@dataclasses.dataclass
class Point:
    x: int
    values: dt.Tensor


class Slotted:
    __slots__ = ("a",)

    def __init__(self, a):
        self.a = a


class Touching:
    """Leaves a trace when it is unpickled."""

    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return open, (self.path, "w")


def written(value, save=dt.save):
    file = io.BytesIO()
    save(value, file)
    return file.getvalue()


def read(content, **options):
    return dt.load(io.BytesIO(content), **options)


def test_modules_are_saved_whole_and_read_back_on_request_alone(tmp_path):
    net = dt.nn.Sequential(dt.nn.Linear(2, 3), dt.nn.BatchNorm1d(3), dt.nn.Linear(3, 3))
    net[2].weight = dt.nn.Parameter(dt.ones(3, 3))
    net[2].extra = net[2].weight
    dt.save(net, tmp_path / "net.pt")
    for options in ({}, {"weights_only": True}, {"weights_only": None}):
        with pytest.raises(Refused, match=r"asks for dualtape.nn.*Sequential.*add_safe_globals.*weights_only=False"):
            dt.load(tmp_path / "net.pt", **options)
    found = dt.load(tmp_path / "net.pt", weights_only=False)
    assert repr(found) == repr(net) and found[2].extra is found[2].weight and found[2].weight.requires_grad
    x = dt.ones(4, 2)
    assert dt.equal(found(x), net(x))


def test_tensors_inside_of_objects_share_memory_again():
    memory = dt.arange(4.0)
    first, second = read(written([Point(1, memory), Point(2, memory[1:])]), weights_only=False)
    second.values.fill_(7)
    assert first.values.tolist() == [0, 7, 7, 7] and (first.x, second.x) == (1, 2)


def test_no_code_of_an_object_runs_by_default(tmp_path):
    file = written(Touching(str(tmp_path / "trace")))
    with pytest.raises(FileFormatError, match="open"):
        read(file)
    assert not (tmp_path / "trace").exists()
    read(file, weights_only=False).close()
    assert (tmp_path / "trace").exists()


@needs_torch
@pytest.mark.parametrize("library", ["dualtape", "torch"])
def test_classes_that_the_user_calls_safe_are_read_by_default(library):
    import torch

    save, values = (dt.save, dt.ones(2)) if library == "dualtape" else (torch.save, torch.ones(2))
    file = written({"a": Point(3, values), "b": Slotted(4)}, save)
    with pytest.raises(Refused, match="Point"):
        read(file)
    with dt.serialization.safe_globals([Point, Slotted]):
        found = read(file)
    assert found["a"].x == 3 and found["a"].values.tolist() == [1, 1] and found["b"].a == 4
    assert dt.serialization.get_safe_globals() == []
    with dt.serialization.safe_globals([(Point, f"{Point.__module__}.Point"), (Slotted, f"{__name__}.Slotted")]):
        assert read(file)["a"].x == 3
    with pytest.raises(TypeError, match="expected classes and functions, got int"):
        dt.serialization.add_safe_globals([3])


@needs_torch
def test_whole_modules_that_pytorch_saved_are_read_on_request():
    import torch

    theirs = torch.nn.Sequential(
        torch.nn.Conv1d(1, 2, 3), torch.nn.Flatten(), torch.nn.Linear(6, 2), torch.nn.LSTM(2, 2)
    )
    file = written(theirs, torch.save)
    with pytest.raises(Refused, match="asks for torch.nn"):
        read(file)
    ours = read(file, weights_only=False)
    x = np.linspace(-1, 1, 10, dtype=np.float32).reshape(2, 1, 5)
    expected = theirs[:3](torch.tensor(x)).detach().numpy()
    np.testing.assert_allclose(ours[:3](dt.tensor(x)).detach().numpy(), expected, rtol=1e-5, atol=1e-6)
    assert list(ours.state_dict()) == list(theirs.state_dict())
    names = dt.serialization.get_unsafe_globals_in_checkpoint(io.BytesIO(file))
    assert sorted(names) == sorted(torch.serialization.get_unsafe_globals_in_checkpoint(io.BytesIO(file)))


def test_damaged_objects_are_refused_by_name():
    content = written(Point(1, dt.ones(2)))
    for damage in (content.replace(b"tensors\\", b"tensorz\\"), content.replace(b"gAS", b"!!!")):
        assert damage != content
        with pytest.raises(FileFormatError):
            read(damage, weights_only=False)
