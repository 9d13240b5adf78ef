"""``Node``: one step of a graph, linked to those before and after it, and to those whose values it takes."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from .._tensor.dtypes import dtype as DType
from .immutable_collections import immutable_dict, immutable_list
from .names import qualified_name as _get_qualified_name

if TYPE_CHECKING:
    from .graph import Graph

__all__ = ["Node", "has_side_effect", "map_aggregate", "map_arg"]

_side_effectful_functions: set[Callable] = set()
Argument = Any
Target = Any


def has_side_effect(fn: Callable) -> Callable:
    """Declare that calls of a function are kept even if nothing uses their results, and return it.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.fx.has_side_effect(print) is print
    True
    """
    _side_effectful_functions.add(fn)
    return fn


def map_aggregate(a: Any, fn: Callable[[Any], Any]) -> Any:
    """Return nested tuples, lists, dicts and slices with ``fn`` applied to what is in them.

    Examples
    --------
    >>> from dualtape.fx.node import map_aggregate
    >>> map_aggregate((1, [2, {"a": 3}]), lambda x: x * 10)
    (10, [20, {'a': 30}])
    """
    if isinstance(a, tuple):
        mapped = [map_aggregate(item, fn) for item in a]
        return type(a)(*mapped) if hasattr(a, "_fields") else tuple(mapped)
    if isinstance(a, list):
        return immutable_list([map_aggregate(item, fn) for item in a])
    if isinstance(a, dict):
        return immutable_dict([(key, map_aggregate(item, fn)) for key, item in a.items()])
    if isinstance(a, slice):
        return slice(*(map_aggregate(item, fn) for item in (a.start, a.stop, a.step)))
    return fn(a)


def map_arg(a: Any, fn: Callable[[Node], Any]) -> Any:
    """Return nested arguments with ``fn`` applied to the nodes in them.

    Examples
    --------
    >>> import dualtape as dt
    >>> graph = dt.fx.Graph()
    >>> x = graph.placeholder("x")
    >>> dt.fx.map_arg((x, 2), lambda node: node.name)
    ('x', 2)
    """
    if not callable(fn):
        raise AssertionError("torch.fx.map_arg(a, fn): fn must be a callable")
    return map_aggregate(a, lambda item: fn(item) if isinstance(item, Node) else item)


def _format_arg(arg: Any) -> str:
    if isinstance(arg, list):
        return f"[{', '.join(map(_format_arg, arg))}]"
    if isinstance(arg, tuple):
        return f"({', '.join(map(_format_arg, arg))}{',' if len(arg) == 1 else ''})"
    if isinstance(arg, dict):
        return "{" + ", ".join(f"{key}: {_format_arg(value)}" for key, value in arg.items()) + "}"
    if isinstance(arg, DType):
        return f"torch.{arg.name}"
    return f"%{arg}" if isinstance(arg, Node) else str(arg)


class Node:
    """A step of a graph: an input, an attribute, a call, or the result.

    ``op`` is one of ``placeholder``, ``get_attr``, ``call_function``, ``call_module``, ``call_method``, ``output``;
    ``target`` is what it takes or calls. ``users`` are the nodes that take its value.

    Examples
    --------
    >>> import dualtape as dt
    >>> traced = dt.fx.symbolic_trace(lambda x: dt.relu(x) + 1)
    >>> [(node.op, node.name) for node in traced.graph.nodes]
    [('placeholder', 'x'), ('call_function', 'relu'), ('call_function', 'add'), ('output', 'output')]
    """

    def __init__(
        self,
        graph: Graph,
        name: str,
        op: str,
        target: Target,
        args: tuple,
        kwargs: dict[str, Any],
        return_type: Any = None,
    ) -> None:
        self.graph, self.name, self.op, self.target = graph, name, op, target
        self.type = return_type
        self.users: dict[Node, None] = {}
        self.meta: dict[str, Any] = {}
        self._input_nodes: dict[Node, None] = {}
        self._prev = self._next = self
        self._erased = False
        self._args: tuple = ()
        self._kwargs: dict[str, Any] = {}
        self._repr_fn: Callable[[Node], str] | None = None
        self._set(args, kwargs)

    # --- links ------------------------------------------------------------------------------------

    @property
    def next(self) -> Node:
        """The node after this one."""
        return self._next

    @property
    def prev(self) -> Node:
        """The node before this one."""
        return self._prev

    def prepend(self, x: Node) -> None:
        """Move a node to the position before this one."""
        if self.graph is not x.graph:
            raise AssertionError("Attempting to move a Node into a different Graph")
        if self is x:
            return
        x._unlink()
        before = self._prev
        before._next, x._prev = x, before
        x._next, self._prev = self, x

    def append(self, x: Node) -> None:
        """Move a node to the position after this one."""
        self._next.prepend(x)

    def _unlink(self) -> None:
        self._prev._next, self._next._prev = self._next, self._prev
        self._prev = self._next = self

    def _order(self) -> int:
        return next(place for place, node in enumerate(self.graph.nodes) if node is self)

    def __lt__(self, other: Node) -> bool:
        return self._order() < other._order()

    def __gt__(self, other: Node) -> bool:
        return other < self

    # --- arguments --------------------------------------------------------------------------------

    @property
    def args(self) -> tuple:
        """The arguments by position."""
        return self._args

    @args.setter
    def args(self, a: tuple) -> None:
        self._set(a, self._kwargs)

    @property
    def kwargs(self) -> dict[str, Any]:
        """The arguments by name."""
        return self._kwargs

    @kwargs.setter
    def kwargs(self, k: dict[str, Any]) -> None:
        self._set(self._args, k)

    def _set(self, args: tuple, kwargs: dict[str, Any]) -> None:
        for node in self._input_nodes:
            node.users.pop(self, None)
        self._input_nodes = {}

        def use(node: Node) -> Node:
            self._input_nodes.setdefault(node)
            node.users.setdefault(self)
            return node

        self._args = map_arg(tuple(args), use)
        self._kwargs = map_arg(dict(kwargs), use)

    @property
    def all_input_nodes(self) -> list[Node]:
        """The nodes whose values this one takes, each once."""
        return list(self._input_nodes)

    def update_arg(self, idx: int, arg: Any) -> None:
        """Replace one argument."""
        args = list(self.args)
        args[idx] = arg
        self.args = tuple(args)

    def insert_arg(self, idx: int, arg: Any) -> None:
        """Insert an argument before index ``idx``."""
        if not 0 <= idx <= len(self.args):
            raise AssertionError("insert_args index must be between 0 and len(self.args)")
        self.args = (*self.args[:idx], arg, *self.args[idx:])

    def update_kwarg(self, key: str, arg: Any) -> None:
        """Replace or add an argument by name."""
        self.kwargs = {**self.kwargs, key: arg}

    def replace_input_with(self, old_input: Node, new_input: Node) -> None:
        """Take the value of another node wherever ``old_input`` is an argument."""
        swap = lambda node: new_input if node is old_input else node
        for hook in getattr(self.graph.owning_module, "_replace_hooks", ()):
            hook(old=old_input, new=new_input.name, user=self)
        self._set(map_arg(self.args, swap), map_arg(self.kwargs, swap))

    def replace_all_uses_with(
        self,
        replace_with: Node,
        delete_user_cb: Callable[[Node], bool] | None = None,
        *,
        propagate_meta: bool = False,
    ) -> list[Node]:
        """Let every user of this node take ``replace_with`` instead, and return them.

        ``delete_user_cb`` may say of which users; ``propagate_meta`` copies ``meta`` to a node that has none.
        """
        if propagate_meta:
            if replace_with.meta:
                raise AssertionError(
                    "Called node.replace_all_uses_with(replace_with, propagate_meta=True), but replace_with already has"
                    " .meta keys"
                )
            replace_with.meta.update(self.meta)
        changed = [user for user in self.users if delete_user_cb is None or delete_user_cb(user)]
        for user in changed:
            user.replace_input_with(self, replace_with)
        return changed

    # --- questions --------------------------------------------------------------------------------

    @property
    def stack_trace(self) -> str | None:
        """Where in the program the step was recorded, if that was kept."""
        return self.meta.get("stack_trace")

    @stack_trace.setter
    def stack_trace(self, trace: str | None) -> None:
        self.meta["stack_trace"] = trace

    def is_impure(self, impure_random: bool = True) -> bool:
        """Return whether the step does more than return a value: it is then kept without users."""
        if self.op in ("placeholder", "output"):
            return True
        if self.op == "call_function":
            schema = getattr(self.target, "_schema", None)
            if getattr(schema, "is_mutable", False):
                return True
            name = getattr(self.target, "__name__", "")
            writes = name.endswith("_") and not name.endswith("__") and name not in ("and_", "or_", "not_", "is_")
            random = impure_random and name in _RANDOM
            return self.target in _side_effectful_functions or name in ("_assert", "setitem") or writes or random
        if self.op == "call_module" and self.graph.owning_module is not None:
            module = self.graph.owning_module.get_submodule(self.target)
            return getattr(module, "_is_impure", False)
        return False

    def normalized_arguments(
        self,
        root: Any,
        arg_types: tuple | None = None,
        kwarg_types: dict[str, Any] | None = None,
        normalize_to_only_use_kwargs: bool = False,
    ) -> Any:
        """Return the arguments as the signature of what is called has them, with defaults; None if it is not known."""
        from .operator_schemas import normalize_function, normalize_module

        if self.op == "call_function":
            return normalize_function(
                self.target, self.args, self.kwargs, arg_types, kwarg_types, normalize_to_only_use_kwargs
            )
        if self.op == "call_module":
            return normalize_module(root, self.target, self.args, self.kwargs, normalize_to_only_use_kwargs)
        return None

    @staticmethod
    def _pretty_print_target(target: Any) -> str:
        if isinstance(target, str):
            return target
        module = getattr(target, "__module__", None)
        if module == "builtins":
            return f"builtins.{target.__name__}"
        if module == "_operator":
            return f"operator.{target.__name__}"
        return _get_qualified_name(target)

    def format_node(
        self,
        placeholder_names: list[str] | None = None,
        maybe_return_typename: list[str] | None = None,
        *,
        include_tensor_metadata: bool = False,
    ) -> str | None:
        """Return the step as one line of text."""
        kind = "" if self.type is None else f"{_type_repr(self.type)} "
        head = f"%{self.name} : {kind}[num_users={len(self.users)}] = {self.op}[target="
        if self.op == "placeholder":
            if placeholder_names is not None:
                placeholder_names.append(f"{self.target} : {kind.strip()}" if kind else str(self.target))
            return f"{head}{self.target}]" + (f"(default={self.args[0]})" if self.args else "")
        if self.op == "get_attr":
            return f"{head}{self.target}]"
        if self.op == "output":
            if self.type is not None and maybe_return_typename is not None:
                maybe_return_typename[0] = f" -> {_type_repr(self.type)}"
            return f"return {self.args[0]}"
        target = self._pretty_print_target(self.target)
        return f"{head}{target}](args = {_format_arg(self.args)}, kwargs = {_format_arg(self.kwargs)})"

    def _rename(self, candidate: str) -> None:
        if candidate != self.name:
            self.name = self.graph._graph_namespace.create_name(candidate, None)

    def __repr__(self) -> str:
        return self._repr_fn(self) if self._repr_fn is not None else self.name


_RANDOM = (
    "rand",
    "randn",
    "randint",
    "randperm",
    "bernoulli",
    "multinomial",
    "normal",
    "dropout",
    "rand_like",
    "randn_like",
)


def _type_repr(kind: Any) -> str:
    from .graph import shown_type

    return shown_type(kind)
