"""``dualtape.quasirandom``: points of low discrepancy."""

from __future__ import annotations

import copy
import warnings
from typing import Any

import numpy as np

from ._listing import listing
from ._tensor.dtypes import default_float, to_numpy
from ._tensor.tensor import Tensor, wrap
from .arrays.bfloat16_dtype import cast
from .random import default_generator

__all__ = ["SobolEngine"]


class SobolEngine:
    """Points of a Sobol sequence in the unit cube, in the order of Gray codes.

    Parameters
    ----------
    dimension : int
        Of the points, up to 21,201.
    scramble : bool
        Scramble the sequence at random: a random matrix and a shift for each dimension.
    seed : int, optional
        Of the scrambling; by default it is drawn from the default generator.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.quasirandom.SobolEngine(2).draw(3)
    tensor([[0.0000, 0.0000],
            [0.5000, 0.5000],
            [0.7500, 0.2500]])
    """

    MAXBIT = 30
    MAXDIM = 21201

    def __init__(self, dimension: int, scramble: bool = False, seed: int | None = None) -> None:
        if not 1 <= dimension <= self.MAXDIM:
            raise ValueError(
                f"Supported range of dimensionality for SobolEngine is [1, {self.MAXDIM}], got {dimension}"
            )
        self.seed = seed
        self.scramble = scramble
        self.dimension = dimension
        self.num_generated = 0
        if scramble and seed is None:
            seed = int(default_generator._rng.integers(2**63))
        self._sequence = _sequence(dimension, scramble, seed)
        self._start = copy.deepcopy(self._sequence)

    def draw(self, n: int = 1, out: Tensor | None = None, dtype: Any = None) -> Tensor:
        """Return the next ``n`` points, one in each row.

        Parameters
        ----------
        n : int
            How many.
        out : Tensor, optional
            The tensor to write them into.
        dtype : dtype, optional
            Of the points; the default dtype if it is not given.
        """
        if n < 0:
            raise RuntimeError(f"SobolEngine.draw: expected a number of points that is not negative, got {n}")
        if self.num_generated + n > 2**self.MAXBIT:
            raise ValueError(f"SobolEngine.draw: the sequence has 2**{self.MAXBIT} points, and fewer are left than {n}")
        kind = default_float() if dtype is None else to_numpy(dtype)
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "The balance properties")  # of any other number of points
            points = self._sequence.random(n) if n else np.empty((0, self.dimension))
        self.num_generated += n
        result = wrap(cast(points, kind))
        if out is None:
            return result
        out.resize_(result.shape).copy_(result)
        return out

    def draw_base2(self, m: int, out: Tensor | None = None, dtype: Any = None) -> Tensor:
        """Return the next ``2**m`` points; all points drawn together must be a power of 2.

        Parameters
        ----------
        m : int
            The logarithm to base 2 of their number.
        out, dtype
            As for :meth:`draw`.
        """
        total = self.num_generated + 2**m
        if total & (total - 1):
            raise ValueError(
                "The balance properties of Sobol' points require n to be a power of 2."
                f" {self.num_generated} points have been generated, then adding 2**{m} makes {total} points:"
                " reset() the engine, or use draw()"
            )
        return self.draw(2**m, out, dtype)

    def reset(self) -> SobolEngine:
        """Go back to the first point, and return the engine."""
        self._sequence = copy.deepcopy(self._start)
        self.num_generated = 0
        return self

    def fast_forward(self, n: int) -> SobolEngine:
        """Leave out the next ``n`` points, and return the engine."""
        if n:
            self._sequence.fast_forward(n)
        self.num_generated += n
        return self

    def __repr__(self) -> str:
        more = ["scramble=True"] if self.scramble else []
        more += [f"seed={self.seed}"] if self.seed is not None else []
        return f"{type(self).__name__}({', '.join([f'dimension={self.dimension}', *more])})"


def _sequence(dimension: int, scramble: bool, seed: int | None) -> Any:
    from scipy.stats import qmc

    return qmc.Sobol(dimension, scramble=scramble, bits=SobolEngine.MAXBIT, rng=None if seed is None else seed)


__dir__ = listing(__name__)
