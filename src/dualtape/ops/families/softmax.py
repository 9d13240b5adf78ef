"""Softmax, log-softmax and logsumexp: the largest element is subtracted first, so that nothing overflows."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...arrays.kernels.basics import add_reduce, largest
from ...arrays.kernels.fused import fused
from ...arrays.kernels.memory_order import in_rows
from ...arrays.kernels.sums import row_blocks, row_step, sum_axis
from ..dispatch import later
from ..formulas import normal_dim, restore
from ..samples import edge, exact, real, sample
from ..table import FLOAT, GENERAL, REDUCTION, op
from .reductions import HALF, SINGLE, axes, cast, total

_ALONG = (
    sample(real(3, 4), 0), sample(real(3, 4), 1), sample(real(2, 3, 4), -2), sample(real(), 0), sample(real(0, 3), 0),
    sample(real(3, 4, layout="F"), -1),
    sample(real(3, 4, layout="strided"), 0), sample(exact([1000.0, 999.0, -1000.0]), 0),
    edge(exact([-np.inf, 1.0, 2.0]), 0),
    edge(exact([-np.inf, -np.inf]), 0), edge(exact([np.inf, 1.0]), 0), edge(exact([np.nan, 1.0]), 0),
)  # fmt: skip


DOUBLE = np.dtype(np.float64)
_max: Any = np.maximum.reduce


def _exponents(name: str, x: Any, dim: int, dtype: Any) -> tuple:
    """Return the elements less their largest, the axis, and the dtype of the result."""
    if (
        dtype is None
        and type(x) is np.ndarray
        and (x.dtype is SINGLE or x.dtype is DOUBLE)
        and x.size
        and -x.ndim <= dim < x.ndim
        and dim is not True
        and dim is not False
    ):
        d = dim % x.ndim
        return np.subtract(x, _max(x, d, None, None, True), order="C"), (d,), x.dtype
    x = cast(x, dtype)
    if x.dtype.kind != "f":
        raise NotImplementedError(f"{name}: not implemented for {x.dtype}; convert the tensor, or give dtype=")
    axis = (normal_dim(dim, x.ndim),) if x.ndim or normal_dim(dim, 0) else ()
    wide = x.astype(SINGLE) if x.dtype == HALF else x
    return in_rows(wide - largest(wide, axis, True)), axis, x.dtype


def _softmax(x: Any, dim: int, dtype: Any = None) -> Any:
    if (
        dtype is None
        and type(x) is np.ndarray
        and (dim == -1 or dim == 1)
        and dim is not True
        and x.ndim == 2
        and x.size
        and (x.dtype is SINGLE or x.dtype is DOUBLE)
    ):
        out = np.subtract(x, _max(x, 1, None, None, True), order="C")  # rows of numbers, as most are
        np.exp(out, out)
        return np.true_divide(out, _sums(out, 1), out)
    powers, axis, target = _exponents("softmax", x, dim, dtype)
    if powers.ndim == 0:
        return (np.exp(powers) / np.exp(powers)).astype(target)
    if type(powers) is np.ndarray:
        np.exp(powers, powers)
        np.true_divide(powers, _sums(powers, axis[0]), powers)
    else:
        np.exp(powers, out=powers)
        np.true_divide(powers, add_reduce(powers, axis, None, None, True), out=powers)
    return powers if powers.dtype is target else powers.astype(target)


def _sums(x: np.ndarray, d: int) -> np.ndarray:
    """Return the sums along a dimension, which is kept."""
    if x.ndim == 2 and x.flags.c_contiguous:
        sums = sum_axis(x, d)
        return sums[:, None] if d else sums
    return add_reduce(x, d, None, None, True)


# --- many rows, each by itself --------------------------------------------------------------------

exponentials = later(".arrays.kernels.approximations", "exponentials")
add_outer, scale_rows = later(".arrays.kernels.updates", "add_outer"), later(".arrays.kernels.updates", "scale_rows")
# numbers in all, and in a row, from which blocks and the updates of :mod:`dualtape.arrays.kernels.updates` are worth their calls
_FEWEST, _LONG = (
    16_384,
    64,
)


def _by_rows(x: Any, dim: int) -> bool:
    """Return whether ``x`` is a large contiguous NumPy array, and ``dim`` the dimension of its rows."""
    if type(x) is not np.ndarray or x.size < _FEWEST or x.shape[-1] < _LONG:
        return False
    return x.dtype.char in "fd" and type(dim) is int and dim in (-1, x.ndim - 1) and x.flags.c_contiguous


def _log_softmax_rows(x: np.ndarray) -> np.ndarray:
    """Return x - max - log(sum(exp(x - max))), some rows at a time so that intermediates stay in a cache; BLAS
    subtracts the two columns.
    """
    out = np.empty(x.shape, x.dtype)
    n = x.shape[-1]
    v, into, ones = x.reshape(-1, n), out.reshape(-1, n), np.ones(n, x.dtype)
    buffer = np.empty((row_step(v.shape), n), x.dtype)
    for rows in row_blocks(v.shape):
        part, result = v[rows], into[rows]
        result[...] = part
        add_outer(result, -_max(part, 1), ones)
        norm = sum_axis(exponentials(result, buffer[: len(part)]), 1)
        add_outer(result, -np.log(norm, norm), ones)
    return out


def _log_softmax_gradient_rows(g: np.ndarray, out: np.ndarray) -> np.ndarray:
    """Return g - exp(out) * sum(g), some rows at a time."""
    change = np.empty(out.shape, out.dtype)
    n = out.shape[-1]
    grads, outs, into = g.reshape(-1, n), out.reshape(-1, n), change.reshape(-1, n)
    for rows in row_blocks(outs.shape):
        part, result = grads[rows], into[rows]
        np.subtract(part, scale_rows(exponentials(outs[rows], result), sum_axis(part, 1)), result)
    return change


# --- the ops, along any dimension -----------------------------------------------------------------


def _log_softmax(x: Any, dim: int, dtype: Any = None) -> Any:
    if dtype is None and _by_rows(x, dim):
        return _log_softmax_rows(x)
    shifted, axis, target = _exponents("log_softmax", x, dim, dtype)
    if type(shifted) is not np.ndarray or shifted.ndim == 0:
        return np.subtract(shifted, np.log(add_reduce(np.exp(shifted), axis, None, None, True))).astype(
            target, copy=False
        )
    norm = _sums(np.exp(shifted), axis[0])
    np.subtract(shifted, np.log(norm, norm), shifted)
    return shifted if shifted.dtype is target else shifted.astype(target)


def _softmax_change(v: Any, out: Any, dim: int) -> Any:
    """Return the Jacobian, which is symmetric, times ``v``."""
    return out * (v - total(v * out, dim, True))


def _softmax_gradient(g: Any, out: Any, dim: int) -> Any:
    """Return :func:`_softmax_change`, allocating a single array."""
    depth = out.ndim
    if depth and dim % depth == depth - 1 and out.dtype is g.dtype is not HALF and out.size:
        change = np.subtract(g, np.vecdot(g, out)[..., None])
    else:
        change = np.multiply(g, out)
        if type(change) is not np.ndarray:  # a number
            return _softmax_change(g, out, dim)
        np.subtract(g, total(change, dim, True), change)
    return np.multiply(change, out, change)


def _log_softmax_gradient(g: Any, out: Any, dim: int) -> Any:
    """Return g - exp(out) * sum(g), allocating a single array."""
    if _by_rows(out, dim) and type(g) is np.ndarray and g.dtype == out.dtype and g.flags.c_contiguous:
        return _log_softmax_gradient_rows(g, out)
    change = np.exp(out)
    if type(change) is not np.ndarray:
        return g - change * total(g, dim, True)
    np.multiply(change, total(g, dim, True), change)
    return np.subtract(g, change, change)


op("softmax", fused(_softmax), also=("special.softmax",), kind=GENERAL, quiet=False, complex=False, samples=_ALONG, numpy_vjp=dict(x=fused(_softmax_gradient, _softmax_change)),
   vjp=dict(x=lambda g, out, dim: _softmax_change(g, out, dim)),
   jvp=dict(x=lambda t, out, dim: _softmax_change(t, out, dim)),
   doc="""Exponentials along ``dim``, scaled so that they sum to 1.

   >>> import dualtape as dt
   >>> dt.softmax(dt.tensor([0.0, 1.0]), 0)
   tensor([0.2689, 0.7311])
   """)  # fmt: skip
op("log_softmax", fused(_log_softmax), also=("special.log_softmax",), kind=GENERAL, quiet=False, complex=False, samples=_ALONG,
    numpy_vjp=dict(x=fused(_log_softmax_gradient, lambda g, out, dim: g - np.exp(out) * total(g, dim, True))),
   vjp=dict(x=lambda g, out, dim: g - np.exp(out) * total(g, dim, True)),
   jvp=dict(x=lambda t, out, dim: t - total(np.exp(out) * t, dim, True)),
   doc="""The logarithm of :func:`softmax`, exact where that underflows.

   >>> import dualtape as dt
   >>> dt.log_softmax(dt.tensor([0.0, 1.0]), 0)
   tensor([-1.3133, -0.3133])
   """)  # fmt: skip


def _logsumexp(x: Any, dim: Any, keepdim: bool = False) -> Any:
    if dim is None:
        raise TypeError("logsumexp(): argument 'dim' must be an int or several, not None")
    axis = axes(dim, x.ndim)
    wide = x.astype(SINGLE) if x.dtype == HALF else x
    top = largest(wide.real, axis, True)
    top = np.where(np.isinf(top), 0, top)
    out = np.log(add_reduce(np.exp(wide - top), axis, None, None, True)) + top
    return (out if keepdim else out.reshape(tuple(n for d, n in enumerate(x.shape) if d not in axis))).astype(
        x.dtype, copy=False
    )


op("logsumexp", _logsumexp, also=("special.logsumexp",), kind=REDUCTION, quiet=False, promote=FLOAT,
   vjp=dict(x=lambda g, x, out, dim, keepdim: restore(g, x.shape, dim, keepdim) * np.exp(x - restore(out, x.shape, dim, keepdim)).conj()),
   jvp=dict(x=lambda t, x, out, dim, keepdim: total(t * np.exp(x - restore(out, x.shape, dim, keepdim)), dim, keepdim)),
   samples=(sample(real(3, 4), 1), sample(real(3, 4), (0, 1)), sample(real(2, 3, 4), (-1, 0), True),
       sample(real(3, 4), -2, keepdim=True), sample(real(), 0),
            sample(real(0, 3), 0), sample(real(0, 3), 1), sample(real(3, 4, layout="F"), 0),
            sample(exact([1000.0, 999.0, -1000.0]), 0),
            edge(exact([[-np.inf, -np.inf], [1.0, -np.inf], [np.inf, 1.0], [np.nan, 1.0], [np.inf, np.inf]]), 1)),
   doc="""log(sum(exp(x))) over ``dim``, without overflow.

   >>> import dualtape as dt
   >>> dt.logsumexp(dt.tensor([1000.0, 1000.0]), 0)
   tensor(1000.6932)
   """)  # fmt: skip
