"""Fast paths of ``x[key]`` and ``x[key] = value`` for keys of integers and slices.

As in :mod:`.codegen.call` they are for plain tensors over NumPy's arrays with no mode active but grad mode. In any
other case both report so, with nothing done, and :mod:`.families.indexing` takes the reference path, which alone builds
error messages.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .. import modes
from .._tensor.tensor import Tensor
from ..arrays.kernels.numbers import element, fits_into
from ..autograd.node import leaf_edge
from ..autograd.versions import UNTRACKED, bump
from ..autograd.views import KEY_STEP, CopySlices, disjoint, history_is_current, may_record_write, rebase_base
from .codegen.source import Code, edge, is_plain, lazily, new_node, new_tensor, new_view, plain_types
from .table import TABLE

_ndarray = np.ndarray
_SELECT, _SLICE = TABLE["select"], TABLE["slice"]
_WHOLE = [(slice(None),) * n for n in range(65)]  # NumPy's arrays have at most 64 dimensions


def _write_view_at(_: None) -> Code:
    """Return the source of ``view_at(x, keys, alone)``, which returns the view ``x[keys]``, or None if a case is
    unusual.

    A select or a slice for each part of the key, a node for each if they are recorded, one tensor for all. A slice of a
    whole dimension is no view of its own, unless it stands ``alone``.
    """
    code = Code("def view_at(x, keys, alone):", _SELECT=_SELECT, _SLICE=_SLICE, _WHOLE=_WHOLE, _plain_types=plain_types)
    code("mode = _current()", f"if not ({is_plain('x')}) or not mode.plain:", "    return None")
    code("outer = x._view", "r = x._array")
    current = "outer is not None and (outer.creation is not _DEFAULT or not _history_is_current(x))"
    code(f"if type(r) is not _ndarray or {current}:", "    return None")
    code(f"edge = ({edge('x')}) if x._requires_grad and mode.grad else None")
    code("step = None if outer is None else outer.step", "dim = 0")
    with code.block("for key in keys:"):
        code("shape = r.shape", "if dim >= len(shape):", "    return None")
        with code.block("if type(key) is int:"):
            code("n = shape[dim]", "if not -n <= key < n:", "    return None")
            code("op, values = _SELECT, (dim, key)", "r = r[(*_WHOLE[dim], key, ...) if dim else (key, ...)]")
        with code.block("elif type(key) is slice:"):
            code("start, stop, stride = key.start, key.stop, key.step")
            unusual = "start is not None and type(start) is not int or stop is not None and type(stop) is not int"
            code(f"if {unusual}:", "    return None")
            code("if stride is None:", "    stride = 1")
            code("elif type(stride) is not int or stride < 1:", "    return None")
            whole = "stride == 1 and not start and (stop is None or stop >= shape[dim]) and not alone"
            code(f"if {whole}:", "    dim += 1", "    continue")
            code("op, values = _SLICE, (dim, start, stop, stride)", "r = r[(*_WHOLE[dim], key) if dim else key]")
            code("dim += 1")
        code("else:", "    return None")
        code("step = (step, op, values, None)")
        with code.block("if edge is not None:"):
            kind = "op._node_classes[0] or op.node_class()"
            code(*new_node(kind, "(edge,)", "(shape, *values)", "r.shape", "r.dtype"), "edge = (_node, 0)")
    code("if r is x._array:", "    return None")
    code("_counter = x._version_counter or x._shared_counter")
    place = {"_edge": "edge", "_requires_grad": "edge is not None", "_version_counter": "_counter"}
    code(*new_tensor("r", **place), "base = x if outer is None else outer.base")
    code(*new_view("base", "step", "_DEFAULT if mode.grad else _NO_GRAD", "_counter[0]"), "return _out")
    return code


view_at: Callable[[Any, tuple, bool], Tensor | None] = lazily(_write_view_at, None, "view_at", "x[integers and slices]")


def _is_place(value: Any) -> bool:
    return value is None or type(value) is int


def assign(x: Any, key: Any, value: Any) -> bool:
    """Assign ``x[key] = value`` and record it on the base, without a tensor for the view.

    Return False, with nothing done, if a case is unusual.
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
    flags = part.flags
    if part.shape == a.shape or not flags.writeable or not flags.c_contiguous and not disjoint(part):
        # All of x, whose history is then not that of a view; or a write that is refused.
        return False
    view = x._view
    left = mode.grad and (x._requires_grad if view is None else x.requires_grad)
    if left or right:
        if b.ndim > part.ndim or right and b.ndim and b.shape != part.shape:
            # Leading dimensions of size one are dropped, and the rest is broadcast: both are recorded.
            return False
        if not may_record_write(x, left):
            return False  # a leaf, or a view with rules of its own
        source = (value._edge or leaf_edge(value)) if right else None
    if b.ndim and b.shape != part.shape and not fits_into(b, part):
        return False
    bump(counter)
    if left or right:
        base, previous = (x, None) if view is None else (view.base, view.step)
        rebase_base(base, CopySlices(base, (previous, KEY_STEP, (keys,), None), None, source))
    part[...] = b
    return True
