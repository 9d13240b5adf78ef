"""Divided work: each process of a mesh computes some of the rows, columns or samples, and all get the whole.

Apart from that every process must do the same. Results have derivatives in forward mode; reverse mode is refused, since
each process has only a part of the gradient.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterable
from itertools import islice
from typing import Any

import numpy

from ..arrays import as_array, module_of
from . import objects, on_arrays
from .linear_ops import linear_op

np: Any = numpy

__all__ = ["divided", "share", "together"]


def _each(mesh: Any, n: int) -> int:
    return -(-n // mesh.size())


def share(mesh: Any, n: int) -> tuple[int, int]:
    """Return the range of this process in ``n`` items: equal for all processes, but for the last ones."""
    place = 0
    for size, here in zip(mesh.shape, mesh._coordinate, strict=True):
        place = place * size + here
    each = _each(mesh, n)
    return min(place * each, n), min((place + 1) * each, n)


def _gathered(x: Any, mesh: Any, n: int) -> Any:
    x, each = as_array(x), _each(mesh, n)
    if x.shape[0] < each:
        x = np.concatenate([x, module_of(x).zeros((each - x.shape[0], *x.shape[1:]), x.dtype)])
    for group in reversed(mesh._groups):
        rows = on_arrays.all_gather(x, group)
        x = rows.reshape((rows.shape[0] * rows.shape[1], *rows.shape[2:]))
    return x[:n]


def _refused(g: Any) -> Any:
    raise NotImplementedError(
        "what was computed with mesh= is not differentiated in reverse: each process has a part of it. Take hessian or"
        " jacfwd of it, or leave mesh= out"
    )


# rows of this process, the mesh, and the number of all rows
together: Callable = linear_op("together", _gathered, lambda g: _refused(g))


def divided(mesh: Any, function: Callable, items: Iterable, n: int) -> list:
    """Return ``[function(k, item) for k, item in enumerate(items)]`` of ``n`` items, of which each process computes
    some; an error of one is raised on all.
    """
    start, stop = share(mesh, n)
    own: tuple[list, Exception | None] = ([], None)
    try:
        own = ([function(k, item) for k, item in islice(enumerate(items), start, stop)], None)
    except Exception as error:
        own = ([], error if _can_be_sent(error) else RuntimeError(repr(error)))
    found = [own]
    for group in reversed(mesh._groups):
        every: list = [None] * group.size()
        objects.all_gather_object(every, found, group)
        found = [each for some in every for each in some]
    for _, failed in found:
        if failed is not None:
            raise failed
    return [value for values, _ in found for value in values]


def _can_be_sent(error: Exception) -> bool:
    try:
        pickle.loads(pickle.dumps(error))
    except Exception:
        return False
    return True
