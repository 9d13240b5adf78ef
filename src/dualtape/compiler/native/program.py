"""A native program: from instructions to an object that is called with arrays."""

from __future__ import annotations

import gc
import hashlib
import struct
import time
from collections.abc import Sequence
from math import prod
from threading import get_ident
from typing import Any

import numpy as np

from ...arrays.kernels import blas
from ...arrays.traced.tape import Instruction, Value
from ..replay import Mismatch, quietly
from . import runtime
from .executable import ArenaOffset, Executable, LoopExecutable, Segment, Watched
from .ir import CONST, FILL, INPUT, MATMUL, REDUCE, Node
from .kernel_key import plan_of, product_plan
from .kernels import written
from .lower import Lowering, NotNative
from .maths import Library
from .schedule import Cluster, Schedule
from .simplify import Cleaned

_known: dict[tuple, str] = {}  # kernels by their plans
# By thread: what takes a profile of the programs that run there.
watching: dict[int, Any] = {}
_SHOWN = 6  # ops in the name of a kernel
_FEW = 3  # kernels' nodes for each call that make a program worth it


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
                "nodes": len(low.nodes),
                "cleaned": len(cleaned.nodes),
                "clusters": len(self.schedule.clusters),
                "calls": low.calls,
                "arena": self.schedule.bytes,
                "kernels": self._kernels,
                "planning": planned - started,
                "code": time.perf_counter() - planned,
            }
        finally:
            if collecting:
                gc.enable()

    # --- linking ----------------------------------------------------------------------------------

    def _link(self, many: int) -> None:
        schedule = self.schedule
        nodes = schedule.nodes
        library = Library()
        texts: dict[str, str] = {}
        self._kernels = self._largest_product = 0
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
        self._steps = [Segment()]
        for what, rest, self._named in work:
            if what == "call":
                self._steps[-1].call = rest
                self._steps.append(Segment())
            elif what == "check":
                (seen, first, _), (expected, _, _) = nodes[rest].operands
                size = prod(nodes[rest].shape) * nodes[rest].dtype.itemsize
                self._instruction("dt_check", [(seen, first), (expected, 0), size])
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
        self._turned = [None if order == sorted(order) else tuple(np.argsort(order)) for _, _, order in self._shapes]
        # BLAS would split its products between threads that gain less than they may lose.
        self._one_thread = blas.is_moderate(self._largest_product)
        self._free: list[Executable] = []
        self._watched: list[Watched] = []

    def _kernel(self, plan: tuple, texts: dict[str, str], library: Library) -> str:
        name = _known.get(plan)
        if name is None:
            name = f"k{hashlib.sha256(repr(plan).encode()).hexdigest()[:24]}"
            texts[name] = written(plan, name, library)
            _known[plan] = name
        return name

    def _filled(self) -> dict[int, np.ndarray]:
        return {i: np.ascontiguousarray(node.attr) for i, node in enumerate(self.schedule.nodes) if node.op == CONST}

    def _instruction(self, name: str, args: list) -> None:
        step = self._steps[-1]
        step.names.append(self._named)
        step.table.extend([runtime.address(name), len(args)])
        for argument in args:
            self._argument(step, argument)

    def _argument(self, step: Segment, argument: Any) -> None:
        """Add a number, or a pointer: into the arena (a negative address until it is allocated), or to an array from
        outside.
        """
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
            step.table.append(ArenaOffset(schedule.address[root] + further))

    def _blas(self, i: int) -> None:
        from .ir import indices

        node = self.schedule.nodes[i]
        batch, m, k, n, _ = node.attr
        a, b = node.operands
        self._largest_product = max(self._largest_product, m * k * n)
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
        """Run the program and return the outputs in new arrays.

        Raises :class:`Mismatch` where a checked value has changed.
        """
        outputs = [np.empty(shape, dtype) for shape, dtype, _ in self._shapes]
        if watching and (recorder := watching.get(get_ident())) is not None:
            self._slowly(recorder, (*arrays, *outputs))
            return self._given(outputs)
        try:
            executable = self._free.pop()
        except IndexError:
            executable = Executable(self)
        try:
            executable.borrow()
            if executable.only is not None:
                only = executable.only
                if not (blas.alone(only, *arrays, *outputs) if self._one_thread else only(*arrays, *outputs)):
                    raise Mismatch
            elif self._one_thread:
                blas.alone(quietly, executable.run, (*arrays, *outputs))
            else:
                quietly(executable.run, (*arrays, *outputs))
        finally:
            executable.give_back()
            self._free.append(executable)
        return self._given(outputs)

    def _given(self, outputs: list) -> tuple:
        for k, turned in enumerate(self._turned):
            if turned is not None:
                outputs[k] = outputs[k].transpose(turned)
        return tuple(outputs)

    def _slowly(self, recorder: Any, everything: tuple) -> None:
        """Run the program instruction by instruction, each as an event of a profile."""
        try:
            executable = self._watched.pop()
        except IndexError:
            executable = Watched(self)
        try:
            executable.borrow()
            quietly(executable.run_for, recorder, everything)
        finally:
            executable.give_back()
            self._watched.append(executable)


def _turn(strides: tuple, rows: int, columns: int) -> tuple[str, int]:
    by_row, by_column = strides
    if by_column == 1 and (by_row >= columns or rows == 1):
        return "N", max(by_row, columns, 1)
    return "T", max(by_column, rows, 1)


def _named(cluster: Cluster, nodes: list[Node]) -> str:
    """Return the description of a cluster: the ops that are computed together."""
    ops = list(dict.fromkeys([_short(nodes[i]) for i in cluster.members]))
    shown = "+".join(ops[:_SHOWN]) + (f"+{len(ops) - _SHOWN} more" if len(ops) > _SHOWN else "")
    first = nodes[cluster.members[0]]
    return f"{'blas' if first.op == MATMUL and first.attr[-1] == 'blas' else 'kernel'}: {shown}"


def _short(node: Node) -> str:
    if node.op == REDUCE:
        return {"add": "sum", "multiply": "prod", "maximum": "amax", "minimum": "amin"}.get(node.attr[0], node.attr[0])
    return {"multiply": "mul", "subtract": "sub", "divide": "div", "negative": "neg"}.get(node.op, node.op)


class Iterations:
    """A program that is run for many iterations on arrays whose position advances: the native part of a loop.

    Parameters
    ----------
    program : Program
        Without calls of libraries, whose results lie in memory in the order of their axes.
    moves : list of tuple
        Of each array, inputs and outputs: bytes by which it advances in each iteration, which bits of the iteration's
        number count, and what is added to that before.
    flag : int
        The number of the array that says whether to go on; -1: all iterations are run.
    """

    def __init__(self, program: Program, moves: list[tuple[int, int, int]], flag: int = -1) -> None:
        self._program, self.moves, self.flag = program, moves, flag
        self._free: list[LoopExecutable] = []

    @staticmethod
    def takes(program: Any) -> bool:
        """Return whether a program can be run that way."""
        return isinstance(program, Program) and len(program._steps) == 1 and not any(program._turned)

    def __call__(self, arrays: Sequence[np.ndarray], first: int, limit: int) -> int:
        """Run from iteration ``first`` to before ``limit``, or until the flag stops it; return the number of the next
        iteration.
        """
        try:
            executable = self._free.pop()
        except IndexError:
            executable = LoopExecutable(self._program, self)
        try:
            executable.borrow()
            executable.control[:] = first, limit
            if not executable.entries[0](*arrays):
                raise Mismatch
            return int(executable.control[0])
        finally:
            executable.give_back()
            self._free.append(executable)
