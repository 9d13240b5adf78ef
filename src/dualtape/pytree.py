"""Trees of Python containers: flattened into a list of leaves and a spec, and rebuilt.

Tuples, lists, dicts (in their own order), OrderedDicts, defaultdicts, deques, named tuples and registered classes are
nodes; everything else, None included, is a leaf. A subclass of a container that was not registered is a leaf too.
"""

from __future__ import annotations

from collections import OrderedDict, defaultdict, deque
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, NamedTuple

from ._listing import listing
from ._typing import Tree

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = [
    "TreeSpec",
    "broadcast_prefix",
    "register_dataclass",
    "register_pytree_node",
    "tree_all",
    "tree_any",
    "tree_flatten",
    "tree_leaves",
    "tree_map",
    "tree_map_only",
    "tree_structure",
    "tree_unflatten",
]

_NAMED = object()  # the kind of every named tuple; the class is its context


class _Kind(NamedTuple):
    flatten: Callable[[Any], tuple[Iterable, Any]]
    unflatten: Callable[[Iterable, Any], Any]


def _by_key(make: Callable[[Any, Any], Any]) -> _Kind:
    return _Kind(lambda tree: (list(tree.values()), list(tree)), lambda values, keys: make(keys, values))


_KINDS: dict[Any, _Kind] = {
    tuple: _Kind(lambda tree: (tree, None), lambda items, _: tuple(items)),
    list: _Kind(lambda tree: (tree, None), lambda items, _: list(items)),
    dict: _by_key(lambda keys, values: dict(zip(keys, values, strict=True))),
    OrderedDict: _by_key(lambda keys, values: OrderedDict(zip(keys, values, strict=True))),
    defaultdict: _Kind(
        lambda tree: (list(tree.values()), [tree.default_factory, list(tree)]),
        lambda values, context: defaultdict(context[0], zip(context[1], values, strict=True)),
    ),
    deque: _Kind(lambda tree: (tree, tree.maxlen), lambda items, longest: deque(items, longest)),
    _NAMED: _Kind(
        lambda tree: (tree, type(tree)),
        lambda items, cls: cls._make(items) if hasattr(cls, "_make") else cls(tuple(items)),
    ),
}


class TreeSpec:
    """The structure of a tree: the type of its node, the node's context, and the specs of its children.

    Examples
    --------
    >>> from dualtape.func.pytree import tree_flatten
    >>> tree_flatten({"a": 1, "b": (2, 3)})
    ([1, 2, 3], TreeSpec(dict, ['a', 'b'], [*, TreeSpec(tuple, None, [*, *])]))
    """

    __slots__ = ("kind", "context", "children", "num_leaves")

    def __init__(self, kind: type | None, context: Any, children: list[TreeSpec]) -> None:
        self.kind = kind  # None for a leaf
        self.context = context
        self.children = children
        self.num_leaves: int = 1 if kind is None else sum(child.num_leaves for child in children)

    def is_leaf(self) -> bool:
        """Return whether this is the spec of a single leaf."""
        return self.kind is None

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, TreeSpec)
            and self.kind is other.kind
            and _same_context(self.context, other.context)
            and self.children == other.children
        )

    def __hash__(self) -> int:
        return hash((self.kind, self.num_leaves))

    def __repr__(self) -> str:
        if self.kind is None:
            return "*"
        name = "namedtuple" if self.kind is _NAMED else self.kind.__name__
        return f"TreeSpec({name}, {self.context!r}, [{', '.join(map(repr, self.children))}])"


def _same_context(a: object, b: object) -> bool:
    """Return whether two nodes have the same context: 1, 1.0 and True are equal as keys of a dictionary, but differ
    here; tensors are compared by identity.
    """
    if a is b:
        return True
    if type(a) is not list or type(b) is not list:
        return bool(a == b)
    return len(a) == len(b) and all(
        [
            x is y or type(x) is type(y) and (_same_context(x, y) if type(x) is list else _equal(x, y))
            for x, y in zip(a, b, strict=True)
        ]
    )


def _equal(a: object, b: object) -> bool:
    return not hasattr(a, "_array") and bool(a == b)


_LEAF = TreeSpec(None, None, [])
# a spec is never changed: these are made once
_ROWS = {kind: [TreeSpec(kind, None, [_LEAF] * n) for n in range(8)] for kind in (tuple, list)}


def register_pytree_node(
    cls: type,
    flatten_fn: Callable[[Any], tuple[Iterable, Any]],
    unflatten_fn: Callable[[Iterable, Any], Any],
    **ignored: object,
) -> None:
    """Make instances of ``cls`` nodes: ``flatten_fn(x)`` returns children and context, ``unflatten_fn(children,
    context)`` an instance.

    Examples
    --------
    >>> from dualtape.func.pytree import register_pytree_node, tree_map
    >>> class Pair:
    ...     def __init__(self, a, b):
    ...         self.a, self.b = a, b
    >>> register_pytree_node(Pair, lambda pair: ([pair.a, pair.b], None), lambda items, _: Pair(*items))
    >>> tree_map(lambda x: x + 1, Pair(1, 2)).b
    3
    """
    if cls in _KINDS:
        raise ValueError(f"{cls.__name__} is already registered as a pytree node")
    _KINDS[cls] = _Kind(flatten_fn, unflatten_fn)


def registered_nodes() -> dict[Any, tuple[Callable[[Any], tuple[list, Any]], Callable[[Any, Any], Any]]]:
    """Return how each class of containers is taken apart, into children and a context, and put together."""

    def flattening(kind: _Kind) -> Callable[[Any], tuple[list, Any]]:
        def flatten(tree: Tree) -> tuple[list, Any]:
            children, context = kind.flatten(tree)
            return list(children), context

        return flatten

    return {cls: (flattening(kind), kind.unflatten) for cls, kind in _KINDS.items() if cls is not _NAMED}


def is_registered(cls: type) -> bool:
    """Return whether instances of ``cls`` are nodes."""
    return cls in _KINDS


def register_dataclass(
    cls: type, *, field_names: list[str] | None = None, drop_field_names: list[str] | None = None
) -> None:
    """Make instances of a dataclass nodes: their fields are children, except dropped ones, which get their defaults
    again. For other classes ``field_names`` are the keywords of the constructor.

    Examples
    --------
    >>> import dataclasses
    >>> from dualtape.func.pytree import register_dataclass, tree_map
    >>> @dataclasses.dataclass
    ... class Line:
    ...     slope: float
    ...     height: float
    >>> register_dataclass(Line)
    >>> tree_map(lambda x: 2 * x, Line(1.0, 3.0))
    Line(slope=2.0, height=6.0)
    """
    import dataclasses

    dropped = set(drop_field_names or ())
    if dataclasses.is_dataclass(cls):
        made = [field.name for field in dataclasses.fields(cls) if field.init]
        names = [name for name in made if name not in dropped] if field_names is None else list(field_names)
        if {*names, *dropped} != {*made} | dropped or dropped & {*names}:
            raise ValueError(
                f"register_dataclass: field_names and drop_field_names must have each field of {cls.__name__} once,"
                f" {made}; got {names} and {sorted(dropped)}"
            )
    elif field_names is None:
        raise ValueError(
            f"register_dataclass: field_names must be given for {cls.__name__}, as it is not a dataclass: the keywords"
            " that make an instance"
        )
    else:
        names = list(field_names)
    register_pytree_node(
        cls,
        lambda x: ([getattr(x, name) for name in names], tuple(names)),
        lambda children, kept: cls(**dict(zip(kept, children, strict=True))),
    )


def _kind_of(tree: Tree) -> Any:
    cls = type(tree)
    if cls in _KINDS:
        return cls
    return _NAMED if isinstance(tree, tuple) and hasattr(cls, "_fields") else None


def tree_flatten(tree: Tree, is_leaf: Callable[[Any], bool] | None = None) -> tuple[list, TreeSpec]:
    """The leaves of a tree, and the spec from which it can be rebuilt.

    Examples
    --------
    >>> from dualtape.func.pytree import tree_flatten, tree_unflatten
    >>> leaves, spec = tree_flatten([1, (2, None)])
    >>> leaves, tree_unflatten(["a", "b", "c"], spec)
    ([1, 2, None], ['a', ('b', 'c')])
    """
    leaves: list = []
    return leaves, _flatten(tree, is_leaf, leaves)


def _flatten(tree: Tree, is_leaf: Callable[[Any], bool] | None, leaves: list) -> TreeSpec:
    kind = None if is_leaf is not None and is_leaf(tree) else _kind_of(tree)
    if kind is None:
        leaves.append(tree)
        return _LEAF
    # a few leaves side by side, as arguments nearly always are
    if is_leaf is None and (kind is tuple or kind is list) and len(tree) < 8:
        for child in tree:
            if type(child) in _KINDS or isinstance(child, tuple):
                break
        else:
            leaves.extend(tree)
            return _ROWS[kind][len(tree)]
    children, context = _KINDS[kind].flatten(tree)
    return TreeSpec(kind, context, [_flatten(child, is_leaf, leaves) for child in children])


def tree_unflatten(leaves: Iterable, treespec: TreeSpec) -> Any:
    """The tree of a spec with these leaves.

    Examples
    --------
    >>> from dualtape.func.pytree import tree_structure, tree_unflatten
    >>> tree_unflatten([1, 2], tree_structure({"a": 0, "b": 0}))
    {'a': 1, 'b': 2}
    """
    leaves = list(leaves)
    if len(leaves) != treespec.num_leaves:
        raise ValueError(
            f"tree_unflatten: `leaves` has length {len(leaves)} but the spec refers to a pytree that holds"
            f" {treespec.num_leaves} items: {treespec}"
        )
    return _unflatten(iter(leaves), treespec)


def _unflatten(leaves: Iterator, spec: TreeSpec) -> Any:
    if spec.kind is None:
        return next(leaves)
    return _KINDS[spec.kind].unflatten([_unflatten(leaves, child) for child in spec.children], spec.context)


def tree_nodes(tree: Tree) -> Iterable[Any]:
    """The containers in a tree, itself included."""
    waiting = [tree]
    while waiting:
        kind = _kind_of(node := waiting.pop())
        if kind is not None:
            yield node
            waiting.extend(_KINDS[kind].flatten(node)[0])


def tree_holds_all(node: Tree) -> bool:
    """Return whether the children and the context of a node are all that the object contains."""
    own = getattr(node, "__dict__", None)
    kind = _kind_of(node)
    if not own or kind in (None, _NAMED):
        return True
    children, context = _KINDS[kind].flatten(node)
    children = list(children)
    beside = list(context.values()) if isinstance(context, dict) else context
    known = {
        id(part)
        for part in (*children, *tree_leaves(children), *(beside if isinstance(beside, (list, tuple)) else (beside,)))
    }

    def is_held(value: object) -> bool:
        return id(value) in known or _kind_of(value) is not None and all(map(is_held, tree_leaves(value)))

    return all(map(is_held, own.values()))


def tree_exchange(
    tree: Tree, spec: TreeSpec, change: Callable[[Any], Any], copies: list[tuple[Any, Any]] | None = None
) -> Any:
    """Return ``tree``, whose spec this is, with other leaves; unchanged containers are kept, and for the others
    ``copies`` gets the pairs, innermost first.
    """
    if spec.kind is None:
        return change(tree)
    copies = [] if copies is None else copies
    children = list(_KINDS[spec.kind].flatten(tree)[0])
    new = [tree_exchange(child, inner, change, copies) for child, inner in zip(children, spec.children, strict=True)]
    if all([a is b for a, b in zip(children, new, strict=True)]):
        return tree
    made = _KINDS[spec.kind].unflatten(new, spec.context)
    copies.append((tree, made))
    return made


def _children_as(tree: Tree, spec: TreeSpec) -> list:
    """Return the children of a tree whose first level is that of ``spec``; raise ValueError where it is not."""
    kind = _kind_of(tree)
    dicts = (dict, OrderedDict, defaultdict)
    if kind is not spec.kind and not (kind in dicts and spec.kind in dicts):
        raise ValueError(f"Node type mismatch; expected a {spec!r}, but got {type(tree).__name__}")
    children, context = _KINDS[kind].flatten(tree)
    children = list(children)
    if len(children) != len(spec.children):
        raise ValueError(f"Node arity mismatch; expected {len(spec.children)}, but got {len(children)}")
    if kind in dicts:
        keys = spec.context[1] if spec.kind is defaultdict else spec.context
        if set(tree) != set(keys):
            raise ValueError(f"Node keys mismatch; expected {list(keys)}, but got {list(tree)}")
        return [tree[key] for key in keys]
    if context != spec.context:
        raise ValueError(f"Node context mismatch; expected {spec.context!r}, but got {context!r}")
    return children


def _flatten_up_to(tree: Tree, spec: TreeSpec, found: list) -> None:
    if spec.kind is None:
        found.append(tree)
    else:
        for child, inner in zip(_children_as(tree, spec), spec.children, strict=True):
            _flatten_up_to(child, inner, found)


def broadcast_prefix(prefix: Tree, spec: TreeSpec, is_leaf: Callable[[Any], bool] | None = None) -> list | None:
    """Return one value for each leaf of ``spec`` from a tree that may end higher up: a leaf there applies to all below.
    None if they do not fit.

    Examples
    --------
    >>> from dualtape.func.pytree import broadcast_prefix, tree_structure
    >>> broadcast_prefix((0, None), tree_structure((1, {"a": 2, "b": 3})))
    [0, None, None]
    """
    found: list = []
    try:
        _spread(prefix, spec, is_leaf, found)
    except ValueError:
        return None
    return found


def _spread(prefix: Tree, spec: TreeSpec, is_leaf: Callable[[Any], bool] | None, found: list) -> None:
    if (is_leaf is not None and is_leaf(prefix)) or _kind_of(prefix) is None:
        found.extend([prefix] * spec.num_leaves)
    elif spec.kind is None:
        raise ValueError(f"a leaf stands where the prefix has a {type(prefix).__name__}")
    else:
        for child, inner in zip(_children_as(prefix, spec), spec.children, strict=True):
            _spread(child, inner, is_leaf, found)


def tree_map(func: Callable, tree: Tree, *rests: Tree, is_leaf: Callable[[Any], bool] | None = None) -> Any:
    """The same tree with ``func`` applied to each leaf, and to the values at its position in further trees.

    Examples
    --------
    >>> from dualtape.func.pytree import tree_map
    >>> tree_map(lambda a, b: a + b, {"x": 1, "y": [2]}, {"x": 10, "y": [20]})
    {'x': 11, 'y': [22]}
    """
    leaves, spec = tree_flatten(tree, is_leaf)
    columns: list[list] = [leaves]
    for rest in rests:
        found: list = []
        _flatten_up_to(rest, spec, found)
        columns.append(found)
    return tree_unflatten(map(func, *columns), spec)


def tree_map_only(
    kinds: type | tuple[type, ...], func: Callable, tree: Tree, is_leaf: Callable[[Any], bool] | None = None
) -> Any:
    """The same tree with ``func`` applied to the leaves that are instances of ``kinds`` (a type, or several).

    Examples
    --------
    >>> from dualtape.func.pytree import tree_map_only
    >>> tree_map_only(int, lambda n: -n, [1, "a", (2,)])
    [-1, 'a', (-2,)]
    """
    return tree_map(lambda leaf: func(leaf) if isinstance(leaf, kinds) else leaf, tree, is_leaf=is_leaf)


def tree_leaves(tree: Tree, is_leaf: Callable[[Any], bool] | None = None) -> list:
    """The leaves of a tree, in order.

    Examples
    --------
    >>> from dualtape.func.pytree import tree_leaves
    >>> tree_leaves({"b": 1, "a": [2, None]})
    [1, 2, None]
    """
    return tree_flatten(tree, is_leaf)[0]


def tree_structure(tree: Tree, is_leaf: Callable[[Any], bool] | None = None) -> TreeSpec:
    """The spec of a tree.

    Examples
    --------
    >>> from dualtape.func.pytree import tree_structure
    >>> tree_structure((1, 2)).num_leaves
    2
    """
    return tree_flatten(tree, is_leaf)[1]


def tree_all(pred: Callable[[Any], bool], tree: Tree, is_leaf: Callable[[Any], bool] | None = None) -> bool:
    """Whether ``pred`` holds for every leaf.

    Examples
    --------
    >>> from dualtape.func.pytree import tree_all
    >>> tree_all(lambda n: n > 0, [1, (2,)])
    True
    """
    return all(map(pred, tree_leaves(tree, is_leaf)))


def tree_any(pred: Callable[[Any], bool], tree: Tree, is_leaf: Callable[[Any], bool] | None = None) -> bool:
    """Whether ``pred`` holds for some leaf.

    Examples
    --------
    >>> from dualtape.func.pytree import tree_any
    >>> tree_any(lambda n: n > 1, [1, (2,)])
    True
    """
    return any(map(pred, tree_leaves(tree, is_leaf)))


__dir__ = listing(__name__)
