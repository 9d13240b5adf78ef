"""The node of a loop."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ... import modes
from ..._tensor.tensor import Tensor, alias, wrap
from ...arrays.traced.array import Traced, recorded
from ...arrays.traced.tape import CALL
from ...autograd.api import grad
from ...autograd.graph import GradientEdge
from ...autograd.node import Node, check_not_freed, edge_of, next_sequence
from ...autograd.saved import full, saved_entry, unpack_raw
from ..backward import InputBackward, cut_off
from .backward import ends_at
from .loop import Loop


class LoopBackward(Node):
    """The node of a loop."""

    __slots__ = ("_loop", "_step_by_step")

    _loop: Loop
    _step_by_step: Callable[[list, list], tuple[list, list]]

    def name(self) -> str:
        return "ScanBackward" if self._loop.length is not None else "WhileLoopBackward"

    def _pull_general(self, grads: list, record: bool, wanted: Any = None) -> Any:
        entries, kept, outside, tape = check_not_freed(self)
        loop, backward = self._loop, self._loop.backward
        assert backward is not None
        arrays = [unpack_raw(entry, self, f"tensor {k}", False) for k, entry in enumerate(entries)]
        if record or any([g is not None and type(g) not in (Traced, np.ndarray) for g in grads]):
            return self._round_by_round(grads, record, [full(entry)[0] for entry in entries])
        rest = iter([np.zeros(*meta) if g is None else g for g, meta in zip(grads, self._outputs, strict=True)])
        metas = [(x.shape, x.dtype) for x in arrays]
        coming = [*[next(rest) if k in backward.last else np.zeros(*metas[k]) for k in backward.carried], *rest]
        elements = arrays[loop.carried : loop.carried + loop.moving]
        found = recorded(CALL, loop.back, (*coming, *kept, *elements, *outside), {})
        states, sums = len(backward.carried), len(backward.carried) + len(backward.sums)
        return [*found[:states], *found[sums:], *found[states:sums]]

    def _round_by_round(self, grads: list, record: bool, tensors: list[Tensor]) -> list:
        """Return the gradients of the loop run one iteration at a time, with a history of their own."""
        loop, backward = self._loop, self._loop.backward
        assert backward is not None
        given = [_joined(x) for x in tensors[: loop.carried + loop.moving]]
        with modes.enable_grad():
            state, results = self._step_by_step(given[: loop.carried], given[loop.carried :])
            outputs = [*[state[k] for k in backward.last], *[results[k - loop.carried] for k in backward.results]]
            pairs = [
                (y, g if isinstance(g, Tensor) else wrap(g))
                for y, g in zip(outputs, grads, strict=True)
                if g is not None and y.requires_grad
            ]
            needing = [given[k] for k in (*backward.carried, *backward.elements)]
            inputs = [*[x for x in needing if x.requires_grad], *[GradientEdge(*e[:2]) for e in loop.body.edges]]
            with cut_off(given), ends_at(loop.body.edges):
                found = grad(
                    [y for y, _ in pairs], inputs, [g for _, g in pairs], create_graph=record, allow_unused=True
                )
        rest = iter([g if record or g is None else g._array for g in found])
        return [*[next(rest) if x.requires_grad else None for x in needing], *rest]

    def _release(self, task: Any) -> None:
        self._saved = task.free()


def _joined(tensor: Tensor) -> Tensor:
    """Return a new tensor whose backward continues to ``tensor``."""
    new = alias(tensor)
    if tensor.requires_grad:
        new._edge, new._requires_grad = (InputBackward(tensor, lambda: None), 0), True
    return new


def written_down(tracer: Any, loop: Loop, tensors: list[Tensor], step_by_step: Callable) -> list[Tensor]:
    """Run a loop as one instruction, and give its results their node."""
    tape = tracer.tape
    outside = []
    for value in loop.outside:
        assert value.array is not None  # the body refers to it
        outside.append(Traced(value.array, value, tape))
    arrays = [x._array for x in tensors]
    found = recorded(CALL, loop, (*arrays, *outside), {})
    loop.body.let_go()
    many = loop.carried + len(loop._given)
    results = [tensors[k] if k in loop.fixed else wrap(x) for k, x in enumerate(found[:many])]
    backward = loop.backward
    if backward is None:
        return results
    kept = found[many:] if loop.length is not None else (*arrays, *found[many:])
    node = object.__new__(LoopBackward)
    node._loop, node._step_by_step, node._extra = loop, step_by_step, None
    edges = [edge_of(tensors[k]) for k in (*backward.carried, *backward.elements)]
    node._edges = (*edges, *loop.body.edges)
    places = [*backward.last, *backward.results]
    node._outputs = tuple([(results[k]._array.shape, results[k]._array.dtype) for k in places])
    entries = tuple([saved_entry(x) for x in (*tensors, *loop.body.tensors)])
    node._saved = (entries, kept, outside, tape)
    node._seq = next_sequence()
    for number, k in enumerate(places):
        results[k]._edge, results[k]._requires_grad = (node, number), True
    return results
