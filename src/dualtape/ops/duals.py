"""The quick way of forward mode: one level is open, the arguments are plain tensors over NumPy's arrays, and nothing is to be recorded.

Then the op runs by its short cut, and its tangent's formula on arrays, as gradients' formulas do in a backward. Everything else is
:mod:`forward`'s: views, several results, nested levels, batches, tangents with history.
"""

from __future__ import annotations

from types import NoneType
from typing import Any

import numpy as np

from .. import modes
from ..arrays import Batched
from ..arrays.batched import NotBatchable
from ..arrays.silence import hush, unhush
from ..autograd.tangents import Level, set_tangent, tangent
from ..overriding import MISS
from ..tensor import Tensor, wrap
from .table import BILINEAR, LINEAR, Op, formula_names

_TANGENT, _RESULT = -1, -2  # what a formula's parameter stands for; else the number of an argument, or (number, what of it)
_ARRAYS = {np.ndarray, Batched}
_OTHERS = {float, int, NoneType}  # in a tensor's place
_recipes: dict[Op, Any] = {}  # of each op: LINEAR, BILINEAR, or its formulas with what they ask for; None: it has no quick way


def execute(op: Op, values: list, mode: modes.Mode) -> Any:
    """Run ``op`` on bound arguments and give its result a tangent; MISS, with nothing done, if it is not for this."""
    level = mode.levels[0]
    below = level.beneath(mode)
    raws = raw_arguments(op, values, below)
    if raws is None:
        return MISS
    given = [
        tangent(value, level) if type(value) is Tensor and (value._extra is not None or value._view is not None) else None
        for value in [values[place] for place in op.input_places]
    ]
    moved = raw_tangents(given, below)
    if moved is None:
        return MISS
    modes._set(below)
    try:
        result = call(op, values)
    finally:
        modes._set(mode)
    if any([t is not None for t in moved]) and not push(op, raws, moved, result, level):
        from .forward import propagate

        propagate(op, values, [result], (level,))
    return result


def raw_arguments(op: Op, values: list, below: modes.Mode) -> list | None:
    """The arguments as arrays, if nothing of them is to be recorded; ``below`` is the mode beneath the level."""
    if not below.plain or _recipe(op) is None:
        return None
    recording = below.grad
    raws = values.copy()
    for place in op.tensor_places:
        value = values[place]
        if type(value) is Tensor:
            array = raws[place] = value._array
            if type(array) is not np.ndarray or (recording and (value._requires_grad if value._view is None else value.requires_grad)):
                return None
        elif type(value) not in _OTHERS:
            return None
    return raws


def raw_tangents(given: list, below: modes.Mode) -> list | None:
    """The same of their tangents, which may be several at once: batched, beside arguments that are not."""
    moved = []
    for t in given:
        if t is not None and (type(t._array) not in _ARRAYS or (below.grad and t.requires_grad)):
            return None
        moved.append(None if t is None else t._array)
    return moved


def call(op: Op, values: list) -> Any:
    """The op by its public function, which knows the short cuts: they are for arguments without the defaults at the end."""
    count, required, defaults = len(values), op.required, op.defaults
    while count > required and values[count - 1] is defaults[count - 1 - required]:
        count -= 1
    return op.function(*values[:count])


def push(op: Op, raws: list, moved: list, result: Tensor, level: Level) -> bool:
    """Give ``result`` its tangent, computed on arrays; False if that cannot be done with arrays as they are."""
    out = result._array
    dtype = out.dtype
    if type(out) is not np.ndarray or dtype.kind not in "fc":
        return dtype.kind not in "fc"
    if op.promote is not None and any([type(array) is np.ndarray and array.dtype is not dtype for array in raws]):
        return False
    silenced = hush()
    try:
        found = _tangent(op, raws, moved, out)
    except (TypeError, ValueError, NotBatchable):
        return False  # as tensors they are brought together first
    finally:
        unhush(silenced)
    if type(found) is Batched:
        if found.shape != out.shape or found.dtype is not dtype or found.strides != out.strides or not _fresh(found.values, moved):
            return False
    elif type(found) is not np.ndarray or found.shape != out.shape or found.dtype is not dtype or found.base is not None or found.strides != out.strides:
        found = _laid_out(found, out)
    elif any([found is t for t in moved]):
        found = found.copy()
    set_tangent(result, level, wrap(found))
    return True


def _fresh(values: np.ndarray, moved: list) -> bool:
    """Whether an array is in memory of its own, and not in that of the tangents it was made from."""
    owners = [getattr(t, "values", t) for t in moved if t is not None]
    return values.base is None or (0 not in values.strides and not any([values.base is t or values.base is t.base for t in owners]))


def _recipe(op: Op) -> Any:
    if op not in _recipes:
        if op.view or op.outputs is not None or op.listed or op.jvp is None:
            _recipes[op] = None
        elif op.jvp in (LINEAR, BILINEAR):
            _recipes[op] = op.jvp
        else:
            _recipes[op] = tuple((op.jvp[name], tuple(_source(op, n) for n in formula_names(op.jvp[name]))) for name in op.inputs)
    return _recipes[op]


def _source(op: Op, name: str) -> Any:
    if name in ("t", "out"):
        return _TANGENT if name == "t" else _RESULT
    if name in op.params:
        return op.params.index(name)
    _, place, what = op._source(name, ("out",))
    return place, what


def _tangent(op: Op, raws: list, moved: list, out: np.ndarray) -> Any:
    """The tangent of an op's one result, from arrays."""
    recipe = _recipes[op]
    if recipe is LINEAR:
        arguments = list(raws)
        for place, t in zip(op.input_places, moved, strict=True):
            if t is None and raws[place] is not None:
                t = np.zeros_like(raws[place]) if type(raws[place]) is np.ndarray else 0
            arguments[place] = t
        return op.forward(*arguments)
    total = None
    for k, t in enumerate(moved):
        if t is None:
            continue
        if recipe is BILINEAR:
            arguments = list(raws)
            arguments[op.input_places[k]] = t
            part = op.forward(*arguments)
        else:
            formula, sources = recipe[k]
            part = formula(*[t if s is _TANGENT else out if s is _RESULT else raws[s] if type(s) is int else _of(raws, s) for s in sources])
        total = part if total is None else total + part
    return total


def _of(raws: list, source: tuple) -> Any:
    place, what = source
    return getattr(raws[place], what, () if what == "shape" else None)


def _laid_out(found: Any, out: np.ndarray) -> np.ndarray:
    """An array with the shape, dtype and layout of ``out``, in memory of its own."""
    room = np.empty_like(out)
    room[...] = found.real if out.dtype.kind != "c" and np.iscomplexobj(found) else found
    return room
