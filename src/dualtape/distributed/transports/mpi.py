"""The MPI transport, by mpi4py: it reads and writes the memory of NumPy's arrays directly.

Every call is a non-blocking one, so that waiting can be given up. Reductions that MPI lacks (of float16; minima and
maxima with NaN, which propagates) are NumPy functions that MPI calls.
"""

from __future__ import annotations

import os
from functools import cache
from typing import Any

import numpy as np

from ..reduce_op import RedOpType

__all__ = ["Mpi", "available", "processes", "world"]

# how launchers tell their processes how many they are
_SIZES = ("PMI_SIZE", "OMPI_COMM_WORLD_SIZE", "MPI_LOCALNRANKS", "PMIX_SIZE")

_UFUNCS = {
    RedOpType.SUM: np.add,
    RedOpType.PRODUCT: np.multiply,
    RedOpType.MIN: np.minimum,
    RedOpType.MAX: np.maximum,
}


@cache
def available() -> bool:
    """Return whether mpi4py is installed, and finds an MPI library."""
    try:
        from mpi4py import MPI  # noqa: F401
    except (ImportError, RuntimeError):
        return False
    return True


def processes() -> int:
    """Return the number of processes reported by a launcher; 1 without one."""
    return max([int(os.environ[name]) for name in _SIZES if os.environ.get(name, "").isdigit()], default=1)


def world() -> Any:
    """Return the communicator of all processes."""
    from mpi4py import MPI

    return MPI.COMM_WORLD


@cache
def _operation(op: RedOpType, dtype: np.dtype) -> Any:
    """Return MPI's operation for a reduction, or one made of NumPy's."""
    from mpi4py import MPI

    if dtype.kind == "b":
        return {"SUM": MPI.LOR, "MAX": MPI.LOR, "BOR": MPI.LOR, "BXOR": MPI.LXOR}.get(op.name, MPI.LAND)
    if dtype.char == "e" or dtype.kind == "f" and op in (RedOpType.MIN, RedOpType.MAX):
        ufunc = _UFUNCS[op]

        def reduce(source: Any, target: Any, datatype: Any) -> None:
            into = np.frombuffer(target, dtype)
            ufunc(np.frombuffer(source, dtype), into, out=into)

        return MPI.Op.Create(reduce, commute=True)
    return getattr(MPI, {"PRODUCT": "PROD"}.get(op.name, op.name))


def _memory(x: Any) -> Any:
    return x if x.dtype.char != "e" else x.view(np.uint16)  # halves travel as the 16 bits they are


class Receipt:
    """The request of a message to receive, which records its sender."""

    __slots__ = ("_request", "source")

    def __init__(self, request: Any) -> None:
        self._request = request
        self.source: int | None = None

    def Test(self) -> bool:
        from mpi4py import MPI

        status = MPI.Status()
        done = self._request.Test(status)
        if done and self.source is None:
            self.source = status.source
        return done


class Mpi:
    """The transport of a group of processes, over a communicator of its own."""

    on_host = True

    def __init__(self, communicator: Any) -> None:
        self.communicator = communicator
        self.notes = communicator.Dup()  # for headers, which are matched apart from values
        self.rank: int = communicator.rank
        self.size: int = communicator.size

    def all_reduce(self, x: Any, op: RedOpType) -> Any:
        from mpi4py import MPI

        return self.communicator.Iallreduce(MPI.IN_PLACE, _memory(x), _operation(op, x.dtype))

    def reduce(self, x: Any, op: RedOpType, root: int) -> Any:
        from mpi4py import MPI

        ends = (MPI.IN_PLACE, _memory(x)) if self.rank == root else (_memory(x), None)
        return self.communicator.Ireduce(*ends, _operation(op, x.dtype), root)

    def broadcast(self, x: Any, root: int) -> Any:
        return self.communicator.Ibcast(_memory(x), root)

    def barrier(self) -> Any:
        return self.communicator.Ibarrier()

    def all_gather(self, out: Any, x: Any) -> Any:
        return self.communicator.Iallgather(_memory(x), _memory(out))

    def reduce_scatter(self, out: Any, x: Any, op: RedOpType) -> Any:
        return self.communicator.Ireduce_scatter_block(_memory(x), _memory(out), _operation(op, x.dtype))

    def all_to_all(self, out: Any, out_counts: list[int], x: Any, in_counts: list[int]) -> Any:
        return self.communicator.Ialltoallv([_memory(x), in_counts], [_memory(out), out_counts])

    def gather(self, out: Any, x: Any, root: int) -> Any:
        return self.communicator.Igather(_memory(x), None if out is None else _memory(out), root)

    def scatter(self, out: Any, x: Any, root: int) -> Any:
        return self.communicator.Iscatter(None if x is None else _memory(x), _memory(out), root)

    def send(self, x: Any, to: int, tag: int) -> Any:
        return self.communicator.Isend(_memory(x), to, tag)

    def receive(self, out: Any, source: int | None, tag: int) -> Any:
        from mpi4py import MPI

        return Receipt(self.communicator.Irecv(_memory(out), MPI.ANY_SOURCE if source is None else source, tag))

    def split(self, ranks: list[int]) -> Mpi:
        """Return the transport of some of the processes, in this order; they alone call it."""
        group = self.communicator.group.Incl(ranks)
        return Mpi(self.communicator.Create_group(group))

    def free(self) -> None:
        self.notes.Free()
        self.communicator.Free()
