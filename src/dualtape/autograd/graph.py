"""``dualtape.autograd.graph``: inspect the graph, and register hooks on it."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any

from .._listing import listing
from .._locks import renew_in_child
from .._tensor.tensor import Tensor
from .hooks import RemovableHandle
from .node import Node, edge_of
from .saved_hooks import allow_mutation_on_saved_tensors, disable_saved_tensors_hooks, save_on_cpu, saved_tensors_hooks
from .versions import bump

if TYPE_CHECKING:
    from .._typing import Tensors

__all__ = [
    "GradientEdge",
    "Node",
    "allow_mutation_on_saved_tensors",
    "disable_saved_tensors_hooks",
    "get_gradient_edge",
    "increment_version",
    "register_multi_grad_hook",
    "save_on_cpu",
    "saved_tensors_hooks",
]


class GradientEdge(tuple):
    """A node and the index of one of its outputs; ``backward`` and ``grad`` take it in place of a tensor.

    Examples
    --------
    >>> import dualtape as dt
    >>> x = dt.tensor(2.0, requires_grad=True)
    >>> edge = dt.autograd.graph.get_gradient_edge(x)
    >>> dt.autograd.grad(x * 3, edge)
    (tensor(3.),)
    """

    __slots__ = ()

    def __new__(cls, node: Node, output_nr: int, ownership_token: object = None) -> GradientEdge:
        return tuple.__new__(cls, (node, output_nr, ownership_token))

    @property
    def node(self) -> Node:
        """The node."""
        return self[0]

    @property
    def output_nr(self) -> int:
        """The index of the node's output."""
        return self[1]

    @property
    def ownership_token(self) -> Any:
        """The leaf that the edge leads to, which it keeps alive; None for other nodes."""
        return self[2]

    def __repr__(self) -> str:
        return f"GradientEdge(node={self.node!r}, output_nr={self.output_nr})"


def get_gradient_edge(tensor: Any) -> GradientEdge:
    """Return the edge that a tensor's gradient flows to.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.autograd.graph.get_gradient_edge(dt.tensor(2.0, requires_grad=True).exp()).node.name()
    'ExpBackward0'
    """
    edge = edge_of(tensor)
    if edge is None:
        raise RuntimeError("It is not possible to get the gradient edge for a Tensor that does not require gradients")
    return GradientEdge(*edge)  # with the leaf, if it is one: the edge keeps it alive


def increment_version(tensor: Tensor | Iterable[Tensor]) -> None:
    """Count one write to the memory of a tensor, or of each of several: for writes that dualtape does not observe.

    Of inference tensors nothing is counted.

    Examples
    --------
    >>> import dualtape as dt
    >>> x = dt.ones(2)
    >>> x.numpy()[0] = 5
    >>> dt.autograd.graph.increment_version(x)
    >>> x._version
    1
    """
    if not isinstance(tensor, Iterable):
        raise RuntimeError(f"increment_version expect a Iterable[Tensor] as input, got {type(tensor).__name__}")
    listed = [tensor] if isinstance(tensor, Tensor) else list(tensor)
    for one in listed:
        if not isinstance(one, Tensor):
            raise RuntimeError(
                f"increment_version expects each element of the iterable to be a tensor, got {type(one).__name__}"
            )
    for one in listed:
        if not one.is_inference():
            bump(one._shared_counter)


class _unsafe_preserve_version_counter:
    """Context in which writes to the given tensors are not counted; backward may then use overwritten values
    unnoticed.
    """

    def __init__(self, tensors: Tensors) -> None:
        self.tensors = (tensors,) if isinstance(tensors, Tensor) else tuple(tensors)
        self.versions = tuple(tensor._version for tensor in self.tensors)

    def __enter__(self) -> None:
        pass

    def __exit__(self, *error: object) -> None:
        for tensor, version in zip(self.tensors, self.versions, strict=True):
            tensor._shared_counter[0] = version


# --- hooks on several gradients -------------------------------------------------------------------

_noting = threading.Lock()  # one gradient at a time is noted, from whatever thread
renew_in_child(globals(), _noting=threading.Lock)


class _Handles(RemovableHandle):
    """Handle that removes the hooks of several tensors at once."""

    __slots__ = ("_handles",)

    def __init__(self, handles: Iterable[RemovableHandle]) -> None:
        super().__init__({}, -1)
        self._handles = tuple(handles)

    def remove(self) -> None:
        for handle in self._handles:
            handle.remove()


def register_multi_grad_hook(tensors: Sequence[Any], fn: Callable, *, mode: str = "all") -> RemovableHandle:
    """Call ``fn`` when the gradients of several tensors are known.

    Parameters
    ----------
    tensors : sequence of Tensor
    fn : callable
        With ``mode="all"``: takes the list of gradients, once in each backward, as soon as the last of those that
        this backward computes is there; None for the others. With ``mode="any"``: takes the first gradient that is
        there.
    mode : {"all", "any"}

    Examples
    --------
    >>> import dualtape as dt
    >>> x, y = dt.tensor(2.0, requires_grad=True), dt.tensor(3.0, requires_grad=True)
    >>> handle = dt.autograd.graph.register_multi_grad_hook([x, y], lambda grads: print(grads))
    >>> (x * y).backward()
    [tensor(3.), tensor(2.)]
    """
    if mode not in ("all", "any"):
        raise ValueError(f"Expects mode to be one of ('all', 'any') but got {mode}")
    for i, tensor in enumerate(tensors):
        if not tensor.requires_grad:
            raise AssertionError(f"a multi-grad hook needs tensors that require grad, and tensors[{i}] does not")
    edges = [get_gradient_edge(tensor) for tensor in tensors]
    nodes = [edge.node for edge in edges]
    key = object()

    def first(grad: Tensor) -> None:
        with _noting:
            notes = _notes()
            if key in notes:
                return
            notes[key] = True
        fn(grad)

    def hook_of(place: int) -> Callable:
        def hook(grad: Tensor) -> None:
            with _noting:
                notes = _notes()
                if key not in notes:
                    notes[key] = ([None] * len(nodes), [sum(map(_will_engine_execute_node, nodes))])
                grads, left = notes[key]
                grads[place] = grad
                left[0] -= 1
                complete = left[0] == 0
            if complete:
                fn(grads)

        return hook

    if mode == "any":
        return _Handles(tensor.register_hook(first) for tensor in tensors)
    return _Handles([tensor.register_hook(hook_of(place)) for place, tensor in enumerate(tensors)])


# --- the backward that is running -----------------------------------------------------------------


def _task() -> Any:
    from .engine import current_task

    return current_task()


def _notes() -> dict:
    """Return the dict of hooks' state for the running backward."""
    task = _task()
    if task.notes is None:
        task.notes = {}
    return task.notes


def _will_engine_execute_node(node: Node) -> bool:
    """Return whether the running backward delivers gradients to ``node``."""
    task = _task()
    if task is None:
        raise RuntimeError("_will_engine_execute_node can only be asked while a backward runs")
    return node in task.reached


def _current_graph_task_id() -> int:
    """Return the number of the running backward, -1 if there is none."""
    task = _task()
    return -1 if task is None else id(task)


def _current_autograd_node() -> Node | None:
    """Return the node that the running backward is executing."""
    task = _task()
    return None if task is None else task.node


def _current_graph_task_execution_order() -> list[Node]:
    """Return the nodes of the running backward in execution order; an empty list if none is running."""
    from .plan import execution_order

    task = _task()
    return [] if task is None else execution_order(task.roots, task.targets)


def __getattr__(name: str) -> Any:
    if name == "saved":  # a report, which is made of more than the graph
        from ..profiler.memory import saved

        return saved
    raise AttributeError(f"module 'dualtape.autograd.graph' has no attribute {name!r}")


__dir__ = listing(__name__)
