"""Lists of the functions that ``__torch_function__`` can override, and their names."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterator
from importlib import import_module
from types import FunctionType
from typing import Any

from .._tensor.layouts import Layouts
from .._tensor.memory import Memory
from .._tensor.protocols import Protocols
from .._tensor.tensor import Tensor
from ..ops import load_all
from .active_overrides import overridable
from .function_modes import handle_torch_function, has_torch_function
from .subclass import _ASK_THEMSELVES, AskingProperty, activate_overrides

__all__ = [
    "get_ignored_functions",
    "get_overridable_functions",
    "get_testing_overrides",
    "is_tensor_method_or_property",
    "resolve_name",
    "wrap_torch_function",
]

_ASKING = overridable(lambda: None).__code__
_NAMESPACES = ("", ".nn.functional", ".linalg")


def _asks(value: Any) -> bool:
    """Return whether a function offers its calls to ``__torch_function__``."""
    return isinstance(value, FunctionType) and (
        value.__code__ is _ASKING or value.__globals__.get("__name__") in _ASK_THEMSELVES
    )


def _public(namespace: Any) -> Iterator[tuple[str, Any]]:
    for name in dir(namespace):
        value = None if name.startswith("_") else getattr(namespace, name, None)
        if callable(value) and not isinstance(value, type):
            yield name, value


def _members() -> dict[str, Any]:
    """Return the methods and properties of Tensor, after activating their overridable forms."""
    activate_overrides()
    load_all()
    return {**vars(Memory), **vars(Layouts), **vars(Protocols), **vars(Tensor)}


@functools.cache
def _listed() -> tuple[dict[Any, list[Callable]], dict[Callable, str]]:
    """Return the functions by namespace, and their names."""
    functions: dict[Any, list[Callable]] = {}
    names: dict[Callable, str] = {}

    def add(namespace: Any, function: Callable, name: str) -> None:
        functions.setdefault(namespace, []).append(function)
        names.setdefault(function, name)

    for place in _NAMESPACES:
        module = import_module(f"dualtape{place}")
        for name, value in _public(module):
            if _asks(value):
                add(module, value, f"dualtape{place}.{name}")
    autograd = import_module("dualtape.autograd")
    for value in (autograd.backward, autograd.grad):
        add(autograd, value, f"dualtape.autograd.{value.__name__}")
    for name, member in _members().items():
        if _asks(member):
            add(Tensor, member, f"dualtape.Tensor.{name}")
        elif isinstance(member, AskingProperty):
            add(member, member.__get__, f"dualtape.Tensor.{name}.__get__")
            if member.fset is not None:
                names[member.__set__] = f"dualtape.Tensor.{name}.__set__"
    return functions, names


def get_overridable_functions() -> dict[Any, list[Callable]]:
    """Return the functions that ``__torch_function__`` receives, by the namespace, class or property they belong to.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.add in dt.overrides.get_overridable_functions()[dt]
    True
    """
    return {namespace: list(functions) for namespace, functions in _listed()[0].items()}


def get_ignored_functions() -> set[Callable]:
    """Return the public functions that cannot be overridden.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.is_tensor in dt.overrides.get_ignored_functions()
    True
    """
    return {value for _, value in _public(import_module("dualtape")) if not _asks(value)}


def get_testing_overrides() -> dict[Callable, Callable]:
    """Return, for each overridable function, one with the same parameters that returns -1.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.overrides.get_testing_overrides()[dt.add](1, 2)
    -1
    """
    return {function: _stand_in(function) for listed in _listed()[0].values() for function in listed}


def _stand_in(function: Callable) -> Callable:
    def stand_in(*args: Any, **kwargs: Any) -> int:
        return -1

    try:
        stand_in.__signature__ = inspect.signature(function)  # type: ignore[attr-defined]
    except (TypeError, ValueError):  # a property's
        pass
    return stand_in


def is_tensor_method_or_property(func: Callable) -> bool:
    """Return whether ``func``, as ``__torch_function__`` receives it, is a method of Tensor, or the getter of a
    property.

    Examples
    --------
    >>> import dualtape as dt
    >>> get = dt.overrides.is_tensor_method_or_property
    >>> get(dt.Tensor.add), get(dt.Tensor.shape.__get__), get(dt.ones)
    (True, True, False)
    """
    return func in _listed()[0][Tensor] or getattr(func, "__name__", "") == "__get__"


def resolve_name(f: Callable) -> str | None:
    """Return the full name of an overridable function; None for any other.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.overrides.resolve_name(dt.add), dt.overrides.resolve_name(dt.Tensor.shape.__get__)
    ('dualtape.add', 'dualtape.Tensor.shape.__get__')
    """
    name = repr(f)
    return name if name.startswith("aten.") else _listed()[1].get(f)


def wrap_torch_function(dispatcher: Callable) -> Callable[[Callable], Callable]:
    """Return a decorator that makes a user-defined function overridable; ``dispatcher``, called with the same
    arguments, returns those to ask.

    Examples
    --------
    >>> import dualtape as dt
    >>> @dt.overrides.wrap_torch_function(lambda x: (x,))
    ... def twice(x):
    ...     return x * 2
    >>> twice(dt.ones(1))
    tensor([2.])
    """

    def wrap(func: Callable) -> Callable:
        @functools.wraps(func)
        def wrapped(*args: Any, **kwargs: Any) -> Any:
            relevant = dispatcher(*args, **kwargs)
            if has_torch_function(relevant):
                return handle_torch_function(wrapped, relevant, *args, **kwargs)
            return func(*args, **kwargs)

        return wrapped

    return wrap
