"""Tensors that a function uses without having them as arguments: found in the graph of what it returns.

A function that is called with constants returns tensors without history, unless it computes with others that require
grad: of a cell, a module, an object. The nodes that a call made are younger than those of such tensors, so that the
edges from the former to the latter are exactly what the result depends on from outside. Nothing is looked up by name.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .._tensor.dtypes import get_default_dtype
from .._tensor.tensor import Tensor, wrap
from ..autograd.engine import call_node
from ..autograd.node import AccumulateGrad, Edge, edge_of, next_sequence
from ..modes import enable_grad, is_grad_enabled
from ..ops.numpy_tensor import as_plain, entering
from ..pytree import tree_leaves, tree_map
from ._tensors import tensor

Key = tuple[int, int]


def _key(edge: Edge) -> Key:
    return id(edge[0]), edge[1]


def edges_outside(results: Any, start: int) -> dict[Key, Edge]:
    """Return the edges by which tensors in ``results`` depend on what is older than the sequence number ``start``."""
    found: dict[Key, Edge] = {}
    pending = [edge_of(leaf) for leaf in tree_leaves(results) if isinstance(leaf, Tensor) and leaf.requires_grad]
    seen: set[int] = set()
    while pending:
        edge = pending.pop()
        if edge is None:
            continue
        node = edge[0]
        if isinstance(node, AccumulateGrad) or node._seq < start:
            found[_key(edge)] = edge
        elif id(node) not in seen:
            seen.add(id(node))
            pending.extend(node._edges)
    return found


def standing_for(edge: Edge) -> Tensor:
    """Return a tensor through which a gradient flows to ``edge``: the leaf, or one that has its shape alone."""
    node, number = edge[0], edge[1]
    if isinstance(node, AccumulateGrad):
        return edge[2]
    shape, dtype = node._outputs[number]
    new = wrap(np.broadcast_to(np.zeros((), dtype), shape))
    new._edge, new._requires_grad = edge, True
    return new


def within(value: Tensor, weights: Tensor, targets: Sequence[Edge | None], start: int, given: set[Key]) -> list:
    """Return the gradients of ``value`` with respect to the edges ``targets``, by the nodes younger than ``start``.

    Older nodes do not run: their gradients flow later, from the targets. ``given`` are edges that may be ignored.
    """
    wanted = {_key(edge): edge for edge in targets if edge is not None}
    sums: dict[Key, Any] = {}
    nodes: dict[int, tuple] = {}
    queue: list[tuple[int, int]] = []

    def add(edge: Edge | None, gradient: Any) -> None:
        if edge is None or gradient is None:
            return
        key, node = _key(edge), edge[0]
        if key not in wanted:
            if isinstance(node, AccumulateGrad) or node._seq < start:
                if key not in given:
                    raise RuntimeError(
                        "the function depends on a tensor that requires grad and that it did not use while the result"
                        " was computed; pass it in args=, so that its gradient can be computed"
                    )
                return
            if id(node) not in nodes:
                nodes[id(node)] = (node, [None] * len(node._outputs))
                heapq.heappush(queue, (-node._seq, id(node)))
            collected = nodes[id(node)][1]
            before = collected[edge[1]]
            collected[edge[1]] = gradient if before is None else before + gradient
            return
        before = sums.get(key)
        sums[key] = gradient if before is None else before + gradient

    add(edge_of(value), weights)
    while queue:
        _, number = heapq.heappop(queue)
        node, collected = nodes.pop(number)
        found = call_node(node, tuple(collected))
        for edge, gradient in zip(node._edges, found if isinstance(found, tuple) else (found,), strict=True):
            add(edge, gradient)
    return [None if edge is None else sums.get(_key(edge)) for edge in targets]


def pull(
    function: Callable, inputs: Sequence[Tensor], outside: Sequence[Tensor], weights: Callable | Tensor
) -> tuple[Any, list, list]:
    """Return ``function(*inputs)`` and the gradients of inputs and of tensors outside, for these weights of the result.

    Gradients have history if grad mode is on. What does not matter has a gradient of zeros.
    """
    record = is_grad_enabled()
    given = {_key(edge) for edge in map(edge_of, inputs) if edge is not None}
    with enable_grad():
        start = next_sequence()
        aliases = [
            x.view_as(x)
            if record and x.requires_grad
            else x.detach().requires_grad_(x.dtype.is_floating_point or x.dtype.is_complex)
            for x in inputs
        ]
        value = tensor(function(*aliases))
    weight = weights(value) if callable(weights) else weights
    targets = [*map(edge_of, aliases), *map(edge_of, outside)]
    found = (
        within(value, weight.to(value.dtype).reshape(tuple(value.shape)), targets, start, given)
        if value.requires_grad
        else [None] * len(targets)
    )
    full: list[Any] = [np.zeros_like(x) if g is None else g for x, g in zip([*aliases, *outside], found, strict=True)]
    full = [g.detach() for g in full] if not record else full
    return value, full[: len(inputs)], full[len(inputs) :]


class Held:
    """Tensors that a Function keeps for its backward, without saving their values: they are read again."""

    def __init__(self, tensors: list[Tensor]) -> None:
        self.tensors = tensors
        self.versions = [x._version for x in tensors]

    def unchanged(self) -> list[Tensor]:
        """Return the tensors; raise if one of them was written to since."""
        for x, version in zip(self.tensors, self.versions, strict=True):
            if x._version != version:
                raise RuntimeError(
                    "one of the variables needed for gradient computation has been modified by an inplace operation: a"
                    f" tensor of shape {tuple(x.shape)} that a solver's function uses is at version {x._version},"
                    f" expected version {version}"
                )
        return self.tensors


class Called:
    """A user's function, as a solver calls it: of constants, while the tensors outside are collected.

    Parameters
    ----------
    function : callable
        Of the state, and of other arguments, which are passed as they are.
    model : object
        What the user gave as the initial state. The function gets tensors of the same kind for the state: plain ones,
        of its dtype, for a plain tensor, and tensors with NumPy's methods otherwise. Where the function does not take
        those (a module of another dtype), it gets plain tensors.
    states : int
        Which arguments are states.
    """

    def __init__(self, function: Callable, model: Any = None, *states: int) -> None:
        self.function, self.states = function, states or (0,)
        self.outside: dict[Key, Edge] = {}
        if type(model) is Tensor:
            dtype = model.dtype if model.dtype.is_floating_point or model.dtype.is_complex else None
            self._styles: list[tuple[bool, Any]] = [(False, dtype)]
        else:
            self._styles = [(True, None), (False, None), (False, get_default_dtype())]

    def __call__(self, *args: Any) -> Any:
        """Return what the function returns, with history; the first call decides what kind of tensor it gets."""
        if len(self._styles) == 1:
            return self._called(self._styles[0], args)
        first: Exception | None = None
        for style in self._styles:
            try:
                result = self._called(style, args)
            except Exception as error:
                first = first or error
            else:
                self._styles = [style]
                return result
        assert first is not None
        raise first

    def _called(self, style: tuple[bool, Any], args: tuple) -> Any:
        numpy, dtype = style
        given = list(args)
        for k in self.states:
            if k < len(given):
                state = tensor(given[k])
                if dtype is not None and state.dtype != dtype:
                    state = state.to(dtype)
                given[k] = entering(state) if numpy else as_plain(state)
        return self.function(*given)

    def tensors(self) -> list[Tensor]:
        """Return the tensors outside, as inputs of a Function."""
        return [standing_for(edge) for edge in self.outside.values()]

    def on_arrays(self, *args: Any) -> Any:
        """Return the values of the function at arrays, as arrays, and collect the tensors outside."""
        with enable_grad():
            start = next_sequence()
            result = self(*args)
            self.outside.update(edges_outside(result, start))
        return values_of(result)


def values_of(tree: Any) -> Any:
    """Return a tree of results as arrays; a list of 0-d tensors as one array."""
    if isinstance(tree, (list, tuple)) and any(isinstance(leaf, Tensor) for leaf in tree):
        return np.stack([np.asarray(leaf.detach() if isinstance(leaf, Tensor) else leaf) for leaf in tree])
    return tree_map(lambda leaf: leaf.detach().numpy() if isinstance(leaf, Tensor) else leaf, tree)


class Met(Exception):  # noqa: N818 - no error: it leaves SciPy's solver
    """A function that SciPy has called returned a tensor with history."""


def watched(function: Callable) -> Callable:
    """Return ``function`` for SciPy's own solver: raise :class:`Met` where the result has history.

    A first call that fails raises it too, with the error as its cause: a module does not take arrays.
    """
    calls = 0

    def either(*args: Any, **kwargs: Any) -> Any:
        nonlocal calls
        calls += 1
        try:
            result = function(*args, **kwargs)
        except Exception as error:
            if calls == 1:
                raise Met from error
            raise
        if type(result) is not np.ndarray and type(result) is not float:
            if any(isinstance(leaf, Tensor) and leaf.requires_grad for leaf in tree_leaves(result)):
                raise Met
        return result

    return either
