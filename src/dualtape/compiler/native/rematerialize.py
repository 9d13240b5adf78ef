"""Rematerialization: cheap values are computed again in each loop that reads them, rather than stored in between.

A large array that one loop writes and later ones read costs time twice, and memory in between. If it is computed from
others by a few cheap steps, each loop that reads it takes those steps itself: a training step then stores about as much
as its backward needs. Nothing is rounded differently.
"""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING

from .ir import CAST, COPY, FILL, SCALAR, SELECT, TOUCHED, WRITE, Node, dense, is_whole

if TYPE_CHECKING:
    from .schedule import Schedule

_CHEAP = frozenset(
    {
        "add",
        "subtract",
        "multiply",
        "divide",
        "negative",
        "absolute",
        "maximum",
        "minimum",
        "sqrt",
        "square",
        "reciprocal",
        "greater",
        "greater_equal",
        "less",
        "less_equal",
        "equal",
        "not_equal",
        "logical_and",
        "logical_or",
        "logical_not",
        "isnan",
        "sign",
        SELECT,
        CAST,
        COPY,
        FILL,
    }
)
_LARGE = 1 << 16  # bytes of arrays from which on memory is what takes the time
_STEPS = 12  # that are taken again for one array
# An array that is so many times smaller does not count when it is read instead of one that is stored.
_SMALLER = 8
# So many arrays may be read in place of one that is then neither written nor read.
_READS = 2
_FOREVER = 1 << 60


class Recompute:
    """One pass over a schedule whose clusters are known, and whose memory is not yet."""

    def __init__(self, schedule: Schedule) -> None:
        self.schedule, self.nodes, self.place = schedule, schedule.nodes, schedule.place
        self._outside = {n for n, *_ in schedule.outputs} | {n for _, n, _ in schedule.back}
        self._written = {node.operands[0][0] for node in self.nodes if node.op in (WRITE, TOUCHED)}
        self._last = [
            _FOREVER
            if place < 0 or i in self._outside
            else max([self.place[r] for r in schedule.readers.get(i, ())], default=-1)
            for i, place in enumerate(self.place)
        ]
        self._stored: set[int] = set()
        self._free = [self._is_free(i) for i in range(len(self.nodes))]

    def run(self) -> bool:
        """Change the schedule; return whether there was anything to change."""
        if not any(self._free):
            return False
        for c in range(len(self.schedule.clusters)):  # what some loop cannot compute is there for all of them
            for _, v in self._reads(c):
                if self._steps(v, c) is None:
                    self._stored.add(v)
        changed = False
        for c in range(len(self.schedule.clusters)):
            changed |= self._changed(c)
        if changed:
            self._drop_dead()
        return changed

    # --- what may be computed again ---------------------------------------------------------------

    def _in_loop(self, i: int) -> bool:
        return self.place[i] >= 0 and self.schedule.clusters[self.place[i]].kind == "loop"

    def _bytes(self, i: int) -> int:
        return prod(self.nodes[i].shape) * self.nodes[i].dtype.itemsize

    def _is_free(self, i: int) -> bool:
        """Return whether a node is large and cheap, and read by loops only, element by element."""
        node = self.nodes[i]
        if node.op not in _CHEAP or not self._in_loop(i) or self._bytes(i) < _LARGE:
            return False
        if i in self._outside or i in self._written:
            return False
        for r in self.schedule.readers.get(i, ()):
            if self.place[r] == self.place[i]:
                continue
            reader = self.nodes[r]
            if not self._in_loop(r) or any(
                o[0] == i and (o[2] is None or not is_whole(o, reader.space, node)) for o in reader.operands
            ):
                return False
        return True

    def _reads(self, c: int) -> list[tuple[int, int]]:
        """Return members of a loop, and their operands from other loops that might be computed again."""
        cluster = self.schedule.clusters[c]
        if cluster.kind != "loop":
            return []
        return [
            (r, o[0])
            for r in cluster.members
            for o in self.nodes[r].operands
            if o[0] != SCALAR and self.place[o[0]] != c and self._free[o[0]] and o[0] not in self._stored
        ]

    def _steps(self, v: int, c: int) -> list[int] | None:
        """Return the nodes to compute again, in order, so that ``v`` is available in cluster ``c``; None if there are
        too many.
        """
        steps: dict[int, None] = {}
        leaves: set[int] = set()
        least = max(_LARGE, self._bytes(v) // _SMALLER)

        def visit(i: int) -> bool:
            for o in self.nodes[i].operands:
                if o[0] == SCALAR or o[0] in steps:
                    continue
                if self._free[o[0]] and o[0] not in self._stored:
                    if not visit(o[0]):
                        return False
                elif o[0] in self._written or self.nodes[o[0]].op in (WRITE, TOUCHED):
                    return False  # by then something else may stand there
                elif self._bytes(o[0]) >= least:
                    leaves.add(o[0])
            steps[i] = None
            return len(steps) <= _STEPS

        if not visit(v):
            return None
        there = {o[0] for r in self.schedule.clusters[c].members for o in self.nodes[r].operands} - {v}
        if len(leaves - there) > _READS:
            return None
        kept = sum([self._bytes(leaf) for leaf in leaves if self._last[leaf] < c])
        return list(steps) if kept <= self._bytes(v) else None

    # --- changing ---------------------------------------------------------------------------------

    def _changed(self, c: int) -> bool:
        from .schedule import LOOP_NODES, refined

        schedule, cluster = self.schedule, self.schedule.clusters[c]
        copies: dict[int, int] = {}
        members: list[int] = []
        wanted = {v for _, v in self._reads(c)}
        for r in cluster.members:
            for o in self.nodes[r].operands:
                if o[0] == SCALAR or o[0] not in wanted or o[0] in copies:
                    continue
                steps = self._steps(o[0], c)
                if steps is None or len(cluster.members) + len(members) > LOOP_NODES:
                    continue
                bounds = cluster.bounds
                for i in steps:
                    bounds = None if bounds is None else refined(bounds, self.nodes[i].space)
                if bounds is None:
                    continue
                cluster.bounds = bounds
                for i in steps:
                    if i not in copies:
                        copies[i] = len(self.nodes)
                        members.append(copies[i])
                        self.nodes.append(_moved(self.nodes[i], copies))
                        self.place.append(c)
                        schedule.tiny.append(False)
                        self._free.append(True)
                        self._last.append(c)
            if copies:
                self.nodes[r] = _moved(self.nodes[r], copies)
            members.append(r)
        cluster.members = members
        return bool(copies)

    def _drop_dead(self) -> None:
        """Remove nodes that nothing reads any more, and clusters that become empty."""
        schedule, nodes = self.schedule, self.nodes
        readers: dict[int, list[int]] = {}
        for i, node in enumerate(nodes):
            for access in node.operands:
                if access[0] != SCALAR:
                    readers.setdefault(access[0], []).append(i)
        for cluster in reversed(schedule.clusters):
            if cluster.kind != "loop":
                continue
            for i in reversed(cluster.members):
                if nodes[i].op in _CHEAP and i not in self._outside and not readers.get(i):
                    for access in nodes[i].operands:
                        if access[0] != SCALAR:
                            readers[access[0]].remove(i)
                    nodes[i], self.place[i] = Node(FILL, nodes[i].dtype, (0,)), -1
            cluster.members = [i for i in cluster.members if self.place[i] >= 0]
        left = [c for c, cluster in enumerate(schedule.clusters) if cluster.members]
        numbers = {-1: -1} | {c: k for k, c in enumerate(left)}
        schedule.clusters = [schedule.clusters[c] for c in left]
        schedule.place = [numbers[c] for c in self.place]
        schedule.readers = readers


def _moved(node: Node, copies: dict[int, int]) -> Node:
    """Return a node that reads copies in place of their originals."""
    operands = tuple([(copies[o[0]], 0, dense(node.space)) if o[0] in copies else o for o in node.operands])
    return Node(node.op, node.dtype, node.shape, operands, node.attr)
