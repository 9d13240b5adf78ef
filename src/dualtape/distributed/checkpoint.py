"""Checkpoints in parts: each process writes what it has, and reads what it needs, whatever their numbers.

A checkpoint is a folder: a ``.safetensors`` file for each process, and an index that says which part of which tensor
is where. It is written beside, brought to the disk, and put in its place at once: on Linux the two folders change
places in one step, elsewhere by two, between which the old one has another name that :func:`load` knows. So whatever
ends a program, there is a whole checkpoint, the old one or the new.
"""

from __future__ import annotations

import ctypes
import json
import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from .._tensor.tensor import Tensor, wrap
from ..modes import no_grad
from ..serialization import load as load_file
from ..serialization import save as save_file
from . import collectives, groups, objects
from .tensor.array import Sharded, store

__all__ = ["load", "save"]

_INDEX = "index.json"


def _flat(state: Any, prefix: str = "") -> Iterator[tuple[str, dict, Any]]:
    """(name, container, key) of each value of nested dicts."""
    for key, value in state.items():
        name = f"{prefix}{key}"
        if isinstance(value, dict):
            yield from _flat(value, f"{name}.")
        else:
            yield name, state, key


def _own(value: Any, rank: int) -> tuple[Any, list[int], list[int]] | None:
    """What this process writes of a tensor: the local array, where it begins, and the shape of the whole; None if
    another writes it.
    """
    array = value._array
    if type(array) is not Sharded:
        return (array, [0] * array.ndim, list(array.shape)) if rank == 0 else None
    spec = array.spec
    if spec.partial:
        raise ValueError("save: a tensor with pending sums is no state: redistribute it first")
    first = all(type(code) is int or place == 0 for code, place in zip(spec.codes, spec.places, strict=True))
    return (array.local, list(spec.starts), list(spec.shape)) if first and array.local.size else None


def save(state_dict: dict, *, checkpoint_id: str | os.PathLike) -> None:
    """Write a checkpoint: each process its parts of the DTensors, rank 0 the rest. All of them call it.

    Parameters
    ----------
    state_dict : dict
        Tensors by name, in dicts as deep as need be; numbers and strings too.
    checkpoint_id : path
        The folder; one that is there is replaced, as a whole.

    Examples
    --------
    >>> import dualtape as dt, tempfile
    >>> import dualtape.distributed as dist
    >>> dist.init_process_group()
    >>> folder = tempfile.mkdtemp() + "/step"
    >>> dist.checkpoint.save({"x": dt.arange(3.0)}, checkpoint_id=folder)
    >>> state = {"x": dt.zeros(3)}
    >>> dist.checkpoint.load(state, checkpoint_id=folder)
    >>> state
    {'x': tensor([0., 1., 2.])}
    >>> dist.destroy_process_group()
    """
    group = groups.default_group()
    rank = group.rank()
    target = Path(checkpoint_id)
    beside = target.with_name(f"{target.name}.writing")
    tensors: dict[str, Tensor] = {}
    index: dict[str, Any] = {}
    for name, state, key in _flat(state_dict):
        value = state[key]
        if not isinstance(value, Tensor):
            if rank == 0:
                index[name] = {"value": json.loads(json.dumps(value))}
            continue
        part = _own(value.detach(), rank)
        if part is not None:
            local, start, shape = part
            tensors[name] = wrap(np.asarray(local, order="C") if isinstance(local, np.ndarray) else local)
            index[name] = {"shape": shape, "parts": [{"rank": rank, "start": start, "size": list(local.shape)}]}
    if rank == 0:
        shutil.rmtree(beside, ignore_errors=True)
        beside.mkdir(parents=True)
    collectives.barrier(group)
    save_file(tensors, beside / f"rank-{rank}.safetensors")
    _to_disk(beside / f"rank-{rank}.safetensors")
    every: list = [None] * group.size()
    objects.all_gather_object(every, index, group)
    if rank == 0:
        merged = every[0]
        for other in every[1:]:
            for name, entry in other.items():
                merged.setdefault(name, {"shape": entry["shape"], "parts": []})["parts"] += entry["parts"]
        (beside / _INDEX).write_text(json.dumps(merged))
        _to_disk(beside / _INDEX, beside)
        _put_in_place(beside, target)
    collectives.barrier(group)


def _to_disk(*paths: Path) -> None:
    """Wait until files, and folders, are on the disk."""
    for path in paths:
        number = os.open(path, os.O_RDONLY)
        try:
            os.fsync(number)
        except OSError:  # a file system, or a system, that has none of it for folders
            if not path.is_dir():
                raise
        finally:
            os.close(number)


def _old(target: Path) -> Path:
    return target.with_name(f"{target.name}.old")


def _put_in_place(beside: Path, target: Path) -> None:
    """Give a folder the name of another, which is deleted."""
    old = _old(target)
    if not target.exists():
        beside.rename(target)
    elif _exchange(beside, target):
        old = beside
    else:
        shutil.rmtree(old, ignore_errors=True)
        target.rename(old)
        beside.rename(target)
    _to_disk(target.parent)
    shutil.rmtree(old, ignore_errors=True)


def _exchange(a: Path, b: Path) -> bool:
    """Let two folders change places in one step, where the system can; whether it did."""
    try:
        function = ctypes.CDLL(None, use_errno=True).renameat2
    except (OSError, AttributeError, TypeError):
        return False
    here, exchange = -100, 2  # AT_FDCWD, RENAME_EXCHANGE
    return function(here, os.fsencode(a), here, os.fsencode(b), exchange) == 0


def load(state_dict: dict, *, checkpoint_id: str | os.PathLike) -> None:
    """Read a checkpoint into the tensors of ``state_dict``, in place, under the placements they have.

    Parameters
    ----------
    state_dict : dict
        As it was saved; the number of processes and the placements may be others.
    checkpoint_id : path
        The folder.
    """
    folder = Path(checkpoint_id)
    if not folder.exists() and _old(folder).is_dir():
        folder = _old(folder)  # somebody was stopped between two steps
    if not (folder / _INDEX).is_file():
        raise FileNotFoundError(f"load: {folder} holds no checkpoint: there is no {_INDEX}")
    index = json.loads((folder / _INDEX).read_text())
    wanted = list(_flat(state_dict))
    missing = [name for name, _, _ in wanted if name not in index]
    if missing:
        raise RuntimeError(
            f"load: the checkpoint has no {', '.join(missing[:5])}; it has {', '.join(list(index)[:5])}, ..."
        )
    for name, state, key in wanted:  # before anything is written
        if isinstance(state[key], Tensor) and list(state[key].shape) != index[name].get("shape"):
            raise RuntimeError(
                f"load: {name} has shape {list(state[key].shape)}, in the checkpoint {index[name].get('shape')}"
            )
    files: dict[int, dict] = {}
    with no_grad():
        for name, state, key in wanted:
            entry, value = index[name], state[key]
            if not isinstance(value, Tensor):
                state[key] = entry["value"]
                continue
            array = value._array
            sharded = type(array) is Sharded
            local, starts = (array.local, list(array.spec.starts)) if sharded else (array, [0] * array.ndim)
            room = np.empty(local.shape, local.dtype)
            for part in entry["parts"]:
                here, there = _overlap(starts, local.shape, part["start"], part["size"])
                if here is not None:
                    rank = part["rank"]
                    if rank not in files:
                        files[rank] = load_file(folder / f"rank-{rank}.safetensors")
                    room[here] = files[rank][name]._array[there]
            if sharded:
                store(array, Sharded(room, array.spec))
                value._shared_counter[0] += 1
            else:
                value.copy_(wrap(room))


def _overlap(a: list, a_size: Any, b: list, b_size: Any) -> tuple[Any, Any]:
    """The part that two boxes share, in the places of each; None if there is none."""
    here, there = [], []
    for s, n, t, m in zip(a, a_size, b, b_size, strict=True):
        low, high = max(s, t), min(s + n, t + m)
        if low >= high:
            return None, None
        here.append(slice(low - s, high - s))
        there.append(slice(low - t, high - t))
    return tuple(here), tuple(there)
