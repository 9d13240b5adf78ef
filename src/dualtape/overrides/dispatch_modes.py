"""Dispatch modes: contexts in which the mode computes every op on tensors, below autograd."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .. import modes
from .subclass import activate_overrides

__all__ = ["TorchDispatchMode"]


class TorchDispatchMode:
    """Context in which ``__torch_dispatch__`` of the mode computes every op; history is recorded above it.

    Examples
    --------
    >>> import dualtape as dt
    >>> from dualtape.utils._python_dispatch import TorchDispatchMode
    >>> class Names(TorchDispatchMode):
    ...     def __torch_dispatch__(self, func, types, args=(), kwargs=None):
    ...         print(func.__name__)
    ...         return func(*args, **(kwargs or {}))
    >>> x = dt.ones(2, requires_grad=True)
    >>> with Names():
    ...     y = (x * 3).sin()
    mul
    sin
    >>> y.sum().backward(); x.grad
    tensor([-2.9700, -2.9700])
    """

    def __init__(self, _dispatch_key: Any = None) -> None:
        pass

    def __torch_dispatch__(self, func: Callable, types: tuple, args: tuple = (), kwargs: dict | None = None) -> Any:
        raise NotImplementedError("a dispatch mode must define __torch_dispatch__(self, func, types, args, kwargs)")

    def __enter__(self) -> Any:
        activate_overrides()
        mode = modes.current()
        modes.enter(mode.replace(dispatches=(*mode.dispatches, self)), mode)
        return self

    def __exit__(self, *error: Any) -> None:
        mode = modes.current()
        modes._set(mode.replace(dispatches=modes.without_last(mode.dispatches, self)))

    @classmethod
    def push(cls, *args: Any, **kwargs: Any) -> Any:
        """Return a new mode, to be entered."""
        return cls(*args, **kwargs)
