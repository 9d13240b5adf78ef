"""Kernels: LLVM's text for clusters.

A kernel is a function of a table of pointers. What it does depends on its *plan* alone, a tuple that has no node and no
address in it: clusters with equal plans share a kernel, within a program, between programs, and on disk.

Loops go through the last dimension in vectors. Where its length is no multiple of a vector's, the last vector begins
earlier and computes some elements again, so that nothing outside of an array is ever read or written.
"""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np

from .ir import CAST, COPY, EMPTY, FILL, MATMUL, REDUCE, SCALAR, SELECT, WRITE, dense, indices
from .maths import DOUBLE, FLOAT, Lanes, Library, constant, vector
from .schedule import TINY, Cluster, Schedule

KINDS = {"f4": FLOAT, "f8": DOUBLE, "i4": "i32", "i8": "i64", "b1": "i8"}  # in memory; a mask is i1 in registers
SIZES = {"f4": 4, "f8": 8, "i4": 4, "i8": 8, "b1": 1}
_LANES = {1: 32, 4: 32, 8: 16}
_NEUTRAL = {
    "add": 0, "multiply": 1, "maximum": -np.inf, "minimum": np.inf, "logical_or": 0, "logical_and": 1,
}  # fmt: skip
_MUCH = 1 << 18  # elements, over all members, from which on threads share a kernel
_LONG = 1024  # summands from which on single precision is added up in double


def kind_of(code: str) -> str:
    """The type of a value in a register."""
    return "i1" if code == "b1" else KINDS[code]


# --- plans ----------------------------------------------------------------------------------------


def _exact(number: Any) -> tuple:
    """A number as a key: 0.0 is not -0.0, and 1 not True."""
    return ("s", number, str(number))


def plan_of(schedule: Schedule, cluster: Cluster) -> tuple[tuple, list[tuple[int, int]]]:
    """The plan of a cluster, and what its pointers point to: ``(node, offset in elements)``."""
    nodes = schedule.nodes
    local = {i: k for k, i in enumerate(cluster.members)}
    slots: dict[tuple[int, int], int] = {}
    tiny = cluster.kind == "tiny"

    def slot(node: int, offset: int) -> int:
        return slots.setdefault((node, offset), len(slots))

    def read(access: tuple) -> tuple:
        if access[0] == SCALAR:
            return _exact(access[1])
        i, offset, strides = access
        node = nodes[i]
        code = node.dtype.str[1:]
        in_memory = node.op == WRITE and prod(node.shape) > TINY
        if i in local and not in_memory:
            return ("r", local[i], offset, strides) if tiny else ("r", local[i])
        if tiny and prod(node.shape) <= TINY:
            return ("w", slot(i, 0), prod(node.shape), offset, strides, code)
        return ("m", slot(i, offset), strides, code)

    members: list[tuple] = []
    for i in cluster.members:
        node = nodes[i]
        attr, operands = node.attr, node.operands
        store: Any = None
        if node.op == WRITE:
            at, region, ways = attr
            if prod(node.shape) > TINY:
                store, attr = (slot(i, at), tuple(ways)), (region,)
                operands = operands[1:]
            else:
                base = operands[0][0]
                below = nodes[base]
                first = (
                    ("r", local[base], 0, dense(below.shape)) if base in local
                    else _exact(below.attr or 0) if below.op in (FILL, EMPTY) else read((base, 0, dense(below.shape)))
                )  # fmt: skip
                store = (slot(i, 0), dense(node.shape)) if i in schedule.needed else None
                members.append(
                    (
                        WRITE,
                        node.dtype.str[1:],
                        node.shape,
                        (first, read(operands[1])),
                        store,
                        (at, region, tuple(ways)),
                    )
                )
                continue
        elif i in schedule.needed or node.op == REDUCE and not tiny:
            store = (slot(i, 0), None if node.op == REDUCE else dense(node.shape))
        reads = tuple([read(access) for access in operands])
        shown = _exact(attr) if node.op == FILL else attr
        members.append((node.op, node.dtype.str[1:], node.shape, reads, store, shown))
    bounds = None if cluster.bounds is None else tuple(sorted(cluster.bounds))
    return (cluster.kind, tuple(members), bounds), list(slots)


# --- writing --------------------------------------------------------------------------------------


class Kernel:
    """The text of one kernel, as it is written."""

    def __init__(self, library: Library) -> None:
        self.library = library
        self.lines: list[str] = []
        self._count = 0
        self._labels = 0
        self.slots = 0
        self.rounds: int | None = None  # of the outermost loop, if threads may share it

    def fresh(self) -> str:
        self._count += 1
        return f"%u{self._count}"

    def emit(self, text: str) -> str:
        name = self.fresh()
        self.lines.append(f"  {name} = {text}")
        return name

    def label(self) -> str:
        self._labels += 1
        return f"b{self._labels}"

    def lanes(self, count: int, kind: str) -> Lanes:
        return Lanes(count, kind, self.library, self.lines, self.fresh)

    def pointer(self, slot: int) -> str:
        self.slots = max(self.slots, slot + 1)
        return f"%p{slot}"

    def offset(self, pointer: str, code: str, places: Any) -> str:
        """A pointer some elements further."""
        if places is None or places == 0 or places == "0":
            return pointer
        return self.emit(f"getelementptr {KINDS[code]}, ptr {pointer}, i64 {places}")

    def load(self, pointer: str, code: str, count: int = 1) -> str:
        value = self.emit(f"load {vector(count, KINDS[code])}, ptr {pointer}, align {SIZES[code]}")
        if code == "b1":
            value = self.emit(f"icmp ne {vector(count, 'i8')} {value}, {constant(count, 'i8', 0)}")
        return value

    def store(self, value: str, pointer: str, code: str, count: int = 1) -> None:
        if code == "b1":
            value = self.emit(f"zext {vector(count, 'i1')} {value} to {vector(count, 'i8')}")
        self.lines.append(f"  store {vector(count, KINDS[code])} {value}, ptr {pointer}, align {SIZES[code]}")

    def shuffle(self, value: str, count: int, kind: str, places: list[int]) -> str:
        """Some lanes of a vector, in some order."""
        wanted = len(places)
        if count == 1:
            if wanted == 1:
                return value
            first = self.emit(f"insertelement {vector(wanted, kind)} poison, {kind} {value}, i32 0")
            return self.emit(
                f"shufflevector {vector(wanted, kind)} {first}, {vector(wanted, kind)} poison,"
                f" <{wanted} x i32> zeroinitializer"
            )
        if places == list(range(count)):
            return value
        if wanted == 1:
            return self.emit(f"extractelement {vector(count, kind)} {value}, i32 {places[0]}")
        mask = ", ".join(f"i32 {p}" for p in places)
        return self.emit(
            f"shufflevector {vector(count, kind)} {value}, {vector(count, kind)} poison, <{wanted} x i32> <{mask}>"
        )

    def apply(self, op: str, code: str, args: list, codes: list, count: int) -> str:
        """An elementwise op; ``codes`` are the types of the arguments, None of numbers."""
        kind = kind_of(code)
        if op == SELECT:
            mask, a, b = args
            texts = [x if isinstance(x, str) else constant(count, kind, x) for x in (a, b)]
            mask = mask if isinstance(mask, str) else constant(count, "i1", mask)
            shape = vector(count, kind)
            return self.emit(f"select {vector(count, 'i1')} {mask}, {shape} {texts[0]}, {shape} {texts[1]}")
        if op == CAST:
            return self._cast(args[0], kind_of(codes[0]), kind, count)
        given = next((kind_of(c) for c in codes if c is not None), kind)
        if op == COPY:
            return args[0] if isinstance(args[0], str) else constant(count, kind, args[0])
        return self.lanes(count, given).apply(op, *args)

    def _cast(self, value: str, source: str, target: str, count: int) -> str:
        if source == target:
            return value
        floats = (FLOAT, DOUBLE)
        if target == "i1":
            word = "fcmp une" if source in floats else "icmp ne"
            return self.emit(f"{word} {vector(count, source)} {value}, {constant(count, source, 0)}")
        if target in floats:
            word = (
                ("fpext" if target == DOUBLE else "fptrunc") if source in floats
                else "uitofp" if source == "i1" else "sitofp"
            )  # fmt: skip
        else:
            word = "zext" if source == "i1" else "sext" if target == "i64" else "trunc"
        return self.emit(f"{word} {vector(count, source)} {value} to {vector(count, target)}")

    def text(self, name: str) -> str:
        head = []
        for k in range(self.slots):
            head.append(f"  %a{k} = getelementptr i64, ptr %args, i64 {k}")
            head.append(f"  %p{k} = load ptr, ptr %a{k}, align 8")
        body = "\n".join([*head, *self.lines])
        if self.rounds is None:
            return f"define i32 @{name}(ptr noalias %args) #0 {{\nentry:\n{body}\n  ret i32 0\n}}\n"
        return (
            f"define internal i32 @{name}_part(ptr noalias %args, i64 %low, i64 %high) #0"
            f" {{\nentry:\n{body}\n  ret i32 0\n}}\n"
            f"define i32 @{name}(ptr noalias %args) #0 {{\n"
            f"  %done = call i32 @dt_parallel(ptr @{name}_part, ptr %args, i64 {self.rounds})\n  ret i32 %done\n}}\n"
        )


def written(plan: tuple, name: str, library: Library) -> str:
    """The text of the kernel of ``plan``."""
    kind, members, bounds = plan
    kernel = Kernel(library)
    if kind == "tiny":
        _Straight(kernel, members).write()
    elif kind == "loop":
        _Loop(kernel, members, bounds).write()
    else:
        _product(kernel, members)
    return kernel.text(name)


class _Straight:
    """Arrays of a few elements, each in one register, views as shuffles."""

    def __init__(self, kernel: Kernel, members: tuple) -> None:
        self.kernel, self.members = kernel, members
        self.values: list[Any] = [None] * len(members)  # (name, lanes, type)
        self.loaded: dict[int, tuple] = {}
        self.read_before: dict[tuple, Any] = {}

    def whole(self, read: tuple) -> tuple:
        """A whole array in a register."""
        if read[0] == "r":
            return self.values[read[1]]
        slot, size, code = read[1], read[2], read[5]
        if slot not in self.loaded:
            self.loaded[slot] = (self.kernel.load(self.kernel.pointer(slot), code, size), size, kind_of(code))
        return self.loaded[slot]

    def read(self, read: tuple, shape: tuple) -> Any:
        """What an operand holds over ``shape``: a name, or a number."""
        if read[0] == "s":
            return read[1]
        key = (read, shape)
        known = self.read_before.get(key)
        if known is not None:
            return known
        if read[0] == "m":
            value = self._from_memory(read, shape)
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
        spread = kernel.shuffle(source, wide, kind, [from_place.get(k, 0) for k in range(count)])
        mask = ", ".join(f"i32 {count + k if k in from_place else k}" for k in range(count))
        shape_text = vector(count, kind)
        return kernel.emit(f"shufflevector {shape_text} {base}, {shape_text} {spread}, <{count} x i32> <{mask}>")

    def _register(self, read: tuple, space: tuple) -> tuple[tuple, int, tuple]:
        """A read as parts of a register: what it is in, the first lane, and the strides over ``space``."""
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
        return parts[0]

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
        return total


class _Loop:
    """Nested loops over one space; the last dimension in vectors."""

    def __init__(self, kernel: Kernel, members: tuple, bounds: tuple) -> None:
        self.kernel, self.members = kernel, members
        dims, step = [], 1
        for bound in bounds:
            dims.append(bound // step)
            step = bound
        self.dims = list(reversed(dims)) or [1]
        self.strides: dict[tuple, list[int]] = {}  # of each access, over the dims
        self.codes: dict[tuple, str] = {}
        self.plan: list[tuple] = []
        for k, (op, code, shape, reads, store, attr) in enumerate(members):
            space = attr[1] if op == REDUCE else attr[0] if op == WRITE else shape
            inputs = [self._access(r[1], r[3], space, r[2]) if r[0] == "m" else r for r in reads]
            target = None
            if store is not None:
                ways = store[1]
                if op == REDUCE:
                    outer = iter(dense(tuple(n for d, n in enumerate(space) if d not in attr[2])))
                    ways = tuple(0 if d in attr[2] else next(outer) for d in range(len(space)))
                target = self._access(store[0], code, space, ways)
            self.plan.append((k, op, code, inputs, target, attr))
        self._collapse()
        self.count = self.dims[-1]
        widest = max([SIZES[c] for c in self.codes.values()] + [SIZES[m[1]] for m in members])
        self.width = min(self.count, _LANES[widest])
        self.chunks = -(-self.count // self.width)
        self.again = self.chunks * self.width > self.count  # the last vector begins earlier

    def _access(self, slot: int, code: str, space: tuple, strides: tuple) -> tuple:
        key = ("m", slot, code, tuple(_on_dims(self.dims, space, strides)))
        self.strides[key] = list(key[3])
        self.codes[key] = code
        return key

    def _collapse(self) -> None:
        """Neighbouring dims that every access goes through in one are one."""
        d = 0
        while d + 1 < len(self.dims):
            if all(s[d] == s[d + 1] * self.dims[d + 1] for s in self.strides.values()):
                for s in self.strides.values():
                    del s[d]
                self.dims[d : d + 2] = [self.dims[d] * self.dims[d + 1]]
            else:
                d += 1

    # --- the loops --------------------------------------------------------------------------------

    def write(self) -> None:
        kernel = self.kernel
        lines = kernel.lines
        if not prod(self.dims):
            self._neutral("entry")
            return
        shared = self._shared()
        block = self._neutral("entry")
        outer: list[tuple] = []
        counters: list[str | None] = []
        for size in self.dims[:-1]:
            if size == 1:
                counters.append(None)
                continue
            label, now, following = kernel.label(), kernel.fresh(), kernel.fresh()
            lines.append(f"  br label %{label}\n{label}:")
            lines.append("")  # filled in when the end of the loop is known
            outer.append((label, now, following, size, len(lines) - 1, block))
            counters.append(now)
            block = label
        folded = [p for p in self.plan if p[1] == REDUCE and self._folds(p)]
        if self.chunks == 1:
            start = {
                (p[0], part): constant(self.width, *self._accumulator(p)) for p in folded for part in self._parts(p)
            }
            self._flush(counters, self._body(counters, "0", start, None), folded)
        else:
            label, end, chunk, following = kernel.label(), kernel.label(), kernel.fresh(), kernel.fresh()
            lines.append(f"  br label %{label}\n{label}:")
            split = shared and not outer
            if split:
                kernel.rounds = self.chunks
            lines.append(f"  {chunk} = phi i64 [{'%low' if split else 0}, %{block}], [{following}, %{label}]")
            start, places = {}, {}
            for key in [(p[0], part) for p in folded for part in self._parts(p)]:
                start[key] = kernel.fresh()
                lines.append("")
                places[key] = len(lines) - 1
            begin = kernel.emit(f"mul i64 {chunk}, {self.width}")
            mask = None
            if self.again:
                late = kernel.emit(f"icmp sgt i64 {begin}, {self.count - self.width}")
                first = kernel.emit(f"select i1 {late}, i64 {self.count - self.width}, i64 {begin}")
                if any(p[1] == REDUCE and p[5][0] in ("add", "multiply") for p in self.plan):
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
        for label, now, following, size, place, before in reversed(outer):
            end = kernel.label()
            split = shared and label == outer[0][0]
            if split:
                kernel.rounds = size
            lines[place] = f"  {now} = phi i64 [{'%low' if split else 0}, %{before}], [{following}, %{block}]"
            lines.append(f"  {following} = add i64 {now}, 1")
            more = kernel.emit(f"icmp slt i64 {following}, {'%high' if split else size}")
            lines.append(f"  br i1 {more}, label %{label}, label %{end}\n{end}:")
            block = end

    def _shared(self) -> bool:
        """Whether threads may share the outermost loop: it is long enough, and no two rounds write to one place."""
        if prod(self.dims) * len(self.members) < _MUCH:
            return False
        outermost = next((d for d, n in enumerate(self.dims) if n > 1), len(self.dims) - 1)
        for p in self.plan:
            if p[1] == WRITE or p[1] == REDUCE and not (self._once(p) and self.strides[p[4]][outermost]):
                return False
        return True

    def _folds(self, p: tuple) -> bool:
        """Whether a reduction goes along the last dimension: then a vector is kept until its end."""
        return self.strides[p[4]][-1] == 0 and self.count > 1

    def _once(self, p: tuple) -> bool:
        """Whether each result is folded once: then nothing was there before."""
        return self._folds(p) and all(s for s, n in zip(self.strides[p[4]][:-1], self.dims[:-1], strict=True) if n > 1)

    def _accumulator(self, p: tuple) -> tuple[str, Any]:
        name, code = p[5][0], p[2]
        neutral = _NEUTRAL[name]
        if code in ("i4", "i8") and name in ("maximum", "minimum"):
            limit = np.iinfo(f"i{SIZES[code]}")
            neutral = limit.min if name == "maximum" else limit.max
        wide = code == "f4" and name == "add" and self.count > _LONG
        return DOUBLE if wide else kind_of(code), neutral

    def _parts(self, p: tuple) -> tuple[int, ...]:
        """The accumulators of a reduction: two where a long sum in double precision is not to lose anything."""
        return (0, 1) if p[2] == "f8" and p[5][0] == "add" and self.count > _LONG else (0,)

    def _neutral(self, block: str) -> str:
        """Fill the results of reductions that several rounds add to."""
        kernel = self.kernel
        for p in self.plan:
            if p[1] != REDUCE or self._once(p):
                continue
            code, size = p[2], prod(self.members[p[0]][2])
            if not size:
                continue
            value = constant(1, kind_of(code), self._accumulator(p)[1])
            pointer = kernel.pointer(p[4][1])
            if size <= 16:
                for k in range(size):
                    kernel.store(value, kernel.offset(pointer, code, k), code)
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
        kernel, strides = self.kernel, self.strides[key]
        total: str | None = None
        terms = [*zip(counters, strides[:-1], strict=True), (begin, strides[-1])]
        for counter, stride in terms:
            if stride == 0 or counter is None or counter == "0":
                continue
            term = counter if stride == 1 else kernel.emit(f"mul i64 {counter}, {stride}")
            total = term if total is None else kernel.emit(f"add i64 {total}, {term}")
        return kernel.offset(kernel.pointer(key[1]), key[2], total)

    def _loaded(self, key: tuple, counters: list, begin: str) -> str:
        kernel, code, stride, width = self.kernel, key[2], self.strides[key][-1], self.width
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
        kernel, code, stride, width = self.kernel, key[2], self.strides[key][-1], self.width
        pointer = self._address(key, counters, begin)
        if stride == 1 or width == 1:
            kernel.store(value, pointer, code, width)
            return
        kind = kind_of(code)
        for k in range(width):
            one = kernel.emit(f"extractelement {vector(width, kind)} {value}, i32 {k}")
            kernel.store(one, kernel.offset(pointer, code, k * stride), code)

    def _body(self, counters: list, begin: str, start: dict, mask: str | None) -> dict:
        """One vector of every member; the accumulators after it."""
        kernel, width = self.kernel, self.width
        values: dict[int, str] = {}
        loaded: dict[tuple, str] = {}
        ended: dict[tuple[int, int], str] = {}

        def read(r: tuple) -> Any:
            if r[0] == "s":
                return r[1]
            if r[0] == "r":
                return values[r[1]]
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
                if mask is not None and attr[0] in ("add", "multiply"):
                    text = constant(width, held, neutral)
                    shape = vector(width, held)
                    value = kernel.emit(f"select {vector(width, 'i1')} {mask}, {shape} {value}, {shape} {text}")
                if (k, 1) in start:  # what rounding takes away is kept beside the sum
                    ended[k, 0], ended[k, 1] = _two_sum(kernel.lanes(width, held), start[k, 0], start[k, 1], value)
                elif (k, 0) in start:
                    ended[k, 0] = kernel.lanes(width, held).apply(attr[0], start[k, 0], value)
                else:
                    before = self._loaded(target, counters, begin)
                    self._stored(target, counters, begin, kernel.lanes(width, kind).apply(attr[0], before, value))
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
                total = kernel.lanes(half, held).apply(attr[0], low, high)
                if width % 2:
                    odd = kernel.shuffle(value, width, held, [width - 1])
                    first = kernel.shuffle(total, half, held, [0])
                    first = kernel.lanes(1, held).apply(attr[0], first, odd)
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
                value = kernel.lanes(1, kind).apply(attr[0], before, value)
            kernel.store(value, pointer, code)


def _two_sum(lanes: Lanes, total: str, rest: str, value: str) -> tuple[str, str]:
    """The sum and, added up beside it, what its rounding takes away."""
    after = lanes.add(total, value)
    part = lanes.sub(after, total)
    lost = lanes.add(lanes.sub(total, lanes.sub(after, part)), lanes.sub(value, part))
    finite = lanes.compare("oeq", lanes.sub(after, after), 0.0)
    return after, lanes.add(rest, lanes.select(finite, lost, 0.0))


def _on_dims(dims: list[int], shape: tuple, strides: tuple) -> list[int]:
    """Strides over a shape, as strides over finer dims of the same order."""
    found: list[int] = []
    axes = [(n, s) for n, s in zip(shape, strides, strict=True) if n != 1]
    size, stride = axes.pop() if axes else (1, 0)
    for n in reversed(dims):
        if n == 1:
            found.append(0)
            continue
        if size == 1:
            size, stride = axes.pop()
        found.append(stride)
        stride *= n
        size //= n
    return found[::-1]


# --- products -------------------------------------------------------------------------------------


def product_plan(schedule: Schedule, i: int) -> tuple[tuple, list[list[tuple[int, int]]]]:
    """The plan of one product of a batch, and the pointers of each: what is multiplied, and the result."""
    node = schedule.nodes[i]
    batch, m, k, n, how = node.attr
    a, b = node.operands
    plan = ("product", (node.dtype.str[1:], m, k, n, how, a[2][-2:], b[2][-2:]), None)
    starts = [indices(x[1], x[2][:-2], batch) for x in (a, b)]
    return plan, [
        [(a[0], first), (b[0], second), (i, q * m * n)] for q, (first, second) in enumerate(zip(*starts, strict=True))
    ]


def _product(kernel: Kernel, plan: tuple) -> None:
    code, m, k, n, how, a, b = plan
    if how == "dots":
        _dots(kernel, code, m, k, a, b[0])
    else:
        _rows(kernel, code, m, k, n, a, b[0])


def _loop(kernel: Kernel, block: str, start: int, stop: int, step: int) -> tuple[str, str, Any]:
    """Begin a loop: its counter, its first block, and what ends it given the last block."""
    label, now, following = kernel.label(), kernel.fresh(), kernel.fresh()
    kernel.lines.append(f"  br label %{label}\n{label}:")
    kernel.lines.append("")
    place = len(kernel.lines) - 1

    def end(last: str) -> str:
        after = kernel.label()
        kernel.lines[place] = f"  {now} = phi i64 [{start}, %{block}], [{following}, %{last}]"
        kernel.lines.append(f"  {following} = add i64 {now}, {step}")
        more = kernel.emit(f"icmp slt i64 {following}, {stop}")
        kernel.lines.append(f"  br i1 {more}, label %{label}, label %{after}\n{after}:")
        return after

    return now, label, end


def _rows(kernel: Kernel, code: str, m: int, k: int, n: int, a: tuple, b: int) -> None:
    """C = A B, the rows of B side by side: a few rows of A at a time, vectors along the columns."""
    kind = KINDS[code]
    wide = 8 if kind == DOUBLE else 16
    columns: list[list[int]] = []
    at = 0
    while at < n:
        width = 2 * wide if n - at >= 2 * wide else wide if n - at >= wide else n - at
        if columns and columns[-1][1] == width:
            columns[-1][2] += 1
        else:
            columns.append([at, width, 1])
        at += width
    rows = ([(0, m // 4 * 4, 4)] if m >= 4 else []) + ([(m // 4 * 4, m, m % 4)] if m % 4 else [])
    left, right, result = kernel.pointer(0), kernel.pointer(1), kernel.pointer(2)
    block = "entry"
    for first, stop, some in rows:
        for start, width, times in columns:
            row, block_row, end_row = _loop(kernel, block, first, stop, some)
            column, block_column, end_column = _loop(kernel, block_row, start, start + times * width, width)
            here = kernel.offset(left, code, kernel.emit(f"mul i64 {row}, {a[0]}"))
            there = kernel.offset(right, code, column)
            lanes = kernel.lanes(width, kind)
            inner, block_inner, end_inner = _loop(kernel, block_column, 0, k, 1)
            sums = [kernel.fresh() for _ in range(some)]
            places = []
            for _ in sums:
                kernel.lines.append("")
                places.append(len(kernel.lines) - 1)
            line = kernel.load(kernel.offset(there, code, kernel.emit(f"mul i64 {inner}, {b}")), code, width)
            step = kernel.emit(f"mul i64 {inner}, {a[1]}")
            after = []
            for q in range(some):
                place = kernel.emit(f"add i64 {step}, {q * a[0]}")
                one = kernel.load(kernel.offset(here, code, place), code)
                after.append(lanes.fma(kernel.shuffle(one, 1, kind, [0] * width), line, sums[q]))
            zero = constant(width, kind, 0)
            for q in range(some):
                kernel.lines[places[q]] = (
                    f"  {sums[q]} = phi {lanes.type} [{zero}, %{block_column}], [{after[q]}, %{block_inner}]"
                )
            last = end_inner(block_inner)
            target = kernel.emit(f"add i64 {kernel.emit(f'mul i64 {row}, {n}')}, {column}")
            for q in range(some):
                place = kernel.emit(f"add i64 {target}, {q * n}")
                kernel.store(after[q], kernel.offset(result, code, place), code, width)
            block = end_row(end_column(last))


def _dots(kernel: Kernel, code: str, m: int, k: int, a: tuple, b: int) -> None:
    """y = A x, the rows of A each along their own memory: a few dot products at a time."""
    kind = KINDS[code]
    wide = (8 if kind == DOUBLE else 16) if a[1] == 1 and b == 1 else 1
    width = min(wide, k)
    full = k // width * width
    rows = ([(0, m // 4 * 4, 4)] if m >= 4 else []) + ([(m // 4 * 4, m, m % 4)] if m % 4 else [])
    left, right, result = kernel.pointer(0), kernel.pointer(1), kernel.pointer(2)
    block = "entry"
    lanes, one = kernel.lanes(width, kind), kernel.lanes(1, kind)
    for first, stop, some in rows:
        row, block_row, end_row = _loop(kernel, block, first, stop, some)
        here = kernel.offset(left, code, kernel.emit(f"mul i64 {row}, {a[0]}"))
        inner, block_inner, end_inner = _loop(kernel, block_row, 0, full, width)
        sums = [kernel.fresh() for _ in range(some)]
        places = []
        for _ in sums:
            kernel.lines.append("")
            places.append(len(kernel.lines) - 1)
        x = kernel.load(kernel.offset(right, code, kernel.emit(f"mul i64 {inner}, {b}")), code, width)
        step = kernel.emit(f"mul i64 {inner}, {a[1]}")
        after = []
        for q in range(some):
            place = kernel.emit(f"add i64 {step}, {q * a[0]}")
            after.append(lanes.fma(kernel.load(kernel.offset(here, code, place), code, width), x, sums[q]))
        zero = constant(width, kind, 0)
        for q in range(some):
            kernel.lines[places[q]] = (
                f"  {sums[q]} = phi {lanes.type} [{zero}, %{block_row}], [{after[q]}, %{block_inner}]"
            )
        last = end_inner(block_inner)
        for q in range(some):
            total, count = after[q], width
            while count > 1:
                half = count // 2
                low = kernel.shuffle(total, count, kind, list(range(half)))
                high = kernel.shuffle(total, count, kind, list(range(half, 2 * half)))
                folded = kernel.lanes(half, kind).add(low, high)
                if count % 2:
                    odd = kernel.shuffle(total, count, kind, [count - 1])
                    start = one.add(kernel.shuffle(folded, half, kind, [0]), odd)
                    folded = (
                        start
                        if half == 1
                        else kernel.emit(f"insertelement {vector(half, kind)} {folded}, {kind} {start}, i32 0")
                    )
                total, count = folded, half
            for rest in range(full, k):
                p = kernel.load(kernel.offset(here, code, rest * a[1] + q * a[0]), code)
                total = one.fma(p, kernel.load(kernel.offset(right, code, rest * b), code), total)
            kernel.store(total, kernel.offset(result, code, kernel.emit(f"add i64 {row}, {q}")), code)
        block = end_row(last)
