"""Buckets: gradients of many parameters, averaged over all ranks during the backward.

A bucket holds the gradients of neighbouring parameters, last ones first, the order in which a backward computes them.
When all gradients of a bucket have arrived, its average is begun; buckets begin in the same order on all ranks,
whatever the order of the gradients.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from .._tensor.tensor import Tensor, wrap
from ..arrays import Absent, module_of
from ..autograd.engine import queue_callback
from . import collectives
from .groups import ProcessGroup
from .reduce_op import ReduceOp

__all__ = ["GradBucket", "Reducer", "broadcast_all"]


def _pieces(tensors: Sequence[Tensor], limit: int, first: int | None = None) -> list[list[Tensor]]:
    """Yield tensors in order, as lists of one dtype and device of at most ``limit`` bytes."""
    found: list[list[Tensor]] = []
    open_lists: dict[Any, tuple[list[Tensor], int]] = {}
    for tensor in tensors:
        array = tensor._array
        key = (array.dtype.name, type(array))
        piece, room = open_lists.get(key, (None, 0))
        if piece is None or array.nbytes > room:
            piece, room = [], first if first is not None and not found else limit
            found.append(piece)
        piece.append(tensor)
        open_lists[key] = (piece, room - array.nbytes)
    return found


def _flat(tensors: Sequence[Tensor]) -> Any:
    like = tensors[0]._array
    return module_of(like).zeros(sum(t._array.size for t in tensors), like.dtype)


def broadcast_all(tensors: Iterable[Tensor], group: ProcessGroup, root: int = 0) -> None:
    """Give every rank the values on ``root``, in about as many messages as there are dtypes."""
    for piece in _pieces(list(tensors), 64 << 20):
        flat = _flat(piece)
        start = 0
        for tensor in piece:
            flat[start : start + tensor._array.size] = tensor._array.reshape(-1)
            start += tensor._array.size
        collectives.broadcast(wrap(flat), group=group, group_src=root)
        if group.rank() != root:
            start = 0
            for tensor in piece:
                tensor.detach().copy_(wrap(flat[start : start + tensor._array.size].reshape(tensor._array.shape)))
                start += tensor._array.size


class GradBucket:
    """The argument of a communication hook: gradients that are averaged together."""

    def __init__(self, bucket: Bucket, index: int, last: bool) -> None:
        self._bucket, self._index, self._last = bucket, index, last
        self._buffer = wrap(bucket.flat)

    def index(self) -> int:
        """Return the index of the bucket in the module."""
        return self._index

    def is_last(self) -> bool:
        """Return whether it is the last one of a backward."""
        return self._last

    def buffer(self) -> Tensor:
        """Return the gradients, concatenated."""
        return self._buffer

    def set_buffer(self, buffer: Tensor) -> None:
        """Replace the gradients by another tensor of the same length."""
        if tuple(buffer.shape) != tuple(self._buffer.shape):
            raise ValueError(f"set_buffer: the buffer has shape {list(self._buffer.shape)}, got {list(buffer.shape)}")
        self._buffer = buffer

    def gradients(self) -> list[Tensor]:
        """Return the gradients, each with its shape."""
        shapes = [p._array.shape for p in self._bucket.parameters]
        return [self._buffer[k].reshape(shape) for k, shape in zip(self._bucket.slices, shapes, strict=True)]

    def parameters(self) -> list[Tensor]:
        """Return the parameters of these gradients."""
        return list(self._bucket.parameters)


class Bucket:
    """The gradients of some parameters, concatenated in one array."""

    __slots__ = ("parameters", "flat", "slices", "missing", "used", "work")

    def __init__(self, parameters: list[Tensor]) -> None:
        self.parameters = parameters
        self.flat = _flat(parameters)
        self.slices: list[slice] = []
        start = 0
        for parameter in parameters:
            self.slices.append(slice(start, start + parameter._array.size))
            start += parameter._array.size
        self.reset()

    def reset(self) -> None:
        self.missing = len(self.parameters)
        self.used = [False] * len(self.parameters)
        self.work: Any = None

    def begin(self, group: ProcessGroup, hook: Callable | None) -> None:
        """Collect the gradients, and begin their average."""
        for parameter, place in zip(self.parameters, self.slices, strict=True):
            grad = parameter._grad
            if grad is None:
                self.flat[place] = 0
                continue
            if isinstance(grad._array, Absent):
                raise NotImplementedError(
                    "DistributedDataParallel: a parameter has a sparse gradient, which is not averaged; make it a dense"
                    " one (sparse=False)"
                )
            here = self.flat[place]
            if not _same_memory(grad._array, here):
                here[...] = grad._array.reshape(-1)
        self.average(group, hook)

    def average(self, group: ProcessGroup, hook: Callable | None) -> None:
        """Begin the average of the collected gradients, or call the hook instead."""
        if hook is None:
            self.work = collectives.all_reduce(wrap(self.flat), ReduceOp.AVG, group, async_op=True)
        else:
            self.work = hook()

    def finish(self, used_anywhere: list[bool], as_views: bool, scale: float = 1.0) -> None:
        """Give the parameters their averages; one that no rank has used keeps its gradient."""
        found = self.work.wait()
        if isinstance(found, Tensor):  # of a hook
            self.flat[...] = found._array.reshape(-1)
        if scale != 1:
            self.flat *= scale
        for parameter, place, used in zip(self.parameters, self.slices, used_anywhere, strict=True):
            if not used:
                continue
            values = self.flat[place].reshape(parameter._array.shape)
            grad = parameter._grad
            if as_views:
                if grad is None or not _same_memory(grad._array, values):
                    parameter._grad = wrap(values)
            elif grad is None:
                parameter._grad = wrap(values.copy())
            else:
                grad.detach().copy_(wrap(values))


def _same_memory(a: Any, b: Any) -> bool:
    return a is b or (
        hasattr(a, "__array_interface__")
        and hasattr(b, "__array_interface__")
        and a.__array_interface__["data"] == b.__array_interface__["data"]
    )


class Reducer:
    """Averages the gradients of ``parameters`` over a group, backward after backward."""

    def __init__(
        self, parameters: Sequence[Tensor], group: ProcessGroup, limit: int, as_views: bool, names: dict[int, str]
    ) -> None:
        self.group = group
        self.as_views = as_views
        self.names = names
        self.active = True  # False in no_sync()
        # A factor of averages, for parameters of which only some ranks have gradients that count.
        self.scale = 1.0
        self.hook: tuple[Any, Callable] | None = None  # a state, and what is done with buckets instead of averaging
        self.buckets = [Bucket(piece) for piece in _pieces(list(reversed(parameters)), limit, min(limit, 1 << 20))]
        self._next = 0  # the bucket to begin
        self._expecting = False  # between a forward and the end of its backward
        self._looks = False  # whether unused parameters are possible
        self._queued = False
        for bucket in self.buckets:
            for k, parameter in enumerate(bucket.parameters):
                parameter.register_post_accumulate_grad_hook(lambda _, bucket=bucket, k=k: self._arrived(bucket, k))

    def prepare(self, unused: set[int] | None) -> None:
        """Begin a step: ``unused`` are the ids of the parameters that this rank's result does not depend on."""
        if self._expecting and self._begun():
            raise RuntimeError(
                "Expected to have finished reduction in the prior iteration before starting a new one: these parameters"
                f" got no gradient on rank {self.group.rank()}: {', '.join(self._waiting())}. Pass"
                " find_unused_parameters=True, or use all of them in what forward returns"
            )
        for bucket in self.buckets:
            bucket.reset()
        self._next, self._expecting, self._looks, self._queued = 0, True, unused is not None, False
        for bucket in self.buckets:
            bucket.missing -= sum(id(p) in (unused or ()) for p in bucket.parameters)

    def _hook_of(self, place: int) -> Callable | None:
        if self.hook is None:
            return None
        state, hook = self.hook
        bucket = GradBucket(self.buckets[place], place, place == len(self.buckets) - 1)

        def begin() -> Any:
            found = hook(state, bucket)
            if not hasattr(found, "wait"):
                raise RuntimeError(f"a DDP communication hook must return a Future, got {type(found).__name__}")
            return found

        return begin

    def shadow(self, looking: bool) -> None:
        """Take part in the averages of a backward that this rank does not run, with zeros."""
        for place, bucket in enumerate(self.buckets):
            bucket.flat[...] = 0
            bucket.average(self.group, self._hook_of(place))
            bucket.work.wait()
        if looking:
            flags = wrap(module_of(self.buckets[0].flat).zeros(sum(len(b.used) for b in self.buckets), bool))
            collectives.all_reduce(flags, ReduceOp.MAX, self.group)

    def _begun(self) -> bool:
        return any(any(bucket.used) for bucket in self.buckets)

    def _waiting(self) -> list[str]:
        return [
            self.names.get(id(p), "?")
            for bucket in self.buckets
            for p, used in zip(bucket.parameters, bucket.used, strict=True)
            if not used
        ]

    def _arrived(self, bucket: Bucket, k: int) -> None:
        if not self.active or not self._expecting:
            return
        if bucket.used[k]:
            raise RuntimeError(
                f"DistributedDataParallel: parameter {self.names.get(id(bucket.parameters[k]), '?')} is marked as ready"
                " twice: its gradient came in two backwards of one forward; run forward once for each backward, or use"
                " no_sync() for all but the last"
            )
        bucket.used[k] = True
        bucket.missing -= 1
        if not self._queued:
            self._queued = True
            queue_callback(self._finish)
        self._begin_ready()

    def _begin_ready(self) -> None:
        while self._next < len(self.buckets) and self.buckets[self._next].missing == 0:
            self.buckets[self._next].begin(self.group, self._hook_of(self._next))
            self._next += 1
        if self._next and self.hook is None:
            self.buckets[self._next - 1].work.is_completed()  # MPI goes on while it is asked

    def _finish(self) -> None:
        """At the end of a backward, wait for all averages, if all gradients have arrived."""
        if self._next < len(self.buckets):
            return  # prepare() says who is missing
        self._expecting = False
        used = [flag for bucket in self.buckets for flag in bucket.used]
        if self._looks:
            flags = wrap(module_of(self.buckets[0].flat).asarray(used))
            collectives.all_reduce(flags, ReduceOp.MAX, self.group)
            used = flags.tolist()
        start = 0
        for bucket in self.buckets:
            bucket.finish(used[start : start + len(bucket.used)], self.as_views, self.scale)
            start += len(bucket.used)
