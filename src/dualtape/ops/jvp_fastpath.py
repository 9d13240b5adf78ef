"""The fast path of forward mode: one level is open, the arguments are plain tensors over NumPy's arrays, and nothing is
to be recorded.

The op runs on its fast path, and its tangent's formula on arrays, as gradient formulas do in a backward; tangents may
be batched. The tangent of a view is the same view. All other cases are handled by :mod:`.jvp`: several results, nested
levels, batches, tangents with history.
"""

from __future__ import annotations

from collections.abc import Callable
from types import NoneType
from typing import Any

import numpy as np

from .. import modes
from .._tensor.tensor import Tensor, wrap
from ..arrays import Batched
from ..arrays.batched.array import NotBatchable
from ..arrays.fp_errors import fp_errors, ignore_fp_errors, restore_fp_errors
from ..autograd.tangents import ForwardLevel, is_still, set_tangent, tangent
from ..autograd.views import history_is_current
from ..overrides.active_overrides import MISS
from .codegen.jvp import tangent_of
from .table import BROADCASTING, CONTRACTION, ELEMENTWISE, LINEAR, Op

_ndarray = np.ndarray
single, double = np.dtype(np.float32), np.dtype(np.float64)
_ARRAYS = {np.ndarray, Batched}
_OTHERS = {float, int, NoneType}  # in a tensor's place
_SAME = "same"  # the recipe of views: the tangent is the same view
# For each op, on first use: its tensor arguments, the function that makes its tangent, and whether its forward
# runs on arrays of one dtype as they are, also beside numbers. None: it has no fast path.
_recipes: dict[Op, Any] = {}


def execute(op: Op, args: tuple, mode: modes.Mode) -> Any:
    """Run ``op`` on positional arguments and set its result's tangent; return MISS, with nothing done, if a case is
    unusual.
    """
    levels = mode.levels
    if len(levels) != 1 or not mode.forward or not levels[0].open:
        return MISS
    level = levels[0]
    below = level.beneath(mode)
    recipe = _recipes[op] if op in _recipes else _recipe(op)
    if recipe is _SAME:
        return _view(op, args, mode, level, below)
    if recipe is None or not below.plain:
        return MISS
    places, formula, even, numbers = recipe
    raws = [*args] if len(args) == len(op.params) and op.varargs is None else op.bind(args, {})
    moved: list = []  # the tangents of the inputs, as arrays
    moving, recording = False, below.grad
    dtype: Any = None
    for place, is_input in places:
        value, t = raws[place], None
        if type(value) is Tensor:
            array = raws[place] = value._array
            view = value._view
            if type(array) is not _ndarray or (
                recording and (value._requires_grad if view is None else value.requires_grad)
            ):
                return MISS
            if dtype is None:
                dtype = array.dtype
            if array.dtype is not dtype or (view is not None and not history_is_current(value)):
                even = False
            if is_input and (value._extra is not None or view is not None):
                t = tangent(value, level)
                if t is not None:
                    if type(t._array) not in _ARRAYS or (
                        recording and (t._requires_grad if t._view is None else t.requires_grad)
                    ):
                        return MISS
                    t, moving = t._array, True
        elif type(value) not in _OTHERS:
            return MISS
        elif not numbers:
            even = False
        if is_input:
            moved.append(t)
    result = _computed(op, raws, dtype) if even and (dtype is single or dtype is double) else None
    if result is None:
        try:
            modes._set(below)
            result = op.function(*args)
        finally:
            modes._set(mode)
    if moving and not _push(op, formula, raws, moved, result, level):
        from .jvp import propagate

        propagate(op, op.bind(args, {}), [result], (level,))
    return result


def _computed(op: Op, raws: list, dtype: Any) -> Tensor | None:
    """Return the op of arrays of one floating-point dtype; None if the reference path must compute it."""
    try:
        result = op.forward(*raws)
    except FloatingPointError:
        raise  # the user wants to see it
    except Exception:
        return None  # fails again, in the right words
    if type(result) is not _ndarray:
        result = np.asarray(result)
    return wrap(result) if result.dtype is dtype else None


def _view(op: Op, args: tuple, mode: modes.Mode, level: ForwardLevel, below: modes.Mode) -> Any:
    """Return a view, with the same view of its tensor's tangent; over any arrays, and recorded if needed."""
    x = args[0] if args else None
    if type(x) is not Tensor:
        return MISS
    t = tangent(x, level) if x._extra is not None or x._view is not None else None
    if t is None and is_still(x, level):
        return MISS
    try:
        modes._set(below)
        result = op.function(*args)
        if t is not None and result._array.dtype.kind in "fc":
            set_tangent(result, level, op.function(t, *args[1:]))
    finally:
        modes._set(mode)
    return result


def push(op: Op, values: list, given: list, result: Tensor, level: ForwardLevel) -> bool:
    """Set the tangent of ``result`` of ``op`` on bound arguments, computed on arrays; return False if that does not
    apply.

    To be called beneath the level.
    """
    mode = modes.current()
    recipe = _recipes[op] if op in _recipes else _recipe(op)
    if recipe is None or recipe is _SAME or not mode.plain or type(result._array) is not _ndarray:
        return False
    raws = values.copy()
    for place, _ in recipe[0]:
        value = values[place]
        if type(value) is Tensor:
            raws[place] = value._array
            if type(value._array) is not _ndarray or (mode.grad and value.requires_grad):
                return False
        elif type(value) not in _OTHERS:
            return False
    for t in given:
        if t is not None and (type(t._array) not in _ARRAYS or (mode.grad and t.requires_grad)):
            return False
    return _push(op, recipe[1], raws, [None if t is None else t._array for t in given], result, level)


def _push(op: Op, formula: Callable, raws: list, moved: list, result: Tensor, level: ForwardLevel) -> bool:
    """Set the tangent of ``result``, computed on arrays; return False if the arrays do not allow it."""
    out = result._array
    dtype = out.dtype
    if type(out) is not _ndarray or dtype.kind not in "fc":
        return dtype.kind not in "fc"
    if op.promote is not None:
        for array in raws:
            if type(array) is _ndarray and array.dtype is not dtype:
                return False
    before = fp_errors()
    try:
        ignore_fp_errors()
        found = formula(raws, moved, out)
    except (TypeError, ValueError, NotBatchable):
        return False  # as tensors they are brought together first
    finally:
        restore_fp_errors(before)
    if type(found) is not _ndarray and isinstance(found, np.generic):
        found = np.asarray(found)
    if type(found) is Batched:
        if (
            found.shape != out.shape
            or found.dtype is not dtype
            or found.strides != out.strides
            or not _fresh(found.values, moved)
        ):
            return False
    elif (
        type(found) is not _ndarray
        or found.shape != out.shape
        or found.dtype is not dtype
        or found.base is not None
        or found.strides != out.strides
    ):
        found = _laid_out(found, out)
    else:
        for t in moved:
            if found is t:
                found = found.copy()
    set_tangent(result, level, wrap(found))
    return True


def _fresh(values: np.ndarray, moved: list) -> bool:
    """Return whether an array shares no memory with the tangents it was made from."""
    owners = [getattr(t, "values", t) for t in moved if t is not None]
    if values.base is None:
        return not any([values is t for t in owners])
    return 0 not in values.strides and not any([values.base is t or values.base is t.base for t in owners])


def _laid_out(found: Any, out: np.ndarray) -> np.ndarray:
    """Return an array with the shape, dtype and layout of ``out``, in memory of its own."""
    room = np.empty_like(out)
    room[...] = found.real if out.dtype.kind != "c" and np.iscomplexobj(found) else found
    return room


# --- what an op's tangent is made by --------------------------------------------------------------


def _recipe(op: Op) -> Any:
    result: Any = None
    if (
        op.view
        and op.jvp == LINEAR
        and op.outputs is None
        and op.tensor_places == (0,)
        and op.listed_place is None
        and not op.saves_tensors
    ):
        result = _SAME
    elif not (op.view or op.outputs is not None or op.listed_place is not None or op.jvp is None):
        places = tuple((place, place in op.input_places) for place in op.tensor_places)
        even = op.kind in (ELEMENTWISE, BROADCASTING, CONTRACTION) or not op.quiet  # the forward needs no silence
        result = places, tangent_of(op), even, isinstance(op.forward, np.ufunc)
    _recipes[op] = result
    return result
