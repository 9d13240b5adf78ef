"""Pictures without a plotting library: graphs, modules and compiled programs, and small plots.

``draw(x)`` takes a tensor with a history, a function or module with examples of its arguments, or a compiled function,
and returns a :class:`Picture`: SVG, an HTML page with groups that open and close, Mermaid, Graphviz, or a text outline.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from types import ModuleType
from typing import TYPE_CHECKING, Any

from .._listing import listing
from .._tensor.tensor import Tensor
from ..autograd.node import Node
from ..compiler.compiled import Compiled
from ..compiler.module import OptimizedModule
from ..nn import Module
from . import graphs
from .gradients import graph_svg
from .picture import Item, Picture
from .plots import Plot
from .programs import Pictures

if TYPE_CHECKING:
    from .picture import Item as _Item
    from .picture import Picture as _Picture
    from .plots import Plot as _Plot
    from .programs import Pictures as _Pictures

__all__ = ["Item", "Picture", "Pictures", "Plot", "draw", "graph_svg"]


def draw(what: Any, *args: Any, names: Mapping[str, Any] | Module | None = None, **kwargs: Any) -> Any:
    """A picture of a computation.

    Parameters
    ----------
    what : Tensor, Node, callable
        A tensor that was computed, or its ``grad_fn``; a function, module or compiled function, which runs once.
    *args, **kwargs
        Examples of the arguments of a function.
    names : mapping of str to Tensor, optional
        Names for the leaves of a tensor's graph; a module may stand for its parameters.

    Returns
    -------
    Picture
        Of a compiled function several, as a list: programs as they were traced, and as they run.

    Examples
    --------
    >>> import dualtape as dt
    >>> def model(x, w):
    ...     return (x @ w).tanh().sum()
    >>> picture = dt.draw(model, dt.ones(2, 3), dt.ones(3))
    >>> [item.name for item in picture.items]
    ['x', 'w', 'mv', 'tanh', 'sum']
    >>> picture.save("model.html")  # doctest: +SKIP
    """
    if isinstance(what, (Tensor, Node)):
        if args or kwargs:
            raise TypeError("draw: a tensor's graph is there already, it takes no arguments beside names=")
        root = what.grad_fn if isinstance(what, Tensor) else what
        if root is None:
            raise ValueError(
                "draw: expected a tensor that was computed from one with requires_grad=True, this one has no grad_fn"
            )
        named: Any = names.named_parameters() if isinstance(names, Module) else (names or {}).items()
        return graphs.of_tensors([root], "the graph of a tensor", {id(value): name for name, value in named})
    if not callable(what):
        raise TypeError(
            f"draw: expected a tensor, a node, a function, a module or a compiled one, got {type(what).__name__}"
        )
    if names is not None:
        raise TypeError("draw: names= are of a tensor's leaves; those of a function are its parameters'")
    if isinstance(what, (Compiled, OptimizedModule)):
        from ..compiler import draw as of_compiled

        return of_compiled(what)(*args, **kwargs)
    return graphs.of_function(what, args, kwargs)


class Drawing(ModuleType):
    """This module, which can be called: ``dualtape.draw(loss)``."""

    # Type checkers know no module that can be called, so that they are told of a function.
    if TYPE_CHECKING:
        Item: type[_Item]
        Picture: type[_Picture]
        Pictures: type[_Pictures]
        Plot: type[_Plot]
        draw = staticmethod(draw)
        graph_svg = staticmethod(graph_svg)

    def __call__(
        self, what: Any, *args: Any, names: Mapping[str, Any] | Module | None = None, **kwargs: Any
    ) -> Any:  # the signature of draw, which editors show
        return draw(what, *args, names=names, **kwargs)


sys.modules[__name__].__class__ = Drawing

__dir__ = listing(__name__)
