"""``DistributedDataParallel``: a copy of a module in each process, each with its part of the batch; gradients are
averaged during the backward.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from ... import pytree
from ..._tensor.tensor import Tensor, wrap
from ...distributed import collectives, objects
from ...distributed.agreement import together
from ...distributed.algorithms.join import Join, Joinable, JoinHook
from ...distributed.groups import default_group, member
from ...distributed.reduce_op import ReduceOp
from ...distributed.reducer import Reducer, broadcast_all
from ...modes import current
from ..modules import Module

__all__ = ["DistributedDataParallel"]


class DistributedDataParallel(Module, Joinable):
    """A module whose gradients are the averages over all ranks: those of one process with the whole batch.

    Parameters
    ----------
    module : Module
        The module; rank 0's parameters and buffers go to all ranks.
    broadcast_buffers : bool, optional
        Whether rank 0's buffers go to all ranks before each forward; yes by default.
    init_sync : bool
        Whether to send parameters now, and to check that all ranks have the same ones.
    process_group : ProcessGroup, optional
        The ranks; all by default.
    bucket_cap_mb : int, optional
        How many megabytes of gradients are averaged at a time; 25 by default.
    find_unused_parameters : bool
        Whether to look, after each forward, for parameters that the result does not depend on. Without it, such a
        parameter is an error at the next forward.
    gradient_as_bucket_view : bool
        Whether gradients are views of the memory in which they are averaged: less is copied.
    static_graph : bool
        Whether the same parameters are used in each step; they are looked for in each.
    device_ids, output_device, dim
        For a module on one GPU: the defaults are the ones that are right.

    Examples
    --------
    >>> import dualtape as dt
    >>> import dualtape.distributed as dist
    >>> dist.init_process_group()
    >>> model = dt.nn.parallel.DistributedDataParallel(dt.nn.Linear(3, 1))
    >>> model(dt.ones(2, 3)).mean().backward()
    >>> model.module.weight.grad
    tensor([[1., 1., 1.]])
    >>> dist.destroy_process_group()
    """

    def __init__(
        self,
        module: Module,
        device_ids: Any = None,
        output_device: Any = None,
        dim: int = 0,
        broadcast_buffers: bool | None = None,
        init_sync: bool = True,
        process_group: Any = None,
        bucket_cap_mb: float | None = None,
        find_unused_parameters: bool = False,
        check_reduction: bool = False,
        gradient_as_bucket_view: bool = False,
        static_graph: bool = False,
    ) -> None:
        super().__init__()
        Joinable.__init__(self)
        group = default_group() if process_group is None else member(process_group)
        if group is None:
            raise ValueError("DistributedDataParallel: this rank is not in process_group")
        ignored = getattr(module, "_ddp_params_and_buffers_to_ignore", ())

        def prepared() -> list[tuple[str, Tensor]]:
            _check_arguments(check_reduction, device_ids, output_device, dim)
            named: list[tuple[str, Tensor]] = [
                (n, p) for n, p in module.named_parameters() if p.requires_grad and n not in ignored
            ]
            if not named:
                raise RuntimeError(
                    "DistributedDataParallel is not needed when a module doesn't have any parameters that require a"
                    " gradient"
                )
            return named

        named = together(group, "DistributedDataParallel", prepared) if init_sync else prepared()
        self.module = module
        self.process_group = group
        self.broadcast_buffers = True if broadcast_buffers is None else broadcast_buffers
        self.find_unused_parameters = find_unused_parameters
        self.gradient_as_bucket_view = gradient_as_bucket_view
        self.static_graph = static_graph
        self.require_backward_grad_sync = True
        self._buffers_to_send = [b for n, b in module.named_buffers() if n not in ignored]
        if init_sync:
            _check_same_everywhere(named, group)
            everything = [p.detach() for n, p in module.named_parameters() if n not in ignored]
            broadcast_all([*everything, *self._buffers_to_send], group)
        cap = 25.0 if bucket_cap_mb is None else bucket_cap_mb
        self._parameters_in_order: list[Tensor] = [p for _, p in named]
        names = {id(p): n for n, p in named}
        made = lambda: Reducer(self._parameters_in_order, group, int(cap * (1 << 20)), gradient_as_bucket_view, names)
        self.reducer = together(group, "DistributedDataParallel", made) if init_sync else made()

    def forward(self, *inputs: Any, **kwargs: Any) -> Any:
        """The module's result; its backward averages gradients over all ranks."""
        syncing = current().grad and self.require_backward_grad_sync
        root = 0
        if self._join_config.enable:
            Join.notify_join_context(self)
            root = self._agreed(True, self.require_backward_grad_sync, syncing)[2]
        if self.broadcast_buffers and self._buffers_to_send and self.require_backward_grad_sync:
            broadcast_all(self._buffers_to_send, self.process_group, root)
        output = self.module(*inputs, **kwargs)
        if syncing:
            looking = self.find_unused_parameters or self.static_graph
            self.reducer.prepare(_unused(output, self._parameters_in_order) if looking else None)
        return output

    @contextmanager
    def no_sync(self) -> Iterator[None]:
        """Context in which gradients are accumulated on each rank; the first backward after it averages them.

        Examples
        --------
        >>> import dualtape as dt
        >>> import dualtape.distributed as dist
        >>> dist.init_process_group()
        >>> model = dt.nn.parallel.DistributedDataParallel(dt.nn.Linear(1, 1, bias=False))
        >>> with model.no_sync():
        ...     model(dt.ones(1, 1)).sum().backward()
        >>> model(dt.ones(1, 1)).sum().backward()
        >>> model.module.weight.grad
        tensor([[2.]])
        >>> dist.destroy_process_group()
        """
        before = self.require_backward_grad_sync
        self.require_backward_grad_sync = self.reducer.active = False
        try:
            yield
        finally:
            self.require_backward_grad_sync = self.reducer.active = before

    def register_comm_hook(self, state: object, hook: Callable) -> None:
        """Replace the averaging of gradients by a communication hook.

        Parameters
        ----------
        state : object
            Goes to the hook.
        hook : callable
            ``hook(state, bucket)`` gets a ``GradBucket`` and returns a future of a tensor of its length: what the
            gradients are to be. All ranks register the same.

        Examples
        --------
        >>> import dualtape as dt
        >>> import dualtape.distributed as dist
        >>> from dualtape.distributed.algorithms.ddp_comm_hooks.default_hooks import fp16_compress_hook
        >>> dist.init_process_group()
        >>> model = dt.nn.parallel.DistributedDataParallel(dt.nn.Linear(1, 1))
        >>> model.register_comm_hook(None, fp16_compress_hook)
        >>> model(dt.ones(1, 1)).sum().backward()
        >>> model.module.weight.grad
        tensor([[1.]])
        >>> dist.destroy_process_group()
        """
        if not callable(hook):
            raise TypeError(f"Communication hook must be callable, got {type(hook).__name__}")
        if self.reducer.hook is not None:
            raise RuntimeError("register_comm_hook can only be called once")
        self.reducer.hook = (state, hook)

    # --- uneven inputs ----------------------------------------------------------------------------

    def join(
        self, divide_by_initial_world_size: bool = True, enable: bool = True, throw_on_early_termination: bool = False
    ) -> Join:
        """Context in which ranks may have different numbers of batches: ranks that are done contribute nothing to the
        averages of the others.

        Parameters
        ----------
        divide_by_initial_world_size : bool
            Whether a sum is divided by the number of all ranks; otherwise by the number of those that are not done.
        enable : bool
            Whether to do so at all.
        throw_on_early_termination : bool
            Whether all ranks raise as soon as one is done.
        """
        return Join(
            [self], enable, throw_on_early_termination, divide_by_initial_world_size=divide_by_initial_world_size
        )

    def join_hook(self, **kwargs: Any) -> JoinHook:
        """Return what a rank does after its last batch."""
        return _Shadow(self, bool(kwargs.get("divide_by_initial_world_size", True)))

    @property
    def join_device(self) -> Any:
        """The device of the parameters."""
        return self._parameters_in_order[0].device

    @property
    def join_process_group(self) -> Any:
        """The process group."""
        return self.process_group

    def _agreed(self, active: bool, sending: bool, syncing: bool) -> tuple[bool, bool, int]:
        """Return whether the ranks that are not done send buffers, and average gradients; and the first of them."""
        group = self.process_group
        said = np.zeros(2 + group.size())
        if active:
            said[:2], said[2 + group.rank()] = (sending, syncing), 1
        collectives.all_reduce(wrap(said), ReduceOp.SUM, group)
        self.reducer.scale = 1.0 if self._join_config.divides else group.size() / said[2:].sum()
        return bool(said[0]), bool(said[1]), int(np.argmax(said[2:]))

    def train(self, mode: bool = True) -> DistributedDataParallel:
        """Set training or evaluation mode, on the wrapped module as well."""
        super().train(mode)
        return self


class _Shadow(JoinHook):
    """The actions of a rank without further batches, which follows the others."""

    def __init__(self, ddp: DistributedDataParallel, divides: bool) -> None:
        self.ddp = ddp
        ddp._join_config.divides = divides

    def main_hook(self) -> None:
        ddp = self.ddp
        sending, syncing, root = ddp._agreed(False, False, False)
        if ddp.broadcast_buffers and ddp._buffers_to_send and sending:
            broadcast_all(ddp._buffers_to_send, ddp.process_group, root)
        if syncing:
            ddp.reducer.shadow(ddp.find_unused_parameters or ddp.static_graph)

    def post_hook(self, is_last_joiner: bool) -> None:
        """Give all ranks the parameters of one that was among the last."""
        group = self.ddp.process_group
        last: list = [None] * group.size()
        objects.all_gather_object(last, is_last_joiner, group)
        root = last.index(True)
        broadcast_all([p.detach() for p in self.ddp._parameters_in_order], group, root)
        broadcast_all(self.ddp._buffers_to_send, group, root)


def _check_arguments(check_reduction: bool, device_ids: Any, output_device: Any, dim: int) -> None:
    if check_reduction:
        raise ValueError("DistributedDataParallel: check_reduction has no meaning any more; leave it out")
    if device_ids is not None and len(device_ids) != 1 or dim != 0:
        raise ValueError(
            "DistributedDataParallel: a process has one device, and the batch is along dimension 0: leave"
            f" device_ids and dim out, got {device_ids} and {dim}"
        )
    if output_device is not None and (device_ids is None or output_device != device_ids[0]):
        raise ValueError("DistributedDataParallel: the result is on the module's device; leave output_device out")


def _check_same_everywhere(named: list, group: Any) -> None:
    mine: list = [(name, tuple(p.shape), str(p.dtype)) for name, p in named]
    found: list = [None] * group.size()
    objects.all_gather_object(found, mine, group)
    for rank, theirs in zip(group.ranks, found, strict=True):
        if theirs != mine:
            different = [a for a, b in zip(mine, theirs, strict=False) if a != b][:1] or [f"{len(mine)} parameters"]
            others = [b for a, b in zip(mine, theirs, strict=False) if a != b][:1] or [f"{len(theirs)} parameters"]
            raise RuntimeError(
                f"DistributedDataParallel expects the same model on every rank: rank {group.ranks[group.rank()]} has"
                f" {different[0]}, rank {rank} has {others[0]}"
            )


def _unused(output: Any, parameters: list[Tensor]) -> set[int]:
    """Return the ids of the parameters that no tensor in ``output`` depends on."""
    todo = [t.grad_fn for t in pytree.tree_leaves(output) if isinstance(t, Tensor) and t.grad_fn is not None]
    seen = set(map(id, todo))
    while todo:
        for edge in todo.pop()._edges:
            if edge is not None and id(edge[0]) not in seen:
                seen.add(id(edge[0]))
                todo.append(edge[0])
    leaves = {id(t) for t in pytree.tree_leaves(output) if isinstance(t, Tensor)}
    return {id(p) for p in parameters if id(p) not in leaves and id(p._grad_accumulator) not in seen}
