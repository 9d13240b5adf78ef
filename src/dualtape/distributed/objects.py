"""Collectives of objects: anything that can be pickled. Tensors are sent faster as tensors."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np

from .agreement import on_host, together, transportable
from .collectives import all_to_all_single, broadcast, group_of, peer
from .failure import DistBackendError
from .groups import ProcessGroup
from .point_to_point import recv, send

__all__ = [
    "all_gather_object",
    "broadcast_object_list",
    "gather_object",
    "recv_object_list",
    "scatter_object_list",
    "send_object_list",
]


def _bytes(value: Any) -> np.ndarray:
    return np.frombuffer(pickle.dumps(value), np.uint8).copy()


def _value(data: np.ndarray) -> Any:
    return pickle.loads(data.tobytes())


def _exchange(parts: list[np.ndarray], group: ProcessGroup) -> list[np.ndarray]:
    """Send the i-th bytes to rank i, and return those received from each."""
    sent = [part.size for part in parts]
    lengths = transportable(np.zeros(group.size(), np.int64), group)
    all_to_all_single(lengths, transportable(np.array(sent, np.int64), group), group=group)
    received = on_host(lengths).tolist()
    came = transportable(np.zeros(sum(received), np.uint8), group)
    all_to_all_single(came, transportable(np.concatenate(parts), group), received, sent, group=group)
    return np.split(on_host(came), np.cumsum(received)[:-1])


def all_gather_object(object_list: list, obj: Any, group: ProcessGroup | None = None) -> None:
    """Give every rank the objects of all: that of rank i goes into ``object_list[i]``.

    Examples
    --------
    >>> import dualtape.distributed as dist
    >>> dist.init_process_group()
    >>> found = [None]
    >>> dist.all_gather_object(found, {"a": 1})
    >>> found
    [{'a': 1}]
    >>> dist.destroy_process_group()
    """
    found = group_of("all_gather_object", group)
    if found is None:
        return

    def prepared() -> np.ndarray:
        _check_list("all_gather_object", "object_list", object_list, found.size())
        return _bytes(obj)

    data = together(found, "all_gather_object", prepared)
    for k, part in enumerate(_exchange([data] * found.size(), found)):
        object_list[k] = _value(part)


def gather_object(
    obj: Any,
    object_gather_list: list | None = None,
    dst: int | None = None,
    group: ProcessGroup | None = None,
    group_dst: int | None = None,
) -> None:
    """Give ``dst`` (rank 0 by default) the objects of all ranks, in its list."""
    found = group_of("gather_object", group)
    if found is None:
        return
    root = peer("gather_object", "dst", found, dst, group_dst, found.ranks[0] if dst is None else None)
    here = found.rank() == root

    def prepared() -> np.ndarray:
        if here:
            _check_list("gather_object", "object_gather_list", object_gather_list, found.size())
        elif object_gather_list:
            raise ValueError(
                "gather_object: Argument `object_gather_list` must NOT be specified on non-destination ranks"
            )
        return _bytes(obj)

    data, nothing = together(found, "gather_object", prepared), np.zeros(0, np.uint8)
    parts = _exchange([data if k == root else nothing for k in range(found.size())], found)
    if here and object_gather_list is not None:
        object_gather_list[: len(parts)] = [_value(part) for part in parts]


def scatter_object_list(
    scatter_object_output_list: list,
    scatter_object_input_list: list | None = None,
    src: int | None = None,
    group: ProcessGroup | None = None,
    group_src: int | None = None,
) -> None:
    """Give rank i the i-th object of the list that ``src`` (rank 0 by default) has, as the first of its own list."""
    name = "scatter_object_list"
    found = group_of(name, group)
    if found is None:
        return
    root = peer(name, "src", found, src, group_src, found.ranks[0] if src is None else None)

    def prepared() -> list[np.ndarray]:
        if not isinstance(scatter_object_output_list, list) or not scatter_object_output_list:
            raise ValueError(f"{name}: Expected argument scatter_object_output_list to be a list of size at least 1")
        inputs = scatter_object_input_list
        if found.rank() != root:
            return [np.zeros(0, np.uint8)] * found.size()
        _check_list(name, "scatter_object_input_list", inputs, found.size())
        return [_bytes(each) for each in inputs or ()]

    parts = _exchange(together(found, name, prepared), found)
    scatter_object_output_list[0] = _value(parts[root])


def broadcast_object_list(
    object_list: list,
    src: int | None = None,
    group: ProcessGroup | None = None,
    device: Any = None,
    group_src: int | None = None,
) -> None:
    """Give every rank the objects in the list that ``src`` (rank 0 by default) has; all lists are equally long."""
    found = group_of("broadcast_object_list", group)
    if found is None:
        return
    _refuse_device("broadcast_object_list", device)
    root = peer("broadcast_object_list", "src", found, src, group_src, found.ranks[0] if src is None else None)
    here = found.rank() == root

    def prepared() -> np.ndarray:
        return _bytes(list(object_list)) if here else np.zeros(0, np.uint8)

    data = together(found, "broadcast_object_list", prepared)
    length = transportable(np.array([data.size], np.int64), found)
    broadcast(length, group=found, group_src=root)
    came = transportable(data if here else np.zeros(int(on_host(length)[0]), np.uint8), found)
    broadcast(came, group=found, group_src=root)
    if not here:
        values = _value(on_host(came))
        if len(values) != len(object_list):
            raise ValueError(
                f"broadcast_object_list: `object_list` must be as long as that of the source, {len(values)}, got"
                f" {len(object_list)}"
            )
        object_list[:] = values


def send_object_list(
    object_list: list,
    dst: int | None = None,
    group: ProcessGroup | None = None,
    device: Any = None,
    group_dst: int | None = None,
    use_batch: bool = False,
) -> None:
    """Send the objects of a list to another process, which calls :func:`recv_object_list`."""
    found = group_of("send_object_list", group)
    if found is None:
        return
    _refuse_device("send_object_list", device)
    if use_batch:
        raise ValueError("send_object_list: use_batch is for NCCL's first message; leave it out")
    error: Exception | None = None
    try:
        data = _bytes(list(object_list))
    except Exception as caught:  # the receiver waits for something
        error = caught
        data = np.frombuffer(f"{type(error).__name__}: {error}".encode(), np.uint8).copy()
    length = data.size if error is None else -data.size
    send(transportable(np.array([length], np.int64), found), dst, group, group_dst=group_dst)
    send(transportable(data, found), dst, group, group_dst=group_dst)
    if error is not None:
        raise error


def recv_object_list(
    object_list: list,
    src: int | None = None,
    group: ProcessGroup | None = None,
    device: Any = None,
    group_src: int | None = None,
    use_batch: bool = False,
) -> int:
    """Receive the objects of :func:`send_object_list` into a list of the same length; returns the sender's rank."""
    found = group_of("recv_object_list", group)
    if found is None:
        return -1
    _refuse_device("recv_object_list", device)
    if use_batch:
        raise ValueError("recv_object_list: use_batch is for NCCL's first message; leave it out")
    length = transportable(np.zeros(1, np.int64), found)
    source = recv(length, src, group, group_src=group_src)
    size = int(on_host(length)[0])
    came = transportable(np.zeros(abs(size), np.uint8), found)
    recv(came, source, group)
    if size < 0:
        text = on_host(came).tobytes().decode()
        raise DistBackendError(f"send_object_list failed on rank {source}, and so recv_object_list here: {text}")
    values = _value(on_host(came))
    _check_list("recv_object_list", "object_list", object_list, len(values))
    object_list[:] = values
    return source


def _refuse_device(name: str, device: Any) -> None:
    if device is not None:
        raise ValueError(f"{name}: objects go where the backend takes them from; leave device out, got {device!r}")


def _check_list(name: str, argument: str, value: Any, count: int) -> None:
    if not isinstance(value, list) or len(value) < count:
        raise ValueError(f"{name}: `{argument}` must be a list with a place for each of {count}, got {value!r}")
