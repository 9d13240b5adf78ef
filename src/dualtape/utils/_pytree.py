"""``dualtape.utils._pytree``: trees of containers, under the names that PyTorch programs import."""

from __future__ import annotations

from collections import OrderedDict, defaultdict, deque, namedtuple
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple, TypeAlias

from ..pytree import *  # noqa: F403 - what its __all__ names
from ..pytree import TreeSpec, broadcast_prefix, registered_nodes
from ..pytree import tree_structure as _structure

PyTree: TypeAlias = Any
Context: TypeAlias = Any


class NodeDef(NamedTuple):
    """How a kind of container is taken apart and put together."""

    type: Any
    flatten_fn: Callable[[Any], tuple[list[Any], Any]]
    unflatten_fn: Callable[[Any, Any], Any]


def _get_node_type(tree: Any) -> Any:
    """Return the key of a container in :data:`SUPPORTED_NODES`: ``namedtuple`` for named tuples, else its class.

    Examples
    --------
    >>> from dualtape.utils._pytree import SUPPORTED_NODES, _get_node_type
    >>> _get_node_type([1]), _get_node_type(3) in SUPPORTED_NODES
    (<class 'list'>, False)
    """
    return namedtuple if _is_namedtuple_instance(tree) else type(tree)


def _is_namedtuple_instance(tree: Any) -> bool:
    kind = type(tree)
    return issubclass(kind, tuple) and isinstance(getattr(kind, "_fields", None), tuple) and kind is not tuple


class _Nodes(Mapping[Any, NodeDef]):
    """The kinds of containers, and those that were registered."""

    def _kinds(self) -> dict[Any, NodeDef]:
        own = (tuple, list, dict, OrderedDict, defaultdict, deque)
        found = {kind: NodeDef(kind, *functions) for kind, functions in registered_nodes().items()}
        ordered = {kind: found[kind] for kind in own if kind in found}
        named = NodeDef(namedtuple, lambda tree: (list(tree), type(tree)), lambda items, kind: kind(*items))
        return {**ordered, namedtuple: named, **found}

    def __getitem__(self, kind: Any) -> NodeDef:
        return self._kinds()[kind]

    def __iter__(self) -> Any:
        return iter(self._kinds())

    def __len__(self) -> int:
        return len(self._kinds())


SUPPORTED_NODES: Mapping[Any, NodeDef] = _Nodes()


def LeafSpec() -> TreeSpec:  # noqa: N802 - PyTorch's name
    """Return the structure of a leaf.

    Examples
    --------
    >>> from dualtape.utils._pytree import LeafSpec, tree_structure
    >>> LeafSpec() == tree_structure(3)
    True
    """
    return _structure(None)


def _broadcast_to_and_flatten(tree: Any, treespec: TreeSpec, is_leaf: Callable[[Any], bool] | None = None) -> Any:
    """Return a leaf of ``tree`` for each leaf of the structure, None if ``tree`` is no prefix of it."""
    return broadcast_prefix(tree, treespec, is_leaf)
