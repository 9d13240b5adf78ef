"""Forward mode of custom Functions: by their ``jvp``, else by their ``backward``, transposed.

``backward`` is linear in the gradient that it gets, ``g -> A^H g``. The gradient of ``Re <A^H g, t>`` with respect to
``g`` is ``A t``, the tangent.
"""

from __future__ import annotations

from typing import Any

from .. import modes
from .._tensor import shaped
from .._tensor.tensor import Tensor
from .api import grad
from .function import Function, FunctionCtx, _leaves, _mapped
from .node import Node
from .tangents import ForwardLevel, beneath, is_still, set_tangent, tangent


def propagate(ctx: FunctionCtx, args: tuple, results: list, levels: tuple) -> None:
    """Set the tangents of a Function's results at each of ``levels``."""
    leaves = _leaves(args)
    for level in levels:
        given = [_tangent_of(leaf, level, ctx) for leaf in leaves]
        with beneath(level):
            if ctx._cls.jvp is Function.jvp:
                found = _transposed(ctx, leaves, given, results)
            else:
                rest = iter(given)
                if ctx._to_save_forward is None:
                    ctx._to_save_forward = ()  # what is saved for backward is not for jvp to see
                found = _called(ctx, _mapped(args, lambda leaf: next(rest)), results)  # noqa: B023 - used at once
            for k, (result, t) in enumerate(zip(results, found, strict=True)):
                _give(ctx, k, result, t, level, given)


def _tangent_of(leaf: object, level: ForwardLevel, ctx: FunctionCtx) -> Tensor | None:
    """Return the tangent of an argument as ``jvp`` receives it."""
    if not isinstance(leaf, Tensor):
        return None
    found = tangent(leaf, level)
    if found is None and ctx._materialize and ctx._cls.jvp is not Function.jvp and leaf._array.dtype.kind in "fc":
        return _like(leaf, "zeros_like")
    return found


def _like(tensor: Tensor, name: str) -> Tensor:
    return getattr(shaped, name)(tensor, requires_grad=False)


def _called(ctx: FunctionCtx, given: tuple, results: list) -> list:
    """Return the results of ``jvp``, one for each result."""
    found = _leaves(ctx._cls.jvp(ctx, *given))
    if len(found) != len(results):
        raise RuntimeError(
            f"Function's jvp returned an invalid number of forward gradients (expected {len(results)} but got"
            f" {len(found)}):"
            f" {ctx._cls.__name__}.jvp returns one for each result of forward, None for those that are no tensors"
        )
    return found


def _give(ctx: FunctionCtx, k: int, result: Tensor, t: Tensor, level: ForwardLevel, given: list) -> None:
    """Attach one tangent returned by ``jvp``; raise if it breaks a rule."""
    from ..ops.jvp import laid_out_like, lies_like
    from .forward_ad import _check

    name = ctx._cls.__name__
    if t is None:
        if isinstance(result, Tensor) and any(result is d for d in ctx._dirty):
            old = tangent(result, level)
            if old is not None:
                old.zero_()
        return
    if not isinstance(t, Tensor):
        raise RuntimeError(
            f"expected Variable or None (got {type(t).__name__}) for grad output {k}: {name}.jvp returns tensors"
        )
    if not _moves(ctx, result):
        raise RuntimeError(
            f"Function's jvp returned a gradient at position {k}, but the corresponding forward output is not a"
            " differentiable Tensor:"
            f" {name}.jvp must return None there"
        )
    _check(result, t)
    old = tangent(result, level) if any(result is d for d in ctx._dirty) else None
    if old is not None:
        if t is not old:
            old.copy_(t)
        return
    shared = any(one is not None and t._shared_counter is one._shared_counter for one in given)
    if result._is_view() and not is_still(result, level) and any(one is not None for one in given):
        own = ctx._cls.jvp is not Function.jvp
        if own and (not shared or any(t is one for one in given)):
            raise RuntimeError(
                "A custom Function's forward is returning a view (or an input as-is) but the jvp is not returning a"
                " view."
                f" {name}: return the same view of the tangent, or clone() the result of forward"
            )
    elif shared:
        t = t.clone()
    set_tangent(result, level, t if shared or lies_like(t, result) else laid_out_like(t, result))


class _Place(Node):
    """Placeholder for the position where the gradient of an argument would go."""

    __slots__ = ()

    def __init__(self, tensor: Tensor) -> None:
        self._shape, self._dtype = tensor._array.shape, tensor._array.dtype


def _moves(ctx: FunctionCtx, result: Tensor | None) -> bool:
    """Return whether a result may have a tangent."""
    return (
        isinstance(result, Tensor)
        and result._array.dtype.kind in "fc"
        and not any(result is s for s in ctx._non_differentiable)
    )


def _transposed(ctx: FunctionCtx, leaves: list, given: list, results: list) -> list:
    """Return the tangents of the results, computed by differentiating ``backward`` with respect to its gradient."""
    from ..ops.jvp import real_inner

    record, name = modes.current().grad, ctx._cls.__name__
    if ctx._cls.backward is Function.backward and ctx._cls.vjp is Function.vjp:
        raise _no_rule(name, "it has no backward either")
    ctx._to_save_forward = None
    with modes.enable_grad():
        gradients = [_like(r, "ones_like").requires_grad_() if _moves(ctx, r) else None for r in results]
        tensors = [(leaf, t) for leaf, t in zip(leaves, given, strict=True) if isinstance(leaf, Tensor)]
        pulled = ctx._pulled(gradients, True, [(_Place(leaf), 0) for leaf, _ in tensors])
        pairs = [(p, t) for p, (_, t) in zip(pulled, tensors, strict=True) if p is not None and t is not None]
        if any(not p.requires_grad and p._array.any() for p, _ in pairs):
            raise _no_rule(name, "its backward does not compute with differentiable operations")
        total = real_inner(pairs, ctx._title())
    asked = [g for g in gradients if g is not None]
    found: Any = iter([None] * len(asked))
    if total is not None and total.requires_grad:
        try:
            found = iter(grad([total], asked, create_graph=record, allow_unused=True))
        except RuntimeError as error:
            if "once_differentiable" in str(error):
                raise _no_rule(name, "its backward is marked with @once_differentiable") from error
            raise
    return [None if g is None else next(found) for g in gradients]


def _no_rule(name: str, why: str) -> NotImplementedError:
    return NotImplementedError(
        f"You must implement the jvp function for custom autograd.Function to use it with forward mode AD: {name} has"
        f" none, and {why}, so"
        " that the tangent cannot be derived from it"
    )
