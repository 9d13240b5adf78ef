"""Function modes, and the ``__torch_function__`` protocol for user-defined functions."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from .. import modes
from .._tensor.tensor import Tensor
from .active_overrides import MISS
from .subclass import activate_overrides, disabled_function, overriding

__all__ = [
    "BaseTorchFunctionMode",
    "TorchFunctionMode",
    "handle_torch_function",
    "has_torch_function",
    "has_torch_function_unary",
    "has_torch_function_variadic",
    "is_tensor_like",
]


class TorchFunctionMode:
    """Context in which every call of a function, method or operator on tensors goes to ``__torch_function__`` of the
    mode.

    While it handles one call the mode is off, so that it can call the function itself; an outer mode is asked then.

    Examples
    --------
    >>> import dualtape as dt
    >>> class Names(dt.overrides.TorchFunctionMode):
    ...     def __torch_function__(self, func, types, args=(), kwargs=None):
    ...         print(func.__name__)
    ...         return func(*args, **(kwargs or {}))
    >>> with Names():
    ...     y = dt.ones(2) * 3
    ones
    mul
    """

    def __init__(self) -> None:
        pass

    def __torch_function__(self, func: Callable, types: tuple, args: tuple = (), kwargs: dict | None = None) -> Any:
        raise NotImplementedError("a function mode must define __torch_function__(self, func, types, args, kwargs)")

    def __enter__(self) -> Any:
        activate_overrides()
        mode = modes.current()
        modes.enter(mode.replace(functions=(*mode.functions, self)), mode)
        return self

    def __exit__(self, *error: Any) -> None:
        mode = modes.current()
        modes._set(mode.replace(functions=modes.without_last(mode.functions, self)))

    @classmethod
    def push(cls, *args: Any, **kwargs: Any) -> Any:
        """Return a new mode, to be entered."""
        return cls(*args, **kwargs)


class BaseTorchFunctionMode(TorchFunctionMode):
    """A function mode that changes nothing.

    Examples
    --------
    >>> import dualtape as dt
    >>> with dt.overrides.BaseTorchFunctionMode():
    ...     dt.ones(1) + 1
    tensor([2.])
    """

    def __torch_function__(self, func: Callable, types: tuple, args: tuple = (), kwargs: dict | None = None) -> Any:
        return func(*args, **(kwargs or {}))


def has_torch_function(relevant_args: Iterable[Any]) -> bool:
    """Return whether a mode, or the class of one of the arguments, overrides functions.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.overrides.has_torch_function((dt.ones(1),))
    False
    """
    mode = modes.current()
    return bool(
        mode.functions
        or (mode.subclass_functions and overriding(tuple(relevant_args), "__torch_function__", disabled_function))
    )


def has_torch_function_unary(obj: Any) -> bool:
    """Return :func:`has_torch_function` for one argument.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.overrides.has_torch_function_unary(dt.ones(1))
    False
    """
    return has_torch_function((obj,))


def has_torch_function_variadic(*args: Any) -> bool:
    """Return :func:`has_torch_function` for the arguments.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.overrides.has_torch_function_variadic(dt.ones(1), 3)
    False
    """
    return has_torch_function(args)


def handle_torch_function(public_api: Callable, relevant_args: Iterable[Any], *args: Any, **kwargs: Any) -> Any:
    """Return the answer of the arguments' classes to a call of ``public_api``, a user-defined function.

    Examples
    --------
    >>> import dualtape as dt
    >>> class Metres(dt.Tensor):
    ...     pass
    >>> def twice(x):
    ...     if dt.overrides.has_torch_function((x,)):
    ...         return dt.overrides.handle_torch_function(twice, (x,), x)
    ...     return x * 2
    >>> twice(dt.ones(1).as_subclass(Metres))
    Metres([2.])
    """
    from .subclass import _answered

    mode = modes.current()
    found = overriding(tuple(relevant_args), "__torch_function__", disabled_function)
    answer = _answered(mode, found, public_api, args, kwargs)
    if answer is MISS:
        raise TypeError(f"no implementation found for {public_api!r}")
    return answer


def is_tensor_like(inp: Any) -> bool:
    """Return whether ``inp`` is a tensor, or has ``__torch_function__``.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.overrides.is_tensor_like(dt.ones(1)), dt.overrides.is_tensor_like(1.0)
    (True, False)
    """
    return isinstance(inp, Tensor) or hasattr(type(inp), "__torch_function__")
