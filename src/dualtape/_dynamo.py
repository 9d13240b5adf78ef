"""``torch._dynamo``: the names of PyTorch's tracer that programs use, for :mod:`dualtape.compiler`."""

from __future__ import annotations

from types import SimpleNamespace

from .compiler import OptimizedModule as OptimizedModule
from .compiler import allow_in_graph as allow_in_graph
from .compiler import assume_constant_result as assume_constant_result
from .compiler import compile as optimize
from .compiler import disable as disable
from .compiler import explain as explain
from .compiler import is_compiling as is_compiling
from .compiler import list_backends as list_backends
from .compiler import reset as reset

__all__ = [
    "OptimizedModule",
    "allow_in_graph",
    "config",
    "disable",
    "explain",
    "is_compiling",
    "list_backends",
    "optimize",
    "reset",
]

# keeps what it is told, and governs nothing
config = SimpleNamespace(suppress_errors=False, cache_size_limit=8, recompile_limit=8, verbose=False)
