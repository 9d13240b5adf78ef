"""Matrix factorisations in LAPACK's form: LU, LDL, Householder reflections; and the forms of Cholesky, inverse and
solve that report a failure instead of raising.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..._tensor.tensor import Tensor, new_tensor, raw
from ...arrays.bfloat16_dtype import BFLOAT16, SINGLE, cast
from ...arrays.kernels.basics import all_samples, eye, on_host
from ...arrays.kernels.memory_order import in_columns
from ...arrays.lazy import lapack, numpy_linalg
from ...autograd.underived import underived
from ...errors import warn
from ..dispatch import FUNCTIONS
from ..formulas import adjoint, use
from ..linalg_error import LinAlgError
from ..samples import edge, exact, invertible, real, sample, spd
from ..table import GENERAL, TABLE, _result_type, composite, op
from .linalg import _matrix

_INFO = np.dtype(np.int32)


def _each_matrix(routine: Callable, *stacks: np.ndarray) -> tuple:
    """Return the results of a routine for each matrix of equally batched stacks, stacked."""
    batch = stacks[0].shape[:-2]
    results = [routine(*(s[k] for s in stacks)) for k in np.ndindex(*batch)]
    return tuple(np.stack(part).reshape((*batch, *np.shape(part[0]))) for part in zip(*results, strict=True))


def _raise(name: str, info: Any, say: Callable[[int], str]) -> None:
    """Raise for the first matrix of a batch whose ``info`` is not 0."""
    numbers = np.atleast_1d(all_samples(info))
    for number, k in enumerate(numbers.ravel().tolist()):
        if k:
            raise LinAlgError(f"{name}: {f'(Batch element {number}): ' if numbers.size > 1 else ''}{say(k)}")


# --- LU -------------------------------------------------------------------------------------------


def _getrf(A: np.ndarray) -> tuple:
    if not A.size:
        return A.copy(), np.zeros(min(A.shape), np.int32), np.zeros((), _INFO)
    factors, pivots, info = lapack("getrf", A)(A)
    if info > 0 and np.isnan(A).any():
        # NaN is not zero, and nothing is known of what it was divided by.
        factors[:], info = np.nan, 0
    elif (undefined := np.isnan(np.diagonal(factors))).any():
        # OpenBLAS does not divide by a pivot that is NaN.
        k = int(undefined.argmax())
        factors[k + 1 :, k:] = np.nan
    return factors, pivots.astype(np.int32) + np.int32(1), np.asarray(max(info, 0), _INFO)


def _lu_factor(A: Any, pivot: bool = True, check_errors: bool = False) -> Any:
    _matrix("linalg.lu_factor", A, square=False)
    if not pivot:
        raise RuntimeError("linalg.lu_factor: LU without pivoting is not implemented on the CPU")
    if not all(A.shape[:-2]):
        k = min(A.shape[-2:])
        return (
            A.copy(),
            A[..., 0, :k].astype(np.int32),
            A[..., 0, 0].astype(_INFO) if k else np.zeros(A.shape[:-2], _INFO),
        )
    found = on_host(lambda a: _each_matrix(_getrf, a), A)
    if check_errors:
        _check_lu("linalg.lu_factor_ex", found[2])
    return found


def _check_lu(name: str, info: Any) -> None:
    _raise(name, info, lambda k: (
        f"U[{k},{k}] is zero and using it on lu_solve would result in a division by zero. If you still want to perform"
        f" the factorization, consider calling linalg.lu(A, pivot) or linalg.lu_factor_ex(A, pivot)"
    ))  # fmt: skip


def _permutation(pivots: Any, n: int, dtype: Any) -> Any:
    """Return the matrix P of ``A = P @ L @ U`` that a sequence of exchanges stands for."""

    def of_one(pivots: np.ndarray) -> np.ndarray:
        order = np.arange(n)
        for i, j in enumerate(pivots.tolist()):
            order[[i, j - 1]] = order[[j - 1, i]]
        return np.ascontiguousarray(np.eye(n, dtype=kept)[order].T)

    def of_all(pivots: np.ndarray) -> np.ndarray:
        batch = pivots.shape[:-1]
        found = [of_one(pivots[k]) for k in np.ndindex(*batch)]
        return np.stack(found).reshape((*batch, n, n)) if found else np.zeros((*batch, n, n), kept)

    kept = SINGLE if dtype is BFLOAT16 else dtype
    found = on_host(of_all, pivots)
    return cast(found, dtype) if dtype is BFLOAT16 else found


_permutation_op = op("lu_permutation", _permutation, kind=GENERAL, whole=True, public=False, method=False, constants=("pivots",),
    torch_name="-", samples=(edge(np.array([[2, 2], [1, 2]], np.int32), 3, np.dtype(np.float64)),),
    doc="The permutation matrix of pivots.")  # fmt: skip


def _lower(x: Any) -> Any:
    return np.tril(x, -1)


def _triangular(a: Any, b: Any, upper: bool, left: bool = True, unit: bool = False) -> Any:
    return use("linalg_solve_triangular")(a, b, upper, left, unit)


def _lu_gradient(g_LU: Any, LU: Any, pivots: Any, A_dtype: Any) -> Any:
    """Return the gradient of A. With X = L^-1 P^T dA U^-1: L^-1 dL is its part below the diagonal, dU U^-1 the rest.

    A wide or tall matrix has further columns of U, or rows of L, that follow from those.
    """
    m, n = LU.shape[-2:]
    k = min(m, n)
    core, g = LU[..., :k, :k], g_LU[..., :k, :k]
    lower_h, upper_h = adjoint(core), adjoint(core)  # solves read one triangle each
    low = np.matmul(adjoint(_lower(core)), _lower(g)) + _lower(g)
    up = np.matmul(np.triu(g), adjoint(np.triu(core)))
    if n > k:
        g_right = g_LU[..., :k, k:]
        low = low - np.matmul(g_right, adjoint(LU[..., :k, k:]))
    elif m > k:
        g_below = g_LU[..., k:, :k]
        up = up - np.matmul(adjoint(LU[..., k:, :k]), g_below)
    inner = _triangular(lower_h, _lower(low) + np.triu(up), True, True, True)
    result = _triangular(upper_h, inner, False, False)
    if n > k:
        result = np.concatenate([result, _triangular(lower_h, g_right, True, True, True)], axis=-1)
    elif m > k:
        result = np.concatenate([result, _triangular(upper_h, g_below, False, False)], axis=-2)
    return np.matmul(use("lu_permutation")(pivots, m, A_dtype), result)


_LU_SAMPLES = (
    sample(invertible(3, 3)), sample(invertible(2, 3, 3)), sample(invertible(3, 4)), sample(invertible(4, 2)),
    sample(invertible(1, 1)), sample(exact([[0.0, 2.0], [3.0, 1.0]])),
)  # fmt: skip
_lu_factor_ex = op("linalg_lu_factor_ex", _lu_factor, namespace="linalg", kind=GENERAL, whole=True, keywords=("pivot", "check_errors"),
    outputs=("LU", "pivots", "info"), vjp=dict(A=_lu_gradient), node="LinalgLuFactorExBackward0",
    samples=(*_LU_SAMPLES, edge(np.zeros((2, 2)))),
    doc="""The factors L and U of a matrix with exchanged rows in one matrix, the exchanges, and 0 or the number of the
    first zero on U's diagonal.

    >>> import dualtape as dt
    >>> dt.linalg.lu_factor_ex(dt.tensor([[0.0, 1.0], [2.0, 4.0]])).LU
    tensor([[2., 4.],
            [0., 1.]])
    """)  # fmt: skip
_LuFactor = _result_type("linalg_lu_factor", ("LU", "pivots"))
_Lu = _result_type("linalg_lu", ("P", "L", "U"))


@composite("linalg_lu_factor", namespace="linalg", samples=_LU_SAMPLES)
def lu_factor(A: Any, *, pivot: bool = True) -> Any:
    """The factors L and U of a matrix with exchanged rows in one matrix, and the exchanges; for :func:`lu_solve`.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.linalg.lu_factor(dt.tensor([[0.0, 1.0], [2.0, 4.0]])).pivots
    tensor([2, 2], dtype=dualtape.int32)
    """
    LU, pivots, info = _lu_factor_ex(A, pivot=pivot)
    _check_lu("linalg.lu_factor", raw(info))
    return _LuFactor((LU, pivots))


@composite("lu_unpack", method=False, samples=(
    sample(real(3, 3), np.array([2, 3, 3], np.int32)), sample(real(2, 4, 3), np.array([[4, 2, 3], [1, 2, 3]], np.int32)),
    sample(real(3, 4), np.array([2, 3, 3], np.int32), True, False),
    edge(np.ones((2, 2)), np.array([2, 2], np.int32), unpack_data=False),
))  # fmt: skip
def lu_unpack(LU_data: Any, LU_pivots: Any, unpack_data: bool = True, unpack_pivots: bool = True) -> Any:
    """P, L and U from the result of :func:`dualtape.linalg.lu_factor`; empty tensors for those not requested.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.lu_unpack(*dt.linalg.lu_factor(dt.tensor([[0.0, 1.0], [2.0, 4.0]]))).P
    tensor([[0., 1.],
            [1., 0.]])
    """
    if unpack_pivots and raw(LU_pivots).dtype != np.int32:
        raise RuntimeError(f"lu_unpack: LU_pivots is expected to be a tensor of int32, got {LU_pivots.dtype!r}")
    m, n = LU_data.shape[-2:]
    k = min(m, n)
    P = _permutation_op(LU_pivots, m, raw(LU_data).dtype) if unpack_pivots else LU_data.detach().reshape(-1)[:0]
    if not unpack_data:
        return _Lu((P, LU_data.reshape(-1)[:0], LU_data.reshape(-1)[:0]))
    lower = LU_data[..., :, :k]
    return _Lu((P, lower.tril(-1) + ones_on_diagonal(lower), LU_data[..., :k, :].triu()))


def ones_on_diagonal(like: Any) -> Any:
    """Return the first rows and columns of the identity, as a tensor of the kind and size of another."""
    m, n = like.shape[-2:]
    return new_tensor(eye(max(m, n), raw(like).dtype, raw(like))[..., :m, :n])


@composite("linalg_lu", namespace="linalg", samples=_LU_SAMPLES)
def lu(A: Any, *, pivot: bool = True) -> Any:
    """P, L and U with ``A = P @ L @ U``: a permutation, a lower triangle with ones on its diagonal, an upper one.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.linalg.lu(dt.tensor([[2.0, 4.0], [1.0, 1.0]])).U
    tensor([[ 2.,  4.],
            [ 0., -1.]])
    """
    return lu_unpack(*_lu_factor_ex(A, pivot=pivot)[:2])


@composite("lu", samples=_LU_SAMPLES, torch_name="-")
def old_lu(A: Any, pivot: bool = True, get_infos: bool = False) -> Any:
    """The factors, the exchanges and for ``get_infos`` the failures of :func:`dualtape.linalg.lu_factor_ex`.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.lu(dt.tensor([[2.0, 4.0], [1.0, 1.0]]))[0]
    tensor([[ 2.0000,  4.0000],
            [ 0.5000, -1.0000]])
    """
    warn("lu is deprecated in favor of linalg.lu_factor and linalg.lu_factor_ex")
    return tuple(_lu_factor_ex(A, pivot=pivot)[: 3 if get_infos else 2])


@composite("linalg_lu_solve", namespace="linalg", samples=(
    sample(invertible(3, 3), np.array([2, 3, 3], np.int32), real(3, 2)),
    sample(invertible(2, 3, 3), np.array([[2, 3, 3], [1, 2, 3]], np.int32), real(2, 3, 2)),
    sample(invertible(3, 3), np.array([2, 3, 3], np.int32), real(3, 2), adjoint=True),
    sample(invertible(3, 3), np.array([2, 3, 3], np.int32), real(2, 3), left=False),
    sample(invertible(3, 3), np.array([2, 3, 3], np.int32), real(4, 2, 3), left=False, adjoint=True),
))  # fmt: skip
def lu_solve(LU: Any, pivots: Any, B: Any, *, left: bool = True, adjoint: bool = False) -> Any:
    """The X with ``A @ X == B``, given the result of :func:`lu_factor` for A; for ``X @ A``, or the adjoint of A.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.linalg.lu_solve(*dt.linalg.lu_factor(dt.tensor([[0.0, 1.0], [2.0, 4.0]])), dt.tensor([[1.0], [6.0]]))
    tensor([[1.],
            [1.]])
    """
    if B.ndim < 2:
        raise RuntimeError(f"linalg.lu_solve: The input tensor B must have at least 2 dimensions, got {list(B.shape)}")
    if not left:
        return lu_solve(LU, pivots, B.mH, adjoint=not adjoint).mH.contiguous()
    solve = TABLE["linalg_solve_triangular"].function
    P = _permutation_op(pivots, LU.shape[-1], raw(LU).dtype)
    if adjoint:
        return P @ solve(LU.mH, solve(LU.mH, B, False), True, True, True)
    return solve(LU, solve(LU, P.mT @ B, False, True, True), True)


@composite("lu_solve", samples=(sample(real(3, 2), invertible(3, 3), np.array([2, 3, 3], np.int32)),))
def old_lu_solve(input: Any, LU_data: Any, LU_pivots: Any) -> Any:
    """:func:`dualtape.linalg.lu_solve` with the right side first.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.lu_solve(dt.tensor([[1.0]]), *dt.linalg.lu_factor(dt.tensor([[2.0]])))
    tensor([[0.5000]])
    """
    return lu_solve(LU_data, LU_pivots, input)


# --- failures told ---------------------------------------------------------------------------------


def _potrf(A: np.ndarray) -> tuple:
    if not A.size:
        return (np.zeros((), _INFO),)
    factor, info = lapack("potrf", A)(A, 1)
    if not info and np.isnan(factor[-1, -1]):  # LAPACK calls NaN a success; it reaches the last element
        info = np.isnan(np.diagonal(factor)).argmax() + 1
    return (np.asarray(info, _INFO),)


def _info(x: Any, routine: str) -> Any:
    """Return 0 for each matrix, or the position at which a factorisation of it fails."""
    if not all(x.shape[:-2]):
        return np.sum(x.real, (-2, -1)).astype(_INFO)  # of no matrices
    if routine == "potrf":
        return on_host(lambda a: _each_matrix(_potrf, a)[0], x)
    return on_host(lambda a: _each_matrix(lambda m: _getrf(m)[2:], a)[0], x)


_info_op = op("linalg_info", _info, kind=GENERAL, whole=True, public=False, method=False, constants=("x",), torch_name="-",
    samples=(edge(spd(2, 2), "potrf"), edge(exact([[[1.0, 1.0], [1.0, 1.0]]]), "getrf")),
    doc="Whether a factorisation of each matrix fails, and where.")  # fmt: skip


def _told(A: Any, routine: str, compute: Callable, factored: Any = None) -> tuple:
    """Return ``compute`` of the matrices that have a factorisation, NaN for the others, and a mask of the former.

    ``factored`` is what the LAPACK routine reads, where that is not ``A`` itself.
    """
    factored = A if factored is None else factored
    info = _info_op(factored.detach() if isinstance(factored, Tensor) else factored, routine)
    failed = info != 0
    if not all_samples(raw(failed)).any():
        return compute(A), info
    mask = failed.reshape((*failed.shape, 1, 1))
    whole = FUNCTIONS["where"](mask, ones_on_diagonal(A), A)
    result = compute(whole)
    while mask.ndim > result.ndim:
        mask = mask.squeeze(-1)
    return FUNCTIONS["where"](mask, float("nan"), result), info


_CholeskyEx = _result_type("linalg_cholesky_ex", ("L", "info"))
_InvEx = _result_type("linalg_inv_ex", ("inverse", "info"))
_SolveEx = _result_type("linalg_solve_ex", ("result", "info"))


@composite("linalg_cholesky_ex", namespace="linalg", samples=(edge(spd(3, 3)), edge(spd(2, 3, 3), upper=True)))
def cholesky_ex(input: Any, *, upper: bool = False, check_errors: bool = False) -> Any:
    """Cholesky's triangle, and 0 or the order of the first leading minor that is not positive: there it is NaN.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.linalg.cholesky_ex(dt.tensor([[1.0, 2.0], [2.0, 1.0]])).info
    tensor(2, dtype=dualtape.int32)
    """
    _matrix("linalg.cholesky", raw(input))
    result, info = _told(
        input, "potrf", lambda A: TABLE["linalg_cholesky"].function(A, upper=upper), input.mH if upper else input
    )
    if check_errors:
        _raise("linalg.cholesky_ex", raw(info), lambda k: (
            "The factorization could not be completed because the input is not positive-definite (the leading minor of"
            f" order {k} is not positive-definite)."
        ))  # fmt: skip
    return _CholeskyEx((result, info))


@composite("linalg_inv_ex", namespace="linalg", samples=(sample(invertible(3, 3)), sample(invertible(2, 3, 3))))
def inv_ex(A: Any, *, check_errors: bool = False) -> Any:
    """The inverse, and 0 or the number of a zero on the diagonal of a factor: there it is NaN.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.linalg.inv_ex(dt.tensor([[1.0, 1.0], [1.0, 1.0]])).info
    tensor(2, dtype=dualtape.int32)
    """
    _matrix("linalg.inv", raw(A))
    result, info = _told(A, "getrf", TABLE["inverse"].function)
    if check_errors:
        _raise("linalg.inv_ex", raw(info), lambda k: (
            f"The diagonal element {k} is zero, the inversion could not be completed because the input matrix is"
            " singular."
        ))  # fmt: skip
    return _InvEx((result, info))


@composite("linalg_solve_ex", namespace="linalg", samples=(
    sample(invertible(3, 3), real(3)), sample(invertible(2, 3, 3), real(2, 3, 2)),
    sample(invertible(3, 3), real(2, 3), left=False),
))  # fmt: skip
def solve_ex(A: Any, B: Any, *, left: bool = True, check_errors: bool = False) -> Any:
    """The solution of ``A @ X == B``, and 0 or the number of a zero on the diagonal of a factor: there it is NaN.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.linalg.solve_ex(dt.tensor([[2.0]]), dt.tensor([4.0]))[0]
    tensor([2.])
    """
    _matrix("linalg.solve", raw(A))
    result, info = _told(A, "getrf", lambda A: TABLE["linalg_solve"].function(A, B, left=left))
    if check_errors:
        _raise("linalg.solve_ex", raw(info), lambda k: "The solver failed because the input matrix is singular.")
    return _SolveEx((result, info))


# --- LDL ------------------------------------------------------------------------------------------

_SYMMETRIC = np.array([[2.0, 1.0, 0.5], [1.0, 3.0, -1.0], [0.5, -1.0, 4.0]])


def _ldl(x: Any, hermitian: bool) -> Any:
    _matrix("linalg.ldl_factor_ex", x)
    if not x.size:
        return x.copy(), np.zeros_like(np.sum(x, axis=-1), np.int32), np.zeros_like(np.sum(x, axis=(-2, -1)), _INFO)
    name = "hetrf" if hermitian and x.dtype.kind == "c" else "sytrf"

    def factors(A: np.ndarray) -> tuple:
        found, pivots, info = lapack(name, A)(A, lower=1)
        return np.tril(found), pivots.astype(np.int32), np.asarray(info, _INFO)

    found = on_host(lambda a: _each_matrix(factors, a), x)
    return in_columns(found[0]), *found[1:]


_ldl_op = op("ldl_plain", _ldl, kind=GENERAL, whole=True, public=False, method=False, constants=("x",), torch_name="-",
    outputs=("LD", "pivots", "info"), samples=(edge(_SYMMETRIC, False), edge(_SYMMETRIC * [[[1]], [[2]]], True)),
    doc="LDL, without a gradient.")  # fmt: skip
_LdlFactor = _result_type("linalg_ldl_factor", ("LD", "pivots"))
_LdlFactorEx = _result_type("linalg_ldl_factor_ex", ("LD", "pivots", "info"))


@composite("linalg_ldl_factor_ex", namespace="linalg", samples=(
    edge(_SYMMETRIC), edge(_SYMMETRIC * [[[1]], [[2]]], hermitian=True), edge(np.array([[0.0, 1.0], [1.0, 0.0]])),
))  # fmt: skip
def ldl_factor_ex(input: Any, *, hermitian: bool = False, check_errors: bool = False) -> Any:
    """The factors of ``A = L @ D @ L.mT`` of a symmetric matrix (``L.mH`` of a Hermitian one), the exchanges of rows,
    and 0 or the place of a zero in D; no derivative.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.linalg.ldl_factor_ex(dt.tensor([[2.0, 1.0], [1.0, 3.0]])).LD
    tensor([[2.0000, 0.0000],
            [0.5000, 2.5000]])
    """
    LD, pivots, info = _ldl_op(input.detach(), hermitian)
    if check_errors:
        _raise("linalg.ldl_factor_ex", raw(info), _singular)
    return _LdlFactorEx((underived("linalg_ldl_factor_ex", LD, input), pivots, info))


def _singular(k: int) -> str:
    return f"The diagonal element {k} of D is zero. Using it on ldl_solve would result in a division by zero."


@composite("linalg_ldl_factor", namespace="linalg", samples=(edge(_SYMMETRIC), edge(_SYMMETRIC, hermitian=True)))
def ldl_factor(input: Any, *, hermitian: bool = False) -> Any:
    """The factors of ``A = L @ D @ L.mT`` of a symmetric matrix (``L.mH`` of a Hermitian one) in one matrix, and the
    exchanges of rows; for :func:`ldl_solve`. No derivative.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.linalg.ldl_factor(dt.tensor([[2.0, 1.0], [1.0, 3.0]])).pivots
    tensor([1, 2], dtype=dualtape.int32)
    """
    LD, pivots, info = ldl_factor_ex(input, hermitian=hermitian)
    _raise("linalg.ldl_factor", raw(info), _singular)
    return _LdlFactor((LD, pivots))


def _check_ldl_pivots(pivots: np.ndarray, n: int) -> None:
    """Raise unless rows may be exchanged as ``pivots`` says: LAPACK believes it, and writes outside of the matrix."""
    number = np.cumsum(np.pad(pivots < 0, [(0, 0)] * (pivots.ndim - 1) + [(1, 0)]), -1)
    # A negative entry stands for a block of two: between two entries that are not, there is an even number of them.
    ends = np.pad(pivots > 0, [(0, 0)] * (pivots.ndim - 1) + [(0, 1)], constant_values=True)
    if not ((np.abs(pivots) >= 1) & (np.abs(pivots) <= n)).all() or (number[ends] % 2).any():
        raise RuntimeError(
            f"linalg.ldl_solve: pivots must be those of linalg.ldl_factor: numbers from 1 to {n}, or pairs of negative"
            " ones"
        )


def _ldl_solved(LD: Any, pivots: Any, B: Any, hermitian: bool) -> Any:
    _matrix("linalg.ldl_solve", LD)
    if tuple(pivots.shape) != tuple(LD.shape[:-1]) or pivots.dtype.kind != "i":
        raise RuntimeError(
            "linalg.ldl_solve: Expected LD.shape[:-1] and pivots.shape to be the same, and pivots to be integers, got"
            f" {list(LD.shape[:-1])} and {list(pivots.shape)} of {pivots.dtype}"
        )
    if LD.dtype != B.dtype:
        raise RuntimeError(f"linalg.ldl_solve: expected LD and B of one dtype, got {LD.dtype} and {B.dtype}")
    if B.shape[-2] != LD.shape[-1]:
        raise RuntimeError(f"linalg.ldl_solve: Incompatible matrix sizes: LD is {list(LD.shape)}, B is {list(B.shape)}")
    batch = np.broadcast_shapes(LD.shape[:-2], B.shape[:-2])
    LD, B = np.broadcast_to(LD, (*batch, *LD.shape[-2:])), np.broadcast_to(B, (*batch, *B.shape[-2:]))
    pivots = np.broadcast_to(pivots, (*batch, pivots.shape[-1]))
    if not B.size:
        return B.copy()
    name = "hetrs" if hermitian and LD.dtype.kind == "c" else "sytrs"

    def solution(LD: np.ndarray, pivots: np.ndarray, B: np.ndarray) -> tuple:
        _check_ldl_pivots(pivots[0], LD.shape[-1])
        return (lapack(name, LD, B)(LD, pivots[0], B, lower=1)[0],)

    return on_host(lambda a, p, b: _each_matrix(solution, a, p[..., None, :], b)[0], LD, pivots, B)


_FACTORS = np.array([[2.0, 0.0], [0.5, 2.5]])

_ldl_solve_op = op("ldl_solve_plain", _ldl_solved, kind=GENERAL, whole=True, public=False, method=False, torch_name="-",
    constants=("LD", "pivots", "B"),
    samples=(edge(_FACTORS, np.array([1, 2], np.int32), np.ones((2, 1)), False),),
    doc="A solution by LDL, without a gradient.")  # fmt: skip


@composite("linalg_ldl_solve", namespace="linalg", samples=(
    edge(_FACTORS, np.array([1, 2], np.int32), np.ones((2, 1))),
    edge(np.array([[0.0, 0.0], [1.0, 0.0]]), np.array([-2, -2], np.int32), np.ones((3, 2, 1)), hermitian=True),
))  # fmt: skip
def ldl_solve(LD: Any, pivots: Any, B: Any, *, hermitian: bool = False) -> Any:
    """The X with ``A @ X == B``, given the result of :func:`ldl_factor` for A; no derivative.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.linalg.ldl_solve(*dt.linalg.ldl_factor(dt.tensor([[2.0, 0.0], [0.0, 4.0]])), dt.tensor([[2.0], [2.0]]))
    tensor([[1.0000],
            [0.5000]])
    """
    if B.ndim < 2:
        raise IndexError(f"linalg.ldl_solve: the right side must have at least 2 dimensions, got {list(B.shape)}")
    return underived("linalg_ldl_solve", _ldl_solve_op(LD.detach(), pivots, B.detach(), hermitian), LD, B)


# --- reflections ----------------------------------------------------------------------------------


def _geqrf(x: Any) -> Any:
    _matrix("geqrf", x, square=False)

    def factors(a: np.ndarray) -> tuple:
        found: Any = numpy_linalg.qr(a, "raw")
        return in_columns(found[0].swapaxes(-1, -2)), found[1]

    return on_host(factors, x)


_geqrf_op = op("geqrf_plain", _geqrf, kind=GENERAL, whole=True, public=False, method=False, constants=("x",), torch_name="-",
    outputs=("a", "tau"), samples=(edge(_SYMMETRIC), edge(_SYMMETRIC[:, :2])),
    doc="Householder reflections of QR, without a gradient.")  # fmt: skip
_Geqrf = _result_type("geqrf", ("a", "tau"))


@composite("geqrf", samples=(edge(_SYMMETRIC), edge(_SYMMETRIC[:, :2]), edge(_SYMMETRIC[None, :2])))
def geqrf(input: Any) -> Any:
    """The QR factorisation as LAPACK leaves it: R above, the reflections that make Q below, and their scales; no
    derivative.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.geqrf(dt.tensor([[3.0], [4.0]])).tau
    tensor([1.6000])
    """
    a, tau = _geqrf_op(input.detach())
    return _Geqrf((underived("geqrf", a, input), underived("geqrf", tau, input)))


def _reflected(vectors: Any, tau: Any, x: Any, backward: bool) -> Any:
    """Return H_1 @ ... @ H_k @ x for the reflections ``I - tau v v^H``, or for ``backward`` the product's adjoint with
    x.
    """
    k = tau.shape[-1]
    for i in range(k) if backward else reversed(range(k)):
        v = vectors[..., :, i : i + 1]
        scale = tau[..., i : i + 1].unsqueeze(-1)
        x = x - v @ ((scale.conj() if backward else scale) * (v.mH @ x))
    return x


def _vectors(input: Any) -> Any:
    """Return the reflections' vectors: below the diagonal, with ones on it."""
    return input.tril(-1) + ones_on_diagonal(input)


def _check_reflections(name: str, input: Any, tau: Any) -> None:
    if input.ndim < 2:
        raise RuntimeError(f"{name}: input must have at least 2 dimensions, got {list(input.shape)}")
    if input.shape[-2] < input.shape[-1]:
        raise RuntimeError(f"{name}: input.shape[-2] must be greater than or equal to input.shape[-1]")
    if input.shape[-1] < tau.shape[-1]:
        raise RuntimeError(f"{name}: input.shape[-1] must be greater than or equal to tau.shape[-1]")
    if input.dtype != tau.dtype:
        raise RuntimeError(f"{name}: tau dtype {tau.dtype!r} does not match input dtype {input.dtype!r}")


@composite("linalg_householder_product", namespace="linalg", samples=(
    sample(real(3, 2), real(2)), sample(real(2, 3, 3), real(2, 3)), sample(real(3, 3), real(2)),
))  # fmt: skip
def householder_product(input: Any, tau: Any) -> Any:
    """The first columns of the product of the reflections that :func:`dualtape.geqrf` leaves below the diagonal.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.linalg.householder_product(*dt.geqrf(dt.tensor([[3.0], [4.0]])))
    tensor([[-0.6000],
            [-0.8000]])
    """
    _check_reflections("linalg.householder_product", input, tau)
    first = ones_on_diagonal(input)
    return _reflected(_vectors(input), tau, first if tau.shape[-1] else first.expand(input.shape).clone(), False)


@composite("orgqr", samples=(sample(real(3, 2), real(2)), sample(real(2, 3, 3), real(2, 3))))
def orgqr(input: Any, input2: Any) -> Any:
    """:func:`dualtape.linalg.householder_product`.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.orgqr(*dt.geqrf(dt.tensor([[3.0], [4.0]])))
    tensor([[-0.6000],
            [-0.8000]])
    """
    return householder_product(input, input2)


@composite("ormqr", samples=(
    sample(real(3, 2), real(2), real(3, 2)), sample(real(2, 3, 3), real(2, 3), real(2, 3, 2), transpose=True),
    sample(real(3, 2), real(2), real(2, 3), left=False), sample(real(3, 2), real(2), real(2, 3), False, True),
))  # fmt: skip
def ormqr(input: Any, input2: Any, input3: Any, left: bool = True, transpose: bool = False) -> Any:
    """The product of all reflections of :func:`geqrf`, or its adjoint, with a matrix; or, if not ``left``, the matrix
    with it.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.ormqr(*dt.geqrf(dt.tensor([[3.0], [4.0]])), dt.tensor([[-5.0], [0.0]]))
    tensor([[3.],
            [4.]])
    """
    size = input3.shape[-2 if left else -1]
    if input.ndim < 2 or input3.ndim < 2 or size != input.shape[-2] or input2.shape[-1] > min(size, input.shape[-1]):
        raise RuntimeError(
            f"ormqr: expected reflections of the size of the other matrix, got {list(input.shape)}, {list(input2.shape)}"
            f" and {list(input3.shape)}"
        )
    vectors = _vectors(input)
    if left:
        return _reflected(vectors, input2, input3, transpose)
    return _reflected(vectors, input2, input3.mH, not transpose).mH
