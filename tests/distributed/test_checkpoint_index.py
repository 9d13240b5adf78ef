"""Checkpoints in parts that are damaged: a load raises before it writes, and reads nothing outside of its folder."""

from __future__ import annotations

import copy
import itertools
import json
import random
from pathlib import Path

import numpy as np
import pytest

import dualtape as dt
import dualtape.distributed as dist
from dualtape.distributed import checkpoint_index
from dualtape.serialization import FileFormatError
from tests.op_cases import DEEP
from tests.serialization.test_hostile_files import NUMBERS, changed

ROUNDS = 10_000 if DEEP else 600


@pytest.fixture
def alone():
    dist.init_process_group()
    yield
    dist.destroy_process_group()


def part(rank, start, size):
    return {"rank": rank, "start": start, "size": size}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A checkpoint as two processes write it: two tensors in parts, one whole, a plain value."""
    place = tmp_path / "step"
    place.mkdir()
    x = np.arange(12.0).reshape(4, 3)
    dt.save({"x": dt.tensor(x[:2]), "net.w": dt.ones(5)}, place / "rank-0.safetensors")
    dt.save({"x": dt.tensor(x[2:])}, place / "rank-1.safetensors")
    dt.save({"x": dt.tensor(x * 0 - 1)}, tmp_path / "outside.safetensors")
    index = {
        "x": {"shape": [4, 3], "parts": [part(0, [0, 0], [2, 3]), part(1, [2, 0], [2, 3])]},
        "net.w": {"shape": [5], "parts": [part(0, [0], [5])]},
        "epoch": {"value": 3},
    }
    (place / "index.json").write_text(json.dumps(index))
    return place


def state():
    return {"epoch": 0, "x": dt.full((4, 3), 7.0, dtype=dt.float64), "net": {"w": dt.full((5,), 7.0)}}


def untouched(found) -> bool:
    return found["epoch"] == 0 and set(found["x"].flatten().tolist() + found["net"]["w"].tolist()) == {7.0}


def edited(folder: Path, change) -> None:
    index = json.loads((folder / "index.json").read_text())
    (folder / "index.json").write_text(json.dumps(change(index) or index))


def test_a_whole_checkpoint_is_loaded(folder):
    found = state()
    dist.checkpoint.load(found, checkpoint_id=folder)
    assert found["x"].flatten().tolist() == list(range(12)) and found["epoch"] == 3 and found["net"]["w"].sum() == 5


DAMAGED = {
    "a part that is missing": lambda i: i["x"]["parts"].pop(),
    "no parts": lambda i: i["x"].update(parts=[]),
    "a part twice": lambda i: i["x"]["parts"].append(part(0, [0, 0], [2, 3])),
    "parts that overlap": lambda i: i["x"].update(parts=[part(0, [0, 0], [2, 3]), part(1, [1, 0], [2, 3])]),
    "a part that is too small": lambda i: i["x"]["parts"][0].update(size=[2, 2]),
    "a part outside": lambda i: i["x"]["parts"][1].update(start=[3, 0]),
    "a part before": lambda i: i["x"]["parts"][1].update(start=[-1, 0]),
    "fewer dimensions": lambda i: i["x"]["parts"][1].update(start=[2], size=[2]),
    "a rank that is a path": lambda i: i["x"]["parts"][0].update(rank="/../../outside"),
    "a rank below": lambda i: i["x"]["parts"][0].update(rank=-1),
    "a rank that is true": lambda i: i["x"]["parts"][0].update(rank=True),
    "a rank that is a number": lambda i: i["x"]["parts"][0].update(rank=0.0),
    "a rank that wrote nothing": lambda i: i["x"]["parts"][0].update(rank=5),
    "a rank that has it not": lambda i: i["net.w"]["parts"][0].update(rank=1),
    "a part of another shape": lambda i: i["x"].update(parts=[part(0, [0, 0], [1, 3]), part(1, [1, 0], [3, 3])]),
    "no rank": lambda i: i["x"]["parts"][0].pop("rank"),
    "no start": lambda i: i["x"]["parts"][0].pop("start"),
    "no shape": lambda i: i["x"].pop("shape"),
    "an entry of nothing": lambda i: i.update(x={}),
    "an entry that is a list": lambda i: i.update(x=[]),
    "parts that are a dict": lambda i: i["x"].update(parts={}),
    "a value and a shape": lambda i: i["x"].update(value=1),
    "a list": lambda i: [i],
    "something that nobody asks for": lambda i: i.update(other={"shape": [2], "parts": []}),
}


@pytest.mark.parametrize("name", DAMAGED)
def test_a_damaged_index_is_refused_before_anything_is_written(folder, name):
    edited(folder, lambda index: [index] if name == "a list" else (DAMAGED[name](index), None)[1])
    found = state()
    with pytest.raises(FileFormatError, match=str(folder)):
        dist.checkpoint.load(found, checkpoint_id=folder)
    assert untouched(found)


@pytest.mark.parametrize("text", [b"", b"{", b"\xff", b'{"x":' * 100_000, b"null", b"9" * 5000])
def test_an_index_that_is_not_json_is_refused(folder, text):
    (folder / "index.json").write_bytes(text)
    with pytest.raises(FileFormatError, match=r"index\.json"):
        dist.checkpoint.load(state(), checkpoint_id=folder)


@pytest.mark.parametrize(
    "obj", [[1], 3, {"x": 1}, {"x": np.ones((2, 3))}, {"x": dt.ones(2, 2)}, {"x": dt.ones(2, 3).to_sparse()}]
)
def test_the_file_of_a_rank_must_hold_what_the_index_says(folder, obj):
    dt.save(obj, folder / "rank-1.safetensors")
    found = state()
    with pytest.raises(FileFormatError, match=r"rank-1"):
        dist.checkpoint.load(found, checkpoint_id=folder)
    assert untouched(found)


def test_a_tensor_is_no_plain_value_and_nothing_is_written(folder):
    for wrong in ({"epoch": dt.ones(())}, {"x": 1}, {"x": dt.ones(3, 4)}, {"y": dt.ones(1)}):
        found = {**state(), **wrong}
        with pytest.raises(RuntimeError, match=f"load: .*{next(iter(wrong))}"):
            dist.checkpoint.load(found, checkpoint_id=folder)
        assert found["net"]["w"].tolist() == [7.0] * 5
    dt.save({"x": dt.ones(2, 3, dtype=dt.complex64)}, folder / "rank-1.safetensors")
    found = state()
    with pytest.raises(RuntimeError, match="complex64 in the checkpoint"):
        dist.checkpoint.load(found, checkpoint_id=folder)
    assert untouched(found)


@pytest.mark.parametrize("seed", range(3))
def test_an_index_changed_at_random_is_loaded_right_or_refused(folder, seed):
    rng = random.Random(seed)
    whole = json.loads((folder / "index.json").read_text())
    refused = 0
    for _ in range(ROUNDS // 3):
        index = copy.deepcopy(whole)
        for _ in range(rng.randrange(1, 4)):
            index = changed(index, rng)
        (folder / "index.json").write_text(json.dumps(index))
        found = state()
        try:
            dist.checkpoint.load(found, checkpoint_id=folder)
        except RuntimeError as error:
            assert isinstance(error, FileFormatError) or str(error).startswith("load: ")
            assert untouched(found)
            refused += 1
        else:
            values = found["x"].flatten().tolist()
            assert sorted(values) == list(range(12)), "each element came from a file, once"
            assert found["net"]["w"].tolist() == [1.0] * 5
    assert refused > ROUNDS // 10


def boxes(rng, shape):
    """Parts of a tensor: cuts of a grid, some of them moved, dropped or doubled."""
    edges = [sorted({0, n, *(rng.randrange(n + 1) for _ in range(rng.randrange(3)))}) for n in shape]
    found = [
        part(0, [a for a, _ in box], [b - a for a, b in box])
        for box in itertools.product(*([*itertools.pairwise(e)] for e in edges))
    ]
    for _ in range(rng.randrange(3)):
        if found:
            one = rng.choice(found)
            how = rng.randrange(4)
            if how == 0:
                found.remove(one)
            elif how == 1:
                found.append(copy.deepcopy(one))
            elif shape:
                where = rng.randrange(len(shape))
                one[rng.choice(["start", "size"])][where] = rng.choice([*range(5), rng.choice(NUMBERS)])
    rng.shuffle(found)
    return found


def test_parts_are_accepted_exactly_if_they_cover_each_element_once():
    rng = random.Random(0)
    accepted = 0
    for _ in range(ROUNDS * 4):
        shape = [rng.randrange(5) for _ in range(rng.randrange(4))]
        parts = boxes(rng, shape)
        sound = all(min([*p["start"], *p["size"], 0]) >= 0 for p in parts) and all(
            s + n <= whole for p in parts for s, n, whole in zip(p["start"], p["size"], shape, strict=True)
        )
        if sound:
            count = np.zeros(shape, int)
            for p in parts:
                count[tuple(slice(s, s + n) for s, n in zip(p["start"], p["size"], strict=True))] += 1
            sound = bool((count == 1).all())
        try:
            checkpoint_index._entry({"shape": shape, "parts": parts})
            found = True
        except FileFormatError:
            found = False
        assert found == sound, (shape, parts)
        accepted += found
    assert accepted > ROUNDS


def test_many_parts_are_checked_quickly():
    grid = [part(k, [2 * i, 3 * j], [2, 3]) for k, (i, j) in enumerate(itertools.product(range(100), range(80)))]
    entry = checkpoint_index._entry({"shape": [200, 240], "parts": grid})
    assert len(entry.parts) == 8000


def test_two_values_of_one_name_are_refused(tmp_path, alone):
    with pytest.raises(ValueError, match=r"'a\.b'"):
        dist.checkpoint.save({"a.b": dt.ones(1), "a": {"b": dt.zeros(1)}}, checkpoint_id=tmp_path / "step")
    assert not (tmp_path / "step").exists()


def test_bfloat16_and_empty_tensors_come_back(tmp_path, alone):
    x = dt.tensor([1.5, -2.0]).to(dt.bfloat16)
    dist.checkpoint.save({"x": x, "e": dt.ones(0, 3), "z": dt.tensor(2j)}, checkpoint_id=tmp_path / "step")
    found = {"x": x * 0, "e": dt.ones(0, 3), "z": dt.tensor(0j)}
    dist.checkpoint.load(found, checkpoint_id=tmp_path / "step")
    assert found["x"].dtype == dt.bfloat16 and found["x"].tolist() == [1.5, -2.0] and found["z"].item() == 2j
