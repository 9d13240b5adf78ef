"""Kernel keys, or plans: what the kernel of a cluster computes, without its nodes, addresses and sizes.

Clusters with equal plans share a kernel, within a program, between programs, and on disk. Lengths of loops, strides,
and factors are arguments of the kernel, so that arrays of all sizes use the same kernels.
"""

from __future__ import annotations

import struct
from math import prod
from typing import Any

from .ir import EMPTY, FILL, REDUCE, SCALAR, TINY, WRITE, dense, indices
from .llvm_builder import SIZES
from .row_fusion import dims_of, on_dims, result_strides
from .schedule import BLOCK_BYTES, BLOCK_ROWS, Cluster, Schedule

LANES = {1: 32, 4: 32, 8: 16}
WIDE = {"f4": 16, "f8": 8}  # of products
# From so many elements on, over all members, threads share a kernel.
MUCH = 1 << 18
_PASSED = frozenset({"add", "subtract", "multiply", "divide"})  # whose numbers are given, but for a few
_USUAL = frozenset({0, 1, 2, 3, 0.5, -1, -2, -0.5})
_MOST = 8  # numbers that are given
# From so many summands on, single precision is added up in double.
_LONG = 1024
_PIECE = 256  # terms of a large product that are added up one by one


def _exact(number: Any) -> tuple:
    """Return a number as a key: 0.0 differs from -0.0, and 1 from True."""
    return ("s", number, str(number))


def plan_of(schedule: Schedule, cluster: Cluster) -> tuple[tuple, list[Any]]:
    """Return the plan of a cluster, and the arguments of its kernel: its pointers, ``(node, offset in elements)``, then
    its numbers.
    """
    slots: dict[tuple[int, int], int] = {}
    if cluster.kind == "nest":
        kept = [i for i in cluster.members if i in schedule.local]
        names = {i: f"l{k}" for k, i in enumerate(kept)}
        parts, numbers = _without_numbers([_members(schedule, part, slots, names) for part in cluster.parts])
        sizes = tuple([schedule.local[i] for i in kept])
        loops = []
        for part, members in zip(cluster.parts, parts, strict=True):
            plan, more = _loop_plan(members, part.bounds, len(numbers), cluster.rows)
            loops.append(plan)
            numbers += more
        return ("nest", tuple(loops), (len(slots), len(numbers)), sizes), [*slots, *numbers]
    (members,), numbers = _without_numbers([_members(schedule, cluster, slots, {})])
    if cluster.kind == "tiny":
        return ("tiny", tuple(members), (len(slots), len(numbers))), [*slots, *numbers]
    plan, more = _loop_plan(members, cluster.bounds, len(numbers))
    numbers += more
    return ("loop", plan, (len(slots), len(numbers))), [*slots, *numbers]


def _members(
    schedule: Schedule, cluster: Cluster, slots: dict[tuple[int, int], int], names: dict[int, str]
) -> list[tuple]:
    """Return ``(op, type, shape, reads, store, attr)`` of each member.

    A slot is the number of a pointer, or the name of a buffer on the stack.
    """
    nodes = schedule.nodes
    local = {i: k for k, i in enumerate(cluster.members)}
    tiny = cluster.kind == "tiny"

    def slot(node: int, offset: int) -> Any:
        if node in names:
            return names[node]  # which is read from its beginning
        return slots.setdefault((node, offset), len(slots))

    def read(access: tuple) -> tuple:
        if access[0] == SCALAR:
            return _exact(access[1])
        i, offset, strides = access
        node = nodes[i]
        code = node.dtype.str[1:]
        in_memory = node.op == WRITE and prod(node.shape) > TINY
        if i in local and not in_memory:
            return ("r", local[i], offset, strides) if tiny else ("r", local[i])
        if tiny and prod(node.shape) <= TINY:
            return ("w", slot(i, 0), prod(node.shape), offset, strides, code)
        return ("m", slot(i, offset), strides, code)

    members: list[tuple] = []
    for i in cluster.members:
        node = nodes[i]
        attr, operands = node.attr, node.operands
        store: Any = None
        if node.op == WRITE:
            at, region, ways = attr
            if prod(node.shape) > TINY:
                store, attr = (slot(i, at), tuple(ways)), (region,)
                operands = operands[1:]
            else:
                base = operands[0][0]
                below = nodes[base]
                first = (
                    ("r", local[base], 0, dense(below.shape))
                    if base in local
                    else _exact(below.attr or 0)
                    if below.op in (FILL, EMPTY)
                    else read((base, 0, dense(below.shape)))
                )
                store = (slot(i, 0), dense(node.shape)) if i in schedule.needed else None
                members.append(
                    (
                        WRITE,
                        node.dtype.str[1:],
                        node.shape,
                        (first, read(operands[1])),
                        store,
                        (at, region, tuple(ways)),
                    )
                )
                continue
        elif i in schedule.needed or node.op == REDUCE and not tiny:
            store = (slot(i, 0), None if node.op == REDUCE else dense(node.shape))
        reads = tuple([read(access) for access in operands])
        shown = _exact(attr) if node.op == FILL else attr
        members.append((node.op, node.dtype.str[1:], node.shape, reads, store, shown))
    return members


def _without_numbers(parts: list[list[tuple]]) -> tuple[list[list[tuple]], list[int]]:
    """Return the members with their constants as arguments, and these, as bits; a few usual ones remain constants."""
    found: dict[tuple, int] = {}
    changed: list[list[tuple]] = []
    for members in parts:
        changed.append([])
        for op, code, shape, reads, store, attr in members:
            if op in _PASSED and code in ("f4", "f8"):
                reads = tuple(
                    [
                        ("n", found.setdefault(r, len(found)), code) if r[0] == "s" and r[1] not in _USUAL else r
                        for r in reads
                    ]
                )
            changed[-1].append((op, code, shape, reads, store, attr))
    if len(found) > _MOST:
        return parts, []
    return changed, [struct.unpack("<q", struct.pack("<d", number))[0] for _, number, _ in found]


def _loop_plan(members: list[tuple], bounds: Any, first: int, rows: int = 1) -> tuple[tuple, list[int]]:
    """Return the plan of a loop over as few dims as its accesses allow, and its numbers, which follow ``first`` others:
    strides, lengths, and last the number of iterations of the outermost loop. The loops over ``rows`` belong to a nest,
    and remain.
    """
    dims = dims_of(bounds) or [1]
    lead = next(k for k in range(len(dims) + 1) if prod(dims[:k]) == rows)
    if lead == len(dims):
        dims.append(1)
    strides: list[list[int]] = []
    codes = [code for _, code, *_ in members]

    def access(slot: Any, code: str, space: tuple, ways: tuple) -> tuple:
        codes.append(code)
        strides.append(on_dims(dims, space, ways))
        return "m", slot, code, strides[-1]

    found = []
    for op, code, shape, reads, store, attr in members:
        space = attr[1] if op == REDUCE else attr[0] if op == WRITE else shape
        inputs = [access(r[1], r[3], space, r[2]) if r[0] == "m" else r for r in reads]
        target = None
        if store is not None:
            target = access(store[0], code, space, result_strides(attr) if op == REDUCE else store[1])
        found.append((op, code, inputs, target, attr[0] if op == REDUCE else attr if op == FILL else None))
    _collapse(dims, strides, lead)
    *outer, count = dims
    width = min(count, LANES[max(SIZES[code] for code in codes)])
    chunks = -(-count // width)
    # Steps along the outer dimensions, and their position among the numbers.
    ways: dict[tuple, int] = {}

    def placed(r: Any) -> Any:
        if r is None or r[0] != "m":
            return r
        *steps, last = r[3]
        at = first + len(outer) * ways.setdefault(tuple(steps), len(ways))
        return (*r[:3], tuple([at + d if s else -1 for d, s in enumerate(steps)]), last)

    plan = tuple(
        [
            (op, code, tuple([placed(r) for r in inputs]), placed(target), attr)
            for op, code, inputs, target, attr in found
        ]
    )
    numbers = [step for steps in ways for step in steps]
    facts = (width, count % width != 0, count > _LONG, prod(dims) * len(members) >= MUCH)
    shape = (lead if rows > 1 else 0, len(outer), 0 if chunks > 1 else count)
    lengths = [*outer, *([count, chunks] if chunks > 1 else []), *outer[:1]]
    return (plan, first + len(numbers), shape, facts), [*numbers, *lengths]


def _collapse(dims: list[int], strides: list[list[int]], lead: int) -> None:
    """Merge neighbouring dims that every access traverses as one; the first ``lead`` remain."""
    d = lead
    while d + 1 < len(dims):
        if all(s[d] == s[d + 1] * dims[d + 1] for s in strides):
            for s in strides:
                del s[d]
            dims[d : d + 2] = [dims[d] * dims[d + 1]]
        else:
            d += 1


def product_plan(schedule: Schedule, i: int) -> tuple[tuple, list[list[Any]]]:
    """Return the plan of one product of a batch, and the arguments of its kernel for each: pointers to factors and
    result; then the number of rows, in fours and in all, and the other sizes.
    """
    node = schedule.nodes[i]
    batch, m, k, n, how = node.attr
    a, b = node.operands
    code = node.dtype.str[1:]
    (down, along), across = a[2][-2:], b[2][-2]
    numbers = [m // 4 * 4, m]
    left = (min(m // 4, 1), m % 4)
    if how == "blocks":
        wide, full = BLOCK_BYTES // SIZES[code], m // BLOCK_ROWS * BLOCK_ROWS
        pieces = -(-k // _PIECE)
        plan: tuple = ("product", (code, how, (1, m - full), b[2][-1] == 1, m * k * n >= 16 * MUCH))
        numbers = [full, m, k, n, down, along, across, b[2][-1], pieces, -(-k // pieces), n - wide, -(-n // wide)]
    elif how == "dots":
        plan = ("product", (code, how, left, k, a[2][-2:], across))
    else:
        wide = WIDE[code]
        plan = ("product", (code, how, left, (min(n // (2 * wide), 1), n // wide % 2, n % wide), along == 1))
        numbers += [k, n, n // (2 * wide) * 2 * wide, n // wide * wide, down, across, along]
    starts = [indices(x[1], x[2][:-2], batch) for x in (a, b)]
    return plan, [
        [(a[0], first), (b[0], second), (i, q * m * n), *numbers]
        for q, (first, second) in enumerate(zip(*starts, strict=True))
    ]
