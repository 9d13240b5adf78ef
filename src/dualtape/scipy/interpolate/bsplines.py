"""B-splines by de Boor's recursion, which is differentiated: by points, coefficients and knots."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..._tensor.tensor import Tensor, wrap
from ...arrays.lazy import scipy_interpolate as _interpolate
from .._arguments import plain
from .._banded import solve_banded
from .._like import has_tensor, of_arrays
from .._tensors import alike, floating, op
from .piecewise import Interpolant, _moved

__all__ = ["BSpline", "make_interp_spline", "make_lsq_spline", "splantider", "splder", "splev", "splint"]


class BSpline(Interpolant):
    """The spline of degree ``k`` with knots ``t`` and coefficients ``c``.

    Examples
    --------
    >>> import dualtape as dt
    >>> c = dt.tensor([1.0, 3.0], dtype=dt.float64, requires_grad=True)
    >>> dt.scipy.interpolate.BSpline([0, 0, 1, 1], c, 1)(0.25).backward()
    >>> c.grad
    tensor([0.7500, 0.2500], dtype=dualtape.float64)
    """

    @of_arrays
    def __init__(self, t: Any, c: Any, k: int, extrapolate: Any = True, axis: int = 0) -> None:
        self._made_by_scipy("BSpline", (t, c, k, extrapolate, axis), {})
        knots, c = (v.to(np.result_type(v._array.dtype, np.float64)) for v in (floating(t), floating(c)))
        axis = axis % c.ndim
        if knots.shape[0] < 2 * k + 2 or c.shape[axis] < knots.shape[0] - k - 1:
            raise ValueError(
                f"Need at least {2 * k + 2} knots for degree {k}, and as many coefficients as knots - k - 1."
            )
        self._t, self._c = knots, np.moveaxis(c, axis, 0)[: knots.shape[0] - k - 1]
        self.k, self.extrapolate, self.axis = k, extrapolate, axis

    @property
    def t(self) -> Any:
        """The knots."""
        return self._t if self.scipys_own is None else self.scipys_own.t

    @property
    def c(self) -> Any:
        """The coefficients."""
        return np.moveaxis(self._c, 0, self.axis) if self.scipys_own is None else self.scipys_own.c

    @property
    def tck(self) -> tuple:
        """Knots, coefficients and degree."""
        return self.t, self.c, self.k

    @classmethod
    def _of(cls, t: Any, c: Any, k: int, extrapolate: Any, axis: int) -> BSpline:
        new = object.__new__(cls)
        new._t, new._c, new.k, new.extrapolate, new.axis = t, c, k, extrapolate, axis
        return new

    @of_arrays
    def __call__(self, x: Any, nu: int = 0, extrapolate: Any = None) -> Any:
        """The values, or the derivatives of order ``nu``, at the points ``x``."""
        if self.scipys_own is not None and not isinstance(x, Tensor):
            return self.scipys_own(x, nu, extrapolate)
        extrapolate = self.extrapolate if extrapolate is None else extrapolate
        at = floating(x)
        at = at.to(np.result_type(at._array.dtype, np.float64))
        low, high = self._t[self.k], self._t[self._c.shape[0]]
        if extrapolate == "periodic":
            period = high - low
            at = at - period * np.floor((plain(at) - plain(low)) / plain(period))
        spline = self if nu == 0 else self._derived(nu)
        found = spline._values(at)
        if not extrapolate:
            outside = (plain(at) < plain(low)) | (plain(at) > plain(high))
            found = np.where(outside.reshape(tuple(at.shape) + (1,) * (self._c.ndim - 1)), np.nan, found)
        return _moved(found, at.ndim, self.axis)

    def _values(self, at: Any) -> Any:
        t, c, k = self._t, self._c, self.k
        where = intervals(plain(t), k, c.shape[0], plain(at))
        column = lambda v: v.reshape(tuple(at.shape) + (1,) * (c.ndim - 1))  # noqa: E731
        d = [c[wrap(where - k + j)] for j in range(k + 1)]
        for r in range(1, k + 1):
            for j in range(k, r - 1, -1):
                left, right = t[wrap(where - k + j)], t[wrap(where + j - r + 1)]
                share = column((at - left) / (right - left))
                d[j] = (1 - share) * d[j - 1] + share * d[j]
        return d[k] + 0 * column(at)

    def _derived(self, nu: int) -> BSpline:
        t, c, k = self._t, self._c, self.k
        for _ in range(nu):
            if k == 0:
                return BSpline._of(t, 0 * c, 0, self.extrapolate, self.axis)
            gap = t[k + 1 : -1] - t[1 : -k - 1]
            gap = np.where(plain(gap) == 0, 1.0, gap)
            c = np.diff(c, axis=0) * k / gap.reshape(-1, *(1,) * (c.ndim - 1))
            t, k = t[1:-1], k - 1
        return BSpline._of(t, c, k, self.extrapolate, self.axis)

    @of_arrays
    def derivative(self, nu: int = 1) -> Any:
        """The derivative of order ``nu``, as a spline."""
        if self.scipys_own is not None:
            return _wrapped(self.scipys_own.derivative(nu))
        return self._derived(nu) if nu >= 0 else self.antiderivative(-nu)

    @of_arrays
    def antiderivative(self, nu: int = 1) -> Any:
        """The antiderivative of order ``nu``, as a spline."""
        if self.scipys_own is not None:
            return _wrapped(self.scipys_own.antiderivative(nu))
        t, c, k = self._t, self._c, self.k
        for _ in range(nu):
            gap = (t[k + 1 :] - t[: -k - 1]).reshape(-1, *(1,) * (c.ndim - 1))
            c = np.cumsum(c * gap / (k + 1), axis=0)
            c = np.concatenate([np.zeros_like(c[:1]), c])
            t, k = np.concatenate([t[:1], t, t[-1:]]), k + 1
        extrapolate = False if self.extrapolate == "periodic" else self.extrapolate
        return BSpline._of(t, c, k, extrapolate, self.axis)

    @of_arrays
    def integrate(self, a: Any, b: Any, extrapolate: Any = None) -> Any:
        """The integral from a to b."""
        if self.scipys_own is not None and not has_tensor((a, b)):
            return self.scipys_own.integrate(a, b, extrapolate)
        a, b = alike(a, b)
        extrapolate = self.extrapolate if extrapolate is None else extrapolate
        if extrapolate == "periodic":
            raise TypeError("integrate on tensors: not of a periodic spline")
        if not extrapolate:
            low, high = self._t[self.k], self._t[self._c.shape[0]]
            a, b = (np.minimum(np.maximum(end, low), high) for end in (a, b))
        whole = BSpline._of(self._t, self._c, self.k, True, self.axis).antiderivative()
        return whole(b) - whole(a)


def _wrapped(theirs: Any) -> BSpline:
    return BSpline(theirs.t, theirs.c, theirs.k, theirs.extrapolate, theirs.axis)


def intervals(t: np.ndarray, k: int, count: int, at: np.ndarray) -> np.ndarray:
    """Return the index of the knot before each point, among those between which the spline is defined."""
    found = np.clip(np.searchsorted(t, at, "right") - 1, k, count - 1)
    while True:  # an interval between equal knots is empty
        empty = (t[found] == t[found + 1]) & (found > k)
        if not empty.any():
            return found
        found = found - empty


def basis(t: Any, k: int, count: int, at: Any) -> tuple[Any, np.ndarray]:
    """Return the ``k + 1`` B-splines that are not zero at each point, and the index of the first of them."""
    where = intervals(plain(t), k, count, plain(at))
    found = [np.ones_like(at)]
    for r in range(1, k + 1):
        new = [0 * at] * (r + 1)
        for j in range(r):
            left, right = t[wrap(where + 1 + j - r)], t[wrap(where + 1 + j)]
            share = found[j] / (right - left)
            new[j] = new[j] + share * (right - at)
            new[j + 1] = new[j + 1] + share * (at - left)
        found = new
    return op("stack")(found, -1), where - k


def design(t: Any, k: int, count: int, at: Any) -> Any:
    """Return the matrix of all B-splines at the points."""
    values, first = basis(t, k, count, at)
    rows = np.repeat(np.arange(at.shape[0]), k + 1)
    columns = (first[:, None] + np.arange(k + 1)).reshape(-1)
    return op("index_put")(floating(np.zeros((at.shape[0], count))), (wrap(rows), wrap(columns)), values.reshape(-1))


def knots_of(x: Any, k: int) -> Any:
    """Return the knots that SciPy takes where no conditions are given at the ends."""
    if k % 2:
        inner = x[(k + 1) // 2 : x.shape[0] - (k + 1) // 2]
    else:
        inner = ((x[1:] + x[:-1]) / 2)[k // 2 : x.shape[0] - 1 - k // 2]
    return np.concatenate([x[:1]] * (k + 1) + [inner] + [x[-1:]] * (k + 1))


def _row_at_end(t: Any, k: int, count: int, at: Any, nu: int) -> Any:
    """Return the derivatives of order ``nu`` of all B-splines at a point."""
    return BSpline._of(t, floating(np.eye(count)), k, True, 0)(at, nu)


@of_arrays
def make_interp_spline(
    x: Any, y: Any, k: int = 3, t: Any = None, bc_type: Any = None, axis: int = 0, check_finite: bool = True
) -> BSpline:
    """The spline of degree ``k`` through the values ``y`` at ``x``.

    Examples
    --------
    >>> import dualtape as dt
    >>> y = dt.tensor([0.0, 1.0, 8.0, 27.0], dtype=dt.float64, requires_grad=True)
    >>> dt.scipy.interpolate.make_interp_spline([0, 1, 2, 3], y)(1.5).backward()
    >>> y.grad.round(decimals=4)
    tensor([-0.0625,  0.5625,  0.5625, -0.0625], dtype=dualtape.float64)
    """
    if not has_tensor((x, y, t, bc_type)):
        return _wrapped(_interpolate.make_interp_spline(x, y, k, t, bc_type, axis, check_finite))
    if isinstance(bc_type, str):
        if bc_type == "periodic":
            raise TypeError("make_interp_spline on tensors takes no bc_type='periodic': CubicSpline does")
        bc_type = None if bc_type == "not-a-knot" else (bc_type, bc_type)
    named = {"clamped": [(1, 0.0)], "natural": [(2, 0.0)], "not-a-knot": [], None: []}
    left, right = (
        named[one] if one is None or isinstance(one, str) else list(one) for one in (bc_type or (None, None))
    )
    x, y = (v.to(np.result_type(v._array.dtype, np.float64)) for v in (floating(x), floating(y)))
    axis = axis % y.ndim
    y = np.moveaxis(y, axis, 0)
    if x.shape[0] != y.shape[0]:
        raise ValueError(f"Shapes of x {tuple(x.shape)} and y {tuple(y.shape)} are incompatible")
    if (np.diff(plain(x)) <= 0).any():
        raise ValueError("Expect x to not have duplicates and to be sorted")
    if k == 0:
        return BSpline._of(np.concatenate([x, x[-1:]]), y, 0, True, axis)
    if t is None:
        free = not left and not right
        t = knots_of(x, k) if free else np.concatenate([x[:1]] * k + [x] + [x[-1:]] * k)
        if k == 2 and not free:
            raise ValueError("two free coefficients: give the knots t")
    t = floating(t)
    count = t.shape[0] - k - 1
    if x.shape[0] + len(left) + len(right) != count:
        raise ValueError(
            f"The number of derivatives at boundaries does not match: expected {count - x.shape[0]}, got"
            f" {len(left)} + {len(right)}"
        )
    values, first = basis(t, k, count, x)
    rows = np.arange(x.shape[0])[:, None] + len(left)
    parts = [(np.broadcast_to(rows, first[:, None].shape[:1] + (k + 1,)), first[:, None] + np.arange(k + 1), values)]
    whole = np.arange(count)
    for conditions, at, start in ((left, x[0], 0), (right, x[-1], x.shape[0] + len(left))):
        for row, (nu, _) in enumerate(conditions):
            near = whole[: k + 1] if start == 0 else whole[-k - 1 :]
            parts.append((np.full(k + 1, start + row), near, _row_at_end(t, k, count, at, nu)[wrap(near)]))
    i, j = (np.concatenate([part[m].reshape(-1) for part in parts]) for m in (0, 1))
    entries = np.concatenate([part[2].reshape(-1) for part in parts])
    lower, upper = int(max(0, (i - j).max())), int(max(0, (j - i).max()))
    bands = op("index_put")(floating(np.zeros((lower + upper + 1, count))), (wrap(upper + i - j), wrap(j)), entries)
    flat = y.reshape(x.shape[0], -1)
    extra = [
        [np.broadcast_to(floating(value).reshape(-1), (1, flat.shape[1])[-1:])[None] for _, value in conditions]
        for conditions in (left, right)
    ]
    right_side = np.concatenate([*extra[0], flat, *extra[1]]) if left or right else flat
    c = solve_banded(lower, upper, bands, right_side)
    return BSpline._of(t, c.reshape(count, *y.shape[1:]), k, True, axis)


@of_arrays
def make_lsq_spline(
    x: Any, y: Any, t: Any, k: int = 3, w: Any = None, axis: int = 0, check_finite: bool = True, *, method: str = "qr"
) -> BSpline:
    """The spline with knots ``t`` that is nearest to the values ``y`` at ``x``.

    Examples
    --------
    >>> import dualtape as dt
    >>> y = dt.tensor([0.0, 1.0, 2.0], dtype=dt.float64)
    >>> dt.scipy.interpolate.make_lsq_spline([0, 1, 2], y, [0, 0, 2, 2], 1)(0.5).round(decimals=4)
    tensor(0.5000, dtype=dualtape.float64)
    """
    if not has_tensor((x, y, t, w)):
        return _wrapped(_interpolate.make_lsq_spline(x, y, t, k, w, axis, check_finite))
    x, y, t = (v.to(np.result_type(v._array.dtype, np.float64)) for v in map(floating, (x, y, t)))
    axis = axis % y.ndim
    y = np.moveaxis(y, axis, 0)
    count = t.shape[0] - k - 1
    matrix, flat = design(t, k, count, x), y.reshape(y.shape[0], -1)
    if w is not None:
        weight = floating(w)[:, None]
        matrix, flat = matrix * weight, flat * weight
    c = op("linalg.lstsq")(matrix, flat)[0]
    return BSpline._of(t, c.reshape(count, *y.shape[1:]), k, True, axis)


# --- by tuples of knots, coefficients and degree --------------------------------------------------


def _spline(tck: Any) -> BSpline:
    if isinstance(tck, BSpline):
        return tck
    t, c, k = tck
    return BSpline(floating(t), floating(c), k)


@of_arrays
def splev(x: Any, tck: Any, der: int = 0, ext: int = 0) -> Any:
    """The values of a spline, or its derivatives.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.scipy.interpolate.splev(dt.tensor(0.25), ([0, 0, 1, 1], [1.0, 3.0], 1))
    tensor(1.5000, dtype=dualtape.float64)
    """
    if not has_tensor((x, tuple(tck) if not isinstance(tck, BSpline) else tck.tck)):
        return _interpolate.splev(x, tck.scipys_own if isinstance(tck, BSpline) else tck, der, ext)
    spline, at = _spline(tck), floating(x)
    low, high = plain(spline._t)[spline.k], plain(spline._t)[spline._c.shape[0]]
    outside = (plain(at) < low) | (plain(at) > high)
    if ext == 2 and outside.any():
        raise ValueError("Invalid input data: a point is outside of the knots (ext=2)")
    if ext == 3:
        at = np.clip(at, low, high)
    found = spline(at, der)
    return np.where(outside, 0.0, found) if ext == 1 else found


@of_arrays
def splint(a: Any, b: Any, tck: Any, full_output: int = 0) -> Any:
    """The integral of a spline from a to b; outside of its knots it is zero.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.scipy.interpolate.splint(0.0, dt.tensor(1.0), ([0, 0, 1, 1], [1.0, 3.0], 1))
    tensor(2., dtype=dualtape.float64)
    """
    if not has_tensor((a, b, tuple(tck) if not isinstance(tck, BSpline) else tck.tck)):
        return _interpolate.splint(a, b, tck.scipys_own if isinstance(tck, BSpline) else tck, full_output)
    if full_output:
        raise TypeError("splint on tensors takes no full_output")
    return _spline(tck).integrate(a, b, False)


@of_arrays
def splder(tck: Any, n: int = 1) -> Any:
    """The derivative of a spline.

    Examples
    --------
    >>> import dualtape as dt
    >>> c = dt.tensor([1.0, 3.0], dtype=dt.float64)
    >>> dt.scipy.interpolate.splder(dt.scipy.interpolate.BSpline([0, 0, 1, 1], c, 1))(0.5)
    tensor(2., dtype=dualtape.float64)
    """
    if not isinstance(tck, BSpline) and not has_tensor(tuple(tck)):
        return _interpolate.splder(tck, n)
    found = _spline(tck).derivative(n)
    return found if isinstance(tck, BSpline) else _padded(found)


@of_arrays
def splantider(tck: Any, n: int = 1) -> Any:
    """The antiderivative of a spline.

    Examples
    --------
    >>> import dualtape as dt
    >>> c = dt.tensor([1.0, 3.0], dtype=dt.float64)
    >>> dt.scipy.interpolate.splantider(dt.scipy.interpolate.BSpline([0, 0, 1, 1], c, 1))(1.0)
    tensor(2., dtype=dualtape.float64)
    """
    if not isinstance(tck, BSpline) and not has_tensor(tuple(tck)):
        return _interpolate.splantider(tck, n)
    found = _spline(tck).antiderivative(n)
    return found if isinstance(tck, BSpline) else _padded(found, True)


def _padded(spline: BSpline, constant: bool = False) -> tuple:
    """Return a tuple whose coefficients are as many as the knots, as FITPACK has them."""
    last = spline._c[-1:] if constant else 0 * spline._c[-1:]
    return spline._t, np.concatenate([spline._c] + [last] * (spline.k + 1)), spline.k
