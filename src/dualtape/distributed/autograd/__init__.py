"""A backward across processes: through tensors that were sent by calls (:mod:`dualtape.distributed.rpc`).

Inside a :class:`context` tensors are sent with their history. :func:`backward` first determines, on all processes at
once, which nodes it reaches; then each process runs its own part of the graph once, and waits for the gradients of the
tensors it had sent. Gradients of leaves stay in the context, on the process of the leaf.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from itertools import count
from typing import Any

import numpy as np

from ..._tensor.tensor import Tensor
from ...autograd import engine
from ...autograd.node import AccumulateGrad, Node, edge_of
from ...autograd.other_gradients import shown_gradient
from ..futures import Future
from ..rpc import agent as agents
from ..rpc import history
from ..rpc.history import Received, context_of

__all__ = ["backward", "context", "get_gradients", "is_available"]

_numbers = count(1)
_BITS = 40  # of a context's number, for those of one process


def is_available() -> bool:
    """Return whether backwards across processes are supported: always, at least in a world of one."""
    return True


class context:
    """Context in which calls send the history of tensors along; its number is passed to :func:`backward`.

    Examples
    --------
    >>> import dualtape as dt
    >>> import dualtape.distributed.autograd as dist_autograd
    >>> import dualtape.distributed.rpc as rpc
    >>> rpc.init_rpc("alone")
    >>> x = dt.ones(2, requires_grad=True)
    >>> with dist_autograd.context() as context_id:
    ...     y = rpc.rpc_sync("alone", dt.mul, args=(x, 3))
    ...     dist_autograd.backward(context_id, [y.sum()])
    ...     dist_autograd.get_gradients(context_id)[x]
    tensor([3., 3.])
    >>> rpc.shutdown()
    """

    def __enter__(self) -> int:
        if history.current_context.get() is not None:
            raise RuntimeError("Already have an autograd context id for this thread: contexts are not nested")
        self._number = agents.here().rank << _BITS | next(_numbers)
        context_of(self._number, make=True)
        history.current_context.set(self._number)
        return self._number

    def __exit__(self, *exc: object) -> None:
        history.current_context.set(None)
        _release(self._number)


def _release(number: int) -> None:
    """Remove a context here, and on the workers that it was sent to."""
    found = history.forget(number)
    if found is not None and agents._agent is not None:
        for worker in found.workers - {agents._agent.rank}:
            agents._agent.later(worker, _release, (number,))


def get_gradients(context_id: int) -> dict[Tensor, Tensor]:
    """Return the gradients of the leaves of this process, by leaf."""
    found = context_of(context_id)
    with found.lock:
        return {leaf: shown_gradient(grad) for leaf, grad in found.grads.values()}


class _BrokenOff(RuntimeError):
    """Raised when a backward has failed on another process."""


class _Pass:
    """The part of this process in one backward."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.roots: list[tuple[Any, Any]] = []  # pairs of edge and gradient
        self.nodes: dict[Node, None] = {}  # that it comes to
        self.leaves: dict[Node, Tensor] = {}


def backward(context_id: int, roots: Sequence[Tensor], retain_graph: bool = False) -> None:
    """Run the backward of ``roots`` across all processes that their history leads to.

    Parameters
    ----------
    context_id : int
        Of the :class:`context` that they were computed in; it has the gradients afterwards (:func:`get_gradients`).
    roots : sequence of Tensor
        Losses of this process, of one element each.
    retain_graph : bool
        Whether to keep what was saved, for another backward.
    """
    found = context_of(context_id)
    if not roots:
        raise RuntimeError("No tensors provided for gradient computation.")
    for root in roots:
        if not isinstance(root, Tensor) or not root.requires_grad:
            raise RuntimeError("requires_grad not set on root: each of the roots must be a tensor that requires grad")
        if root.numel() != 1:
            raise RuntimeError(f"a root of shape {list(root.shape)} is not a scalar, all roots need to be scalar")
    agent = agents.here()
    number = (agent.rank, next(_numbers))
    starts = [(edge_of(root), np.ones(root.shape, root._array.dtype)) for root in roots]
    part = found.passes[number] = _Pass()
    part.roots += starts
    involved = {agent.rank}
    try:
        involved |= _mark(context_id, number, None)
        others = [agent.call(w, _run, (context_id, number, retain_graph), {}, 0) for w in involved if w != agent.rank]
        for call in others:
            call.add_done_callback(lambda f: _failed(f, context_id, number, involved))
        errors: list[Exception] = []
        for step in (lambda: _run(context_id, number, retain_graph), *[call.wait for call in others]):
            try:
                step()
            except Exception as error:
                errors.append(error)
                _break_off(context_id, number, involved, error)
        if errors:
            raise next((e for e in errors if not isinstance(e, _BrokenOff)), errors[0])
    finally:
        found.passes.pop(number, None)


def _failed(future: Future, context_id: int, number: tuple, involved: set[int]) -> None:
    """Report a failed worker to all others, so that none waits for its gradients."""
    try:
        future.value()
    except Exception as error:
        _break_off(context_id, number, involved, error)


def _break_off(context_id: int, number: tuple, involved: set[int], error: Exception) -> None:
    agent = agents._agent
    for worker in involved:
        if agent is not None:
            agent.later(worker, _give_up, (context_id, number, str(error)))


def _give_up(context_id: int, number: tuple, why: str) -> None:
    """End a backward that waits for gradients which will not arrive."""
    for sent in list(context_of(context_id, make=True).sent.values()):
        sent.gradients_of(number)._finish(None, _BrokenOff(f"a backward across processes failed: {why}"))


def _mark(context_id: int, number: tuple, messages: list[tuple] | None) -> set[int]:
    """Determine the nodes that a backward reaches, from its roots here or from the tensors of some messages, and on
    other workers; return those workers.
    """
    found, agent = context_of(context_id), agents.here()
    with found.lock:
        part = found.passes.setdefault(number, _Pass())
        if messages is None:
            stack = [edge for edge, _ in part.roots]
        else:
            stack = []
            for message in messages:
                sent = found.sent[message]
                if sent not in part.nodes:
                    part.roots.append(((sent, 0), np.empty(0)))
                    stack.append((sent, 0))
        ahead: dict[int, list[tuple]] = {}
        while stack:
            edge = stack.pop()
            node = edge[0]
            if node in part.nodes:
                continue
            part.nodes[node] = None
            if type(node) is AccumulateGrad:
                part.leaves[node] = node.variable
            elif type(node) is Received:
                if node._context != context_id:
                    raise RuntimeError("a tensor came from another process in another context: compute it in this one")
                ahead.setdefault(node._message[0], []).append(node._message)
            stack += [each for each in node._edges if each is not None]
    involved = {agent.rank}
    calls = [agent.call(w, _mark, (context_id, number, found), {}, agent.timeout) for w, found in ahead.items()]
    for call in calls:
        involved |= call.wait()
    return involved


def _run(context_id: int, number: tuple, retain_graph: bool) -> None:
    """Run the part of this process."""
    found = context_of(context_id)
    part = found.passes[number]
    task = engine.GraphTask(False, retain_graph)
    task.captures = {node: {0: [k]} for k, node in enumerate(part.leaves)}
    task.results = [None] * len(part.leaves)
    token = history.running_pass.set(number)
    try:
        engine.run(part.roots, task)
    finally:
        history.running_pass.reset(token)
        if agents.here().rank != number[0]:
            found.passes.pop(number, None)
    for leaf, grad in zip(part.leaves.values(), task.results, strict=True):
        if grad is not None:
            found.add(leaf, grad)
