"""A native program: from instructions to something that is called with arrays."""

from __future__ import annotations

import gc
import hashlib
import struct
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from math import prod
from threading import get_ident
from typing import Any

import numpy as np

from ...arrays.traced import tape
from ...arrays.traced.tape import Instruction, Value, mapped
from ..replay import Mismatch, draw, quietly, view_at
from . import runtime
from .clean import Cleaned
from .ir import CONST, FILL, INPUT, MATMUL, REDUCE, Node
from .kernels import written
from .lower import Lowering, NotNative, ViewOf
from .maths import Library
from .plans import plan_of, product_plan
from .schedule import Cluster, Schedule

_known: dict[tuple, str] = {}  # kernels by their plans
watching: dict[int, Any] = {}  # by thread: what takes a profile of the programs that run there
_SHOWN = 6  # ops in the name of a kernel
_FEW = 3  # kernels' nodes for each call that make a program worth it


class _Step:
    """A stretch of the table, or a call between two."""

    __slots__ = ("table", "relocations", "names", "call")

    def __init__(self) -> None:
        self.table: list[int] = []
        self.relocations: list[tuple[int, int, int]] = []
        self.names: list[str] = []  # of its instructions, for people
        self.call: Any = None

    def alone(self) -> Iterator[_Step]:
        """Each instruction as a stretch of its own."""
        at = 0
        for name in self.names:
            end = at + 2 + self.table[at + 1]
            one = _Step()
            one.table, one.names = [*self.table[at:end], 0], [name]
            one.relocations = [(where - at, k, off) for where, k, off in self.relocations if at <= where < end]
            yield one
            at = end


class Program:
    """Instructions as native code.

    Parameters
    ----------
    instructions : sequence of Instruction
    inputs, outputs : sequences of Value
        What it is called with, and what it gives.
    """

    def __init__(self, instructions: Sequence[Instruction], inputs: Sequence[Value], outputs: Sequence[Value]) -> None:
        collecting = gc.isenabled()
        gc.disable()  # nothing that is made here is garbage
        try:
            started = time.perf_counter()
            low = Lowering(instructions, inputs, outputs)
            cleaned = Cleaned(low.nodes, low.outputs, low.back)
            working = sum(node.op not in (INPUT, CONST, FILL) for node in cleaned.nodes)
            if low.calls and working < _FEW * low.calls:
                raise NotNative("most of it are calls of libraries")
            self.schedule = Schedule(cleaned)
            planned = time.perf_counter()
            self._link(len(inputs))
            self.facts = {
                "nodes": len(low.nodes), "cleaned": len(cleaned.nodes), "clusters": len(self.schedule.clusters),
                "calls": low.calls, "arena": self.schedule.bytes, "kernels": self._kernels,
                "planning": planned - started, "code": time.perf_counter() - planned,
            }  # fmt: skip
        finally:
            if collecting:
                gc.enable()

    # --- linking ----------------------------------------------------------------------------------

    def _link(self, many: int) -> None:
        schedule = self.schedule
        nodes = schedule.nodes
        library = Library()
        texts: dict[str, str] = {}
        self._kernels = 0
        work: list[tuple[str, Any, str]] = []  # what it is, what it is given, its name for people
        used: set[str] = set()
        for cluster in schedule.clusters:
            named = _named(cluster, nodes)
            if cluster.kind in ("tiny", "loop", "nest"):
                plan, given = plan_of(schedule, cluster)
                work.append((self._kernel(plan, texts, library), given, named))
                used.add(work[-1][0])
            elif cluster.kind == "product":
                i = cluster.members[0]
                if nodes[i].attr[-1] == "blas":
                    work.append(("blas", i, named))
                    continue
                plan, each = product_plan(schedule, i)
                name = self._kernel(plan, texts, library)
                used.add(name)
                work.extend([(name, given, named) for given in each])
            else:
                work.append((cluster.kind, cluster.members[0], named))
        self._kernels = len(used)
        runtime.functions(texts, library)
        self._constants = self._filled()
        self._outputs = {n: many + k for k, (n, *_) in enumerate(schedule.outputs)}
        self._steps = [_Step()]
        for what, rest, self._named in work:
            if what == "call":
                self._steps[-1].call = rest
                self._steps.append(_Step())
            elif what == "check":
                (a, _, _), (b, _, _) = nodes[rest].operands
                size = prod(nodes[rest].shape) * nodes[rest].dtype.itemsize
                self._instruction("dt_check", [(a, 0), (b, 0), size])
            elif what == "bytes":
                node = nodes[rest]
                source = node.operands[0]
                self._instruction("dt_copy", [(rest, 0), (source[0], 0), prod(node.shape) * node.dtype.itemsize])
            elif what == "blas":
                self._blas(rest)
            else:
                self._instruction(what, rest)
        for k, n, shape in schedule.back:
            size = prod(shape) * nodes[n].dtype.itemsize
            step = self._steps[-1]
            step.names.append("copy: to what is written")
            step.relocations.append((len(step.table) + 2, k, 0))
            step.table.extend([runtime.address("dt_copy"), 3, 0])
            self._argument(step, (n, 0))
            step.table.append(size)
        for step in self._steps:
            step.table.append(0)
        self._shapes = [(shape, dtype, order) for _, shape, dtype, order in schedule.outputs]
        self._turned = [
            None if order == sorted(order) else tuple(np.argsort(order)) for _, _, order in self._shapes
        ]  # fmt: skip
        self._free: list[_Instance] = []
        self._watched: list[_Watched] = []

    def _kernel(self, plan: tuple, texts: dict[str, str], library: Library) -> str:
        name = _known.get(plan)
        if name is None:
            name = f"k{hashlib.sha256(repr(plan).encode()).hexdigest()[:24]}"
            texts[name] = written(plan, name, library)
            _known[plan] = name
        return name

    def _filled(self) -> dict[int, np.ndarray]:
        return {
            i: np.ascontiguousarray(node.attr) for i, node in enumerate(self.schedule.nodes) if node.op == CONST
        }  # fmt: skip

    def _instruction(self, name: str, args: list) -> None:
        step = self._steps[-1]
        step.names.append(self._named)
        step.table.extend([runtime.address(name), len(args)])
        for argument in args:
            self._argument(step, argument)

    def _argument(self, step: _Step, argument: Any) -> None:
        """A number, or a pointer: to memory of the arena (a negative address until that is there), or outside."""
        if not isinstance(argument, tuple):
            step.table.append(argument)
            return
        node, offset = argument
        schedule = self.schedule
        root = schedule.root[node]
        made = schedule.nodes[root]
        further = offset * schedule.nodes[node].dtype.itemsize
        if made.op == INPUT:
            number, low = made.attr
            step.relocations.append((len(step.table), number, low + further))
            step.table.append(0)
        elif node in self._outputs or root in {schedule.root[n] for n in self._outputs}:
            number = next(k for n, k in self._outputs.items() if schedule.root[n] == root)
            step.relocations.append((len(step.table), number, further))
            step.table.append(0)
        elif made.op == CONST:
            step.table.append(self._constants[root].ctypes.data + further)
        else:
            step.table.append(_Arena(schedule.address[root] + further))

    def _blas(self, i: int) -> None:
        from .ir import indices

        node = self.schedule.nodes[i]
        batch, m, k, n, _ = node.attr
        a, b = node.operands
        double = node.dtype.itemsize == 8
        one = struct.unpack("<q", struct.pack("<d", 1.0) if double else struct.pack("<fi", 1.0, 0))[0]
        for q, (first, second) in enumerate(
            zip(indices(a[1], a[2][:-2], batch), indices(b[1], b[2][:-2], batch), strict=True)
        ):
            # BLAS goes by columns: the transposed product, of the transposed
            turn_b, lead_b = _turn(b[2][-2:], k, n)
            turn_a, lead_a = _turn(a[2][-2:], m, k)
            self._instruction(
                "dt_dgemm_call" if double else "dt_sgemm_call",
                [
                    (b[0], second),
                    (a[0], first),
                    (i, q * m * n),
                    ord(turn_b),
                    ord(turn_a),
                    n,
                    m,
                    k,
                    one,
                    lead_b,
                    lead_a,
                    0,
                    n,
                ],
            )

    # --- running ----------------------------------------------------------------------------------

    def __call__(self, *arrays: Any) -> tuple:
        """Run it: the outputs, in new arrays. Raises :class:`Mismatch` where a value is not what it was."""
        outputs = [np.empty(shape, dtype) for shape, dtype, _ in self._shapes]
        if watching and (recorder := watching.get(get_ident())) is not None:
            self._slowly(recorder, (*arrays, *outputs))
            return self._given(outputs)
        try:
            instance = self._free.pop()
        except IndexError:
            instance = _Instance(self)
        try:
            if instance.only is not None:
                if not instance.only(*arrays, *outputs):
                    raise Mismatch
            else:
                quietly(instance.run, (*arrays, *outputs))
        finally:
            self._free.append(instance)
        return self._given(outputs)

    def _given(self, outputs: list) -> tuple:
        for k, turned in enumerate(self._turned):
            if turned is not None:
                outputs[k] = outputs[k].transpose(turned)
        return tuple(outputs)

    def _slowly(self, recorder: Any, everything: tuple) -> None:
        """Run it instruction by instruction, each an event of a profile."""
        try:
            instance = self._watched.pop()
        except IndexError:
            instance = _Watched(self)
        try:
            quietly(instance.run_for, recorder, everything)
        finally:
            self._watched.append(instance)


class _Arena(int):
    """A place in the arena."""


def _turn(strides: tuple, rows: int, columns: int) -> tuple[str, int]:
    by_row, by_column = strides
    if by_column == 1 and (by_row >= columns or rows == 1):
        return "N", max(by_row, columns, 1)
    return "T", max(by_column, rows, 1)


class _Instance:
    """A program with memory of its own: several threads may run the program at once."""

    def __init__(self, program: Program) -> None:
        self.program = program
        schedule = program.schedule
        self.memory = np.empty(schedule.bytes + 64, np.uint8)
        start = -(-self.memory.ctypes.data // 64) * 64
        self.start = start
        self.entries = []
        self.calls = []
        self._held = []
        for step in self._stretches():
            table = np.array(
                [(int(t) + start if isinstance(t, _Arena) else t) & 0xFFFFFFFFFFFFFFFF for t in step.table], np.uint64
            )
            function, held = self._entry(table, step.relocations)
            self.entries.append(function)
            self._held.append(held)
            self.calls.append(None if step.call is None else self._prepared(step.call))
        self.only = self.entries[0] if len(self.entries) == 1 else None

    def _stretches(self) -> Iterable[_Step]:
        return self.program._steps

    def _entry(self, table: np.ndarray, relocations: list[tuple[int, int, int]]) -> tuple[Any, Any]:
        return runtime.entry(table, np.array(relocations or [(0, 0, 0)], np.int64), len(relocations))

    def _memory(self, node: int) -> Any:
        """The memory of a node: bytes of the arena, or the number of the array that it is."""
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
        size = prod(made.shape) * made.dtype.itemsize
        at = self.start - self.memory.ctypes.data + schedule.address[root]
        return self.memory[at : at + size]

    def _prepared(self, call: int) -> Callable[[Sequence], None]:
        """A call of a library's, on arrays over the program's memory."""
        schedule = self.program.schedule
        node = schedule.nodes[call]
        instruction, args, kwargs, _ = node.attr
        targets: list[tuple] = []
        for i, other in enumerate(schedule.nodes):
            if other.op == "given" and other.operands[0][0] == call:
                targets.append((other.attr, self._memory(i), other.dtype, other.shape))

        def placed(leaf: Any, arrays: Sequence) -> Any:
            if not isinstance(leaf, ViewOf):
                return leaf
            memory = self._memory(node.operands[leaf.operand][0])
            offset = leaf.offset
            if isinstance(memory, tuple):  # an array from outside, or one that is given
                number, low = memory
                return view_at(arrays[number], low + offset, leaf.shape, leaf.strides, leaf.dtype)
            return np.ndarray(leaf.shape, leaf.dtype, memory, offset, leaf.strides)

        def run(arrays: Sequence) -> None:
            given = mapped(args, lambda leaf: placed(leaf, arrays))
            named = mapped(kwargs, lambda leaf: placed(leaf, arrays))
            result = _called(instruction, given, named)
            flat = _flat(result, instruction.results)
            for (k, order), memory, dtype, shape in targets:
                array = np.asarray(flat[k])
                if array.shape != tuple(shape[order.index(d)] for d in range(len(order))):
                    raise Mismatch
                place = (
                    arrays[memory[0]].reshape(shape) if isinstance(memory, tuple) else np.ndarray(shape, dtype, memory)
                )
                place[...] = array.transpose(order)

        return run

    def run(self, everything: tuple) -> Any:
        """Run the stretches of the table, and the calls between them."""
        for function, call in zip(self.entries, self.calls, strict=True):
            if not function(*everything):
                raise Mismatch
            if call is not None:
                call(everything)


class _Watched(_Instance):
    """A program that is run instruction by instruction."""

    def _stretches(self) -> Iterable[_Step]:
        self._names: list[str] = []
        for step in self.program._steps:
            for one in step.alone():
                self._names.append(one.names[0])
                yield one
            if step.call is not None:
                called = _Step()
                called.table, called.call = [0], step.call
                instruction = self.program.schedule.nodes[step.call].attr[0]
                self._names.append(f"call: {getattr(instruction.function, '__name__', instruction.function)}")
                yield called

    def run_for(self, recorder: Any, everything: tuple) -> None:
        """Run it, each instruction as an event."""
        for name, function, call in zip(self._names, self.entries, self.calls, strict=True):
            event = recorder.begin(name, "kernel")
            try:
                if not function(*everything):
                    raise Mismatch
                if call is not None:
                    call(everything)
            finally:
                recorder.end(event)


def _named(cluster: Cluster, nodes: list[Node]) -> str:
    """A cluster, for people: the ops that are computed together."""
    ops = list(dict.fromkeys([_short(nodes[i]) for i in cluster.members]))
    shown = "+".join(ops[:_SHOWN]) + (f"+{len(ops) - _SHOWN} more" if len(ops) > _SHOWN else "")
    first = nodes[cluster.members[0]]
    return f"{'blas' if first.op == MATMUL and first.attr[-1] == 'blas' else 'kernel'}: {shown}"


def _short(node: Node) -> str:
    if node.op == REDUCE:
        return {"add": "sum", "multiply": "prod", "maximum": "amax", "minimum": "amin"}.get(node.attr[0], node.attr[0])
    return {"multiply": "mul", "subtract": "sub", "divide": "div", "negative": "neg"}.get(node.op, node.op)


class Rounds:
    """A program that is run again and again on places of its arrays that move on: the native part of a loop.

    Parameters
    ----------
    program : Program
        Without calls of libraries, whose results lie in memory in the order of their axes.
    moves : list of tuple
        Of each array, inputs and outputs: bytes by which its place moves on in each round, which bits of the round's
        number count, and what is added to that before.
    flag : int
        The number of the array that says whether to go on; -1: all rounds are run.
    """

    def __init__(self, program: Program, moves: list[tuple[int, int, int]], flag: int = -1) -> None:
        self._program, self.moves, self.flag = program, moves, flag
        self._free: list[_Round] = []

    @staticmethod
    def takes(program: Any) -> bool:
        """Whether a program can be run so."""
        return isinstance(program, Program) and len(program._steps) == 1 and not any(program._turned)

    def __call__(self, arrays: Sequence[np.ndarray], first: int, limit: int) -> int:
        """Run from round ``first`` to before ``limit``, or until the flag says so: the number of the next round."""
        try:
            instance = self._free.pop()
        except IndexError:
            instance = _Round(self._program, self)
        try:
            instance.control[:] = first, limit
            if not instance.entries[0](*arrays):
                raise Mismatch
            return int(instance.control[0])
        finally:
            self._free.append(instance)


class _Round(_Instance):
    """A program with memory of its own and places that move on."""

    def __init__(self, program: Program, rounds: Rounds) -> None:
        self._rounds = rounds
        self.control = np.zeros(2, np.int64)
        super().__init__(program)

    def _entry(self, table: np.ndarray, relocations: list[tuple[int, int, int]]) -> tuple[Any, Any]:
        moved = np.array([(*r, *self._rounds.moves[r[1]]) for r in relocations], np.int64)
        return runtime.loop(table, moved, len(relocations), self.control, self._rounds.flag)


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
    """The arrays of a result, in the order of its values."""
    if type(shape) is Value:
        return [result]
    if isinstance(shape, (tuple, list)) and shape:
        return [leaf for part, inner in zip(result, shape, strict=True) for leaf in _flat(part, inner)]
    return []
