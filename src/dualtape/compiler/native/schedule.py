"""Scheduling: which nodes are computed together, in which order, and where their memory is.

Nodes over the same iteration space become one loop; small ones, whose arrays fit into registers, become code without
loops. A long sequence of nodes is cut where it repeats itself, so that its segments are equal and share their kernels.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np

from . import memory, row_fusion
from .ir import (
    CALL,
    CHECK,
    CONST,
    COPY,
    EMPTY,
    FILL,
    GIVEN,
    INPUT,
    MATMUL,
    REDUCE,
    SCALAR,
    SPECIAL,
    TINY,
    TOUCHED,
    WRITE,
    Node,
    dense,
    is_whole,
)
from .partial_reductions import split
from .rematerialize import Recompute
from .simplify import Cleaned

TINY_NODES = 160  # of one straight piece of code
LOOP_NODES = 400  # of one loop
OWN_PRODUCT = 48**3  # multiplications up to which a product is ours, not BLAS's
# Blocks of products: the most terms, the rows, and the bytes side by side.
BLOCK_DEPTH, BLOCK_ROWS, BLOCK_BYTES = 1024, 8, 128
_REPEATED = 16384  # elements up to which nodes are looked at for repetition
NATIVE_KINDS = "fib"
IN_PLACE = (WRITE, TOUCHED)


class Cluster:
    """Nodes that are computed by one kernel: ``tiny``, ``loop``, ``product``, ``nest`` (of loops, its parts), or
    without a kernel: ``call``, ``check``, ``bytes``.
    """

    __slots__ = ("kind", "members", "bounds", "count", "parts", "rows")
    parts: list[Cluster]
    rows: int

    def __init__(self, kind: str, bounds: Any = None, count: int = 0) -> None:
        self.kind, self.bounds, self.count = kind, bounds, count
        self.members: list[int] = []


class Schedule:
    """A program in clusters.

    Attributes
    ----------
    nodes : list of Node
    clusters : list of Cluster
    root : list of int
        The node whose memory each node's is: a write's is that of what it writes to.
    part : list of int
        The loop that each node is in, or its other cluster: where it is in a register.
    needed : set of int
        Nodes whose values are read from memory.
    local : dict
        Nodes of which a nest keeps a row on the stack, and its bytes.
    address : dict
        Of a root: where in the arena. Inputs, and roots that are outputs, lie outside of it.
    bytes : int
        The size of the arena.
    """

    root: list[int]
    needed: set[int]
    local: dict[int, int]
    address: dict[int, int]
    bytes: int

    def __init__(self, cleaned: Cleaned) -> None:
        self.nodes: list[Node] = []
        self._prepare(cleaned)
        self.readers = self._read_by()
        self.tiny = [self._is_tiny(node) for node in self.nodes]
        self.clusters: list[Cluster] = []
        self.place: list[int] = []
        self._cluster()
        Recompute(self).run()
        split(self)
        self._nest()
        memory.allocate(self)

    # --- writes in place, products as they can be computed ----------------------------------------

    def _prepare(self, cleaned: Cleaned) -> None:
        readers: dict[int, list[int]] = {}
        for i, node in enumerate(cleaned.nodes):
            for access in node.operands:
                if access[0] != SCALAR:
                    readers.setdefault(access[0], []).append(i)
        lasting = {access[0] for access, *_ in cleaned.outputs} | {access[0] for _, access, *_ in cleaned.back}
        number: list[int] = []
        copies: dict[tuple, int] = {}

        def put(op: str, dtype: np.dtype, shape: tuple, operands: tuple = (), attr: Any = None) -> int:
            self.nodes.append(Node(op, dtype, shape, operands, attr))
            return len(self.nodes) - 1

        def copied(access: tuple, dtype: np.dtype, shape: tuple) -> tuple:
            key = (access, shape)
            if key not in copies:
                copies[key] = put(COPY, dtype, shape, (access,))
            return copies[key], 0, dense(shape)

        def own(i: int, base: int, allowed: Sequence[int]) -> int | None:
            """A copy of what node ``i`` writes over; None if nothing else needs that."""
            before = cleaned.nodes[base]
            if before.op in (FILL, EMPTY):
                return put(before.op, before.dtype, before.shape, (), before.attr)
            used = any(k > i and k not in allowed for k in readers[base])
            if used or base in lasting or before.op in (INPUT, CONST):
                return put(COPY, before.dtype, before.shape, ((number[base], 0, dense(before.shape)),))
            return None

        instead: dict[tuple[int, int], int] = {}
        for i, node in enumerate(cleaned.nodes):
            operands = tuple([o if o[0] == SCALAR else (number[o[0]], *o[1:]) for o in node.operands])
            attr = node.attr
            if node.op == WRITE and prod(node.shape) > TINY:
                mine = operands[0]
                fresh = own(i, node.operands[0][0], ())
                if fresh is not None:
                    operands = ((fresh, 0, None), *operands[1:])
                elif operands[1][0] == mine[0]:  # it reads where it writes
                    operands = (mine, copied(operands[1], node.dtype, attr[1]))
            elif node.op == CALL:  # what it writes to
                for base in attr[3]:
                    after = [
                        k
                        for k in readers[base]
                        if cleaned.nodes[k].op == TOUCHED and cleaned.nodes[k].operands[1][0] == i
                    ]
                    fresh = own(i, base, after)
                    if fresh is not None:
                        instead[i, base] = fresh
                        operands = tuple([(fresh, 0, None) if o[0] == number[base] else o for o in operands])
            elif node.op == TOUCHED:
                base, call = node.operands[0][0], node.operands[1][0]
                operands = ((instead.get((call, base), number[base]), 0, None), operands[1])
            if node.op == MATMUL:
                operands, attr = _product(node, operands, copied)
            number.append(put(node.op, node.dtype, node.shape, operands, attr))
        self.outputs = []
        for access, shape, dtype, order in cleaned.outputs:
            self.outputs.append((self._whole_output(access, shape, dtype, number, put), shape, dtype, order))
        self.back = [
            (k, self._whole_output(access, shape, dtype, number, put), shape)
            for k, access, shape, dtype in cleaned.back
        ]

    def _whole_output(self, access: tuple, shape: tuple, dtype: Any, number: list[int], put: Any) -> int:
        """Return a node that is exactly an output, in the order of the output."""
        if access[0] == SCALAR:
            return put(FILL, dtype, shape, (), access[1])
        access = (number[access[0]], *access[1:])
        node = self.nodes[access[0]]
        taken = {n for n, *_ in self.outputs}
        if is_whole(access, shape, node) and node.op not in (INPUT, CONST) and access[0] not in taken:
            return access[0]
        return put(COPY, dtype, shape, (access,))

    # --- clusters ---------------------------------------------------------------------------------

    def _is_tiny(self, node: Node) -> bool:
        if node.dtype.kind not in NATIVE_KINDS or node.dtype.itemsize == 2:
            return False
        size = prod(node.shape)
        if node.op not in SPECIAL or node.op == FILL:
            return 0 < size <= TINY
        if node.op == REDUCE:
            return 0 < size <= TINY and 0 < prod(node.attr[1]) <= TINY
        if node.op == WRITE:
            return prod(node.attr[1]) <= TINY
        if node.op == MATMUL:
            batch, m, k, n, how = node.attr
            return how == "tiny"
        return False

    def _cuts(self) -> set[int]:
        stream = [
            i
            for i, node in enumerate(self.nodes)
            if node.op not in (INPUT, CONST) and (self.tiny[i] or prod(node.shape) <= _REPEATED)
        ]
        if len(stream) <= TINY_NODES:
            return set()
        keys = []
        for i in stream:
            node = self.nodes[i]
            reads = tuple(
                [
                    o if o[0] == SCALAR else o[1:] if prod(self.nodes[o[0]].shape) <= TINY else o[2]
                    for o in node.operands
                ]
            )
            attr = None if node.op in (WRITE, CALL) or isinstance(node.attr, np.ndarray) else str(node.attr)
            keys.append((node.op, node.dtype.char, node.shape, reads, attr))
        return {stream[c] for c in repetitions(keys, TINY_NODES) if c < len(stream)}

    def _cluster(self) -> None:
        cuts = self._cuts()
        self.cuts = len(cuts)
        open_loops: dict[int, list[int]] = {}
        straight: int | None = None
        for i, node in enumerate(self.nodes):
            op = node.op
            if op in (INPUT, CONST) or op == EMPTY:
                self.place.append(-1)
                continue
            if op == GIVEN or op == TOUCHED:  # they come with their call
                self.place.append(max(self.place[o[0]] for o in node.operands))
                continue
            if i in cuts:
                open_loops.clear()
            if self.tiny[i]:
                low = self._earliest(i, node, "tiny")
                full = straight is not None and len(self.clusters[straight].members) >= 2 * TINY_NODES
                if straight is None or straight < low or full or i in cuts:
                    straight = self._new(Cluster("tiny"))
                self._join(i, straight)
            elif op in (CALL, CHECK, MATMUL):
                kind = "product" if op == MATMUL else op
                self._join(i, self._new(Cluster(kind)))
            elif node.dtype.kind not in NATIVE_KINDS or node.dtype.itemsize == 2:
                self._join(i, self._new(Cluster("bytes")))
            else:
                count = prod(node.space)
                low = self._earliest(i, node, "loop")
                chosen = None
                for c in open_loops.get(count, ())[-12:]:
                    cluster = self.clusters[c]
                    if c >= low and len(cluster.members) < LOOP_NODES:
                        finer = refined(cluster.bounds, node.space)
                        if finer is not None:
                            cluster.bounds, chosen = finer, c
                            break
                if chosen is None:
                    chosen = self._new(Cluster("loop", refined(set(), node.space), count))
                    open_loops.setdefault(count, []).append(chosen)
                self._join(i, chosen)

    def _new(self, cluster: Cluster) -> int:
        self.clusters.append(cluster)
        return len(self.clusters) - 1

    def _join(self, i: int, c: int) -> None:
        self.clusters[c].members.append(i)
        self.place.append(c)

    def _earliest(self, i: int, node: Node, kind: str) -> int:
        """Return the first cluster that a node may be in: where its operands are in a register, or after they were
        stored.
        """
        low = 0
        for access in node.operands:
            if access[0] == SCALAR:
                continue
            c = self.place[access[0]]
            if c < 0:
                continue
            maker = self.nodes[access[0]]
            if kind == "tiny":
                inside = self.clusters[c].kind == "tiny" and maker.op not in (GIVEN, TOUCHED)
            else:
                inside = (
                    self.clusters[c].kind == "loop"
                    and self.clusters[c].count == prod(node.space)
                    and maker.op not in (*IN_PLACE, REDUCE, GIVEN)
                    and access[2] is not None
                    and is_whole(access, node.space, maker)
                )
            low = max(low, c if inside else c + 1)
        if node.op == WRITE and prod(node.shape) > TINY:  # in place: after all that read what was there
            for r in self.readers[node.operands[0][0]]:
                if r < i:
                    c = self.place[r]
                    low = max(low, c if kind == "tiny" and self.clusters[c].kind == "tiny" else c + 1)
        return low

    def _read_by(self) -> dict[int, list[int]]:
        readers: dict[int, list[int]] = {}
        for i, node in enumerate(self.nodes):
            for access in node.operands:
                if access[0] != SCALAR:
                    readers.setdefault(access[0], []).append(i)
        return readers

    def _nest(self) -> None:
        """Fuse loops over the same rows, where that pays."""
        self.part = self.place
        number = {id(cluster): k for k, cluster in enumerate(self.clusters)}
        place: dict[int, int] = {-1: -1}
        clusters: list[Cluster] = []
        for parts, rows, lead in row_fusion.collect(self, self.clusters):
            place.update({number[id(part)]: len(clusters) for part in parts})
            if not rows:
                clusters.extend(parts)
                continue
            nest = Cluster("nest")
            nest.parts, nest.rows = parts, rows
            for part in parts:
                row = part.count // rows
                part.bounds = (part.bounds | {row * block for block in lead} | {row}) - {1}
                nest.members.extend(part.members)
            clusters.append(nest)
        self.clusters, self.place = clusters, [place[c] for c in self.part]


def _product(node: Node, operands: tuple, copied: Any) -> tuple[tuple, tuple]:
    """Return a product's operands in layouts that its kernel takes, and which kernel that is."""
    batch, m, k, n = node.attr
    a, b = operands
    small = prod(batch) * max(m * n, m * k, k * n) <= TINY
    if small:
        return operands, (*node.attr, "tiny")
    if m * k * n <= OWN_PRODUCT:
        if n == 1 and m > 1:
            if a[2][-2] == 1 and a[2][-1] != 1:  # the columns lie side by side: a row times them
                turn = lambda x: (x[0], x[1], (*x[2][:-2], x[2][-1], x[2][-2]))
                return (turn(b), turn(a)), (batch, 1, k, m, "rows")
            return operands, (*node.attr, "dots")
        if not (b[2][-1] == 1 or n == 1):
            b = copied(b, node.dtype, (*batch, k, n))
        return (a, b), (*node.attr, "rows")
    if takes_blocks() and k <= BLOCK_DEPTH and m >= BLOCK_ROWS and n >= BLOCK_BYTES // node.dtype.itemsize:
        return operands, (*node.attr, "blocks")
    fit = lambda x, rows, columns: (
        x if _for_blas(x[2], rows, columns) else copied(x, node.dtype, (*batch, rows, columns))
    )
    return (fit(a, m, k), fit(b, k, n)), (*node.attr, "blas")


@functools.cache
def takes_blocks() -> bool:
    """Return whether large products use our kernels too: on processors with vectors that the BLAS in NumPy's and
    SciPy's wheels does not use.
    """
    import llvmlite.binding as llvm

    return llvm.get_host_cpu_name() in ("znver4", "znver5") and bool(llvm.get_host_cpu_features().get("avx512f"))


def _for_blas(strides: tuple, rows: int, columns: int) -> bool:
    by_row, by_column = strides[-2:]
    return (by_column == 1 and (by_row >= columns or rows == 1)) or (
        by_row == 1 and (by_column >= rows or columns == 1)
    )


def refined(bounds: set[int], shape: tuple) -> set[int] | None:
    """Return the sizes of the inner blocks common to all shapes of a loop, None if they do not nest."""
    step, mine = 1, set()
    for n in reversed(shape):
        step *= n
        mine.add(step)
    mine.discard(1)
    both = sorted(bounds | mine)
    if any(b % a for a, b in zip(both, both[1:], strict=False)):
        return None
    return set(both)


def repetitions(keys: list, limit: int, smallest: int = 48) -> list[int]:
    """Return where to cut a sequence so that its segments repeat: periods of ``smallest`` or more, segments of up to
    ``limit``.
    """
    length = len(keys)
    if length < 2 * smallest:
        return []
    numbers: dict[Any, int] = {}
    stream = np.array([numbers.setdefault(key, len(numbers)) for key in keys], np.int64)
    window = np.zeros(length, np.uint64)  # a hash of the next few
    with np.errstate(over="ignore"):
        for g in range(8):
            factor = np.uint64(0x9E3779B97F4A7C15 * (2 * g + 1) % (1 << 64))
            window[: length - g] += (stream[g:].astype(np.uint64) + np.uint64(17)) * factor
    following = [-1] * length
    seen: dict[int, int] = {}
    hashes = window.tolist()
    for i in range(length - 1, -1, -1):
        following[i] = seen.get(hashes[i], -1)
        seen[hashes[i]] = i
    cuts: list[int] = []
    i = 0
    while i < length:
        j, tries, found = following[i], 0, False
        while j != -1 and j - i <= 4000 and tries < 40 and not found:
            period = j - i
            same = stream[i : length - period] == stream[i + period :]
            stop = len(same) if same.all() else int(np.argmin(same))
            if stop >= period and (stop >= 2 * smallest or period >= smallest):
                block = period * max(1, -(-smallest // period))
                pieces = max(1, -(-block // limit))
                at = i
                while at + block <= i + stop + period:
                    cuts.extend([at + q * block // pieces for q in range(pieces)])
                    at += block
                cuts.append(at)
                i, found = at, True
            j, tries = following[j], tries + 1
        if not found:
            i += 1
    return cuts
