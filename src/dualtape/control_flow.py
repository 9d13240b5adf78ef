"""Structured control flow: branches and loops as functions of functions, differentiable to any order.

Plain Python's ``if``, ``for`` and ``while`` work everywhere, also in compiled functions. These say the same in a form
that does not depend on Python: what they are given are functions and trees of tensors, what they give are trees.
"""

from __future__ import annotations

import builtins
import math
from collections.abc import Callable
from typing import Any

from ._tensor.tensor import Tensor
from .arrays.batched.array import NotBatchable
from .autograd.checkpoint import checkpoint as _checkpoint
from .func import vmap  # type: ignore[no-redef]
from .ops import FUNCTIONS
from .pytree import tree_flatten, tree_unflatten

__all__ = ["associative_scan", "cond", "map", "scan", "while_loop"]


def cond(pred: Any, true_fn: Callable, false_fn: Callable, operands: tuple | list = ()) -> Any:
    """``true_fn(*operands)`` if ``pred`` is true, else ``false_fn(*operands)``.

    Where ``pred`` is another for each sample of a ``vmap``, both are computed, and each sample gets its own.

    Parameters
    ----------
    pred : bool or tensor of one element
    true_fn, false_fn : callable
    operands : tuple

    Examples
    --------
    >>> import dualtape as dt
    >>> x = dt.tensor(2.0)
    >>> dt.cond(x > 0, lambda x: x.sqrt(), lambda x: -x, (x,))
    tensor(1.4142)
    """
    if not callable(true_fn) or not callable(false_fn):
        raise RuntimeError("cond: Expect both branches to be callable")
    if not isinstance(operands, (tuple, list)):
        raise RuntimeError(f"cond: Expect operands to be a tuple of tensors, got a {type(operands).__name__}")
    if isinstance(pred, Tensor) and pred.numel() != 1:
        raise RuntimeError(f"cond: Expected pred to be bool or single-element tensor, got shape {list(pred.shape)}")
    try:
        chosen = bool(pred)
    except NotBatchable:
        return _of_each_sample(pred, true_fn(*operands), false_fn(*operands))
    return (true_fn if chosen else false_fn)(*operands)


def _of_each_sample(pred: Tensor, taken: Any, other: Any) -> Any:
    """What ``cond`` gives in a batch whose samples go different ways."""
    _check_alike("cond", "false_fn", taken, other)
    leaves, spec = tree_flatten(taken)
    where = FUNCTIONS["where"]
    return tree_unflatten([where(pred, a, b) for a, b in zip(leaves, tree_flatten(other)[0], strict=True)], spec)


def while_loop(cond_fn: Callable, body_fn: Callable, carried_inputs: tuple | list) -> tuple:
    """Go on with ``carried = body_fn(*carried)`` as long as ``cond_fn(*carried)``.

    Examples
    --------
    >>> import dualtape as dt
    >>> x = dt.tensor(1.0, requires_grad=True)
    >>> n, y = dt.while_loop(lambda n, y: y < 100, lambda n, y: (n + 1, y * 2 * x), (dt.tensor(0), x * 1))
    >>> n, y
    (tensor(7), tensor(128., grad_fn=<MulBackward0>))
    """
    if not isinstance(carried_inputs, (tuple, list)):
        raise RuntimeError(f"while_loop: carried_inputs must be a tuple, got a {type(carried_inputs).__name__}")
    carried = tuple(carried_inputs)
    while bool(cond_fn(*carried)):
        after = body_fn(*carried)
        after = tuple(after) if isinstance(after, (tuple, list)) else (after,)
        _check_alike("while_loop", "body_fn", carried, after)
        carried = after
    return carried


def scan(
    combine_fn: Callable, init: Any, xs: Any, *, dim: int = 0, reverse: bool = False, checkpoint: int | bool = False
) -> tuple[Any, Any]:
    """Go through ``xs`` with a carried state: ``carry, y = combine_fn(carry, x)`` for each ``x`` along ``dim``.

    Parameters
    ----------
    combine_fn : callable
        The next state, and what this step gives.
    init : tree of tensors
        The first state; all states have its shapes and dtypes.
    xs : tree of tensors
        Of equal length along ``dim``.
    reverse : bool
        From the last to the first; what the steps give is in the order of ``xs``.
    checkpoint : int or bool
        Keep the state of every so many steps only, and compute what is between again when gradients go back; True:
        of the square root of their number.

    Returns
    -------
    tuple
        The last state, and what the steps gave, stacked along ``dim``.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.control_flow.scan(lambda c, x: (c + x, c * x), dt.tensor(0.0), dt.tensor([1.0, 2.0, 3.0]))
    (tensor(6.), tensor([0., 2., 9.]))
    """
    leaves, spec = tree_flatten(xs)
    length = _length("scan", leaves, dim)
    parts = [leaf.unbind(dim) for leaf in leaves]
    order = list(range(length))[::-1] if reverse else list(range(length))
    step = _steps_of(checkpoint, length)
    given: list[tuple[list, Any]] = []
    carry = init

    def run(carry: Any, some: list[int]) -> tuple[Any, list]:
        results = []
        for k in some:
            after, y = combine_fn(carry, tree_unflatten([part[k] for part in parts], spec))
            _check_alike("scan", "combine_fn", carry, after)
            results.append(tree_flatten(y))
            carry = after
        return carry, results

    for start in range(0, length, step):
        some = order[start : start + step]
        carry, results = run(carry, some) if not checkpoint else _checkpoint(run, carry, some, use_reentrant=False)
        given.extend(results)
    if not given:
        raise ValueError("scan: xs have no elements, and nothing says what a step gives")
    if reverse:
        given.reverse()
    ys = [FUNCTIONS["stack"]([each[0][k] for each in given], dim) for k in range(len(given[0][0]))]
    return carry, tree_unflatten(ys, given[0][1])


def map(f: Callable, xs: Any, *args: Any) -> Any:
    """``f(x, *args)`` for each ``x`` along the first dimension of ``xs``, stacked.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.control_flow.map(lambda x, k: x.cumsum(0) * k, dt.ones(2, 3), 2)
    tensor([[2., 4., 6.],
            [2., 4., 6.]])
    """
    leaves, spec = tree_flatten(xs)
    length = _length("map", leaves, 0)
    if not length:
        raise ValueError("map: xs have no elements, and nothing says what f gives")
    given = [tree_flatten(f(tree_unflatten([leaf[k] for leaf in leaves], spec), *args)) for k in range(length)]
    ys = [FUNCTIONS["stack"]([each[0][k] for each in given]) for k in range(len(given[0][0]))]
    return tree_unflatten(ys, given[0][1])


def associative_scan(
    combine_fn: Callable, xs: Any, dim: int = 0, reverse: bool = False, combine_mode: str = "pointwise"
) -> Any:
    """All running results of an associative function, in a number of steps that is the logarithm of the length.

    Parameters
    ----------
    combine_fn : callable
        Of two trees like ``xs`` without ``dim``. It does not matter to it whether the first two of three are combined
        first, or the last two.
    combine_mode : {"pointwise", "generic"}
        Whether it is made of elementwise operations alone: then it is called on many elements at once. Else it is
        called under ``vmap``.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.control_flow.associative_scan(lambda a, b: a * b, dt.tensor([1.0, 2.0, 3.0, 4.0]))
    tensor([ 1.,  2.,  6., 24.])
    """
    if combine_mode not in ("pointwise", "generic"):
        raise ValueError(f"associative_scan: combine_mode must be 'pointwise' or 'generic', got {combine_mode!r}")
    leaves, spec = tree_flatten(xs)
    _length("associative_scan", leaves, dim)
    moved = [leaf.movedim(dim, 0) for leaf in leaves]
    moved = [leaf.flip(0) for leaf in moved] if reverse else moved
    many = combine_fn if combine_mode == "pointwise" else vmap(combine_fn)  # type: ignore[operator]

    def combine(a: list, b: list) -> list:
        given, shape = tree_flatten(many(tree_unflatten(a, spec), tree_unflatten(b, spec)))
        if shape != spec:
            raise ValueError(f"associative_scan: combine_fn must give what it is given, {spec}; it gave {shape}")
        _check_alike("associative_scan", "combine_fn", a, given)
        return given

    found = _running(moved, combine)
    found = [leaf.flip(0) for leaf in found] if reverse else found
    return tree_unflatten([leaf.movedim(0, dim) for leaf in found], spec)


def _running(xs: list, combine: Callable) -> list:
    """The results for pairs give those of the odd places; those of the even ones follow from their left neighbours."""
    length = xs[0].shape[0]
    if length < 2:
        return xs
    pairs = length // 2
    odd = _running(combine([x[: 2 * pairs : 2] for x in xs], [x[1::2] for x in xs]), combine)
    first = [x[:1] for x in xs]
    evens = first
    if length > 2:
        rest = combine([x[: (length - 1) // 2] for x in odd], [x[2::2] for x in xs])
        evens = [FUNCTIONS["cat"]([a, b]) for a, b in zip(first, rest, strict=True)]
    woven = []
    for even, other in zip(evens, odd, strict=True):
        both = FUNCTIONS["stack"]([even[:pairs], other], 1).flatten(0, 1)
        woven.append(FUNCTIONS["cat"]([both, even[pairs:]]) if length % 2 else both)
    return woven


def _length(name: str, leaves: list, dim: int) -> int:
    if not leaves or not all(isinstance(leaf, Tensor) for leaf in leaves):
        kinds = ", ".join(type(leaf).__name__ for leaf in leaves) or "nothing"
        raise RuntimeError(f"{name}: xs must be tensors, or a tree of them, got {kinds}")
    if any(leaf.ndim == 0 for leaf in leaves):
        raise RuntimeError(f"{name}: xs must have a dimension to go through, got a tensor without any")
    lengths = {leaf.shape[dim] for leaf in leaves}
    if len(lengths) > 1:
        raise RuntimeError(f"{name}: xs must have one length along dimension {dim}, got {sorted(lengths)}")
    return lengths.pop()


def _steps_of(checkpoint: int | bool, length: int) -> int:
    if checkpoint is True:
        return builtins.max(1, math.isqrt(length))
    if checkpoint is False:
        return builtins.max(1, length)
    if not isinstance(checkpoint, int) or checkpoint < 1:
        raise ValueError(f"scan: checkpoint must be a number of steps, or True, got {checkpoint!r}")
    return checkpoint


def _check_alike(name: str, function: str, before: Any, after: Any) -> None:
    """Raise if the carried state changes its shape or dtype, or one branch gives another than the other."""
    (old, shape), (new, other) = tree_flatten(before), tree_flatten(after)
    if shape != other:
        raise RuntimeError(f"{name}: {function} must give a state like the one it gets, {shape}; it gave {other}")
    for k, (a, b) in enumerate(zip(old, new, strict=True)):
        if isinstance(a, Tensor) and isinstance(b, Tensor) and (a.shape != b.shape or a.dtype != b.dtype):
            raise RuntimeError(
                f"{name}: {function} must give tensors of the shapes and dtypes that it gets; number {k} was"
                f" {a.dtype} {list(a.shape)} and became {b.dtype} {list(b.shape)}"
            )
