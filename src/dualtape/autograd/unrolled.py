"""The quick way through a node: its formulas and what they read, written out as one function.

``OpNode.apply`` reads from the op's declaration which formula wants which saved value, for every node anew. Most nodes are of ops with one output, on
NumPy's arrays, with nothing to record: for these the same steps are written out once for each op, as Python source without loops, when its first
node runs. All checks stay: released values, versions, packed values. The source shows in tracebacks.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .node import Freed, check_not_freed
from .saved import SavedVariable, stale

ATTRIBUTE, INPUT, INPUTS, OUTPUT = range(4)  # as in op_node: what a place in ``saved`` holds


def source(op: Any) -> str:
    """The function ``pull(node, g, wanted, freed)`` of an op: its edges that are wanted, each with its gradient.

    What was saved is let go in exchange for ``freed``, if that is given.
    """
    edges = "".join(f"e{i}, " for i in range(len(op.loads)))
    lines = [
        "def pull(node, g, wanted, freed):",
        "    saved = node.saved",
        "    if type(saved) is Freed:",
        "        check_not_freed(node)",
        f"    {edges}= node.edges",
    ]
    alone = len(op.loads) == 1  # the node runs, so its only edge is wanted
    if not alone:
        lines.append("    pairs = []")
    for i, (_, loads) in enumerate(op.loads):
        lines.append(f"    if e{i} is not None:" if alone else f"    if e{i} is not None and (wanted is None or e{i}[0] in wanted):")
        quick = op.inputs[i] in op.quick
        if quick:
            lines.append(f"        f = quick{i}")
        for kind, k in loads:
            lines.append(f"        v{k} = saved[{k}]")
            if kind != ATTRIBUTE:
                name = op.saves[k][0]
                lines.append(f"        if type(v{k}) is tuple:")
                lines.append(f"            if v{k}[1][0] != v{k}[2]:")
                lines.append(f"                raise stale(v{k}, node, {name!r})")
                lines.append(f"            v{k} = v{k}[0]" if kind == OUTPUT else f"            v{k} = v{k}[0]._array")
                lines.append(f"        elif type(v{k}) is SavedVariable:")
                lines.append(f"            v{k} = v{k}.unpack(node, {name!r})._array")
                if quick:  # saved from another kind of array: its gradient is of that kind, too
                    lines.append(f"        if type(v{k}) is not ndarray and hasattr(v{k}, 'dtype'):")
                    lines.append(f"            f = formula{i}")
        result = f"{'f' if quick else f'formula{i}'}({', '.join(['g', *(f'v{k}' for _, k in loads)])})"
        lines.append(f"        pairs = ((e{i}, {result}),)" if alone else f"        pairs.append((e{i}, {result}))")
    if alone:
        lines.extend(["    else:", "        pairs = ()"])
    if op.saves_tensors:
        lines.extend(["    if freed is not None:", "        node.saved = freed"])
    lines.append("    return pairs")
    return "\n".join(lines) + "\n"


def compiled(op: Any) -> Callable:
    """The function, ready to run; ``op.quick`` has formulas that are for NumPy's arrays alone."""
    import linecache  # only a program that goes backward needs it

    text = source(op)
    name = f"<dualtape: the backward of {op.name}>"
    linecache.cache[name] = (len(text), None, text.splitlines(True), name)
    names: dict[str, Any] = {
        "Freed": Freed, "check_not_freed": check_not_freed, "stale": stale, "SavedVariable": SavedVariable, "ndarray": np.ndarray, "__name__": __name__,
    }  # fmt: skip
    for i, (key, (formula, _)) in enumerate(zip(op.inputs, op.loads, strict=True)):
        names[f"formula{i}"] = formula
        names[f"quick{i}"] = op.quick.get(key)
    exec(compile(text, name, "exec"), names)
    return names["pull"]


def pull_when_needed(op: Any) -> Callable:
    """The function of an op's nodes, which is written when the first of them runs."""

    def pull(node: Any, g: Any, wanted: Any, freed: Any) -> Any:
        made = compiled(op)
        for kind in op._node_classes:
            if kind is not None:
                kind.pull = staticmethod(made)
        return made(node, g, wanted, freed)

    return pull
