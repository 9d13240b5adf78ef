"""``Interpreter``: runs a graph node by node; ``Transformer`` runs it on proxies, which gives a new one."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ._symbolic_trace import Tracer
from .graph import Graph
from .graph_module import GraphModule
from .node import Node, map_arg
from .proxy import Proxy, TracerBase

__all__ = ["Interpreter", "Transformer"]


class Interpreter:
    """Runs the nodes of a graph one by one; subclasses change what a node does.

    Examples
    --------
    >>> import dualtape as dt
    >>> class Named(dt.fx.Interpreter):
    ...     def run_node(self, n):
    ...         print(n.name)
    ...         return super().run_node(n)
    >>> Named(dt.fx.symbolic_trace(lambda x: dt.relu(x))).run(dt.ones(1))
    x
    relu
    output
    tensor([1.])
    """

    def __init__(self, module: Any, garbage_collect_values: bool = True, graph: Graph | None = None) -> None:
        self.module = module
        self.submodules = dict(module.named_modules())
        self.graph: Graph = module.graph if graph is None else graph
        self.name, self.extra_traceback = "Interpreter", True
        self.env: dict[Node, Any] = {}
        self.garbage_collect_values = garbage_collect_values
        self.user_to_last_uses: dict[Node, list[Node]] = {}
        seen: set[Node] = set()
        for node in reversed(self.graph.nodes) if garbage_collect_values else ():
            for used in node.all_input_nodes:
                if used not in seen:
                    seen.add(used)
                    self.user_to_last_uses.setdefault(node, []).append(used)

    def run(self, *args: Any, initial_env: dict[Node, Any] | None = None, enable_io_processing: bool = True) -> Any:
        """Return the result of the graph for these inputs.

        Parameters
        ----------
        *args
            The inputs.
        initial_env : dict, optional
            Values of nodes that are known.
        enable_io_processing : bool
            Whether inputs and results go through the graph's ``process_inputs`` and ``process_outputs``.
        """
        self.env = dict(initial_env or {})
        if enable_io_processing:
            args = self.graph.process_inputs(*args)
        self.args_iter: Iterator[Any] = iter(args)
        # Values of nodes that were given are not computed.
        for node in [node for node in self.graph.nodes if node not in self.env]:
            try:
                value = self.env[node] = self.run_node(node)
            except Exception as error:
                if self.extra_traceback:
                    error.add_note(f"While executing {node.format_node()}")
                raise
            for used in self.user_to_last_uses.get(node, ()):
                self.env.pop(used, None)
            if node.op == "output":
                return self.graph.process_outputs(value) if enable_io_processing else value
        return None

    def boxed_run(self, args_list: list[Any]) -> Any:
        """Return the result for inputs in a list, which is emptied."""
        args = tuple(args_list)
        args_list.clear()
        return self.run(*args)

    def run_node(self, n: Node) -> Any:
        """Return the value of a node."""
        args, kwargs = self.fetch_args_kwargs_from_env(n)
        return getattr(self, n.op)(n.target, args, kwargs)

    def placeholder(self, target: Any, args: tuple, kwargs: dict[str, Any]) -> Any:
        """Return the next input, or its default."""
        if target.startswith("**"):
            return next(self.args_iter, {})
        if target.startswith("*"):
            return list(self.args_iter)
        try:
            return next(self.args_iter)
        except StopIteration:
            if args:
                return args[0]
            raise RuntimeError(
                f"Expected positional argument for parameter {target}, but one was not passed in!"
            ) from None

    def get_attr(self, target: Any, args: tuple, kwargs: dict[str, Any]) -> Any:
        """Return an attribute of the module."""
        return self.fetch_attr(target)

    def call_function(self, target: Any, args: tuple, kwargs: dict[str, Any]) -> Any:
        """Return the result of a function."""
        return target(*args, **kwargs)

    def call_method(self, target: Any, args: tuple, kwargs: dict[str, Any]) -> Any:
        """Return the result of a method of the first argument."""
        first, *rest = args
        return getattr(first, target)(*rest, **kwargs)

    def call_module(self, target: Any, args: tuple, kwargs: dict[str, Any]) -> Any:
        """Return the result of a submodule."""
        return self.fetch_attr(target)(*args, **kwargs)

    def output(self, target: Any, args: tuple, kwargs: dict[str, Any]) -> Any:
        """Return the result."""
        return args[0]

    def fetch_attr(self, target: str) -> Any:
        """Return an attribute of the module by its dotted name."""
        found = self.module
        for part in target.split("."):
            if not hasattr(found, part):
                raise RuntimeError(f"Node referenced nonexistent target {target}")
            found = getattr(found, part)
        return found

    def fetch_args_kwargs_from_env(self, n: Node) -> tuple[tuple, dict[str, Any]]:
        """Return the values of a node's arguments."""
        return self.map_nodes_to_values(n.args, n), self.map_nodes_to_values(n.kwargs, n)

    def map_nodes_to_values(self, args: Any, n: Node) -> Any:
        """Return arguments with the values of the nodes in them."""

        def value(node: Node) -> Any:
            if node not in self.env:
                raise RuntimeError(
                    f"Node {n} referenced nonexistent value {node}! Run Graph.lint() to diagnose such issues"
                )
            return self.env[node]

        return map_arg(args, value)


class _TransformerTracer(Tracer):
    def __init__(self, graph: Graph, root: Any) -> None:
        super().__init__()
        self.graph, self.root = graph, root

    def is_leaf_module(self, m: Any, module_qualified_name: str) -> bool:
        return True


class Transformer(Interpreter):
    """Makes a new graph from a graph; subclasses change what a node becomes.

    Examples
    --------
    >>> import dualtape as dt
    >>> class Smooth(dt.fx.Transformer):
    ...     def call_function(self, target, args, kwargs):
    ...         return super().call_function(dt.tanh if target is dt.relu else target, args, kwargs)
    >>> print(Smooth(dt.fx.symbolic_trace(lambda x: dt.relu(x))).transform().code.strip())
    def forward(self, x):
        tanh = torch.tanh(x);  x = None
        return tanh
    """

    def __init__(self, module: Any) -> None:
        super().__init__(module)
        self.new_graph = Graph(tracer_cls=getattr(self.graph, "_tracer_cls", None))
        self.new_graph._codegen = self.graph._codegen
        self.tracer: TracerBase = _TransformerTracer(self.new_graph, module)

    def placeholder(self, target: Any, args: tuple, kwargs: dict[str, Any]) -> Any:
        """Return a proxy of a new input."""
        default = args[0] if args else ...
        return Proxy(self.new_graph.placeholder(target, default_value=default), self.tracer)

    def get_attr(self, target: Any, args: tuple, kwargs: dict[str, Any]) -> Any:
        """Return a proxy of a new attribute."""
        return self.tracer.create_proxy("get_attr", target, args, kwargs)

    def call_module(self, target: Any, args: tuple, kwargs: dict[str, Any]) -> Any:
        """Return a proxy of a new call of a submodule."""
        return self.tracer.create_proxy("call_module", target, args, kwargs)

    def call_function(self, target: Any, args: tuple, kwargs: dict[str, Any]) -> Any:
        """Return a proxy of a new call of a function."""
        return self.tracer.create_proxy("call_function", target, args, kwargs)

    def call_method(self, target: Any, args: tuple, kwargs: dict[str, Any]) -> Any:
        """Return a proxy of a new call of a method."""
        return self.tracer.create_proxy("call_method", target, args, kwargs)

    def transform(self) -> GraphModule:
        """Return a module of the new graph."""
        result = super().run(enable_io_processing=False)
        if result is not None:
            old = self.graph.output_node()
            plain = lambda value: value.node if isinstance(value, Proxy) else value
            from .node import map_aggregate

            output = self.new_graph.output(map_aggregate(result, plain), old.type)
            output.meta.update(old.meta)
        return GraphModule(self.module, self.new_graph)
