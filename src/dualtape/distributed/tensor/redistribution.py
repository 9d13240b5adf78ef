"""Redistribution: from one placement to another, by the collectives that move the fewest bytes.

Along one dimension of the mesh: a replicated array is sliced without a message; pending sums are scattered as they are
reduced; shards are exchanged, or gathered. Steps that make the local array smaller come first, those that make it
larger last: each then moves the least possible.
"""

from __future__ import annotations

from typing import Any

import numpy

from ...arrays import module_of
from .. import on_arrays
from ..groups import ProcessGroup
from ..reduce_op import ReduceOp
from .spec import Code, Spec, chunk, spec_of

np: Any = numpy

__all__ = ["cost", "moved", "redistribute"]

OPS = {"sum": ReduceOp.SUM, "avg": ReduceOp.AVG, "product": ReduceOp.PRODUCT, "max": ReduceOp.MAX, "min": ReduceOp.MIN}
moved = [0]  # bytes that this process received in redistributions


def cost(source: Code, target: Code, size: float, count: int) -> float:
    """Return the bytes that each of ``count`` processes receives when an array, ``size`` bytes on each, changes its
    placement.
    """
    if source == target or count == 1:
        return 0.0
    share = (count - 1) / count
    if type(source) is str:
        if type(target) is int:
            return size * share
        return 2 * size * share if target is None else 3 * size
    if type(source) is int:
        if target is None:
            return size * (count - 1)
        return size * share if type(target) is int else size * count
    return 0.01 * size if type(target) is int else 0.02 * size


def _rank(source: Code, target: Code) -> int:
    """Return the order of a step: slicing, reducing to a shard, exchanging, reducing, gathering."""
    if type(target) is int:
        return 0 if source is None else 1 if type(source) is str else 2
    return 3 if type(source) is str else 4 if target is None else 5


def redistribute(local: Any, spec: Spec, codes: tuple[Code, ...]) -> Any:
    """Return the local array of the same values under other codes."""
    current = list(spec.codes)
    shape = spec.shape
    mesh = spec.mesh

    def step(k: int, target: Code) -> None:
        nonlocal local
        if current[k] == target:
            return
        before = spec_of(mesh, tuple(current), shape)
        local = _step(local, before, k, target)
        current[k] = target

    # a dimension that several of the mesh shard lies nested, and is taken apart from the inside
    for d in range(len(shape)):
        users = [k for k in range(len(codes)) if current[k] == d or codes[k] == d]
        different = [k for k in users if current[k] != codes[k]]
        if len(users) > 1 and different:
            for k in reversed(users):
                if current[k] == d and k >= different[0]:
                    step(k, None)
    nested = {d for d in codes if type(d) is int and codes.count(d) > 1}
    changes = [k for k in range(len(codes)) if current[k] != codes[k]]
    for k in sorted(changes, key=lambda k: (_rank(current[k], codes[k]), k)):
        if codes[k] not in nested:
            step(k, codes[k])
    for k in changes:  # from the outside
        step(k, codes[k])
    return local


def _step(local: Any, spec: Spec, k: int, target: Code) -> Any:
    source, group = spec.codes[k], spec.mesh._groups[k]
    count, place = spec.sizes[k], spec.places[k]
    if count == 1:
        return local
    if source is None:
        if type(target) is int:
            start, length = chunk(local.shape[target], count, place)
            return _cut(local, target, start, start + length)
        # as pending: one process has it, or all of them the same
        return local if target in ("max", "min", "avg") or not place else _neutral(local, str(target))
    if type(source) is str:
        op = OPS[source]
        if type(target) is int:
            return _reduced_part(local, op, target, group)
        _count(local.nbytes * 2 * (count - 1) // count)
        result = on_arrays.all_reduce(local, op, group)
        return result if target is None else _step(result, _with(spec, k, None), k, target)
    whole_length = _length(spec, k, int(source))
    if target is None:
        return _gathered(local, int(source), whole_length, group)
    if type(target) is int:
        return _exchanged(local, int(source), whole_length, target, group)
    start, length = chunk(whole_length, count, place)
    if target in ("max", "min", "product", "avg"):
        return _step(_gathered(local, int(source), whole_length, group), _with(spec, k, None), k, target)
    shape = [*local.shape]
    shape[int(source)] = whole_length
    out = module_of(local).zeros(tuple(shape), local.dtype)
    out[(slice(None),) * int(source) + (slice(start, start + length),)] = local
    return out


def _with(spec: Spec, k: int, code: Code) -> Spec:
    return spec_of(spec.mesh, (*spec.codes[:k], code, *spec.codes[k + 1 :]), spec.shape)


def _count(size: int) -> None:
    moved[0] += size


def _length(spec: Spec, k: int, dim: int) -> int:
    """Return the length of ``dim`` that the shards along mesh dimension ``k`` cover."""
    return spec.lengths([j for j in range(k)])[dim]


def _neutral(local: Any, kind: str) -> Any:
    module = module_of(local)
    return module.zeros(local.shape, local.dtype) if kind == "sum" else module.ones(local.shape, local.dtype)


def _cut(local: Any, dim: int, start: int, stop: int) -> Any:
    return local[(slice(None),) * dim + (slice(start, stop),)].copy()


def _padded(local: Any, dim: int, length: int) -> Any:
    if local.shape[dim] == length:
        return local
    shape = [*local.shape]
    shape[dim] = length
    out = module_of(local).zeros(tuple(shape), local.dtype)
    out[(slice(None),) * dim + (slice(0, local.shape[dim]),)] = local
    return out


def _gathered(local: Any, dim: int, length: int, group: ProcessGroup) -> Any:
    full = chunk(length, group.size(), 0)[1]
    front = np.moveaxis(_padded(local, dim, full), dim, 0)
    rows = on_arrays.all_gather(front, group)
    _count(rows.nbytes * (group.size() - 1) // group.size())
    rows = rows.reshape((group.size() * full, *front.shape[1:]))[:length]
    return np.moveaxis(rows, 0, dim)


def _reduced_part(local: Any, op: Any, dim: int, group: ProcessGroup) -> Any:
    length, count = local.shape[dim], group.size()
    full = chunk(length, count, 0)[1]
    front = np.moveaxis(_padded(local, dim, full * count), dim, 0)
    rows = front.reshape((count, full, *front.shape[1:]))
    part = on_arrays.reduce_scatter(rows, op, group)
    _count(part.nbytes * (count - 1))
    return np.moveaxis(part[: chunk(length, count, group.rank())[1]], 0, dim)


def _exchanged(local: Any, source: int, length: int, target: int, group: ProcessGroup) -> Any:
    """Return shards along ``target``, given shards along ``source``."""
    count, rank = group.size(), group.rank()
    across = local.shape[target]
    pieces = [
        local[(slice(None),) * target + (slice(s, s + n),)] for s, n in (chunk(across, count, j) for j in range(count))
    ]
    mine = chunk(across, count, rank)[1]
    shapes: list[tuple] = []
    for j in range(count):
        shape = [*local.shape]
        shape[target], shape[source] = mine, chunk(length, count, j)[1]
        shapes.append(tuple(shape))
    sent = tuple([piece.size for piece in pieces])
    received = tuple([int(numpy.prod(shape, dtype=numpy.int64)) for shape in shapes])
    module = module_of(local)
    flat = on_arrays.all_to_all(module.concatenate([piece.reshape(-1) for piece in pieces]), received, sent, group)
    _count(flat.nbytes - received[rank] * flat.dtype.itemsize)
    parts, start = [], 0
    for piece_shape, n in zip(shapes, received, strict=True):
        parts.append(flat[start : start + n].reshape(piece_shape))
        start += n
    return module.concatenate(parts, axis=source)
