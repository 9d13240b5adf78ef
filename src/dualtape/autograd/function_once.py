"""``once_differentiable``: for a ``backward`` of a custom Function that cannot itself be differentiated."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from .. import modes
from .._tensor.tensor import Tensor, alias
from .node import Node, edge_of, next_sequence

if TYPE_CHECKING:
    from .._typing import Wanted


def once_differentiable(fn: Callable) -> Callable:
    """Decorator for a ``backward`` that cannot itself be differentiated: trying to raises.

    Examples
    --------
    >>> import numpy as np
    >>> import dualtape as dt
    >>> class Exp(dt.autograd.Function):
    ...     @staticmethod
    ...     def forward(ctx, x):
    ...         ctx.out = np.exp(x.detach().numpy()); return dt.from_numpy(ctx.out)
    ...     @staticmethod
    ...     @dt.autograd.function.once_differentiable
    ...     def backward(ctx, g):
    ...         return dt.from_numpy(g.numpy() * ctx.out)
    >>> x = dt.tensor([0.0], requires_grad=True)
    >>> Exp.apply(x).sum().backward(); x.grad
    tensor([1.])
    """

    @functools.wraps(fn)
    def wrapper(ctx: object, *args: object) -> Any:
        recorded = modes.current().grad
        grads = () if not recorded else tuple(args[0]) if len(args) == 1 and isinstance(args[0], list) else args
        with modes.no_grad():
            outputs = fn(ctx, *args)
        if not any(isinstance(g, Tensor) and g.requires_grad for g in grads):
            return outputs
        wrapped = outputs if isinstance(outputs, tuple) else (outputs,)
        barred = tuple(_barred(o, grads) if isinstance(o, Tensor) else o for o in wrapped)
        return barred if isinstance(outputs, tuple) else barred[0]

    return wrapper


class _Error(Node):
    """The node of a gradient that a once-differentiable backward returned; its backward raises."""

    __slots__ = ()

    def _pull_general(self, grads: list, record: bool, wanted: Wanted = None) -> Any:
        raise RuntimeError("trying to differentiate twice a function that was marked with @once_differentiable")

    def name(self) -> str:
        return "Error"


def _barred(tensor: Tensor, args: tuple) -> Tensor:
    new = alias(tensor)
    node = _Error()
    node._edges = tuple(edge_of(a) for a in args if isinstance(a, Tensor))
    node._shape, node._dtype = new._array.shape, new._array.dtype
    node._saved, node._extra, node._seq = (), None, next_sequence()
    new._edge, new._requires_grad = (node, 0), True
    return new
