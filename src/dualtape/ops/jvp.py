"""Forward mode of ops: tangents of results from those of arguments.

The reference path calls it while a level is open. The formula that an op declares runs on tensors, beneath the level,
so that it is recorded, batched and differentiated like other ops. For an op without one, the tangent comes from its
gradient formula, transposed: that formula is linear in the gradient, and the derivative of a linear function is the
transpose of its transpose.
"""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np

from .. import modes
from .._tensor.shaped import zeros_like
from .._tensor.tensor import Tensor, raw, wrap
from ..arrays import Batched, is_array
from ..arrays.batched.array import holds, innermost, newest
from ..autograd.saved import SavedVariable
from ..autograd.tangents import (
    ForwardLevel,
    active,
    bare,
    beneath,
    is_still,
    root_of,
    set_root,
    set_tangent,
    tangent,
    tangents_of,
)
from ..autograd.unbroadcast import sum_to
from ..autograd.views import disjoint, replay
from ..overrides.active_overrides import MISS
from . import jvp_fastpath as duals
from .saves import OUTPUT
from .table import BILINEAR, LINEAR, Op, formula_names

# --- out of place ---------------------------------------------------------------------------------


def run(op: Op, args: tuple, mode: modes.Mode) -> Any:
    """Run ``op`` on positional arguments."""
    answer = duals.execute(op, args, mode)
    return _execute(op, op.bind(args, {}), mode) if answer is MISS else answer


def execute(op: Op, values: list, mode: modes.Mode) -> Any:
    """Run ``op`` on bound arguments."""
    answer = duals.execute(op, op.given(tuple(values)), mode)
    return _execute(op, values, mode) if answer is MISS else answer


def _execute(op: Op, values: list, mode: modes.Mode) -> Any:
    """Run the op as if no level were open, then set the tangents of its results."""
    levels = levels_for(op, mode)
    if not levels:
        with _Grounded(mode):
            return _call(op, values)
    for place in op.tensor_places:
        value = values[place]
        if isinstance(value, (tuple, list)) and op.params[place] not in ("x", "y"):
            # where tangents are looked for
            values[place] = [v if isinstance(v, Tensor) or not is_array(v) else wrap(v) for v in value]
    if any(type(getattr(v, "_array", None)) is Batched or type(v) is list for v in values):
        _lift(op, values)
    with beneath(levels[0]):
        output = _call(op, values)
    propagate(op, values, list(output) if op.outputs is not None else [output], levels)
    return output


def _call(op: Op, values: list) -> Any:
    """Run the op by its public function, which has the fast paths."""
    return op.function(*op.given(tuple(values)))


def levels_for(op: Op, mode: modes.Mode) -> tuple:
    """Return the levels at which results of ``op`` get tangents; a view shares its base's memory, and its tangents also
    while propagation is off.
    """
    return active(mode.replace(forward=True) if op.view and not mode.forward else mode)


def _lift(op: Op, values: list) -> None:
    """Batch the arguments beside batched ones, with their tangents, so that nodes save them in that form."""
    from .batching import lift_arguments

    raws = [[raw(item) for item in v] if type(v) is list else raw(v) for v in values]
    if newest(raws) is not None:
        lift_arguments(op, values, raws)


class _Grounded:
    """Context in which no level is active: forward mode is switched off."""

    __slots__ = ("mode", "inside")

    def __init__(self, mode: modes.Mode) -> None:
        self.mode = mode

    def __enter__(self) -> None:
        self.inside = self.mode.replace(levels=())
        modes.enter(self.inside, self.mode)

    def __exit__(self, *error: Any) -> None:
        now = modes._set(self.mode).old_value
        if now is not self.inside:
            modes.keep(now, self.mode, "levels")


def propagate(op: Op, values: list, results: list, levels: tuple) -> None:
    """Set the tangents of ``results`` of ``op`` on ``values``, at every level at which an argument has one."""
    places = op.input_places
    for k, level in enumerate(levels):
        given = [_tangents_at(values[place], level) for place in places]
        if not any(t is not None for t in given):
            if op.view and isinstance(values[0], Tensor) and is_still(values[0], level):
                for number, result in enumerate(results):
                    set_root(
                        result,
                        values[0],
                        level,
                        (None, op, tuple(values[1:]), number if op.outputs is not None else None),
                    )
            continue
        with beneath(level):
            if duals.push(op, values, given, results[0], level):
                continue
            if modes.current().grad and any(r._requires_grad for r in results):
                older = levels[:k]
                _keep(op, values, results)
                found = _derive(
                    op, [_bare(v, level, older) for v in values], [bare(r, level, older) for r in results], given
                )
            else:
                found = _derive(op, values, results, given)
            for result, one in zip(results, found, strict=True):
                if one is not None and result._array.dtype.kind in "fc":
                    set_tangent(result, level, one if op.view else _own(_fitted(one, result), result, given))


def _keep(op: Op, values: list, results: list) -> None:
    """Attach the tangents to the values that the results' node has saved: results, and arguments packed by hooks."""
    node = next(r for r in results if r._requires_grad)._edge[0]
    if getattr(node, "op", None) is not op or not op.saves or type(node._saved) is not tuple:
        return
    kept = list(node._saved)
    for k, (name, kind, number) in enumerate(op.saves):
        entry = kept[k]
        if kind == OUTPUT and type(entry) is tuple and len(entry) == 3:
            kept[k] = (*entry, tangents_of(results[number]))
        elif type(entry) is SavedVariable and entry._tangents is None:
            known = entry._tangents = tangents_of(results[number] if kind == OUTPUT else values[op.params.index(name)])
            if kind == OUTPUT and entry.entry is not None:  # it was packed as it is
                entry.entry = (*entry.entry[:3], known)
    node._saved = tuple(kept)


def _tangents_at(value: Any, level: ForwardLevel) -> Any:
    """Return the tangent of an argument; of a list, a list, or None if none of it has one."""
    if isinstance(value, Tensor):
        return tangent(value, level)
    if isinstance(value, list):
        found = [tangent(v, level) for v in value]
        return None if all(t is None for t in found) else found
    return None


def _bare(value: Any, level: ForwardLevel, older: tuple) -> Any:
    if isinstance(value, Tensor):
        return bare(value, level, older)
    return (
        [bare(v, level, older) for v in value]
        if isinstance(value, list) and value and isinstance(value[0], Tensor)
        else value
    )


def _derive(op: Op, values: list, results: list, given: list) -> list:
    """Return the tangents of the results, one for each; None where there is none."""
    if op.jvp == LINEAR:
        found = _run(op, _replaced(op, values, given, range(len(given))))
    elif op.jvp == BILINEAR:
        found = _sum([_run(op, _replaced(op, values, given, (k,))) for k, t in enumerate(given) if t is not None])
    elif op.jvp is None:
        found = transposed(op, values, results, given)
    else:
        known = _Known(op, values, results)
        found = _sum(
            [_tuple(known.call(op.jvp[name], t)) for name, t in zip(op.inputs, given, strict=True) if t is not None]
        )
    return list(found)


def _run(op: Op, values: list) -> tuple:
    return _tuple(_call(op, values))


def _tuple(found: Any) -> tuple:
    return tuple(found) if isinstance(found, (tuple, list)) else (found,)


def _replaced(op: Op, values: list, given: list, places: Any) -> list:
    """Return the arguments with the tangents of some inputs in their position; zero where such an input has none."""
    new = list(values)
    for k in places:
        place, t = op.input_places[k], given[k]
        if isinstance(t, list):
            new[place] = [_zeros(x) if one is None else one for one, x in zip(t, values[place], strict=True)]
        elif t is not None:
            new[place] = t
        elif isinstance(values[place], Tensor):
            new[place] = _zeros(values[place])
        elif values[place] is not None:
            new[place] = 0
    return new


def _zeros(tensor: Tensor) -> Tensor:
    return zeros_like(tensor)


def _sum(parts: list[tuple]) -> tuple:
    """Return the sums of tuples of tangents."""
    total = list(parts[0])
    for part in parts[1:]:
        for k, one in enumerate(part):
            total[k] = one if total[k] is None else total[k] if one is None else total[k] + one
    return tuple(total)


class _Known:
    """The values of the names in a formula of ``op``."""

    __slots__ = ("op", "values", "results")

    def __init__(self, op: Op, values: list, results: list) -> None:
        self.op, self.values, self.results = op, values, results

    def call(self, formula: Callable, t: Tensor) -> Any:
        return formula(*[t if name == "t" else self.named(name) for name in formula_names(formula)])

    def named(self, name: str) -> Any:
        return self.source(*self.op._source(name, self.op.outputs if isinstance(self.op.outputs, tuple) else ("out",)))

    def source(self, kind: int, place: int, what: str) -> Any:
        if kind == OUTPUT:
            return self.results[place]
        value = self.values[place]
        if what == "value":
            return value
        if isinstance(value, list):
            return [getattr(v._array, what) for v in value]
        return getattr(value._array, what) if isinstance(value, Tensor) else () if what == "shape" else None


def transposed(op: Op, values: list, results: list, given: list) -> tuple:
    """Return the tangents of the results, computed from the gradient formulas.

    A gradient formula is ``g -> A^H g``; the gradient of ``Re <A^H g, t>`` with respect to ``g`` is ``A t``.
    """
    from ..autograd.api import grad

    known = _Known(op, values, results)
    record = modes.current().grad
    with modes.enable_grad():
        grads = [_zeros(r).requires_grad_() if r._array.dtype.kind in "fc" else _zeros(r) for r in results]
        everything = [*(known.source(*source) for source in op.sources), *grads, grads]
        pairs: list = []
        for t, (formula, places) in zip(given, op.formulas, strict=True):
            if t is not None:
                pairs.append((formula(*(everything[k] for k in places)), t))
        total = real_inner(pairs, op.name)
    asked = [g for g in grads if g.requires_grad]
    if total is None or not total.requires_grad:
        return (None,) * len(results)
    found = iter(grad([total], asked, create_graph=record, allow_unused=True))
    return tuple(next(found) if g.requires_grad else None for g in grads)


def real_inner(pairs: list, name: str = "a gradient") -> Any:
    """Return the real inner product of gradients and tangents, summed; ``name`` appears in errors."""
    total = None
    for gradient, t in pairs:
        if gradient is None:
            continue
        if gradient.shape != t.shape:  # not un-broadcast yet
            gradient = sum_to(gradient, t._array.shape, SimpleNamespace(name=lambda: name))
        part = (gradient.conj() * t).sum() if gradient._array.dtype.kind == "c" else (gradient * t).sum()
        part = part.real if part._array.dtype.kind == "c" else part
        total = part if total is None else total + part
    return total


def _fitted(t: Any, result: Tensor) -> Tensor:
    """Return a tangent, or a number for all of it, with the shape, dtype and layout of its tensor."""
    shape, dtype = result._array.shape, result._array.dtype
    if not isinstance(t, Tensor):
        t = _zeros(result) + t
    if t._array.shape != shape:
        t = t.expand(shape)
    if t._array.dtype != dtype:
        t = (t.real if t._array.dtype.kind == "c" and dtype.kind != "c" else t).to(dtype)
    return t


def _own(t: Tensor, result: Tensor, given: list) -> Tensor:
    """Return the tangent in memory of its own, laid out like its result: a write to one tensor must not change
    another's tangent.
    """
    if t._view is not None or any(_one_memory(t, one) for one in _flat(given)):
        return laid_out_like(t, result)
    return t if lies_like(t, result) else laid_out_like(t, result)


def _one_memory(t: Tensor, other: Tensor) -> bool:
    """Return whether a formula returned memory of its argument, as a view or not."""
    if t._shared_counter is other._shared_counter:
        return True
    mine, its = innermost(t._array), innermost(other._array)
    return type(mine) is type(its) is np.ndarray and np.may_share_memory(mine, its)


def lies_like(t: Tensor, tensor: Tensor) -> bool:
    """Return whether a tangent has the memory layout of its tensor, so that it has the same views; a batch's hidden
    axis may be anywhere.
    """
    mine, other = t._array.strides, tensor._array.strides
    if type(t._array) is not Batched and type(tensor._array) is not Batched:
        return mine == other
    wide = [d for d, n in enumerate(tensor._array.shape) if n > 1]
    return all(mine[d] * other[wide[0]] == mine[wide[0]] * other[d] for d in wide[1:])


def laid_out_like(t: Tensor, tensor: Tensor) -> Tensor:
    """Return a copy of ``t`` with the memory layout of ``tensor``."""
    if lies_like(t, tensor):
        return t.clone()
    array, strides = t._array, tensor._array.strides
    if type(array) is not Batched:
        return wrap(np.empty_like(tensor._array, dtype=array.dtype)).copy_(t)
    order = sorted(range(array.ndim), key=lambda d: -strides[d])
    room = np.empty(tuple(array.shape[d] for d in order), array.dtype, like=array)
    return wrap(np.transpose(room, np.argsort(order))).copy_(t)


def _flat(given: list) -> list:
    return [t for one in given if one is not None for t in (one if isinstance(one, list) else [one]) if t is not None]


# --- in place -------------------------------------------------------------------------------------


def written(target: Tensor, source: Any, mode: modes.Mode) -> None:
    """Overwrite the tangents of ``target`` after it was overwritten by ``source`` (a tensor, or None for constants)."""
    for level in active(mode):
        new = None if source is None else tangent(source, level)
        old = tangent(target, level)
        if new is None and old is None:
            continue
        if old is not None and type(old._array) is np.ndarray and not disjoint(old._array):
            old = _with_memory_of_its_own(target, level)
        with beneath(level):
            if new is None:
                assert old is not None
                old.zero_()
            elif old is not None and holds(old._array, new._array):
                old.copy_(new)
            elif target._is_view() and (root_of(target, level) is not None or not is_still(target, level)):
                _write_part(target, level, old, new)
            else:
                set_tangent(target, level, laid_out_like(new, target))


def _with_memory_of_its_own(target: Tensor, level: ForwardLevel) -> Tensor | None:
    """Replace a tangent whose elements share memory, as expanded ones do, by one that can be written; return it."""
    whole = target._view.base if target._view is not None else target
    known = tangent(whole, level)
    if known is not None:
        with beneath(level):
            set_tangent(whole, level, laid_out_like(known, whole))
    return tangent(target, level)


def _write_part(target: Tensor, level: ForwardLevel, old: Tensor | None, new: Tensor) -> None:
    """Write a tangent to a view whose base has none: the base gets one, zero elsewhere; or one with samples, where the
    old one was the same for all.
    """
    base, step = root_of(target, level) or (target._view.base, target._view.step)
    whole = _zeros(base) + np.zeros_like(new).sum()
    if old is not None:
        known = tangent(base, level)
        if known is None:
            raise RuntimeError(
                "vmap: a tangent that differs from sample to sample is written to a view of a dual tensor whose tangent"
                " is one for all samples:"
                " clone() the tensor inside vmap before the write"
            )
        whole = whole + known
    set_tangent(base, level, whole)
    part = replay(whole, step, raw=False)
    part.copy_(new)
    set_tangent(target, level, part)


def moving(op: Op, values: list, mode: modes.Mode) -> bool:
    """Return whether an argument of ``op`` has a tangent."""
    return any(
        _tangents_at(values[place], level) is not None for place in op.input_places or (0,) for level in active(mode)
    )
