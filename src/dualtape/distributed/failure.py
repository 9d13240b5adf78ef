"""Failures: no process waits for ever.

An exception that ends one process ends all of them, and names the process. A process that leaves notifies the others,
so that those that wait for it find out. A group in which a process gave up waiting is not used again.
"""

from __future__ import annotations

import atexit
import os
import sys
import threading
import time
import traceback
from collections.abc import Callable
from typing import Any

from ..errors import FinalError
from .transports.mpi import world

__all__ = ["DistBackendError", "DistError", "DistNetworkError", "DistStoreError", "Vigil", "wait_for"]

# Tests without a pause; then the seconds of tests with pauses in which other processes may run.
_EAGER, _PATIENT = 100, 1.0
_GRACE = 3.0  # seconds for what a process sent before it left
# So many seconds a launcher gets to report a failure before it is told to end all processes.
_HEARD = 0.3
_GOODBYE = 1


class DistError(RuntimeError, FinalError):
    """Base of errors between processes."""


class DistBackendError(DistError):
    """Raised when a collective fails: it timed out, or another process has left."""


class DistNetworkError(DistError):
    """Raised when the connection between processes fails."""


class DistStoreError(DistError):
    """Raised when the store of a rendezvous fails; MPI needs none."""


class Vigil:
    """Monitors the processes of a world, from ``init_process_group`` to its end."""

    def __init__(self, communicator: Any) -> None:
        self.communicator = communicator
        self.rank: int = communicator.rank
        self._sent: list = []
        self._gone: dict[int, float] = {}
        self._unfinished: list = []  # what MPI may still write into
        self._looking = threading.Lock()  # between who sees a goodbye and who receives it
        self._hook = sys.excepthook
        sys.excepthook = self._end_all
        atexit.register(self.leave)

    def _end_all(self, kind: Any, error: Any, trace: Any) -> None:
        lines = "".join(traceback.format_exception(kind, error, trace)).splitlines()
        sys.stdout.flush()
        sys.stderr.write("".join(f"[rank {self.rank}] {line}\n" for line in lines))
        sys.stderr.write(f"[rank {self.rank}] this ended rank {self.rank}, and with it all {self.communicator.size}\n")
        sys.stderr.flush()
        time.sleep(_HEARD)
        world().Abort(1)

    def leave(self) -> None:
        """Notify the others, and restore the hooks."""
        atexit.unregister(self.leave)
        if sys.excepthook == self._end_all:
            sys.excepthook = self._hook
        if self._unfinished and not all([request.Test() for request, _ in self._unfinished]):
            sys.stderr.write(f"[rank {self.rank}] left with a collective that others never came to: ending all\n")
            sys.stderr.flush()
            time.sleep(_HEARD)
            world().Abort(1)
        for other in range(self.communicator.size):
            if other != self.rank:
                self._sent.append(self.communicator.Isend(bytearray(1), other, _GOODBYE))

    def keep(self, request: Any, buffers: Any) -> None:
        """Keep references to the buffers that an unfinished request may still write into."""
        self._unfinished.append((request, buffers))

    def gone(self, ranks: list[int]) -> list[int]:
        """Those of ``ranks`` that have left long enough ago for all they sent to have come."""
        from mpi4py import MPI

        status = MPI.Status()
        with self._looking:
            while self.communicator.Iprobe(MPI.ANY_SOURCE, _GOODBYE, status):
                self.communicator.Recv(bytearray(1), status.source, _GOODBYE)
                self._gone[status.source] = time.monotonic()
        now = time.monotonic()
        return [rank for rank in ranks if now - self._gone.get(rank, now) > _GRACE]


def wait_for(test: Callable[[], bool], seconds: float, given_up: Callable[[], str | None]) -> str | None:
    """Call ``test`` until it returns true, and return None; after ``seconds``, or when ``given_up`` returns a reason,
    return the reason.
    """
    for _ in range(_EAGER):
        if test():
            return None
    begin = time.monotonic()
    asked = begin
    while not test():
        now = time.monotonic()
        if now - begin > seconds:
            return f"it timed out after {seconds:g} seconds"
        if now - asked > _PATIENT:
            asked, why = now, given_up()
            if why is not None:
                return why
        if now - begin < _PATIENT:
            os.sched_yield() if hasattr(os, "sched_yield") else time.sleep(0)
        else:
            time.sleep(1e-4)
    return None
