"""Compiled programs: a function is traced once, and the program that comes of it runs in its place.

``dualtape.compile`` is the way in; here are its switches, and what shows what it did.
"""

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
