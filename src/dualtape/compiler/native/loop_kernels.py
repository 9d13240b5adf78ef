"""Kernels that are loops over arrays, and nests of such loops.

The last dimension is traversed in vectors. If its length is not a multiple of the vector length, the last vector begins
earlier and recomputes some elements, so that nothing outside an array is read or written.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .ir import FILL, REDUCE, WRITE
from .llvm_builder import GIVEN, SIZES, Kernel, closed_loops, kind_of, opened_loops
from .maths import DOUBLE, FUNCTIONS, Lanes, constant, vector

_NEUTRAL = {
    "add": 0,
    "multiply": 1,
    "maximum": -np.inf,
    "minimum": np.inf,
    "logical_or": 0,
    "logical_and": 1,
}
_FEW = 6  # functions of a loop that are written out in it


class Loop:
    """Nested loops over one space; the last dimension in vectors."""

    def __init__(self, kernel: Kernel, plan: tuple) -> None:
        self.kernel = kernel
        self.members, first, (self.lead, outer, last), facts = plan
        self.plan = [(k, *member) for k, member in enumerate(self.members)]
        # whether the last vector begins earlier; whether sums are long; whether there is enough for several threads
        self.width, self.again, self.long, self.much = facts
        self.sizes = [f"%n{first + d}" for d in range(outer)]
        # Whether there are several vectors in the last dimension, whose length is then an argument.
        self.several = not last
        self.count = f"%n{first + outer}" if self.several else str(last)
        self.chunks = f"%n{first + outer + 1}"
        self.inline = sum([p[1] in FUNCTIONS for p in self.plan]) <= _FEW
        self.given: dict[tuple, str] = {}  # numbers that it computes with

    # --- the loops --------------------------------------------------------------------------------

    def write(self) -> None:
        self.inside(self.begin("entry"), [], self.much and self.independent())

    def begin(self, block: str) -> str:
        """Write the code before all loops; return the block after it."""
        for p in self.plan:
            for r in p[3]:
                if r[0] == "n":
                    self.given[r] = self.kernel.number(r, self.width)
        return self._neutral(block)

    def inside(self, block: str, around: list, shared: bool) -> str:
        """Write the inner loops, given the counters of the outer ones; return the last block."""
        kernel = self.kernel
        lines = kernel.lines
        kernel.inline = self.inline
        outer, counters, block = opened_loops(kernel, self.sizes[len(around) :], block)
        counters = [*around, *counters]
        folded = [p for p in self.plan if p[1] == REDUCE and self._folds(p)]
        if not self.several:
            start = {
                (p[0], part): constant(self.width, *self._accumulator(p)) for p in folded for part in self._parts(p)
            }
            self._flush(counters, self._body(counters, "0", start, None), folded)
        else:
            label, end, chunk, following = kernel.label(), kernel.label(), kernel.fresh(), kernel.fresh()
            lines.append(f"  br label %{label}\n{label}:")
            split = shared and not outer and not around
            if split:
                kernel.rounds = GIVEN
            lines.append(f"  {chunk} = phi i64 [{'%low' if split else 0}, %{block}], [{following}, %{label}]")
            start, places = {}, {}
            for key in [(p[0], part) for p in folded for part in self._parts(p)]:
                start[key] = kernel.fresh()
                lines.append("")
                places[key] = len(lines) - 1
            begin = kernel.emit(f"mul i64 {chunk}, {self.width}")
            mask = None
            if self.again:
                last = kernel.emit(f"sub i64 {self.count}, {self.width}")
                late = kernel.emit(f"icmp sgt i64 {begin}, {last}")
                first = kernel.emit(f"select i1 {late}, i64 {last}, i64 {begin}")
                if any(p[1] == REDUCE and p[5] in ("add", "multiply") for p in self.plan):
                    skipped = kernel.emit(f"sub i64 {begin}, {first}")
                    splat = kernel.shuffle(skipped, 1, "i64", [0] * self.width)
                    numbers = "<" + ", ".join(f"i64 {q}" for q in range(self.width)) + ">"
                    if self.width == 1:
                        numbers = "0"
                    mask = kernel.emit(f"icmp sge {vector(self.width, 'i64')} {numbers}, {splat}")
                begin = first
            ended = self._body(counters, begin, start, mask)
            for p in folded:
                kind, neutral = self._accumulator(p)
                for key in [(p[0], part) for part in self._parts(p)]:
                    lines[places[key]] = (
                        f"  {start[key]} = phi {vector(self.width, kind)}"
                        f" [{constant(self.width, kind, neutral)}, %{block}], [{ended[key]}, %{label}]"
                    )
            lines.append(f"  {following} = add i64 {chunk}, 1")
            more = kernel.emit(f"icmp slt i64 {following}, {'%high' if split else self.chunks}")
            lines.append(f"  br i1 {more}, label %{label}, label %{end}\n{end}:")
            block = end
            self._flush(counters, ended, folded)
        return closed_loops(kernel, outer, block, shared)

    def independent(self) -> bool:
        """Return whether threads may share the outermost loop: there is one, and no two iterations write to one
        element.
        """
        if not (self.sizes or self.several):
            return False
        return not any(p[1] == WRITE or p[1] == REDUCE and not (self.sizes and self._once(p)) for p in self.plan)

    def _folds(self, p: tuple) -> bool:
        """Return whether a reduction runs along the last dimension: its accumulator vector is then kept until the
        end.
        """
        return p[4][4] == 0 and self.width > 1

    def _once(self, p: tuple) -> bool:
        """Return whether each result is folded once, so that there is no earlier value."""
        return self._folds(p) and all(step >= 0 for step in p[4][3])

    def _accumulator(self, p: tuple) -> tuple[str, Any]:
        name, code = p[5], p[2]
        neutral = _NEUTRAL[name]
        if code in ("i4", "i8") and name in ("maximum", "minimum"):
            limit = np.iinfo(f"i{SIZES[code]}")
            neutral = limit.min if name == "maximum" else limit.max
        wide = code == "f4" and name == "add" and self.long
        return DOUBLE if wide else kind_of(code), neutral

    def _parts(self, p: tuple) -> tuple[int, ...]:
        """Return the accumulators of a reduction: two for a long sum in double precision, to keep its rounding
        errors.
        """
        return (0, 1) if p[2] == "f8" and p[5] == "add" and self.long else (0,)

    def _neutral(self, block: str) -> str:
        """Initialise the results of reductions that several iterations add to."""
        kernel = self.kernel
        for p in self.plan:
            if p[1] != REDUCE or self._once(p):
                continue
            code = p[2]
            size = self.count if p[4][4] else "1"
            for n, step in zip(self.sizes, p[4][3], strict=True):
                if step >= 0:
                    size = n if size == "1" else kernel.emit(f"mul i64 {n}, {size}")
            value = constant(1, kind_of(code), self._accumulator(p)[1])
            pointer = kernel.pointer(p[4][1])
            if size == "1":
                kernel.store(value, pointer, code)
                continue
            label, end, now, following = kernel.label(), kernel.label(), kernel.fresh(), kernel.fresh()
            kernel.lines.append(f"  br label %{label}\n{label}:")
            kernel.lines.append(f"  {now} = phi i64 [0, %{block}], [{following}, %{label}]")
            kernel.store(value, kernel.offset(pointer, code, now), code)
            kernel.lines.append(f"  {following} = add i64 {now}, 1")
            more = kernel.emit(f"icmp slt i64 {following}, {size}")
            kernel.lines.append(f"  br i1 {more}, label %{label}, label %{end}\n{end}:")
            block = end
        return block

    def _address(self, key: tuple, counters: list, begin: str | None) -> str:
        kernel = self.kernel
        _, slot, code, steps, last = key
        if isinstance(slot, str):  # one row, on the stack
            counters, steps = counters[self.lead :], steps[self.lead :]
        terms = [kernel.emit(f"mul i64 {c}, %n{step}") for c, step in zip(counters, steps, strict=True) if step >= 0]
        if last and begin is not None and begin != "0":
            terms.append(begin if last == 1 else kernel.emit(f"mul i64 {begin}, {last}"))
        total = None
        for term in terms:
            total = term if total is None else kernel.emit(f"add i64 {total}, {term}")
        return kernel.offset(kernel.pointer(slot), code, total)

    def _loaded(self, key: tuple, counters: list, begin: str) -> str:
        kernel, code, stride, width = self.kernel, key[2], key[4], self.width
        pointer = self._address(key, counters, begin)
        if stride == 1 or width == 1:
            return kernel.load(pointer, code, width)
        kind = kind_of(code)
        if stride == 0:
            return kernel.shuffle(kernel.load(pointer, code), 1, kind, [0] * width)
        value = "poison"
        for k in range(width):
            one = kernel.load(kernel.offset(pointer, code, k * stride), code)
            value = kernel.emit(f"insertelement {vector(width, kind)} {value}, {kind} {one}, i32 {k}")
        return value

    def _stored(self, key: tuple, counters: list, begin: str, value: str) -> None:
        kernel, code, stride, width = self.kernel, key[2], key[4], self.width
        pointer = self._address(key, counters, begin)
        if stride == 1 or width == 1:
            kernel.store(value, pointer, code, width)
            return
        kind = kind_of(code)
        for k in range(width):
            one = kernel.emit(f"extractelement {vector(width, kind)} {value}, i32 {k}")
            kernel.store(one, kernel.offset(pointer, code, k * stride), code)

    def _body(self, counters: list, begin: str, start: dict, mask: str | None) -> dict:
        """Write one vector of every member; return the accumulators after it."""
        kernel, width = self.kernel, self.width
        values: dict[int, str] = {}
        loaded: dict[tuple, str] = {}
        ended: dict[tuple[int, int], str] = {}

        def read(r: tuple) -> Any:
            if r[0] == "s":
                return r[1]
            if r[0] == "r":
                return values[r[1]]
            if r[0] == "n":
                return self.given[r]
            if r not in loaded:
                loaded[r] = self._loaded(r, counters, begin)
            return loaded[r]

        def code_of(r: tuple) -> str | None:
            return None if r[0] == "s" else self.members[r[1]][1] if r[0] == "r" else r[2]

        for p in self.plan:
            k, op, code, inputs, target, attr = p
            kind = kind_of(code)
            args = [read(r) for r in inputs]
            if op == REDUCE:
                value = args[0] if isinstance(args[0], str) else constant(width, kind, args[0])
                held, neutral = self._accumulator(p)
                if held != kind and (k, 0) in start:
                    value = kernel._cast(value, kind, held, width)
                else:
                    held = kind
                if mask is not None and attr in ("add", "multiply"):
                    text = constant(width, held, neutral)
                    shape = vector(width, held)
                    value = kernel.emit(f"select {vector(width, 'i1')} {mask}, {shape} {value}, {shape} {text}")
                if (k, 1) in start:  # what rounding takes away is kept beside the sum
                    ended[k, 0], ended[k, 1] = _two_sum(kernel.lanes(width, held), start[k, 0], start[k, 1], value)
                elif (k, 0) in start:
                    ended[k, 0] = kernel.lanes(width, held).apply(attr, start[k, 0], value)
                else:
                    before = self._loaded(target, counters, begin)
                    self._stored(target, counters, begin, kernel.lanes(width, kind).apply(attr, before, value))
                continue
            if op == WRITE:
                value = args[0] if isinstance(args[0], str) else constant(width, kind, args[0])
            elif op == FILL:
                value = constant(width, kind, attr[1])
            else:
                if not any(isinstance(a, str) for a in args):
                    args[0] = constant(width, kind, args[0])
                value = kernel.apply(op, code, args, [code_of(r) for r in inputs], width)
            values[k] = value
            if target is not None:
                self._stored(target, counters, begin, value)
        return ended

    def _flush(self, counters: list, ended: dict, folded: list) -> None:
        """Fold the accumulators into the results."""
        kernel = self.kernel
        for p in folded:
            k, _, code, _, target, attr = p
            kind = kind_of(code)
            held = self._accumulator(p)[0]
            value, width = ended[k, 0], self.width
            if (k, 1) in ended:
                value = kernel.lanes(width, held).add(value, ended[k, 1])
            while width > 1:
                half = width // 2
                low = kernel.shuffle(value, width, held, list(range(half)))
                high = kernel.shuffle(value, width, held, list(range(half, 2 * half)))
                total = kernel.lanes(half, held).apply(attr, low, high)
                if width % 2:
                    odd = kernel.shuffle(value, width, held, [width - 1])
                    first = kernel.shuffle(total, half, held, [0])
                    first = kernel.lanes(1, held).apply(attr, first, odd)
                    total = (
                        first
                        if half == 1
                        else kernel.emit(f"insertelement {vector(half, held)} {total}, {held} {first}, i32 0")
                    )
                value, width = total, half
            if held != kind:
                value = kernel._cast(value, held, kind, 1)
            pointer = self._address(target, counters, None)
            if not self._once(p):
                before = kernel.load(pointer, code)
                value = kernel.lanes(1, kind).apply(attr, before, value)
            kernel.store(value, pointer, code)


def _two_sum(lanes: Lanes, total: str, rest: str, value: str) -> tuple[str, str]:
    """Return the sum, and the sum of its rounding errors."""
    after = lanes.add(total, value)
    part = lanes.sub(after, total)
    lost = lanes.add(lanes.sub(total, lanes.sub(after, part)), lanes.sub(value, part))
    finite = lanes.compare("oeq", lanes.sub(after, after), 0.0)
    return after, lanes.add(rest, lanes.select(finite, lost, 0.0))


def write_nest(kernel: Kernel, plans: tuple, sizes: tuple[int, ...]) -> None:
    """Write loops that run one after the other for each row; ``sizes`` are the bytes of rows on the stack."""
    loops = [Loop(kernel, plan) for plan in plans]
    kernel.locals = sizes
    shared = any([loop.much for loop in loops]) and all([loop.independent() for loop in loops])
    block = "entry"
    for loop in loops:
        block = loop.begin(block)
    outer, counters, block = opened_loops(kernel, loops[0].sizes[: loops[0].lead], block)
    for loop in loops:
        block = loop.inside(block, counters, False)
    closed_loops(kernel, outer, block, shared)
