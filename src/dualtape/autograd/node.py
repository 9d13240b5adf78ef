"""Nodes and edges of the graph.

An operation records a node: edges to the nodes of its inputs (``(node, output number)`` or ``None``), the shape and
dtype of its result, its saved values, and a sequence number. Internal attributes begin with an underscore: the context
of a Function is its node, and other names belong to its user. Nothing here traverses the graph.
"""

from __future__ import annotations

import itertools
import weakref
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import errors
from .._tensor import dtypes
from .hooks import NodeExtra, RemovableHandle
from .versions import describe

if TYPE_CHECKING:
    from .._tensor.tensor import Tensor
    from .._typing import Gradient, Gradients, Wanted
    from .engine import GraphTask

# (node, output number); to a leaf's accumulator: (accumulator, 0, leaf).
Edge = tuple

next_sequence = itertools.count().__next__


class Node:
    """One step of the backward graph.

    Examples
    --------
    >>> import dualtape as dt
    >>> y = dt.tensor(2.0, requires_grad=True) * 3
    >>> y.grad_fn.name(), isinstance(y.grad_fn, dt.autograd.graph.Node)
    ('MulBackward0', True)
    """

    __slots__ = ("_edges", "_shape", "_dtype", "_seq", "_saved", "_extra", "__weakref__")

    _edges: tuple
    _shape: tuple | None  # of its result, None if there are several
    _dtype: Any  # of its result, or the shape and dtype of each of several
    _seq: int
    _saved: Any
    _extra: NodeExtra | None
    # Whether hooks see only the gradients that the backward asked for.
    _selective = True
    _holds = True  # whether there is something saved to release

    @property
    def _outputs(self) -> tuple:
        """The shape and dtype of each result."""
        return self._dtype if self._shape is None else ((self._shape, self._dtype),)

    @_outputs.setter
    def _outputs(self, outputs: tuple) -> None:
        self._shape, self._dtype = outputs[0] if len(outputs) == 1 else (None, outputs)

    def _vjp(self, g: Gradient | Gradients, wanted: Wanted, freed: Freed | None) -> Any:
        """Run the fast path generated for this class of nodes, if it has one (ops/codegen/vjp.py): return pairs of edge
        and gradient, or None.
        """
        return None

    _vjp_recorded = _vjp  # on tensors, where the backward itself is recorded

    def _pull_general(self, grads: list, record: bool, wanted: Wanted = None) -> Any:
        """Return gradients for the edges, given one for each output; tensors with history if ``record``, else raw
        arrays.

        Those whose node is not in ``wanted`` (if that is given) need not be computed.
        """
        raise NotImplementedError  # each kind of node has its own

    def _release(self, task: GraphTask) -> None:
        """Release the saved values: the backward ``task`` has used them."""

    def name(self) -> str:
        """The node's name, as PyTorch names it.

        Examples
        --------
        >>> import dualtape as dt
        >>> dt.tensor(1.0, requires_grad=True).exp().grad_fn.name()
        'ExpBackward0'
        """
        return type(self).__name__

    def _title(self) -> str:
        return type(self).name(self)  # a Function's context may have a name of its user's

    @property
    def next_functions(self) -> tuple:
        """The nodes behind this one: ``((node, output number), ...)``, with ``(None, 0)`` where no gradient flows."""
        return tuple((None, 0) if edge is None else (edge[0], edge[1]) for edge in self._edges)

    @property
    def metadata(self) -> dict:
        """A dictionary for users; of a node made under anomaly mode it has the stack on which the node was made."""
        extra = self._more()
        if extra.metadata is None:
            extra.metadata = {}
            if extra.stack is not None:
                from .anomaly import told

                extra.metadata["traceback_"] = told(extra.stack)
                if extra.parent is not None:
                    extra.metadata["parent_"] = extra.parent
        return extra.metadata

    def _sequence_nr(self) -> int:
        return self._seq

    def __lt__(self, other: object) -> bool:
        """Order by age, the older first: the engine's heap compares nodes of equal number, which copies may have."""
        return (self._seq, id(self)) < (other._seq, id(other)) if isinstance(other, Node) else NotImplemented

    @property
    def _input_metadata(self) -> list:
        return [InputMetadata(shape, dtype) for shape, dtype in self._outputs]

    def _more(self) -> NodeExtra:
        if self._extra is None:
            self._extra = NodeExtra()
        return self._extra

    def register_hook(self, fn: Callable) -> RemovableHandle:
        """Call ``fn(grad_inputs, grad_outputs)`` after this node has run; a result that is not None replaces
        grad_inputs.

        Examples
        --------
        >>> import dualtape as dt
        >>> x = dt.tensor(2.0, requires_grad=True)
        >>> y = x * 3
        >>> handle = y.grad_fn.register_hook(lambda grad_inputs, grad_outputs: (grad_inputs[0] * 10, None))
        >>> y.backward(); x.grad
        tensor(30.)
        """
        return RemovableHandle.add(self._more().post_hooks, fn)

    def register_prehook(self, fn: Callable) -> RemovableHandle:
        """Call ``fn(grad_outputs)`` before this node runs; a result that is not None replaces grad_outputs.

        Examples
        --------
        >>> import dualtape as dt
        >>> x = dt.tensor(2.0, requires_grad=True)
        >>> y = x * 3
        >>> handle = y.grad_fn.register_prehook(lambda grad_outputs: (grad_outputs[0] * 10,))
        >>> y.backward(); x.grad
        tensor(30.)
        """
        return RemovableHandle.add(self._more().pre_hooks, fn)

    def __call__(self, *grads: Any) -> Any:
        """Run the node by hand on gradient tensors, recording history if grad mode is on."""
        from .engine import call_node

        return call_node(self, grads)

    def __repr__(self) -> str:
        return f"<{self._title()} object at {id(self):#x}>"

    def _repr_html_(self) -> str:  # what a notebook shows
        from ..draw import draw

        return draw(self)._repr_html_()


class InputMetadata:
    """Shape and dtype of one of a node's outputs, which an incoming gradient must have."""

    __slots__ = ("shape", "_numpy")

    def __init__(self, shape: tuple, numpy: np.dtype) -> None:
        self.shape = shape
        self._numpy = numpy

    @property
    def dtype(self) -> Any:
        return dtypes.of(self._numpy)


class AccumulateGrad(Node):
    """The accumulator of a leaf: adds arriving gradients to ``variable.grad``.

    The leaf owns its accumulator, the accumulator knows the leaf weakly, and an edge to it holds both:
    ``(accumulator, 0, leaf)``. So a graph keeps its leaves alive, nothing keeps itself alive, and a leaf used again
    and again makes one accumulator.
    """

    __slots__ = ("_leaf",)

    def __init__(self, variable: Tensor) -> None:
        self._leaf = weakref.ref(variable)
        extra = variable._extra
        dtype = variable._array.dtype if extra is None else extra.gradient_dtype(variable._array.dtype)
        self._shape, self._dtype = variable._array.shape, dtype
        self._edges = ()
        self._saved = ()
        self._extra = None
        self._seq = next_sequence()

    @property
    def variable(self) -> Tensor:
        """The leaf."""
        leaf = self._leaf()
        if leaf is None:
            raise RuntimeError("the leaf of this AccumulateGrad is gone: nothing but this node was left of its graph")
        return leaf

    def name(self) -> str:
        return "AccumulateGrad"


def leaf_edge(leaf: Tensor) -> Edge:
    """Return the edge to a leaf's accumulator, which is created on first use."""
    node = leaf._grad_accumulator
    if node is None:
        result = AccumulateGrad(leaf)
        # once more: another thread may have made one, and none comes between here and the next line
        node = leaf._grad_accumulator
        if node is None:
            node = leaf._grad_accumulator = result
    return (node, 0, leaf)


def edge_of(tensor: Tensor) -> Edge | None:
    """Return the edge that a tensor's gradient flows to: its node, its accumulator, or None."""
    view = tensor._view
    if view is not None and view.seen != tensor._version_counter[0]:
        view.refresh(tensor)
    if tensor._edge is not None:
        return tensor._edge
    return leaf_edge(tensor) if tensor._requires_grad else None


class Freed:
    """Replaces the saved values of a node once they are released."""

    __slots__ = ("where",)

    def __init__(self, where: tuple | None) -> None:
        self.where = where


def check_not_freed(node: Node) -> Any:
    """Return the saved values of ``node``; raise if they were released.

    They are read once, since another thread may run the same graph.
    """
    saved = node._saved
    if type(saved) is Freed:
        raise errors.freed(node._title(), describe(saved.where))
    return saved
