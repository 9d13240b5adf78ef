"""``autograd.Variable``: PyTorch's former name for a tensor, kept for programs that still use it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .._tensor.tensor import Tensor, alias
from ..errors import warn
from .engine import queue_callback

if TYPE_CHECKING:
    from collections.abc import Callable


class _Engine:
    """The engine under the name that PyTorch's programs use."""

    @staticmethod
    def queue_callback(callback: Callable) -> None:
        queue_callback(callback)


class _VariableMeta(type):
    def __instancecheck__(cls, other: object) -> bool:
        return isinstance(other, Tensor)


class Variable(metaclass=_VariableMeta):
    """Another name for :class:`Tensor`: ``Variable(x, requires_grad=True)`` is a tensor over the memory of ``x``.

    Examples
    --------
    >>> import dualtape as dt
    >>> x = dt.autograd.Variable(dt.ones(2), requires_grad=True)
    >>> isinstance(x, dt.autograd.Variable), x.requires_grad
    (True, True)
    """

    _execution_engine = _Engine()

    def __new__(cls, data: Tensor, requires_grad: bool = False, volatile: bool | None = None) -> Any:
        if volatile is not None:
            warn("volatile was removed and now has no effect. Use `with dualtape.no_grad():` instead.")
        if not isinstance(data, Tensor):
            raise TypeError(f"Variable data has to be a tensor, but got {type(data).__name__}")
        return alias(data).requires_grad_(requires_grad)
