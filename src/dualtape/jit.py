"""``dualtape.jit``: PyTorch's names for scripts. There is no second language here: a script is the function itself.

:func:`dualtape.compile` makes functions faster.
"""

from __future__ import annotations

import builtins
import contextlib
import typing
from collections.abc import Callable, Iterator
from types import UnionType
from typing import Any, Final, TypeVar

from ._listing import listing

T = TypeVar("T")


class TracerWarning(Warning):
    """PyTorch warns by it of what its tracer does not see; nothing here gives it."""


class ScriptFunction:
    """PyTorch's class of scripts: nothing is an instance of it, since a script is the function itself."""

    def __init__(self) -> None:
        raise TypeError("jit.ScriptFunction: a script is the function itself; there is nothing to make")


class ScriptModule(ScriptFunction):
    """PyTorch's class of scripts that are modules: nothing is an instance of it."""


__all__ = [
    "Final",
    "ScriptFunction",
    "ScriptModule",
    "TracerWarning",
    "annotate",
    "export",
    "fork",
    "freeze",
    "ignore",
    "interface",
    "is_scripting",
    "is_tracing",
    "isinstance",
    "load",
    "optimize_for_inference",
    "optimized_execution",
    "save",
    "script",
    "script_if_tracing",
    "script_method",
    "trace",
    "trace_module",
    "unused",
    "wait",
]


def script(obj: T, optimize: Any = None, _frames_up: int = 0, _rcb: Any = None, example_inputs: Any = None) -> T:
    """The function, class or module itself.

    Examples
    --------
    >>> import dualtape as dt
    >>> @dt.jit.script
    ... def double(x):
    ...     return 2 * x
    >>> double(dt.ones(1))
    tensor([2.])
    """
    return obj


def trace(func: T, example_inputs: Any = None, *args: Any, example_kwarg_inputs: Any = None, **options: Any) -> T:
    """The function or module itself, called once with the example.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.jit.trace(dt.sin, dt.ones(1)) is dt.sin
    True
    """
    if example_inputs is not None or example_kwarg_inputs is not None:
        inputs = (
            example_inputs if type(example_inputs) is tuple else () if example_inputs is None else (example_inputs,)
        )
        func(*inputs, **(example_kwarg_inputs or {}))  # type: ignore[operator]
    return func


def trace_module(mod: T, inputs: dict[str, Any], *args: Any, **options: Any) -> T:
    """The module itself, of which each method that is named has been called with its example.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.jit.trace_module(dt, {"sin": dt.ones(1)}) is dt
    True
    """
    for name, example in inputs.items():
        getattr(mod, name)(*(example if type(example) is tuple else (example,)))
    return mod


def script_if_tracing(fn: T) -> T:
    """The function itself.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.jit.script_if_tracing(abs) is abs
    True
    """
    return fn


def _itself(fn: Any = None, **options: Any) -> Any:
    """The function itself, as a decorator with or without arguments."""
    return fn if callable(fn) else lambda function: function


ignore = unused = export = script_method = interface = _overload = _overload_method = _itself
_script_if_tracing = script_if_tracing


def is_scripting() -> bool:
    """False.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.jit.is_scripting()
    False
    """
    return False


def is_tracing() -> bool:
    """False.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.jit.is_tracing()
    False
    """
    return False


def annotate(the_type: Any, the_value: T) -> T:
    """The value.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.jit.annotate(int, 3)
    3
    """
    return the_value


_CONTAINERS = (list, tuple, dict)


def isinstance(obj: Any, target_type: Any) -> bool:
    """Whether an object is of a type, that of its items included: ``list[int]``, ``dict[str, Tensor]``, ``int | None``.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.jit.isinstance([1, 2], list[int]), dt.jit.isinstance([1, "a"], list[int])
    (True, False)
    """
    kind, parts = typing.get_origin(target_type), typing.get_args(target_type)
    if target_type in _CONTAINERS or target_type in (typing.List, typing.Tuple, typing.Dict):  # noqa: UP006
        raise RuntimeError(f"isinstance: a {target_type} of what? Write the type of its items too, e.g. list[int]")
    if target_type is None:
        return obj is None
    if kind is None:
        return builtins.isinstance(obj, target_type if builtins.isinstance(target_type, tuple) else (target_type,))
    if kind in (typing.Union, UnionType):
        return any(isinstance(obj, part) for part in parts)
    if not builtins.isinstance(obj, kind):
        return False
    if kind is dict:
        return all(isinstance(k, parts[0]) and isinstance(v, parts[1]) for k, v in obj.items())
    if kind is tuple and not (len(parts) == 2 and parts[1] is Ellipsis):
        return len(obj) == len(parts) and all(map(isinstance, obj, parts))
    return all(isinstance(item, parts[0]) for item in obj)


def freeze(mod: T, preserved_attrs: Any = None, optimize_numerics: bool = True) -> T:
    """The module itself, which must be in evaluation.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.jit.freeze(dt.nn.Linear(1, 1).eval())  # doctest: +SKIP
    """
    if getattr(mod, "training", False):
        raise RuntimeError("freeze: the module is in training: call eval() first")
    return mod


def optimize_for_inference(mod: T, other_methods: Any = None) -> T:
    """The module itself.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.jit.optimize_for_inference(dt.sin) is dt.sin
    True
    """
    return mod


@contextlib.contextmanager
def optimized_execution(should_optimize: bool) -> Iterator[None]:
    """Context without effect.

    Examples
    --------
    >>> import dualtape as dt
    >>> with dt.jit.optimized_execution(False):
    ...     pass
    """
    yield


class _Done:
    """The result of :func:`fork`, which is available at once."""

    def __init__(self, value: Any) -> None:
        self._value = value

    def value(self) -> Any:
        """The result."""
        return self._value

    def wait(self) -> Any:
        """The result."""
        return self._value

    def done(self) -> bool:
        """True."""
        return True


def fork(func: Callable[..., Any], *args: Any, **kwargs: Any) -> _Done:
    """Call a function at once: ops run one after another.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.jit.wait(dt.jit.fork(abs, -3))
    3
    """
    return _Done(func(*args, **kwargs))


def wait(future: _Done) -> Any:
    """The result of :func:`fork`.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.jit.wait(dt.jit.fork(abs, -3))
    3
    """
    return future.wait()


def save(m: Any, f: Any, _extra_files: Any = None) -> None:
    """Refused: a file contains no program.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.jit.save(dt.sin, "sin.pt")
    Traceback (most recent call last):
    NotImplementedError: jit.save: files hold no programs: save the state_dict() with dualtape.save
    """
    raise NotImplementedError("jit.save: files hold no programs: save the state_dict() with dualtape.save")


def load(f: Any, map_location: Any = None, _extra_files: Any = None) -> Any:
    """Refused: programs of TorchScript's cannot be read.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.jit.load("sin.pt")
    Traceback (most recent call last):
    NotImplementedError: jit.load: a program of TorchScript's cannot be read: load a state_dict() with dualtape.load
    """
    raise NotImplementedError(
        "jit.load: a program of TorchScript's cannot be read: load a state_dict() with dualtape.load"
    )


__dir__ = listing(__name__)
