"""The names of ``dualtape.linalg``. Written by ``python -m tools.stubs``."""

# ruff: noqa - written by a tool, one signature a line
from builtins import bool as _bool, complex as _complex, float as _float, int as _int
from typing import Any, NamedTuple

from . import Tensor

class _slogdet_result(NamedTuple):
    sign: Tensor
    logabsdet: Tensor

class _linalg_lu_factor_ex_result(NamedTuple):
    LU: Tensor
    pivots: Tensor
    info: Tensor

class _linalg_eigh_result(NamedTuple):
    eigenvalues: Tensor
    eigenvectors: Tensor

class _linalg_svd_result(NamedTuple):
    U: Tensor
    S: Tensor
    Vh: Tensor

class _linalg_eig_result(NamedTuple):
    eigenvalues: Tensor
    eigenvectors: Tensor

class LinAlgError(RuntimeError): ...
def cholesky(input: Any, *, upper: _bool = ..., out: Any = ...) -> Tensor:
    """The triangular matrix L with ``L @ L.mH`` equal to a positive definite matrix, of which only the lower triangle is read; with ``upper=True``, its upper triangle is read and the result is U with ``U.mH @ U``."""
def cholesky_ex(input: Any, *, upper: _bool = ..., check_errors: _bool = ..., out: Any = ...) -> Any:
    """Cholesky's triangle, and 0 or the order of the first leading minor that is not positive: there it is NaN."""
def cond(input: Any, p: Any = ..., *, out: Any = ...) -> Tensor:
    """The condition number of a matrix, by the norm of order ``p`` (2 by default)."""
def cross(input: Any, other: Any, *, dim: Any = ..., out: Any = ...) -> Tensor:
    """The vector product along a dimension of size 3."""
def det(input: Any, *, out: Any = ...) -> Tensor:
    """The determinant of a matrix; the gradient is right for singular matrices, too."""
def diagonal(A: Any, *, offset: _int = ..., dim1: _int = ..., dim2: _int = ...) -> Tensor:
    """The diagonals of matrices: a view."""
def eig(input: Any, *, out: Any = ...) -> _linalg_eig_result:
    """The eigenvalues and eigenvectors of a square matrix, which are complex."""
def eigh(input: Any, UPLO: Any = ..., *, out: Any = ...) -> _linalg_eigh_result:
    """The eigenvalues, in ascending order, and eigenvectors of a symmetric (Hermitian) matrix; only one triangle is read."""
def eigvals(input: Any, *, out: Any = ...) -> Tensor:
    """The eigenvalues of a square matrix, which are complex."""
def eigvalsh(input: Any, UPLO: str = ..., *, out: Any = ...) -> Tensor:
    """The eigenvalues of a symmetric (Hermitian) matrix, in ascending order."""
def householder_product(input: Any, tau: Any, *, out: Any = ...) -> Tensor:
    """The first columns of the product of the reflections that :func:`dualtape.geqrf` leaves below the diagonal."""
def inv(input: Any, *, out: Any = ...) -> Tensor:
    """The inverse of a matrix."""
def inv_ex(A: Any, *, check_errors: _bool = ..., out: Any = ...) -> Any:
    """The inverse, and 0 or the number of a zero on the diagonal of a factor: there it is NaN."""
def ldl_factor(input: Any, *, hermitian: _bool = ..., out: Any = ...) -> Any:
    """The factors of ``A = L @ D @ L.mT`` of a symmetric matrix (``L.mH`` of a Hermitian one) in one matrix, and the exchanges of rows; for :func:`ldl_solve`. No derivative."""
def ldl_factor_ex(input: Any, *, hermitian: _bool = ..., check_errors: _bool = ..., out: Any = ...) -> Any:
    """The factors of ``A = L @ D @ L.mT`` of a symmetric matrix (``L.mH`` of a Hermitian one), the exchanges of rows, and 0 or the place of a zero in D; no derivative."""
def ldl_solve(LD: Any, pivots: Any, B: Any, *, hermitian: _bool = ..., out: Any = ...) -> Tensor:
    """The X with ``A @ X == B``, given the result of :func:`ldl_factor` for A; no derivative."""
def lstsq(input: Any, b: Any, rcond: _float | None = ..., *, driver: str | None = ..., out: Any = ...) -> Any:
    """The X of least ``norm(A @ X - B)``: (solution, residuals, rank, singular_values)."""
def lu(A: Any, *, pivot: _bool = ..., out: Any = ...) -> Any:
    """P, L and U with ``A = P @ L @ U``: a permutation, a lower triangle with ones on its diagonal, an upper one."""
def lu_factor(A: Any, *, pivot: _bool = ..., out: Any = ...) -> Any:
    """The factors L and U of a matrix with exchanged rows in one matrix, and the exchanges; for :func:`lu_solve`."""
def lu_factor_ex(A: Any, *, pivot: _bool = ..., check_errors: _bool = ..., out: Any = ...) -> _linalg_lu_factor_ex_result:
    """The factors L and U of a matrix with exchanged rows in one matrix, the exchanges, and 0 or the number of the first zero on U's diagonal."""
def lu_solve(LU: Any, pivots: Any, B: Any, *, left: _bool = ..., adjoint: _bool = ..., out: Any = ...) -> Tensor:
    """The X with ``A @ X == B``, given the result of :func:`lu_factor` for A; for ``X @ A``, or the adjoint of A."""
def matmul(input: Any, other: Any, *, out: Any = ...) -> Tensor:
    """The matrix product: of two matrices, of vectors with either, of batches broadcast together."""
def matrix_exp(input: Any, *, out: Any = ...) -> Tensor:
    """The exponential of a matrix."""
def matrix_norm(input: Any, ord: Any = ..., dim: Any = ..., keepdim: _bool = ..., *, dtype: Any = ..., out: Any = ...) -> Tensor:
    """A norm of matrices: 'fro', 'nuc', or of order 1, 2, inf or their negatives."""
def matrix_power(input: Any, n: _int, *, out: Any = ...) -> Tensor:
    """A square matrix multiplied with itself; a negative power is that of the inverse."""
def matrix_rank(input: Any, tol: Any = ..., hermitian: _bool = ..., *, atol: Any = ..., rtol: Any = ..., out: Any = ...) -> Tensor:
    """The number of singular values larger than ``atol`` and than ``rtol`` times the largest; by default, than rounding may make of 0."""
def multi_dot(tensors: Any, *, out: Any = ...) -> Tensor:
    """The product of two or more matrices, in the order that multiplies least; the first and the last may be vectors."""
def norm(input: Any, ord: Any = ..., dim: Any = ..., keepdim: _bool = ..., *, dtype: Any = ..., out: Any = ...) -> Tensor:
    """A norm of vectors or matrices: of the whole tensor without ``ord``, else as its dimensions or ``dim`` say."""
def pinv(input: Any, rcond: Any = ..., hermitian: _bool = ..., *, atol: _float | None = ..., rtol: _float | None = ..., out: Any = ...) -> Tensor:
    """The Moore-Penrose pseudo-inverse; singular values up to ``max(atol, rtol * largest)`` count as zero."""
def qr(A: Any, mode: str = ..., *, out: Any = ...) -> Any:
    """The factors of ``A = Q @ R``: Q with orthonormal columns, R upper triangular."""
def slogdet(input: Any, *, out: Any = ...) -> _slogdet_result:
    """The sign (or direction) of the determinant, and the logarithm of its absolute value."""
def solve(A: Any, B: Any, *, left: _bool = ..., out: Any = ...) -> Tensor:
    """The X with ``A @ X == B``, or ``X @ A == B`` for ``left=False``."""
def solve_ex(A: Any, B: Any, *, left: _bool = ..., check_errors: _bool = ..., out: Any = ...) -> Any:
    """The solution of ``A @ X == B``, and 0 or the number of a zero on the diagonal of a factor: there it is NaN."""
def solve_triangular(input: Any, B: Any, *, upper: _bool, left: _bool = ..., unitriangular: _bool = ..., out: Any = ...) -> Tensor:
    """The X with ``A @ X == B`` (``X @ A == B`` for ``left=False``) for a triangular A; only that triangle is read."""
def svd(input: Any, full_matrices: _bool = ..., *, out: Any = ...) -> _linalg_svd_result:
    """The singular value decomposition: ``U @ diag(S) @ Vh``, with S in descending order."""
def svdvals(A: Any, *, driver: str | None = ..., out: Any = ...) -> Tensor:
    """The singular values of a matrix, in descending order."""
def tensorinv(input: Any, ind: _int = ..., *, out: Any = ...) -> Tensor:
    """The inverse of a tensor as a map of its last dimensions, from ``ind`` on, to the first."""
def tensorsolve(input: Any, other: Any, dims: Any = ..., *, out: Any = ...) -> Tensor:
    """The X whose product with ``input``, summed over all of its dimensions, is ``other``; ``dims`` are moved to the end of ``input`` first."""
def vander(x: Any, *, N: _int | None = ...) -> Tensor:
    """Each entry to the powers 0, 1, ... ``N - 1``, in a new last dimension."""
def vecdot(x: Any, y: Any, *, dim: _int = ..., out: Any = ...) -> Tensor:
    """The sum of ``x.conj() * y`` along a dimension."""
def vector_norm(input: Any, ord: Any = ..., dim: Any = ..., keepdim: _bool = ..., *, dtype: Any = ..., out: Any = ...) -> Tensor:
    """The norm of order ``ord`` of the elements over ``dim``: the root of the sum of their powers."""
