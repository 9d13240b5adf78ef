"""Headers: ranks compare their calls before the memory of a tensor is touched.

A collective begins with a header, an all-reduce of two numbers on a communicator of its own; the values follow only
when all ranks have the same call (name, count, dtype, reduction, root). If they differ, every rank raises, and the
group remains usable. A message has a header, too, which the receiver compares with its buffer.

A call that only begins an operation never waits: requests are advanced whenever any of them is asked ``Test()``, and
the collectives of a group in the order in which they were begun, which is the same on all ranks.
"""

from __future__ import annotations

import struct
import threading
from collections.abc import Callable
from functools import cache, lru_cache
from hashlib import blake2b
from itertools import count
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

from ..autograd.versions import caller, describe
from . import detail
from .failure import DistBackendError

if TYPE_CHECKING:
    from .groups import ProcessGroup

__all__ = ["Checked", "Received", "Sent"]

_MESSAGE = struct.Struct("<qqq16s")  # the number of a message, its elements, its bytes, its dtype
# The number of tags that tell messages apart; monitored_barrier uses some above.
_NUMBERS = 30_000

# Those whose values are not yet sent or received, in the order in which they were begun.
_pending: list[Checked | Received] = []
# messages that were refused, and the memory that MPI still writes them to: it must live until they have come
_draining: list[tuple[Any, np.ndarray]] = []
_advancing = threading.Lock()


@lru_cache(maxsize=4096)
def _signature(*call: object) -> int:
    """Return a number that identifies a call, the same on all ranks."""
    return int.from_bytes(blake2b(repr(call).encode(), digest_size=8).digest(), "little") >> 2


def _wrapped(number: int) -> int:
    """Return the number modulo 64 bits."""
    return (number + (1 << 63)) % (1 << 64) - (1 << 63)


def _balance(rank: int, sent: list[int], expected: list[int]) -> int:
    """Return the sent counts minus the expected ones, with a weight for each pair of ranks: the sum over all ranks is 0
    if every rank expects the counts that it is sent.
    """
    total = sum(n * _signature(rank, other) for other, n in enumerate(sent))
    return _wrapped(total - sum(n * _signature(other, rank) for other, n in enumerate(expected)))


@cache
def _mpi() -> Any:
    from mpi4py import MPI

    return MPI


def _advance_all() -> None:
    """Begin to move the values of all requests whose header has arrived."""
    if not _pending and not _draining or not _advancing.acquire(blocking=False):
        return
    try:
        if _draining:
            _draining[:] = [(request, memory) for request, memory in _draining if not request.Test()]
        blocked: set[int] = set()  # groups in which an earlier collective waits for its header
        for each in list(_pending):
            if id(each.group) in blocked and isinstance(each, Checked):
                continue
            if each.advance():
                _pending.remove(each)
            elif isinstance(each, Checked):
                blocked.add(id(each.group))
    finally:
        _advancing.release()


class _Deferred:
    """A request for a header, followed by one for the values."""

    source: int | None = None

    def __init__(self, group: ProcessGroup) -> None:
        self.group = group
        self._request: Any = None
        self._error: Exception | None = None

    def Test(self) -> bool:
        """Return whether it is done; raise if the header says that ranks disagree."""
        if self._request is None and self._error is None:
            _advance_all()
        if self._error is not None:
            raise self._error
        if self._request is None or not self._request.Test():
            # A peer may wait for a transfer that another request of this rank begins.
            _advance_all()
            return False
        return True


class Checked(_Deferred):
    """A collective: ``begin`` starts to move the values once all ranks are known to make the same call.

    Parameters
    ----------
    group : ProcessGroup
    name : str
        What was called.
    said : dict
        The arguments that must agree.
    begin : callable
        Gives the transport's request.
    exchanged : tuple of two lists of int, optional
        The counts that are sent to each rank, and expected of each.
    """

    def __init__(
        self,
        group: ProcessGroup,
        name: str,
        said: dict[str, Any],
        begin: Callable[[], Any],
        exchanged: tuple[list[int], list[int]] | None = None,
    ) -> None:
        super().__init__(group)
        self._name, self._said, self._begin, self._exchanged = name, said, begin, exchanged
        self._where = caller(2)
        number = _signature(name, *[prod(v) if k == "shape" else v for k, v in said.items()])
        # the sum over all ranks: as often the same number, and nothing left of what is sent and expected
        self._header = np.array((number, _balance(group.rank(), *exchanged) if exchanged else 0), np.int64)
        self._wanted = [_wrapped(number * group.size()), 0]
        self._asked = group.notes.Iallreduce(_mpi().IN_PLACE, self._header, _mpi().SUM)
        _pending.append(self)
        _advance_all()

    def advance(self) -> bool:
        """Continue as far as possible without waiting; return whether the header has arrived."""
        try:
            if not self._asked.Test():
                return False
            if self._header.tolist() == self._wanted:
                self._request = self._begin()
            else:
                said = dict(self._said)
                if self._exchanged is not None:
                    said["sent"], said["expected"] = self._exchanged
                answers = detail.calls_of_all(self.group, self._name, said, describe(self._where) or "nowhere")
                self._error = DistBackendError(detail.differences(self.group, answers))
        except Exception as error:
            self._error = error
        return True


class Sent:
    """A message to send: its header, and its values."""

    source = None

    def __init__(self, group: ProcessGroup, values: Any, to: int, tag: int) -> None:
        number = next(group.numbers_to.setdefault(to, count())) % _NUMBERS
        dtype = values.dtype
        self._header = bytearray(_MESSAGE.pack(number, values.size, values.nbytes, dtype.name.encode()))
        self._note = group.notes.Isend(self._header, to, tag)
        self._request = group.transport.send(values, to, number)

    def Test(self) -> bool:
        """Return whether it has been sent."""
        if self._request.Test() and self._note.Test():
            return True
        _advance_all()
        return False


class Received(_Deferred):
    """A message to receive: its values are received when its header matches the buffer."""

    def __init__(
        self, group: ProcessGroup, values: Any, source: int | None, tag: int, begun: Callable[[], None]
    ) -> None:
        super().__init__(group)
        self._values, self._tag, self._begun = values, tag, begun
        self._header = bytearray(_MESSAGE.size)
        self._asked = group.notes.Irecv(self._header, _mpi().ANY_SOURCE if source is None else source, tag)
        _pending.append(self)

    def advance(self) -> bool:
        """Receive the values if the header has arrived; return whether it has."""
        status = _mpi().Status()
        try:
            if not self._asked.Test(status):
                return False
            source = status.source
            number, size, nbytes, name = _MESSAGE.unpack(self._header)
            values = self._values
            came = name.rstrip(b"\0").decode()
            if (size, came) == (values.size, values.dtype.name):
                self._begun()
                self._request = self.group.transport.receive(values, source, number)
                self.source = source
            else:
                spare = np.empty(nbytes, np.uint8)  # so that the sender is not left waiting
                _draining.append((self.group.transport.receive(spare, source, number), spare))
                ranks = self.group.ranks
                self._error = DistBackendError(
                    f"recv: rank {ranks[source]} sent {size} elements of {came} (tag {self._tag}), and rank"
                    f" {ranks[self.group.rank()]} expects {values.size} of {values.dtype.name}: give both the same"
                    " shape and dtype. The message is lost, the tensor as it was"
                )
        except Exception as error:
            self._error = error
        return True
