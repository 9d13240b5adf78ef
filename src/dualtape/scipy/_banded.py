"""Systems with a banded matrix: solved by SciPy, differentiated by the same factorisation's transpose."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._tensor.tensor import Tensor, wrap
from ..arrays.lazy import scipy_linalg
from ..autograd.function import Function
from ._arguments import plain
from ._tensors import alike


class _Banded(Function):
    """x of ``A @ x = b``, where ``ab[upper + i - j, j] == A[i, j]``."""

    @staticmethod
    def forward(ctx: Any, lower: int, upper: int, ab: Tensor, b: Tensor) -> Tensor:
        found = wrap(np.asarray(scipy_linalg.solve_banded((lower, upper), plain(ab), plain(b))))
        ctx.save_for_backward(ab, found)
        ctx.bands = (lower, upper)
        return found

    @staticmethod
    def backward(ctx: Any, gradient: Any) -> tuple:
        ab, x = ctx.saved_tensors
        lower, upper = ctx.bands
        weights = _Banded.apply(upper, lower, np.conj(turned(ab, lower, upper)), gradient)
        size = x.shape[0]
        rows = np.arange(size)[None, :] + np.arange(-upper, lower + 1)[:, None]
        inside = (rows >= 0) & (rows < size)
        taken = weights[wrap(np.clip(rows, 0, size - 1))]
        products = -taken * np.conj(x)[None]
        products = products if x.ndim == 1 else np.sum(products, axis=tuple(range(2, 1 + x.ndim)))
        return None, None, np.where(inside, products, 0.0), weights


def turned(ab: Any, lower: int, upper: int) -> Any:
    """Return the bands of the transposed matrix."""
    size = ab.shape[1]
    band, column = np.indices((lower + upper + 1, size))
    # In the transpose, row band `band` has offset i - j = band - lower, which is A[j, i].
    row = column + band - lower
    inside = (row >= 0) & (row < size)
    source = upper + column - row
    return np.where(inside, ab[wrap(np.where(inside, source, 0)), wrap(np.clip(row, 0, size - 1))], 0.0)


def solve_banded(lower: int, upper: int, ab: Any, b: Any) -> Any:
    """Return x of ``A @ x = b``, with history."""
    ab, b = alike(ab, b)
    return _Banded.apply(lower, upper, ab, b)
