"""``replace_pattern``: find a pattern in a graph, and put another in its place."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from ..nn import Module
from ._symbolic_trace import symbolic_trace
from .graph import Graph
from .graph_module import GraphModule, _copied
from .node import Node, map_arg

__all__ = ["Match", "replace_pattern"]


class Match(NamedTuple):
    """Where a pattern was found: its last node, and for each node of the pattern one of the graph."""

    anchor: Node
    nodes_map: dict[Node, Node]


def _graph_of(pattern: Any) -> Graph:
    if isinstance(pattern, Graph):
        return pattern
    return pattern.graph if isinstance(pattern, GraphModule) else symbolic_trace(pattern).graph


def _fits(pattern: Any, value: Any, found: dict[Node, Any], original: Any) -> bool:
    """Return whether an argument of the pattern fits one of the graph, after noting which nodes correspond."""
    if isinstance(pattern, Node):
        if pattern in found:
            return found[pattern] is value
        if pattern.op == "placeholder":
            found[pattern] = value
            return True
        if not isinstance(value, Node) or pattern.op != value.op:
            return False
        if pattern.target != value.target:
            return False
        found[pattern] = value
        return _fits(pattern.args, value.args, found, original) and _fits(pattern.kwargs, value.kwargs, found, original)
    if isinstance(pattern, (list, tuple)):
        same = isinstance(value, (list, tuple)) and len(pattern) == len(value)
        return same and all(_fits(p, v, found, original) for p, v in zip(pattern, value, strict=True))
    if isinstance(pattern, dict):
        same = isinstance(value, dict) and pattern.keys() == value.keys()
        return same and all(_fits(pattern[key], value[key], found, original) for key in pattern)
    return type(pattern) is type(value) and pattern == value


def replace_pattern(
    gm: GraphModule, pattern: Callable | GraphModule, replacement: Callable | GraphModule
) -> list[Match]:
    """Replace a pattern in the graph of a module wherever it is found, and return where that was.

    Parameters
    ----------
    gm : GraphModule
        The module, whose graph is changed.
    pattern, replacement : callable or GraphModule
        Functions of the same arguments; a parameter of the pattern stands for any value.

    Examples
    --------
    >>> import dualtape as dt
    >>> traced = dt.fx.symbolic_trace(lambda x: dt.relu(x) + 1)
    >>> found = dt.fx.replace_pattern(traced, lambda x: dt.relu(x), lambda x: dt.tanh(x) * 2)
    >>> print(traced.code.strip())
    def forward(self, x):
        tanh = torch.tanh(x);  x = None
        mul = tanh * 2;  tanh = None
        add = mul + 1;  mul = None
        return add
    """
    old, new = _graph_of(pattern), _graph_of(replacement)
    root = old.output_node().args[0]
    anchors = list(root) if isinstance(root, (tuple, list)) else [root]
    results = new.output_node().args[0]
    new_results = list(results) if isinstance(results, (tuple, list)) else [results]
    if len(anchors) != len(new_results):
        raise RuntimeError(
            f"replace_pattern: the pattern returns {len(anchors)} values, the replacement {len(new_results)}"
        )
    if len(anchors) != 1:
        raise NotImplementedError("replace_pattern: a pattern with several results: replace each on its own")
    anchor = anchors[0]
    placed: set[Any] = set()
    inputs = [node for node in old.nodes if node.op == "placeholder"]
    new_inputs = [node for node in new.nodes if node.op == "placeholder"]
    if len(inputs) != len(new_inputs):
        raise RuntimeError(
            f"replace_pattern: the pattern takes {len(inputs)} arguments, the replacement {len(new_inputs)}"
        )
    matches: list[Match] = []
    changed: dict[Any, Any] = {}
    for node in list(reversed(gm.graph.nodes)):
        found: dict[Node, Any] = {}
        if node._erased or node in placed or not isinstance(anchor, Node) or not _fits(anchor, node, found, gm):
            continue
        inner = [value for key, value in found.items() if key.op != "placeholder"]
        inside = set(inner)
        # A value from inside that something outside uses must stay.
        if inside & placed or any(user not in inside for value in inner if value is not node for user in value.users):
            continue
        placed |= inside
        matches.append(Match(node, found))
    for match in reversed(matches):
        given = {
            key: changed.get(value, value) if isinstance(value, Node) else value
            for key, value in match.nodes_map.items()
        }
        values: dict[Node, Any] = {mine: given[theirs] for mine, theirs in zip(new_inputs, inputs, strict=True)}
        with gm.graph.inserting_before(match.anchor):
            for node in new.nodes:
                if node.op in ("placeholder", "output"):
                    continue
                _take(gm, replacement, node)
                values[node] = gm.graph.node_copy(node, lambda used: values[used])  # noqa: B023
        result = values[new_results[0]] if isinstance(new_results[0], Node) else new_results[0]
        changed[match.anchor] = result
        if isinstance(result, Node):
            match.anchor.replace_all_uses_with(result)
        else:
            for user in list(match.anchor.users):
                swap = lambda used, result=result, match=match: result if used is match.anchor else used
                user._set(map_arg(user.args, swap), map_arg(user.kwargs, swap))
        for value in sorted({v for k, v in match.nodes_map.items() if k.op != "placeholder"}, reverse=True):
            gm.graph.erase_node(value)
    gm.recompile()
    return matches[::-1]


def _take(gm: GraphModule, replacement: Any, node: Node) -> None:
    """Give the module the submodule or attribute that a node of the replacement names."""
    if node.op in ("call_module", "get_attr") and isinstance(replacement, Module):
        try:
            _copied(replacement, gm, node.target)
        except AttributeError:
            return
