"""Interpolation without a grid: polynomials, radial basis functions, and planes over triangles."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np

from ..._tensor.tensor import Tensor, wrap
from ...arrays.lazy import scipy_interpolate as _interpolate
from ...arrays.lazy import scipy_spatial as _spatial
from .._arguments import plain
from .._like import has_tensor, of_arrays
from .._tensors import floating, op
from .piecewise import Interpolant, _moved

__all__ = [
    "BarycentricInterpolator",
    "KroghInterpolator",
    "LinearNDInterpolator",
    "NearestNDInterpolator",
    "RBFInterpolator",
    "barycentric_interpolate",
    "griddata",
    "krogh_interpolate",
]


class KroghInterpolator(Interpolant):
    """The polynomial through the values, by divided differences.

    Examples
    --------
    >>> import dualtape as dt
    >>> y = dt.tensor([0.0, 1.0, 4.0], dtype=dt.float64)
    >>> dt.scipy.interpolate.KroghInterpolator([0, 1, 2], y)(1.5)
    tensor(2.2500, dtype=dualtape.float64)
    """

    @of_arrays
    def __init__(self, xi: Any, yi: Any, axis: int = 0) -> None:
        self._made_by_scipy(type(self).__name__, (xi, yi, axis), {})
        self._set(xi, yi, axis)

    def _set(self, xi: Any, yi: Any, axis: int) -> None:
        x, y = floating(xi), floating(yi)
        x, y = (v.to(np.result_type(v._array.dtype, np.float64)) for v in (x, y))
        self._axis = axis % y.ndim
        y = np.moveaxis(y, self._axis, 0)
        if self.scipys_own is None and len(np.unique(plain(x))) < x.shape[0]:
            raise TypeError(f"{type(self).__name__} on tensors: the points are different ones")
        order = _leja(plain(x))
        self._x, c = x[wrap(order)], y[wrap(order)]
        rows = [c[0]]
        for k in range(1, x.shape[0]):
            gap = (self._x[k:] - self._x[:-k]).reshape(-1, *(1,) * (y.ndim - 1))
            c = np.diff(c, axis=0) / gap
            rows.append(c[0])
        self._rows = rows

    @of_arrays
    def __call__(self, x: Any) -> Any:
        """The values at the points ``x``."""
        if self.scipys_own is not None and not isinstance(x, Tensor):
            return self.scipys_own(x)
        at = floating(x)
        column = lambda v: v.reshape(tuple(at.shape) + (1,) * self._rows[0].ndim)  # noqa: E731
        found: Any = self._rows[-1] + 0 * column(at)
        for k in range(len(self._rows) - 2, -1, -1):
            found = found * column(at - self._x[k]) + self._rows[k]
        return _moved(found, at.ndim, self._axis)


def _leja(x: np.ndarray) -> np.ndarray:
    """Return an order of the points in which divided differences are stable."""
    order = [int(np.argmax(np.abs(x)))]
    product = np.ones_like(x)
    while len(order) < len(x):
        product = product * np.abs(x - x[order[-1]])
        product[order] = -1
        order.append(int(np.argmax(product)))
        product = product / max(product.max(), 1e-300)
    return np.array(order)


class BarycentricInterpolator(KroghInterpolator):
    """The polynomial through the values.

    Examples
    --------
    >>> import dualtape as dt
    >>> y = dt.tensor([0.0, 1.0, 4.0], dtype=dt.float64)
    >>> dt.scipy.interpolate.BarycentricInterpolator([0, 1, 2], y)(1.5)
    tensor(2.2500, dtype=dualtape.float64)
    """


@of_arrays
def krogh_interpolate(xi: Any, yi: Any, x: Any, der: Any = 0, axis: int = 0) -> Any:
    """The values at ``x`` of a :class:`KroghInterpolator`.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.scipy.interpolate.krogh_interpolate([0, 1, 2], dt.tensor([0.0, 1.0, 4.0]), 1.5)
    tensor(2.2500, dtype=dualtape.float64)
    """
    if not has_tensor((xi, yi, x)):
        return _interpolate.krogh_interpolate(xi, yi, x, der, axis)
    if der != 0:
        raise TypeError("krogh_interpolate on tensors takes no der: differentiate its values")
    return KroghInterpolator(xi, yi, axis)(x)


@of_arrays
def barycentric_interpolate(xi: Any, yi: Any, x: Any, axis: int = 0, *, der: Any = 0, rng: Any = None) -> Any:
    """The values at ``x`` of a :class:`BarycentricInterpolator`.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.scipy.interpolate.barycentric_interpolate([0, 1, 2], dt.tensor([0.0, 1.0, 4.0]), 1.5)
    tensor(2.2500, dtype=dualtape.float64)
    """
    if not has_tensor((xi, yi, x)):
        return _interpolate.barycentric_interpolate(xi, yi, x, axis, der=der)
    if der != 0:
        raise TypeError("barycentric_interpolate on tensors takes no der: differentiate its values")
    return BarycentricInterpolator(xi, yi, axis)(x)


# --- radial basis functions -----------------------------------------------------------------------


def _root(square: Any) -> Any:
    """Return the square root, with derivative 0 at 0."""
    zero = plain(square) == 0
    return np.where(zero, 0.0, np.sqrt(np.where(zero, 1.0, square)))


def _thin_plate(square: Any) -> Any:
    zero = plain(square) == 0
    return np.where(zero, 0.0, square * np.log(np.where(zero, 1.0, square)) / 2)


_KERNELS: dict[str, tuple[Any, int]] = {  # of the squared distance; the least degree of the polynomials
    "linear": (lambda s: -_root(s), 0),
    "thin_plate_spline": (_thin_plate, 1),
    "cubic": (lambda s: s * _root(s), 1),
    "quintic": (lambda s: -s * s * _root(s), 2),
    "multiquadric": (lambda s: -np.sqrt(s + 1), 0),
    "inverse_multiquadric": (lambda s: 1 / np.sqrt(s + 1), -1),
    "inverse_quadratic": (lambda s: 1 / (s + 1), -1),
    "gaussian": (lambda s: np.exp(-s), -1),
}
_WITHOUT_SCALE = ("linear", "thin_plate_spline", "cubic", "quintic")


class RBFInterpolator(Interpolant):
    """The interpolant by radial basis functions of all points, and polynomials.

    Examples
    --------
    >>> import dualtape as dt
    >>> d = dt.tensor([0.0, 1.0, 4.0], dtype=dt.float64)
    >>> dt.scipy.interpolate.RBFInterpolator([[0.0], [1.0], [2.0]], d)([[1.0]]).round(decimals=4)
    tensor([1.], dtype=dualtape.float64)
    """

    @of_arrays
    def __init__(
        self,
        y: Any,
        d: Any,
        neighbors: int | None = None,
        smoothing: Any = 0.0,
        kernel: str = "thin_plate_spline",
        epsilon: Any = None,
        degree: int | None = None,
    ) -> None:
        self._made_by_scipy("RBFInterpolator", (y, d, neighbors, smoothing, kernel, epsilon, degree), {})
        if neighbors is not None and self.scipys_own is None:
            raise TypeError("RBFInterpolator on tensors: all points are neighbors (neighbors=None)")
        if kernel not in _KERNELS:
            raise ValueError(f"`kernel` must be one of {set(_KERNELS)}.")
        self._y, self._d = floating(y), floating(d)
        self._kernel, least = _KERNELS[kernel]
        if epsilon is None:
            if kernel not in _WITHOUT_SCALE:
                raise ValueError(f"`epsilon` must be specified if `kernel` is not one of {set(_WITHOUT_SCALE)}.")
            epsilon = 1.0
        self._epsilon = epsilon
        degree = max(least, 0) if degree is None else degree
        size = self._y.shape[1]
        self._powers = np.array(
            [
                np.bincount(np.array(one, int), minlength=size)[:size]
                for total in range(degree + 1)
                for one in itertools.combinations_with_replacement(range(size), total)
            ]
        ).reshape(-1, size)
        low, high = np.min(self._y, axis=0), np.max(self._y, axis=0)
        self._shift, scale = (high + low) / 2, (high - low) / 2
        self._scale = np.where(plain(scale) == 0, 1.0, scale)
        count, more = self._y.shape[0], len(self._powers)
        kernel_part = self._kernel(self._squares(self._y, self._y))
        kernel_part = kernel_part + np.diag(np.broadcast_to(floating(smoothing), (count,)))
        polynomials = self._polynomials(self._y)
        matrix = np.concatenate(
            [
                np.concatenate([kernel_part, polynomials], axis=1),
                np.concatenate([polynomials.mT, floating(np.zeros((more, more)))], axis=1),
            ]
        )
        values = self._d.reshape(count, -1).to(np.float64)
        right = np.concatenate([values, floating(np.zeros((more, values.shape[1])))])
        self._weights = op("linalg.solve")(matrix, right)

    def _squares(self, a: Any, b: Any) -> Any:
        gap = (a[:, None, :] - b[None, :, :]) * self._epsilon
        return np.sum(gap * gap, axis=-1)

    def _polynomials(self, at: Any) -> Any:
        scaled = (at - self._shift) / self._scale
        columns = [np.ones(at.shape[0]) + 0 * at[:, 0]] * 0
        for powers in self._powers:
            column: Any = floating(np.ones(at.shape[0])) + 0 * at[:, 0]
            for d, power in enumerate(powers):
                for _ in range(power):
                    column = column * scaled[:, d]
            columns.append(column)
        return op("stack")(columns, -1) if columns else floating(np.zeros((at.shape[0], 0)))

    @of_arrays
    def __call__(self, x: Any) -> Any:
        """The values at the points ``x``, one in each row."""
        if self.scipys_own is not None and not isinstance(x, Tensor):
            return self.scipys_own(x)
        at = floating(x)
        rows = np.concatenate([self._kernel(self._squares(at, self._y)), self._polynomials(at)], axis=1)
        return (rows @ self._weights).reshape(at.shape[0], *self._d.shape[1:])


# --- triangles ------------------------------------------------------------------------------------


class LinearNDInterpolator(Interpolant):
    """The interpolant that is linear on each simplex of Delaunay's triangulation.

    Examples
    --------
    >>> import dualtape as dt
    >>> values = dt.tensor([0.0, 1.0, 2.0], dtype=dt.float64)
    >>> dt.scipy.interpolate.LinearNDInterpolator([[0, 0], [1, 0], [0, 1]], values)([[0.25, 0.25]])
    tensor([0.7500], dtype=dualtape.float64)
    """

    @of_arrays
    def __init__(self, points: Any, values: Any, fill_value: Any = np.nan, rescale: bool = False) -> None:
        self._made_by_scipy("LinearNDInterpolator", (points, values, fill_value, rescale), {})
        if rescale and self.scipys_own is None:
            raise TypeError("LinearNDInterpolator on tensors takes no rescale")
        self._points, self._values = floating(points), floating(values)
        self._fill = fill_value
        self._mesh = _spatial.Delaunay(plain(self._points))

    @of_arrays
    def __call__(self, *xi: Any) -> Any:
        """The values at points, whose coordinates are given one by one or along the last axis."""
        if self.scipys_own is not None and not has_tensor(xi):
            return self.scipys_own(*xi)
        at = op("stack")(np.broadcast_arrays(*map(floating, xi)), -1) if len(xi) > 1 else floating(xi[0])
        flat = at.reshape(-1, at.shape[-1])
        where = self._mesh.find_simplex(plain(flat))
        corners = self._mesh.simplices[where]
        points = self._points[wrap(corners)]
        edges = points[:, :-1] - points[:, -1:]
        shares = op("linalg.solve")(np.swapaxes(edges, 1, 2), (flat - points[:, -1]).unsqueeze(-1)).squeeze(-1)
        shares = np.concatenate([shares, 1 - np.sum(shares, axis=-1, keepdims=True)], axis=-1)
        values = self._values[wrap(corners)]
        found = np.sum(shares.reshape(*shares.shape, *(1,) * (values.ndim - 2)) * values, axis=1)
        outside = (where < 0).reshape(-1, *(1,) * (found.ndim - 1))
        found = np.where(outside, self._fill, found)
        return found.reshape(*at.shape[:-1], *self._values.shape[1:])


class NearestNDInterpolator(Interpolant):
    """The value of the nearest point.

    Examples
    --------
    >>> import dualtape as dt
    >>> values = dt.tensor([0.0, 1.0], dtype=dt.float64)
    >>> dt.scipy.interpolate.NearestNDInterpolator([[0, 0], [1, 0]], values)([[0.75, 0.0]])
    tensor([1.], dtype=dualtape.float64)
    """

    @of_arrays
    def __init__(self, x: Any, y: Any, rescale: bool = False, tree_options: Any = None) -> None:
        self._made_by_scipy("NearestNDInterpolator", (x, y, rescale, tree_options), {})
        self._points, self._values = floating(x), floating(y)
        places = np.arange(self._values.shape[0])
        self._nearest = _interpolate.NearestNDInterpolator(plain(self._points), places, rescale, tree_options)

    @of_arrays
    def __call__(self, *args: Any, **query_options: Any) -> Any:
        """The values at points, whose coordinates are given one by one or along the last axis."""
        if self.scipys_own is not None and not has_tensor(args):
            return self.scipys_own(*args, **query_options)
        index = self._nearest(*(plain(floating(x)) for x in args), **query_options)
        return self._values[wrap(np.asarray(index).astype(np.int64))]


@of_arrays
def griddata(
    points: Any, values: Any, xi: Any, method: str = "linear", fill_value: Any = np.nan, rescale: bool = False
) -> Any:
    """The values at ``xi`` of an interpolant of scattered values, linear or of the nearest.

    Examples
    --------
    >>> import dualtape as dt
    >>> values = dt.tensor([0.0, 1.0, 2.0], dtype=dt.float64)
    >>> dt.scipy.interpolate.griddata([[0, 0], [1, 0], [0, 1]], values, [[0.25, 0.25]])
    tensor([0.7500], dtype=dualtape.float64)
    """
    if not has_tensor((points, values, xi)):
        return _interpolate.griddata(points, values, xi, method, fill_value, rescale)
    if isinstance(points, tuple):
        points = op("stack")(np.broadcast_arrays(*map(floating, points)), -1)
    points = floating(points)
    if points.ndim < 2:
        from .grids import interp1d

        at = xi[0] if isinstance(xi, tuple) else xi
        return interp1d(points, values, method, axis=0, bounds_error=False, fill_value=fill_value)(at)
    given = xi if isinstance(xi, tuple) else (xi,)
    if method == "nearest":
        return NearestNDInterpolator(points, values, rescale)(*given)
    if method == "linear":
        return LinearNDInterpolator(points, values, fill_value, rescale)(*given)
    raise TypeError("griddata on tensors: method is 'linear' or 'nearest'")
