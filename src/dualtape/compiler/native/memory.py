"""Memory planning: which nodes of a scheduled program are stored, and at which offset of its arena.

An array occupies its range from the cluster that computes it to the last that reads it; later arrays reuse ranges that
are free by then. An array whose last reader is a loop may be overwritten by a result of that loop, if the loop reads
each element before it writes there: such a loop works in place.
"""

from __future__ import annotations

import heapq
from collections import Counter
from math import prod
from typing import TYPE_CHECKING, Any

from . import row_fusion
from .ir import CALL, CHECK, CONST, EMPTY, FILL, GIVEN, INPUT, REDUCE, SCALAR, TINY, TOUCHED, WRITE, is_whole

if TYPE_CHECKING:
    from .schedule import Cluster, Schedule

FOREVER = 1 << 60
_ALIGN = 64
_VECTOR = 32  # elements: no loop's vectors are longer
_IN_PLACE = 4096  # bytes of arrays from which on a place pays


def allocate(schedule: Schedule) -> None:
    """Decide which nodes are stored, which are on the stack, and their offsets in the arena."""
    nodes, place, part, readers = schedule.nodes, schedule.place, schedule.part, schedule.readers
    root: list[int] = []
    for i, node in enumerate(nodes):
        in_place = node.op == TOUCHED or node.op == WRITE and prod(node.shape) > TINY
        root.append(root[node.operands[0][0]] if in_place else i)
    outside = {n for n, *_ in schedule.outputs} | {n for _, n, _ in schedule.back}
    needed: set[int] = set()
    first: dict[int, int] = {}
    last: dict[int, int] = {}
    for i, node in enumerate(nodes):
        r, c = root[i], place[i]
        first[r] = min(first.get(r, FOREVER), c if c >= 0 else FOREVER)
        last[r] = max(last.get(r, -1), c)
        kept = c < 0 or node.op == GIVEN or node.op in (REDUCE, WRITE, TOUCHED) and not schedule.tiny[i]
        for j in readers.get(i, ()):
            last[r] = max(last[r], place[j])
            if kept or part[j] != part[i]:
                needed.add(i)
        if i in outside or node.op == GIVEN:
            needed.add(i)
        if i in outside:
            last[r] = FOREVER
    roots = {root[i] for i in needed}
    roots |= {r for i, r in enumerate(root) if r != i}
    roots |= {i for i, node in enumerate(nodes) if node.op == REDUCE and not schedule.tiny[i]}
    shared = Counter(root)
    needed |= {r for r in roots if nodes[r].op in (EMPTY, FILL) or shared[r] > 1}
    schedule.root, schedule.needed, schedule.local = root, needed, {}
    for cluster in schedule.clusters:
        if cluster.kind == "nest":
            schedule.local |= row_fusion.local_rows(schedule, cluster, outside, readers)
    elsewhere = {root[n] for n, *_ in schedule.outputs} | schedule.local.keys()
    spans: dict[int, tuple[int, int]] = {}
    for r in roots - elsewhere:
        node = nodes[r]
        if node.op not in (INPUT, CONST, CALL, CHECK):
            start = first[r] if first[r] != FOREVER else 0
            spans[r] = (start if node.op != EMPTY else min(start, last[r]), last[r])
    _place(schedule, spans, _inherited(schedule, spans))


def _place(schedule: Schedule, spans: dict[int, tuple[int, int]], inherited: dict[int, int]) -> None:
    """Return the offsets of roots by their lifetimes; some take the offset of another root that ends where they
    begin.
    """
    address: dict[int, int] = {}
    free: dict[int, list[int]] = {}
    ending: list[tuple[int, int, int]] = []
    given = set(inherited.values())
    top = 0
    for start, end, r in sorted([(*span, r) for r, span in spans.items()]):
        while ending and ending[0][0] < start:
            _, size, at = heapq.heappop(ending)
            free.setdefault(size, []).append(at)
        size = -(-_bytes(schedule.nodes[r]) // _ALIGN) * _ALIGN or _ALIGN
        if r in inherited:
            at = address[inherited[r]]
        elif free.get(size):
            at = free[size].pop()
        else:
            at, top = top, top + size
        address[r] = at
        if r not in given:
            heapq.heappush(ending, (end, size, at))
    schedule.address, schedule.bytes = address, top


def _bytes(node: Any) -> int:
    return prod(node.shape) * node.dtype.itemsize


def _inherited(schedule: Schedule, spans: dict[int, tuple[int, int]]) -> dict[int, int]:
    """Return the roots that are computed in place of another, whose last reader is the loop that computes them."""
    dying: dict[int, list[int]] = {}
    for q, (_, end) in spans.items():
        if _bytes(schedule.nodes[q]) >= _IN_PLACE:
            dying.setdefault(end, []).append(q)
    found: dict[int, int] = {}
    for c, cluster in enumerate(schedule.clusters):
        if cluster.kind not in ("loop", "nest") or c not in dying:
            continue
        parts = cluster.parts if cluster.kind == "nest" else [cluster]
        reads = _reads(schedule, parts)
        for k, part in enumerate(parts):
            if min(part.bounds, default=1) % _VECTOR:
                continue  # the last vector of a row would read what was written
            for position, r in enumerate(part.members):
                node = schedule.nodes[r]
                if r not in spans or node.op == REDUCE:  # which fills its results before it reads anything
                    continue
                for q in sorted(dying[c]):
                    other = schedule.nodes[q]
                    if (
                        spans[q][0] < c
                        and _bytes(other) == _bytes(node)
                        and _read_before(schedule, reads.get(q, []), k, position, node.space)
                    ):
                        found[r] = q
                        dying[c].remove(q)
                        break
    return found


def _reads(schedule: Schedule, parts: list[Cluster]) -> dict[int, list[tuple]]:
    """Return, for each root that loops read or write, the part, the position in it, the access and the space; None if
    nothing is read.
    """
    found: dict[int, list[tuple]] = {}
    for k, part in enumerate(parts):
        for position, i in enumerate(part.members):
            node = schedule.nodes[i]
            for access in node.operands:
                if access[0] == SCALAR:
                    continue
                in_register = schedule.part[access[0]] == schedule.part[i] and schedule.root[access[0]] == access[0]
                if not in_register:
                    found.setdefault(schedule.root[access[0]], []).append((k, position, access, node.space))
            if schedule.root[i] != i:
                found.setdefault(schedule.root[i], []).append((k, position, None, node.space))
    return found


def _read_before(schedule: Schedule, reads: list[tuple], part: int, position: int, space: tuple) -> bool:
    """Return whether loops only read an array element by element, and not after the given position."""
    for k, _, access, over in reads:
        if access is None or k > part or prod(over) != prod(space):
            return False
        if not is_whole(access, over, schedule.nodes[access[0]]):
            return False
    mine = [p for k, p, _, _ in reads if k == part]
    return bool(reads) and (not mine or min(mine) <= position)  # an element is read once, when it is first asked for
