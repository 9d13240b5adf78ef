"""Linear maps of arrays that others compute: the gradient is that of the transposed map."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .._tensor.tensor import Tensor, wrap
from ..autograd.function import Function
from ._arguments import plain


class _Linear(Function):
    """``run(x)``, of a linear map of real arrays; ``back`` is its transpose."""

    @staticmethod
    def forward(x: Tensor, run: Callable, back: Callable) -> Tensor:
        return wrap(np.asarray(run(plain(x))))

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple, output: Any) -> None:
        ctx.maps = inputs[1:]

    @staticmethod
    def backward(ctx: Any, gradient: Any) -> tuple:
        run, back = ctx.maps
        return _Linear.apply(gradient, back, run), None, None

    @staticmethod
    def jvp(ctx: Any, tangent: Any, *_: Any) -> Any:
        return _Linear.apply(tangent, *ctx.maps)

    @staticmethod
    def vmap(info: Any, in_dims: tuple, x: Tensor, run: Callable, back: Callable) -> tuple:
        samples = [_Linear.apply(x.select(in_dims[0], k), run, back) for k in range(info.batch_size)]
        return np.stack(samples), 0


def linear(x: Tensor, run: Callable, back: Callable) -> Any:
    """Return ``run(x)`` with history, of a linear map of real arrays whose transpose is ``back``.

    Of complex numbers it maps both parts.
    """
    if x.is_complex():
        return _Linear.apply(x.real, run, back) + 1j * _Linear.apply(x.imag, run, back)
    return _Linear.apply(x, run, back)
