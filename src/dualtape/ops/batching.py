"""Entering and leaving a batch: the ops at the borders of ``vmap``, all linear, so that derivatives of every kind pass
through them.

``_batch`` hides an axis of a tensor, ``_unbatch`` makes it visible again, ``_lift`` makes a tensor from outside one
that is the same for all samples. If some arguments of an op are batched, all of them are: one that needs a gradient
goes through ``_lift``, whose backward sums over the samples. So un-batching is an ordinary node, and the engine does
not handle batches.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .. import modes
from .._tensor.tensor import Tensor, raw, wrap
from ..arrays import Batched
from ..arrays.batched import array as arrays
from ..arrays.batched.array import BatchLevel
from ..autograd.tangents import tangent
from ..overrides.active_overrides import MISS
from .dispatch import FUNCTIONS, compute, in_dtype, record
from .table import BROADCASTING, ELEMENTWISE, GENERAL, LINEAR, TABLE, Op, op


def _row(name: str, forward: Callable, vjp: Callable, jvp: Any, view: bool | str = False) -> Op:
    """Return a row that is not kept in the table: generated tests could not read its results."""
    op(
        name,
        forward,
        kind=GENERAL,
        samples=("none",),
        vjp=dict(x=vjp),
        jvp=jvp,
        view=view,
        public=False,
        method=False,
        torch_name="-",
    )
    return TABLE.pop(name)


def _pull_lifted(g: Any, level: BatchLevel) -> Any:
    """Return the gradient of a lifted tensor: that of the one visible sample while the function runs, afterwards the
    sum over all.
    """
    return g if level.open else _unlifted(g, level)


def _batched(x: Any, level: BatchLevel, dim: int) -> Any:
    return batch(x, level, dim) if isinstance(x, Tensor) else arrays.batch(x, level, dim)


def _unbatched(x: Any, level: BatchLevel, dim: int) -> Any:
    return unbatch(x, level, dim) if isinstance(x, Tensor) else arrays.unbatch(x, level, dim)


def _lifted(x: Any, level: BatchLevel) -> Any:
    return lift(x, level) if isinstance(x, Tensor) else arrays.lift(x, level)


def _unlifted(x: Any, level: BatchLevel) -> Any:
    return _unlift.function(lift(x, level), level) if isinstance(x, Tensor) else arrays.unlift(x, level)


# A gradient or a tangent need not be batched where its tensor is: so these go by way of the functions below, which
# look.
_batch = _row("_batch", arrays.batch, lambda g, level, dim: _unbatched(g, level, dim), LINEAR, view="overlapping")
_unbatching = dict(x=lambda t, level, dim: unbatch(t, level, dim))
_unbatch = _row(
    "_unbatch", arrays.unbatch, lambda g, level, dim: _batched(g, level, dim), _unbatching, view="overlapping"
)
_reveal = _row("_unbatch", arrays.unbatch, lambda g, level, dim: _batched(g, level, dim), _unbatching)
_spread = _row("_spread", arrays.unbatch, lambda g, level, dim: _batched(g, level, dim), _unbatching)
_lift = _row("_lift", arrays.lift, _pull_lifted, dict(x=lambda t, level: lift(t, level)))
_unlift = _row(
    "_unlift",
    lambda x, level: arrays.unlift(x, level),
    lambda g, level: _lifted(g, level),
    dict(x=lambda t, level: _unlifted(t, level)),
)


def batch(tensor: Tensor, level: BatchLevel, dim: int) -> Tensor:
    """Return ``tensor`` with its dimension ``dim`` hidden: one sample of ``level``, in the same memory."""
    return _batch.function(tensor, level, dim % max(tensor.ndim, 1))


def unbatch(tensor: Tensor, level: BatchLevel, dim: int = 0) -> Tensor:
    """Return ``tensor`` with the samples of ``level`` along dimension ``dim``; repeated if it is the same for all
    samples.
    """
    array = tensor._array
    whole = arrays.is_batched(array, level) and arrays.extent(array, level) == level.size
    if not whole and tensor.requires_grad and modes.current().grad:
        tensor = lift(tensor, level)
    return (_unbatch if whole else _spread).function(tensor, level, dim)


def reveal(tensor: Tensor, level: BatchLevel, dim: int) -> Tensor:
    """Return ``tensor``, a result of its own, as it remains when ``level`` ends: in the same memory, with the same
    version, but not as a view.
    """
    result = _reveal.function(tensor, level, dim)
    result._version_counter = tensor._shared_counter
    return result


def lift(tensor: Tensor, level: BatchLevel) -> Tensor:
    """Return ``tensor`` batched by ``level``, the same for all samples; itself if it is batched already."""
    if arrays.is_batched(tensor._array, level):
        return tensor
    mode = modes.current()
    if (mode.grad and tensor.requires_grad) or any(
        [tangent(tensor, each) is not None for each in mode.levels if each.open]
    ):
        return _lift.function(tensor, level)
    lifted = wrap(arrays.lift(tensor._array, level))
    lifted._shared_counter = tensor._shared_counter
    return lifted


def lift_arguments(row: Op, values: list, raws: list) -> None:
    """Batch all tensor arguments of an op by every level that batches one of them."""
    levels = arrays.levels_of(raws)
    if row.name in ("_batch", "_unbatch", "_spread", "_lift", "_unlift"):
        return

    def lifted(tensor: Tensor) -> Tensor:
        for level in levels:
            tensor = lift(tensor, level)
        return tensor

    for place in row.tensor_places:
        value = values[place]
        if isinstance(value, Tensor):
            values[place] = lifted(value)
            raws[place] = values[place]._array
        elif isinstance(value, list):
            values[place] = [lifted(v) for v in value]
            raws[place] = [v._array for v in values[place]]


def pointwise(row: Op, values: list, mode: modes.Mode, first: Batched) -> Any:
    """Run an elementwise op on tensors of one rank of which ``first`` is batched by one level: the fast path, on all
    samples' values, with unbatched tensors lifted. Return MISS if it does not apply.
    """
    if (
        row.kind not in (ELEMENTWISE, BROADCASTING)
        or row.outputs is not None
        or mode.anomaly is not None
        or mode.inference
    ):
        return MISS
    level, dtype, rank, kind = first.level, first.values.dtype, first.values.ndim, type(first.values)
    if dtype.kind not in "fc" or kind is Batched:
        return MISS
    raws, needs = list(values), False
    for place in row.tensor_places:
        value = values[place]
        if type(value) is Tensor:
            array = value._array
            if (
                array.dtype is not dtype
                or array.ndim != rank - 1
                or (value._view is not None and type(array) is Batched)
            ):
                return MISS
            if type(array) is kind:
                value = values[place] = lift(value, level)
                array = value._array
            if type(array) is not Batched or array.level is not level or type(array.values) is not kind:
                return MISS
            raws[place] = array.values
            needs = needs or value._requires_grad
        elif type(value) not in (float, int) or not row.scalars:
            return MISS
        elif row.promote is not None:
            raws[place] = in_dtype(value, dtype, kind is np.ndarray)
    output = compute(row, raws)
    if not isinstance(output, kind):
        return MISS
    result = wrap(Batched(output, level))
    if needs and mode.grad:
        record(row, values, [v._array if type(v) is Tensor else v for v in values], [result])
    return result


def recorded(row: Op, x: Tensor, y: Any, output: Any) -> Tensor:
    """Record an op whose result ``output`` was computed from two arguments, not both batched alike: lift the other one.
    Return the result.
    """
    values = row.bind((x, y), {})
    raws = [raw(value) for value in values]
    lift_arguments(row, values, raws)
    result = wrap(output)
    record(row, values, raws, [result])
    return result


# --- sample by sample -----------------------------------------------------------------------------


def _mapped(value: Any, function: Callable) -> Any:
    if type(value) in (tuple, list):
        return type(value)(_mapped(item, function) for item in value)
    if type(value) is dict:
        return {key: _mapped(item, function) for key, item in value.items()}
    return function(value)


def by_samples(function: Callable, args: tuple, kwargs: dict, name: str) -> Any:
    """Return ``function`` of each sample of the newest level, recorded as usual, with the results stacked."""
    level = arrays.newest(_mapped((args, kwargs), raw))
    if level is None:
        return function(*args, **kwargs)
    arrays.warn_slow(name)
    rows: dict[int, Any] = {}

    def pick(value: Any, i: int) -> Any:
        if not isinstance(value, Tensor):
            return value.sample(i) if type(value) is Batched and value.level is level else value
        if not arrays.is_batched(value._array, level) and not value.requires_grad:
            return value
        if id(value) not in rows:
            rows[id(value)] = FUNCTIONS["unbind"](unbatch(value, level), 0)
        return rows[id(value)][i]

    def one(i: int) -> Any:
        each, named = _mapped((args, kwargs), lambda value: pick(value, i))
        try:
            return function(*each, **named)
        except arrays.NotBatchable:
            return by_samples(function, each, named, name)

    return _stacked([one(i) for i in range(level.size)], level)


def _stacked(result: list, level: BatchLevel) -> Any:
    first = result[0]
    if isinstance(first, (tuple, list)):
        columns = [_stacked(list(column), level) for column in zip(*result, strict=True)]
        return type(first)(*columns) if hasattr(first, "_make") else type(first)(columns)
    if not isinstance(first, Tensor):
        if isinstance(first, (bool, int, float, complex)):
            raise arrays.NotBatchable(
                "vmap: It looks like you're attempting to use a Tensor in some data-dependent control flow, or as a"
                " Python number"
            )
        return arrays.stacked(result, level) if hasattr(first, "ndim") else first
    if any(m.shape != first.shape for m in result):
        arrays.stacked([m._array for m in result], level)  # raises
    return batch(FUNCTIONS["stack"](result), level, 0)
