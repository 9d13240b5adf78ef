"""Compiled programs: a function is traced once, and later calls run the resulting program.

``dualtape.compile`` is the entry point; this package also has its settings, and reports of what it did.
"""

from typing import TypeVar

from .._listing import listing
from .backends import list_backends
from .compiled import Compiled, compile, disable, draw, explain, is_compiling, reset
from .eager import fuse_eager
from .graphs import compiled_autograd
from .module import OptimizedModule

__all__ = [
    "Compiled",
    "OptimizedModule",
    "allow_in_graph",
    "assume_constant_result",
    "compile",
    "compiled_autograd",
    "cudagraph_mark_step_begin",
    "disable",
    "draw",
    "explain",
    "fuse_eager",
    "is_compiling",
    "is_dynamo_compiling",
    "is_exporting",
    "list_backends",
    "reset",
]

T = TypeVar("T")


def allow_in_graph(fn: T) -> T:
    """Return the function itself: everything is traced.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.compiler.allow_in_graph(abs) is abs
    True
    """
    return fn


def assume_constant_result(fn: T) -> T:
    """Return the function itself: it is traced like others, and what it reads is guarded.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.compiler.assume_constant_result(abs) is abs
    True
    """
    return fn


def is_dynamo_compiling() -> bool:
    """Return :func:`is_compiling`: PyTorch's name for one of its two tracers.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.compiler.is_dynamo_compiling()
    False
    """
    return is_compiling()


def is_exporting() -> bool:
    """Return False: nothing is being exported.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.compiler.is_exporting()
    False
    """
    return False


def cudagraph_mark_step_begin() -> None:
    """Do nothing: there are no graphs of CUDA whose memory would have to be kept apart.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.compiler.cudagraph_mark_step_begin()
    """


__dir__ = listing(__name__)
