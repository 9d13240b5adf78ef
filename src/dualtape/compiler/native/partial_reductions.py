"""Split full reductions into fixed partial ones, so that threads share the work and the result does not depend on their
number.

A loop that sums all its elements has one result that all iterations add to: a single thread must run it, with
everything else in the loop; and where its rows are short, very many sums of rows are added one by one. Here such a
reduction becomes one for each segment (some rows or a part of one), and another, short loop over their results. The
segments do not depend on the number of threads, and neither does the sum.
"""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING

from .ir import REDUCE, Node, dense
from .row_fusion import dims_of, on_dims

if TYPE_CHECKING:
    from .schedule import Cluster, Schedule

_MUCH = 1 << 19  # elements from which on threads pay
# The least number of parts for threads: so many are added up as exactly as elements are.
_MANY = 1025
# The least number of elements of a part; in double precision enough that they are added up exactly, too.
_ROW = (512, 1025)
_SOME = 1 << 13  # elements from which on sums of short rows are made of parts
_SHORT, _FEW = 256, 32  # elements of such a part at least, and parts
_VECTOR = 32


def split(schedule: Schedule) -> None:
    """Split the reductions of a schedule whose clusters are known, and whose memory is not yet."""
    from .schedule import Cluster

    clusters: list[Cluster] = []
    number: dict[int, int] = {-1: -1}
    moved: dict[int, int] = {}
    for c, cluster in enumerate(schedule.clusters):
        number[c] = len(clusters)
        clusters.append(cluster)
        if cluster.kind != "loop" or cluster.count < _SOME:
            continue
        whole = [i for i in cluster.members if _is_whole(schedule, i)]
        size = _size(cluster, any([schedule.nodes[i].dtype.itemsize == 8 for i in whole])) if whole else None
        if size is None:
            continue
        cluster.bounds = cluster.bounds | {size}
        rest = Cluster("loop", {cluster.count // size}, cluster.count // size)
        rest.members = whole
        moved.update(dict.fromkeys(whole, len(clusters)))
        clusters.append(rest)
        parts = {i: _part(schedule, i, size, c) for i in whole}
        cluster.members = [parts.get(i, i) for i in cluster.members]
    schedule.clusters = clusters
    schedule.place = [moved.get(i, number[c]) for i, c in enumerate(schedule.place)]


def _is_whole(schedule: Schedule, i: int) -> bool:
    node = schedule.nodes[i]
    return node.op == REDUCE and prod(node.shape) == 1


def _size(cluster: Cluster, double: bool) -> int | None:
    """Return how many elements of a loop a segment has: a row, a part of it, or several short ones; None if it is not
    split.
    """
    bounds, count = sorted(cluster.bounds), cluster.count
    least, most = _ROW[double], count // _MANY
    if bounds[0] >= least:
        if bounds[0] * _FEW <= count:
            return bounds[0]
        found = [n for n in range(least, min(most, 4 * least) + 1) if bounds[0] % n == 0] if count >= _MUCH else []
        return max(found, key=lambda n: (n % _VECTOR == 0, n), default=None)
    for row, block in zip(bounds, bounds[1:], strict=False):
        rows = range(-(-_SHORT // row), min(block, count // _FEW) // row + 1)
        fitting = next((n for n in rows if n > 1 and block // row % n == 0), None)
        if fitting is not None:
            return row * fitting
    return bounds[0] if bounds[0] * _FEW <= count else None


def _part(schedule: Schedule, i: int, size: int, place: int) -> int:
    """Make node ``i`` a partial reduction over segments of ``size`` elements each; a new node reduces its results."""
    node = schedule.nodes[i]
    name, space, _ = node.attr
    source, offset, strides = node.operands[0]
    blocks, step = {size}, 1
    for n in reversed(space):
        step *= n
        blocks.add(step)
    dims = dims_of(blocks - {1})
    count = prod(space) // size
    lead = next(k for k in range(len(dims) + 1) if prod(dims[:k]) == count)
    access = (source, offset, tuple(on_dims(dims, space, strides)))
    part = len(schedule.nodes)
    attr = (name, tuple(dims), tuple(range(lead, len(dims))))
    schedule.nodes.append(Node(REDUCE, node.dtype, tuple(dims[:lead]), (access,), attr))
    schedule.tiny.append(False)
    schedule.place.append(place)
    schedule.nodes[i] = Node(REDUCE, node.dtype, node.shape, ((part, 0, dense((count,))),), (name, (count,), (0,)))
    schedule.readers[source] = [part if r == i else r for r in schedule.readers[source]]
    schedule.readers[part] = [i]
    return part
