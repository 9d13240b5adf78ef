"""The backward of a node: its formulas and the values that they read, written out as one function.

``OpNode._pull_general`` looks up in the op's declaration which formula reads which saved value, for every node. For the
usual case, one output and NumPy's arrays, the same steps are written out without loops; and a second time for tensors,
where a backward is recorded. All checks remain: released values, versions, packed values.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..op_node import order_of
from ..saves import ATTRIBUTE, OUTPUT
from .source import NAMES, Code

# what formulas for NumPy's arrays take
NAMES["_known"] = {np.ndarray, float, int, bool, complex, type(None)}


def write(op: Any, recorded: bool) -> Code:
    """Return the source of ``vjp(node, g, wanted, freed)`` of an op: pairs of requested edge and gradient; None if the
    reference path must be taken.

    What was saved is let go in exchange for ``freed``, if that is given. Where the backward is ``recorded``,
    gradients and saved values are tensors.
    """
    code = Code("def vjp(node, g, wanted, freed):")
    code("saved = node._saved", "if type(saved) is _Freed:", "    _check_not_freed(node)")
    if op.outputs is not None:  # of an op with several outputs, which may have one this time
        code("g = g if type(g) is list else [g]")
    # The result is one number, and so are all the inputs: scalars are faster than 0-d arrays.
    if _has_points(op, recorded):
        code("point = type(g) is not _ndarray")
    edges = [f"e{i}" for i in range(len(op.loads))]
    if op.listed_place is not None:  # one formula gives the gradients of a list
        _formula(code, op, 0, recorded)
        code("pairs = [(e, r) for e, r in zip(node._edges, r) if e is not None and (wanted is None or e[0] in wanted)]")
    elif len(edges) == 1:  # the node runs, so its only edge is wanted
        code("pairs = ()", "e0, = node._edges")
        with code.block("if e0 is not None:"):
            _formula(code, op, 0, recorded)
            code("pairs = ((e0, r),)")
    else:
        pairs = [f"p{i}" for i in range(len(edges))]
        code(f"{', '.join(edges)} = node._edges", f"{' = '.join(pairs)} = None")
        # As in PyTorch, an overwritten value is an error whichever gradients are asked for.
        if op.saves_tensors or op.key is not None:
            code("if wanted is not None:", "    _check_versions(node)")
        for i, e in enumerate(edges):
            with code.block(f"if {e} is not None and (wanted is None or {e}[0] in wanted):"):
                _formula(code, op, i, recorded)
                code(f"p{i} = ({e}, r)")
        if len(pairs) == 2:
            one = "(p0,) if p0 is not None else (p1,) if p1 is not None else ()"
            code(f"pairs = (p0, p1) if p0 is not None and p1 is not None else {one}")
        else:
            code(f"pairs = [p for p in ({', '.join(pairs)}) if p is not None]")
    if op.frees:
        code("if freed is not None:", "    node._saved = freed")
    code("return pairs")
    return code


def _has_points(op: Any, recorded: bool) -> bool:
    return op.kind in ("elementwise", "broadcasting") and not recorded


def _formula(code: Code, op: Any, i: int, recorded: bool) -> None:
    """Write one gradient, ``r``: load the values that its formula names, and call it."""
    g, (formula, loads) = "g", op.loads[i]
    if op.outputs is not None:
        lead = op.leads[i]
        g = f"g[{lead}]" if lead >= 0 else "g"
        strange = f"type({g}) is not _ndarray" if lead >= 0 else "any([type(each) is not _ndarray for each in g])"
        code(f"if {strange}:", "    return None")
    code.names[f"formula{i}"] = formula
    f, points, numpy_formula = f"formula{i}", _has_points(op, recorded), op.numpy_vjp.get(op.inputs[i])
    if numpy_formula is not None and not recorded:
        code.names[f"numpy_formula{i}"] = numpy_formula
        other = "type(g) is _Batched" if not points or op.numpy_scalars else "point"
        code(f"f = formula{i} if {other} else numpy_formula{i}")
        f = "f"
    for kind, k in loads:
        v = f"v{k}"
        code(f"{v} = saved[{k}]")
        if kind == ATTRIBUTE:
            if op.saves[k][0] == op.key:
                code(f"if type({v}) is _SavedKey:")
                if len(op.loads) > 1:  # hooks unpack it once
                    code(f"    if {v}.packed:", "        return None")
                code(f"    {v} = _raw_key({v}.unpack(node, {op.key!r}))")
            continue
        _load(code, op, kind, k, recorded)
        if points:
            code("if point:", f"    if type({v}) is _ndarray:", f"        {v} = {v}[()]")
        # It was saved from another kind of array: its gradient is of that kind, too.
        if f == "f":
            code(f"{'el' if points else ''}if type({v}) is not _ndarray and type({v}) not in _known:")
            code(f"    f = formula{i}")
    code(f"r = {f}({', '.join([g, *(f'v{k}' for _, k in loads)])})")


def _load(code: Code, op: Any, kind: int, k: int, recorded: bool) -> None:
    """Write the conversion of a saved entry to the value that formulas receive."""
    v, (name, _, number) = f"v{k}", op.saves[k]
    complaint = f"raise _stale({v}, node, {name!r})"
    written = [f"    if {v}[1][0] != {v}[2]:", f"        {complaint}"]
    if kind == OUTPUT:
        value = f"_output_tensor({v}, node, {number})" if recorded else f"{v}[0]"
        code(f"if type({v}) is tuple:", *written, f"    {v} = {value}")
    else:
        # Nearly always this is a tensor that was never written, which is its own saved entry.
        found = [f"    {v} = {v}._array"]
        if recorded:
            found = [f"    if not {v}._requires_grad and not {v}.requires_grad:"]
            found.append(f"        node._check_not_detached({name!r})")
        never = f"    if {v}._version_counter is not None and {v}._version_counter[0]:"
        own = [never, f"        {complaint}", *found]
        code(f"if type({v}) is _Tensor:", *own, f"elif type({v}) is tuple:", *written, f"    {v} = {v}[0]", *found)
        code(f"elif type({v}) not in _known and isinstance({v}, _Tensor):", *own)  # which has another class now
    code(f"elif type({v}) is _SavedVariable:")
    tensors = [k for kind, k in op.loads[0][1] if kind != ATTRIBUTE]
    # hooks unpack all that was saved, once, in its order
    if len(op.loads) > 1 or tensors != [k for k in order_of(op) if k in tensors]:
        code("    return None")
    else:
        code(f"    {v} = {v}.unpack(node, {name!r}){'' if recorded else '._array'}")
