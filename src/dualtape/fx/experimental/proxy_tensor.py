"""``make_fx``: the operations that a function runs on given tensors, derivatives included, as a graph."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any

from ..._tensor.tensor import Tensor
from ...nn import Module
from ...overrides.dispatch_modes import TorchDispatchMode
from ...pytree import tree_flatten, tree_map, tree_unflatten
from .._symbolic_trace import Tracer
from ..graph import Graph
from ..graph_module import GraphModule
from ..node import Node

__all__ = ["get_proxy_mode", "make_fx"]


def get_proxy_mode() -> None:
    """Return None: no mode of PyTorch's records operations.

    Examples
    --------
    >>> from dualtape.fx.experimental.proxy_tensor import get_proxy_mode
    >>> get_proxy_mode() is None
    True
    """


class _Recorder(TorchDispatchMode):
    """Runs each operation, and appends it to a graph."""

    def __init__(self, table: dict[Any, Callable]) -> None:
        super().__init__()
        self.tracer = Tracer()
        self.tracer.root, self.tracer.graph = Module(), Graph()
        self.table = table
        # The nodes of tensors by identity; the tensors stay alive, so that no other gets the same.
        self.nodes: dict[int, Node] = {}
        self.kept: list[Any] = []

    def remember(self, tensor: Tensor, node: Node) -> None:
        self.nodes[id(tensor)] = node
        self.kept.append(tensor)

    def argument(self, value: Any) -> Any:
        if not isinstance(value, Tensor):
            return value
        if id(value) in self.nodes:
            return self.nodes[id(value)]
        # Autograd hands on aliases of what it was given.
        for known in self.kept:
            if known._array is value._array:
                return self.nodes[id(known)]
        self.kept.append(value)
        return self.tracer.create_arg(value)

    def __torch_dispatch__(self, func: Any, types: Any, args: tuple = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        if func in self.table:
            with self:
                return self.table[func](*args, **kwargs)
        given, named = tree_map(self.argument, args), tree_map(self.argument, kwargs)
        result = func(*args, **kwargs)
        name = func._schema.name.partition("::")[2] if hasattr(func, "_schema") else None
        node = self.tracer.graph.create_node("call_function", func, tuple(given), dict(named), name)
        if isinstance(result, Tensor):
            self.remember(result, node)
        elif isinstance(result, (tuple, list)):
            import operator

            for number, one in enumerate(result):
                if isinstance(one, Tensor):
                    self.remember(one, self.tracer.graph.call_function(operator.getitem, (node, number)))
        return result


def make_fx(
    f: Callable,
    decomposition_table: dict[Any, Callable] | None = None,
    tracing_mode: str = "real",
    _allow_non_fake_inputs: bool = False,
    **options: Any,
) -> Callable[..., GraphModule]:
    """Return a function that runs ``f`` on given tensors, and returns the operations that ran as a GraphModule.

    Numbers that came from tensors, shapes and branches are those of this one run.

    Parameters
    ----------
    f : callable
        Takes and returns tensors, also nested in tuples, lists and dicts.
    decomposition_table : dict, optional
        For some operations, functions that are recorded instead.
    tracing_mode : {"real", "fake"}
        The same here: the function runs on the tensors that are given; "symbolic" is refused.
    **options
        Taken and not used.

    Examples
    --------
    >>> import dualtape as dt
    >>> from dualtape.fx.experimental.proxy_tensor import make_fx
    >>> traced = make_fx(lambda x: (x * 2).sin())(dt.ones(3))
    >>> [node.name for node in traced.graph.nodes]
    ['x_1', 'mul', 'sin', 'output']
    """
    if tracing_mode == "symbolic":
        raise NotImplementedError(
            "make_fx: tracing_mode='symbolic': a graph is of the shapes that it was recorded with"
        )
    if tracing_mode not in ("real", "fake"):
        raise ValueError(f"Unexpected tracing type: {tracing_mode}")

    @functools.wraps(f)
    def traced(*args: Any, **kwargs: Any) -> GraphModule:
        recorder = _Recorder(decomposition_table or {})
        leaves, spec = tree_flatten((args, kwargs))
        names = _input_names(f, len(leaves), len(args))
        placed: list[Any] = []
        for number, (name, leaf) in enumerate(zip(names, leaves, strict=True), 1):
            node = recorder.tracer.graph.placeholder(f"{name}_{number}")
            if isinstance(leaf, Tensor):
                recorder.remember(leaf, node)
            placed.append(leaf)
        new_args, new_kwargs = tree_unflatten(placed, spec)
        with recorder:
            result = f(*new_args, **new_kwargs)
        recorder.tracer.graph.output(tree_map(recorder.argument, result))
        recorder.tracer.graph.eliminate_dead_code(lambda node: node.is_impure() or node.op == "call_function")
        return GraphModule(recorder.tracer.root, recorder.tracer.graph)

    return traced


def _input_names(f: Callable, leaves: int, positional: int) -> list[str]:
    try:
        names = list(inspect.signature(f).parameters)
    except (TypeError, ValueError):
        names = []
    return names if len(names) == leaves == positional else ["arg"] * leaves
