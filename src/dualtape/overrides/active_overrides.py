"""The list of active overrides, empty until a subclass or a mode exists that overrides operations.

Every function of the package tests it; while it is empty, that is the only cost. The overrides themselves are handled
in :mod:`dualtape.overrides.subclass`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial, update_wrapper
from itertools import chain
from typing import Any

from .. import modes
from .._tensor.tensor import Tensor
from .._tracebacks import shorten
from ..arrays.absent import NoMemory
from ..arrays.batched.array import DYNAMIC, DynamicShape, NotBatchable
from ..errors import UNWORDED, explained_call, out_of_memory

active_overrides: list[bool] = []
# The recorders of running profiles, in any thread.
profiling: list[Any] = []
silent: set[type] = {Tensor, int, float, bool, str, type(None)}  # of arguments that answer for no operation
# Once the tensors of NumPy's kind are loaded: the function that gives functions of PyTorch's plain ones for them.
numpy_kind: list[Callable[[tuple, dict], tuple[tuple, dict]]] = []
MISS = object()  # nothing overrides this call


def among_arrays(function: Callable, args: tuple, kwargs: dict) -> Any:
    """Call ``function`` with plain tensors for arguments of NumPy's kind; what it returns, and what functions among
    its arguments get, is of NumPy's kind then.
    """
    if not numpy_kind:
        return function(*args, **kwargs)
    from ..ops.numpy_tensor import on_plain

    return on_plain(function, args, kwargs)


class Declined(TypeError):
    """Raised when every override returned NotImplemented: an operator then leaves the call to the other operand."""


def enclosing(name: str, kind: str) -> Callable | None:
    """Return a context that reports an event of that name; None if no profile of this thread shows one, or the function
    has called itself.
    """
    recorder = modes.current().profiler
    return None if recorder is None or recorder.shows(name, kind) else partial(recorder.enclosing, name, kind)


def overrides(value: Any) -> bool:
    """Return whether ``value`` has ``__torch_function__``, as a tensor or not; PyTorch's own tensors do not count."""
    kind = type(value)
    return hasattr(kind, "__torch_function__") and not any(
        base.__module__ == "torch" and base.__name__ == "Tensor" for base in kind.__mro__
    )


def activate_for(args: Iterable, kwargs: dict) -> bool:
    """Activate overrides if an argument that is not a tensor has ``__torch_function__``, and return whether that is so:
    the failed call is then repeated.

    Nobody looks at arguments for it before that: until something overrides operations, only what is no tensor can.
    """
    for value in chain(args, kwargs.values()):
        for part in value if isinstance(value, (list, tuple)) else (value,):
            if overrides(part) and not isinstance(part, Tensor):
                from .subclass import activate_overrides

                activate_overrides()
                return True
    return False


def overridable(function: Callable, leaf: bool = False, composite: str | None = None, member: bool = False) -> Callable:
    """Return ``function`` such that it first asks its arguments' classes and the modes for an answer.

    Parameters
    ----------
    function : callable
        Anything that users call, made of operations (which are then not asked again) or not.
    leaf : bool
        Nothing below asks ``__torch_dispatch__``, so that it is asked here.
    composite : str
        It is an op of this name made of others: inside vmap, where it wants to see values, it runs sample by sample.
    member : bool
        It belongs to the tensor object itself, which it gets as it is, also one with NumPy's methods.
    """

    def public(*args: Any, **kwargs: Any) -> Any:
        if numpy_kind and not member:
            args, kwargs = numpy_kind[0](args, kwargs)
        if profiling and composite is not None and (around := enclosing(f"aten::{composite}", "composite")):
            return around(public, *args, **kwargs)
        if active_overrides and (kwargs or not silent.issuperset(map(type, args)) or not modes.current().plain):
            from .subclass import intercept

            answer = intercept(public, args, kwargs, leaf)
            if answer is not MISS:
                return answer
        try:
            return function(*args, **kwargs)
        except NotBatchable as error:
            if composite is None or (type(error) is DynamicShape and composite in DYNAMIC):
                raise
            from ..ops.batching import by_samples

            return by_samples(function, args, kwargs, composite)
        except NoMemory as error:
            if composite is None:
                raise
            from .dispatch import from_class

            return from_class(public, args, kwargs, error)
        except MemoryError as error:
            raise out_of_memory(composite or function.__name__, error) from None
        except Exception as error:
            if not active_overrides and activate_for(args, kwargs):
                return public(*args, **kwargs)
            if not isinstance(error, UNWORDED):
                shorten(error)
                raise
            found: Any = explained_call(composite or function.__name__, error, function, args, kwargs)
            try:
                if found is error or not (composite or leaf):
                    shorten(error)
                    raise
                raise found from None
            finally:
                found = None  # else the error and this frame would hold each other

    public.is_made_of_others = not leaf and composite is None  # type: ignore[attr-defined]
    return update_wrapper(public, function)


def explaining(function: Callable, name: str) -> Callable:
    """Return a method whose failures in Python's wording name it and its arguments."""

    def method(*args: Any, **kwargs: Any) -> Any:
        try:
            return function(*args, **kwargs)
        except MemoryError as error:
            raise out_of_memory(name, error) from None
        except UNWORDED as error:
            found: Any = explained_call(name, error, function, args, kwargs)
            try:
                if found is error:
                    shorten(error)
                    raise
                raise found from None
            finally:
                found = None  # else the error and this frame would hold each other

    return update_wrapper(method, function)
