"""Variance and related statistics, covariance, and histograms."""

from __future__ import annotations

from math import isfinite
from typing import Any

import numpy as np

from ..._tensor import dtypes
from ..._tensor.tensor import new_tensor
from ...arrays.bfloat16_dtype import cast
from ...arrays.kernels.basics import all_samples
from ...arrays.kernels.sums import sum_point
from ...autograd.underived import underived
from ...errors import warn
from ..dispatch import FUNCTIONS
from ..formulas import restore
from ..samples import edge, exact, exact_index, real, sample
from ..table import REDUCTION, composite, op
from .reductions import HALF, LONG, SINGLE, add_reduce, axes, count, numpy_names, spread, total

# --- variance -------------------------------------------------------------------------------------


def _moments(x: Any, dim: Any, correction: float, keepdim: bool) -> tuple:
    """Return variance and mean; half precision is computed in single."""
    if dim is None and type(x) is np.ndarray and x.dtype.char in "fd" and 0 < x.size <= _MANY and not keepdim:
        line, n = x.ravel(), x.size
        mean = sum_point(line) / x.dtype.type(n)
        off = line - mean
        if n <= correction:
            _warn_of_freedom("var, std", n, correction)
        return off.dot(off) / x.dtype.type(max(n - correction, 0)), mean
    if x.dtype.kind not in "fc":
        raise RuntimeError(
            f"std and var only support floating point and complex dtypes, got {x.dtype}; convert the tensor first"
        )
    wide = x.astype(SINGLE) if x.dtype == HALF else x
    axis = axes(dim, x.ndim)
    n = count(x.shape, dim)
    if n <= correction:
        _warn_of_freedom("var, std", n, correction)
    mean = np.true_divide(add_reduce(wide, axis, None, None, True), n)
    off = wide - mean
    variance = _mean_square(off, axis, n - correction, keepdim)
    if (
        off.size > _MANY
        and off.dtype.char in "fF"
        and type(off) is np.ndarray
        and (abs(mean) > _FAR * np.sqrt(variance.reshape(mean.shape))).any()
    ):
        # what the mean was rounded by is not small beside the deviations
        off -= np.true_divide(add_reduce(off, axis, None, None, True), n)
        variance = _mean_square(off, axis, n - correction, keepdim)
    return variance, mean if keepdim else mean.reshape(variance.shape)


def _warn_of_freedom(name: str, n: int, correction: Any) -> None:
    warn(
        f"{name}: degrees of freedom is <= 0: correction ({correction}) should be less than the number of values ({n});"
        " the result is no number"
    )


# numbers in all from which it is worth a look, and times the deviation from which a mean in single precision is too
# coarse
_MANY, _FAR = (
    500,
    1000,
)


# Below this variance, squares in single precision have lost digits.
_TINY = 1e-30


def _mean_square(off: Any, axis: Any, count: float, keepdim: bool) -> Any:
    squares = off.real * off.real + off.imag * off.imag if off.dtype.kind == "c" else off * off
    # at no degree of freedom: 0 / 0 or something / 0, as PyTorch
    return np.true_divide(add_reduce(squares, axis, None, None, keepdim), max(count, 0))


def _var_mean(x: Any, dim: Any, correction: float, keepdim: bool) -> tuple:
    variance, mean = _moments(x, dim, correction, keepdim)
    return (variance.astype(HALF), mean.astype(HALF)) if x.dtype == HALF else (variance, mean)


def _std_mean(x: Any, dim: Any, correction: float, keepdim: bool) -> tuple:
    variance, mean = _moments(x, dim, correction, keepdim)
    if x.dtype.char in "fF" and not all_samples(np.logical_and(variance > _TINY, variance < np.inf)).all():
        variance = _moments(x.astype(np.float64 if x.dtype.char == "f" else np.complex128), dim, correction, keepdim)[0]
        return np.sqrt(variance).astype(mean.real.dtype), mean  # squares have half the range
    deviation = np.sqrt(variance)
    return (deviation.astype(HALF), mean.astype(HALF)) if x.dtype == HALF else (deviation, mean)


def _slope(x: Any, dim: Any, correction: float) -> Any:
    """Return the derivative of the variance with respect to each element."""
    n = count(x.shape, dim)
    off = x - total(x, dim, True) / max(n, 1)
    if n > correction:
        return off * (2 / (n - correction))
    return np.where(off == 0, np.nan, np.inf)


def _half_over(g: Any, std: Any) -> Any:
    """Return g / (2 std), and 0 where std is 0: converts a gradient of the deviation into one of the variance."""
    flat = std == 0
    return np.where(flat, 0, g / np.where(flat, 1, 2 * std))


def _var_gradient(g: Any, x: Any, dim: Any, correction: float, keepdim: bool) -> Any:
    return restore(g, x.shape, dim, keepdim) * _slope(x, dim, correction)


def _var_tangent(t: Any, x: Any, dim: Any, correction: float, keepdim: bool) -> Any:
    return total(np.real(t * _slope(x, dim, correction).conj()), dim, keepdim)


def _if_asked(g: Any, gradient: Any, x: Any, dim: Any, correction: float, keepdim: bool) -> Any:
    """Return the gradient through a variance beside a mean: without degrees of freedom it is NaN, unless the variance
    got no gradient.
    """
    return (
        gradient if count(x.shape, dim) > correction else np.where(restore(g, x.shape, dim, keepdim) == 0, 0, gradient)
    )


def _mean_gradient(g: Any, x: Any, dim: Any, keepdim: bool) -> Any:
    return spread(g / max(count(x.shape, dim), 1), x.shape, dim, keepdim)


def _mean_tangent(t: Any, x: Any, dim: Any, keepdim: bool) -> Any:
    return total(t, dim, keepdim) / max(count(x.shape, dim), 1)


_INNER = (
    sample(real(3, 4), None, 1, False),
    sample(real(3, 4), 1, 0, True),
    sample(real(2, 3, 4), (0, -1), 1, False),
    sample(real(), 0, 0, False),
)
_var_op = op("var_op", lambda x, dim, correction, keepdim: _var_mean(x, dim, correction, keepdim)[0], kind=REDUCTION,
    public=False,
   method=False, node="VarBackward0", torch_name="-", samples=_INNER,
   vjp=dict(x=_var_gradient), jvp=dict(x=_var_tangent), doc="The variance.")  # fmt: skip
_std_op = op("std_op", lambda x, dim, correction, keepdim: _std_mean(x, dim, correction, keepdim)[0], kind=REDUCTION,
    public=False,
   method=False, node="StdBackward0", torch_name="-", samples=_INNER[:3],
   vjp=dict(x=lambda g, x, out, dim, correction,
       keepdim: _var_gradient(_half_over(g, out), x, dim, correction, keepdim)),
   jvp=dict(x=lambda t, x, out, dim, correction,
       keepdim: _half_over(_var_tangent(t, x, dim, correction, keepdim), out)),
   doc="The standard deviation.")  # fmt: skip
_var_mean_op = op("var_mean_op", _var_mean, kind=REDUCTION, public=False, method=False, node="VarMeanBackward0",
    torch_name="-", samples=_INNER,
   outputs=("var", "mean"),
   vjp=dict(x=lambda g_var, g_mean, x, dim, correction, keepdim:
                _if_asked(g_var, _var_gradient(g_var, x, dim, correction, keepdim), x, dim, correction,
                    keepdim) + _mean_gradient(g_mean, x, dim, keepdim)),
   jvp=dict(x=lambda t, x, dim, correction,
       keepdim: (_var_tangent(t, x, dim, correction, keepdim), _mean_tangent(t, x, dim, keepdim))),
   doc="Variance and mean.")  # fmt: skip

_std_mean_op = op("std_mean_op", _std_mean, kind=REDUCTION, public=False, method=False, node="StdMeanBackward0",
    torch_name="-", samples=_INNER[:3],
   outputs=("std", "mean"),
   vjp=dict(x=lambda g_std, g_mean, x, std, dim, correction, keepdim:
                _if_asked(g_std, _var_gradient(_half_over(g_std, std), x, dim, correction, keepdim), x, dim, correction,
                    keepdim)
                + _mean_gradient(g_mean, x, dim, keepdim)),
   jvp=dict(x=lambda t, x, std, dim, correction,
       keepdim: (_half_over(_var_tangent(t, x, dim, correction, keepdim), std), _mean_tangent(t, x, dim, keepdim))),
   doc="Standard deviation and mean.")  # fmt: skip


def _corrected(name: str, dim: Any, unbiased: bool | None, correction: float | None) -> tuple[Any, float]:
    """Return the correction from PyTorch's two arguments: ``unbiased`` (which may come first), and ``correction``."""
    if isinstance(dim, bool):
        dim, unbiased = None, dim
    if unbiased is not None and correction is not None:
        raise TypeError(f"{name}() takes unbiased or correction, not both")
    if correction is None:
        correction = 1 if unbiased is None else int(unbiased)
    return dim, correction


_VARIANCES = (
    sample(real(3, 4)), sample(real(3, 4), 1), sample(real(3, 4), -2, keepdim=True), sample(real(2, 3, 4), (0, 2)),
    sample(real(3, 4), False),
    sample(real(3, 4), unbiased=False), sample(real(3, 4), 0, False), sample(real(3, 4), 0, True, True),
    sample(real(3, 4), correction=0),
    sample(real(3, 4), 0, correction=0.5), sample(real(3, 4), dim=None, keepdim=True),
    sample(real(3, 4, layout="F"), 0), sample(real(3, 4, layout="strided")), edge(real()), edge(real(0, 3)),
    edge(real(0, 3), 0), edge(exact([2.0, 2.0, 2.0])),
    edge(exact([2.0])), edge(exact([1.0, np.nan, 2.0])),
)  # fmt: skip
_DEGENERATE = (edge(exact([0.0, 2.0, -1.0]), correction=3), edge(exact([0.0, 0.0, 0.0]), correction=4))


@composite("var", samples=(*_VARIANCES, *_DEGENERATE))
@numpy_names
def var(
    input: Any,
    dim: Any = None,
    unbiased: bool | None = None,
    keepdim: bool = False,
    *,
    correction: float | None = None,
    **out: Any,
) -> Any:
    """The variance over ``dim``: squared deviations from the mean, over the count less ``correction`` (1).

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.var(dt.tensor([1.0, 2.0, 3.0, 4.0]))
    tensor(1.6667)
    """
    dim, correction = _corrected("var", dim, unbiased, correction)
    return _var_op(input, dim, correction, keepdim, **out)


@composite("std", samples=(*_VARIANCES, *_DEGENERATE))
@numpy_names
def std(
    input: Any,
    dim: Any = None,
    unbiased: bool | None = None,
    keepdim: bool = False,
    *,
    correction: float | None = None,
    **out: Any,
) -> Any:
    """The standard deviation over ``dim``, the root of the variance; where it is 0, so is its gradient.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.std(dt.tensor([1.0, 2.0, 3.0, 4.0]))
    tensor(1.2910)
    """
    dim, correction = _corrected("std", dim, unbiased, correction)
    return _std_op(input, dim, correction, keepdim, **out)


@composite("var_mean", samples=_VARIANCES, method=False)
@numpy_names
def var_mean(
    input: Any, dim: Any = None, unbiased: bool | None = None, keepdim: bool = False, *, correction: float | None = None
) -> Any:
    """The variance and the mean over ``dim``.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.var_mean(dt.tensor([1.0, 2.0, 3.0, 4.0]))
    (tensor(1.6667), tensor(2.5000))
    """
    dim, correction = _corrected("var_mean", dim, unbiased, correction)
    return tuple(_var_mean_op(input, dim, correction, keepdim))


@composite("std_mean", samples=_VARIANCES, method=False)
@numpy_names
def std_mean(
    input: Any, dim: Any = None, unbiased: bool | None = None, keepdim: bool = False, *, correction: float | None = None
) -> Any:
    """The standard deviation and the mean over ``dim``.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.std_mean(dt.tensor([1.0, 2.0, 3.0, 4.0]))
    (tensor(1.2910), tensor(2.5000))
    """
    dim, correction = _corrected("std_mean", dim, unbiased, correction)
    return tuple(_std_mean_op(input, dim, correction, keepdim))


# --- covariance -----------------------------------------------------------------------------------


def _weights(fweights: Any, aweights: Any, n: int) -> Any:
    for name, weights in (("fweights", fweights), ("aweights", aweights)):
        if weights is None:
            continue
        if weights.ndim > 1 or weights.numel() != n:
            raise RuntimeError(
                f"cov(): expected {name} to have one element for each of the {n} observations, got shape"
                f" {list(weights.shape)}"
            )
        if (all_samples(weights._array) < 0).any():
            raise RuntimeError(f"cov(): {name} cannot be negative")
    if fweights is not None and fweights._array.dtype.kind not in "iu":
        raise RuntimeError(
            f"cov(): expected fweights to have integral dtype but got fweights with {fweights.dtype!r} dtype"
        )
    if fweights is None or aweights is None:
        return aweights if fweights is None else fweights
    return fweights * aweights


@composite("cov", samples=(
    sample(real(3, 5)), sample(real(3, 5), correction=0), sample(real(5)),
    sample(real(3, 5), fweights=exact_index([1, 2, 1, 3, 1])),
    sample(real(3, 4), aweights=exact([0.1, 0.2, 0.3, 0.4])),
    sample(real(2, 3), correction=0, fweights=exact_index([1, 2, 1]), aweights=exact([0.1, 0.2, 0.3])), edge(real()),
))  # fmt: skip
def cov(input: Any, *, correction: int = 1, fweights: Any = None, aweights: Any = None) -> Any:
    """The covariance matrix of variables in rows, observations in columns.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.cov(dt.tensor([[0.0, 1.0, 2.0], [2.0, 1.0, 0.0]]))
    tensor([[ 1., -1.],
            [-1.,  1.]])
    """
    if input.ndim > 2:
        raise RuntimeError(
            f"cov(): expected input to have two or fewer dimensions but got an input with {input.ndim} dimensions"
        )
    x = input if input.ndim == 2 else input.reshape(1, -1)
    if x._array.dtype.kind in "biu":
        x = x.to(dtypes.default_float())
    n = x._array.shape[1]
    weights = _weights(fweights, aweights, n)
    if weights is None:
        off = x - x.mean(1, True)
        weighted, norm = off, max(n - correction, 0)
        if n <= correction:
            _warn_of_freedom("cov", n, correction)
    else:
        whole = weights.sum()
        off = x - (x * weights).sum(1, True) / whole
        weighted = off * weights
        norm = whole - (
            correction if aweights is None or correction == 0 else correction * (weights * aweights).sum() / whole
        )
        norm = FUNCTIONS["real"](norm).clamp(min=0)
    return (FUNCTIONS["matmul"](off, weighted.conj().t()) / norm).squeeze()


@composite("corrcoef", samples=(sample(real(3, 5)), sample(real(5)), edge(real())))
def corrcoef(input: Any) -> Any:
    """The correlation coefficients of variables in rows, observations in columns.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.corrcoef(dt.tensor([[0.0, 1.0, 2.0], [2.0, 1.0, 0.0]]))
    tensor([[ 1., -1.],
            [-1.,  1.]])
    """
    if input.ndim > 2:
        raise RuntimeError(
            f"corrcoef(): expected input to have two or fewer dimensions but got an input with {input.ndim} dimensions"
        )
    c = cov(input)
    if c.ndim == 0:
        return c / c
    deviation = FUNCTIONS["sqrt"](FUNCTIONS["real"](c.diagonal()))
    c = c / deviation.unsqueeze(1) / deviation
    if c.is_complex():
        return FUNCTIONS["complex"](c.real.clamp(-1, 1), c.imag.clamp(-1, 1))
    return c.clamp(-1, 1)


# --- histograms -----------------------------------------------------------------------------------


@composite(
    "bincount",
    complex=False,
    samples=(
        edge(exact_index([0, 1, 1, 3])),
        edge(exact_index([0, 1, 1]), minlength=5),
        edge(exact_index([]), minlength=2),
    ),
)
def bincount(input: Any, weights: Any = None, minlength: int = 0) -> Any:
    """How often each non-negative integer occurs, or the sum of its weights.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.bincount(dt.tensor([0, 2, 2]))
    tensor([1, 0, 2])
    """
    array = input._array
    if array.dtype.kind not in "iu":
        raise NotImplementedError(f"bincount: not implemented for {input.dtype!r}: it counts integers")
    if array.ndim != 1 or (array < 0).any():
        raise RuntimeError("bincount only supports 1-d non-negative integral inputs.")
    if minlength < 0:
        raise RuntimeError(f"minlength should be >= 0, got {minlength}")
    if array.size and array.max() >= 2**60:  # NumPy counts outside of its memory at 2**63 - 1
        raise RuntimeError(f"bincount: maximum value of input overflowed: there is no memory for {array.max()} counts")
    if weights is None:
        return new_tensor(np.bincount(array, minlength=minlength).astype(LONG, copy=False))
    if weights._array.shape != array.shape:
        raise RuntimeError(
            f"weights should be 1-d and have the same length as input: {list(weights.shape)} and {list(array.shape)}"
        )
    summed = np.bincount(array, cast(weights._array, np.float64), minlength)
    summed = summed.astype(np.float32) if weights._array.dtype == np.float32 else summed
    return underived("bincount", new_tensor(summed), weights)


@composite("histc", complex=False, samples=(
    edge(exact([1.0, 2.0, 0.0, 2.0, 2.0, -1.0, np.nan]), 4, -1, 1), edge(exact([1.0, 2.0, 0.0]), 4),
    edge(exact([2.0, 2.0]), 3),
))  # fmt: skip
def histc(input: Any, bins: int = 100, min: float = 0, max: float = 0) -> Any:
    """How many elements fall into each of ``bins`` equal intervals from ``min`` to ``max``; by default, of the data.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.histc(dt.tensor([1.0, 2.0, 1.0]), bins=4, min=0, max=3)
    tensor([0., 2., 1., 0.])
    """
    array = input._array.reshape(-1)
    if array.dtype.kind != "f":
        raise NotImplementedError(
            f"histc: not implemented for {input.dtype!r}; convert the tensor to a floating-point type"
        )
    if bins <= 0:
        raise RuntimeError(f"bins must be > 0, got {bins}")
    low, high = float(min), float(max)
    if low == high and array.size:
        low, high = float(array.min()), float(array.max())
    if low == high:
        low, high = low - 1, high + 1
    if not (isfinite(low) and isfinite(high)):
        raise RuntimeError(f"range of [{low}, {high}] is not finite")
    if low > high:
        raise RuntimeError(f"torch.histc: max must be larger than min, got min {low} and max {high}")
    if type(array) is np.ndarray and array.size <= _FEW and (step := (high - low) / bins):
        # what np.histogram does, by searching: its edges as np.linspace makes them, the last of which belongs to
        # the last interval
        edges = np.arange(bins + 1.0) * step + low
        edges[-1] = high
        edges = edges.astype(array.dtype, copy=False)
        inside = array[(array >= low) & (array <= high)]
        return new_tensor(np.bincount(edges[:-1].searchsorted(inside, "right") - 1, None, bins).astype(array.dtype))
    counts = np.histogram(array[~np.isnan(array)], bins, (low, high))[0]
    return new_tensor(cast(counts, array.dtype))


# Up to so many elements, searching is faster than what np.histogram prepares.
_FEW = 1000
