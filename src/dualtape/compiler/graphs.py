"""Compiled autograd: the backward of graphs that were built eagerly, as programs.

A graph is searched from its roots: its nodes and edges are the key of its programs; saved values, leaves, hooks and
incoming gradients are the inputs. The engine runs once over traced arrays (:mod:`.tracer`); a later graph of the same
structure, whose inputs pass the guard, runs the program.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .. import modes
from .._tensor.tensor import Tensor, wrap
from ..arrays.traced.array import Traced
from ..autograd import engine
from ..autograd.function import Function, FunctionCtx
from ..autograd.node import AccumulateGrad, Edge, Freed, Node
from ..autograd.saved import SavedVariable
from ..autograd.versions import caller
from ..autograd.views import AsStridedBackward0, CopySlices
from ..ops.op_node import OpNode
from ..ops.saves import ATTRIBUTE, OUTPUT
from ..pytree import tree_flatten
from .backends import chosen as chosen_backend
from .compiled import _AGAIN, _tracing
from .graph_match import given_gradient, matcher
from .replay import Mismatch
from .specialization import Specialization, trace

_LIMIT = 8  # programs for graphs of one structure
_NO_MATCH: tuple = ((), [])
_MATCHED = 4  # structures that are tried before a graph is looked through


class compiled_autograd(modes.ModeContext):
    """Context in which the backward of a graph is traced once and compiled; later graphs of the same structure run the
    program.

    The graph may have been built by anything, and its structure is what counts: nodes and how they hang together,
    shapes, dtypes, plain values. Hooks and custom Functions are part of the program, and are checked as what a
    compiled function calls is. What is recorded (``create_graph=True``), and what cannot be replayed, runs as it is;
    for the latter there is one warning that says why.

    Parameters
    ----------
    fullgraph : bool, default False
        Raise where a backward cannot be traced, rather than run it as it is.
    backend : {"native", "numpy"}, optional
        As for :func:`dualtape.compile`.

    Examples
    --------
    >>> import dualtape as dt
    >>> x = dt.tensor([1.0, 2.0], requires_grad=True)
    >>> with dt.compiler.compiled_autograd():
    ...     for _ in range(3):
    ...         (x * x).sum().backward()  # from the second on, a program
    >>> x.grad
    tensor([ 6., 12.])
    """

    fields = ("backwards",)

    def __init__(self, *, fullgraph: bool = False, backend: str | None = None) -> None:
        self._programs = Programs(bool(fullgraph), chosen_backend(backend))

    def change(self, mode: modes.Mode) -> modes.Mode:
        return mode.replace(backwards=self._programs)

    def clone(self) -> compiled_autograd:
        return self  # the programs of one call are those of the next


class Unknown(Exception):
    """Raised for a part of a graph that programs do not support."""


class _Wrong(Exception):
    """Raised for a graph whose backward is an error, which the engine reports."""


class Programs:
    """The programs of one :class:`compiled_autograd`, by the structure of their graphs."""

    def __init__(self, fullgraph: bool, backend: str) -> None:
        self._fullgraph = fullgraph
        self._backend = backend
        self._known: dict[Any, _Structure] = {}
        self._matched: list[_Structure] = []
        self._told: set[str] = set()

    def run(self, roots: Sequence[tuple[Edge, Any]], task: engine.GraphTask) -> bool:
        """Run the backward of ``roots`` and return True; return False if the engine must run it."""
        if task.captures is None and task.targets is None:
            edges, gradients = zip(*roots, strict=True)
            for known in self._matched:
                nodes, leaves = known.match(edges, gradients) or _NO_MATCH
                if nodes and self._replayed(known, nodes, leaves, task):
                    return True
        try:
            graph = Graph(roots, task)
        except _Wrong:
            return False
        except Unknown as reason:
            self._tell(str(reason))
            return False
        structure = self._known.get(graph.key)
        if structure is None:
            structure = self._known.setdefault(graph.key, _Structure())
        if self._replayed(structure, graph.nodes, graph.leaves, task):
            return True
        if structure.failed:
            return False
        with _tracing:
            return self._trace(structure, graph, roots, task)

    def _replayed(self, structure: _Structure, nodes: Sequence[Node], leaves: list, task: engine.GraphTask) -> bool:
        """Run a program of the structure if its guard passes, with the side effects of the engine."""
        for specialization in structure.specializations:
            found = specialization.guard.check(structure, leaves)
            if found is None:
                continue
            try:
                results = specialization.run(found, ())
            except Mismatch:
                continue
            if task.captures is not None:
                task.results[:] = results
            if not task.keep:
                freed = task.freed = Freed(caller())
                for node in nodes:
                    if not isinstance(node, OpNode):
                        node._release(task)
                    elif node._holds:
                        node._saved = freed
            return True
        return False

    def _trace(self, structure: _Structure, graph: Graph, roots: Any, task: engine.GraphTask) -> bool:
        if len(structure.specializations) >= _LIMIT:
            structure.failed = True
            self._tell(f"graphs of one structure were traced {_LIMIT} times, and each time something else differed")
            return False
        match = None
        if not structure.specializations and task.captures is None and task.targets is None:
            match = matcher(graph.nodes, [edge[:2] for edge, _ in roots])
        structure.now = (graph, roots, task)
        if not task.keep:
            task.freed = Freed(caller())
        try:
            _, flat = tree_flatten(((0,) * len(graph.leaves), {}))
            results, specialization = trace(self._backend, structure, tuple(graph.leaves), {}, graph.leaves, flat)
        finally:
            structure.now = None
        if isinstance(specialization, Specialization):
            structure.specializations.append(specialization)
            if match is not None:
                structure.match = match
                self._matched = [structure, *self._matched][:_MATCHED]
        else:
            structure.tries += 1
            if not getattr(specialization, "retry", False) or structure.tries > _AGAIN:
                structure.failed = True
                self._tell(specialization)
        if task.captures is not None:
            task.results[:] = results
        return True

    def _tell(self, reason: str) -> None:
        if self._fullgraph:
            raise RuntimeError(f"compiled_autograd(fullgraph=True): {reason}")
        if reason not in self._told:
            self._told.add(reason)
            warnings.warn(f"compiled_autograd: a backward runs as it is, without a program: {reason}", stacklevel=6)


class _Structure:
    """Graphs of one structure: their programs, and the function that is called to trace one."""

    def __init__(self) -> None:
        self.specializations: list[Specialization] = []
        self.failed = False
        self.tries = 0
        self.match: Any = None  # finds graphs of this structure quickly
        self.now: Any = None

    def __call__(self, *leaves: Any) -> list:
        graph, roots, task = self.now
        return graph.walk(roots, task, leaves)


class Graph:
    """The nodes, inputs and outputs of one backward.

    Attributes
    ----------
    key : tuple
        Its structure.
    leaves : list
        What nodes saved, leaves, hooks, gradients that come, in the order of the nodes.
    """

    __slots__ = ("key", "leaves", "nodes", "_outputs", "_first")

    def __init__(self, roots: Sequence[tuple[Edge, Any]], task: engine.GraphTask) -> None:
        nodes = self.nodes = _ordered([edge[0] for edge, _ in roots])
        numbers = {node: k for k, node in enumerate(nodes)}
        leaves: list = []
        self.leaves = leaves
        self._outputs: list[tuple[Any, int, int]] = []  # arrays that nodes saved: where, and which leaf stands for it
        key: list = []
        for node in nodes:
            kind = type(node)
            key.append(kind)
            key.append(node._shape)
            key.append(node._dtype)
            for edge in node._edges:
                if edge is None:
                    key.append(None)
                else:
                    key.append(numbers[edge[0]])
                    key.append(edge[1])
            collect = _COLLECTORS.get(kind)
            if collect is None:
                collect = _COLLECTORS[kind] = _collector(kind)
            collect(self, node)
            extra = node._extra
            if extra is not None:
                self._hooks(node, extra, key)
            key.append(len(leaves))
        self._first = len(leaves)
        for edge, grad in roots:
            key += (numbers[edge[0]], edge[1])
            try:
                leaves.append(given_gradient(grad))
            except TypeError as error:
                raise Unknown(str(error)) from None
        if task.captures is not None:
            key.append(
                tuple((numbers.get(n), tuple((k, tuple(p)) for k, p in w.items())) for n, w in task.captures.items())
            )
        if task.targets is not None:
            key.append(frozenset([numbers.get(node) for node in task.targets]))
        self.key = tuple(key)

    def output(self, node: Any, place: int, array: Any) -> None:
        """Register an array that ``node`` has saved at ``place``."""
        if type(array) is not np.ndarray:
            raise Unknown(f"{node._title()} has saved a {type(array).__name__}")
        self._outputs.append((node, place, len(self.leaves)))
        self.leaves.append(wrap(array))

    def _hooks(self, node: Any, extra: Any, key: list) -> None:
        for hooks in (extra.pre_hooks, extra.post_hooks, *extra.tensor_hooks.values()):
            self.leaves.extend(hooks.values())
            key.append(len(hooks))
        key += extra.tensor_hooks
        for number, ref in extra.retained.items():
            tensor = ref()
            key.append((number, tensor is None))
            if tensor is not None:
                self.leaves.append(tensor)

    # --- running ----------------------------------------------------------------------------------

    def walk(self, roots: Any, task: engine.GraphTask, leaves: tuple) -> list:
        """Run the engine over the graph with saved arrays and gradients traced."""
        before = {node: node._saved for node, _, _ in self._outputs}
        for node, place, leaf in self._outputs:
            node._saved = _with_output(node, place, leaves[leaf]._array)
        given = [(edge, leaves[self._first + k]._array) for k, (edge, _) in enumerate(roots)]
        mode = modes.current()
        inside = mode.replace(backwards=None)
        try:
            modes._set(inside)
            engine._run(given, task, engine.current_task())
        finally:
            now = modes._set(mode).old_value
            if now is not inside:
                modes.keep(now, mode, "backwards")
            for node, saved in before.items():
                if type(node._saved) is not Freed:
                    node._saved = saved
        if mode.tracing is not None and not (task.notes is None and task.callbacks is None):
            mode.tracing.tape.fail("a hook queues a callback, or keeps notes")
        return _unshared(task.results)


def _ordered(roots: list[Node]) -> list[Node]:
    """Return the nodes behind ``roots``, the youngest first, as the engine runs them."""
    seen = dict.fromkeys(roots)
    waiting = list(seen)
    while waiting:
        for edge in waiting.pop()._edges:
            if edge is not None and edge[0] not in seen:
                seen[edge[0]] = None
                waiting.append(edge[0])
    return sorted(seen, key=_youngest)


def _youngest(node: Node) -> int:
    return -node._seq


def _unshared(results: list) -> list:
    """Return captured gradients, each over memory of its own."""
    seen: set[int] = set()
    given = []
    for array in results:
        if type(array) is Traced:
            if id(array.value.memory) in seen or array.value.memory.external:
                array = array.copy()
            seen.add(id(array.value.memory))
        given.append(array)
    return given


def _with_output(node: Any, place: int, array: Any) -> tuple:
    """Return the saved values of a node with another array in place of one of its results."""
    saved = list(node._saved)
    if isinstance(node, FunctionCtx):
        entry, is_output, number = saved[place]
        saved[place] = ((array, *entry[1:]), is_output, number)
    else:
        saved[place] = (array, *saved[place][1:])
    return tuple(saved)


# --- what the kinds of nodes hold -----------------------------------------------------------------


def _collector(kind: type[Node]) -> Callable[[Graph, Any], None]:
    """Return a function that collects from a node of this class the values that its formulas read."""
    if issubclass(kind, OpNode):
        return _op_collector([how for _, how, _ in kind.op.saves])
    if issubclass(kind, FunctionCtx):
        return _of_function
    for known, collect in ((AccumulateGrad, _of_leaf), (AsStridedBackward0, _of_view), (CopySlices, _of_slices)):
        if kind is known:
            return collect

    def refuse(graph: Graph, node: Any) -> None:
        raise Unknown(f"there is a {node._title()} in the graph")

    return refuse


def _op_collector(kinds: list[int]) -> Callable[[Graph, Any], None]:
    def collect(graph: Graph, node: Any) -> None:
        saved = node._saved
        if type(saved) is Freed:
            raise _Wrong
        leaves = graph.leaves
        for place, entry in enumerate(saved):
            if isinstance(entry, Tensor):
                if entry._version_counter is not None and entry._version_counter[0]:
                    raise _Wrong
                leaves.append(entry)
            elif kinds[place] == ATTRIBUTE or type(entry) is not tuple:
                if type(entry) is SavedVariable:
                    raise Unknown(f"{node._title()} has saved a tensor under hooks")
                leaves.append(entry)
            else:
                _entry(graph, node, place, entry, kinds[place] == OUTPUT)

    return collect


def _entry(graph: Graph, node: Any, place: int, entry: tuple, is_output: bool) -> None:
    if entry[1][0] != entry[2]:
        raise _Wrong
    if len(entry) > 3:
        raise Unknown(f"{node._title()} has saved tangents")
    if is_output:
        graph.output(node, place, entry[0])
    else:
        graph.leaves.append(entry[0])


def _of_leaf(graph: Graph, node: Any) -> None:
    variable = node.variable
    graph.leaves.append(variable)
    extra = variable._extra
    if extra is not None:
        graph.leaves.append((*extra.hooks.values(), None, *extra.post_hooks.values()))


def _of_view(graph: Graph, node: Any) -> None:
    graph.leaves += (node.step, node.shape, node.dtype, node.strides)


def _of_slices(graph: Graph, node: Any) -> None:
    if type(node._saved) is Freed:
        raise _Wrong
    graph.leaves += (node.step, node.strides, type(node.fn))
    if node.fn is not None:
        collect = _COLLECTORS.get(type(node.fn)) or _collector(type(node.fn))
        collect(graph, node.fn)


def _of_function(graph: Graph, node: Any) -> None:
    saved = node._saved
    if type(saved) is Freed:
        raise _Wrong
    cls = node._cls
    leaves = graph.leaves
    leaves += (cls, node._arguments, node._results, node._materialize, node.needs_input_grad, dict(node.__dict__))
    leaves += [f for f in (cls.backward, cls.vjp) if f is not Function.backward and f is not Function.vjp]
    for place, kept in enumerate(saved):
        if kept is None:
            leaves.append(None)
            continue
        entry, is_output, _ = kept
        if type(entry) is SavedVariable:
            raise Unknown(f"{node._title()} has saved a tensor under hooks")
        if type(entry) is tuple:
            _entry(graph, node, place, entry, is_output)
        else:
            leaves.append(entry)


_COLLECTORS: dict[type, Callable[[Graph, Any], None]] = {}
