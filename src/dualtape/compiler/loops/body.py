"""The body of a loop: one iteration as it runs, and once more on arrays of its own, cut out of the tape."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from ..._tensor.tensor import Tensor, wrap
from ...arrays.traced.array import Traced, recorded
from ...arrays.traced.tape import DRAW, METHOD, READ, SHAPE, Instruction, Memory, Tape, Value, next_number
from ...autograd.node import AccumulateGrad, edge_of, next_sequence
from .. import backends, replay
from .iterations import Iterations


class Part:
    """Instructions with their inputs, outside values, and results.

    Attributes
    ----------
    outside : list of Value
        What they read beside what they begin with.
    """

    def __init__(
        self, instructions: list[Instruction], begins: Sequence[Traced], results: Sequence[Traced], born: int
    ) -> None:
        self._begins, self._results = [x.value for x in begins], [x.value for x in results]
        self._instructions = replay.live(instructions, self._results)
        own = {id(value) for value in (*self._begins, *[value for i in self._instructions for value in i.gives])}
        self.metas = [(x.shape, x.dtype) for x in results]
        self.outside = list(
            {
                id(value): value
                for i in self._instructions
                for value in i.reads
                if id(value) not in own and value.memory.number < born and not replay.is_constant(value)
            }.values()
        )

    def iterations(self, backend: str, *how: Any) -> Iterations:
        return Iterations(self.program(backend), *how)

    def program(self, backend: str) -> Callable[..., tuple]:
        return backends.program("loop", backend, self._instructions, [*self._begins, *self.outside], self._results, {})


class Iteration:
    """One iteration as it runs, recorded on the tape.

    Attributes
    ----------
    found : list of Tensor
        What it gives: the next state, and results.
    fits : bool
        Whether every iteration can be like this one, as far as one can tell from it.
    """

    def __init__(self, tracer: Any, step: Callable[[list], list], given: list[Tensor]) -> None:
        tape = tracer.tape
        self.at, begun = len(tape.instructions), next_number()
        self.begins = [x._array.value for x in given]
        gradients = [x._grad for x in tracer.inputs if isinstance(x, Tensor)]
        self.found = step(given)
        self.instructions = tape.instructions[self.at :]
        self.fits = (
            tape.open
            and len({id(value) for value in self.begins}) == len(self.begins)
            and all([isinstance(x, Tensor) and type(x._array) is Traced for x in self.found])
            and not any([i.kind in (READ, SHAPE, DRAW) for i in self.instructions])
            and not any([v.memory.number < begun for i in self.instructions for v in replay.written_by(i)])
            and all([a is b._grad for a, b in zip(gradients, _tensors(tracer.inputs), strict=True)])
        )
        self.results = [x._array.value for x in self.found] if self.fits else []

    def like(self, other: Iteration) -> bool:
        """Return whether two iterations have equal instructions."""
        pairs = dict(zip([id(value) for value in self.begins], other.begins, strict=True))
        return (
            other.fits
            and len(self.instructions) == len(other.instructions)
            and len(self.results) == len(other.results)
            and all([_alike(a, b, pairs) for a, b in zip(self.instructions, other.instructions, strict=True)])
            and all([_same(a, b, pairs) for a, b in zip(self.results, other.results, strict=True)])
        )


class Body(Iteration):
    """One more iteration, on arrays of its own, cut out of the tape.

    Attributes
    ----------
    given : list of Tensor
        What it begins with.
    dense : list of Traced
        What it gives, in the order of the axes.
    tensors : list of Tensor
        The tensors from outside that it uses.
    edges : list
        Where gradients leave it, beside to what it begins with.
    """

    def __init__(self, tracer: Any, step: Callable[[list], list], arrays: list, records: list[bool]) -> None:
        tape, outer = tracer.tape, tracer.used
        self.born, self._sequence = next_number(), next_sequence()
        self.given = [wrap(stand_in(array, tape)) for array in arrays]
        for tensor, record in zip(self.given, records, strict=True):
            tensor._requires_grad = record
        used = tracer.used = []
        try:
            super().__init__(tracer, step, self.given)
        finally:
            tracer.used = outer
            if outer is not None:
                outer.extend(used)
        if self.fits:
            self.dense = [recorded(METHOD, "copy", (x._array, "C"), {}) for x in self.found]
            self.copying = tape.instructions[self.at + len(self.instructions) :]
            self.tensors = [x for x in used if type(x._array) is Traced and self._is_outside(x)]
            self.edges = list(self._leaving())
        del tape.instructions[self.at :]

    def let_go(self) -> None:
        """Drop all arrays of this iteration."""
        self.given, self.found, self.dense = [], [], []

    def _is_outside(self, tensor: Tensor) -> bool:
        return tensor._array.value.memory.number < self.born

    def _leaving(self) -> Iterator[tuple]:
        """Return the edges from the nodes of this iteration to others, each once."""
        seen: set[tuple[int, int]] = set()
        waiting = [edge_of(x) for x in self.found]
        while waiting:
            edge = waiting.pop()
            if edge is None or (id(edge[0]), edge[1]) in seen:
                continue
            node = edge[0]
            seen.add((id(node), edge[1]))
            if isinstance(node, AccumulateGrad):
                if self._is_outside(node.variable):
                    yield edge
            elif node._seq < self._sequence:
                yield edge
            else:
                waiting.extend(node._edges)


def _tensors(things: list) -> list[Tensor]:
    return [x for x in things if isinstance(x, Tensor)]


def stand_in(array: np.ndarray, tape: Tape) -> Traced:
    """Return a new contiguous array of the program with the values of ``array``, as input of an iteration."""
    values = np.array(array, order="C")
    return Traced(values, Value(values, Memory(values.__array_interface__["data"][0], external=True)), tape)


def _alike(a: Instruction, b: Instruction, pairs: dict[int, Value]) -> bool:
    """Return whether two instructions are equal, and map the results of the first to those of the second."""
    loop = getattr(a.function, "__self__", a.function)  # of the backward: a method of the loop
    same = loop.like(getattr(b.function, "__self__", b.function)) if hasattr(loop, "like") else a.function == b.function
    if not same or a.kind != b.kind or not _same((a.args, a.kwargs), (b.args, b.kwargs), pairs):
        return False
    if [(x.shape, x.dtype) for x in a.gives] != [(x.shape, x.dtype) for x in b.gives]:
        return False
    pairs.update(zip([id(x) for x in a.gives], b.gives, strict=True))
    return True


def _same(a: Any, b: Any, pairs: dict[int, Value]) -> bool:
    """Return whether two arguments of instructions agree; ``pairs`` maps values of one iteration to the other's."""
    if type(a) is not type(b):
        return False
    if type(a) is Value:
        known = pairs.get(id(a))
        if known is None and a is not b and a.constant is not None and b.constant is not None:
            known = pairs[id(a)] = b  # an array that both iterations make, of the same numbers
            return _same(a.constant, b.constant, pairs)
        return (a if known is None else known) is b
    if isinstance(a, np.ndarray):
        return a.shape == b.shape and a.dtype == b.dtype and a.tobytes() == b.tobytes()
    if isinstance(a, (tuple, list)):
        return len(a) == len(b) and all([_same(x, y, pairs) for x, y in zip(a, b, strict=True)])
    if isinstance(a, dict):
        return a.keys() == b.keys() and all([_same(a[key], b[key], pairs) for key in a])
    return repr(a) == repr(b) if isinstance(a, (float, complex)) else bool(a == b)  # 0.0 is not -0.0, NaN is NaN
