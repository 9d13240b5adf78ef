"""Samples: the test arguments of a row of the table.

A sample is the arguments of one call. Array arguments are *described* (shape, domain), and made when a test runs: for
each dtype the op supports, from a fixed seed. A described array is differentiable unless it says otherwise.
"""

from __future__ import annotations

from typing import Any

import numpy as np


class Array:
    """A described array: ``make(rng, dtype)`` gives its values.

    Attributes
    ----------
    shape : tuple of int
    domain : str
        "normal", "positive" (0.5 to 2), "unit" (-0.9 to 0.9), "probability" (0.1 to 0.9), "apart" (distinct values
        at least 0.1 apart, in random order), "above_one", "spd" (symmetric positive definite), "invertible", "int",
        "bool", "exact", "constant" (exact values that are not differentiated).
    layout : str
        "C", "F" (transposed memory), "strided" (every second element of a larger array).
    """

    __slots__ = ("shape", "domain", "low", "high", "values", "layout")

    def __init__(
        self, shape: tuple, domain: str, low: int = 0, high: int = 0, values: Any = None, layout: str = "C"
    ) -> None:
        self.shape, self.domain, self.low, self.high, self.values, self.layout = (
            shape,
            domain,
            low,
            high,
            values,
            layout,
        )

    @property
    def differentiable(self) -> bool:
        return self.domain not in ("int", "bool", "constant")

    def make(self, rng: np.random.Generator, dtype: Any) -> np.ndarray:
        """Return the values, in ``dtype`` unless the description fixes the dtype."""
        dtype = np.dtype(dtype)
        if self.values is not None and self.domain not in ("exact", "constant"):
            result = np.asarray(self.values)
        elif self.domain == "int":
            result = rng.integers(self.low, self.high, self.shape)
        elif self.domain == "bool":
            result = rng.random(self.shape) < 0.5
        else:
            result = np.asarray(self._real(rng))
            if dtype.kind == "c" and self.domain not in ("exact", "constant"):
                result = result + 1j * self._real(rng) * (
                    0.3 if self.domain in ("unit", "probability", "positive") else 1.0
                )
                if self.domain == "spd":
                    result = (
                        result @ result.conj().T.swapaxes(-1, -2)
                        if result.ndim == 2
                        else result @ result.conj().swapaxes(-1, -2)
                    )
                    result = result + np.eye(self.shape[-1])
            result = result.astype(dtype)
        return self._laid_out(np.asarray(result))

    def _real(self, rng: np.random.Generator) -> np.ndarray:
        shape = self.shape
        if self.domain in ("exact", "constant"):
            return np.asarray(self.values)
        if self.domain == "positive":
            return rng.uniform(0.5, 2.0, shape)
        if self.domain == "above_one":
            return rng.uniform(1.1, 3.0, shape)
        if self.domain == "unit":
            return rng.uniform(-0.9, 0.9, shape)
        if self.domain == "probability":
            return rng.uniform(0.1, 0.9, shape)
        if self.domain == "apart":
            count = int(np.prod(shape))
            return ((rng.permutation(count) - count / 2 + 0.3) * 0.17).reshape(shape)
        if self.domain == "spd":
            a = rng.normal(size=shape)
            return a @ a.swapaxes(-1, -2) + shape[-1] * np.eye(shape[-1])
        if self.domain == "invertible":
            return rng.normal(size=shape) + 2 * np.eye(shape[-2], shape[-1])
        return rng.normal(size=shape)

    def _laid_out(self, result: np.ndarray) -> np.ndarray:
        if self.layout == "F":
            return np.asfortranarray(result)
        if self.layout == "strided" and result.ndim:
            wide = np.zeros((*result.shape[:-1], 2 * result.shape[-1]), result.dtype)
            wide[..., ::2] = result
            return wide[..., ::2]
        return result

    def __repr__(self) -> str:
        return f"{self.domain}{self.shape}"


class Sample:
    """The arguments of one test call.

    Attributes
    ----------
    args, kwargs
        Passed on, described arrays made first (also inside lists and tuples).
    check : bool
        Run gradcheck: off where the derivative does not exist and only the comparison with PyTorch makes sense.
    torch : bool
        Compare with PyTorch: off where it refuses what we do.
    """

    __slots__ = ("args", "kwargs", "check", "torch", "second")

    def __init__(self, args: tuple, kwargs: dict, check: bool = True, torch: bool = True, second: bool = True) -> None:
        self.args, self.kwargs, self.check, self.torch, self.second = args, kwargs, check, torch, second

    def __repr__(self) -> str:
        parts = [repr(a) for a in self.args] + [f"{k}={v!r}" for k, v in self.kwargs.items()]
        return f"({', '.join(parts)})"


def sample(*args: Any, **kwargs: Any) -> Sample:
    """Return a sample at which the op is differentiable."""
    return Sample(args, kwargs)


def edge(*args: Any, **kwargs: Any) -> Sample:
    """Return a sample at a kink, a tie or a pole: compared with PyTorch, not with finite differences."""
    return Sample(args, kwargs, check=False)


def ours(*args: Any, **kwargs: Any) -> Sample:
    """Return a sample that PyTorch refuses or answers wrongly: checked by finite differences alone."""
    return Sample(args, kwargs, torch=False)


def real(*shape: int, layout: str = "C") -> Array:
    """Describe normally distributed values."""
    return Array(shape, "normal", layout=layout)


def positive(*shape: int) -> Array:
    """Describe values between 0.5 and 2."""
    return Array(shape, "positive")


def above_one(*shape: int) -> Array:
    """Describe values between 1.1 and 3."""
    return Array(shape, "above_one")


def unit(*shape: int) -> Array:
    """Describe values between -0.9 and 0.9."""
    return Array(shape, "unit")


def probability(*shape: int) -> Array:
    """Describe values between 0.1 and 0.9."""
    return Array(shape, "probability")


def apart(*shape: int, layout: str = "C") -> Array:
    """Describe distinct values, at least 0.1 apart and away from zero: for ops with kinks or order."""
    return Array(shape, "apart", layout=layout)


def spd(*shape: int) -> Array:
    """Describe symmetric (Hermitian) positive definite matrices."""
    return Array(shape, "spd")


def invertible(*shape: int) -> Array:
    """Describe well-conditioned matrices."""
    return Array(shape, "invertible")


def ints(*shape: int, low: int = 0, high: int = 2) -> Array:
    """Describe integers (indices)."""
    return Array(shape, "int", low=low, high=high)


def mask(*shape: int) -> Array:
    """Describe booleans."""
    return Array(shape, "bool")


def exact(values: Any) -> Array:
    """Describe these exact values, in the tested dtype."""
    return Array(np.shape(values), "exact", values=values)


def constant(values: Any) -> Array:
    """Describe these exact values, in the tested dtype, as an argument without a derivative."""
    return Array(np.shape(values), "constant", values=values)


def exact_index(values: Any) -> Array:
    """Describe these exact integers."""
    return Array(np.shape(values), "int", values=np.asarray(values, np.int64))


def exact_mask(values: Any) -> Array:
    """Describe these exact booleans."""
    return Array(np.shape(values), "bool", values=np.asarray(values, bool))
