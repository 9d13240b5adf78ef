"""The backward of a compiled call: one node, whose backward is a program of its own."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from .. import modes
from .._tensor.tensor import Tensor, wrap
from ..arrays.fp_errors import reports_errors
from ..arrays.traced.tape import Value
from ..autograd.api import grad
from ..autograd.node import Freed, Node, check_not_freed, edge_of, next_sequence
from ..autograd.saved import output_entry, saved_entry, unpack_raw
from ..autograd.versions import caller
from . import backends, replay
from .rerun import Rerun


class InputBackward(Node):
    """The end of the graph that a function records beneath a trace: gradients continue from here to the input's own
    history.
    """

    __slots__ = ("_passed",)

    def __init__(self, tensor: Tensor, passed: Callable[[], None]) -> None:
        self._shape, self._dtype = tensor._array.shape, tensor._array.dtype
        self._edges = (edge_of(tensor),)
        self._saved = ()
        self._extra = None
        self._seq = next_sequence()
        self._passed = passed

    def name(self) -> str:
        edge = self._edges[0] if self._edges else None
        return "InputBackward" if edge is None else edge[0].name()

    def _pull_general(self, grads: list, record: bool, wanted: Any = None) -> Any:
        self._passed()
        return grads


@contextmanager
def hooks_hidden(inputs: list[Tensor]) -> Iterator[None]:
    """Context in which leaves have no hooks: these run when a gradient arrives outside of tracing."""
    hidden = [(x, x._extra) for x in inputs if x._edge is None and x._extra is not None]
    try:
        for x, _ in hidden:
            x._extra = None
        yield
    finally:
        for x, extra in hidden:
            x._extra = extra


@contextmanager
def cut_off(inputs: list[Tensor]) -> Iterator[None]:
    """Context in which a backward ends at ``inputs``: it gives the gradients of what was computed from them."""
    ends = [x._edge[0] for x in inputs if x._edge is not None and type(x._edge[0]) is InputBackward]
    edges = [node._edges for node in ends]
    try:
        for node in ends:
            node._edges = ()
        yield
    finally:
        for node, kept in zip(ends, edges, strict=True):
            node._edges = kept


class BackwardProgram:
    """The backward from some results of a function: as traced instructions, and as a program on first use.

    Attributes
    ----------
    cotangents, leaving : list of Value
        The gradients that come, and those that are given; ``given`` says which inputs they go to.
    """

    def __init__(self, instructions: list, cotangents: list[Value], gradients: list[Value | None]) -> None:
        self.cotangents = cotangents
        self.strides = [value.strides for value in cotangents]
        self.leaving = [g for g in gradients if g is not None]
        self.given = [g is not None for g in gradients]
        self.instructions = replay.live(instructions, self.leaving)
        self.run: Callable[..., tuple]

    def build(self, backend: str, saved: list[Value], facts: dict) -> None:
        """Compile the program, whose inputs are the ``saved`` values and the incoming gradients."""
        self.run = backends.program(
            "backward", backend, self.instructions, [*saved, *self.cotangents], self.leaving, facts
        )

    def later(self, backend: str, saved: list[Value]) -> None:
        """Compile the program when it is first run."""

        def first(*arrays: Any) -> tuple:
            self.build(backend, saved, {})
            return self.run(*arrays)

        self.run = first

    def back(self, arrays: list, grads: list) -> list:
        """Return the gradients of the inputs, None where none flows."""
        for g, value, strides in zip(grads, self.cotangents, self.strides, strict=True):
            arrays.append(g if g.strides == strides else _laid_out(g, value.shape, strides))
        given = self.run(*arrays)
        if len(given) == len(self.given):
            return given  # type: ignore[return-value]  # a tuple does as well
        rest = iter(given)
        return [next(rest) if there else None for there in self.given]


class Derivative:
    """The backward of all calls of one specialization.

    Attributes
    ----------
    rerun : Rerun
        How the function is run once more.
    backwards : list of BackwardProgram
        Back from all results together; then, if there are several, from each alone.
    positions : list of int
        Where what is saved is found: among what the forward gives, or (negative) among the inputs.
    external, results : list of int
        The inputs and the results whose memory the backward reads: they may not be written to in between.
    inputs : list of int
        The inputs that gradients go to.
    outputs : list
        Shape and dtype of each result that has a history; ``pick`` finds them in what the function gives.
    calls : bool
        Whether the backward calls Python code of the user, a Function's backward or a hook: what that depends on may
        have changed since the call.
    """

    def __init__(
        self,
        rerun: Rerun,
        backwards: list[BackwardProgram],
        positions: list[int],
        external: list[int],
        results: list[int],
        inputs: list[int],
        outputs: list[tuple],
        pick: Callable[[Any], list[Tensor]],
        calls: bool,
    ) -> None:
        self.rerun, self.backwards, self.pick = rerun, backwards, pick
        self.positions, self.external, self.inputs, self.outputs = positions, external, inputs, outputs
        self.results, self.calls = results, calls

    def backward_for(self, grads: list) -> BackwardProgram | None:
        """Return the backward for the gradients that have arrived: results without a gradient contribute none, rather
        than zero.
        """
        if all([g is not None for g in grads]):
            return self.backwards[0]
        there = [k for k, g in enumerate(grads) if g is not None]
        return self.backwards[1 + there[0]] if len(there) == 1 and len(self.backwards) > 1 else None

    def attach(
        self, results: list[Tensor], recorded: list[int], found: tuple, arrays: tuple, call: tuple, before: Any
    ) -> None:
        """Give the ``recorded`` ones of ``results``, of a call with the arguments ``call``, a node.

        ``before`` is what the call has changed, if it changes anything (:class:`.rerun.Rerun`).
        """
        node = object.__new__(CompiledBackward)
        node._edges = tuple([edge_of(found[k]) for k in self.inputs])
        node._outputs = tuple(self.outputs)
        entries = tuple([saved_entry(found[k]) for k in self.external])
        if self.results:
            entries += tuple([output_entry(results[k]) for k in self.results])
        saved = tuple([found[-1 - at] if at < 0 else arrays[at] for at in self.positions])
        node._saved = (entries, saved, found, call, before, self.rerun.versions(found))
        node._extra = None
        node._derivative = self
        node._seq = next_sequence()
        for number, k in enumerate(recorded):
            results[k]._edge = (node, number)
            results[k]._requires_grad = True


class CompiledBackward(Node):
    """The node of a compiled call."""

    __slots__ = ("_derivative",)

    _derivative: Derivative

    def name(self) -> str:
        return "CompiledFunctionBackward"

    def _vjp(self, g: Any, wanted: Any, freed: Any) -> Any:
        """Return pairs of edge and gradient on NumPy's arrays: the fast path."""
        given = self._by_program(g if type(g) is list else [g])
        if given is None:
            return None
        if freed is not None:
            self._saved = freed
        return [
            (edge, grad)
            for edge, grad in zip(self._edges, given, strict=True)
            if edge is not None and (wanted is None or edge[0] in wanted)
        ]

    def _pull_general(self, grads: list, record: bool, wanted: Any = None) -> Any:
        given = None if record else self._by_program(grads)
        return self._by_function(grads, record) if given is None else given

    def _by_program(self, grads: list) -> Any:
        """Return the gradients by the compiled program; None if there is none for these."""
        entries, saved, found, call, *_ = check_not_freed(self)
        derivative = self._derivative
        self._check(entries)
        if derivative.calls and not derivative.rerun.holds(found, call):
            return None
        if any([g is not None and not isinstance(g, (np.ndarray, np.generic)) for g in grads]) or reports_errors():
            return None
        backward = derivative.backward_for(grads)
        if backward is None:
            return None
        arrays = [x._array if isinstance(x, Tensor) else x for x in saved]
        coming = [np.asarray(g) for g in grads if g is not None]
        try:
            recorder = modes.current().profiler
            if recorder is None:
                return backward.back(arrays, coming)
            with backends.watched(recorder):
                return backward.back(arrays, coming)
        except replay.Mismatch:
            return None

    def _check(self, entries: tuple) -> None:
        """Raise if an input or a result that the backward reads was written since."""
        external = self._derivative.external
        for k, entry in enumerate(entries):
            which = (
                f"input {external[k]}" if k < len(external) else f"result {self._derivative.results[k - len(external)]}"
            )
            unpack_raw(entry, self, which, k >= len(external))

    def _by_function(self, grads: list, record: bool) -> list:
        """Return the gradients by running the function again: recorded, over other kinds of arrays, or where a value
        that the backward reads has changed.
        """
        entries, _, found, call, before, versions = check_not_freed(self)
        derivative = self._derivative
        self._check(entries)
        args, kwargs = derivative.rerun.arguments(found, call, versions)
        inputs = [found[k] for k in derivative.inputs]
        edges = [x._edge for x in inputs]
        with modes.enable_grad(), hooks_hidden(inputs):
            try:
                for x in inputs:
                    if x._edge is not None:
                        x._edge = (InputBackward(x, _nothing), 0)
                cut = [x._edge for x in inputs]
                with derivative.rerun.as_then(found, before):
                    outputs = derivative.pick(derivative.rerun.function(*args, **kwargs))
                outputs = [y for y, g in zip(outputs, grads, strict=True) if g is not None]
                cotangents = [
                    g if isinstance(g, Tensor) else wrap(np.asarray(g) if isinstance(g, np.generic) else g)
                    for g in grads
                    if g is not None
                ]
                with cut_off(inputs):
                    given = grad(outputs, inputs, cotangents, create_graph=record, allow_unused=True)
            finally:
                for x, edge, now in zip(inputs, edges, cut, strict=True):
                    if x._edge is now:
                        x._edge = edge
        return [g if record or g is None else g._array for g in given]

    def _release(self, task: Any) -> None:
        self._saved = task.free()


def free(result: Tensor) -> None:
    """Give a result the history of one whose graph was freed by a backward inside the function."""
    node = object.__new__(CompiledBackward)
    node._edges, node._outputs, node._extra = (), ((result._array.shape, result._array.dtype),), None
    node._saved, node._seq = Freed(caller()), next_sequence()
    node._derivative = None  # type: ignore[assignment]  # never read: what it has saved is freed
    result._edge, result._requires_grad = (node, 0), True


def _laid_out(array: np.ndarray, shape: tuple, strides: tuple) -> np.ndarray:
    """Return a gradient with the strides that the program expects."""
    order = sorted(range(len(shape)), key=lambda d: -strides[d])
    laid = np.empty([shape[d] for d in order], array.dtype).transpose(np.argsort(order))
    laid[...] = array
    return laid


def _nothing() -> None:
    """No-op callback."""
