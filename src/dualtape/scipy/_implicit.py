"""Solutions of equations as differentiable functions of their parameters, by the implicit function theorem."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .. import func
from .._tensor.tensor import Tensor, wrap
from ..autograd.function import Function
from ..ops.numpy_entries.registry import op


class _Solution(Function):
    """x with ``residual(x, *parameters) == 0``: its derivative does not depend on how it was found."""

    @staticmethod
    def forward(ctx: Any, x: np.ndarray, residual: Callable, failure: str, *parameters: Tensor) -> Tensor:
        solution = wrap(np.array(x))
        ctx.save_for_backward(solution, *parameters)
        ctx.residual, ctx.failure = residual, failure
        return solution

    @staticmethod
    def backward(ctx: Any, gradient: Any) -> tuple:
        if ctx.failure:
            raise RuntimeError(f"{ctx.failure}: what was found is no solution, and has no derivative")
        x, *parameters = ctx.saved_tensors
        residual = ctx.residual
        matrix = func.jacrev(lambda x: residual(x, *parameters))(x).reshape(x.numel(), x.numel())
        weights = op("linalg.solve")(matrix.mH, gradient.reshape(-1)).reshape(tuple(x.shape))
        found = func.vjp(lambda *values: residual(x, *values), *parameters)[1](-weights)
        return (None, None, None, *found)


def solution(x: np.ndarray, residual: Callable, failure: str, parameters: list[Tensor]) -> Tensor:
    """Return ``x`` with the history of ``parameters``; ``failure``, if not empty, says why x is no solution."""
    return _Solution.apply(x, residual, failure, *parameters)
