"""The collectives: all ranks of a group call one, each with its tensors, and receive the result.

Each checks its arguments, passes memory to the group's transport, and waits; or, with ``async_op=True``, returns a
:class:`Work` that can be waited for. Tensors that are not contiguous are sent as copies and written back.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from datetime import timedelta
from typing import Any

import numpy as np

from .._tensor.tensor import Tensor
from . import detail
from .buffers import check_tensor, check_tensors, count_write, memory, pack, room, unpack, write_back
from .failure import DistBackendError, wait_for
from .groups import ProcessGroup, get_group_rank, member
from .headers import Checked
from .reduce_op import RedOpType, ReduceOp, kind_of
from .work import Work

__all__ = [
    "all_gather",
    "all_gather_into_tensor",
    "all_gather_single",
    "all_reduce",
    "all_to_all",
    "all_to_all_single",
    "barrier",
    "broadcast",
    "gather",
    "monitored_barrier",
    "reduce",
    "reduce_scatter",
    "reduce_scatter_single",
    "reduce_scatter_tensor",
    "scatter",
]


def group_of(name: str, group: Any) -> ProcessGroup | None:
    """Return the group, or None if this process is not in it; raise if it cannot be used."""
    found = member(group)
    if found is None:
        warnings.warn(
            f"Running {name} on a rank that does not belong to the given group: nothing is done",
            UserWarning,
            stacklevel=3,
        )
    else:
        found.check_usable(name)
    return found


def peer(name: str, argument: str, group: ProcessGroup, rank: Any, group_rank: Any, default: int | None = None) -> int:
    """Return the group rank of another process, given by its rank in the world or in the group."""
    if rank is not None and group_rank is not None:
        raise ValueError(f"{name}: Can't specify both group_{argument} and {argument}")
    if group_rank is not None:
        if not 0 <= group_rank < group.size():
            raise ValueError(f"{name}: group_{argument} must be from 0 to {group.size() - 1}, got {group_rank}")
        return group_rank
    if rank is None and default is None:
        raise ValueError(f"{name}: Must specify {argument} or group_{argument}")
    try:
        return get_group_rank(group, int(default if rank is None else rank))  # type: ignore[arg-type]
    except ValueError as error:
        raise ValueError(f"{name}: invalid {argument}: {error}") from None


def start(
    name: str,
    group: ProcessGroup,
    begin: Callable[[], Any],
    written: Sequence[Tensor],
    finish: Callable[[], None] | None,
    buffers: Any,
    async_op: bool,
    said: dict[str, Any] | None = None,
    exchanged: tuple[list[int], list[int]] | None = None,
) -> Work | None:
    """Begin a transport's operation; wait for it unless ``async_op``.

    What all ranks must have ``said`` is compared first, and the counts ``exchanged`` (sent, expected); None for what
    needs no comparison.
    """
    if said is not None and group.size() > 1 and group.checks != "off":
        if group.checks == "detail":
            detail.check_same(group, name, said)
        else:
            work = Work(name, None, group, finish, list(written), buffers)

            def checked() -> Any:
                count_write(written)
                return begin()

            work._request = Checked(group, name, said, checked, exchanged)
            if async_op:
                return work
            work.wait()
            return None
    count_write(written)
    try:
        request = begin()
    except Exception as error:
        if type(error).__module__.startswith("mpi4py"):
            raise DistBackendError(
                f"{name}: rank {group.rank()} of {group.size()}: {error}. Do all ranks give tensors of one"
                " shape and dtype?"
            ) from error
        raise
    work = Work(name, request, group, finish, list(written), buffers)
    if async_op:
        return work
    work.wait()
    return None


def _said(tensor: Tensor, **more: Any) -> dict[str, Any]:
    return {"shape": list(tensor.shape), "dtype": tensor._array.dtype.name, **more}


def _premultiplied(values: Any, own: Any, factor: Any) -> Any:
    """Return the values times ``factor``, in memory of their own."""
    if factor is None:
        return values
    factor = factor._array if isinstance(factor, Tensor) else factor
    return (values * np.asarray(factor).astype(values.dtype)).astype(values.dtype)


def _averaged(values: Any, kind: RedOpType, size: int) -> None:
    if kind is RedOpType.AVG:
        np.divide(values, size, out=values) if values.dtype.kind in "fc" else np.floor_divide(values, size, out=values)


def _summing(kind: RedOpType) -> RedOpType:
    return RedOpType.SUM if kind in (RedOpType.AVG, RedOpType.PREMUL_SUM) else kind


def all_reduce(
    tensor: Tensor, op: Any = ReduceOp.SUM, group: ProcessGroup | None = None, async_op: bool = False
) -> Work | None:
    """Reduce a tensor over all ranks, in place: each has the result.

    Parameters
    ----------
    tensor : Tensor
        The same shape and dtype on each rank.
    op : ReduceOp
        How; the sum by default.
    group : ProcessGroup, optional
        Whose; the world's by default.
    async_op : bool
        Whether to return at once, with a :class:`Work`.

    Examples
    --------
    >>> import dualtape as dt
    >>> import dualtape.distributed as dist
    >>> dist.init_process_group()
    >>> x = dt.ones(2)
    >>> dist.all_reduce(x)  # of one process
    >>> x
    tensor([1., 1.])
    >>> dist.destroy_process_group()
    """
    found = group_of("all_reduce", group)
    if found is None:
        return None
    array = check_tensor("all_reduce", "tensor", tensor)._array
    kind, factor = kind_of("all_reduce", op, array.dtype)
    values = memory(array, found.transport.on_host)
    values = _premultiplied(values, array, factor)

    def finish() -> None:
        _averaged(values, kind, found.size())
        write_back(array, values)

    return start(
        "all_reduce",
        found,
        lambda: found.transport.all_reduce(values, _summing(kind)),
        [tensor],
        finish,
        values,
        async_op,
        _said(tensor, op=kind),
    )


def reduce(
    tensor: Tensor,
    dst: int | None = None,
    op: Any = ReduceOp.SUM,
    group: ProcessGroup | None = None,
    async_op: bool = False,
    group_dst: int | None = None,
) -> Work | None:
    """Reduce a tensor over all ranks to the rank ``dst``, in place there; the others keep theirs."""
    found = group_of("reduce", group)
    if found is None:
        return None
    array = check_tensor("reduce", "tensor", tensor)._array
    root = peer("reduce", "dst", found, dst, group_dst)
    kind, factor = kind_of("reduce", op, array.dtype)
    values = memory(array, found.transport.on_host)
    values = _premultiplied(values, array, factor)
    here = found.rank() == root

    def finish() -> None:
        if here:
            _averaged(values, kind, found.size())
            write_back(array, values)

    return start(
        "reduce",
        found,
        lambda: found.transport.reduce(values, _summing(kind), root),
        [tensor] if here else [],
        finish,
        values,
        async_op,
        _said(tensor, op=kind, dst=root),
    )


def broadcast(
    tensor: Tensor,
    src: int | None = None,
    group: ProcessGroup | None = None,
    async_op: bool = False,
    group_src: int | None = None,
) -> Work | None:
    """Give every rank the values of the tensor on ``src``, in place."""
    found = group_of("broadcast", group)
    if found is None:
        return None
    array = check_tensor("broadcast", "tensor", tensor)._array
    root = peer("broadcast", "src", found, src, group_src)
    values = memory(array, found.transport.on_host)
    there = found.rank() != root
    return start(
        "broadcast",
        found,
        lambda: found.transport.broadcast(values, root),
        [tensor] if there else [],
        (lambda: write_back(array, values)) if there else None,
        values,
        async_op,
        _said(tensor, src=root),
    )


def _check_parts(name: str, argument: str, whole: Tensor, part_name: str, part: Tensor, size: int) -> None:
    if whole._array.dtype != part._array.dtype:
        raise TypeError(
            f"{name}: `{argument}` must have the dtype of `{part_name}`, {part.dtype!r}, got {whole.dtype!r}"
        )
    if whole._array.size != part._array.size * size:
        raise ValueError(
            f"{name}: `{argument}` must have {size} (one for each rank) times the elements of `{part_name}`, which has"
            f" shape {list(part.shape)}; got shape {list(whole.shape)}"
        )


def all_gather(
    tensor_list: Sequence[Tensor], tensor: Tensor, group: ProcessGroup | None = None, async_op: bool = False
) -> Work | None:
    """Give every rank the tensors of all: that of rank i is written to ``tensor_list[i]``."""
    found = group_of("all_gather", group)
    if found is None:
        return None
    array = check_tensor("all_gather", "tensor", tensor)._array
    outputs = check_tensors("all_gather", "tensor_list", tensor_list, found.size(), tensor)
    on_host = found.transport.on_host
    own, all_of_them = memory(array, on_host), room(outputs, on_host)
    return start(
        "all_gather",
        found,
        lambda: found.transport.all_gather(all_of_them, own),
        outputs,
        unpack(outputs, all_of_them),
        (own, all_of_them),
        async_op,
        _said(tensor),
    )


def all_gather_into_tensor(
    output_tensor: Tensor, input_tensor: Tensor, group: ProcessGroup | None = None, async_op: bool = False
) -> Work | None:
    """Give every rank the tensors of all, concatenated in ``output_tensor``."""
    name = "all_gather_into_tensor"
    found = group_of(name, group)
    if found is None:
        return None
    check_tensor(name, "output_tensor", output_tensor), check_tensor(name, "input_tensor", input_tensor)
    _check_parts(name, "output_tensor", output_tensor, "input_tensor", input_tensor, found.size())
    on_host = found.transport.on_host
    out, own = memory(output_tensor._array, on_host), memory(input_tensor._array, on_host)
    if np.may_share_memory(out, own) if isinstance(out, np.ndarray) else False:
        own = own.copy()
    return start(
        name,
        found,
        lambda: found.transport.all_gather(out, own),
        [output_tensor],
        lambda: write_back(output_tensor._array, out),
        (out, own),
        async_op,
        _said(input_tensor),
    )


all_gather_single = all_gather_into_tensor


def _reduce_parts(name: str, found: ProcessGroup, output: Tensor, values: Any, op: Any, async_op: bool) -> Work | None:
    kind, factor = kind_of(name, op, output._array.dtype)
    out = memory(output._array, found.transport.on_host)
    values = _premultiplied(values, None, factor)

    def finish() -> None:
        _averaged(out, kind, found.size())
        write_back(output._array, out)

    return start(
        name,
        found,
        lambda: found.transport.reduce_scatter(out, values, _summing(kind)),
        [output],
        finish,
        (out, values),
        async_op,
        _said(output, op=kind),
    )


def reduce_scatter(
    output: Tensor,
    input_list: Sequence[Tensor],
    op: Any = ReduceOp.SUM,
    group: ProcessGroup | None = None,
    async_op: bool = False,
) -> Work | None:
    """Reduce lists of tensors over all ranks: rank i gets the i-th result."""
    found = group_of("reduce_scatter", group)
    if found is None:
        return None
    check_tensor("reduce_scatter", "output", output)
    inputs = check_tensors("reduce_scatter", "input_list", input_list, found.size(), output)
    return _reduce_parts("reduce_scatter", found, output, pack(inputs, found.transport.on_host), op, async_op)


def reduce_scatter_tensor(
    output: Tensor, input: Tensor, op: Any = ReduceOp.SUM, group: ProcessGroup | None = None, async_op: bool = False
) -> Work | None:
    """Reduce a tensor over all ranks, split into a part for each: rank i gets the i-th part of the result."""
    found = group_of("reduce_scatter_tensor", group)
    if found is None:
        return None
    check_tensor("reduce_scatter_tensor", "output", output), check_tensor("reduce_scatter_tensor", "input", input)
    _check_parts("reduce_scatter_tensor", "input", input, "output", output, found.size())
    values = memory(input._array, found.transport.on_host)
    return _reduce_parts("reduce_scatter_tensor", found, output, values, op, async_op)


reduce_scatter_single = reduce_scatter_tensor


def all_to_all(
    output_tensor_list: Sequence[Tensor],
    input_tensor_list: Sequence[Tensor],
    group: ProcessGroup | None = None,
    async_op: bool = False,
) -> Work | None:
    """Send the i-th tensor to rank i, and get one from each."""
    found = group_of("all_to_all", group)
    if found is None:
        return None
    inputs = check_tensors("all_to_all", "input_tensor_list", input_tensor_list, found.size(), shapes=False)
    outputs = check_tensors(
        "all_to_all", "output_tensor_list", output_tensor_list, found.size(), inputs[0], shapes=False
    )
    on_host = found.transport.on_host
    own, came = pack(inputs, on_host), room(outputs, on_host)
    sent, received = [t._array.size for t in inputs], [t._array.size for t in outputs]
    return start(
        "all_to_all",
        found,
        lambda: found.transport.all_to_all(came, received, own, sent),
        outputs,
        unpack(outputs, came),
        (own, came),
        async_op,
        {"dtype": inputs[0]._array.dtype.name},
        (sent, received),
    )


def split_sizes(name: str, argument: str, tensor: Tensor, sizes: Any, count: int) -> list[int]:
    """Return the lengths of the parts along dimension 0; equal ones if none are given."""
    length = tensor.shape[0] if tensor.ndim else 1
    if not sizes:
        if length % count:
            raise ValueError(
                f"{name}: Tensor's dim 0 does not divide equally across group size: {length} by {count} ranks; give"
                f" {argument}_split_sizes"
            )
        return [length // count] * count
    if len(sizes) != count or sum(sizes) != length or min(sizes) < 0:
        raise RuntimeError(
            f"{name}: Split sizes doesn't match total dim 0 size: {argument}_split_sizes must be {count} numbers with"
            f" the sum {length}, got {list(sizes)}"
        )
    return [int(n) for n in sizes]


def all_to_all_single(
    output: Tensor,
    input: Tensor,
    output_split_sizes: Sequence[int] | None = None,
    input_split_sizes: Sequence[int] | None = None,
    group: ProcessGroup | None = None,
    async_op: bool = False,
) -> Work | None:
    """Split a tensor along dimension 0, send the i-th part to rank i, and receive one from each, concatenated."""
    name = "all_to_all_single"
    found = group_of(name, group)
    if found is None:
        return None
    check_tensor(name, "output", output), check_tensor(name, "input", input)
    if output._array.dtype != input._array.dtype:
        raise TypeError(f"{name}: `output` must have the dtype of `input`, {input.dtype!r}, got {output.dtype!r}")
    if output.shape[1:] != input.shape[1:]:
        raise ValueError(
            f"{name}: `output` must be as `input` but for dimension 0: {list(input.shape)}, got {list(output.shape)}"
        )
    row = input._array.size // max(input.shape[0] if input.ndim else 1, 1)
    row = row or output._array.size // max(output.shape[0] if output.ndim else 1, 1)
    sent = [n * row for n in split_sizes(name, "input", input, input_split_sizes, found.size())]
    received = [n * row for n in split_sizes(name, "output", output, output_split_sizes, found.size())]
    on_host = found.transport.on_host
    out, own = memory(output._array, on_host, fresh=output is input), memory(input._array, on_host)
    return start(
        name,
        found,
        lambda: found.transport.all_to_all(out, received, own, sent),
        [output],
        lambda: write_back(output._array, out),
        (out, own),
        async_op,
        {"dtype": input._array.dtype.name},
        (sent, received),
    )


def scatter(
    tensor: Tensor,
    scatter_list: Sequence[Tensor] | None = None,
    src: int | None = None,
    group: ProcessGroup | None = None,
    async_op: bool = False,
    group_src: int | None = None,
) -> Work | None:
    """Give rank i the i-th tensor of the list on ``src`` (rank 0 by default)."""
    found = group_of("scatter", group)
    if found is None:
        return None
    check_tensor("scatter", "tensor", tensor)
    root = peer("scatter", "src", found, src, group_src, found.ranks[0] if src is None else None)
    on_host = found.transport.on_host
    parts: Any = None
    if found.rank() == root:
        if not scatter_list:
            raise ValueError("scatter: Argument `scatter_list` must be specified on source rank")
        parts = pack(check_tensors("scatter", "scatter_list", scatter_list, found.size(), tensor), on_host)
    elif scatter_list:
        raise ValueError("scatter: Argument `scatter_list` must NOT be specified on non-source ranks")
    own = memory(tensor._array, on_host)
    return start(
        "scatter",
        found,
        lambda: found.transport.scatter(own, parts, root),
        [tensor],
        lambda: write_back(tensor._array, own),
        (own, parts),
        async_op,
        _said(tensor, src=root),
    )


def gather(
    tensor: Tensor,
    gather_list: Sequence[Tensor] | None = None,
    dst: int | None = None,
    group: ProcessGroup | None = None,
    async_op: bool = False,
    group_dst: int | None = None,
) -> Work | None:
    """Give ``dst`` (rank 0 by default) the tensors of all ranks, in its list."""
    found = group_of("gather", group)
    if found is None:
        return None
    check_tensor("gather", "tensor", tensor)
    root = peer("gather", "dst", found, dst, group_dst, found.ranks[0] if dst is None else None)
    on_host = found.transport.on_host
    outputs: list[Tensor] = []
    parts: Any = None
    if found.rank() == root:
        if not gather_list:
            raise ValueError("gather: Argument `gather_list` must be specified on destination rank")
        outputs = check_tensors("gather", "gather_list", gather_list, found.size(), tensor)
        parts = room(outputs, on_host)
    elif gather_list:
        raise ValueError("gather: Argument `gather_list` must NOT be specified on non-destination ranks")
    own = memory(tensor._array, on_host)
    return start(
        "gather",
        found,
        lambda: found.transport.gather(parts, own, root),
        outputs,
        unpack(outputs, parts),
        (own, parts),
        async_op,
        _said(tensor, dst=root),
    )


def barrier(
    group: ProcessGroup | None = None, async_op: bool = False, device_ids: Any = None, timeout: timedelta | None = None
) -> Work | None:
    """Wait until all ranks have called it."""
    found = group_of("barrier", group)
    if found is None:
        return None
    if device_ids is not None:
        raise RuntimeError(
            f"barrier: device_ids is for NCCL with several GPUs in a process; leave it out, got {device_ids}"
        )
    work = start("barrier", found, found.transport.barrier, [], None, None, True, {})
    assert work is not None
    if async_op:
        return work
    work.wait(timeout)
    return None


def monitored_barrier(
    group: ProcessGroup | None = None, timeout: timedelta | None = None, wait_all_ranks: bool = False
) -> None:
    """A barrier that names, on rank 0, the ranks that did not arrive in time.

    Parameters
    ----------
    group : ProcessGroup, optional
        Whose; the world's by default.
    timeout : timedelta, optional
        How long; that of the group by default.
    wait_all_ranks : bool
        Whether to name all that are missing, not the first.
    """
    name = "monitored_barrier"
    found = group_of(name, group)
    if found is None or found.size() == 1:
        return
    transport = getattr(found.transport, "below", found.transport)
    seconds = (timeout or found.timeout).total_seconds()
    token = np.zeros(1, np.uint8)
    if found.rank():
        requests = {0: transport.send(token, 0, _HERE)}
        _await(requests, seconds)
        requests[0] = transport.receive(token, 0, _GO)
        if _await(requests, seconds):
            raise found.break_off(f"{name}: rank 0 did not let go within {seconds:g} seconds", requests[0], token)
        return
    tokens = {k: np.zeros(1, np.uint8) for k in range(1, found.size())}
    requests = {k: transport.receive(tokens[k], k, _HERE) for k in tokens}
    missing = _await(requests, seconds)
    if missing:
        late = [found.ranks[k] for k in missing]
        named = f"ranks {late}" if wait_all_ranks else f"rank {late[0]}"
        raise found.break_off(
            f"{name}: {named} failed to come within {seconds:g} seconds", requests[missing[0]], tokens
        )
    requests = {k: transport.send(tokens[k], k, _GO) for k in tokens}
    _await(requests, seconds)


_HERE, _GO = 32001, 32002  # tags of its own


def _await(requests: dict[int, Any], seconds: float) -> list[int]:
    """Wait for all requests; return the keys of those that are not done after ``seconds``."""
    left = set(requests)

    def test() -> bool:
        left.difference_update([k for k in left if requests[k].Test()])
        return not left

    wait_for(test, seconds, lambda: None)
    return sorted(left)
