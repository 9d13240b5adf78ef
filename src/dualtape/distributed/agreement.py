"""Phases that succeed on all ranks, or raise on all of them.

The work of a collective function between two collectives may fail on one rank: a disk is full, a value cannot be
pickled. If that rank alone left the function, its next collective would meet a different one of the other ranks. So
such work runs in :func:`together`: the ranks report its outcome to each other before any of them continues.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np

from .._tensor.tensor import Tensor, wrap
from . import detail
from .collectives import all_reduce
from .failure import DistBackendError
from .groups import ProcessGroup

__all__ = ["on_host", "together", "transportable"]

T = TypeVar("T")


def transportable(array: np.ndarray, group: ProcessGroup) -> Tensor:
    """Return the array as a tensor on the device that the group's transport uses."""
    if group.transport.on_host or group.backend == "mpi":
        return wrap(array)
    import cupy

    return wrap(cupy.asarray(array))


def on_host(tensor: Tensor) -> np.ndarray:
    """Return the values of a tensor as a NumPy array."""
    array: Any = tensor._array
    return array if isinstance(array, np.ndarray) else array.get()


def together(group: ProcessGroup, name: str, work: Callable[[], T]) -> T:
    """Return the result of ``work`` if it succeeds on all ranks of the group; otherwise raise on all of them.

    Parameters
    ----------
    group : ProcessGroup
    name : str
        The function that the user called.
    work : callable
        What may fail; it calls no collective.

    Raises
    ------
    Exception
        On a rank where ``work`` failed: its exception.
    DistBackendError
        On the others: it names the ranks that failed, and why.
    """
    if group.size() == 1:
        return work()
    error: Exception | None = None
    try:
        result = work()
    except Exception as caught:
        error = caught
    failed = transportable(np.array([error is not None], np.int64), group)
    all_reduce(failed, group=group)
    if int(on_host(failed)[0]):
        texts = detail.texts_of_all(group, name, "" if error is None else f"{type(error).__name__}: {error}")
        if error is not None:
            raise error
        causes = "; ".join([f"rank {rank}: {text}" for rank, text in zip(group.ranks, texts, strict=True) if text])
        raise DistBackendError(f"{name} failed on another rank, and so on all: {causes}")
    return result
