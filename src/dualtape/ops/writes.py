"""Short cuts of in-place methods: the write straight into the memory, where no rule of views or leaves asks for more.

As in :mod:`shortcuts`: whatever is unusual goes the whole way through :func:`dispatch.call_inplace`, which alone words errors.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .. import modes
from ..arrays.silence import hush, unhush
from ..autograd.node import leaf_edge, next_sequence
from ..autograd.versions import UNTRACKED, bump
from ..autograd.views import rebase
from ..overriding import watching
from ..tensor import Tensor, wrap
from .dispatch import call_inplace
from .shortcuts import double, fresh, plain_types, single
from .table import BROADCASTING, ELEMENTWISE, Op

_new = object.__new__
_ndarray = np.ndarray
asarray = np.asarray


def inplace(op: Op) -> Callable:
    """The in-place method of an op: quick where the result fits into the memory, and the tensor is no view."""
    ufunc = op.quick.get("forward", op.forward)
    if op.kind not in (ELEMENTWISE, BROADCASTING) or len(op.tensor_places) != op.required or op.required > 2:
        return inplace_general(op)
    if not isinstance(ufunc, np.ufunc) or not op.inputs or len(op.inputs) != op.required or op.variant is not None:
        return inplace_general(op)
    current, tensor_type, binary_op, required = modes.current, Tensor, op.required == 2, op.required
    saves = bool(op.saves)
    rest = tuple(op.defaults[op.params.index(n) - required] for n, _, _ in op.saves[required + 1 :]) if saves else ()
    new, sequence, other = _new, next_sequence, inplace_general(op)

    def function(x: Any, *args: Any, **kwargs: Any) -> Tensor:
        mode = current()
        if kwargs or len(args) + 1 != required or (type(x) is not tensor_type and type(x) not in plain_types) or not mode.plain:
            return other(x, *args, **kwargs)
        a = x._array
        counter = x._counter
        if not (a.dtype is single or a.dtype is double) or type(a) is not _ndarray or not a.flags.c_contiguous or counter is UNTRACKED:
            return call_inplace(op, (x, *args), kwargs)
        left = mode.grad and (x._requires_grad if x._view is None else x.requires_grad)
        right = False
        y: Any = None
        if binary_op:
            y = args[0]
            if type(y) is tensor_type or type(y) in plain_types:
                b = y._array
                if b.dtype is not a.dtype or type(b) is not _ndarray:
                    return call_inplace(op, (x, y), kwargs)
                right = mode.grad and y.requires_grad
            elif type(y) is float or type(y) is int:
                try:
                    b = asarray(y, a.dtype)
                except (RuntimeWarning, OverflowError):
                    return call_inplace(op, (x, y), kwargs)
            else:
                return call_inplace(op, (x, y), kwargs)
        recording = left or right
        if recording:  # not a leaf, a view, or beside an alias of itself: these have rules of their own
            if x._view is not None or (x._requires_grad and x._edge is None):
                return call_inplace(op, (x, *args), kwargs)
            if isinstance(y, tensor_type) and (y._counter is counter or (y._view is not None and not fresh(y))):
                return call_inplace(op, (x, *args), kwargs)
            plan = op.plan((left, right) if binary_op else (left,)) if saves else ()
            old = x
            if 0 in plan:  # a formula needs the value that is written over
                old = wrap(a.copy())
                old._edge, old._requires_grad = x._edge, left
        silenced = hush()  # a warning that is an error would leave the write behind
        try:
            ufunc(a, b, a) if binary_op else ufunc(a, a)
        except (ValueError, TypeError):
            return call_inplace(op, (x, *args), kwargs)
        finally:
            unhush(silenced)
        bump(counter)
        if not recording:
            return x
        node = new(op.node_class())
        edge = x._edge if left else None
        node.edges = (edge, (y._edge or leaf_edge(y)) if right else None) if binary_op else (edge,)
        node.outputs = ((a.shape, a.dtype),)
        node.extra = None
        node.seq = sequence()
        if saves:
            kept = [(old, old._counter, old._counter[0]) if 0 in plan else None]
            if binary_op:
                kept.append(((y, y._counter, y._counter[0]) if isinstance(y, tensor_type) else y) if 1 in plan else None)
            kept.append((a, counter, counter[0]) if required in plan else None)
            node.saved = (*kept, *rest)
        else:
            node.saved = ()
        if edge is not None and edge[0].extra is not None:
            rebase(x, node)
        else:
            x._edge = (node, 0)
            x._requires_grad = True
        return x

    return function


def inplace_general(op: Op) -> Callable:
    """The in-place method of any other op: quick where nothing is to be recorded, as in an optimizer's step."""
    forward, bind, current, tensor_type, places, numbers = op.forward, op.bind, modes.current, Tensor, op.tensor_places, op.scalars
    elementwise = op.kind in (ELEMENTWISE, BROADCASTING)

    def function(*args: Any, **kwargs: Any) -> Tensor:
        mode = current()
        if not elementwise or not mode.plain or watching or not args:
            return call_inplace(op, args, kwargs)
        values = bind(args, kwargs)
        x = values[0]
        dtype = None
        raws = values.copy()
        for place in places:
            value = values[place]
            if type(value) is tensor_type or type(value) in plain_types:
                array = raws[place] = value._array
                if dtype is None:
                    dtype = array.dtype
                if array.dtype is not dtype or type(array) is not _ndarray or (mode.grad and value.requires_grad):
                    return call_inplace(op, args, kwargs)
            elif place == 0 or not numbers or (type(value) is not float and type(value) is not int):
                return call_inplace(op, args, kwargs)
            else:
                raws[place] = asarray(value, dtype)
        a = x._array
        if x._counter is UNTRACKED or not (dtype is single or dtype is double) or not a.flags.c_contiguous:
            return call_inplace(op, args, kwargs)
        silenced = hush()
        try:
            r = forward(*raws)
        except Exception:
            return call_inplace(op, args, kwargs)  # fails again, in the right words
        finally:
            unhush(silenced)
        if r.dtype is not dtype or r.shape != a.shape:
            return call_inplace(op, args, kwargs)
        a[...] = r
        bump(x._counter)
        return x

    return function
