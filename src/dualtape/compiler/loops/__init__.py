"""Loops of a program: ``scan``, ``map`` and ``while_loop`` in a traced function, as one instruction each.

The first two iterations run as they are. If both do the same, the body of the loop becomes a program of its own, which
is run once for each iteration. The backward is another such program, from the last iteration to the first: what an
iteration has computed is computed again from the state that it began with.

Where iterations are not the same, or may not be (they look at values, draw random numbers, write to what they have not
made), the loop goes on as it is, and is traced one iteration at a time, as a loop of Python's is.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from ... import modes
from ..._tensor.tensor import Tensor
from ...arrays.traced.array import Traced
from ..dependencies import Dependencies
from ..guards import Guard
from .backward import trace_backward
from .body import Body, Iteration, Part
from .loop import Loop
from .node import written_down


class Begun(NamedTuple):
    """A loop after its first iterations, or at its end."""

    state: list
    results: list  # those of each iteration; at the end, stacked
    ended: bool = False


def _traceable(tensors: list) -> bool:
    mode = modes.current()
    special = (mode.levels, mode.batches, mode.functions, mode.dispatches, mode.saved_hooks, mode.anomaly)
    return not any(special) and all([isinstance(x, Tensor) and type(x._array) is Traced for x in tensors])


def _watched(*functions: Callable) -> Callable[[], bool]:
    """Return a function that says whether everything reachable from ``functions`` is unchanged: an iteration that
    changes Python objects differs from the next.
    """
    guards = []
    try:
        held = [cell.cell_contents for function in functions for cell in function.__closure__ or ()]
        for function in filter(callable, held):  # what the user gave, inside of what calls it
            guards.append((function, Guard(Dependencies(function, []))))
            guards[-1][1].remember()
    except Exception:
        # Anything that cannot be followed, for whatever reason, may have changed.
        return lambda: False
    return lambda: all([guard.same_objects(function, []) is None for function, guard in guards])


def scan(
    tracer: Any,
    step: Callable[[list, list], tuple[list, list]],
    carry: list,
    xs: list,
    reverse: bool,
    every: int,
    step_by_step: Callable[[list, list], tuple[list, list]],
) -> Begun:
    """Trace a loop over the first dimension of ``xs``; ``step_by_step`` runs it one iteration at a time."""
    if not _traceable([*carry, *xs]):
        return Begun(carry, [])
    tape, many, length = tracer.tape, len(carry), xs[0].shape[0]
    at = len(tape.instructions)

    def one(given: list) -> list:
        state, results = step(given[:many], given[many:])
        return [*state, *results]

    unchanged = _watched(step)
    elements = [[x[k] for x in xs] for k in ((-1, -2) if reverse else (0, 1))]
    first = Iteration(tracer, one, [*carry, *elements[0]])
    if not first.fits:
        return Begun(first.found[:many], [first.found[many:]])
    second = Iteration(tracer, one, [*first.found[:many], *elements[1]])
    so_far = Begun(second.found[:many], [first.found[many:], second.found[many:]])
    if not first.like(second) or not unchanged():
        return so_far
    loop = _loop(tracer, one, [*carry, *xs], [*carry, *elements[0]], many, second, at, (length, reverse, every))
    if loop is None:
        return so_far
    found = written_down(tracer, loop, [*carry, *xs], step_by_step)
    return Begun(found[:many], found[many:], True)


def repeat(
    tracer: Any, test: Callable[[list], Any], step: Callable[[list], list], carry: list, step_by_step: Callable
) -> Begun:
    """Trace a loop that runs ``step`` as long as ``test`` holds."""
    if not carry or not _traceable(carry):
        return Begun(carry, [])
    tape = tracer.tape
    at = len(tape.instructions)
    unchanged = _watched(step, test)
    asking = Iteration(tracer, lambda given: [test(given)], carry)
    if not asking.fits or not _goes_on(asking.found[0]):
        return _after(carry, asking)

    def one(given: list) -> list:
        state = step(given)
        return [*state, test(state)]

    iterations = [asking]
    for _ in range(2):
        iterations.append(Iteration(tracer, one, carry if len(iterations) == 1 else iterations[-1].found[:-1]))
        if not iterations[-1].fits or not _goes_on(iterations[-1].found[-1]):
            return _after(iterations[-1].found[:-1], *iterations)
    so_far = _after(iterations[-1].found[:-1], *iterations)
    if not iterations[1].like(iterations[2]) or not unchanged():
        return so_far
    asked = Body(tracer, lambda given: [test(given)], [x._array.values for x in carry], [False] * len(carry))
    begin = Part([*asked.instructions, *asked.copying], [x._array for x in asked.given], asked.dense, asked.born)
    loop = _loop(tracer, one, carry, carry, len(carry), iterations[2], at, (None, False, 0), begin)
    return so_far if loop is None else Begun(written_down(tracer, loop, carry, step_by_step), [], True)


def _goes_on(answer: Tensor) -> bool:
    """Return the result of a test; that it was read is not recorded yet."""
    values = answer._array.values
    return values.size == 1 and bool(values)


def _after(state: list, *iterations: Iteration) -> Begun:
    """Return the loop after some iterations, whose tests have all been read."""
    return Begun(state, [bool(x.found[-1]) for x in iterations])


def _loop(
    tracer: Any,
    one: Callable,
    tensors: list[Tensor],
    given: list[Tensor],
    many: int,
    like: Iteration,
    at: int,
    how: tuple,
    test: Part | None = None,
) -> Loop | None:
    """Return the loop whose iterations equal ``like``, or None if its backward cannot be traced; the tape since ``at``
    becomes part of it.
    """
    tape = tracer.tape
    records = [modes.current().grad and x.requires_grad for x in tensors]
    while True:
        body = Body(tracer, one, [x._array.values for x in given], records)
        if not body.fits or not like.like(body):
            tape.fail("the body of a loop does not do the same each time that it is called")
            return None
        flags = [record or x.requires_grad for record, x in zip(records, body.found[:many], strict=False)]
        if flags == records[:many]:
            break
        records[:many] = flags
    backward = None
    if modes.current().grad and any([x.requires_grad for x in body.found]):
        results = len(body.found) - many - (test is not None)
        backward = trace_backward(tape, body, many, results)
        if backward is None:
            return None
    del tape.instructions[at:]
    length, reverse, every = how
    return Loop(tracer.backend, body, many, length, reverse, every, backward, test)
