"""Decorators of functions that are called from other processes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

__all__ = ["async_execution"]


def async_execution(fn: Callable) -> Any:
    """Mark a function that returns a future: the caller gets the future's value.

    Examples
    --------
    >>> import dualtape.distributed.rpc as rpc
    >>> @rpc.functions.async_execution
    ... def soon(x):
    ...     return rpc.rpc_async("alone", max, args=(x, 3))
    """
    fn.answers_later = True  # type: ignore[attr-defined]
    return fn
