"""Fixed points as functions of their parameters."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..._tensor.tensor import Tensor
from ...ops.numpy_entries.registry import tensor as _tensor
from ...pytree import tree_flatten, tree_unflatten
from ...scipy._arguments import plain
from ...scipy._implicit import solution

__all__ = ["fixed_point"]


def fixed_point(f: Callable, a: Any, x0: Any, distance: Callable, tol: float) -> Any:
    """The x with ``f(a)(x) == x``, found by repetition from ``x0`` until ``distance`` of two steps is below ``tol``.

    Examples
    --------
    >>> from dualtape.hips import grad
    >>> from dualtape.hips.misc.fixed_points import fixed_point
    >>> root = lambda a: fixed_point(lambda a: lambda x: (x + a / x) / 2, a, 1.0, lambda x, y: abs(x - y), 1e-12)
    >>> round(float(root(9.0)), 6), round(float(grad(root)(9.0)), 6)
    (3.0, 0.166667)
    """
    leaves, spec = tree_flatten(a)
    step = f(tree_unflatten([plain(leaf) for leaf in leaves], spec))
    before, x = plain(x0), step(plain(x0))
    while distance(x, before) > tol:
        before, x = x, step(x)
    tensors = [leaf for leaf in leaves if isinstance(leaf, Tensor)]
    if not tensors:
        return x

    def residual(x: Any, *values: Any) -> Any:
        given = iter(values)
        filled = [next(given) if isinstance(leaf, Tensor) else leaf for leaf in leaves]
        return _tensor(f(tree_unflatten(filled, spec))(x)) - x

    return solution(_tensor(x)._array, residual, "", tensors)
