"""The tape: instructions over values, recorded while a program is traced, in the order in which they ran.

A :class:`Value` is one array of the program: its shape, dtype and position in a :class:`Memory`. An
:class:`Instruction` is one NumPy call, with values in place of arrays. Views and writes are calls like any other:
running the instructions in order, on arrays, repeats the traced run.
"""

from __future__ import annotations

import itertools
import sys
import weakref
from collections.abc import Callable
from threading import get_ident
from typing import Any

import numpy as np

# what an instruction is
CALL, METHOD, GETITEM, SETITEM, DRAW, READ, SHAPE = "call", "method", "getitem", "setitem", "draw", "read", "shape"
_HERE = __file__.rpartition("arrays")[0]
next_number = itertools.count().__next__  # of memories, in the order in which they come


class Memory:
    """A piece of memory that arrays refer to.

    Attributes
    ----------
    address : int
        Where it began when it was traced.
    external : bool
        Whether it was there before the program: a tensor of the caller's, or an array.
    written : bool
        Whether the program writes to it after it was filled.
    maker : Value
        What is all of it, if it is the program's own.
    number : int
        Larger than that of every memory before it.
    """

    __slots__ = ("address", "external", "written", "maker", "number")

    def __init__(self, address: int, external: bool = False) -> None:
        self.address = address
        self.external = external
        self.written = False
        self.maker: Any = None
        self.number = next_number()


class Value:
    """An array of the program.

    Attributes
    ----------
    constant : numpy.ndarray or None
        What it holds, if that is the same in every run.
    scalar : bool
        Whether NumPy gave a number where a 0-d array is meant.
    """

    __slots__ = ("shape", "dtype", "strides", "offset", "memory", "constant", "scalar", "_array")

    def __init__(self, array: np.ndarray, memory: Memory | None = None, constant: np.ndarray | None = None) -> None:
        self.shape, self.dtype, self.strides = array.shape, array.dtype, array.strides
        address = array.__array_interface__["data"][0]
        if memory is None:
            memory = Memory(address)
            memory.maker = self
        self.memory = memory
        self.offset = address - self.memory.address
        self.constant = constant
        self.scalar = False
        self._array: Any = None

    @property
    def array(self) -> np.ndarray | None:
        """What it held when it was traced, as long as something else of the traced run needs that."""
        return None if self._array is None else self._array()

    @array.setter
    def array(self, array: np.ndarray) -> None:
        self._array = weakref.ref(array)

    def span(self) -> tuple[int, int]:
        """The first byte that it refers to, and the one after the last, relative to its memory."""
        ways = list(zip(self.shape, self.strides, strict=True))
        low = self.offset + sum([(n - 1) * s for n, s in ways if s < 0])
        return low, self.offset + sum([(n - 1) * s for n, s in ways if s > 0]) + self.dtype.itemsize

    def holds(self, other: Value) -> bool:
        """Return whether the bytes of ``other``, of the same memory, are among those of this."""
        (first, last), (low, high) = self.span(), other.span()
        return first <= low and high <= last

    def __repr__(self) -> str:
        return f"<{self.dtype}{list(self.shape)} {id(self) & 0xFFFF:x}>"


class Instruction:
    """One call: ``function(*args, **kwargs)`` gives ``results``; the arguments are trees with values for arrays.

    ``reads`` and ``gives`` are the values in them.
    """

    __slots__ = ("kind", "function", "args", "kwargs", "results", "reads", "gives", "where")

    def __init__(
        self, kind: str, function: Any, args: tuple, kwargs: dict, results: Any, reads: list | None, gives: list | None
    ) -> None:
        self.kind = kind
        self.function = function
        self.args = args
        self.kwargs = kwargs
        self.results = results  # a tree of values: as the call gives them
        self.reads: list[Value] = leaves((args, kwargs)) if reads is None else reads
        self.gives: list[Value] = leaves(results) if gives is None else gives
        self.where: tuple[str, int] | None = None  # of what reads a value: the user's line

    def __repr__(self) -> str:
        return f"{self.results} = {getattr(self.function, '__name__', self.function)}{self.args} {self.kwargs or ''}"


class Tape:
    """The instructions of a program that is being traced, and the reason if it cannot be."""

    def __init__(self, keep: bool) -> None:
        self.instructions: list[Instruction] = []
        self._open = True
        self._thread = get_ident()
        self.failure: tuple[str, tuple[str, int] | None] | None = None
        self.keep = keep  # whether values know their arrays
        self.numbers_read: frozenset[int] = frozenset()  # arguments whose values the trace depends on
        self.module: Any = None  # what makes arrays of it
        self._constants: dict[int, tuple[Any, Value]] = {}

    @property
    def open(self) -> bool:
        """Whether it still records: only in the thread that began it."""
        return self._open and get_ident() == self._thread

    def close(self) -> None:
        self._open = False

    def fail(self, reason: str) -> None:
        """Stop recording: the program cannot be replayed, and runs on uncompiled."""
        if self.open:
            self.failure = (reason, users_line())
            self._open = False

    def add(
        self, kind: str, function: Any, args: tuple, kwargs: dict, results: Any, reads: Any = None, gives: Any = None
    ) -> Instruction:
        instruction = Instruction(kind, function, args, kwargs, results, reads, gives)
        self.instructions.append(instruction)
        return instruction

    def read(self, value: Value, array: np.ndarray) -> None:
        """Record a check: the program has read ``value``, and a replay is valid only for the same content."""
        if self.open and (value.constant is None or value.memory.written):
            self.add(READ, None, (value, array.copy()), {}, ()).where = users_line()

    def constant(self, array: np.ndarray) -> Value:
        """Return a value for an array that is the same in every run."""
        known: Any = self._constants.get(id(array))
        if known is None or known[0] is not array or not np.array_equal(known[1].constant, array):
            copy = array.copy("K")
            known = self._constants[id(array)] = (array, Value(copy, constant=copy))
        return known[1]


def users_line() -> tuple[str, int] | None:
    """Return file and line of the user's code that is running."""
    frame: Any = sys._getframe(1)
    while frame is not None:
        name = frame.f_code.co_filename
        if not name.startswith((_HERE, "<")) and f"{'numpy'}/" not in name:
            return name, frame.f_lineno
        frame = frame.f_back
    return None


def leaves(tree: Any) -> list[Value]:
    """Yield the values in a tree of arguments or results."""
    if type(tree) is Value:
        return [tree]
    if isinstance(tree, (tuple, list)):
        return [value for item in tree for value in leaves(item)]
    if type(tree) is dict:
        return [value for item in tree.values() for value in leaves(item)]
    return []


def mapped(tree: Any, change: Callable[[Any], Any]) -> Any:
    """Return ``tree`` with its leaves changed; named tuples keep their type."""
    if type(tree) is tuple or type(tree) is list:
        return type(tree)([mapped(item, change) for item in tree])
    if isinstance(tree, tuple):
        return type(tree)(*[mapped(item, change) for item in tree])
    if type(tree) is dict:
        return {key: mapped(item, change) for key, item in tree.items()}
    return change(tree)
