"""Writing LLVM IR: values, memory, loops.

A kernel is a function of a table: pointers to arrays first, then numbers.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .ir import CAST, COPY, SELECT
from .maths import DOUBLE, FLOAT, Lanes, Library, constant, vector

KINDS = {"f4": FLOAT, "f8": DOUBLE, "i4": "i32", "i8": "i64", "b1": "i8"}  # in memory; a mask is i1 in registers
SIZES = {"f4": 4, "f8": 8, "i4": 4, "i8": 8, "b1": 1}
GIVEN = "given"


def kind_of(code: str) -> str:
    """Return the LLVM type of a value in a register."""
    return "i1" if code == "b1" else KINDS[code]


class Kernel:
    """The LLVM IR of one kernel while it is written."""

    def __init__(self, library: Library) -> None:
        self.library = library
        self.lines: list[str] = []
        self._count = 0
        self._labels = 0
        self.slots = 0
        self.numbers = 0  # that it is given beside its pointers
        self.locals: tuple[int, ...] = ()  # bytes of memory on the stack
        # Functions are inlined: a loop over few elements keeps their constants in registers.
        self.inline = False
        # of the outermost loop, if threads may share it: how many, or GIVEN, as many as its last number says
        self.rounds: int | str | None = None

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
        lanes = Lanes(count, kind, self.library, self.lines, self.fresh)
        lanes.inline = self.inline
        return lanes

    def pointer(self, slot: int | str) -> str:
        """Return the pointer of a slot; of a name, that of a buffer on the stack."""
        if isinstance(slot, str):
            return f"%{slot}"
        self.slots = max(self.slots, slot + 1)
        return f"%p{slot}"

    def number(self, read: tuple, count: int) -> str:
        """Return a number argument of the kernel, in all lanes."""
        _, k, code = read
        value = self._cast(self.emit(f"bitcast i64 %n{k} to double"), DOUBLE, KINDS[code], 1)
        return self.shuffle(value, 1, KINDS[code], [0] * count)

    def offset(self, pointer: str, code: str, places: Any) -> str:
        """Return a pointer, advanced by some elements."""
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
        """Return some lanes of a vector, in some order."""
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

    def widened(self, value: str, count: int, wanted: int, kind: str) -> str:
        """Return a vector with the lanes of ``value``, and as many undefined ones behind them as are wanted."""
        mask = ", ".join([f"i32 {k}" for k in range(count)] + ["i32 poison"] * (wanted - count))
        narrow = vector(count, kind)
        return self.emit(f"shufflevector {narrow} {value}, {narrow} poison, <{wanted} x i32> <{mask}>")

    def apply(self, op: str, code: str, args: list, codes: list, count: int) -> str:
        """Write an elementwise op; ``codes`` are the types of the arguments, None for numbers."""
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
                ("fpext" if target == DOUBLE else "fptrunc")
                if source in floats
                else "uitofp"
                if source == "i1"
                else "sitofp"
            )
        else:
            word = "zext" if source == "i1" else "sext" if target == "i64" else "trunc"
        return self.emit(f"{word} {vector(count, source)} {value} to {vector(count, target)}")

    def text(self, name: str) -> str:
        head = [f"  %l{k} = alloca [{size} x i8], align 64" for k, size in enumerate(self.locals)]
        for k in range(self.slots):
            head.append(f"  %a{k} = getelementptr i64, ptr %args, i64 {k}")
            head.append(f"  %p{k} = load ptr, ptr %a{k}, align 8")
        for k in range(self.numbers):
            head.append(f"  %m{k} = getelementptr i64, ptr %args, i64 {self.slots + k}")
            head.append(f"  %n{k} = load i64, ptr %m{k}, align 8")
        body = "\n".join([*head, *self.lines])
        if self.rounds is None:
            return f"define i32 @{name}(ptr noalias %args) #0 {{\nentry:\n{body}\n  ret i32 0\n}}\n"
        rounds, last = self.rounds, ""
        if rounds == GIVEN:
            rounds = "%rounds"
            last = f"  %last = getelementptr i64, ptr %args, i64 {self.slots + self.numbers - 1}\n"
            last += "  %rounds = load i64, ptr %last, align 8\n"
        return (
            f"define internal i32 @{name}_part(ptr noalias %args, i64 %low, i64 %high) #0"
            f" {{\nentry:\n{body}\n  ret i32 0\n}}\n"
            f"define i32 @{name}(ptr noalias %args) #0 {{\n{last}"
            f"  %done = call i32 @dt_parallel(ptr @{name}_part, ptr %args, i64 {rounds})\n  ret i32 %done\n}}\n"
        )


def opened_loops(kernel: Kernel, dims: Sequence[int | str], block: str) -> tuple[list[tuple], list, str]:
    """Begin loops; return the state that ends them, their counters, and their first block."""
    outer: list[tuple] = []
    counters: list[str | None] = []
    for size in dims:
        if size == 1:
            counters.append(None)
            continue
        label, now, following = kernel.label(), kernel.fresh(), kernel.fresh()
        kernel.lines.append(f"  br label %{label}\n{label}:")
        kernel.lines.append("")  # filled in when the end of the loop is known
        outer.append((label, now, following, size, len(kernel.lines) - 1, block))
        counters.append(now)
        block = label
    return outer, counters, block


def closed_loops(kernel: Kernel, outer: list[tuple], block: str, shared: bool) -> str:
    """End loops and return the block after them. If the outermost is ``shared``, threads share its iterations."""
    lines = kernel.lines
    for label, now, following, size, place, before in reversed(outer):
        end = kernel.label()
        split = shared and label == outer[0][0]
        if split:
            kernel.rounds = size if isinstance(size, int) else GIVEN
        lines[place] = f"  {now} = phi i64 [{'%low' if split else 0}, %{before}], [{following}, %{block}]"
        lines.append(f"  {following} = add i64 {now}, 1")
        more = kernel.emit(f"icmp slt i64 {following}, {'%high' if split else size}")
        lines.append(f"  br i1 {more}, label %{label}, label %{end}\n{end}:")
        block = end
    return block


def counted_loop(kernel: Kernel, block: str, start: int | str, stop: int | str, step: int) -> tuple[str, str, Any]:
    """Begin a loop; return its counter, its first block, and the function that ends it given the last block."""
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
