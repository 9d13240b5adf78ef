"""``autograd.Function``: operations with a derivative of the user's own.

``apply`` runs ``forward`` without recording, then leaves one node (the context itself) that calls ``backward``. Arguments may be
given by keyword, and tensors may sit in nested lists, tuples and dicts, in arguments and results.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from .. import modes
from ..tensor import Tensor, alias, wrap
from . import saved as saving
from .node import Freed, Node, check_not_freed, edge_of, next_sequence
from .versions import bump, caller
from .views import IN_CUSTOM_FUNCTION, Step, View, attach, check_write, rebase

__all__ = ["Function", "FunctionCtx", "once_differentiable"]


class FunctionCtx(Node):
    """The context of one call of a Function: what ``forward`` leaves for ``backward``; also the node in the graph."""

    __slots__ = (
        "__dict__", "cls", "_to_save", "_saved_names", "_to_save_forward", "_dirty", "_non_differentiable", "_materialize",
        "needs_input_grad", "_structure", "_recorded",
    )  # fmt: skip

    cls: type
    needs_input_grad: tuple

    def __init__(self) -> None:
        self._to_save: tuple | None = None
        self._to_save_forward: tuple | None = None
        self._dirty: tuple = ()
        self._non_differentiable: tuple = ()
        self._materialize = True
        self.needs_input_grad = ()
        self.edges = ()
        self.outputs = ()
        self.saved = ()
        self.extra = None
        self.seq = -1
        self._recorded = False

    # --- what forward and setup_context call --------------------------------------------------------------------------------

    def save_for_backward(self, *tensors: Tensor | None) -> None:
        """Keep tensors (arguments, results or others) for backward: ``ctx.saved_tensors`` there."""
        for tensor in tensors:
            if tensor is not None and not isinstance(tensor, Tensor):
                raise TypeError(
                    f"save_for_backward can only save variables, but got {type(tensor).__name__}; keep other values as attributes"
                    " of ctx"
                )
        self._to_save = tensors

    def save_for_forward(self, *tensors: Tensor | None) -> None:
        """Keep tensors for ``jvp``: ``ctx.saved_tensors`` there."""
        self._to_save_forward = tensors

    def mark_dirty(self, *args: Tensor) -> None:
        """Say which arguments ``forward`` has written in place; they must be among its results."""
        self._dirty = args

    def mark_non_differentiable(self, *args: Tensor) -> None:
        """Say which results have no gradient."""
        self._non_differentiable = args

    def set_materialize_grads(self, value: bool) -> None:
        """Whether undefined gradients reach ``backward`` as zeros (the default) or as None."""
        self._materialize = bool(value)

    # --- what backward reads ---------------------------------------------------------------------------------------------------

    @property
    def saved_tensors(self) -> tuple:
        """The tensors kept by :meth:`save_for_backward`."""
        if not self._recorded:
            return tuple(self._to_save or self._to_save_forward or ())
        if type(self.saved) is Freed:
            check_not_freed(self)
        return tuple(
            None if entry is None else saving.unpack(entry[0], self, f"saved_tensors[{i}]", entry[1], entry[2])
            for i, entry in enumerate(self.saved)
        )

    @property
    def _raw_saved_tensors(self) -> tuple:
        if type(self.saved) is Freed:
            check_not_freed(self)
        places = []
        for entry, is_output, number in self.saved:
            if type(entry) is tuple:
                entry = saving.SavedVariable(entry, self, entry[0] if is_output else None, number)
            places.append((entry, is_output, number))
        self.saved = tuple(places)
        return tuple(p[0] for p in places)

    def name(self) -> str:
        return f"{self.cls.__name__}Backward"

    # --- the node's part -----------------------------------------------------------------------------------------------------------

    def apply(self, grads: list, record: bool) -> Any:  # type: ignore[override]
        shown: list = []
        for grad, (shape, dtype) in zip(grads, self.outputs, strict=True):
            if grad is None:
                shown.append(wrap(np.zeros(shape, dtype)) if self._materialize else None)
            else:
                shown.append(grad if record else wrap(grad))
        backward = self.cls.backward if self.cls.backward is not Function.backward else self.cls.vjp  # type: ignore[attr-defined]
        if backward is Function.vjp:
            raise NotImplementedError(
                f"{self.cls.__name__} has no backward: implement the static method backward(ctx, *grad_outputs) to differentiate it"
            )
        results = backward(self, *_repacked(self._structure[1], shown))
        return self._arranged(results, record)

    def _arranged(self, results: Any, record: bool) -> list:
        """The gradients that backward returned, one for each edge."""
        given = self._structure[0]
        if not isinstance(results, tuple):
            results = tuple(results) if isinstance(results, list) and len(given) != 1 else (results,)
        if len(results) > len(given) and all(r is None for r in results[len(given) :]):
            results = results[: len(given)]
        if len(results) != len(given):
            raise RuntimeError(
                f"function {self.name()} returned an incorrect number of gradients (expected {len(given)}, got {len(results)}):"
                " one for each argument of forward, None for those that are not tensors"
            )
        arranged: list = []
        for i, (argument, result) in enumerate(zip(given, results, strict=True)):
            leaves = _leaves(argument)
            if len(leaves) == 1 and argument is leaves[0]:
                grads = [result]
            elif result is None:
                grads = [None] * len(leaves)
            else:
                grads = _leaves(result)
                if len(grads) != len(leaves):
                    raise RuntimeError(
                        f"function {self.name()}: the gradient of argument {i} must be nested as the argument is"
                        f" ({len(leaves)} entries, got {len(grads)})"
                    )
            for leaf, one in zip(leaves, grads, strict=True):
                if leaf is not _TENSOR:
                    if one is not None:
                        raise RuntimeError(
                            f"function {self.name()} returned a gradient different than None at position {i + 1}, but the"
                            " corresponding forward input was not a Variable"
                        )
                    continue
                if one is not None and not isinstance(one, Tensor):
                    raise RuntimeError(
                        f"function {self.name()}: expected Variable or None (got {type(one).__name__}) as the gradient of"
                        f" argument {i}; wrap it with dualtape.tensor(...)"
                    )
                arranged.append(one if one is None or record else one._array)
        return arranged

    def release(self, task: Any) -> None:
        if self.saved and type(self.saved) is not Freed:
            self.saved = task.freed or task.free()


class _Marker:
    __slots__ = ()

    def __repr__(self) -> str:
        return "<tensor>"


_TENSOR = _Marker()  # stands where a tensor was, in the remembered structure of arguments and results


def _leaves(value: Any) -> list:
    """The leaves of nested lists, tuples and dicts, in order."""
    if isinstance(value, (list, tuple)):
        return [leaf for item in value for leaf in _leaves(item)]
    if isinstance(value, dict):
        return [leaf for item in value.values() for leaf in _leaves(item)]
    return [value]


def _mapped(value: Any, function: Callable) -> Any:
    """The same nesting with ``function`` applied to the leaves."""
    if type(value) in (list, tuple):
        return type(value)(_mapped(item, function) for item in value)
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return type(value)(*(_mapped(item, function) for item in value))
    if isinstance(value, dict):
        return type(value)((key, _mapped(item, function)) for key, item in value.items())
    return function(value)


def _repacked(structure: Any, leaves: list) -> tuple:
    """Gradients of the results, nested as ``forward`` returned them; a plain tuple of results stays flat."""
    rest = iter(leaves)
    filled = _mapped(structure, lambda leaf: next(rest) if leaf is _TENSOR else None)
    return filled if isinstance(filled, tuple) else (filled,)


class Function:
    """Base of operations with a derivative of their own.

    A subclass defines static methods: ``forward(ctx, *args)``, or ``forward(*args)`` with ``setup_context(ctx, inputs,
    output)``; ``backward(ctx, *grad_outputs)`` (or ``vjp``), which returns one gradient for each argument of forward; and,
    if forward mode is wanted, ``jvp(ctx, *tangents)``. It is called through :meth:`apply`.

    Examples
    --------
    >>> import dualtape as dt
    >>> class Cube(dt.autograd.Function):
    ...     @staticmethod
    ...     def forward(ctx, x):
    ...         ctx.save_for_backward(x)
    ...         return x ** 3
    ...     @staticmethod
    ...     def backward(ctx, g):
    ...         (x,) = ctx.saved_tensors
    ...         return g * 3 * x ** 2
    >>> x = dt.tensor(2.0, requires_grad=True)
    >>> Cube.apply(x).backward(); x.grad
    tensor(12.)
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        raise RuntimeError(
            f"{type(self).__name__} should not be instantiated: Legacy autograd function with non-static forward method is not"
            f" supported. Make forward and backward static methods and call {type(self).__name__}.apply(...)"
        )

    @staticmethod
    def forward(*args: Any, **kwargs: Any) -> Any:
        """Compute the result; ``forward(ctx, *args)``, or ``forward(*args)`` if there is a ``setup_context``."""
        raise NotImplementedError("You must implement the forward function for custom autograd.Function.")

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple, output: Any) -> Any:
        """Keep what backward needs, when ``forward`` takes no ctx."""
        raise NotImplementedError("setup_context is not implemented.")

    @staticmethod
    def backward(ctx: Any, *grad_outputs: Any) -> Any:
        """The gradients of the arguments, given those of the results."""
        raise NotImplementedError("You must implement either the backward or vjp method for your custom autograd.Function.")

    @staticmethod
    def vjp(ctx: Any, *grad_outputs: Any) -> Any:
        """Another name for :meth:`backward`."""
        raise NotImplementedError("You must implement either the backward or vjp method for your custom autograd.Function.")

    @staticmethod
    def jvp(ctx: Any, *grad_inputs: Any) -> Any:
        """The tangents of the results, given those of the arguments."""
        raise NotImplementedError("You must implement the jvp function for custom autograd.Function to use it with forward mode AD.")

    @classmethod
    def apply(cls, *args: Any, **kwargs: Any) -> Any:
        """Run the operation and record it."""
        if kwargs:
            args = _by_position(cls, args, kwargs)
        ctx = FunctionCtx()
        ctx.cls = cls
        tensors = [leaf for leaf in _leaves(args) if isinstance(leaf, Tensor)]
        recording = modes.current().grad and any(t.requires_grad for t in tensors)
        ctx.needs_input_grad = tuple(
            leaf.requires_grad if isinstance(leaf, Tensor) else _nested_needs(leaf) for leaf in args
        )
        edges = tuple(edge_of(t) for t in tensors)
        versions = [t._counter[0] for t in tensors]
        separate = cls.setup_context is not Function.setup_context
        with modes.no_grad():
            output = cls.forward(*args) if separate else cls.forward(ctx, *args)
            if separate:
                cls.setup_context(ctx, args, output)
        return _Wrapping(ctx, args, tensors, edges, versions, recording).result(output)


def _nested_needs(value: Any) -> Any:
    if isinstance(value, (list, tuple, dict)):
        return _mapped(value, lambda leaf: isinstance(leaf, Tensor) and leaf.requires_grad)
    return False


def _by_position(cls: type, args: tuple, kwargs: dict) -> tuple:
    """Keyword arguments in the order of ``forward``'s parameters."""
    import inspect

    parameters = list(inspect.signature(cls.forward).parameters.values())  # type: ignore[attr-defined]
    if cls.setup_context is Function.setup_context:  # type: ignore[attr-defined]
        parameters = parameters[1:]
    bound = inspect.Signature(parameters).bind(*args, **kwargs)
    bound.apply_defaults()
    if bound.kwargs:
        raise TypeError(
            f"{cls.__name__}.apply: keyword-only parameters ({', '.join(bound.kwargs)}) have no place among the gradients: make them"
            " ordinary parameters of forward"
        )
    return bound.args


class _Wrapping:
    """The second half of ``apply``: from forward's results to recorded tensors."""

    __slots__ = ("ctx", "args", "tensors", "edges", "versions", "recording", "seen", "numbers")

    def __init__(self, ctx: FunctionCtx, args: tuple, tensors: list, edges: tuple, versions: list, recording: bool) -> None:
        self.ctx, self.args, self.tensors, self.edges = ctx, args, tensors, edges
        self.versions, self.recording = versions, recording
        self.numbers: list = []

    def result(self, output: Any) -> Any:
        ctx = self.ctx
        leaves = _leaves(output)
        dirty = {id(t) for t in ctx._dirty}
        for tensor in ctx._dirty:
            if not any(tensor is leaf for leaf in leaves):
                raise RuntimeError(
                    f"{ctx.cls.__name__}: some elements marked as dirty during the forward method were not returned as output. The"
                    " inputs that are modified inplace must all be outputs of the Function"
                )
            if not any(tensor is t for t in self.tensors):
                raise RuntimeError(f"{ctx.cls.__name__}: mark_dirty takes arguments of forward, and one of its was none")
            check_write(tensor, ctx.name(), self.recording)
        ctx._structure = (  # type: ignore[attr-defined]
            tuple(_mapped(a, lambda leaf: _TENSOR if isinstance(leaf, Tensor) else leaf) for a in self.args),
            _mapped(output, lambda leaf: _TENSOR if isinstance(leaf, Tensor) else None),
        )
        if self.recording:
            ctx.edges = self.edges
            ctx.seq = next_sequence()
            anomaly = modes.current().anomaly
            if anomaly:
                anomaly.remember(ctx)
            ctx.outputs = tuple(
                (leaf._array.shape, leaf._array.dtype) for leaf in leaves if isinstance(leaf, Tensor)
            )
        originals = [leaf for leaf in leaves if isinstance(leaf, Tensor)]
        wrapped: dict[int, Tensor] = {}
        made = []
        for number, leaf in enumerate(originals):
            if id(leaf) not in wrapped:
                wrapped[id(leaf)] = self._one(leaf, number, id(leaf) in dirty)
            made.append(wrapped[id(leaf)])
        if self.recording:
            self._save(originals, made)
        rest = iter(made)
        return _mapped(output, lambda leaf: next(rest) if isinstance(leaf, Tensor) else leaf)

    def _one(self, leaf: Tensor, number: int, dirty: bool) -> Tensor:
        ctx = self.ctx
        plain = any(leaf is t for t in ctx._non_differentiable) or leaf._array.dtype.kind not in "fc"
        is_input = any(leaf is t for t in self.tensors)
        if dirty:
            i = next(k for k, t in enumerate(self.tensors) if t is leaf)
            if leaf._counter[0] == self.versions[i]:
                bump(leaf._counter)
            if self.recording and not plain:
                if leaf._view is not None:
                    rebase(leaf, ctx)
                else:
                    leaf._edge, leaf._requires_grad = (ctx, number), True
            return leaf
        if is_input:
            leaf = _as_view(leaf)
        elif leaf._view is not None and any(leaf._view.base is t or leaf._view.base is t._base for t in self.tensors):
            leaf._view.creation = IN_CUSTOM_FUNCTION if self.recording else leaf._view.creation
        if not self.recording or plain:
            if plain and leaf._edge is None:
                leaf._requires_grad = False
            return leaf
        if leaf._edge is not None or leaf._requires_grad:
            leaf = alias(leaf)
        leaf._edge, leaf._requires_grad = (ctx, number), True
        if leaf._view is not None:
            leaf._view.seen = leaf._counter[0]
        return leaf

    def _save(self, originals: list, made: list) -> None:
        ctx = self.ctx
        kept: list = []
        for tensor in ctx._to_save or ():
            if tensor is None:
                kept.append(None)
                continue
            number = next((k for k, o in enumerate(originals) if o is tensor), None)
            is_input = any(tensor is t for t in self.tensors)
            if number is not None and not (is_input and made[number] is not tensor):
                kept.append((saving.save_output(made[number], ctx, number), True, number))
            else:
                kept.append((saving.save(tensor), False, 0))
        ctx.saved = tuple(kept)
        ctx._to_save = None
        ctx._recorded = True


def _as_view(tensor: Tensor) -> Tensor:
    """An argument returned as it is: a new tensor, a view of the argument."""
    from ..ops.table import TABLE

    new = alias(tensor)
    mode = modes.current()
    attach(new, tensor, Step(None, TABLE["alias"], (), None), mode)
    assert isinstance(new._view, View)
    new._view.creation = IN_CUSTOM_FUNCTION
    return new


def once_differentiable(fn: Callable) -> Callable:
    """Decorator for a ``backward`` that cannot itself be differentiated: trying to raises.

    Examples
    --------
    >>> import dualtape as dt
    >>> class Exp(dt.autograd.Function):
    ...     @staticmethod
    ...     def forward(ctx, x):
    ...         ctx.out = np.exp(x.numpy()); return dt.from_numpy(ctx.out)
    ...     @staticmethod
    ...     @dt.autograd.function.once_differentiable
    ...     def backward(ctx, g):
    ...         return dt.from_numpy(g.numpy() * ctx.out)
    >>> x = dt.tensor([0.0], requires_grad=True)
    >>> Exp.apply(x).sum().backward(); x.grad
    tensor([1.])
    """

    @functools.wraps(fn)
    def wrapper(ctx: Any, *args: Any) -> Any:
        with modes.no_grad():
            outputs = fn(ctx, *args)
        if not modes.current().grad or not any(isinstance(a, Tensor) and a.requires_grad for a in args):
            return outputs
        wrapped = outputs if isinstance(outputs, tuple) else (outputs,)
        barred = tuple(_barred(o, args) if isinstance(o, Tensor) else o for o in wrapped)
        return barred if isinstance(outputs, tuple) else barred[0]

    return wrapper


class _Error(Node):
    """The history of what a once-differentiable backward returned."""

    __slots__ = ()

    def apply(self, grads: list, record: bool) -> Any:
        raise RuntimeError("trying to differentiate twice a function that was marked with @once_differentiable")

    def name(self) -> str:
        return "Error"


def _barred(tensor: Tensor, args: tuple) -> Tensor:
    new = alias(tensor)
    node = _Error()
    node.edges = tuple(edge_of(a) for a in args if isinstance(a, Tensor))
    node.outputs = ((new._array.shape, new._array.dtype),)
    node.saved, node.extra, node.seq = (), None, next_sequence()
    new._edge, new._requires_grad = (node, 0), True
    return new


