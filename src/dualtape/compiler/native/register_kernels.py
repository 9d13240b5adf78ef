"""Kernels of arrays that fit into registers: code without loops, where views are shuffles."""

from __future__ import annotations

from math import prod
from typing import Any

from .ir import CAST, FILL, MATMUL, REDUCE, WRITE, dense, indices
from .llvm_builder import Kernel, kind_of
from .maths import constant, vector


class Straight:
    """Arrays of a few elements, each in one register, views as shuffles."""

    def __init__(self, kernel: Kernel, members: tuple) -> None:
        self.kernel, self.members = kernel, members
        self.values: list[Any] = [None] * len(members)  # (name, lanes, type)
        self.loaded: dict[int, tuple] = {}
        self.read_before: dict[tuple, Any] = {}

    def whole(self, read: tuple) -> tuple:
        """Return the register of a whole array."""
        if read[0] == "r":
            return self.values[read[1]]
        slot, size, code = read[1], read[2], read[5]
        if slot not in self.loaded:
            self.loaded[slot] = (self.kernel.load(self.kernel.pointer(slot), code, size), size, kind_of(code))
        return self.loaded[slot]

    def read(self, read: tuple, shape: tuple) -> Any:
        """Return the value of an operand over ``shape``: a name, or a number."""
        if read[0] == "s":
            return read[1]
        key = (read, shape)
        known = self.read_before.get(key)
        if known is not None:
            return known
        if read[0] == "m":
            value = self._from_memory(read, shape)
        elif read[0] == "n":
            value = self.kernel.number(read, prod(shape))
        else:
            name, count, kind = self.whole(read)
            offset, strides = (read[2], read[3]) if read[0] == "r" else (read[3], read[4])
            value = self.kernel.shuffle(name, count, kind, indices(offset, strides, shape))
        self.read_before[key] = value
        return value

    def _from_memory(self, read: tuple, shape: tuple) -> str:
        kernel = self.kernel
        _, slot, strides, code = read
        places = indices(0, strides, shape)
        count = len(places)
        pointer = kernel.pointer(slot)
        if places == list(range(count)):
            return kernel.load(pointer, code, count)
        kind = kind_of(code)
        if not any(places):
            return kernel.shuffle(kernel.load(pointer, code), 1, kind, places)
        value = "poison"
        for k, place in enumerate(places):
            one = kernel.load(kernel.offset(pointer, code, place), code)
            value = (
                kernel.emit(f"insertelement {vector(count, kind)} {value}, {kind} {one}, i32 {k}") if count > 1 else one
            )
        return value

    def code_of(self, read: tuple) -> str | None:
        return None if read[0] == "s" else self.members[read[1]][1] if read[0] == "r" else read[-1]

    def write(self) -> None:
        for k, (op, code, shape, reads, store, attr) in enumerate(self.members):
            kernel, count, kind = self.kernel, prod(shape), kind_of(code)
            if op == WRITE and len(attr) == 1:
                self._into_memory(code, reads[0], store, attr[0])
                continue
            if op == WRITE:
                value = self._blended(code, shape, reads, attr)
            elif op == REDUCE:
                value = self._reduced(code, count, reads[0], attr)
            elif op == MATMUL:
                value = self._multiplied(kind, count, reads, attr)
            elif op == FILL:
                value = constant(count, kind, attr[1])
            else:
                args = [self.read(r, shape) for r in reads]
                if not any(isinstance(a, str) for a in args):
                    args[0] = constant(count, kind_of(code) if op != CAST else kind, args[0])
                value = kernel.apply(op, code, args, [self.code_of(r) for r in reads], count)
            self.values[k] = (value, count, kind)
            if store is not None:
                kernel.store(value, kernel.pointer(store[0]), code, count)

    def _into_memory(self, code: str, read: tuple, store: tuple, region: tuple) -> None:
        kernel, kind = self.kernel, kind_of(code)
        value = self.read(read, region)
        places = indices(0, store[1], region)
        count = len(places)
        if not isinstance(value, str):
            value = constant(count, kind, value)
        pointer = kernel.pointer(store[0])
        if places == list(range(count)):
            kernel.store(value, pointer, code, count)
            return
        for k, place in enumerate(places):
            one = kernel.emit(f"extractelement {vector(count, kind)} {value}, i32 {k}") if count > 1 else value
            kernel.store(one, kernel.offset(pointer, code, place), code)

    def _blended(self, code: str, shape: tuple, reads: tuple, attr: tuple) -> str:
        kernel, kind, count = self.kernel, kind_of(code), prod(shape)
        at, region, ways = attr
        source = self.read(reads[1], region)
        wide = prod(region)
        if not isinstance(source, str):
            source = constant(wide, kind, source)
        if count == 1:
            return source
        base = constant(count, kind, reads[0][1]) if reads[0][0] == "s" else self.whole(reads[0])[0]
        from_place = {place: k for k, place in enumerate(indices(at, ways, region))}
        # One shuffle puts the lanes in place. After two, LLVM takes lanes that the second leaves out for undefined in
        # the first, makes an extension of it for which it has no instruction, and ends the process.
        if wide == 1:
            source, from_place = kernel.shuffle(source, 1, kind, [0] * count), dict.fromkeys(from_place, 0)
        elif wide < count:
            source = kernel.widened(source, wide, count, kind)
        mask = ", ".join(f"i32 {count + from_place[k] if k in from_place else k}" for k in range(count))
        shape_text = vector(count, kind)
        return kernel.emit(f"shufflevector {shape_text} {base}, {shape_text} {source}, <{count} x i32> <{mask}>")

    def _register(self, read: tuple, space: tuple) -> tuple[tuple, int, tuple]:
        """Return a read as a part of a register: the register, the first lane, and the strides over ``space``."""
        if read[0] == "r":
            return self.values[read[1]], read[2], read[3]
        if read[0] == "w":
            return self.whole(read), read[3], read[4]
        code = read[3]
        return (self._from_memory(read, space), prod(space), kind_of(code)), 0, dense(space)

    def _reduced(self, code: str, count: int, read: tuple, attr: tuple) -> str:
        kernel = self.kernel
        name, space, axes = attr
        (value, lanes, kind), offset, strides = self._register(read, space)
        kept = [d for d in range(len(space)) if d not in axes]
        outer, shape = tuple(strides[d] for d in kept), tuple(space[d] for d in kept)
        starts = indices(offset, tuple(strides[d] for d in axes), tuple(space[d] for d in axes))
        parts = [kernel.shuffle(value, lanes, kind, indices(start, outer, shape)) for start in starts]
        while len(parts) > 1:  # in pairs
            pairs = zip(parts[::2], parts[1::2], strict=False)
            paired = [kernel.apply(name, code, [a, b], [code, code], count) for a, b in pairs]
            parts = paired + ([parts[-1]] if len(parts) % 2 else [])
        return self._from_zero(parts[0], code, count) if name == "add" else parts[0]

    def _from_zero(self, total: str, code: str, count: int) -> str:
        """Return a sum that began with 0.0: that of negative zeros is 0.0, as in loops."""
        if code not in ("f4", "f8"):
            return total
        return self.kernel.apply("add", code, [total, constant(count, kind_of(code), 0.0)], [code, code], count)

    def _multiplied(self, kind: str, count: int, reads: tuple, attr: tuple) -> str:
        batch, m, inner, n, _ = attr
        lanes = self.kernel.lanes(count, kind)
        spaces = ((*batch, m, inner), (*batch, inner, n))
        sides = [self._register(read, space) for read, space in zip(reads, spaces, strict=True)]
        total = None
        for q in range(inner):
            factors = []
            for ((value, wide, _), offset, strides), axis in zip(sides, (-1, -2), strict=True):
                ways = (*strides[:-1], 0) if axis == -1 else (*strides[:-2], 0, strides[-1])
                places = indices(offset + q * strides[axis], ways, (*batch, m, n))
                factors.append(self.kernel.shuffle(value, wide, kind, places))
            total = lanes.mul(*factors) if total is None else lanes.fma(factors[0], factors[1], total)
        assert total is not None
        return lanes.add(total, 0.0)
