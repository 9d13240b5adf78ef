"""Overrides below autograd: ``__torch_dispatch__`` of subclasses and dispatch modes computes an op in place of its
forward.

History is recorded above: the node of an op has the op's formulas, and runs them on tensors, so that the class is
called again in backward. Inside a handler nothing is recorded.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .. import modes
from .._tensor import dtypes
from .._tensor.device import device as Device
from .._tensor.tensor import Tensor, wrap
from ..arrays import Absent, as_array
from ..autograd import saved as saving
from ..autograd.node import Node, edge_of
from ..autograd.other_gradients import raw_gradient
from ..autograd.versions import bump_after
from ..autograd.views import attach, check_write, rebase
from ..ops.dispatch import _before, _inplace_method, _needs, begin_write, pack_written, record, unwrap
from ..ops.op_node import OpNode
from ..ops.saves import OUTPUT
from ..ops.table import LISTED
from .active_overrides import MISS
from .subclass import activate_overrides, disabled_dispatch, of_class, overriding, same_class


def answer(function: Callable, args: tuple, kwargs: dict) -> Any:
    """Return the result of a dispatch mode or an argument's class for a call; MISS if none handles it."""
    mode = modes.current()
    found = (
        overriding((*args, *kwargs.values()), "__torch_dispatch__", disabled_dispatch) if mode.subclass_dispatch else []
    )
    if not mode.dispatches and not found:
        return MISS
    from ..ops.aten import described

    types = tuple(type(value) for value in found)
    function = described(function)
    result = NotImplemented
    if mode.dispatches:
        inside = mode.replace(dispatches=mode.dispatches[:-1], grad=False)
        try:
            modes._set(inside)
            innermost = mode.dispatches[-1]
            rule = _rule(function, type(innermost))
            if rule is None:
                result = innermost.__torch_dispatch__(function, types, args, kwargs)
            else:
                result = rule(innermost, function, types, args, kwargs)
        finally:
            now = modes._set(mode).old_value
            if now is not inside and modes.was_changed(now, mode):
                modes._set(now.replace(dispatches=(*now.dispatches, mode.dispatches[-1]), grad=mode.grad))
    elif found:
        inside = modes.without_grad(mode)
        try:
            modes._set(inside)
            for value in found:
                handler = _rule(function, type(value)) or type(value).__torch_dispatch__
                result = handler(function, types, args, kwargs)
                if result is not NotImplemented:
                    break
        finally:
            now = modes._set(mode).old_value
            if now is not inside:
                modes.keep(now, mode, "grad")
    if result is NotImplemented:
        name = getattr(function, "__name__", repr(function))
        raise TypeError(f"Multiple dispatch failed for {name!r}: every __torch_dispatch__ returned NotImplemented")
    return result


def _rule(function: Any, kind: type) -> Callable | None:
    """Return what a registered op does in place of ``__torch_dispatch__`` of a class; None if nothing was given."""
    rules = getattr(function, "_dispatch_rules", None)
    return None if rules is None else rules.get(kind)


def execute(op: Any, values: list) -> Any:
    """Run ``op`` by ``__torch_dispatch__``, and record it; MISS if nothing overrides it."""
    mode = modes.current()
    raws = None
    result = answer(op.function, _trimmed(op, values), {})
    if result is MISS:
        return MISS
    several = op.outputs is not None
    given = list(result) if several else [result]
    results = [_fresh(op, one, values) for one in given]
    raws = unwrap(op, values)
    if op.view:
        _attach(op, values, results, mode, several)
    if mode.grad and _needs(op, values):
        record(op, values, raws, results)
        _settle_node(op, results)
    # The formulas of tangents run on tensors, so that the class is asked again.
    if mode.levels:
        from ..ops.jvp import levels_for, propagate

        propagate(op, values, results, levels_for(op, mode))
    if not several:
        return results[0]
    return tuple(results) if op.outputs is LISTED else op.result_type(results)


def execute_inplace(op: Any, values: list) -> Any:
    """Run the in-place form of ``op`` by ``__torch_dispatch__``, and record it; MISS if nothing overrides it."""
    mode = modes.current()
    if not mode.dispatches and not overriding(values, "__torch_dispatch__", disabled_dispatch):
        return MISS
    target = values[0]
    needs = mode.grad and _needs(op, values)
    check_write(target, f"{op.name}_", needs)
    node: Any = None
    if needs:
        raws = unwrap(op, values)
        old = _copy_of(target) if isinstance(target._array, Absent) else _before(op, values, target)
        node = begin_write(op, values, raws, old)
    beside = _moved_beside(op, values, mode)
    version = target._shared_counter[0]
    if answer(_inplace_method(op), _trimmed(op, values), {}) is MISS:
        return MISS
    if target._shared_counter[0] == version:
        bump_after(target._shared_counter)
    if node is not None:
        kinds = [kind for _, kind, _ in op.saves]  # whoever answered may have written more than once
        entries = zip(kinds, node._saved, strict=True)
        node._saved = tuple([saving.output_entry(target) if k == OUTPUT and e is not None else e for k, e in entries])
        rebase(target, node)
        pack_written(node, target)
        target._edge = (node, 0) if target._view is None else target._edge
        _settle_node(op, [target])
    if beside is not None:
        from ..ops.jvp import written

        written(target, beside, mode)
    return target


def _moved_beside(op: Any, values: list, mode: modes.Mode) -> Any:
    """Return the out-of-place result, with its tangents, of an op whose in-place form needs them; None without
    tangents.
    """
    if not mode.levels:
        return None
    from ..ops.jvp import moving

    if not moving(op, values, mode):
        return None
    return execute(op, [values[0].clone(), *values[1:]])


def from_class(function: Callable, args: tuple, kwargs: dict, error: Exception) -> Any:
    """Return the result of ``__torch_dispatch__`` for a function that reads values, which an argument's class keeps.

    Nothing is recorded: where a gradient would be lost, ``error`` says that the memory is not there.
    """
    result = answer(function, args, kwargs)
    if result is MISS:
        raise error
    needs = modes.current().grad and any(isinstance(a, Tensor) and a.requires_grad for a in (*args, *kwargs.values()))
    if needs and isinstance(result, Tensor) and result._array.dtype.kind in "fc":
        raise error
    return result


def _trimmed(op: Any, values: list) -> tuple:
    """Return the arguments without trailing ones that equal their defaults."""
    count = len(values)
    while count > op.required and _is_default(values[count - 1], op.defaults[count - 1 - op.required]):
        count -= 1
    return tuple(values[:count])


def _is_default(value: Any, default: Any) -> bool:
    return value is default or (type(value) is type(default) and not isinstance(value, Tensor) and value == default)


def _fresh(op: Any, result: Any, values: list) -> Tensor:
    """Return a handler's result as a tensor to which autograd may attach a history."""
    if not isinstance(result, Tensor):
        raise TypeError(f"__torch_dispatch__ must return a tensor for {op.name}, got {type(result).__name__}")
    if result._edge is None and not result._requires_grad and not any(result is value for value in values):
        return result
    return same_class(result)


def _copy_of(target: Tensor) -> Tensor:
    """Return a copy of a wrapper before it is written."""
    with modes.no_grad():
        old = target.clone()
    old._edge = edge_of(target)
    old._requires_grad = old._edge is not None
    return old


def _attach(op: Any, values: list, results: list, mode: modes.Mode, several: bool) -> None:
    for number, result in enumerate(results):
        if result._view is not None and not isinstance(values[0]._array, Absent):
            result._view = None
            attach(result, values[0], (None, op, tuple(values[1:]), number if several else None), mode, several)


def _settle_node(op: Any, results: list) -> None:
    """Make the node of the results run on tensors, and keep saved results without arrays as tensors."""
    node: Any = next((r._edge[0] for r in results if r._edge is not None), None)
    if not isinstance(node, OpNode):
        return
    node.__class__ = _asking_class(type(node))
    kept = list(node._saved)
    for place, (_, kind, number) in enumerate(op.saves):
        entry = kept[place]
        if kind == OUTPUT and type(entry) is tuple and isinstance(entry[0], Absent):
            kept[place] = (same_class(results[number]), entry[1], entry[2])
        elif type(entry) is saving.SavedVariable and entry.entry is not None and isinstance(entry.entry[0], Absent):
            entry.entry = (same_class(results[number]), *entry.entry[1:])
    node._saved = tuple(kept)


_asking: dict[type, type] = {}


def _asking_class(kind: type) -> type:
    known = _asking.get(kind)
    if known is None:
        known = (
            kind
            if issubclass(kind, AskingNode)
            else type(kind.__name__, (AskingNode, kind), {"__slots__": (), "__module__": kind.__module__})
        )
        _asking[kind] = known
    return known


class AskingNode(OpNode):
    """The node of an op computed by ``__torch_dispatch__``: its formulas run on tensors, whose class is called
    again.
    """

    __slots__ = ()

    _vjp = Node._vjp  # the generated fast path would not call the class

    def _pull_general(self, grads: list, record: bool, wanted: Any = None) -> Any:
        tensors = [grad if grad is None or isinstance(grad, Tensor) else wrap(as_array(grad)) for grad in grads]
        results = self._apply(tensors, True)
        return results if record else [None if result is None else raw_gradient(result) for result in results]

    def _one(self, entry: Any, name: str, kind: int, number: int, record: bool) -> Any:
        if kind == OUTPUT and type(entry) is tuple and isinstance(entry[0], Tensor):
            if entry[1][0] != entry[2]:
                raise saving.stale(entry, self, name)
            value = same_class(entry[0])
            value._edge, value._requires_grad = (self, number), True
            return value
        return super()._one(entry, name, kind, number, record)


def make_wrapper(cls: type, size: Any, strides: Any, dtype: Any, device: Any, requires_grad: bool) -> Any:
    """Return an instance of ``cls`` that has a shape and a dtype, and no values of its own."""
    if not isinstance(cls, type) or not issubclass(cls, Tensor):
        raise TypeError(f"cls must be a subclass of Tensor, got {cls!r}")
    if cls.__torch_dispatch__ is disabled_dispatch:  # type: ignore[attr-defined]
        raise TypeError(
            f"{cls.__name__} must define __torch_dispatch__ to be a wrapper: it has no values that an operation could"
            " use"
        )
    activate_overrides()
    numpy = dtypes.default_float() if dtype is None else dtypes.to_numpy(dtype)
    tensor = wrap(
        Absent(
            tuple(size), numpy, None if strides is None else tuple(strides), None if device is None else Device(device)
        )
    )
    tensor = of_class(tensor, cls)
    tensor._requires_grad = bool(requires_grad)
    return tensor
