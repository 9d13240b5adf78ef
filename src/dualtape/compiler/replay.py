"""Replay: instructions as one Python function over NumPy's arrays, without tensors, nodes or dispatch.

It runs where native code is not available. Unused instructions are removed, constants were computed when the program
was traced, and results reuse memory that nothing else needs any more.
"""

from __future__ import annotations

import linecache
from collections import Counter
from collections.abc import Callable, Container, Sequence
from typing import Any

import numpy as np

from ..arrays.fp_errors import fp_errors, ignore_fp_errors, restore_fp_errors
from ..arrays.traced.array import is_whole
from ..arrays.traced.tape import CALL, DRAW, GETITEM, METHOD, READ, SETITEM, SHAPE, Instruction, Value, leaves

_REUSED = 256  # bytes from which on a dead array is written over
_LITERALS = {int, bool, str, type(None), type(Ellipsis)}


class Mismatch(Exception):
    """Raised when a value that the traced program read differs in this run."""


class Raised(Mismatch):
    """Raised when the program fails: the function itself then raises the error in the right place."""


def live(instructions: Sequence[Instruction], outputs: Sequence[Value], strict: bool = False) -> list[Instruction]:
    """Return the instructions that ``outputs``, outside memory and checks depend on, in order.

    ``strict``: and those that may raise an error, whether or not what they give is used.
    """
    needed: set[int] = {id(value) for value in outputs}
    written: set[int] = {id(value.memory) for value in outputs}
    kept = []
    for instruction in reversed(instructions):
        results = instruction.gives
        operands = instruction.reads
        if instruction.kind in (READ, SHAPE, DRAW):
            wanted = True
        elif not results:
            # A write without results is kept if its memory is read later, or is not the program's own.
            wanted = any(target.memory.external or id(target.memory) in written for target in written_by(instruction))
        else:
            wanted = strict and _may_raise(instruction) or any(id(value) in needed for value in results)
        if wanted and results and all(is_constant(value) for value in results):
            wanted = False
        if wanted:
            kept.append(instruction)
            for value in operands:
                needed.add(id(value))
                written.add(id(value.memory))
    kept.reverse()
    return kept


def _may_raise(instruction: Instruction) -> bool:
    """Return whether a call may fail depending on the values of arrays: indices out of range, singular matrices."""
    if instruction.kind == GETITEM:
        return bool(leaves(instruction.args[1]))
    return instruction.kind == CALL and is_whole(instruction.function)


def _may_end(instruction: Instruction) -> bool:
    """Return whether a run may end at an instruction: a check, or a call that may raise for other values."""
    kind, function = instruction.kind, instruction.function
    if kind in (READ, SHAPE, DRAW):
        return True
    if kind in (GETITEM, SETITEM):
        return bool(leaves(instruction.args[1]))
    # a power raises if integers meet negative exponents
    return kind == CALL and (type(function) is not np.ufunc or function is np.power)


def is_constant(value: Value) -> bool:
    """Return whether ``value`` is the same in every run."""
    return value.constant is not None and not value.memory.written


def written_by(instruction: Instruction) -> list[Value]:
    """Return the values that an instruction writes into."""
    if instruction.kind in (READ, SHAPE, DRAW) or instruction.gives:
        return []
    out = instruction.kwargs.get("out")
    return leaves(out) if out is not None else leaves(instruction.args[0])


class Writer:
    """Writes instructions as Python source."""

    def __init__(self, wholes: Sequence[Value] = (), viewed: Container[int] = ()) -> None:
        self.wholes = wholes  # what views may be of
        self._viewed = viewed  # memory, by id, that several values look at
        self.space: dict[str, Any] = {"_asarray": np.asarray, "_Mismatch": Mismatch, "_draw": draw, "_view": view_at}
        self.names: dict[int, str] = {}
        self._held: dict[int, str] = {}
        self._keep: list[Any] = []
        self.lines: list[str] = []

    def name(self, value: Value) -> str:
        """Return the name of a value; a constant is stored, and copied if the program writes to it."""
        known = self.names.get(id(value))
        if known is None:
            self._keep.append(value)
            known = self.names[id(value)] = f"v{len(self.names)}"
            whole = next((x for x in self.wholes if x.memory is value.memory and x.holds(value)), None)
            if whole is not None and value.constant is None:  # a view that was made in another part of the program
                held = self.held((value.offset - whole.offset, value.shape, value.strides, value.dtype))
                self.lines.append(f"{known} = _view({self.names[id(whole)]}, *{held})")
            elif value.constant is not None:
                held = self.held(value.constant)
                if value.memory.written:
                    self.lines.append(f"{known} = {held}.copy('K')")
                else:
                    self.names[id(value)] = known = held
        return known

    def held(self, thing: Any) -> str:
        known = self._held.get(id(thing))
        if known is None:
            known = self._held[id(thing)] = f"c{len(self._held)}"
            self.space[known] = thing
        return known

    def text(self, tree: Any) -> str:
        kind = type(tree)
        if kind is Value:
            return self.name(tree)
        if kind in _LITERALS:
            return repr(tree)
        if kind is tuple:
            return f"({''.join(f'{self.text(item)}, ' for item in tree)})"
        if kind is list:
            return f"[{', '.join(self.text(item) for item in tree)}]"
        if kind is slice:
            return f"slice({self.text(tree.start)}, {self.text(tree.stop)}, {self.text(tree.step)})"
        if kind is float and np.isfinite(tree):
            return repr(tree)
        return self.held(tree)

    def write(self, instruction: Instruction, dying: set[int]) -> None:
        kind, function, args = instruction.kind, instruction.function, instruction.args
        if kind == READ:
            self._check(args[0], args[1])
            return
        if kind == SHAPE:
            self.lines.append(f"if {self.name(args[0])}.shape != {args[1]!r}: raise _Mismatch")
            return
        if kind == SETITEM:
            target, key, value = args
            self.lines.append(f"{self.text(target)}[{self.text(key)}] = {self.text(value)}")
            return
        words = ", ".join(
            [self.text(a) for a in args] + [f"{name}={self.text(value)}" for name, value in instruction.kwargs.items()]
        )
        if kind == GETITEM:
            call = f"{self.text(args[0])}[{self.text(args[1])}]"
        elif kind == METHOD:
            rest = ", ".join(
                [self.text(a) for a in args[1:]]
                + [f"{name}={self.text(value)}" for name, value in instruction.kwargs.items()]
            )
            call = f"{self.text(args[0])}.{function}({rest})"
        elif kind == DRAW:
            generator, method = function
            call = f"_draw({self.held(generator)}, {method!r})({words})"
        else:
            place = _reusable(instruction, dying)
            call = f"{self.held(function)}({words}{'' if place is None else f', out={self.name(place)}'})"
        results = instruction.results
        if results == ():
            self.lines.append(call)
        elif type(results) is Value:
            if self._needs_memory(results):
                call = f"_asarray({call})"
            name = f"v{len(self.names)}"
            self.lines.append(f"{name} = {call}")
            self.names[id(results)] = name
            self._keep.append(results)
        else:
            self.lines.append(f"{self._targets(results)} = {call}")
            for value in instruction.gives:
                if self._needs_memory(value):
                    self.lines.append(f"{self.name(value)} = _asarray({self.name(value)})")

    def _needs_memory(self, value: Value) -> bool:
        """Return whether a value is written or viewed, and may be a scalar of NumPy's, whose memory is nobody's."""
        return not value.shape and (value.memory.written or id(value.memory) in self._viewed)

    def _targets(self, tree: Any) -> str:
        if type(tree) is Value:
            self._keep.append(tree)
            self.names[id(tree)] = name = f"v{len(self.names)}"
            return name
        if isinstance(tree, (tuple, list)):
            return f"({''.join(f'{self._targets(item)}, ' for item in tree)})"
        return "_"

    def _check(self, value: Value, seen: np.ndarray) -> None:
        name = self.name(value)
        if seen.dtype == bool and seen.ndim == 0:
            self.lines.append(f"if {'not ' if seen else ''}{name}: raise _Mismatch")
        else:
            self.lines.append(f"if {name}.tobytes() != {self.held(seen.tobytes())}: raise _Mismatch")


def draw(generator: Any, method: str) -> Any:
    """Return a function that draws from a generator, or reads or sets its state."""
    return getattr(generator if method.startswith("_") else generator._rng, method)


class _Interface:
    """A piece of memory that follows NumPy's array interface."""

    def __init__(self, array: np.ndarray, **interface: Any) -> None:
        self.__array_interface__ = interface | {"version": 3}
        self.held = array


def view_at(array: np.ndarray, places: int, shape: tuple, strides: tuple, dtype: np.dtype) -> np.ndarray:
    """Return a view of the memory behind ``array``, some bytes from its first element on."""
    data = (array.__array_interface__["data"][0] + places, False)
    return np.asarray(_Interface(array, data=data, shape=shape, strides=strides, typestr=dtype.str))


def _reusable(instruction: Instruction, dying: set[int]) -> Value | None:
    """Return an argument of a ufunc that nothing needs any more, and whose memory the result may reuse."""
    result = instruction.results
    if (
        type(instruction.function) is not np.ufunc
        or instruction.kwargs
        or type(result) is not Value
        or not result.shape
    ):
        return None
    if instruction.function.nout != 1 or instruction.function.signature is not None:
        return None
    for value in instruction.args:
        if (
            type(value) is Value
            and id(value) in dying
            and value.shape == result.shape
            and value.dtype == result.dtype
            and value.strides == result.strides
            and not value.offset
        ):
            return value
    return None


def function(
    name: str, instructions: Sequence[Instruction], inputs: Sequence[Value], outputs: Sequence[Value]
) -> Callable[..., tuple]:
    """Return a Python function of the arrays of ``inputs`` that returns those of ``outputs``.

    If it raises, memory from outside is as it was.
    """
    made = Counter([id(value.memory) for instruction in instructions for value in instruction.gives])
    writer = Writer(inputs, {memory for memory, count in made.items() if count > 1})
    parameters = []
    for k, value in enumerate(inputs):
        writer.names[id(value)] = f"x{k}"
        parameters.append(f"x{k}")
    last: dict[int, int] = {}
    for at, instruction in enumerate(instructions):
        for value in instruction.reads:
            last[id(value)] = at
    lasting = {id(value) for value in (*inputs, *outputs)}
    # memory that a view or a result looks at may not be taken
    looked_at = Counter([id(value.memory) for value in inputs] * 2)  # which is never the program's own
    looked_at.update([id(value.memory) for value in outputs])
    looked_at.update({id(v.memory) for i in instructions for v in i.reads if v.constant is not None})
    for instruction in instructions:
        looked_at.update([id(value.memory) for value in instruction.gives])
    risky = any(map(_may_end, instructions))
    if risky:  # what is to be put back if the run ends early keeps its name until the end
        lasting |= {id(target) for i in instructions for target in written_by(i) if target.memory.external}
    backups: dict[int, tuple[Value, str]] = {}
    for at, instruction in enumerate(instructions):
        operands = instruction.reads
        for target in written_by(instruction):
            if target.memory.external and risky and id(target) not in backups:
                backup = f"b{len(backups)}"
                writer.lines.append(f"{backup} = {writer.name(target)}.copy()")
                backups[id(target)] = (target, backup)
        dead = {
            id(value)
            for value in operands
            if last[id(value)] == at and id(value) not in lasting and value.constant is None
        }
        own = {
            key
            for key in dead
            if any(
                id(v) == key
                and looked_at[id(v.memory)] == 1
                and not v.memory.external
                and v.dtype.itemsize * int(np.prod(v.shape)) >= _REUSED
                for v in operands
            )
        }
        writer.write(instruction, own)
        gone = sorted({writer.names[key] for key in dead} - {"_"})
        if gone:
            writer.lines.append(f"del {', '.join(gone)}")
    results = []
    for value in outputs:
        text = writer.name(value)
        spread = name == "backward" and any(s == 0 and n > 1 for n, s in zip(value.shape, value.strides, strict=True))
        if is_constant(value) or spread:  # a gradient has memory for each of its elements
            text = f"{text}.copy('K')"
        results.append(text if value.shape else f"_asarray({text})")
    body = [*writer.lines, f"return ({''.join(f'{text}, ' for text in results)})"]
    if backups:
        undo = [f"if {b!r} in locals(): {writer.names[id(v)]}[...] = {b}" for v, b in reversed(backups.values())]
        body = [
            "try:",
            *[f"    {line}" for line in body],
            "except BaseException:",
            *[f"    {u}" for u in undo],
            "    raise",
        ]
    source = "\n".join([f"def {name}({', '.join(parameters)}):", *[f"    {line}" for line in body], ""])
    filename = f"<dualtape: {name} {id(writer):x}>"
    exec(compile(source, filename, "exec"), writer.space)
    linecache.cache[filename] = (len(source), None, source.splitlines(True), filename)
    return writer.space.pop(name)  # no cycle of the function and its globals


def quietly(run: Callable[..., Any], *arrays: Any) -> tuple:
    """Run a replay with floating-point warnings off, as every op does."""
    before = fp_errors()
    try:
        ignore_fp_errors()
        return run(*arrays)
    finally:
        restore_fp_errors(before)
