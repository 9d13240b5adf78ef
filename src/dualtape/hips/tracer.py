"""What HIPS autograd's tracer offers to programs: primitives, and the difference between arrays and what is traced."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .._tensor.tensor import Tensor
from ..func import scope
from ..pytree import tree_map
from .extend import primitive

__all__ = ["getval", "isbox", "notrace_primitive", "primitive"]


def isbox(value: Any) -> bool:
    """Return whether ``value`` is a tensor, which a function gets for an array while it is differentiated.

    Examples
    --------
    >>> import numpy as np
    >>> from dualtape.hips import grad
    >>> from dualtape.hips.tracer import isbox
    >>> seen = []
    >>> _ = grad(lambda x: seen.append(isbox(x)) or np.sum(x))(np.ones(2))
    >>> seen, isbox(np.ones(2))
    ([True], False)
    """
    return isinstance(value, Tensor)


def getval(value: Any) -> Any:
    """Return the array of values of a tensor, which has no history; other values unchanged.

    Examples
    --------
    >>> from dualtape.hips.tracer import getval
    >>> getval(3.0)
    3.0
    """
    if not isinstance(value, Tensor):
        return value
    array = value.detach().numpy()
    return array if array.ndim else array[()]


def notrace_primitive(fun: Callable) -> Callable:
    """Return ``fun`` for values alone: its result has no derivative.

    Examples
    --------
    >>> import numpy as np
    >>> from dualtape.hips import grad
    >>> from dualtape.hips.tracer import notrace_primitive
    >>> sign = notrace_primitive(np.sign)
    >>> float(grad(lambda x: x * sign(x))(-2.0))
    -1.0
    """

    @scope.named_as(fun)
    def untraced(*args: Any, **kwargs: Any) -> Any:
        return fun(*tree_map(getval, args), **tree_map(getval, kwargs))

    return untraced
