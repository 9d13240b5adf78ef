"""``torch._assert``: an assertion that a trace records."""

from __future__ import annotations

from typing import Any

__all__ = ["_assert"]


def _assert(condition: Any, message: str) -> None:
    """Raise AssertionError with ``message`` if ``condition`` does not hold.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt._assert(1 < 2, "one is less than two")
    """
    if not condition:
        raise AssertionError(message)
