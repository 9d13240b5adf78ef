"""Kernels for eager ops: functions of arrays, traced over arrays and compiled."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ..arrays.fp_errors import fp_errors, ignore_fp_errors, restore_fp_errors
from ..arrays.kernels.fused import enable
from ..arrays.traced.array import Traced
from ..arrays.traced.tape import READ, SHAPE, Memory, Tape, Value
from . import replay

__all__ = ["fuse_eager", "kernel"]


def fuse_eager(enabled: bool = True) -> bool:
    """Set whether multi-pass ops (activations, softmax, ...) run as fused native kernels on large arrays.

    They do where llvmlite is installed, after a few calls of one kind. Results agree to rounding.

    Returns
    -------
    bool
        How it was before.

    Examples
    --------
    >>> import dualtape as dt
    >>> before = dt.compiler.fuse_eager(False)
    >>> now = dt.compiler.fuse_eager(before)
    >>> now
    False
    """
    return enable(bool(enabled))


def kernel(function: Callable, args: tuple) -> Callable | None:
    """Return a function of the arrays among ``args`` that computes ``function`` by a kernel; None if there is none."""
    from .native.lower import NotNative
    from .native.program import Program

    tape = Tape(keep=False)
    inputs: list[Value] = []
    given = []
    for a in args:
        if type(a) is not np.ndarray:
            given.append(a)
            continue
        if a.dtype.char not in "fd":
            return None
        value = Value(a, Memory(a.__array_interface__["data"][0], external=True))
        inputs.append(value)
        given.append(Traced(a, value, tape))
    before = fp_errors()
    try:
        ignore_fp_errors()
        result = function(*given)
    finally:
        restore_fp_errors(before)
        tape.close()
    several = isinstance(result, tuple)
    results = result if several else (result,)
    if tape.failure is not None or not all(type(r) is Traced and not r.value.memory.external for r in results):
        return None
    outputs = [r.value for r in results]
    instructions = replay.live(tape.instructions, outputs)
    if any(i.kind in (READ, SHAPE) for i in instructions):
        return None
    try:
        program = Program(instructions, inputs, outputs)
    except NotNative:
        return None
    if program.facts["calls"]:
        return None
    return program if several else lambda *arrays: program(*arrays)[0]


def convolution(what: str, code: str, key: tuple, biased: bool) -> Callable | None:
    """Return a function that returns the kernel of a convolution (``"forward"``), of its images' gradient or of its
    weight's, or None where it does not pay; None if there is no such kernel.
    """
    from .native import convolutions, threads
    from .native.maths import scales_vectors

    space = convolutions.Geometry(code, *key)
    if not scales_vectors() or not space.fits(what):
        return None
    if what != "weight":
        run = (convolutions.forward if what == "forward" else convolutions.images)(space, biased)
        return lambda: run
    run = convolutions.weight(space)
    return lambda: run if threads.wanted() == 1 else None  # it is all in one thread, BLAS's products are not


def momentum(code: str, decays: bool, nesterov: bool) -> Callable:
    """Return a function of a size that returns the kernel of a step with momentum."""
    from .native import optimizer_kernels

    return optimizer_kernels.momentum(code, decays, nesterov)
