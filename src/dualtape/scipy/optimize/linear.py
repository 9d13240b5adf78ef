"""Linear programs, linear least squares and isotonic regression: solutions as functions of their data."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..._tensor.tensor import Tensor
from ...arrays.lazy import scipy_optimize as _optimize
from .._arguments import plain
from .._like import has_tensor, like
from .._tensors import alike, floating, op

__all__ = [
    "isotonic_regression",
    "linprog",
    "lsq_linear",
    "nnls",
    "rosen",
    "rosen_der",
    "rosen_hess",
    "rosen_hess_prod",
]


def _pairs(bounds: Any, size: int) -> np.ndarray:
    """Return the bounds of a linear program, one row for each variable."""
    if bounds is None:
        bounds = (0, None)
    if not isinstance(bounds, np.ndarray):
        bounds = [
            [np.nan if end is None else end for end in np.atleast_1d(np.array(pair, object))]
            for pair in (bounds if np.ndim(np.array(bounds, object)) == 2 else [bounds])
        ]
    pairs = np.broadcast_to(np.array(bounds, float), (size, 2)).copy()
    pairs[:, 0] = np.where(np.isnan(pairs[:, 0]), -np.inf, pairs[:, 0])
    pairs[:, 1] = np.where(np.isnan(pairs[:, 1]), np.inf, pairs[:, 1])
    return pairs


@like(_optimize)
def linprog(
    c: Any,
    A_ub: Any = None,
    b_ub: Any = None,
    A_eq: Any = None,
    b_eq: Any = None,
    bounds: Any = (0, None),
    method: str = "highs",
    callback: Any = None,
    options: dict | None = None,
    x0: Any = None,
    integrality: Any = None,
) -> Any:
    """The solution of a linear program: ``x``, ``fun``, ``slack`` and ``con`` of the result have history.

    The solution is a vertex, where as many constraints hold with equality as there are variables: x solves those
    equations, and moves with their coefficients, not with c. Where the solution is no vertex, its backward raises.

    Examples
    --------
    >>> import dualtape as dt
    >>> limit = dt.tensor([4.0], dtype=dt.float64, requires_grad=True)
    >>> found = dt.scipy.optimize.linprog([-1.0, -2.0], A_ub=[[1.0, 1.0]], b_ub=limit)
    >>> found.fun.backward()
    >>> limit.grad
    tensor([-2.], dtype=dualtape.float64)
    """
    if integrality is not None and np.any(plain(integrality)):
        raise TypeError("linprog on tensors: integers have no derivative (integrality)")
    if has_tensor(bounds):
        raise TypeError("linprog on tensors: bounds are numbers; a bound that moves is a row of A_ub")
    c = floating(c)
    size = c.numel()
    given = [None if x is None else floating(x) for x in (A_ub, b_ub, A_eq, b_eq)]
    found = _optimize.linprog(
        plain(c), *(None if x is None else plain(x) for x in given), bounds, method, callback, options
    )
    if found.x is None:
        return found
    upper, limit, equal, value = given
    pairs, x = _pairs(bounds, size), found.x
    unit, near = np.eye(size), 1e-9 * np.maximum(1, np.abs(x))
    rows: list[Any] = []
    right: list[Any] = []
    order: list[np.ndarray] = []

    def add(matrix: Any, values: Any, active: np.ndarray, prices: np.ndarray) -> None:
        if active.any():
            rows.append(matrix[np.flatnonzero(active)])
            right.append(values[np.flatnonzero(active)])
            order.append(prices[active])

    if equal is not None and value is not None:
        add(equal.reshape(-1, size), value.reshape(-1), np.ones(value.numel(), bool), np.full(value.numel(), np.inf))
    if upper is not None and limit is not None:
        slack = found.slack
        add(
            upper.reshape(-1, size),
            limit.reshape(-1),
            slack <= 1e-9 * np.maximum(1, np.abs(plain(limit))),
            np.abs(found.ineqlin.marginals),
        )
    for ends, marginals in ((pairs[:, 0], found.lower.marginals), (pairs[:, 1], found.upper.marginals)):
        add(
            floating(unit),
            floating(np.where(np.isfinite(ends), ends, 0.0)),
            np.abs(x - ends) <= near,
            np.abs(marginals),
        )
    solved = None
    if rows:
        matrix, vector = np.concatenate(rows), np.concatenate(right)
        chosen = _independent(plain(matrix), np.concatenate(order), size)
        if chosen is not None:
            solved = op("linalg.solve")(matrix[chosen], vector[chosen])
    found.x = _Unsolved.of(x, [c, *(x for x in given if x is not None)]) if solved is None else solved
    found.fun = (c * found.x).sum()
    if upper is not None and limit is not None:
        found.slack = limit - upper.reshape(-1, size) @ found.x
    if equal is not None and value is not None:
        found.con = value - equal.reshape(-1, size) @ found.x
    return found


def _independent(matrix: np.ndarray, prices: np.ndarray, size: int) -> np.ndarray | None:
    """Return the indices of ``size`` independent rows, those of higher prices first; None if there are not so many."""
    kept: list[int] = []
    basis = np.zeros((0, size))
    for k in np.argsort(-prices, kind="stable"):
        row = matrix[k]
        rest = row - basis.T @ (basis @ row)
        rest = rest - basis.T @ (basis @ rest)
        length = np.linalg.norm(rest)
        if length > 1e-10 * max(1.0, float(np.linalg.norm(row))):
            kept.append(int(k))
            basis = np.concatenate([basis, rest[None] / length])
            if len(kept) == size:
                return np.array(kept)
    return None


class _Unsolved:
    """Solutions without a derivative."""

    @staticmethod
    def of(x: np.ndarray, inputs: list) -> Tensor:
        from .._implicit import solution

        return solution(x, lambda x, *_: x, "optimize.linprog: the solution is no vertex", inputs)


@like(_optimize)
def nnls(A: Any, b: Any, *, maxiter: int | None = None, atol: Any = None) -> tuple:
    """The nonnegative x with the least ``|A @ x - b|``, and that norm.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.scipy.optimize.nnls(dt.eye(2, dtype=dt.float64), dt.tensor([1.0, -2.0], dtype=dt.float64))
    (tensor([1., 0.], dtype=dualtape.float64), tensor(2., dtype=dualtape.float64))
    """
    A, b = alike(A, b)
    x, _ = _optimize.nnls(plain(A), plain(b), maxiter=maxiter)
    found = _on_free(A, b, x, x > 0)
    return found, op("linalg.norm")(A @ found - b)


def _on_free(A: Any, b: Any, x: np.ndarray, free: np.ndarray) -> Any:
    """Return the least-squares solution in the free variables, the others held at ``x``."""
    index = np.flatnonzero(free)
    fixed = np.where(free, 0.0, x)
    if not index.size:
        return floating(fixed) + 0 * b.sum() + 0 * A.sum()
    part = A[:, index]
    found = op("linalg.lstsq")(part, (b - A @ floating(fixed)).unsqueeze(-1))[0].squeeze(-1)
    return op("index_put")(floating(fixed), (floating(index).to(np.int64),), found)


@like(_optimize)
def lsq_linear(
    A: Any,
    b: Any,
    bounds: Any = (-np.inf, np.inf),
    method: str = "trf",
    tol: float = 1e-10,
    lsq_solver: Any = None,
    lsmr_tol: Any = None,
    max_iter: int | None = None,
    verbose: int = 0,
    *,
    lsmr_maxiter: int | None = None,
) -> Any:
    """The x within bounds with the least ``|A @ x - b|``: ``x``, ``fun`` and ``cost`` of the result have history.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.scipy.optimize.lsq_linear(dt.eye(2, dtype=dt.float64), dt.ones(2, dtype=dt.float64), bounds=(0, 0.5)).x
    tensor([0.5000, 0.5000], dtype=dualtape.float64)
    """
    if has_tensor(bounds):
        raise TypeError("lsq_linear on tensors: bounds are numbers, there is no derivative with respect to them")
    A, b = alike(A, b)
    found = _optimize.lsq_linear(
        plain(A), plain(b), bounds, method, tol, lsq_solver, lsmr_tol, max_iter, verbose, lsmr_maxiter=lsmr_maxiter
    )
    low, high = (bounds.lb, bounds.ub) if hasattr(bounds, "lb") else bounds
    slope = plain(A).T @ found.fun
    wall = np.broadcast_to(np.where(slope > 0, low, high), found.x.shape)
    with np.errstate(invalid="ignore"):
        held = np.abs(found.x - wall) * np.sum(plain(A) ** 2, 0) <= np.abs(slope)
    found.x = _on_free(A, b, np.where(held, wall, found.x), ~held)
    found.fun = A @ found.x - b
    found.cost = (found.fun * found.fun).sum() / 2
    return found


@like(_optimize)
def isotonic_regression(y: Any, *, weights: Any = None, increasing: bool = True) -> Any:
    """The nearest monotonic sequence: ``x`` of the result has history, each block being a mean.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.scipy.optimize.isotonic_regression(dt.tensor([1.0, 3.0, 2.0])).x
    tensor([1.0000, 2.5000, 2.5000])
    """
    y = floating(y)
    weight = np.ones(y.numel(), y._array.dtype) if weights is None else weights
    found = _optimize.isotonic_regression(
        plain(y), weights=None if weights is None else plain(weights), increasing=increasing
    )
    sizes = np.diff(found.blocks)
    owner = np.repeat(np.arange(len(sizes)), sizes)
    member = (owner[None] == np.arange(len(sizes))[:, None]).astype(y._array.dtype)
    weight = floating(weight)
    found.weights = member @ weight
    found.x = ((member @ (weight * y)) / found.weights)[owner]
    return found


# --- Rosenbrock's function ------------------------------------------------------------------------


@like(_optimize)
def rosen(x: Any) -> Any:
    """Rosenbrock's function.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.scipy.optimize.rosen(dt.tensor([1.0, 2.0]))
    tensor(100.)
    """
    x = floating(x)
    return np.sum(100.0 * (x[1:] - x[:-1] ** 2.0) ** 2.0 + (1 - x[:-1]) ** 2.0, axis=0)


@like(_optimize)
def rosen_der(x: Any) -> Any:
    """The gradient of :func:`rosen`.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.scipy.optimize.rosen_der(dt.tensor([1.0, 2.0]))
    tensor([-400.,  200.])
    """
    x = floating(x)
    away = x[1:] - x[:-1] ** 2
    zero = np.zeros_like(x[:1])
    return np.concatenate([-400 * x[:-1] * away - 2 * (1 - x[:-1]), zero]) + np.concatenate([zero, 200 * away])


@like(_optimize)
def rosen_hess(x: Any) -> Any:
    """The Hessian of :func:`rosen`.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.scipy.optimize.rosen_hess(dt.tensor([1.0, 2.0]))
    tensor([[ 402., -400.],
            [-400.,  200.]])
    """
    x = floating(x)
    side = -400 * x[:-1]
    zero = np.zeros_like(x[:1])
    middle = np.concatenate([1200 * x[:-1] ** 2 - 400 * x[1:] + 2, zero]) + np.concatenate([zero, 200 + 0 * x[1:]])
    return np.diag(middle) + np.diag(side, 1) + np.diag(side, -1)


@like(_optimize)
def rosen_hess_prod(x: Any, p: Any) -> Any:
    """The product of the Hessian of :func:`rosen` and a vector.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.scipy.optimize.rosen_hess_prod(dt.tensor([1.0, 2.0]), dt.tensor([1.0, 0.0]))
    tensor([ 402., -400.])
    """
    x, p = alike(x, p)
    return rosen_hess.__wrapped__(x) @ p
