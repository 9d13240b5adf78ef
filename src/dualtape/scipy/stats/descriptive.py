"""Moments, means, scores and other statistics of samples, along an axis."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ...arrays.lazy import scipy_stats as _stats
from ...ops.numpy_entries.special import SPECIAL
from .._arguments import plain
from .._like import like
from .._tensors import alike, floating

__all__ = [
    "boxcox_llf",
    "circmean",
    "circstd",
    "circvar",
    "differential_entropy",
    "entropy",
    "gmean",
    "gstd",
    "gzscore",
    "hmean",
    "iqr",
    "kstat",
    "kstatvar",
    "kurtosis",
    "linregress",
    "median_abs_deviation",
    "moment",
    "pearsonr",
    "pmean",
    "sem",
    "sigmaclip",
    "skew",
    "tmean",
    "trim_mean",
    "tstd",
    "tvar",
    "variation",
    "wasserstein_distance",
    "yeojohnson_llf",
    "zmap",
    "zscore",
]


def _plain_only(nan_policy: str) -> None:
    if nan_policy not in ("propagate", "raise"):
        raise TypeError("statistics on tensors: nan_policy='propagate' only")


def _sample(a: Any, axis: Any, nan_policy: str = "propagate") -> tuple[Any, int]:
    """Return the sample, flattened for ``axis=None``, and its axis."""
    _plain_only(nan_policy)
    x = floating(a)
    return (x.reshape(-1), 0) if axis is None else (x, axis)


@like(_stats)
def moment(
    a: Any, order: Any = 1, axis: Any = 0, nan_policy: str = "propagate", *, center: Any = None, keepdims: bool = False
) -> Any:
    """The moment of this order about the mean, or about ``center``.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.scipy.stats.moment(dt.tensor([1.0, 2.0, 6.0]), 2)
    tensor(4.6667)
    """
    x, axis = _sample(a, axis, nan_policy)
    if np.ndim(order):
        raise TypeError("moment on tensors: order is one number")
    middle = np.mean(x, axis=axis, keepdims=True) if center is None else center
    return np.mean((x - middle) ** order, axis=axis, keepdims=keepdims)


def _central(x: Any, axis: int, keepdims: bool) -> Callable:
    away = x - np.mean(x, axis=axis, keepdims=True)
    return lambda order: np.mean(away**order, axis=axis, keepdims=keepdims)


@like(_stats)
def skew(a: Any, axis: Any = 0, bias: bool = True, nan_policy: str = "propagate", *, keepdims: bool = False) -> Any:
    """The skewness.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.scipy.stats.skew(dt.tensor([1.0, 2.0, 6.0])).round(decimals=4)
    tensor(0.5952)
    """
    x, axis = _sample(a, axis, nan_policy)
    m, n = _central(x, axis, keepdims), x.shape[axis]
    found = m(3) / m(2) ** 1.5
    return found if bias or n < 3 else found * (np.sqrt((n - 1.0) * n) / (n - 2.0))


@like(_stats)
def kurtosis(
    a: Any,
    axis: Any = 0,
    fisher: bool = True,
    bias: bool = True,
    nan_policy: str = "propagate",
    *,
    keepdims: bool = False,
) -> Any:
    """The kurtosis.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.scipy.stats.kurtosis(dt.tensor([1.0, 2.0, 6.0])).round(decimals=4)
    tensor(-1.5000)
    """
    x, axis = _sample(a, axis, nan_policy)
    m, n = _central(x, axis, keepdims), x.shape[axis]
    found = m(4) / m(2) ** 2
    if not bias and n > 3:
        found = 1.0 / (n - 2) / (n - 3) * ((n**2 - 1.0) * found - 3 * (n - 1) ** 2.0) + 3.0
    return found - 3 if fisher else found


@like(_stats)
def sem(a: Any, axis: Any = 0, ddof: int = 1, nan_policy: str = "propagate", *, keepdims: bool = False) -> Any:
    """The standard error of the mean.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.scipy.stats.sem(dt.tensor([1.0, 2.0, 6.0])).round(decimals=4)
    tensor(1.5275)
    """
    x, axis = _sample(a, axis, nan_policy)
    return np.std(x, axis=axis, ddof=ddof, keepdims=keepdims) / np.sqrt(x.shape[axis])


@like(_stats)
def variation(a: Any, axis: Any = 0, nan_policy: str = "propagate", ddof: int = 0, *, keepdims: bool = False) -> Any:
    """The standard deviation divided by the mean.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.scipy.stats.variation(dt.tensor([1.0, 3.0]))
    tensor(0.5000)
    """
    x, axis = _sample(a, axis, nan_policy)
    return np.std(x, axis=axis, ddof=ddof, keepdims=keepdims) / np.mean(x, axis=axis, keepdims=keepdims)


# --- means ----------------------------------------------------------------------------------------


def _weighed(x: Any, axis: int, weights: Any, keepdims: bool) -> Any:
    if weights is None:
        return np.mean(x, axis=axis, keepdims=keepdims)
    w = floating(weights)
    if w.ndim == 1 and x.ndim > 1:
        w = w.reshape([-1 if d == axis % x.ndim else 1 for d in range(x.ndim)])
    w = w * np.ones(tuple(x.shape))
    return np.sum(x * w, axis=axis, keepdims=keepdims) / np.sum(w, axis=axis, keepdims=keepdims)


@like(_stats)
def gmean(
    a: Any,
    axis: Any = 0,
    dtype: Any = None,
    weights: Any = None,
    nan_policy: str = "propagate",
    *,
    keepdims: bool = False,
) -> Any:
    """The geometric mean.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.scipy.stats.gmean(dt.tensor([1.0, 4.0])).round(decimals=4)
    tensor(2.)
    """
    x, axis = _sample(a, axis, nan_policy)
    return np.exp(_weighed(np.log(x), axis, weights, keepdims))


@like(_stats)
def hmean(
    a: Any,
    axis: Any = 0,
    dtype: Any = None,
    *,
    weights: Any = None,
    nan_policy: str = "propagate",
    keepdims: bool = False,
) -> Any:
    """The harmonic mean.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.scipy.stats.hmean(dt.tensor([1.0, 1.0]))
    tensor(1.)
    """
    x, axis = _sample(a, axis, nan_policy)
    return 1 / _weighed(1 / x, axis, weights, keepdims)


@like(_stats)
def pmean(
    a: Any,
    p: Any,
    *,
    axis: Any = 0,
    dtype: Any = None,
    weights: Any = None,
    nan_policy: str = "propagate",
    keepdims: bool = False,
) -> Any:
    """The power mean.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.scipy.stats.pmean(dt.tensor([1.0, 3.0]), 1)
    tensor(2.)
    """
    x, axis = _sample(a, axis, nan_policy)
    if p == 0:
        return np.exp(_weighed(np.log(x), axis, weights, keepdims))
    return _weighed(x**p, axis, weights, keepdims) ** (1 / p)


def _within(x: Any, limits: Any, inclusive: Any) -> np.ndarray:
    known = plain(x)
    inside = np.ones(known.shape, bool)
    if limits is not None:
        low, high = limits
        if low is not None:
            inside &= known >= low if inclusive[0] else known > low
        if high is not None:
            inside &= known <= high if inclusive[1] else known < high
    return inside


@like(_stats)
def tmean(
    a: Any,
    limits: Any = None,
    inclusive: Any = (True, True),
    axis: Any = None,
    *,
    nan_policy: str = "propagate",
    keepdims: bool = False,
) -> Any:
    """The mean of the values within limits.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.scipy.stats.tmean(dt.tensor([1.0, 3.0, 9.0]), (0, 5))
    tensor(2.)
    """
    x, axis = _sample(a, axis, nan_policy)
    inside = _within(x, limits, inclusive)
    return np.sum(np.where(inside, x, 0.0), axis=axis, keepdims=keepdims) / inside.sum(axis, keepdims=keepdims)


@like(_stats)
def tvar(
    a: Any,
    limits: Any = None,
    inclusive: Any = (True, True),
    axis: Any = 0,
    ddof: int = 1,
    *,
    nan_policy: str = "propagate",
    keepdims: bool = False,
) -> Any:
    """The variance of the values within limits.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.scipy.stats.tvar(dt.tensor([1.0, 3.0, 9.0]), (0, 5))
    tensor(2.)
    """
    x, axis = _sample(a, axis, nan_policy)
    inside = _within(x, limits, inclusive)
    count = inside.sum(axis, keepdims=True)
    mean = np.sum(np.where(inside, x, 0.0), axis=axis, keepdims=True) / count
    square = np.sum(np.where(inside, (x - mean) ** 2, 0.0), axis=axis, keepdims=keepdims)
    return square / (inside.sum(axis, keepdims=keepdims) - ddof)


@like(_stats)
def tstd(
    a: Any,
    limits: Any = None,
    inclusive: Any = (True, True),
    axis: Any = 0,
    ddof: int = 1,
    *,
    nan_policy: str = "propagate",
    keepdims: bool = False,
) -> Any:
    """The standard deviation of the values within limits.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.scipy.stats.tstd(dt.tensor([1.0, 3.0, 9.0]), (0, 5)).round(decimals=4)
    tensor(1.4142)
    """
    return np.sqrt(tvar.__wrapped__(a, limits, inclusive, axis, ddof, nan_policy=nan_policy, keepdims=keepdims))


@like(_stats)
def trim_mean(
    a: Any, proportiontocut: float, axis: Any = 0, *, nan_policy: str = "propagate", keepdims: bool = False
) -> Any:
    """The mean without the smallest and the largest values.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.scipy.stats.trim_mean(dt.tensor([1.0, 3.0, 9.0]), 0.34)
    tensor(3.)
    """
    x, axis = _sample(a, axis, nan_policy)
    count = x.shape[axis]
    cut = int(proportiontocut * count)
    if cut > count - cut:
        raise ValueError("Proportion too big.")
    ordered = np.take(np.sort(x, axis=axis), np.arange(cut, count - cut), axis=axis)
    return np.mean(ordered, axis=axis, keepdims=keepdims)


@like(_stats)
def sigmaclip(a: Any, low: float = 4.0, high: float = 4.0, *, nan_policy: str = "propagate", axis: Any = None) -> tuple:
    """The values within standard deviations of their mean, found again until none is left out, and the limits.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.scipy.stats.sigmaclip(dt.tensor([1.0, 3.0]))[0]
    tensor([1., 3.])
    """
    if axis is not None:
        raise TypeError("sigmaclip on tensors: axis=None only")
    x = floating(a).reshape(-1)
    while True:
        middle, width = np.mean(x), np.std(x)
        lower, upper = middle - width * low, middle + width * high
        inside = (plain(x) >= plain(lower)) & (plain(x) <= plain(upper))
        if inside.all():
            return x, lower, upper
        x = x[np.flatnonzero(inside)]


# --- scores and spreads ---------------------------------------------------------------------------


@like(_stats)
def zmap(scores: Any, compare: Any, axis: Any = 0, ddof: int = 0, nan_policy: str = "propagate") -> Any:
    """The scores, by mean and standard deviation of others.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.scipy.stats.zmap(dt.tensor([4.0]), dt.tensor([1.0, 3.0]))
    tensor([2.])
    """
    _plain_only(nan_policy)
    scores, compare = alike(scores, compare)
    mean, std = np.mean(compare, axis=axis, keepdims=True), np.std(compare, axis=axis, ddof=ddof, keepdims=True)
    return (scores - mean) / std


@like(_stats)
def zscore(a: Any, axis: Any = 0, ddof: int = 0, nan_policy: str = "propagate") -> Any:
    """The values less their mean, divided by their standard deviation.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.scipy.stats.zscore(dt.tensor([1.0, 3.0]))
    tensor([-1.,  1.])
    """
    x = floating(a)
    return zmap.__wrapped__(x, x, axis, ddof, nan_policy)


@like(_stats)
def gzscore(a: Any, *, axis: Any = 0, ddof: int = 0, nan_policy: str = "propagate") -> Any:
    """The scores of logarithms.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.scipy.stats.gzscore(dt.tensor([1.0, 3.0]))
    tensor([-1.,  1.])
    """
    return zscore.__wrapped__(np.log(floating(a)), axis, ddof, nan_policy)


@like(_stats)
def gstd(a: Any, axis: Any = 0, ddof: int = 1, *, keepdims: bool = False, nan_policy: str = "propagate") -> Any:
    """The geometric standard deviation.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.scipy.stats.gstd(dt.tensor([1.0, 1.0]))
    tensor(1.)
    """
    x, axis = _sample(a, axis, nan_policy)
    return np.exp(np.std(np.log(x), axis=axis, ddof=ddof, keepdims=keepdims))


@like(_stats)
def iqr(
    x: Any,
    axis: Any = None,
    rng: Any = (25, 75),
    scale: Any = 1.0,
    nan_policy: str = "propagate",
    interpolation: str = "linear",
    keepdims: bool = False,
) -> Any:
    """The distance of two percentiles.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.scipy.stats.iqr(dt.tensor([1.0, 2.0, 3.0, 4.0, 5.0]))
    tensor(2.)
    """
    _plain_only(nan_policy)
    factor = 2 * np.sqrt(2) * float(plain(SPECIAL["erfinv"](0.5))) if scale == "normal" else scale
    low, high = sorted(rng)
    x = floating(x)
    how: Any = interpolation
    first, second = (np.percentile(x, q, axis=axis, method=how, keepdims=keepdims) for q in (low, high))
    return (second - first) / factor


@like(_stats)
def median_abs_deviation(
    x: Any,
    axis: Any = 0,
    center: Callable = np.median,
    scale: Any = 1.0,
    nan_policy: str = "propagate",
    *,
    keepdims: bool = False,
) -> Any:
    """The median of the distances to the median.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.scipy.stats.median_abs_deviation(dt.tensor([1.0, 2.0, 6.0]))
    tensor(1.)
    """
    x, axis = _sample(x, axis, nan_policy)
    factor = 0.6744897501960817 if scale == "normal" else scale
    away = np.abs(x - np.expand_dims(center(x, axis=axis), axis))
    return np.median(away, axis=axis, keepdims=keepdims) / factor


@like(_stats)
def entropy(
    pk: Any, qk: Any = None, base: Any = None, axis: int = 0, *, nan_policy: str = "propagate", keepdims: bool = False
) -> Any:
    """The entropy of probabilities, or their divergence from others.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.scipy.stats.entropy(dt.tensor([1.0, 1.0]), base=2)
    tensor(1.)
    """
    _plain_only(nan_policy)
    pk = floating(pk)
    pk = pk / np.sum(pk, axis=axis, keepdims=True)
    if qk is None:
        terms = SPECIAL["entr"](pk)
    else:
        qk = floating(qk)
        terms = SPECIAL["rel_entr"](*np.broadcast_arrays(pk, qk / np.sum(qk, axis=axis, keepdims=True)))
    found = np.sum(terms, axis=axis, keepdims=keepdims)
    return found if base is None else found / np.log(base)


@like(_stats)
def differential_entropy(
    values: Any,
    *,
    window_length: int | None = None,
    base: Any = None,
    axis: int = 0,
    method: str = "auto",
    nan_policy: str = "propagate",
    keepdims: bool = False,
) -> Any:
    """The entropy of a continuous distribution, estimated by spacings (Vasicek's).

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.scipy.stats.differential_entropy(dt.tensor([1.0, 2.0, 4.0, 7.0]), method="vasicek").shape
    dualtape.Size([])
    """
    if method != "vasicek":
        raise TypeError("differential_entropy on tensors: method='vasicek' only")
    x = np.sort(np.moveaxis(_sample(values, axis, nan_policy)[0], axis, -1), axis=-1)
    n = x.shape[-1]
    m = int(np.floor(np.sqrt(n) + 0.5)) if window_length is None else window_length
    k = np.arange(n)
    gaps = x[..., np.minimum(k + m, n - 1)] - x[..., np.maximum(k - m, 0)]
    found = np.mean(np.log(n / (2 * m) * gaps), axis=-1)
    found = np.expand_dims(found, axis) if keepdims else found
    return found if base is None else found / np.log(base)


# --- circles --------------------------------------------------------------------------------------


def _circle(samples: Any, high: float, low: float, axis: Any, nan_policy: str) -> tuple[Any, Any]:
    x, axis = _sample(samples, axis, nan_policy)
    angles = (x - low) * (2 * np.pi / (high - low))
    return np.mean(np.sin(angles), axis=axis), np.mean(np.cos(angles), axis=axis)


@like(_stats)
def circmean(
    samples: Any,
    high: float = 2 * np.pi,
    low: float = 0,
    axis: Any = None,
    nan_policy: str = "propagate",
    *,
    keepdims: bool = False,
) -> Any:
    """The mean of angles.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.scipy.stats.circmean(dt.tensor([1.0, 2.0]))
    tensor(1.5000)
    """
    if keepdims:
        raise TypeError("circmean on tensors takes no keepdims")
    s, c = _circle(samples, high, low, axis, nan_policy)
    angle = np.arctan2(s, c)
    angle = np.where(plain(angle) < 0, angle + 2 * np.pi, angle)
    return angle * ((high - low) / (2 * np.pi)) + low


@like(_stats)
def circvar(
    samples: Any,
    high: float = 2 * np.pi,
    low: float = 0,
    axis: Any = None,
    nan_policy: str = "propagate",
    *,
    keepdims: bool = False,
) -> Any:
    """The variance of angles.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.scipy.stats.circvar(dt.tensor([1.0, 1.0])).abs().round(decimals=4)
    tensor(0.)
    """
    if keepdims:
        raise TypeError("circvar on tensors takes no keepdims")
    return 1.0 - np.hypot(*_circle(samples, high, low, axis, nan_policy))


@like(_stats)
def circstd(
    samples: Any,
    high: float = 2 * np.pi,
    low: float = 0,
    axis: Any = None,
    nan_policy: str = "propagate",
    *,
    normalize: bool = False,
    keepdims: bool = False,
) -> Any:
    """The standard deviation of angles.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.scipy.stats.circstd(dt.tensor([1.0, 2.0])).round(decimals=4)
    tensor(0.5110)
    """
    if keepdims:
        raise TypeError("circstd on tensors takes no keepdims")
    found = np.sqrt(-2 * np.log(np.hypot(*_circle(samples, high, low, axis, nan_policy))))
    return found if normalize else found * ((high - low) / (2.0 * np.pi))


# --- pairs, transformations -----------------------------------------------------------------------


@like(_stats)
def pearsonr(x: Any, y: Any, *, alternative: str = "two-sided", method: Any = None, axis: int = 0) -> tuple:
    """The correlation of two samples, and the probability of one as large by chance.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.scipy.stats.pearsonr(dt.tensor([1.0, 2.0, 4.0]), dt.tensor([1.0, 3.0, 2.0]))[0].round(decimals=4)
    tensor(0.3273)
    """
    if method is not None:
        raise TypeError("pearsonr on tensors takes no method")
    x, y = alike(x, y)
    away = [v - np.mean(v, axis=axis, keepdims=True) for v in (x, y)]
    r = np.sum(away[0] * away[1], axis=axis) / np.sqrt(
        np.sum(away[0] ** 2, axis=axis) * np.sum(away[1] ** 2, axis=axis)
    )
    half = x.shape[axis] / 2 - 1
    below = SPECIAL["betainc"](half, half, (r + 1) / 2) if half > 0 else 0 * r + 0.5
    if alternative == "less":
        return r, below
    if alternative == "greater":
        return r, SPECIAL["betainc"](half, half, (1 - r) / 2) if half > 0 else below
    return r, 2 * SPECIAL["betainc"](half, half, (1 - np.abs(r)) / 2) if half > 0 else 0 * r + 1.0


@like(_stats)
def linregress(
    x: Any,
    y: Any,
    alternative: str = "two-sided",
    *,
    axis: int = 0,
    keepdims: bool = False,
    nan_policy: str = "propagate",
) -> Any:
    """The line of least squares: slope, intercept, correlation, probability and standard errors.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.scipy.stats.linregress([0.0, 1.0, 2.0], dt.tensor([1.0, 3.0, 4.0])).slope
    tensor(1.5000, dtype=dualtape.float64)
    """
    _plain_only(nan_policy)
    x, y = alike(x, y)
    if x.ndim != 1 or keepdims:
        raise TypeError("linregress on tensors: vectors only")
    n = x.shape[0]
    dx, dy = x - np.mean(x), y - np.mean(y)
    xx, yy, xy = np.mean(dx * dx), np.mean(dy * dy), np.mean(dx * dy)
    r = xy / np.sqrt(xx * yy)
    slope = xy / xx
    intercept = np.mean(y) - slope * np.mean(x)
    error = np.sqrt((1 - r * r) * yy / xx / (n - 2))
    from .continuous import t as student

    statistic = r * np.sqrt((n - 2) / ((1.0 - r) * (1.0 + r)))
    tails: dict[str, Callable] = {
        "two-sided": lambda: 2 * student.sf(np.abs(statistic), n - 2),
        "less": lambda: student.cdf(statistic, n - 2),
        "greater": lambda: student.sf(statistic, n - 2),
    }
    answer = _stats.linregress([0.0, 1.0, 2.0], [0.0, 1.0, 3.0])
    kind = type(answer)
    return kind(
        slope=slope,
        intercept=intercept,
        rvalue=r,
        pvalue=tails[alternative](),
        stderr=error,
        intercept_stderr=error * np.sqrt(xx + np.mean(x) ** 2),
    )


@like(_stats)
def boxcox_llf(lmb: Any, data: Any, *, axis: int = 0, keepdims: bool = False, nan_policy: str = "propagate") -> Any:
    """The log-likelihood of Box and Cox's transformation.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.scipy.stats.boxcox_llf(1.0, dt.tensor([1.0, 2.0, 4.0])).shape
    dualtape.Size([])
    """
    x, axis = _sample(data, axis, nan_policy)
    lmb = floating(lmb)
    logs = np.log(x)
    moved = SPECIAL["boxcox"](x, lmb.to(x.dtype))
    variance = np.var(moved, axis=axis, keepdims=keepdims)
    return (lmb - 1) * np.sum(logs, axis=axis, keepdims=keepdims) - x.shape[axis] / 2 * np.log(variance)


@like(_stats)
def yeojohnson_llf(lmb: Any, data: Any, *, axis: int = 0, nan_policy: str = "propagate", keepdims: bool = False) -> Any:
    """The log-likelihood of Yeo and Johnson's transformation.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.scipy.stats.yeojohnson_llf(1.0, dt.tensor([1.0, -2.0, 4.0])).shape
    dualtape.Size([])
    """
    x, axis = _sample(data, axis, nan_policy)
    lmb = floating(lmb)
    positive = plain(x) >= 0
    boxcox1p = SPECIAL["boxcox1p"]
    moved = np.where(
        positive,
        boxcox1p(np.where(positive, x, 0.0), lmb.to(x.dtype)),
        -boxcox1p(np.where(positive, 0.0, -x), (2 - lmb).to(x.dtype)),
    )
    variance = np.var(moved, axis=axis, keepdims=keepdims)
    logs = np.sum(np.sign(plain(x)) * np.log1p(np.abs(x)), axis=axis, keepdims=keepdims)
    return -x.shape[axis] / 2 * np.log(variance) + (lmb - 1) * logs


@like(_stats)
def kstat(data: Any, n: int = 2, *, axis: Any = None, nan_policy: str = "propagate", keepdims: bool = False) -> Any:
    """The unbiased estimate of a cumulant.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.scipy.stats.kstat(dt.tensor([1.0, 3.0]))
    tensor(2.)
    """
    x, axis = _sample(data, axis, nan_policy)
    N = x.shape[axis]
    s = [None, *(np.sum(x**k, axis=axis, keepdims=keepdims) for k in range(1, n + 1))]
    if n == 1:
        return s[1] / N
    if n == 2:
        return (N * s[2] - s[1] ** 2.0) / (N * (N - 1.0))
    if n == 3:
        return (2 * s[1] ** 3 - 3 * N * s[1] * s[2] + N * N * s[3]) / (N * (N - 1.0) * (N - 2.0))
    if n == 4:
        top = (
            -6 * s[1] ** 4
            + 12 * N * s[1] ** 2 * s[2]
            - 3 * N * (N - 1.0) * s[2] ** 2
            - 4 * N * (N + 1) * s[1] * s[3]
            + N * N * (N + 1) * s[4]
        )
        return top / (N * (N - 1.0) * (N - 2.0) * (N - 3.0))
    raise ValueError("k-statistics only supported for 1<=n<=4")


@like(_stats)
def kstatvar(data: Any, n: int = 2, *, axis: Any = None, nan_policy: str = "propagate", keepdims: bool = False) -> Any:
    """The unbiased estimate of the variance of :func:`kstat`.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.scipy.stats.kstatvar(dt.tensor([1.0, 3.0]), 1)
    tensor(1.)
    """
    x, axis = _sample(data, axis, nan_policy)
    N = x.shape[axis]
    k2 = kstat.__wrapped__(x, 2, axis=axis, keepdims=keepdims)
    if n == 1:
        return k2 / N
    if n == 2:
        k4 = kstat.__wrapped__(x, 4, axis=axis, keepdims=keepdims)
        return (2 * N * k2**2 + (N - 1) * k4) / (N * (N + 1))
    raise ValueError("Only n=1 or n=2 supported.")


@like(_stats)
def wasserstein_distance(
    u_values: Any,
    v_values: Any,
    u_weights: Any = None,
    v_weights: Any = None,
    *,
    axis: int = 0,
    nan_policy: str = "propagate",
    keepdims: bool = False,
) -> Any:
    """The distance of two samples, as that of their distribution functions.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.scipy.stats.wasserstein_distance(dt.tensor([0.0, 1.0]), dt.tensor([2.0, 3.0]))
    tensor(2.)
    """
    _plain_only(nan_policy)
    u, v = alike(u_values, v_values)
    if u.ndim != 1 or v.ndim != 1 or keepdims:
        raise TypeError("wasserstein_distance on tensors: vectors only")
    every = np.sort(np.concatenate([u, v]))
    gaps = np.diff(every)

    def cumulated(x: Any, weights: Any) -> Any:
        order = np.argsort(plain(x), kind="stable")
        count = np.searchsorted(plain(x)[order], plain(every)[:-1], "right")
        if weights is None:
            return count / x.shape[0]
        w = floating(weights)[order]
        return np.concatenate([np.zeros(1), np.cumsum(w)])[count] / np.sum(w)

    return np.sum(np.abs(cumulated(u, u_weights) - cumulated(v, v_weights)) * gaps)
