"""Convolution kernels that copy no windows.

An image lies padded on the stack, as flat lines of numbers. The values under one kernel element along a line are that
line, shifted: a vector of adjacent numbers is multiplied by one number of the weight, for some result channels at a
time. For strides above 1 a row is split by the remainder of its indices, so that the values under a kernel element are
adjacent again.

The gradient of the images applies the same to gradients of results: numbers of an image that lie a stride apart read
adjacent gradients, by kernel elements that lie a stride apart. For the gradient of the weight, the gradient of the
result is transposed so that its channels are adjacent, and multiplied by one number of the image, for some kernel
elements at a time.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from itertools import product
from math import prod
from typing import Any

import numpy as np

from . import runtime
from .llvm_builder import KINDS, SIZES, Kernel, closed_loops, counted_loop, opened_loops
from .maths import Library, constant, vector

_WIDE = 128  # bytes of two vectors
_ROWS = 8  # channels at a time
# So many vectors are added to at a time, where a channel has several.
_SUMS = 24
_PLACES = 9  # kernel elements at a time
_TERMS = 256  # that are added up one by one
_MOST = 64  # elements of a kernel
# From this step between windows on, gradients of images are not computed by vectors.
_FAR = 8
STACK = 1 << 20  # bytes for an image, and gradients of one


class Lines:
    """Some channels of images, as they lie on the stack.

    Parameters
    ----------
    sizes, before, after : tuple
        Of an image, and of the zeros around it.
    stride : int
        Into as many parts the rows are split.
    seen : tuple
        Those of the parts that are needed.
    """

    def __init__(
        self,
        code: str,
        groups: int,
        depth: int,
        sizes: tuple,
        before: tuple,
        after: tuple,
        stride: int = 1,
        seen: tuple = (0,),
    ) -> None:
        self.code, self.groups, self.depth, self.sizes, self.before = code, groups, depth, sizes, before
        self.stride, self.seen = stride, seen
        around = [n + b + a for n, b, a in zip(sizes, before, after, strict=True)]
        self.part = -(-around[-1] // stride)
        around[-1] = self.part * len(seen)
        self.steps = tuple([prod(around[d + 1 :]) for d in range(len(sizes))])
        self.line = prod(around)
        self.length = depth * self.line + _WIDE // SIZES[code]  # the last vector may read on behind what it asks for

    @property
    def stack(self) -> int:
        return self.length * SIZES[self.code]

    def along(self, at: int) -> int:
        """Return the distance from a row's first number to the one at position ``at``."""
        return self.seen.index(at % self.stride) * self.part + at // self.stride


class Geometry:
    """The sizes, strides and padding that a convolution's kernels depend on.

    Parameters
    ----------
    code : {"f4", "f8"}
    images, groups, depth, result : int
        Their number, groups, and channels of a group: of what is given, and of what is made.
    sizes, padding, kernel, dilation, out, stride : tuple
        Along the dimensions of an image.
    """

    def __init__(
        self,
        code: str,
        images: int,
        groups: int,
        depth: int,
        result: int,
        sizes: tuple,
        padding: tuple,
        kernel: tuple,
        dilation: tuple,
        out: tuple,
        stride: tuple,
    ) -> None:
        self.code, self.images, self.groups, self.depth, self.result = code, images, groups, depth, result
        self.sizes, self.padding, self.kernel, self.out, self.stride = sizes, padding, kernel, out, stride
        self.dilation = dilation
        seen = tuple(sorted({k * dilation[-1] % stride[-1] for k in range(kernel[-1])}))
        self.lines = Lines(code, groups, depth, sizes, padding, padding, stride[-1], seen)
        self.places = []
        for at in product(*[range(0, k * d, d) for k, d in zip(kernel, dilation, strict=True)]):
            rows = sum(a * s for a, s in zip(at[:-1], self.lines.steps, strict=False))
            self.places.append(rows + self.lines.along(at[-1]))
        self.wide = _WIDE // SIZES[code]
        self.key = (code, images, groups, depth, result, sizes, padding, kernel, dilation, out, stride)

    def spread(self) -> tuple[Lines, list[list[list[tuple[int, int]]]]]:
        """Return, for the gradient of the images, the layout of the results' gradient on the stack, and for each
        dimension, and each remainder by the stride, the kernel elements that reach it and where they read.
        """
        found, before, after = [], [], []
        for d, (size, out) in enumerate(zip(self.sizes, self.out, strict=True)):
            stride, ways = self.stride[d], [k * self.dilation[d] for k in range(self.kernel[d])]
            seen = []
            for first in range(min(stride, size)):
                at = first + self.padding[d]
                seen.append([(k, (at - way) // stride) for k, way in enumerate(ways) if (at - way) % stride == 0])
            where = [place for each in seen for _, place in each]
            before.append(max(0, -min(where, default=0)))
            after.append(max(0, max(where, default=0) + -(-size // stride) - out))
            found.append([[(k, place + before[-1]) for k, place in each] for each in seen])
        return Lines(self.code, self.groups, self.result, self.out, tuple(before), tuple(after)), found

    def fits(self, what: str) -> bool:
        """Return whether the stack can hold an image, and the gradients of one if these are transposed."""
        if len(self.places) > _MOST:
            return False
        if what == "images":
            return self.stride[-1] <= _FAR and prod(self.stride) <= _MOST and self.spread()[0].stack <= STACK
        turned = prod(self.out) * min(self.wide, self.result) * SIZES[self.code] if what == "weight" else 0
        return self.lines.stack + turned <= STACK


def _padded_image(kernel: Kernel, lines: Lines, block: str, image: str, group: Any, slot: int = 0) -> str:
    """Write code that copies the channels of an image to the stack, between zeros that are there; return the block
    after it.
    """
    code, size, stride, length = lines.code, prod(lines.sizes), lines.stride, lines.sizes[-1]
    channels = kernel.emit(f"mul i64 {image}, {lines.groups * lines.depth}")
    if group is not None:
        channels = kernel.emit(f"add i64 {channels}, {kernel.emit(f'mul i64 {group}, {lines.depth}')}")
    source = kernel.offset(kernel.pointer(slot), code, kernel.emit(f"mul i64 {channels}, {size}"))
    first = sum(p * s for p, s in zip(lines.before[:-1], lines.steps, strict=False))
    target = kernel.offset("%l0", code, first)
    outer, counters, block = opened_loops(kernel, [lines.depth, *lines.sizes[:-1]], block)
    here, there = source, target
    lengths = [size, *[prod(lines.sizes[d + 1 :]) for d in range(len(lines.sizes) - 1)]]
    for counter, mine, padded in zip(counters, lengths, [lines.line, *lines.steps[:-1]], strict=True):
        if counter is not None:
            here = kernel.offset(here, code, kernel.emit(f"mul i64 {counter}, {mine}"))
            there = kernel.offset(there, code, kernel.emit(f"mul i64 {counter}, {padded}"))
    some = max(1, 2 * _WIDE // SIZES[code] // stride) if stride > 1 else _WIDE // SIZES[code]

    def copy(block: str, begin: Any, width: int) -> str:
        if stride == 1:
            value, place = kernel.load(kernel.offset(here, code, begin), code, width), lines.before[-1]
            kernel.store(value, kernel.offset(kernel.offset(there, code, place), code, begin), code, width)
            return block
        value = kernel.load(kernel.offset(here, code, begin), code, width)
        to = begin // stride if isinstance(begin, int) else kernel.emit(f"udiv i64 {begin}, {stride}")
        for at in range(min(stride, width)):
            place = at + lines.before[-1]
            if place % stride in lines.seen:
                taken = list(range(at, width, stride))
                part = kernel.shuffle(value, width, KINDS[code], taken)
                target = kernel.offset(kernel.offset(there, code, lines.along(place)), code, to)
                kernel.store(part, target, code, len(taken))
        return block

    block = _strips(kernel, block, length, some * stride, copy)
    return closed_loops(kernel, outer, block, False)


def _strips(kernel: Kernel, block: str, length: int, wide: int, body: Callable) -> str:
    """Write ``body`` for each segment of a row, as wide as possible, given its start and width."""
    whole = length // wide * wide
    if whole > wide:
        begin, inside, end = counted_loop(kernel, block, 0, whole, wide)
        block = end(body(inside, begin, wide))
    elif whole:
        block = body(block, 0, wide)
    return body(block, whole, length - whole) if whole < length else block


def _lanes(width: int, wide: int) -> int:
    """Return how many numbers a vector has that holds a segment of a row: two vectors, or one where that is enough."""
    return wide if width > wide // 2 else wide // 2


def _zeros(kernel: Kernel, lines: Lines, block: str) -> str:
    def write(block: str, begin: Any, width: int) -> str:
        value = constant(width, KINDS[lines.code], 0)
        kernel.store(value, kernel.offset("%l0", lines.code, begin), lines.code, width)
        return block

    return _strips(kernel, block, lines.length, _WIDE // SIZES[lines.code], write)


def _row(kernel: Kernel, code: str, counters: list, steps: list) -> Any:
    """Return the offset of a row, None for zero, given the distances of rows along each dimension."""
    among: Any = None
    for counter, step in zip(counters, steps, strict=True):
        if counter is not None:
            term = kernel.emit(f"mul i64 {counter}, {step}")
            among = term if among is None else kernel.emit(f"add i64 {among}, {term}")
    return among


def _sums(
    kernel: Kernel, block: str, begin: Any, stop: Any, kind: str, starts: list, body: Callable
) -> tuple[list, str]:
    """Write a loop that adds to some vectors; return them and the block after it.

    ``body`` returns them and its last block, given its first block, the counter and their old values.
    """
    counter, inside, end = counted_loop(kernel, block, begin, stop, 1)
    sums, places = [kernel.fresh() for _ in starts], []
    for _ in sums:
        kernel.lines.append("")
        places.append(len(kernel.lines) - 1)
    after, last_block = body(inside, counter, list(sums))
    for name, place, start, last in zip(sums, places, starts, after, strict=True):
        kernel.lines[place] = f"  {name} = phi {kind} [{start}, %{block}], [{last}, %{last_block}]"
    return after, end(last_block)


def _totals(
    kernel: Kernel, block: str, depth: int, many: int, lanes: Any, count: int, body: Callable
) -> tuple[list, str]:
    """Write :func:`_sums` over channels, each of ``many`` terms, in segments whose sums are added."""
    terms = max(1, _TERMS // max(1, many))
    total: list = []
    zero = [constant(lanes.lanes, lanes.kind, 0)] * count
    if not many:
        return zero, block
    for piece in range(0, depth, terms):
        done, block = _sums(kernel, block, piece, min(piece + terms, depth), lanes.type, zero, body)
        total = [lanes.add(a, b) for a, b in zip(total, done, strict=True)] if total else done
    return total, block


def _images_loop(kernel: Kernel, space: Geometry, block: str, shared: bool) -> tuple[str, Any, str, Callable]:
    """Write a loop over images, and one over groups; return their counters, the block, and the function that ends
    them.
    """
    if shared:
        kernel.rounds = space.images
    first, stop = ("%low", "%high") if shared else ("0", str(space.images))
    image, block, end_image = counted_loop(kernel, block, first, stop, 1)
    if space.groups == 1:
        return image, None, block, end_image
    group, block, end_group = counted_loop(kernel, block, 0, space.groups, 1)
    return image, group, block, lambda last: end_image(end_group(last))


def _channels(kernel: Kernel, image: str, group: Any, groups: int, count: int) -> str:
    """Return the number of the first channel of an image's group."""
    channel = kernel.emit(f"mul i64 {image}, {groups * count}")
    return channel if group is None else kernel.emit(f"add i64 {channel}, {_of_group(kernel, group, count)}")


def _of_group(kernel: Kernel, group: Any, count: int) -> str:
    return kernel.emit(f"mul i64 {group}, {count}")


def _bias(kernel: Kernel, lanes: Any, code: str, group: Any, count: int, made: str, q: int) -> str:
    """Return the bias of a channel, in all lanes."""
    of = made if group is None else kernel.emit(f"add i64 {made}, {_of_group(kernel, group, count)}")
    one = kernel.load(kernel.offset(kernel.offset(kernel.pointer(2), code, of), code, q), code)
    return kernel.shuffle(one, 1, lanes.kind, [0] * lanes.lanes)


def _blocks(count: int, some: int) -> list[tuple[int, int, int]]:
    """Yield channels in groups of ``some``, and the remaining ones: from, to, how many at a time."""
    full = count // some * some
    return [block for block in ((0, full, some), (full, count, count - full)) if block[0] < block[1]]


def _forward(space: Geometry, biased: bool) -> Kernel:
    """Return the kernel of images, weight, bias (if there is one), results."""
    kernel = Kernel(Library())
    code, kind, lines = space.code, KINDS[space.code], space.lines
    many, size = len(space.places), prod(space.out)
    kernel.locals = (lines.stack,)
    weight, target = kernel.pointer(1), kernel.pointer(3 if biased else 2)
    steps = [step * stride for step, stride in zip(lines.steps[:-1], space.stride, strict=False)]
    of_out = [prod(space.out[d + 1 :]) for d in range(len(steps))]
    image, group, block, end = _images_loop(kernel, space, _zeros(kernel, lines, "entry"), True)
    block = _padded_image(kernel, lines, block, image, group)
    channel = _channels(kernel, image, group, space.groups, space.result)
    if group is not None:
        weight = kernel.offset(weight, code, _of_group(kernel, group, space.result * space.depth * many))
    for first, stop, some in _blocks(space.result, _ROWS):
        # the weight of some channels stays in a cache, while rows go by
        made, block, end_made = counted_loop(kernel, block, first, stop, some)
        factors = kernel.offset(weight, code, kernel.emit(f"mul i64 {made}, {space.depth * many}"))
        number = kernel.emit(f"add i64 {channel}, {made}")
        results = kernel.offset(target, code, kernel.emit(f"mul i64 {number}, {size}"))
        outer, counters, block = opened_loops(kernel, list(space.out[:-1]), block)
        row = kernel.offset("%l0", code, _row(kernel, code, counters, steps))
        into = kernel.offset(results, code, _row(kernel, code, counters, of_out))

        def strip(
            block: str,
            begin: Any,
            width: int,
            row: str = row,
            into: str = into,
            factors: str = factors,
            some: int = some,
            made: str = made,
        ) -> str:
            wide = _lanes(width, space.wide)
            lanes, there = kernel.lanes(wide, kind), kernel.offset(row, code, begin)

            def add_places(line: str, mine: str, sums: list, places: list) -> list:
                for t, place in enumerate(places):
                    seen = kernel.load(kernel.offset(line, code, place), code, wide)
                    for q in range(some):
                        one = kernel.load(kernel.offset(mine, code, q * space.depth * many + t), code)
                        sums[q] = lanes.fma(kernel.shuffle(one, 1, kind, [0] * wide), seen, sums[q])
                return sums

            def add(block: str, c: str, sums: list) -> tuple[list, str]:
                line = kernel.offset(there, code, kernel.emit(f"mul i64 {c}, {lines.line}"))
                mine = kernel.offset(factors, code, kernel.emit(f"mul i64 {c}, {many}"))
                if many <= _PLACES or space.kernel[0] == 1:
                    return add_places(line, mine, sums, space.places), block
                # written out, LLVM reads too much of it at once, and has no registers left
                few, further = many // space.kernel[0], space.dilation[0] * lines.steps[0]

                def add_row(block: str, k: str, sums: list) -> tuple[list, str]:
                    here = kernel.offset(line, code, kernel.emit(f"mul i64 {k}, {further}"))
                    its = kernel.offset(mine, code, kernel.emit(f"mul i64 {k}, {few}"))
                    return add_places(here, its, sums, space.places[:few]), block

                return _sums(kernel, block, 0, space.kernel[0], lanes.type, sums, add_row)

            total, block = _totals(kernel, block, space.depth, many, lanes, some, add)
            for q, value in enumerate(total):
                if biased:
                    value = lanes.add(value, _bias(kernel, lanes, code, group, space.result, made, q))
                cut = kernel.shuffle(value, wide, kind, list(range(width)))
                kernel.store(cut, kernel.offset(kernel.offset(into, code, q * size), code, begin), code, width)
            return block

        block = _strips(kernel, block, space.out[-1], space.wide, strip)
        block = end_made(closed_loops(kernel, outer, block, False))
    end(block)
    return kernel


def _images(space: Geometry, biased: bool) -> Kernel:
    """Return the kernel of gradients of results, weight, bias (if there is one), and the images' gradients."""
    kernel = Kernel(Library())
    code, kind, many, size = space.code, KINDS[space.code], len(space.places), prod(space.sizes)
    lines, seen = space.spread()
    kernel.locals, stride = (lines.stack,), space.stride[-1]
    wide, vectors = (space.wide, 2) if stride <= 3 else (space.wide // 2, 1)
    at_once = max(1, min(_ROWS, _SUMS // (stride * vectors)))
    weight, target = kernel.pointer(1), kernel.pointer(3 if biased else 2)
    of_sizes = [prod(space.sizes[d + 1 :]) for d in range(len(space.sizes))]
    of_kernel = [prod(space.kernel[d + 1 :]) for d in range(len(space.kernel))]
    image, group, block, end = _images_loop(kernel, space, _zeros(kernel, lines, "entry"), True)
    block = _padded_image(kernel, lines, block, image, group)
    channel = _channels(kernel, image, group, space.groups, space.depth)
    if group is not None:
        weight = kernel.offset(weight, code, _of_group(kernel, group, space.result * space.depth * many))
    for first, stop, some in _blocks(space.depth, at_once):
        made, block, end_made = counted_loop(kernel, block, first, stop, some)
        factors = kernel.offset(weight, code, kernel.emit(f"mul i64 {made}, {many}"))
        number = kernel.emit(f"add i64 {channel}, {made}")
        results = kernel.offset(target, code, kernel.emit(f"mul i64 {number}, {size}"))
        for firsts in product(*[range(len(each)) for each in seen[:-1]]):
            # rows a stride apart are read by the same kernel elements
            found = [each[at] for each, at in zip(seen[:-1], firsts, strict=True)]
            terms: dict[int, list[tuple[int, int]]] = {}  # by where they find a number: which of the row's, and place
            for ks in product(*found):
                of_rows = sum(k * n for (k, _), n in zip(ks, of_kernel, strict=False))
                where = sum(place * n for (_, place), n in zip(ks, lines.steps, strict=False))
                for t, each in enumerate(seen[-1]):
                    for k, place in each:
                        terms.setdefault(where + place, []).append((t, of_rows + k))
            counts = [-(-(n - at) // s) for n, at, s in zip(space.sizes, firsts, space.stride, strict=False)]
            outer, counters, block = opened_loops(kernel, counts, block)
            row = kernel.offset("%l0", code, _row(kernel, code, counters, list(lines.steps[:-1])))
            apart = [n * s for n, s in zip(of_sizes[:-1], space.stride, strict=False)]
            into = kernel.offset(results, code, sum(n * at for n, at in zip(of_sizes, firsts, strict=False)))
            into = kernel.offset(into, code, _row(kernel, code, counters, apart))

            def strip(
                block: str,
                begin: Any,
                width: int,
                row: str = row,
                into: str = into,
                factors: str = factors,
                some: int = some,
                made: str = made,
                terms: dict = terms,
            ) -> str:
                held = _lanes(-(-width // stride), wide)
                lanes = kernel.lanes(held, kind)
                before = begin // stride if isinstance(begin, int) else kernel.emit(f"udiv i64 {begin}, {stride}")
                there = kernel.offset(row, code, before)

                def add(block: str, c: str, sums: list) -> tuple[list, str]:
                    line = kernel.offset(there, code, kernel.emit(f"mul i64 {c}, {lines.line}"))
                    mine = kernel.offset(factors, code, kernel.emit(f"mul i64 {c}, {space.depth * many}"))
                    for where, each in sorted(terms.items()):
                        value = kernel.load(kernel.offset(line, code, where), code, held)
                        for t, place in each:
                            for q in range(some):
                                one = kernel.load(kernel.offset(mine, code, q * many + place), code)
                                one = kernel.shuffle(one, 1, kind, [0] * held)
                                sums[q * stride + t] = lanes.fma(one, value, sums[q * stride + t])
                    return sums, block

                count = sum(map(len, terms.values()))
                total, block = _totals(kernel, block, space.result, count, lanes, some * stride, add)
                for q in range(some):
                    values = total[q * stride : (q + 1) * stride]
                    if biased:
                        extra = _bias(kernel, lanes, code, group, space.depth, made, q)
                        values = [lanes.add(value, extra) for value in values]
                    whole = _merged(kernel, values, held, kind, width)
                    kernel.store(whole, kernel.offset(kernel.offset(into, code, q * size), code, begin), code, width)
                return block

            block = _strips(kernel, block, space.sizes[-1], wide * stride, strip)
            block = closed_loops(kernel, outer, block, False)
        block = end_made(block)
    end(block)
    return kernel


def _merged(kernel: Kernel, values: list, held: int, kind: str, width: int) -> str:
    """Return the interleaved vectors: the first numbers of all, then the second ones, and so on, up to a width."""
    many = len(values)
    while len(values) > 1:
        shape, places = vector(held, kind), ", ".join(f"i32 {k}" for k in range(2 * held))
        values = [*values, "poison"] if len(values) % 2 else values
        values = [
            kernel.emit(f"shufflevector {shape} {a}, {shape} {b}, <{2 * held} x i32> <{places}>")
            for a, b in zip(values[::2], values[1::2], strict=True)
        ]
        held *= 2
    one = held if many == 1 else held // (1 << (many - 1).bit_length())
    return kernel.shuffle(values[0], held, kind, [k % many * one + k // many for k in range(width)])


def _turned(kernel: Kernel, code: str, source: str, rows: int, length: int, block: str) -> str:
    """Write the transposition of rows to the second buffer on the stack, in square blocks of vectors where possible."""
    kind, side = KINDS[code], _WIDE // 2 // SIZES[code]
    high, along = rows // side * side, length // side * side
    shape = vector(side, kind)
    pairs = [[k // 2 + side * (k % 2) + half for k in range(side)] for half in (0, side // 2)]
    masks = [", ".join(f"i32 {p}" for p in each) for each in pairs]
    if high and along:
        row, middle, end_row = counted_loop(kernel, block, 0, high, side)
        at, inside, end_at = counted_loop(kernel, middle, 0, along, side)
        here = kernel.offset(kernel.offset(source, code, kernel.emit(f"mul i64 {row}, {length}")), code, at)
        there = kernel.offset(kernel.offset("%l1", code, kernel.emit(f"mul i64 {at}, {rows}")), code, row)
        values = [kernel.load(kernel.offset(here, code, k * length), code, side) for k in range(side)]
        for _ in range(side.bit_length() - 1):  # each brings rows half of the square apart together
            values = [
                kernel.emit(f"shufflevector {shape} {a}, {shape} {b}, <{side} x i32> <{mask}>")
                for a, b in zip(values[: side // 2], values[side // 2 :], strict=True)
                for mask in masks
            ]
        for k, value in enumerate(values):
            kernel.store(value, kernel.offset(there, code, k * rows), code, side)
        block = end_row(end_at(inside))
    for start, stop, begin in ((0, high, along), (high, rows, 0)):
        if start == stop or begin == length:
            continue
        row, middle, end_row = counted_loop(kernel, block, start, stop, 1)
        here = kernel.offset(source, code, kernel.emit(f"mul i64 {row}, {length}"))
        there = kernel.offset("%l1", code, row)
        at, inside, end_at = counted_loop(kernel, middle, begin, length, 1)
        one = kernel.load(kernel.offset(here, code, at), code)
        kernel.store(one, kernel.offset(there, code, kernel.emit(f"mul i64 {at}, {rows}")), code)
        block = end_row(end_at(inside))
    return block


def _weight(space: Geometry) -> Kernel:
    """Return the kernel of images, gradients of results, and the weight's gradient (groups, depth and kernel elements,
    results), which is added to.
    """
    kernel = Kernel(Library())
    code, kind, size, many = space.code, KINDS[space.code], prod(space.out), len(space.places)
    lines, widest = space.lines, min(space.wide, space.result)
    kernel.locals = (lines.stack, size * widest * SIZES[code])
    steps = [step * stride for step, stride in zip(lines.steps[:-1], space.stride, strict=False)]
    of_out = [prod(space.out[d + 1 :]) for d in range(len(steps))]
    image, group, block, end = _images_loop(kernel, space, _zeros(kernel, lines, "entry"), False)
    block = _padded_image(kernel, lines, block, image, group)
    channel = _channels(kernel, image, group, space.groups, space.result)
    total = kernel.pointer(2)
    if group is not None:
        total = kernel.offset(total, code, _of_group(kernel, group, space.result * space.depth * many))
    grads = kernel.offset(kernel.pointer(1), code, kernel.emit(f"mul i64 {channel}, {size}"))
    for begin in range(0, space.result, widest):
        width = min(widest, space.result - begin)
        lanes = kernel.lanes(width, kind)
        block = _turned(kernel, code, kernel.offset(grads, code, begin * size), width, size, block)
        depth, block, end_depth = counted_loop(kernel, block, 0, space.depth, 1)
        along = kernel.offset("%l0", code, kernel.emit(f"mul i64 {depth}, {lines.line}"))
        into = kernel.offset(total, code, kernel.emit(f"mul i64 {depth}, {many * space.result}"))
        for first in range(0, many, _PLACES):
            places = space.places[first : first + _PLACES]
            outer, counters, block = opened_loops(kernel, list(space.out[:-1]), block)
            row = kernel.offset(along, code, _row(kernel, code, counters, steps))
            seen = kernel.offset("%l1", code, _row(kernel, code, counters, [n * width for n in of_out]))

            def add(
                block: str,
                x: str,
                sums: list,
                row: str = row,
                seen: str = seen,
                places: list = places,
                lanes: Any = lanes,
                width: int = width,
            ) -> tuple[list, str]:
                line = kernel.load(kernel.offset(seen, code, kernel.emit(f"mul i64 {x}, {width}")), code, width)
                here, found = kernel.offset(row, code, x), []
                for place, before in zip(places, sums, strict=True):
                    one = kernel.load(kernel.offset(here, code, place), code)
                    found.append(lanes.fma(kernel.shuffle(one, 1, kind, [0] * width), line, before))
                return found, block

            zero = [constant(width, kind, 0)] * len(places)
            sums, block = _sums(kernel, block, 0, space.out[-1], lanes.type, zero, add)
            for q, value in enumerate(sums):
                place = kernel.offset(into, code, (first + q) * space.result + begin)
                kernel.store(lanes.add(kernel.load(place, code, width), value), place, code, width)
            block = closed_loops(kernel, outer, block, False)
        block = end_depth(block)
    end(block)
    return kernel


def _weight_of_few(space: Geometry) -> Kernel:
    """Return :func:`_weight` for few results: vectors lie along rows, and are summed after some rows."""
    kernel = Kernel(Library())
    code, kind, wide, size, many = space.code, KINDS[space.code], space.wide, prod(space.out), len(space.places)
    lines, lanes, length = space.lines, kernel.lanes(space.wide, KINDS[space.code]), space.out[-1]
    kernel.locals = (lines.stack,)
    above = list(space.out[:-1]) or [1]
    together = next(n for n in range(max(1, _TERMS * wide // length), 0, -1) if above[-1] % n == 0)  # rows
    steps = [step * stride for step, stride in zip(lines.steps[:-1], space.stride, strict=False)] or [0]
    of_out = [prod(space.out[d + 1 :]) for d in range(len(steps))]
    image, group, block, end = _images_loop(kernel, space, _zeros(kernel, lines, "entry"), False)
    block = _padded_image(kernel, lines, block, image, group)
    channel = _channels(kernel, image, group, space.groups, space.result)
    total = kernel.pointer(2)
    if group is not None:
        total = kernel.offset(total, code, _of_group(kernel, group, space.result * space.depth * many))
    made, block, end_made = counted_loop(kernel, block, 0, space.result, 1)
    at = kernel.emit(f"mul i64 {kernel.emit(f'add i64 {channel}, {made}')}, {size}")
    grads = kernel.offset(kernel.pointer(1), code, at)
    depth, block, end_depth = counted_loop(kernel, block, 0, space.depth, 1)
    along = kernel.offset("%l0", code, kernel.emit(f"mul i64 {depth}, {lines.line}"))
    into = kernel.offset(total, code, kernel.emit(f"mul i64 {depth}, {many * space.result}"))
    into = kernel.offset(into, code, made)
    for first in range(0, many, _PLACES):
        places = space.places[first : first + _PLACES]
        outer, counters, block = opened_loops(kernel, [*above[:-1], above[-1] // together], block)
        row = kernel.offset(along, code, _row(kernel, code, counters, [*steps[:-1], steps[-1] * together]))
        seen = kernel.offset(grads, code, _row(kernel, code, counters, [*of_out[:-1], of_out[-1] * together]))

        def add(
            block: str, y: str, sums: list, row: str = row, seen: str = seen, places: list = places
        ) -> tuple[list, str]:
            here = kernel.offset(row, code, kernel.emit(f"mul i64 {y}, {steps[-1]}"))
            there = kernel.offset(seen, code, kernel.emit(f"mul i64 {y}, {of_out[-1]}"))

            def part(begin: Any, width: int, sums: list) -> list:
                line = _with_zeros(kernel, kernel.load(kernel.offset(there, code, begin), code, width), width, lanes)
                found = []
                for place, before in zip(places, sums, strict=True):
                    numbers = kernel.load(kernel.offset(kernel.offset(here, code, place), code, begin), code, width)
                    found.append(lanes.fma(_with_zeros(kernel, numbers, width, lanes), line, before))
                return found

            def whole(block: str, k: str, sums: list) -> tuple[list, str]:
                return part(kernel.emit(f"mul i64 {k}, {wide}"), wide, sums), block

            if length >= wide:
                sums, block = _sums(kernel, block, 0, length // wide, lanes.type, sums, whole)
            return part(length // wide * wide, length % wide, sums) if length % wide else sums, block

        zero = [constant(wide, kind, 0)] * len(places)
        sums, block = _sums(kernel, block, 0, together, lanes.type, zero, add)
        for q, value in enumerate(sums):
            place = kernel.offset(into, code, (first + q) * space.result)
            one = kernel.lanes(1, kind).add(kernel.load(place, code), _added_up(kernel, value, lanes))
            kernel.store(one, place, code)
        block = closed_loops(kernel, outer, block, False)
    end(end_made(end_depth(block)))
    return kernel


def _with_zeros(kernel: Kernel, value: str, width: int, lanes: Any) -> str:
    """Return a vector of ``width`` numbers, or a number, padded with zeros."""
    if width == lanes.lanes:
        return value
    zeros = constant(lanes.lanes, lanes.kind, 0)
    if width == 1:
        return kernel.emit(f"insertelement {lanes.type} {zeros}, {lanes.kind} {value}, i32 0")
    mask = ", ".join(f"i32 {min(k, width)}" for k in range(lanes.lanes))
    shape = vector(width, lanes.kind)
    return kernel.emit(f"shufflevector {shape} {value}, {shape} zeroinitializer, <{lanes.lanes} x i32> <{mask}>")


def _added_up(kernel: Kernel, value: str, lanes: Any) -> str:
    """Return the sum of a vector's numbers, whose count is a power of two."""
    width = lanes.lanes
    while width > 1:
        halves = [kernel.shuffle(value, width, lanes.kind, list(range(k, k + width // 2))) for k in (0, width // 2)]
        width //= 2
        value = kernel.lanes(width, lanes.kind).add(*halves)
    return value


def _function(kernel: Kernel, key: tuple, count: int) -> Callable:
    """Return a function of contiguous arrays that runs a kernel."""
    name = f"c{hashlib.sha256(repr(key).encode()).hexdigest()[:24]}"
    runtime.functions({name: kernel.text(name)}, kernel.library)
    table = np.array([runtime.address(name), count, *[0] * count, 0], np.uint64)
    places = np.array([(2 + k, k, 0) for k in range(count)], np.int64)
    run, held = runtime.entry(table, places, count)

    def call(*arrays: np.ndarray, held: Any = held) -> None:
        run(*arrays)

    return call


def forward(space: Geometry, biased: bool) -> Callable:
    """Return a function of images, weight, bias (if there is one) and the array for the results."""
    return _function(_forward(space, biased), ("forward", biased, space.key), 4 if biased else 3)


def images(space: Geometry, biased: bool) -> Callable:
    """Return a function of gradients of results, weight, bias (if there is one) and the array for the images'
    gradients.
    """
    return _function(_images(space, biased), ("images", biased, space.key), 4 if biased else 3)


def weight(space: Geometry) -> Callable:
    """Return a function of images, gradients of results, and the array to which the transposed weight's gradient is
    added.
    """
    few = space.result <= space.wide // 8 and space.out[-1] >= space.wide // 4
    return _function(_weight_of_few(space) if few else _weight(space), ("weight", space.key), 3)
