"""Kernels of matrix products: small matrices, rows by vectors, and large ones in blocks where BLAS is slower."""

from __future__ import annotations

from collections.abc import Callable

from .kernel_key import WIDE
from .llvm_builder import GIVEN, KINDS, SIZES, Kernel, counted_loop
from .maths import constant, vector
from .schedule import BLOCK_BYTES, BLOCK_DEPTH, BLOCK_ROWS


def write_product(kernel: Kernel, plan: tuple) -> None:
    """Write the kernel of a product's plan."""
    code, how, (fours, left), *rest = plan
    many = BLOCK_ROWS if how == "blocks" else 4
    rows: list[tuple[str, str, int]] = [("0", "%n0", many)] * fours + ([("%n0", "%n1", left)] if left else [])
    kernel.slots, kernel.numbers = 3, {"dots": 2, "rows": 9, "blocks": 12}[how]
    writers: dict[str, Callable] = {"dots": _dots, "rows": _rows, "blocks": _blocks}
    writers[how](kernel, code, rows, *rest)


def _rows(
    kernel: Kernel, code: str, rows: list[tuple[str, str, int]], blocks: tuple[int, int, int], dense: bool
) -> None:
    """Write C = A B with contiguous rows of B: a few rows of A at a time, vectors along the columns.

    ``blocks`` says whether there are columns for two vectors side by side, for one, and how many are left then;
    ``dense`` whether the rows of A lie each along their own memory.
    """
    kind = KINDS[code]
    wide = WIDE[code]
    inside, n, twos, ones, down, across = (f"%n{k}" for k in range(2, 8))
    along = "1" if dense else "%n8"
    columns = [("0", twos, 2 * wide)] * blocks[0] + [(twos, ones, wide)] * blocks[1]
    columns += [(ones, n, blocks[2])] if blocks[2] else []
    left, right, result = kernel.pointer(0), kernel.pointer(1), kernel.pointer(2)
    block = "entry"
    for first, stop, some in rows:
        for start, ending, width in columns:
            row, block_row, end_row = counted_loop(kernel, block, first, stop, some)
            column, block_column, end_column = counted_loop(kernel, block_row, start, ending, width)
            here = kernel.offset(left, code, kernel.emit(f"mul i64 {row}, {down}"))
            lower = [kernel.offset(here, code, kernel.emit(f"mul i64 {down}, {q}")) for q in range(some)]
            there = kernel.offset(right, code, column)
            lanes = kernel.lanes(width, kind)
            inner, block_inner, end_inner = counted_loop(kernel, block_column, 0, inside, 1)
            sums = [kernel.fresh() for _ in range(some)]
            places = []
            for _ in sums:
                kernel.lines.append("")
                places.append(len(kernel.lines) - 1)
            line = kernel.load(kernel.offset(there, code, kernel.emit(f"mul i64 {inner}, {across}")), code, width)
            step = kernel.emit(f"mul i64 {inner}, {along}")
            after = []
            for q in range(some):
                one = kernel.load(kernel.offset(lower[q], code, step), code)
                after.append(lanes.fma(kernel.shuffle(one, 1, kind, [0] * width), line, sums[q]))
            zero = constant(width, kind, 0)
            for q in range(some):
                kernel.lines[places[q]] = (
                    f"  {sums[q]} = phi {lanes.type} [{zero}, %{block_column}], [{after[q]}, %{block_inner}]"
                )
            last = end_inner(block_inner)
            target = kernel.emit(f"add i64 {kernel.emit(f'mul i64 {row}, {n}')}, {column}")
            for q in range(some):
                place = kernel.emit(f"add i64 {target}, {kernel.emit(f'mul i64 {n}, {q}')}")
                kernel.store(after[q], kernel.offset(result, code, place), code, width)
            block = end_row(end_column(last))


def _blocks(kernel: Kernel, code: str, rows: list[tuple[str, str, int]], dense: bool, shared: bool) -> None:
    """Write a large C = A B: the columns of B that two vectors hold, packed, times some rows of A at a time.

    Where columns are left over, the last ones begin earlier and are computed again. Many terms are added up in pieces,
    whose sums round less. ``dense`` says whether the rows of B lie each along their own memory.
    """
    kind = KINDS[code]
    wide = BLOCK_BYTES // SIZES[code]
    k, n, down, along, across, beside, pieces, depth, furthest, strips = (f"%n{q}" for q in range(2, 12))
    left, right, result = kernel.pointer(0), kernel.pointer(1), kernel.pointer(2)
    kernel.locals, packed = (BLOCK_DEPTH * BLOCK_BYTES, BLOCK_ROWS * BLOCK_BYTES), "%l0"
    if shared:
        kernel.rounds = GIVEN
    lanes = kernel.lanes(wide, kind)
    strip, block, end_strip = counted_loop(kernel, "entry", "%low" if shared else 0, "%high" if shared else strips, 1)
    column = kernel.emit(f"mul i64 {strip}, {wide}")
    late = kernel.emit(f"icmp sgt i64 {column}, {furthest}")
    column = kernel.emit(f"select i1 {late}, i64 {furthest}, i64 {column}")
    there = kernel.offset(right, code, column if dense else kernel.emit(f"mul i64 {column}, {beside}"))
    if dense:
        inner, block_inner, end_inner = counted_loop(kernel, block, 0, k, 1)
        line = kernel.load(kernel.offset(there, code, kernel.emit(f"mul i64 {inner}, {across}")), code, wide)
        kernel.store(line, kernel.offset(packed, code, kernel.emit(f"mul i64 {inner}, {wide}")), code, wide)
        block = end_inner(block_inner)
    else:
        some, block_some, end_some = counted_loop(kernel, block, 0, wide, 1)
        source = kernel.offset(there, code, kernel.emit(f"mul i64 {some}, {beside}"))
        target = kernel.offset(packed, code, some)
        inner, block_inner, end_inner = counted_loop(kernel, block_some, 0, k, 1)
        one = kernel.load(kernel.offset(source, code, kernel.emit(f"mul i64 {inner}, {across}")), code)
        kernel.store(one, kernel.offset(target, code, kernel.emit(f"mul i64 {inner}, {wide}")), code)
        block = end_some(end_inner(block_inner))
    zero = constant(wide, kind, 0)
    for first, stop, many in rows:
        row, block_row, end_row = counted_loop(kernel, block, first, stop, many)
        here = kernel.offset(left, code, kernel.emit(f"mul i64 {row}, {down}"))
        lower = [kernel.emit(f"mul i64 {down}, {q}") for q in range(many)]
        totals = [kernel.offset("%l1", code, q * wide) for q in range(many)]
        for total in totals:
            kernel.store(zero, total, code, wide)
        piece, block_piece, end_piece = counted_loop(kernel, block_row, 0, pieces, 1)
        begin = kernel.emit(f"mul i64 {piece}, {depth}")
        until = kernel.emit(f"add i64 {begin}, {depth}")
        beyond = kernel.emit(f"icmp sgt i64 {until}, {k}")
        until = kernel.emit(f"select i1 {beyond}, i64 {k}, i64 {until}")
        inner, block_inner, end_inner = counted_loop(kernel, block_piece, begin, until, 1)
        sums = [kernel.fresh() for _ in range(many)]
        places = []
        for _ in sums:
            kernel.lines.append("")
            places.append(len(kernel.lines) - 1)
        line = kernel.load(kernel.offset(packed, code, kernel.emit(f"mul i64 {inner}, {wide}")), code, wide)
        at = kernel.offset(here, code, kernel.emit(f"mul i64 {inner}, {along}"))
        after = []
        for q in range(many):
            one = kernel.load(kernel.offset(at, code, lower[q]), code)
            after.append(lanes.fma(kernel.shuffle(one, 1, kind, [0] * wide), line, sums[q]))
        for q in range(many):
            kernel.lines[places[q]] = (
                f"  {sums[q]} = phi {lanes.type} [{zero}, %{block_piece}], [{after[q]}, %{block_inner}]"
            )
        last = end_inner(block_inner)
        for q, total in enumerate(totals):
            kernel.store(lanes.add(kernel.load(total, code, wide), after[q]), total, code, wide)
        last = end_piece(last)
        target = kernel.emit(f"add i64 {kernel.emit(f'mul i64 {row}, {n}')}, {column}")
        for q, total in enumerate(totals):
            place = kernel.emit(f"add i64 {target}, {kernel.emit(f'mul i64 {n}, {q}')}")
            kernel.store(kernel.load(total, code, wide), kernel.offset(result, code, place), code, wide)
        block = end_row(last)
    end_strip(block)


def _dots(kernel: Kernel, code: str, rows: list[tuple[str, str, int]], k: int, a: tuple, b: int) -> None:
    """Write y = A x with contiguous rows of A: a few dot products at a time."""
    kind = KINDS[code]
    wide = WIDE[code] if a[1] == 1 and b == 1 else 1
    width = min(wide, k)
    full = k // width * width
    left, right, result = kernel.pointer(0), kernel.pointer(1), kernel.pointer(2)
    block = "entry"
    lanes, one = kernel.lanes(width, kind), kernel.lanes(1, kind)
    for first, stop, some in rows:
        row, block_row, end_row = counted_loop(kernel, block, first, stop, some)
        here = kernel.offset(left, code, kernel.emit(f"mul i64 {row}, {a[0]}"))
        inner, block_inner, end_inner = counted_loop(kernel, block_row, 0, full, width)
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
