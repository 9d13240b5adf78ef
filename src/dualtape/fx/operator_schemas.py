"""The arguments of a call as the signature of what is called has them."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any, NamedTuple

__all__ = ["ArgsKwargsPair", "normalize_function", "normalize_module"]


class ArgsKwargsPair(NamedTuple):
    """Arguments by position and by name."""

    args: tuple
    kwargs: dict[str, Any]


def _normalized(signature: inspect.Signature, args: tuple, kwargs: dict[str, Any], only_kwargs: bool) -> ArgsKwargsPair:
    bound = signature.bind(*args, **kwargs)
    bound.apply_defaults()
    new_args: list[Any] = []
    new_kwargs: dict[str, Any] = {}
    for place, (name, value) in enumerate(bound.arguments.items()):
        if not only_kwargs and place < len(args):
            new_args.append(value)
        else:
            new_kwargs[name] = value
    return ArgsKwargsPair(tuple(new_args), new_kwargs)


def normalize_function(
    target: Callable,
    args: tuple,
    kwargs: dict[str, Any] | None = None,
    arg_types: tuple | None = None,
    kwarg_types: dict[str, Any] | None = None,
    normalize_to_only_use_kwargs: bool = False,
) -> ArgsKwargsPair | None:
    """Return the arguments of a call of a function, with defaults; None if its signature is not known.

    Examples
    --------
    >>> import dualtape as dt
    >>> from dualtape.fx.operator_schemas import normalize_function
    >>> normalize_function(dt.nn.functional.relu, (3,))
    ArgsKwargsPair(args=(3,), kwargs={'inplace': False})
    """
    try:
        return _normalized(inspect.signature(target), args, kwargs or {}, normalize_to_only_use_kwargs)
    except (TypeError, ValueError):
        return None


def normalize_module(
    root: Any,
    target: str,
    args: tuple,
    kwargs: dict[str, Any] | None = None,
    normalize_to_only_use_kwargs: bool = False,
) -> ArgsKwargsPair | None:
    """Return the arguments of a call of a submodule, with defaults; None if they do not fit its forward.

    Examples
    --------
    >>> import dualtape as dt
    >>> from dualtape.fx.operator_schemas import normalize_module
    >>> net = dt.nn.Sequential(dt.nn.ReLU())
    >>> normalize_module(net, "0", (1,), normalize_to_only_use_kwargs=True)
    ArgsKwargsPair(args=(), kwargs={'input': 1})
    """
    signature = inspect.signature(root.get_submodule(target).forward)
    try:
        return _normalized(signature, args, kwargs or {}, normalize_to_only_use_kwargs)
    except TypeError:
        return None
