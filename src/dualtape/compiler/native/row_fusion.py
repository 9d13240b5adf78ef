"""Row fusion: loops over the same rows run one after the other for each row.

The largest element of a row, the sum of its exponentials, their quotients: three loops over all rows read memory three
times. Where each reads only its own row of the others' results, they become one loop over rows with the three inside: a
row then stays in the nearest cache, and values shared by them alone need one row of memory.
"""

from __future__ import annotations

from math import prod
from typing import Any

from .ir import REDUCE, SCALAR, WRITE, dense

_SHORT, _LONG = 128, 1 << 15  # elements of rows that pay
_MANY = 1 << 15  # elements in all from which on that pays
_STACK = 32768  # bytes for rows that are nowhere else
# So many loops are tried after one that could not be fused.
_TRIES = 12


def on_dims(dims: list[int], shape: tuple, strides: tuple) -> list[int]:
    """Return strides over a shape as strides over finer dims of the same order."""
    found: list[int] = []
    axes = [(n, s) for n, s in zip(shape, strides, strict=True) if n != 1]
    size, stride = axes.pop() if axes else (1, 0)
    for n in reversed(dims):
        if n == 1:
            found.append(0)
            continue
        if size == 1:
            size, stride = axes.pop()
        found.append(stride)
        stride *= n
        size //= n
    return found[::-1]


def dims_of(bounds: Any) -> list[int]:
    """Return the sizes of dimensions, given those of their blocks."""
    dims, step = [], 1
    for bound in sorted(bounds):
        dims.append(bound // step)
        step = bound
    return dims[::-1]


def result_strides(attr: tuple) -> tuple:
    """Return the strides of a reduction's results over its iteration space."""
    _, space, axes = attr
    outer = iter(dense(tuple(n for d, n in enumerate(space) if d not in axes)))
    return tuple(0 if d in axes else next(outer) for d in range(len(space)))


class _Nest:
    """Loops over ``rows`` rows, while they are collected."""

    def __init__(self, schedule: Any, rows: int) -> None:
        self.schedule, self.rows = schedule, rows
        self.parts: list[Any] = []
        self.lead = {rows}  # blocks of rows that some part tells apart
        self.made: dict[int, bool] = {}  # node: whether each row of it is made by its own round

    def take(self, cluster: Any) -> bool:
        """Add a loop if possible; return whether it was added."""
        if cluster.count % self.rows:
            return False
        row = cluster.count // self.rows
        bounds = _nested(cluster.bounds | {row, cluster.count} - {1})
        lead = _nested(self.lead | {b // row for b in cluster.bounds if b > row and b % row == 0})
        if bounds is None or lead is None or any(b > row and b % row for b in bounds):
            return False
        made: dict[int, bool] = {}
        nodes = self.schedule.nodes
        for i in cluster.members:
            node = nodes[i]
            if node.op == WRITE:
                return False
            for access in node.operands:
                if access[0] != SCALAR and access[0] in self.made:
                    if not self.made[access[0]] or not self._aligned(access, node.space, access[0], row):
                        return False
            made[i] = True
            if node.op == REDUCE:
                ways = result_strides(node.attr)
                made[i] = self._aligned((i, 0, ways), node.space, i, row)
                if not made[i] and (row == 1 or not on_dims(dims_of(bounds), node.space, ways)[-1]):
                    # A sum over rows is more exact in a kernel of its own.
                    return False
        self.parts.append(cluster)
        self.lead = lead
        self.made.update(made)
        return True

    def _aligned(self, access: tuple, space: tuple, i: int, row: int) -> bool:
        """Return whether an access reads, in each iteration, only the row of node ``i`` that the iteration computes."""
        size = prod(self.schedule.nodes[i].shape)
        if size % self.rows:
            return False
        mine, dims = size // self.rows, [self.rows, *([row] if row > 1 else [])]
        finer = _nested({row, row * self.rows, *_blocks(space)} - {1})
        if finer is None:
            return False
        dims = dims_of(finer)
        strides, reach, step = on_dims(dims, space, access[2]), access[1], mine
        if access[1] < 0:
            return False
        done = 1
        for n, s in zip(reversed(dims), reversed(strides), strict=True):
            if done < row:
                if s < 0:
                    return False
                reach += (n - 1) * s
            else:
                if s != step and n > 1:
                    return False
                step *= n
            done *= n
        return reach < mine


def _blocks(shape: tuple) -> set[int]:
    step, found = 1, set()
    for n in reversed(shape):
        step *= n
        found.add(step)
    return found


def _nested(bounds: set[int]) -> set[int] | None:
    """Return the bounds if each divides the next."""
    ordered = sorted(bounds)
    return None if any(b % a for a, b in zip(ordered, ordered[1:], strict=False)) else set(bounds)


def collect(schedule: Any, clusters: list) -> list[tuple[list, int, set[int]]]:
    """Return the clusters in an equivalent order: lists of those that are fused, the number of rows (0: not fused), and
    the blocks of rows.
    """
    groups: list[tuple[list, int, set[int]]] = []
    taken: set[int] = set()
    for k, cluster in enumerate(clusters):
        if k in taken:
            continue
        best = _from(schedule, clusters, k, taken) if _may_begin(cluster) else None
        if best is None:
            groups.append(([cluster], 0, set()))
            continue
        taken.update(best[1])
        groups.append((best[0].parts, best[0].rows, best[0].lead))
    return groups


def _may_begin(cluster: Any) -> bool:
    return cluster.kind == "loop" and cluster.count >= _MANY


def _from(schedule: Any, clusters: list, k: int, taken: set[int]) -> tuple[_Nest, set[int]] | None:
    first = clusters[k]
    for row in sorted(first.bounds):
        if not _SHORT <= row <= _LONG or first.count // row < 2 or first.count % row:
            continue
        nest, mine, left, tries = _Nest(schedule, first.count // row), {k}, set(), 0
        if not nest.take(first):
            continue
        for j in range(k + 1, len(clusters)):
            cluster = clusters[j]
            if j in taken or tries >= _TRIES or cluster.kind not in ("loop", "tiny", "product"):
                break
            waits = any(access[0] in left for i in cluster.members for access in schedule.nodes[i].operands)
            if cluster.kind == "loop" and not waits and nest.take(cluster):
                mine.add(j)
            else:
                if any(schedule.nodes[i].op == WRITE for i in cluster.members):
                    break
                left.update(cluster.members)
                tries += 1
        if sum(part.count > nest.rows for part in nest.parts) > 1:
            last = max(i for i, part in enumerate(nest.parts) if part.count > nest.rows)
            if last + 1 < len(nest.parts):  # what comes after the last row needs no nest
                dropped = nest.parts[last + 1 :]
                nest.parts = nest.parts[: last + 1]
                mine = {j for j in mine if clusters[j] not in dropped}
            return nest, mine
    return None


def local_rows(schedule: Any, nest: Any, lasting: set[int], readers: dict[int, list[int]]) -> dict[int, int]:
    """Return the nodes of a nest that nothing else reads, and the bytes of one row of each, which suffice on the
    stack.
    """
    where = {i: k for k, part in enumerate(nest.parts) for i in part.members}
    found: dict[int, int] = {}
    room = _STACK
    for k, part in enumerate(nest.parts):
        for i in part.members if part.count > nest.rows else ():
            node, used = schedule.nodes[i], readers.get(i, ())
            if node.op == REDUCE or i in lasting or all(where.get(j) == k for j in used):
                continue
            size = -(-prod(node.shape) // nest.rows * node.dtype.itemsize // 64) * 64
            if size <= room and all(j in where for j in used) and not _from_within(schedule, i, used):
                found[i] = size
                room -= size
    return found


def _from_within(schedule: Any, i: int, readers: Any) -> bool:
    """Return whether a row is read from an offset other than its beginning."""
    return any(access[0] == i and access[1] for j in readers for access in schedule.nodes[j].operands)
