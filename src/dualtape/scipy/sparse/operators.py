"""Derivatives as SciPy linear operators: products with a Jacobian or a Hessian that is never formed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ...arrays.lazy import scipy_sparse_linalg as _linalg
from ...func import grad as gradient
from ...func import jvp, linearize, vjp, vmap
from ...ops.numpy_entries.registry import tensor

__all__ = ["hessian_operator", "jacobian_operator"]


def jacobian_operator(f: Callable, x: Any) -> Any:
    """The Jacobian of a function at a point, as a ``scipy.sparse.linalg.LinearOperator``.

    The function runs once forward and once backward when the operator is made; each product runs its derivative alone.

    Parameters
    ----------
    f : callable
        Of one tensor, or array, of any shape; gives one.
    x : tensor or array
        The point.

    Returns
    -------
    LinearOperator
        Of shape ``(outputs, inputs)``, both flattened; ``@ v`` by forward mode, ``.T @ w`` by reverse mode, also of
        several vectors at once.

    Examples
    --------
    >>> import numpy as np
    >>> from dualtape.scipy.sparse.linalg import jacobian_operator
    >>> J = jacobian_operator(lambda x: x[1:] * x[:-1], np.array([1.0, 2.0, 3.0]))
    >>> J @ np.array([1.0, 0.0, 0.0]), J.T @ np.array([1.0, 1.0])
    (array([2., 0.]), array([2., 4., 2.]))
    """
    point = _point("jacobian_operator", x)
    value, push = linearize(f, point)
    _, pull = vjp(f, point)
    return _operator(
        (value.numel(), point.numel()),
        value.dtype,
        lambda v: push(v.reshape(point.shape)).reshape(-1),
        lambda w: pull(w.reshape(value.shape))[0].reshape(-1),
    )


def hessian_operator(f: Callable, x: Any) -> Any:
    """The Hessian of a scalar function, as a ``scipy.sparse.linalg.LinearOperator``.

    Examples
    --------
    >>> import numpy as np
    >>> from scipy.sparse.linalg import cg
    >>> from dualtape.scipy.sparse.linalg import hessian_operator
    >>> H = hessian_operator(lambda x: (x**4).sum(), np.array([1.0, 2.0]))
    >>> H @ np.array([1.0, 1.0])
    array([12., 48.])
    >>> cg(H, np.array([12.0, 48.0]))[0].round(6)
    array([1., 1.])
    """
    point = _point("hessian_operator", x)
    slope = gradient(f)
    slope(point)  # what is wrong with f is said here
    product = lambda v: jvp(slope, (point,), (v.reshape(point.shape),))[1].reshape(-1)
    return _operator((point.numel(), point.numel()), point.dtype, product, product)


def _point(name: str, x: Any) -> Any:
    point = tensor(x).detach()
    if not point.is_floating_point():
        raise TypeError(f"{name}: expected a point of real numbers, got {point.dtype}: convert it with .double()")
    return point


def _operator(shape: tuple[int, int], dtype: Any, push: Callable, pull: Callable) -> Any:
    def one(product: Callable) -> Callable:
        return lambda v: product(_like(v, dtype).reshape(-1)).detach().numpy()

    def several(product: Callable) -> Callable:
        return lambda v: vmap(product, 1, 1)(_like(v, dtype)).detach().numpy()

    return _linalg.LinearOperator(
        shape, matvec=one(push), rmatvec=one(pull), matmat=several(push), rmatmat=several(pull), dtype=dtype.numpy
    )


def _like(v: Any, dtype: Any) -> Any:
    return tensor(np.ascontiguousarray(v)).to(dtype)
