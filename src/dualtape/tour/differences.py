"""Derivatives by finite differences: the truth the tour holds its gradients against."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

__all__ = ["difference_gradient", "relative_error"]


def difference_gradient(f: Callable[[np.ndarray], float], x: np.ndarray, step: float = 1e-3) -> np.ndarray:
    """Return the gradient of `f` at `x` by central differences of fourth order, one entry at a time.

    Examples
    --------
    >>> slope = difference_gradient(lambda x: float(np.sin(x[0])), np.array([0.5]))
    >>> abs(slope[0] - np.cos(0.5)) < 1e-12
    np.True_
    """
    gradient = np.empty(x.shape)
    for index in np.ndindex(x.shape):
        values = []
        for steps in (-2, -1, 1, 2):
            moved = x.copy()
            moved[index] += steps * step
            values.append(f(moved))
        far_left, left, right, far_right = values
        gradient[index] = (8 * (right - left) - (far_right - far_left)) / (12 * step)
    return gradient


def relative_error(found: np.ndarray, expected: np.ndarray) -> float:
    """Return the largest difference, in units of the largest expected entry."""
    return float(np.max(np.abs(found - expected)) / np.max(np.abs(expected)))
