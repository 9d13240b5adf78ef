"""Results that are objects: dataclasses, sets, and dictionaries with attributes, which each replay rebuilds."""

from __future__ import annotations

import dataclasses
from collections import OrderedDict
from collections.abc import Iterator
from typing import Any

from ..pytree import is_registered, register_pytree_node, tree_holds_all, tree_nodes

_SETS = (set, frozenset)


class Record:
    """An object as a node of a tree.

    Attributes
    ----------
    kind : type
        The object's class.
    items : list
        What it holds if it is a set, or the values if it is a dictionary.
    keys : tuple
        The keys of these values.
    attributes : dict
        Its attributes, by name.
    """

    __slots__ = ("kind", "items", "keys", "attributes")

    def __init__(self, kind: type, items: list, keys: tuple, attributes: dict[str, Any]) -> None:
        self.kind, self.items, self.keys, self.attributes = kind, items, keys, attributes


def is_record(value: Any) -> bool:
    """Return whether ``value`` is an object that a replay can rebuild from its contents."""
    kind = type(value)
    if kind in _SETS:
        return True
    if not tree_holds_all(value):
        return kind is OrderedDict
    if is_registered(kind) or not dataclasses.is_dataclass(kind):
        return False
    return kind.__new__ in (object.__new__, dict.__new__, OrderedDict.__new__)


def as_tree(value: Any, nodes: list[Any]) -> Any:
    """Return a result with records in place of objects, and append its containers and objects to ``nodes``."""
    kind = type(value)
    if is_record(value):
        nodes.append(value)
        is_mapping = isinstance(value, dict)
        items = list(dict.values(value)) if is_mapping else list(value) if kind in _SETS else []
        attributes = {name: as_tree(held, nodes) for name, held in _attributes_of(value)}
        return Record(kind, [as_tree(i, nodes) for i in items], tuple(value) if is_mapping else (), attributes)
    if kind in (list, tuple):
        nodes.append(value)
        return kind([as_tree(item, nodes) for item in value])
    if kind in (dict, OrderedDict):
        nodes.append(value)
        return kind({name: as_tree(item, nodes) for name, item in value.items()})
    if isinstance(value, tuple) and hasattr(kind, "_fields"):
        return kind(*[as_tree(item, nodes) for item in value])
    nodes.extend(tree_nodes(value))
    return value


def _attributes_of(value: Any) -> Iterator[tuple[str, Any]]:
    """Yield the names and values of an object's attributes, including those in slots."""
    yield from getattr(value, "__dict__", {}).items()
    for cls in type(value).__mro__:
        slots = vars(cls).get("__slots__", ())
        for name in (slots,) if isinstance(slots, str) else slots:
            if name not in ("__dict__", "__weakref__") and hasattr(value, name):
                yield name, getattr(value, name)


def _flatten(record: Record) -> tuple[list, tuple]:
    children = [*record.items, *record.attributes.values()]
    return children, (record.kind, record.keys, tuple(record.attributes))


def _unflatten(children: Any, context: tuple) -> Any:
    kind, keys, names = context
    children = list(children)
    items = children[: len(children) - len(names)]
    if kind in _SETS:
        return kind(items)
    made = kind.__new__(kind)
    for key, item in zip(keys, items, strict=True):
        _base_of_mapping(kind).__setitem__(made, key, item)
    for name, attribute in zip(names, children[len(items) :], strict=True):
        object.__setattr__(made, name, attribute)
    return made


def _base_of_mapping(kind: type) -> type[dict]:
    return OrderedDict if issubclass(kind, OrderedDict) else dict


register_pytree_node(Record, _flatten, _unflatten)
