"""Checkpointing: recompute a part of the forward during backward instead of keeping its saved values.

With ``use_reentrant=False`` (recommended) it uses saved-tensor hooks: saved tensors are packed into empty placeholders,
and unpacking the first one runs the function again and fills them all. With ``use_reentrant=True`` it is a Function
whose backward runs the function again and then a backward through it.
"""

from __future__ import annotations

import contextlib
import weakref
from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager
from contextvars import ContextVar
from typing import Any

import numpy as np

from .. import modes
from .._tensor.tensor import Tensor, alias, wrap
from ..arrays.batched.array import BatchLevel, levels_of, relabelled
from ..errors import warn
from ..random import default_generator
from .function import Function
from .saved import same_values
from .saved_hooks import saved_tensors_hooks
from .tangents import active, moved, reopened, snapshot

__all__ = [
    "CheckpointError",
    "GraphExecGroup",
    "checkpoint",
    "checkpoint_sequential",
    "noop_context_fn",
    "set_checkpoint_debug_enabled",
    "set_checkpoint_early_stop",
]

_early_stop: bool | None = None  # None: as the arguments say
_debug: bool | None = None
_group: ContextVar[GraphExecGroup | None] = ContextVar("dualtape.checkpoint.group", default=None)


class CheckpointError(RuntimeError):
    """Raised if the recomputation of a checkpointed function does not save what its first run saved."""


class set_checkpoint_early_stop:
    """Context that sets whether a recomputation stops once backward has all it needs; it overrides the argument
    ``early_stop``.

    Examples
    --------
    >>> import dualtape as dt
    >>> from dualtape.utils.checkpoint import checkpoint, set_checkpoint_early_stop
    >>> x = dt.tensor([1.0], requires_grad=True)
    >>> with set_checkpoint_early_stop(False):
    ...     y = checkpoint(lambda t: t.sin(), x, use_reentrant=False)
    >>> y.backward(); x.grad
    tensor([0.5403])
    """

    def __init__(self, enable: bool) -> None:
        self.enable = bool(enable)

    def __enter__(self) -> None:
        global _early_stop
        self.previous, _early_stop = _early_stop, self.enable

    def __exit__(self, *error: object) -> None:
        global _early_stop
        _early_stop = self.previous


class set_checkpoint_debug_enabled:
    """Context that sets whether errors list the ops of both runs; it overrides the argument ``debug``.

    None leaves the choice to the argument.

    Examples
    --------
    >>> import dualtape as dt
    >>> from dualtape.utils.checkpoint import checkpoint, set_checkpoint_debug_enabled
    >>> x = dt.tensor([1.0], requires_grad=True)
    >>> with set_checkpoint_debug_enabled(True):
    ...     y = checkpoint(lambda t: t.sin(), x, use_reentrant=False)
    """

    def __init__(self, enabled: bool | None) -> None:
        self.enabled = enabled

    def __enter__(self) -> None:
        global _debug
        self.previous, _debug = _debug, self.enabled

    def __exit__(self, *error: object) -> None:
        global _debug
        _debug = self.previous


class GraphExecGroup:
    """Context in which several backward calls share one recomputation of a checkpointed function.

    It may be entered several times; what was computed again is kept as long as the graph needs it, and the group is
    there.

    Examples
    --------
    >>> import dualtape as dt
    >>> from dualtape.utils.checkpoint import GraphExecGroup, checkpoint
    >>> x = dt.tensor([1.0], requires_grad=True)
    >>> a, b = checkpoint(lambda t: (t.sin(), t.exp()), x, use_reentrant=False)
    >>> with GraphExecGroup():
    ...     a.backward()
    ...     b.backward()
    >>> x.grad
    tensor([3.2586])
    """

    def __init__(self) -> None:
        self.found: weakref.WeakKeyDictionary = weakref.WeakKeyDictionary()  # by frame

    def __enter__(self) -> GraphExecGroup:
        outer = _group.get()
        if outer is not None:
            raise RuntimeError(f"GraphExecGroup contexts cannot be nested. Already inside group {outer!r}")
        try:
            _group.set(self)
        except BaseException:  # an interrupt: nobody will leave the group
            _group.set(None)
            raise
        return self

    def __exit__(self, *error: object) -> None:
        _group.set(None)

    @classmethod
    def _get_current_group(cls) -> GraphExecGroup | None:
        return _group.get()


def noop_context_fn() -> tuple:
    """Return two contexts that do nothing: the default of ``context_fn``.

    Examples
    --------
    >>> from dualtape.utils.checkpoint import noop_context_fn
    >>> first, second = noop_context_fn()
    """
    return contextlib.nullcontext(), contextlib.nullcontext()


def checkpoint(
    function: Callable,
    *args: Any,
    use_reentrant: bool | None = None,
    context_fn: Callable[[], tuple] = noop_context_fn,
    determinism_check: str = "default",
    debug: bool = False,
    early_stop: bool = True,
    **kwargs: Any,
) -> Any:
    """Run ``function(*args, **kwargs)`` without keeping its saved tensors; backward recomputes them.

    Parameters
    ----------
    function : callable
        It must do the same both times it is called.
    use_reentrant : bool
        False is recommended. True knows less: only ``backward()`` without ``inputs``, no keyword arguments, and
        gradients only if one of the tensors in ``args`` requires grad.
    context_fn : callable
        Gives two context managers, for the first and for the second run.
    determinism_check : {"default", "none"}
        Whether shape, dtype and device of what the second run saves are compared with the first's.
    debug : bool
        Errors about a second run that differs from the first show the ops of both.
    early_stop : bool
        Stop the second run as soon as all that backward needs is there.
    preserve_rng_state : bool
        Keyword; run the second time with the random state of the first. Default: True.

    Examples
    --------
    >>> import dualtape as dt
    >>> from dualtape.utils.checkpoint import checkpoint
    >>> x = dt.tensor([1.0, 2.0], requires_grad=True)
    >>> checkpoint(lambda t: (t * t).sin().sum(), x, use_reentrant=False).backward()
    >>> x.grad
    tensor([ 1.0806, -2.6146])
    """
    if use_reentrant is None:
        warn(
            "checkpoint: the use_reentrant parameter should be passed explicitly: use_reentrant=False is recommended;"
            " without it,"
            " True is used",
            UserWarning,
        )
        use_reentrant = True
    preserve = kwargs.pop("preserve_rng_state", True)
    if use_reentrant:
        if kwargs:
            raise ValueError(
                "Unexpected keyword arguments: " + ",".join(kwargs) + ": only use_reentrant=False passes them on"
            )
        if context_fn is not noop_context_fn or debug:
            raise ValueError("Passing `context_fn` or `debug` is only supported when use_reentrant=False.")
        return CheckpointFunction.apply(function, preserve, *args)
    if determinism_check not in ("default", "none"):
        raise ValueError(f"determinism_check should be one of ['default', 'none'], but got {determinism_check}")
    log = None
    if debug if _debug is None else _debug:
        if context_fn is not noop_context_fn:
            raise ValueError("debug=True is incompatible with non-default context_fn: leave out one of them")
        from .selective import Log

        log = Log()
        context_fn = log.contexts
    first, second = context_fn()
    if not modes.is_grad_enabled():
        return function(*args, **kwargs)
    early = early_stop if _early_stop is None else _early_stop
    frame = _Frame(function, args, kwargs, second, preserve, determinism_check == "default", early, log)
    with saved_tensors_hooks(frame.pack, frame.unpack), first:
        return function(*args, **kwargs)


def checkpoint_sequential(
    functions: Iterable[Callable], segments: int, input: object, use_reentrant: bool | None = None, **kwargs: object
) -> Any:
    """Run functions one after another, in ``segments`` checkpointed pieces; the last piece is not checkpointed.

    Examples
    --------
    >>> import dualtape as dt
    >>> from dualtape.utils.checkpoint import checkpoint_sequential
    >>> x = dt.tensor([0.5], requires_grad=True)
    >>> steps = [lambda t: t.sin(), lambda t: t.exp(), lambda t: t * 2]
    >>> checkpoint_sequential(steps, 2, x, use_reentrant=False).backward(); x.grad
    tensor([2.8348])
    """
    preserve = kwargs.pop("preserve_rng_state", True)
    if kwargs:
        raise ValueError("Unexpected keyword arguments: " + ",".join(kwargs))
    steps = list(functions)

    def piece(start: int, end: int) -> Callable:
        def run(value: object) -> Any:
            for step in steps[start:end]:
                value = step(value)
            return value

        return run

    size, end = len(steps) // segments, 0
    for start in range(0, size * (segments - 1), size):
        end = start + size
        input = checkpoint(piece(start, end), input, use_reentrant=use_reentrant, preserve_rng_state=preserve)
    return piece(end, len(steps))(input)


# --- the second run, when backward asks for what was saved ----------------------------------------


class _Place:
    """Placeholder in a node for a tensor that was not kept."""

    __slots__ = ("__weakref__",)


class _Stop(Exception):
    """Raised inside a recomputation when everything that backward needs has been computed."""


class _Inputs(Function):
    """The arguments of a checkpointed function, kept as a node keeps saved tensors: with versions, and packed by outer
    checkpoints.
    """

    @staticmethod
    def forward(ctx: Any, anchor: Tensor, *tensors: Tensor) -> Tensor:
        ctx.save_for_backward(*tensors)
        return wrap(anchor._array[:0])

    @staticmethod
    def backward(ctx: Any, *grads: object) -> Any:
        raise AssertionError("nothing leads through the keeper of a checkpoint's arguments")

    @staticmethod
    def jvp(ctx: Any, *tangents: object) -> None:
        return None


class _Frame:
    """One checkpointed call: how to run it again, and the placeholders that it left."""

    def __init__(
        self,
        function: Callable,
        args: tuple,
        kwargs: dict,
        context: AbstractContextManager,
        preserve: bool,
        check: bool,
        early: bool,
        log: object,
    ) -> None:
        self.function, self.kwargs, self.context, self.log = function, kwargs, context, log
        self.check, self.early = check, early
        self.casts = _casts()
        self.state = default_generator.get_state() if preserve else None
        self.places: list[weakref.ref[_Place]] = []
        self.metadata: list[tuple] = []
        self.batches: list[list[BatchLevel]] = []
        self.args = tuple(None if isinstance(a, Tensor) else a for a in args)
        self.tensor_places = [k for k, a in enumerate(args) if isinstance(a, Tensor)]
        self.levels = active(modes.current())
        self.tangents = [snapshot(args[k]) for k in self.tensor_places] if self.levels else []
        anchor = wrap(np.zeros(1, "f4"))
        anchor._requires_grad = True
        self.keeper = _Inputs.apply(anchor, *(args[k] for k in self.tensor_places))

    def pack(self, tensor: Tensor) -> _Place:
        place = _Place()
        self.places.append(weakref.ref(place))
        self.metadata.append(_metadata(tensor))
        self.batches.append(levels_of((tensor._array,)))
        return place

    def unpack(self, place: _Place) -> Tensor:
        from .engine import current_task

        group, task = _group.get(), current_task()
        known: Any = {}
        if group is not None:
            known = group.found
        elif task is not None:
            known = task.notes = {} if task.notes is None else task.notes
        found = known.get(self)
        if found is None:
            try:
                found = known[self] = self.run_again()
            except CheckpointError as error:
                if self.log is None:
                    error.add_note("Pass debug=True to checkpoint() to see which ops ran.")
                    raise
                raise CheckpointError(f"{error}\n{self.log}") from None
        if place not in found:
            raise CheckpointError(
                "checkpoint: the second run of the function did not give a tensor that the first had saved"
            )
        return found[place]

    def run_again(self) -> weakref.WeakKeyDictionary[_Place, Tensor]:
        """Run the function again and return the tensors that it saves, by position."""
        found: weakref.WeakKeyDictionary[_Place, Tensor] = weakref.WeakKeyDictionary()
        args: list = list(self.args)
        for k, tensor in zip(self.tensor_places, self.keeper.grad_fn.saved_tensors, strict=True):
            args[k] = tensor
        second: list[tuple] = []

        def pack(tensor: Tensor) -> Any:
            number = len(second)
            second.append(_metadata(tensor))
            if number >= len(self.places):
                raise CheckpointError(
                    "checkpoint: trying to save more tensors during recomputation than during the original forward"
                    " pass:"
                    f" there were {len(self.places)}"
                )
            place = self.places[number]()
            # what the function takes from outside comes back as it is, unless its history would be kept with it
            kept = same_values(tensor) if tensor.requires_grad else tensor
            if place is not None:
                found[place] = _as_before(kept, self.batches[number])
            if self.early and number + 1 == len(self.places):
                raise _Stop
            return kept

        with (
            _random_state(self.state),
            _casting_as(self.casts),
            modes.enable_grad(),
            saved_tensors_hooks(pack, lambda kept: kept),
            self.context,
            reopened(self.levels) as levels,
        ):
            for k, kept in zip(self.tensor_places, self.tangents, strict=False):
                args[k] = moved(args[k], kept, levels)
            with contextlib.suppress(_Stop):
                self.function(*args, **self.kwargs)
        self._compare(second)
        return found

    def _compare(self, second: list[tuple]) -> None:
        if len(second) != len(self.places):
            raise CheckpointError(
                "checkpoint: A different number of tensors was saved during the original forward and recomputation:"
                f" {len(self.places)} and {len(second)}. The function must do the same both times"
            )
        if self.check:
            for k, (a, b) in enumerate(zip(self.metadata, second, strict=True)):
                if a != b:
                    raise CheckpointError(
                        "checkpoint: Recomputed values for the following tensors have different metadata than during"
                        " the forward pass:"
                        f" tensor {k} was {_said(a)}, and is {_said(b)}. The function must do the same both times"
                    )


def _as_before(tensor: Tensor, levels: list[BatchLevel]) -> Tensor:
    """Return ``tensor`` as the first run saved it: batched by the levels of the first run where ``vmap`` inside ran
    again.
    """
    array = tensor._array
    if not levels or len(levels_of((array,))) != len(levels):
        return tensor
    before = alias(tensor)
    before._array = relabelled(array, levels)
    return before


def _metadata(tensor: Tensor) -> tuple:
    batches = tuple(level.size for level in levels_of((tensor._array,)))
    return (tuple(tensor._array.shape), tensor._array.dtype, str(tensor.device), batches)


def _said(metadata: tuple) -> str:
    shape, dtype, device, batches = metadata
    return f"{list(shape)} {dtype} on {device}" + f", batched by {list(batches)}" * bool(batches)


@contextlib.contextmanager
def _random_state(state: Tensor | None) -> Any:
    """Context that sets the default generator to ``state`` and restores it afterwards."""
    if state is None:
        yield
        return
    # What draws is exchanged, not its state: an interrupt comes before two assignments or after them.
    now = default_generator._bits, default_generator._seed
    try:
        default_generator.set_state(state)
        yield
    finally:
        default_generator._bits, default_generator._seed = now


class _casting_as(modes.ModeContext):
    """Context with the autocast settings of the first run, and no others."""

    fields = ("functions",)

    def __init__(self, casts: tuple) -> None:
        self.casts = casts

    def clone(self) -> _casting_as:
        return _casting_as(self.casts)

    def change(self, mode: modes.Mode) -> modes.Mode:
        others = tuple([entry for entry in mode.functions if not hasattr(entry, "for_second_run")])
        return mode.replace(functions=(*others, *[cast.for_second_run() for cast in self.casts]))


def _casts() -> tuple:
    """Return the autocast entries among the function modes."""
    return tuple([entry for entry in modes.current().functions if hasattr(entry, "for_second_run")])


# --- the second run as a backward of its own ------------------------------------------------------


class CheckpointFunction(Function):
    """The reentrant checkpoint: one node whose backward runs the function again."""

    @staticmethod
    def forward(ctx: Any, function: Callable, preserve: bool, *args: object) -> Any:
        tensors = [a for a in args if isinstance(a, Tensor)]
        if not any(t.requires_grad for t in tensors):
            warn("None of the inputs have requires_grad=True. Gradients will be None", UserWarning)
        ctx.function = function
        ctx.state = default_generator.get_state() if preserve else None
        ctx.casts = _casts()
        ctx.args = tuple(None if isinstance(a, Tensor) else a for a in args)
        ctx.places = [k for k, a in enumerate(args) if isinstance(a, Tensor)]
        ctx.save_for_backward(*tensors)
        return function(*args)

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        from .api import backward
        from .engine import current_task

        task = current_task()
        if task is not None and task.targets is not None:
            raise RuntimeError(
                "When use_reentrant=True, checkpoint is incompatible with .grad() or passing an `inputs` parameter to"
                " .backward(): set"
                " use_reentrant=False, or call .backward() without `inputs`"
            )
        args = list(ctx.args)
        for k, tensor in zip(ctx.places, ctx.saved_tensors, strict=True):
            detached = args[k] = tensor.detach()
            detached.requires_grad_(tensor.requires_grad)
        with _random_state(ctx.state), _casting_as(ctx.casts), modes.enable_grad():
            outputs = ctx.function(*args)
        pairs = [
            (output, grad)
            for output, grad in zip(outputs if isinstance(outputs, tuple) else (outputs,), grads, strict=True)
            if isinstance(output, Tensor) and output.requires_grad
        ]
        if not pairs:
            raise RuntimeError("none of output has requires_grad=True, this checkpoint() is not necessary")
        backward([output for output, _ in pairs], [grad for _, grad in pairs])
        return None, None, *(a._grad if isinstance(a, Tensor) else None for a in args)
