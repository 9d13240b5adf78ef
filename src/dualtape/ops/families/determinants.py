"""Determinants, their signs and logarithms, and their derivatives of every order.

The gradient is made of cofactors, which a singular matrix has, too: where there is no inverse they come from the
singular values, as do their own derivatives. Solutions by factorisations are in ``linalg``.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ...arrays.kernels.basics import all_samples
from ...arrays.lazy import numpy_linalg
from ..dispatch import FUNCTIONS
from ..formulas import adjoint, transposed, use
from ..samples import edge, exact, invertible, ours, real, sample, spd
from ..table import GENERAL, TABLE, composite, op
from .linalg import _diagonal, _eye, _matrix


def _undefined(x: Any, det: Any) -> Any:
    """Which matrices have NaN although LAPACK has found them singular; None if that is no question."""
    values = all_samples(det)
    if not isinstance(values, (np.ndarray, np.generic)) or (values != 0).all():
        return None
    return (det == 0) & np.isnan(x).any(axis=(-2, -1))


def _det(x: Any) -> Any:
    _matrix("linalg.det", x)
    det = numpy_linalg.det(x)
    undefined = _undefined(x, det)
    return det if undefined is None else np.where(undefined, np.nan, det).astype(x.dtype, copy=False)


def _products_without(s: Any, count: int) -> Any:
    """Return, for each one (or pair) of the last axis, the product of all the others."""
    n = s.shape[-1]
    same = _eye(n, s)
    others = ~same if count == 1 else ~(same[:, None] | same[None])
    return np.prod(np.where(others, s[(...,) + (None,) * count + (slice(None),)], 1), axis=-1)


def _frame(x: Any) -> tuple:
    """Return the decomposition x = U diag(s) Vh, and the determinant of U times that of Vh."""
    u, s, vh = numpy_linalg.svd(x)
    return u, s, vh, (numpy_linalg.det(u) * numpy_linalg.det(vh))[..., None, None]


def _cofactors(x: Any) -> Any:
    """Return the matrix of the determinant's derivatives: det(x) * inv(x).T, and its limit where x is singular."""
    _matrix("linalg.det", x)
    det = _det(x)
    if det.size and (all_samples(det) != 0).all():
        try:
            return (det[..., None, None] * transposed(numpy_linalg.inv(x))).astype(x.dtype, copy=False)
        except np.linalg.LinAlgError:
            pass
    undefined = np.isnan(det)[..., None, None]
    some = all_samples(undefined).any()
    # NaN has no singular values, nor does a matrix that contains it.
    if some:
        x = np.where(undefined, _eye(x.shape[-1], x).astype(x.dtype), x)
    u, s, vh, sign = _frame(x)
    found = (sign * np.matmul(u.conj() * _products_without(s, 1)[..., None, :], vh.conj())).astype(x.dtype, copy=False)
    return np.where(undefined, np.nan, found) if some else found


def _cofactor_change(x: Any, along: Any) -> Any:
    """Return the derivative of the cofactors in a direction: in the basis of the singular vectors, products of all but
    two singular values.
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
    """Return the traces of matrices, with the last two axes kept."""
    return np.sum(_diagonal(x), axis=-1).reshape((*x.shape[:-2], 1, 1))


def _third_change(g: Any, x: Any, along: Any) -> Any:
    """Return the gradient of :func:`_cofactor_change` by x: the third derivative of the determinant, for an invertible
    x.
    """
    inv = numpy_linalg.inv(x)
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
    sign, logs = numpy_linalg.slogdet(x)
    undefined = _undefined(x, sign)
    if undefined is not None:
        logs = np.where(undefined, np.nan, logs).astype(logs.dtype, copy=False)
    values = all_samples(logs)
    if x.dtype.kind == "f" and (values != values).any():
        # PyTorch's sign of NaN.
        sign = np.where(np.isnan(logs), 0, sign).astype(sign.dtype, copy=False)
    return sign, logs


def _log_gradient(g_sign: Any, g_logabsdet: Any, x: Any, sign: Any) -> Any:
    weight = g_logabsdet
    if x.dtype.kind == "c":
        weight = weight - 1j * (g_sign.conj() * sign).imag
    return weight.reshape((*weight.shape, 1, 1)) * adjoint(use("inverse_anyway")(x))


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
