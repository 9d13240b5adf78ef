"""Sums, means and extremes of labelled regions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..._tensor.tensor import wrap
from ...arrays.lazy import scipy_ndimage as _ndimage
from .._arguments import plain
from .._like import like
from .._tensors import floating, op

__all__ = [
    "center_of_mass",
    "extrema",
    "maximum",
    "mean",
    "median",
    "minimum",
    "standard_deviation",
    "sum",
    "sum_labels",
    "variance",
]


def _regions(x: Any, labels: Any, index: Any) -> tuple[list[np.ndarray], tuple]:
    """Return the indices of the elements of each region, and the shape of the answer."""
    if labels is None:
        if index is not None:
            raise ValueError("index without given labels")
        return [np.arange(x.numel())], ()
    known = np.broadcast_to(np.asarray(plain(labels)), tuple(x.shape)).reshape(-1)
    if index is None:
        return [np.flatnonzero(known > 0)], ()
    wanted = np.asarray(plain(index))
    return [np.flatnonzero(known == one) for one in wanted.reshape(-1)], wanted.shape


def _measured(name: str, measure: Callable, what: str, example: str) -> Any:
    def measurement(input: Any, labels: Any = None, index: Any = None) -> Any:
        x = floating(input)
        flat = x.reshape(-1)
        regions, shape = _regions(x, labels, index)
        return op("stack")([measure(flat[wrap(region)]) for region in regions]).reshape(shape)

    measurement.__name__ = measurement.__qualname__ = name
    measurement.__doc__ = f"""The {what} of each region of ``labels`` that ``index`` names, or of all.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.scipy.ndimage.{name}(dt.tensor([1.0, 2.0, 6.0]))
    tensor({example})
    """
    return like(_ndimage)(measurement)


sum = _measured("sum", np.sum, "sum", "9.")
sum_labels = _measured("sum_labels", np.sum, "sum", "9.")
mean = _measured("mean", np.mean, "mean", "3.")
variance = _measured("variance", np.var, "variance", "4.6667")
standard_deviation = _measured("standard_deviation", np.std, "standard deviation", "2.1602")
median = _measured("median", np.median, "median", "2.")
minimum = _measured("minimum", np.min, "smallest element", "1.")
maximum = _measured("maximum", np.max, "largest element", "6.")


@like(_ndimage)
def extrema(input: Any, labels: Any = None, index: Any = None) -> tuple:
    """The smallest and the largest elements of each region, and their positions.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.scipy.ndimage.extrema(dt.tensor([1.0, 2.0, 6.0]))
    (tensor(1.), tensor(6.), (0,), (2,))
    """
    _, _, low, high = _ndimage.extrema(plain(floating(input)), plain(labels), plain(index))
    return minimum.__wrapped__(input, labels, index), maximum.__wrapped__(input, labels, index), low, high


@like(_ndimage)
def center_of_mass(input: Any, labels: Any = None, index: Any = None) -> Any:
    """The mean coordinates of each region, weighed by the values.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.scipy.ndimage.center_of_mass(dt.tensor([1.0, 1.0, 2.0]))
    (tensor(1.2500, dtype=dualtape.float64),)
    """
    x = floating(input)
    flat, grid = x.reshape(-1), np.indices(tuple(x.shape)).reshape(x.ndim, -1)
    regions, shape = _regions(x, labels, index)
    found = []
    for region in regions:
        values = flat[wrap(region)]
        found.append(tuple(np.sum(values * axis[region].astype(float)) / np.sum(values) for axis in grid))
    return found[0] if not shape else found
