"""Linear ops of this package: on tensors with derivatives of every kind, and on arrays."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .._tensor.tensor import Tensor
from ..ops.table import GENERAL, LINEAR, TABLE, op

__all__ = ["linear_op"]


def linear_op(name: str, forward: Callable, vjp: Callable, constants: tuple[str, ...] = ()) -> Callable:
    """Return a linear op of its first argument, ``x``, as a function of tensors and arrays alike."""
    op(
        f"_{name}",
        forward,
        kind=GENERAL,
        samples=("none",),
        vjp=dict(x=vjp),
        jvp=LINEAR,
        public=False,
        method=False,
        constants=constants,
        torch_name="-",
        node=f"{name.title().replace('_', '')}Backward",
    )
    row = TABLE.pop(f"_{name}")

    def apply(x: Any, *args: Any) -> Any:
        return row.function(x, *args) if isinstance(x, Tensor) else forward(x, *args)

    return apply
