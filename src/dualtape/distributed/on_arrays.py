"""Collectives on raw arrays, out of place: ops with derivatives and sharded arrays are built on them.

A batched array is sent with all samples at once.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy

from .._tensor.tensor import wrap
from ..arrays import Batched, as_array, module_of
from ..arrays.bfloat16_dtype import BFLOAT16
from . import collectives, point_to_point
from .groups import ProcessGroup

np: Any = numpy  # its stubs know nothing of other kinds of arrays

__all__ = [
    "all_gather",
    "all_reduce",
    "all_to_all",
    "broadcast",
    "gather",
    "receive",
    "reduce",
    "reduce_scatter",
    "scatter",
    "send",
]


def _per_sample(into: int | None, out: int | None) -> Callable:
    """Return a collective that also takes batched arrays: with the hidden axis behind dimension 0 of its input, or
    output, if the collective treats that dimension separately.
    """

    def decorate(function: Callable) -> Callable:
        def collective(x: Any, *args: Any) -> Any:
            if type(x) is not Batched:
                return function(as_array(x), *args)
            values = x.full()
            if into is not None:
                values = np.moveaxis(values, into, 0)
            result = collective(values, *args)
            return Batched(result if out is None else np.moveaxis(result, 0, out), x.level)

        collective.__name__, collective.__doc__ = function.__name__, function.__doc__
        return collective

    return decorate


def _room(shape: tuple, like: Any, zeros: bool = False) -> Any:
    if like.dtype is BFLOAT16:
        return module_of(like).zeros(shape, BFLOAT16)
    return (module_of(like).zeros if zeros else module_of(like).empty)(shape, like.dtype)


@_per_sample(None, None)
def all_reduce(x: Any, op: Any, group: ProcessGroup) -> Any:
    """Return the reduction of all ranks' arrays."""
    result = x.copy()
    collectives.all_reduce(wrap(result), op, group)
    return result


@_per_sample(None, None)
def broadcast(x: Any, root: int, group: ProcessGroup) -> Any:
    """The array of one rank."""
    result = x.copy()
    collectives.broadcast(wrap(result), None, group, group_src=root)
    return result


@_per_sample(None, None)
def reduce(x: Any, root: int, op: Any, group: ProcessGroup) -> Any:
    """Return the reduction of all ranks' arrays, on one rank; zeros on the others."""
    result = x.copy()
    collectives.reduce(wrap(result), None, op, group, group_dst=root)
    return result if group.rank() == root else _room(x.shape, x, zeros=True)


@_per_sample(None, 1)
def all_gather(x: Any, group: ProcessGroup) -> Any:
    """All ranks' arrays, stacked."""
    result = _room((group.size(), *x.shape), x)
    collectives.all_gather_into_tensor(wrap(result), wrap(x), group)
    return result


@_per_sample(None, 1)
def gather(x: Any, root: int, group: ProcessGroup) -> Any:
    """All ranks' arrays, stacked, on one rank; zeros on the others."""
    result = _room((group.size(), *x.shape), x, zeros=True)
    rows = [wrap(result[k, ...]) for k in range(group.size())] if group.rank() == root else None
    collectives.gather(wrap(x), rows, None, group, group_dst=root)
    return result


@_per_sample(1, None)
def reduce_scatter(x: Any, op: Any, group: ProcessGroup) -> Any:
    """Return the reduction of the rows of all ranks' arrays: the i-th on rank i."""
    result = _room(x.shape[1:], x)
    collectives.reduce_scatter_tensor(wrap(result), wrap(x), op, group)
    return result


@_per_sample(1, None)
def scatter(x: Any, root: int, group: ProcessGroup) -> Any:
    """Return the rows of one rank's array: the i-th on rank i."""
    result = _room(x.shape[1:], x)
    rows = [wrap(x[k, ...]) for k in range(group.size())] if group.rank() == root else None
    collectives.scatter(wrap(result), rows, None, group, group_src=root)
    return result


@_per_sample(1, 1)
def all_to_all(x: Any, received: tuple, sent: tuple, group: ProcessGroup) -> Any:
    """Return parts of each rank's array along axis 0: the i-th on rank i."""
    result = _room((sum(received), *x.shape[1:]), x)
    collectives.all_to_all_single(wrap(result), wrap(x), list(received), list(sent), group)
    return result


@_per_sample(None, None)
def send(x: Any, to: int, tag: int, group: ProcessGroup) -> Any:
    """Send an array, and return a zero."""
    point_to_point.send(wrap(x), None, group, tag, group_dst=to)
    return _room((), x, zeros=True)


@_per_sample(None, None)
def receive(x: Any, source: int, tag: int, group: ProcessGroup) -> Any:
    """An array from another rank, of the shape and dtype of ``x``."""
    result = _room(x.shape, x)
    point_to_point.recv(wrap(result), None, group, tag, group_src=source)
    return result
