"""The intermediate representation: nodes over flat buffers, read by offsets and strides.

A :class:`Node` computes one buffer, its elements in the row-major order of the node's shape. It reads others through
accesses: ``(number of the node, offset, strides)`` over the reader's iteration space, in elements; views and broadcasts
are accesses, not nodes. A number in place of an access is ``(SCALAR, number)``. A write makes a new version of a
buffer, which is a node again.
"""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np

SCALAR = "scalar"
Access = tuple  # (node, offset, strides) or (SCALAR, number)

# what is no elementwise op
INPUT, CONST, FILL, EMPTY = "input", "const", "fill", "empty"
COPY, CAST, SELECT, REDUCE, WRITE, MATMUL = "copy", "cast", "select", "reduce", "write", "matmul"
CALL, GIVEN, TOUCHED, CHECK = "call", "given", "touched", "check"
SPECIAL = frozenset({INPUT, CONST, FILL, EMPTY, REDUCE, WRITE, MATMUL, CALL, GIVEN, TOUCHED, CHECK})
_KEPT = frozenset({INPUT, CONST, CALL, GIVEN, TOUCHED, CHECK})
TINY = 32  # elements of arrays that live in registers
NATIVE = {np.dtype(name) for name in ("f4", "f8", "i4", "i8", "?")}


class Unsupported(Exception):
    """Raised when an instruction cannot be lowered to loops: it stays a call."""


class Node:
    """One buffer and how it is computed.

    Attributes
    ----------
    op : str
        An elementwise op by its ufunc's name, or one of the words above.
    dtype, shape : numpy.dtype, tuple
        Of what it makes.
    operands : tuple
        What it reads. Of a write the first is the memory before it.
    attr : object
        A reduction's ``(name, shape read, axes)``, a write's ``(offset, shape, strides)``, a product's ``(batch, m, k,
        n)``, a fill's number, a constant's array, an input's number.
    """

    __slots__ = ("op", "dtype", "shape", "operands", "attr")

    def __init__(self, op: str, dtype: np.dtype, shape: tuple, operands: tuple = (), attr: Any = None) -> None:
        if not all(shape) and op not in _KEPT:
            op, operands, attr = EMPTY, (), None  # there is nothing to compute
        self.op, self.dtype, self.shape, self.operands, self.attr = op, dtype, shape, operands, attr

    @property
    def space(self) -> tuple:
        """The shape of its iteration space."""
        return self.attr[1] if self.op in (REDUCE, WRITE) else self.shape

    def __repr__(self) -> str:
        return (
            f"{self.op}{list(self.shape)} {self.operands} {self.attr if not isinstance(self.attr, np.ndarray) else ''}"
        )


_dense: dict[tuple, tuple] = {}


def dense(shape: tuple) -> tuple:
    """Return the strides of a row-major array; 0 along axes of length 1."""
    known = _dense.get(shape)
    if known is None:
        strides, step = [], 1
        for n in reversed(shape):
            strides.append(0 if n == 1 else step)
            step *= n
        known = _dense[shape] = tuple(reversed(strides))
    return known


def steps(shape: tuple, strides: tuple) -> tuple:
    """Return ``strides`` with 0 along axes of length 1, so that equal accesses compare equal."""
    return tuple([0 if n == 1 else s for n, s in zip(shape, strides, strict=True)])


def is_whole(access: Access, shape: tuple, node: Node) -> bool:
    """Return whether an access over ``shape`` covers all of a node's buffer in order."""
    return access[1] == 0 and prod(node.shape) == prod(shape) and access[2] == dense(shape)


def indices(offset: int, strides: tuple, shape: tuple) -> list[int]:
    """Return all flat indices of an access, in order."""
    places = [offset]
    for n, s in zip(shape, strides, strict=True):
        places = [place + i * s for place in places for i in range(n)]
    return places
