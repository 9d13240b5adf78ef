"""Executables: programs with memory to compute in, so that several threads may run one at once.

An executable owns a small arena. A large one is borrowed for the length of a call, out of blocks that all programs
share: their number is that of the programs that run at the same time.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

from ...arrays.traced import tape
from ...arrays.traced.tape import Instruction, Value, mapped
from ..replay import Mismatch, draw, view_at
from . import runtime
from .ir import CONST, INPUT
from .lower import ViewOf

if TYPE_CHECKING:
    from .program import Iterations, Program

_OWN = 1 << 20  # bytes that are kept by an executable
_ALIGN = 64


class ArenaOffset(int):
    """An offset into the arena."""


class Segment:
    """A part of the instruction table, or a library call between two such parts."""

    __slots__ = ("table", "relocations", "names", "call")

    def __init__(self) -> None:
        self.table: list[int] = []
        self.relocations: list[tuple[int, int, int]] = []
        self.names: list[str] = []  # of its instructions, for people
        self.call: Any = None

    def alone(self) -> Iterator[Segment]:
        """Yield each instruction as a segment of its own."""
        at = 0
        for name in self.names:
            end = at + 2 + self.table[at + 1]
            one = Segment()
            one.table, one.names = [*self.table[at:end], 0], [name]
            one.relocations = [(where - at, k, off) for where, k, off in self.relocations if at <= where < end]
            yield one
            at = end


class _Blocks:
    """The idle shared blocks: as many as programs have run at once, soon all as large as the largest needs.

    The list is changed in single steps, so that threads and forks always find it consistent.
    """

    def __init__(self) -> None:
        self._free: list[np.ndarray] = []

    def take(self, size: int) -> np.ndarray:
        """Return a block of at least ``size`` bytes; one that is too small is freed for it."""
        try:
            block = self._free.pop()
            if len(block) >= size:
                return block
            del block  # before there is another
        except IndexError:
            pass  # there is none
        return np.empty(size, np.uint8)

    def give_back(self, block: np.ndarray) -> None:
        self._free.append(block)

    def clear(self) -> None:
        self._free.clear()


blocks = _Blocks()


class Executable:
    """A program with memory to compute in, and its table with the addresses of that memory."""

    def __init__(self, program: Program) -> None:
        self.program = program
        self._size = program.schedule.bytes + _ALIGN
        self._lent = self._size > _OWN
        self._memory: np.ndarray | None = None
        # Where the arena begins, and its distance from the beginning of its block.
        self._start = self._skipped = 0
        self._tables: list[tuple[np.ndarray, np.ndarray]] = []  # and the indices of arena offsets in them
        self.entries = []
        self.calls = []
        self._held = []
        for step in self._segments():
            table = np.array([int(t) & 0xFFFFFFFFFFFFFFFF for t in step.table], np.uint64)
            places = [k for k, t in enumerate(step.table) if isinstance(t, ArenaOffset)]
            self._tables.append((table, np.array(places, np.intp)))
            function, held = self._entry(table, step.relocations)
            self.entries.append(function)
            self._held.append(held)
            self.calls.append(None if step.call is None else self._prepared(step.call))
        self.only = self.entries[0] if len(self.entries) == 1 else None
        if not self._lent:
            self._use(np.empty(self._size, np.uint8))

    def borrow(self) -> None:
        """Take an arena for one call."""
        if self._lent:
            self._use(blocks.take(self._size))

    def give_back(self) -> None:
        """Return the arena at the end of a call."""
        if self._lent and self._memory is not None:
            blocks.give_back(self._memory)
            self._memory = None

    def _use(self, memory: np.ndarray) -> None:
        begin = memory.ctypes.data
        start = -(-begin // _ALIGN) * _ALIGN
        self._memory, self._skipped = memory, start - begin
        if start != self._start:
            by = np.uint64((start - self._start) & 0xFFFFFFFFFFFFFFFF)
            for table, places in self._tables:
                table[places] += by
            self._start = start

    def _segments(self) -> Iterable[Segment]:
        return self.program._steps

    def _entry(self, table: np.ndarray, relocations: list[tuple[int, int, int]]) -> tuple[Any, Any]:
        return runtime.entry(table, np.array(relocations or [(0, 0, 0)], np.int64), len(relocations))

    def _where(self, node: int) -> Any:
        """Return the memory of a node: a part of the arena, the bytes of a constant, or ``(number, offset)`` of an
        array from outside or an output.
        """
        program = self.program
        schedule = program.schedule
        root = schedule.root[node]
        made = schedule.nodes[root]
        if made.op == INPUT:
            return made.attr
        for n, k in program._outputs.items():
            if schedule.root[n] == root:
                return (k, 0)
        if made.op == CONST:
            return program._constants[root].view(np.uint8)
        return slice(schedule.address[root], schedule.address[root] + prod(made.shape) * made.dtype.itemsize)

    def _bytes(self, memory: Any) -> np.ndarray:
        """Return the bytes of a memory found by :meth:`_where` that is in the arena or a constant."""
        if not isinstance(memory, slice):
            return memory
        assert self._memory is not None
        return self._memory[self._skipped + memory.start : self._skipped + memory.stop]

    def _prepared(self, call: int) -> Callable[[Sequence], None]:
        """Return a library call, bound to arrays over the program's memory."""
        schedule = self.program.schedule
        node = schedule.nodes[call]
        instruction, args, kwargs, _ = node.attr
        targets: list[tuple] = []
        for i, other in enumerate(schedule.nodes):
            if other.op == "given" and other.operands[0][0] == call:
                targets.append((other.attr, self._where(i), other.dtype, other.shape))
        operands = [self._where(operand[0]) for operand in node.operands]

        def placed(leaf: Any, arrays: Sequence) -> Any:
            if not isinstance(leaf, ViewOf):
                return leaf
            memory = operands[leaf.operand]
            if isinstance(memory, tuple):
                number, low = memory
                return view_at(arrays[number], low + leaf.offset, leaf.shape, leaf.strides, leaf.dtype)
            return np.ndarray(leaf.shape, leaf.dtype, self._bytes(memory), leaf.offset, leaf.strides)

        shapes = [value.shape for value in tape.leaves(instruction.results)]

        def run(arrays: Sequence) -> None:
            given = mapped(args, lambda leaf: placed(leaf, arrays))
            named = mapped(kwargs, lambda leaf: placed(leaf, arrays))
            result = _called(instruction, given, named)
            flat = _flat(result, instruction.results)
            # of results that nothing reads, too: the function may have looked at their shapes
            if any([np.shape(array) != shape for array, shape in zip(flat, shapes, strict=True)]):
                raise Mismatch
            for (k, order), memory, dtype, shape in targets:
                array = np.asarray(flat[k])
                if isinstance(memory, tuple):
                    place = arrays[memory[0]].reshape(shape)
                else:
                    place = np.ndarray(shape, dtype, self._bytes(memory))
                place[...] = array.transpose(order)

        return run

    def run(self, everything: tuple) -> Any:
        """Run the segments of the table, and the calls between them."""
        for function, call in zip(self.entries, self.calls, strict=True):
            if not function(*everything):
                raise Mismatch
            if call is not None:
                call(everything)


class Watched(Executable):
    """An executable that is run instruction by instruction."""

    def _segments(self) -> Iterable[Segment]:
        self._names: list[str] = []
        for step in self.program._steps:
            for one in step.alone():
                self._names.append(one.names[0])
                yield one
            if step.call is not None:
                called = Segment()
                called.table, called.call = [0], step.call
                instruction = self.program.schedule.nodes[step.call].attr[0]
                self._names.append(f"call: {getattr(instruction.function, '__name__', instruction.function)}")
                yield called

    def run_for(self, recorder: Any, everything: tuple) -> None:
        """Run the program, with each instruction as an event."""
        for name, function, call in zip(self._names, self.entries, self.calls, strict=True):
            event = recorder.begin(name, "kernel")
            try:
                if not function(*everything):
                    raise Mismatch
                if call is not None:
                    call(everything)
            finally:
                recorder.end(event)


class LoopExecutable(Executable):
    """An executable with an arena of its own and arrays whose position advances."""

    def __init__(self, program: Program, iterations: Iterations) -> None:
        self._iterations = iterations
        self.control = np.zeros(2, np.int64)
        super().__init__(program)

    def _entry(self, table: np.ndarray, relocations: list[tuple[int, int, int]]) -> tuple[Any, Any]:
        moved = np.array([(*r, *self._iterations.moves[r[1]]) for r in relocations], np.int64)
        return runtime.loop(table, moved, len(relocations), self.control, self._iterations.flag)


def _called(instruction: Instruction, args: tuple, kwargs: dict) -> Any:
    kind, function = instruction.kind, instruction.function
    if kind == tape.CALL:
        return function(*args, **kwargs)
    if kind == tape.METHOD:
        return getattr(args[0], function)(*args[1:], **kwargs)
    if kind == tape.GETITEM:
        return args[0][args[1]]
    if kind == tape.DRAW:
        return draw(*function)(*args, **kwargs)
    args[0][args[1]] = args[2]  # SETITEM
    return ()


def _flat(result: Any, shape: Any) -> list:
    """Return the arrays of a result, in the order of its values."""
    if type(shape) is Value:
        return [result]
    if isinstance(shape, (tuple, list)) and shape:
        return [leaf for part, inner in zip(result, shape, strict=True) for leaf in _flat(part, inner)]
    return []
