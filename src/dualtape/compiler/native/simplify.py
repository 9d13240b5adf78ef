"""Simplification: reads go through copies and writes to where values come from, equal nodes become one, unused ones are
removed.

Only transformations that give the same numbers are made, with one exception: ``x + z`` where ``z`` is zero except for a
region becomes a write of that region, and zeros outside of it keep the sign that they have in ``x``.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np

from .ir import (
    CALL,
    CAST,
    CHECK,
    CONST,
    COPY,
    EMPTY,
    FILL,
    GIVEN,
    INPUT,
    MATMUL,
    REDUCE,
    SCALAR,
    SELECT,
    TOUCHED,
    WRITE,
    Access,
    Node,
    dense,
    is_whole,
    steps,
)

# not maximum and minimum: of 0.0 and -0.0, they give the second
_COMMUTATIVE = frozenset({"add", "multiply", "logical_and", "logical_or", "equal", "not_equal"})
# From so many elements on, x + (zeros but for a region) becomes a write to the region.
_SPARSE = 64
_UNIQUE = frozenset({INPUT, CONST, EMPTY, CALL, GIVEN, TOUCHED, CHECK})


def _strides_of(shape: tuple) -> tuple:
    strides, step = [], 1
    for n in reversed(shape):
        strides.append(step)
        step *= n
    return tuple(reversed(strides))


def decompose(offset: int, strides: tuple, shape: tuple, sizes: tuple, box: tuple) -> Any:
    """Return an access as coordinates in a box of ``sizes`` with the (positive, nested) strides ``box``: the start, one
    step vector for each of its axes, its lowest and its highest corner; None if it leaves the box, or steps carry.
    """
    axes = sorted([d for d in range(len(sizes)) if sizes[d] > 1], key=lambda d: -box[d])

    def coordinates(place: int) -> list[int] | None:
        found = [0] * len(sizes)
        for d in axes:
            found[d], place = divmod(place, box[d])
        return None if place else found

    if offset < 0 or any(s <= 0 for s, n in zip(box, sizes, strict=True) if n > 1):
        return None
    start = coordinates(offset)
    if start is None:
        return None
    vectors, low, high = [], list(start), list(start)
    for s, n in zip(strides, shape, strict=True):
        vector: list[int] | None = [0] * len(sizes) if n == 1 or s == 0 else coordinates(abs(s))
        if vector is None:
            return None
        if s < 0:
            vector = [-v for v in vector]
        vectors.append(vector)
        for d, v in enumerate(vector):
            if n > 1 and v > 0:
                high[d] += v * (n - 1)
            elif n > 1 and v < 0:
                low[d] += v * (n - 1)
    if any(h >= n or b < 0 for h, b, n in zip(high, low, sizes, strict=True)):
        return None
    return start, vectors, low, high


def span(offset: int, strides: tuple, shape: tuple) -> tuple[int, int]:
    """Return the first and the last index of an access."""
    low = offset + sum((n - 1) * s for n, s in zip(shape, strides, strict=True) if s < 0)
    return low, offset + sum((n - 1) * s for n, s in zip(shape, strides, strict=True) if s > 0)


def _through(access: Access, found: Any) -> Access:
    """Return the access to the original of a node through an access that it is a part of."""
    start, vectors = found[:2]
    node, offset, strides = access
    return (
        node,
        offset + sum([a * b for a, b in zip(start, strides, strict=True)]),
        tuple([sum([a * b for a, b in zip(v, strides, strict=True)]) for v in vectors]),
    )


class Cleaned:
    """A simplified program.

    Attributes
    ----------
    nodes : list of Node
    outputs, back : list
        As of a :class:`Lowering`.
    """

    def __init__(self, nodes: Sequence[Node], outputs: list, back: list) -> None:
        self.nodes: list[Node] = []
        self._table: dict[tuple, int] = {}
        self._memo: dict[tuple, Access] = {}
        self._map: list[int] = []
        for node in nodes:
            self._map.append(self._node(node))
        self.outputs = [(self._read(access, shape), shape, dtype, order) for access, shape, dtype, order in outputs]
        self.back = [(k, self._read(access, shape), shape, dtype) for k, access, shape, dtype in back]
        self._drop_dead()

    # --- accesses ---------------------------------------------------------------------------------

    def _moved(self, access: Access) -> Access:
        """Return an access to an old node as one to the new."""
        if access[0] == SCALAR:
            return access
        return (self._map[access[0]], *access[1:])

    def _read(self, access: Access, shape: tuple) -> Access:
        """Return the same, read from the earliest node that has the values."""
        return self._resolved(self._moved(access), shape)

    def _resolved(self, access: Access, shape: tuple) -> Access:
        if access[0] == SCALAR:
            return access
        key = (access, shape)
        known = self._memo.get(key)
        if known is not None:
            return known
        while access[0] != SCALAR:
            node = self.nodes[access[0]]
            if node.op == FILL:
                access = (SCALAR, node.attr)
            elif node.op == COPY and node.operands[0][0] != SCALAR:
                found = decompose(access[1], access[2], shape, node.shape, _strides_of(node.shape))
                if found is None:
                    break
                access = _through(node.operands[0], found)
            elif node.op == WRITE:
                further = self._past(access, shape, node)
                if further is None:
                    break
                access = further
            else:
                break
        if access[0] != SCALAR:
            access = (access[0], access[1], steps(shape, access[2]))
        self._memo[key] = access
        return access

    def _past(self, access: Access, shape: tuple, node: Node) -> Access | None:
        """Return the access to the source of a read from a buffer that was written: the written value, or the buffer
        before.
        """
        _, offset, strides = access
        base, source = node.operands
        at, region, ways = node.attr
        if all(s >= 0 for s in ways):
            found = decompose(offset - at, strides, shape, region, ways)
            if found is not None:
                return source if source[0] == SCALAR else _through(source, found)
        low, high = span(offset, strides, shape)
        first, last = span(at, ways, region)
        if high < first or low > last:
            return base[0], offset, strides
        box = _strides_of(node.shape)
        mine = decompose(offset, strides, shape, node.shape, box)
        written = decompose(at, ways, region, node.shape, box)
        if mine is not None and written is not None:
            if any(h < b or l > t for l, h, b, t in zip(mine[2], mine[3], written[2], written[3], strict=True)):
                return base[0], offset, strides
        return None

    # --- nodes ------------------------------------------------------------------------------------

    def _add(self, op: str, dtype: np.dtype, shape: tuple, operands: tuple, attr: Any = None) -> int:
        if op in _UNIQUE or (op == FILL and prod(shape) > _SPARSE):
            self.nodes.append(Node(op, dtype, shape, operands, attr))
            return len(self.nodes) - 1
        if op in _COMMUTATIVE:
            a, b = operands
            if b[0] == SCALAR or (a[0] != SCALAR and b[0] > a[0]):
                operands = (b, a)
        exact = tuple([(SCALAR, _exact(o[1])) if o[0] == SCALAR else o for o in operands])
        key = (op, dtype, shape, exact, _exact(attr))
        known = self._table.get(key)
        if known is None:
            self.nodes.append(Node(op, dtype, shape, operands, attr))
            known = self._table[key] = len(self.nodes) - 1
        return known

    def _node(self, node: Node) -> int:
        """Return the number of the new node for an old one."""
        op, dtype, shape, attr = node.op, node.dtype, node.shape, node.attr
        if op in (INPUT, CONST, FILL, EMPTY):
            return self._add(op, dtype, shape, (), attr)
        if op == CALL:
            attr = (*attr[:3], {self._map[i] for i in attr[3]})
        if op in (CALL, GIVEN, TOUCHED):
            return self._add(op, dtype, shape, tuple([(self._map[o[0]], 0, None) for o in node.operands]), attr)
        if op == WRITE:
            return self._write(node)
        if op == MATMUL:
            batch, m, k, n = attr
            spaces = ((*batch, m, k), (*batch, k, n))
            sides = [self._read(o, space) for o, space in zip(node.operands, spaces, strict=True)]
            filled = [
                (self._add(FILL, dtype, (1,), (), o[1]), 0, (0,) * len(space)) if o[0] == SCALAR else o
                for o, space in zip(sides, spaces, strict=True)
            ]
            return self._add(op, dtype, shape, tuple(filled), attr)
        operands = tuple([self._read(o, node.space) for o in node.operands])
        if op == CHECK:  # it compares bytes, and so needs them side by side
            if operands[0][0] == SCALAR:
                operands = ((self._add(FILL, dtype, shape, (), operands[0][1]), 0, dense(shape)), operands[1])
            elif operands[0][2] != dense(shape):
                operands = ((self._add(COPY, dtype, shape, (operands[0],)), 0, dense(shape)), operands[1])
            return self._add(op, dtype, shape, operands, attr)
        if op not in (COPY, CAST, REDUCE) and operands and all([o[0] == SCALAR for o in operands]):
            return self._of_numbers(node, operands)
        return self._computed(op, dtype, shape, operands, attr)

    def _of_numbers(self, node: Node, operands: tuple) -> int:
        """Return an op whose operands are all constants, computed on one element by the usual kernels.

        The numbers get a node each, since they have a dtype of their own: that of a comparison is not its result's.
        """
        dtypes = [node.dtype if o[0] == SCALAR else self.nodes[self._map[o[0]]].dtype for o in node.operands]
        if node.dtype.kind == "b" and node.op != SELECT:
            known = [d for d, o in zip(dtypes, node.operands, strict=True) if o[0] != SCALAR]
            dtypes = [(known or dtypes)[0]] * len(dtypes)
        filled = []
        for dtype, (_, number) in zip(dtypes, operands, strict=True):
            filled.append((self._add(FILL, dtype, (1,), (), number), 0, ()))
        one = self._add(node.op, node.dtype, (), tuple(filled), node.attr)
        if prod(node.shape) == 1:
            return one
        return self._add(COPY, node.dtype, node.shape, ((one, 0, (0,) * len(node.shape)),))

    def _computed(self, op: str, dtype: np.dtype, shape: tuple, operands: tuple, attr: Any) -> Any:
        if op == COPY:
            source = operands[0]
            if source[0] == SCALAR:
                return self._add(FILL, dtype, shape, (), source[1])
            if is_whole(source, shape, self.nodes[source[0]]):
                return source[0]
        elif op == CAST and operands[0][0] == SCALAR:
            return self._add(FILL, dtype, shape, (), np.asarray(operands[0][1]).astype(dtype).item())
        elif op == "positive":
            return self._computed(COPY, dtype, shape, operands, None)
        elif op == REDUCE and operands[0][0] == SCALAR:
            operands = ((self._add(FILL, dtype, (1,), (), operands[0][1]), 0, (0,) * len(attr[1])),)
        elif op == "add" and prod(shape) > _SPARSE:
            sparse = self._added_region(dtype, shape, operands)
            if sparse is not None:
                return sparse
        if dtype.kind == "f" and len(operands) == 2:
            same = _same(op, operands)
            if same is not None:
                return self._computed(COPY, dtype, shape, (same,), None)
            if op == "power" and operands[1] == (SCALAR, 2):
                return self._add("multiply", dtype, shape, (operands[0], operands[0]))
        if op == "negative" and operands[0][0] != SCALAR:
            inner = self.nodes[operands[0][0]]
            if inner.op == "negative" and inner.shape == shape and is_whole(operands[0], shape, inner):
                return self._computed(COPY, dtype, shape, inner.operands, None)
        if operands and all(o[0] == SCALAR for o in operands) and op not in (REDUCE, CHECK):
            # computed by the same kernels as everything: on one element
            one = self._add(op, dtype, (), operands, attr)
            return (
                one if not shape or prod(shape) == 1 else self._add(COPY, dtype, shape, ((one, 0, (0,) * len(shape)),))
            )
        return self._add(op, dtype, shape, operands, attr)

    def _added_region(self, dtype: np.dtype, shape: tuple, operands: tuple) -> Any:
        """Rewrite ``x + z``, where ``z`` is zero except for a written region, as a write of that region."""
        for x, z in (operands, operands[::-1]):
            if x[0] == SCALAR or z[0] == SCALAR:
                continue
            written = self.nodes[z[0]]
            if written.op != WRITE or not is_whole(z, shape, written) or not is_whole(x, shape, self.nodes[x[0]]):
                continue
            before = self.nodes[written.operands[0][0]]
            if before.op != FILL or before.attr != 0:
                continue
            at, region, ways = written.attr
            part = self._computed(
                "add",
                dtype,
                region,
                (self._resolved((x[0], at, steps(region, ways)), region), written.operands[1]),
                None,
            )
            target = self.nodes[x[0]]
            return self._add(WRITE, dtype, target.shape, ((x[0], 0, None), (part, 0, dense(region))), written.attr)
        return None

    def _write(self, node: Node) -> Any:
        at, region, ways = node.attr
        base = self._moved(node.operands[0])
        source = self._read(node.operands[1], region)
        if base[0] == SCALAR or base[1]:
            raise AssertionError("a write to a part of a memory")
        whole = self.nodes[base[0]]
        if prod(region) == prod(node.shape) and at == 0 and steps(region, ways) == dense(region):
            if source[0] == SCALAR:
                return self._add(FILL, node.dtype, node.shape, (), source[1])
            return self._computed(COPY, node.dtype, region, (source,), None)
        number = base[0]
        while whole.op == WRITE and all(s >= 0 for s in ways):  # what is written over needs not be written
            old = whole.attr
            if decompose(old[0] - at, old[2], old[1], region, ways) is None:
                break
            number = whole.operands[0][0]
            whole = self.nodes[number]
        if source[0] != SCALAR and source == (number, at, steps(region, ways)):
            return number  # what is there already
        return self._add(WRITE, node.dtype, node.shape, ((number, 0, None), source), node.attr)

    def _drop_dead(self) -> None:
        live = [False] * len(self.nodes)
        waiting = [access[0] for access, *_ in self.outputs if access[0] != SCALAR]
        waiting += [access[0] for _, access, *_ in self.back if access[0] != SCALAR]
        waiting += [i for i, node in enumerate(self.nodes) if node.op in (CALL, CHECK)]
        while waiting:
            i = waiting.pop()
            if not live[i]:
                live[i] = True
                waiting.extend([o[0] for o in self.nodes[i].operands if o[0] != SCALAR])
        numbers: dict[int, int] = {}
        kept: list[Node] = []
        moved = lambda o: o if o[0] == SCALAR else (numbers[o[0]], *o[1:])
        for i, node in enumerate(self.nodes):
            if live[i]:
                numbers[i] = len(kept)
                attr = (*node.attr[:3], {numbers[k] for k in node.attr[3]}) if node.op == CALL else node.attr
                kept.append(Node(node.op, node.dtype, node.shape, tuple([moved(o) for o in node.operands]), attr))
        self.nodes = kept
        self.outputs = [(moved(access), *rest) for access, *rest in self.outputs]
        self.back = [(k, moved(access), *rest) for k, access, *rest in self.back]


def _exact(attr: Any) -> Any:
    """Return a number as a key that distinguishes 0.0 from -0.0, and 1 from True."""
    return (type(attr), str(attr)) if isinstance(attr, (float, int)) else attr


def _same(op: str, operands: tuple) -> Access | None:
    """Return the operand that an op returns unchanged, or None."""
    (a, b) = operands
    one = lambda o: o[0] == SCALAR and o[1] == 1
    if op == "multiply":
        return a if one(b) else b if one(a) else None
    if op in ("divide", "power"):
        return a if one(b) else None
    if op == "subtract":
        return a if b[0] == SCALAR and b[1] == 0 and str(float(b[1])) == "0.0" else None
    return None
