"""The border of a transform: how arguments enter and results leave.

There is one tape. A reverse transform calls its function with new tensors, connected to the old ones by a node if those
are on the tape already; results are detached from the new tensors unless something outside the transform is
differentiated too.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from threading import Lock
from types import FunctionType
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary, WeakSet

import numpy as np

from .. import modes
from .._locks import renew_in_child
from .._tensor.creation import as_tensor
from .._tensor.tensor import Tensor, alias
from .._typing import Tree
from ..arrays import Absent, is_array
from ..autograd.api import zeros_for as zeros_for
from ..autograd.node import AccumulateGrad, edge_of, leaf_edge, next_sequence
from ..autograd.tangents import active, set_tangent, tangent
from ..pytree import TreeSpec, tree_flatten, tree_leaves, tree_map

if TYPE_CHECKING:
    from ..autograd.node import Node

_numpy: Any = None  # dualtape.ops.numpy_tensor, once an array has entered

# --- NumPy in, NumPy out --------------------------------------------------------------------------


def is_number(value: object) -> bool:
    """Return whether ``value`` is a floating-point or complex number, Python's or NumPy's, that may stand for a 0-d
    array.
    """
    return isinstance(value, (float, complex)) or (isinstance(value, np.generic) and value.dtype.kind in "fc")


def as_tensors(tree: Tree, who: str, primal: bool = False) -> tuple[list, TreeSpec]:
    """Return the leaves of ``tree``, with arrays and numbers as tensors, and its spec; raise for leaves of other types.

    Those of ``primal`` arguments, which a function receives, have NumPy's methods.
    """
    leaves, spec = tree_flatten(tree)
    for k, leaf in enumerate(leaves):
        if not isinstance(leaf, Tensor):
            if not (is_array(leaf) or is_number(leaf)):
                raise ValueError(
                    f"{who}: Thing passed to transform API must be Tensor (or an array or a float), got {type(leaf)}"
                    + _hint(leaf)
                )
            leaves[k] = from_array(leaf) if primal else as_tensor(leaf if is_array(leaf) else np.asarray(leaf))
    return leaves, spec


def from_array(leaf: object) -> Tensor:
    """Return an array or a number as the tensor that functions receive for it, whose methods are NumPy's."""
    global _numpy
    if _numpy is None:
        from ..ops import numpy_tensor as _numpy
    return _numpy.marked(as_tensor(leaf if is_array(leaf) else np.asarray(leaf)))


def entered(tensor: Tensor) -> Any:
    """Return ``tensor``, which stands for an array, as the function receives it."""
    return as_given(tensor, from_array(np.zeros(())))


def as_given(inside: Tensor, leaf: Tensor) -> Tensor:
    """Return ``inside``, which stands for the argument ``leaf`` in a transform, as the function receives it."""
    if _numpy is None or type(leaf) is not _numpy.NumpyTensor:
        return inside
    return _numpy.entering(inside)


def of_kind(value: Any, model: object, shared: Any = ()) -> Any:
    """Return ``value``, a new tensor, of NumPy's kind if ``model`` is; as another object if it is among ``shared``."""
    if _numpy is None or type(model) is not _numpy.NumpyTensor or type(value) is not Tensor:
        return value
    return _numpy.like(value, True) if any([value is one for one in shared]) else _numpy.marked(value)


def _hint(leaf: object) -> str:
    if isinstance(leaf, int):
        return f": derivatives are of floating-point numbers, {float(leaf)}"
    if isinstance(leaf, (str, bytes, type(None))):
        return ": leave it out of argnums"
    return ": utils._pytree.register_dataclass and register_pytree_node tell what a class of one's own holds"


def speaks_numpy(*trees: Tree) -> bool:
    """Return whether the arguments are NumPy's: ``trees`` contain arrays or numbers, no tensors, and no other transform
    is running.
    """
    mode = modes.current()
    if mode.levels or mode.batches:
        return False
    for tree in trees:
        if type(tree) is tuple and tree and type(tree[0]) is Tensor:
            return False  # nearly every call
    leaves = [leaf for tree in trees for leaf in tree_leaves(tree)]
    return any(is_array(leaf) or is_number(leaf) for leaf in leaves) and not any(
        isinstance(leaf, Tensor) for leaf in leaves
    )


def as_numpy(tree: Tree) -> Any:
    """Return ``tree`` with tensors as arrays, except those that are still to be differentiated."""
    return tree_map(lambda leaf: leaf._array if isinstance(leaf, Tensor) and not leaf.requires_grad else leaf, tree)


# --- names ----------------------------------------------------------------------------------------


def named_as(func: Callable) -> Callable[[Callable], Callable]:
    """Return ``functools.wraps(func)``; for a plain function without attributes a faster equivalent."""

    def named(wrapper: Any) -> Callable:
        if type(func) is not FunctionType or func.__dict__:
            return functools.update_wrapper(wrapper, func)
        for name in functools.WRAPPER_ASSIGNMENTS:
            setattr(wrapper, name, getattr(func, name))
        wrapper.__wrapped__ = func
        return wrapper

    return named


# --- which arguments ------------------------------------------------------------------------------


def check_argnums(argnums: int | tuple[int, ...], count: int) -> tuple[int, ...]:
    """Return the nonnegative positions of the arguments to differentiate."""
    places = argnums if isinstance(argnums, tuple) else (argnums,)
    if any(isinstance(n, bool) or not isinstance(n, (int, np.integer)) for n in places):
        raise RuntimeError(f"argnums must be int or Tuple[int, ...], got: {argnums!r} of {type(argnums)}")
    if not places:
        raise RuntimeError("argnums must be non-empty: name an argument to differentiate")
    for n in places:
        if not -count <= n < count:
            raise RuntimeError(f"Got argnum={n}, but only {count} positional inputs")
    normal = tuple(int(n) % count for n in places)
    if len(set(normal)) != len(normal):
        raise RuntimeError(f"argnums elements must be unique, got {argnums}")
    return normal


def with_chosen(func: Callable, args: tuple, kwargs: dict, places: tuple[int, ...]) -> Callable:
    """Return ``func`` as a function of the chosen arguments alone."""

    def of_chosen(*values: Tree) -> Any:
        given = list(args)
        for n, value in zip(places, values, strict=True):
            given[n] = value
        return func(*given, **kwargs)

    return of_chosen


def split_aux(output: Tree, has_aux: bool, who: str) -> tuple[Any, Any]:
    """Return the output of a function, and its auxiliary output."""
    if not has_aux:
        return output, None
    if not (isinstance(output, tuple) and len(output) == 2):
        raise RuntimeError(
            f"{who}: output of function f should be a tuple: (output, aux) if has_aux is True, got {type(output)}"
        )
    return output


def only_tensors(tree: Tree, who: str) -> tuple[list, TreeSpec]:
    """Return the tensors of a result; raise if it contains anything else."""
    leaves, spec = tree_flatten(tree)
    for leaf in leaves:
        if not isinstance(leaf, Tensor):
            raise RuntimeError(
                f"{who} to return only tensors, got unsupported type {type(leaf)}: return tensors, and the rest as aux"
                " with has_aux=True"
            )
    if not leaves:
        transform = who.partition(": ")[0]
        raise RuntimeError(
            f"{transform}: Expected f to be a function that has non-empty output (got output = {tree!r})"
        )
    return leaves, spec


# --- reverse transforms ---------------------------------------------------------------------------


_scopes: WeakKeyDictionary[AccumulateGrad, Scope] = WeakKeyDictionary()  # of the leaves that functions get
_ended: WeakSet[Scope] = WeakSet()  # those whose graph is still held, by a vjp_fn
_ending = Lock()
renew_in_child(globals(), _ending=Lock)


class Scope:
    """One run of a reverse transform: it tells tensors made inside from those outside. Within the context the function
    runs, and is recorded.
    """

    def __init__(self) -> None:
        self.outside = mode = modes.current()
        self.start = next_sequence()
        self.end: int | None = None
        self._inside = (
            mode if mode.grad and not mode.inference else mode.replace(grad=True, inference=False, forward=True)
        )

    def __enter__(self) -> Scope:
        self.end = None
        modes.enter(self._inside, self.outside)
        return self

    def __exit__(self, *error: object) -> None:
        now = modes._set(self.outside).old_value
        self.end = next_sequence()
        if now is not self._inside:
            modes.keep(now, self.outside, "grad", "inference", "forward")
        with _ending:
            _ended.add(self)

    def inward(self, tensor: Tensor) -> Tensor:
        """Return ``tensor`` as the function receives it: the same values and tangents, with an edge of its own."""
        if tensor._array.dtype.kind not in "fc":
            raise RuntimeError(
                f"only Tensors of floating point dtype can require gradients, got {tensor.dtype!r}: convert it first,"
                " or leave it out of argnums"
            )
        if tensor.requires_grad and not tensor.is_inference():
            return Tensor.view_as(tensor, tensor)
        new = cut_off(tensor)
        if new.is_inference():  # its writes are counted from here on: the function is recorded
            new._version_counter = new._view = None
        new.requires_grad_()
        _scopes[leaf_edge(new)[0]] = self
        return new

    def reaches_out(self, tensor: Tensor) -> bool:
        """Return whether ``tensor``, or a tangent of it, depends on a tensor outside that may be differentiated."""
        return self.values_reach(tensor) or self.tangents_reach(tensor)

    def tangents_reach(self, tensor: Tensor) -> bool:
        """Return the same for its tangents alone."""
        return any(map(self.reaches_out, tangents_now(tensor)))

    def values_reach(self, tensor: Tensor) -> bool:
        """Return the same for its values alone."""
        if not modes.current().grad or not tensor.requires_grad:
            return False
        edge = edge_of(tensor)
        if edge is None:
            return False
        seen = {edge[0]}
        stack = [edge[0]]
        while stack:
            node = stack.pop()
            if type(node) is AccumulateGrad:
                owner = _scopes.get(node)
                if owner is None or (owner is not self and owner.end is None):
                    return True
                continue  # the function's own, or that of one that has ended
            if node._seq < self.start and not _made_before(node):
                return True
            for one in node._edges:
                if one is not None and one[0] not in seen:
                    seen.add(one[0])
                    stack.append(one[0])
        return False

    def outward(self, value: object, reaches: bool | None = None) -> Any:
        """Return a result as the caller receives it, without connection to the tensors of the function; other objects
        unchanged.

        ``reaches``: whether its values reach out, if that is known.
        """
        if not isinstance(value, Tensor):
            return value
        levels = active(modes.current())
        if not value.requires_grad and not levels:
            return value
        if value.requires_grad and reaches is None:
            reaches = self.values_reach(value)
        new = value if not value.requires_grad or reaches else of_kind(cut_off(value), value)
        for level in levels:
            t = tangent(value, level)
            if t is not None and t.requires_grad:
                set_tangent(new, level, self.outward(t))
        return new


def _made_before(node: Node) -> bool:
    """Return whether ``node`` was made in a transform that has ended, and so need not lead to differentiable
    tensors.
    """
    with _ending:
        scopes = list(_ended)
    return any(scope.end is not None and scope.start < node._seq < scope.end for scope in scopes)


def tangents_now(tensor: Tensor) -> list[Tensor]:
    """Return the tangents of ``tensor`` at the open levels."""
    found = [tangent(tensor, level) for level in active(modes.current())]
    return [t for t in found if t is not None]


def has_history(tensor: Tensor) -> bool:
    """Return whether ``tensor``, or a tangent of it, is to be differentiated."""
    return tensor.requires_grad or any(map(has_history, tangents_now(tensor)))


def cut_off(tensor: Tensor) -> Tensor:
    """Return a tensor over the same memory with the same tangents, without history."""
    new = alias(tensor) if type(tensor._array) is not Absent else tensor.detach()
    for level in active(modes.current()):
        t = tangent(tensor, level)
        if t is not None:
            set_tangent(new, level, t)
    return new
