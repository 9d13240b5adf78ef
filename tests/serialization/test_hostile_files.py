"""Files that mean harm: nothing is read or written outside of a buffer, and every refusal is the reader's own error,
names the file, and comes in bounded time and memory.

Files that were valid are changed at random, in their header, structure, pickle and container; what is still read is
looked at element by element.
"""

from __future__ import annotations

import copy
import io
import itertools
import json
import os
import pickle
import pickletools
import random
import subprocess
import sys
import zipfile
from collections import Counter, OrderedDict, defaultdict
from pathlib import Path

import numpy as np
import pytest

import dualtape as dt
from dualtape.serialization import FileFormatError, limits, reading
from same_program import needs_torch
from tests import hostile_files as hostile
from tests.op_cases import DEEP

ROUNDS = 20_000 if DEEP else 1000


def load(data: bytes):
    """What is in a file, or None if it was refused as a file ought to be; all that was read is touched."""
    file = io.BytesIO(data)
    file.name = "the-file"
    try:
        found = dt.load(file)
    except FileFormatError as error:
        assert str(error).startswith("the-file: ") and len(str(error)) < 2000
        assert isinstance(error, RuntimeError) and isinstance(error, pickle.UnpicklingError)
        return None
    touch(found)
    return found


def touch(found) -> None:
    """Look at every tensor and array of an object: its elements lie inside the memory it has."""
    pending, seen = [found], set()
    while pending:
        item = pending.pop()
        if id(item) in seen:
            continue
        seen.add(id(item))
        if isinstance(item, dict):
            pending += [*item.keys(), *item.values()]
        elif isinstance(item, (list, tuple, set, frozenset)):
            pending += item
        elif isinstance(item, (dt.Tensor, np.ndarray)):
            array = item
            if isinstance(item, dt.Tensor):
                if item.is_nested or item.layout is not dt.strided:
                    continue
                array = item.detach()._array
                array = getattr(array, "values", array)
            lies_inside(array)
            if array.size < 100_000:
                array.tobytes()


def lies_inside(array: np.ndarray) -> None:
    owner = array
    while isinstance(owner.base, np.ndarray):
        owner = owner.base
    memory = np.frombuffer(owner.base, np.uint8) if owner.base is not None else owner
    if array.size:
        low, high = np.lib.array_utils.byte_bounds(array)
        first, end = np.lib.array_utils.byte_bounds(memory)
        assert first <= low and high <= end


# --- views at positions that a file gives ---------------------------------------------------------

M = {"m": ("U8", [64], bytes(range(64)))}
E = {"m": ("U8", [0], b"")}


def over(arrays=M, **node):
    node = {"tensor": "m", "dtype": "uint8", "shape": [4], "start": 0, "steps": [1], **node}
    return hostile.native(node, arrays)


OUTSIDE = {
    "no memory": over(E, shape=[4096]),
    "one element of no memory": over(E, shape=[1]),
    "no dimension over no memory": over(E, shape=[], steps=[]),
    "an overflow": over(shape=[2**40 + 1], steps=[2**24]),
    "an overflow to zero": over(shape=[2**32 + 1], steps=[2**32]),
    "an overflow below": over(shape=[2**32 + 1], steps=[-(2**32)]),
    "what fits": over(shape=[-1]),
    "what fits of none": over(E, shape=[-1]),
    "true": over(shape=[True], steps=[True]),
    "a float": over(shape=[4.0]),
    "a string": over(shape=["4"]),
    "strings": over(shape="4", steps="1"),
    "a start below": over(start=-1),
    "a start after": over(start=61),
    "a start far after": over(start=2**64),
    "a start of none": over(start=None),
    "below": over(start=2, steps=[-1]),
    "after": over(shape=[65]),
    "the last byte": over(dtype="int32", shape=[4], start=52, steps=[4]),
    "more strides": over(steps=[1, 1]),
    "fewer strides": over(shape=[2, 2], steps=[1]),
    "many dimensions": over(shape=[1] * 65, steps=[1] * 65),
    "beyond 64 bits": over(shape=[1], steps=[2**70]),
    "empty beyond 64 bits": over(shape=[0], steps=[2**70]),
    "empty, and too large": over(shape=[0, 2**62, 2**62], steps=[1, 1, 1]),
    "expanded beyond 64 bits": over(shape=[2**40, 2**40], steps=[0, 0]),
    "wide elements": over(dtype="complex128", shape=[5], steps=[16]),
    "bfloat16": over(dtype="bfloat16", shape=[17], steps=[4]),
    "other arrays": over({"m": ("F32", [4], b"\0" * 16)}),
    "an array of numpy's": hostile.native({"array": "m", "dtype": "<i8", "shape": [9], "start": 0, "steps": [8]}, M),
    "an array of objects": hostile.native({"array": "m", "dtype": "|O", "shape": [8], "start": 0, "steps": [8]}, M),
    "an array of records": hostile.native({"array": "m", "dtype": "i8,i8"}, M),
}


@pytest.mark.parametrize("name", OUTSIDE)
def test_a_view_that_is_not_inside_its_memory_is_refused(name):
    assert load(OUTSIDE[name]) is None


def test_views_inside_their_memory_are_read():
    assert dt.load(io.BytesIO(over(start=60))).tolist() == [60, 61, 62, 63]
    assert dt.load(io.BytesIO(over(start=3, shape=[2, 2], steps=[0, 60]))).tolist() == [[3, 63], [3, 63]]
    backwards = {"array": "m", "dtype": "|u1", "shape": [3], "start": 63, "steps": [-31]}
    assert dt.load(io.BytesIO(hostile.native(backwards, M))).tolist() == [63, 32, 1]
    for data in (over(shape=[0]), over(E, shape=[0]), over(E, shape=[0, 3], steps=[2**40, 1])):
        found = dt.load(io.BytesIO(data))
        assert found.numel() == 0
        found += 1


@pytest.mark.parametrize("seed", range(4))
def test_views_are_inside_exactly_when_their_elements_are(seed):
    """Against brute force: every element of small views, over bytes, for the CPU and for another device's memory."""
    rng = random.Random(seed)
    memory = np.arange(16, dtype=np.uint8)
    for _ in range(ROUNDS):
        dims = rng.randrange(4)
        dtype = rng.choice(["uint8", "int16", "int32", "bfloat16"])
        size = {"uint8": 1, "int16": 2}.get(dtype, 4)
        shape = [rng.randrange(4) for _ in range(dims)]
        steps = [rng.randrange(-2, 5) * size for _ in range(dims)]
        node = {"dtype": dtype, "shape": shape, "start": rng.randrange(5) * size, "steps": steps}
        firsts = [
            node["start"] + sum(i * s for i, s in zip(index, steps, strict=True))
            for index in itertools.product(*map(range, shape))
        ]
        inside = all(0 <= first and first + size <= 16 for first in firsts)
        try:
            array = reading.view_of(memory, node)
        except FileFormatError:
            array = None
        assert (array is not None) == (inside and node["start"] <= 16), node
        if array is not None and dtype != "bfloat16" and firsts:
            lies_inside(array)
        try:
            moved = reading.moved_view(dt.from_numpy(memory), node)
        except FileFormatError:
            moved = None
        if not firsts:
            continue
        assert (moved is not None) == (inside and all(step >= 0 for step in steps)), node
        if moved is not None:
            assert np.array_equal(
                moved.view(dt.uint8).numpy() if dtype == "uint8" else moved.float().numpy(),
                dt._tensor.tensor.wrap(array).float().numpy(),
                equal_nan=True,
            )


TENSORS = {
    "no memory": (0, 0, (1,), (1,)),
    "no dimension over no memory": (0, 0, (), ()),
    "an overflow": (4, 0, (2**40 + 1,), (2**24,)),
    "an overflow in bytes": (4, 0, (2,), (2**62,)),
    "a stride below": (4, 3, (2,), (-1,)),
    "an offset below": (4, -1, (1,), (1,)),
    "an offset after": (4, 4, (1,), (1,)),
    "more strides": (4, 0, (1,), (1, 1)),
    "many dimensions": (4, 0, (1,) * 65, (1,) * 65),
    "beyond 64 bits": (4, 0, (1,), (2**63,)),
    "expanded beyond 64 bits": (4, 0, (2**40, 2**40), (0, 0)),
    "empty, and too large": (4, 0, (0, 2**62, 2**62), (1, 1, 1)),
    "empty, with an offset after": (4, 5, (0,), (1,)),
}


@pytest.mark.parametrize("kind", ["FloatStorage", "ComplexDoubleStorage", "BFloat16Storage", "UntypedStorage"])
@pytest.mark.parametrize("name", TENSORS)
def test_a_tensor_that_is_not_inside_its_storage_is_refused(name, kind):
    count, offset, size, stride = TENSORS[name]
    itemsize = {"FloatStorage": 4, "ComplexDoubleStorage": 16, "BFloat16Storage": 2, "UntypedStorage": 1}[kind]
    data = hostile.tensor(hostile.storage(kind, count=count), offset, size, stride)
    assert load(hostile.archive(hostile.program(data), [("0", b"\0" * count * itemsize)])) is None


@pytest.mark.parametrize("starts", [[0, 2**63 - 1, -2, 2], [0, 2**62, -(2**62), 2], [0, 3, 1, 2]])
def test_compressed_indices_whose_differences_overflow_are_refused(starts):
    with pytest.raises(RuntimeError, match="must not fall"):
        dt.sparse_csr_tensor(dt.tensor(starts), dt.tensor([0, 1]), dt.ones(2), (3, 2))


@pytest.mark.parametrize(
    ("offsets", "lengths"), [([0, 2**63 - 1, -2, 3], None), ([0, 1, 2], [2**63 - 1, 1]), ([0, 9, 3], None)]
)
def test_ragged_offsets_whose_differences_overflow_are_refused(offsets, lengths):
    with pytest.raises(RuntimeError, match="offsets must not fall|beyond the 3 values"):
        dt.nested.nested_tensor_from_jagged(
            dt.ones(3), dt.tensor(offsets), None if lengths is None else dt.tensor(lengths)
        )


# --- time and memory ------------------------------------------------------------------------------

IN_BOUNDS = """
import io, resource, sys, time
import dualtape as dt
from dualtape.serialization import FileFormatError
from tests import hostile_files
files = hostile_files.bombs()
dt.sparse, dt.load(io.BytesIO(hostile_files.archive(hostile_files.program(b"N"))))
pages = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (pages + (600 << 20),) * 2)
resource.setrlimit(resource.RLIMIT_CPU, (240, 240))
for name, data in files.items():
    begun = time.process_time()
    print(name, end=": ", flush=True)
    try:
        dt.load(io.BytesIO(data))
    except FileFormatError as error:
        assert len(str(error)) < 2000 and str(error).startswith("BytesIO: ")
        print("refused", end=" ")
    else:
        print("read", end=" ")
    taken = time.process_time() - begun
    print(f"in {taken:.1f} s of {len(data)} bytes")
    assert taken < 1 + 1e-5 * len(data)
print("all of", len(files))
"""


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="limits on memory are Linux's")
def test_small_files_take_neither_the_process_nor_its_memory_nor_its_time():
    done = subprocess.run(
        [sys.executable, "-c", IN_BOUNDS], capture_output=True, text=True, timeout=300, cwd=Path(__file__).parents[2]
    )
    assert done.returncode == 0 and "all of" in done.stdout, (done.returncode, done.stdout[-500:], done.stderr[-2000:])
    kept = [line.split(":")[0] for line in done.stdout.splitlines() if ": read" in line]
    assert set(kept) <= READ, kept


# what these ask for is bounded, and so it may be read: nobody looks at more of it than there is
READ = {"deep as items of a list", "arrays in the other byte order", "conjugates of an expanded tensor"}


def test_tuples_as_keys_are_read_as_deep_as_pickles_write_them():
    found = load(hostile.archive(hostile.program(b"}" + hostile.DEEP_BELOW_THE_LIMIT + b"Ns")))
    assert len(found) == 1
    key, honest = (1, ("a", None, frozenset({2.5}))), {}
    honest[key] = {(k, str(k)): k for k in range(5000)}
    assert load(hostile.archive(pickle.dumps(honest))) == honest


def test_short_descriptions_look_at_no_more_than_they_show():
    doubled = ()
    for _ in range(60):
        doubled = (doubled, doubled)
    for value in (
        doubled,
        [doubled] * 10**5,
        "x" * 10**7,
        b"x" * 10**7,
        2**10**6,
        ValueError("x" * 10**6),
        {1: doubled},
    ):
        assert len(limits.short(value)) < 300
    assert limits.short(("a", 1, None)) == "('a', 1, None)" and limits.short([2.5, (1,)]) == "[2.5, a tuple]"


# --- names ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["sum", "backward", "_array", "grad", "__class__", "__len__"])
def test_attributes_that_would_hide_methods_are_refused(name):
    attributes = {"dict": [[name, 1]]}
    assert load(hostile.native({"tensor": "m", "attributes": attributes}, M)) is None
    state = b"}" + hostile.text(name) + b"K\x01s"
    of = hostile.tensor(hostile.storage(), 0, (4,), (1,))
    data = hostile.called("torch._utils", "_rebuild_parameter_with_state", of, b"\x88", b"}", state)
    assert load(hostile.archive(hostile.program(data), [("0", b"\0" * 16)])) is None
    x = dt.ones(1)
    vars(x)[name] = 1
    with pytest.raises(TypeError, match="hide"):
        dt.save([x], io.BytesIO())


@pytest.mark.parametrize("kind", ["OrderedDict", "Counter", "defaultdict"])
def test_attributes_that_would_hide_methods_of_a_dict_are_refused(kind):
    node = {kind: [], "factory": "int", "attributes": {"dict": [["items", 1]]}}
    assert load(hostile.native(node, {})) is None
    node["attributes"] = {"dict": [["_metadata", 1]]}
    if kind == "OrderedDict":
        assert load(hostile.native(node, {}))._metadata == 1
        state = hostile.called("collections", "OrderedDict") + b"}" + hostile.text("items") + b"Nsb"
        assert load(hostile.archive(hostile.program(state))) is None


def test_every_kind_that_is_written_is_read_and_no_other():
    for kind in ("place", "_place", "value", "mapping", "__init__", "finished", "laid", "items", None, 1):
        assert load(hostile.native({kind: 1}, {})) is None


# --- valid files, changed at random ---------------------------------------------------------------

NUMBERS = [-1, 0, 1, 2, 3, 7, 8, 64, 65, 255, 2**31, 2**32 + 1, 2**40, 2**62, 2**63 - 1, 2**63, 2**64, 2**70, -(2**63)]
VALUES = [
    None,
    True,
    False,
    1.5,
    -0.0,
    1e308,
    "",
    "uint8",
    "float64",
    "bfloat16",
    "complex128",
    "<i8",
    ">f8",
    "S9",
    "cpu",
    "cuda:0",
    "__class__",
    "tensor",
    "same",
    "steps",
    [],
    {},
    [[]],
    [1],
    [0, 1],
    {"same": 0},
    {"tensor": "x"},
    {"tuple": []},
    {"array": "x", "dtype": "<f8"},
    "x",
    "w.x",
]


def originals():
    """Objects whose files have everything that native files may have."""
    base = dt.arange(24.0, dtype=dt.float64).reshape(2, 3, 4)
    array = np.arange(12, dtype=np.int32)
    tagged = dt.nn.Parameter(dt.ones(2))
    tagged.note = {"by": "hand"}
    state = OrderedDict(w=dt.ones(3, 2), b=dt.zeros(3))
    state._metadata = {"": {"version": 1}}
    sparse = dt.tensor([[0.0, 2.0], [3.0, 0.0]])
    return [
        {
            "x": base,
            "y": base[:, 1],
            "z": base.t() if base.ndim == 2 else base.transpose(0, 2),
            "bits": base.view(dt.int64),
        },
        {"w.x": [array, array[::-2], array.reshape(3, 4).T, np.float32(2), np.ones((2, 2), ">f8")]},
        {
            "h": dt.ones(4, dtype=dt.bfloat16),
            "c": dt.ones(2, 3, dtype=dt.complex128),
            "o": dt.ones(2, 3, 4).permute(2, 0, 1),
        },
        {"p": tagged, "again": tagged, "state": state, "numbers": {(1, 2): {3, 4}, "r": range(3), "s": slice(None, 3)}},
        {
            "coo": sparse.to_sparse(),
            "csr": sparse.to_sparse_csr(),
            "nested": dt.nested.nested_tensor([dt.ones(2, 2), dt.zeros(3, 2)], layout=dt.jagged),
        },
        [
            defaultdict(list, a=[1]),
            Counter("aab"),
            frozenset({1}),
            b"ab",
            bytearray(b"c"),
            1j,
            dt.float16,
            dt.device("cpu"),
            ...,
        ],
    ]


def written(obj) -> bytes:
    file = io.BytesIO()
    dt.save(obj, file)
    return file.getvalue()


def changed(tree, rng: random.Random):
    """The tree with one of its nodes replaced, dropped, doubled, or exchanged with another."""
    nodes = []
    pending = [tree]
    while pending:
        node = pending.pop()
        for key in node if isinstance(node, dict) else range(len(node)):
            nodes.append((node, key))
            if isinstance(node[key], (dict, list)):
                pending.append(node[key])
    if not nodes:
        return tree
    node, key = rng.choice(nodes)
    how = rng.randrange(8)
    if how == 0:
        del node[key]
    elif how == 1 and isinstance(node, list):
        node.insert(key, node[key])
    elif how == 2:
        other, place = rng.choice(nodes)
        try:
            node[key], other[place] = json.loads(json.dumps(other[place])), json.loads(json.dumps(node[key]))
        except (KeyError, IndexError):
            pass
    elif how == 3 and isinstance(node, dict) and isinstance(key, str):
        node[rng.choice([*node, "x", "steps", "order"])] = node.pop(key)
    elif how == 4:
        node[key] = copy.deepcopy(rng.choice(VALUES))
    elif isinstance(node[key], list) and how < 6:
        node[key] = [rng.choice(NUMBERS) for _ in node[key]]
    else:
        node[key] = rng.choice(NUMBERS)
    return tree


@pytest.mark.parametrize("case", range(6))
def test_changed_native_files_are_read_or_refused(case):
    data = written(originals()[case])
    assert load(data) is not None
    length = int.from_bytes(data[:8], "little")
    rng, refused = random.Random(case), 0
    for _ in range(ROUNDS):
        header = json.loads(data[8 : 8 + length])
        structure = json.loads(header["__metadata__"]["dualtape"])
        for _ in range(rng.randrange(1, 4)):
            if rng.random() < 0.3:
                header = changed(header, rng)
            elif isinstance(structure, (dict, list)) and structure:
                structure = changed(structure, rng)
        if isinstance(header.get("__metadata__"), dict) and "dualtape" in header["__metadata__"]:
            header["__metadata__"]["dualtape"] = json.dumps(structure)
        refused += load(hostile.with_header(header, data[8 + length :])) is None
    assert refused > ROUNDS // 4


@pytest.mark.parametrize("case", range(6))
def test_native_files_with_changed_bytes_are_read_or_refused(case):
    data = written(originals()[case])
    rng = random.Random(case)
    for _ in range(ROUNDS // 2):
        some = bytearray(data)
        for _ in range(rng.randrange(1, 5)):
            some[rng.randrange(len(some))] = rng.randrange(256)
        load(bytes(some[: rng.choice([len(some), rng.randrange(len(some))])]))


# pieces from which pickles are put together at random: most ask for something that is refused
ATOMS = [
    b"N",
    b"\x88",
    b"\x89",
    b")",
    b"]",
    b"}",
    b"\x8f",
    b"(",
    b"t",
    b"\x85",
    b"\x86",
    b"\x87",
    b"l",
    b"d",
    b"s",
    b"u",
    b"a",
    b"e",
    b"R",
    b"R",
    b"R",
    b"b",
    b"Q",
    b"Q",
    b"0",
    b"\x90",
    b"\x91",
    b"\x81",
    b"\x94",
    b"\x94",
    b"K\x00",
    b"K\x01",
    b"K\x04",
    b"h\x00",
    b"h\x01",
    b"h\x02",
    b"q\x00",
    b"G" + b"\x7f\xf8" + b"\0" * 6,
    b"C\x01x",
    b"I7\n",
    b"\x93",
    *(hostile.whole(n) for n in (-1, 2, 3, 2**31, 2**62, 2**63, 2**70, 2**4000)),
    *(
        hostile.text(t)
        for t in ("0", "storage", "cpu", "cuda", "conj", "torch", "Size", "latin1", "torch.sparse_csr", "sum", "")
    ),
    *(
        hostile.word(m, n)
        for m, n in (
            ("torch", "FloatStorage"),
            ("torch", "BFloat16Storage"),
            ("torch", "float64"),
            ("torch", "Size"),
            ("torch", "device"),
            ("torch", "Tensor"),
            ("torch._utils", "_rebuild_tensor_v2"),
            ("torch._utils", "_rebuild_tensor_v3"),
            ("torch._utils", "_rebuild_parameter"),
            ("torch._utils", "_rebuild_parameter_with_state"),
            ("torch._utils", "_rebuild_sparse_tensor"),
            ("torch._tensor", "_rebuild_from_type_v2"),
            ("torch.serialization", "_get_layout"),
            ("collections", "OrderedDict"),
            ("collections", "Counter"),
            ("collections", "defaultdict"),
            ("_codecs", "encode"),
            ("builtins", "set"),
            ("builtins", "list"),
            ("builtins", "dict"),
            ("builtins", "tuple"),
            ("builtins", "frozenset"),
            ("builtins", "complex"),
            ("builtins", "bytearray"),
            ("__builtin__", "long"),
            ("os", "system"),
            ("builtins", "eval"),
        )
    ),
    hostile.storage(),
    hostile.storage("ComplexFloatStorage", count=2),
    hostile.storage("UntypedStorage", count=16),
    hostile.tensor(hostile.storage(), 0, (2, 2), (2, 1)),
]
STORAGES = [("0", bytes(range(16)))]


@pytest.mark.parametrize("seed", range(4))
def test_pickles_put_together_at_random_are_read_or_refused(seed):
    rng = random.Random(seed)
    read = 0
    for _ in range(2 * ROUNDS):
        atoms = [rng.choice(ATOMS) for _ in range(rng.randrange(1, 25))]
        read += load(hostile.archive(hostile.program(*atoms), STORAGES)) is not None
    assert read


def instructions(pickled: bytes) -> list[bytes]:
    places = [position for _, _, position in pickletools.genops(pickled)]
    return [pickled[a:b] for a, b in zip(places, [*places[1:], len(pickled)], strict=True)]


def of_pytorch() -> list[bytes]:
    """Checkpoints with everything that PyTorch's may have, as bytes."""
    import torch

    model = torch.nn.Linear(2, 3)
    z = torch.arange(4).to(torch.complex64)
    many = {
        "model": model.state_dict(),
        "conj": z.conj(),
        "neg": z.clone().conj().imag,
        "h": torch.ones(2, dtype=torch.bfloat16),
        "views": [torch.arange(6.0).reshape(2, 3).t()],
        "u": torch.ones(2, dtype=torch.uint16),
        "p": torch.nn.Parameter(torch.ones(2)),
        "coo": torch.eye(2).to_sparse(),
        "csr": torch.eye(2).to_sparse_csr(),
        "set": {1, 2},
        "d": defaultdict(int, a=1),
        "plain": (1, 2.5, None, 2**70, 1j, b"ab", bytearray(b"c"), torch.Size([2]), torch.float16, torch.device("cpu")),
    }
    found = []
    for protocol in (2, 4):
        file = io.BytesIO()
        torch.save(many, file, pickle_protocol=protocol)
        found.append(file.getvalue())
    return found


@needs_torch
@pytest.mark.parametrize("which", [0, 1])
@pytest.mark.filterwarnings("ignore:Sparse CSR tensor support:UserWarning")
def test_checkpoints_of_pytorch_with_changed_pickles_are_read_or_refused(which):
    data = of_pytorch()[which]
    with zipfile.ZipFile(io.BytesIO(data)) as z:
        (root,) = {name.split("/")[0] for name in z.namelist()}
        pickled = z.read(f"{root}/data.pkl")
        members = [(name.split("/data/")[1], z.read(name)) for name in z.namelist() if "/data/" in name]
    assert load(hostile.archive(pickled, members)) is not None
    rng, ops, read = random.Random(which), instructions(pickled), 0
    for _ in range(ROUNDS):
        some = list(ops)
        for _ in range(rng.randrange(1, 4)):
            place = rng.randrange(1, len(some) - 1)
            how = rng.randrange(5)
            if how == 0:
                del some[place]
            elif how == 1:
                some.insert(place, some[rng.randrange(1, len(some) - 1)])
            elif how == 2:
                some[place] = rng.choice(ATOMS)
            elif how == 3:
                some[place] = hostile.whole(rng.choice(NUMBERS))
            else:
                other = rng.randrange(1, len(some) - 1)
                some[place], some[other] = some[other], some[place]
        read += load(hostile.archive(b"".join(some), members)) is not None
    assert 0 < read < ROUNDS


def test_archives_with_changed_bytes_are_read_or_refused(tmp_path):
    tensor = hostile.tensor(hostile.storage(), 0, (2, 2), (2, 1))
    data = hostile.archive(hostile.program(tensor), STORAGES)
    assert load(data).shape == (2, 2)
    rng = random.Random(0)
    with zipfile.ZipFile(io.BytesIO(data)) as z:
        headers = [at + k for at in (0, z.start_dir, *(m.header_offset for m in z.infolist())) for k in range(46)]
    headers += range(len(data) - 22, len(data))
    for k in range(4 * ROUNDS):
        some = bytearray(data)
        for _ in range(rng.randrange(1, 4)):
            some[rng.choice(headers)] = rng.choice([0, 1, 2, 4, 8, 127, 128, 255, rng.randrange(256)])
        some = some[: rng.choice([len(some), len(some), rng.randrange(len(some))])]
        load(bytes(some))
        if k % 8 == 0:  # as a file, which complains in other words than memory does, and mapped
            (tmp_path / "x.pt").write_bytes(some)
            for mapped in (False, True):
                try:
                    touch(dt.load(tmp_path / "x.pt", mmap=mapped))
                except FileFormatError as error:
                    assert str(error).startswith(os.fspath(tmp_path / "x.pt"))


def test_members_over_one_another_are_refused():
    """A directory may name the same bytes many times, which would be read again for each."""
    data = bytearray(hostile.archive(hostile.program(b"N"), [(str(k), b"x" * 1000) for k in range(8)]))
    with zipfile.ZipFile(io.BytesIO(data)) as z:
        start = z.start_dir
    directory, place = bytes(data[start:]), start
    for _ in range(2):  # after the pickle's entry
        place = data.index(b"PK\x01\x02", place + 1)
    first = directory[place - start : place - start + 46][42:46]
    for _ in range(6):
        place = data.index(b"PK\x01\x02", place + 1)
        data[place + 20 : place + 28] = (9000).to_bytes(4, "little") * 2
        data[place + 42 : place + 46] = first
    assert load(bytes(data)) is None


# --- whose error it is ----------------------------------------------------------------------------


def test_what_the_callers_function_raises_is_its_own_error():
    file = io.BytesIO(written({"x": dt.ones(2)}))

    class Mine(ValueError):
        pass

    def broken(storage, location):
        raise Mine("here")

    with pytest.raises(Mine, match="^here$"):
        dt.load(file, map_location=broken)
    file.seek(0)
    with pytest.raises(Mine, match="^here$"):
        dt.load(
            io.BytesIO(hostile.archive(hostile.program(hostile.tensor(hostile.storage(), 0, (1,), (1,))), STORAGES)),
            map_location=broken,
        )


def test_errors_name_the_file(tmp_path):
    path = tmp_path / "named.pt"
    for data in (
        b"",
        b"abc",
        OUTSIDE["no memory"],
        hostile.archive(b"\x80\x02N"),
        pickle.dumps(1),
        b"PK\x03\x04nonsense",
    ):
        path.write_bytes(data)
        for mapped in (False, True):
            with pytest.raises(FileFormatError, match="named.pt: "):
                dt.load(path, mmap=mapped)
