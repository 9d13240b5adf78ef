"""A loop as an instruction of a program: its forward and backward as functions of arrays."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .backward import IterationBackward
from .body import Body, Part
from .iterations import Iterations

# The least number of iterations between two states kept for the backward of a while_loop.
_KEPT = 64


class Loop:
    """A loop as an instruction: its forward and backward as functions of arrays.

    Parameters
    ----------
    length : int or None
        Of the elements; None: the loop has none, and ends when its test says so.
    reverse : bool
        Whether it goes from the last element to the first.
    every : int
        One of every so many states is kept for the backward.
    """

    def __init__(
        self,
        backend: str,
        body: Body,
        carried: int,
        length: int | None,
        reverse: bool,
        every: int,
        backward: IterationBackward | None,
        test: Part | None = None,
    ) -> None:
        self._backend, self.body, self.carried, self.length, self._reverse = backend, body, carried, length, reverse
        self.every, self.backward, self._test, self.moving = every, backward, test, len(body.begins) - carried
        begins = [x._array for x in body.given]
        self._forward = Part([*body.instructions, *body.copying], begins, body.dense, body.born)
        self.fixed = frozenset([k for k in range(carried) if body.found[k] is body.given[k]])
        self.outside = [*self._forward.outside]
        for part in (test, None if backward is None else backward.part):
            self.outside += [] if part is None else part.outside
        self.outside = list({id(value): value for value in self.outside}.values())
        self._given = self._forward.metas[carried : len(body.results) - (test is not None)]

    def like(self, other: Any) -> bool:
        return (
            isinstance(other, Loop)
            and (self.carried, self.length, self._reverse, self.every)
            == (other.carried, other.length, other._reverse, other.every)
            and (self.backward is None) == (other.backward is None)
            and self.body.like(other.body)
        )

    def _staying(self, part: Part, arrays: Sequence) -> list:
        """Return the outside arrays that ``part`` reads."""
        places = {id(value): k for k, value in enumerate(self.outside)}
        return [arrays[places[id(value)]] for value in part.outside]

    @functools.cached_property
    def _iterations(self) -> Iterations:
        return self._forward.iterations(self._backend, self.carried, self._test is not None, self.fixed)

    @functools.cached_property
    def _iterations_back(self) -> Iterations:
        assert self.backward is not None
        return self.backward.part.iterations(self._backend, len(self.backward.carried) + len(self.backward.sums))

    @functools.cached_property
    def _begun(self) -> Callable[..., tuple]:
        assert self._test is not None
        return self._test.program(self._backend)

    def _turned(self, arrays: Sequence[np.ndarray], back: bool = False) -> list[np.ndarray]:
        """Return the elements, each contiguous, in iteration order."""
        order = slice(None, None, -1 if self._reverse is not back else 1)
        return [np.ascontiguousarray(x)[order] for x in arrays]

    def __call__(self, *arrays: np.ndarray) -> tuple:
        """Return the last state, the results of all iterations, and what the backward needs: states or their count."""
        first, elements = arrays[: self.carried], arrays[self.carried : self.carried + self.moving]
        outside = arrays[self.carried + self.moving :]
        staying = self._staying(self._forward, outside)
        if self.length is None:
            assert self._test is not None
            test = np.array(self._begun(*first, *self._staying(self._test, outside))[0])
            state, count = self._iterations.until(first, staying, test)
            return (*[x.copy() for x in state], np.array(count))
        elements = tuple(self._turned(elements))
        given = [np.empty((self.length, *shape), dtype) for shape, dtype in self._given]
        turned = [y[::-1] if self._reverse else y for y in given]
        if self.backward is None:
            state = self._iterations.go(first, elements, staying, turned, self.length)
            return (*[x.copy() for x in state], *given)
        if self.every == 1:
            states = self._iterations.go(first, elements, staying, turned, self.length, keep=True)
            kept = [x[:1] if k in self.fixed else x for k, x in enumerate(states)]
            return (*[x[-1].copy() for x in states], *given, *kept)
        state, kept = self._kept(first, elements, staying, turned, self.length, self.every)
        return (*[x.copy() for x in state], *given, *kept)

    def _kept(
        self, first: Sequence, elements: Sequence, staying: list, given: Sequence, length: int, every: int
    ) -> tuple[list, list]:
        """Run all iterations; return the last state, and one state of every ``every``."""
        state = list(first)
        slots = [1 if k in self.fixed else -(-length // every) for k in range(self.carried)]
        kept = [np.empty((many, *x.shape), x.dtype) for many, x in zip(slots, first, strict=True)]
        for number, start in enumerate(range(0, length, every)):
            for x, now in zip(kept, state, strict=True):
                x[number if len(x) > 1 else 0] = now
            some, count = slice(start, start + every), min(every, length - start)
            state = self._iterations.go(state, [x[some] for x in elements], staying, [y[some] for y in given], count)
        return state, kept

    def back(self, *arrays: np.ndarray) -> tuple:
        """Return the gradients of the first state, of outside arrays, and of the elements.

        Of gradients of the last state and of results; states that were kept, or the first and the number of iterations;
        elements; what is outside.
        """
        backward = self.backward
        assert backward is not None
        rest = list(arrays)
        take = lambda many: [rest.pop(0) for _ in range(many)]
        state, given = take(len(backward.carried)), take(len(backward.results))
        states = take(self.carried)
        length, every = (int(take(1)[0]), 0) if self.length is None else (self.length, self.every)
        elements = self._turned(take(self.moving))
        staying, staying_back = self._staying(self._forward, rest), self._staying(backward.part, rest)
        if self.length is None:
            every = max(_KEPT, math.isqrt(length))
            _, states = self._kept(states, (), staying, (), length, every)
        given = [y[::-1] for y in self._turned(given)]  # from the last iteration to the first
        slopes = [
            np.empty((length, *shape), dtype) for shape, dtype in backward.part.metas[len(state) + len(backward.sums) :]
        ]
        turned = [x if self._reverse else x[::-1] for x in slopes]
        state += [np.zeros(*meta) for meta in backward.sums]
        for start in reversed(range(0, length, every)) if every > 1 else [0] if length else []:
            stop = min(start + every, length) if every > 1 else length
            here = [x[start:stop] for x in elements]
            if every > 1:
                scratch = [np.empty((stop - start, *shape), dtype) for shape, dtype in self._given]
                at = [x[start // every if len(x) > 1 else 0] for x in states]
                between = self._iterations.go(at, here, staying, scratch, stop - start, keep=True)
            else:
                between = [np.broadcast_to(x, (length, *x.shape[1:])) if len(x) == 1 else x for x in states]
            moving = [
                *[x[: stop - start][::-1] for x in between],
                *[x[::-1] for x in here],
                *[y[length - stop : length - start] for y in given],
            ]
            filled = [x[length - stop : length - start] for x in turned]
            state = self._iterations_back.go(state, moving, staying_back, filled, stop - start)
        return (*[x.copy() for x in state], *slopes)
