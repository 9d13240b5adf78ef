"""``scipy.sparse.linalg`` for tensors: systems of equations with a sparse matrix.

The matrix is a sparse tensor, whose values get gradients; or SciPy's, or a linear operator, which are constant.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..._listing import listing
from ..._tensor.tensor import Tensor, wrap
from ...arrays.lazy import scipy_sparse as _sparse
from ...arrays.lazy import scipy_sparse_linalg as _linalg
from ...autograd.function import Function
from ...ops.numpy_entries.registry import floating
from ...ops.numpy_entries.registry import tensor as _tensor
from .._arguments import plain
from .._like import like, scipys
from .operators import hessian_operator, jacobian_operator

__all__ = [
    "bicgstab",
    "cg",
    "hessian_operator",
    "jacobian_operator",
    "spsolve",
]


def __getattr__(name: str) -> Any:
    return scipys(_linalg, name, __name__)


class _Solved(Function):
    """x of ``A @ x = b``; ``solver(A, b)`` finds it on arrays, and returns the reason if it fails."""

    @staticmethod
    def forward(ctx: Any, matrix: Any, places: Any, shape: tuple, solver: Callable, b: Tensor, *values: Tensor) -> Any:
        known = _sparse.csc_matrix((plain(values[0]), places), shape=shape) if values else matrix
        found, failure = solver(known, plain(b))
        x = wrap(np.array(found).reshape(b.shape))
        ctx.save_for_backward(x, *values)
        ctx.system = (matrix, places, shape, solver)
        if failure:
            ctx.failure = failure
        return x

    @staticmethod
    def backward(ctx: Any, gradient: Any) -> tuple:
        if hasattr(ctx, "failure"):
            raise RuntimeError(f"{ctx.failure}: what was found is no solution, and has no derivative")
        x, *values = ctx.saved_tensors
        matrix, places, shape, solver = ctx.system
        back = None if matrix is None else matrix.conj().T if hasattr(matrix, "conj") else matrix.H
        turned = None if places is None else places[::-1]
        weights = _Solved.apply(back, turned, shape[::-1], solver, gradient, *(np.conj(v) for v in values))
        if not values:
            return (None, None, None, None, weights)
        rows, columns = (wrap(p) for p in places)
        found = -weights[rows] * np.conj(x)[columns]
        return (None, None, None, None, weights, found if x.ndim == 1 else found.sum(-1))


def _solve(A: Any, b: Any, solver: Callable) -> Tensor:
    b = floating(b)
    if not isinstance(A, Tensor):
        return _Solved.apply(A, None, A.shape, solver, b)
    if A.is_sparse:
        entries = A.coalesce()
        rows, columns = entries.indices().numpy()
        return _Solved.apply(None, np.stack([rows, columns]), tuple(A.shape), solver, b, entries.values())
    rows, columns = np.indices(tuple(A.shape)).reshape(2, -1)
    return _Solved.apply(None, np.stack([rows, columns]), tuple(A.shape), solver, b, A.reshape(-1))


@like(_linalg)
def spsolve(A: Any, b: Any, permc_spec: str | None = None, use_umfpack: bool = True) -> Any:
    """The x of ``A @ x = b``, by a factorisation.

    Examples
    --------
    >>> import dualtape as dt
    >>> values = dt.tensor([2.0, 4.0], dtype=dt.float64, requires_grad=True)
    >>> A = dt.sparse_coo_tensor([[0, 1], [0, 1]], values, (2, 2))
    >>> x = dt.scipy.sparse.linalg.spsolve(A, dt.ones(2, dtype=dt.float64))
    >>> x.sum().backward()
    >>> values.grad
    tensor([-0.2500, -0.0625], dtype=dualtape.float64)
    """

    def solver(matrix: Any, right: np.ndarray) -> tuple[Any, str]:
        found = _linalg.spsolve(_sparse.csc_matrix(matrix), right, permc_spec, use_umfpack)
        return (found.toarray() if hasattr(found, "toarray") else found), ""

    return _solve(A, b, solver)


def _iterative(name: str, doc: str) -> Callable:
    @like(_linalg, name)
    def solve(
        A: Any,
        b: Any,
        x0: Any = None,
        *,
        rtol: float = 1e-05,
        atol: float = 0.0,
        maxiter: int | None = None,
        M: Any = None,
        callback: Callable | None = None,
    ) -> tuple:
        info: list[int] = []

        def solver(matrix: Any, right: np.ndarray) -> tuple[Any, str]:
            start = plain(x0) if not info else None  # in the backward it is another system
            found, status = getattr(_linalg, name)(
                matrix, right, start, rtol=rtol, atol=atol, maxiter=maxiter, M=plain(M), callback=callback
            )
            info.append(status)
            return found, f"{name} did not converge" if status else ""

        return _solve(A, _tensor(b), solver), info[0]

    solve.__name__ = solve.__qualname__ = name
    solve.__doc__ = f"""{doc}

    Gradients are found by the same iteration, to the same tolerance.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.scipy.sparse.linalg.{name}(dt.eye(2, dtype=dt.float64) * 2, dt.ones(2, dtype=dt.float64))
    (tensor([0.5000, 0.5000], dtype=dualtape.float64), 0)
    """
    return solve


cg = _iterative("cg", "x of ``A @ x = b`` for a positive definite A by conjugate gradients, and 0 if that converged.")
bicgstab = _iterative("bicgstab", "x of ``A @ x = b`` by stabilised biconjugate gradients, and 0 if that converged.")

__dir__ = listing(__name__)
