"""The engine: walks the graph backward from the roots and delivers gradients to leaves or captures.

Two passes. The first (``plan.py``) finds what will run, and where gradients meet. The second runs nodes as they become
ready, the youngest (highest sequence number) first, a leaf's accumulator at once. Gradients are raw arrays, unless
the graph of the backward itself is wanted (``create_graph``): then they are tensors, and the same formulas record
history. No recursion over the graph.
"""

from __future__ import annotations

import contextvars
import threading
from collections.abc import Callable, Collection, Sequence
from functools import partial
from heapq import heappop, heappush
from typing import Any

import numpy as np

from .. import modes
from .._tensor.tensor import Tensor
from ..arrays.batched import array as batches
from ..arrays.batched.array import Batched, NotBatchable
from ..arrays.fp_errors import fp_errors, ignore_fp_errors, restore_fp_errors
from ..overrides.active_overrides import active_overrides
from .accumulate_grad import HELD, accumulate, capture, getrefcount
from .hook_calls import post_hooks, pre_hooks, tensor_hooks
from .node import AccumulateGrad, Edge, Freed, Node
from .other_gradients import raw_gradient, shown_gradient, summed
from .plan import reach
from .unbroadcast import AnyDtype, fit, fit_recorded
from .versions import caller

_DEEP = 30  # runs inside runs that share one stack
add, ndarray, scalar, references, leaf = np.add, np.ndarray, np.generic, getrefcount, AccumulateGrad


_NOTHING: dict = {}


class GraphTask:
    """One run of the engine: its options and its state.

    Attributes
    ----------
    record : bool
        Record the backward itself (``create_graph``); gradients are then tensors.
    keep : bool
        Keep saved values (``retain_graph``).
    captures : dict
        Edges whose gradient is asked for: ``{node: {output number: [places in the result]}}``.
    targets : collection of nodes, or None
        Nodes whose gradients are asked for; None means all leaves.
    reached : dict
        Nodes that get a gradient.
    wanted : dict or None
        The same, each with whether it also runs; None if all of them do.
    """

    __slots__ = (
        "record",
        "keep",
        "captures",
        "results",
        "targets",
        "reached",
        "wanted",
        "callbacks",
        "freed",
        "node",
        "notes",
        "anomaly",
        "roots",
        "depth",
        "profiler",
    )

    def __init__(self, record: bool, keep: bool) -> None:
        self.record = record
        self.keep = keep
        self.captures: dict[Node, dict[int, list[int]]] | None = None
        self.results: list = []
        self.targets: Collection[Node] | None = None
        self.reached: dict[Node, Any] = _NOTHING
        self.wanted: dict[Node, bool] | None = None
        self.callbacks: list[Callable] | None = None
        self.freed: Freed | None = None
        self.node: Node | None = None
        self.notes: dict | None = None  # what hooks keep for the length of this run
        self.roots: Sequence[Node] = ()
        self.depth = 1  # how many runs this one is inside of, itself counted
        self.anomaly: Any = None  # in anomaly mode: what looks at the nodes as they run
        self.profiler: Any = None  # what takes their times

    def free(self) -> Freed:
        """Return the marker that nodes of this run get in place of released saved values; it records where backward was
        called.
        """
        if self.freed is None:
            self.freed = Freed(caller(5))  # this, _walk, _run, run, and who called that
        return self.freed


class _Running(threading.local):
    task: GraphTask | None = None


_running = _Running()


def current_task() -> GraphTask | None:
    """Return the innermost engine run of this thread, or None."""
    return _running.task


batches.going_backward = lambda: _running.task is not None


def queue_callback(callback: Callable[[], None]) -> None:
    """Call ``callback`` when the running backward has finished.

    Examples
    --------
    >>> import dualtape as dt
    >>> x = dt.tensor(1.0, requires_grad=True)
    >>> y = x * 2
    >>> engine = dt.autograd.Variable._execution_engine
    >>> handle = y.register_hook(lambda g: engine.queue_callback(lambda: print("finished")))
    >>> y.backward()
    finished
    """
    task = _running.task
    if task is None:
        raise RuntimeError("Final callbacks can only be installed during backward pass.")
    if task.callbacks is None:
        task.callbacks = []
    task.callbacks.append(callback)


def wants_tensors(mode: modes.Mode) -> bool:
    """Return whether a backward must run on tensors although it is not recorded: if a dispatch mode observes its ops,
    or tangents propagate through them.
    """
    return bool(mode.dispatches or mode.levels)


def run(roots: Sequence[tuple[Edge, Any]], task: GraphTask) -> None:
    """Run the backward: deliver gradients from ``roots``, pairs of edge and gradient."""
    outer = _running.task
    if outer is not None:
        task.depth = outer.depth + 1
        if outer.depth % _DEEP == 0:
            _run_elsewhere(roots, task)
            return
    _run(roots, task, outer)


def _run_elsewhere(roots: Sequence[tuple[Edge, Any]], task: GraphTask) -> None:
    """Run the backward in a new thread with an empty stack, so that nested backwards may be arbitrarily deep."""
    context = contextvars.copy_context()
    failed: list[BaseException] = []

    def work() -> None:
        try:
            context.run(_run, roots, task, None)
        except BaseException as error:
            failed.append(error)

    thread = threading.Thread(target=work, name="dualtape-backward")
    try:
        thread.start()
        thread.join()
    finally:
        if thread.ident is not None:
            thread.join()  # an interrupt: it is raised once nothing runs any more
    if failed:
        raise failed[0]


def _run(roots: Sequence[tuple[Edge, Any]], task: GraphTask, outer: GraphTask | None) -> None:
    mode = modes.current()
    if mode.backwards is not None and mode.quick and not mode.batches and not task.record:
        if mode.backwards.run(roots, task):
            return
    if not task.record:
        inside = mode.no_grad or modes.without_grad(mode)
    else:
        inside = mode if mode.grad else mode.replace(grad=True)
    if not mode.plain:
        asked = wants_tensors(mode) and not task.record
        if mode.functions or asked:
            inside = inside.replace(functions=())  # what the engine does is no call of the user's
        if asked:
            task.record = True
            roots = [(edge, shown_gradient(grad)) for edge, grad in roots]
    task.anomaly, task.profiler = mode.anomaly, mode.profiler
    before, silent = fp_errors(), True
    try:
        _running.task = task
        modes._set(inside)
        ignore_fp_errors()
        _walk(roots, task)
        restore_fp_errors(before)
        silent = False
        while task.callbacks:
            task.callbacks.pop(0)()
    finally:
        _running.task = outer
        try:
            if silent:
                restore_fp_errors(before)
        finally:
            now = modes._set(mode).old_value
            # Hooks may switch anomaly mode; other modes that they enter end here, as in PyTorch.
            if now is not inside:
                modes.keep_anomaly(now, mode)


def _walk(roots: Sequence[tuple[Edge, Any]], task: GraphTask) -> None:
    """Run ready nodes, youngest first, and pass their gradients on: the second pass.

    A gradient travels with its node, or waits in its node's join until all have come; for a node of several outputs
    it is a list.
    """
    task.roots = (roots[0][0][0],) if len(roots) == 1 else [edge[0] for edge, _ in roots]
    reached, joins, everything = reach(task.roots, task.targets)
    task.reached = reached
    wanted = task.wanted = None if everything else reached  # formulas whose result nobody waits for are not run
    # As in PyTorch, backward(inputs=...) also runs the nodes of the inputs themselves.
    if not everything and task.captures is None:
        reached.update({node: True for node in task.targets or () if node in reached and type(node) is not leaf})
    record, anomaly, profiler = task.record, task.anomaly, task.profiler
    usual = anomaly is None and profiler is None and not (record and active_overrides)
    freed = None if task.keep else task.free()
    # they need not run
    stops: Collection[Node] = (
        () if everything else {*(task.targets or ()), *(node for node in task.roots if node not in reached)}
    )
    fit_edge = fit_recorded if record else fit
    node: Any
    held: Any
    state: Any
    ready: list[tuple[int, Node, Any]] = []  # a heap, the youngest first
    # Leaves go before all other nodes, in the order in which they became ready.
    accumulators: list[tuple[Node, list]] = []
    # The youngest ready node, if it is younger than all in the heap: a chain needs no heap.
    only: Any = None
    complete: Any = None  # its gradient
    if len(roots) == 1:
        edge, grad = roots[0]
        node = edge[0]
        if type(node) is leaf:
            accumulators.append((node, [grad]))
        else:
            only, complete = (
                node,
                grad if node._shape is not None else [grad if k == edge[1] else None for k in range(len(node._dtype))],
            )
    else:
        for edge, grad in roots:
            state = joins[edge[0]]
            held = state[1 + edge[1]]
            state[1 + edge[1]] = grad if held is None else add(held, grad)
        for node in dict.fromkeys(task.roots):
            # one root alone runs whatever is asked for, as in PyTorch
            if joins[node][0] == 0 and (everything or node in reached):
                state = joins.pop(node)
                heappush(ready, (-node._seq, node, state[1] if len(state) == 2 else state[1:]))
    grad = held = None
    while True:
        if accumulators:
            node, buffer = accumulators.pop(0)
            task.node = node
            if profiler is None:
                accumulate(node, buffer, task)
            else:
                profiler.node(node, partial(accumulate, node, buffer, task))
            continue
        if only is not None:
            node, grad, only, complete = only, complete, None, None
        elif ready:
            _, node, grad = heappop(ready)
            if type(node) is leaf:
                accumulators.append((node, grad if type(grad) is list else [grad]))
                grad = None
                continue
        else:
            break
        task.node = node
        pairs = None
        # The fast path of nearly every node (ops/codegen/vjp.py): one output, NumPy's arrays or plain tensors, no
        # hooks.
        if usual and node._extra is None and (everything or node not in stops):
            try:
                if record:
                    if type(grad) is Tensor:
                        pairs = node._vjp_recorded(grad, wanted, freed)
                elif type(grad) is ndarray or type(grad) is list or isinstance(grad, scalar) or type(grad) is Batched:
                    pairs = node._vjp(grad, wanted, freed)
            except NotBatchable:
                pass
            except Exception as error:
                error.add_note(f"dualtape: raised in the backward of {node._title()}")
                raise
        if pairs is None:
            grad = grad if type(grad) is list else [grad]  # which a node may empty: gradients go as soon as may be
            pairs = _general(node, grad, task) if profiler is None else _profiled(node, grad, task, freed)
        for edge, grad in pairs:
            child = edge[0]
            if grad is not None:
                shape = child._shape
                dtype = child._dtype
                if shape is None:
                    shape, dtype = dtype[edge[1]]
                array = grad._array if record else grad
                if array.dtype is not dtype or array.shape != shape:
                    grad = fit_edge(grad, (shape, dtype), node)
            if child in joins:
                state = joins[child]
                if grad is not None:
                    place = 1 + edge[1]
                    held = state[place]
                    if held is None:
                        state[place] = grad
                    elif type(held) is not ndarray or type(grad) is not ndarray:
                        if type(held) is Tensor and record or isinstance(grad, scalar):
                            state[place] = held + grad
                        else:
                            state[place] = summed(held, grad) if record else add(held, grad)
                    elif references(held) <= HELD and held.base is None and type(dtype) is not AnyDtype:
                        add(held, grad, held)  # nothing else holds the array: it takes the sum
                    else:
                        state[place] = add(held, grad)
                if state[0] > 1:
                    state[0] -= 1
                    continue
                del joins[child]
                grad = state[1] if len(state) == 2 else state[1:]
            elif child._shape is None:
                several: list = [None] * len(child._dtype)
                several[edge[1]] = grad
                grad = several
            if type(child) is leaf:
                accumulators.append((child, [grad]))
            elif only is None:
                if not ready or child._seq > -ready[0][0]:
                    only, complete = child, grad
                else:
                    heappush(ready, (-child._seq, child, grad))
            elif child._seq > only._seq:
                heappush(ready, (-only._seq, only, complete))
                only, complete = child, grad
            else:
                heappush(ready, (-child._seq, child, grad))
        pairs = grad = array = held = state = None  # a leaf may take an array over only if nothing else holds it
    task.node = None


def _profiled(node: Node, buffer: list, task: GraphTask, freed: Freed | None) -> Sequence[tuple[Edge, Any]]:
    """Run a node and record its time."""

    def run() -> Any:
        grad = buffer[0] if len(buffer) == 1 else buffer
        plain = not task.record and task.anomaly is None and task.wanted is None and node._extra is None
        if plain and (type(grad) is ndarray or type(grad) is list):
            pairs = node._vjp(grad, None, freed)
            if pairs is not None:
                return pairs
        return _general(node, buffer, task)

    return task.profiler.node(node, run)


def _general(node: Node, buffer: list, task: GraphTask) -> Sequence[tuple[Edge, Any]]:
    """Run a node on the reference path, with hooks and captures; return pairs of edge and gradient."""
    extra, wanted, anomaly, record = node._extra, task.wanted, task.anomaly, task.record
    if extra is not None:
        tensor_hooks(node, buffer, task)
    if wanted is not None:
        if task.captures is not None and node in task.captures:
            capture(task.captures[node], buffer, task)
        if not wanted.get(node):
            return ()
    if extra is not None:
        pre_hooks(node, buffer, task)
    try:
        if (
            not record
            and anomaly is None
            and wanted is None
            and type(buffer[0]) is ndarray
            and extra is not None
            and not extra.post_hooks
        ):
            try:  # hooks have been called: the fast path will do
                pairs = node._vjp(buffer[0] if len(buffer) == 1 else buffer, wanted, None if task.keep else task.free())
                if pairs is not None:
                    return pairs
            except NotBatchable:
                pass
        grads = node._pull_general(buffer, record, wanted)
    except Exception as error:
        error.add_note(f"dualtape: raised in the backward of {node._title()}")
        if anomaly is not None:
            anomaly.explain(node, error)
        raise
    if extra is not None:
        grads = post_hooks(node, grads, buffer, task)
    if anomaly is not None:
        anomaly.look(node, buffer, grads)
    if not task.keep:
        node._release(task)
    return [
        (edge, grad)
        for edge, grad in zip(node._edges, grads)  # noqa: B905 - as many as there are edges: the nodes see to that
        if edge is not None and (wanted is None or edge[0] in wanted)
    ]


def call_node(node: Node, grads: tuple) -> Any:
    """Run a single node on gradient tensors and return the gradients of its inputs."""
    mode = modes.current()
    record = mode.grad or wants_tensors(mode)
    if len(grads) != len(node._outputs):
        raise RuntimeError(f"{node._title()} takes {len(node._outputs)} gradients, got {len(grads)}")
    buffer = [g if record or g is None else raw_gradient(g) for g in grads]
    with np.errstate(all="ignore"):
        results = node._pull_general(buffer, record)
    shown = tuple(
        None
        if edge is None or g is None
        else (
            fit_recorded(g, edge[0]._outputs[edge[1]], node)
            if record
            else shown_gradient(fit(g, edge[0]._outputs[edge[1]], node))
        )
        for edge, g in zip(node._edges, results, strict=True)
    )
    return shown[0] if len(shown) == 1 else shown
