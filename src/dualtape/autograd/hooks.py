"""Where hooks are kept: on nodes (before and after they run, per output) and on leaves; and the handle that removes
one.
"""

from __future__ import annotations

import itertools
import weakref
from collections.abc import Callable, Iterable
from types import TracebackType
from typing import Any

_next_id = itertools.count().__next__


class NoHooks(dict):
    """Where hooks will be kept; until there are some, users see None."""


def shown_hooks(hooks: dict | None) -> dict | None:
    """Hooks as ``_backward_hooks`` shows them: what was set there, None if nothing was."""
    return None if type(hooks) is NoHooks and not hooks else hooks


class NodeExtra:
    """What few nodes have: hooks, metadata, the forward line. One slot of a node holds it, or None."""

    __slots__ = ("tensor_hooks", "retained", "pre_hooks", "post_hooks", "metadata", "stack", "parent")

    def __init__(self) -> None:
        self.tensor_hooks: dict[int, dict[int, Callable]] = {}  # output number -> {id: hook}
        self.retained: dict[int, weakref.ref] = {}  # output number -> the tensor whose .grad is kept
        self.pre_hooks: dict[int, Callable] = {}
        self.post_hooks: dict[int, Callable] = {}
        self.metadata: dict | None = None
        self.stack: Any = None  # the forward stack, in anomaly mode
        self.parent: Any = None  # the node whose backward made this one, in anomaly mode


class RemovableHandle:
    """Removes a hook: ``handle.remove()``, or at the end of ``with handle:``.

    Examples
    --------
    >>> import dualtape as dt
    >>> x = dt.tensor(1.0, requires_grad=True)
    >>> handle = x.register_hook(lambda grad: grad * 2)
    >>> handle.remove()
    >>> (x * 1).backward(); x.grad
    tensor(1.)
    """

    __slots__ = ("id", "_hooks", "_marks", "__weakref__")

    def __init__(self, hooks: dict, key: int, marks: Iterable[dict] = ()) -> None:
        self.id = key
        self._hooks: dict | None = hooks
        self._marks = tuple(marks)

    @classmethod
    def add(cls, hooks: dict, fn: Callable, marks: Iterable[dict] = (), prepend: bool = False) -> RemovableHandle:
        """Put ``fn`` last (or, into an OrderedDict, first) into ``hooks`` and return the handle that takes it out;
        ``marks`` say more of it, by its number.
        """
        if not callable(fn):
            raise TypeError(f"a hook must be callable, got {type(fn).__name__}")
        handle = cls(hooks, _next_id(), marks)
        for mark in handle._marks:
            mark[handle.id] = True
        hooks[handle.id] = fn
        if prepend:
            hooks.move_to_end(handle.id, last=False)  # type: ignore[attr-defined]
        return handle

    def remove(self) -> None:
        """Take the hook out; once out, nothing happens."""
        hooks, self._hooks = self._hooks, None
        if hooks is not None:
            hooks.pop(self.id, None)
            for mark in self._marks:
                mark.pop(self.id, None)

    def __enter__(self) -> RemovableHandle:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.remove()
