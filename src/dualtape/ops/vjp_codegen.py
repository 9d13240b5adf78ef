"""The quick way through a node: its formulas and what they read, written out as one function.

``OpNode._pull_general`` reads from the op's declaration which formula wants which saved value, for every node anew.
Most nodes are of ops with one output, on NumPy's arrays: for these the same steps are written out once for each op,
as Python source without loops, when its first node runs; and once more for tensors, when a backward is recorded.
All checks stay: released values, versions, packed values. The source shows in tracebacks.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .._tensor.tensor import Tensor
from ..arrays import Batched
from ..autograd.node import Freed, check_not_freed
from ..autograd.saved import SavedVariable, check_versions, output_tensor, stale

ATTRIBUTE, INPUT, INPUTS, OUTPUT = range(4)  # as in op_node: what a place in ``saved`` holds
_KNOWN = {np.ndarray, float, int, bool, complex, type(None)}  # what the quick formulas are for


def source(op: Any, recorded: bool) -> str:
    """The function ``pull(node, g, wanted, freed)`` of an op: its edges that are wanted, each with its gradient; None
    if that needs the general way.

    What was saved is let go in exchange for ``freed``, if that is given. Where the backward is ``recorded``,
    gradients and saved values are tensors.
    """
    lines = [
        "def vjp(node, g, wanted, freed):",
        "    saved = node._saved",
        "    if type(saved) is Freed:",
        "        check_not_freed(node)",
    ]
    if op.outputs is not None:
        lines.append(
            "    g = g if type(g) is list else [g]  # of an op with several outputs, which may have one this time"
        )
    if _points(op, recorded):
        lines.append(
            "    point = type(g) is not ndarray  # one number, and so are all it depends on: scalars are quicker than"
            " 0-d arrays"
        )
    if op.listed_input:  # one formula gives the gradients of a list
        lines.extend(_indented(1, _formula(op, 0, recorded)))
        lines.append(
            "    pairs = [(e, r) for e, r in zip(node._edges, r) if e is not None and (wanted is None or e[0] in"
            " wanted)]"
        )
    elif len(op.loads) == 1:  # the node runs, so its only edge is wanted
        lines.extend(
            [
                "    pairs = ()",
                "    e, = node._edges",
                "    if e is not None:",
                *_indented(2, _formula(op, 0, recorded)),
                "        pairs = ((e, r),)",
            ]
        )
    else:
        lines.append(f"    {', '.join(f'e{i}' for i in range(len(op.loads)))} = node._edges")
        lines.append(f"    {' = '.join(f'p{i}' for i in range(len(op.loads)))} = None")
        # as in PyTorch, a value that was written over is an error whichever gradients are asked for
        if op.saves_tensors:
            lines.extend(["    if wanted is not None:", "        check_versions(node)"])
        for i in range(len(op.loads)):
            lines.append(f"    if e{i} is not None and (wanted is None or e{i}[0] in wanted):")
            lines.extend([*_indented(2, _formula(op, i, recorded)), f"        p{i} = (e{i}, r)"])
        if len(op.loads) == 2:
            lines.append(
                "    pairs = (p0, p1) if p0 is not None and p1 is not None else (p0,) if p0 is not None else (p1,) if"
                " p1 is not None else ()"
            )
        else:
            lines.append(
                f"    pairs = [p for p in ({', '.join(f'p{i}' for i in range(len(op.loads)))}) if p is not None]"
            )
    if op.saves_tensors:
        lines.extend(["    if freed is not None:", "        node._saved = freed"])
    return "\n".join([*lines, "    return pairs"]) + "\n"


def _indented(depth: int, lines: list[str]) -> list[str]:
    return ["    " * depth + line for line in lines]


def _points(op: Any, recorded: bool) -> bool:
    return op.kind in ("elementwise", "broadcasting") and not recorded


def _formula(op: Any, i: int, recorded: bool) -> list[str]:
    """The lines that compute one gradient, ``r``: they load what its formula asks for, and call it."""
    g, lines = "g", []
    if op.outputs is not None:
        if op.leads[i] >= 0:
            g = f"g[{op.leads[i]}]"
        strange = f"type({g}) is not ndarray" if op.leads[i] >= 0 else "any([type(each) is not ndarray for each in g])"
        lines.extend([f"if {strange}:", "    return None"])
    quick, points = op.inputs[i] in op.quick and not recorded, _points(op, recorded)
    if quick:
        # whether quick formulas are for numbers, too
        other = "type(g) is Batched" if not points or "numbers" in op.quick else "point"
        lines.append(f"f = formula{i} if {other} else quick{i}")
    for kind, k in op.loads[i][1]:
        lines.append(f"v{k} = saved[{k}]")
        if kind == ATTRIBUTE:
            continue
        lines.extend(_loaded(op, kind, k, recorded))
        if points:
            lines.extend(["if point:", f"    if type(v{k}) is ndarray:", f"        v{k} = v{k}[()]"])
        if quick:  # saved from another kind of array: its gradient is of that kind, too
            lines.extend(
                [
                    f"{'el' if points else ''}if type(v{k}) is not ndarray and type(v{k}) not in known:",
                    f"    f = formula{i}",
                ]
            )
    arguments = ", ".join([g, *(f"v{k}" for _, k in op.loads[i][1])])
    return [*lines, f"r = {'f' if quick else f'formula{i}'}({arguments})"]


def _loaded(op: Any, kind: int, k: int, recorded: bool) -> list[str]:
    """The lines that turn a saved entry into the value that formulas get."""
    v, (name, _, number) = f"v{k}", op.saves[k]
    complaint = f"raise stale({v}, node, {name!r})"
    lines = [f"if type({v}) is tuple:", f"    if {v}[1][0] != {v}[2]:", f"        {complaint}"]
    if kind == OUTPUT:
        lines.append(f"    {v} = output_tensor({v}, node, {number})" if recorded else f"    {v} = {v}[0]")
    else:  # nearly always a tensor that was never written, which is its own entry
        attached = [
            f"    if not {v}._requires_grad and not {v}.requires_grad:",
            f"        node._check_not_detached({name!r})",
        ]
        found = attached if recorded else [f"    {v} = {v}._array"]
        own = [f"    if {v}._version_counter is not None and {v}._version_counter[0]:", f"        {complaint}", *found]
        changed = [f"elif type({v}) not in known and isinstance({v}, Tensor):  # which has another class now", *own]
        lines = [f"if type({v}) is Tensor:", *own, f"el{lines[0]}", *lines[1:], f"    {v} = {v}[0]", *found, *changed]
    tensors = [k for kind, k in op.loads[0][1] if kind != ATTRIBUTE]
    if len(op.loads) > 1 or tensors != sorted(tensors):
        return [
            *lines,
            f"elif type({v}) is SavedVariable:",
            "    return None  # hooks unpack all that was saved, once, in the order in which it was",
        ]
    return [
        *lines,
        f"elif type({v}) is SavedVariable:",
        f"    {v} = {v}.unpack(node, {name!r}){'' if recorded else '._array'}",
    ]


def compiled(op: Any, recorded: bool = False) -> Callable:
    """The function, ready to run; ``op.quick`` has formulas that are for NumPy's arrays alone."""
    import linecache  # only a program that goes backward needs it

    text = source(op, recorded)
    name = f"<dualtape: the backward of {op.name}{', recorded' if recorded else ''}>"
    linecache.cache[name] = (len(text), None, text.splitlines(True), name)
    names: dict[str, Any] = {
        "Freed": Freed, "check_not_freed": check_not_freed, "stale": stale, "SavedVariable": SavedVariable,
        "output_tensor": output_tensor,
        "check_versions": check_versions, "ndarray": np.ndarray, "Batched": Batched, "Tensor": Tensor, "known": _KNOWN,
        "__name__": __name__,
    }  # fmt: skip
    for i, (key, (formula, _)) in enumerate(zip(op.inputs, op.loads, strict=True)):
        names[f"formula{i}"] = formula
        names[f"quick{i}"] = op.quick.get(key)
    exec(compile(text, name, "exec"), names)
    return names["vjp"]


def vjps(op: Any) -> dict[str, Callable]:
    """The functions of an op's nodes, each of which is written when the first node runs it."""
    return {attribute: _when_needed(op, attribute) for attribute in ("_vjp", "_vjp_recorded")}


def _when_needed(op: Any, attribute: str) -> Callable:
    def vjp(node: Any, g: Any, wanted: Any, freed: Any) -> Any:
        result = compiled(op, attribute == "_vjp_recorded")
        for kind in op._node_classes:
            if kind is not None:
                setattr(kind, attribute, result)
        return result(node, g, wanted, freed)

    return vjp
