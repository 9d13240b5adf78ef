"""Random numbers inside ``vmap``: drawn for each sample, drawn once for all, or refused, as each open level says.

Nested levels draw in the order of one large draw, the samples of the oldest level one after the other.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import modes
from ..arrays.batched.array import batch, levels_of, sample_of, stacked

# where the shape stands
_SHAPED = {
    "random": 0,
    "standard_normal": 0,
    "integers": 2,
    "exponential": 1,
    "standard_cauchy": 0,
    "lognormal": 2,
    "geometric": 1,
}


class Source:
    """A NumPy generator whose methods return batched arrays."""

    __slots__ = ("rng", "levels")

    def __init__(self, rng: np.random.Generator) -> None:
        self.rng = rng
        levels = []
        for level in modes.current().batches:
            if level.randomness == "error":
                raise RuntimeError(
                    "vmap: called random operation while in randomness error mode. Please either use the 'same' or"
                    " 'different' randomness flags on"
                    " vmap or perform the randomness operation out of vmap"
                )
            if level.randomness == "different":
                levels.append(level)
        self.levels = tuple(levels)  # oldest first

    def __getattr__(self, name: str) -> Any:
        place = _SHAPED[name]
        method = getattr(self.rng, name)

        def draw(*args: Any) -> Any:
            shape = args[place]
            shape = shape if isinstance(shape, (tuple, list)) else (shape,)
            result = method(*args[:place], (*(level.size for level in self.levels), *shape), *args[place + 1 :])
            for level in self.levels:
                result = batch(result, level, 0)
            return result

        return draw

    def permutation(self, n: int) -> Any:
        return self._each(list(self.levels), None, lambda _: self.rng.permutation(n))

    def choice(self, n: int, count: int, replacement: bool, weights: Any) -> Any:
        levels = {*self.levels, *levels_of((weights,))}
        return self._each(
            sorted(levels, key=lambda level: level.number),
            weights,
            lambda p: self.rng.choice(n, count, replacement, p),
        )

    def beside(self, name: str, parameters: tuple) -> Any:
        """Draws from a distribution with parameters, which may differ from sample to sample."""
        levels = {*self.levels, *levels_of(parameters)}
        method = getattr(self.rng, name)
        return self._each(
            sorted(levels, key=lambda level: level.number),
            parameters,
            lambda each: np.asarray(method(*each, np.broadcast_shapes(*[p.shape for p in each]))),
        )

    def _each(self, levels: list, given: Any, draw: Any) -> Any:
        """Return draws for the samples of ``levels`` in order: for batched parameters, and for levels that draw
        differently.
        """
        if not levels:
            return draw(given)
        level, *rest = levels
        state = self.rng.bit_generator.state
        result = []
        for i in range(level.size):
            if level not in self.levels:
                self.rng.bit_generator.state = state  # the same for all samples
            part = (
                tuple([sample_of(p, level, i) for p in given]) if type(given) is tuple else sample_of(given, level, i)
            )
            result.append(self._each(rest, part, draw))
        return stacked(result, level)
