"""``graph_svg``: the autograd graph behind a tensor in the direction of its gradients, down to the leaves."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from .boxes import drawn
from .layout import Box
from .marks import COLOURS


def _walk(root: Any, max_nodes: int) -> dict[Any, list[Any]]:
    """Return every node reachable from `root` with its successors, in the order of discovery."""
    successors: dict[Any, list[Any]] = {root: []}
    stack = [root]
    while stack:
        node = stack.pop()
        for following, _ in node.next_functions:
            if following is None:
                continue
            successors[node].append(following)
            if following not in successors:
                if len(successors) >= max_nodes:
                    raise ValueError(
                        f"graph_svg: the graph has more than max_nodes={max_nodes} nodes, too many to read "
                        "as a picture; draw a smaller expression, or pass a larger max_nodes"
                    )
                successors[following] = []
                stack.append(following)
    return successors


def _shape_words(shape: Iterable[int]) -> str:
    sizes = tuple(int(size) for size in shape)
    return "scalar" if not sizes else " × ".join(map(str, sizes))


def _describe(node: Any, names: Mapping[int, str]) -> Box:
    """Return the box of a graph node: leaves name their tensor, others their operation."""
    variable = getattr(node, "variable", None)
    if variable is not None:
        name = names.get(id(variable))
        shape = _shape_words(variable.shape)
        first = f"{name}  ({shape})" if name else f"leaf  ({shape})"
        return Box((first, node.name().rsplit("::", 1)[-1]), *COLOURS["leaf"])
    metadata = getattr(node, "_input_metadata", None) or ()
    shapes = [_shape_words(item.shape) for item in metadata if getattr(item, "shape", None) is not None]
    lines = (node.name(), f"gradient: {', '.join(shapes)}") if shapes else (node.name(),)
    return Box(lines, *COLOURS["op"])


def graph_svg(
    tensor: Any, names: Mapping[str, Any] | None = None, title: str | None = None, max_nodes: int = 500
) -> str:
    """Draw the autograd graph behind a tensor.

    The node that made the tensor is on top; arrows go the way the gradient flows, along `next_functions`,
    down to the leaves, which are green.

    Parameters
    ----------
    tensor : Tensor
        The result whose graph is drawn; it must have a `grad_fn`.
    names : mapping of str to Tensor, optional
        Names for the leaves.
    title : str, optional
        A line of text above the graph.
    max_nodes : int
        A graph with more nodes than this raises `ValueError` instead of making an unreadable picture.

    Returns
    -------
    str
        An SVG document.

    Examples
    --------
    >>> import dualtape as dt
    >>> w = dt.ones(3, requires_grad=True)
    >>> picture = dt.draw.graph_svg((w * w).sum(), names={"w": w})
    >>> picture.startswith("<svg"), "SumBackward0" in picture
    (True, True)
    """
    root = tensor.grad_fn
    if root is None:
        raise ValueError(
            "graph_svg: expected a tensor that was computed from a tensor with requires_grad=True, but this "
            "one has no grad_fn; call it on the result of an operation, outside no_grad()"
        )
    successors = _walk(root, max_nodes)
    known = {id(value): name for name, value in (names or {}).items()}
    boxes = {node: _describe(node, known) for node in successors}
    boxes[root].fill, boxes[root].stroke = COLOURS["output"]
    key = [("output", *COLOURS["output"]), ("operation", *COLOURS["op"]), ("leaf", *COLOURS["leaf"])]
    return drawn(boxes, successors, title, key, "arrows: the way the gradient flows")
