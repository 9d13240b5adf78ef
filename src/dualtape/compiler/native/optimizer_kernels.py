"""A kernel of gradient descent with momentum: one in-place pass over memory.

It computes in PyTorch's order: the gradient, plus the weight decay times the parameter, is added to the momentum times
the buffer, and a multiple of that to the parameter.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from typing import Any

import numpy as np

from . import runtime
from .llvm_builder import GIVEN, KINDS, SIZES, Kernel, counted_loop
from .maths import Library

BYTES = 256  # of a parameter that are changed at a time


def _momentum(code: str, decays: bool, nesterov: bool) -> Kernel:
    """Return the kernel of parameter, gradient, buffer, and numbers of the same type; see :func:`momentum`."""
    kernel = Kernel(Library())
    kind, count = KINDS[code], BYTES // SIZES[code]
    kernel.rounds, kernel.numbers = GIVEN, 1
    lanes = kernel.lanes(count, kind)
    numbers = [kernel.load(kernel.offset(kernel.pointer(3), code, k), code) for k in range(5)]
    keep, intake, rate, sign, decay = [kernel.shuffle(one, 1, kind, [0] * count) for one in numbers]
    at, block, end = counted_loop(kernel, "entry", "%low", "%high", 1)
    place = kernel.emit(f"mul i64 {at}, {count}")
    to, source, kept = [kernel.offset(kernel.pointer(slot), code, place) for slot in range(3)]
    p, g, buffer = [kernel.load(pointer, code, count) for pointer in (to, source, kept)]
    g = lanes.mul(g, sign)
    g = lanes.fma(p, decay, g) if decays else g
    buffer = lanes.fma(g, intake, lanes.mul(buffer, keep))
    kernel.store(buffer, kept, code, count)
    kernel.store(lanes.fma(lanes.fma(buffer, keep, g) if nesterov else buffer, rate, p), to, code, count)
    end(block)
    return kernel


def momentum(code: str, decays: bool, nesterov: bool) -> Callable:
    """Return a function of a size that returns a kernel, which updates the first elements of a parameter and its
    buffer, and the number of these elements.

    It is given the parameter, the gradient, what is kept, and the numbers: what is kept is multiplied by, the gradient
    is, the step is (below zero), the gradient is before all (1 or -1), and the parameter is where it decays.
    """
    name = f"s{hashlib.sha256(repr((code, decays, nesterov)).encode()).hexdigest()[:24]}"
    kernel = _momentum(code, decays, nesterov)
    runtime.functions({name: kernel.text(name)}, kernel.library)
    places = np.array([(2 + k, k, 0) for k in range(kernel.slots)], np.int64)

    def of_size(size: int) -> tuple[Callable, int]:
        rounds = size * SIZES[code] // BYTES
        count = kernel.slots + 1
        table = np.array([runtime.address(name), count, *[0] * kernel.slots, rounds, 0], np.uint64)
        run, held = runtime.entry(table, places, kernel.slots)

        def call(*arrays: np.ndarray, held: Any = held) -> None:
            run(*arrays)

        return call, rounds * BYTES // SIZES[code]

    return of_size
