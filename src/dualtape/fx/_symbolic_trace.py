"""``symbolic_trace``: run a module or function once on proxies, and keep what it did as a graph."""

from __future__ import annotations

import builtins
import functools
import inspect
import math
import types
from collections import OrderedDict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any
from warnings import warn

from .._tensor.tensor import Tensor
from ..nn import Module, Parameter, Sequential
from ..overrides.subclass import activate_overrides
from .asserts import _assert
from .graph import Graph
from .graph_module import GraphModule
from .node import Node
from .proxy import ParameterProxy, TracerBase, proxies_in

__all__ = ["PH", "PHBase", "PHWithMeta", "ProxyableClassMeta", "Tracer", "is_fx_tracing", "symbolic_trace", "wrap"]

_tracing: list[TracerBase] = []
# Functions that are recorded as a whole, by the globals that have them and their name there.
_wrapped: dict[tuple[int, str], dict[str, Any]] = {}
_proxyable: set[type] = set()


def is_fx_tracing() -> bool:
    """Return whether a function is being traced.

    Examples
    --------
    >>> from dualtape.fx._symbolic_trace import is_fx_tracing
    >>> is_fx_tracing()
    False
    """
    return bool(_tracing)


is_fx_symbolic_tracing = is_fx_tracing


class PHBase:
    """Stands for an input in ``concrete_args`` that is not fixed."""

    def __repr__(self) -> str:
        return "PH"


PH = PHBase()


class PHWithMeta(PHBase):
    """An input that is not fixed, with a name."""

    def __init__(self, ph_key: str | None = None) -> None:
        super().__init__()
        self.ph_key = ph_key


class ProxyableClassMeta(type):
    """Metaclass of classes whose construction is recorded when an argument is a proxy.

    Examples
    --------
    >>> import dualtape as dt
    >>> class Pair(metaclass=dt.fx.ProxyableClassMeta):
    ...     def __init__(self, left, right):
    ...         self.left, self.right = left, right
    >>> traced = dt.fx.symbolic_trace(lambda x: Pair(x, x).left + 1)
    >>> traced(dt.ones(1))
    tensor([2.])
    """

    def __init__(cls, name: str, bases: tuple, attrs: dict[str, Any]) -> None:
        _proxyable.add(cls)
        super().__init__(name, bases, attrs)

    def __call__(cls, *args: Any, **kwargs: Any) -> Any:
        if not is_fx_tracing():
            return super().__call__(*args, **kwargs)
        found = list(proxies_in((args, kwargs)))
        if not found:
            return super().__call__(*args, **kwargs)
        made = cls.__new__(cls)  # type: ignore[call-overload]
        made.__init__(*args, **kwargs)
        made.__dict__["_fx_made_of"] = (args, kwargs)
        return made


def wrap(fn_or_name: Any) -> Any:
    """Record calls of a function as a whole, where traced code of this module calls it; return the argument.

    Parameters
    ----------
    fn_or_name : str or callable
        The function, as a decorator, or the name that it has in the module that calls this.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.fx.wrap(3)
    Traceback (most recent call last):
        ...
    RuntimeError: Unsupported type for global function! Must be either a callable or string name
    """
    if not callable(fn_or_name) and not isinstance(fn_or_name, str):
        raise RuntimeError("Unsupported type for global function! Must be either a callable or string name")
    name = fn_or_name if isinstance(fn_or_name, str) else fn_or_name.__name__
    frame = inspect.currentframe()
    assert frame is not None and frame.f_back is not None
    if frame.f_back.f_code.co_name != "<module>":
        raise NotImplementedError("wrap must be called at the top level of a module")
    scope = frame.f_back.f_globals
    _wrapped[(id(scope), name)] = scope
    return fn_or_name


def _recording(original: Callable) -> Callable:
    """Return a function that records its call if an argument is a proxy."""

    @functools.wraps(original)
    def wrapped(*args: Any, **kwargs: Any) -> Any:
        found = next(proxies_in((args, kwargs)), None)
        if found is None:
            return original(*args, **kwargs)
        result = found.tracer.create_proxy("call_function", original, args, kwargs)
        result.node.meta["is_wrapped"] = True
        return result

    return wrapped


class Tracer(TracerBase):
    """Traces modules and functions; subclasses say what is recorded as a whole.

    Parameters
    ----------
    autowrap_modules : tuple of modules
        Their functions are recorded as a whole.
    autowrap_functions : tuple of callables
        These are too.
    param_shapes_constant : bool
        Whether shapes of parameters are numbers while tracing.

    Examples
    --------
    >>> import dualtape as dt
    >>> class Whole(dt.fx.Tracer):
    ...     def is_leaf_module(self, m, module_qualified_name):
    ...         return True
    >>> net = dt.nn.Sequential(dt.nn.Sequential(dt.nn.ReLU()))
    >>> [node.target for node in Whole().trace(net).nodes]
    ['input', '0', 'output']
    """

    def __init__(
        self,
        autowrap_modules: tuple = (math,),
        autowrap_functions: tuple = (),
        param_shapes_constant: bool = False,
    ) -> None:
        self._autowrap = autowrap_modules
        self._autowrap_functions = autowrap_functions
        self.param_shapes_constant = param_shapes_constant
        self.submodule_paths: dict[Module, str] | None = None
        self.root_module_name = ""
        self.module_stack: OrderedDict[str, tuple[str, Any]] = OrderedDict()
        self.scope = None
        self.tensor_attrs: dict[int, str] = {}
        self.num_calls: dict[str, int] = {}

    # --- what subclasses change -------------------------------------------------------------------

    def is_leaf_module(self, m: Module, module_qualified_name: str) -> bool:
        """Return whether a module is one node: those of the library, but not Sequential."""
        home = type(m).__module__
        return home.startswith(("dualtape.nn", "torch.nn")) and not isinstance(m, Sequential)

    def path_of_module(self, mod: Module) -> str:
        """Return the name of a submodule of the root."""
        for name, found in self.root.named_modules(remove_duplicate=False):
            if found is mod:
                return name
        raise NameError("module is not installed as a submodule")

    def call_module(self, m: Module, forward: Callable, args: tuple, kwargs: dict[str, Any]) -> Any:
        """Return the result of a submodule: a node if it is a leaf, else that of its forward."""
        path = self.path_of_module(m)
        self.module_stack[path] = (path, type(m))
        try:
            if self.is_leaf_module(m, path):
                return self.create_proxy("call_module", path, args, kwargs)
            return forward(*args, **kwargs)
        finally:
            self.module_stack.pop(path, None)

    def getattr(self, attr: str, attr_val: Any, parameter_proxy_cache: dict[str, Any]) -> Any:
        """Return what an attribute of a module is while tracing: a proxy, if it is a parameter of the root."""
        if isinstance(attr_val, Parameter):
            return self._attribute(attr_val, self.root.named_parameters(), parameter_proxy_cache, attr_val)
        if self.proxy_buffer_attributes and isinstance(attr_val, Tensor):
            return self._attribute(attr_val, self.root.named_buffers(), parameter_proxy_cache, None)
        return attr_val

    def _attribute(self, value: Any, candidates: Any, cache: dict[str, Any], param: Any) -> Any:
        for name, found in candidates:
            if found is value:
                if name not in cache:
                    shaped = self.param_shapes_constant and param is not None
                    factory = (lambda node: ParameterProxy(self, node, name, param)) if shaped else None  # noqa: B023
                    cache[name] = self.create_proxy("get_attr", name, (), {}, proxy_factory_fn=factory)
                return cache[name]
        return value

    def create_node(
        self, kind: str, target: Any, args: tuple, kwargs: dict, name: Any = None, type_expr: Any = None
    ) -> Node:
        node = super().create_node(kind, target, args, kwargs, name, type_expr)
        if self.module_stack and kind not in ("placeholder", "output"):
            node.meta["nn_module_stack"] = self.module_stack.copy()
        return node

    def get_fresh_qualname(self, prefix: str) -> str:
        """Return a name for a new attribute of the root."""
        number = 0
        while hasattr(self.root, f"{prefix}{number}"):
            number += 1
        return f"{prefix}{number}"

    def create_arg(self, a: Any) -> Any:
        if isinstance(a, Parameter):
            for name, value in self.root.named_parameters():
                if value is a:
                    return self.create_node("get_attr", name, (), {})
            raise NameError("parameter is not a member of this module")
        if isinstance(a, Tensor):
            for name, buffer in self.root.named_buffers():
                if buffer is a:
                    return self.create_node("get_attr", name, (), {})
            name = self.tensor_attrs.get(id(a), "")
            if not name:
                name = self.get_fresh_qualname("_tensor_constant")
                self.tensor_attrs[id(a)] = name
                setattr(self.root, name, a)
            return self.create_node("get_attr", name, (), {})
        if isinstance(a, Module):
            for name, module in self.root.named_modules():
                if module is a:
                    return self.create_node("get_attr", name, (), {})
        if type(a) in _proxyable and "_fx_made_of" in vars(a):
            args, kwargs = vars(a)["_fx_made_of"]
            return self.create_node("call_function", type(a), self.create_arg(args), self.create_arg(kwargs))
        return super().create_arg(a)

    # --- tracing ----------------------------------------------------------------------------------

    def trace(self, root: Module | Callable, concrete_args: dict[str, Any] | None = None) -> Graph:
        """Return the graph of a module or function.

        Parameters
        ----------
        root : Module or callable
            What is traced.
        concrete_args : dict, optional
            Values of arguments that are fixed; the graph asserts that it gets them.
        """
        if isinstance(root, Module):
            self.root, name = root, getattr(self, "traced_func_name", "forward")
            function: Any = getattr(type(root), name)
            self.root_module_name = root._get_name()
        else:
            self.root, function = Module(), root
        self.graph = Graph(tracer_cls=type(self))
        self.tensor_attrs = {}
        for prefix, module in self.root.named_modules():
            for key, value in vars(module).items():
                if isinstance(value, Tensor):
                    self.tensor_attrs[id(value)] = f"{prefix}.{key}" if prefix else key
        activate_overrides()
        function, args = self.create_args_for_root(function, isinstance(root, Module), concrete_args)
        _tracing.append(self)
        try:
            with self._patched(function):
                result = function(*args)
                returned = getattr(function, "__annotations__", {}).get("return")
                if isinstance(returned, str) and str(function.__module__).startswith("dualtape."):
                    returned = None
                self.create_node("output", "output", (self.create_arg(result),), {}, type_expr=returned)
        finally:
            _tracing.remove(self)
        return self.graph

    @contextmanager
    def _patched(self, function: Any) -> Iterator[None]:
        """Let modules, their attributes and wrapped functions ask this tracer."""
        cache: dict[str, Any] = {}
        undo: list[Callable[[], None]] = []
        missing = object()

        def put(scope: Any, name: str, value: Any) -> None:
            own = vars(scope) if isinstance(scope, type) else scope
            old = own.get(name, missing)
            store = (lambda key, v: setattr(scope, key, v)) if isinstance(scope, type) else scope.__setitem__
            drop = (lambda key: delattr(scope, key)) if isinstance(scope, type) else scope.__delitem__
            store(name, value)
            undo.append((lambda: drop(name)) if old is missing else (lambda: store(name, old)))

        members: dict[str, Any] = dict(vars(Module))
        call, read = Module.__call__, members["__getattr__"]

        def module_call(mod: Module, *args: Any, **kwargs: Any) -> Any:
            return self.call_module(mod, lambda *a, **k: call(mod, *a, **k), args, kwargs)

        def module_getattr(mod: Module, name: str) -> Any:
            return self.getattr(name, read(mod, name), cache)

        try:
            put(Module, "__call__", module_call)
            put(Module, "__getattr__", module_getattr)
            for module in self._autowrap:
                for name, value in list(vars(module).items()):
                    if not name.startswith("_") and callable(value) and not isinstance(value, type):
                        put(vars(module), name, _recording(value))
            scope = getattr(inspect.unwrap(function), "__globals__", {})
            wholes = {id(f) for f in self._autowrap_functions}
            for name, value in list(scope.items()):
                if id(value) in wholes:
                    put(scope, name, _recording(value))
            for (_, name), where in list(_wrapped.items()):
                original = where.get(name, getattr(builtins, name, None))
                if callable(original):
                    put(where, name, _recording(original))
            yield
        finally:
            for restore in reversed(undo):
                restore()

    def create_args_for_root(
        self, root_fn: Callable, is_module: bool, concrete_args: Any = None
    ) -> tuple[Callable, list[Any]]:
        """Return the function to call, and its arguments: the root, then a proxy for each input."""
        plain = inspect.unwrap(root_fn)
        code = plain.__code__ if hasattr(plain, "__code__") else None
        if code is None:
            raise TypeError(f"cannot trace {root_fn!r}: it has no Python code")
        count = code.co_argcount + code.co_kwonlyargcount
        names = list(code.co_varnames[: count + bool(code.co_flags & 4) + bool(code.co_flags & 8)])
        args: list[Any] = []
        if is_module or inspect.ismethod(plain):
            args.append(self.root if is_module else plain.__self__)
        signature = inspect.signature(plain)
        concrete = dict(concrete_args) if isinstance(concrete_args, dict) else {}
        if isinstance(concrete_args, tuple):
            concrete = dict(zip(names[len(args) :], concrete_args, strict=True))
        self._concrete_count = 0
        for name in names[len(args) : count]:
            args.append(self._placeholder(name, signature.parameters[name], concrete, plain.__module__ or ""))
        rest = names[count:]
        if code.co_flags & 4:
            args.append(self.create_proxy("placeholder", f"*{rest.pop(0)}", (), {}))
        if code.co_flags & 8:
            args.append(self.create_proxy("placeholder", f"**{rest.pop(0)}", (), {}))
        if code.co_kwonlyargcount or code.co_flags & 12:
            # Every parameter by position, so that one proxy stands for *args.
            flat = code.replace(
                co_argcount=len(names), co_kwonlyargcount=0, co_posonlyargcount=0, co_flags=code.co_flags & ~12
            )
            new = types.FunctionType(flat, plain.__globals__, plain.__name__, None, plain.__closure__)
            new.__annotations__ = plain.__annotations__
            return new, args
        return (root_fn if not inspect.ismethod(root_fn) else root_fn.__func__), args

    def _placeholder(self, name: str, parameter: inspect.Parameter, concrete: dict[str, Any], plain: str) -> Any:
        if name in concrete:
            value = concrete[name]
            if isinstance(value, (dict, list, tuple)) and next(_placed(value), None) is not None:
                raise NotImplementedError(
                    f"symbolic_trace: concrete_args[{name!r}] holds inputs in a container: give each as an argument"
                )
            self._concrete_count += 1
            out = self.create_proxy("placeholder", f"{name}_{self._concrete_count}", (), {})
            if isinstance(value, PHBase):
                return out
            message = f"{name} has been specialized to have value {value} but got another value"
            if type(value) is bool or isinstance(value, (int, float, str)):
                _recording(_assert)(out == value, message)
            elif value is None:
                _recording(_assert)(_recording(_is_none)(out), message)
            else:
                warn(
                    f"Was not able to add assertion to guard correctness of input {name}: the graph is for this one"
                    " value",
                    stacklevel=4,
                )
            return value
        default = () if parameter.default is parameter.empty else (parameter.default,)
        kind = None if parameter.annotation is parameter.empty else parameter.annotation
        if isinstance(kind, str) and plain.startswith("dualtape."):
            # The library's own annotations are texts, and say nothing about this call.
            kind = None
        return self.create_proxy("placeholder", name, default, {}, type_expr=kind)


def _is_none(value: Any) -> bool:
    return value is None


def _placed(value: Any) -> Iterator[PHBase]:
    if isinstance(value, PHBase):
        yield value
    elif isinstance(value, (list, tuple)):
        for item in value:
            yield from _placed(item)
    elif isinstance(value, dict):
        yield from _placed(list(value.values()))


def symbolic_trace(root: Module | Callable, concrete_args: dict[str, Any] | None = None) -> GraphModule:
    """Return a module that does what a module or function does, as a graph that can be read and changed.

    Parameters
    ----------
    root : Module or callable
        What is traced: it runs once, on proxies, so that a branch on a value raises.
    concrete_args : dict, optional
        Values of arguments that are fixed, which also fixes the branches that depend on them.

    Examples
    --------
    >>> import dualtape as dt
    >>> traced = dt.fx.symbolic_trace(lambda x: x.sin() + 1)
    >>> print(traced.graph)
    graph():
        %x : [num_users=1] = placeholder[target=x]
        %sin : [num_users=1] = call_method[target=sin](args = (%x,), kwargs = {})
        %add : [num_users=1] = call_function[target=operator.add](args = (%sin, 1), kwargs = {})
        return add
    >>> traced(dt.zeros(2))
    tensor([1., 1.])
    """
    tracer = Tracer()
    graph = tracer.trace(root, concrete_args)
    name = type(root).__name__ if isinstance(root, Module) else root.__name__
    return GraphModule(tracer.root, graph, name)
