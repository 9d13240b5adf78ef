"""Matching a graph against a known structure: one generated Python function for each structure.

The function walks the graph from its roots along the structure, and stops at the first difference; it returns the same
as a search of the graph (:class:`.graphs.Graph`), in a third of the time. Nodes with hooks, custom Functions and writes
through views take the reference path.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .._tensor.tensor import Tensor, wrap
from ..autograd.node import AccumulateGrad
from ..ops.op_node import OpNode
from ..ops.saves import ATTRIBUTE, OUTPUT

_LONGEST = 20_000  # nodes: Python takes too long over functions that are longer


def matcher(nodes: list, roots: list[tuple]) -> Callable | None:
    """Return ``match(edges, gradients)``, which returns the nodes and leaves of an equal graph, or None; None if there
    is no such function.

    Parameters
    ----------
    nodes : list of Node
        Those of the graph, the youngest first.
    roots : list of edges
        Where gradients come in.
    """
    if len(nodes) > _LONGEST or not all(_is_plain(node) for node in nodes):
        return None
    numbers = {node: k for k, node in enumerate(nodes)}
    space: dict[str, Any] = {
        "_Tensor": Tensor,
        "_array": np.ndarray,
        "_wrap": wrap,
        "_given": given_gradient,
        "_Leaf": AccumulateGrad,
    }
    names: dict[int, str] = {}
    body: list[str] = []
    for k, (node, number) in enumerate(roots):
        body.append(f"e = edges[{k}]")
        body.append(f"if e[1] != {number}: return None")
        body += _found(numbers[node], "e", names)
    shown: list[str] = []
    for k, node in enumerate(nodes):
        if k not in names:  # a leaf that is younger than what leads to it
            return None
        body += _of_leaf(k) if type(node) is AccumulateGrad else _of_op(k, node, numbers, names, space)
        shown += [f"l{k}"] if type(node) is AccumulateGrad else [f"s{k}_{j}" for j in range(len(node._saved))]
    order = " > ".join(f"n{k}._seq" for k in range(len(nodes)))
    if len(nodes) > 1:
        body.append(f"if not ({order}): return None")
    shown += [f"_given(gradients[{k}])" for k in range(len(roots))]
    given = ", ".join(f"n{k}" for k in range(len(nodes)))
    text = ["def match(edges, gradients):", "    try:", *[f"        {line}" for line in body]]
    text += [f"        return ({given},), [{', '.join(shown)}]"]
    text += ["    except (AttributeError, IndexError, TypeError, ValueError):", "        return None", ""]
    exec(compile("\n".join(text), "<dualtape: graph>", "exec"), space)
    return space.pop("match")  # no cycle of the function and its globals


def given_gradient(gradient: Any) -> Tensor:
    """Return the gradient of a root as an input."""
    if type(gradient) is not np.ndarray:
        if not isinstance(gradient, np.generic):
            raise TypeError(f"a gradient comes as a {type(gradient).__name__}")
        gradient = np.asarray(gradient)
    return wrap(gradient)


def _is_plain(node: Any) -> bool:
    if node._extra is not None:
        return False
    if type(node) is AccumulateGrad:
        return node.variable._extra is None
    return isinstance(node, OpNode) and type(node._saved) is tuple


def _found(k: int, edge: str, names: dict[int, str]) -> list[str]:
    """Return the condition that an edge leads to node ``k``."""
    if k in names:
        return [f"if {edge}[0] is not n{k}: return None"]
    names[k] = edge
    return [f"n{k} = {edge}[0]"] + ([f"v{k} = {edge}"] if edge != "e" else [f"v{k} = e"])


def _of_leaf(k: int) -> list[str]:
    return [
        f"if type(n{k}) is not _Leaf or n{k}._extra is not None: return None",
        f"l{k} = v{k}[2]",
        f"if l{k}._extra is not None: return None",
    ]


def _of_op(k: int, node: Any, numbers: dict, names: dict[int, str], space: dict) -> list[str]:
    space[f"K{k}"], space[f"D{k}"] = type(node), node._dtype
    same = f"n{k}._dtype is not D{k}" if node._shape is not None else f"n{k}._dtype != D{k}"
    lines = [
        f"if type(n{k}) is not K{k} or n{k}._shape != {node._shape!r} or {same} or n{k}._extra is not None: return None"
    ]
    edges = node._edges
    if edges:
        lines.append("".join(f"e{k}_{j}, " for j in range(len(edges))) + f"= n{k}._edges")
    for j, edge in enumerate(edges):
        if edge is None:
            lines.append(f"if e{k}_{j} is not None: return None")
            continue
        lines.append(f"if e{k}_{j}[1] != {edge[1]}: return None")
        lines += _found(numbers[edge[0]], f"e{k}_{j}", names)
    saved = node._saved
    if saved:
        lines.append("".join(f"s{k}_{j}, " for j in range(len(saved))) + f"= n{k}._saved")
    for j, (entry, (_, kind, _)) in enumerate(zip(saved, node.op.saves, strict=True)):
        name = f"s{k}_{j}"
        if kind == OUTPUT and entry is not None:
            lines += [f"{name}, c, w = {name}", f"if c[0] != w or type({name}) is not _array: return None"]
            lines.append(f"{name} = _wrap({name})")
        elif kind != ATTRIBUTE and isinstance(entry, (Tensor, tuple)):
            lines += [f"if type({name}) is tuple:", f"    {name}, c, w = {name}", "    if c[0] != w: return None"]
            lines.append(f"elif {name}._version_counter is not None and {name}._version_counter[0]: return None")
        elif kind != ATTRIBUTE:  # a number, or nothing, in a tensor's place
            lines.append(f"if isinstance({name}, (_Tensor, tuple)): return None")
    return lines
