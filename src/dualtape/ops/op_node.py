"""The node of a declared op: runs the op's formulas on its saved values.

``saved`` is a tuple with one entry for each name that a formula of the op reads (``op.saves``). The same formula gets
raw arrays, or tensors when the backward is recorded.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from .. import errors, modes
from .._tensor.tensor import Tensor
from ..arrays import zeros
from ..arrays.batched.array import NotBatchable, newest, per_sample
from ..autograd import saved as saving
from ..autograd.node import Freed, Node, check_not_freed
from ..autograd.saved import SavedKey, SavedVariable, raw_key
from ..autograd.tangents import tangents_of
from ..overrides.active_overrides import active_overrides
from .saves import ATTRIBUTE, INPUT, OUTPUT

_ENTRIES = (tuple, Tensor)  # what a saved tensor is kept as


class OpNode(Node):
    """Base of the generated node classes; ``op`` is the declaration."""

    __slots__ = ()

    op: Any  # set on each generated subclass

    def _pull_general(self, grads: list, record: bool, wanted: Any = None) -> Any:
        op = self.op
        g = grads[0]
        if (
            record
            or op.whole
            or not op.simple
            or op.outputs is not None
            or op.listed_place is not None
            or type(g) is np.ndarray
        ):
            return self._apply(grads, record, wanted)
        if g is None:
            return (None,) * len(self._edges)
        saved = check_not_freed(self)
        check_versions(self)
        results: list = []
        for edge, (formula, loads) in zip(self._edges, op.loads, strict=False):
            if edge is None or (wanted is not None and edge[0] not in wanted):
                results.append(None)
                continue
            arguments = [g]
            for kind, k in loads:
                entry = saved[k]
                if kind != ATTRIBUTE:
                    entry = self._one(entry, op.saves[k][0], kind, 0, False)
                elif type(entry) is SavedKey:
                    entry = raw_key(entry.unpack(self, op.saves[k][0]))
                arguments.append(entry)
            try:
                results.append(formula(*arguments))
            except NotBatchable:
                results.append(_by_samples(formula, arguments, op.name))
        return results

    def _apply(self, grads: list, record: bool, wanted: Any = None) -> Any:
        """Return the gradients for several outputs, a list of inputs, or formulas on tensors: the reference path."""
        op = self.op
        if grads[0] is None and all([grad is None for grad in grads]):
            return (None,) * len(self._edges)
        saved = check_not_freed(self)
        if active_overrides and modes.current().subclass_functions:
            return self._without_functions(grads, record, wanted)
        values = self._unpacked(saved, record)
        formulas = self._formulas([*values, *grads], record)
        # quick formulas take None for a gradient that did not come
        if len(grads) > 1 and (formulas is op.formulas or not op.numpy_vjp):
            grads = self._materialised(grads)
        values.extend(grads)
        values.append(grads)  # the name ``grads`` in a formula means all of them
        if op.listed_place is not None:
            formula, places = op.formulas[0]
            return self._run(formula, [values[k] for k in places], record)
        if op.numpy_joint is not None and formulas is op.numpy_formulas and self._all_asked(wanted):
            joint, places = op.numpy_joint
            found = joint(*[values[k] for k in places])
            if found is not None:
                return found
        return [
            None
            if edge is None or (wanted is not None and edge[0] not in wanted)
            else self._run(formula, [values[k] for k in places], record)
            for edge, (formula, places) in zip(self._edges, formulas, strict=True)
        ]

    def _all_asked(self, wanted: Any) -> bool:
        """Return whether gradients of all inputs are requested."""
        return all([edge is not None and (wanted is None or edge[0] in wanted) for edge in self._edges])

    def _formulas(self, values: list, record: bool) -> tuple:
        """Return the formulas for tensors, or those for NumPy's arrays where there are such."""
        op = self.op
        if record or not op.numpy_vjp:
            return op.formulas
        if op.whole and modes.current().tracing is not None:
            return op.numpy_formulas
        for value in values:
            if type(value) is not np.ndarray and hasattr(value, "dtype"):
                return op.formulas
        return op.numpy_formulas

    def _run(self, formula: Any, arguments: list, record: bool) -> Any:
        try:
            if self.op.whole and not record and modes.current().tracing is not None:
                return as_a_whole(formula, arguments)
            return formula(*arguments)
        except NotBatchable:
            if not record:
                return _by_samples(formula, arguments, self.op.name)
            from .batching import by_samples

            return by_samples(formula, tuple(arguments), {}, f"the backward of {self.op.name}")

    def _without_functions(self, grads: list, record: bool, wanted: Any) -> Any:
        """Return the gradients with ``__torch_function__`` of subclasses disabled: formulas are not calls of the
        user.
        """
        mode = modes.current()
        inside = mode.replace(subclass_functions=False)
        try:
            modes._set(inside)
            return self._apply(grads, record, wanted)
        finally:
            now = modes._set(mode).old_value
            if now is not inside:
                modes.keep(now, mode, "subclass_functions")

    def _materialised(self, grads: list) -> list:
        """Return the gradients of several outputs, zeros in place of undefined ones."""
        like = next(grad for grad in grads if grad is not None)
        return [
            zeros(shape, dtype, like) if grad is None else grad
            for grad, (shape, dtype) in zip(grads, self._outputs, strict=True)
        ]

    def _unpacked(self, saved: tuple, record: bool) -> list:
        values = list(saved)
        saves = self.op.saves
        for k in order_of(self.op):
            entry, (name, kind, number) = values[k], saves[k]
            if type(entry) is SavedKey:
                values[k] = raw_key(entry.unpack(self, name))
            if kind == ATTRIBUTE or entry is None:
                continue
            if record and kind == INPUT and isinstance(entry, _ENTRIES) and not saving.full(entry)[0].requires_grad:
                self._check_not_detached(name)
            values[k] = self._one(entry, name, kind, number, record)
        return values

    def _check_not_detached(self, name: str) -> None:
        """Raise if an input without history had one when it was saved: a recording now would miss it."""
        inputs = self.op.inputs
        if name in inputs and self._edges[inputs.index(name)] is not None:
            raise errors.detached(self._title(), name)

    def _one(self, entry: Any, name: str, kind: int, number: int, record: bool) -> Any:
        if isinstance(entry, _ENTRIES) or type(entry) is SavedVariable:
            if record:
                return saving.unpack(entry, self, name, kind == OUTPUT, number)
            return saving.unpack_raw(entry, self, name, kind == OUTPUT)
        return entry  # a Python number in a tensor's place

    def _release(self, task: Any) -> None:
        if self._holds:
            self._saved = task.freed or task.free()

    def _shown(self, position: int) -> Any:
        """Return a saved value, as the attribute ``_saved_name`` shows it."""
        entry = check_not_freed(self)[position]
        name, kind, number = self.op.saves[position]
        if type(entry) is SavedKey:
            return entry.unpack(self, name)
        if kind == ATTRIBUTE or entry is None:
            return entry
        return self._one(entry, name, kind, number, True)

    def _raw(self, position: int) -> Any:
        """Return the saved variable of the attribute ``_raw_saved_name``, on which hooks are registered."""
        _, kind, number = self.op.saves[position]
        saved = self._saved
        entry = None if type(saved) is Freed else saved[position]
        if entry is None:
            return SavedVariable(None, kind == OUTPUT, number, self)
        if isinstance(entry, _ENTRIES):
            entry = SavedVariable(entry, kind == OUTPUT, number, self)
            places = list(saved)
            places[position] = entry
            self._saved = tuple(places)
        return entry


def as_a_whole(function: Callable, args: Any) -> Any:
    """Call ``function`` as one instruction of the program that is being traced."""
    from ..arrays.traced.array import called

    return called(function, tuple(args))


def pack_node(node: Any, results: tuple | None, hooks: Any) -> None:
    """Pack the values that a new node saved with a pair of hooks, if ``hooks`` is one: its arguments in PyTorch's
    order, then its ``results`` if they exist already.
    """
    if type(hooks) is not tuple:
        return
    op = node.op
    kept: list | None = None
    for k in order_of(op):
        _, kind, number = op.saves[k]
        entry, is_output = node._saved[k], kind == OUTPUT
        if type(entry) is SavedKey:
            kept = list(node._saved) if kept is None else kept
            kept[k] = entry.pack(hooks)
        if kind == ATTRIBUTE or is_output and results is None or not isinstance(entry, _ENTRIES):
            continue
        if kept is None:
            kept = list(node._saved)
        shown = saving.full(entry)[0]
        if is_output and results is not None:
            shown = results[number]
            if modes.current().levels:
                entry = (*entry[:3], tangents_of(shown))
        one = kept[k] = SavedVariable(entry, is_output, number, node if is_output else None)
        one.pack(shown, *hooks)
    if kept is not None:
        node._saved = tuple(kept)


def order_of(op: Any) -> tuple:
    """Return the positions of an op's saved values in PyTorch's order of packing and unpacking: by name, results
    last.
    """
    order = _orders.get(op)
    if order is None:
        by_name = lambda k: (op.saves[k][1] == OUTPUT, op.public_name(op.saves[k][0]))
        order = _orders[op] = tuple(sorted(range(len(op.saves)), key=by_name))
    return order


_orders: dict[Any, tuple] = {}


def check_versions(node: Any) -> None:
    """Raise if a value that a node saved was written since."""
    for entry, (name, kind, _) in zip(check_not_freed(node), node.op.saves, strict=True):
        if isinstance(entry, Tensor):
            if kind == INPUT and entry._version_counter is not None and entry._version_counter[0]:
                raise saving.stale(entry, node, name)
        elif type(entry) is SavedKey:
            entry.check(node, name)
        elif type(entry) is tuple and kind != ATTRIBUTE and entry[1][0] != entry[2]:
            raise saving.stale(entry, node, name)


def saved_properties(op: Any) -> dict[str, property]:
    """Return the properties ``_saved_x`` for each value that an op's nodes save, and ``_raw_saved_x`` for each tensor
    among them.
    """
    result = {}
    for position, (name, kind, _) in enumerate(op.saves):
        result[f"_saved_{op.public_name(name)}"] = property(partial(_read, OpNode._shown, position))
        if kind != ATTRIBUTE:
            result[f"_raw_saved_{op.public_name(name)}"] = property(partial(_read, OpNode._raw, position))
    return result


def _read(how: Callable, position: int, node: OpNode) -> Any:
    return how(node, position)


def _by_samples(formula: Any, arguments: Any, name: str) -> Any:
    """Return a formula's result computed sample by sample, where it reads a batched value."""

    def one(*each: Any) -> Any:
        try:
            return formula(*each)
        except NotBatchable:
            return _by_samples(formula, each, name)

    return per_sample(one, newest(arguments), arguments, {}, f"the backward of {name}")
