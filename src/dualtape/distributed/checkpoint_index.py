"""The index of a distributed checkpoint: which shard of which tensor is in the file of which rank.

An index comes from a folder that is not trusted. It is checked as a whole before any tensor is written: each shard lies
inside its tensor, and together they cover each element exactly once.
"""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any, NamedTuple

from ..serialization import FileFormatError
from ..serialization.limits import check_sizes, short

_MOST_RANKS = 1 << 31
# After so many cuts, parts have to be alone; parts of a grid are, after one cut for each dimension.
_DEEPEST = 64


class Part(NamedTuple):
    """A box of a tensor that is in the file of one rank."""

    rank: int
    start: tuple[int, ...]
    size: tuple[int, ...]


class Entry(NamedTuple):
    """A tensor: its shape and parts; or a plain value, where `shape` is None."""

    shape: tuple[int, ...] | None
    parts: tuple[Part, ...]
    value: Any


def read_index(path: Path) -> dict[str, Entry]:
    """Read and check the index of a checkpoint.

    Raises
    ------
    FileFormatError
        If anything in it is not as :func:`dualtape.distributed.checkpoint.save` writes it.
    """
    try:
        found = json.loads(path.read_bytes())
    except (ValueError, RecursionError) as error:
        raise FileFormatError(f"{path}: the index is not JSON: {short(error)}") from None
    if not isinstance(found, dict):
        raise FileFormatError(f"{path}: the index is {short(found)}, where names of tensors were expected")
    index = {}
    for name, entry in found.items():
        try:
            index[name] = _entry(entry)
        except FileFormatError as error:
            raise FileFormatError(f"{path}: {short(name)}: {error}") from None
    return index


def _entry(entry: Any) -> Entry:
    if isinstance(entry, dict) and set(entry) == {"value"}:
        return Entry(None, (), entry["value"])
    if not isinstance(entry, dict) or set(entry) != {"shape", "parts"} or not isinstance(entry["parts"], list):
        raise FileFormatError(f"expected a value, or a shape and a list of parts, got {short(entry)}")
    shape = entry["shape"]
    check_sizes("its shape", shape)
    parts = tuple(_part(part, shape) for part in entry["parts"])
    filled = [part for part in parts if 0 not in part.size]
    if sum(math.prod(part.size) for part in filled) != math.prod(shape) or not _are_apart(filled, len(shape)):
        raise FileFormatError(
            f"its {len(parts)} parts are not together a tensor of shape {short(shape)}, each element once"
        )
    return Entry(tuple(shape), parts, None)


def _part(part: Any, shape: list[int]) -> Part:
    if not isinstance(part, dict) or set(part) != {"rank", "start", "size"}:
        raise FileFormatError(f"expected a part with rank, start and size, got {short(part)}")
    rank, start, size = part["rank"], part["start"], part["size"]
    if type(rank) is not int or not 0 <= rank < _MOST_RANKS:
        raise FileFormatError(f"a part of rank {short(rank)}, where the number of a process was expected")
    check_sizes("the start of a part", start)
    check_sizes("the size of a part", size)
    if not len(start) == len(size) == len(shape) or any(
        s + n > whole for s, n, whole in zip(start, size, shape, strict=True)
    ):
        raise FileFormatError(f"a part from {short(start)} of size {short(size)} in a tensor of shape {short(shape)}")
    return Part(rank, tuple(start), tuple(size))


def _are_apart(parts: list[Part], dims: int) -> bool:
    """Return whether boxes can be separated by successive cuts along one dimension: then none overlaps another.

    Whatever is sharded over a mesh can be. A tiling that cannot be cut, such as a pinwheel, is not written by anybody
    and is taken for damaged.
    """
    pending = [(parts, 0)]
    while pending:
        group, depth = pending.pop()
        if len(group) < 2:
            continue
        for dim in range(dims):
            pieces = _cut(group, dim)
            if len(pieces) > 1:
                break
        else:
            return False
        if depth == _DEEPEST:
            return False
        pending += [(piece, depth + 1) for piece in pieces]
    return True


def _cut(parts: list[Part], dim: int) -> list[list[Part]]:
    """Return the boxes in groups that follow one another along a dimension."""
    groups: list[list[Part]] = []
    end = -1
    for part in sorted(parts, key=lambda part: part.start[dim]):
        if not groups or part.start[dim] >= end:
            groups.append([])
        groups[-1].append(part)
        end = max(end, part.start[dim] + part.size[dim])
    return groups
