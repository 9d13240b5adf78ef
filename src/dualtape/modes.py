"""Modes: what a thread's operations do beside computing, as one immutable record.

Every operation reads :func:`current` once. A context manager replaces the record by a changed copy, and on exit puts
back what it changed and nothing else, so that an exception, a generator or a coroutine never leaves a mode behind, in
whatever order contexts are left. ``plain`` is true when nothing but grad mode matters: that one attribute is what
the fast path of every operation looks at.

An interrupt (Ctrl-C) may come at the beginning of any function and after any call. So a mode is exchanged inside
``try``, and put back by one call of C, which also tells what it replaced::

    try:
        modes._set(inside)
        ...
    finally:
        now = modes._set(outside).old_value
        if now is not inside:
            modes.keep(now, outside, "grad")
"""

from __future__ import annotations

from collections.abc import Callable
from contextvars import ContextVar, Token
from opcode import opmap
from sys import _getframe
from types import FrameType
from typing import Any, TypeVar

__all__ = [
    "Mode",
    "ModeContext",
    "current",
    "enable_grad",
    "enforce_grad_layout_policy",
    "inference_mode",
    "is_grad_enabled",
    "is_inference_mode_enabled",
    "is_multithreading_enabled",
    "no_grad",
    "set_grad_enabled",
    "set_multithreading_enabled",
]

F = TypeVar("F", bound=Callable[..., Any])


class Mode:
    """One immutable setting of all modes.

    Attributes
    ----------
    grad : bool
        Whether operations record history.
    inference : bool
        Inside :class:`inference_mode`.
    anomaly : object or None
        Settings of anomaly detection.
    saved_hooks : tuple
        Stack of default (pack, unpack) pairs for saved tensors; a string entry disables hooks, and says why.
    levels : tuple
        Forward-mode levels that are open.
    forward : bool
        Whether forward mode propagates tangents.
    batches : tuple
        Levels of vmap that are open.
    functions, dispatches : tuple
        Stacks of function modes and dispatch modes.
    threads : bool
        Whether backward may use several threads.
    layout : bool
        Whether a leaf's gradient must lie in memory as the leaf does.
    profiler : object or None
        Receiver of operation events.
    backwards : object or None
        What runs backwards as compiled programs.
    tracing : object or None
        What writes down the operations of a function that is being compiled.
    asked : bool
        Inside inference mode: whether grad mode was asked for. It shows, and does nothing.
    subclass_functions, subclass_dispatch : bool
        Whether ``__torch_function__`` and ``__torch_dispatch__`` of tensor subclasses are called.
    plain : bool
        Derived: nothing but ``grad`` matters.
    quick : bool
        Derived: nothing but ``grad`` and ``saved_hooks`` matters.
    """

    __slots__ = (
        "grad",
        "inference",
        "anomaly",
        "saved_hooks",
        "levels",
        "forward",
        "batches",
        "functions",
        "dispatches",
        "threads",
        "layout",
        "backwards",
        "tracing",
        "profiler",
        "asked",
        "subclass_functions",
        "subclass_dispatch",
        "plain",
        "quick",
        "no_grad",
        "unhooked",
    )

    grad: bool
    inference: bool
    anomaly: Any
    saved_hooks: tuple
    levels: tuple
    forward: bool
    batches: tuple
    functions: tuple
    dispatches: tuple
    threads: bool
    layout: bool
    backwards: Any
    profiler: Any
    tracing: Any
    asked: bool
    subclass_functions: bool
    subclass_dispatch: bool
    plain: bool
    quick: bool
    no_grad: Mode | None  # the same without grad, once it was asked for
    # The same mode without hooks on saved tensors, once it was asked for.
    unhooked: Mode | None

    def replace(self, **changes: object) -> Mode:
        """Return a copy with some settings changed."""
        new = object.__new__(Mode)
        new.grad, new.inference, new.anomaly, new.saved_hooks, new.levels = (
            self.grad,
            self.inference,
            self.anomaly,
            self.saved_hooks,
            self.levels,
        )
        new.forward, new.batches, new.functions, new.dispatches, new.threads = (
            self.forward,
            self.batches,
            self.functions,
            self.dispatches,
            self.threads,
        )
        new.layout, new.profiler, new.tracing, new.asked = self.layout, self.profiler, self.tracing, self.asked
        new.backwards = self.backwards
        new.subclass_functions, new.subclass_dispatch = self.subclass_functions, self.subclass_dispatch
        for name, value in changes.items():
            if name not in _SETTINGS:
                raise TypeError(f"no such mode: {name}")
            setattr(new, name, value)
        new.quick = not (
            new.inference or new.anomaly or new.levels or new.functions or new.dispatches or new.profiler or new.tracing
        )
        new.plain = new.quick and not new.saved_hooks
        new.no_grad = new.unhooked = None
        return new


_SETTINGS = frozenset(Mode.__slots__[:-4])  # the others are derived


def _initial() -> Mode:
    mode = object.__new__(Mode)
    mode.grad = mode.forward = mode.threads = mode.layout = mode.plain = mode.quick = True
    mode.subclass_functions = mode.subclass_dispatch = True
    mode.inference = mode.asked = False
    mode.anomaly = mode.profiler = mode.tracing = mode.backwards = mode.no_grad = mode.unhooked = None
    mode.saved_hooks = mode.levels = mode.batches = mode.functions = mode.dispatches = ()
    return mode


_mode: ContextVar[Mode] = ContextVar("dualtape.mode", default=_initial())  # noqa: B039 - a Mode is never changed
current: Callable[[], Mode] = _mode.get
_set = _mode.set


def without_grad(mode: Mode) -> Mode:
    """Return the same modes with grad mode off, cached because ``no_grad`` is entered often."""
    if not mode.grad:
        return mode
    known = mode.no_grad
    if known is None:
        known = mode.no_grad = mode.replace(grad=False)
    return known


def without_hooks(mode: Mode) -> Mode:
    """Return the same modes without hooks on saved tensors, cached because every operation under such hooks needs
    it.
    """
    known = mode.unhooked
    if known is None:
        known = mode.unhooked = mode.replace(saved_hooks=())
    return known


def with_grad(mode: Mode, enabled: bool) -> Mode:
    """Return the same modes with grad mode set; inference mode takes precedence."""
    if mode.inference:
        return mode if mode.asked == enabled else mode.replace(asked=enabled)
    return mode if mode.grad == enabled else mode.replace(grad=enabled)


def enter(inside: Mode, outside: Mode) -> None:
    """Replace the mode ``outside`` by ``inside``, as the last action of an ``__enter__``: an interrupt there is not
    followed by ``__exit__``.
    """
    try:
        _set(inside)
    except BaseException:
        _set(outside)
        raise


def keep(now: Any, outside: Mode, *fields: str) -> None:
    """Keep other changes that were made while a mode was replaced: ``outside`` was restored in place of ``now``, and
    only ``fields`` are its own.
    """
    if was_changed(now, outside):
        _set(now.replace(**{name: getattr(outside, name) for name in fields}))


def keep_anomaly(now: Any, outside: Mode) -> None:
    """Keep anomaly mode as it is in ``now``, which ``outside`` has replaced."""
    if was_changed(now, outside) and now.anomaly is not outside.anomaly:
        _set(outside.replace(anomaly=now.anomaly))


def was_changed(now: object, outside: Mode) -> bool:
    """Return whether ``now``, which ``outside`` has replaced, is another mode: an interrupt may come before any
    is set.
    """
    return now is not outside and now is not Token.MISSING


def alike(a: Mode, b: Mode) -> bool:
    """Return whether two modes have the same settings."""
    return a is b or all([getattr(a, name) is getattr(b, name) for name in _SETTINGS])


def without_last(stack: tuple, entry: object) -> tuple:
    """Return ``stack`` without the last occurrence of ``entry``, if there is one."""
    for place in reversed(range(len(stack))):
        if stack[place] is entry:
            return stack[:place] + stack[place + 1 :]
    return stack


class ModeContext:
    """Base of the context managers that change the mode; each also works as a decorator.

    A decorated generator or coroutine has the mode while its own code runs, and its caller keeps the caller's.

    Attributes
    ----------
    fields : tuple of str
        The settings that it changes, and puts back on exit.
    stack : str
        The setting that it puts an entry on top of, and takes that entry from on exit.
    """

    fields: tuple[str, ...] = ()
    stack: str = ""
    left: Callable[[], None] | None = None  # what else is to be done on exit
    _last_entry: Any = None  # of a stack, when it was left
    _entered: list[tuple[Mode | None, Mode]] | None = None  # the modes inside and outside; None if others came between

    def change(self, mode: Mode) -> Mode:
        """Return the mode inside, given the mode outside."""
        raise NotImplementedError  # each subclass says what it changes

    def restored(self, now: Mode, inside: Mode | None, outside: Mode) -> Mode:
        """Return the mode ``now`` with the settings of this context as they were outside."""
        changes = {name: getattr(outside, name) for name in self.fields}
        if self.stack:
            changes[self.stack] = without_last(getattr(now, self.stack), getattr(inside, self.stack)[-1])
        return now.replace(**changes)

    def clone(self) -> ModeContext:
        """Return a new manager with the same settings: a decorated function may recurse or run in several threads."""
        return type(self)()

    def __enter__(self) -> Any:
        outside = current()
        inside = self.change(outside)
        if self._entered is None:
            self._entered = []
        self._entered.append((inside, outside))
        try:
            _set(inside)
        except BaseException:
            del self._entered[-1]
            _set(outside)
            raise
        return None

    def __exit__(self, *error: object) -> None:
        if not self._entered:
            self._leave_again()
            return
        inside, outside = self._entered[-1]
        del self._entered[-1]  # not pop(): no interrupt may come before the mode is put back
        now = _set(outside).old_value
        if now is not inside and was_changed(now, outside):
            _set(self.restored(now, inside, outside))
        if self.stack and inside is not None:
            self._last_entry = getattr(inside, self.stack)[-1]
        if self.left is not None:
            self.left()

    def _leave_again(self) -> None:
        """Remove the entry from the stack after a backward, inside which this was left, has restored it at its end."""
        now = current()
        own = self._last_entry
        if own is None or without_last(getattr(now, self.stack), own) == getattr(now, self.stack):
            raise RuntimeError(f"{type(self).__name__} is left, and was not entered")
        _set(now.replace(**{self.stack: without_last(getattr(now, self.stack), own)}))

    def __call__(self, function: F) -> F:
        from ._contextlib import decorate

        return decorate(self.clone, function)


class _GradContext(ModeContext):
    """Base of the contexts that change grad mode, which also depends on inference mode."""

    def restored(self, now: Mode, inside: Mode | None, outside: Mode) -> Mode:
        return with_grad(now, outside.asked if outside.inference else outside.grad)


class no_grad(_GradContext):
    """Context in which operations record no history.

    Examples
    --------
    >>> import dualtape as dt
    >>> x = dt.tensor([1.0], requires_grad=True)
    >>> with dt.no_grad():
    ...     y = x * 2
    >>> y.requires_grad
    False
    """

    def __new__(cls, orig_func: F | None = None) -> Any:
        self = object.__new__(cls)
        return self if orig_func is None else self(orig_func)

    def change(self, mode: Mode) -> Mode:
        return with_grad(mode, False) if mode.inference else without_grad(mode)


class enable_grad(_GradContext):
    """Context in which operations record history, also within :class:`no_grad`.

    Examples
    --------
    >>> import dualtape as dt
    >>> x = dt.tensor([1.0], requires_grad=True)
    >>> with dt.no_grad(), dt.enable_grad():
    ...     y = x * 2
    >>> y.requires_grad
    True
    """

    def __new__(cls, orig_func: F | None = None) -> Any:
        self = object.__new__(cls)
        return self if orig_func is None else self(orig_func)

    def change(self, mode: Mode) -> Mode:
        return with_grad(mode, True)


def _begins_a_block(frame: FrameType | None) -> bool:
    """Return whether the manager that is being made is that of a ``with`` block: the next instruction of the program
    enters it.
    """
    while frame is not None and frame.f_code.co_name == "__init__":
        frame = frame.f_back
    if frame is None:
        return False
    code = frame.f_code.co_code
    following = frame.f_lasti + 2
    while following < len(code) and code[following] == _CACHE:
        following += 2
    return code[following : following + 1] == _BEFORE_WITH


_CACHE = opmap.get("CACHE", -1)
# Later versions of Python have no such instruction; there a manager acts at once, in a block too.
_BEFORE_WITH = bytes([opmap["BEFORE_WITH"]]) if "BEFORE_WITH" in opmap else None


class Switch(ModeContext):
    """Base of the managers that act immediately when called as a function, and until the end of a ``with`` block.

    In ``with set_grad_enabled(False):`` the mode is set by ``__enter__`` alone: an interrupt between the two calls is
    not followed by ``__exit__``.
    """

    enabled: bool
    _outside: Mode

    def __init__(self, mode: bool) -> None:
        self.enabled = bool(mode)
        self._outside = current()
        if not _begins_a_block(_getframe(1)):
            enter(self.change(self._outside), self._outside)

    def clone(self) -> ModeContext:
        fresh = object.__new__(type(self))
        fresh.__dict__.update(self.__dict__)
        fresh._entered, fresh._outside = None, current()
        return fresh

    def __enter__(self) -> None:
        first = self._entered is None
        super().__enter__()
        if first:
            assert self._entered
            self._entered[-1] = (None, self._outside)

    def __call__(self, function: F) -> F:
        _set(self.restored(current(), None, self._outside))  # as a decorator it acts inside the function only
        return super().__call__(function)


class set_grad_enabled(Switch, _GradContext):
    """Switch grad mode on or off: immediately as a function, or until the end of a ``with`` block.

    Examples
    --------
    >>> import dualtape as dt
    >>> with dt.set_grad_enabled(False):
    ...     dt.is_grad_enabled()
    False
    """

    def change(self, mode: Mode) -> Mode:
        return with_grad(mode, self.enabled)


class set_multithreading_enabled(Switch):
    """Set whether backward may use threads of its own: immediately, or until the end of a ``with`` block.

    Backward here runs in the thread that called it, whatever this says; only backward inside backward, deeper than
    one stack holds, goes on in another.

    Examples
    --------
    >>> import dualtape as dt
    >>> with dt.autograd.set_multithreading_enabled(False):
    ...     dt.autograd.is_multithreading_enabled()
    False
    """

    fields = ("threads",)

    def change(self, mode: Mode) -> Mode:
        return mode if mode.threads == self.enabled else mode.replace(threads=self.enabled)


class enforce_grad_layout_policy(Switch):
    """Set whether a leaf's gradient must have the leaf's memory layout: immediately, or until the end of a ``with``
    block.

    Where it need not, a gradient that nothing else holds is taken over as it comes, without a copy.

    Examples
    --------
    >>> import dualtape as dt
    >>> x = dt.ones(3, 2).t().requires_grad_()
    >>> with dt.autograd.enforce_grad_layout_policy(False):
    ...     (x.contiguous() ** 2).sum().backward()
    >>> x.stride(), x.grad.stride()
    ((1, 2), (3, 1))
    """

    fields = ("layout",)

    def __init__(self, enable: bool = True) -> None:
        super().__init__(enable)

    def change(self, mode: Mode) -> Mode:
        return mode if mode.layout == self.enabled else mode.replace(layout=self.enabled)


def is_multithreading_enabled() -> bool:
    """Whether backward may use threads of its own.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.autograd.is_multithreading_enabled()
    True
    """
    return current().threads


class inference_mode(ModeContext):
    """Context without history and version counting: the fastest way to run code that is never differentiated.

    Tensors made inside are *inference tensors*: outside, they can be read and used as constants, but neither written in
    place nor saved for backward.

    Examples
    --------
    >>> import dualtape as dt
    >>> with dt.inference_mode():
    ...     y = dt.ones(2) * 3
    >>> y.is_inference()
    True
    """

    enabled: bool
    fields = ("inference", "grad", "forward", "asked")

    def __new__(cls, mode: object = True) -> Any:
        self = object.__new__(cls)
        if callable(mode) and not isinstance(mode, bool):
            self.enabled = True
            return self(mode)
        self.enabled = bool(mode)
        return self

    def __init__(self, mode: object = True) -> None:
        pass

    def change(self, mode: Mode) -> Mode:
        return mode.replace(inference=self.enabled, grad=not self.enabled, forward=not self.enabled, asked=False)

    def clone(self) -> ModeContext:
        return inference_mode(self.enabled)


def is_grad_enabled() -> bool:
    """Whether operations record history now.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.is_grad_enabled()
    True
    """
    mode = current()
    return mode.asked if mode.inference else mode.grad


def is_inference_mode_enabled() -> bool:
    """Whether inference mode is on.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.is_inference_mode_enabled()
    False
    """
    return current().inference
