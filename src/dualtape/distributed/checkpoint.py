"""Distributed checkpoints: each process writes its shards, and reads those that it needs, whatever the number of
processes.

A checkpoint is a folder: a ``.safetensors`` file for each process, and an index of the position of each shard. It is
written to another folder, flushed to disk, and then replaces the old one atomically: on Linux the two folders are
exchanged in one step, elsewhere in two, between which the old one has another name that :func:`load` knows. So a
complete checkpoint exists whenever a program ends, the old one or the new.
"""

from __future__ import annotations

import ctypes
import json
import os
import shutil
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from .._tensor import dtypes
from .._tensor.device import strided
from .._tensor.tensor import Tensor, wrap
from ..arrays.bfloat16 import BFloat16Array
from ..modes import no_grad
from ..serialization import FileFormatError
from ..serialization import load as load_file
from ..serialization import save as save_file
from . import groups, objects
from .agreement import together
from .checkpoint_index import Entry, read_index
from .tensor.array import Sharded, store

__all__ = ["load", "save"]

_INDEX = "index.json"


def _flat(state: Any, prefix: str = "") -> Iterator[tuple[str, dict, Any]]:
    """Yield (name, container, key) of each value of nested dicts."""
    for key, value in state.items():
        name = f"{prefix}{key}"
        if isinstance(value, dict):
            yield from _flat(value, f"{name}.")
        else:
            yield name, state, key


def _own(value: Any, rank: int) -> tuple[Any, list[int], list[int]] | None:
    """Return the shard of a tensor that this process writes: the local array, its offset, and the global shape; None if
    another process writes it.
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
    """Write a checkpoint: each process its shards of the DTensors, rank 0 the rest. All processes call it.

    Parameters
    ----------
    state_dict : dict
        Tensors by name, in dicts as deep as need be; numbers and strings too.
    checkpoint_id : path
        The folder; one that is there is replaced, as a whole.

    Raises
    ------
    DistBackendError
        If it fails on another process, whose own exception says why: it fails on all of them, and the checkpoint that
        was there stays.

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

    def described() -> tuple[dict[str, Tensor], dict[str, Any]]:
        found = _described(state_dict, rank)
        if rank == 0:
            shutil.rmtree(beside, ignore_errors=True)
            beside.mkdir(parents=True)
        return found

    def written() -> None:
        save_file(tensors, beside / f"rank-{rank}.safetensors")
        _to_disk(beside / f"rank-{rank}.safetensors")

    def in_place() -> None:
        if rank == 0:
            (beside / _INDEX).write_text(json.dumps(_merged(every)))
            _to_disk(beside / _INDEX, beside)
            _put_in_place(beside, target)

    tensors, index = together(group, "save", described)
    together(group, "save", written)
    every: list = [None] * group.size()
    objects.all_gather_object(every, index, group)
    together(group, "save", in_place)


def _described(state_dict: dict, rank: int) -> tuple[dict[str, Tensor], dict[str, Any]]:
    """Return the arrays that this process writes, and its entries of the index."""
    tensors: dict[str, Tensor] = {}
    index: dict[str, Any] = {}
    for name, state, key in _named(state_dict, "save"):
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
        elif rank == 0:
            index[name] = {"shape": list(value.shape), "parts": []}
    return tensors, index


def _merged(indices: list[dict[str, Any]]) -> dict[str, Any]:
    """Return the index of a checkpoint, merged from those of all processes."""
    merged = indices[0]
    for other in indices[1:]:
        for name, entry in other.items():
            merged.setdefault(name, {"shape": entry["shape"], "parts": []})["parts"] += entry["parts"]
    return merged


def _to_disk(*paths: Path) -> None:
    """Flush files and folders to disk."""
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
    """Exchange two folders in one step, if the system supports it; return whether it was done."""
    try:
        function = ctypes.CDLL(None, use_errno=True).renameat2
    except (OSError, AttributeError, TypeError):
        return False
    here, exchange = -100, 2  # AT_FDCWD, RENAME_EXCHANGE
    return function(here, os.fsencode(a), here, os.fsencode(b), exchange) == 0


def load(
    state_dict: dict,
    *,
    checkpoint_id: str | os.PathLike,
    process_group: groups.ProcessGroup | None = None,
    no_dist: bool = False,
) -> None:
    """Read a checkpoint into the tensors of ``state_dict``, in place, under their placements.

    Parameters
    ----------
    state_dict : dict
        As it was saved; the number of processes and the placements may be others.
    checkpoint_id : path
        The folder.
    process_group : ProcessGroup, optional
        The processes that load, all of which call it; all by default.
    no_dist : bool
        Whether this process loads for itself, and is not told of failures of others.

    Raises
    ------
    dualtape.serialization.FileFormatError
        If the index or a file is damaged.
    DistBackendError
        If it fails on another process. A load that fails on any process has written nothing on all of them.
    """
    alone = no_dist or process_group is None and not groups.is_initialized()
    group = None if alone else groups.member(process_group)
    prepare = lambda: _read(state_dict, Path(checkpoint_id))
    index, wanted, loads = prepare() if group is None else together(group, "load", prepare)
    with no_grad():  # all of it has been read and checked
        for name, state, key in wanted:
            if not isinstance(state[key], Tensor):
                state[key] = index[name].value
        for each in loads:
            each.write()


def _read(state_dict: dict, folder: Path) -> tuple[dict[str, Entry], list[tuple[str, dict, Any]], list[_Load]]:
    """Return the index of a checkpoint, the requested entries, and the data read for each tensor."""
    if not folder.exists() and _old(folder).is_dir():
        folder = _old(folder)  # somebody was stopped between two steps
    if not (folder / _INDEX).is_file():
        raise FileNotFoundError(f"load: {folder} holds no checkpoint: there is no {_INDEX}")
    index = read_index(folder / _INDEX)
    wanted = _named(state_dict, "load")
    _check_wanted(wanted, index)
    loads = [_Load(name, state[key], index[name]) for name, state, key in wanted if isinstance(state[key], Tensor)]
    for rank in sorted({rank for each in loads for rank in each.pieces}):
        _read_rank(folder / f"rank-{rank}.safetensors", rank, loads)
    return index, wanted, loads


def _check_wanted(wanted: list[tuple[str, dict, Any]], index: dict[str, Entry]) -> None:
    """Raise unless a checkpoint has all requested entries, in these shapes."""
    missing = [name for name, _, _ in wanted if name not in index]
    if missing:
        raise RuntimeError(
            f"load: the checkpoint has no {', '.join(missing[:5])}; it has {', '.join(list(index)[:5])}, ..."
        )
    for name, state, key in wanted:
        value, shape = state[key], index[name].shape
        if isinstance(value, Tensor) != (shape is not None):
            there, here = ("a plain value", "a tensor") if shape is None else ("a tensor", "a plain value")
            raise RuntimeError(f"load: {name} is {there} in the checkpoint, and {here} in the state_dict")
        if shape is not None and tuple(value.shape) != shape:
            raise RuntimeError(f"load: {name} has shape {list(value.shape)}, in the checkpoint {list(shape)}")


class _Load:
    """A tensor to load: the pieces that it needs of each rank's file, and the buffer in which they are gathered.

    Parameters
    ----------
    name : str
    tensor : Tensor
        Written when all of the checkpoint has been read.
    entry : Entry
    """

    def __init__(self, name: str, tensor: Tensor, entry: Entry) -> None:
        self.name, self.tensor = name, tensor
        array: Any = tensor._array
        self._sharded = type(array) is Sharded
        self._local = array.local if self._sharded else array
        starts = list(array.spec.starts) if self._sharded else [0] * array.ndim
        # (where in the buffer, where in the part, size of the part)
        self.pieces: dict[int, list[tuple[tuple, tuple, tuple[int, ...]]]] = {}
        for part in entry.parts:
            here, there = _overlap(starts, self._local.shape, list(part.start), list(part.size))
            if here is not None:
                self.pieces.setdefault(part.rank, []).append((here, there, part.size))
        brief = dtypes.of(self._local.dtype) is dtypes.bfloat16
        self._buffer = np.empty(self._local.shape, np.float32 if brief else self._local.dtype)

    def gather(self, rank: int, found: Tensor) -> None:
        """Copy the needed pieces of a rank's shard."""
        array: Any = found._array
        values = array.values if isinstance(array, BFloat16Array) else array
        if values.dtype.kind == "c" and self._buffer.dtype.kind != "c":
            raise RuntimeError(f"load: {self.name} is {found.dtype} in the checkpoint, and {self.tensor.dtype} here")
        for here, there, _ in self.pieces[rank]:
            self._buffer[here] = values[there]

    def write(self) -> None:
        """Write the tensor."""
        brief = self._buffer.dtype != self._local.dtype
        values: Any = BFloat16Array(self._buffer, True) if brief else self._buffer
        if self._sharded:
            array: Any = self.tensor._array
            store(array, Sharded(values, array.spec))
            self.tensor._shared_counter[0] += 1
        else:
            self.tensor.copy_(wrap(values))


def _read_rank(path: Path, rank: int, loads: list[_Load]) -> None:
    """Read from the file of a rank the pieces that the tensors need."""
    try:
        found = load_file(path, map_location="cpu")
    except FileNotFoundError:
        raise FileFormatError(f"{path}: the index names this file, which is not there") from None
    for each in loads:
        if rank not in each.pieces:
            continue
        tensor = found.get(each.name) if isinstance(found, dict) else None
        sizes = {size for _, _, size in each.pieces[rank]}
        if not isinstance(tensor, Tensor) or tensor.layout is not strided or tensor.is_nested:
            raise FileFormatError(f"{path}: holds no tensor {each.name}, a part of which the index says is here")
        if sizes != {tuple(tensor.shape)}:
            raise FileFormatError(f"{path}: {each.name} has shape {tuple(tensor.shape)}, and {sizes} in the index")
        each.gather(rank, tensor)


def _named(state: dict, what: str) -> list[tuple[str, dict, Any]]:
    """Return (name, container, key) of each value of nested dicts; raise if two have one name."""
    found = list(_flat(state))
    counts = Counter(name for name, _, _ in found)
    if len(counts) < len(found):
        name = counts.most_common(1)[0][0]
        raise ValueError(f"{what}: two values of the state_dict have the name {name!r}: rename one of the keys")
    return found


def _overlap(a: list, a_size: Any, b: list, b_size: Any) -> tuple[Any, Any]:
    """Return the intersection of two boxes, in the coordinates of each; None if it is empty."""
    here, there = [], []
    for s, n, t, m in zip(a, a_size, b, b_size, strict=True):
        low, high = max(s, t), min(s + n, t + m)
        if low >= high:
            return None, None
        here.append(slice(low - s, high - s))
        there.append(slice(low - t, high - t))
    return tuple(here), tuple(there)
