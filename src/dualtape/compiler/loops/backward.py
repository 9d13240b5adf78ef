"""The backward of one iteration of a loop."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import NamedTuple

import numpy as np

from ... import modes
from ..._tensor.tensor import wrap
from ...arrays.traced.array import Traced, constant, recorded
from ...arrays.traced.tape import DRAW, METHOD, READ, SHAPE, Tape
from ...autograd.api import grad
from ...autograd.graph import GradientEdge
from ...autograd.node import AccumulateGrad
from .body import Body, Part, stand_in


@contextmanager
def ends_at(edges: list) -> Iterator[None]:
    """Within the context a backward ends at the nodes that ``edges`` lead to, and skips their hooks.

    Both belong to the backward of the whole loop, and not to that of one iteration.
    """
    ends = list({id(edge[0]): edge[0] for edge in edges}.values())
    ends += [node.variable for node in ends if isinstance(node, AccumulateGrad)]
    kept = [(x._extra, getattr(x, "_edges", None)) for x in ends]
    try:
        for x, (_, next_edges) in zip(ends, kept, strict=True):
            x._extra = None
            if next_edges:
                x._edges = ()
        yield
    finally:
        for x, (extra, next_edges) in zip(ends, kept, strict=True):
            x._extra = extra
            if next_edges:
                x._edges = next_edges


class IterationBackward(NamedTuple):
    """The backward of one iteration: from gradients of the next state, sums, the state, elements, and gradients of
    results, to gradients of the state, sums, and gradients of elements.
    """

    part: Part
    # The indices of the states that gradients flow through, and of elements and results.
    carried: list[int]
    elements: list[int]
    results: list[int]
    last: list[int]  # of the last state, what has a history
    sums: list[tuple]  # shape and dtype of each


def trace_backward(tape: Tape, body: Body, many: int, results: int) -> IterationBackward | None:
    """Trace the backward of ``body``, which carries ``many`` states; return None if it differs between iterations."""
    at = len(tape.instructions)
    begins = [x._array for x in body.given]
    recording = [k for k, x in enumerate(body.found) if x.requires_grad]
    carried = [k for k in range(many) if body.given[k]._requires_grad]
    elements = [k for k in range(many, len(begins)) if body.given[k]._requires_grad]
    given = [k for k in recording if many <= k < many + results]
    coming = {k: stand_in(np.zeros(body.dense[k].shape, body.dense[k].dtype), tape) for k in (*carried, *given)}
    wanted = [*carried, *elements]
    metas = [(begins[k].shape, begins[k].dtype) for k in wanted]
    sums = [edge[0]._outputs[edge[1]] for edge in body.edges]
    with modes.no_grad(), ends_at(body.edges):
        found = grad(
            [body.found[k] for k in recording],
            [*[body.given[k] for k in wanted], *[GradientEdge(*edge[:2]) for edge in body.edges]],
            [wrap(coming[k]) for k in recording],
            allow_unused=True,
        )
    if not tape.open or any([g is not None and type(g._array) is not Traced for g in found]):
        return None
    arrays = [
        constant(np.zeros(*meta), tape) if g is None else g._array for g, meta in zip(found, metas + sums, strict=True)
    ]
    totals = [stand_in(np.zeros(*meta), tape) for meta in sums]
    added = [total + g for total, g in zip(totals, arrays[len(wanted) :], strict=True)]
    leaving = [*arrays[: len(carried)], *added, *arrays[len(carried) : len(wanted)]]
    copies = [recorded(METHOD, "copy", (array, "C"), {}) for array in leaving]
    instructions = [*body.instructions, *tape.instructions[at:]]
    del tape.instructions[at:]
    if any([i.kind in (READ, SHAPE, DRAW) for i in instructions]):
        return None
    entering = [*[coming[k] for k in carried], *totals, *begins, *[coming[k] for k in given]]
    part = Part(instructions, entering, copies, body.born)
    last = [k for k in recording if k < many and body.found[k] is not body.given[k]]
    return IterationBackward(part, carried, elements, given, last, sums)
