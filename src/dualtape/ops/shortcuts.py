"""Short cuts: the functions users call, which begin with the way that nearly every call takes.

Plain tensors of one dtype, no mode but grad mode: then the forward runs on the arrays, and result and node are filled in slot by
slot, in one function without calls that could be saved. Whatever is unusual (another type, a keyword, a mode, a view whose
history must be renewed, a failure) goes the whole way through :func:`dispatch.call`, which alone words errors.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .. import modes
from ..arrays import is_array, settle
from ..autograd.node import leaf_edge, next_sequence
from ..autograd.op_node import ATTRIBUTE, OUTPUT
from ..autograd.versions import UNTRACKED, bump
from ..autograd.views import DEFAULT, NO_GRAD, Step, View
from ..tensor import Tensor
from . import table
from .dispatch import call, call_inplace
from .table import BROADCASTING, CONTRACTION, ELEMENTWISE, FLOAT, Op

_new = object.__new__
_ndarray = np.ndarray


def maker(op: Op) -> Callable[[Op], Callable]:
    """The short cut that fits an op."""
    if op.outputs is None and op.tensor_places == (0,) and not op.listed:
        if op.kind == ELEMENTWISE and op.required == 1 and not op.view:
            return unary
        return first_tensor
    if op.kind in (BROADCASTING, CONTRACTION) and op.tensor_places == (0, 1) and op.required == 2:
        return binary
    return general


def fresh(tensor: Tensor) -> bool:
    """Whether a view's own fields tell its history: it was not written behind its back, and made where history is known."""
    view = tensor._view
    known = tensor._requires_grad or not view.base._requires_grad
    return known and view.seen == tensor._counter[0] and view.creation is DEFAULT


# --- the short cuts ---------------------------------------------------------------------------------------------------------------


def unary(op: Op) -> Callable:
    """The function of an elementwise op of one argument."""
    forward = op.forward
    current, settled = modes.current, settle
    differentiable = bool(op.inputs)
    saves = bool(op.saves)
    plan = op.plan((True,)) if differentiable else frozenset()
    keep_x, keep_out = saves and 0 in plan, saves and 1 in plan
    rest = tuple(op.defaults[op.params.index(n) - op.required] for n, kind, _ in op.saves[2:]) if saves else ()
    new, sequence, tensor_type = _new, next_sequence, Tensor

    node_type: Any = None

    def function(x: Any = None, *args: Any, **kwargs: Any) -> Tensor:
        nonlocal node_type
        if type(x) is tensor_type and not args and not kwargs:
            mode = current()
            if mode.plain and (x._view is None or fresh(x)):
                a = x._array
                try:
                    r = forward(a)
                except (RuntimeWarning, ValueError, TypeError):
                    return call(op, (x,), {})
                if r.dtype is a.dtype:
                    out = new(tensor_type)
                    out._array = r if type(r) is _ndarray else settled(r)
                    out._edge = out._view = out._grad = out._accumulator = out._extra = None
                    out._requires_grad = False
                    version = out._counter = [0, None]
                    if x._requires_grad and mode.grad and differentiable:
                        if node_type is None:
                            node_type = op.node_class()
                        node = new(node_type)
                        node.edges = (x._edge or leaf_edge(x),)
                        node.outputs = ((r.shape, r.dtype),)
                        node.extra = None
                        node.seq = sequence()
                        if saves:
                            kept = (
                                (x, x._counter, x._counter[0]) if keep_x else None,
                                (out._array, version, 0) if keep_out else None,
                            )
                            node.saved = kept + rest if rest else kept
                        else:
                            node.saved = ()
                        out._edge = (node, 0)
                        out._requires_grad = True
                    return out
        if x is None and "input" in kwargs:
            x = kwargs.pop("input")
        return call(op, (x, *args), kwargs)

    return function


def binary(op: Op, operator: bool = False) -> Callable:
    """The function of a broadcasting op of two arguments; as an operator, it leaves foreign types to Python."""
    forward = op.forward
    current, settled = modes.current, settle
    differentiable = bool(op.inputs)
    saves = bool(op.saves)
    plans: list = [None]  # what to keep, by which of the two need a gradient: x alone, y alone, both
    if differentiable:
        for needs in ((True, False), (False, True), (True, True)):
            flags = tuple(needs[i] for i, p in enumerate(op.params[:2]) if p in op.inputs)
            plan = op.plan(flags)
            plans.append((saves and 0 in plan, saves and 1 in plan, saves and 2 in plan))
    rest = tuple(op.defaults[op.params.index(n) - op.required] for n, kind, _ in op.saves[3:]) if saves else ()
    new, sequence, tensor_type = _new, next_sequence, Tensor
    both = len(op.inputs) == 2
    numbers, variant = op.scalars, op.variant
    missing = table._MISSING

    node_type: Any = None  # made when the first node is

    def function(x: Any = missing, y: Any = missing, *args: Any, **kwargs: Any) -> Any:
        nonlocal node_type
        if type(x) is tensor_type and not kwargs and not args:
            mode = current()
            a = x._array
            kind = type(y)
            if kind is tensor_type:
                b = y._array
                fits = b.dtype is a.dtype and (y._view is None or fresh(y))
            else:
                b = y
                fits = numbers and (kind is float or kind is int)
            if fits and mode.plain and (x._view is None or fresh(x)):
                try:
                    r = forward(a, b)
                except (RuntimeWarning, ValueError, TypeError, AttributeError, OverflowError):
                    return call(op, (x, y), {})
                if r.dtype is a.dtype or not differentiable and kind is tensor_type:
                    out = new(tensor_type)
                    out._array = r if type(r) is _ndarray else settled(r)
                    out._edge = out._view = out._grad = out._accumulator = out._extra = None
                    out._requires_grad = False
                    version = out._counter = [0, None]
                    if differentiable and mode.grad:
                        left = x._requires_grad
                        right = kind is tensor_type and y._requires_grad
                        if (left or right) and both:
                            if variant is not None:
                                node = new(op.node_class(variant(x, y)))
                            else:
                                if node_type is None:
                                    node_type = op.node_class()
                                node = new(node_type)
                            node.edges = (
                                (x._edge or leaf_edge(x)) if left else None,
                                (y._edge or leaf_edge(y)) if right else None,
                            )
                            node.outputs = ((r.shape, r.dtype),)
                            node.extra = None
                            node.seq = sequence()
                            if saves:
                                keep_x, keep_y, keep_out = plans[left + 2 * right]
                                kept = (
                                    (x, x._counter, x._counter[0]) if keep_x else None,
                                    ((y, y._counter, y._counter[0]) if kind is tensor_type else y) if keep_y else None,
                                    (out._array, version, 0) if keep_out else None,
                                )
                                node.saved = kept + rest if rest else kept
                            else:
                                node.saved = ()
                            out._edge = (node, 0)
                            out._requires_grad = True
                    return out
        given = (x,) if y is missing else (x, y, *args)
        if operator and not isinstance(y, (Tensor, int, float, complex)) and not is_array(y) and not hasattr(type(y), "__torch_function__"):
            return NotImplemented
        return call(op, () if x is missing else given, kwargs)

    return function


_X, _OUT, _VALUE, _SHAPE, _DTYPE = range(5)  # what goes into a place of a node's saved values


def _recipe(op: Op) -> tuple[tuple[int, int], ...]:
    """How the saved values of an op of one tensor are made: a (what, parameter) pair for each place."""
    made = []
    plan = op.plan((True,)) if op.inputs else frozenset()
    for k, ((_, kind, _), (_, place, what)) in enumerate(zip(op.saves, op.sources, strict=True)):
        if k not in plan:
            made.append((-1, 0))
        elif kind == OUTPUT:
            made.append((_OUT, 0))
        elif what == "shape":
            made.append((_SHAPE, 0))
        elif what == "dtype":
            made.append((_DTYPE, 0))
        else:
            made.append((_VALUE, place) if kind == ATTRIBUTE else (_X, 0))
    return tuple(made)


def first_tensor(op: Op) -> Callable:
    """The function of an op of one tensor and plain arguments: views, reductions and the like."""
    forward, bind, varargs = op.forward, op.bind, op.varargs
    current, settled = modes.current, settle
    differentiable, is_view, variant = bool(op.inputs), bool(op.view), op.variant
    floats_only = op.promote is FLOAT
    recipe = _recipe(op)
    tails = {op.required + k: op.defaults[k:] for k in range(len(op.defaults) + 1)}
    new, sequence, tensor_type, quiet = _new, next_sequence, Tensor, op.quiet

    def function(*args: Any, **kwargs: Any) -> Any:
        mode = current()
        if not args or type(args[0]) is not tensor_type or not mode.plain or "out" in kwargs:
            return call(op, args, kwargs)
        x = args[0]
        a = x._array
        if (x._view is not None and not fresh(x)) or (floats_only and a.dtype.kind not in "fc"):
            return call(op, args, kwargs)
        if varargs is not None and len(args) > varargs and type(args[varargs]) is int:
            args = (*args[:varargs], args[varargs:])
        tail = None if kwargs else tails.get(len(args))
        values = tuple(bind(args, kwargs)) if tail is None else (*args, *tail)
        try:
            if quiet:
                with np.errstate(all="ignore"):
                    r = forward(a, *values[1:])
            else:
                r = forward(a, *values[1:])
        except Exception:
            return call(op, args, kwargs)  # fails again, in the right words
        out = new(tensor_type)
        out._array = r = r if type(r) is _ndarray else settled(r)
        out._edge = out._view = out._grad = out._accumulator = out._extra = None
        out._requires_grad = False
        if is_view:
            counter = out._counter = x._counter
            outer = x._view
            step = new(Step)
            step.op, step.values, step.number = op, values[1:], None
            view = out._view = new(View)
            if outer is None:
                step.previous = None
                view.base = x
            else:
                step.previous = outer.step
                view.base = outer.base
            view.step, view.creation, view.seen = step, DEFAULT if mode.grad else NO_GRAD, counter[0]
        else:
            counter = out._counter = [0, None]
        if x._requires_grad and mode.grad and differentiable and r.dtype.kind in "fc":
            node = new(op.node_class(0 if variant is None else variant(*values)))
            node.edges = (x._edge or leaf_edge(x),)
            node.outputs = ((r.shape, r.dtype),)
            node.extra = None
            node.seq = sequence()
            saved: list = []
            for what, place in recipe:
                if what == _VALUE:
                    saved.append(values[place])
                elif what == _SHAPE:
                    saved.append(a.shape)
                elif what == _X:
                    saved.append((x, x._counter, x._counter[0]))
                elif what == _OUT:
                    saved.append((r, counter, counter[0]))
                else:
                    saved.append(a.dtype if what == _DTYPE else None)
            node.saved = tuple(saved)
            out._edge = (node, 0)
            out._requires_grad = True
        return out

    return function


def general(op: Op) -> Callable:
    """The function of any other op."""

    def function(*args: Any, **kwargs: Any) -> Any:
        return call(op, args, kwargs)

    return function


def inplace(op: Op) -> Callable:
    """The in-place method of an op: quick where nothing is to be recorded, as in an optimizer's step."""
    if op.kind not in (ELEMENTWISE, BROADCASTING) or len(op.tensor_places) != op.required or op.required > 2:
        return inplace_general(op)
    forward, current, tensor_type, binary_op = op.forward, modes.current, Tensor, op.required == 2

    def function(*args: Any, **kwargs: Any) -> Tensor:
        x = args[0]
        mode = current()
        if kwargs or len(args) != op.required or type(x) is not tensor_type or not mode.plain or x._counter is UNTRACKED:
            return call_inplace(op, args, kwargs)
        a = x._array
        recording = mode.grad and x.requires_grad
        if binary_op:
            y = args[1]
            if type(y) is tensor_type:
                b = y._array
                if b.dtype is not a.dtype:
                    return call_inplace(op, args, kwargs)
                recording = recording or (mode.grad and y.requires_grad)
            elif type(y) is float or type(y) is int:
                b = y
            else:
                return call_inplace(op, args, kwargs)
        if recording or not a.flags.c_contiguous:
            return call_inplace(op, args, kwargs)
        try:
            r = forward(a, b) if binary_op else forward(a)
        except (RuntimeWarning, ValueError, TypeError, AttributeError, OverflowError):
            return call_inplace(op, args, kwargs)
        if r.dtype is not a.dtype or r.shape != a.shape:
            return call_inplace(op, args, kwargs)
        a[...] = r
        bump(x._counter)
        return x

    return function


def inplace_general(op: Op) -> Callable:
    """The in-place method of any other op."""

    def function(*args: Any, **kwargs: Any) -> Tensor:
        return call_inplace(op, args, kwargs)

    return function
