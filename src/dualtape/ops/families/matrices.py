"""Linear algebra beside the factorisations: eigenvalues of general matrices, ranks, tensor equations, Vandermonde
matrices, products of vectors, low-rank approximations.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np

from ..._tensor.tensor import new_tensor, raw
from ...arrays.kernels.basics import all_samples, asarray_like, full_like_shape, on_host
from ...arrays.kernels.memory_order import in_columns
from ...arrays.lazy import numpy_linalg
from ...errors import warn
from ..dispatch import FUNCTIONS
from ..formulas import adjoint, normal_dim
from ..linalg_error import LinAlgError
from ..samples import edge, exact, invertible, ours, real, sample, spd
from ..table import GENERAL, TABLE, _result_type, composite, op
from .factorisations import ones_on_diagonal
from .linalg import _diagonal, _matrix, _singular_inverse
from .orthogonal import _gaps, _on_diagonal, _over
from .orthogonal import qr as orthogonal

# --- eigenvalues ----------------------------------------------------------------------------------


def _eig(x: Any) -> Any:
    _matrix("linalg.eig", x)
    dtype = np.result_type(x.dtype, np.complex64)

    def found(a: np.ndarray) -> tuple:
        if not np.isfinite(a).all():
            raise LinAlgError("linalg.eig: input tensor should not contain infs or NaNs.")
        return tuple(part.astype(dtype, copy=False) for part in numpy_linalg.eig(a))

    values, vectors = on_host(found, x)
    return values, in_columns(vectors)


def _eig_gradient(g_eigenvalues: Any, g_eigenvectors: Any, eigenvalues: Any, eigenvectors: Any) -> Any:
    """Return the gradient of the matrix.

    Vectors have length 1 and arbitrary phase: parts of their gradient that would change either are dropped.
    """
    v_h = adjoint(eigenvectors)
    along = np.matmul(v_h, g_eigenvectors)
    lengths = _diagonal(along).real
    lengths = lengths.reshape((*lengths.shape[:-1], 1, lengths.shape[-1]))
    inner = _over(along - np.matmul(v_h, eigenvectors) * lengths, _gaps(eigenvalues).conj())
    return numpy_linalg.solve(v_h, np.matmul(inner + _on_diagonal(g_eigenvalues), v_h))


# the vectors' phases are LAPACK's choice, so only what does not depend on them can be compared
op("linalg_eig", _eig, namespace="linalg", kind=GENERAL, whole=True, outputs=("eigenvalues", "eigenvectors"), torch_name="-",
    node="LinalgEigBackward0", vjp=dict(x=_eig_gradient), samples=(edge(invertible(3, 3)), edge(invertible(2, 3, 3))),
    doc="""The eigenvalues and eigenvectors of a square matrix, which are complex.

    >>> import dualtape as dt
    >>> dt.linalg.eig(dt.tensor([[0.0, -1.0], [1.0, 0.0]])).eigenvalues
    tensor([0.+1.j, 0.-1.j])
    """)  # fmt: skip


@composite("linalg_eigvals", namespace="linalg", samples=(sample(invertible(3, 3)), sample(invertible(2, 3, 3))))
def eigvals(input: Any) -> Any:
    """The eigenvalues of a square matrix, which are complex.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.linalg.eigvals(dt.tensor([[0.0, -1.0], [1.0, 0.0]]))
    tensor([0.+1.j, 0.-1.j])
    """
    return TABLE["linalg_eig"].function(input)[0]


@composite("linalg_matrix_rank", namespace="linalg", samples=(
    edge(invertible(3, 3)), edge(exact(np.ones((2, 3, 2)))), edge(exact(np.eye(3)), 2.0), edge(spd(3, 3), hermitian=True),
    edge(exact(np.diag([3.0, 1.0, 0.1])), atol=0.5), edge(exact(np.diag([3.0, 1.0, 0.1])), rtol=0.5),
    edge(exact(np.diag([3.0, 1.0, 0.1])), atol=2.0, rtol=0.1),
))  # fmt: skip
def matrix_rank(input: Any, tol: Any = None, hermitian: bool = False, *, atol: Any = None, rtol: Any = None) -> Any:
    """The number of singular values larger than ``atol`` and than ``rtol`` times the largest; by default, than rounding
    may make of 0.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.linalg.matrix_rank(dt.tensor([[1.0, 2.0], [2.0, 4.0]]))
    tensor(1)
    """
    _matrix("linalg.matrix_rank", raw(input), square=hermitian)
    x = input.detach()
    if tol is not None:
        atol, rtol = tol, 0.0
    if rtol is None:
        rtol = float(np.finfo(raw(x).dtype).eps) * max(x.shape[-2:])
        if atol is not None:
            rtol = FUNCTIONS["where"](atol > 0, 0.0, rtol) if not isinstance(atol, (int, float)) else rtol * (atol <= 0)
    values = TABLE["linalg_eigh"].function(x)[0].abs() if hermitian else TABLE["linalg_svd"].function(x, False)[1]
    if not values.shape[-1]:
        return (values > 0).sum(-1)
    limit = values.amax(-1) * rtol
    if atol is not None:
        limit = limit.clamp(min=atol) if isinstance(atol, (int, float)) else FUNCTIONS["maximum"](limit, atol)
    return (values > limit.unsqueeze(-1)).sum(-1)


# --- triangles ------------------------------------------------------------------------------------


# PyTorch's gradient is that of a full matrix
@composite("cholesky_inverse", samples=(ours(invertible(3, 3)), ours(invertible(2, 3, 3), upper=True)))
def cholesky_inverse(input: Any, upper: bool = False) -> Any:
    """The inverse of the matrix that has ``input`` as its Cholesky triangle.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.cholesky_inverse(dt.tensor([[2.0]]))
    tensor([[0.2500]])
    """
    _matrix("cholesky_inverse", raw(input))
    lower = input.mH if upper else input
    zeros = all_samples(np.diagonal(raw(input), 0, -2, -1)) == 0
    if zeros.any():
        number, k = np.argwhere(zeros.reshape(-1, zeros.shape[-1]))[0].tolist()
        raise LinAlgError(
            f"cholesky_inverse: {f'(Batch element {number}): ' if input.ndim > 2 else ''}{_singular_inverse(k + 1)}"
        )
    half = TABLE["linalg_solve_triangular"].function(lower, ones_on_diagonal(input), False)
    return half.mH @ half


_TriangularSolve = _result_type("triangular_solve", ("solution", "cloned_coefficient"))


@composite("triangular_solve", samples=(
    sample(real(3, 2), invertible(3, 3)), sample(real(3, 2), invertible(2, 3, 3), False),
    sample(real(3, 2), invertible(3, 3), transpose=True), sample(real(3, 2), invertible(3, 3), unitriangular=True),
))  # fmt: skip
def triangular_solve(
    input: Any, A: Any, upper: bool = True, transpose: bool = False, unitriangular: bool = False
) -> Any:
    """The X with ``A @ X == input`` for a triangular A, or its transpose, and a copy of A;
    :func:`dualtape.linalg.solve_triangular` is its successor.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.triangular_solve(dt.tensor([[4.0]]), dt.tensor([[2.0]])).solution
    tensor([[2.]])
    """
    warn("triangular_solve is deprecated in favor of linalg.solve_triangular, which takes A first")
    a, side = (A.mT, not upper) if transpose else (A, upper)
    solution = TABLE["linalg_solve_triangular"].function(a, input, side, True, unitriangular)
    return _TriangularSolve((solution, A.clone()))


_Qr = _result_type("qr", ("Q", "R"))


@composite(
    "qr", samples=(sample(invertible(3, 3)), sample(real(4, 2)), sample(real(2, 3, 2)), edge(invertible(3, 3), False))
)
def qr(input: Any, some: bool = True) -> Any:
    """The factors of ``input = Q @ R``; :func:`dualtape.linalg.qr` is its successor.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.qr(dt.tensor([[3.0], [4.0]])).R
    tensor([[-5.]])
    """
    warn("qr is deprecated in favor of linalg.qr: some=False is mode='complete' there")
    return _Qr(orthogonal(input, "reduced" if some else "complete"))


# --- tensors as matrices --------------------------------------------------------------------------


@composite("linalg_tensorinv", namespace="linalg", samples=(
    sample(invertible(4, 4), ind=1), sample(real(2, 2, 4)), sample(real(6, 2, 3), 1),
))  # fmt: skip
def tensorinv(input: Any, ind: int = 2) -> Any:
    """The inverse of a tensor as a map of its last dimensions, from ``ind`` on, to the first.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.linalg.tensorinv(2 * dt.eye(4).reshape(2, 2, 4)).shape
    dualtape.Size([4, 2, 2])
    """
    if ind <= 0:
        raise RuntimeError(f"linalg.tensorinv: Expected a strictly positive integer for 'ind', but got {ind}")
    if ind > input.ndim:
        raise RuntimeError(f"linalg.tensorinv: 'ind' is {ind}, but the tensor has {input.ndim} dimensions")
    first, last = tuple(input.shape[:ind]), tuple(input.shape[ind:])
    if prod(first) != prod(last):
        raise RuntimeError(
            "linalg.tensorinv: Expected self to satisfy the requirement prod(self.shape[ind:]) == prod(self.shape[:ind]),"
            f" but got {prod(last)} != {prod(first)}"
        )
    return TABLE["inverse"].function(input.reshape(prod(first), prod(last))).reshape(*last, *first)


@composite("linalg_tensorsolve", namespace="linalg", samples=(
    sample(invertible(4, 4), real(4)), sample(real(2, 2, 4), real(2, 2)), sample(real(2, 3, 6), real(2, 3)),
    sample(real(6, 2, 3), real(2, 3), dims=(0,)),
))  # fmt: skip
def tensorsolve(input: Any, other: Any, dims: Sequence[int] | None = None) -> Any:
    """The X whose product with ``input``, summed over all of its dimensions, is ``other``; ``dims`` are moved to the end
    of ``input`` first.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.linalg.tensorsolve(2 * dt.eye(4).reshape(2, 2, 4), dt.ones(2, 2))
    tensor([0.5000, 0.5000, 0.5000, 0.5000])
    """
    if dims is not None:
        input = FUNCTIONS["movedim"](input, tuple(dims), tuple(range(-len(dims), 0)))
    rest = tuple(input.shape[other.ndim :])
    if prod(rest) != prod(input.shape[: other.ndim]) or prod(rest) != other.numel():
        raise RuntimeError(
            "linalg.tensorsolve: Expected self to satisfy the requirement prod(self.shape[other.ndim:]) =="
            f" prod(self.shape[:other.ndim]), but got {prod(rest)} != {prod(input.shape[: other.ndim])}"
        )
    return TABLE["linalg_solve"].function(input.reshape(prod(rest), prod(rest)), other.reshape(-1)).reshape(rest)


# --- vectors --------------------------------------------------------------------------------------


@composite("linalg_vander", namespace="linalg", samples=(
    sample(real(3)), sample(real(2, 3), N=4), sample(real(3), N=2), edge(exact([0.0, 1.0, 2.0])),
))  # fmt: skip
def vander(x: Any, *, N: int | None = None) -> Any:
    """Each entry to the powers 0, 1, ... ``N - 1``, in a new last dimension.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.linalg.vander(dt.tensor([2, 3]), N=3)
    tensor([[1, 2, 4],
            [1, 3, 9]])
    """
    count = N if N is not None else x.shape[-1] if x.ndim else 1
    if count < 2:
        raise RuntimeError(f"linalg.vander: N must be greater than 1, got {count}")
    ones = new_tensor(full_like_shape((*x.shape, 1), 1, raw(x).dtype, raw(x)))
    return FUNCTIONS["cat"]([ones, x.unsqueeze(-1).expand((*x.shape, count - 1)).cumprod(-1)], -1)


@composite("linalg_vecdot", namespace="linalg", samples=(
    sample(real(3), real(3)), sample(real(2, 3), real(3)), sample(real(2, 3), real(2, 3), dim=0),
))  # fmt: skip
def vecdot(x: Any, y: Any, *, dim: int = -1) -> Any:
    """The sum of ``x.conj() * y`` along a dimension.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.linalg.vecdot(dt.tensor([1.0, 2.0]), dt.tensor([3.0, 4.0]))
    tensor(11.)
    """
    if x.dtype != y.dtype:
        raise RuntimeError(
            f"linalg.vecdot: Expected x and y to have the same dtype, but found {x.dtype!r} and {y.dtype!r} instead"
        )
    if not (x.is_floating_point() or x.is_complex()):
        raise RuntimeError(f"linalg.vecdot: Expected a floating point or complex tensor as input. Got {x.dtype!r}")
    return (x.conj() * y).sum(normal_dim(dim, max(x.ndim, y.ndim)))


@composite("linalg_diagonal", namespace="linalg", samples=(
    sample(real(3, 4)), sample(real(2, 3, 4), offset=1), sample(real(2, 3, 4), dim1=0, dim2=1),
))  # fmt: skip
def diagonal(A: Any, *, offset: int = 0, dim1: int = -2, dim2: int = -1) -> Any:
    """The diagonals of matrices: a view.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.linalg.diagonal(dt.tensor([[1, 2], [3, 4]]))
    tensor([1, 4])
    """
    return FUNCTIONS["diagonal"](A, offset, dim1, dim2)


# --- of low rank ----------------------------------------------------------------------------------


def _basis(A: Any, q: int, niter: int) -> Any:
    """Return orthonormal columns that nearly span those of A: of random combinations, improved by powers of A."""
    from ...random import randn

    start = asarray_like(raw(randn(A.shape[-1], q, dtype=A.dtype)), raw(A))
    Q = orthogonal(A @ new_tensor(start))[0]
    for _ in range(niter):
        Q = orthogonal(A @ orthogonal(A.mH @ Q)[0])[0]
    return Q


@composite(
    "svd_lowrank",
    method=False,
    torch_name="-",
    complex=False,
    samples=(edge(np.outer([1.0, 2.0, 3.0], [1.0, 1.0]), 1),),
)
def svd_lowrank(A: Any, q: int | None = 6, niter: int | None = 2, M: Any = None) -> Any:
    """The largest ``q`` singular values of ``A - M`` and their vectors, as (U, S, V), found by random combinations of
    its columns.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.svd_lowrank(dt.tensor([[3.0, 0.0], [0.0, 0.0]]), q=1)[1]
    tensor([3.])
    """
    q, niter = 6 if q is None else q, 2 if niter is None else niter
    _matrix("svd_lowrank", raw(A), square=False)
    if q < 0 or niter < 0:
        raise ValueError(f"svd_lowrank: q and niter must not be negative, got {q} and {niter}")
    if M is not None:
        A = A - M.expand(A.shape)
    wide = A.shape[-2] < A.shape[-1]
    X = A.mH if wide else A
    Q = _basis(X, min(q, *A.shape[-2:]), niter)
    U, S, Vh = TABLE["linalg_svd"].function(Q.mH @ X, False)
    left, right = Q @ U, Vh.mH
    return (right, S, left) if wide else (left, S, right)


@composite(
    "pca_lowrank",
    method=False,
    torch_name="-",
    complex=False,
    samples=(edge(np.outer([1.0, 2.0, 3.0], [1.0, 1.0]), 1),),
)
def pca_lowrank(A: Any, q: int | None = None, center: bool = True, niter: int = 2) -> Any:
    """The first ``q`` principal components of rows of data: :func:`svd_lowrank` after their mean is subtracted.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.pca_lowrank(dt.tensor([[1.0, 0.0], [3.0, 0.0]]), q=1)[1]
    tensor([1.4142])
    """
    _matrix("pca_lowrank", raw(A), square=False)
    most = min(A.shape[-2:])
    q = min(6, most) if q is None else q
    if not 0 <= q <= most:
        raise ValueError(f"q(={q}) must be non-negative integer and not greater than min(m, n)={most}")
    if niter < 0:
        raise ValueError(f"niter(={niter}) must be non-negative integer")
    return svd_lowrank(A - A.mean(-2, keepdim=True) if center else A, q, niter)
