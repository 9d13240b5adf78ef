"""Short cuts of in-place methods: the write straight into the memory, where no rule of views or leaves asks for more.

As in :mod:`fastpath`: whatever is unusual goes the whole way through :func:`dispatch.call_inplace`, which alone
words errors. What is refused is refused before the write; a ufunc that writes has finished when NumPy complains
about a value, so that such a complaint is no failure.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .. import modes
from .._tensor.tensor import Tensor, wrap
from ..arrays.fp_errors import ignore_fp_errors, restore_fp_errors
from ..arrays.kernels.numbers import number_array
from ..autograd.node import leaf_edge, next_sequence
from ..autograd.saved import entry_of
from ..autograd.versions import UNTRACKED, bump
from ..autograd.views import disjoint, rebase, takes_writes
from .dispatch import _before, begin_node, call_inplace, finish_node, keep_inputs
from .fastpath import double, history_is_current, plain_types, single
from .table import _MISSING, BROADCASTING, ELEMENTWISE, Op

_new = object.__new__
_ndarray = np.ndarray
asarray, multiply, current, missing = np.asarray, np.multiply, modes.current, _MISSING


def inplace(op: Op) -> Callable:
    """The in-place method of an op: quick where it is a ufunc whose result fits into the memory."""
    ufunc = op.quick.get("forward", op.forward)
    if op.name in _CHANGES:
        return inplace_scaled(op)
    if op.name in _OVER:
        return inplace_over(op)
    other = inplace_general(op)
    if op.kind not in (ELEMENTWISE, BROADCASTING) or len(op.tensor_places) != op.required or op.required > 2:
        return other
    if not isinstance(ufunc, np.ufunc) or not op.inputs or len(op.inputs) != op.required or op.variant is not None:
        return other
    binary_op, required, saves = op.required == 2, op.required, bool(op.saves)
    scales = op.params[-1] == "alpha"  # which is then the only value that is saved beside them
    rest = tuple(op.defaults[op.params.index(n) - required] for n, _, _ in op.saves[required + 1 :]) if saves else ()
    # what to keep (the old value, y, the result), by which need a gradient: neither, x, y, both; made when the
    # first node is
    plans: list = []
    node_type: Any = None

    def function(x: Any, y: Any = missing, /, *args: Any, alpha: Any = missing, **kwargs: Any) -> Tensor:
        nonlocal node_type
        mode = current()
        if (
            not mode.plain
            or args
            or kwargs
            or (y is missing) is binary_op
            or type(x) is not Tensor
            and type(x) not in plain_types
        ):
            return unusual(x, y, *args, alpha=alpha, **kwargs)
        a, counter, view = x._array, x._version_counter or x._shared_counter, x._view
        dtype = a.dtype
        if (
            dtype is not single
            and dtype is not double
            or type(a) is not _ndarray
            or not a.flags.c_contiguous
            and not disjoint(a)
        ):
            return unusual(x, y, alpha=alpha)
        if mode.grad:
            left = x._requires_grad if view is None else x.requires_grad
        else:
            left = False
        right = other_tensor = False
        b: Any = None
        if binary_op:
            kind = type(y)
            try:
                if kind is float or kind is int:
                    b = number_array(y, dtype)
                elif kind is Tensor or kind in plain_types:
                    b = y._array
                    if b.dtype is not dtype or type(b) is not _ndarray:
                        return unusual(x, y, alpha=alpha)
                    other_tensor = True
                    right = mode.grad and (y._requires_grad if y._view is None else y.requires_grad)
                else:
                    return unusual(x, y, alpha=alpha)
                if alpha is not missing:
                    if not scales or type(alpha) is not float:
                        return unusual(x, y, alpha=alpha)
                    b = multiply(b, number_array(alpha, dtype))
            except (RuntimeWarning, FloatingPointError, OverflowError):
                return unusual(x, y, alpha=alpha)
        recording = left or right
        if recording:
            # A leaf, a view of one, an alias of x beside it, a y whose history is to be renewed: these have rules
            # of their own.
            if left and x._edge is None if view is None else not takes_writes(x, view, left):
                return unusual(x, y, alpha=alpha)
            if other_tensor and (y._version_counter is counter or y._view is not None and not history_is_current(y)):
                return unusual(x, y, alpha=alpha)
            if not plans:
                plans.extend(_plans(op))
            keep_old, keep_y, keep_out = plans[left + 2 * right]
            if keep_old:
                old = wrap(a.copy())
                old._edge, old._requires_grad = x._edge, left
        elif counter is UNTRACKED:
            return unusual(x, y, alpha=alpha)
        elif other_tensor and y._version_counter is counter and b is not a:
            b = (
                b.copy()
            )  # where they overlap, NumPy writes to a copy of a, which it drops if it then complains about a value
        try:
            ufunc(a, b, a) if binary_op else ufunc(a, a)
        except (RuntimeWarning, FloatingPointError):
            pass  # raised when all is written
        except (ValueError, TypeError):
            return unusual(x, y, alpha=alpha)
        bump(counter)
        if not recording:
            return x
        if node_type is None:
            node_type = op.node_class()
        node = _new(node_type)
        edge = x._edge if left else None
        node._edges = (edge, (y._edge or leaf_edge(y)) if right else None) if binary_op else (edge,)
        node._shape, node._dtype = a.shape, dtype
        node._extra = None
        node._seq = next_sequence()
        if saves:
            kept: tuple = (old if keep_old else None,)
            if binary_op:
                kept += (entry_of(y) if keep_y else None,)
            node._saved = (
                *kept,
                (a, counter, counter[0]) if keep_out else None,
                *(rest if alpha is missing else (alpha,)),
            )
        else:
            node._saved = ()
        if view is None and (edge is None or edge[0]._extra is None):
            x._edge = (node, 0)
            x._requires_grad = True
        else:
            rebase(x, node)
        return x

    def unusual(*args: Any, **kwargs: Any) -> Tensor:
        return other(
            *[a for a in args if a is not missing],
            **{key: value for key, value in kwargs.items() if value is not missing},
        )

    return function


def _plans(op: Op) -> list:
    """What a node of a ufunc keeps: by which of x and y need a gradient (neither, x alone, y alone, both)."""
    plans: list = [None]
    for needs in ((True,),) if op.required == 1 else ((True, False), (False, True), (True, True)):
        plan = op.plan(needs) if op.saves else ()
        plans.append((0 in plan, op.required == 2 and 1 in plan, op.required in plan))
    return plans


# --- scaled changes -------------------------------------------------------------------------------


# What an optimizer adds to its tensors: a number times a tensor, times or divided by another. The same operations
# in the same order as in the op's forward, so the same bits, with the number as an array, which ufuncs take in half
# the time.
_CHANGES: dict[str, np.ufunc] = {"addcmul": np.multiply, "addcdiv": np.true_divide}


def inplace_scaled(op: Op) -> Callable:
    """The in-place method of an op that adds one of the :data:`_CHANGES`: quick where nothing is to be recorded."""
    combine, other, add = _CHANGES[op.name], inplace_general(op), np.add

    def function(
        x: Any, y: Any = missing, z: Any = missing, /, *args: Any, value: Any = missing, **kwargs: Any
    ) -> Tensor:
        mode = current()
        if (
            type(value) is float
            and mode.plain
            and not args
            and not kwargs
            and (type(x) is Tensor or type(x) in plain_types)
            and type(y) is Tensor
            and type(z) is Tensor
            and x._version_counter is not UNTRACKED
            and not (mode.grad and (x.requires_grad or y.requires_grad or z.requires_grad))
        ):
            a, b, c = x._array, y._array, z._array
            dtype = a.dtype
            if (
                (dtype is single or dtype is double)
                and dtype is b.dtype
                and dtype is c.dtype
                and type(a) is _ndarray
                and type(b) is _ndarray
                and type(c) is _ndarray
                and (a.flags.c_contiguous or disjoint(a))
            ):
                try:
                    r = multiply(number_array(value, dtype), b)
                    combine(r, c, r)
                except (RuntimeWarning, FloatingPointError, ValueError, TypeError):
                    return other(x, y, z, value=value)
                try:
                    add(a, r, a)
                except (RuntimeWarning, FloatingPointError):
                    pass  # raised when all is written
                except ValueError:
                    return other(x, y, z, value=value)
                bump(x._version_counter or x._shared_counter)
                return x
        if value is not missing:
            kwargs["value"] = value
        return other(*[each for each in (x, y, z, *args) if each is not missing], **kwargs)

    return function


# --- overwriting ----------------------------------------------------------------------------------


def element(value: Any, dtype: np.dtype) -> Any:
    """A Python number as an array of a dtype that has it; None if that is to be looked into."""
    if type(value) is float:
        fits = dtype is double or dtype is single and -_LARGEST <= value <= _LARGEST
    else:
        fits = type(value) is int and -_FAR < value < _FAR and (dtype is single or dtype is double or dtype is _long)
    return asarray(value, dtype) if fits else None


_long = np.dtype(np.int64)
_LARGEST, _FAR = float(np.finfo(np.float32).max), 2**63
_NOUGHT = {dtype: np.zeros((), dtype) for dtype in (single, double, _long)}


def inplace_over(op: Op) -> Callable:
    """``zero_``, ``fill_`` and ``copy_``: one value or array over all of x. Quick where nothing is to be recorded."""
    other = inplace_general(op)
    zero, fill = op.name == "zero", op.name == "refill"

    def function(x: Any, value: Any = missing, /, *args: Any, **kwargs: Any) -> Tensor:
        mode = current()
        kind = type(value)
        if (
            mode.plain
            and not args
            and not kwargs
            and (type(x) is Tensor or type(x) in plain_types)
            and (value is missing) is zero
        ):
            a, b = x._array, None
            if zero:
                b = _NOUGHT.get(a.dtype)
            elif kind is Tensor or kind in plain_types:
                if value._array.dtype is a.dtype and not (mode.grad and value.requires_grad):
                    b = value._array
            else:
                b = element(value, a.dtype)
            if (
                b is not None
                and type(b) is _ndarray
                and type(a) is _ndarray
                and b.ndim <= (0 if fill else a.ndim)
                and x._version_counter is not UNTRACKED
                and not (mode.grad and x.requires_grad)
                and (a.flags.c_contiguous or disjoint(a))
            ):
                try:
                    a[...] = b
                except ValueError:
                    return other(x) if zero else other(x, value)
                bump(x._version_counter or x._shared_counter)
                return x
        return other(x, *args, **kwargs) if value is missing else other(x, value, *args, **kwargs)

    return function


_OVER = {"zero", "refill", "copy"}

# --- other ops ------------------------------------------------------------------------------------

_PLAIN = {int, float, bool, type(None), str}


def _holds_nothing(value: Any) -> bool:
    """Whether an argument that is no tensor, an option or a tuple of indices, holds nothing but what is plain."""
    if type(value) is tuple:
        return all(type(i._array if type(i) is Tensor else i) in (_ndarray, slice) for i in value)
    return type(value) in _PLAIN


def inplace_general(op: Op) -> Callable:
    """The in-place method of any other op: quick for plain tensors of one dtype."""
    forward, numbers, promoted = op.forward, op.scalars, op.promote is not None
    required, most, defaults, names = (
        op.required,
        len(op.params),
        op.defaults,
        dict(zip(op.params, range(len(op.params)), strict=True)),
    )
    layout = tuple((place, place in op.input_places or not op.inputs) for place in op.tensor_places)
    options = tuple(place for place in range(1, most) if place not in op.tensor_places)

    def function(*args: Any, **kwargs: Any) -> Tensor:
        mode = current()
        given = len(args)
        if not mode.plain or not required <= given <= most:
            return call_inplace(op, args, kwargs)
        values = [*args, *defaults[given - required :]]
        for key in kwargs:
            place = names.get(key, 0)
            if place < given:
                return call_inplace(op, args, kwargs)
            values[place] = kwargs[key]
        raws = values.copy()
        dtype: Any = None
        needs = False
        scalars = None
        for place, joins in layout:
            value = values[place]
            kind = type(value)
            if kind is Tensor or kind in plain_types:
                array = raws[place] = value._array
                if dtype is None:
                    dtype = array.dtype
                if type(array) is not _ndarray or joins and array.dtype is not dtype:
                    return call_inplace(op, args, kwargs)
                if joins and mode.grad and (value._requires_grad if value._view is None else value.requires_grad):
                    needs = True
            elif place == 0 or not numbers or kind is not float and kind is not int:
                return call_inplace(op, args, kwargs)
            elif promoted:
                scalars = [place] if scalars is None else [*scalars, place]
        for place in options:
            if not _holds_nothing(values[place]):
                return call_inplace(op, args, kwargs)
        x = values[0]
        a, counter = x._array, x._version_counter or x._shared_counter
        if (
            counter is UNTRACKED
            or not (dtype is single or dtype is double)
            or not a.flags.c_contiguous
            and not disjoint(a)
        ):
            return call_inplace(op, args, kwargs)
        if needs and not _records(x, [values[place] for place, _ in layout[1:]]):
            return call_inplace(op, args, kwargs)
        silenced = ignore_fp_errors()
        try:
            for place in scalars or ():
                raws[place] = asarray(values[place], dtype)
            r = forward(*raws)
            if r.shape != a.shape or r.dtype is not dtype:
                return call_inplace(op, args, kwargs)
            if needs:
                node = begin_node(op, values)
                kept = keep_inputs(op, node, [_before(op, node, x), *values[1:]], raws)
            a[...] = r
        except Exception:
            return call_inplace(op, args, kwargs)  # fails again, in the right words
        finally:
            restore_fp_errors(silenced)
        bump(counter)
        if needs:
            finish_node(op, node, kept, [x])
            rebase(x, node)
        return x

    return function


def _records(x: Tensor, others: list) -> bool:
    """Whether a write to ``x`` is recorded without further question: see :func:`inplace`."""
    view = x._view
    left = x._requires_grad if view is None else x.requires_grad
    if left and x._edge is None if view is None else not takes_writes(x, view, left):
        return False
    return not any(
        [
            isinstance(y, Tensor)
            and (y._shared_counter is x._shared_counter or y._view is not None and not history_is_current(y))
            for y in others
        ]
    )
