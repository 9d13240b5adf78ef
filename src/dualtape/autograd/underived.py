"""Results of functions without a derivative: a backward through them raises."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .._tensor.tensor import Tensor, alias
from ..modes import current
from .function import Function
from .node import Node, edge_of, next_sequence
from .tangents import active, tangent

if TYPE_CHECKING:
    from .._typing import Array, Wanted


def _refusal(name: str) -> NotImplementedError:
    return NotImplementedError(
        f"the derivative for '{name}' is not implemented: call it on detach()ed tensors, or write an autograd.Function"
    )


class Underived(Function):
    """The node of such a result; its backward raises."""

    @staticmethod
    def forward(ctx: Any, name: str, result: Any, *inputs: object) -> Any:
        ctx.op = name
        return alias(result)

    @staticmethod
    def backward(ctx: Any, g: Tensor) -> Any:
        raise _refusal(ctx.op)


class RefusingNode(Node):
    """The node of a write without a derivative: edges to what went into it, and a backward that raises."""

    __slots__ = ("op",)

    def __init__(self, op: str, result: Array, *inputs: Tensor) -> None:
        self.op = op
        self._edges = tuple([edge_of(x) for x in inputs])
        self._shape, self._dtype = result.shape, result.dtype
        self._saved = ()
        self._extra = None
        self._seq = next_sequence()

    def _pull_general(self, grads: list, record: bool, wanted: Wanted = None) -> Any:
        raise _refusal(self.op)


# PyTorch's name for every node of this kind.
RefusingNode.__name__ = RefusingNode.__qualname__ = "NotImplemented"


def underived(name: str, result: Tensor, *inputs: Tensor) -> Tensor:
    """Return ``result``, computed by ``name`` from ``inputs``; if one of them requires grad, a backward through it
    raises.
    """
    mode = current()
    if result._array.dtype.kind in "fc":
        for level in active(mode):
            if any(isinstance(x, Tensor) and tangent(x, level) is not None for x in inputs):
                raise _refusal(name)
    if result._array.dtype.kind in "fc" and mode.grad and any([x.requires_grad for x in inputs]):
        return Underived.apply(name, result, *inputs)
    return result


def refuse_history(name: str, **constants: object) -> None:
    """Raise if one of these arguments, for which ``name`` has no derivative, requires grad."""
    for argument, value in constants.items():
        if isinstance(value, Tensor) and value.requires_grad and current().grad:
            raise RuntimeError(
                f"The function '{name}' is not differentiable with respect to argument '{argument}'. This input cannot"
                " have requires_grad True: detach() it"
            )
