"""``dualtape.autograd.graph``: looking at the graph, and hooking into it."""

from __future__ import annotations

from typing import Any

from .node import Node, edge_of

__all__ = ["GradientEdge", "Node", "get_gradient_edge"]


class GradientEdge(tuple):
    """Where a gradient goes: ``(node, output_nr)``. ``backward`` and ``grad`` take one in place of a tensor.

    Examples
    --------
    >>> import dualtape as dt
    >>> x = dt.tensor(2.0, requires_grad=True)
    >>> edge = dt.autograd.graph.get_gradient_edge(x)
    >>> dt.autograd.grad(x * 3, edge)
    (tensor(3.),)
    """

    __slots__ = ()

    def __new__(cls, node: Node, output_nr: int, ownership_token: Any = None) -> GradientEdge:
        return tuple.__new__(cls, (node, output_nr, ownership_token))

    @property
    def node(self) -> Node:
        return self[0]

    @property
    def output_nr(self) -> int:
        return self[1]

    def __repr__(self) -> str:
        return f"GradientEdge(node={self.node!r}, output_nr={self.output_nr})"


def get_gradient_edge(tensor: Any) -> GradientEdge:
    """The edge that a tensor's gradient flows to.

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
