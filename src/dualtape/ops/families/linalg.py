"""Linear algebra: Cholesky factors, the inverse, and solutions, of matrices and of batches of them.

The formulas are the classical ones (Giles 2008, Townsend 2016), written for complex matrices in PyTorch's convention:
the gradient is the conjugate of the derivative. Triangles and Hermitian matrices are read as LAPACK reads them, from
one side. Other decompositions, determinants, functions and norms of matrices are in families of their own.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ...arrays.kernels import blas
from ...arrays.kernels.basics import all_samples, contiguous, eye, host, on_host
from ...arrays.kernels.memory_order import in_columns
from ...arrays.lazy import lapack, numpy_linalg, scipy_lapack, scipy_linalg
from ...errors import warn
from ..formulas import adjoint, transposed, use
from ..linalg_error import LinAlgError
from ..samples import edge, exact, invertible, ours, real, sample, spd
from ..table import GENERAL, composite, op


def _matrix(name: str, x: Any, square: bool = True, half: bool = False) -> None:
    """Raise unless ``x`` is a matrix of floating-point numbers; half precision is refused too, unless ``half`` allows
    it.
    """
    if x.ndim < 2:
        raise RuntimeError(f"{name}: the input tensor must have at least 2 dimensions, got shape {list(x.shape)}")
    if square and x.shape[-1] != x.shape[-2]:
        raise RuntimeError(
            f"{name}: A must be batches of square matrices, but they are {x.shape[-2]} by {x.shape[-1]} matrices"
        )
    if x.dtype.kind not in "fc" or x.dtype.itemsize == 2 and not half:
        raise RuntimeError(
            f"{name}: expected a floating point or complex tensor of at least single precision, got {x.dtype}; convert"
            " it with .to(...)"
        )


def _diagonal(x: Any) -> Any:
    return np.diagonal(x, 0, -2, -1)


def _eye(n: int, like: Any) -> Any:
    """Return the identity, as a mask to multiply with."""
    return eye(n, np.bool_, like)


# --- Cholesky -------------------------------------------------------------------------------------


def _failed(name: str, x: Any, routine: str, say: Callable[[int], str]) -> LinAlgError:
    """Return the error of a factorisation, which names the first matrix of a batch for which it fails, and the position
    in it.
    """
    matrices = host(all_samples(x)).reshape(-1, *x.shape[-2:])
    for number, matrix in enumerate(matrices):
        info = lapack(routine, matrix)(matrix, *(1,) * (routine == "potrf"))[-1]
        if info:
            batch = f"(Batch element {number}): " if x.ndim > 2 else ""
            return LinAlgError(f"{name}: {batch}{say(info)}")
    return LinAlgError(f"{name}: {say(x.shape[-1])}")


def _not_positive(k: int) -> str:
    return (
        "The factorization could not be completed because the input is not positive-definite (the leading"
        f" minor of order {k} is not positive-definite)."
    )


def _singular_inverse(k: int) -> str:
    return (
        f"The diagonal element {k} is zero, the inversion could not be completed because the input matrix is singular."
    )


def _apart_from_nan(compute: Callable, x: Any, failure: Callable) -> Any:
    """What ``compute`` makes of matrices that have an inverse, and NaN of those that have NaN: LAPACK may take such a
    matrix for a singular one, which would fail the whole batch. ``failure`` makes the error of a singular matrix.
    """
    try:
        found = compute(x)
    except np.linalg.LinAlgError:
        undefined = np.isnan(x).any(axis=(-2, -1), keepdims=True)
        if not all_samples(undefined).any():
            raise failure(x) from None
        x = np.where(undefined, _eye(x.shape[-1], x).astype(x.dtype), x)
    else:
        # A pivot that is NaN reaches the first row of what is solved for; LAPACK may leave numbers in others.
        first = all_samples(found)[..., :1, :1]
        if (first == first).all():
            return found
        return np.where(np.isnan(x).any(axis=(-2, -1), keepdims=True), np.nan, found)
    try:
        return np.where(undefined, np.nan, compute(x))
    except np.linalg.LinAlgError:
        raise failure(x) from None


def _cholesky(x: Any, upper: bool = False, name: str = "linalg.cholesky") -> Any:
    _matrix(name, x)
    if name == "cholesky":
        warn("cholesky is deprecated in favor of linalg.cholesky: for upper=True there is its .mH")
    read = adjoint(x) if upper else x  # NumPy reads the lower triangle
    try:
        lower = numpy_linalg.cholesky(read)
    except np.linalg.LinAlgError:
        raise _failed(name, read, "potrf", _not_positive) from None
    # LAPACK calls NaN a success; it reaches the last element from every other
    values = all_samples(lower)
    if type(values) is np.ndarray and values.size and not (last := values[..., -1, -1] == values[..., -1, -1]).all():
        number = int(np.argmin(last))
        k = int(np.isnan(_diagonal(values).reshape(-1, x.shape[-1])[number]).argmax()) + 1
        raise LinAlgError(f"{name}: {f'(Batch element {number}): ' if values.ndim > 2 else ''}{_not_positive(k)}")
    return in_columns(adjoint(lower) if upper else lower)


def _half_below(x: Any) -> Any:
    """Return the lower triangle, its diagonal halved."""
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
       doc="""The triangular matrix L with ``L @ L.mH`` equal to a positive definite matrix, of which only the lower
       triangle is read; with ``upper=True``, its upper triangle is read and the result is U with ``U.mH @ U``.

   >>> import dualtape as dt
   >>> dt.linalg.cholesky(dt.tensor([[4.0, 2.0], [2.0, 5.0]]))
   tensor([[2., 0.],
           [1., 2.]])
   """)  # fmt: skip

# --- inverse and solutions ------------------------------------------------------------------------


def _inverse(x: Any) -> Any:
    _matrix("linalg.inv", x)
    return in_columns(
        _apart_from_nan(numpy_linalg.inv, x, lambda x: _failed("linalg.inv", x, "getrf", _singular_inverse))
    )


inverse = op("inverse", _inverse, also=("linalg.inv",), aliases={"A": "x"}, kind=GENERAL, whole=True, node="LinalgInvExBackward0",
   vjp=dict(x=lambda g, out: -np.matmul(adjoint(out), np.matmul(g, adjoint(out)))),
   numpy_vjp=dict(x=lambda g, out: -blas.matmul(adjoint(out), blas.matmul(g, adjoint(out)))),
   jvp=dict(x=lambda t, out: -np.matmul(out, np.matmul(t, out))),
   samples=(sample(invertible(3, 3)), sample(invertible(2, 3, 3)), sample(invertible(1, 1)),
       sample(invertible(0, 3, 3)), sample(invertible(0, 0))),
   doc="""The inverse of a matrix.

   >>> import dualtape as dt
   >>> dt.linalg.inv(dt.tensor([[2.0, 0.0], [0.0, 4.0]]))
   tensor([[0.5000, 0.0000],
           [0.0000, 0.2500]])
   """)  # fmt: skip


def _trsm(A: np.ndarray, B: np.ndarray, upper: bool, unitriangular: bool = False) -> np.ndarray:
    """The solutions of triangular systems by BLAS, which divides by a zero on the diagonal as by any number."""
    batch = np.broadcast_shapes(A.shape[:-2], B.shape[:-2])
    A, B = np.broadcast_to(A, (*batch, *A.shape[-2:])), np.broadcast_to(B, (*batch, *B.shape[-2:]))
    out = np.empty(B.shape, B.dtype)
    if out.size:
        (trsm,) = scipy_linalg.get_blas_funcs(("trsm",), (A, B))
        for k in np.ndindex(*batch):
            out[k] = trsm(1, A[k], B[k], lower=not upper, diag=unitriangular)
    return out


def _inverse_anyway(x: Any) -> Any:
    try:
        return numpy_linalg.inv(x)
    except np.linalg.LinAlgError:
        return on_host(_inverse_by_factors, x)


def _inverse_by_factors(x: np.ndarray) -> np.ndarray:
    out = np.empty(x.shape, x.dtype)
    getrf = lapack("getrf", x)
    for k in np.ndindex(*x.shape[:-2]):
        factors, pivots, _ = getrf(x[k])
        exchanged = np.eye(x.shape[-1], dtype=x.dtype)
        for i, j in enumerate(pivots.tolist()):
            exchanged[[i, j]] = exchanged[[j, i]]
        out[k] = _trsm(factors, _trsm(factors, exchanged, False, True), True)
    return out


op("inverse_anyway", _inverse_anyway, kind=GENERAL, whole=True, public=False, method=False, torch_name="-",
   node="LinalgInvExBackward0",
   vjp=dict(x=lambda g, out: -np.matmul(adjoint(out), np.matmul(g, adjoint(out)))),
   jvp=dict(x=lambda t, out: -np.matmul(out, np.matmul(t, out))),
   samples=(sample(invertible(3, 3)), sample(invertible(2, 3, 3)), edge(exact([[[1.0, 2.0], [2.0, 4.0]], [[1.0, 2.0], [3.0, 4.0]]]))),
   doc="""The inverses of matrices; infinities and NaN of singular ones.""")  # fmt: skip


def _is_vector(a_shape: tuple, b_shape: tuple) -> bool:
    """Return whether right sides are (batches of) vectors, by PyTorch's rule."""
    return len(b_shape) == 1 or (len(a_shape) - 1 == len(b_shape) and tuple(b_shape) == tuple(a_shape[:-1]))


def _solve_systems(A: Any, B: Any) -> Any:
    """The solution for matrices B; CuPy's own takes batches of one shape only."""
    if type(A) is not np.ndarray and A.shape[:-2] != B.shape[:-2]:
        batch = np.broadcast_shapes(A.shape[:-2], B.shape[:-2])
        A, B = np.broadcast_to(A, (*batch, *A.shape[-2:])), np.broadcast_to(B, (*batch, *B.shape[-2:]))
    return numpy_linalg.solve(A, B)


def _solved(A: Any, B: Any) -> Any:
    return _apart_from_nan(
        lambda A: _solve_systems(A, B),
        A,
        lambda A: _failed(
            "linalg.solve", A, "getrf", lambda k: "The solver failed because the input matrix is singular."
        ),
    )


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
        return _solved(A, side)[..., 0] if vector else in_columns(_solved(A, side))
    return contiguous(transposed(_solved(transposed(A), transposed(side))))


def _matrix_of(g_b: Any, x: Any, left: bool, vector: bool) -> Any:
    """Return the gradient of A: minus the gradient of B times the solution."""
    if vector:
        return -(g_b.reshape((*g_b.shape, 1)) * x.conj().reshape((*x.shape[:-1], 1, x.shape[-1])))
    return -np.matmul(g_b, adjoint(x)) if left else -np.matmul(adjoint(x), g_b)


def _apply(t: Any, x: Any, left: bool) -> Any:
    """Return a matrix tangent times the solution."""
    if len(x.shape) == len(t.shape) - 1:
        return np.matmul(t, x.reshape((*x.shape, 1))).reshape(x.shape)
    return np.matmul(t, x) if left else np.matmul(x, t)


def _solve_adjoint(A: Any, B: Any, left: bool = True) -> Any:
    """Return :func:`_solve` with the adjoint of A: by its own factors or, where these do not exist, by those of A from
    the forward. Of a nearly singular matrix one may exist without the other.
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
    getrf, getrs = lapack("getrf", A, side), lapack("getrs", A, side)
    for k in np.ndindex(*batch):
        factors, pivots, info = getrf(A[k] if left else A[k].T)  # what the forward had
        if info:
            raise LinAlgError("linalg.solve: The solver failed because the input matrix is singular.")
        out[k] = getrs(factors, pivots, side[k], trans=2 if left else 1)[0]
    return out[..., 0] if vector else out if left else contiguous(adjoint(out))


def _adjoint_matrix_of(g_b: Any, x: Any, left: bool, vector: bool) -> Any:
    """Return the gradient of A, given the solution x for its adjoint: the adjoint of :func:`_matrix_of`."""
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
        return _trsm(A, B, upper, unitriangular)
    triangle = _triangle(A, upper, unitriangular).astype(A.dtype, copy=False)
    try:
        return _solve_systems(triangle, B)
    except np.linalg.LinAlgError:
        return on_host(lambda a, b: _trsm(a, b, upper, unitriangular), triangle, B)


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
