"""``scipy.sparse.linalg`` for tensors: systems of equations with a sparse matrix.

The matrix is a sparse tensor, whose values get gradients; or SciPy's, or a linear operator, which are constant.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..._tensor.tensor import Tensor, wrap
from ...arrays.lazy import scipy_sparse as _sparse
from ...arrays.lazy import scipy_sparse_linalg as _linalg
from ...autograd.function import Function
from ...ops.numpy_entries.registry import floating, op
from ...ops.numpy_entries.registry import tensor as _tensor
from .._arguments import plain
from .._like import like, names_of, scipys
from .operators import hessian_operator, jacobian_operator

__all__ = [
    "bicg",
    "bicgstab",
    "cg",
    "cgs",
    "expm",
    "expm_multiply",
    "gmres",
    "hessian_operator",
    "inv",
    "jacobian_operator",
    "lgmres",
    "lsmr",
    "lsqr",
    "minres",
    "norm",
    "qmr",
    "spsolve",
    "spsolve_triangular",
    "tfqmr",
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
        maxiter: int | None = None,
        callback: Callable | None = None,
        **options: Any,
    ) -> tuple:
        if maxiter is not None:
            options["maxiter"] = maxiter
        if name != "minres":
            options.setdefault("atol", 0.0)
        options = {key: plain(value) for key, value in options.items()}
        info: list[int] = []

        def solver(matrix: Any, right: np.ndarray) -> tuple[Any, str]:
            start = plain(x0) if not info else None  # in the backward it is another system
            found, status = getattr(_linalg, name)(matrix, right, start, rtol=rtol, callback=callback, **options)
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

bicg = _iterative("bicg", "x of ``A @ x = b`` by biconjugate gradients, and 0 if that converged.")
cgs = _iterative("cgs", "x of ``A @ x = b`` by conjugate gradients squared, and 0 if that converged.")
gmres = _iterative("gmres", "x of ``A @ x = b`` by minimal residuals, and 0 if that converged.")
lgmres = _iterative("lgmres", "x of ``A @ x = b`` by minimal residuals, augmented, and 0 if that converged.")
minres = _iterative("minres", "x of ``A @ x = b`` for a symmetric A by minimal residuals, and 0 if that converged.")
qmr = _iterative("qmr", "x of ``A @ x = b`` by quasi-minimal residuals, and 0 if that converged.")
tfqmr = _iterative(
    "tfqmr", "x of ``A @ x = b`` by quasi-minimal residuals without a transpose, and 0 if that converged."
)


def _densely(A: Any) -> Any:
    if isinstance(A, Tensor):
        return A.to_dense() if A.layout.__repr__() != "dualtape.strided" else A
    return _tensor(A.toarray() if hasattr(A, "toarray") else np.asarray(A))


@like(_linalg)
def inv(A: Any) -> Any:
    """The inverse, as a dense tensor.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.scipy.sparse.linalg.inv((dt.eye(2) * 2).to_sparse())
    tensor([[0.5000, 0.0000],
            [0.0000, 0.5000]])
    """
    return op("linalg.inv")(floating(_densely(A)))


@like(_linalg)
def expm(A: Any) -> Any:
    """The matrix exponential, as a dense tensor.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.scipy.sparse.linalg.expm(dt.zeros(1, 1).to_sparse())
    tensor([[1.]])
    """
    return op("matrix_exp")(floating(_densely(A)))


@like(_linalg)
def expm_multiply(
    A: Any, B: Any, start: Any = None, stop: Any = None, num: Any = None, endpoint: Any = None, traceA: Any = None
) -> Any:
    """The product of the matrix exponential and ``B``.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.scipy.sparse.linalg.expm_multiply(dt.zeros(1, 1).to_sparse(), dt.ones(1))
    tensor([1.])
    """
    if any(v is not None for v in (start, stop, num, endpoint)):
        raise TypeError("expm_multiply on tensors takes no start, stop, num or endpoint")
    return op("matrix_exp")(floating(_densely(A))) @ floating(B)


@like(_linalg)
def norm(x: Any, ord: Any = None, axis: Any = None) -> Any:
    """A norm of a sparse matrix.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.scipy.sparse.linalg.norm(dt.eye(4).to_sparse())
    tensor(2.)
    """
    return np.linalg.norm(floating(_densely(x)), "fro" if ord is None and axis is None else ord, axis)


@like(_linalg)
def spsolve_triangular(
    A: Any,
    b: Any,
    lower: bool = True,
    overwrite_A: bool = False,
    overwrite_b: bool = False,
    unit_diagonal: bool = False,
) -> Any:
    """The x of ``A @ x = b`` of a triangular matrix.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.scipy.sparse.linalg.spsolve_triangular((dt.eye(2) * 2).to_sparse(), dt.ones(2))
    tensor([0.5000, 0.5000])
    """
    if unit_diagonal:
        raise TypeError("spsolve_triangular on tensors takes no unit_diagonal")
    return _solve(A, b, lambda matrix, right: (_linalg.spsolve(_sparse.csc_matrix(matrix), right), ""))


def _least_squares(name: str) -> Callable:
    @like(_linalg, name)
    def solve(A: Any, b: Any, damp: float = 0.0, *args: Any, **kwargs: Any) -> tuple:
        matrix, right = floating(_densely(A)), floating(b)
        gram = _transposed(matrix) @ matrix + damp**2 * np.eye(matrix.shape[1], dtype=matrix._array.dtype)
        x = (
            op("linalg.solve")(gram, _transposed(matrix) @ right)
            if damp
            else op("linalg.lstsq")(matrix, right.unsqueeze(-1))[0].squeeze(-1)
        )
        theirs = getattr(_linalg, name)(plain(matrix), plain(right), damp, *args, **kwargs)
        return (x, *theirs[1:])

    solve.__name__ = solve.__qualname__ = name
    solve.__doc__ = f"""The x with the least ``|A @ x - b|``, by a dense solve, and SciPy's report of its iteration.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.scipy.sparse.linalg.{name}(dt.eye(2, dtype=dt.float64) * 2, dt.ones(2, dtype=dt.float64))[0]
    tensor([0.5000, 0.5000], dtype=dualtape.float64)
    """
    return solve


def _transposed(x: Any) -> Any:
    return np.conj(np.swapaxes(x, -1, -2))


lsqr, lsmr = _least_squares("lsqr"), _least_squares("lsmr")

__dir__ = names_of(_linalg, __name__)
