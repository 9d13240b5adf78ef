"""Interpolation of values on a line or a grid: weights that depend on the points, times the values."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..._tensor.tensor import Tensor, wrap
from ...arrays.lazy import scipy_interpolate as _interpolate
from .._arguments import plain
from .._like import has_tensor, of_arrays
from .._tensors import floating, op
from .bsplines import design, knots_of, make_interp_spline
from .piecewise import Interpolant, PchipInterpolator, _moved

__all__ = ["RectBivariateSpline", "RegularGridInterpolator", "interp1d", "interpn"]

_DEGREES = {"slinear": 1, "quadratic": 2, "cubic": 3, "quintic": 5}


class interp1d(Interpolant):  # noqa: N801 - SciPy's name
    """The interpolant of values on a line, by steps, lines or splines.

    Examples
    --------
    >>> import dualtape as dt
    >>> y = dt.tensor([0.0, 1.0, 4.0], dtype=dt.float64, requires_grad=True)
    >>> dt.scipy.interpolate.interp1d([0, 1, 2], y)(1.5).backward()
    >>> y.grad
    tensor([0.0000, 0.5000, 0.5000], dtype=dualtape.float64)
    """

    @of_arrays
    def __init__(
        self,
        x: Any,
        y: Any,
        kind: Any = "linear",
        axis: int = -1,
        copy: bool = True,
        bounds_error: bool | None = None,
        fill_value: Any = np.nan,
        assume_sorted: bool = False,
    ) -> None:
        self._made_by_scipy("interp1d", (x, y, kind, axis, copy, bounds_error, fill_value, assume_sorted), {})
        x, y = floating(x), floating(y)
        self._axis = axis % y.ndim
        y = np.moveaxis(y, self._axis, 0)
        if not assume_sorted:
            order = wrap(np.argsort(plain(x), kind="stable"))
            x, y = x[order], y[order]
        self._x, self._y, self._kind = x, y, kind
        extrapolating = isinstance(fill_value, str) and fill_value == "extrapolate"
        if extrapolating and bounds_error:
            raise ValueError("Cannot extrapolate and raise at the same time.")
        unset = isinstance(fill_value, float) and np.isnan(fill_value)
        self._fill = None if extrapolating else fill_value
        self._strict = (unset if bounds_error is None else bounds_error) and not extrapolating
        degree = {"zero": 0, **_DEGREES}.get(kind, kind) if isinstance(kind, str) else kind
        self._spline = None
        if isinstance(degree, (int, np.integer)) and degree >= 2:
            self._spline = make_interp_spline(x, y, int(degree))
        elif isinstance(degree, str) and degree not in ("linear", "nearest", "nearest-up", "previous", "next"):
            raise NotImplementedError(f"{kind} is unsupported: Use fitpack routines for other types.")
        else:
            steps = {0: "previous", 1: "linear"}
            self._kind = steps[int(degree)] if isinstance(degree, (int, np.integer)) else kind

    @of_arrays
    def __call__(self, x: Any) -> Any:
        """The values at the points ``x``."""
        if self.scipys_own is not None and not isinstance(x, Tensor):
            return self.scipys_own(x)
        at = floating(x)
        known, seen = plain(self._x), plain(at)
        rest = self._y.ndim - 1
        column = lambda v: v.reshape(tuple(at.shape) + (1,) * rest)  # noqa: E731
        if self._spline is not None:
            found = self._spline(at)
        elif self._kind == "linear":
            k = np.clip(np.searchsorted(known, seen), 1, len(known) - 1)
            left, right = self._x[wrap(k - 1)], self._x[wrap(k)]
            below, above = self._y[wrap(k - 1)], self._y[wrap(k)]
            found = (above - below) / column(right - left) * column(at - left) + below
        else:
            found = self._y[wrap(self._step(known, seen))] + 0 * column(at)
        low, high = seen < known[0], seen > known[-1]
        if self._strict and (low.any() or high.any()):
            raise ValueError("A value in x_new is outside of the interpolation range.")
        if self._fill is not None:
            fill = self._fill if isinstance(self._fill, tuple) else (self._fill, self._fill)
            found = np.where(column(low), fill[0], np.where(column(high), fill[1], found))
        return _moved(found, at.ndim, self._axis)

    def _step(self, known: np.ndarray, seen: np.ndarray) -> np.ndarray:
        last = len(known) - 1
        if self._kind == "previous":
            return np.clip(np.searchsorted(known, seen, "right") - 1, 0, last)
        if self._kind == "next":
            return np.clip(np.searchsorted(known, seen, "left"), 0, last)
        middle = known[:-1] + (known[1:] - known[:-1]) / 2
        return np.clip(np.searchsorted(middle, seen, "left" if self._kind == "nearest" else "right"), 0, last)


class RegularGridInterpolator(Interpolant):
    """The interpolant of values on a grid: linear, nearest, by splines, or by :class:`PchipInterpolator`.

    Examples
    --------
    >>> import dualtape as dt
    >>> values = dt.tensor([[0.0, 1.0], [2.0, 3.0]], dtype=dt.float64, requires_grad=True)
    >>> dt.scipy.interpolate.RegularGridInterpolator(([0, 1], [0, 1]), values)([[0.5, 0.25]]).sum().backward()
    >>> values.grad
    tensor([[0.3750, 0.1250],
            [0.3750, 0.1250]], dtype=dualtape.float64)
    """

    @of_arrays
    def __init__(
        self,
        points: Any,
        values: Any,
        method: str = "linear",
        bounds_error: bool = True,
        fill_value: Any = np.nan,
        *,
        solver: Any = None,
        solver_args: Any = None,
    ) -> None:
        options = {} if solver is None else {"solver": solver, "solver_args": solver_args}
        self._made_by_scipy(
            "RegularGridInterpolator", (tuple(points), values, method, bounds_error, fill_value), options
        )
        self.method, self.bounds_error, self.fill_value = method, bounds_error, fill_value
        self._values = floating(values)
        self._grid = [floating(axis) for axis in points]
        _known_method(method)
        if self._values.ndim < len(self._grid):
            raise ValueError(f"There are {len(self._grid)} point arrays, but values has {self._values.ndim} dimensions")
        for d, axis in enumerate(self._grid):
            if axis.shape[0] != self._values.shape[d]:
                raise ValueError(
                    f"There are {axis.shape[0]} points and {self._values.shape[d]} values on dimension {d}"
                )
            steps = np.diff(plain(axis))
            if (steps < 0).all() and len(steps):
                self._grid[d], self._values = np.flip(axis, 0), np.flip(self._values, d)
            elif (steps <= 0).any():
                raise ValueError(f"The points in dimension {d} must be strictly ascending or descending")

    @of_arrays
    def __call__(self, xi: Any, method: str | None = None, *, nu: Any = None) -> Any:
        """The values at the points whose coordinates are along the last axis of ``xi``."""
        if self.scipys_own is not None and not has_tensor(xi):
            return self.scipys_own(xi, method) if nu is None else self.scipys_own(xi, method, nu=nu)
        if nu is not None:
            raise TypeError("RegularGridInterpolator on tensors takes no nu: differentiate its values")
        method = method or self.method
        _known_method(method)
        size = len(self._grid)
        at = _points(xi, size)
        if at.shape[-1] != size:
            raise ValueError(
                f"The requested sample points xi have dimension {at.shape[-1]} but this interpolator has {size}"
            )
        flat = at.reshape(-1, size)
        seen = plain(flat)
        low, high = (np.array([plain(axis)[end] for axis in self._grid]) for end in (0, -1))
        outside = ((seen < low) | (seen > high)).any(-1)
        if self.bounds_error and outside.any():
            raise ValueError("One of the requested xi is out of bounds")
        if method in ("linear", "nearest"):
            found = self._near(flat, method == "nearest")
        elif method == "pchip":
            found = self._pchip(flat)
        else:
            found = self._by_splines(flat, _DEGREES[method])
        shape = (found.shape[0],) + (1,) * (found.ndim - 1)
        if not self.bounds_error and self.fill_value is not None:
            found = np.where(outside.reshape(shape), self.fill_value, found)
        missing = np.isnan(seen).any(-1)
        if missing.any():
            found = np.where(missing.reshape(shape), np.nan, found)
        return found.reshape(*at.shape[:-1], *self._values.shape[size:])

    def _near(self, at: Any, nearest: bool) -> Any:
        cells, shares = [], []
        for d, axis in enumerate(self._grid):
            known = plain(axis)
            k = np.clip(np.searchsorted(known, plain(at)[:, d], "right") - 1, 0, max(len(known) - 2, 0))
            if len(known) == 1:
                cells.append((k, k))
                shares.append(0 * at[:, d])
                continue
            left, right = axis[wrap(k)], axis[wrap(k + 1)]
            cells.append((k, k + 1))
            shares.append((at[:, d] - left) / (right - left))
        rest = (1,) * (self._values.ndim - len(self._grid))
        if nearest:
            index = tuple(wrap(np.where(plain(s) <= 0.5, *cell)) for cell, s in zip(cells, shares, strict=True))
            return self._values[index] + 0 * sum(shares).reshape(-1, *rest)
        found: Any = 0.0
        for corner in itertools.product((0, 1), repeat=len(cells)):
            weight: Any = 1.0
            for side, share in zip(corner, shares, strict=True):
                weight = weight * (share if side else 1 - share)
            index = tuple(wrap(cell[side]) for cell, side in zip(cells, corner, strict=True))
            found = found + self._values[index] * weight.reshape(-1, *rest)
        return found

    def _by_splines(self, at: Any, degree: int) -> Any:
        found = self._values
        for d, axis in enumerate(self._grid):
            weights = spline_weights(axis, degree, at[:, d])
            found = (
                np.tensordot(weights, found, axes=1)
                if d == 0
                else np.sum(weights.reshape(*weights.shape, *(1,) * (found.ndim - 2)) * found, axis=1)
            )
        return found

    def _pchip(self, at: Any) -> Any:
        rows = []
        for k in range(at.shape[0]):
            found = self._values
            for d in range(len(self._grid) - 1, -1, -1):  # SciPy's order: the last axis first
                found = PchipInterpolator(self._grid[d], found, axis=d)(at[k, d])
            rows.append(found)
        return op("stack")(rows)


def _known_method(method: str) -> None:
    if method not in ("linear", "nearest", "pchip") and method not in ("slinear", "cubic", "quintic"):
        raise ValueError(f"Method '{method}' is not defined")


def _points(xi: Any, size: int) -> Any:
    """Return points as a tensor, from what SciPy takes: an array, or coordinates that are broadcast."""
    if isinstance(xi, tuple):
        return op("stack")(np.broadcast_arrays(*map(floating, xi)), -1)
    at = floating(xi)
    if at.ndim == 0:
        return at.reshape(1, 1)
    if at.ndim == 1:
        return at[:, None] if size == 1 else at[None]
    return at


def spline_weights(axis: Any, degree: int, at: Any) -> Any:
    """Return the weights of values at the knots ``axis``, for each point, in an interpolating spline."""
    count = axis.shape[0]
    if count <= degree:
        raise ValueError(f"There are {count} points, but a spline of degree {degree} requires at least {degree + 1}.")
    axis = axis.to(np.float64)
    t = knots_of(axis, degree)
    inner = design(t, degree, count, axis)
    return op("linalg.solve")(inner.mT, design(t, degree, count, at.to(np.float64)).mT).mT


@of_arrays
def interpn(
    points: Any, values: Any, xi: Any, method: str = "linear", bounds_error: bool = True, fill_value: Any = np.nan
) -> Any:
    """The values at ``xi`` of an interpolant of values on a grid.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.scipy.interpolate.interpn(([0, 1],), dt.tensor([1.0, 3.0]), [[0.25]])
    tensor([1.5000])
    """
    if not has_tensor((points, values, xi)):
        return _interpolate.interpn(points, values, xi, method, bounds_error, fill_value)
    if method == "splinef2d":
        at = _points(xi, 2)
        if bounds_error or fill_value is not None:
            known = [plain(floating(axis)) for axis in points]
            outside = np.any(
                [(plain(at)[..., d] < known[d][0]) | (plain(at)[..., d] > known[d][-1]) for d in (0, 1)], 0
            )
            if bounds_error and outside.any():
                raise ValueError("One of the requested xi is out of bounds")
            found = RectBivariateSpline(points[0], points[1], values).ev(at[..., 0], at[..., 1])
            return found if fill_value is None else np.where(outside, fill_value, found)
        return RectBivariateSpline(points[0], points[1], values).ev(at[..., 0], at[..., 1])
    grid = [points] if isinstance(points, Tensor) and points.ndim == 1 else points
    return RegularGridInterpolator(grid, values, method, bounds_error, fill_value)(xi)


class RectBivariateSpline(Interpolant):
    """The spline surface through the values on a grid.

    Examples
    --------
    >>> import dualtape as dt
    >>> z = dt.tensor([[0.0, 1.0], [2.0, 3.0]], dtype=dt.float64)
    >>> dt.scipy.interpolate.RectBivariateSpline([0, 1], [0, 1], z, kx=1, ky=1)(0.5, 0.25, grid=False)
    tensor(1.2500, dtype=dualtape.float64)
    """

    @of_arrays
    def __init__(
        self, x: Any, y: Any, z: Any, bbox: Sequence[Any] = (None,) * 4, kx: int = 3, ky: int = 3, s: float = 0
    ) -> None:
        self._made_by_scipy("RectBivariateSpline", (x, y, z, list(bbox), kx, ky, s), {})
        if self.scipys_own is None and (s or any(end is not None for end in bbox)):
            raise TypeError("RectBivariateSpline on tensors: s=0 and no bbox, a surface through the values")
        self._x, self._y, self._z = map(floating, (x, y, z))
        self._degrees, self._s = (kx, ky), s

    @of_arrays
    def __call__(self, x: Any, y: Any, dx: int = 0, dy: int = 0, grid: bool = True) -> Any:
        """The values at pairs of coordinates, or with ``grid`` at all of their combinations."""
        if self.scipys_own is not None and not has_tensor((x, y)):
            return self.scipys_own(x, y, dx, dy, grid)
        if dx or dy or self._s:
            raise TypeError("RectBivariateSpline on tensors takes no dx, dy or s: differentiate its values")
        x, y = floating(x), floating(y)
        if not grid:
            x, y = np.broadcast_arrays(x, y)
        shape = x.shape
        known = [(plain(axis)[0], plain(axis)[-1]) for axis in (self._x, self._y)]
        x, y = (np.clip(v.reshape(-1), *ends) for v, ends in zip((x, y), known, strict=True))
        first = spline_weights(self._x, self._degrees[0], x)
        second = spline_weights(self._y, self._degrees[1], y)
        z = self._z.to(np.float64)
        if grid:
            return first @ z @ second.mT
        return np.sum((first @ z) * second, axis=-1).reshape(tuple(shape))

    def ev(self, xi: Any, yi: Any, dx: int = 0, dy: int = 0) -> Any:
        """The values at pairs of coordinates."""
        return self(xi, yi, dx, dy, grid=False)
