"""The NCCL transport, by CuPy: arrays are sent from GPU to GPU. MPI starts the processes, and distributes NCCL's
identifier.
"""

from __future__ import annotations

from functools import cache
from importlib.util import find_spec
from typing import Any

import numpy as np

from ..reduce_op import RedOpType

__all__ = ["Nccl", "available"]

_TYPES = {
    "b1": "INT8",
    "i1": "INT8",
    "u1": "UINT8",
    "i4": "INT32",
    "u4": "UINT32",
    "i8": "INT64",
    "u8": "UINT64",
    "f2": "FLOAT16",
    "f4": "FLOAT32",
    "f8": "FLOAT64",
    "c8": "FLOAT32",
    "c16": "FLOAT64",
}
_OPERATIONS = {
    RedOpType.SUM: "NCCL_SUM",
    RedOpType.PRODUCT: "NCCL_PROD",
    RedOpType.MIN: "NCCL_MIN",
    RedOpType.MAX: "NCCL_MAX",
}
_OF_BOOLS = {
    "SUM": "NCCL_MAX",
    "MAX": "NCCL_MAX",
    "BOR": "NCCL_MAX",
    "PRODUCT": "NCCL_MIN",
    "MIN": "NCCL_MIN",
    "BAND": "NCCL_MIN",
}


_NAME = 128  # bytes of what NCCL tells its groups apart by


@cache
def available() -> bool:
    """Return whether CuPy is installed with NCCL, and sees a GPU."""
    if find_spec("cupy") is None:
        return False
    try:
        import cupy
        from cupy.cuda import nccl

        return bool(nccl.available) and cupy.cuda.runtime.getDeviceCount() > 0
    except (ImportError, RuntimeError, AttributeError):
        return False


def _check_tag(tag: int) -> None:
    if tag:
        raise ValueError(f"NCCL tells messages apart by their order alone: leave tag out, got {tag}")


class Event:
    """A request that asks whether the stream has reached a point."""

    __slots__ = ("_event",)

    def __init__(self) -> None:
        import cupy

        self._event = cupy.cuda.get_current_stream().record()

    def Test(self) -> bool:
        return self._event.done


class Nccl:
    """The transport of a group of processes that have a GPU each."""

    on_host = False

    def __init__(self, below: Any) -> None:
        from cupy.cuda import nccl

        self.below = below  # MPI's, or none
        self.rank: int = below.rank
        self.size: int = below.size
        name = np.zeros(_NAME, np.uint8)
        if self.rank == 0:
            name[:] = [n & 0xFF for n in nccl.get_unique_id()]
        request = below.broadcast(name, 0)
        while not request.Test():
            pass
        self._nccl = nccl
        try:
            self._communicator = nccl.NcclCommunicator(self.size, name.tobytes(), self.rank)
        except TypeError:  # older ones of CuPy take a tuple of numbers
            self._communicator = nccl.NcclCommunicator(self.size, tuple(name.view(np.int8).tolist()), self.rank)

    def _type(self, x: Any) -> tuple[int, int]:
        """Return NCCL's number for the dtype of ``x``, and its count of those."""
        found = _TYPES.get(f"{x.dtype.kind}{x.dtype.itemsize}")
        if found is None:
            raise TypeError(f"NCCL has no values of {x.dtype}: convert the tensor first")
        return getattr(self._nccl, f"NCCL_{found}"), x.size * (2 if x.dtype.kind == "c" else 1)

    def _operation(self, x: Any, op: RedOpType) -> int:
        table = _OF_BOOLS if x.dtype.kind == "b" else {kind.name: name for kind, name in _OPERATIONS.items()}
        if op.name not in table or (x.dtype.kind == "c" and op is not RedOpType.SUM):
            raise ValueError(f"NCCL has no {op} of values of {x.dtype}: reduce them by the backend mpi")
        return getattr(self._nccl, table[op.name])

    def _stream(self) -> int:
        import cupy

        return cupy.cuda.get_current_stream().ptr

    def all_reduce(self, x: Any, op: RedOpType) -> Any:
        kind, count = self._type(x)
        self._communicator.allReduce(x.data.ptr, x.data.ptr, count, kind, self._operation(x, op), self._stream())
        return Event()

    def reduce(self, x: Any, op: RedOpType, root: int) -> Any:
        kind, count = self._type(x)
        self._communicator.reduce(x.data.ptr, x.data.ptr, count, kind, self._operation(x, op), root, self._stream())
        return Event()

    def broadcast(self, x: Any, root: int) -> Any:
        kind, count = self._type(x)
        self._communicator.broadcast(x.data.ptr, x.data.ptr, count, kind, root, self._stream())
        return Event()

    def barrier(self) -> Any:
        import cupy

        return self.all_reduce(cupy.zeros(1, cupy.float32), RedOpType.SUM)

    def all_gather(self, out: Any, x: Any) -> Any:
        kind, count = self._type(x)
        self._communicator.allGather(x.data.ptr, out.data.ptr, count, kind, self._stream())
        return Event()

    def reduce_scatter(self, out: Any, x: Any, op: RedOpType) -> Any:
        kind, count = self._type(out)
        self._communicator.reduceScatter(x.data.ptr, out.data.ptr, count, kind, self._operation(x, op), self._stream())
        return Event()

    def all_to_all(self, out: Any, out_counts: list[int], x: Any, in_counts: list[int]) -> Any:
        kind, stream = self._type(x)[0], self._stream()
        scale = 2 if x.dtype.kind == "c" else 1
        self._nccl.groupStart()
        there = here = 0
        for peer, (sent, received) in enumerate(zip(in_counts, out_counts, strict=True)):
            if sent:
                self._communicator.send(x.data.ptr + there * x.itemsize, sent * scale, kind, peer, stream)
            if received:
                self._communicator.recv(out.data.ptr + here * x.itemsize, received * scale, kind, peer, stream)
            there, here = there + sent, here + received
        self._nccl.groupEnd()
        return Event()

    def gather(self, out: Any, x: Any, root: int) -> Any:
        n = x.size
        parts = [n] * self.size if self.rank == root else [0] * self.size
        return self.all_to_all(out, parts, x, [n if peer == root else 0 for peer in range(self.size)])

    def scatter(self, out: Any, x: Any, root: int) -> Any:
        n = out.size
        parts = [n] * self.size if self.rank == root else [0] * self.size
        return self.all_to_all(
            out, [n if peer == root else 0 for peer in range(self.size)], out if x is None else x, parts
        )

    def send(self, x: Any, to: int, tag: int) -> Any:
        _check_tag(tag)
        kind, count = self._type(x)
        self._communicator.send(x.data.ptr, count, kind, to, self._stream())
        return Event()

    def receive(self, out: Any, source: int | None, tag: int) -> Any:
        _check_tag(tag)
        if source is None:
            raise ValueError("recv: NCCL receives from a process that is named; give src")
        kind, count = self._type(out)
        self._communicator.recv(out.data.ptr, count, kind, source, self._stream())
        return Event()

    def split(self, ranks: list[int]) -> Nccl:
        return Nccl(self.below.split(ranks))

    def free(self) -> None:
        self._communicator.destroy()
        self.below.free()
