"""Messages from one process to another."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .._tensor.tensor import Tensor
from .buffers import check_tensor, count_write, memory, write_back
from .collectives import group_of, peer, start
from .groups import ProcessGroup, member
from .headers import Received, Sent
from .work import Work

__all__ = ["P2POp", "batch_isend_irecv", "irecv", "isend", "recv", "send"]


def isend(
    tensor: Tensor,
    dst: int | None = None,
    group: ProcessGroup | None = None,
    tag: int = 0,
    group_dst: int | None = None,
) -> Work | None:
    """Begin to send a tensor, which must not be written to before ``wait()``."""
    found = group_of("isend", group)
    if found is None:
        return None
    array = check_tensor("isend", "tensor", tensor)._array
    to = peer("isend", "dst", found, dst, group_dst)
    values = memory(array, found.transport.on_host)
    if _checked(found):
        begin: Callable[[], Any] = lambda: Sent(found, values, to, tag)
    else:
        begin = lambda: found.transport.send(values, to, tag)
    return start("isend", found, begin, [], None, values, True)


def irecv(
    tensor: Tensor,
    src: int | None = None,
    group: ProcessGroup | None = None,
    tag: int = 0,
    group_src: int | None = None,
) -> Work | None:
    """Begin to receive into a tensor, from ``src`` or from any rank; the values are there after ``wait()``."""
    found = group_of("irecv", group)
    if found is None:
        return None
    array = check_tensor("irecv", "tensor", tensor)._array
    source = None if src is None and group_src is None else peer("irecv", "src", found, src, group_src)
    values = memory(array, found.transport.on_host)
    finish = lambda: write_back(array, values)
    if _checked(found):
        begin: Callable[[], Any] = lambda: Received(found, values, source, tag, lambda: count_write([tensor]))
        return start("irecv", found, begin, [], finish, values, True)
    return start("irecv", found, lambda: found.transport.receive(values, source, tag), [tensor], finish, values, True)


def _checked(group: ProcessGroup) -> bool:
    """Return whether messages have headers: NCCL's have none, since they begin in the order of its stream."""
    return group.size() > 1 and group.checks != "off" and group.backend == "mpi"


def send(
    tensor: Tensor,
    dst: int | None = None,
    group: ProcessGroup | None = None,
    tag: int = 0,
    group_dst: int | None = None,
) -> None:
    """Send a tensor to another process."""
    found = member(group)
    if found is not None and peer("send", "dst", found, dst, group_dst) == found.rank():
        raise ValueError(
            "send: Invalid destination rank: destination rank should not be the same as the rank of the current process"
        )
    work = isend(tensor, dst, group, tag, group_dst)
    if work is not None:
        work.wait()


def recv(
    tensor: Tensor,
    src: int | None = None,
    group: ProcessGroup | None = None,
    tag: int = 0,
    group_src: int | None = None,
) -> int:
    """Receive into a tensor, from ``src`` or from any rank; return the sender's rank, or -1 for a rank that is not in
    the group.
    """
    work = irecv(tensor, src, group, tag, group_src)
    return -1 if work is None else work.source_rank()


class P2POp:
    """A message to be sent or received by :func:`batch_isend_irecv`.

    Parameters
    ----------
    op : callable
        :func:`isend` or :func:`irecv`.
    tensor : Tensor
        What is sent, or filled.
    peer : int, optional
        The other process, by its rank in the world; ``group_peer``, in the group.
    group : ProcessGroup, optional
        The world's by default.
    tag : int
        Messages with different tags are told apart.
    """

    def __init__(
        self,
        op: Callable,
        tensor: Tensor,
        peer: int | None = None,
        group: ProcessGroup | None = None,
        tag: int = 0,
        group_peer: int | None = None,
    ) -> None:
        if op not in (isend, irecv):
            raise ValueError(f"Invalid `op`: expected dualtape.distributed.isend or irecv, got {op!r}")
        if peer is None and group_peer is None:
            raise ValueError("P2POp: Must specify peer or group_peer")
        self.op = op
        self.tensor = check_tensor("P2POp", "tensor", tensor)
        self.peer = peer
        self.group = group
        self.tag = tag
        self.group_peer = group_peer

    def __repr__(self) -> str:
        to = self.peer if self.peer is not None else f"group {self.group_peer}"
        return f"P2POp({self.op.__name__}, peer={to}, shape={list(self.tensor.shape)}, dtype={self.tensor.dtype!r})"


def batch_isend_irecv(p2p_op_list: list[P2POp]) -> list[Any]:
    """Begin several messages at once.

    Returns
    -------
    list of Work
    """
    if not isinstance(p2p_op_list, list) or not all(isinstance(op, P2POp) for op in p2p_op_list):
        raise ValueError("Invalid `p2p_op_list`: expected a list of P2POp")
    if not p2p_op_list:
        raise ValueError("Invalid `p2p_op_list`: it must hold at least one P2POp")
    found = member(p2p_op_list[0].group)
    if found is not None and found.backend == "nccl":
        from cupy.cuda import nccl

        from .transports.nccl import Event

        nccl.groupStart()  # so that none waits for another
        try:
            works = [op.op(op.tensor, op.peer, op.group, op.tag, op.group_peer) for op in p2p_op_list]
        finally:
            nccl.groupEnd()
        for work in works:
            work._request = Event()  # they begin only now
        return works
    return [op.op(op.tensor, op.peer, op.group, op.tag, op.group_peer) for op in p2p_op_list]
