"""Linear filters: products of windows with weights, which may be tensors with history themselves."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..._tensor.tensor import Tensor
from ...arrays.lazy import scipy_ndimage as _ndimage
from .._arguments import plain
from .._like import calling, like
from .._tensors import floating
from ._common import chosen, image, per_axis, windows

__all__ = [
    "convolve",
    "convolve1d",
    "correlate",
    "correlate1d",
    "fourier_ellipsoid",
    "fourier_gaussian",
    "fourier_shift",
    "fourier_uniform",
    "gaussian_filter",
    "gaussian_filter1d",
    "gaussian_gradient_magnitude",
    "gaussian_laplace",
    "generic_gradient_magnitude",
    "generic_laplace",
    "laplace",
    "prewitt",
    "sobel",
    "uniform_filter",
    "uniform_filter1d",
]


def _correlated(x: Any, weights: Any, axes: tuple, mode: Any, cval: Any, origin: Any) -> Any:
    weights = floating(weights).to(x.dtype) if not isinstance(weights, Tensor) else weights
    if weights.ndim != len(axes):
        raise RuntimeError("filter weights array has incorrect shape.")
    if any(size == 0 for size in weights.shape):
        raise RuntimeError("no filter weights given")
    seen = windows(x, axes, tuple(weights.shape), per_axis(origin, len(axes)), mode, cval)
    last = tuple(range(seen.ndim - len(axes), seen.ndim))
    return np.tensordot(seen, weights, axes=(last, tuple(range(len(axes)))))


def _flipped_origin(size: int, origin: int) -> int:
    return -origin - (0 if size % 2 else 1)


@like(_ndimage)
def correlate1d(
    input: Any,
    weights: Any,
    axis: int = -1,
    output: Any = None,
    mode: str = "reflect",
    cval: Any = 0.0,
    origin: int = 0,
) -> Any:
    """The correlation along one axis with these weights.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.scipy.ndimage.correlate1d(dt.tensor([1.0, 2.0, 4.0]), dt.tensor([-1.0, 0.0, 1.0]))
    tensor([1., 3., 2.])
    """
    x = image(input, output)
    return _correlated(x, weights, chosen(axis, x.ndim), mode, cval, origin)


@like(_ndimage)
def convolve1d(
    input: Any,
    weights: Any,
    axis: int = -1,
    output: Any = None,
    mode: str = "reflect",
    cval: Any = 0.0,
    origin: int = 0,
) -> Any:
    """The convolution along one axis with these weights.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.scipy.ndimage.convolve1d(dt.tensor([1.0, 2.0, 4.0]), dt.tensor([1.0, 0.0, -1.0]))
    tensor([1., 3., 2.])
    """
    x, weights = image(input, output), floating(weights)
    origin = _flipped_origin(weights.shape[0], origin)
    return _correlated(x, np.flip(weights), chosen(axis, x.ndim), mode, cval, origin)


@like(_ndimage)
def correlate(
    input: Any,
    weights: Any,
    output: Any = None,
    mode: str = "reflect",
    cval: Any = 0.0,
    origin: Any = 0,
    *,
    axes: Any = None,
) -> Any:
    """The correlation with these weights.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.scipy.ndimage.correlate(dt.ones(2, 2), dt.ones(3, 3))
    tensor([[9., 9.],
            [9., 9.]])
    """
    x = image(input, output)
    return _correlated(x, weights, chosen(axes, x.ndim), mode, cval, origin)


@like(_ndimage)
def convolve(
    input: Any,
    weights: Any,
    output: Any = None,
    mode: str = "reflect",
    cval: Any = 0.0,
    origin: Any = 0,
    *,
    axes: Any = None,
) -> Any:
    """The convolution with these weights.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.scipy.ndimage.convolve(dt.ones(2, 2), dt.ones(3, 3))
    tensor([[9., 9.],
            [9., 9.]])
    """
    x, weights = image(input, output), floating(weights)
    axes = chosen(axes, x.ndim)
    origins = [_flipped_origin(n, o) for n, o in zip(weights.shape, per_axis(origin, len(axes)), strict=True)]
    return _correlated(x, np.flip(weights), axes, mode, cval, origins)


# --- Gauss' filters -------------------------------------------------------------------------------


def _gaussian(sigma: Any, order: int, radius: int) -> Any:
    """Return the weights of the derivative of a normal density, a polynomial times the density."""
    if order < 0:
        raise ValueError("order must be non-negative")
    sigma = floating(sigma)
    variance, x = sigma * sigma, np.arange(-radius, radius + 1)
    density = np.exp(-0.5 / variance * x**2)
    density = density / np.sum(density)
    polynomial: list[Any] = [1.0]
    for _ in range(order):
        slope = [k * polynomial[k] for k in range(1, len(polynomial))] + [0.0]
        moved = [0.0] + [value / -variance for value in polynomial]
        polynomial = [a + b for a, b in zip(slope + [0.0] * (len(moved) - len(slope)), moved, strict=True)]
    value: Any = 0.0
    for coefficient in reversed(polynomial):
        value = value * x + coefficient
    return value * density


def _gaussian_weights(sigma: Any, order: int, truncate: float, radius: int | None) -> Any:
    width = int(truncate * float(plain(floating(sigma))) + 0.5) if radius is None else radius
    return np.flip(_gaussian(sigma, order, width))


@like(_ndimage)
def gaussian_filter1d(
    input: Any,
    sigma: Any,
    axis: int = -1,
    order: int = 0,
    output: Any = None,
    mode: str = "reflect",
    cval: Any = 0.0,
    truncate: float = 4.0,
    *,
    radius: int | None = None,
) -> Any:
    """Gauss' filter along one axis, or its derivative of this order; ``sigma`` may have history.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.scipy.ndimage.gaussian_filter1d(dt.tensor([0.0, 1.0, 0.0]), 0.5)
    tensor([0.1065, 0.7870, 0.1065])
    """
    x = image(input, output)
    weights = _gaussian_weights(sigma, order, truncate, radius)
    weights = weights.to(x.dtype) if not weights.requires_grad else weights
    return _correlated(x, weights, chosen(axis, x.ndim), mode, cval, 0)


@like(_ndimage)
def gaussian_filter(
    input: Any,
    sigma: Any,
    order: Any = 0,
    output: Any = None,
    mode: Any = "reflect",
    cval: Any = 0.0,
    truncate: float = 4.0,
    *,
    radius: Any = None,
    axes: Any = None,
) -> Any:
    """Gauss' filter along each axis; ``sigma`` may have history.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.scipy.ndimage.gaussian_filter(dt.eye(2), 1.0).sum()
    tensor(2.)
    """
    x = image(input, output)
    axes = chosen(axes, x.ndim)
    count = len(axes)
    parts = zip(
        axes,
        per_axis(sigma, count),
        per_axis(order, count),
        per_axis(mode, count),
        per_axis(radius, count),
        strict=True,
    )
    for axis, one, derivative, border, width in parts:
        if float(plain(floating(one))) > 1e-15:
            x = gaussian_filter1d.__wrapped__(x, one, axis, derivative, None, border, cval, truncate, radius=width)
    return x


# --- differences ----------------------------------------------------------------------------------


def _other_axes(x: Any, axis: int, mode: Any, weights: list, smooth: list) -> Any:
    modes = per_axis(mode, x.ndim)
    (axis,) = chosen(axis, x.ndim)
    found = correlate1d.__wrapped__(x, weights, axis, None, modes[axis])
    for other in range(x.ndim):
        if other != axis:
            found = correlate1d.__wrapped__(found, smooth, other, None, modes[other])
    return found


@like(_ndimage)
def sobel(input: Any, axis: int = -1, output: Any = None, mode: Any = "reflect", cval: Any = 0.0) -> Any:
    """Sobel's filter: differences along one axis, smoothed along the others.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.scipy.ndimage.sobel(dt.tensor([1.0, 2.0, 4.0]))
    tensor([1., 3., 2.])
    """
    if cval:
        raise TypeError("sobel on tensors takes no cval")
    return _other_axes(image(input, output), axis, mode, [-1, 0, 1], [1, 2, 1])


@like(_ndimage)
def prewitt(input: Any, axis: int = -1, output: Any = None, mode: Any = "reflect", cval: Any = 0.0) -> Any:
    """Prewitt's filter: differences along one axis, summed along the others.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.scipy.ndimage.prewitt(dt.tensor([1.0, 2.0, 4.0]))
    tensor([1., 3., 2.])
    """
    if cval:
        raise TypeError("prewitt on tensors takes no cval")
    return _other_axes(image(input, output), axis, mode, [-1, 0, 1], [1, 1, 1])


@calling(_ndimage, "derivative2")
def generic_laplace(
    input: Any,
    derivative2: Callable,
    output: Any = None,
    mode: Any = "reflect",
    cval: Any = 0.0,
    extra_arguments: tuple = (),
    extra_keywords: dict | None = None,
    *,
    axes: Any = None,
) -> Any:
    """The sum of second derivatives along each axis, which ``derivative2(input, axis, output, mode, cval)`` gives.

    Examples
    --------
    >>> import dualtape as dt
    >>> second = lambda x, axis, output, mode, cval: dt.scipy.ndimage.correlate1d(x, [1, -2, 1], axis, None, mode, cval)
    >>> dt.scipy.ndimage.generic_laplace(dt.tensor([1.0, 2.0, 4.0]), second)
    tensor([ 1.,  1., -2.])
    """
    x = image(input, output)
    axes = chosen(axes, x.ndim)
    found: Any = 0.0
    for axis, border in zip(axes, per_axis(mode, len(axes)), strict=True):
        found = found + derivative2(x, axis, None, border, cval, *extra_arguments, **(extra_keywords or {}))
    return found


@like(_ndimage)
def laplace(input: Any, output: Any = None, mode: Any = "reflect", cval: Any = 0.0, *, axes: Any = None) -> Any:
    """The sum of second differences.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.scipy.ndimage.laplace(dt.tensor([1.0, 2.0, 4.0]))
    tensor([ 1.,  1., -2.])
    """

    def second(x: Any, axis: int, output: Any, border: str, cval: Any) -> Any:
        return correlate1d.__wrapped__(x, [1, -2, 1], axis, output, border, cval)

    return generic_laplace.__wrapped__(input, second, output, mode, cval, axes=axes)


@like(_ndimage)
def gaussian_laplace(
    input: Any,
    sigma: Any,
    output: Any = None,
    mode: Any = "reflect",
    cval: Any = 0.0,
    *,
    axes: Any = None,
    **kwargs: Any,
) -> Any:
    """The sum of second derivatives of Gauss' filter.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.scipy.ndimage.gaussian_laplace(dt.ones(3), 1.0).round(decimals=4).abs()
    tensor([0., 0., 0.])
    """
    x = image(input, output)
    axes = chosen(axes, x.ndim)
    found: Any = 0.0
    for axis in axes:
        orders = [2 if one == axis else 0 for one in axes]
        found = found + gaussian_filter.__wrapped__(x, sigma, orders, None, mode, cval, axes=axes, **kwargs)
    return found


def _length(parts: list) -> Any:
    square: Any = sum(part * part for part in parts)
    zero = plain(square) == 0
    return np.where(zero, 0.0, np.sqrt(np.where(zero, 1.0, square)))


@like(_ndimage)
def gaussian_gradient_magnitude(
    input: Any,
    sigma: Any,
    output: Any = None,
    mode: Any = "reflect",
    cval: Any = 0.0,
    *,
    axes: Any = None,
    **kwargs: Any,
) -> Any:
    """The length of the gradient of Gauss' filter.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.scipy.ndimage.gaussian_gradient_magnitude(dt.ones(3), 1.0).round(decimals=4)
    tensor([0., 0., 0.])
    """
    x = image(input, output)
    axes = chosen(axes, x.ndim)
    orders = [[1 if one == axis else 0 for one in axes] for axis in axes]
    return _length([gaussian_filter.__wrapped__(x, sigma, o, None, mode, cval, axes=axes, **kwargs) for o in orders])


@calling(_ndimage, "derivative")
def generic_gradient_magnitude(
    input: Any,
    derivative: Callable,
    output: Any = None,
    mode: Any = "reflect",
    cval: Any = 0.0,
    extra_arguments: tuple = (),
    extra_keywords: dict | None = None,
    *,
    axes: Any = None,
) -> Any:
    """The length of the gradient that ``derivative(input, axis, output, mode, cval)`` gives.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.scipy.ndimage.generic_gradient_magnitude(dt.tensor([1.0, 2.0, 4.0]), dt.scipy.ndimage.sobel)
    tensor([1., 3., 2.])
    """
    x = image(input, output)
    axes = chosen(axes, x.ndim)
    modes = per_axis(mode, len(axes))
    more = extra_keywords or {}
    return _length(
        [derivative(x, axis, None, m, cval, *extra_arguments, **more) for axis, m in zip(axes, modes, strict=True)]
    )


# --- means ----------------------------------------------------------------------------------------


@like(_ndimage)
def uniform_filter1d(
    input: Any,
    size: int,
    axis: int = -1,
    output: Any = None,
    mode: str = "reflect",
    cval: Any = 0.0,
    origin: int = 0,
) -> Any:
    """The mean of windows along one axis.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.scipy.ndimage.uniform_filter1d(dt.tensor([1.0, 2.0, 6.0]), 3)
    tensor([1.3333, 3.0000, 4.6667])
    """
    if size < 1:
        raise RuntimeError("incorrect filter size")
    return correlate1d.__wrapped__(input, np.full(size, 1 / size), axis, output, mode, cval, origin)


@like(_ndimage)
def uniform_filter(
    input: Any,
    size: Any = 3,
    output: Any = None,
    mode: Any = "reflect",
    cval: Any = 0.0,
    origin: Any = 0,
    *,
    axes: Any = None,
) -> Any:
    """The mean of windows.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.scipy.ndimage.uniform_filter(dt.ones(2, 2))
    tensor([[1., 1.],
            [1., 1.]])
    """
    x = image(input, output)
    axes = chosen(axes, x.ndim)
    count = len(axes)
    parts = zip(axes, per_axis(size, count), per_axis(mode, count), per_axis(origin, count), strict=True)
    for axis, width, border, start in parts:
        if width > 1:
            x = uniform_filter1d.__wrapped__(x, width, axis, None, border, cval, start)
    return x


# --- of Fourier transforms ------------------------------------------------------------------------


def _fourier(name: str, parameter: str) -> Callable:
    def filtered(input: Any, parameter: Any, n: int = -1, axis: int = -1, output: Any = None) -> Any:
        x = image(input, output)
        if isinstance(parameter, Tensor) and parameter.requires_grad:
            raise TypeError(f"{name} on tensors: there is no derivative with respect to its parameter")
        ones = np.ones(tuple(x.shape), np.result_type(x._array.dtype, np.complex64))
        factors = getattr(_ndimage, name)(ones, plain(parameter), n, axis)
        return x * (factors if name == "fourier_shift" or x.is_complex() else factors.real)

    filtered.__name__ = filtered.__qualname__ = name
    filtered.__doc__ = f"""The Fourier transform ``input`` multiplied by that of SciPy's filter.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.scipy.ndimage.{name}(dt.ones(4), 0.0).real
    tensor([1., 1., 1., 1.])
    """
    return like(_ndimage)(filtered)


fourier_gaussian, fourier_shift, fourier_uniform, fourier_ellipsoid = (
    _fourier(name, parameter)
    for name, parameter in (
        ("fourier_gaussian", "sigma"),
        ("fourier_shift", "shift"),
        ("fourier_uniform", "size"),
        ("fourier_ellipsoid", "size"),
    )
)
