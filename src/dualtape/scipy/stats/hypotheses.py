"""Statistics of tests and their probabilities, as functions of the samples."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ...arrays.lazy import scipy_stats as _stats
from ...ops.numpy_entries.special import SPECIAL
from .._like import like
from .._tensors import alike, floating
from .continuous import norm, t
from .descriptive import kurtosis, skew

__all__ = [
    "bartlett",
    "chisquare",
    "f_oneway",
    "jarque_bera",
    "kurtosistest",
    "levene",
    "normaltest",
    "power_divergence",
    "skewtest",
    "ttest_1samp",
    "ttest_ind",
    "ttest_ind_from_stats",
    "ttest_rel",
]


class Tested(NamedTuple):
    """A statistic, and the probability of one as large by chance."""

    statistic: Any
    pvalue: Any


def _tail(distribution: Any, statistic: Any, alternative: str, *shapes: Any) -> Tested:
    if alternative == "less":
        return Tested(statistic, distribution.cdf(statistic, *shapes))
    if alternative == "greater":
        return Tested(statistic, distribution.sf(statistic, *shapes))
    if alternative != "two-sided":
        raise ValueError("`alternative` must be 'less', 'greater', or 'two-sided'.")
    return Tested(statistic, 2 * distribution.sf(np.abs(statistic), *shapes))


def _mean_var(x: Any, axis: int) -> tuple[Any, Any, int]:
    return np.mean(x, axis=axis), np.var(x, axis=axis, ddof=1), x.shape[axis]


@like(_stats)
def ttest_1samp(
    a: Any, popmean: Any, axis: int = 0, nan_policy: str = "propagate", alternative: str = "two-sided"
) -> Tested:
    """Student's test of the mean of a sample.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.scipy.stats.ttest_1samp(dt.tensor([1.0, 2.0, 6.0]), 1.0).statistic.round(decimals=4)
    tensor(1.3093)
    """
    x = floating(a)
    mean, variance, n = _mean_var(x, axis)
    return _tail(t, (mean - popmean) / np.sqrt(variance / n), alternative, n - 1)


@like(_stats)
def ttest_rel(a: Any, b: Any, axis: int = 0, nan_policy: str = "propagate", alternative: str = "two-sided") -> Tested:
    """Student's test of two related samples.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.scipy.stats.ttest_rel(dt.tensor([1.0, 2.0, 6.0]), [0.0, 1.0, 2.0]).statistic.round(decimals=4)
    tensor(2., dtype=dualtape.float64)
    """
    a, b = alike(a, b)
    return ttest_1samp.__wrapped__(a - b, 0.0, axis, nan_policy, alternative)


def _two_means(m1: Any, v1: Any, n1: Any, m2: Any, v2: Any, n2: Any, equal_var: bool, alternative: str) -> Tested:
    if equal_var:
        df = n1 + n2 - 2.0
        pooled = ((n1 - 1) * v1 + (n2 - 1) * v2) / df
        return _tail(t, (m1 - m2) / np.sqrt(pooled * (1.0 / n1 + 1.0 / n2)), alternative, df)
    first, second = v1 / n1, v2 / n2
    df = (first + second) ** 2 / (first**2 / (n1 - 1) + second**2 / (n2 - 1))
    # The degrees of freedom depend on the data: their derivative has no closed form.
    return _tail(t, (m1 - m2) / np.sqrt(first + second), alternative, df)


@like(_stats)
def ttest_ind(
    a: Any,
    b: Any,
    *,
    axis: int = 0,
    equal_var: bool = True,
    nan_policy: str = "propagate",
    alternative: str = "two-sided",
    trim: float = 0,
    method: Any = None,
) -> Tested:
    """Student's test of two independent samples.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.scipy.stats.ttest_ind(dt.tensor([1.0, 2.0, 6.0]), [0.0, 1.0, 2.0]).statistic.round(decimals=4)
    tensor(1.2247, dtype=dualtape.float64)
    """
    if trim or method is not None or not equal_var:
        raise TypeError("ttest_ind on tensors: equal_var=True, and no trim or method")
    a, b = alike(a, b)
    return _two_means(*_mean_var(a, axis), *_mean_var(b, axis), equal_var, alternative)


@like(_stats)
def ttest_ind_from_stats(
    mean1: Any,
    std1: Any,
    nobs1: Any,
    mean2: Any,
    std2: Any,
    nobs2: Any,
    equal_var: bool = True,
    alternative: str = "two-sided",
) -> Tested:
    """Student's test of two independent samples, from their means and deviations.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.scipy.stats.ttest_ind_from_stats(dt.tensor(1.0), 1.0, 5, 0.0, 1.0, 5).statistic.round(decimals=4)
    tensor(1.5811)
    """
    if not equal_var:
        raise TypeError("ttest_ind_from_stats on tensors: equal_var=True only")
    mean1, std1, mean2, std2 = alike(mean1, std1, mean2, std2)
    return _two_means(mean1, std1**2, nobs1, mean2, std2**2, nobs2, equal_var, alternative)


@like(_stats)
def f_oneway(
    *samples: Any, axis: int = 0, equal_var: bool = True, nan_policy: str = "propagate", keepdims: bool = False
) -> Tested:
    """The analysis of variance of several samples.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.scipy.stats.f_oneway(dt.tensor([1.0, 2.0, 6.0]), [0.0, 1.0, 2.0]).statistic.round(decimals=4)
    tensor(1.5000, dtype=dualtape.float64)
    """
    if not equal_var or keepdims:
        raise TypeError("f_oneway on tensors: equal_var=True and no keepdims")
    groups = alike(*samples)
    every = np.concatenate(groups, axis=axis)
    total, count = every.shape[axis], len(groups)
    grand = np.mean(every, axis=axis)
    between: Any = 0.0
    inside: Any = 0.0
    for x in groups:
        mean = np.mean(x, axis=axis, keepdims=True)
        between = between + x.shape[axis] * (np.squeeze(mean, axis=axis) - grand) ** 2
        inside = inside + np.sum((x - mean) ** 2, axis=axis)
    statistic = between / (count - 1) / (inside / (total - count))
    return Tested(statistic, SPECIAL["fdtrc"](count - 1.0, float(total - count), statistic))


@like(_stats)
def bartlett(*samples: Any, axis: int = 0, nan_policy: str = "propagate", keepdims: bool = False) -> Tested:
    """Bartlett's test of equal variances.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.scipy.stats.bartlett(dt.tensor([1.0, 2.0, 6.0]), [0.0, 1.0, 2.0]).statistic.shape
    dualtape.Size([])
    """
    groups = alike(*samples)
    sizes = np.array([x.shape[axis] for x in groups], float)
    variances = [np.var(x, axis=axis, ddof=1) for x in groups]
    free = sizes.sum() - len(groups)
    pooled = sum((n - 1) * v for n, v in zip(sizes, variances, strict=True)) / free
    top = free * np.log(pooled) - sum((n - 1) * np.log(v) for n, v in zip(sizes, variances, strict=True))
    bottom = 1.0 + 1.0 / (3 * (len(groups) - 1)) * (np.sum(1.0 / (sizes - 1.0)) - 1.0 / free)
    statistic = top / bottom
    return Tested(statistic, SPECIAL["chdtrc"](len(groups) - 1.0, statistic))


@like(_stats)
def levene(
    *samples: Any,
    center: str = "median",
    proportiontocut: float = 0.05,
    axis: int = 0,
    nan_policy: str = "propagate",
    keepdims: bool = False,
) -> Tested:
    """Levene's test of equal variances.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.scipy.stats.levene(dt.tensor([1.0, 2.0, 6.0]), [0.0, 1.0, 2.0]).statistic.shape
    dualtape.Size([])
    """
    if center not in ("median", "mean") or axis:
        raise TypeError("levene on tensors: center is 'median' or 'mean', and axis=0")
    middle = np.median if center == "median" else np.mean
    return f_oneway.__wrapped__(*(np.abs(x - middle(x, axis=0)) for x in alike(*samples)))


_POWERS = {
    "pearson": 1.0,
    "log-likelihood": 0.0,
    "freeman-tukey": -0.5,
    "mod-log-likelihood": -1.0,
    "neyman": -2.0,
    "cressie-read": 2 / 3,
}


@like(_stats)
def power_divergence(
    f_obs: Any,
    f_exp: Any = None,
    ddof: Any = 0,
    axis: int = 0,
    lambda_: Any = None,
    *,
    nan_policy: str = "propagate",
    keepdims: bool = False,
) -> Tested:
    """Cressie and Read's test of frequencies.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.scipy.stats.power_divergence(dt.tensor([4.0, 6.0])).statistic
    tensor(0.4000)
    """
    seen = floating(f_obs)
    expected = np.mean(seen, axis=axis, keepdims=True) if f_exp is None else floating(f_exp)
    power = 1.0 if lambda_ is None else _POWERS[lambda_] if isinstance(lambda_, str) else lambda_
    if power == 1:
        terms = (seen - expected) ** 2 / expected
    elif power == 0:
        terms = 2 * SPECIAL["xlogy"](seen, seen / expected)
    elif power == -1:
        terms = 2 * SPECIAL["xlogy"](expected * np.ones_like(seen), expected / seen)
    else:
        terms = seen * ((seen / expected) ** power - 1) * (2 / (power * (power + 1)))
    statistic = np.sum(terms, axis=axis)
    return Tested(statistic, SPECIAL["chdtrc"](float(seen.shape[axis] - 1 - ddof), statistic))


@like(_stats)
def chisquare(
    f_obs: Any,
    f_exp: Any = None,
    ddof: Any = 0,
    axis: int = 0,
    *,
    sum_check: bool = True,
    nan_policy: str = "propagate",
    keepdims: bool = False,
) -> Tested:
    """The chi-squared test of frequencies.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.scipy.stats.chisquare(dt.tensor([4.0, 6.0])).statistic
    tensor(0.4000)
    """
    return power_divergence.__wrapped__(f_obs, f_exp, ddof, axis)


@like(_stats)
def skewtest(
    a: Any, axis: Any = 0, nan_policy: str = "propagate", alternative: str = "two-sided", *, keepdims: bool = False
) -> Tested:
    """The test that the skewness is that of a normal distribution.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.scipy.stats.skewtest(dt.arange(9.0) ** 2).statistic.shape
    dualtape.Size([])
    """
    x = floating(a)
    n = float(x.shape[axis])
    y = skew.__wrapped__(x, axis) * np.sqrt(((n + 1) * (n + 3)) / (6.0 * (n - 2)))
    beta = 3.0 * (n**2 + 27 * n - 70) * (n + 1) * (n + 3) / ((n - 2.0) * (n + 5) * (n + 7) * (n + 9))
    w2 = -1 + np.sqrt(2 * (beta - 1))
    return _tail(norm, np.arcsinh(y / np.sqrt(2.0 / (w2 - 1))) / np.sqrt(0.5 * np.log(w2)), alternative)


@like(_stats)
def kurtosistest(
    a: Any, axis: Any = 0, nan_policy: str = "propagate", alternative: str = "two-sided", *, keepdims: bool = False
) -> Tested:
    """The test that the kurtosis is that of a normal distribution.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.scipy.stats.kurtosistest(dt.arange(9.0) ** 2).statistic.shape
    dualtape.Size([])
    """
    x = floating(a)
    n = float(x.shape[axis])
    b2 = kurtosis.__wrapped__(x, axis, fisher=False)
    expected = 3.0 * (n - 1) / (n + 1)
    variance = 24.0 * n * (n - 2) * (n - 3) / ((n + 1) * (n + 1.0) * (n + 3) * (n + 5))
    y = (b2 - expected) / np.sqrt(variance)
    root = (
        6.0 * (n * n - 5 * n + 2) / ((n + 7) * (n + 9)) * np.sqrt((6.0 * (n + 3) * (n + 5)) / (n * (n - 2) * (n - 3)))
    )
    A = 6.0 + 8.0 / root * (2.0 / root + np.sqrt(1 + 4.0 / (root**2)))
    inner = (1 - 2.0 / A) / (1 + y * np.sqrt(2 / (A - 4.0)))
    cube = np.cbrt(inner)
    return _tail(norm, (1 - 2 / (9.0 * A) - cube) / np.sqrt(2 / (9.0 * A)), alternative)


@like(_stats)
def normaltest(a: Any, axis: Any = 0, nan_policy: str = "propagate", *, keepdims: bool = False) -> Tested:
    """D'Agostino and Pearson's test of a normal distribution.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.scipy.stats.normaltest(dt.arange(9.0) ** 2).statistic.shape
    dualtape.Size([])
    """
    s, k = skewtest.__wrapped__(a, axis).statistic, kurtosistest.__wrapped__(a, axis).statistic
    statistic = s * s + k * k
    return Tested(statistic, SPECIAL["chdtrc"](2.0, statistic))


@like(_stats)
def jarque_bera(x: Any, *, axis: Any = None, nan_policy: str = "propagate", keepdims: bool = False) -> Tested:
    """Jarque and Bera's test of a normal distribution.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.scipy.stats.jarque_bera(dt.arange(9.0) ** 2).statistic.shape
    dualtape.Size([])
    """
    x = floating(x)
    x, axis = (x.reshape(-1), 0) if axis is None else (x, axis)
    statistic = x.shape[axis] / 6 * (skew.__wrapped__(x, axis) ** 2 + kurtosis.__wrapped__(x, axis) ** 2 / 4)
    return Tested(statistic, SPECIAL["chdtrc"](2.0, statistic))
