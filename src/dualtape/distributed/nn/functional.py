"""Collectives with derivatives: of any order, in both modes, under ``vmap``.

Each is a linear map on all ranks' values together, and its backward is the transposed one: another collective, which is
recorded where that is asked for. So all ranks of the group must run the backward, as they ran the forward: a result
must be part of what each of them differentiates.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy

from ..._tensor.tensor import Tensor
from ...modes import no_grad
from ...ops import FUNCTIONS
from .. import on_arrays
from ..buffers import check_tensors
from ..collectives import group_of, peer, split_sizes
from ..groups import ProcessGroup
from ..linear_ops import linear_op
from ..reduce_op import RedOpType, ReduceOp, kind_of

np: Any = numpy  # its stubs know nothing of other kinds of arrays

__all__ = [
    "all_gather",
    "all_reduce",
    "all_to_all",
    "all_to_all_single",
    "broadcast",
    "gather",
    "recv",
    "reduce",
    "reduce_scatter",
    "scatter",
    "send",
]

_BACK = 1 << 14  # added to the tag of a message in the backward


SUM = ReduceOp.SUM

_summed: Callable = linear_op(
    "all_reduce", lambda x, group: on_arrays.all_reduce(x, SUM, group), lambda g, group: _summed(g, group)
)
_gathered: Callable = linear_op(
    "all_gather", lambda x, group: on_arrays.all_gather(x, group), lambda g, group: _reduced_parts(g, group)
)
_reduced_parts: Callable = linear_op(
    "reduce_scatter", lambda x, group: on_arrays.reduce_scatter(x, SUM, group), lambda g, group: _gathered(g, group)
)
_spread: Callable = linear_op(
    "broadcast",
    lambda x, root, group: on_arrays.broadcast(x, root, group),
    lambda g, root, group: _collected(g, root, group),
)
_collected: Callable = linear_op(
    "reduce",
    lambda x, root, group: on_arrays.reduce(x, root, SUM, group),
    lambda g, root, group: _spread(g, root, group),
)
_gathered_at: Callable = linear_op(
    "gather", lambda x, root, group: on_arrays.gather(x, root, group), lambda g, root, group: _scattered(g, root, group)
)
_scattered: Callable = linear_op(
    "scatter",
    lambda x, root, group: on_arrays.scatter(x, root, group),
    lambda g, root, group: _gathered_at(g, root, group),
)
_exchanged: Callable = linear_op(
    "all_to_all",
    lambda x, received, sent, group: on_arrays.all_to_all(x, received, sent, group),
    lambda g, received, sent, group: _exchanged(g, sent, received, group),
)
_sent: Callable = linear_op(
    "send",
    lambda x, to, tag, group: on_arrays.send(x, to, tag, group),
    lambda g, x_shape, to, tag, group: _received(g + _zeros(x_shape, g), to, tag ^ _BACK, group),
)
_received: Callable = linear_op(
    "recv",
    lambda x, source, tag, group: on_arrays.receive(x, source, tag, group),
    lambda g, x_shape, source, tag, group: _sent(g, source, tag ^ _BACK, group) + _zeros(x_shape, g),
)


def _zeros(shape: tuple, like: Any) -> Any:
    return np.zeros(shape, getattr(like, "_array", like).dtype, like=like)


def _group(name: str, group: Any) -> ProcessGroup:
    found = group_of(name, group)
    if found is None:
        raise ValueError(f"{name}: this rank is not in the group, and has no result")
    return found


_tensors = partial(check_tensors, dense=False)  # also samples of a vmap


def _over_ranks(name: str, x: Tensor, op: Any) -> Tensor:
    """Return a reduction of stacked tensors, by an op that has derivatives."""
    reductions = {RedOpType.PRODUCT: "prod", RedOpType.MAX: "amax", RedOpType.MIN: "amin"}
    kind = kind_of(name, op, x._array.dtype)[0]
    if kind not in reductions:
        raise ValueError(f"{name}: {kind} has no derivative; use dualtape.distributed.{name}")
    return FUNCTIONS[reductions[kind]](x, 0)


def all_reduce(tensor: Tensor, op: Any = ReduceOp.SUM, group: ProcessGroup | None = None) -> Tensor:
    """Return the reduction of all ranks' tensors.

    Examples
    --------
    >>> import dualtape as dt
    >>> import dualtape.distributed as dist
    >>> from dualtape.distributed.nn import functional
    >>> dist.init_process_group()
    >>> x = dt.ones(2, requires_grad=True)
    >>> functional.all_reduce(x * 3).sum().backward()
    >>> x.grad
    tensor([3., 3.])
    >>> dist.destroy_process_group()
    """
    found = _group("all_reduce", group)
    if op == ReduceOp.SUM:
        return _summed(tensor, found)
    if op == ReduceOp.AVG:
        return _summed(tensor, found) / found.size()
    return _over_ranks("all_reduce", _gathered(tensor, found), op)


def all_gather(tensor: Tensor, group: ProcessGroup | None = None) -> tuple[Tensor, ...]:
    """All ranks' tensors."""
    return tuple(FUNCTIONS["unbind"](_gathered(tensor, _group("all_gather", group)), 0))


def reduce_scatter(
    output: Tensor, input_list: Sequence[Tensor], op: Any = ReduceOp.SUM, group: ProcessGroup | None = None
) -> Tensor:
    """Return the reduction of the i-th tensors of all ranks, on rank i; it is also written to ``output``."""
    found = _group("reduce_scatter", group)
    rows = FUNCTIONS["stack"](_tensors("reduce_scatter", "input_list", input_list, found.size(), output))
    if op in (ReduceOp.SUM, ReduceOp.AVG):
        result = _reduced_parts(rows, found)
        result = result / found.size() if op == ReduceOp.AVG else result
    else:
        size = found.size()
        result = _over_ranks("reduce_scatter", _exchanged(rows, (1,) * size, (1,) * size, found), op)
    with no_grad():
        output.copy_(result.detach())
    return result


def broadcast(tensor: Tensor, src: int, group: ProcessGroup | None = None) -> Tensor:
    """The tensor of ``src``, on all ranks."""
    found = _group("broadcast", group)
    return _spread(tensor, peer("broadcast", "src", found, src, None), found)


def reduce(tensor: Tensor, dst: int, op: Any = ReduceOp.SUM, group: ProcessGroup | None = None) -> Tensor:
    """Return the reduction of all ranks' tensors, on ``dst``; zeros on the others."""
    found = _group("reduce", group)
    root = peer("reduce", "dst", found, dst, None)
    if op == ReduceOp.SUM:
        return _collected(tensor, root, found)
    if op == ReduceOp.AVG:
        return _collected(tensor, root, found) / found.size()
    return _over_ranks("reduce", _gathered_at(tensor, root, found), op)


def gather(tensor: Tensor, dst: int = 0, group: ProcessGroup | None = None) -> tuple[Tensor, ...]:
    """All ranks' tensors, on ``dst``; zeros on the others."""
    found = _group("gather", group)
    return tuple(FUNCTIONS["unbind"](_gathered_at(tensor, peer("gather", "dst", found, dst, None), found), 0))


def scatter(tensors: Sequence[Tensor], src: int = 0, group: ProcessGroup | None = None) -> Tensor:
    """The i-th of the tensors of ``src``, on rank i. The others give tensors of the same shapes, which are not read."""
    found = _group("scatter", group)
    rows = FUNCTIONS["stack"](_tensors("scatter", "tensors", tensors, found.size()))
    return _scattered(rows, peer("scatter", "src", found, src, None), found)


def all_to_all_single(
    output: Tensor,
    input: Tensor,
    output_split_sizes: Sequence[int] | None = None,
    input_split_sizes: Sequence[int] | None = None,
    group: ProcessGroup | None = None,
) -> Tensor:
    """Send the i-th part of ``input`` along dimension 0 to rank i; return the received parts, which are also written to
    ``output``.
    """
    found = _group("all_to_all_single", group)
    sent = split_sizes("all_to_all_single", "input", input, input_split_sizes, found.size())
    received = split_sizes("all_to_all_single", "output", output, output_split_sizes, found.size())
    result = _exchanged(input, tuple(received), tuple(sent), found)
    with no_grad():
        output.copy_(result.detach())
    return result


def all_to_all(
    output_tensor_list: Sequence[Tensor], input_tensor_list: Sequence[Tensor], group: ProcessGroup | None = None
) -> tuple[Tensor, ...]:
    """Send the i-th of the tensors to rank i; return the received ones, which are also written to
    ``output_tensor_list``.
    """
    found = _group("all_to_all", group)
    inputs = _tensors("all_to_all", "input_tensor_list", input_tensor_list, found.size(), shapes=False)
    outputs = _tensors("all_to_all", "output_tensor_list", output_tensor_list, found.size(), inputs[0], shapes=False)
    flat = FUNCTIONS["cat"]([x.reshape(-1) for x in inputs])
    sizes = tuple([x.numel() for x in outputs])
    came = _exchanged(flat, sizes, tuple([x.numel() for x in inputs]), found)
    results = [part.reshape(out.shape) for part, out in zip(came.split(list(sizes)), outputs, strict=True)]
    with no_grad():
        for out, result in zip(outputs, results, strict=True):
            out.copy_(result.detach())
    return tuple(results)


def send(tensor: Tensor, dst: int, group: ProcessGroup | None = None, tag: int = 0) -> Tensor:
    """Send a tensor; return a zero that must be part of what is differentiated, so that its gradient is received."""
    found = _group("send", group)
    return _sent(tensor, peer("send", "dst", found, dst, None), tag, found)


def recv(tensor: Tensor, src: int, group: ProcessGroup | None = None, tag: int = 0) -> Tensor:
    """Return a tensor from ``src``, of the shape and dtype of ``tensor``; if that requires grad, the gradient is sent
    back.
    """
    found = _group("recv", group)
    return _received(tensor, peer("recv", "src", found, src, None), tag, found)
