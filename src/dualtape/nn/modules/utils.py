"""Helpers of layers of 1, 2 and 3 dimensions: one number for each dimension."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import repeat
from typing import Any

__all__ = ["consume_prefix_in_state_dict_if_present"]


def _ntuple(n: int, name: str = "parse") -> Callable[[Any], tuple]:
    def parse(x: Any) -> tuple:
        return tuple(x) if isinstance(x, Iterable) else tuple(repeat(x, n))

    parse.__name__ = name
    return parse


_single, _pair, _triple, _quadruple = map(_ntuple, range(1, 5), ("_single", "_pair", "_triple", "_quadruple"))


def _reverse_repeat_tuple(t: Iterable, n: int) -> tuple:
    """Return the entries from the last to the first, each ``n`` times."""
    return tuple(x for x in reversed(tuple(t)) for _ in range(n))


def _list_with_default(out_size: Any, defaults: list[int]) -> Any:
    """Return ``out_size`` with the last of the defaults in place of None."""
    if isinstance(out_size, int):
        return out_size
    if len(defaults) <= len(out_size):
        raise ValueError(f"the input must have at least {len(out_size) + 1} dimensions")
    return [
        size if size is not None else default
        for size, default in zip(out_size, defaults[-len(out_size) :], strict=True)
    ]


def consume_prefix_in_state_dict_if_present(state_dict: dict[str, Any], prefix: str) -> None:
    """Remove a prefix from the names of a state dict, in place.

    Examples
    --------
    >>> import dualtape as dt
    >>> state = dt.nn.Linear(1, 1).state_dict(prefix="module.")
    >>> dt.nn.modules.utils.consume_prefix_in_state_dict_if_present(state, "module.")
    >>> list(state)
    ['weight', 'bias']
    """
    for key in list(state_dict):
        if key.startswith(prefix):
            state_dict[key.removeprefix(prefix)] = state_dict.pop(key)
    metadata = getattr(state_dict, "_metadata", None)
    if metadata is not None:
        for key in list(metadata):
            if key == prefix.rstrip(".") or key.startswith(prefix):
                metadata[key.removeprefix(prefix) if key.startswith(prefix) else ""] = metadata.pop(key)
