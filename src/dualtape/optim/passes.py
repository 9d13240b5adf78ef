"""Running an update rule: over the arrays of many parameters at once, or recorded on tensors.

An update says how the elements of a parameter change. It is written once, in operators and NumPy's functions, and
returns new values; values common to many parameters are computed before, by a rule::

    def rule(step):                                  # numbers of a parameter: new ones, and constants\n        return
(step + 1,), (lr / (step + 1),)

    def update(p, g, average, rate, momentum):       # arrays, then the constants, then options\n        average =
momentum * average + g\n        return p - rate * average, average

Small parameters of a kind are concatenated, changed in one pass, and written back; large ones are changed block by
block, so that intermediates stay in the cache. Complex numbers are pairs of real ones, and half types compute in
float32. Unusual tensors (subclasses, modes, read-only memory) and recorded steps use ops on tensors, which check their
arguments and build error messages.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from .. import modes
from .._tensor.tensor import Tensor, wrap
from ..arrays.bfloat16_dtype import BFLOAT16
from ..arrays.kernels.basics import in_parts
from ..arrays.kernels.fused import fused
from ..autograd.versions import UNTRACKED, caller
from ..autograd.views import disjoint
from ..ops.codegen.source import plain_types
from .optimizer import as_real, op
from .parts import on_parts

Update = Callable[..., tuple]
Rule = Callable[..., tuple[tuple, tuple]]

BLOCK = 1 << 15  # numbers of a large parameter that are changed at once
SMALL = 1 << 12  # numbers up to which parameters are changed together
_ndarray = np.ndarray
_REALS = {np.dtype(np.complex64): np.dtype(np.float32), np.dtype(np.complex128): np.dtype(np.float64)}
_SINGLE = np.dtype(np.float32)
_HALVES = {np.dtype(np.float16), BFLOAT16}


def kernel(update: Update) -> Any:
    """Return an update as one native kernel for large arrays, where there can be one; the first step, without slots,
    does not use it.
    """
    result = fused(update)
    result.first = update
    return result


def number(value: Any, recorded: bool = False) -> Any:
    """Return an option for use in a rule: a float, or, where the step is recorded, the tensor that was given.

    A program that is being traced holds for any value of that tensor, and computes with it as Python does.
    """
    if not isinstance(value, Tensor):
        return float(value)
    if recorded or modes.current().tracing:
        value = value if value.dim() == 0 else value.squeeze()
        return value if recorded else value.double()
    return float(value.item())


def run(
    update: Update,
    rule: Rule,
    options: tuple,
    params: Sequence[Tensor],
    grads: Sequence[Tensor],
    slots: Sequence[list | None],
    numbers: Sequence[Sequence[Tensor]] = (),
    *,
    foreach: bool | None = None,
    differentiable: bool = False,
    capturable: bool = False,
) -> None:
    """Update parameters and their state.

    Parameters
    ----------
    update : callable
        Of the arrays of a parameter, its gradient and its slots, of constants and options; returns new arrays for the
        parameter and the slots that are used.
    rule : callable
        Of the numbers; returns the new ones, and the constants.
    options : tuple
        What does not change from step to step.
    slots : sequence of lists
        For each name a tensor for each parameter, of its shape, or None, which becomes a tensor; None instead of a
        list stands for a slot that is not used.
    numbers : sequence of sequences
        For each name a tensor of one element for each parameter.
    foreach : bool, optional
        Parameters together, or each by itself; default: the small ones together.
    differentiable : bool
        Whether all is recorded.
    capturable : bool
        Whether numbers are computed with where they are.
    """
    if not params:
        return
    if in_parts(params[0]._array) and modes.current().plain and not differentiable:
        parts = on_parts(params, grads, slots)
        if parts is not None:
            own, their, kept, finish = parts
            run(update, rule, options, own, their, kept, numbers, foreach=foreach, capturable=capturable)
            finish()
            return
    most = 0 if foreach is False or capturable else SMALL if foreach is None else 1 << 62
    mode = modes.current()
    if mode.plain and not differentiable:
        buckets = _one_bucket(params, grads, slots, numbers, most) or _buckets(
            params, grads, slots, numbers, most, capturable
        )
    else:
        buckets = [([k], None) for k in range(len(params))]
    where = caller(2)
    for places, values in buckets:
        counts = [[each[k] for k in places] for each in numbers]
        columns = [None if tensors is None else [tensors[k] for k in places] for tensors in (params, grads, *slots)]
        if values is None:
            # a program that is being traced holds for any count, and computes with it as Python does
            found = [each[0].double() if mode.tracing else each[0] for each in counts]
            new, constants = rule(*[each if differentiable or mode.tracing else each.item() for each in found])
            _by_tensors(update, columns, (*constants, *options), differentiable)
            for (number,), value in zip(counts, new, strict=True):
                number.copy_(value) if isinstance(value, Tensor) else number.fill_(value)
        else:
            new, constants = rule(*values)
            _by_arrays(update, columns, constants, options, where)
            for each, value in zip(counts, new, strict=True):
                count(each, where)
                for tensor in each:
                    tensor._array[...] = value
        for slot, column in zip(slots, columns[2:], strict=True):
            if slot is not None and slot[places[0]] is None:
                for k, tensor in zip(places, column, strict=True):  # type: ignore[arg-type]
                    slot[k] = tensor


def _one_bucket(
    params: Sequence[Tensor],
    grads: Sequence[Tensor],
    slots: Sequence[list | None],
    numbers: Sequence[Sequence[Tensor]],
    most: int,
) -> list[tuple[list[int], tuple | None]]:
    """Return all parameters in one bucket, if all are small, complete, and of one kind: this check by columns takes a
    fraction of the time. Empty if not.
    """
    columns = [params, grads, *[slot for slot in slots if slot is not None]]
    tensors = [tensor for column in (*columns, *numbers) for tensor in column]
    if {*map(type, tensors)} - plain_types - {Tensor}:
        return []
    first = [tensor._array for tensor in params]
    dtype, shapes = first[0].dtype, [a.shape for a in first]
    size = sum([a.size for a in first])
    if size > most * len(first) or max([a.size for a in first]) > most:
        return []
    for number, column in enumerate(columns):
        arrays = first if number == 0 else [tensor._array for tensor in column]
        if {*map(type, arrays)} != {_ndarray} or number and [a.shape for a in arrays] != shapes:
            return []
        if not all([a.dtype is dtype for a in arrays]) or number != 1 and not all([a.flags.carray for a in arrays]):
            return []
    owners = {id(a if a.base is None else a.base) for a in first}
    if len(owners) != len(first) or any([a.base is not None and type(a.base) is not _ndarray for a in first]):
        return []
    if any([tensor._version_counter is UNTRACKED for tensor in tensors]):
        return []
    values = []
    for column in numbers:
        each = [tensor._array.item() for tensor in column]
        if each.count(each[0]) != len(each):
            return []
        values.append(each[0])
    return [(list(range(len(first))), tuple(values))]


def _buckets(
    params: Sequence[Tensor],
    grads: Sequence[Tensor],
    slots: Sequence[list | None],
    numbers: Sequence[Sequence[Tensor]],
    most: int,
    capturable: bool,
) -> Iterable[tuple[list[int], tuple | None]]:
    """Return which parameters are changed together, and their common numbers; None for those that use tensors."""
    found: dict[Any, tuple[list[int], tuple | None]] = {}
    owners: set[int] = set()
    used = [slot for slot in slots if slot is not None]
    for k, p in enumerate(params):
        array: Any = p._array
        parts = [slot[k] for slot in used]
        counts = [each[k] for each in numbers]
        if not (
            is_plain(p, array, True)
            and is_plain(grads[k], array, False)
            and all([part is None or is_plain(part, array, True) for part in parts])
            and all([is_plain(each, each._array, True) for each in counts])
        ):
            found[k] = ([k], None)
            continue
        values = tuple([each._array if capturable else each._array.item() for each in counts])
        key: Any = k
        if array.size <= most:
            base = array.base
            owner = id(array if base is None else base)
            # what shares memory is changed one after the other
            if owner not in owners and (base is None or type(base) is _ndarray and base.base is None):
                owners.add(owner)
                key = (array.dtype, type(array), values, *[part is None for part in parts])
        if key in found:
            found[key][0].append(k)
        else:
            found[key] = ([k], values)
    return found.values()


def is_plain(tensor: Tensor, like: Any, written: bool) -> bool:
    """Return whether a tensor's array can be read, or written, directly: it has the parameter's layout."""
    kind = type(tensor)
    if kind is not Tensor and kind not in plain_types:
        return False
    array = tensor._array
    kind = type(array)
    if array is not like:
        if kind is not type(like) or array.shape != like.shape:
            return False
        if array.dtype is not like.dtype and array.dtype != like.dtype:
            return False
    if kind is not _ndarray:
        ours = kind.__module__.startswith("dualtape.") and array.dtype is not BFLOAT16
        return not ours and tensor._version_counter is not UNTRACKED and array.flags.c_contiguous
    if not written:
        return True
    flags = array.flags
    return flags.writeable and (flags.c_contiguous or disjoint(array)) and tensor._version_counter is not UNTRACKED


def count(tensors: Iterable[Tensor], where: Any) -> None:
    """Count a write to each tensor, by the code at ``where``."""
    for tensor in tensors:
        counter = tensor._version_counter or tensor._shared_counter
        counter[0] += 1
        counter[1] = where


# --- over arrays ----------------------------------------------------------------------------------

# The parameters, their gradients, and for each slot a list or None.
Columns = list


def _by_arrays(update: Update, columns: Columns, constants: tuple, options: tuple, where: Any) -> None:
    """Update the parameters of a bucket together; slots without tensors are created."""
    params = columns[0]
    first = params[0]._array
    dtype = first.dtype
    arrays = [None if column is None or column[0] is None else [t._array for t in column] for column in columns]
    for column in columns[2:]:
        if column is not None and column[0] is None:
            update = update.first  # type: ignore[attr-defined]
            column[:] = [wrap(np.empty_like(p._array)) for p in params]
    written = [[t._array for t in column] for column in (params, *columns[2:]) if column is not None]
    native = type(first) is _ndarray
    if native and (first.size >= BLOCK or len(params) > 1):  # of no dimension: one kernel serves all values
        kind: Any = _SINGLE if dtype in _HALVES else _REALS.get(dtype, dtype)
        constants = tuple([c if isinstance(c, bool) else np.array(c, kind) for c in constants])
    for column in (params, *columns[2:]):
        count(column or (), where)
    if native and len(params) == 1 and first.size >= BLOCK:
        single = [each and each[0] for each in arrays]
        targets = [each[0] for each in written]
        if all([a is None or a.flags.c_contiguous for a in (*single, *targets)]):
            _by_blocks(update, single, targets, (*constants, *options))
            return
    new = update(*[each and _gathered(each, dtype) for each in arrays], *constants, *options)
    for targets, value in zip(written, new, strict=True):
        _scatter(value, targets, dtype)


def _gathered(arrays: list, dtype: Any) -> Any:
    """Return arrays concatenated, as real numbers of a computing dtype."""
    if len(arrays) == 1 and dtype not in _REALS:
        return arrays[0] if dtype not in _HALVES else arrays[0].astype(_SINGLE)
    together = np.concatenate(arrays, axis=None)
    if dtype in _REALS:
        return together.view(_REALS[dtype])
    return together.astype(_SINGLE) if dtype in _HALVES else together


def _scatter(values: Any, targets: list, dtype: Any) -> None:
    if dtype in _REALS:
        values = values.view(dtype)
    if len(targets) == 1:
        targets[0][...] = values.reshape(targets[0].shape)
        return
    start = 0
    for target in targets:
        stop = start + target.size
        part = values[start:stop]
        target[...] = part if target.ndim == 1 else part.reshape(target.shape)
        start = stop


def _by_blocks(update: Update, arrays: list, targets: list, rest: tuple) -> None:
    dtype = arrays[0].dtype
    real = _REALS.get(dtype, dtype)
    arrays, targets = ([None if a is None else a.reshape(-1).view(real) for a in each] for each in (arrays, targets))
    half = dtype in _HALVES
    for start in range(0, arrays[0].size, BLOCK):
        block = slice(start, start + BLOCK)
        new = update(*[None if a is None else a[block].astype(_SINGLE) if half else a[block] for a in arrays], *rest)
        for target, value in zip(targets, new, strict=True):
            target[block] = value


# --- over tensors ---------------------------------------------------------------------------------


def _by_tensors(update: Update, columns: Columns, rest: tuple, recorded: bool) -> None:
    """Update one parameter by ops; if they are recorded, their saved values are not written here."""
    row: list[Any] = [None if column is None else column[0] for column in columns]
    is_complex = row[0].is_complex()
    tensors: list[Any] = [None if t is None else as_real(t) for t in row]
    new = update(*[None if t is None else t.clone() if recorded else t for t in tensors], *rest)
    slots = [(column, t) for column, t in zip(columns[2:], tensors[2:], strict=True) if column is not None]
    for (column, tensor), value in zip(slots, new[1:], strict=True):
        if tensor is not None:
            tensor.copy_(value)
        else:
            column[0] = op("view_as_complex")(value) if is_complex else value
    tensors[0].copy_(new[0])


# --- arguments of the functions on lists ----------------------------------------------------------


def check_steps(state_steps: Sequence[Any]) -> None:
    """Raise unless step counts are tensors."""
    for step in state_steps:
        if not isinstance(step, Tensor):
            raise RuntimeError(f"counts of steps are tensors of one element, got {type(step).__name__}")


def unscaled(grads: list, grad_scale: Tensor | None, found_inf: Tensor | None, fused: bool | None) -> list | None:
    """Return gradients of a scaled loss, divided by the scale in place; None if the step must be skipped."""
    if grad_scale is None and found_inf is None:
        return grads
    if not fused:
        raise AssertionError("grad_scale and found_inf are for fused=True only")
    if found_inf is not None and found_inf.item():
        return None
    with modes.no_grad():
        for gradient in grads if grad_scale is not None else ():
            gradient.div_(grad_scale)
    return grads
