"""Images at other coordinates: splines of the values, differentiated by values, coordinates, shifts and matrices."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np

from ..._tensor.tensor import Tensor, wrap
from ...arrays.lazy import scipy_ndimage as _ndimage
from ...arrays.lazy import special
from .._arguments import plain
from .._like import like
from .._tensors import floating, op
from ._common import chosen, image, per_axis

__all__ = [
    "affine_transform",
    "geometric_transform",
    "map_coordinates",
    "rotate",
    "shift",
    "spline_filter",
    "spline_filter1d",
    "zoom",
]

_MODES = ("reflect", "grid-mirror", "constant", "grid-constant", "nearest", "mirror", "wrap", "grid-wrap")
_PADDED = 12  # elements that SciPy adds at each side before it filters with these modes


def _filtered_along(x: Any, order: int, axis: int, mode: str) -> Any:
    """Return the coefficients of the spline along an axis: a linear map, found from its matrix."""
    size = x.shape[axis]
    if order < 2 or size == 1:
        return x
    matrix = _ndimage.spline_filter1d(np.eye(size), order, axis=0, mode=mode)
    return np.moveaxis(np.tensordot(floating(matrix).to(x.dtype), x, axes=((1,), (axis,))), 0, axis)


@like(_ndimage)
def spline_filter1d(input: Any, order: int = 3, axis: int = -1, output: Any = np.float64, mode: str = "mirror") -> Any:
    """The coefficients of the spline through the values along one axis.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.scipy.ndimage.spline_filter1d(dt.ones(4)).round(decimals=4)
    tensor([1., 1., 1., 1.], dtype=dualtape.float64)
    """
    if order < 0 or order > 5:
        raise RuntimeError("spline order not supported")
    x = image(input, output)
    return _filtered_along(x, order, chosen(axis, x.ndim)[0], mode)


@like(_ndimage)
def spline_filter(input: Any, order: int = 3, output: Any = np.float64, mode: str = "mirror") -> Any:
    """The coefficients of the spline through the values.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.scipy.ndimage.spline_filter(dt.ones(2, 2)).round(decimals=4)
    tensor([[1., 1.],
            [1., 1.]], dtype=dualtape.float64)
    """
    if order < 2 or order > 5:
        raise RuntimeError("spline order not supported")
    x = image(input, output)
    for axis in range(x.ndim):
        x = _filtered_along(x, order, axis, mode)
    return x


def _weights(order: int, share: Any) -> list:
    """Return the B-splines that are not zero at ``share`` of the way between two knots."""
    found: list[Any] = [1.0 + 0 * share]
    for degree in range(1, order + 1):
        new: list[Any] = []
        saved: Any = 0.0
        for r in range(degree):
            part = found[r] / degree
            new.append(saved + (r + 1 - share) * part)
            saved = (share + degree - r - 1) * part
        new.append(saved)
        found = new
    return found


def _index(where: np.ndarray, size: int, mode: str) -> np.ndarray:
    """Return the index of the element that stands for one beyond the border; -1 for the constant."""
    if mode in ("reflect", "grid-mirror"):
        where = np.mod(where, 2 * size)
        return np.where(where < size, where, 2 * size - 1 - where)
    if mode == "grid-wrap":
        return np.mod(where, size)
    if mode == "nearest":
        return np.clip(where, 0, size - 1)
    if mode == "grid-constant":
        return np.where((where >= 0) & (where < size), where, -1)
    if size == 1:
        return np.zeros_like(where)
    where = np.mod(where, 2 * size - 2)
    return np.where(where < size, where, 2 * size - 2 - where)


def _sampled(x: Any, coordinates: list, order: int, mode: str, cval: Any, prefilter: bool) -> Any:
    """Return the values at coordinates, one tensor for each axis, all of one shape."""
    if order < 0 or order > 5:
        raise RuntimeError("spline order not supported")
    if mode not in _MODES:
        raise RuntimeError("boundary mode not supported")
    if x.is_complex():
        parts = (_sampled(part, coordinates, order, mode, 0.0, prefilter) for part in (x.real, x.imag))
        real, imaginary = parts
        return real + 1j * imaginary
    if x.ndim < 1 or len(coordinates) != x.ndim:
        raise RuntimeError("invalid shape for coordinate array")
    extra = 0
    if prefilter and order > 1:
        x = x.to(np.float64)
        if mode in ("nearest", "grid-constant"):
            extra = _PADDED
            padding: dict[str, Any] = {} if mode == "nearest" else {"constant_values": float(plain(cval))}
            x = np.pad(x, extra, mode="edge" if mode == "nearest" else "constant", **padding)
        for axis in range(x.ndim):
            x = _filtered_along(x, order, axis, mode)
    outside: Any = False
    indices, weights = [], []
    for axis, at in enumerate(coordinates):
        size, at = x.shape[axis], at + extra if extra else at
        seen = plain(at)
        if mode == "constant":
            outside = outside | (seen < 0) | (seen > size - 1)
        elif mode == "nearest":
            at = np.clip(at, 0, size - 1)
        elif mode == "wrap" and size > 1:
            span = size - 1
            turns = np.where(seen < 0, np.floor(-seen / span) + 1, np.where(seen > span, -np.floor(seen / span), 0.0))
            at = at + turns * span
        seen = plain(at)
        first = np.floor(seen) if order % 2 else np.floor(seen + 0.5)
        weights.append(_weights(order, at - first + (0.0 if order % 2 else 0.5)))
        start = first.astype(np.int64) - order // 2
        indices.append([_index(start + k, size, mode) for k in range(order + 1)])
    found: Any = 0.0
    for corner in itertools.product(range(order + 1), repeat=len(coordinates)):
        where = [index[k] for index, k in zip(indices, corner, strict=True)]
        beyond = np.any([w < 0 for w in where], axis=0)
        value = x[tuple(wrap(np.maximum(w, 0)) for w in where)]
        if beyond.any():
            value = np.where(beyond, cval, value)
        weight: Any = 1.0
        for options, k in zip(weights, corner, strict=True):
            weight = weight * options[k]
        found = found + value * weight
    return np.where(outside, cval, found) if np.any(outside) else found


@like(_ndimage)
def map_coordinates(
    input: Any,
    coordinates: Any,
    output: Any = None,
    order: int = 3,
    mode: str = "constant",
    cval: Any = 0.0,
    prefilter: bool = True,
) -> Any:
    """The values of an image at coordinates, by splines of this order.

    Examples
    --------
    >>> import dualtape as dt
    >>> at = dt.tensor([[0.5, 1.25]], dtype=dt.float64, requires_grad=True)
    >>> dt.scipy.ndimage.map_coordinates(dt.tensor([1.0, 2.0, 4.0]), at, order=1).sum().backward()
    >>> at.grad
    tensor([[1., 2.]], dtype=dualtape.float64)
    """
    at = floating(coordinates)
    return _sampled(image(input, output), [at[d] for d in range(at.shape[0])], order, mode, cval, prefilter)


def _grid(shape: Any) -> list:
    return [floating(axis.astype(float)) for axis in np.indices(tuple(shape))]


@like(_ndimage)
def shift(
    input: Any,
    shift: Any,
    output: Any = None,
    order: int = 3,
    mode: str = "constant",
    cval: Any = 0.0,
    prefilter: bool = True,
) -> Any:
    """The image moved by ``shift``, which may have history.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.scipy.ndimage.shift(dt.tensor([1.0, 2.0, 4.0]), 1.0, order=1)
    tensor([0., 1., 2.], dtype=dualtape.float64)
    """
    x = image(input, output)
    moves = per_axis(shift, x.ndim)
    at = [axis - floating(move) for axis, move in zip(_grid(x.shape), moves, strict=True)]
    return _sampled(x, at, order, mode, cval, prefilter)


@like(_ndimage)
def zoom(
    input: Any,
    zoom: Any,
    output: Any = None,
    order: int = 3,
    mode: str = "constant",
    cval: Any = 0.0,
    prefilter: bool = True,
    *,
    grid_mode: bool = False,
) -> Any:
    """The image with another number of elements along each axis.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.scipy.ndimage.zoom(dt.tensor([1.0, 3.0]), 1.5, order=1)
    tensor([1., 2., 3.], dtype=dualtape.float64)
    """
    if isinstance(zoom, Tensor) and zoom.requires_grad:
        raise TypeError("zoom on tensors: a factor decides the shape alone, and has no derivative")
    x = image(input, output)
    factors = per_axis(plain(zoom), x.ndim)
    shape = [int(round(n * float(factor))) for n, factor in zip(x.shape, factors, strict=True)]
    at: list[Any] = []
    for axis, n in zip(_grid(shape), x.shape, strict=True):
        size = axis.shape[len(at)]
        if grid_mode:
            at.append((axis + 0.5) * (n / size) - 0.5 if size else axis)
        else:
            at.append(axis * ((n - 1) / (size - 1)) if size > 1 else axis)
    return _sampled(x, at, order, mode, cval, prefilter)


@like(_ndimage)
def affine_transform(
    input: Any,
    matrix: Any,
    offset: Any = 0.0,
    output_shape: Any = None,
    output: Any = None,
    order: int = 3,
    mode: str = "constant",
    cval: Any = 0.0,
    prefilter: bool = True,
) -> Any:
    """The image at ``matrix @ index + offset``, both of which may have history.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.scipy.ndimage.affine_transform(dt.tensor([1.0, 2.0, 4.0]), dt.tensor([[0.5]]), order=1)
    tensor([1.0000, 1.5000, 2.0000], dtype=dualtape.float64)
    """
    x, matrix = image(input, output), floating(matrix)
    shape = tuple(x.shape) if output_shape is None else tuple(output_shape)
    size = x.ndim
    if matrix.ndim == 2 and matrix.shape[1] == size + 1 and matrix.shape[0] in (size, size + 1):
        offset, matrix = matrix[:size, size], matrix[:size, :size]
    if matrix.ndim == 1:
        matrix = np.diag(matrix)
    if tuple(matrix.shape) != (size, size):
        raise RuntimeError("affine matrix has wrong number of rows")
    offset = np.broadcast_to(floating(offset), (size,))
    grid = op("stack")(_grid(shape)).reshape(size, -1)
    at = (matrix @ grid.to(matrix.dtype)).to(np.float64) + offset[:, None]
    return _sampled(x, [at[d].reshape(shape) for d in range(size)], order, mode, cval, prefilter)


@like(_ndimage)
def geometric_transform(
    input: Any,
    mapping: Callable,
    output_shape: Any = None,
    output: Any = None,
    order: int = 3,
    mode: str = "constant",
    cval: Any = 0.0,
    prefilter: bool = True,
    extra_arguments: tuple = (),
    extra_keywords: dict | None = None,
) -> Any:
    """The image at ``mapping(index)``, whose results may have history.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.scipy.ndimage.geometric_transform(dt.tensor([1.0, 2.0, 4.0]), lambda at: (at[0] / 2,), order=1)
    tensor([1.0000, 1.5000, 2.0000], dtype=dualtape.float64)
    """
    x = image(input, output)
    shape = tuple(x.shape) if output_shape is None else tuple(output_shape)
    rows = [
        op("stack")([floating(one) for one in mapping(index, *extra_arguments, **(extra_keywords or {}))])
        for index in np.ndindex(shape)
    ]
    at = op("stack")(rows, -1)
    return _sampled(x, [at[d].reshape(shape) for d in range(x.ndim)], order, mode, cval, prefilter)


@like(_ndimage)
def rotate(
    input: Any,
    angle: Any,
    axes: tuple = (1, 0),
    reshape: bool = True,
    output: Any = None,
    order: int = 3,
    mode: str = "constant",
    cval: Any = 0.0,
    prefilter: bool = True,
) -> Any:
    """The image rotated in the plane of two axes by ``angle`` degrees, which may have history.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.scipy.ndimage.rotate(dt.tensor([[1.0, 2.0], [3.0, 4.0]]), 90.0).round(decimals=4)
    tensor([[2., 4.],
            [1., 3.]], dtype=dualtape.float64)
    """
    x = image(input, output)
    if x.ndim < 2:
        raise ValueError("input array should be at least 2D")
    first, second = sorted(chosen(axes, x.ndim))
    radians = floating(angle).to(np.float64) * (np.pi / 180)
    if isinstance(angle, Tensor) and angle.requires_grad:
        c, s = np.cos(radians), np.sin(radians)
    else:
        degrees = float(plain(floating(angle)))
        c, s = floating(special.cosdg(degrees)), floating(special.sindg(degrees))
    matrix = op("stack")([op("stack")([c, s]), op("stack")([-s, c])])
    shape = np.array([x.shape[first], x.shape[second]])
    if reshape:
        rows, columns = shape
        corners = plain(matrix) @ np.array([[0, 0, rows, rows], [0, columns, 0, columns]])
        out = (np.ptp(corners, axis=1) + 0.5).astype(int)
    else:
        out = shape
    offset = (shape - 1) / 2 - matrix @ floating((out - 1) / 2)
    whole = list(x.shape)
    whole[first], whole[second] = int(out[0]), int(out[1])
    at: list[Any] = _grid(whole)
    row, column = at[first], at[second]
    at[first] = matrix[0, 0] * row + matrix[0, 1] * column + offset[0]
    at[second] = matrix[1, 0] * row + matrix[1, 1] * column + offset[1]
    if x.ndim == 2:
        return _sampled(x, at, order, mode, cval, prefilter)
    planes = np.moveaxis(x, (first, second), (-2, -1))
    flat = planes.reshape(-1, *planes.shape[-2:])
    plane = [
        np.moveaxis(c, (first, second), (-2, -1)).reshape(-1, int(out[0]), int(out[1]))[0]
        for c in (at[first], at[second])
    ]
    found = op("stack")([_sampled(flat[k], plane, order, mode, cval, prefilter) for k in range(flat.shape[0])])
    return np.moveaxis(found.reshape(*planes.shape[:-2], *found.shape[1:]), (-2, -1), (first, second))
