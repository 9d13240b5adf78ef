"""``torch._jit_internal``: the decorators by which libraries tell PyTorch's scripts what to do; here they do nothing,
since a script is the function itself.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, TypeVar

from .distributed.futures import Future as Future
from .jit import export as export
from .jit import ignore as ignore
from .jit import is_scripting as is_scripting
from .jit import unused as unused

__all__ = ["Final", "Future", "boolean_dispatch", "export", "ignore", "is_scripting", "unused"]

F = TypeVar("F")


def _itself(function: F) -> F:
    return function


_copy_to_script_wrapper = _overload = _overload_method = _itself


class BroadcastingList:
    """The annotation of an argument that is a number or a list of numbers."""

    def __class_getitem__(cls, kind: Any) -> Any:
        return kind | list[kind]


BroadcastingList1 = BroadcastingList2 = BroadcastingList3 = BroadcastingList4 = BroadcastingList


def boolean_dispatch(
    arg_name: str,
    arg_index: int,
    default: bool,
    if_true: Callable[..., Any],
    if_false: Callable[..., Any],
    module_name: str,
    func_name: str,
) -> Callable[..., Any]:
    """Return a function that calls ``if_true`` or ``if_false``, as its argument ``arg_name`` says.

    Parameters
    ----------
    arg_name, arg_index : str, int
        The argument, by name and by position.
    default : bool
        Its value where it is not given.
    if_true, if_false : callable
        What is called.
    module_name, func_name : str
        The names of the function.

    Examples
    --------
    >>> from dualtape._jit_internal import boolean_dispatch
    >>> pick = boolean_dispatch("upper", 1, False, lambda s, upper: s.upper(), lambda s, upper=False: s, "m", "pick")
    >>> pick("a"), pick("a", True), pick("a", upper=True)
    ('a', 'A', 'A')
    """

    def chosen(*args: Any, **kwargs: Any) -> Any:
        value = kwargs.get(arg_name, args[arg_index] if arg_index < len(args) else default)
        return (if_true if value else if_false)(*args, **kwargs)

    chosen.__name__ = chosen.__qualname__ = func_name
    chosen.__module__ = module_name
    chosen.__doc__ = if_true.__doc__ or if_false.__doc__
    return chosen
