"""Short cuts of ``x[key]`` and ``x[key] = value`` for keys of integers and slices: what nearly every key is.

As in :mod:`fastpath`: plain tensors over NumPy's arrays, no mode but grad mode. Both functions say when something
is unusual, and then have done nothing; :mod:`indexing` goes the whole way, which alone words errors.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import modes
from .._tensor.tensor import Tensor
from ..autograd.node import leaf_edge, next_sequence
from ..autograd.versions import UNTRACKED, bump
from ..autograd.views import DEFAULT, KEY_STEP, NO_GRAD, CopySlices, View, disjoint, rebase_base, takes_writes
from .fastpath import history_is_current, plain_types
from .inplace import element
from .table import TABLE

_new = object.__new__
_ndarray = np.ndarray
_SELECT, _SLICE = TABLE["select"], TABLE["slice"]
_WHOLE = [(slice(None),) * n for n in range(65)]  # NumPy's arrays have at most 64 dimensions


def view_at(x: Any, keys: tuple, alone: bool) -> Tensor | None:
    """The view ``x[keys]``: a select or a slice for each part of the key, a node for each if they are recorded, one
    tensor for all.

    A slice of a whole dimension is no view of its own, unless it stands ``alone``.
    """
    mode = modes.current()
    if type(x) is not Tensor and type(x) not in plain_types or not mode.plain:
        return None
    outer = x._view
    r: Any = x._array
    if type(r) is not _ndarray or outer is not None and (outer.creation is not DEFAULT or not history_is_current(x)):
        return None
    edge = (x._edge or leaf_edge(x)) if x._requires_grad and mode.grad else None
    step = None if outer is None else outer.step
    dim = 0
    values: tuple
    for key in keys:
        shape = r.shape
        if dim >= len(shape):
            return None
        if type(key) is int:
            n = shape[dim]
            if not -n <= key < n:
                return None
            op, values = _SELECT, (dim, key)
            at: Any = (*_WHOLE[dim], key, ...) if dim else (key, ...)
            r = r[at]
        elif type(key) is slice:
            start, stop, stride = key.start, key.stop, key.step
            if start is not None and type(start) is not int or stop is not None and type(stop) is not int:
                return None
            if stride is None:
                stride = 1
            elif type(stride) is not int or stride < 1:
                return None
            if stride == 1 and not start and (stop is None or stop >= shape[dim]) and not alone:
                dim += 1
                continue
            op, values = _SLICE, (dim, start, stop, stride)
            at = (*_WHOLE[dim], key) if dim else key
            r = r[at]
            dim += 1
        else:
            return None
        step = (step, op, values, None)
        if edge is not None:
            node = _new(op._node_classes[0] or op.node_class())
            node._edges, node._shape, node._dtype, node._saved = (edge,), r.shape, r.dtype, (shape, *values)
            node._extra, node._seq = None, next_sequence()
            edge = (node, 0)
    if r is x._array:
        return None
    out = _new(Tensor)
    out._array = r
    out._grad = out._grad_accumulator = out._extra = None
    out._edge = edge
    out._requires_grad = edge is not None
    counter = out._version_counter = x._version_counter or x._shared_counter
    view = out._view = _new(View)
    view.base = x if outer is None else outer.base
    view.step = step
    view.creation = DEFAULT if mode.grad else NO_GRAD
    view.seen = counter[0]
    return out


def _is_place(value: Any) -> bool:
    return value is None or type(value) is int


def assign(x: Any, key: Any, value: Any) -> bool:
    """Do ``x[key] = value``: write, and give the base its history, without a tensor for the view. False: nothing
    was done.
    """
    mode = modes.current()
    if type(x) is not Tensor and type(x) not in plain_types or not mode.plain:
        return False
    a, counter = x._array, x._version_counter or x._shared_counter
    if type(a) is not _ndarray or counter is UNTRACKED:
        return False
    keys = key if type(key) is tuple else (key,)
    ending: tuple = (...,)  # what makes a view of a single element, too
    for k in keys:
        if k is ...:
            ending = ()
        elif type(k) is slice:
            if not (
                _is_place(k.start) and _is_place(k.stop) and (k.step is None or type(k.step) is int and k.step > 0)
            ):
                return False
        elif type(k) is not int and k is not None:
            return False
    keys += ending
    kind = type(value)
    right = False
    try:
        if kind is Tensor or kind in plain_types:
            b = value._array
            if (
                b.dtype is not a.dtype
                or type(b) is not _ndarray
                or mode.grad
                and value._view is not None
                and not history_is_current(value)
            ):
                return False
            right = mode.grad and value._requires_grad
        else:
            b = element(value, a.dtype)
            if b is None:
                return False
        part = a[keys]
    except IndexError:
        return False
    if part.shape == a.shape or not part.flags.c_contiguous and not disjoint(part):
        return False  # all of x, whose history is then not that of a view; or a write that is refused
    view = x._view
    left = mode.grad and (x._requires_grad if view is None else x.requires_grad)
    if left or right:
        if b.ndim > part.ndim or right and b.ndim and b.shape[0] == 1 and b.shape != part.shape:
            return False  # leading dimensions of size one go, which is recorded
        if left and x._edge is None if view is None else not takes_writes(x, view, left):
            return False  # a leaf, or a view with rules of its own
        edge = (value._edge or leaf_edge(value)) if right else None
    try:
        part[...] = b
    except ValueError:
        return False
    bump(counter)
    if left or right:
        base, previous = (x, None) if view is None else (view.base, view.step)
        rebase_base(base, CopySlices(base, (previous, KEY_STEP, (keys,), None), None, edge))
    return True
