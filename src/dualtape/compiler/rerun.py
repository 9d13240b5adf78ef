"""Run a function again as it ran in an earlier call: for derivatives that its program does not provide.

Random draws are repeated, and inputs that the call wrote to are set to their values before it, and restored afterwards.
All other dependencies must be unchanged; if one is not, an error names it.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from .. import modes
from .._tensor import dtypes
from .._tensor.tensor import Tensor
from ..pytree import tree_unflatten
from .guards import Guard


class Rerun:
    """How the calls of one specialization are run again.

    Attributes
    ----------
    generators : list of Generator
        What the function draws from.
    writes : list of int
        The inputs that it writes to.
    watched : list of int
        The other inputs that may not have been written to since the call, and that the backward does not read: what
        it reads says so itself.
    """

    def __init__(
        self, function: Any, guard: Guard, generators: list, writes: list[int], read: list[int], inputs: list[Any]
    ) -> None:
        self.function, self._guard = function, guard
        self.generators, self.writes = generators, writes
        self.watched = [k for k, x in enumerate(inputs) if isinstance(x, Tensor) and k not in (*writes, *read)]
        self._clash = not set(writes).isdisjoint(read)
        self._settings = (modes.current().layout, dtypes.default_float())
        self.changes = bool(generators or writes)

    def before(self, found: tuple, drawn: list) -> tuple:
        """Return copies of the inputs that a call is about to change; ``drawn`` is the states of its generators."""
        return drawn, [_array(found[k]).copy() for k in self.writes]

    def versions(self, found: tuple) -> list[int]:
        """Return the versions of the watched inputs."""
        return [0 if (counter := found[k]._version_counter) is None else counter[0] for k in self.watched]

    def arguments(self, found: tuple, call: tuple, versions: list[int]) -> tuple[tuple, dict]:
        """Return the arguments of a call; raise if the function can no longer run as it did."""
        leaves, spec = call
        reason = self._guard.why_not_again(self.function, leaves, found)
        if reason is None and self._settings != (modes.current().layout, dtypes.default_float()):
            reason = "the default dtype, or another setting"
        if self._clash:
            reason = "it writes to a tensor that its derivative reads"
        elif reason is None and self.versions(found) != versions:
            reason = "a tensor that it uses was written to"
        if reason is not None:
            raise RuntimeError(
                "the derivative of a compiled call that is differentiated itself, or by vmap, runs the function again,"
                f" and what it depends on has changed since the call: {reason}. Change it after the backward, or call"
                " the function without compile"
            )
        return (leaves, {}) if spec is None else tree_unflatten(leaves, spec)

    def holds(self, found: tuple, call: tuple) -> bool:
        """Return whether all dependencies, beside values, are as they were in a call."""
        return self._guard.why_not_again(self.function, call[0], found) is None

    @contextmanager
    def as_then(self, found: tuple, before: Any) -> Iterator[None]:
        """Context with generators and written inputs as they were before a call."""
        if before is None:
            yield
            return
        states, arrays = before
        now = self.before(found, [stream(g) for g in self.generators])
        counts = [(x._version_counter, version(x)) for x in found if isinstance(x, Tensor) and x._version_counter]
        try:
            self._set(found, states, arrays)
            yield
        finally:
            self._set(found, now[0], now[1])
            for counter, count in counts:
                counter[0] = count

    def _set(self, found: tuple, states: list, arrays: list) -> None:
        for generator, place in zip(self.generators, states, strict=True):
            go_to(generator, place)
        for k, array in zip(self.writes, arrays, strict=True):
            _array(found[k])[...] = array


def _array(thing: Any) -> Any:
    return thing._array if isinstance(thing, Tensor) else thing


def stream(generator: Any) -> tuple:
    """Return the state of a generator's stream."""
    return generator._rng.bit_generator.state, generator._seed


def go_to(generator: Any, place: tuple) -> None:
    """Set the state of a generator's stream."""
    generator._rng.bit_generator.state, generator._seed = place


def version(thing: Any) -> int:
    """Return the version of a tensor."""
    counter = thing._version_counter if isinstance(thing, Tensor) else None
    return 0 if counter is None else counter[0]
