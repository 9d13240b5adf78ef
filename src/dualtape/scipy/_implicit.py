"""Solutions of equations as differentiable functions of their parameters, by the implicit function theorem."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .. import func
from .._tensor.tensor import Tensor, wrap
from ..autograd.function import Function
from ..modes import is_grad_enabled
from ..ops.numpy_entries.registry import op
from ._outside import Held, pull


class _Solution(Function):
    """x with ``residual(x, *parameters) == 0``: its derivative does not depend on how it was found.

    The inputs are ``count`` parameters, and then tensors that the residual uses without having them as arguments.
    """

    @staticmethod
    def forward(
        ctx: Any, x: np.ndarray, residual: Callable, failure: str, count: int, outside: Held, *inputs: Tensor
    ) -> Tensor:
        solution = wrap(np.array(x))
        ctx.save_for_backward(solution, *inputs[:count])
        ctx.residual, ctx.failure, ctx.outside = residual, failure, outside
        return solution

    @staticmethod
    def backward(ctx: Any, gradient: Any) -> tuple:
        if ctx.failure:
            raise RuntimeError(f"{ctx.failure}: what was found is no solution, and has no derivative")
        x, *parameters = ctx.saved_tensors
        residual = ctx.residual
        matrix = func.jacrev(lambda x: residual(x, *parameters))(x).reshape(x.numel(), x.numel())
        matrix = matrix if is_grad_enabled() else matrix.detach()
        weights = op("linalg.solve")(matrix.mH, gradient.to(matrix.dtype).reshape(-1)).reshape(tuple(x.shape))
        _, found, more = pull(residual, [x, *parameters], ctx.outside.unchanged(), -weights)
        return (None, None, None, None, None, *found[1:], *more)


def solution(
    x: np.ndarray, residual: Callable, failure: str, parameters: list[Tensor], outside: list[Tensor] | None = None
) -> Tensor:
    """Return ``x`` with the history of ``parameters`` and of tensors ``outside``, which the residual uses without
    having them as arguments; ``failure``, if not empty, says why x is no solution.
    """
    known = list(outside or [])
    return _Solution.apply(x, residual, failure, len(parameters), Held(known), *parameters, *known)
