"""Functions of a matrix: its pseudo-inverse and least squares; its exponential and powers.

The exponential's derivative is a block of the exponential of a matrix of twice the size, and powers are products by
squares: neither needs eigenvalues. Solutions of square systems are in ``linalg``.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..._tensor.device import contiguous_format
from ..._tensor.tensor import new_tensor, wrap
from ...arrays.bfloat16_dtype import cast
from ...arrays.kernels.basics import all_samples, asarray_like, eye, on_host
from ...arrays.lazy import numpy_linalg, scipy_linalg
from ..formulas import adjoint, transposed, use
from ..samples import edge, invertible, ours, real, sample, spd
from ..table import GENERAL, TABLE, _result_type, composite, op
from .linalg import _matrix, inverse
from .orthogonal import _not_converged
from .products import matmul


def _pinv(x: Any, rcond: Any = None, hermitian: bool = False) -> Any:
    _matrix("linalg.pinv", x, square=hermitian)
    if not x.size:
        return transposed(x).copy()
    limit = max(x.shape[-2:]) * float(np.finfo(x.dtype).eps) if rcond is None else rcond
    try:
        if hasattr(limit, "dtype"):  # one for each matrix
            return _pinv_by_values(x, limit, hermitian)
        if hermitian:  # which CuPy does not have
            return on_host(lambda a: numpy_linalg.pinv(a, limit, True), x)
        return numpy_linalg.pinv(x, limit)
    except np.linalg.LinAlgError:
        raise _not_converged("linalg.pinv", x) from None


def _pinv_by_values(x: Any, limit: Any, hermitian: bool) -> Any:
    """Return the pseudo-inverse by singular values, of which those up to ``limit`` times the largest count as zero."""
    if hermitian:  # of which the lower triangle counts
        x = np.tril(x) + adjoint(np.tril(x, -1))
    u, values, vh = numpy_linalg.svd(x, full_matrices=False)
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
            largest = numpy_linalg.svd(array, compute_uv=False)[..., 0] if array.size else np.ones(array.shape[:-2])
        if relative is None:
            relative = 0.0 if atol > 0 else max(array.shape[-2:]) * float(np.finfo(array.dtype).eps)
        relative = np.maximum(relative, atol / np.where(largest == 0, 1, largest))
    return TABLE["pinverse"].function(input, relative, hermitian)


def _exponential(x: Any) -> Any:
    _matrix("linalg.matrix_exp", x, half=True)
    if not x.size:
        return x.copy()
    if x.dtype.kind in "fc" and x.dtype.itemsize == 2:
        return cast(_exponential(cast(x, np.float32)), x.dtype)
    return on_host(lambda a: scipy_linalg.expm(a), x).astype(x.dtype, copy=False)


def _exponential_change(x: Any, t: Any) -> Any:
    """Return the derivative of the exponential at x in the direction t: a block of the exponential of a matrix of twice
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
        _matrix("linalg.matrix_power", input._array, half=n >= 0)  # integers have powers too, but no inverses
    if n == 0:
        size = input.shape[-1]
        return input * 0 + wrap(eye(size, input._array.dtype, input._array))
    if n < 0:
        input, n = inverse(input), -n
    if n == 1:
        return input.clone(memory_format=contiguous_format)
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
        values = new_tensor(on_host(lambda a: numpy_linalg.svd(a, compute_uv=False), input._array))
    return _LeastSquares(
        (
            solution,
            residuals,
            new_tensor(asarray_like([], input._array, np.int64) if driver == "gels" else rank),
            values,
        )
    )
