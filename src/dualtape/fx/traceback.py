"""``torch.fx.traceback``: what was kept of the program for the steps that are being recorded."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

__all__ = ["get_current_meta", "has_preserved_node_meta", "preserve_node_meta", "set_current_meta"]

_current: dict[str, Any] = {}
_kept = [False]


@contextmanager
def preserve_node_meta(enable: bool = True) -> Iterator[None]:
    """Return a context in which an interpreter's nodes hand their ``meta`` on.

    Examples
    --------
    >>> from dualtape.fx.traceback import has_preserved_node_meta, preserve_node_meta
    >>> with preserve_node_meta():
    ...     has_preserved_node_meta()
    True
    """
    before, old = _kept[0], dict(_current)
    _kept[0] = enable
    try:
        yield
    finally:
        _kept[0] = before
        _current.clear()
        _current.update(old)


@contextmanager
def set_current_meta(node: Any, pass_name: str = "") -> Iterator[None]:
    """Return a context in which the ``meta`` of a node is the current one.

    Examples
    --------
    >>> from types import SimpleNamespace
    >>> from dualtape.fx.traceback import get_current_meta, preserve_node_meta, set_current_meta
    >>> with preserve_node_meta(), set_current_meta(SimpleNamespace(meta={"a": 1})):
    ...     get_current_meta()
    {'a': 1}
    """
    old = dict(_current)
    if _kept[0]:
        _current.clear()
        _current.update(node.meta)
    try:
        yield
    finally:
        _current.clear()
        _current.update(old)


def get_current_meta() -> dict[str, Any]:
    """Return the current ``meta``.

    Examples
    --------
    >>> from dualtape.fx.traceback import get_current_meta
    >>> get_current_meta()
    {}
    """
    return _current


def has_preserved_node_meta() -> bool:
    """Return whether ``meta`` is handed on.

    Examples
    --------
    >>> from dualtape.fx.traceback import has_preserved_node_meta
    >>> has_preserved_node_meta()
    False
    """
    return _kept[0]
