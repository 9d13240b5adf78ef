"""The class of tensors with NumPy's methods, and how tensors become and cease to be instances of it."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from ... import modes
from ..._tensor.creation import as_tensor
from ..._tensor.tensor import Tensor, alias, raw
from ...arrays import is_array
from ...autograd.node import leaf_edge
from ...autograd.saved import keep_output
from ...autograd.tangents import active, set_tangent, tangent
from ...autograd.versions import KeepingCounter
from ...overrides.active_overrides import numpy_kind, silent
from ...overrides.subclass import disabled_function
from ...pytree import tree_leaves, tree_map
from ..codegen.source import plain_types
from ..numpy_entries import call_function as call_entry
from ..table import TABLE
from .constants import PROMOTING, by_value, promoted
from .indexing import Indexing
from .methods import Methods
from .operators import Operators, call_ufunc, define


class NumpyTensor(Operators, Indexing, Methods, Tensor):  # type: ignore[misc, override]
    """A tensor whose operators, indices, methods and attributes are those of ``numpy.ndarray``.

    A function gets it for each array that enters a transform (:mod:`dualtape.func`, :mod:`dualtape.hips`,
    :func:`dualtape.compile`, :func:`dualtape.autograd.gradcheck`). Methods of PyTorch that NumPy's arrays do not have
    are there too (``x.exp()``, ``x.unsqueeze(0)``), and so are PyTorch's keywords (``x.sum(dim=0)``).

    Parameters
    ----------
    data : array_like
        What ``numpy.asarray`` takes, or a tensor. An array shares its memory with the result.
    requires_grad : bool
        Whether the result is a leaf that gradients are accumulated for.

    Examples
    --------
    >>> import numpy as np
    >>> import dualtape as dt
    >>> x = dt.numpy.NumpyTensor(np.array([1.0, 2.0, 3.0]), requires_grad=True)
    >>> x.size, x.shape, x.max(axis=0)
    (3, (3,), array(3., grad_fn=<AmaxBackward0>))
    >>> np.sum(x[::-1] ** 2)
    array(14., grad_fn=<SumBackward0>)
    """

    __slots__ = ()
    __torch_function__ = disabled_function  # type: ignore[assignment]
    __hash__ = object.__hash__

    def __new__(cls, data: Any = (), requires_grad: bool = False) -> Any:
        made = data if isinstance(data, Tensor) else as_tensor(data if is_array(data) else np.asarray(data))
        return entering(made).requires_grad_() if requires_grad else entering(made)

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        """Nothing: all is done in ``__new__``."""

    @property
    def _shared_counter(self) -> list:
        """Return the version counter of this memory: of one kind that lets saved values be copied before a write."""
        if self._version_counter is None:
            new = KeepingCounter((0, None))
            if self._version_counter is None:
                self._version_counter = new
        return self._version_counter

    @_shared_counter.setter
    def _shared_counter(self, counter: list) -> None:
        self._version_counter = counter

    # --- NumPy's protocols ------------------------------------------------------------------------

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        if self.requires_grad and modes.current().grad:
            raise RuntimeError(
                "NumPy asks for plain numbers of an array that requires grad, which would lose the derivative: import"
                " dualtape.numpy as np, whose array, full and vectorize take it, join such arrays by np.stack or"
                " np.concatenate, and write to ones made by np.zeros_like(x); SciPy's functions for it are in"
                " dualtape.scipy"
            )
        return super().__array__(dtype, copy)

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **kwargs: Any) -> Any:
        return call_ufunc(ufunc, method, inputs, kwargs)

    def __array_function__(self, func: Callable, types: Any, args: Any, kwargs: Any) -> Any:
        return call_function(self, func, args, kwargs)

    # --- printing, copying ------------------------------------------------------------------------

    def __repr__(self, *, tensor_contents: str | None = None) -> str:  # type: ignore[override]
        text = np.array_repr(shown_values(self)) if tensor_contents is None else f"array({tensor_contents})"
        if self.requires_grad:
            node = self.grad_fn
            more = f"grad_fn=<{node.name()}>" if node is not None and not self.is_leaf else "requires_grad=True"
            text = f"{text[:-1]}, {more})"
        return text

    def __str__(self) -> str:
        return str(shown_values(self))

    def __format__(self, spec: str) -> str:
        return format(self.item(), spec) if self._array.ndim == 0 else format(str(self), spec)

    def __copy__(self) -> Any:
        return marked(alias(self)) if not self.requires_grad else self.copy()

    def __deepcopy__(self, memo: dict) -> Any:
        if id(self) not in memo:
            memo[id(self)] = marked(as_plain(self).clone())
        return memo[id(self)]

    def __reduce_ex__(self, protocol: Any) -> tuple:
        return _restored, (np.array(shown_values(self)), self.requires_grad and self.is_leaf)

    def __iter__(self) -> Iterator[Any]:
        return self._elements()

    def __contains__(self, element: Any) -> bool:
        return bool(np.any(raw(self == element)))

    def __dir__(self) -> list[str]:
        return sorted({*super().__dir__(), *_MEMBERS})


_MEMBERS = [name for name in dir(np.ndarray) if not name.startswith("_")]


def _restored(array: np.ndarray, requires_grad: bool) -> Any:
    """Return what :mod:`pickle` has saved."""
    return NumpyTensor(array, requires_grad)


def shown_values(tensor: Tensor) -> Any:
    """Return the array that is printed for ``tensor``."""
    array = tensor._array
    if type(array) is np.ndarray:
        return array
    return array.get() if type(array).__name__ == "ndarray" else np.asarray(array, object)


# --- to the kind and back -------------------------------------------------------------------------


def marked(value: Any) -> Any:
    """Return ``value``, and make it one of NumPy's kind, in place, if it is a plain tensor; only for tensors that
    nothing else refers to.
    """
    if type(value) is Tensor:
        value.__class__ = NumpyTensor
        if value._version_counter is not None:
            keep_output(value)
    return value


def marked_tree(tree: Any, args: Any = ()) -> Any:
    """Return ``tree`` with its new tensors of NumPy's kind; those that are among ``args`` are left as they are."""
    if type(tree) is Tensor:
        return tree if any(tree is one for one in args) else marked(tree)
    if isinstance(tree, (tuple, list)):
        for one in tree:
            marked_tree(one, args)
    return tree


def same_kind(value: Any, model: Any) -> Any:
    """Return ``value``, which nothing else refers to, of NumPy's kind if ``model`` is."""
    return marked(value) if type(model) is NumpyTensor else value


def like(tree: Any, numpy: bool) -> Any:
    """Return the results of a transform: tensors of NumPy's kind if its arguments were."""
    return tree_map(lambda leaf: _another(leaf) if type(leaf) is Tensor else leaf, tree) if numpy else tree


def _another(tensor: Tensor) -> Any:
    """Return ``tensor`` as a new object of NumPy's kind, with the same history."""
    return marked(_identity(tensor))


def entering(tensor: Tensor) -> Any:
    """Return ``tensor``, an argument of a function, as one of NumPy's kind that may be written to.

    It is another object over the same memory. Its edge is that of ``tensor``: a leaf's is the edge to its accumulator,
    so that the new tensor is no leaf, and a write to it is recorded.
    """
    if type(tensor) is NumpyTensor:
        return tensor
    if not tensor.requires_grad or tensor._edge is not None or tensor._view is not None:
        return marked(_identity(tensor))
    new = alias(tensor)
    new._edge = leaf_edge(tensor)
    new._requires_grad = True
    for level in active(modes.current()):
        t = tangent(tensor, level)
        if t is not None:
            set_tangent(new, level, t)
    return marked(new)


def as_plain(tensor: Any) -> Any:
    """Return a tensor of NumPy's kind as a plain one: a view of the whole of it, so that a write reaches both."""
    return _identity(tensor) if type(tensor) is NumpyTensor else tensor


def as_plain_tree(tree: Any) -> Any:
    """Return ``tree`` with plain tensors for those of NumPy's kind."""
    return tree_map(as_plain, tree)


def _identity(tensor: Tensor) -> Any:
    """Return a view of the whole of ``tensor``."""
    return TABLE["alias"].function(tensor)


def call_function(tensor: Any, func: Callable, args: tuple, kwargs: dict) -> Any:
    """Run a NumPy function; its new tensors are of NumPy's kind."""
    if tensor._array.dtype.kind in "biu":
        found = by_value(func, args, kwargs)
        if found is not None:
            return found
    if func in PROMOTING:
        args = promoted(func, args)
    result = call_entry(tensor, func, args, kwargs)
    if type(result) is Tensor and not any([result is one for one in args]):
        return marked(result)
    return marked_tree(result, args)


def on_plain(function: Callable, args: tuple, kwargs: dict) -> Any:
    """Call ``function`` with plain tensors for arguments of NumPy's kind; what it returns, and what functions among
    its arguments get, is of NumPy's kind then.
    """
    if not any([type(leaf) is NumpyTensor for leaf in tree_leaves((args, kwargs))]):
        return function(*args, **kwargs)

    def plain(value: Any) -> Any:
        if not callable(value) or isinstance(value, (type, Tensor)):
            return as_plain(value)

        @functools.wraps(value)
        def of_arrays(*given: Any, **named: Any) -> Any:
            given, named = tree_map(inward, (given, named))
            return as_plain_tree(value(*given, **named))

        return of_arrays

    def inward(leaf: Any) -> Any:
        return entering(leaf) if type(leaf) is Tensor else leaf

    args, kwargs = tree_map(plain, (args, kwargs))
    return like(function(*args, **kwargs), True)


# --- for the rest of the package ------------------------------------------------------------------


def _strip(args: tuple, kwargs: dict) -> tuple[tuple, dict]:
    """Return the arguments of a function of PyTorch's, with plain tensors."""
    for one in args:
        kind = type(one)
        if kind is NumpyTensor or kind is list or kind is tuple:
            args = tuple([_plain_argument(one) for one in args])
            break
    if kwargs:
        kwargs = {name: _plain_argument(one) for name, one in kwargs.items()}
    return args, kwargs


def _plain_argument(value: Any) -> Any:
    if type(value) is NumpyTensor:
        return as_plain(value)
    if type(value) in (list, tuple) and NumpyTensor in map(type, value):
        return type(value)([_plain_argument(one) for one in value])
    return value


define(NumpyTensor)
plain_types.add(NumpyTensor)
silent.add(NumpyTensor)
numpy_kind.append(_strip)
