"""Run a program for many iterations: natively if it is a single native segment, else from Python."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.lib.stride_tricks import as_strided

from .. import backends

# The number of iterations of an endless loop between two points where it can be interrupted.
_AT_ONCE = 1 << 16


class Iterations:
    """A program whose arrays are carried from iteration to iteration, advance with it, or stay the same.

    Parameters
    ----------
    run : callable
        Of the carried arrays, one element of each of those that move on, and those that stay. It gives the carried
        arrays, one element of each result, and, if it is ``tested``, whether there is another iteration.
    carried : int
        How many arrays are carried on.
    fixed : frozenset of int
        Those that are carried on as they are.

    All but those that stay are dense.
    """

    def __init__(self, run: Callable, carried: int, tested: bool = False, fixed: frozenset[int] = frozenset()) -> None:
        self._run, self._carried, self._tested, self._fixed = run, carried, tested, fixed
        self._natively = backends.can_iterate(run)
        self._native: dict[tuple, Callable] = {}

    def go(
        self, first: Sequence, moving: Sequence, staying: Sequence, results: Sequence, length: int, keep: bool = False
    ) -> list[np.ndarray]:
        """Run ``length`` iterations from the state ``first`` and fill ``results``.

        Returns the state after the last iteration, or with ``keep`` all states.
        """
        states = self._begun(first, length + 1 if keep else 2)
        if length:
            test = np.empty((), bool) if self._tested else None
            self._iterations(states, moving, staying, results, test, 0, length, -1 if keep else 1, until=False)
        return states if keep else [state[length & 1, ...] for state in states]

    def until(self, first: Sequence, staying: Sequence, test: np.ndarray) -> tuple[list[np.ndarray], int]:
        """Run as long as ``test`` holds; return the state after the last iteration, and the number of iterations."""
        states, count = self._begun(first, 2), 0
        while test:
            count = self._iterations(states, (), staying, (), test, count, count + _AT_ONCE, 1, until=True)
        return [state[count & 1, ...] for state in states], count

    def _iterations(
        self,
        states: Sequence,
        moving: Sequence,
        staying: Sequence,
        results: Sequence,
        test: np.ndarray | None,
        first: int,
        limit: int,
        mask: int,
        until: bool,
    ) -> int:
        if self._natively:
            arrays = [*states, *moving, *staying, *states, *results, *(() if test is None else (test,))]
            key = (mask, until, *[x.strides[0] for x in (*moving, *results)])
            if key not in self._native:
                sizes = [state.strides[0] for state in states]
                steps = [(x.strides[0], -1, 0) for x in (*moving, *results)]
                moves = [
                    *[(size, mask, 0) for size in sizes],
                    *steps[: len(moving)],
                    *[(0, 0, 0)] * len(staying),
                    *[(size, mask, 1) for size in sizes],
                    *steps[len(moving) :],
                    (0, 0, 0),
                ]
                self._native[key] = backends.iterations(self._run, moves, len(arrays) - 1 if until else -1)
            return self._native[key](arrays, first, limit)
        for k in range(first, limit):
            # with ...: an element of an array with one axis is an array, too
            found = self._run(*[state[k & mask, ...] for state in states], *[x[k, ...] for x in moving], *staying)
            for state, new in zip(states, found, strict=False):
                state[(k + 1) & mask] = new
            for x, new in zip(results, found[self._carried :], strict=False):
                x[k] = new
            if test is not None:
                test[...] = found[-1]
                if until and not test:
                    return k + 1
        return limit

    def _begun(self, first: Sequence, slots: int) -> list[np.ndarray]:
        """Return memory for the states, with the first one stored."""
        states = []
        for k, x in enumerate(first):
            state = np.empty((1 if k in self._fixed else slots, *x.shape), x.dtype)
            state[0] = x
            states.append(as_strided(state, (slots, *x.shape), (0, *state.strides[1:])) if k in self._fixed else state)
        return states
