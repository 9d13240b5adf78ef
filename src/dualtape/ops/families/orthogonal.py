"""Decompositions into orthogonal (unitary) factors: the eigenvalues of Hermitian matrices, singular values, QR.

Vectors are LAPACK's up to a sign or phase, and only results that do not depend on that choice have a derivative.
Eigenvalues of other matrices are in ``matrices``, Householder reflections in ``factorisations``.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..._tensor.tensor import new_tensor
from ...arrays import zeros
from ...arrays.kernels.basics import all_samples
from ...arrays.kernels.memory_order import in_columns
from ...arrays.lazy import numpy_linalg
from ...autograd.underived import underived
from ..dispatch import FUNCTIONS
from ..formulas import adjoint, use
from ..linalg_error import LinAlgError
from ..samples import edge, exact, invertible, ours, real, sample, spd
from ..table import GENERAL, TABLE, composite, op
from .linalg import _diagonal, _eye, _matrix
from .products import as_tensor, matmul

# --- eigenvalues and singular values --------------------------------------------------------------


def _over(a: Any, b: Any) -> Any:
    """Return a / b, and 0 where b is 0: between equal values only results that do not depend on their vectors have a
    derivative, and there a is 0.
    """
    return a * np.where(b == 0, 0, 1 / np.where(b == 0, 1, b))


def _eigh(x: Any, UPLO: str = "L") -> tuple:
    _matrix("linalg.eigh", x)
    if UPLO not in ("L", "U"):
        raise RuntimeError(f"linalg.eigh: expected UPLO argument to be 'L' or 'U', but got {UPLO}")
    values, vectors = numpy_linalg.eigh(x, "L" if UPLO == "L" else "U")
    return values, in_columns(vectors)


def _gaps(values: Any) -> Any:
    """Return values[j] - values[i] at [i, j]."""
    return values.reshape((*values.shape[:-1], 1, values.shape[-1])) - values.reshape((*values.shape, 1))


def _on_diagonal(values: Any) -> Any:
    return values.reshape((*values.shape, 1)) * _eye(values.shape[-1], values)


def _eigh_gradient(g_eigenvalues: Any, g_eigenvectors: Any, eigenvalues: Any, eigenvectors: Any) -> Any:
    v = eigenvectors
    turned = _over(np.matmul(adjoint(v), g_eigenvectors), _gaps(eigenvalues))
    # both triangles of the matrix share the gradient, so that it is symmetric as the matrix is
    inner = (turned + adjoint(turned)) / 2 + _on_diagonal(g_eigenvalues)
    return np.matmul(np.matmul(v, inner), adjoint(v))


# the vectors' signs (phases) are LAPACK's choice, so only what does not depend on them can be compared
op("linalg_eigh", _eigh, namespace="linalg", kind=GENERAL, whole=True, node="LinalgEighBackward0",
    outputs=("eigenvalues", "eigenvectors"), torch_name="-",
   vjp=dict(x=_eigh_gradient), samples=(edge(spd(3, 3)), edge(spd(2, 3, 3))),
   doc="""The eigenvalues, in ascending order, and eigenvectors of a symmetric (Hermitian) matrix; only one triangle is
   read.

   >>> import dualtape as dt
   >>> dt.linalg.eigh(dt.tensor([[2.0, 0.0], [0.0, 1.0]])).eigenvalues
   tensor([1., 2.])
   """)  # fmt: skip


@composite(
    "linalg_eigvalsh",
    namespace="linalg",
    samples=(edge(spd(3, 3)), edge(spd(2, 3, 3)), edge(exact([[1.0, 0.0], [0.0, 1.0]]))),
)
def eigvalsh(input: Any, UPLO: str = "L") -> Any:
    """The eigenvalues of a symmetric (Hermitian) matrix, in ascending order.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.linalg.eigvalsh(dt.tensor([[2.0, 0.0], [0.0, 1.0]]))
    tensor([1., 2.])
    """
    return TABLE["linalg_eigh"].function(input, UPLO)[0]


def _not_converged(name: str, x: Any) -> LinAlgError:
    why = "" if np.isfinite(all_samples(x)).all() else " because the input matrix contained non-finite values"
    return LinAlgError(f"{name}: The algorithm failed to converge{why}.")


def _svd(x: Any, full_matrices: bool = True) -> tuple:
    _matrix("linalg.svd", x, square=False)
    try:
        left, values, right = numpy_linalg.svd(x, full_matrices)
        return in_columns(left), values, in_columns(right)
    except np.linalg.LinAlgError:
        raise _not_converged("linalg.svd", x) from None


def _skew(x: Any) -> Any:
    return x - adjoint(x)


def _svd_gradient(g_U: Any, g_S: Any, g_Vh: Any, U: Any, S: Any, Vh: Any) -> Any:
    k = S.shape[-1]
    m, n = U.shape[-2], Vh.shape[-1]
    u, vh, gu, gvh = U[..., :, :k], Vh[..., :k, :], g_U[..., :, :k], g_Vh[..., :k, :]
    squares = S * S
    gaps = _gaps(squares)
    row = S.reshape((*S.shape[:-1], 1, k))
    column = S.reshape((*S.shape, 1))
    left, right = np.matmul(adjoint(u), gu), np.matmul(gvh, adjoint(vh))
    inner = _over(_skew(left), gaps) * row + column * _over(_skew(adjoint(right)), gaps) + _on_diagonal(g_S)
    if left.dtype.kind == "c":
        inner = inner + 1j * _over(_diagonal(left).imag, S).reshape((*S.shape, 1)) * _eye(k, S)
    result = np.matmul(u, inner)
    if m > k:
        result = result + _over(gu - np.matmul(u, left), row)
    out = np.matmul(result, vh)
    if n > k:
        out = out + np.matmul(u, _over(gvh - np.matmul(right, vh), column))
    return out


op("linalg_svd", _svd, namespace="linalg", aliases={"A": "x"}, kind=GENERAL, whole=True, node="LinalgSvdBackward0", outputs=("U", "S", "Vh"),
    torch_name="-", complex=None,
   vjp=dict(x=_svd_gradient), samples=(sample(real(3, 3), False), sample(real(4, 2), False), sample(real(2, 3, 4), False)),
   doc="""The singular value decomposition: ``U @ diag(S) @ Vh``, with S in descending order.

   >>> import dualtape as dt
   >>> dt.linalg.svd(dt.tensor([[3.0, 0.0], [0.0, 4.0]])).S
   tensor([4., 3.])
   """)  # fmt: skip


@composite(
    "linalg_svdvals",
    namespace="linalg",
    samples=(sample(real(3, 3)), sample(real(4, 2)), sample(real(2, 2, 3))),
)
def svdvals(A: Any, *, driver: str | None = None) -> Any:
    """The singular values of a matrix, in descending order.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.linalg.svdvals(dt.tensor([[3.0, 0.0], [0.0, 4.0]]))
    tensor([4., 3.])
    """
    if driver is not None:
        raise RuntimeError("linalg.svdvals: keyword argument `driver=` is only supported on CUDA inputs: leave it out")
    return TABLE["linalg_svd"].function(A, False)[1]


@composite("svd", samples=(ours(real(3, 3)), ours(real(4, 2))), complex=False)
def svd(input: Any, some: bool = True, compute_uv: bool = True) -> Any:
    """The singular value decomposition as (U, S, V), V not transposed; see :func:`dualtape.linalg.svd`.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.svd(dt.tensor([[3.0, 0.0], [0.0, 4.0]]))[1]
    tensor([4., 3.])
    """
    u, s, vh = TABLE["linalg_svd"].function(input, not some)
    if not compute_uv:  # PyTorch then gives zeros of the full shapes
        rows, columns = input._array.shape[-2:]
        batch = input._array.shape[:-2]
        return input.new_zeros((*batch, rows, rows)), s, input.new_zeros((*batch, columns, columns))
    return u, s, vh.mH


# --- QR -------------------------------------------------------------------------------------------


def _qr(x: Any) -> tuple:
    _matrix("linalg.qr", x, square=False)
    q, r = numpy_linalg.qr(x)
    return in_columns(q), in_columns(r)


def _real_diagonal(x: Any) -> Any:
    """Return a matrix with only the real part of its diagonal."""
    return x.real * _eye(x.shape[-1], x)


def _qr_gradient(g_Q: Any, g_R: Any, Q: Any, R: Any) -> Any:
    upper = np.triu(np.matmul(g_R, adjoint(R)) - np.matmul(adjoint(Q), g_Q))
    inner = np.triu(upper, 1)
    inner = inner + adjoint(inner) + _real_diagonal(upper)
    return use("linalg_solve_triangular")(adjoint(R), g_Q + np.matmul(Q, inner), False, False)


_qr_op = op("qr_tall", _qr, kind=GENERAL, whole=True, public=False, method=False, node="LinalgQrBackward0", outputs=("Q", "R"),
    torch_name="linalg.qr",
   vjp=dict(x=_qr_gradient),
   samples=(sample(invertible(3, 3)), sample(real(4, 2)), sample(real(2, 3, 2))),
   doc="The reduced QR of a matrix with no more columns than rows.")  # fmt: skip


def _right_factor(x: Any) -> Any:
    _matrix("linalg.qr", x, square=False)
    return in_columns(numpy_linalg.qr(x, "r"))


def _right_gradient(g: Any, x: Any) -> Any:
    q, r = use("qr_tall")(x)
    return _qr_gradient(q * 0, g, q, r)


_right_factor_op = op("qr_right", _right_factor, kind=GENERAL, whole=True, public=False, method=False, node="LinalgQrBackward0",
   torch_name="-", vjp=dict(x=_right_gradient),
   samples=(sample(invertible(3, 3)), sample(real(4, 2)), sample(real(2, 3, 2))),
   doc="R of a matrix with no more columns than rows.")  # fmt: skip
_qr_complete = op("qr_complete", lambda x: tuple(numpy_linalg.qr(x, "complete")), kind=GENERAL, whole=True, public=False,
   method=False, outputs=("Q", "R"), constants=("x",), torch_name="-", samples=(edge(real(3, 2)),),
   doc="The complete QR, without a derivative.")  # fmt: skip


@composite("linalg_qr", namespace="linalg", samples=(
    sample(invertible(3, 3)), sample(real(4, 2)), sample(real(2, 4)), sample(real(2, 3, 2)),
    sample(invertible(3, 3), "complete"), sample(real(2, 4), "complete"),
    ours(real(4, 2), "r"), ours(real(2, 4), "r"),
))  # fmt: skip
def qr(A: Any, mode: str = "reduced") -> Any:
    """The factors of ``A = Q @ R``: Q with orthonormal columns, R upper triangular.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.linalg.qr(dt.tensor([[0.0], [2.0]])).R.abs()
    tensor([[2.]])
    """
    if mode not in ("reduced", "complete", "r"):
        raise RuntimeError(f"linalg.qr: expected mode to be one of 'reduced', 'complete', 'r', but got {mode!r}")
    A = as_tensor("linalg.qr", "A", A)
    if A.ndim < 2:
        raise RuntimeError(f"linalg.qr: the input tensor must have at least 2 dimensions, got shape {list(A.shape)}")
    m, n = A.shape[-2:]
    result_type: Any = TABLE["qr_tall"].result_type
    if mode == "complete" and m > n:
        q, r = _qr_complete(A.detach())
        return result_type([underived("linalg.qr(mode='complete') of more rows than columns", x, A) for x in (q, r)])
    if mode == "r":
        return result_type(
            [new_tensor(zeros((0,), A._array.dtype, A._array)), _right_factor_op(A) if m >= n else qr(A)[1]]
        )
    if m >= n:
        return _qr_op(A)
    q, r = _qr_op(A[..., :m])  # the columns beyond a square follow from it
    return result_type([q, FUNCTIONS["cat"]([r, matmul(q.mH, A[..., m:])], -1)])
