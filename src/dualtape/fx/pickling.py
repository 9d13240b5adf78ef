"""Graphs in files: a row for each node, functions of the library by their names."""

from __future__ import annotations

import sys
from typing import Any, NamedTuple

from .names import _paths
from .node import Node, map_aggregate

__all__ = ["described", "rebuilt"]


class NodeName(NamedTuple):
    """Stands for a node in a row."""

    node: str


class FunctionName(NamedTuple):
    """Stands for a function of the library."""

    path: str


def described(graph: Any) -> list[tuple]:
    """Return the rows of a graph."""
    known = _paths()

    def shown(value: Any) -> Any:
        if isinstance(value, Node):
            return NodeName(value.name)
        try:
            return FunctionName(known[value]) if callable(value) and value in known else value
        except TypeError:
            return value

    return [
        (
            node.op,
            node.name,
            shown(node.target),
            map_aggregate(node.args, shown),
            map_aggregate(node.kwargs, shown),
            node.type,
        )
        for node in graph.nodes
    ]


def rebuilt(rows: list[tuple]) -> Any:
    """Return the graph of rows."""
    from .graph import Graph

    graph = Graph()
    nodes: dict[str, Node] = {}

    def read(value: Any) -> Any:
        if isinstance(value, NodeName):
            return nodes[value.node]
        if isinstance(value, FunctionName):
            return _function(value.path)
        if isinstance(value, tuple) and not hasattr(value, "_fields"):
            return tuple(map(read, value))
        if isinstance(value, list):
            return [read(item) for item in value]
        if isinstance(value, dict):
            return {key: read(item) for key, item in value.items()}
        return slice(read(value.start), read(value.stop), read(value.step)) if isinstance(value, slice) else value

    for op, name, target, args, kwargs, kind in rows:
        nodes[name] = graph.create_node(op, read(target), read(args), read(kwargs), name, kind)
    return graph


def _function(path: str) -> Any:
    found: Any = sys.modules["dualtape"]
    for part in path.split(".")[1:]:
        found = getattr(found, part)
    return found
