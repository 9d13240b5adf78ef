"""Overrides above autograd: ``__torch_function__`` of subclasses and function modes, in PyTorch's order.

A call is offered first to the innermost function mode, then to the classes of its arguments, subclasses before their
bases; the default implementation runs the operation without asking again and gives the results the class of the
argument. Below autograd the same happens with ``__torch_dispatch__`` (:mod:`dualtape.overrides.dispatch`). The module
is imported when the first such class or mode is created.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import chain
from types import FunctionType
from typing import Any

from .. import modes
from .._tensor.layouts import Layouts
from .._tensor.memory import Memory
from .._tensor.protocols import Protocols
from .._tensor.tensor import Tensor, alias
from .._tracebacks import shorten
from ..errors import warn
from .active_overrides import MISS, Declined, active_overrides, overridable, overrides

_NOT_ASKED = {
    "__new__",
    "__init__",
    "__init_subclass__",
    "__getattr__",
    "__dir__",
    "__hash__",
    "__array_ufunc__",
    "__array_function__",
    "__setstate__",
    "__iter__",
    "__str__",
    "__torch_dispatch__",
    "as_subclass",
}
_LEAVES = {"detach", "item", "tolist", "new_zeros", "new_ones", "new_empty", "new_full"}  # below which no op is asked
_ASK_THEMSELVES = ("dualtape.ops.codegen.source", "dualtape.ops.publish", "dualtape.overrides.active_overrides")


def disabled_function(func: Callable, types: tuple, args: tuple = (), kwargs: dict | None = None) -> Any:
    """The value of ``__torch_function__`` for classes without one: results are plain tensors."""
    with DisableTorchFunctionSubclass():
        return func(*args, **(kwargs or {}))


def disabled_dispatch(func: Callable, types: tuple, args: tuple = (), kwargs: dict | None = None) -> Any:
    """Run ``func`` without asking any ``__torch_dispatch__`` of a subclass."""
    mode = modes.current()
    inside = mode.replace(subclass_dispatch=False)
    try:
        modes._set(inside)
        return func(*args, **(kwargs or {}))
    finally:
        now = modes._set(mode).old_value
        if now is not inside:
            modes.keep(now, mode, "subclass_dispatch")


class DisableTorchFunctionSubclass(modes.ModeContext):
    """Context in which ``__torch_function__`` of subclasses is not called; function modes still are.

    Examples
    --------
    >>> import dualtape as dt
    >>> class Metres(dt.Tensor):
    ...     pass
    >>> x = dt.ones(2).as_subclass(Metres)
    >>> with dt._C.DisableTorchFunctionSubclass():
    ...     y = x + x
    >>> type(x + x).__name__, type(y).__name__
    ('Metres', 'Tensor')
    """

    fields = ("subclass_functions",)

    def change(self, mode: modes.Mode) -> modes.Mode:
        return mode.replace(subclass_functions=False)


class DisableTorchFunction(modes.ModeContext):
    """Context in which neither subclasses nor function modes are called.

    Examples
    --------
    >>> import dualtape as dt
    >>> with dt._C.DisableTorchFunction():
    ...     dt.ones(1) + 1
    tensor([2.])
    """

    fields = ("subclass_functions", "functions")

    def change(self, mode: modes.Mode) -> modes.Mode:
        return mode.replace(subclass_functions=False, functions=())


# --- who is asked ---------------------------------------------------------------------------------


def overriding(values: Any, protocol: str, disabled: Any) -> list:
    """Return the arguments whose class implements ``protocol``, one of each class, subclasses before their bases."""
    found: list = []
    for value in values:
        for part in _parts(value):
            kind = type(part)
            if kind is Tensor or getattr(kind, protocol, disabled) is disabled or isinstance(part, type):
                continue
            if not (isinstance(part, Tensor) or overrides(part)):
                continue
            if not any(type(other) is kind for other in found):
                place = next((k for k, other in enumerate(found) if issubclass(kind, type(other))), len(found))
                found.insert(place, part)
    return found


def _parts(value: Any) -> Any:
    """Return the values to ask for an argument: the entries of a list or tuple, and of lists in a tuple, which is an
    index.
    """
    if type(value) is tuple and list in map(type, value):
        return chain.from_iterable(part if type(part) is list else (part,) for part in value)
    return value if type(value) is tuple or type(value) is list else (value,)


def intercept(function: Callable, args: tuple, kwargs: dict, leaf: bool = False, relevant: tuple | None = None) -> Any:
    """Return the answer of the modes or the arguments' classes to a call; MISS if none overrides it.

    All arguments are asked, or those that are ``relevant``.
    """
    mode = modes.current()
    if mode.functions or mode.subclass_functions:
        values = (*args, *kwargs.values()) if relevant is None else relevant
        found = overriding(values, "__torch_function__", disabled_function)
        if mode.functions or found:
            try:
                return _answered(mode, found, function, args, kwargs)
            except Exception as error:
                shorten(error)
                raise
    if leaf and (mode.dispatches or mode.subclass_dispatch):
        from .dispatch import answer

        return answer(function, args, kwargs)
    return MISS


def _answered(mode: modes.Mode, found: list, function: Callable, args: tuple, kwargs: dict) -> Any:
    types = tuple(type(value) for value in found)
    if mode.functions:
        inside = mode.replace(functions=mode.functions[:-1])
        try:
            modes._set(inside)
            handler = mode.functions[-1].__torch_function__
            if getattr(handler, "__self__", None) is type(mode.functions[-1]):
                raise RuntimeError(
                    "Defining your mode's `__torch_function__` as a classmethod is not supported, please make it a"
                    f" plain method of {type(mode.functions[-1]).__name__}: (self, func, types, args, kwargs)"
                )
            result = handler(function, types, args, kwargs)
        finally:
            now = modes._set(mode).old_value
            if now is not inside and modes.was_changed(now, mode):
                modes._set(now.replace(functions=(*now.functions, mode.functions[-1])))
        if result is not NotImplemented:
            return result
    if mode.subclass_functions:
        for value in found:
            handler = value.__torch_function__
            if getattr(handler, "__self__", None) is value:
                warn(
                    f"{type(value).__name__}: Defining your `__torch_function__` as a plain method is deprecated and"
                    " will be an error in future, please define it as a classmethod.",
                    UserWarning,
                )
            result = handler(function, types, args, kwargs)
            if result is not NotImplemented:
                return result
    name = getattr(function, "__name__", repr(function))
    asked = [f"mode {type(mode.functions[-1]).__name__}"] if mode.functions else []
    raise Declined(
        f"Multiple dispatch failed for {name!r}; all __torch_function__ handlers returned NotImplemented: no"
        f" implementation found for {name!r} by {', '.join(asked + [kind.__name__ for kind in types])}"
    )


def default_function(cls: type, func: Callable, types: tuple, args: tuple, kwargs: dict | None) -> Any:
    """``Tensor.__torch_function__``: run ``func`` without asking again, and give its results the class ``cls``."""
    if not all(issubclass(cls, kind) for kind in types):
        return NotImplemented
    with DisableTorchFunctionSubclass():
        result = func(*args, **(kwargs or {}))
        if any(
            func == getattr(Tensor, name).__get__
            for name in ("grad", "_grad", "_base")
            if hasattr(getattr(Tensor, name, None), "fget")
        ):
            return result
        return _converted(result, cls)


def _converted(result: Any, cls: type) -> Any:
    if cls is Tensor:
        return result
    if isinstance(result, Tensor):
        return result if isinstance(result, cls) else as_subclass(result, cls)
    if isinstance(result, (tuple, list)) and type(result).__name__ != "Size":
        parts = [_converted(part, cls) for part in result]
        return parts if type(result) is list else type(result)(parts)
    return result


# --- making instances -----------------------------------------------------------------------------


def of_class(tensor: Tensor, cls: type) -> Tensor:
    """Return ``tensor``, which nothing else refers to yet, as an instance of ``cls``."""
    if not (isinstance(cls, type) and issubclass(cls, Tensor)):
        raise TypeError(
            "Creating a Tensor subclass from a class that does not inherit from Tensor is not possible. Make sure your"
            f" class inherits from Tensor: got {cls!r}"
        )
    try:
        tensor.__class__ = cls
        return tensor
    except TypeError:  # the class has slots of its own
        new: Any = object.__new__(cls)
        for slot in Tensor.__slots__[:-2]:
            setattr(new, slot, getattr(tensor, slot))
        return new


def same_class(tensor: Tensor) -> Tensor:
    """Return an alias of the same class and attributes; a wrapper's values are among its attributes."""
    new = of_class(alias(tensor), type(tensor))
    new.__dict__.update(tensor.__dict__)
    return new


def as_subclass(tensor: Tensor, cls: type) -> Any:
    """Return the tensor as an instance of ``cls``: a view of it, with history."""
    from ..ops.table import TABLE

    with DisableTorchFunctionSubclass():
        return of_class(TABLE["alias"].function(tensor), cls)


def make_subclass(cls: type, data: Tensor, requires_grad: bool = False) -> Any:
    """Return a leaf of class ``cls`` over the memory of ``data``."""
    if not isinstance(data, Tensor):
        raise TypeError(f"_make_subclass(): argument 'data' must be a Tensor, got {type(data).__name__}")
    new = of_class(alias(data), cls)
    if requires_grad:
        with DisableTorchFunctionSubclass():
            new.requires_grad_(True)
    return new


# --- activation -------------------------------------------------------------------------------------


def define(cls: type) -> None:
    """Called for each new subclass of Tensor: activate overrides if it defines any."""
    inherited = getattr(cls, "__torch_function__", None)
    is_default = getattr(inherited, "__func__", None) is Tensor.__dict__["__torch_function__"].__func__
    if "__torch_dispatch__" in vars(cls) and "__torch_function__" not in vars(cls) and is_default:
        cls.__torch_function__ = disabled_function  # type: ignore[attr-defined]
    has_functions = cls.__torch_function__ is not disabled_function  # type: ignore[attr-defined]
    if has_functions or cls.__torch_dispatch__ is not disabled_dispatch:  # type: ignore[attr-defined]
        activate_overrides(members=getattr(cls, "_overrides_members", True))


_members_ask: list[bool] = []


def activate_overrides(members: bool = True) -> None:
    """Make operations ask for overrides from now on, and, with ``members``, the methods and properties of Tensor
    too.
    """
    if not active_overrides:
        active_overrides.append(True)
    if not members or _members_ask:
        return
    _members_ask.append(True)
    result: dict = {}
    for name, member in {**vars(Memory), **vars(Layouts), **vars(Protocols), **vars(Tensor)}.items():
        private = name.startswith("_") and not name.startswith("__") and name != "_version" and name != "_base"
        if name in _NOT_ASKED or private:
            continue
        if isinstance(member, FunctionType) and member.__globals__["__name__"] not in _ASK_THEMSELVES:
            if member not in result:
                result[member] = overridable(member, leaf=name in _LEAVES, member=True)
                result[member].__name__ = name
            setattr(Tensor, name, result[member])
        elif isinstance(member, property):
            setattr(Tensor, name, AskingProperty(member))


class AskingProperty(property):
    """A property whose reads and writes can be overridden; handlers receive ``Tensor.shape.__get__``."""

    def __init__(self, member: property) -> None:
        super().__init__(member.fget, member.fset, member.fdel, member.__doc__)

    def __get__(self, tensor: Any, owner: Any = None) -> Any:
        if tensor is None:
            return self
        if type(tensor) is not Tensor or modes.current().functions:
            answer = intercept(self.__get__, (tensor,), {})
            if answer is not MISS:
                return answer
        return super().__get__(tensor, owner)

    def __set__(self, tensor: Any, value: Any) -> None:
        if (type(tensor) is not Tensor or modes.current().functions) and self.fset is not None:
            if intercept(self.__set__, (tensor, value), {}) is not MISS:
                return
        super().__set__(tensor, value)

    def __delete__(self, tensor: Any) -> None:
        if (type(tensor) is not Tensor or modes.current().functions) and self.fdel is not None:
            if intercept(self.__delete__, (tensor,), {}) is not MISS:
                return
        super().__delete__(tensor)


Tensor.__torch_dispatch__ = disabled_dispatch  # type: ignore[attr-defined]
