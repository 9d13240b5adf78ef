"""Derivatives as functions of functions: ``vjp``, ``grad``, ``value_and_grad``, ``jvp``, ``linearize``.

Each runs the user's function once on the one tape, or under one forward level, and they nest in any order: whatever an
outer transform differentiates is recorded while an inner one runs, the inner one's own backward included.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ParamSpec

import numpy as np

from .. import modes
from .._tensor.tensor import Tensor
from .._tracebacks import shortened
from .._typing import Tree
from ..autograd.api import grad as gradients
from ..autograd.forward_ad import _check, dual
from ..autograd.tangents import ForwardLevel, tangent
from ..pytree import tree_map, tree_structure, tree_unflatten
from .scope import (
    Scope,
    as_given,
    as_numpy,
    as_tensors,
    check_argnums,
    has_history,
    named_as,
    of_kind,
    only_tensors,
    speaks_numpy,
    split_aux,
    with_chosen,
    zeros_for,
)

__all__ = [
    "RecordedCall",
    "forward_level",
    "grad",
    "grad_and_value",
    "jvp",
    "linearize",
    "push",
    "value_and_grad",
    "vjp",
]


P = ParamSpec("P")

# --- reverse --------------------------------------------------------------------------------------


class RecordedCall:
    """A function recorded at a point: its results, and their backward."""

    def __init__(self, func: Callable, primals: tuple, has_aux: bool, who: str) -> None:
        leaves, self.spec = as_tensors(primals, who, primal=True)
        with Scope() as self.scope:
            self.given = leaves
            self.inputs = [self.scope.inward(leaf) for leaf in leaves]
            seen = [as_given(x, leaf) for x, leaf in zip(self.inputs, leaves, strict=True)]
            output, self.aux = split_aux(func(*tree_unflatten(seen, self.spec)), has_aux, who)
        self.output = output
        self.reaching: bool | None = None

    def check_tensors(self, who: str) -> None:
        self.outputs, self.out_spec = only_tensors(self.output, f"{who}: expected f(*primals)")

    def pull(
        self, cotangents: list, retain: bool, create: bool | None, batched: bool = False, partial: bool = False
    ) -> list:
        """Return the gradients of the inputs, given those of the outputs; a batch of them if those are ``batched``.

        With ``partial``, None means zero.
        """
        mode = modes.current()
        batch = (next(len(c) for c in cotangents if c is not None),) if batched else ()
        if create is None:
            create = mode.grad and (self.reaches() or any(c is not None and has_history(c) for c in cotangents))
        pairs = [
            (o, c)
            for o, c in zip(self.outputs, cotangents, strict=True)
            if o.requires_grad and not (partial and c is None)
        ]
        if not pairs:
            return [of_kind(zeros_for(x, batch), leaf) for x, leaf in zip(self.inputs, self.given, strict=True)]
        outputs, starts = zip(*pairs, strict=True)
        found = gradients(
            list(outputs),
            self.inputs,
            list(starts),
            retain or create,
            create,
            allow_unused=True,
            is_grads_batched=batched,
        )
        results = [
            zeros_for(x, batch) if g is None else self.scope.outward(g) if create else g
            for x, g in zip(self.inputs, found, strict=True)
        ]
        return [of_kind(g, leaf, cotangents) for g, leaf in zip(results, self.given, strict=True)]

    def reaches(self) -> bool:
        """Return whether the results depend on differentiable tensors outside; called while grad mode is on."""
        if self.reaching is None:
            self.reaching = any(self.scope.reaches_out(o) for o in self.outputs)
        return self.reaching

    def shown(self, tree: Tree) -> Any:
        return tree_map(self.scope.outward, tree)


@shortened
def vjp(func: Callable, *primals: Tree, has_aux: bool = False) -> tuple:
    """Return the value of ``func`` at ``primals``, and the function that maps gradients of the outputs to those of the
    primals.

    Parameters
    ----------
    func : callable
        Takes and returns tensors, or trees (tuples, lists, dicts) of them.
    *primals
        Where; tensors, NumPy arrays or trees of them.
    has_aux : bool
        ``func`` returns ``(output, aux)``; ``aux`` is given back as a third result.

    Returns
    -------
    output, vjp_fn[, aux]
        ``vjp_fn(cotangents)``, for cotangents nested as the output is, gives a tuple with the gradient of each
        primal. It may be called any number of times, unless with ``retain_graph=False``.

    Examples
    --------
    >>> import dualtape as dt
    >>> x = dt.tensor([1.0, 2.0])
    >>> output, vjp_fn = dt.func.vjp(lambda x: x ** 3, x)
    >>> vjp_fn(dt.tensor([1.0, 10.0]))
    (tensor([  3., 120.]),)
    """
    who = "vjp(f, *primals)"
    numpy = speaks_numpy(primals)
    pulled = RecordedCall(func, primals, has_aux, who)
    pulled.check_tensors(who)
    convert = as_numpy if numpy else lambda tree: tree

    def vjp_fn(cotangents: Tree, retain_graph: bool = True, create_graph: bool | None = None) -> tuple:
        """The gradients of the primals, given those of the outputs."""
        given = tree_structure(cotangents)
        if given != pulled.out_spec:
            raise RuntimeError(
                "Expected pytree structure of cotangents to be the same as pytree structure of outputs to the function."
                f" cotangents: {given}, primal output: {pulled.out_spec}"
            )
        leaves = as_tensors(cotangents, "vjp_fn")[0]
        return convert(tree_unflatten(pulled.pull(leaves, retain_graph, create_graph), pulled.spec))

    output = convert(pulled.shown(pulled.output))
    return (output, vjp_fn, convert(pulled.shown(pulled.aux))) if has_aux else (output, vjp_fn)


def grad_and_value(
    func: Callable[P, Any], argnums: int | tuple[int, ...] = 0, has_aux: bool = False
) -> Callable[P, tuple[Any, Any]]:
    """Return a function that computes the gradient of a scalar function and its value, in this order.

    Parameters
    ----------
    func : callable
        Returns a scalar tensor; ``(scalar, aux)`` with ``has_aux``.
    argnums : int or tuple of int
        Which arguments to differentiate; each may be a tree of tensors or NumPy arrays.
    has_aux : bool
        ``func`` also returns something that is not differentiated: the result is then ``(gradient, (value, aux))``.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.func.grad_and_value(lambda x: (x ** 2).sum())(dt.tensor([1.0, 3.0]))
    (tensor([2., 6.]), tensor(10.))
    """

    @named_as(func)
    @shortened
    def wrapper(*args: Tree, **kwargs: object) -> tuple:
        gradient, value, aux = _grad_and_value(func, argnums, has_aux, args, kwargs, "grad_and_value(f)(*args)")
        return gradient, ((value, aux) if has_aux else value)

    return wrapper


def value_and_grad(
    func: Callable[P, Any], argnums: int | tuple[int, ...] = 0, has_aux: bool = False
) -> Callable[P, tuple[Any, Any]]:
    """Return a function that computes the value of a scalar function and its gradient, in this order, as SciPy's
    optimizers take it.

    Parameters
    ----------
    func : callable
        Returns a scalar tensor; ``(scalar, aux)`` with ``has_aux``.
    argnums : int or tuple of int
        Which arguments to differentiate; each may be a tree of tensors or NumPy arrays.
    has_aux : bool
        ``func`` also returns something that is not differentiated: the result is then ``((value, aux), gradient)``.

    Examples
    --------
    >>> import numpy as np, scipy.optimize
    >>> import dualtape as dt
    >>> found = scipy.optimize.minimize(dt.func.value_and_grad(lambda x: ((x - 3) ** 2).sum()), np.zeros(2), jac=True)
    >>> found.x.round(6)
    array([3., 3.])
    """

    @named_as(func)
    @shortened
    def wrapper(*args: Tree, **kwargs: object) -> tuple:
        gradient, value, aux = _grad_and_value(func, argnums, has_aux, args, kwargs, "value_and_grad(f)(*args)")
        return ((value, aux) if has_aux else value), gradient

    return wrapper


def grad(func: Callable[P, Any], argnums: int | tuple[int, ...] = 0, has_aux: bool = False) -> Callable[P, Any]:
    """Return the gradient of a scalar function, as a function of the same arguments.

    Parameters
    ----------
    func : callable
        Returns a scalar tensor; ``(scalar, aux)`` with ``has_aux``.
    argnums : int or tuple of int
        Which arguments to differentiate; each may be a tree of tensors or NumPy arrays.
    has_aux : bool
        ``func`` also returns something that is not differentiated: the result is then ``(gradient, aux)``.

    Examples
    --------
    >>> import dualtape as dt
    >>> third = dt.func.grad(dt.func.grad(dt.func.grad(lambda x: x ** 5)))
    >>> third(dt.tensor(2.0))
    tensor(240.)
    """

    @named_as(func)
    @shortened
    def wrapper(*args: Tree, **kwargs: object) -> Any:
        gradient, _, aux = _grad_and_value(func, argnums, has_aux, args, kwargs, "grad(f)(*args)")
        return (gradient, aux) if has_aux else gradient

    return wrapper


_LOST = (
    ", which does not come from its arguments, or lost their history on the way: float(x), x.item(), functions of math"
    " and writes into NumPy's arrays give numbers"
)


def _grad_and_value(
    func: Callable, argnums: int | tuple[int, ...], has_aux: bool, args: tuple, kwargs: dict, who: str
) -> tuple:
    places = check_argnums(argnums, len(args))
    primals = tuple(args[n] for n in places)
    numpy = speaks_numpy(args, kwargs)
    pulled = RecordedCall(with_chosen(func, args, kwargs, places), primals, has_aux, who)
    value = pulled.output
    if not isinstance(value, Tensor):
        lost = isinstance(value, (int, float, complex, np.ndarray, np.generic))
        raise RuntimeError(f"{who}: Expected f(*args) to return a Tensor, got {type(value)}" + _LOST * lost)
    if value.ndim:
        raise RuntimeError(
            f"{who}: Expected f(*args) to return a scalar Tensor, got tensor with {value.ndim} dims. Maybe you wanted"
            " to use the vjp or jacrev APIs instead?"
        )
    pulled.outputs = [value]
    reaches = pulled.scope.values_reach(value)
    pulled.reaching = reaches or pulled.scope.tangents_reach(value)
    shown = pulled.scope.outward(value, reaches)
    aux = pulled.shown(pulled.aux) if has_aux else None
    gradient = tree_unflatten(pulled.pull([None], False, None), pulled.spec)
    result = (gradient if isinstance(argnums, tuple) else gradient[0], shown, aux)
    return as_numpy(result) if numpy else result


# --- forward --------------------------------------------------------------------------------------


class forward_level(modes.ModeContext):
    """Context with a new level, the newest: ``with forward_level() as level``."""

    level: ForwardLevel
    fields = ("forward",)
    stack = "levels"

    def change(self, mode: modes.Mode) -> modes.Mode:
        self.level = ForwardLevel(transform=True)
        return mode.replace(levels=(*(one for one in mode.levels if one.open), self.level), forward=True)

    def __enter__(self) -> ForwardLevel:
        super().__enter__()
        return self.level

    def left(self) -> None:
        self.level.close()


def push(func: Callable, primals: list, tangents: list, level: ForwardLevel) -> Any:
    """Run ``func`` on dual tensors."""
    levels = modes.current().levels
    return func(*(dual(x, t, levels, level) for x, t in zip(primals, tangents, strict=True)))


@shortened
def jvp(func: Callable, primals: Tree, tangents: Tree, *, strict: bool = False, has_aux: bool = False) -> tuple:
    """Return the value of ``func`` at ``primals`` and its derivative along ``tangents``, in one forward pass.

    Parameters
    ----------
    func : callable
        Takes and returns tensors, or trees (tuples, lists, dicts) of them.
    primals, tangents : tuple
        The arguments, and a direction nested as they are.
    strict : bool
        Raise if a result does not depend on the arguments, instead of giving zeros.
    has_aux : bool
        ``func`` returns ``(output, aux)``; ``aux`` is given back as a third result.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.func.jvp(lambda x: x.sin(), (dt.tensor(0.0),), (dt.tensor(2.0),))
    (tensor(0.), tensor(2.))
    """
    who = "jvp(f, primals, tangents)"
    if not isinstance(primals, tuple):
        raise RuntimeError(f"{who}: Expected primals to be a tuple. E.g. it should be valid to call f(*primals).")
    spec, given = tree_structure(primals), tree_structure(tangents)
    if spec is not given and spec != given:
        raise RuntimeError(
            f"{who}: Expected primals and tangents to have the same python structure. For example, if primals is a"
            " tuple of 3 tensors, tangents"
            f" also must be. Got primals with structure {spec} and tangents with structure {given}"
        )
    if not spec.num_leaves:
        raise RuntimeError(f"{who}: Expected primals to contain at least one Tensor.")
    numpy = speaks_numpy(primals, tangents)
    points = as_tensors(primals, who, primal=True)[0]
    directions = as_tensors(tangents, who)[0]
    for x, t in zip(points, directions, strict=True):
        if x._array.dtype.kind not in "fc" or t._array.dtype.kind not in "fc":
            raise ValueError(
                f"{who}: Expected primals and tangents to be floating point or complex, got {x.dtype!r} and {t.dtype!r}"
            )
        _check(x, t)
    with forward_level() as level:
        output, aux = split_aux(
            push(lambda *leaves: func(*tree_unflatten(leaves, spec)), points, directions, level), has_aux, who
        )
        leaves, out_spec = only_tensors(output, f"{who}: expected f(*primals)")
        moved = [tangent(leaf, level) for leaf in leaves]
    if strict and any(t is None for t in moved):
        raise RuntimeError(
            "jvp(f, primals, tangents, strict=True): The output of f is independent of the inputs. This is not allowed"
            " with strict=True."
        )
    result = (
        output,
        tree_unflatten(
            [of_kind(zeros_for(o) if t is None else t, o, directions) for o, t in zip(leaves, moved, strict=True)],
            out_spec,
        ),
    )
    result = (*result, aux) if has_aux else result  # type: ignore[assignment]
    return as_numpy(result) if numpy else result


@shortened
def linearize(func: Callable, *primals: Tree) -> tuple:
    """Return the value of ``func`` at ``primals``, and its derivative there as a linear function of a direction.

    ``func`` runs once: the linear function reuses what was recorded, by differentiating the backward pass with
    respect to the gradient it starts from.

    Parameters
    ----------
    func : callable
        Takes and returns tensors, or trees of them.
    *primals
        Where; tensors, NumPy arrays or trees of them.

    Examples
    --------
    >>> import dualtape as dt
    >>> output, jvp_fn = dt.func.linearize(lambda x: x ** 2, dt.tensor([1.0, 3.0]))
    >>> jvp_fn(dt.tensor([1.0, 0.0])), jvp_fn(dt.tensor([0.0, 1.0]))
    (tensor([2., 0.]), tensor([0., 6.]))
    """
    who = "linearize(f, *primals)"
    numpy = speaks_numpy(primals)
    convert = as_numpy if numpy else lambda tree: tree
    pulled = RecordedCall(func, primals, False, who)
    pulled.check_tensors(who)
    scope, outputs = pulled.scope, pulled.outputs
    with scope:
        starts = [scope.inward(zeros_for(o)) if o.requires_grad else None for o in outputs]
        rooted = [(o, s) for o, s in zip(outputs, starts, strict=True) if s is not None]
        back = (
            gradients([o for o, _ in rooted], pulled.inputs, [s for _, s in rooted], True, True, allow_unused=True)
            if rooted
            else (None,) * len(pulled.inputs)
        )

    def jvp_fn(*tangents: Tree) -> Any:
        """The derivative along ``tangents``, one for each primal."""
        leaves, given = as_tensors(tangents, "jvp_fn")
        if given != pulled.spec:
            raise RuntimeError(f"Expected the tangents {given} to have the same structure as the primals {pulled.spec}")
        for k, (x, t) in enumerate(zip(pulled.inputs, leaves, strict=True)):
            for what in ("shape", "dtype", "device"):
                if getattr(x, what) != getattr(t, what):
                    raise RuntimeError(
                        f"tangent:{k} with {what} {getattr(t, what)} in flattened pytree doesn't match the {what}"
                        f" {getattr(x, what)} of the"
                        " corresponding primal."
                    )
        from ..ops.jvp import real_inner

        create = modes.current().grad and (any(scope.reaches_out(o) for o in outputs) or any(map(has_history, leaves)))
        with modes.enable_grad():
            total = real_inner([(g, t) for g, t in zip(back, leaves, strict=True) if g is not None])
        asked = [s for s in starts if s is not None]
        if total is None or not total.requires_grad:
            found: Any = iter([None] * len(asked))
        else:
            found = iter(gradients([total], asked, None, True, create, allow_unused=True))
        moved = [None if s is None else next(found) for s in starts]
        result = [
            of_kind(zeros_for(o) if t is None else scope.outward(t), o, leaves)
            for o, t in zip(outputs, moved, strict=True)
        ]
        return convert(tree_unflatten(result, pulled.out_spec))

    return convert(pulled.shown(pulled.output)), jvp_fn
