"""The engine: walks the graph backward from the roots and delivers gradients to leaves or captures.

Two passes. The first counts, for every node that will run, how many edges lead to it. The second runs nodes as they become
ready, the youngest (highest sequence number) first, a leaf's sink at once. Gradients are raw arrays, unless the graph of the
backward itself is wanted (``create_graph``): then they are tensors, and the same formulas record history. Both passes
keep their own stacks: no recursion over the graph.
"""

from __future__ import annotations

import contextvars
import threading
from collections.abc import Callable, Sequence
from heapq import heapify, heappop, heappush
from operator import attrgetter
from sys import getrefcount
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import errors, modes
from ..arrays import Absent, Batched, settle
from ..arrays.batched import NotBatchable, holds
from ..arrays.silence import hush, unhush
from ..tensor import wrap
from .node import AccumulateGrad, Edge, Freed, Node
from .other_gradients import added, first_of, is_other, raw_gradient, shown_gradient
from .unbroadcast import fit, fit_recorded
from .versions import UNTRACKED, caller

if TYPE_CHECKING:
    pass

_accumulation = threading.Lock()  # one addition to a leaf's gradient at a time, from whatever thread
_DEEP = 30  # runs inside runs that share one stack


class GraphTask:
    """One run of the engine: what is asked, and what is under way.

    Attributes
    ----------
    record : bool
        Record the backward itself (``create_graph``); gradients are then tensors.
    keep : bool
        Keep saved values (``retain_graph``).
    captures : dict
        Edges whose gradient is asked for: ``{node: {output number: [places in the result]}}``.
    needed : dict or None
        Nodes that receive a gradient, each with whether it also runs; None means all do.
    """

    __slots__ = ("record", "keep", "captures", "results", "needed", "callbacks", "freed", "node", "counts", "notes", "anomaly", "roots")

    def __init__(self, record: bool, keep: bool) -> None:
        self.record = record
        self.keep = keep
        self.captures: dict[Node, dict[int, list[int]]] | None = None
        self.results: list = []
        self.needed: dict[Node, bool] | None = None
        self.callbacks: list[Callable] = []
        self.freed: Freed | None = None
        self.node: Node | None = None
        self.counts: dict[Node, int] = {}  # the nodes that get a gradient
        self.notes: dict | None = None  # what hooks keep for the length of this run
        self.roots: list[Node] = []
        self.anomaly: Any = None  # in anomaly mode: what looks at the nodes as they run

    def free(self) -> Freed:
        """What the nodes of this run hold once their saved values are released: it knows where the run was started."""
        if self.freed is None:
            self.freed = Freed(caller())
        return self.freed


class _Running(threading.local):
    task: GraphTask | None = None
    depth: int = 0  # runs inside runs


_running = _Running()


def current_task() -> GraphTask | None:
    """The innermost run of the engine in this thread."""
    return _running.task


def queue_callback(callback: Callable[[], None]) -> None:
    """Call ``callback`` when the backward that is running has finished.

    Examples
    --------
    >>> import dualtape as dt
    >>> x = dt.tensor(1.0, requires_grad=True)
    >>> y = x * 2
    >>> handle = y.register_hook(lambda g: dt.autograd.Variable._execution_engine.queue_callback(lambda: print("finished")))
    >>> y.backward()
    finished
    """
    if _running.task is None:
        raise RuntimeError("Final callbacks can only be installed during backward pass.")
    _running.task.callbacks.append(callback)


def run(roots: Sequence[tuple[Edge, Any]], task: GraphTask) -> None:
    """Deliver gradients from ``roots`` (pairs of edge and gradient)."""
    running = _running
    depth = running.depth
    if depth and depth % _DEEP == 0:
        _run_elsewhere(roots, task)
        return
    running.depth = depth + 1
    try:
        _run(roots, task)
    finally:
        running.depth = depth


def _run_elsewhere(roots: Sequence[tuple[Edge, Any]], task: GraphTask) -> None:
    """The same in a thread of its own, whose stack is fresh: backward inside backward may go as deep as it likes."""
    context, depth = contextvars.copy_context(), _running.depth
    failed: list[BaseException] = []

    def work() -> None:
        _running.depth = depth + 1
        try:
            context.run(_run, roots, task)
        except BaseException as error:
            failed.append(error)

    thread = threading.Thread(target=work, name="dualtape-backward")
    thread.start()
    thread.join()
    if failed:
        raise failed[0]


def _run(roots: Sequence[tuple[Edge, Any]], task: GraphTask) -> None:
    outer = _running.task
    mode = modes.current()
    if not task.record:
        inside = modes.without_grad(mode)
    else:
        inside = mode if mode.grad else mode.replace(grad=True)
    asked = (bool(mode.dispatches) or bool(mode.levels)) and not task.record
    if not mode.plain and (mode.functions or asked):
        inside = inside.replace(functions=())  # what the engine does is no call of the user's
        if asked:  # a dispatch mode sees the ops of backward, and tangents go through them: so they run on tensors
            task.record = True
            roots = [(edge, shown_gradient(grad)) for edge, grad in roots]
    task.anomaly = mode.anomaly
    _running.task = task
    modes._set(inside)
    silenced = hush()
    try:
        _walk(roots, task)
        unhush(silenced)
        silenced = None
        while task.callbacks:
            task.callbacks.pop(0)()
    finally:
        if silenced is not None:
            unhush(silenced)
        modes._set(mode)
        _running.task = outer


def find_needed(roots: Sequence[Node], targets: Sequence[Node], counts: dict[Node, int]) -> dict[Node, bool]:
    """The nodes on a way from ``roots`` to ``targets``, each with whether it must run to get there; how many edges lead to each goes into ``counts``.

    An edge leads to an older node always, so that nodes older than every target need no visit, and one sweep from old to
    young settles the rest.
    """
    oldest = min((node.seq for node in targets), default=0)
    wanted = set(targets)
    seen = set(roots)
    stack = list(seen)
    found = list(seen)
    while stack:
        for edge in stack.pop().edges:
            if edge is not None:
                child = edge[0]
                if child not in seen and child.seq >= oldest:
                    seen.add(child)
                    stack.append(child)
                    found.append(child)
    found.reverse()  # nearly from old to young
    found.sort(key=_age)
    needed: dict[Node, bool] = {}
    for node in roots:
        counts[node] = 0
    for node in found:
        runs = False
        for edge in node.edges:
            if edge is not None and edge[0] in needed:
                runs = True
                counts[edge[0]] += 1
        if runs or node in wanted:
            needed[node] = runs
            if node not in counts:
                counts[node] = 0
    return needed


_age = attrgetter("seq")


def _count(roots: Sequence[tuple[Edge, Any]], needed: dict[Node, bool] | None) -> dict[Node, int]:
    """How many edges lead to each node that will get a gradient."""
    counts: dict[Node, int] = {edge[0]: 0 for edge, _ in roots}
    stack = list(counts)
    while stack:
        for edge in stack.pop().edges:
            if edge is not None:
                child = edge[0]
                if child in counts:
                    counts[child] += 1
                elif needed is None or child in needed:
                    counts[child] = 1
                    stack.append(child)
    return counts


def execution_order(task: GraphTask) -> list[Node]:
    """The nodes of a run in the order in which they run, those that have run already included."""
    counts = _count([((node, 0), None) for node in task.roots], task.needed)
    ready = sorted({(-node.seq, node) for node in task.roots if counts[node] == 0}, key=lambda pair: pair[0])
    heapify(ready)
    sinks: list[Node] = []
    order: list[Node] = []
    while ready or sinks:
        node = sinks.pop(0) if sinks else heappop(ready)[1]
        order.append(node)
        for edge in node.edges:
            if edge is not None and edge[0] in counts:
                counts[edge[0]] -= 1
                if counts[edge[0]] == 0:
                    if type(edge[0]) is AccumulateGrad:
                        sinks.append(edge[0])
                    else:
                        heappush(ready, (-edge[0].seq, edge[0]))
    return order


def _walk(roots: Sequence[tuple[Edge, Any]], task: GraphTask) -> None:
    """The second pass. A node waits in ``buffers`` for its gradients; once they are complete they travel with it."""
    record, keep, captures, needed, anomaly = task.record, task.keep, task.captures, task.needed, task.anomaly
    fit_edge = fit_recorded if record else fit
    add, ndarray, scalar, references = np.add, np.ndarray, np.generic, getrefcount
    node: Any
    buffer: Any
    held: Any
    task.roots = [edge[0] for edge, _ in roots]
    if needed is None:
        task.counts = _count(roots, None)
    counts = task.counts
    wanted = None if needed is None else counts  # formulas whose result nobody waits for are not run
    buffers: dict[Node, list] = {}
    for edge, grad in roots:
        node, number = edge[0], edge[1]
        buffer = buffers.get(node)
        if buffer is None:
            buffer = buffers[node] = [None] * len(node.outputs)
        buffer[number] = grad if buffer[number] is None else add(buffer[number], grad)
    ready = [(-node.seq, node, buffers.pop(node)) for node in list(buffers) if counts[node] == 0]  # a heap: the youngest first
    if len(ready) > 1:
        heapify(ready)
    sinks: list[tuple[Node, list]] = []  # leaves: they go before all others, in the order in which they got ready
    only: Any = None  # the one node that is ready, if it is the only one: a chain needs no heap
    complete: Any = None  # its gradients
    grad = None
    while True:
        if sinks:
            node, buffer = sinks.pop(0)
            task.node = node
            _sink(node, buffer, task)
            continue
        if only is not None:
            node, buffer, only, complete = only, complete, None, None
        elif ready:
            _, node, buffer = heappop(ready)
            if type(node) is AccumulateGrad:
                sinks.append((node, buffer))
                buffer = None
                continue
        else:
            break
        task.node = node
        extra = node.extra
        if extra is not None:
            _tensor_hooks(node, buffer, task)
        if needed is not None:
            if captures is not None and node in captures:
                _capture(captures[node], buffer, task)
            if not needed.get(node):
                continue
        if extra is not None:
            _pre_hooks(node, buffer, task)
        try:
            # The quick way of nearly every node (unrolled.py): one output, NumPy's arrays, nothing to record.
            pull = node.pull
            grad = buffer[0]
            if pull is not None and not record and (type(grad) is ndarray or isinstance(grad, scalar)):
                grads = pull(node, grad, wanted)
            else:
                grads = node.apply(buffer, record, wanted)
        except NotBatchable:
            grads = node.apply(buffer, record, wanted)
        except Exception as error:
            error.add_note(f"dualtape: raised in the backward of {node.name()}")
            if anomaly is not None:
                anomaly.explain(node, error)
            raise
        if extra is not None:
            grads = _after(node, grads, buffer, task)
        if anomaly is not None:
            anomaly.look(node, buffer, grads)
        if not keep and node.holds:
            if pull is None:
                node.release(task)
            else:
                node.saved = task.freed or task.free()
        buffer = None
        for edge, grad in zip(node.edges, grads):  # noqa: B905 - as many as there are edges: the nodes see to that
            if edge is None:
                continue
            child = edge[0]
            left = counts.get(child)
            if left is None:
                continue
            outputs = child.outputs
            if grad is not None:
                meta = outputs[edge[1]]
                if record or grad.shape != meta[0] or grad.dtype is not meta[1]:
                    grad = fit_edge(grad, meta, node)
            waiting = buffers.get(child) if buffers else None
            if waiting is None:
                if len(outputs) == 1:
                    waiting = [grad]
                else:
                    waiting = [None] * len(outputs)
                    waiting[edge[1]] = grad
                if left > 1:
                    buffers[child] = waiting
            elif grad is not None:
                held = waiting[edge[1]]
                if held is None:
                    waiting[edge[1]] = grad
                elif isinstance(held, scalar) and isinstance(grad, scalar):
                    waiting[edge[1]] = held + grad  # type: ignore[operator]
                elif type(held) is ndarray and references(held) <= _HELD and held.base is None and not record and type(grad) is ndarray:
                    add(held, grad, held)  # nothing else holds the array: it takes the sum
                else:
                    waiting[edge[1]] = add(held, grad)
            if left > 1:
                counts[child] = left - 1
                continue
            if buffers:
                buffers.pop(child, None)
            if type(child) is AccumulateGrad:
                sinks.append((child, waiting))
            elif only is None and not ready:
                only, complete = child, waiting
            else:
                if only is not None:
                    heappush(ready, (-only.seq, only, complete))
                    only = complete = None
                heappush(ready, (-child.seq, child, waiting))
        grads = grad = held = waiting = None  # a leaf may take an array over only if nothing else holds it
    task.node = None


def _counted() -> tuple[int, int]:
    """The reference counts of an array that only a list holds, and of one that a name holds, too: as they are where gradients meet."""
    waiting = [np.empty(1)]
    alone = getrefcount(waiting[0])
    held = waiting[0]
    return alone, getrefcount(held)


_ONLY_IN_LIST, _HELD = _counted()


def _capture(wanted: dict[int, list[int]], buffer: list, task: GraphTask) -> None:
    """Keep the gradients that were asked for."""
    for number, places in wanted.items():
        for place in places:
            task.results[place] = buffer[number]


def _sink(node: Any, buffer: list, task: GraphTask) -> None:
    """The gradient of a leaf is complete: to the leaf's hooks with it, then to who asked for it, or to the leaf."""
    variable = node.variable
    if variable._extra is not None or node.extra is not None:
        _tensor_hooks(node, buffer, task)
    captures, needed = task.captures, task.needed
    if captures is not None and node in captures:
        _capture(captures[node], buffer, task)
        return
    if needed is not None and node not in needed:
        return
    if node.extra is not None:
        _pre_hooks(node, buffer, task)
    if variable._requires_grad:
        if buffer[0] is not None:
            with _accumulation:
                held = variable._grad
                if held is None and type(buffer[0]) is np.ndarray and not task.record and type(variable._array) is np.ndarray:
                    # A leaf takes over an array that nothing else holds, that owns its memory and lies as the leaf does.
                    unshared = getrefcount(buffer[0]) <= _ONLY_IN_LIST
                    grad = buffer[0]
                    if not (unshared and grad.base is None and _laid_out(grad, variable._array)):
                        grad = np.empty_like(variable._array, dtype=grad.dtype)
                        grad[...] = buffer[0]
                    variable._grad = wrap(grad)
                else:
                    _accumulate(variable, buffer, task)
        extra = variable._extra
        if extra is not None and extra.post_hooks:
            for hook in tuple(extra.post_hooks.values()):
                if not isinstance(hook(variable), (type(None), type(variable))):
                    raise TypeError("a post-accumulate hook must return None: the gradient is in the tensor's .grad")
        if node.extra is not None:
            _after(node, (), buffer, task)


def _accumulate(variable: Any, buffer: list, task: GraphTask) -> None:
    """Add the gradient in ``buffer`` to the leaf's ``.grad``: whatever is not the first array that comes to an array."""
    held = variable._grad
    arriving = getattr(buffer[0], "_array", buffer[0])
    if type(arriving) is Batched and not holds(variable._array, arriving):
        raise errors.batched_leaf()
    if task.record:
        variable._grad = _copied(buffer[0], variable) if held is None else held + buffer[0]
    elif held is None:
        grad = settle(buffer[0])
        if type(grad) is not np.ndarray and is_other(grad) or type(variable._array) is Absent:
            grad = first_of(grad)
        else:
            grad = np.empty_like(variable._array, dtype=grad.dtype)
            grad[...] = buffer[0]
        variable._grad = _tensor(grad)
    elif held._counter is UNTRACKED and not modes.current().inference:
        raise errors.inference_write("AccumulateGrad")
    else:
        try:
            np.add(held._array, buffer[0], out=held._array, casting="same_kind")
            held._counter[0] += 1
        except TypeError:  # one of them may be no array
            total = added(held, buffer[0])
            if total is None:
                raise
            variable._grad = total


def _laid_out(grad: Any, leaf: Any) -> bool:
    """Whether a gradient lies in memory as its leaf does; row by row, if the leaf has gaps."""
    return grad.strides == leaf.strides or (grad.flags.c_contiguous and not leaf.flags.f_contiguous)


def _copied(grad: Any, leaf: Any) -> Any:
    """A gradient with history as the leaf keeps it: a copy that lies in memory as the leaf does."""
    if isinstance(leaf._array, Absent) or isinstance(grad._array, Absent):
        return grad.clone()
    return _tensor(np.empty_like(leaf._array, dtype=grad._array.dtype)).copy_(grad)


_tensor = shown_gradient


def _shown(grad: Any, task: GraphTask) -> Any:
    """A gradient as hooks see it: a tensor."""
    return grad if task.record or grad is None else _tensor(grad)


def _taken(value: Any, task: GraphTask, meta: tuple, hook: Callable) -> Any:
    """What a hook returned, as the engine keeps it."""
    from ..tensor import Tensor

    name = getattr(hook, "__qualname__", repr(hook))
    if not isinstance(value, Tensor):
        raise TypeError(f"hook '{name}' must return None or a Tensor for each gradient, got {type(value).__name__}")
    shape, dtype = meta
    if value._array.dtype != dtype:
        raise RuntimeError(f"hook '{name}' has changed the type of value (was {dtype} got {value._array.dtype}): convert it back")
    if value._array.shape != shape:
        raise RuntimeError(f"hook '{name}' has changed the size of value (was {list(shape)} got {list(value._array.shape)})")
    return value if task.record else raw_gradient(value)


def _tensor_hooks(node: Any, buffer: list, task: GraphTask) -> None:
    """Run the hooks of the tensors whose gradients have arrived, and keep the gradients that are to be retained."""
    if type(node) is AccumulateGrad:
        extra = node.variable._extra
        if extra is not None:
            for hook in tuple(extra.hooks.values()):
                _tensor_hook(hook, node, 0, buffer, task)
    extra = node.extra
    if extra is None:
        return
    for number, hooks in extra.tensor_hooks.items():
        for hook in tuple(hooks.values()):
            _tensor_hook(hook, node, number, buffer, task)
    for number, ref in extra.retained.items():
        tensor = ref()
        if tensor is not None and buffer[number] is not None:
            _retain(tensor, buffer[number], task)


def _pre_hooks(node: Any, buffer: list, task: GraphTask) -> None:
    """Run a node's pre-hooks."""
    for hook in tuple(node.extra.pre_hooks.values()):
        result = hook(tuple(_shown(grad, task) for grad in buffer))
        if result is not None:
            result = _as_tuple(result, len(buffer), f"a pre-hook of {node.name()}")
            for number, value in enumerate(result):
                buffer[number] = None if value is None else _taken(value, task, node.outputs[number], hook)


def _tensor_hook(hook: Callable, node: Node, number: int, buffer: list, task: GraphTask) -> None:
    result = hook(_shown(buffer[number], task))
    if result is not None:
        if buffer[number] is None:
            raise RuntimeError(f"can't replace a None gradient with a non-None value: output {number} of {node.name()} was not used")
        buffer[number] = _taken(result, task, node.outputs[number], hook)


def _retain(tensor: Any, grad: Any, task: GraphTask) -> None:
    held = tensor._grad
    if task.record:
        tensor._grad = grad.clone() if held is None else held + grad
    elif held is None:
        tensor._grad = _tensor(grad.clone() if is_other(grad) else grad.copy())
    else:
        tensor._grad = _tensor(held + grad if is_other(grad) or is_other(raw_gradient(held)) else np.add(held._array, grad))


def _after(node: Any, grads: Any, buffer: list, task: GraphTask) -> Any:
    """Run a node's post-hooks on the gradients it produced."""
    for hook in tuple(node.extra.post_hooks.values()):
        shown = tuple(
            None if edge is None or (node.selective and edge[0] not in task.counts) else _shown(grad, task)
            for edge, grad in zip(node.edges, grads, strict=True)
        )
        result = hook(shown, tuple(_shown(grad, task) for grad in buffer))
        if result is not None:
            result = _as_tuple(result, len(node.edges), f"a hook of {node.name()}")
            grads = [
                None if edge is None or value is None else _taken(value, task, edge[0].outputs[edge[1]], hook)
                for edge, value in zip(node.edges, result, strict=True)
            ]
    return grads


def _as_tuple(value: Any, count: int, who: str) -> tuple:
    if not isinstance(value, tuple):
        raise TypeError(f"expected tuple, but {who} returned a {type(value).__name__}")
    if len(value) != count:
        raise RuntimeError(f"{who} returned {len(value)} gradients where {count} were expected; use None for no change")
    return value


def call_node(node: Node, grads: tuple) -> Any:
    """Run one node by hand on gradient tensors."""
    record = modes.current().grad
    if len(grads) != len(node.outputs):
        raise RuntimeError(f"{node.name()} takes {len(node.outputs)} gradients, got {len(grads)}")
    buffer = [g if record or g is None else raw_gradient(g) for g in grads]
    with np.errstate(all="ignore"):
        results = node.apply(buffer, record)
    shown = tuple(
        None if edge is None or g is None
        else (fit_recorded(g, edge[0].outputs[edge[1]], node) if record else _tensor(fit(g, edge[0].outputs[edge[1]], node)))
        for edge, g in zip(node.edges, results, strict=True)
    )  # fmt: skip
    return shown[0] if len(shown) == 1 else shown
