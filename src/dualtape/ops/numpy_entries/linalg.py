"""``numpy.linalg`` on tensors."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..._tensor.tensor import raw, wrap
from ..dispatch import FUNCTIONS
from .functions import _trace
from .registry import NUMPY, axes_of, entry, floating, op, plain, tensor
from .vocabulary import _diagonal, _tensordot

linalg: Any = np.linalg


def _results(numpy: Any, *results: Any) -> Any:
    """Return the results in NumPy's named tuple."""
    return getattr(np.linalg._linalg, f"{numpy}Result")(*results)


@entry(linalg.det)
def _det(a: Any) -> Any:
    return op("linalg.det")(floating(a))


@entry(linalg.slogdet)
def _slogdet(a: Any) -> Any:
    return _results("Slogdet", *op("linalg.slogdet")(floating(a)))


@entry(linalg.eig)
def _eig(a: Any) -> Any:
    a = floating(a)
    values, vectors = op("linalg.eig")(a)
    if _are_real(a, values):
        values, vectors = values.real, vectors.real
    return _results("Eig", values, vectors)


@entry(linalg.eigvals)
def _eigvals(a: Any) -> Any:
    a = floating(a)
    values = op("linalg.eigvals")(a)
    return values.real if _are_real(a, values) else values


def _are_real(a: Any, values: Any) -> bool:
    """Return whether NumPy gives the eigenvalues ``values`` of ``a`` as real numbers: until 2.4, if all of them are."""
    return NUMPY < (2, 5) and not a.is_complex() and not np.any(np.asarray(raw(values)).imag)


@entry(linalg.eigh)
def _eigh(a: Any, UPLO: str = "L") -> Any:
    return _results("Eigh", *op("linalg.eigh")(floating(a), UPLO))


@entry(linalg.eigvalsh)
def _eigvalsh(a: Any, UPLO: str = "L") -> Any:
    return op("linalg.eigvalsh")(floating(a), UPLO)


@entry(linalg.svd)
def _svd(a: Any, full_matrices: bool = True, compute_uv: bool = True, hermitian: bool = False) -> Any:
    plain("linalg.svd", hermitian=(hermitian, False))
    a = floating(a)
    return _results("SVD", *op("linalg.svd")(a, full_matrices)) if compute_uv else op("linalg.svdvals")(a)


@entry(linalg.svdvals)
def _svdvals(x: Any, /) -> Any:
    return op("linalg.svdvals")(floating(x))


@entry(linalg.qr)
def _qr(a: Any, mode: str = "reduced") -> Any:
    if mode == "raw":
        plain("linalg.qr", mode=(mode, "reduced"))
    q, r = op("linalg.qr")(floating(a), "reduced" if mode == "r" else mode)
    return r if mode == "r" else _results("QR", q, r)


@entry(linalg.pinv)
def _pinv(a: Any, rcond: Any = None, hermitian: bool = False, *, rtol: Any = None) -> Any:
    a = floating(a)
    if rcond is None and rtol is None:
        rcond = max(a.shape[-2:]) * np.finfo(a._array.dtype).eps
    return op("linalg.pinv")(a, rtol=rcond if rtol is None else rtol, hermitian=hermitian)


@entry(linalg.matrix_rank)
def _matrix_rank(A: Any, tol: Any = None, hermitian: bool = False, *, rtol: Any = None) -> Any:
    return np.linalg.matrix_rank(*map(raw, (A, tol)), hermitian=hermitian, rtol=raw(rtol))  # type: ignore[misc]


@entry(linalg.lstsq)
def _lstsq(a: Any, b: Any, rcond: Any = None) -> tuple:
    a, b = floating(a), floating(b)
    _, _, rank, values = np.linalg.lstsq(raw(a), raw(b), rcond)
    cut = np.finfo(a._array.dtype).eps * (max(a.shape) if rcond is None else 1) if rcond is None or rcond < 0 else rcond
    solution = FUNCTIONS["matmul"](op("linalg.pinv")(a, rtol=cut), b)
    rest = b - FUNCTIONS["matmul"](a, solution)
    if rank == a.shape[1] < a.shape[0]:
        residuals = FUNCTIONS["abs"](rest).square().sum(0)
        residuals = residuals.reshape(-1) if b.ndim == 1 else residuals
    else:
        residuals = wrap(np.zeros(0, a._array.real.dtype))
    return solution, residuals, int(rank), op("linalg.svdvals")(a)


@entry(linalg.matrix_power)
def _matrix_power(a: Any, n: int) -> Any:
    return op("linalg.matrix_power")(tensor(a), n)


@entry(linalg.multi_dot)
def _multi_dot(arrays: Any, *, out: None = None) -> Any:
    return op("linalg.multi_dot")([tensor(a) for a in arrays])


@entry(linalg.tensorinv)
def _tensorinv(a: Any, ind: int = 2) -> Any:
    return op("linalg.tensorinv")(floating(a), ind)


@entry(linalg.tensorsolve)
def _tensorsolve(a: Any, b: Any, axes: Any = None) -> Any:
    return op("linalg.tensorsolve")(floating(a), floating(b), axes)


@entry(linalg.norm)
def _norm(x: Any, ord: Any = None, axis: Any = None, keepdims: bool = False) -> Any:
    x = floating(x)
    if axis is None and ord is None:
        result = op("linalg.vector_norm")(x)
        return result.reshape((1,) * x.ndim) if keepdims else result
    axes = axes_of(axis, x.ndim)
    if len(axes) == 1:
        if isinstance(ord, str):
            raise ValueError(f"Invalid norm order '{ord}' for vectors")
        return op("linalg.vector_norm")(x, 2 if ord is None else ord, axes, keepdims)
    if len(axes) == 2:
        return op("linalg.matrix_norm")(x, "fro" if ord is None else ord, axes, keepdims)
    raise ValueError("Improper number of dimensions to norm.")


@entry(linalg.vector_norm)
def _vector_norm(x: Any, /, *, axis: Any = None, keepdims: bool = False, ord: Any = 2) -> Any:
    x = floating(x)
    return op("linalg.vector_norm")(x, ord, axes_of(axis, x.ndim), keepdims)


@entry(linalg.matrix_norm)
def _matrix_norm(x: Any, /, *, keepdims: bool = False, ord: Any = "fro") -> Any:
    return op("linalg.matrix_norm")(floating(x), ord, (-2, -1), keepdims)


@entry(linalg.cond)
def _cond(x: Any, p: Any = None) -> Any:
    return op("linalg.cond")(floating(x), p)


@entry(linalg.vecdot)
def _vecdot(x1: Any, x2: Any, /, *, axis: int = -1) -> Any:
    return op("linalg.vecdot")(tensor(x1), tensor(x2), dim=axis)


@entry(linalg.matmul)
def _matmul(x1: Any, x2: Any, /) -> Any:
    return FUNCTIONS["matmul"](tensor(x1), tensor(x2))


@entry(linalg.tensordot)
def _linalg_tensordot(x1: Any, x2: Any, /, *, axes: Any = 2) -> Any:
    return _tensordot(x1, x2, axes)


@entry(linalg.diagonal)
def _linalg_diagonal(x: Any, /, *, offset: int = 0) -> Any:
    return _diagonal(x, offset, -2, -1)


@entry(linalg.trace)
def _linalg_trace(x: Any, /, *, offset: int = 0, dtype: Any = None) -> Any:
    return _trace(x, offset, -2, -1, dtype)
