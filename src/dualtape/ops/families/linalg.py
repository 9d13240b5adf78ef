"""Linear algebra: factorisations, solutions, determinants, of matrices and of batches of them.

The formulas are the classical ones (Giles 2008, Townsend 2016), written for complex matrices in PyTorch's
convention: the gradient is the conjugate of the derivative. Triangles and Hermitian matrices are read as LAPACK
reads them, from one side.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..._tensor.tensor import new_tensor, wrap
from ...arrays.kernels.basics import all_samples, asarray_like, contiguous, eye, host, on_host
from ...arrays.lazy import scipy_lapack, scipy_linalg
from ...errors import warn
from ..dispatch import FUNCTIONS
from ..formulas import adjoint, normal_dim, transposed, use
from ..linalg_error import LinAlgError
from ..samples import edge, exact, invertible, ours, real, sample, spd
from ..table import GENERAL, TABLE, _result_type, composite, op
from .products import as_tensor, matmul
from .reductions import numpy_names


def _matrix(name: str, x: Any, square: bool = True) -> None:
    if x.ndim < 2:
        raise RuntimeError(f"{name}: the input tensor must have at least 2 dimensions, got shape {list(x.shape)}")
    if square and x.shape[-1] != x.shape[-2]:
        raise RuntimeError(
            f"{name}: A must be batches of square matrices, but they are {x.shape[-2]} by {x.shape[-1]} matrices"
        )
    if x.dtype.kind not in "fc" or x.dtype.itemsize == 2:
        raise RuntimeError(
            f"{name}: expected a floating point or complex tensor of at least single precision, got {x.dtype}; convert"
            " it with .to(...)"
        )


def _diagonal(x: Any) -> Any:
    return np.diagonal(x, 0, -2, -1)


def _eye(n: int, like: Any) -> Any:
    """The identity, as a mask to multiply with."""
    return eye(n, np.bool_, like)


def _real_diagonal(x: Any) -> Any:
    """A matrix with only the real part of its diagonal."""
    return x.real * _eye(x.shape[-1], x)


# --- Cholesky -------------------------------------------------------------------------------------


def _failed(name: str, x: Any, routine: str, say: Callable[[int], str]) -> LinAlgError:
    """The error of a factorisation, which names the first matrix of a batch for which it fails, and where in it."""
    matrices = host(all_samples(x)).reshape(-1, *x.shape[-2:])
    for number, matrix in enumerate(matrices):
        info = scipy_linalg.get_lapack_funcs((routine,), (matrix,))[0](matrix, *(1,) * (routine == "potrf"))[-1]
        if info:
            batch = f"(Batch element {number}): " if x.ndim > 2 else ""
            return LinAlgError(f"{name}: {batch}{say(info)}")
    return LinAlgError(f"{name}: {say(x.shape[-1])}")


def _cholesky(x: Any, upper: bool = False, name: str = "linalg.cholesky") -> Any:
    _matrix(name, x)
    if name == "cholesky":
        warn("cholesky is deprecated in favor of linalg.cholesky: for upper=True there is its .mH")
    try:
        lower = np.linalg.cholesky(x)
    except np.linalg.LinAlgError:
        raise _failed(
            name,
            x,
            "potrf",
            lambda k: (
                "The factorization could not be completed because the input is not positive-definite (the leading"
                f" minor of order {k} is not positive-definite)."
            ),
        ) from None
    return contiguous(adjoint(lower)) if upper else lower


def _half_below(x: Any) -> Any:
    """The lower triangle, its diagonal halved."""
    return np.tril(x, -1) + 0.5 * (x * _eye(x.shape[-1], x))


def _cholesky_gradient(g: Any, out: Any, upper: bool) -> Any:
    lower, g = (adjoint(out), adjoint(g)) if upper else (out, g)
    inner = _half_below(np.matmul(adjoint(lower), g))
    inner = inner + adjoint(inner)
    # L^-H inner L^-1 / 2
    left = use("linalg_solve_triangular")(adjoint(lower), inner, True)
    return use("linalg_solve_triangular")(lower, left, False, False) * 0.5


def _cholesky_tangent(t: Any, out: Any, upper: bool) -> Any:
    lower = adjoint(out) if upper else out
    left = use("linalg_solve_triangular")(lower, t, False)
    inner = use("linalg_solve_triangular")(adjoint(lower), left, True, False)
    result = np.matmul(lower, _half_below(inner))
    return adjoint(result) if upper else result


_SPD = (edge(spd(3, 3)), edge(spd(2, 3, 3)), edge(spd(3, 3), upper=True), edge(spd(1, 1)))

for _name, _node, _torch in (
    ("cholesky", "CholeskyBackward0", "cholesky"),
    ("linalg_cholesky", "LinalgCholeskyExBackward0", "linalg.cholesky"),
):
    op(_name, (lambda name: lambda x, upper=False: _cholesky(x, upper, name))(_torch), kind=GENERAL, whole=True, namespace="linalg" if _name == "linalg_cholesky" else None, keywords=("upper",) if _name == "linalg_cholesky" else (), node=_node,
        torch_name=_torch, samples=_SPD,
       vjp=dict(x=_cholesky_gradient), jvp=dict(x=_cholesky_tangent),
       doc="""The triangular matrix L with ``L @ L.mH`` equal to a positive definite matrix; only its lower triangle is
       read.

   >>> import dualtape as dt
   >>> dt.linalg.cholesky(dt.tensor([[4.0, 2.0], [2.0, 5.0]]))
   tensor([[2., 0.],
           [1., 2.]])
   """)  # fmt: skip

# --- inverse and solutions ------------------------------------------------------------------------


def _inverse(x: Any) -> Any:
    _matrix("linalg.inv", x)
    try:
        return np.linalg.inv(x)
    except np.linalg.LinAlgError:
        raise _failed(
            "linalg.inv",
            x,
            "getrf",
            lambda k: (
                f"The diagonal element {k} is zero, the inversion could not be completed because the input matrix"
                " is singular."
            ),
        ) from None


inverse = op("inverse", _inverse, also=("linalg.inv",), aliases={"A": "x"}, kind=GENERAL, whole=True, node="LinalgInvExBackward0",
   vjp=dict(x=lambda g, out: -np.matmul(adjoint(out), np.matmul(g, adjoint(out)))),
   jvp=dict(x=lambda t, out: -np.matmul(out, np.matmul(t, out))),
   samples=(sample(invertible(3, 3)), sample(invertible(2, 3, 3)), sample(invertible(1, 1)),
       sample(invertible(0, 3, 3)), sample(invertible(0, 0))),
   doc="""The inverse of a matrix.

   >>> import dualtape as dt
   >>> dt.linalg.inv(dt.tensor([[2.0, 0.0], [0.0, 4.0]]))
   tensor([[0.5000, 0.0000],
           [0.0000, 0.2500]])
   """)  # fmt: skip


def _is_vector(a_shape: tuple, b_shape: tuple) -> bool:
    """PyTorch's rule for right sides that are (batches of) vectors."""
    return len(b_shape) == 1 or (len(a_shape) - 1 == len(b_shape) and tuple(b_shape) == tuple(a_shape[:-1]))


def _solved(A: Any, B: Any) -> Any:
    """The solution for matrices B; CuPy's own takes batches of one shape only."""
    if type(A) is not np.ndarray and A.shape[:-2] != B.shape[:-2]:
        batch = np.broadcast_shapes(A.shape[:-2], B.shape[:-2])
        A, B = np.broadcast_to(A, (*batch, *A.shape[-2:])), np.broadcast_to(B, (*batch, *B.shape[-2:]))
    try:
        return np.linalg.solve(A, B)
    except np.linalg.LinAlgError:
        raise _failed(
            "linalg.solve", A, "getrf", lambda k: "The solver failed because the input matrix is singular."
        ) from None


def _solve(A: Any, B: Any, left: bool = True) -> Any:
    _matrix("linalg.solve", A)
    if A.dtype != B.dtype:
        raise RuntimeError(
            f"linalg.solve: expected A and B to have the same dtype, but found A of {A.dtype} and B of {B.dtype}"
            " instead"
        )
    vector = _is_vector(A.shape, B.shape)
    if vector and not left:
        raise RuntimeError(
            "linalg.solve: vector broadcasting of the left hand side is not supported for left=False; pass a matrix"
        )
    side = B[..., None] if vector else B
    if side.ndim < 2:
        raise RuntimeError(f"linalg.solve: the right side must have at least 1 dimension, got {list(B.shape)}")
    if side.shape[-2 if left else -1] != A.shape[-1]:
        raise RuntimeError(
            f"linalg.solve: incompatible shapes of A and B for the equation {'AX' if left else 'XA'} = B"
            f" ({list(A.shape)} and {list(B.shape)})"
        )
    if left:
        return _solved(A, side)[..., 0] if vector else _solved(A, side)
    return contiguous(transposed(_solved(transposed(A), transposed(side))))


def _matrix_of(g_b: Any, x: Any, left: bool, vector: bool) -> Any:
    """The gradient of A: minus the gradient of B times the solution."""
    if vector:
        return -(g_b.reshape((*g_b.shape, 1)) * x.conj().reshape((*x.shape[:-1], 1, x.shape[-1])))
    return -np.matmul(g_b, adjoint(x)) if left else -np.matmul(adjoint(x), g_b)


def _apply(t: Any, x: Any, left: bool) -> Any:
    """A matrix tangent times the solution."""
    if len(x.shape) == len(t.shape) - 1:
        return np.matmul(t, x.reshape((*x.shape, 1))).reshape(x.shape)
    return np.matmul(t, x) if left else np.matmul(x, t)


def _solve_adjoint(A: Any, B: Any, left: bool = True) -> Any:
    """:func:`_solve` with the adjoint of A: by its own factors or, where these do not exist, by those of A, which the
    forward had. Of a matrix that is nearly singular one may exist without the other.
    """
    try:
        return _solve(adjoint(A), B, left)
    except np.linalg.LinAlgError:
        return on_host(lambda a, b: _by_factors(a, b, left), A, B)


def _by_factors(A: np.ndarray, B: np.ndarray, left: bool) -> np.ndarray:
    vector = _is_vector(A.shape, B.shape)
    side = B[..., None] if vector else B if left else adjoint(B)
    batch = np.broadcast_shapes(A.shape[:-2], side.shape[:-2])
    A, side = np.broadcast_to(A, (*batch, *A.shape[-2:])), np.broadcast_to(side, (*batch, *side.shape[-2:]))
    out = np.empty(side.shape, side.dtype)
    getrf, getrs = scipy_linalg.get_lapack_funcs(("getrf", "getrs"), (A, side))
    for k in np.ndindex(*batch):
        factors, pivots, info = getrf(A[k] if left else A[k].T)  # what the forward had
        if info:
            raise LinAlgError("linalg.solve: The solver failed because the input matrix is singular.")
        out[k] = getrs(factors, pivots, side[k], trans=2 if left else 1)[0]
    return out[..., 0] if vector else out if left else contiguous(adjoint(out))


def _adjoint_matrix_of(g_b: Any, x: Any, left: bool, vector: bool) -> Any:
    """The gradient of A, given the solution x for its adjoint: the adjoint of :func:`_matrix_of`."""
    return adjoint(_matrix_of(g_b, x, left, vector))


op("linalg_solve_adjoint", _solve_adjoint, kind=GENERAL, whole=True, public=False, method=False, torch_name="-",
   node="LinalgSolveExBackward0",
   vjp=dict(A=lambda g, A, out, left: _adjoint_matrix_of(use("linalg_solve")(A, g, left), out, left, len(out.shape) == len(A.shape) - 1),
            B=lambda g, A, left: use("linalg_solve")(A, g, left)),
   jvp=dict(A=lambda t, A, out, left: -use("linalg_solve_adjoint")(A, _apply(adjoint(t), out, left), left),
            B=lambda t, A, out, left: np.broadcast_to(use("linalg_solve_adjoint")(A, t, left), out.shape)),
   samples=(sample(invertible(3, 3), real(3)), sample(invertible(2, 3, 3), real(2, 3, 2)),
            sample(invertible(3, 3), real(2, 3), left=False)),
   doc="""The X with ``A.mH @ X == B``, or ``X @ A.mH == B`` for ``left=False``.""")  # fmt: skip
op("linalg_solve", _solve, namespace="linalg", kind=GENERAL, whole=True, keywords=("left",), node="LinalgSolveExBackward0",
   aliases={"input": "A", "other": "B"},
   vjp=dict(A=lambda g, A, out, left: _matrix_of(use("linalg_solve_adjoint")(A, g, left), out, left, len(out.shape) == len(A.shape) - 1),
            B=lambda g, A, left: use("linalg_solve_adjoint")(A, g, left)),
   jvp=dict(A=lambda t, A, out, left: -use("linalg_solve")(A, _apply(t, out, left), left),
            B=lambda t, A, out, left: np.broadcast_to(use("linalg_solve")(A, t, left), out.shape)),
   samples=(sample(invertible(3, 3), real(3)), sample(invertible(3, 3), real(3, 2)),
       sample(invertible(2, 3, 3), real(2, 3, 2)),
   sample(invertible(2, 3, 3), real(2, 3)),
            sample(invertible(3, 3), real(2, 3, 2)), sample(invertible(2, 3, 3), real(3, 4)),
            sample(invertible(3, 3), real(2, 3), left=False),
            sample(invertible(2, 3, 3), real(3)), sample(invertible(3, 3), real(3, 0))),
   doc="""The X with ``A @ X == B``, or ``X @ A == B`` for ``left=False``.

   >>> import dualtape as dt
   >>> dt.linalg.solve(dt.tensor([[2.0, 0.0], [0.0, 4.0]]), dt.tensor([2.0, 2.0]))
   tensor([1.0000, 0.5000])
   """)  # fmt: skip


def _triangle(x: Any, upper: bool, unitriangular: bool) -> Any:
    x = np.triu(x) if upper else np.tril(x)
    if unitriangular:
        eye = _eye(x.shape[-1], x)
        x = x * (1 - eye.astype(np.int8)) + eye
    return x


# SciPy's function takes its time to find the one that it calls
_TRTRS = {
    "f": "strtrs",
    "d": "dtrtrs",
    "F": "ctrtrs",
    "D": "ztrtrs",
}


def _solve_triangular(A: Any, B: Any, upper: bool, left: bool = True, unitriangular: bool = False) -> Any:
    _matrix("linalg.solve_triangular", A)
    if B.ndim < 2 or A.dtype != B.dtype or B.shape[-2 if left else -1] != A.shape[-1]:
        raise RuntimeError(
            "linalg.solve_triangular: incompatible shapes or dtypes of A and B for the equation"
            f" {'AX' if left else 'XA'} = B ({list(A.shape)} of {A.dtype}"
            f" and {list(B.shape)} of {B.dtype})"
        )
    if not left:
        return contiguous(transposed(_solve_triangular(transposed(A), transposed(B), not upper, True, unitriangular)))
    if type(A) is type(B) is np.ndarray and A.ndim == B.ndim == 2 and A.size and B.size:
        name = _TRTRS.get(A.dtype.char)
        if name is not None:
            # LAPACK reads by columns: what lies in rows is the transpose of the other triangle
            by_rows = A.flags.c_contiguous
            found, trouble = getattr(scipy_lapack, name)(
                A.T if by_rows else A, B, not upper ^ by_rows, by_rows, unitriangular
            )
            if trouble == 0:
                return found
        return scipy_linalg.solve_triangular(A, B, lower=not upper, unit_diagonal=unitriangular, check_finite=False)
    return _solved(_triangle(A, upper, unitriangular).astype(A.dtype, copy=False), B)


def _triangular_gradient(g_b: Any, x: Any, upper: bool, left: bool, unitriangular: bool) -> Any:
    full = -np.matmul(g_b, adjoint(x)) if left else -np.matmul(adjoint(x), g_b)
    strict = int(unitriangular)
    return np.triu(full, strict) if upper else np.tril(full, -strict)


def _triangular_tangent(t: Any, A: Any, out: Any, upper: bool, left: bool, unitriangular: bool) -> Any:
    strict = int(unitriangular)
    t = np.triu(t, strict) if upper else np.tril(t, -strict)
    return -use("linalg_solve_triangular")(
        A, np.matmul(t, out) if left else np.matmul(out, t), upper, left, unitriangular
    )


def _triangular_back(g: Any, A: Any, upper: bool, left: bool, unitriangular: bool) -> Any:
    return use("linalg_solve_triangular")(adjoint(A), g, not upper, left, unitriangular)


_solve_triangular_op = op("linalg_solve_triangular", _solve_triangular, kind=GENERAL, whole=True, public=False, method=False,
    torch_name="-",
   aliases={"input": "A", "other": "B"},
   vjp=dict(A=lambda g, A, out, upper, left, unitriangular:
                _triangular_gradient(_triangular_back(g, A, upper, left, unitriangular), out, upper, left,
                    unitriangular),
            B=lambda g, A, upper, left, unitriangular: _triangular_back(g, A, upper, left, unitriangular)),
   jvp=dict(A=_triangular_tangent, B=lambda t, A, out, upper, left, unitriangular:
                np.broadcast_to(use("linalg_solve_triangular")(A, t, upper, left, unitriangular), out.shape)),
   samples=(sample(invertible(3, 3), real(3, 2), True), sample(invertible(3, 3), real(3, 2), False, True, True),
   sample(invertible(2, 3, 3), real(3, 2), False)),
   doc="""The solution of a triangular system.""")  # fmt: skip


@composite("solve_triangular", namespace="linalg", samples=(
    sample(invertible(3, 3), real(3, 2), upper=True), sample(invertible(3, 3), real(3, 2), upper=False),
    sample(invertible(3, 3), real(2, 3), upper=True, left=False),
    sample(invertible(2, 3, 3), real(2, 3, 2), upper=False, unitriangular=True),
    sample(invertible(2, 3, 3), real(3, 2), upper=True),
))  # fmt: skip
def solve_triangular(input: Any, B: Any, *, upper: bool, left: bool = True, unitriangular: bool = False) -> Any:
    """The X with ``A @ X == B`` (``X @ A == B`` for ``left=False``) for a triangular A; only that triangle is read.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.linalg.solve_triangular(dt.tensor([[2.0, 0.0], [1.0, 4.0]]), dt.tensor([[2.0], [5.0]]), upper=False)
    tensor([[1.],
            [1.]])
    """
    return _solve_triangular_op(input, B, upper, left, unitriangular)


@composite(
    "cholesky_solve", samples=(ours(real(3, 2), invertible(3, 3)), ours(real(2, 3, 2), invertible(2, 3, 3), upper=True))
)
def cholesky_solve(input: Any, input2: Any, upper: bool = False) -> Any:
    """The X with ``A @ X == input``, from the Cholesky factor of A.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.cholesky_solve(dt.tensor([[4.0]]), dt.tensor([[2.0]]))
    tensor([[1.]])
    """
    other = input2.mH
    first, second = (other, input2) if upper else (input2, other)
    return _solve_triangular_op(second, _solve_triangular_op(first, input, False), True)


# --- determinants ---------------------------------------------------------------------------------


def _det(x: Any) -> Any:
    _matrix("linalg.det", x)
    return np.linalg.det(x)


def _products_without(s: Any, count: int) -> Any:
    """For each one (or pair) of the last axis, the product of all the others."""
    n = s.shape[-1]
    same = _eye(n, s)
    others = ~same if count == 1 else ~(same[:, None] | same[None])
    return np.prod(np.where(others, s[(...,) + (None,) * count + (slice(None),)], 1), axis=-1)


def _frame(x: Any) -> tuple:
    """x = U diag(s) Vh, and the determinant of U times that of Vh."""
    u, s, vh = np.linalg.svd(x)
    return u, s, vh, (np.linalg.det(u) * np.linalg.det(vh))[..., None, None]


def _cofactors(x: Any) -> Any:
    """The matrix of the determinant's derivatives: det(x) * inv(x).T, and its limit where x is singular."""
    _matrix("linalg.det", x)
    det = np.linalg.det(x)
    if det.size and (all_samples(det) != 0).all():
        try:
            return (det[..., None, None] * transposed(np.linalg.inv(x))).astype(x.dtype, copy=False)
        except np.linalg.LinAlgError:
            pass
    u, s, vh, sign = _frame(x)
    return (sign * np.matmul(u.conj() * _products_without(s, 1)[..., None, :], vh.conj())).astype(x.dtype, copy=False)


def _cofactor_change(x: Any, along: Any) -> Any:
    """The derivative of the cofactors in a direction: in the frame of the singular vectors, products of all but two
    singular values.
    """
    u, s, vh, sign = _frame(x)
    inner = np.matmul(np.matmul(adjoint(u), along), adjoint(vh))
    without = _products_without(s, 2)
    n = s.shape[-1]
    without = without * ~_eye(n, x)
    level = np.matmul(without, _diagonal(inner)[..., None])
    result = level * _eye(n, x) - without * transposed(inner)
    return (sign * np.matmul(np.matmul(u.conj(), result), vh.conj())).astype(along.dtype, copy=False)


def _trace(x: Any) -> Any:
    """The traces of matrices, with the last two axes kept."""
    return np.sum(_diagonal(x), axis=-1).reshape((*x.shape[:-2], 1, 1))


def _third_change(g: Any, x: Any, along: Any) -> Any:
    """The gradient of :func:`_cofactor_change` by x: the third derivative of the determinant, for an invertible x."""
    inv = np.linalg.inv(x)
    p, q = np.matmul(inv, g.conj()), np.matmul(inv, along)
    pq = np.matmul(p, q)
    inner = (
        pq
        + np.matmul(q, p)
        - _trace(q) * p
        - _trace(p) * q
        + (_trace(p) * _trace(q) - _trace(pq)) * _eye(x.shape[-1], x)
    )
    det = use("det")(x)
    return adjoint(det.reshape((*det.shape, 1, 1)) * np.matmul(inner, inv))


op("det", _det, also=("linalg.det",), aliases={"A": "x"}, kind=GENERAL, whole=True, node="LinalgDetBackward0",
   vjp=dict(x=lambda g, x: g.reshape((*g.shape, 1, 1)) * use("cofactors")(x).conj()),
   jvp=dict(x=lambda t, x: np.sum(use("cofactors")(x) * t, axis=(-2, -1))),
   samples=(sample(invertible(3, 3)), sample(invertible(2, 3, 3)), sample(real(1, 1)), sample(invertible(0, 2, 2)),
       ours(exact([[1.0, 2.0], [2.0, 4.0]])),
            ours(exact([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0], [7.0, 8.0, 9.0]])),
            ours(exact([[1.0, 2.0, 3.0], [2.0, 4.0, 6.0], [3.0, 6.0, 9.0]])),
            ours(exact([[0.0, 0.0], [0.0, 0.0]])), sample(invertible(0, 0))),
   doc="""The determinant of a matrix; the gradient is right for singular matrices, too.

   >>> import dualtape as dt
   >>> dt.det(dt.tensor([[2.0, 0.0], [0.0, 3.0]]))
   tensor(6.)
   """)  # fmt: skip
op("cofactors", _cofactors, kind=GENERAL, whole=True, public=False, method=False, torch_name="-", node="LinalgDetBackwardBackward0",
   vjp=dict(x=lambda g, x: use("cofactor_change")(x, g.conj()).conj()),
   jvp=dict(x=lambda t, x: use("cofactor_change")(x, t)),
   samples=(sample(invertible(3, 3)), sample(invertible(2, 2, 2))),
   doc="""The derivatives of the determinant.""")  # fmt: skip
op("cofactor_change", _cofactor_change, kind=GENERAL, whole=True, public=False, method=False, torch_name="-",
    node="LinalgDetBackwardBackwardBackward0",
   vjp=dict(x=_third_change, along=lambda g, x: use("cofactor_change")(x, g.conj()).conj()),
   samples=(sample(invertible(3, 3), real(3, 3)), sample(invertible(2, 2, 2), real(2, 2, 2))),
   doc="""The change of the determinant's derivatives in a direction.""")  # fmt: skip


def _slogdet(x: Any) -> tuple:
    _matrix("linalg.slogdet", x)
    return tuple(np.linalg.slogdet(x))


def _log_gradient(g_sign: Any, g_logabsdet: Any, x: Any, sign: Any) -> Any:
    weight = g_logabsdet
    if x.dtype.kind == "c":
        weight = weight - 1j * (g_sign.conj() * sign).imag
    return weight.reshape((*weight.shape, 1, 1)) * adjoint(use("inverse")(x))


op("slogdet", _slogdet, also=("linalg.slogdet",), aliases={"A": "x"}, kind=GENERAL, whole=True, node="LinalgSlogdetBackward0", outputs=("sign", "logabsdet"),
    vjp=dict(x=_log_gradient),
   samples=(sample(invertible(3, 3)), sample(invertible(2, 3, 3)), sample(real(1, 1))),
   doc="""The sign (or direction) of the determinant, and the logarithm of its absolute value.

   >>> import dualtape as dt
   >>> dt.slogdet(dt.tensor([[2.0, 0.0], [0.0, -2.0]])).sign
   tensor(-1.)
   """)  # fmt: skip


@composite("logdet", samples=(sample(spd(3, 3)), sample(spd(2, 3, 3)), edge(exact([[-1.0, 0.0], [0.0, 1.0]]))))
def logdet(input: Any) -> Any:
    """The logarithm of the determinant; NaN where it is negative.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.logdet(dt.tensor([[2.0, 0.0], [0.0, 2.0]]))
    tensor(1.3863)
    """
    sign, logs = TABLE["slogdet"].function(input)
    return sign.log() + logs if sign.is_complex() else FUNCTIONS["where"](sign == -1, float("nan"), logs)


# --- eigenvalues and singular values --------------------------------------------------------------


def _over(a: Any, b: Any) -> Any:
    """a / b, and 0 where b is 0: between equal values only what does not depend on their vectors has a derivative,
    and there a is 0.
    """
    return a * np.where(b == 0, 0, 1 / np.where(b == 0, 1, b))


def _eigh(x: Any, UPLO: str = "L") -> tuple:
    _matrix("linalg.eigh", x)
    if UPLO not in ("L", "U"):
        raise RuntimeError(f"linalg.eigh: expected UPLO argument to be 'L' or 'U', but got {UPLO}")
    return tuple(np.linalg.eigh(x, "L" if UPLO == "L" else "U"))


def _gaps(values: Any) -> Any:
    """values[j] - values[i] at [i, j]."""
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
        return tuple(np.linalg.svd(x, full_matrices))
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
    return tuple(np.linalg.qr(x))


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
_qr_plain = op("qr_plain", lambda x, mode: tuple(np.linalg.qr(x, mode)) if mode != "r" else (x[..., :0, :0] * 0, np.linalg.qr(x, mode)), kind=GENERAL, whole=True,
   public=False,
   method=False, outputs=("Q", "R"), constants=("x",), torch_name="-", samples=(edge(invertible(3, 3), "complete"),),
   doc="The complete QR, without a gradient.")  # fmt: skip


@composite("linalg_qr", namespace="linalg", samples=(
    sample(invertible(3, 3)), sample(real(4, 2)), sample(real(2, 4)), sample(real(2, 3, 2)),
    sample(invertible(3, 3), "complete"),
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
    if mode == "r" or (mode == "complete" and m != n):
        if A.requires_grad:
            raise RuntimeError(
                f"linalg.qr: the derivative of mode={mode!r} is not implemented for {m} by {n} matrices; use 'reduced'"
            )
        return _qr_plain(A, mode)
    if m >= n:
        return _qr_op(A)
    q, r = _qr_op(A[..., :m])  # the columns beyond a square follow from it
    return TABLE["qr_tall"].result_type([q, FUNCTIONS["cat"]([r, matmul(q.mH, A[..., m:])], -1)])  # type: ignore[misc]


# --- pseudo-inverse, exponential, powers ----------------------------------------------------------


def _pinv(x: Any, rcond: Any = None, hermitian: bool = False) -> Any:
    _matrix("linalg.pinv", x, square=hermitian)
    if not x.size:
        return transposed(x).copy()
    limit = max(x.shape[-2:]) * float(np.finfo(x.dtype).eps) if rcond is None else rcond
    try:
        if hasattr(limit, "dtype"):  # one for each matrix
            return _pinv_by_values(x, limit, hermitian)
        if hermitian:  # which CuPy does not have
            return on_host(lambda a: np.linalg.pinv(a, limit, True), x)
        return np.linalg.pinv(x, limit)
    except np.linalg.LinAlgError:
        raise _not_converged("linalg.pinv", x) from None


def _pinv_by_values(x: Any, limit: Any, hermitian: bool) -> Any:
    """The pseudo-inverse by singular values, of which those up to ``limit`` times the largest count as zero."""
    if hermitian:  # of which the lower triangle counts
        x = np.tril(x) + adjoint(np.tril(x, -1))
    u, values, vh = np.linalg.svd(x, full_matrices=False)
    large = values > limit[..., None] * values[..., :1]
    inverses = np.where(large, 1 / np.where(large, values, 1), 0)
    return np.matmul(adjoint(vh) * inverses[..., None, :], adjoint(u))


def _pinv_gradient(g: Any, x: Any, out: Any) -> Any:
    gh, p, ph = adjoint(g), out, adjoint(out)
    if x.shape[-2] <= x.shape[-1]:
        k = np.matmul(gh, p)
        kp = np.matmul(k, ph)
        return (
            kp
            - adjoint(np.matmul(p, k))
            - np.matmul(np.matmul(x, p), kp)
            + np.matmul(np.matmul(ph, p), gh - np.matmul(k, x))
        )
    k = np.matmul(p, gh)
    pk = np.matmul(ph, k)
    return (
        pk
        - adjoint(np.matmul(k, p))
        + np.matmul(np.matmul(gh - np.matmul(x, k), p), ph)
        - np.matmul(np.matmul(pk, p), x)
    )


op("pinverse", _pinv, kind=GENERAL, whole=True, node="LinalgPinvBackward0", vjp=dict(x=_pinv_gradient),
   samples=(sample(invertible(3, 3)), sample(real(4, 2)), sample(real(2, 4)), sample(real(2, 3, 2))),
   torch_name="linalg.pinv",
   doc="""The Moore-Penrose pseudo-inverse.

   >>> import dualtape as dt
   >>> dt.linalg.pinv(dt.tensor([[2.0], [0.0]]))
   tensor([[0.5000, 0.0000]])
   """)  # fmt: skip


@composite("linalg_pinv", namespace="linalg", samples=(
    sample(real(4, 2)), sample(invertible(3, 3), rtol=1e-3), ours(invertible(3, 3), atol=1e-6, rtol=1e-4),
    edge(spd(3, 3), hermitian=True),
))  # fmt: skip
def pinv(
    input: Any, rcond: Any = None, hermitian: bool = False, *, atol: float | None = None, rtol: float | None = None
) -> Any:
    """The Moore-Penrose pseudo-inverse; singular values up to ``max(atol, rtol * largest)`` count as zero.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.linalg.pinv(dt.tensor([[2.0], [0.0]]))
    tensor([[0.5000, 0.0000]])
    """
    relative = rcond if rtol is None else rtol
    if atol is not None:
        array = input._array
        with np.errstate(all="ignore"):
            largest = np.linalg.svd(array, compute_uv=False)[..., 0] if array.size else np.ones(array.shape[:-2])
        if relative is None:
            relative = 0.0 if atol > 0 else max(array.shape[-2:]) * float(np.finfo(array.dtype).eps)
        relative = np.maximum(relative, atol / np.where(largest == 0, 1, largest))
    return TABLE["pinverse"].function(input, relative, hermitian)


def _exponential(x: Any) -> Any:
    _matrix("linalg.matrix_exp", x)
    return on_host(lambda a: scipy_linalg.expm(a), x).astype(x.dtype, copy=False) if x.size else x.copy()


def _exponential_change(x: Any, t: Any) -> Any:
    """The derivative of the exponential at x in the direction t: a block of the exponential of a matrix of twice
    the size.
    """
    n = x.shape[-1]
    top, bottom = np.concatenate([x, t], axis=-1), np.concatenate([t * 0, x], axis=-1)
    return use("matrix_exp")(np.concatenate([top, bottom], axis=-2))[..., :n, n:]


op("matrix_exp", _exponential, also=("linalg.matrix_exp",), kind=GENERAL, whole=True, node="LinalgMatrixExpBackward0",
   vjp=dict(x=lambda g, x: _exponential_change(adjoint(x), g)), jvp=dict(x=lambda t, x: _exponential_change(x, t)),
   samples=(sample(real(3, 3)), sample(real(2, 2, 2)), sample(real(1, 1))),
   doc="""The exponential of a matrix.

   >>> import dualtape as dt
   >>> dt.linalg.matrix_exp(dt.tensor([[0.0, 1.0], [0.0, 0.0]]))
   tensor([[1., 1.],
           [0., 1.]])
   """)  # fmt: skip


@composite("matrix_power", also=("linalg.matrix_power",), samples=(
    sample(invertible(3, 3), 3), sample(invertible(3, 3), 1), sample(invertible(3, 3), -2),
    sample(invertible(2, 3, 3), 5), edge(invertible(3, 3), 0),
))  # fmt: skip
def matrix_power(input: Any, n: int) -> Any:
    """A square matrix multiplied with itself; a negative power is that of the inverse.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.matrix_power(dt.tensor([[1.0, 1.0], [0.0, 1.0]]), 3)
    tensor([[1., 3.],
            [0., 1.]])
    """
    if input._array.dtype.kind not in "iu" or n < 0 or input.ndim < 2 or input.shape[-1] != input.shape[-2]:
        _matrix("linalg.matrix_power", input._array)  # integers have powers too, but no inverses
    if n == 0:
        size = input.shape[-1]
        return input * 0 + wrap(eye(size, input._array.dtype, input._array))
    if n < 0:
        input, n = inverse(input), -n
    if n == 1:
        return input.clone()
    result = None
    while n:  # by squares: the bits of n
        if n & 1:
            result = input if result is None else matmul(result, input)
        n >>= 1
        if n:
            input = matmul(input, input)
    return result


_DRIVERS = ("gels", "gelsy", "gelsd", "gelss")
_LeastSquares = _result_type("linalg_lstsq", ("solution", "residuals", "rank", "singular_values"))


@composite("linalg_lstsq", torch_name="-", complex=False, namespace="linalg", samples=(
    sample(real(4, 2), real(4, 3)), sample(real(2, 4, 2), real(2, 4, 1)),
    sample(real(4, 2), real(4, 3), driver="gelsd"),
))  # fmt: skip
def lstsq(input: Any, b: Any, rcond: float | None = None, *, driver: str | None = None) -> Any:
    """The X of least ``norm(A @ X - B)``: (solution, residuals, rank, singular_values).

    As in PyTorch, what a LAPACK ``driver`` does not compute is empty: residuals with "gelsy" (the default), the
    rank with "gels", singular values with both. The solution comes from the pseudo-inverse whatever the driver.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.linalg.lstsq(dt.tensor([[1.0], [1.0]]), dt.tensor([[1.0], [3.5]])).solution
    tensor([[2.2500]])
    """
    if driver not in (None, *_DRIVERS):
        raise RuntimeError(f"linalg.lstsq: parameter `driver` should be one of {', '.join(_DRIVERS)}, got {driver!r}")
    driver = driver or "gelsy"
    if input.ndim < 2 or input.ndim - b.ndim not in (0, 1):
        raise RuntimeError(
            "linalg.lstsq: input.dim() must be at least 2, and other.dim() that or one less, got shapes"
            f" {list(input.shape)} and {list(b.shape)}"
        )
    if input.ndim == b.ndim + 1:  # one right side for each matrix
        found = lstsq(input, b.unsqueeze(-1), rcond, driver=driver)
        residuals = found.residuals.squeeze(-1) if found.residuals.numel() else found.residuals
        return _LeastSquares((found.solution.squeeze(-1), residuals, found.rank, found.singular_values))
    solution = matmul(TABLE["pinverse"].function(input, rcond), b)
    empty = new_tensor(asarray_like([], input._array, input._array.real.dtype))
    rows, columns = input._array.shape[-2:]
    rank = on_host(lambda a: np.asarray(np.linalg.matrix_rank(a)), input._array)
    residuals, values = empty, empty
    if driver != "gelsy" and rows > columns and (all_samples(rank) == columns).all():
        residuals = ((matmul(input, solution) - b).abs() ** 2).sum(-2)
    if driver in ("gelsd", "gelss"):
        values = new_tensor(on_host(lambda a: np.linalg.svd(a, compute_uv=False), input._array))
    return _LeastSquares(
        (
            solution,
            residuals,
            new_tensor(asarray_like([], input._array, np.int64) if driver == "gels" else rank),
            values,
        )
    )


# --- norms ----------------------------------------------------------------------------------------

_ORDERS = (1, -1, 2, -2, float("inf"), -float("inf"))


@composite("linalg_matrix_norm", namespace="linalg", samples=(
    sample(real(3, 4)), *(sample(real(3, 4), p) for p in ("nuc", *_ORDERS)), sample(real(2, 3, 4), "fro", (0, 1)),
    sample(real(2, 3, 4), 2, (0, 2), True),
    sample(real(2, 3, 4), "nuc", (2, 0), True), sample(real(2, 3, 4), 1, (-1, -2)),
    sample(real(2, 3, 4), 1, (-2, -1), True),
))  # fmt: skip
@numpy_names
def matrix_norm(input: Any, ord: Any = "fro", dim: Any = (-2, -1), keepdim: bool = False, *, dtype: Any = None) -> Any:
    """A norm of matrices: "fro", "nuc", or of order 1, 2, inf or their negatives.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.linalg.matrix_norm(dt.tensor([[3.0, 0.0], [0.0, 4.0]]), 2)
    tensor(4.)
    """
    input = as_tensor("linalg.matrix_norm", "input", input) if dtype is None else input.to(dtype)
    if input.ndim < 2 or input._array.dtype.kind not in "fc":
        raise RuntimeError(
            f"linalg.matrix_norm: expected floating point or complex matrices, got {list(input.shape)} of {input.dtype}"
        )
    rows, columns = (normal_dim(d, input.ndim) for d in dim)
    if rows == columns:
        raise RuntimeError(f"linalg.matrix_norm: dims must be different. Got {tuple(dim)}")
    vector_norm = TABLE["linalg_vector_norm"].function
    if ord == "fro":
        return vector_norm(input, 2, (rows, columns), keepdim)
    if ord == "nuc" or (isinstance(ord, (int, float)) and abs(ord) == 2):
        values = svdvals(input.movedim((rows, columns), (-2, -1)))
        out = values.sum(-1) if ord == "nuc" else values.amax(-1) if ord > 0 else values.amin(-1)
        if keepdim:
            for d in sorted((rows, columns)):
                out = out.unsqueeze(d)
        return out
    if not isinstance(ord, (int, float)) or abs(ord) not in (1, float("inf")):
        raise RuntimeError(
            f"linalg.matrix_norm: order {ord!r} not supported; expected 'fro', 'nuc', or plus or minus 1, 2, inf"
        )
    first, second = (rows, columns) if abs(ord) == 1 else (columns, rows)
    if not keepdim and second > first:
        second -= 1
    sums = vector_norm(input, 1, first, keepdim)
    return sums.amax(second, keepdim) if ord > 0 else sums.amin(second, keepdim)


@composite("linalg_norm", namespace="linalg", samples=(
    sample(real(3, 4)), sample(real(4), 3), sample(real(3, 4), 2), sample(real(3, 4), "fro"), sample(real(3, 4), "nuc"),
    sample(real(2, 3, 4), dim=1),
    sample(real(2, 3, 4), 1, (0, 2), True),
    sample(real(2, 3, 4), keepdim=True), sample(real(3, 4), 1.5, 0),
))  # fmt: skip
@numpy_names
def norm(input: Any, ord: Any = None, dim: Any = None, keepdim: bool = False, *, dtype: Any = None) -> Any:
    """A norm of vectors or matrices: of the whole tensor without ``ord``, else as its dimensions or ``dim`` say.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.linalg.norm(dt.tensor([3.0, 4.0]))
    tensor(5.)
    """
    input = as_tensor("linalg.norm", "input", input) if dtype is None else input.to(dtype)
    if ord is None:
        return TABLE["linalg_vector_norm"].function(input, 2, dim, keepdim)
    if dim is None and input.ndim not in (1, 2):
        raise RuntimeError(
            f"linalg.norm: if dim is not specified but ord is, the input must be 1D or 2D. Got {input.ndim}D."
        )
    dims = tuple(range(input.ndim)) if dim is None else (dim,) if isinstance(dim, int) else tuple(dim)
    if len(dims) == 1:
        if isinstance(ord, str):
            raise RuntimeError(f"linalg.norm: order {ord!r} is for matrices, the input is a vector along dim {dims[0]}")
        return TABLE["linalg_vector_norm"].function(input, ord, dims[0], keepdim)
    if len(dims) != 2:
        raise RuntimeError(f"linalg.norm: if specified, dim must be of length 1 or 2. Got {dims}")
    return matrix_norm(input, ord, dims, keepdim)


@composite(
    "linalg_cond",
    namespace="linalg",
    samples=(sample(invertible(3, 3)), ours(invertible(2, 3, 3), "fro"), sample(invertible(3, 3), -2)),
)
def cond(input: Any, p: Any = None) -> Any:
    """The condition number of a matrix, by the norm of order ``p`` (2 by default).

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.linalg.cond(dt.tensor([[3.0, 0.0], [0.0, 4.0]]))
    tensor(1.3333)
    """
    if p is None or p in (2, -2):
        values = svdvals(input)
        return values[..., -1] / values[..., 0] if p == -2 else values[..., 0] / values[..., -1]
    return matrix_norm(input, p) * matrix_norm(inverse(input), p)
