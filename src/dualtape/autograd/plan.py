"""The engine's first pass: the nodes that a backward reaches, those that must run, and those where gradients meet.

Where several edges lead to one node, its gradients are added up: such a *join* has a state ``[edges still to come,
gradient of output 0, 1, ...]``. A node with a single incoming edge needs none: it runs as soon as its gradient arrives.
There is no recursion over the graph.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from heapq import heapify, heappop, heappush
from operator import attrgetter
from typing import Any

from .node import AccumulateGrad, Node

Joins = dict[Node, list]


def joined(node: Node, edges: int) -> list:
    """Return the initial state of a join."""
    return [edges, None] if node._shape is not None else [edges, *(None,) * len(node._outputs)]


def reach(roots: Sequence[Node], targets: Collection[Node] | None) -> tuple[dict[Node, Any], Joins, bool]:
    """Return the nodes reachable from ``roots``, their joins (several roots among them), and whether all of them are
    needed for ``targets``.

    If all is needed, the first is a dict of the nodes reached; if not, of the nodes that get a gradient, each with
    whether it also runs.
    """
    if len(roots) == 1:
        stack = [roots[0]]
        seen: dict[Node, Any] = {roots[0]: None}
    else:
        seen = dict.fromkeys(roots)
        stack = list(seen)
    joins = _at_roots(roots)
    if targets is None:
        while stack:
            for edge in stack.pop()._edges:
                if edge is not None:
                    child = edge[0]
                    if child not in seen:
                        seen[child] = None
                        stack.append(child)
                    elif child in joins:
                        joins[child][0] += 1
                    else:
                        joins[child] = joined(child, 2)
        return seen, joins, True
    # An edge always leads to an older node: nodes older than every target need no visit.
    oldest = -1
    for node in targets:
        if node._seq < oldest or oldest < 0:
            oldest = node._seq
    everything, ends = True, 0
    while stack:
        leads = False
        for edge in stack.pop()._edges:
            if edge is not None:
                leads = True
                child = edge[0]
                if child in seen:
                    if child in joins:
                        joins[child][0] += 1
                    else:
                        joins[child] = joined(child, 2)
                elif child._seq >= oldest:
                    seen[child] = None
                    stack.append(child)
                else:
                    everything = False
        if not leads:
            ends += 1
    if everything:
        for node in targets:
            if node in seen:
                if type(node) is not AccumulateGrad:
                    break
                ends -= 1
        else:
            if ends == 0:
                return seen, joins, True  # all that was reached ends at targets
    needed, joins = _needed(seen, roots, targets)
    return needed, joins, False


def _at_roots(roots: Sequence[Node]) -> Joins:
    """Return the initial joins: those of nodes with several roots."""
    return {} if len(roots) == 1 else {root: joined(root, 0) for root in roots}


_age = attrgetter("_seq")


def _needed(seen: dict[Node, Any], roots: Sequence[Node], targets: Collection[Node]) -> tuple[dict[Node, bool], Joins]:
    """Return the nodes on a path to ``targets``, each with whether it must run, found in one sweep from old to
    young.
    """
    found = list(seen)
    found.reverse()  # nearly from old to young
    found.sort(key=_age)
    needed: dict[Node, bool] = {}
    joins = _at_roots(roots)
    met: set[Node] = set()
    for node in found:
        runs = False
        for edge in node._edges:
            if edge is not None:
                child = edge[0]
                if child in needed:
                    runs = True
                    if child in joins:
                        joins[child][0] += 1
                    elif child in met:
                        joins[child] = joined(child, 2)
                    else:
                        met.add(child)
        if runs or node in targets:
            needed[node] = runs
    return needed, joins


def execution_order(roots: Sequence[Node], targets: Collection[Node] | None) -> list[Node]:
    """Return the nodes of a run in execution order."""
    reached, joins, _ = reach(roots, targets)
    ready = [
        (-node._seq, node)
        for node in dict.fromkeys(roots)
        if node not in joins or joins[node][0] == 0 and node in reached
    ]
    heapify(ready)
    accumulators: list[Node] = []
    order: list[Node] = []
    while ready or accumulators:
        node = accumulators.pop(0) if accumulators else heappop(ready)[1]
        order.append(node)
        for edge in node._edges:
            if edge is None or edge[0] not in reached:
                continue
            child = edge[0]
            if child in joins:
                joins[child][0] -= 1
                if joins[child][0]:
                    continue
            if type(child) is AccumulateGrad:
                accumulators.append(child)
            else:
                heappush(ready, (-child._seq, child))
    return order
