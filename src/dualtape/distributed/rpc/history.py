"""The history of tensors that were sent between processes: contexts, and the nodes at both ends of a message.

The sender of tensors that require grad records a :class:`Sent` node, which leads to theirs; the receiver's tensors come
from a :class:`Received` node. In a backward the former waits for the gradients that the latter sends. Each process
numbers its nodes in order of time, and its backward runs the youngest first: when it waits for a gradient, it has run
everything that the gradient could depend on. So there is no circular wait.
"""

from __future__ import annotations

import threading
from contextvars import ContextVar
from itertools import count
from typing import Any

import numpy as np

from ..._tensor.tensor import Tensor, wrap
from ...arrays import as_array
from ...autograd.node import Edge, Node, edge_of, next_sequence
from ..futures import Future

__all__ = ["Context", "Received", "Sent", "context_of", "current_context"]

current_context: ContextVar[int | None] = ContextVar("context of a backward across processes", default=None)

_contexts: dict[int, Context] = {}
_lock = threading.Lock()


class Context:
    """The part of one ``autograd.context()`` on this process."""

    def __init__(self, number: int) -> None:
        self.number = number
        self.lock = threading.Lock()
        self.sent: dict[tuple, Sent] = {}  # by message
        self.workers: set[int] = set()  # those that tensors went to, or came from
        self.passes: dict[Any, Any] = {}  # backwards under way
        self.grads: dict[int, tuple[Tensor, Any]] = {}  # of leaves, by id

    def add(self, leaf: Tensor, grad: Any) -> None:
        """Add to the gradient of a leaf."""
        with self.lock:
            held = self.grads.get(id(leaf))
            self.grads[id(leaf)] = (leaf, grad if held is None else held[1] + grad)


def context_of(number: int, make: bool = False) -> Context:
    """Return the context of that number; with ``make`` it is created if necessary."""
    with _lock:
        found = _contexts.get(number)
        if found is None:
            if not make:
                raise RuntimeError(f"Could not find autograd context with id: {number}; it has ended, or never began")
            found = _contexts[number] = Context(number)
        return found


def forget(number: int) -> Context | None:
    """Remove the context of that number."""
    with _lock:
        return _contexts.pop(number, None)


_messages = count()


class Sent(Node):
    """The node where tensors left this process: a backward waits here for their gradients."""

    __slots__ = ("_message", "_gradients")

    def __init__(self, message: tuple, edges: list[Edge]) -> None:
        self._edges = tuple(edges)
        self._shape, self._dtype = (0,), np.dtype(np.float64)  # of what a backward starts it with, which says nothing
        self._seq = next_sequence()
        self._saved = self._extra = None
        self._message = message
        self._gradients: dict[Any, Future] = {}  # by backward

    def gradients_of(self, number: Any) -> Future:
        """Return the future of the gradients in one backward."""
        with _lock:
            return self._gradients.setdefault(number, Future())

    def _pull_general(self, grads: list, record: bool, wanted: Any = None) -> Any:
        number = running_pass.get()
        found = self.gradients_of(number).wait()
        with _lock:
            self._gradients.pop(number, None)
        return found


running_pass: ContextVar[Any] = ContextVar("backward across processes", default=None)


class Received(Node):
    """The node where tensors arrived at this process: a backward sends their gradients back."""

    __slots__ = ("_message", "_agent", "_context")

    def __init__(self, message: tuple, context: int, outputs: list[tuple], agent: Any) -> None:
        self._edges = ()
        self._shape, self._dtype = outputs[0] if len(outputs) == 1 else (None, tuple(outputs))
        self._seq = next_sequence()
        self._saved = self._extra = None
        self._message = message
        self._agent = agent
        self._context = context

    def _pull_general(self, grads: list, record: bool, wanted: Any = None) -> Any:
        if record:
            raise RuntimeError("a backward across processes is not recorded: create_graph goes no further than here")
        tensors = [None if g is None else wrap(as_array(g)) for g in grads]
        number = running_pass.get()
        if number is None:
            raise RuntimeError(
                "tensors that came from another process have their history there: use"
                " dualtape.distributed.autograd.backward(context_id, roots)"
            )
        self._agent.post(self._message[0], arrive, (self._context, self._message, number, tensors))
        return ()


def arrive(context: int, message: tuple, number: Any, grads: list) -> None:
    """Handle the arrival of gradients for the tensors of a message."""
    sent = context_of(context).sent.get(message)
    if sent is not None:
        sent.gradients_of(number).set_result([None if g is None else g._array for g in grads])


def leave(tensors: list[Tensor], context: int, rank: int, to: int) -> tuple:
    """Record that tensors are sent; return the name of the message."""
    found = context_of(context, make=True)
    message = (rank, next(_messages))
    edges = [edge_of(t) for t in tensors]
    sent = Sent(message, edges)  # type: ignore[arg-type]
    with found.lock:
        found.sent[message] = sent
        found.workers.add(to)
    return message


def join(tensors: list[Tensor], message: tuple, context: int, agent: Any) -> None:
    """Give received tensors the history of the message."""
    found = context_of(context, make=True)
    with found.lock:
        found.workers.add(message[0])
    node = Received(message, context, [(t._array.shape, t._array.dtype) for t in tensors], agent)
    for k, tensor in enumerate(tensors):
        tensor._requires_grad = True
        tensor._edge = (node, k)
