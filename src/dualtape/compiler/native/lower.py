"""Lowering: from traced NumPy calls to nodes over memory.

Calls that are loops (elementwise functions, reductions, products, copies, writes of regions) become nodes; views become
accesses; everything else remains a call, on arrays over the program's memory. Functions that are neither ufuncs nor
reductions are in ``rules``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from math import prod
from types import FunctionType
from typing import Any

import numpy as np

from ...arrays.traced import tape
from ...arrays.traced.tape import Instruction, Memory, Value, mapped
from ..replay import is_constant, written_by
from .geometry import _differs, _element_steps, _elements, _memory_order, _number, _order, _region
from .ir import (
    CALL,
    CAST,
    CHECK,
    CONST,
    COPY,
    FILL,
    GIVEN,
    INPUT,
    MATMUL,
    NATIVE,
    REDUCE,
    SCALAR,
    TOUCHED,
    WRITE,
    Access,
    Node,
    Unsupported,
    dense,
    steps,
)
from .maths import FLOAT_OPS, INT_OPS, PREDICATES
from .rules import RULES

_NAMES = {
    "true_divide": "divide",
    "abs": "absolute",
    "fabs": "absolute",
    "bitwise_and": "logical_and",
    "bitwise_or": "logical_or",
    "invert": "logical_not",
    "bitwise_xor": "not_equal",
}
_REDUCTIONS = {
    np.sum: "add",
    np.prod: "multiply",
    np.max: "maximum",
    np.amax: "maximum",
    np.min: "minimum",
    np.amin: "minimum",
    np.any: "logical_or",
    np.all: "logical_and",
    np.add.reduce: "add",
    np.multiply.reduce: "multiply",
    np.maximum.reduce: "maximum",
    np.minimum.reduce: "minimum",
    np.logical_or.reduce: "logical_or",
    np.logical_and.reduce: "logical_and",
}
_WITHOUT_DTYPE = {np.max, np.amax, np.min, np.amin, np.any, np.all}


# From so many summands on, columns are added up in double precision.
_MANY = 512


class NotNative(Exception):
    """Raised with the reason why a program cannot run as native code."""


class ViewOf:
    """An array over the program's memory, for a call: the operand's number, and its position in it."""

    __slots__ = ("operand", "offset", "shape", "strides", "dtype")

    def __init__(self, operand: int, offset: int, shape: tuple, strides: tuple, dtype: np.dtype) -> None:
        self.operand, self.offset, self.shape, self.strides, self.dtype = operand, offset, shape, strides, dtype


class Lowering:
    """Lowers instructions to nodes.

    Attributes
    ----------
    nodes : list of Node
        In an order in which they can be computed.
    outputs : list
        ``(access, shape in the order of memory, dtype)`` of each output.
    back : list
        ``(number of the input, access, shape, dtype)`` of memory from outside that is written.
    """

    def __init__(self, instructions: Sequence[Instruction], inputs: Sequence[Value], outputs: Sequence[Value]) -> None:
        self.nodes: list[Node] = []
        self._versions: dict[int, int] = {}  # by memory: its newest node
        self._inputs: dict[int, list[tuple[int, int, Value]]] = {}  # by memory: node, low end, value
        self._keep: list[Memory] = []
        self._constants: dict[int, int] = {}
        self.calls = 0
        for k, value in enumerate(inputs):
            self._input(k, value)
        for instruction in instructions:
            self._lower(instruction)
        self.outputs = [self._output(value) for value in outputs]
        self.back = []
        for k, value in enumerate(inputs):
            if id(value.memory) in self._versions and value.memory.external and value.memory.written:
                whole = (self._versions[id(value.memory)], 0, dense(value.shape))
                self.back.append((k, whole, value.shape, value.dtype))

    # --- memory -----------------------------------------------------------------------------------

    def add(self, op: str, dtype: np.dtype, shape: tuple, operands: tuple = (), attr: Any = None) -> int:
        self.nodes.append(Node(op, dtype, shape, operands, attr))
        return len(self.nodes) - 1

    def _input(self, k: int, value: Value) -> None:
        size = value.dtype.itemsize
        low, high = value.span()
        count = (high - low) // size if prod(value.shape) else 0
        if (high - low) % size or any(s % size for s in value.strides):
            raise NotNative("an input whose elements do not lie on multiples of their size")
        node = self.add(INPUT, value.dtype, (count,), (), (k, low - value.offset))
        known = self._inputs.setdefault(id(value.memory), [])
        known.append((node, low, value))
        if value.memory.written and (len(known) > 1 or steps(value.shape, _elements(value)) != dense(value.shape)):
            raise NotNative("memory from outside is written through one of several tensors, or with gaps")

    def _of(self, value: Value) -> tuple[int, int]:
        """Return the node of a value's buffer at this point, and the value's first byte in it."""
        node = self._versions.get(id(value.memory))
        known = self._inputs.get(id(value.memory))
        if node is not None:
            return node, known[0][1] if known else 0
        if known is not None:
            for number, low, whole in known:
                if whole.holds(value) and whole.dtype == value.dtype:
                    return number, low
            raise NotNative("a view reaches beyond the tensor it is of")
        if value.constant is None or value.offset:
            raise NotNative(f"memory of unknown origin: {value}")
        self._made(value, self._constant(value))
        return self._versions[id(value.memory)], 0

    def _constant(self, value: Value) -> int:
        """Return the node of a value that is the same in every run; of memory that is written to, of its initial
        content.
        """
        array = value.constant
        assert array is not None
        known = self._constants.get(id(array))
        if known is None:
            flat = np.ascontiguousarray(array if is_constant(value) else _memory_order(array)).reshape(-1)
            if flat.size and flat.dtype.kind in "fiub" and not _differs(flat):
                known = self.add(FILL, flat.dtype, (flat.size,), (), flat[0].item())
            else:
                known = self.add(CONST, flat.dtype, (flat.size,), (), flat)
            self._constants[id(array)] = known
        return known

    def access(self, value: Value) -> Access:
        """Return the access by which ``value`` is read at this point."""
        if is_constant(value):
            node = self._constant(value)
            found = self.nodes[node]
            return (SCALAR, found.attr) if found.op == FILL else (node, 0, dense(value.shape))
        node, low = self._of(value)
        if self.nodes[node].dtype != value.dtype or (value.offset - low) % value.dtype.itemsize:
            raise Unsupported
        return (
            node,
            (value.offset - low) // value.dtype.itemsize,
            _element_steps(value.shape, value.strides, value.dtype),
        )

    def _made(self, value: Value, node: int) -> None:
        self._keep.append(value.memory)
        self._versions[id(value.memory)] = node

    def _over(self, operand: Any, shape: tuple, order: list[int], dtype: np.dtype | None = None) -> Access:
        """Return the access of an operand over a result's ``shape``, with the axes in the memory order of the
        result.
        """
        if not isinstance(operand, Value):
            number = operand.item() if isinstance(operand, np.generic) else operand
            if not isinstance(number, (bool, int, float)):
                raise Unsupported
            return (SCALAR, number)
        if operand.dtype not in NATIVE:
            raise Unsupported
        access = self.access(operand)
        if access[0] == SCALAR:
            return access
        if dtype is not None and operand.dtype != dtype:
            access = self._cast(access, operand, dtype)
        lead = len(shape) - len(operand.shape)
        strides = (0,) * lead + access[2]
        return access[0], access[1], tuple([strides[d] for d in order])

    def _cast(self, access: Access, value: Value, dtype: np.dtype) -> Access:
        if dtype not in NATIVE or (value.dtype.kind == "f" and dtype.kind in "iu"):
            # NumPy decides what becomes of NaN and of numbers that are too large.
            raise Unsupported
        order = _order(value)
        shape = tuple([value.shape[d] for d in order])
        node = self.add(CAST, dtype, shape, ((access[0], access[1], tuple([access[2][d] for d in order])),))
        back = dense(shape)
        strides = [0] * len(order)
        for place, d in enumerate(order):
            strides[d] = back[place]
        return node, 0, tuple(strides)

    # --- instructions -----------------------------------------------------------------------------

    def _lower(self, instruction: Instruction) -> None:
        kind = instruction.kind
        made = instruction.gives
        if kind == tape.SHAPE:
            return  # what has such a shape was given by a call, which looks
        if kind == tape.READ:
            self._check(instruction)
            return
        operands = instruction.reads
        looked_at = {id(value.memory) for value in operands}
        if made and all(id(value.memory) in looked_at for value in made):
            for value in operands:
                if value.constant is not None and value.memory.written:
                    self._of(value)  # a view of what is a constant until it is written to
            return
        try:
            self._native(instruction)
        except Unsupported:  # nodes that were made on the way are needed by nothing
            self._call(instruction)

    def _native(self, instruction: Instruction) -> None:
        kind, function, args, kwargs = instruction.kind, instruction.function, instruction.args, instruction.kwargs
        if kind == tape.SETITEM:
            self._set(args[0], args[1], args[2])
        elif kind == tape.METHOD:
            self._method(function, args, instruction.results)
        elif kind != tape.CALL:
            raise Unsupported
        elif isinstance(function, np.ufunc):
            out = kwargs.get("out")
            out = out[0] if isinstance(out, tuple) else out
            if set(kwargs) - {"out", "casting"}:
                raise Unsupported
            if function.signature is not None:
                if out is not None:
                    raise Unsupported
                self._product(function.__name__, args, instruction.results)
            else:
                self._ufunc(function, args, instruction.results, out)
        elif function in _REDUCTIONS:
            self._reduce(function, args, kwargs, instruction.results)
        else:
            rule = RULES.get(function)
            if rule is None:
                raise Unsupported
            rule(self, instruction.results, *args, **kwargs)

    def _ufunc(self, ufunc: np.ufunc, args: tuple, result: Any, out: Value | None) -> None:
        target = result if out is None else out
        if type(target) is not Value or ufunc.nout != 1:
            raise Unsupported
        found = _loop_of(ufunc, *[a.dtype if isinstance(a, (Value, np.generic)) else type(a) for a in args])  # type: ignore[arg-type]
        if found is None:
            raise Unsupported
        name, inner, given = found
        if out is None:
            order = _order(target)
            shape = tuple([target.shape[d] for d in order])
            self._made(
                target, self.add(name, given, shape, tuple([self._over(a, target.shape, order, inner) for a in args]))
            )
        else:
            order = list(range(len(out.shape)))
            node = self.add(name, given, out.shape, tuple([self._over(a, out.shape, order, inner) for a in args]))
            self._write(out, (node, 0, dense(out.shape)), given)

    def _write(self, target: Value, source: Access, dtype: np.dtype | None) -> None:
        """Add the write of ``source``, over the target's shape, into the target's region."""
        if target.dtype not in NATIVE:
            raise Unsupported
        if dtype is not None and dtype != target.dtype:
            if dtype.kind == "f" and target.dtype.kind in "iub":
                raise Unsupported
            source = (self.add(CAST, target.dtype, target.shape, (source,)), 0, dense(target.shape))
        node, low = self._of(target)
        if self.nodes[node].dtype != target.dtype:
            raise Unsupported
        if not prod(target.shape):
            return
        place = ((target.offset - low) // target.dtype.itemsize, target.shape, _elements(target))
        if any(s == 0 and n > 1 for n, s in zip(place[1], place[2], strict=True)):
            raise Unsupported
        if source[0] == SCALAR:
            source = (SCALAR, _number(source[1], target.dtype))
        whole = self.nodes[node]
        self._versions[id(target.memory)] = self.add(WRITE, target.dtype, whole.shape, ((node, 0, None), source), place)

    def _set(self, target: Value, key: Any, value: Any) -> None:
        self._of(target)  # which may be a constant until now
        region = _region(target, key)
        shape = region.shape
        if isinstance(value, Value):
            if prod(value.shape) != prod(shape) and len(value.shape) > len(shape):
                raise Unsupported
            while len(value.shape) > len(shape):
                raise Unsupported
            source = self._over(value, shape, list(range(len(shape))))
            self._write(region, source, value.dtype if source[0] != SCALAR else None)
        else:
            self._write(region, self._over(value, shape, list(range(len(shape)))), None)

    def _method(self, name: str, args: tuple, result: Any) -> None:
        source = args[0]
        if name in ("copy", "astype", "reshape", "flatten") and type(result) is Value:
            self._copied(source, result, in_order=name in ("reshape", "flatten"))
        else:
            raise Unsupported

    def _copied(self, source: Value, result: Value, in_order: bool) -> None:
        """Make ``result`` a copy of ``source``, in its own layout or (of another shape) in row-major order."""
        if source.dtype not in NATIVE or result.dtype not in NATIVE:
            raise Unsupported
        if in_order and steps(result.shape, _elements(result)) != dense(result.shape):
            raise Unsupported
        order = list(range(len(source.shape))) if in_order else _order(result)
        shape = tuple([source.shape[d] for d in order])
        access = self._over(source, source.shape, order)
        if access[0] == SCALAR:
            node = self.add(FILL, result.dtype, shape, (), _number(access[1], result.dtype))
        elif source.dtype == result.dtype:
            node = self.add(COPY, result.dtype, shape, (access,))
        else:
            if source.dtype.kind == "f" and result.dtype.kind != "f":
                raise Unsupported
            node = self.add(CAST, result.dtype, shape, (access,))
        self._made(result, node)

    def _reduce(self, function: Any, args: tuple, kwargs: dict, result: Any) -> None:
        name = _REDUCTIONS[function]
        names = (
            ("a", "axis", "out", "keepdims")
            if function in _WITHOUT_DTYPE
            else ("a", "axis", "dtype", "out", "keepdims")
        )
        bound: dict[str, Any] = {
            "axis": None if hasattr(function, "__wrapped__") or isinstance(function, FunctionType) else 0
        }
        bound |= dict(zip(names, args, strict=False)) | kwargs
        source, axis, dtype = bound.pop("a", None), bound.pop("axis"), bound.pop("dtype", None)
        bound.pop("keepdims", None)
        if any(v is not None and v is not np._NoValue for v in bound.values()) or type(source) is not Value:
            raise Unsupported
        if (
            type(result) is not Value
            or result.dtype not in NATIVE
            or dtype is not None
            and np.dtype(dtype) != result.dtype
        ):
            raise Unsupported
        rank = len(source.shape)
        axes = (
            tuple(range(rank))
            if axis is None
            else tuple(sorted(a % rank for a in (axis if isinstance(axis, tuple) else (axis,))))
        )
        inner = result.dtype
        if not prod(source.shape):
            raise Unsupported
        if name.startswith("logical") and inner.kind != "b":
            raise Unsupported
        if name in ("maximum", "minimum") and (not prod(source.shape) or inner.kind == "b"):
            raise Unsupported
        if name in ("add", "multiply") and inner.kind == "b" or source.dtype.kind == "f" and inner.kind != "f":
            raise Unsupported
        if not axes or rank == 0:
            return self._copied(source, result, in_order=False)
        kept = [d for d in range(rank) if d not in axes]
        if len(result.shape) == rank:
            order = _order(result)
            kept = [d for d in order if d not in axes]
        elif steps(result.shape, _elements(result)) != dense(result.shape):
            ordering = _order(result)
            kept = [kept[d] for d in ordering]
        access = self._over(source, source.shape, list(range(rank)), inner)
        if access[0] == SCALAR:
            raise Unsupported
        way = list(kept)
        for axis in axes:  # where its steps in memory have their place among the others'
            smaller = (k for k, d in enumerate(way) if abs(access[2][d]) < abs(access[2][axis]))
            way.insert(next(smaller, len(way)), axis)
        space = tuple([source.shape[d] for d in way])
        reading = (*access[:2], tuple([access[2][d] for d in way]))
        shape = tuple([source.shape[d] for d in kept])
        attr = (name, space, tuple([k for k, d in enumerate(way) if d in axes]))
        single = name == "add" and inner == np.float32 and way[-1] not in axes and prod(space) > _MANY * prod(shape)
        # The sums of columns lie in memory: they are kept there in double precision, in blocks of rows.
        if single:
            double = np.dtype("f8")
            reading, space, summed = self._blocks(reading, space, attr[2], inner)
            wide = self.add(CAST, double, space, (reading,))
            node = self.add(REDUCE, double, shape, ((wide, 0, dense(space)),), (name, space, summed))
            node = self.add(CAST, inner, shape, ((node, 0, dense(shape)),))
        else:
            node = self.add(REDUCE, inner, shape, (reading,), attr)
        self._made(result, node)

    def _blocks(self, reading: Access, space: tuple, axes: tuple, dtype: np.dtype) -> tuple[Access, tuple, tuple]:
        """Split sums along ``axes`` into sums of some rows at a time: return how they are read, over which space, and
        along which axes they are summed.
        """
        axis = max(axes)
        rows = next((b for b in range(64, 15, -1) if space[axis] % b == 0), 1)
        if rows == 1:
            return reading, space, axes
        many, step = space[axis] // rows, reading[2][axis]
        finer = (*space[:axis], many, rows, *space[axis + 1 :])
        ways = (*reading[2][:axis], step * rows, step, *reading[2][axis + 1 :])
        left = (*space[:axis], many, *space[axis + 1 :])
        node = self.add(REDUCE, dtype, left, ((*reading[:2], ways),), ("add", finer, (axis + 1,)))
        return (node, 0, dense(left)), left, axes

    def _product(self, name: str, args: tuple, result: Any) -> None:
        if type(result) is not Value or result.dtype.kind != "f" or result.dtype not in NATIVE:
            raise Unsupported
        a, b = args
        if name == "vecdot":
            return self._contract(a, b, result, _vecdot)
        if name != "matmul":
            raise Unsupported
        self._contract(a, b, result, _matmul)

    def _contract(self, a: Any, b: Any, result: Value, shapes: Callable) -> None:
        if type(a) is not Value or type(b) is not Value or a.dtype != result.dtype or b.dtype != result.dtype:
            raise Unsupported
        batch, m, k, n, left, right = shapes(a, b)
        if not batch * 0 == () or not m * k * n:
            raise Unsupported
        dtype = result.dtype
        if steps(result.shape, _elements(result)) != dense(result.shape):
            raise Unsupported
        first = self._spread(a, left)
        second = self._spread(b, right)
        self._made(result, self.add(MATMUL, dtype, (*batch, m, n), (first, second), (batch, m, k, n)))

    def _spread(self, value: Value, way: Sequence[tuple[int, int]]) -> Access:
        """Return a value read over sizes ``n`` along its axes ``d`` (-1: broadcast)."""
        access = self.access(value)
        if access[0] == SCALAR:
            node = self.add(FILL, value.dtype, (1,), (), access[1])
            return node, 0, tuple([0 for _ in way])
        return access[0], access[1], tuple([0 if d < 0 else access[2][d] for d, _ in way])

    # --- what stays a call ------------------------------------------------------------------------

    def _check(self, instruction: Instruction) -> None:
        value, seen = instruction.args
        if not prod(value.shape):
            return
        try:
            access = self.access(value)
        except Unsupported:
            raise NotNative("a value of another type is looked at") from None
        if value.dtype not in NATIVE and access[0] != SCALAR and steps(value.shape, access[2]) != dense(value.shape):
            raise NotNative("a value of another type is looked at, with gaps in its memory")
        expected = self.add(CONST, value.dtype, (prod(value.shape),), (), np.ascontiguousarray(seen).reshape(-1))
        self.add(CHECK, value.dtype, value.shape, (access, (expected, 0, dense(value.shape))))

    def _call(self, instruction: Instruction) -> None:
        self.calls += 1
        operands: list[tuple] = []

        def view(leaf: Any) -> Any:
            if type(leaf) is not Value:
                return leaf
            if is_constant(leaf):
                return leaf.constant
            node, low = self._of(leaf)
            operands.append((node, 0, None))
            return ViewOf(len(operands) - 1, leaf.offset - low, leaf.shape, leaf.strides, leaf.dtype)

        targets = written_by(instruction)
        args = mapped(instruction.args, view)
        kwargs = mapped(instruction.kwargs, view)
        made = instruction.gives
        touched = {self._of(target)[0] for target in targets}
        number = self.add(CALL, np.dtype(bool), (), tuple(operands), (instruction, args, kwargs, touched))
        for k, value in enumerate(made):
            order = _order(value)
            shape = tuple([value.shape[d] for d in order])
            self._made(value, self.add(GIVEN, value.dtype, shape, ((number, 0, None),), (k, order)))
        for target in targets:
            node, _ = self._of(target)
            whole = self.nodes[node]
            self._versions[id(target.memory)] = self.add(
                TOUCHED, whole.dtype, whole.shape, ((node, 0, None), (number, 0, None)), number
            )

    def _output(self, value: Value) -> tuple[Access, tuple, np.dtype, list[int]]:
        order = _order(value)
        shape = tuple([value.shape[d] for d in order])
        if is_constant(value):
            array = np.ascontiguousarray(value.constant.transpose(order))  # type: ignore[union-attr]
            node = self.add(CONST, value.dtype, (array.size,), (), array.reshape(-1))
            return (node, 0, dense(shape)), shape, value.dtype, order
        number, low = self._of(value)
        if self.nodes[number].dtype != value.dtype:
            raise NotNative("a result is looked at as another type")
        strides = steps(value.shape, _elements(value))
        access = (number, (value.offset - low) // value.dtype.itemsize, tuple([strides[d] for d in order]))
        if value.dtype not in NATIVE and (access[1] or access[2] != dense(shape)):
            raise NotNative("a result of a type that has no loops is a part of something, or repeats it")
        return access, shape, value.dtype, order


BOOL_OPS = {"logical_and", "logical_or", "logical_not", "logical_xor", "equal", "not_equal", "multiply", "add"}


def _matmul(a: Value, b: Value) -> tuple:
    rank_a, rank_b = len(a.shape), len(b.shape)
    m, k = (1, a.shape[0]) if rank_a == 1 else a.shape[-2:]
    n = 1 if rank_b == 1 else b.shape[-1]
    batch = np.broadcast_shapes(a.shape[:-2], b.shape[:-2])
    lead_a = [(d - (len(batch) - (rank_a - 2)) if rank_a > 2 else -1) for d in range(len(batch))]
    lead_b = [(d - (len(batch) - (rank_b - 2)) if rank_b > 2 else -1) for d in range(len(batch))]
    left = [(d if d >= 0 and a.shape[d] != 1 else -1, q) for d, q in zip(lead_a, batch, strict=True)]
    right = [(d if d >= 0 and b.shape[d] != 1 else -1, q) for d, q in zip(lead_b, batch, strict=True)]
    left += [(-1 if rank_a == 1 else rank_a - 2, m), (rank_a - 1, k)]
    right += [(0 if rank_b == 1 else rank_b - 2, k), (-1 if rank_b == 1 else rank_b - 1, n)]
    return batch, m, k, n, left, right


def _vecdot(a: Value, b: Value) -> tuple:
    if a.shape != b.shape or len(a.shape) < 1:
        raise Unsupported
    batch, k = a.shape[:-1], a.shape[-1]
    lead = list(enumerate(batch))
    last = len(batch)
    return batch, 1, k, 1, [*lead, (-1, 1), (last, k)], [*lead, (last, k), (-1, 1)]


@lru_cache(4096)
def _loop_of(ufunc: np.ufunc, *kinds: Any) -> tuple[str, np.dtype, np.dtype] | None:
    """Return the op of a ufunc for arguments of these types, the type it computes in and the result type; None if it
    has no loop.
    """
    try:
        loop = ufunc.resolve_dtypes((*kinds, None))
    except TypeError:
        return None
    name, inner, given = _NAMES.get(ufunc.__name__, ufunc.__name__), loop[0], loop[-1]
    if any(d not in NATIVE for d in loop) or len({*loop[:-1]}) != 1:
        return None
    if ufunc.__name__ in ("bitwise_and", "bitwise_or", "invert", "bitwise_xor") and inner.kind != "b":
        return None
    known = FLOAT_OPS if inner.kind == "f" else INT_OPS if inner.kind == "i" else BOOL_OPS
    return (name, inner, given) if name in known and (given == inner or name in PREDICATES) else None
