"""``autograd.Function``: user-defined operations with their own derivatives.

``apply`` runs ``forward`` without recording, then leaves one node (the context itself) that calls ``backward``.
Arguments may be given by keyword, and tensors may sit in nested lists, tuples and dicts, in arguments and results.
"""

from __future__ import annotations

from collections.abc import Callable
from types import FunctionType
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import errors, modes
from .._listing import listing
from .._tensor.tensor import Tensor, alias, wrap
from ..errors import warn
from ..overrides.active_overrides import active_overrides, numpy_kind
from . import function_batching
from . import saved as saving
from .function_once import once_differentiable
from .node import Freed, Node, check_not_freed, edge_of, next_sequence
from .other_gradients import raw_gradient, shown_gradient
from .tangents import active, tangent
from .versions import bump_after
from .views import IN_CUSTOM_FUNCTION, NO_GRAD, attach, check_write, rebase

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from .._typing import Edge, Gradient, Gradients, Wanted
    from .engine import GraphTask

__all__ = ["Function", "FunctionCtx", "once_differentiable"]


class FunctionCtx(Node):
    """The context of one call of a Function: it passes values from ``forward`` to ``backward``, and is the node of the
    graph.
    """

    __slots__ = (
        "__dict__",
        "_to_save",
        "_to_save_forward",
        "_dirty",
        "_non_differentiable",
        "_materialize",
        "needs_input_grad",
        "_arguments",
        "_results",
        "_recorded",
        "_sparse_zeros",
    )

    _selective = False
    # The Function; each has a subclass of its own as the class of its nodes.
    _cls: Any
    needs_input_grad: tuple
    _arguments: tuple  # how the arguments were nested, _TENSOR where a tensor was
    _results: Any  # the same for the results
    # For each result of a sparse layout, zeros of that layout; unset if there is none.
    _sparse_zeros: dict[int, Tensor]

    def __init__(self) -> None:
        self._to_save: tuple | None = None
        self._to_save_forward: tuple | None = None
        self._dirty: tuple = ()
        self._non_differentiable: tuple = ()
        self._materialize = True
        self.needs_input_grad = ()
        self._edges = ()
        self._outputs = ()
        self._saved = ()
        self._extra = None
        self._seq = -1
        self._recorded = False

    # --- what forward and setup_context call ------------------------------------------------------

    def save_for_backward(self, *tensors: Tensor | None) -> None:
        """Save tensors (arguments, results or others) for backward, which reads ``ctx.saved_tensors``."""
        for k, tensor in enumerate(tensors):
            if tensor is not None and not isinstance(tensor, Tensor):
                raise TypeError(
                    f"save_for_backward can only save variables, but argument {k} is of type {type(tensor).__name__};"
                    " keep other values as attributes of ctx"
                )
        self._to_save = tensors

    def save_for_forward(self, *tensors: Tensor | None) -> None:
        """Save tensors for ``jvp``, which reads ``ctx.saved_tensors``."""
        for k, value in enumerate(tensors):
            if value is not None and not isinstance(value, Tensor):
                raise TypeError(
                    f"save_for_forward can only save tensors, but argument {k} is of type {type(value).__name__}; keep"
                    " other values as attributes of ctx"
                )
        self._to_save_forward = tensors

    def mark_dirty(self, *args: Tensor) -> None:
        """Declare the arguments that ``forward`` wrote in place; it must return them."""
        self._dirty = _only_tensors("mark_dirty", args)

    def mark_non_differentiable(self, *args: Tensor) -> None:
        """Declare results that have no gradient."""
        self._non_differentiable = _only_tensors("mark_non_differentiable", args)

    def set_materialize_grads(self, value: bool) -> None:
        """Whether undefined gradients reach ``backward`` as zeros (the default) or as None."""
        if not isinstance(value, bool):
            raise TypeError(f"set_materialize_grads takes a bool, got {type(value).__name__}")
        self._materialize = value

    # --- what backward reads ----------------------------------------------------------------------

    @property
    def saved_tensors(self) -> tuple:
        """The tensors saved by :meth:`save_for_backward`."""
        if self._to_save_forward is not None:  # until jvp has run
            return tuple(self._to_save_forward)
        if not self._recorded:
            return tuple(self._to_save or ())
        found: list = []
        for i, place in enumerate(self._check_saved()):
            entry, is_output, number = place or (None, False, 0)
            if entry is None:
                found.append(None)
            elif type(entry) is Tensor and (entry._version_counter is None or not entry._version_counter[0]):
                found.append(entry)
            else:
                found.append(saving.unpack(entry, self, f"saved_tensors[{i}]", is_output, number))
        if self._cls.clear_saved_tensors_on_access:
            self._saved = _GIVEN_AWAY
        return tuple(found)

    def _check_saved(self) -> tuple:
        saved = check_not_freed(self)
        if saved is _GIVEN_AWAY:
            raise RuntimeError(
                f"{self._cls.__name__}: saved_tensors can only be accessed once when clear_saved_tensors_on_access=True"
                " is set on the autograd.Function: keep what the first access gave, or set it to False"
            )
        return saved

    @property
    def _raw_saved_tensors(self) -> tuple:
        places = []
        for place in self._check_saved():
            entry, is_output, number = place or (None, False, 0)
            if type(entry) is not saving.SavedVariable:
                entry = saving.SavedVariable(entry, is_output, number, self)
            places.append((entry, is_output, number))
        raws = tuple(place[0] for place in places)
        self._saved = tuple(None if raw.is_none() else place for place, raw in zip(places, raws, strict=True))
        return raws

    def name(self) -> str:
        return f"{self._cls.__name__}Backward"

    # --- the node's part --------------------------------------------------------------------------

    def _pull_general(self, grads: list, record: bool, wanted: Wanted = None) -> Any:
        return self._pulled(grads, record, self._edges)

    def _vjp(self, g: Gradient | Gradients, wanted: Wanted, freed: Freed | None) -> Any:
        """Return pairs of edge and gradient on NumPy's arrays: the fast path for a Function with one result."""
        cls = self._cls
        if self._results is not _TENSOR or type(g) is not np.ndarray or cls.vjp is not Function.vjp or _boxed(cls):
            return None
        grads = self._arranged(cls.backward(self, wrap(g)), False, iter(self._edges))
        if freed is not None and self._saved:
            self._saved = freed
        return [
            (edge, grad)
            for edge, grad in zip(self._edges, grads, strict=True)
            if edge is not None and (wanted is None or edge[0] in wanted)
        ]

    def _pulled(self, grads: list, record: bool, edges: Iterable[Edge | None]) -> list:
        """Return the gradients for ``edges`` that ``backward`` computes from ``grads``."""
        cls = self._cls
        if cls.vjp is not Function.vjp and cls.backward is not Function.backward:
            raise RuntimeError(
                f"Implementing both 'backward' and 'vjp' for a custom Function is not allowed: {cls.__name__} has both,"
                " and they are two"
                " names for one thing"
            )
        rest = iter(enumerate(zip(grads, self._outputs, strict=True)))

        def shown(leaf: object) -> Tensor | None:
            k, (grad, (shape, dtype)) = next(rest)
            if leaf is not _TENSOR:
                return None
            if grad is None:
                return self._zeros(k, shape, dtype) if self._materialize else None
            return grad if record else shown_gradient(grad)

        filled = shown(_TENSOR) if self._results is _TENSOR else _mapped(self._results, shown)
        given: Any = filled if isinstance(filled, tuple) else (filled,)
        if _boxed(cls):
            given = (list(given),)
            filled = rest = None  # type: ignore[assignment]
            if modes.current().anomaly is None and (self._extra is None or not self._extra.post_hooks):
                # Nothing else reads the gradients: they are freed as soon as backward drops them.
                grads.clear()
        backward = cls.vjp if cls.backward is Function.backward else cls.backward
        return self._arranged(backward(self, *given), record, iter(edges))

    def _zeros(self, k: int, shape: tuple, dtype: np.dtype) -> Tensor:
        """Return zeros in place of a missing gradient of result ``k``."""
        sparse = getattr(self, "_sparse_zeros", {}).get(k)
        return wrap(np.zeros(shape, dtype)) if sparse is None else sparse

    def _arranged(self, results: Any, record: bool, edges: Iterator[Edge | None]) -> list:
        """Return the gradients that backward returned, one for each edge."""
        given = self._arguments
        if not isinstance(results, tuple):
            results = (results,)
        if len(given) == 1 and len(results) == 1 and given[0] is _TENSOR:
            return [self._checked(results[0], next(edges), 0, record)]
        if len(results) > len(given) and all(r is None for r in results[len(given) :]):
            results = results[: len(given)]
        if len(results) != len(given):
            raise RuntimeError(
                f"function {self._title()} returned an incorrect number of gradients (expected {len(given)}, got"
                f" {len(results)}):"
                " a tuple with one for each argument of forward, None for those that are not tensors"
            )
        arranged: list = []
        for i, (argument, result) in enumerate(zip(given, results, strict=True)):
            if argument is _TENSOR:
                arranged.append(self._checked(result, next(edges), i, record))
                continue
            leaves = _leaves(argument)
            if argument is None:
                grads = [result]
            elif result is None:
                grads = [None] * len(leaves)
            else:
                grads = _leaves(result)
                if len(grads) != len(leaves):
                    raise RuntimeError(
                        f"function {self._title()}: the gradient of argument {i} must be nested as the argument is"
                        f" ({len(leaves)} entries, got {len(grads)})"
                    )
            for leaf, one in zip(leaves, grads, strict=True):
                if leaf is _TENSOR:
                    arranged.append(self._checked(one, next(edges), i, record))
                elif one is not None:
                    raise RuntimeError(
                        f"function {self._title()} returned a gradient different than None at position {i + 1}, but the"
                        " corresponding forward input was not a Variable"
                    )
        return arranged

    def _checked(self, grad: object, edge: tuple | None, i: int, record: bool) -> Any:
        """Return one gradient from backward, checked and in the form that the engine takes."""
        if grad is None:
            return None
        if not isinstance(grad, Tensor):
            raise RuntimeError(
                f"function {self._title()}: expected Variable or None (got {type(grad).__name__}) as the gradient of"
                f" argument {i}; wrap it with dualtape.tensor(...)"
            )
        if edge is None:
            return None
        if grad._array.dtype.kind == "c" and edge[0]._outputs[edge[1]][1].kind != "c":
            raise RuntimeError(
                f"function {self._title()} returned a complex gradient for the real argument {i}: return its real part"
            )
        return grad if record else raw_gradient(grad)

    def _release(self, task: GraphTask) -> None:
        if self._saved and type(self._saved) is not Freed:
            self._saved = task.freed or task.free()


class _Marker:
    __slots__ = ()

    def __repr__(self) -> str:
        return "<tensor>"


# Stands for a tensor in the remembered structure of arguments and results.
_TENSOR = _Marker()
# Replaces saved tensors that were given away: only who read them still holds them.
_GIVEN_AWAY = ((None, False, 0),)
# The shape and dtype of an output that is no tensor; it never gets a gradient.
_NO_TENSOR = ((), np.dtype("f4"))


_NO_BACKWARD = (
    "You must implement either the backward or vjp method for your custom autograd.Function to use it with backward"
    " mode AD."
)


def _boxed(cls: Any) -> bool:
    boxed = cls.boxed_grads_call
    if type(boxed) is not bool:
        raise RuntimeError(f"boxed_grads_call must be a bool, got {type(boxed).__name__}")
    return boxed


def _only_tensors(name: str, args: tuple) -> tuple:
    for k, value in enumerate(args):
        if not isinstance(value, Tensor):
            rule = "can only accept variables" if name == "mark_dirty" else "only accepts variable arguments"
            raise RuntimeError(f"{name} {rule}, but argument {k} is of type {type(value).__name__}")
    return args


def _holds(value: object, looked_for: Callable[[Any], bool]) -> bool:
    if isinstance(value, (list, tuple)):
        return any(_holds(item, looked_for) for item in value)
    if isinstance(value, dict):
        return any(_holds(item, looked_for) for item in value.values())
    return looked_for(value)


def _is_tensor(value: object) -> bool:
    return isinstance(value, Tensor) or value is _TENSOR


def _leaves(value: object) -> list:
    """Return the leaves of nested lists, tuples and dicts in order; a container below the top that holds no tensor is
    one leaf.
    """
    if not isinstance(value, (list, tuple, dict)):
        return [value]
    found: list = []
    for item in value.values() if isinstance(value, dict) else value:
        found.extend(_leaves(item) if _holds(item, _is_tensor) else [item])
    return found


def _mapped(value: object, function: Callable) -> Any:
    """Return the same nesting with ``function`` applied to the leaves of :func:`_leaves`."""
    inner = lambda item: _mapped(item, function) if _holds(item, _is_tensor) else function(item)
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return type(value)(*(inner(item) for item in value))
    if isinstance(value, (list, tuple)):
        return (list if isinstance(value, list) else tuple)(inner(item) for item in value)
    if isinstance(value, dict):
        return {key: inner(item) for key, item in value.items()}
    return function(value)


class Function:
    """Base class of user-defined operations with derivatives.

    A subclass defines static methods: ``forward(ctx, *args)``, or ``forward(*args)`` with ``setup_context(ctx, inputs,
    output)``; ``backward(ctx, *grad_outputs)`` (or ``vjp``), which returns one gradient for each argument of
    forward; and, if forward mode is wanted, ``jvp(ctx, *tangents)``. It is called through :meth:`apply`.

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

    generate_vmap_rule = False
    # Whether backward gets its gradients as one list, to which nothing else holds a reference.
    boxed_grads_call = False
    # Whether ctx.saved_tensors gives its tensors away, so that it can be read once.
    clear_saved_tensors_on_access = False
    _backward_cls: type[FunctionCtx]

    def __init_subclass__(cls, **kwargs: object) -> None:
        super().__init_subclass__(**kwargs)
        cls._backward_cls = type(f"{cls.__name__}Backward", (FunctionCtx,), {"__slots__": (), "_cls": cls})

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        raise RuntimeError(
            f"{type(self).__name__} should not be instantiated: Legacy autograd function with non-static forward method"
            " is not"
            f" supported. Make forward and backward static methods and call {type(self).__name__}.apply(...)"
        )

    @staticmethod
    def forward(*args: Any, **kwargs: Any) -> Any:
        """Compute the result; ``forward(ctx, *args)``, or ``forward(*args)`` if there is a ``setup_context``."""
        raise NotImplementedError("You must implement the forward function for custom autograd.Function.")

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple, output: Any) -> Any:
        """Save values for backward; called after a ``forward`` that takes no ctx."""
        raise NotImplementedError("setup_context is not implemented.")

    # To checkers any parameters will do in a class that overrides these: hence Any for arguments and results.
    if TYPE_CHECKING:

        @staticmethod
        def backward(ctx: Any, *args: Any, **kwargs: Any) -> Any:
            """The gradients of the arguments, given those of the results."""

        @staticmethod
        def vjp(ctx: Any, *args: Any, **kwargs: Any) -> Any:
            """Another name for :meth:`backward`."""

        @staticmethod
        def jvp(ctx: Any, *args: Any, **kwargs: Any) -> Any:
            """The tangents of the results, given those of the arguments."""

    else:

        @staticmethod
        def backward(ctx, *grad_outputs):
            """The gradients of the arguments, given those of the results."""
            raise NotImplementedError(_NO_BACKWARD)

        @staticmethod
        def vjp(ctx, *grad_outputs):
            """Another name for :meth:`backward`."""
            raise NotImplementedError(_NO_BACKWARD)

        @staticmethod
        def jvp(ctx, *grad_inputs):
            """The tangents of the results, given those of the arguments."""
            raise NotImplementedError(
                "You must implement the jvp function for custom autograd.Function to use it with forward mode AD."
            )

    @staticmethod
    def vmap(info: Any, in_dims: tuple, *args: Any) -> Any:
        """The results for a whole batch, and the dimension of the batch in each."""
        raise NotImplementedError(
            "To use autograd.Function with vmap, implement its vmap staticmethod or set generate_vmap_rule=True."
        )

    @classmethod
    def apply(cls, *args: Any, **kwargs: Any) -> Any:
        """Run the operation and record it."""
        if numpy_kind:
            args, kwargs = numpy_kind[0](args, kwargs)
        if kwargs:
            args = _by_position(cls, args, kwargs)
        elif cls.setup_context is not Function.setup_context:
            args = _completed(cls, args)
        mode = modes.current()
        if not mode.levels and not mode.inference and mode.anomaly is None:
            tensors = [leaf for leaf in args if isinstance(leaf, Tensor)]
            if all([type(t._array) is np.ndarray for t in tensors]) and not any(
                [isinstance(a, (list, tuple, dict)) for a in args]
            ):
                return _flat(cls, args, tensors, mode)
        ctx = cls._backward_cls()
        tensors = [leaf for leaf in _leaves(args) if isinstance(leaf, Tensor)]
        batches = () if all(type(t._array) is np.ndarray for t in tensors) else function_batching.levels(tensors)
        given = tensors
        if batches:
            args = function_batching.lifted(args, batches, _mapped)
            tensors = [leaf for leaf in _leaves(args) if isinstance(leaf, Tensor)]
        recording = modes.current().grad and any(t.requires_grad for t in tensors)
        levels = () if not modes.current().levels else _moving_levels(tensors)
        needs = (
            (lambda t: t.requires_grad)
            if not levels or cls.jvp is not Function.jvp
            else (lambda t: t._array.dtype.kind in "fc")
        )
        ctx.needs_input_grad = tuple(needs(leaf) if isinstance(leaf, Tensor) else _nested_needs(leaf) for leaf in args)
        edges = tuple(edge_of(t) for t in tensors) if recording else ()
        separate = cls.setup_context is not Function.setup_context
        with _silent():
            if batches and function_batching.rule_of(cls, Function):
                output = function_batching.forward(cls, args, batches[-1])
            else:
                output = cls.forward(*args) if separate else cls.forward(ctx, *args)
            if separate:
                cls.setup_context(ctx, args, output)
        if tensors is not given and any(
            old is not new and any(new is d for d in ctx._dirty) for old, new in zip(given, tensors, strict=True)
        ):
            # what was lifted is another tensor: the write would not be in the history of the first
            raise errors.batched_write(cls.__name__)
        return _Wrapping(ctx, args, tensors, edges, recording, levels).result(output)


def _flat(cls: Any, args: tuple, tensors: list, mode: modes.Mode) -> Any:
    """Run ``apply`` for plain arguments over NumPy's arrays with no level open: the fast path."""
    ctx = cls._backward_cls()
    ctx.needs_input_grad = needs = tuple([isinstance(a, Tensor) and a.requires_grad for a in args])
    recording = mode.grad and True in needs
    edges = tuple([edge_of(t) for t in tensors]) if recording else ()
    inside = modes.without_grad(mode)
    try:
        modes._set(inside)
        if cls.setup_context is Function.setup_context:
            output = cls.forward(ctx, *args)
        else:
            output = cls.forward(*args)
            cls.setup_context(ctx, args, output)
    finally:
        now = modes._set(mode).old_value
        if now is not inside:
            modes.keep(now, mode, "grad")
    if (
        type(output) is not Tensor
        or ctx._dirty
        or ctx._non_differentiable
        or output._view is not None
        or output._requires_grad
        or output._array.dtype.kind not in "fc"
        or any([output is t for t in tensors])
    ):
        return _Wrapping(ctx, args, tensors, edges, recording, ()).result(output)
    if recording:  # one new result
        ctx._arguments = tuple([_TENSOR if isinstance(a, Tensor) else None for a in args])
        ctx._results = _TENSOR
        ctx._shape, ctx._dtype = output._array.shape, output._array.dtype
        ctx._edges = edges
        ctx._seq = next_sequence()
        output._edge, output._requires_grad = (ctx, 0), True
        kept: list = []
        for tensor in ctx._to_save or ():
            if tensor is output:
                kept.append((saving.save_output(output, ctx, 0), True, 0))
            else:
                kept.append(None if tensor is None else (saving.save(tensor), False, 0))
        ctx._saved = tuple(kept)
        ctx._recorded = True
        ctx._to_save = ctx._to_save_forward = None
    return output


class _silent(modes.no_grad):
    """Context of ``forward``: nothing is recorded, and no tangents propagate."""

    def change(self, mode: modes.Mode) -> modes.Mode:
        inside = super().change(mode)
        return inside.replace(levels=()) if inside.levels else inside


def _moving_levels(tensors: list) -> tuple:
    """Return the open levels at which one of ``tensors`` has a tangent."""
    return tuple(level for level in active(modes.current()) if any(tangent(t, level) is not None for t in tensors))


def _nested_needs(value: object) -> Any:
    if isinstance(value, (list, tuple, dict)):
        if _holds(value, _is_tensor):
            return _mapped(value, lambda leaf: isinstance(leaf, Tensor) and leaf.requires_grad)
    return False


def _completed(cls: Any, args: tuple) -> tuple:
    """Return the arguments extended by the defaults of ``forward``'s parameters, as ``setup_context`` sees them."""
    forward = cls.forward
    if type(forward) is FunctionType and not hasattr(forward, "__wrapped__") and not forward.__kwdefaults__:
        code = forward.__code__
        if not forward.__defaults__ or len(args) >= code.co_argcount:
            return args
    return _by_position(cls, args, {})


def _by_position(cls: type, args: tuple, kwargs: dict) -> tuple:
    """Return keyword arguments as positional ones, in the order of ``forward``'s parameters."""
    import inspect

    parameters = list(inspect.signature(cls.forward).parameters.values())  # type: ignore[attr-defined]
    if cls.setup_context is Function.setup_context:  # type: ignore[attr-defined]
        parameters = parameters[1:]
    bound = inspect.Signature(parameters).bind(*args, **kwargs)
    bound.apply_defaults()
    if bound.kwargs:
        raise TypeError(
            f"{cls.__name__}.apply: keyword-only parameters ({', '.join(bound.kwargs)}) have no place among the"
            " gradients: make them"
            " ordinary parameters of forward"
        )
    return bound.args


class _Wrapping:
    """The second half of ``apply``: turns forward's results into recorded tensors."""

    __slots__ = ("ctx", "args", "tensors", "_edges", "recording", "levels")

    def __init__(
        self, ctx: FunctionCtx, args: tuple, tensors: list, edges: tuple, recording: bool, levels: tuple
    ) -> None:
        self.ctx, self.args, self.tensors, self._edges, self.recording, self.levels = (
            ctx,
            args,
            tensors,
            edges,
            recording,
            levels,
        )

    def result(self, output: object) -> Any:
        ctx = self.ctx
        if isinstance(output, (list, dict)) and not _holds(output, _is_tensor):
            return output
        leaves = _leaves(output)
        self._check(leaves)
        if self.recording or self.levels:
            marked = lambda leaf: _TENSOR if isinstance(leaf, Tensor) else None
            ctx._arguments = tuple(_mapped(a, marked) if _holds(a, _is_tensor) else None for a in self.args)
            ctx._results = _mapped(output, marked)
            ctx._outputs = tuple(
                (leaf._array.shape, leaf._array.dtype) if isinstance(leaf, Tensor) else _NO_TENSOR for leaf in leaves
            )
            sparse = {k: leaf._no_entries() for k, leaf in enumerate(leaves) if hasattr(type(leaf), "_no_entries")}
            if sparse:
                ctx._sparse_zeros = sparse
        if self.recording:
            self._begin()
        for tensor in {id(t): t for t in ctx._dirty}.values():
            bump_after(tensor._shared_counter)
        result = [self._one(leaf, number) if isinstance(leaf, Tensor) else leaf for number, leaf in enumerate(leaves)]
        if self.recording:
            self._save(leaves, result)
        if self.levels:
            from .function_forward import propagate

            propagate(ctx, self.args, result, self.levels)
        ctx._to_save_forward = None
        ctx._dirty = ctx._non_differentiable = ()
        ctx._to_save = None
        rest = iter(result)
        return _mapped(output, lambda leaf: next(rest))

    def _begin(self) -> None:
        """Initialise the context as a node of the graph."""
        ctx = self.ctx
        ctx._edges = self._edges
        ctx._seq = next_sequence()
        anomaly = modes.current().anomaly
        if anomaly:
            anomaly.remember(ctx)

    def _check(self, leaves: list) -> None:
        """Raise if the results break a rule, before any history is attached."""
        ctx = self.ctx
        for tensor in ctx._dirty:
            if not any(tensor is given for given in self.tensors):
                warn(
                    f"{ctx._cls.__name__}: ctx.mark_dirty() received a tensor that was not an input. Only input Tensors"
                    " that have been mutated should be passed to ctx.mark_dirty()",
                    UserWarning,
                )
            if not any(tensor is leaf for leaf in leaves):
                raise RuntimeError(
                    "Some elements marked as dirty during the forward method were not returned as output. The inputs"
                    f" that are modified inplace must all be outputs of the Function: {ctx._cls.__name__} must return"
                    " them"
                )
            if self.recording and tensor.requires_grad and tensor.is_leaf and tensor._view is None:
                raise errors.leaf_written(ctx._cls.__name__)
            check_write(tensor, ctx._title(), self.recording and self._differentiable(tensor))
            if self.recording and tensor._view is not None and sum(isinstance(leaf, Tensor) for leaf in leaves) > 1:
                raise RuntimeError(
                    f"{ctx._cls.__name__}: If your Function modifies inplace an input that is a view of another Tensor,"
                    " your Function"
                    " cannot return more than one Tensor: clone() the input first, or split the Function in two"
                )

    def _differentiable(self, leaf: Tensor) -> bool:
        if not self.recording or leaf._array.dtype.kind not in "fc":
            return False
        return not any(leaf is t for t in self.ctx._non_differentiable)

    def _one(self, leaf: Tensor, number: int) -> Tensor:
        """Return one result of forward as the tensor that the user gets."""
        ctx = self.ctx
        is_input = any(leaf is t for t in self.tensors)
        dirty = any(leaf is t for t in ctx._dirty)
        if not self._differentiable(leaf):
            if leaf._is_view() and leaf._view.creation is NO_GRAD and not is_input:
                leaf._view.creation = IN_CUSTOM_FUNCTION
            if not leaf.requires_grad:
                return _as_view(leaf) if is_input and not dirty else leaf
            if is_input:
                return _detached(leaf)
            if leaf._view is None:
                leaf._edge, leaf._requires_grad = None, False
            return leaf
        if dirty and is_input:
            if leaf._view is not None:
                rebase(leaf, ctx)
                return leaf
        elif is_input:
            leaf = _as_view(leaf)
        elif leaf._is_view():
            leaf._view.creation = IN_CUSTOM_FUNCTION
        leaf._edge, leaf._requires_grad = (ctx, number), True
        if leaf._is_view():
            leaf._view.seen = leaf._shared_counter[0]
        return leaf

    def _save(self, leaves: list, result: list) -> None:
        ctx = self.ctx
        kept: list = []
        for tensor in ctx._to_save or ():
            if tensor is None:
                kept.append(None)
                continue
            number = next((k for k in reversed(range(len(leaves))) if leaves[k] is tensor), None)
            if number is not None and result[number] is tensor:
                is_output = tensor._requires_grad  # a result without history comes back without
                kept.append(
                    (saving.save_output(tensor, ctx, number) if is_output else saving.save(tensor), is_output, number)
                )
            else:
                kept.append((saving.save(tensor), False, 0))
        ctx._saved = tuple(kept)
        ctx._recorded = True


def _as_view(tensor: Tensor) -> Tensor:
    """Return a new view of an argument that forward returned unchanged, of its class if the class overrides that."""
    if active_overrides and type(tensor) is not Tensor:
        new = tensor.view_as(tensor)
    else:
        from ..ops.table import TABLE

        new = alias(tensor)
        attach(new, tensor, (None, TABLE["alias"], (), None), modes.current())
    if new._is_view():
        new._view.creation = IN_CUSTOM_FUNCTION
    return new


def _detached(tensor: Tensor) -> Tensor:
    """Return an argument, returned as a result without gradient, as a new tensor without history."""
    if not active_overrides or type(tensor) is Tensor:
        return alias(tensor)
    from ..overrides.subclass import DisableTorchFunctionSubclass

    with DisableTorchFunctionSubclass():
        return tensor.detach()


__dir__ = listing(__name__)
