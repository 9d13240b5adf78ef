"""``Graph``: a list of nodes, and the Python source that runs them."""

from __future__ import annotations

import builtins
import contextlib
import copy
import enum
import keyword
import math
import re
import sys
import types
import typing
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, Union

from .._tensor.device import device as Device
from .._tensor.device import layout as Layout
from .._tensor.device import memory_format as MemoryFormat
from .._tensor.dtypes import dtype as DType
from .._tensor.tensor import Tensor
from .names import qualified_name, short_name
from .node import Node, map_arg

__all__ = ["CodeGen", "Graph", "PythonCode"]

# The signs of the functions of the module operator.
_SIGNS = dict(
    pair.split(":")
    for pair in (
        "add:+ sub:- mul:* floordiv:// truediv:/ mod:% pow:** matmul:@ lshift:<< rshift:>> and_:& or_:| xor:^"
    ).split()
)
_COMPARISONS = dict(pair.split(":") for pair in "eq:== ne:!= lt:< gt:> le:<= ge:>=".split())
_OPERATORS = {name: f"{{}} {sign} {{}}" for name, sign in {**_SIGNS, **_COMPARISONS}.items()}
_OPERATORS.update(pos="+{}", neg="-{}", invert="~{}", getitem="{}[{}]")
_IN_PLACE = {f"i{name.rstrip('_')}": sign for name, sign in _SIGNS.items()}
_NUMBERED = re.compile(r"(.*)_(\d+)$")
_ILLEGAL = re.compile(r"[^0-9a-zA-Z_]+")
# Names that generated code needs.
_RESERVED = ("inf", "nan", "NoneType", "torch", "device", "fx_pytree", "pytree")


def _snake_case(name: str) -> str:
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).lower() if any(c.isupper() for c in name) else name


class _Namespace:
    """The names that are used in generated code."""

    def __init__(self) -> None:
        self._owners: dict[Any, str] = {}
        self._used: set[str] = set()
        self._counts: dict[str, int] = {}

    def create_name(self, candidate: str, obj: Any) -> str:
        """Return a name that is not used yet, like ``candidate``; the same for the same object."""
        if obj is not None and obj in self._owners:
            return self._owners[obj]
        candidate = _ILLEGAL.sub("_", candidate) or "_unnamed"
        if candidate[0].isdigit():
            candidate = f"_{candidate}"
        numbered = _NUMBERED.match(candidate)
        base, number = (numbered[1], int(numbered[2])) if numbered else (candidate, None)
        if number is None or candidate in self._used:
            number = self._counts.get(candidate, 0) if numbered is None else self._counts.get(base, 0)
            candidate = base if numbered is None else candidate
        while candidate in self._used or self._is_taken(candidate):
            number = (number or 0) + 1
            candidate = f"{base}_{number}"
        self._used.add(candidate)
        self._counts[base] = max(number or 0, self._counts.get(base, 0)) if number else self._counts.get(base, 0)
        if obj is not None:
            self._owners[obj] = candidate
        return candidate

    def associate_name_with_obj(self, name: str, obj: Any) -> None:
        """Take a name for an object."""
        self._owners[obj] = name
        self._used.add(name)

    @staticmethod
    def _is_taken(name: str) -> bool:
        return keyword.iskeyword(name) or name in vars(builtins) or name in _RESERVED


@dataclass
class PythonCode:
    """Generated source, and the names that it reads."""

    src: str
    globals: dict[str, Any]
    _lineno_map: dict[int, int | None] | None = None
    _prologue_start: int = 0


@dataclass
class _Source:
    """The source of one graph while it is being written."""

    namespace: _Namespace
    globals: dict[str, Any] = field(default_factory=dict)
    wrapped: dict[str, None] = field(default_factory=dict)

    def name_of(self, hint: str, value: Any) -> str:
        """Return the name by which the source reads a value from outside."""
        if hint.split(".")[0] == "torch" and value is not Device and _is_found(hint):
            return hint
        name = hint.replace(".", "_")
        if self.globals.get(name) is value and name in self.globals:
            return name
        name = self.namespace.create_name(name, _Boxed(value))
        self.globals[name] = value
        return name

    def kind(self, kind: Any) -> str:
        """Return an annotation."""
        if kind == ():
            return "()"
        if kind is None or kind is type(None):
            return "NoneType"
        if kind is Tensor:
            return "torch.Tensor"
        origin, arguments = typing.get_origin(kind), typing.get_args(kind)
        if origin is not None and arguments:
            if origin in (Union, types.UnionType):
                base = self.name_of("typing.Union", Union)
            elif type(kind) is types.GenericAlias:
                base = shown_type(origin)
            else:
                name = getattr(kind, "_name", None) or origin.__name__
                base = self.name_of(f"typing.{name}", getattr(typing, name, origin))
            inside = [self.kind(part) if part is not ... else "..." for part in arguments]
            return f"{base}[{','.join(inside)}]"
        if isinstance(kind, type) and kind.__module__ == "builtins":
            return kind.__name__
        return self.name_of(shown_type(kind), kind)

    def value(self, arg: Any) -> str:
        """Return an argument as source."""
        if isinstance(arg, Node):
            return repr(arg)
        if isinstance(arg, tuple) and hasattr(arg, "_fields"):
            name = self.name_of(shown_type(type(arg)), type(arg))
            return f"{name}{tuple(arg)!r}" if not arg else f"{name}({', '.join(map(self.value, arg))})"
        if isinstance(arg, tuple):
            return f"({', '.join(map(self.value, arg))}{',' if len(arg) == 1 else ''})"
        if isinstance(arg, list):
            return f"[{', '.join(map(self.value, arg))}]"
        if isinstance(arg, dict):
            return "{" + ", ".join(f"{key!r}: {self.value(item)}" for key, item in arg.items()) + "}"
        if isinstance(arg, slice):
            return f"slice({self.value(arg.start)}, {self.value(arg.stop)}, {self.value(arg.step)})"
        if isinstance(arg, DType):
            return f"torch.{arg.name}"
        if isinstance(arg, (Layout, MemoryFormat)):
            return f"torch.{str(arg).rpartition('.')[2]}"
        if isinstance(arg, enum.Enum):
            return f"{self.name_of(shown_type(type(arg)), type(arg))}.{arg.name}"
        if arg is Ellipsis:
            return "Ellipsis"
        if callable(arg) and (hasattr(arg, "__qualname__") or hasattr(arg, "overloadpacket")):
            return self.name_of(shown_type(arg) if isinstance(arg, type) else qualified_name(arg), arg)
        return repr(arg)

    def arguments(self, args: tuple, kwargs: dict[str, Any]) -> str:
        """Return the arguments of a call."""
        return ", ".join([*map(self.value, args), *(f"{key} = {self.value(item)}" for key, item in kwargs.items())])


def _is_found(path: str) -> bool:
    """Return whether generated code finds a name of PyTorch's here."""
    value: Any = sys.modules["dualtape"]
    for part in path.split(".")[1:]:
        value = getattr(value, part, None)
        if value is None:
            return False
    return True


class _Boxed:
    """A value by its identity, as a key."""

    def __init__(self, value: Any) -> None:
        self.value = value

    def __hash__(self) -> int:
        return id(self.value)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Boxed) and other.value is self.value


def shown_type(kind: Any) -> str:
    """Return a type as text."""
    if isinstance(kind, type) and not typing.get_args(kind):
        if kind.__module__ == "builtins":
            return kind.__qualname__
        if kind is Tensor:
            return "torch.Tensor"
        module = kind.__module__
        return f"{'torch' + module[8:] if module.startswith('dualtape') else module}.{kind.__qualname__}"
    if kind is ...:
        return "..."
    return re.sub(r"\bdualtape(\._tensor\.tensor)?\b", "torch", repr(kind))


def _format_target(base: str, target: str) -> str:
    for part in target.split("."):
        base = f"{base}.{part}" if part.isidentifier() and not keyword.iskeyword(part) else f'getattr({base}, "{part}")'
    return base


class CodeGen:
    """Writes the source of a graph: a subclass may change the head of the function, and what goes in and out.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.fx.Graph()._codegen.gen_fn_def(["x"], "")
    'def forward(self, x):'
    """

    def __init__(self) -> None:
        self._body_transformer: Callable[[list[str]], list[str]] | None = None
        self._func_name = "forward"

    def gen_fn_def(self, free_vars: list[str], maybe_return_annotation: str, *, expanded_def: bool = False) -> str:
        """Return the first line of the function."""
        names = free_vars if free_vars and free_vars[0] == "self" else ["self", *free_vars]
        return f"def {self._func_name}({', '.join(names)}){maybe_return_annotation}:"

    def generate_output(self, output_args: Any, *, descs: Any = None, repr_fn: Callable[[Any], str] = repr) -> str:
        """Return the line that returns the result."""
        return f"return {repr_fn(output_args)}"

    def process_inputs(self, *args: Any) -> Any:
        """Return the inputs as the nodes take them."""
        return args

    def process_outputs(self, outputs: Any) -> Any:
        """Return the result as the caller gets it."""
        return outputs

    def additional_globals(self) -> list[tuple[str, Any]]:
        """Return more names for the source to read."""
        return []

    def _gen_python_code(self, nodes: list[Node], root_module: str, namespace: _Namespace) -> PythonCode:
        source = _Source(namespace, _standard_globals())
        source.globals.update(self.additional_globals())
        last_uses: dict[Node, list[Node]] = {}
        seen: set[Node] = set()
        for node in reversed(nodes):
            for used in node.all_input_nodes:
                if used not in seen:
                    seen.add(used)
                    last_uses.setdefault(node, []).append(used)
        free_vars: list[str] = []
        returned = ""
        body: list[str] = []
        for node in nodes:
            if node.op == "output":
                if node.type is not None:
                    returned = f" -> {source.kind(node.type)}"
                body.append(f"{self.generate_output(node.args[0], repr_fn=source.value)}\n")
                continue
            line = self._line(node, root_module, source, free_vars)
            if node.op == "placeholder":
                body.extend(line)
                continue
            gone = [*last_uses.get(node, ()), *([] if node.users else [node])]
            end = f";  {' = '.join([*map(repr, gone), 'None'])}\n" if gone else "\n"
            body.append("".join(line) + end)
        if not body:
            body.append("pass\n")
        if self._body_transformer is not None:
            body = self._body_transformer(body)
        wraps = "\n".join(f'torch.fx._symbolic_trace.wrap("{name}")' for name in source.wrapped)
        head = self.gen_fn_def(free_vars, returned)
        code = "\n".join(f"    {line}" for line in "".join(body).split("\n"))
        return PythonCode(f"\n{wraps}\n\n{head}\n{code}", source.globals)

    def _line(self, node: Node, root: str, source: _Source, free_vars: list[str]) -> list[str]:
        kind = "" if node.type is None else f" : {source.kind(node.type)}"
        name = repr(node)
        if node.op == "placeholder":
            default = f" = {source.value(node.args[0])}" if node.args else ""
            free_vars.append(f"{node.target}{kind}{default}")
            raw = node.target.replace("*", "")
            return [f"{name} = {raw}\n"] if raw != name else []
        if node.op == "get_attr":
            return [f"{name}{kind} = {_format_target(root, node.target)}"]
        if node.op == "call_method":
            target = _format_target(source.value(node.args[0]), node.target)
            return [f"{name}{kind} = {target}({source.arguments(node.args[1:], node.kwargs)})"]
        if node.op == "call_module":
            return [f"{name}{kind} = {_format_target(root, node.target)}({source.arguments(node.args, node.kwargs)})"]
        if node.op != "call_function":
            raise NotImplementedError(f"node: {node.op} {node.target}")
        target = node.target
        short = getattr(target, "__name__", "")
        if getattr(target, "__module__", None) == "_operator" and not node.kwargs:
            if short in _OPERATORS:
                return [f"{name}{kind} = {_OPERATORS[short].format(*map(source.value, node.args))}"]
            if short in _IN_PLACE:
                left, right = map(source.value, node.args)
                return [f"{left} {_IN_PLACE[short]}= {right};  {name}{kind} = {left}"]
        path = qualified_name(target)
        called = source.name_of(path, target) if "." in path else path
        if path == "getattr" and len(node.args) == 2 and isinstance(node.args[1], str) and node.args[1].isidentifier():
            return [f"{name}{kind} = {_format_target(source.value(node.args[0]), node.args[1])}"]
        if getattr(node, "meta", {}).get("is_wrapped"):
            source.wrapped[called] = None
        return [f"{name}{kind} = {called}({source.arguments(node.args, node.kwargs)})"]


def _standard_globals() -> dict[str, Any]:
    return {
        "inf": math.inf,
        "nan": math.nan,
        "NoneType": type(None),
        "torch": sys.modules["dualtape"],
        "device": Device,
    }


class _NodeList:
    """The nodes of a graph in their order."""

    def __init__(self, graph: Graph, direction: str = "_next") -> None:
        self.graph, self.direction = graph, direction

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def __iter__(self) -> Iterator[Node]:
        root = self.graph._root
        node = getattr(root, self.direction)
        while node is not root:
            following = getattr(node, self.direction)
            if not node._erased:
                yield node
            # A node that was moved or erased meanwhile no longer leads on.
            node = getattr(node, self.direction) if not node._erased else following

    def __reversed__(self) -> _NodeList:
        return _NodeList(self.graph, "_next" if self.direction == "_prev" else "_prev")


class Graph:
    """The steps of a function, in order.

    Examples
    --------
    >>> import dualtape as dt
    >>> graph = dt.fx.Graph()
    >>> x = graph.placeholder("x")
    >>> y = graph.call_function(dt.relu, (x,))
    >>> _ = graph.output(y)
    >>> print(graph)
    graph():
        %x : [num_users=1] = placeholder[target=x]
        %relu : [num_users=1] = call_function[target=torch.relu](args = (%x,), kwargs = {})
        return relu
    >>> dt.fx.GraphModule({}, graph)(dt.tensor([-1.0, 2.0]))
    tensor([0., 2.])
    """

    def __init__(self, owning_module: Any = None, tracer_cls: type | None = None, tracer_extras: Any = None) -> None:
        self._root = Node(self, "", "root", "", (), {})
        self._insert: Callable[[Node], None] = self._root.prepend
        self._codegen, self._graph_namespace = CodeGen(), _Namespace()
        self._tracer_cls, self._tracer_extras = tracer_cls, tracer_extras
        self._owning_module = owning_module

    @property
    def owning_module(self) -> Any:
        """The GraphModule that runs the graph, if there is one."""
        return self._owning_module

    @owning_module.setter
    def owning_module(self, module: Any) -> None:
        self._owning_module = module

    @property
    def nodes(self) -> _NodeList:
        """The nodes in order; ``reversed`` gives them from the end."""
        return _NodeList(self)

    def output_node(self) -> Node:
        """Return the node of the result."""
        last = self._root._prev
        if last.op != "output":
            raise RuntimeError("the graph has no output node")
        return last

    def find_nodes(self, *, op: str, target: Any = None, sort: bool = True) -> list[Node]:
        """Return the nodes of a kind, and of a target."""
        if op == "call_function" and target is None:
            raise AssertionError("find_nodes(op='call_function') needs a target")
        return [node for node in self.nodes if node.op == op and (target is None or node.target == target)]

    # --- making nodes -----------------------------------------------------------------------------

    def _target_to_str(self, target: Any) -> str:
        name = target if isinstance(target, str) else short_name(target)
        if callable(target) and hasattr(target, "overloadpacket") and hasattr(target, "_opname"):
            name = target._opname
        if name.startswith("__") and name.endswith("__"):
            name = name[2:-2]
        return _snake_case(name)

    def create_node(
        self,
        op: str,
        target: Any,
        args: tuple | None = None,
        kwargs: dict[str, Any] | None = None,
        name: str | None = None,
        type_expr: Any = None,
    ) -> Node:
        """Return a new node, inserted where new nodes go: at the end, or at the point of ``inserting_before``."""
        if op not in ("call_function", "call_method", "get_attr", "call_module", "placeholder", "output"):
            raise AssertionError(f"Unknown op: {op}")
        args, kwargs = () if args is None else args, {} if kwargs is None else kwargs
        if not isinstance(args, tuple):
            raise AssertionError("args must be a tuple")
        if not isinstance(kwargs, dict):
            raise AssertionError("kwargs must be a dict")
        candidate = name if name is not None else self._target_to_str(target)
        node = Node(self, self._graph_namespace.create_name(candidate, None), op, target, args, kwargs, type_expr)
        for used in node._input_nodes:
            if used.graph is not self:
                raise RuntimeError(f"argument {used} of {node} belongs to another graph: copy it with node_copy")
        self._graph_namespace.associate_name_with_obj(node.name, node)
        self._insert(node)
        return node

    def placeholder(self, name: str, type_expr: Any = None, default_value: Any = ...) -> Node:
        """Return a new input."""
        args = () if default_value is ... else (default_value,)
        return self.create_node("placeholder", name, args=args, type_expr=type_expr)

    def get_attr(self, qualified_name: str, type_expr: Any = None) -> Node:
        """Return a node that reads an attribute of the module."""
        return self.create_node("get_attr", qualified_name, type_expr=type_expr)

    def call_module(
        self, module_name: str, args: tuple | None = None, kwargs: dict[str, Any] | None = None, type_expr: Any = None
    ) -> Node:
        """Return a node that calls a submodule."""
        return self.create_node("call_module", module_name, args, kwargs, type_expr=type_expr)

    def call_method(
        self, method_name: str, args: tuple | None = None, kwargs: dict[str, Any] | None = None, type_expr: Any = None
    ) -> Node:
        """Return a node that calls a method of its first argument."""
        return self.create_node("call_method", method_name, args, kwargs, type_expr=type_expr)

    def call_function(
        self,
        the_function: Callable,
        args: tuple | None = None,
        kwargs: dict[str, Any] | None = None,
        type_expr: Any = None,
        name: str | None = None,
    ) -> Node:
        """Return a node that calls a function."""
        return self.create_node("call_function", the_function, args, kwargs, name=name, type_expr=type_expr)

    def output(self, result: Any, type_expr: Any = None) -> Node:
        """Return the node of the result."""
        return self.create_node("output", "output", args=(result,), type_expr=type_expr)

    def node_copy(self, node: Node, arg_transform: Callable[[Node], Any] = lambda x: x) -> Node:
        """Return a copy of a node of another graph; ``arg_transform`` says what its inputs are here."""
        args, kwargs = map_arg(node.args, arg_transform), map_arg(node.kwargs, arg_transform)
        result = self.create_node(node.op, node.target, args, kwargs, node.name, node.type)
        result.meta = copy.copy(node.meta)
        return result

    def graph_copy(self, g: Graph, val_map: dict[Node, Node], return_output_node: bool = False) -> Any:
        """Copy the nodes of a graph that are not in ``val_map`` yet, and return its result."""
        known = lambda used: val_map[used]
        for old in [node for node in g.nodes if node not in val_map]:
            if old.op == "output":
                result = map_arg(old.args[0], known)
                return (result, old) if return_output_node else result
            val_map[old] = self.node_copy(old, known)
        return None

    # --- changing ---------------------------------------------------------------------------------

    def erase_node(self, to_erase: Node) -> None:
        """Remove a node that nothing uses."""
        if to_erase.users:
            raise RuntimeError(
                f"Tried to erase Node {to_erase} but it still had {len(to_erase.users)} users in the graph:"
                f" {to_erase.users}!"
            )
        if to_erase.graph is not self:
            raise RuntimeError(f"Attempting to remove {to_erase} from wrong graph!")
        if to_erase._erased:
            return
        following, before = to_erase._next, to_erase._prev
        to_erase._unlink()
        # An iteration that stands at the node goes on from it.
        to_erase._next, to_erase._prev = following, before
        to_erase._erased = True
        to_erase._set((), {})

    @contextlib.contextmanager
    def _inserting(self, insert: Callable[[Node], None]) -> Iterator[None]:
        before, self._insert = self._insert, insert
        try:
            yield
        finally:
            self._insert = before

    def inserting_before(self, n: Node | None = None) -> contextlib.AbstractContextManager[None]:
        """Return a context in which new nodes go before ``n``; before all, if None."""
        if n is None:
            return self.inserting_after(self._root)
        if n.graph is not self:
            raise AssertionError("Node to insert before is not in graph.")
        return self._inserting(n.prepend)

    def inserting_after(self, n: Node | None = None) -> contextlib.AbstractContextManager[None]:
        """Return a context in which new nodes go after ``n``, in order; at the end, if None."""
        if n is None:
            return self.inserting_before(self._root)
        if n.graph is not self:
            raise AssertionError("Node to insert after is not in graph.")
        last = [n]

        def insert(node: Node) -> None:
            last[0].append(node)
            last[0] = node

        return self._inserting(insert)

    def eliminate_dead_code(self, is_impure_node: Callable[[Node], bool] | None = None) -> bool:
        """Remove the nodes that nothing uses and that do nothing else; return whether there were any."""
        self.lint()
        impure = is_impure_node or (lambda node: node.is_impure())
        changed = False
        for node in list(reversed(self.nodes)):
            if not node.users and not impure(node):
                self.erase_node(node)
                changed = True
        return changed

    def lint(self) -> None:
        """Raise where the graph is wrong: a value that is used before it is there, a name twice, a missing target."""
        names: set[str] = set()
        values: set[Node] = set()
        for node in self.nodes:
            if node.graph is not self:
                raise RuntimeError(f"Node '{node}' does not belong to this Graph!")
            for used in node.all_input_nodes:
                if used.graph is not self:
                    raise RuntimeError(f"Argument '{used}' of Node '{node}' does not belong to this Graph")
                if used not in values:
                    raise RuntimeError(
                        f"Argument '{used}' of Node '{node}' was used before it has been defined! Please check that"
                        f" Nodes in the graph are topologically ordered\n{self}"
                    )
            values.add(node)
            if node.name in names:
                raise RuntimeError(f"Node redefined name {node.name}!")
            names.add(node.name)
            if node.op == "call_function":
                if not callable(node.target):
                    raise ValueError(
                        f"Node {node} target {node.target} has type {type(node.target)} but a Callable is expected"
                    )
            elif not isinstance(node.target, str):
                raise ValueError(f"Node {node} target {node.target} has type {type(node.target)} but a str is expected")
            if self.owning_module is not None and node.op in ("get_attr", "call_module"):
                found = self.owning_module
                for part in node.target.split("."):
                    if not hasattr(found, part):
                        raise RuntimeError(f"Node {node} target {node.target} references nonexistent attribute {part}")
                    found = getattr(found, part)

    # --- source -----------------------------------------------------------------------------------

    def python_code(self, root_module: str, **options: Any) -> PythonCode:
        """Return the source of the graph; ``root_module`` is the name by which it reads the module."""
        namespace = _Namespace()
        for node in self.nodes:
            namespace.associate_name_with_obj(node.name, node)
        return self._codegen._gen_python_code(list(self.nodes), root_module, namespace)

    def set_codegen(self, codegen: CodeGen) -> None:
        """Write the source by another generator."""
        self._codegen = codegen

    @contextlib.contextmanager
    def _restored(self, before: Any) -> Iterator[None]:
        try:
            yield
        finally:
            self._codegen._body_transformer = before

    def on_generate_code(self, make_transformer: Callable[[Any], Any]) -> contextlib.AbstractContextManager[None]:
        """Let a function change the lines of the source, from now on or to the end of the context."""
        before = self._codegen._body_transformer
        self._codegen._body_transformer = make_transformer(before)
        return self._restored(before)

    def process_inputs(self, *args: Any) -> Any:
        """Return the inputs as the nodes take them."""
        return self._codegen.process_inputs(*args)

    def process_outputs(self, out: Any) -> Any:
        """Return the result as the caller gets it."""
        return self._codegen.process_outputs(out)

    def print_tabular(self) -> None:
        """Print the nodes as a table, where the package tabulate is installed."""
        try:
            from tabulate import tabulate  # type: ignore[import-untyped, unused-ignore]
        except ImportError:
            print(
                "`print_tabular` relies on the library `tabulate`, which could not be found on this machine. Run `pip"
                " install tabulate` to install the library."
            )
            raise
        rows = [[node.op, node.name, node.target, node.args, node.kwargs] for node in self.nodes]
        print(tabulate(rows, headers=["opcode", "name", "target", "args", "kwargs"]))

    def __str__(self) -> str:
        lines = [node.format_node() for node in self.nodes]
        return "\n    ".join(["graph():", *(line for line in lines if line)])

    def __deepcopy__(self, memo: dict[int, Any] | None = None) -> Graph:
        new = Graph(tracer_cls=self._tracer_cls, tracer_extras=self._tracer_extras)
        new._codegen = copy.deepcopy(self._codegen)
        values: dict[Node, Node] = {}
        found = new.graph_copy(self, values, return_output_node=True)
        if found is not None:
            result, old = found
            output = new.output(result, old.type)
            output.meta = copy.copy(old.meta)
        return new

    def __reduce__(self) -> tuple:
        from .pickling import described, rebuilt

        return rebuilt, (described(self),)
