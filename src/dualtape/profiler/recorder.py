"""The recorder: collects events from ops and the engine while a profile is taken.

It is a field of the modes' record (``modes.Mode.profiler``), which makes ops take the reference path; there an op is
passed to :meth:`Recorder.op`, which runs it on its fast path as without a profile, and measures the time.
"""

from __future__ import annotations

import functools
import sys
import threading
from collections.abc import Callable
from time import perf_counter_ns
from typing import Any

from .. import modes
from .._tensor.tensor import Tensor
from ..ops.known_names import known_name
from .events import FunctionEvent

_HERE = __file__.rpartition("profiler")[0]


class _Open(threading.local):
    """The unfinished events of a thread, the innermost last."""

    def __init__(self) -> None:
        self.events: list[FunctionEvent] = []


class Recorder:
    """Collects events.

    Parameters
    ----------
    shapes, memory, stack : bool
        What is noted of each op beside its time.
    modules : bool
        Whether calls of modules are events.
    """

    def __init__(self, shapes: bool = False, memory: bool = False, stack: bool = False, modules: bool = False) -> None:
        self.shapes, self.memory, self.stack, self.modules = shapes, memory, stack, modules
        self.events: list[FunctionEvent] = []
        self._open = _Open()
        self._without: dict[modes.Mode, modes.Mode] = {}

    def begin(self, name: str, kind: str) -> FunctionEvent:
        """Begin an event."""
        opened = self._open.events
        event = FunctionEvent(name, kind, perf_counter_ns(), threading.get_ident(), opened[-1] if opened else None)
        opened.append(event)
        self.events.append(event)
        if self.stack:
            event.stack = _stack()
            event.start_ns = perf_counter_ns()  # looking at the stack is not the program's time
        return event

    def end(self, event: FunctionEvent) -> None:
        """End it, and all events that began inside it."""
        event.end_ns = perf_counter_ns()
        opened = self._open.events
        while opened and opened.pop() is not event:
            pass

    def op(self, op: Any, function: Callable, args: tuple, kwargs: dict, mode: modes.Mode, name: str) -> Any:
        """Run an op on a user's arguments on its usual path, and record its time."""
        without = self._without.get(mode)
        if without is None:
            without = self._without[mode] = mode.replace(profiler=None)
        event = self.begin(f"aten::{name}", "op")
        inplace = name != op.name
        try:
            modes._set(without)
            result = function(*args, **kwargs)
        finally:
            modes._set(mode)
            self.end(event)
        if self.shapes:
            event.input_shapes = [_shape(value) for value in (*args, *kwargs.values())]
        results = result if isinstance(result, (tuple, list)) else (result,)
        node = ""
        for each in results:
            if isinstance(each, Tensor):
                if each._edge is not None:
                    event.sequence_nr = each._edge[0]._seq
                    node = each._edge[0]._title() if getattr(each._edge[0], "op", None) is op else ""
                if self.memory and getattr(each._array, "base", None) is None and not inplace:
                    event.own_memory += getattr(each._array, "nbytes", 0)
        if not inplace:
            event.name = f"aten::{known_name(op, node)}"  # of several nodes of one row only the result says which
        return result

    def shows(self, name: str, kind: str) -> bool:
        """Return whether nothing more is recorded inside an event: it is shown already, or must not be."""
        opened = self._open.events
        if kind == "module":
            return not self.modules
        return bool(opened) and opened[-1].name == name and opened[-1].kind == kind

    def enclosing(self, name: str, kind: str, function: Callable, *args: Any, **kwargs: Any) -> Any:
        """Run a composite, whose ops have events of their own inside its event."""
        event = self.begin(name, kind)
        try:
            return function(*args, **kwargs)
        finally:
            self.end(event)
            if self.shapes:
                event.input_shapes = [_shape(value) for value in (*args, *kwargs.values())]

    def node(self, node: Any, run: Callable[[], Any]) -> Any:
        """Run a node of the graph, and record its time."""
        event = self.begin(node._title(), "node")
        event.sequence_nr = node._seq
        try:
            pairs = run()
        finally:
            self.end(event)
        if self.memory and pairs is not None:
            event.own_memory = sum(
                getattr(g, "nbytes", 0) for _, g in pairs if getattr(g, "base", None) is None and g is not None
            )
        return pairs

    def program(self, name: str, mode: modes.Mode, run: Callable[[], Any]) -> Any:
        """Run a compiled program, and record its time."""
        event = self.begin(name, "program")
        try:
            modes._set(mode.replace(profiler=None))
            return run()
        finally:
            modes._set(mode)
            self.end(event)


def _shape(value: Any) -> Any:
    if isinstance(value, Tensor):
        return list(value.shape)
    if isinstance(value, (list, tuple)) and any(isinstance(item, Tensor) for item in value):
        return [_shape(item) for item in value]
    return []


def _stack() -> list[str]:
    """Return the user's frames, the innermost first."""
    lines: list[str] = []
    frame: Any = sys._getframe(2)
    while frame is not None and len(lines) < 32:
        name = frame.f_code.co_filename
        if not name.startswith((_HERE, "<")):
            lines.append(f"{name}({frame.f_lineno}): {frame.f_code.co_name}")
        frame = frame.f_back
    return lines


class record_function:
    """A user-defined range in a profile: a context, or a decorator.

    Parameters
    ----------
    name : str
    args : str, optional
        Shown in the trace beside it.

    Examples
    --------
    >>> import dualtape as dt
    >>> with dt.profiler.profile() as p:
    ...     with dt.profiler.record_function("mine"):
    ...         y = dt.ones(2) * 2
    >>> [event.name for event in p.events()]
    ['mine', 'aten::mul']
    """

    def __init__(self, name: str, args: str | None = None) -> None:
        if not isinstance(name, str):
            raise TypeError(f"record_function: expected a name, got {type(name).__name__}")
        self.name, self.args = name, args
        self._events: list[tuple[Any, Any]] = []

    def __enter__(self) -> record_function:
        recorder = modes.current().profiler
        event = None
        if recorder is not None:
            event = recorder.begin(self.name, "range")
            event.details = self.args or ""
        self._events.append((recorder, event))
        return self

    def __exit__(self, *error: Any) -> None:
        recorder, event = self._events.pop()
        if recorder is not None:
            recorder.end(event)

    def __call__(self, function: Callable) -> Callable:
        @functools.wraps(function)
        def recorded(*args: Any, **kwargs: Any) -> Any:
            with record_function(self.name, self.args):
                return function(*args, **kwargs)

        return recorded
