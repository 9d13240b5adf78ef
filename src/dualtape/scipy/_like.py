"""Functions under SciPy's names: SciPy's own without a tensor, ours with one."""

from __future__ import annotations

import functools
import inspect
import itertools
from collections.abc import Callable
from typing import Any

from .. import errors
from .._listing import listing
from .._progress import counter
from .._tensor.tensor import Tensor
from ..overrides.active_overrides import among_arrays, numpy_kind
from ..pytree import tree_leaves
from ._outside import Met, watched


def has_tensor(value: Any) -> bool:
    """Return whether there is a tensor in ``value``, also inside lists, tuples and dicts."""
    if isinstance(value, dict):
        return any(map(has_tensor, value.values()))
    return any(map(has_tensor, value)) if isinstance(value, (list, tuple)) else isinstance(value, Tensor)


def like(module: Any, name: str | None = None) -> Callable[[Callable], Any]:
    """Return a decorator: without a tensor among the arguments, the function of that name in SciPy's ``module`` is
    called.
    """

    def decorate(function: Callable) -> Callable:
        own = name or function.__name__

        @functools.wraps(function)
        def either(*args: Any, **kwargs: Any) -> Any:
            if not has_tensor(args) and not has_tensor(kwargs):
                return getattr(module, own)(*args, **kwargs)
            return among_arrays(function, args, kwargs) if numpy_kind else function(*args, **kwargs)

        return either

    return decorate


def calling(module: Any, *functions: str) -> Callable[[Callable], Any]:
    """Return a decorator as :func:`like`, for functions that take functions: ours is called, too, if one of those
    returns tensors with history. They are the arguments of these names; the first one, without names.
    """

    def decorate(function: Callable) -> Callable:
        own = function.__name__
        signature = inspect.signature(function)
        names = functions or (next(iter(signature.parameters)),)

        @functools.wraps(function)
        def either(*args: Any, **kwargs: Any) -> Any:
            if has_tensor(args) or has_tensor(kwargs):
                return function(*args, **kwargs)
            theirs = getattr(module, own)
            try:
                bound = signature.bind(*args, **kwargs)
            except TypeError:
                return theirs(*args, **kwargs)
            for name in names:
                if name in bound.arguments:
                    bound.arguments[name] = _watched(bound.arguments[name])
            try:
                return theirs(*bound.args, **bound.kwargs)
            except Met as met:
                cause = met.__cause__
            try:
                return function(*args, **kwargs)
            except Exception:
                if cause is not None:
                    raise cause from None
                raise

        return either

    return decorate


def _watched(value: Any) -> Any:
    if isinstance(value, (list, tuple)):
        return type(value)(map(_watched, value)) if any(map(callable, value)) else value
    return watched(value) if callable(value) and not isinstance(value, type) else value


def counting(function: Callable) -> Any:
    """Return a decorator that adds ``progress=``: it shows how often the first argument, a function, was evaluated."""
    signature = inspect.signature(function)
    first, *_ = signature.parameters
    choice = inspect.Parameter("progress", inspect.Parameter.KEYWORD_ONLY, default=None, annotation="bool | None")
    others = list(signature.parameters.values())
    last = len(others) - (others[-1].kind is inspect.Parameter.VAR_KEYWORD)

    @functools.wraps(function)
    def with_progress(*args: Any, progress: bool | None = None, **kwargs: Any) -> Any:
        bar = counter(f"{function.__name__}: evaluations", progress)
        if bar is None:
            return function(*args, **kwargs)
        evaluate: Any = args[0] if args else kwargs.get(first)
        count = itertools.count(1)
        running = True

        def counted(*given: Any, **named: Any) -> Any:
            result = evaluate(*given, **named)
            if running:  # not in a backward, later
                bar.reached(next(count))
            return result

        try:
            if args:
                return function(counted, *args[1:], **kwargs)
            return function(**{**kwargs, first: counted})
        finally:
            running = False
            bar.close()

    shown = signature.replace(parameters=[*others[:last], choice, *others[last:]])
    setattr(with_progress, "__signature__", shown)  # noqa: B010 - functions have no such attribute to mypy
    return with_progress


def scipys(module: Any, name: str, where: str) -> Any:
    """Return SciPy's own object for a name without a version of ours: it refuses tensors that require grad."""
    if name.startswith("__"):
        raise AttributeError(f"module {where!r} has no attribute {name!r}")
    try:
        return getattr(module, name)
    except AttributeError:
        from importlib import import_module

        raise errors.missing(where, name, dir(import_module(module.__name__)), "SciPy's has none either") from None


def names_of(module: Any, where: str) -> Callable[[], list[str]]:
    """Return the ``__dir__`` of ``where``: its public names, and those of SciPy's ``module``."""
    own = listing(where)

    def public_names() -> list[str]:
        from importlib import import_module

        theirs = import_module(module.__name__)
        names = getattr(theirs, "__all__", None) or [name for name in dir(theirs) if not name.startswith("_")]
        return sorted({*own(), *names})

    return public_names


def of_arrays(function: Callable) -> Any:
    """Return a function or method that gives tensors of NumPy's kind where it is given one.

    An object that was made of such tensors gives them, too.
    """

    @functools.wraps(function)
    def either(*args: Any, **kwargs: Any) -> Any:
        if not numpy_kind:
            return function(*args, **kwargs)
        from ..ops.numpy_tensor import NumpyTensor
        from ..ops.numpy_tensor import like as kind_like

        owner = args[0] if args and hasattr(type(args[0]), "scipys_own") else None
        entered = any(type(leaf) is NumpyTensor for leaf in tree_leaves((args, kwargs)))
        if owner is not None:  # it may be callable, but is no function of the user's
            entered = entered or owner.__dict__.get("of_numpy", False)
            found = among_arrays(functools.partial(function, owner), args[1:], kwargs)
            if entered and function.__name__ == "__init__":
                owner.of_numpy = True
        else:
            found = among_arrays(function, args, kwargs)
        if entered and hasattr(type(found), "scipys_own"):
            found.of_numpy = True
        return kind_like(found, entered) if entered and found is not None else found

    return either
