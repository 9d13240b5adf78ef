"""Functions of ``scipy.linalg`` for matrices of a form (banded, circulant, Toeplitz), and matrix equations."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..arrays.lazy import scipy_linalg as _linalg
from ..ops.numpy_entries.arrangements import moved
from ._arguments import plain
from ._banded import solve_banded as _solved
from ._implicit import solution
from ._like import like
from ._tensors import alike, floating, op

__all__ = [
    "companion",
    "convolution_matrix",
    "diagsvd",
    "eig_banded",
    "eigh_tridiagonal",
    "eigvals_banded",
    "eigvalsh_tridiagonal",
    "expm_frechet",
    "fiedler",
    "khatri_rao",
    "leslie",
    "matmul_toeplitz",
    "orthogonal_procrustes",
    "pinvh",
    "solve_banded",
    "solve_circulant",
    "solve_continuous_are",
    "solve_discrete_are",
    "solve_lyapunov",
    "solve_toeplitz",
    "solveh_banded",
    "subspace_angles",
    "tanhm",
    "tanm",
]


def _t(x: Any) -> Any:
    return np.conj(np.swapaxes(x, -1, -2))


@like(_linalg)
def solve_banded(
    l_and_u: Any, ab: Any, b: Any, overwrite_ab: bool = False, overwrite_b: bool = False, check_finite: bool = True
) -> Any:
    """The x of ``a @ x = b``, of a banded matrix.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.scipy.linalg.solve_banded((0, 0), dt.tensor([[2.0, 4.0]]), dt.ones(2))
    tensor([0.5000, 0.2500])
    """
    lower, upper = l_and_u
    return _solved(lower, upper, ab, b)


def _from_bands(ab: Any, lower: bool) -> Any:
    """Return the bands of a symmetric matrix, both sides, from those of one side."""
    ab = floating(ab)
    count, size = ab.shape
    rows: list[Any] = []
    side = [ab[k] if lower else ab[count - 1 - k] for k in range(count)]
    zeros = np.zeros(size)
    for k in range(count - 1, 0, -1):
        above = np.concatenate([zeros[:k], np.conj(side[k][: size - k])]) if lower else side[k]
        rows.append(above)
    rows.append(side[0])
    for k in range(1, count):
        below = side[k] if lower else np.concatenate([np.conj(side[k][k:]), zeros[:k]])
        rows.append(below)
    return op("stack")([floating(row).to(ab.dtype) for row in rows])


@like(_linalg)
def solveh_banded(
    ab: Any,
    b: Any,
    overwrite_ab: bool = False,
    overwrite_b: bool = False,
    lower: bool = False,
    check_finite: bool = True,
) -> Any:
    """The x of ``a @ x = b``, of a banded positive definite matrix, of which one side is given.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.scipy.linalg.solveh_banded(dt.tensor([[2.0, 4.0]]), dt.ones(2))
    tensor([0.5000, 0.2500])
    """
    bands = _from_bands(ab, lower)
    side = bands.shape[0] // 2
    return _solved(side, side, bands, b)


def _dense(bands: Any) -> Any:
    """Return the symmetric matrix of bands."""
    side, size = bands.shape[0] // 2, bands.shape[1]
    i, j = np.indices((size, size))
    inside = np.abs(i - j) <= side
    return np.where(inside, bands[np.where(inside, side + i - j, 0), j], 0.0)


@like(_linalg)
def eig_banded(
    a_band: Any,
    lower: bool = False,
    eigvals_only: bool = False,
    overwrite_a_band: bool = False,
    select: Any = "a",
    select_range: Any = None,
    max_ev: int = 0,
    check_finite: bool = True,
) -> Any:
    """Eigenvalues and vectors of a banded symmetric matrix.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.scipy.linalg.eig_banded(dt.tensor([[2.0, 4.0]]), eigvals_only=True)
    tensor([2., 4.])
    """
    if select not in ("a", "all", 0):
        raise TypeError("eig_banded on tensors: all eigenvalues (select='a')")
    matrix = _dense(_from_bands(a_band, lower))
    return op("linalg.eigvalsh")(matrix) if eigvals_only else tuple(op("linalg.eigh")(matrix))


@like(_linalg)
def eigvals_banded(
    a_band: Any,
    lower: bool = False,
    overwrite_a_band: bool = False,
    select: Any = "a",
    select_range: Any = None,
    check_finite: bool = True,
) -> Any:
    """The eigenvalues of a banded symmetric matrix.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.scipy.linalg.eigvals_banded(dt.tensor([[2.0, 4.0]]))
    tensor([2., 4.])
    """
    return eig_banded.__wrapped__(a_band, lower, True, select=select)


@like(_linalg)
def eigh_tridiagonal(
    d: Any,
    e: Any,
    eigvals_only: bool = False,
    select: Any = "a",
    select_range: Any = None,
    check_finite: bool = True,
    tol: float = 0.0,
    lapack_driver: str = "auto",
) -> Any:
    """Eigenvalues and vectors of a symmetric tridiagonal matrix.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.scipy.linalg.eigh_tridiagonal(dt.tensor([2.0, 2.0]), [1.0], eigvals_only=True)
    tensor([1., 3.], dtype=dualtape.float64)
    """
    if select not in ("a", "all", 0):
        raise TypeError("eigh_tridiagonal on tensors: all eigenvalues (select='a')")
    d, e = alike(d, e)
    matrix = np.diag(d) + np.diag(e, 1) + np.diag(e, -1)
    return op("linalg.eigvalsh")(matrix) if eigvals_only else tuple(op("linalg.eigh")(matrix))


@like(_linalg)
def eigvalsh_tridiagonal(
    d: Any,
    e: Any,
    select: Any = "a",
    select_range: Any = None,
    check_finite: bool = True,
    tol: float = 0.0,
    lapack_driver: str = "auto",
) -> Any:
    """The eigenvalues of a symmetric tridiagonal matrix.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.scipy.linalg.eigvalsh_tridiagonal(dt.tensor([2.0, 2.0]), [1.0])
    tensor([1., 3.], dtype=dualtape.float64)
    """
    return eigh_tridiagonal.__wrapped__(d, e, True, select)


# --- made of vectors ------------------------------------------------------------------------------


@like(_linalg)
def companion(a: Any) -> Any:
    """The companion matrix of a polynomial.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.scipy.linalg.companion(dt.tensor([1.0, -3.0, 2.0]))
    tensor([[ 3., -2.],
            [ 1.,  0.]])
    """
    a = floating(a)
    size = a.shape[-1] - 1
    first = (-a[..., 1:] / a[..., :1])[..., None, :]
    rest = np.broadcast_to(np.eye(size, dtype=a._array.dtype)[:-1], (*a.shape[:-1], size - 1, size))
    return np.concatenate([first, floating(np.array(rest))], axis=-2)


@like(_linalg)
def convolution_matrix(a: Any, n: int, mode: str = "full") -> Any:
    """The matrix whose product with a vector of ``n`` is the convolution with ``a``.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.scipy.linalg.convolution_matrix(dt.tensor([1.0, 2.0]), 1)
    tensor([[1.],
            [2.]])
    """
    a = floating(a)
    places = _linalg.convolution_matrix(np.arange(1, a.shape[-1] + 1), n, mode)
    return np.where(places > 0, a[..., np.maximum(places - 1, 0)], 0.0)


@like(_linalg)
def diagsvd(s: Any, M: int, N: int) -> Any:
    """The matrix with singular values on its diagonal.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.scipy.linalg.diagsvd(dt.tensor([2.0]), 1, 2)
    tensor([[2., 0.]])
    """
    s = floating(s)
    size = s.shape[0]
    return np.pad(np.diag(s), ((0, M - size), (0, N - size)))


@like(_linalg)
def fiedler(a: Any) -> Any:
    """The matrix of absolute differences.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.scipy.linalg.fiedler(dt.tensor([1.0, 3.0]))
    tensor([[0., 2.],
            [2., 0.]])
    """
    a = floating(a)
    return np.abs(a[..., :, None] - a[..., None, :])


@like(_linalg)
def khatri_rao(a: Any, b: Any) -> Any:
    """Kronecker's products of the columns.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.scipy.linalg.khatri_rao(dt.tensor([[1.0], [2.0]]), dt.tensor([[3.0], [4.0]]))
    tensor([[3.],
            [4.],
            [6.],
            [8.]])
    """
    a, b = alike(a, b)
    found = a[..., :, None, :] * b[..., None, :, :]
    return found.reshape(*found.shape[:-3], -1, found.shape[-1])


@like(_linalg)
def leslie(f: Any, s: Any) -> Any:
    """The matrix of a population's births and survivals.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.scipy.linalg.leslie(dt.tensor([1.0, 2.0]), [0.5])
    tensor([[1.0000, 2.0000],
            [0.5000, 0.0000]], dtype=dualtape.float64)
    """
    f, s = alike(f, s)
    below = np.diag(s)
    return np.concatenate([f[None], np.concatenate([below, np.zeros((s.shape[0], 1))], axis=1)])


def _column_row(c_or_cr: Any) -> tuple[Any, Any]:
    pair = c_or_cr if isinstance(c_or_cr, tuple) else (c_or_cr, np.conj(floating(c_or_cr)))
    c, r = alike(*pair)
    return c.reshape(-1), r.reshape(-1)


def _toeplitz(c_or_cr: Any) -> Any:
    return moved(lambda c, r: _linalg.toeplitz(c, r), *_column_row(c_or_cr))


@like(_linalg)
def solve_toeplitz(c_or_cr: Any, b: Any, check_finite: bool = True) -> Any:
    """The x of ``toeplitz(c, r) @ x = b``, by a dense solve.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.scipy.linalg.solve_toeplitz(dt.tensor([2.0, 0.0]), dt.ones(2))
    tensor([0.5000, 0.5000])
    """
    matrix, b = alike(_toeplitz(c_or_cr), b)
    return op("linalg.solve")(matrix, b)


@like(_linalg)
def matmul_toeplitz(c_or_cr: Any, x: Any, check_finite: bool = False, workers: int | None = None) -> Any:
    """The product of a Toeplitz matrix, by Fourier transforms.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.scipy.linalg.matmul_toeplitz(dt.tensor([2.0, 0.0]), dt.ones(2)).round(decimals=4)
    tensor([2., 2.])
    """
    c, r = _column_row(c_or_cr)
    c, r, x = alike(c, r, x)
    size, length = c.shape[0], c.shape[0] + r.shape[0] - 1
    around = np.concatenate([c, np.flip(r[1:])])
    flat = x.reshape(x.shape[0], -1)
    real = not (c.is_complex() or r.is_complex() or x.is_complex())
    forward, back = (op(f"fft.{name}") for name in (("rfft", "irfft") if real else ("fft", "ifft")))
    found = back(forward(around)[:, None] * forward(flat, length, 0), length, 0)[:size]
    return found.reshape(size, *x.shape[1:])


@like(_linalg)
def solve_circulant(
    c: Any, b: Any, singular: str = "raise", tol: float | None = None, caxis: int = -1, baxis: int = 0, outaxis: int = 0
) -> Any:
    """The x of ``circulant(c) @ x = b``, by Fourier transforms.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.scipy.linalg.solve_circulant(dt.tensor([2.0, 0.0]), dt.ones(2))
    tensor([0.5000, 0.5000])
    """
    c, b = alike(c, b)
    if c.ndim != 1 or singular != "raise" or outaxis != 0:
        raise TypeError("solve_circulant on tensors: one vector c, singular='raise' and outaxis=0")
    b = np.moveaxis(b, baxis, 0)
    spectrum = op("fft.fft")(c)
    size = np.abs(plain(spectrum))
    limit = size.max() * len(size) * np.finfo(np.float64).eps if tol is None else tol
    if (size <= limit).any():
        from ..ops.linalg_error import LinAlgError

        raise LinAlgError("near singular circulant matrix.")
    found = op("fft.ifft")(op("fft.fft")(b, None, 0) / spectrum.reshape(-1, *(1,) * (b.ndim - 1)), None, 0)
    return found if c.is_complex() or b.is_complex() else found.real


# --- functions of matrices, equations -------------------------------------------------------------


@like(_linalg)
def pinvh(
    a: Any, atol: Any = None, rtol: Any = None, lower: bool = True, return_rank: bool = False, check_finite: bool = True
) -> Any:
    """The pseudo-inverse of a symmetric matrix, of which one triangle is read.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.scipy.linalg.pinvh(dt.eye(1) * 4)
    tensor([[0.2500]])
    """
    a = floating(a)
    whole = np.tril(a) + _t(np.tril(a, -1)) if lower else np.triu(a) + _t(np.triu(a, 1))
    _, rank = _linalg.pinvh(plain(a), atol, rtol, lower, True, check_finite)
    floor = (0.0 if atol is None else atol), (max(a.shape) * np.finfo(a._array.dtype).eps if rtol is None else rtol)
    found = op("linalg.pinv")(whole, atol=floor[0], rtol=floor[1], hermitian=True)
    return (found, rank) if return_rank else found


@like(_linalg)
def tanm(A: Any) -> Any:
    """The tangent of a matrix.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.scipy.linalg.tanm(dt.zeros(1, 1))
    tensor([[0.]])
    """
    from .linalg import cosm, sinm

    return op("linalg.solve")(cosm(floating(A)), sinm(floating(A)))


@like(_linalg)
def tanhm(A: Any) -> Any:
    """The hyperbolic tangent of a matrix.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.scipy.linalg.tanhm(dt.zeros(1, 1))
    tensor([[0.]])
    """
    from .linalg import coshm, sinhm

    return op("linalg.solve")(coshm(floating(A)), sinhm(floating(A)))


@like(_linalg)
def expm_frechet(A: Any, E: Any, method: Any = None, compute_expm: bool = True, check_finite: bool = True) -> Any:
    """The matrix exponential, and its derivative along ``E``.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.scipy.linalg.expm_frechet(dt.zeros(1, 1), dt.ones(1, 1), compute_expm=False)
    tensor([[1.]])
    """
    A, E = alike(A, E)
    n = A.shape[-1]
    block = np.concatenate([np.concatenate([A, E], axis=-1), np.concatenate([0 * A, A], axis=-1)], axis=-2)
    whole = op("matrix_exp")(block)
    slope = whole[..., :n, n:]
    return (whole[..., :n, :n], slope) if compute_expm else slope


@like(_linalg)
def orthogonal_procrustes(A: Any, B: Any, check_finite: bool = True) -> tuple:
    """The orthogonal matrix that brings A nearest to B, and the sum of the singular values of ``A.T @ B``.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.scipy.linalg.orthogonal_procrustes(dt.eye(1), dt.eye(1) * 2)
    (tensor([[1.]]), tensor(2.))
    """
    A, B = alike(A, B)
    u, w, vt = op("linalg.svd")(np.swapaxes(np.conj(np.swapaxes(B, -1, -2)) @ A, -1, -2), False)
    return u @ vt, np.sum(w)


@like(_linalg)
def subspace_angles(A: Any, B: Any) -> Any:
    """The angles between the spaces of the columns, the largest first.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.scipy.linalg.subspace_angles(dt.tensor([[1.0], [0.0]]), dt.tensor([[0.0], [1.0]])).round(decimals=4)
    tensor([1.5708])
    """
    A, B = alike(A, B)
    qa, qb = op("linalg.qr")(A)[0], op("linalg.qr")(B)[0]
    if qa.shape[1] < qb.shape[1]:
        qa, qb = qb, qa
    inner = _t(qa) @ qb
    cosines = op("linalg.svdvals")(inner)
    sines = np.flip(op("linalg.svdvals")(qb - qa @ inner))
    small = plain(cosines) ** 2 >= 0.5
    by_sine = np.arcsin(np.clip(np.where(small, sines, 0.0), -1.0, 1.0))
    by_cosine = np.arccos(np.clip(np.where(small, 0.0, cosines), -1.0, 1.0))
    return np.flip(np.where(small, by_sine, by_cosine))


@like(_linalg)
def solve_lyapunov(a: Any, q: Any) -> Any:
    """The x of ``a @ x + x @ a^H = q``: :func:`solve_continuous_lyapunov`.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.scipy.linalg.solve_lyapunov(dt.eye(1), dt.eye(1))
    tensor([[0.5000]])
    """
    from .linalg import solve_continuous_lyapunov

    return solve_continuous_lyapunov(a, q)


def _riccati(name: str, residual: Any, a: Any, b: Any, q: Any, r: Any, e: Any, s: Any, balanced: bool) -> Any:
    if e is not None or s is not None:
        raise TypeError(f"{name} on tensors takes no e or s")
    given = alike(a, b, q, r)
    if any(x.is_complex() for x in given):
        raise TypeError(f"{name} on tensors: real matrices only")
    found = getattr(_linalg, name)(*map(plain, given), balanced=balanced)
    return solution(found, residual, "", given)


@like(_linalg)
def solve_continuous_are(a: Any, b: Any, q: Any, r: Any, e: Any = None, s: Any = None, balanced: bool = True) -> Any:
    """The solution of the continuous algebraic Riccati equation.

    Examples
    --------
    >>> import dualtape as dt
    >>> one = dt.eye(1, dtype=dt.float64)
    >>> dt.scipy.linalg.solve_continuous_are(one * 0, one, one, one).round(decimals=4)
    tensor([[1.]], dtype=dualtape.float64)
    """

    def residual(x: Any, a: Any, b: Any, q: Any, r: Any) -> Any:
        return a.mT @ x + x @ a - x @ b @ op("linalg.solve")(r, b.mT @ x) + q

    return _riccati("solve_continuous_are", residual, a, b, q, r, e, s, balanced)


@like(_linalg)
def solve_discrete_are(a: Any, b: Any, q: Any, r: Any, e: Any = None, s: Any = None, balanced: bool = True) -> Any:
    """The solution of the discrete algebraic Riccati equation.

    Examples
    --------
    >>> import dualtape as dt
    >>> one = dt.eye(1, dtype=dt.float64)
    >>> dt.scipy.linalg.solve_discrete_are(one * 0, one, one, one)
    tensor([[1.]], dtype=dualtape.float64)
    """

    def residual(x: Any, a: Any, b: Any, q: Any, r: Any) -> Any:
        inner = op("linalg.solve")(r + b.mT @ x @ b, b.mT @ x @ a)
        return a.mT @ x @ a - x - a.mT @ x @ b @ inner + q

    return _riccati("solve_discrete_are", residual, a, b, q, r, e, s, balanced)
