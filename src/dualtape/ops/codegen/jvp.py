"""Tangents on arrays: the contributions of the tangents of an op's inputs to that of its result."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..table import BILINEAR, LINEAR, Op, formula_names
from .source import Code, compiled


def tangent_of(op: Op) -> Callable:
    """Return the function ``tangent(raws, moved, out)`` of an op: its arguments, their tangents (None if there is
    none), and its result, all as arrays.
    """
    return compiled(_linear(op) if op.jvp == LINEAR else _summed(op), f"the tangent of {op.name}", {})


def _linear(op: Op) -> Code:
    """Write the op itself applied to the tangents; zero where an input has none."""
    code = Code("def tangent(raws, moved, out):", _forward=op.forward, _zeros_like=np.zeros_like)
    arguments = [f"raws[{n}]" for n in range(len(op.params))]
    for k, place in enumerate(op.input_places):
        x = f"raws[{place}]"
        code(f"t{k} = moved[{k}]")
        with code.block(f"if t{k} is None and {x} is not None:"):
            code(f"t{k} = _zeros_like({x}) if type({x}) is _ndarray else 0")
        arguments[place] = f"t{k}"
    code(f"return _forward({', '.join(arguments)})")
    return code


def _summed(op: Op) -> Code:
    """Write the sum of the contributions of each input: the op with the tangent in the input's position, or the input's
    formula.
    """
    code = Code("def tangent(raws, moved, out):", _forward=op.forward)
    code("total = None")
    for k, (name, place) in enumerate(zip(op.inputs, op.input_places, strict=True)):
        if op.jvp == BILINEAR:
            part = f"_forward({', '.join('t' if n == place else f'raws[{n}]' for n in range(len(op.params)))})"
        else:
            code.names[f"formula{k}"] = op.jvp[name]
            part = f"formula{k}({', '.join(_named(op, n) for n in formula_names(op.jvp[name]))})"
        code(f"t = moved[{k}]")
        with code.block("if t is not None:"):
            code(f"part = {part}", "total = part if total is None else total + part")
    code("return total")
    return code


def _named(op: Any, name: str) -> str:
    """Return the expression for a parameter of a formula."""
    if name in ("t", "out"):
        return name
    if name in op.params:
        return f"raws[{op.params.index(name)}]"
    _, place, what = op._source(name, ("out",))
    return f"getattr(raws[{place}], {what!r}, {'()' if what == 'shape' else 'None'})"
