"""``Proxy``: what stands for a value while a function is traced, and records what is done with it."""

from __future__ import annotations

import dis
import operator
import sys
from collections.abc import Callable, Iterator
from types import FunctionType
from typing import Any

from .._tensor.device import device as Device
from .._tensor.device import layout as Layout
from .._tensor.dtypes import dtype as DType
from .._tensor.tensor import Tensor
from ..overrides import is_tensor_method_or_property
from .names import is_public, recorded
from .node import Node

__all__ = ["Attribute", "GraphAppendingTracer", "ParameterProxy", "Proxy", "TraceError", "TracerBase"]


class TraceError(ValueError):
    """A traced function asked a value for what is not known while it is traced."""


_PLAIN = (str, int, float, bool, complex, bytes, Tensor, DType, Device, Layout, type(None), type(...))


class TracerBase:
    """Turns what is done with proxies into nodes of ``graph``."""

    graph: Any
    record_stack_traces = False
    check_mutable_operations = False
    trace_asserts = False
    proxy_buffer_attributes = False

    def create_node(
        self,
        kind: str,
        target: Any,
        args: tuple,
        kwargs: dict[str, Any],
        name: str | None = None,
        type_expr: Any = None,
    ) -> Node:
        """Return a new node of the graph."""
        return self.graph.create_node(kind, target, args, kwargs, name, type_expr)

    def proxy(self, node: Node) -> Proxy:
        """Return what stands for the value of a node."""
        return Proxy(node, self)

    def create_proxy(
        self,
        kind: str,
        target: Any,
        args: tuple,
        kwargs: dict[str, Any],
        name: str | None = None,
        type_expr: Any = None,
        proxy_factory_fn: Callable[[Node], Any] | None = None,
    ) -> Any:
        """Return a proxy of a new node, whose arguments may hold proxies."""
        new_args, new_kwargs = self.create_arg(args), self.create_arg(kwargs)
        if not isinstance(new_args, tuple) or not isinstance(new_kwargs, dict):
            raise AssertionError("arguments of a node are a tuple and a dict")
        node = self.create_node(kind, target, new_args, new_kwargs, name, type_expr)
        return self.proxy(node) if proxy_factory_fn is None else proxy_factory_fn(node)

    def create_arg(self, a: Any) -> Any:
        """Return a value as an argument of a node."""
        if isinstance(a, Proxy):
            return a.node
        if hasattr(a, "__fx_create_arg__"):
            return a.__fx_create_arg__(self)
        if isinstance(a, tuple):
            if hasattr(a, "_fields"):
                return self.create_node("call_function", type(a), tuple(self.create_arg(x) for x in a), {})
            return tuple(self.create_arg(item) for item in a)
        if isinstance(a, list):
            return [self.create_arg(item) for item in a]
        if isinstance(a, dict):
            if any(isinstance(key, Proxy) for key in a):
                raise RuntimeError(f"Keys for dictionaries used as an argument cannot contain a Node. Got key: {a}")
            return {key: self.create_arg(value) for key, value in a.items()}
        if isinstance(a, slice):
            return slice(self.create_arg(a.start), self.create_arg(a.stop), self.create_arg(a.step))
        if isinstance(a, range):
            return range(self.create_arg(a.start), self.create_arg(a.stop), self.create_arg(a.step))
        if isinstance(a, (*_PLAIN, Node, FunctionType, type)) or hasattr(a, "overloadpacket") or callable(a):
            return a
        raise NotImplementedError(f"argument of type: {type(a)}")

    def to_bool(self, obj: Proxy) -> bool:
        """Raise: a branch on a value cannot be traced."""
        raise TraceError("symbolically traced variables cannot be used as inputs to control flow")

    def iter(self, obj: Proxy) -> Iterator:
        """Raise: the number of iterations is not known."""
        raise TraceError(
            "Proxy object cannot be iterated. This can be attempted when the Proxy is used in a loop or as a *args or"
            " **kwargs function argument. See the torch.fx docs on pytorch.org for a more detailed explanation of what"
            " types of control flow can be traced, and check out the Proxy docstring for help troubleshooting Proxy"
            " iteration errors"
        )

    def keys(self, obj: Proxy) -> Any:
        """Return ``obj.keys()``, recorded."""
        return Attribute(obj, "keys")()


class GraphAppendingTracer(TracerBase):
    """Appends to a graph that is there already."""

    def __init__(self, graph: Any) -> None:
        self.graph = graph
        self.scope = None
        self.module_stack: dict[str, Any] = {}
        self.node_name_to_scope: dict[str, Any] = {}


class Proxy:
    """Stands for a value while a function is traced: what is done with it becomes nodes of a graph.

    Examples
    --------
    >>> import dualtape as dt
    >>> graph = dt.fx.Graph()
    >>> x = dt.fx.Proxy(graph.placeholder("x"))
    >>> y = dt.relu(x).sum(0) + x.shape[0]
    >>> y
    Proxy(add)
    >>> [node.name for node in graph.nodes]
    ['x', 'relu', 'sum_1', 'getattr_1', 'getitem', 'add']
    """

    def __init__(self, node: Node, tracer: TracerBase | None = None) -> None:
        self.tracer = GraphAppendingTracer(node.graph) if tracer is None else tracer
        self.node = node

    def __repr__(self) -> str:
        return f"Proxy({self.node.name})"

    def __getattr__(self, k: str) -> Any:
        if k.startswith("__") and k.endswith("__"):
            raise AttributeError(k)
        return Attribute(self, k)

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__

    def __deepcopy__(self, memo: Any) -> Proxy:
        from copy import deepcopy

        return Proxy(deepcopy(self.node, memo), self.tracer)

    def __setstate__(self, d: dict[str, Any]) -> None:
        self.__dict__ = d

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.tracer.create_proxy("call_method", "__call__", (self, *args), kwargs)

    def __iter__(self) -> Iterator:
        frame = sys._getframe(1)
        code = frame.f_code.co_code
        # Unpacking says how many values it wants.
        if code[frame.f_lasti] == dis.opmap["UNPACK_SEQUENCE"] or dis.opname[code[frame.f_lasti]].startswith(
            "UNPACK_SEQUENCE"
        ):
            return iter([self[number] for number in range(code[frame.f_lasti + 1])])  # type: ignore[index]
        return self.tracer.iter(self)

    def __abs__(self) -> Any:
        return self.tracer.create_proxy("call_function", operator.abs, (self,), {})

    def __bool__(self) -> bool:
        return self.tracer.to_bool(self)

    def keys(self) -> Any:
        """Return ``keys()`` of the value, recorded."""
        return self.tracer.keys(self)

    def __len__(self) -> int:
        raise RuntimeError(
            "'len' is not supported in symbolic tracing by default. If you want this call to be recorded, please call"
            " torch.fx.wrap('len') at module scope"
        )

    @classmethod
    def __torch_function__(cls, orig_method: Any, types: Any, args: tuple = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        tracer = next(proxy.tracer for proxy in proxies_in((args, kwargs)))
        # Most functions here are the methods too: a public one was called as a function.
        if not is_public(orig_method) and is_tensor_method_or_property(orig_method):
            return tracer.create_proxy("call_method", orig_method.__name__, args, kwargs)
        orig_method, args, kwargs = recorded(orig_method, args, kwargs)
        return tracer.create_proxy("call_function", orig_method, args, kwargs)


def proxies_in(value: Any) -> Iterator[Proxy]:
    """Yield the proxies in nested arguments."""
    if isinstance(value, Proxy):
        yield value
    elif isinstance(value, (tuple, list)):
        for item in value:
            yield from proxies_in(item)
    elif isinstance(value, dict):
        yield from proxies_in(list(value.values()))
    elif isinstance(value, slice):
        yield from proxies_in((value.start, value.stop, value.step))


class Attribute(Proxy):
    """An attribute of a proxy: a node only if it is not called."""

    def __init__(self, root: Proxy, attr: str) -> None:
        self.root, self.attr, self.tracer = root, attr, root.tracer
        self._node: Node | None = None

    @property
    def node(self) -> Node:  # type: ignore[override]
        """The node that reads the attribute."""
        if self._node is None:
            self._node = self.tracer.create_proxy("call_function", getattr, (self.root, self.attr), {}).node
        return self._node

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.tracer.create_proxy("call_method", self.attr, (self.root, *args), kwargs)


class ParameterProxy(Proxy):
    """Stands for a parameter whose shape is known."""

    def __init__(self, tracer: TracerBase, node: Node, name: str, param: Tensor) -> None:
        super().__init__(node, tracer)
        self.param, self.name = param, name

    def __repr__(self) -> str:
        return f"ParameterProxy({self.name})"

    @property
    def shape(self) -> Any:
        """The shape of the parameter."""
        return self.param.shape

    def size(self, *args: Any) -> Any:
        """Return the shape of the parameter."""
        return self.param.size(*args)

    def dim(self) -> int:
        """Return the number of dimensions."""
        return self.param.dim()

    @property
    def ndim(self) -> int:
        """The number of dimensions."""
        return self.param.ndim

    def numel(self) -> int:
        """Return the number of elements."""
        return self.param.numel()


def _operator(name: str, function: Callable, reflected: bool = False) -> None:
    def method(self: Proxy, *args: Any) -> Any:
        given = (*args, self) if reflected else (self, *args)
        tracer = next(proxy.tracer for proxy in proxies_in(given))
        return tracer.create_proxy("call_function", function, given, {})

    method.__name__ = f"__{'r' if reflected else ''}{name}__"
    setattr(Proxy, method.__name__, method)


for _name in "eq ne lt gt le ge pos neg invert getitem".split():
    _operator(_name, getattr(operator, _name))
for _name in "add sub mul floordiv truediv mod pow matmul lshift rshift and or xor".split():
    _operator(_name, getattr(operator, f"{_name}_" if _name in ("and", "or") else _name))
    _operator(_name, getattr(operator, f"{_name}_" if _name in ("and", "or") else _name), reflected=True)
