"""Compiled programs: a function is traced once, and later calls run the resulting program.

``dualtape.compile`` is the entry point; this package also has its settings, and reports of what it did.
"""

from .._listing import listing
from .compiled import Compiled, compile, disable, draw, explain, is_compiling, reset
from .eager import fuse_eager
from .graphs import compiled_autograd
from .module import OptimizedModule

__all__ = [
    "Compiled",
    "OptimizedModule",
    "compile",
    "compiled_autograd",
    "disable",
    "draw",
    "explain",
    "fuse_eager",
    "is_compiling",
    "reset",
]

__dir__ = listing(__name__)
