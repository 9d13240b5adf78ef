"""Storage of hooks, on nodes (before and after they run, for each output) and leaves, and their removable handle."""

from __future__ import annotations

import itertools
import weakref
from collections.abc import Callable, Iterable
from types import TracebackType
from typing import Any

_next_id = itertools.count().__next__


class NoHooks(dict):
    """Attribute that is None until the first hook is registered."""


def shown_hooks(hooks: dict | None) -> dict | None:
    """Return hooks as ``_backward_hooks`` shows them: the dict that was set, None if there is none."""
    return None if type(hooks) is NoHooks and not hooks else hooks


class NodeExtra:
    """Rare attributes of a node: hooks, metadata, the forward line. One slot of a node holds it, or None."""

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
        """Add ``fn`` last (or, in an OrderedDict, first) to ``hooks`` and return its handle; ``marks`` stores further
        data under the handle's number.
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
        """Remove the hook; later calls do nothing."""
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
