"""Structured control flow: branches and loops as functions of functions, differentiable to any order.

Python's ``if``, ``for`` and ``while`` work everywhere, also in compiled functions. These functions express the same
without depending on Python: they take functions and trees of tensors, and return trees. In a compiled function a Python
loop becomes as many instructions as it has iterations; ``scan``, ``map`` and ``while_loop`` are one instruction.
"""

from __future__ import annotations

import builtins
import functools
import math
from collections.abc import Callable, Sequence
from typing import Any

from . import modes
from ._listing import listing
from ._tensor.tensor import Tensor
from .arrays.batched.array import NotBatchable
from .autograd.checkpoint import checkpoint as _checkpoint
from .func import vmap  # type: ignore[no-redef]
from .ops import FUNCTIONS
from .overrides.active_overrides import among_arrays, numpy_kind
from .pytree import tree_flatten, tree_unflatten

# Up to so many steps, a loop is traced step by step, so that neighbouring ops are fused.
_UNROLLED = 8

__all__ = ["associative_scan", "cond", "map", "scan", "while_loop"]


def _over_arrays(function: Callable) -> Callable:
    """Return a loop that runs on plain tensors, and whose steps get tensors with NumPy's methods if it was given
    such.
    """

    @functools.wraps(function)
    def loop(*args: Any, **kwargs: Any) -> Any:
        return among_arrays(function, args, kwargs) if numpy_kind else function(*args, **kwargs)

    return loop


@_over_arrays
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
    """Return the result of ``cond`` in a batch whose samples take different branches."""
    _check_alike("cond", "false_fn", taken, other)
    leaves, spec = tree_flatten(taken)
    where = FUNCTIONS["where"]
    return tree_unflatten([where(pred, a, b) for a, b in zip(leaves, tree_flatten(other)[0], strict=True)], spec)


@_over_arrays
def while_loop(cond_fn: Callable, body_fn: Callable, carried_inputs: tuple | list) -> tuple:
    """Repeat ``carried = body_fn(*carried)`` as long as ``cond_fn(*carried)`` holds.

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
    leaves, spec = tree_flatten(tuple(carried_inputs))

    def test(carried: list) -> Any:
        return cond_fn(*tree_unflatten(carried, spec))

    def step(carried: list) -> list:
        after = body_fn(*tree_unflatten(carried, spec))
        after = tuple(after) if isinstance(after, (tuple, list)) else (after,)
        _check_alike("while_loop", "body_fn", tree_unflatten(carried, spec), after)
        return tree_flatten(after)[0]

    def each(carried: list, answers: Sequence = ()) -> tuple[list, list]:
        goes_on = answers[-1] if answers else bool(test(carried))
        while goes_on:
            carried = step(carried)
            goes_on = bool(test(carried))
        return carried, []

    program = modes.current().tracing
    begun = None if program is None else program.repeat(test, step, leaves, each)
    if begun is None:
        return tree_unflatten(each(leaves)[0], spec)
    return tree_unflatten(begun.state if begun.ended else each(begun.state, begun.results)[0], spec)


@_over_arrays
def scan(
    combine_fn: Callable, init: Any, xs: Any, *, dim: int = 0, reverse: bool = False, checkpoint: int | bool = False
) -> tuple[Any, Any]:
    """Iterate over ``xs`` with a carried state: ``carry, y = combine_fn(carry, x)`` for each ``x`` along ``dim``.

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
    if not length:
        raise ValueError("scan: xs have no elements, and nothing says what a step gives")
    first, carried = tree_flatten(init)
    given: list = []  # how what a step gives is put together

    def step(carry: list, x: list) -> tuple[list, list]:
        before = tree_unflatten(carry, carried)
        after, y = combine_fn(before, tree_unflatten(x, spec))
        _check_alike("scan", "combine_fn", before, after)
        results, shape = tree_flatten(y)
        given[:] = [shape]
        return tree_flatten(after)[0], results

    every = 0 if checkpoint is False else _steps_of(checkpoint, length)
    moved = [leaf.movedim(dim, 0) if dim else leaf for leaf in leaves]
    state, ys = _through(step, first, moved, reverse, every)
    return tree_unflatten(state, carried), tree_unflatten([y.movedim(0, dim) if dim else y for y in ys], given[0])


def _through(step: Callable, first: list, xs: list, reverse: bool, every: int) -> tuple[list, list]:
    """Iterate over the first dimension of ``xs``; return the last state, and the results of all steps, stacked."""
    length = xs[0].shape[0]

    def each(carry: list, xs: list, begun: Sequence[list] = ()) -> tuple[list, list]:
        parts = [x.unbind(0) for x in xs]
        order = list(range(length))[::-1] if reverse else list(range(length))
        given: list[list] = [*begun]

        def run(carry: list, some: list[int]) -> tuple[list, list]:
            results = []
            for k in some:
                carry, y = step(carry, [part[k] for part in parts])
                results.append(y)
            return carry, results

        for start in range(len(begun), length, every or length):
            some = order[start : start + (every or length)]
            carry, results = run(carry, some) if not every else _checkpoint(run, carry, some, use_reentrant=False)
            given.extend(results)
        if reverse:
            given.reverse()
        return carry, [FUNCTIONS["stack"](list(ys)) for ys in zip(*given, strict=True)]

    program = modes.current().tracing
    if program is None or length <= _UNROLLED:
        return each(first, xs)
    begun = program.scan(step, first, xs, reverse, every or 1, each)
    return (begun.state, begun.results) if begun.ended else each(begun.state, xs, begun.results)


@_over_arrays
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
    if not _length("map", leaves, 0):
        raise ValueError("map: xs have no elements, and nothing says what f gives")
    given: list = []

    def step(_: list, x: list) -> tuple[list, list]:
        results, shape = tree_flatten(f(tree_unflatten(x, spec), *args))
        given[:] = [shape]
        return [], results

    _, ys = _through(step, [], leaves, False, 0)
    return tree_unflatten(ys, given[0])


@_over_arrays
def associative_scan(
    combine_fn: Callable, xs: Any, dim: int = 0, reverse: bool = False, combine_mode: str = "pointwise"
) -> Any:
    """All running results of an associative function, in a number of steps logarithmic in the length.

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
    """Return the running results: those of pairs are at odd indices, those at even ones follow from their left
    neighbours.
    """
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


__dir__ = listing(__name__)
