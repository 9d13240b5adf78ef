"""``ShapeProp``: run a graph and note the shape and dtype of each node's value."""

from __future__ import annotations

from typing import Any, NamedTuple

from ..._tensor.device import contiguous_format
from ..._tensor.tensor import Tensor
from ..interpreter import Interpreter
from ..node import Node, map_aggregate

__all__ = ["ShapeProp", "TensorMetadata"]


class TensorMetadata(NamedTuple):
    """What is noted of a tensor.

    Examples
    --------
    >>> import dualtape as dt
    >>> from dualtape.fx.passes.shape_prop import ShapeProp
    >>> traced = dt.fx.symbolic_trace(dt.nn.ReLU())
    >>> y = ShapeProp(traced).propagate(dt.ones(2))
    >>> traced.graph.output_node().meta["tensor_meta"].stride
    (1,)
    """

    shape: Any
    dtype: Any
    requires_grad: bool
    stride: tuple[int, ...]
    memory_format: Any
    is_quantized: bool
    qparams: dict[str, Any]


def _extract_tensor_metadata(result: Tensor, include_contiguity: bool = True) -> TensorMetadata:
    layout = contiguous_format if include_contiguity and result.is_contiguous() else None
    return TensorMetadata(result.shape, result.dtype, result.requires_grad, result.stride(), layout, False, {})


class ShapeProp(Interpreter):
    """Runs a graph, and puts ``tensor_meta`` and ``type`` into ``meta`` of each node.

    Examples
    --------
    >>> import dualtape as dt
    >>> from dualtape.fx.passes.shape_prop import ShapeProp
    >>> traced = dt.fx.symbolic_trace(dt.nn.Linear(2, 3))
    >>> y = ShapeProp(traced).propagate(dt.ones(5, 2))
    >>> traced.graph.output_node().meta["tensor_meta"].shape
    dualtape.Size([5, 3])
    """

    def __init__(self, gm: Any, fake_mode: Any = None) -> None:
        super().__init__(gm)
        if fake_mode is not None:
            raise NotImplementedError("ShapeProp: fake_mode: shapes are found by running the graph")

    def run_node(self, n: Node) -> Any:
        """Return the value of a node, after noting what it is."""
        result = super().run_node(n)
        found: list[bool] = []

        def note(value: Any) -> Any:
            if isinstance(value, Tensor):
                found.append(True)
                return _extract_tensor_metadata(value)
            return value

        meta = map_aggregate(result, note)
        if found:
            n.meta["tensor_meta"] = meta
        n.meta["type"] = type(result)
        return result

    def propagate(self, *args: Any) -> Any:
        """Run the graph on these inputs, and return the result."""
        return super().run(*args)
