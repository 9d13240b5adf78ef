"""``scipy.linalg`` for tensors.

Matrices may be batched, where PyTorch's functions allow it. ``overwrite_*`` is accepted and nothing is overwritten;
with ``check_finite``, the default, infinities and NaN are refused, as in SciPy.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .._tensor.tensor import Tensor
from ..arrays.lazy import scipy_linalg as _linalg
from ..ops.linalg_error import LinAlgError as LinAlgError
from ..ops.numpy_entries.arrangements import moved
from ..ops.numpy_entries.registry import alike, floating, op
from . import _structured
from ._like import like, names_of, scipys

__all__ = [
    *_structured.__all__,
    "LinAlgError",
    "block_diag",
    "cho_factor",
    "cho_solve",
    "cholesky",
    "circulant",
    "coshm",
    "cosm",
    "det",
    "eig",
    "eigh",
    "eigvals",
    "eigvalsh",
    "expm",
    "hankel",
    "inv",
    "logm",
    "lstsq",
    "lu",
    "lu_factor",
    "lu_solve",
    "norm",
    "pinv",
    "polar",
    "qr",
    "sinhm",
    "sinm",
    "solve",
    "solve_continuous_lyapunov",
    "solve_discrete_lyapunov",
    "solve_sylvester",
    "solve_triangular",
    "sqrtm",
    "svd",
    "svdvals",
    "toeplitz",
]


globals().update({name: getattr(_structured, name) for name in _structured.__all__})


def __getattr__(name: str) -> Any:
    return scipys(_linalg, name, __name__)


def _checked(check_finite: bool, *values: Any) -> list:
    """Return ``values`` as tensors of floating-point numbers, checked."""
    found = alike(*values)
    if check_finite and not all(bool(x.detach().isfinite().all()) for x in found):
        raise ValueError("array must not contain infs or NaNs")
    return found


def _turned(x: Tensor) -> Any:
    return np.swapaxes(x, -1, -2)


# --- solving --------------------------------------------------------------------------------------


@like(_linalg)
def solve(
    a: Any,
    b: Any,
    lower: bool = False,
    overwrite_a: bool = False,
    overwrite_b: bool = False,
    check_finite: bool = True,
    assume_a: str | None = None,
    transposed: bool = False,
) -> Any:
    """The x of ``a @ x = b``; ``assume_a`` says which part of ``a`` is read: a triangle, if it is symmetric.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.scipy.linalg.solve(dt.eye(2) * 2, dt.ones(2))
    tensor([0.5000, 0.5000])
    """
    a, b = _checked(check_finite, a, b)
    if assume_a in ("sym", "her", "pos", "positive definite", "symmetric", "hermitian"):
        half = np.tril(a, -1) if lower else np.triu(a, 1)
        mirrored = _turned(half) if assume_a in ("sym", "symmetric") else np.conj(_turned(half))
        a = half + mirrored + op("diag_embed")(np.diagonal(a, axis1=-2, axis2=-1))
    elif assume_a in ("upper triangular", "lower triangular"):
        return solve_triangular(a, b, trans=int(transposed), lower=assume_a.startswith("lower"), check_finite=False)
    elif assume_a not in (None, "gen", "general", "diagonal", "tridiagonal", "banded"):
        raise ValueError(f"{assume_a} is not a recognized matrix structure")
    return op("linalg.solve")(_turned(a) if transposed else a, b)


@like(_linalg)
def solve_triangular(
    a: Any,
    b: Any,
    trans: Any = 0,
    lower: bool = False,
    unit_diagonal: bool = False,
    overwrite_b: bool = False,
    check_finite: bool = True,
) -> Any:
    """The x of ``a @ x = b`` for a triangular ``a``, or its transpose.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.scipy.linalg.solve_triangular(dt.tensor([[2.0, 0.0], [1.0, 1.0]]), dt.ones(2), lower=True)
    tensor([0.5000, 0.5000])
    """
    a, b = _checked(check_finite, a, b)
    if trans in (1, 2, "T", "C"):
        a, lower = (_turned(a) if trans in (1, "T") else np.conj(_turned(a))), not lower
    elif trans not in (0, "N"):
        raise ValueError(f"trans is 0, 1 or 2, got {trans!r}")
    column = b.unsqueeze(-1) if b.ndim == 1 else b
    found = op("linalg.solve_triangular")(a, column, upper=not lower, unitriangular=unit_diagonal)
    return found.squeeze(-1) if b.ndim == 1 else found


@like(_linalg)
def inv(a: Any, overwrite_a: bool = False, check_finite: bool = True) -> Any:
    """The inverse.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.scipy.linalg.inv(dt.eye(1) * 2)
    tensor([[0.5000]])
    """
    return op("linalg.inv")(_checked(check_finite, a)[0])


@like(_linalg)
def det(a: Any, overwrite_a: bool = False, check_finite: bool = True) -> Any:
    """The determinant.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.scipy.linalg.det(dt.eye(2) * 2)
    tensor(4.)
    """
    return op("linalg.det")(_checked(check_finite, a)[0])


@like(_linalg)
def pinv(a: Any, *, atol: Any = None, rtol: Any = None, return_rank: bool = False, check_finite: bool = True) -> Any:
    """The pseudo-inverse.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.scipy.linalg.pinv(dt.ones(1, 2))
    tensor([[0.5000],
            [0.5000]])
    """
    (a,) = _checked(check_finite, a)
    rtol = max(a.shape) * np.finfo(a._array.dtype).eps if rtol is None else rtol
    found = op("linalg.pinv")(a, atol=0.0 if atol is None else atol, rtol=rtol)
    if not return_rank:
        return found
    values = np.linalg.svdvals(a.detach().numpy())
    return found, int((values > (atol or 0.0) + values.max(initial=0.0) * rtol).sum())


@like(_linalg)
def lstsq(
    a: Any,
    b: Any,
    cond: Any = None,
    overwrite_a: bool = False,
    overwrite_b: bool = False,
    check_finite: bool = True,
    lapack_driver: str | None = None,
) -> tuple:
    """The x with the least ``|a @ x - b|``, the squared residuals, the rank, and the singular values.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.scipy.linalg.lstsq(dt.ones(2, 1), dt.tensor([1.0, 3.0]))[0].round(decimals=4)
    tensor([2.])
    """
    a, b = _checked(check_finite, a, b)
    return np.linalg.lstsq(a, b, rcond=np.finfo(a._array.dtype).eps if cond is None else cond)


# --- Cholesky, LU, QR -----------------------------------------------------------------------------


@like(_linalg)
def cholesky(a: Any, lower: bool = False, overwrite_a: bool = False, check_finite: bool = True) -> Any:
    """The triangular factor of a positive definite matrix, of which one triangle is read.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.scipy.linalg.cholesky(dt.eye(1) * 4)
    tensor([[2.]])
    """
    (a,) = _checked(check_finite, a)
    factor = op("linalg.cholesky")(a if lower else np.conj(_turned(a)))
    return factor if lower else np.conj(_turned(factor))


@like(_linalg)
def cho_factor(a: Any, lower: bool = False, overwrite_a: bool = False, check_finite: bool = True) -> tuple:
    """The factor for :func:`cho_solve`; the other triangle, which has no meaning, is zero.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.scipy.linalg.cho_factor(dt.eye(1) * 4)
    (tensor([[2.]]), False)
    """
    return cholesky(a, lower, check_finite=check_finite), lower


@like(_linalg)
def cho_solve(c_and_lower: tuple, b: Any, overwrite_b: bool = False, check_finite: bool = True) -> Any:
    """The x of ``a @ x = b``, from :func:`cho_factor` of ``a``.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.scipy.linalg.cho_solve((dt.eye(1) * 2, True), dt.ones(1))
    tensor([0.2500])
    """
    factor, lower = c_and_lower
    first, second = (0, 2) if lower else (2, 0)
    half = solve_triangular(factor, b, first, lower, check_finite=check_finite)
    return solve_triangular(factor, half, second, lower, check_finite=False)


@like(_linalg)
def lu(
    a: Any, permute_l: bool = False, overwrite_a: bool = False, check_finite: bool = True, p_indices: bool = False
) -> tuple:
    """``a = p @ l @ u``; with ``permute_l``, ``p @ l`` and ``u``; with ``p_indices``, p as indices.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.scipy.linalg.lu(dt.eye(1) * 3, permute_l=True)
    (tensor([[1.]]), tensor([[3.]]))
    """
    (a,) = _checked(check_finite, a)
    p, lower, upper = op("linalg.lu")(a)
    if permute_l:
        return p @ lower, upper
    return (np.argmax(p, axis=-1) if p_indices else p), lower, upper


@like(_linalg)
def lu_factor(a: Any, overwrite_a: bool = False, check_finite: bool = True) -> tuple:
    """The factors for :func:`lu_solve` in one matrix, and the row exchanges, counted from 0.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.scipy.linalg.lu_factor(dt.eye(1) * 3)[0]
    tensor([[3.]])
    """
    factors, pivots = op("linalg.lu_factor")(_checked(check_finite, a)[0])
    return factors, pivots - 1


@like(_linalg)
def lu_solve(lu_and_piv: tuple, b: Any, trans: int = 0, overwrite_b: bool = False, check_finite: bool = True) -> Any:
    """The x of ``a @ x = b``, from :func:`lu_factor` of ``a``.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.scipy.linalg.lu_solve(dt.scipy.linalg.lu_factor(dt.eye(1) * 2), dt.ones(1))
    tensor([0.5000])
    """
    factors, b = _checked(check_finite, lu_and_piv[0], b)
    if trans not in (0, 1, 2):
        raise ValueError(f"trans is 0, 1 or 2, got {trans!r}")
    if trans == 1 and factors.is_complex():
        return np.conj(lu_solve(lu_and_piv, np.conj(b), 2, check_finite=False))
    column = b.unsqueeze(-1) if b.ndim == 1 else b
    found = op("linalg.lu_solve")(factors, _pivots(lu_and_piv[1]), column, adjoint=trans > 0)
    return found.squeeze(-1) if b.ndim == 1 else found


def _pivots(pivots: Any) -> Any:
    """Return row exchanges counted from 1, as PyTorch does."""
    return (pivots if isinstance(pivots, Tensor) else floating(pivots)).to(np.int32) + 1


@like(_linalg)
def qr(
    a: Any,
    overwrite_a: bool = False,
    lwork: int | None = None,
    mode: str = "full",
    pivoting: bool = False,
    check_finite: bool = True,
) -> Any:
    """``a = q @ r``; with ``mode="r"``, r alone.

    Examples
    --------
    >>> import dualtape as dt
    >>> abs(dt.scipy.linalg.qr(dt.eye(1) * 3, mode="r")[0])
    tensor([[3.]])
    """
    if pivoting or mode == "raw":
        raise TypeError("qr on tensors: pivoting=False, and mode is 'full', 'r' or 'economic'")
    (a,) = _checked(check_finite, a)
    if mode == "r":
        r: Any = np.linalg.qr(a, mode="r")
        return (op("constant_pad_nd")(r, (0, 0, 0, a.shape[0] - r.shape[0]), 0),)
    return tuple(op("linalg.qr")(a, {"full": "complete", "economic": "reduced"}[mode]))


# --- eigenvalues and singular values --------------------------------------------------------------


@like(_linalg)
def svd(
    a: Any,
    full_matrices: bool = True,
    compute_uv: bool = True,
    overwrite_a: bool = False,
    check_finite: bool = True,
    lapack_driver: str = "gesdd",
) -> Any:
    """``a = u @ diag(s) @ vh``.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.scipy.linalg.svd(dt.eye(1) * 3, compute_uv=False)
    tensor([3.])
    """
    (a,) = _checked(check_finite, a)
    return tuple(op("linalg.svd")(a, full_matrices)) if compute_uv else op("linalg.svdvals")(a)


@like(_linalg)
def svdvals(a: Any, overwrite_a: bool = False, check_finite: bool = True) -> Any:
    """The singular values.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.scipy.linalg.svdvals(dt.eye(1) * 3)
    tensor([3.])
    """
    return op("linalg.svdvals")(_checked(check_finite, a)[0])


@like(_linalg)
def eigh(
    a: Any,
    b: Any = None,
    *,
    lower: bool = True,
    eigvals_only: bool = False,
    overwrite_a: bool = False,
    overwrite_b: bool = False,
    type: int = 1,
    check_finite: bool = True,
    subset_by_index: Any = None,
    subset_by_value: Any = None,
    driver: str | None = None,
) -> Any:
    """Eigenvalues and vectors of a symmetric matrix; with ``b``, of ``a @ v = w * b @ v``.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.scipy.linalg.eigh(dt.eye(2) * 3, eigvals_only=True)
    tensor([3., 3.])
    """
    if type != 1 or subset_by_index is not None or subset_by_value is not None:
        raise TypeError("eigh on tensors: type=1 and all eigenvalues only")
    triangle = "L" if lower else "U"
    if b is None:
        (a,) = _checked(check_finite, a)
        return op("linalg.eigvalsh")(a, triangle) if eigvals_only else tuple(op("linalg.eigh")(a, triangle))
    a, b = _checked(check_finite, a, b)
    factor = cholesky(b if lower else np.conj(_turned(b)), lower=True, check_finite=False)
    whole = np.tril(a) + np.conj(_turned(np.tril(a, -1))) if lower else np.triu(a) + np.conj(_turned(np.triu(a, 1)))
    half = solve_triangular(factor, whole, lower=True)
    inner = np.conj(_turned(solve_triangular(factor, np.conj(_turned(half)), lower=True)))
    if eigvals_only:
        return op("linalg.eigvalsh")(inner)
    values, vectors = op("linalg.eigh")(inner)
    return values, solve_triangular(factor, vectors, 2, lower=True)


@like(_linalg)
def eigvalsh(a: Any, b: Any = None, *, lower: bool = True, check_finite: bool = True) -> Any:
    """The eigenvalues of a symmetric matrix.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.scipy.linalg.eigvalsh(dt.eye(2))
    tensor([1., 1.])
    """
    return eigh(a, b, lower=lower, eigvals_only=True, check_finite=check_finite)


@like(_linalg)
def eig(
    a: Any,
    b: Any = None,
    left: bool = False,
    right: bool = True,
    overwrite_a: bool = False,
    overwrite_b: bool = False,
    check_finite: bool = True,
    homogeneous_eigvals: bool = False,
) -> Any:
    """Eigenvalues, which are complex, and vectors.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.scipy.linalg.eig(dt.eye(1) * 2, right=False)
    tensor([2.+0.j])
    """
    if left or homogeneous_eigvals or b is not None:
        raise TypeError("eig on tensors: no b, no left vectors, no homogeneous_eigvals")
    (a,) = _checked(check_finite, a)
    return tuple(op("linalg.eig")(a)) if right else op("linalg.eigvals")(a)


@like(_linalg)
def eigvals(a: Any, b: Any = None, overwrite_a: bool = False, check_finite: bool = True) -> Any:
    """The eigenvalues, which are complex.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.scipy.linalg.eigvals(dt.eye(1) * 2)
    tensor([2.+0.j])
    """
    return eig(a, b, right=False, check_finite=check_finite)


# --- functions of matrices ------------------------------------------------------------------------


@like(_linalg)
def expm(A: Any) -> Any:
    """The matrix exponential.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.scipy.linalg.expm(dt.zeros(2, 2))
    tensor([[1., 0.],
            [0., 1.]])
    """
    return op("matrix_exp")(floating(A))


@like(_linalg)
def logm(A: Any) -> Any:
    """The matrix logarithm.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.scipy.linalg.logm(dt.eye(2))
    tensor([[0., 0.],
            [0., 0.]])
    """
    return op("scipy_logm")(floating(A))


@like(_linalg)
def sqrtm(A: Any) -> Any:
    """The matrix square root.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.scipy.linalg.sqrtm(dt.eye(1) * 9)
    tensor([[3.]])
    """
    return op("scipy_sqrtm")(floating(A))


def _by_exponentials(name: str, function: Callable, doc: str) -> Callable:
    @like(_linalg, name)
    def of_matrix(A: Any) -> Any:
        return function(floating(A))

    of_matrix.__name__ = of_matrix.__qualname__ = name
    of_matrix.__doc__ = f"""{doc}

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.scipy.linalg.{name}(dt.zeros(1, 1))
    tensor([[{"1." if "cos" in name else "0."}]])
    """
    return of_matrix


def _euler(x: Any) -> Any:
    return expm(x.to(np.result_type(x._array.dtype, np.complex64)) * 1j)


sinhm = _by_exponentials("sinhm", lambda x: (expm(x) - expm(-x)) / 2, "The hyperbolic sine of a matrix.")
coshm = _by_exponentials("coshm", lambda x: (expm(x) + expm(-x)) / 2, "The hyperbolic cosine of a matrix.")
sinm = _by_exponentials(
    "sinm",
    lambda x: _euler(x).imag if not x.is_complex() else (expm(1j * x) - expm(-1j * x)) / 2j,
    "The sine of a matrix.",
)
cosm = _by_exponentials(
    "cosm",
    lambda x: _euler(x).real if not x.is_complex() else (expm(1j * x) + expm(-1j * x)) / 2,
    "The cosine of a matrix.",
)


@like(_linalg)
def solve_sylvester(a: Any, b: Any, q: Any) -> Any:
    """The x of ``a @ x + x @ b = q``.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.scipy.linalg.solve_sylvester(dt.eye(1), dt.eye(1), dt.eye(1))
    tensor([[0.5000]])
    """
    return op("scipy_solve_sylvester")(*alike(a, b, q))


@like(_linalg)
def solve_continuous_lyapunov(a: Any, q: Any) -> Any:
    """The x of ``a @ x + x @ a^H = q``.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.scipy.linalg.solve_continuous_lyapunov(dt.eye(1), dt.eye(1))
    tensor([[0.5000]])
    """
    a, q = alike(a, q)
    return solve_sylvester(a, np.conj(_turned(a)), q)


@like(_linalg)
def solve_discrete_lyapunov(a: Any, q: Any, method: str | None = None) -> Any:
    """The x of ``a @ x @ a^H - x + q = 0``; ``method`` selects the algorithm.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.scipy.linalg.solve_discrete_lyapunov(dt.zeros(1, 1), dt.eye(1))
    tensor([[1.]])
    """
    a, q = alike(a, q)
    matrix = np.eye(q.numel(), dtype=a._array.dtype) - np.kron(a, np.conj(a))
    return op("linalg.solve")(matrix, q.reshape(-1)).reshape(tuple(q.shape))


# --- matrices of a form ---------------------------------------------------------------------------


@like(_linalg)
def block_diag(*arrs: Any) -> Any:
    """A matrix with these on its diagonal.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.scipy.linalg.block_diag(dt.ones(1, 2), dt.ones(1, 1))
    tensor([[1., 1., 0.],
            [0., 0., 1.]])
    """
    return op("block_diag")(*alike(*arrs))


@like(_linalg)
def toeplitz(c: Any, r: Any = None) -> Any:
    """The matrix with constant diagonals of this first column and row.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.scipy.linalg.toeplitz(dt.tensor([1.0, 2.0]))
    tensor([[1., 2.],
            [2., 1.]])
    """
    c, r = alike(c, np.conj(c) if r is None else r)
    return moved(lambda column, row: _linalg.toeplitz(column, row), c.reshape(-1), r.reshape(-1))


@like(_linalg)
def hankel(c: Any, r: Any = None) -> Any:
    """The matrix with constant anti-diagonals of this first column and last row.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.scipy.linalg.hankel(dt.tensor([1.0, 2.0]))
    tensor([[1., 2.],
            [2., 0.]])
    """
    c, r = alike(c, np.zeros_like(c) if r is None else r)
    return moved(lambda column, row: _linalg.hankel(column, row), c.reshape(-1), r.reshape(-1))


@like(_linalg)
def circulant(c: Any) -> Any:
    """The matrix whose columns are cyclic shifts of this one.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.scipy.linalg.circulant(dt.tensor([1.0, 2.0]))
    tensor([[1., 2.],
            [2., 1.]])
    """
    return moved(lambda column: _linalg.circulant(column), c)


@like(_linalg)
def norm(a: Any, ord: Any = None, axis: Any = None, keepdims: bool = False, check_finite: bool = True) -> Any:
    """A norm of vectors or matrices.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.scipy.linalg.norm(dt.tensor([3.0, 4.0]))
    tensor(5.)
    """
    return np.linalg.norm(_checked(check_finite, a)[0], ord, axis, keepdims)


@like(_linalg)
def polar(a: Any, side: str = "right") -> tuple:
    """``a = u @ p`` (``p @ u`` with ``side="left"``), u unitary and p positive.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.scipy.linalg.polar(dt.eye(1) * -2)
    (tensor([[-1.]]), tensor([[2.]]))
    """
    if side not in ("left", "right"):
        raise ValueError("`side` must be either 'right' or 'left'")
    w, s, vh = op("linalg.svd")(floating(a), False)
    middle = np.conj(_turned(vh)) * s if side == "right" else w * s
    return w @ vh, middle @ (vh if side == "right" else np.conj(_turned(w)))


__dir__ = names_of(_linalg, __name__)
