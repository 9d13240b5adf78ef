"""``GraphModule``: a module whose forward is the source generated from a graph."""

from __future__ import annotations

import copy
import itertools
import linecache
from typing import Any

from .._tensor.tensor import Tensor
from ..nn import Module
from .graph import Graph, PythonCode

__all__ = ["GraphModule"]

_numbers = itertools.count()


def _compiled(code: PythonCode) -> Any:
    """Return the function of generated source, which tracebacks and debuggers show."""
    name = f"<eval_with_key>.{next(_numbers)}"
    lines = [f"{line}\n" for line in code.src.split("\n")]
    linecache.cache[name] = (len(code.src), None, lines, name)
    scope = dict(code.globals)
    exec(compile(code.src, name, "exec"), scope)
    return scope


def _copied(source: Any, to: Any, target: str) -> None:
    """Give a module the attribute that another has under a dotted name."""
    *prefix, last = target.split(".")
    for part in prefix:
        there = getattr(source, part)
        known = getattr(to, part, None)
        if known is there:
            return
        if known is None:
            known = Module()
            setattr(to, part, known)
        source, to = there, known
    value = getattr(source, last)
    if isinstance(value, Tensor) and last in source.__dict__.get("_buffers", {}):
        to.register_buffer(last, value, persistent=last not in source._non_persistent_buffers_set)
    else:
        setattr(to, last, value)


def _assigned(to: Any, target: str, value: Any) -> None:
    *prefix, last = target.split(".")
    for part in prefix:
        known = getattr(to, part, None)
        if known is None:
            known = Module()
            setattr(to, part, known)
        to = known
    if isinstance(value, Tensor) and not isinstance(value, Module) and type(value).__name__ == "Tensor":
        to.register_buffer(last, value)
    else:
        setattr(to, last, value)


class GraphModule(Module):
    """A module that runs a graph.

    Parameters
    ----------
    root : Module or dict
        Where the submodules and attributes that the graph names are found.
    graph : Graph
        The graph.
    class_name : str
        The name that is printed.

    Examples
    --------
    >>> import dualtape as dt
    >>> traced = dt.fx.symbolic_trace(lambda x: dt.relu(x) * 2)
    >>> print(traced.code.strip())
    def forward(self, x):
        relu = torch.relu(x);  x = None
        mul = relu * 2;  relu = None
        return mul
    """

    _graph: Graph

    def __new__(cls, *args: Any, **kwargs: Any) -> Any:
        base = next(kind for kind in cls.__mro__ if "_of_one_graph" not in vars(kind))
        # The generated forward belongs to a class, and each graph has its own.
        own = type("GraphModuleImpl", (base,), {"_of_one_graph": True, "__module__": __name__})
        return super().__new__(own)

    def __init__(self, root: Any, graph: Graph, class_name: str = "GraphModule") -> None:
        super().__init__()
        type(self).__name__ = class_name
        wanted = sorted(
            {node.target for node in graph.nodes if node.op in ("get_attr", "call_module")}, key=lambda t: t.count(".")
        )
        if isinstance(root, Module):
            if hasattr(root, "training"):
                self.training = root.training
            for target in wanted:
                _copied(root, self, target)
        elif isinstance(root, dict):
            for target in wanted:
                if target not in root:
                    raise RuntimeError(
                        f"Node referenced target {target} but that target was not provided in the ``root`` argument"
                    )
                _assigned(self, target, root[target])
        else:
            raise RuntimeError(f"Unsupported type {type(root)} passed for root!")
        self.meta: dict[str, Any] = dict(getattr(root, "meta", {})) if isinstance(root, Module) else {}
        self.graph = graph

    @property
    def graph(self) -> Graph:
        """The graph; a new one is compiled at once, a changed one by :meth:`recompile`."""
        return self._graph

    @graph.setter
    def graph(self, g: Graph) -> None:
        if not isinstance(g, Graph):
            raise AssertionError(f"Expected a Graph instance, but got {type(g)}")
        g.owning_module = self
        self.__dict__["_graph"] = g
        self.recompile()

    @property
    def code(self) -> str:
        """The generated source."""
        return self.__dict__["_code"]

    def recompile(self) -> PythonCode:
        """Generate the forward from the graph as it is now."""
        generated = self._graph.python_code(root_module="self")
        self.__dict__["_code"] = generated.src
        scope = _compiled(generated)
        type(self).forward = scope[self._graph._codegen._func_name]
        return generated

    def add_submodule(self, target: str, m: Module) -> bool:
        """Add a submodule under a dotted name, and return whether that was possible."""
        *prefix, last = target.split(".")
        found: Any = self
        for part in prefix:
            inner = getattr(found, part, None)
            if inner is None:
                inner = Module()
                setattr(found, part, inner)
            if not isinstance(inner, Module):
                return False
            found = inner
        found.add_module(last, m)
        return True

    def delete_submodule(self, target: str) -> bool:
        """Remove a submodule by its dotted name, and return whether it was there."""
        *prefix, last = target.split(".")
        found: Any = self
        for part in prefix:
            found = getattr(found, part, None)
            if not isinstance(found, Module):
                return False
        if not isinstance(getattr(found, last, None), Module):
            return False
        delattr(found, last)
        return True

    def delete_all_unused_submodules(self) -> None:
        """Remove the submodules that no node calls or reads."""
        used: set[str] = set()
        for node in self.graph.nodes:
            if node.op in ("call_module", "get_attr"):
                parts = node.target.split(".")
                used.update(".".join(parts[:length]) for length in range(1, len(parts) + 1))
                if node.op == "call_module":
                    inner = self.get_submodule(node.target)
                    used.update(f"{node.target}.{name}" for name, _ in inner.named_modules() if name)
        for name in [name for name, _ in self.named_modules() if name and name not in used]:
            self.delete_submodule(name)

    def print_readable(
        self,
        print_output: bool = True,
        include_stride: bool = False,
        include_device: bool = False,
        colored: bool = False,
        **options: Any,
    ) -> str:
        """Return the source of this module and of the graph modules in it, and print it.

        Parameters
        ----------
        print_output : bool
            Whether it is printed.
        include_stride, include_device, colored : bool
            Taken and not used: nodes have no shapes of their own.
        **options
            Taken and not used.
        """
        lines = "".join(f"    {line}\n" if line.strip() else "" for line in self.code.split("\n"))
        inner = [m.print_readable(print_output=False) for m in self.children() if isinstance(m, GraphModule)]
        text = f"class {type(self).__name__}(torch.nn.Module):\n{lines}" + "".join(
            "\n" + "".join(f"    {line}\n" for line in part.rstrip().split("\n")) for part in inner
        )
        if print_output:
            print(text)
        return text

    def _get_name(self) -> str:
        return type(self).__name__

    def __str__(self) -> str:
        return "\n".join(
            [super().__str__(), self.code, "# To see more debug info, please use `graph_module.print_readable()`"]
        )

    def _state(self) -> dict[str, Any]:
        left = ("_graph", "_code")
        return {key: value for key, value in self.__dict__.items() if key not in left}

    def __deepcopy__(self, memo: dict[int, Any]) -> Any:
        new = GraphModule.__new__(type(self).__mro__[1])
        memo[id(self)] = new
        new.__dict__.update(copy.deepcopy(self._state(), memo))
        type(new).__name__ = type(self).__name__
        new.graph = copy.deepcopy(self._graph)
        return new

    def __copy__(self) -> Any:
        new = GraphModule.__new__(type(self).__mro__[1])
        new.__dict__.update(self._state())
        type(new).__name__ = type(self).__name__
        new.graph = copy.deepcopy(self._graph)
        return new

    def __reduce__(self) -> tuple:
        return _read, (type(self).__mro__[1], type(self).__name__, self._state(), self._graph)


def _read(kind: type, name: str, state: dict[str, Any], graph: Graph) -> GraphModule:
    """Return a pickled module."""
    new = GraphModule.__new__(kind)
    new.__dict__.update(state)
    type(new).__name__ = name
    new.graph = graph
    return new
