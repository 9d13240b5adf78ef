"""``torch._dynamo``: the names of PyTorch's tracer that programs use, for :mod:`dualtape.compiler`."""

from __future__ import annotations

from types import SimpleNamespace
from typing import TypeVar

from .compiler import OptimizedModule as OptimizedModule
from .compiler import compile as optimize
from .compiler import disable as disable
from .compiler import explain as explain
from .compiler import is_compiling as is_compiling
from .compiler import reset as reset

__all__ = ["OptimizedModule", "allow_in_graph", "config", "disable", "explain", "is_compiling", "optimize", "reset"]

T = TypeVar("T")
# keeps what it is told, and governs nothing
config = SimpleNamespace(suppress_errors=False, cache_size_limit=8, recompile_limit=8, verbose=False)


def allow_in_graph(fn: T) -> T:
    """The function itself: everything is traced.

    Examples
    --------
    >>> import dualtape._dynamo
    >>> dualtape._dynamo.allow_in_graph(abs) is abs
    True
    """
    return fn
