"""Tracing: the function runs unchanged on tensors whose arrays record the operations on them.

Every tensor that the function can reach takes part in the trace: those of its arguments and dependencies get a traced
array before the run, and their own array back afterwards. So a traced call computes the same, returns the same tensors,
and has the same effects as any call.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .. import modes
from .._tensor.dtypes import result_dtype
from .._tensor.tensor import Tensor, wrap
from ..arrays.protocol import becoming
from ..arrays.traced.array import Traced, constant, plain, taken
from ..arrays.traced.number import OPERAND_OPS, TRACED, is_traced, read_numbers
from ..arrays.traced.tape import DRAW, Memory, Tape, Value
from ..autograd.node import edge_of
from ..ops.table import Op
from . import loops
from .backward import InputBackward
from .rerun import Rerun, stream, version

_SLOTS = ("_edge", "_requires_grad", "_view", "_extra")


class Untraceable(Exception):
    """Raised with the reason, and the line, why a function cannot be compiled."""

    def __init__(self, reason: str, where: tuple[str, int] | None = None, retry: bool = False) -> None:
        super().__init__(reason)
        self.reason, self.where, self.retry = reason, where, retry


class Tracer:
    """One traced run of a function.

    Attributes
    ----------
    tape : Tape
        What was written down.
    tensors : list of Tensor
        What the function can reach, each with its state before the run.
    """

    def __init__(self, inputs: list[Any], backend: str, numbers: dict[int, tuple[int, type]] | None = None) -> None:
        self.tape = Tape(keep=True)
        self._varying = numbers or {}  # by leaf: the input that holds it, and its type
        self.numbers = bool(numbers)  # whether there are traced numbers
        self.backend = backend
        self.used: list[Tensor] | None = None  # the tensors that ops use, as long as somebody wants to know
        self.inputs = inputs
        self.containers: set[int] = set()  # lists and dictionaries from outside, by id
        self.about_grads: set[int] = set()  # tensors that were asked for their gradient, by id
        self.values: list[Value] = []
        self.traced: list[Traced] = []
        # Whether some of their memory overlaps, and nothing says where.
        self._overlap = False
        self._memories: list[tuple[Any, Memory]] = []
        for thing in inputs:
            array = thing._array if isinstance(thing, Tensor) else thing
            value = Value(array, self._memory(array))
            self.values.append(value)
            self.traced.append(Traced(array, value, self.tape))
        self._known = {id(thing): k for k, thing in enumerate(inputs)}
        self._before: list[Any] = []
        self._copies: list[np.ndarray] = []
        self.drawn: dict[Any, tuple] = {}  # generators, and where they were before anything was drawn
        self.settings: list[Callable[[], str]] = []  # what gives settings of the process that it has looked at
        self.outputs: list[Value] = []  # what the function gives
        self.results: list[Tensor] = []  # the tensors of these, which hold the arrays of this run
        self.saved: list[np.ndarray | None] = []  # what its backward reads beside inputs

    def _memory(self, array: np.ndarray) -> Memory:
        root: Any = array
        while getattr(root, "base", None) is not None and hasattr(root.base, "__array_interface__"):
            root = root.base
        for known, memory in self._memories:
            if known is root:
                return memory
        self._overlap |= any([np.may_share_memory(known, root) for known, _ in self._memories])
        address = root.__array_interface__["data"][0]
        memory = Memory(address, external=True)
        self._memories.append((root, memory))
        return memory

    # --- before and after -------------------------------------------------------------------------

    def begin(self) -> None:
        """Replace the tensors' arrays by traced ones, and end their history there."""
        if modes.current().grad:  # a derivative may have the function run again
            self._copies = [traced.values.copy() for traced in self.traced]
        for thing, traced in zip(self.inputs, self.traced, strict=True):
            if isinstance(thing, Tensor):
                edge_of(thing)  # of a view: what its base has become since
                slots = [getattr(thing, name) for name in _SLOTS]
                edge = thing._edge
                if edge is not None and thing.requires_grad:
                    edge = (InputBackward(thing, self._passed), 0)
                before = (*slots, _hooks(thing), thing._grad, version(thing), dict(thing.__dict__), edge)
                self._before.append(before)  # first: an interrupt may come after it
                thing._array = traced
                thing._edge = edge
            else:
                self._before.append(None)

    def _passed(self) -> None:
        self.tape.fail("a backward inside goes on into the graph outside")

    def end(self) -> None:
        """Restore the tensors' own arrays."""
        for thing, traced, before in zip(self.inputs, self.traced, self._before, strict=False):
            if not isinstance(thing, Tensor):
                continue
            if thing._array is traced:
                thing._array = traced.values
            elif type(thing._array) is Traced:
                thing._array = thing._array.values
            if thing._edge is before[-1]:
                thing._edge = before[0]
            if thing._grad is not None and type(thing._grad._array) is Traced:
                thing._grad._array = thing._grad._array.values
        self._before.clear()  # it leads to nodes that lead here

    def run(self, function: Callable[[], Any]) -> Any:
        """Run ``function`` so that it is traced."""
        outside = modes.current()
        inside = outside.replace(tracing=self)
        creating = becoming.get()
        try:
            becoming.set(self._became)
            modes._set(inside)
            return function()
        finally:
            try:
                now = modes._set(outside).old_value
            finally:
                becoming.set(creating)
            if not modes.alike(now, inside):
                self.tape.fail("it changes a mode and leaves it changed")
                modes.keep(now, outside, "tracing")

    def _became(self, array: Any) -> Any:
        return constant(array, self.tape) if type(array) is np.ndarray and self.tape.open else array

    # --- what the run asks ------------------------------------------------------------------------

    def look(self, values: Any) -> None:
        """Check the operands of an op: a tensor or array that is not known to the trace cannot be replayed."""
        for value in values:
            if isinstance(value, Tensor):
                if self.used is not None:
                    self.used.append(value)
                if type(value._array) is np.ndarray and self.tape.open:
                    self.tape.fail(
                        "a tensor is used that was found neither among the arguments nor in what the function refers to"
                    )
            elif type(value) in (list, tuple):
                self.look(value)

    def operands(self, op: Op, args: tuple, kwargs: dict) -> tuple[tuple, dict]:
        """Return the arguments of an op that is about to run, with arrays or plain values for traced numbers."""
        self.look((*args, *kwargs.values()))
        if not self.numbers:
            return args, kwargs
        beside = list(args)
        for place, value in enumerate(args):
            if is_traced(value):
                beside[place] = self._operand(op, args, place)
            elif type(value) in (tuple, list):
                beside[place] = read_numbers(value)
        return tuple(beside), {name: read_numbers(value) for name, value in kwargs.items()}

    def _operand(self, op: Op, args: tuple, place: int) -> Any:
        """Return the replacement of a traced number among an op's arguments: a 0-d tensor where that gives the same
        result.
        """
        number = args[place]
        if not self.tape.open or op.name not in OPERAND_OPS or place > 1 or len(args) < 2:
            return number.read()
        other = args[1 - place]
        array = other._array if isinstance(other, Tensor) else other
        if type(array) is not Traced:
            return number.read()
        if number.weak:
            dtype = result_dtype((array, number.kind()))
        else:
            # A scalar of NumPy's does not change the dtype of floating-point tensors.
            dtype = array.dtype
        if dtype.kind not in "fc" or dtype.itemsize < 4:
            return number.read()
        return wrap(number.as_dtype(dtype))

    def depends_on(self, setting: Callable[[], str]) -> None:
        """Record that the function has read a setting of the process: a replay compares it."""
        if setting not in self.settings:
            self.settings.append(setting)

    def behind(self, tensor: Tensor) -> None:
        """Check a request for the base of a tensor: that of a view from outside may be another at the next call."""
        memory = tensor._array.value.memory if type(tensor._array) is Traced else None
        if memory is not None and memory.external:
            for thing, value in zip(self.inputs, self.values, strict=True):
                if value.memory is memory and isinstance(thing, Tensor) and thing._view is not None:
                    self.tape.fail("it looks at the base of a view, or at its place in that")

    def array(self, array: np.ndarray) -> Any:
        """Return a NumPy array that is used beside tensors, as an input if it is one."""
        k = self._known.get(id(array))
        return array if k is None or not self.tape.open else self.traced[k]

    def leaf(self, k: int, leaf: Any) -> Any:
        """Return the value that the function receives for a leaf of its arguments."""
        if k in self._varying:
            place, kind = self._varying[k]
            return TRACED[kind](self.traced[place], frozenset((k,)))
        return self.array(leaf) if type(leaf) is np.ndarray else leaf

    def source(self, generator: Any) -> Any:
        """Return the source of random numbers for this run and every replay."""
        self.drawn.setdefault(generator, stream(generator))
        return _Source(generator, self) if self.tape.open else generator._rng

    def state_of(self, generator: Any, found: np.ndarray) -> Any:
        """Return the state of a generator, which every run reads."""
        if not self.tape.open:
            return found
        self.drawn.setdefault(generator, stream(generator))
        value = Value(found)
        self.tape.add(DRAW, (generator, "_state_array"), (), {}, value)
        return Traced(found, value, self.tape)

    def state_is_set(self, generator: Any, new: Any) -> Any:
        """Record that a generator's state is set, in every run to that of the run."""
        self.drawn.setdefault(generator, stream(generator))
        if type(new) is Traced and self.tape.open:
            self.tape.add(DRAW, (generator, "_set_state_array"), (new.value,), {}, ())
        elif self.tape.open:
            self.tape.fail("it sets the state of a generator to one from outside")
        return plain(new)

    def before(self, used: list[int], rerun: Rerun) -> tuple:
        """Return the state that ``rerun`` keeps of this run, whose inputs are the ``used`` ones."""
        return list(self.drawn.values()), [self._copies[used[k]] for k in rerun.writes]

    def scan(self, *loop: Any) -> loops.Begun:
        """Trace a loop over the elements of tensors: as one instruction, or its beginning (:mod:`.loops`)."""
        return loops.scan(self, *loop)

    def repeat(self, *loop: Any) -> loops.Begun:
        """Trace a loop that ends when its test fails, likewise."""
        return loops.repeat(self, *loop)

    # --- what has changed -------------------------------------------------------------------------

    def changes(self) -> tuple[list, list] | str:
        """Return the changes of tensors from outside, (number, writes) and (number, new gradient), or the reason why
        they cannot be replayed.
        """
        writes, grads = [], []
        counted: set[int] = set()  # views share their base's counter
        for k, (thing, traced, before) in enumerate(zip(self.inputs, self.traced, self._before, strict=True)):
            if not isinstance(thing, Tensor):
                continue
            if thing._array is not traced:
                return "a tensor from outside is given other memory"
            *slots, hooks, grad, count, attributes, edge = before
            if thing._view is not None:
                edge_of(thing)  # what is written through another view gives the base a history first
            now = [getattr(thing, name) for name in _SLOTS]
            if now[0] is not edge or any(a is not b for a, b in zip(now[1:], slots[1:], strict=True)):
                return "a tensor from outside gets a history, or another state, by what is written to it"
            if _hooks(thing) != hooks:
                return "it registers hooks on a tensor from outside"
            if thing.__dict__.keys() != attributes.keys() or any(
                [value is not attributes[name] for name, value in thing.__dict__.items()]
            ):
                raise Untraceable("it sets an attribute of a tensor from outside", retry=True)
            if version(thing) != count and id(thing._version_counter) not in counted:
                counted.add(id(thing._version_counter))
                writes.append((k, version(thing) - count))
            if thing._grad is not grad:
                grads.append((k, thing._grad))
        if self._overlap and any([value.memory.written for value in self.values]):
            return "it writes to memory that several arrays look at, none of which is a view of another"
        return writes, grads


def _hooks(tensor: Tensor) -> tuple | None:
    extra = tensor._extra
    return None if extra is None else (tuple(extra.hooks), tuple(extra.post_hooks), extra.retains, extra.grad_dtype)


class _Source:
    """The stream of a generator: every run draws from it again."""

    def __init__(self, generator: Any, tracer: Tracer) -> None:
        self._generator = generator
        self._tracer = tracer

    def __getattr__(self, name: str) -> Any:
        method = getattr(self._generator._rng, name)
        if not callable(method):
            self._tracer.tape.fail(f"the state of a generator is looked at ({name})")
            return method

        def draw(*args: Any, **kwargs: Any) -> Any:
            tape = self._tracer.tape
            try:
                result = method(*plain(args), **plain(kwargs))
            except ValueError:
                tape.fail("drawing raises an error, and it goes on")
                raise
            if not tape.open:
                return result
            if not isinstance(result, (np.ndarray, np.generic, float, int)):
                tape.fail(f"a generator gives no array ({name})")
                return result
            array = np.asarray(result)
            value = Value(array)
            value.scalar = not isinstance(result, np.ndarray)
            inputs = (tuple(taken(a, tape) for a in args), {k: taken(v, tape) for k, v in kwargs.items()})
            tape.add(DRAW, (self._generator, name), *inputs, value)
            return Traced(array, value, tape)

        return draw
