"""Piecewise polynomials: cubic splines and the interpolants of Hermite, Fritsch and Carlson, and Akima.

The coefficients are compositions of the knots and values, and evaluation is a polynomial in the point: derivatives by
all of them, of every order.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..._tensor.tensor import Tensor, wrap
from ...arrays.lazy import scipy_interpolate as _interpolate
from .._arguments import plain
from .._banded import solve_banded
from .._like import has_tensor, of_arrays
from .._tensors import alike, floating, op

__all__ = [
    "Akima1DInterpolator",
    "CubicHermiteSpline",
    "CubicSpline",
    "PPoly",
    "PchipInterpolator",
    "pchip_interpolate",
]


class Interpolant:
    """An interpolant of SciPy's name, which holds SciPy's own where it was made of arrays alone.

    That one answers for arrays; points that are tensors are answered with history.
    """

    scipys_own: Any = None

    def _made_by_scipy(self, name: str, args: tuple, kwargs: dict) -> None:
        if not has_tensor(args) and not has_tensor(kwargs):
            self.scipys_own = getattr(_interpolate, name)(*args, **kwargs)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") or self.scipys_own is None:
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        return getattr(self.scipys_own, name)

    def __repr__(self) -> str:
        return f"<dualtape.scipy.interpolate.{type(self).__name__}>"


class PPoly(Interpolant):
    """Piecewise polynomials of SciPy's ``c`` and ``x``: ``sum(c[m, i] * (at - x[i])**(k - m))`` in the i-th interval.

    Examples
    --------
    >>> import dualtape as dt
    >>> line = dt.scipy.interpolate.PPoly(dt.tensor([[2.0], [1.0]]), [0.0, 1.0])
    >>> line(dt.tensor([0.5]))
    tensor([2.], dtype=dualtape.float64)
    """

    def __init__(self, c: Any, x: Any, extrapolate: Any = None, axis: int = 0) -> None:
        self._made_by_scipy("PPoly", (c, x, extrapolate, axis), {})
        c = floating(c)
        axis = axis % (c.ndim - 1)
        self._set(np.moveaxis(np.moveaxis(c, axis + 1, 0), 1, 0) if axis else c, floating(x), extrapolate, axis)

    def _set(self, c: Any, x: Any, extrapolate: Any, axis: int) -> None:
        """Keep coefficients whose first axes are the power and the interval."""
        self._c, self._x = alike(c, x)
        self.extrapolate = True if extrapolate is None else extrapolate
        self.axis = axis

    @classmethod
    def _of(cls, c: Any, x: Any, extrapolate: Any, axis: int) -> PPoly:
        new = object.__new__(PPoly)
        new._set(c, x, extrapolate, axis)
        return new

    @property
    def c(self) -> Any:
        """The coefficients."""
        return self.scipys_own.c if self.scipys_own is not None else self._c

    @property
    def x(self) -> Any:
        """The breakpoints."""
        return self.scipys_own.x if self.scipys_own is not None else self._x

    @of_arrays
    def __call__(self, x: Any, nu: int = 0, extrapolate: Any = None) -> Any:
        """The values, or the derivatives of order ``nu``, at the points ``x``."""
        if self.scipys_own is not None and not isinstance(x, Tensor):
            return self.scipys_own(x, nu, extrapolate)
        extrapolate = self.extrapolate if extrapolate is None else extrapolate
        at = floating(x)
        at, knots = at.to(np.result_type(at._array.dtype, np.float64)), self._x
        if extrapolate == "periodic":
            period = knots[-1] - knots[0]
            at = at - period * np.floor((plain(at) - plain(knots[0])) / plain(period))
        known = plain(knots)
        k = np.clip(np.searchsorted(known, plain(at), "right") - 1, 0, len(known) - 2)
        rest = self._c.ndim - 2
        t = (at - knots[wrap(k)]).reshape(tuple(at.shape) + (1,) * rest)
        degree = self._c.shape[0] - 1
        found: Any = np.zeros(tuple(at.shape) + tuple(self._c.shape[2:]))
        for m in range(degree + 1 - nu):
            power = degree - m
            factor = float(np.prod(np.arange(power - nu + 1, power + 1))) if nu else 1.0
            found = found * t + self._c[m][wrap(k)] * factor
        if isinstance(found, np.ndarray):
            found = floating(found) + 0 * t
        if extrapolate is False or (extrapolate is not True and extrapolate != "periodic" and not extrapolate):
            outside = (plain(at) < known[0]) | (plain(at) > known[-1])
            found = np.where(outside.reshape(tuple(at.shape) + (1,) * rest), np.nan, found)
        return _moved(found, at.ndim, self.axis)

    @of_arrays
    def derivative(self, nu: int = 1) -> Any:
        """The derivative of order ``nu``, as piecewise polynomials."""
        if nu < 0:
            return self.antiderivative(-nu)
        if self.scipys_own is not None:
            return _wrapped(self.scipys_own.derivative(nu))
        degree = self._c.shape[0] - 1
        powers = np.arange(degree, nu - 1, -1)
        factors = np.array([np.prod(np.arange(p - nu + 1, p + 1)) for p in powers], float)
        kept = self._c[: len(powers)] * factors.reshape(-1, *(1,) * (self._c.ndim - 1))
        if not len(powers):
            kept = self._c[:1] * 0
        return PPoly._of(kept, self._x, self.extrapolate, self.axis)

    @of_arrays
    def antiderivative(self, nu: int = 1) -> Any:
        """The antiderivative of order ``nu`` that is zero at the first breakpoint."""
        if nu <= 0:
            return self.derivative(-nu)
        if self.scipys_own is not None:
            return _wrapped(self.scipys_own.antiderivative(nu))
        c, x = self._c, self._x
        for _ in range(nu):
            degree = c.shape[0] - 1
            higher = c / np.arange(degree + 1, 0, -1).reshape(-1, *(1,) * (c.ndim - 1))
            h = np.diff(x).reshape(-1, *(1,) * (c.ndim - 2))
            area: Any = 0.0
            for m in range(degree + 1):
                area = (area + higher[m]) * h
            start = np.concatenate([np.zeros_like(area[:1]), np.cumsum(area, axis=0)[:-1]])
            c = np.concatenate([higher, start[None]])
        extrapolate = False if self.extrapolate == "periodic" else self.extrapolate
        return PPoly._of(c, x, extrapolate, self.axis)

    @of_arrays
    def integrate(self, a: Any, b: Any, extrapolate: Any = None) -> Any:
        """The integral from a to b."""
        if self.scipys_own is not None and not has_tensor((a, b)):
            return self.scipys_own.integrate(a, b, extrapolate)
        if (self.extrapolate if extrapolate is None else extrapolate) == "periodic":
            raise TypeError("integrate on tensors: not of a periodic spline")
        whole = PPoly._of(self._c, self._x, self.extrapolate, self.axis).antiderivative()
        a, b = alike(a, b)
        return whole(b, extrapolate=extrapolate) - whole(a, extrapolate=extrapolate)


def _wrapped(theirs: Any) -> PPoly:
    return PPoly(theirs.c, theirs.x, theirs.extrapolate, theirs.axis)


def _moved(found: Any, ndim: int, axis: int) -> Any:
    """Return values with the axes of the points, the first ``ndim``, in place of ``axis``."""
    if not axis:
        return found
    rest = list(range(ndim, found.ndim))
    return np.transpose(found, (*rest[:axis], *range(ndim), *rest[axis:]))


def _prepared(x: Any, y: Any, axis: int) -> tuple[Any, Any, int]:
    """Return knots, and values with the interpolated axis first, checked."""
    x, y = (v.to(np.result_type(v._array.dtype, np.float64)) for v in (floating(x), floating(y)))
    axis = axis % y.ndim
    if x.ndim != 1 or x.shape[0] < 2:
        raise ValueError("`x` must be 1-dimensional, with at least 2 elements.")
    if x.shape[0] != y.shape[axis]:
        raise ValueError(f"The length of `y` along `axis`={axis} doesn't match the length of `x`")
    known = plain(x)
    if not np.isfinite(known).all() or (np.diff(known) <= 0).any():
        raise ValueError("`x` must be strictly increasing sequence of finite numbers.")
    return x, np.moveaxis(y, axis, 0), axis


def _column(h: Any, y: Any) -> Any:
    return h.reshape(-1, *(1,) * (y.ndim - 1))


class CubicHermiteSpline(PPoly):
    """The cubic of these values and derivatives at the knots.

    Examples
    --------
    >>> import dualtape as dt
    >>> y = dt.tensor([0.0, 1.0], dtype=dt.float64, requires_grad=True)
    >>> dt.scipy.interpolate.CubicHermiteSpline([0, 1], y, [0, 0])(0.5).backward()
    >>> y.grad
    tensor([0.5000, 0.5000], dtype=dualtape.float64)
    """

    @of_arrays
    def __init__(self, x: Any, y: Any, dydx: Any, axis: int = 0, extrapolate: Any = None) -> None:
        self._made_by_scipy("CubicHermiteSpline", (x, y, dydx, axis, extrapolate), {})
        x, y, axis = _prepared(x, y, axis)
        self._hermite(x, y, np.moveaxis(floating(dydx), axis, 0), axis, True if extrapolate is None else extrapolate)

    def _hermite(self, x: Any, y: Any, d: Any, axis: int, extrapolate: Any) -> None:
        h = _column(np.diff(x), y)
        slope = np.diff(y, axis=0) / h
        t = (d[:-1] + d[1:] - 2 * slope) / h
        self._set(op("stack")([t / h, (slope - d[:-1]) / h - t, d[:-1], y[:-1]]), x, extrapolate, axis)


class PchipInterpolator(CubicHermiteSpline):
    """The cubic that has no extremes but those of the values.

    Examples
    --------
    >>> import dualtape as dt
    >>> y = dt.tensor([0.0, 1.0, 4.0], dtype=dt.float64, requires_grad=True)
    >>> dt.scipy.interpolate.PchipInterpolator([0, 1, 2], y)(0.5)
    tensor(0.3125, dtype=dualtape.float64, grad_fn=<AddBackward0>)
    """

    @of_arrays
    def __init__(self, x: Any, y: Any, axis: int = 0, extrapolate: Any = None) -> None:
        self._made_by_scipy("PchipInterpolator", (x, y, axis, extrapolate), {})
        x, y, axis = _prepared(x, y, axis)
        h = _column(np.diff(x), y)
        m = np.diff(y, axis=0) / h
        if y.shape[0] == 2:
            d = np.concatenate([m, m])
        else:
            sign = np.sign(plain(m))
            flat = (sign[1:] != sign[:-1]) | (sign[1:] == 0) | (sign[:-1] == 0)
            w1, w2 = 2 * h[1:] + h[:-1], h[1:] + 2 * h[:-1]
            inner = (w1 + w2) / (w1 / np.where(flat, 1.0, m[:-1]) + w2 / np.where(flat, 1.0, m[1:]))
            inner = np.where(flat, 0.0, inner)
            d = np.concatenate([_end(h[0], h[1], m[0], m[1])[None], inner, _end(h[-1], h[-2], m[-1], m[-2])[None]])
        self._hermite(x, y, d, axis, True if extrapolate is None else extrapolate)


def _end(h0: Any, h1: Any, m0: Any, m1: Any) -> Any:
    d = ((2 * h0 + h1) * m0 - h0 * m1) / (h0 + h1)
    found, first, second = plain(d), plain(m0), plain(m1)
    turns = np.sign(found) != np.sign(first)
    steep = (np.sign(first) != np.sign(second)) & (np.abs(found) > 3 * np.abs(first)) & ~turns
    return np.where(turns, 0.0, np.where(steep, 3 * m0, d))


class Akima1DInterpolator(CubicHermiteSpline):
    """Akima's cubic, or with ``method="makima"`` the modified one.

    Examples
    --------
    >>> import dualtape as dt
    >>> y = dt.tensor([0.0, 1.0, 4.0, 9.0, 16.0], dtype=dt.float64)
    >>> dt.scipy.interpolate.Akima1DInterpolator([0, 1, 2, 3, 4], y)(1.5)
    tensor(2.2500, dtype=dualtape.float64)
    """

    @of_arrays
    def __init__(self, x: Any, y: Any, axis: int = 0, *, method: str = "akima", extrapolate: Any = None) -> None:
        self._made_by_scipy("Akima1DInterpolator", (x, y, axis), {"method": method, "extrapolate": extrapolate})
        if method not in ("akima", "makima"):
            raise NotImplementedError(f"`method`={method} is unsupported.")
        x, y, axis = _prepared(x, y, axis)
        m = np.diff(y, axis=0) / _column(np.diff(x), y)
        if y.shape[0] == 2:
            d = np.concatenate([m, m])
        else:
            before = 2 * m[:1] - m[1:2]
            after = 2 * m[-1:] - m[-2:-1]
            m = np.concatenate([2 * before - m[:1], before, m, after, 2 * after - m[-1:]])
            dm = np.abs(np.diff(m, axis=0))
            if method == "makima":
                dm = dm + np.abs(m[1:] + m[:-1]) / 2
            f1, f2 = dm[2:], dm[:-2]
            total = f1 + f2
            known = plain(total)
            used = known > 1e-9 * np.max(known, initial=-np.inf)
            inner = m[1:-2] + f2 / np.where(used, total, 1.0) * (m[2:-1] - m[1:-2])
            d = np.where(used, inner, (m[3:] + m[:-3]) / 2)
        self._hermite(x, y, d, axis, False if extrapolate is None else extrapolate)


class CubicSpline(CubicHermiteSpline):
    """The cubic spline through the values, with two continuous derivatives.

    Examples
    --------
    >>> import dualtape as dt
    >>> y = dt.tensor([0.0, 1.0, 8.0, 27.0], dtype=dt.float64, requires_grad=True)
    >>> spline = dt.scipy.interpolate.CubicSpline([0, 1, 2, 3], y)
    >>> spline(1.5).backward()
    >>> y.grad
    tensor([-0.0625,  0.5625,  0.5625, -0.0625], dtype=dualtape.float64)
    """

    @of_arrays
    def __init__(self, x: Any, y: Any, axis: int = 0, bc_type: Any = "not-a-knot", extrapolate: Any = None) -> None:
        self._made_by_scipy("CubicSpline", (x, y, axis, bc_type, extrapolate), {})
        x, y, axis = _prepared(x, y, axis)
        periodic = isinstance(bc_type, str) and bc_type == "periodic"
        if extrapolate is None:
            extrapolate = "periodic" if periodic else True
        h = np.diff(x)
        slope = np.diff(y, axis=0) / _column(h, y)
        if periodic:
            if not np.allclose(plain(y[0]), plain(y[-1]), rtol=1e-15, atol=1e-15):
                raise ValueError("The first and last `y` point along axis must be identical when bc_type='periodic'.")
            d = _periodic(h, slope, y)
        else:
            d = _slopes(h, slope, y, _conditions(bc_type))
        self._hermite(x, y, d, axis, extrapolate)


def _conditions(bc_type: Any) -> list:
    pair = (bc_type, bc_type) if isinstance(bc_type, str) else bc_type
    if len(pair) != 2:
        raise ValueError("`bc_type` must contain 2 elements to specify start and end conditions.")
    names: dict[str, Any] = {"not-a-knot": None, "natural": (2, 0.0), "clamped": (1, 0.0)}
    found = []
    for one in pair:
        if isinstance(one, str) and one not in names:
            raise ValueError(f"bc_type={one} is not allowed.")
        found.append(names[one] if isinstance(one, str) else one)
    return found


def _slopes(h: Any, slope: Any, y: Any, conditions: list) -> Any:
    """Return the derivatives at the knots."""
    count = y.shape[0]
    start, end = conditions
    if count == 2:
        start, end = ((1, slope[0]) if one is None else one for one in (start, end))
    w = _column(h, y)
    if count == 3 and start is None and end is None:
        one = np.ones_like(h[0])
        zero = 0 * one
        matrix = op("stack")(
            [op("stack")(row) for row in ([one, one, zero], [h[1], 2 * (h[0] + h[1]), h[0]], [zero, one, one])]
        )
        right = op("stack")([2 * slope[0], 3 * (w[0] * slope[1] + w[1] * slope[0]), 2 * slope[1]])
        return op("linalg.solve")(matrix, right.reshape(3, -1)).reshape(tuple(right.shape))
    one = np.ones_like(h[:1])
    if start is None:
        span = h[:1] + h[1:2]
        wide = _column(span, y)
        first = (h[1:2], span, ((w[:1] + 2 * wide) * w[1:2] * slope[:1] + w[:1] ** 2 * slope[1:2]) / wide)
    elif start[0] == 1:
        first = (one, 0 * one, _value(start[1], slope))
    else:
        first = (2 * h[:1], h[:1], -0.5 * _value(start[1], slope) * w[:1] ** 2 + 3 * (y[1:2] - y[:1]))
    if end is None:
        span = h[-1:] + h[-2:-1]
        wide = _column(span, y)
        last = (h[-2:-1], span, (w[-1:] ** 2 * slope[-2:-1] + (2 * wide + w[-1:]) * w[-2:-1] * slope[-1:]) / wide)
    elif end[0] == 1:
        last = (one, 0 * one, _value(end[1], slope))
    else:
        last = (2 * h[-1:], h[-1:], 0.5 * _value(end[1], slope) * w[-1:] ** 2 + 3 * (y[-1:] - y[-2:-1]))
    zero = 0 * one
    join = np.concatenate
    bands = op("stack")(
        [
            join([zero, first[1], h[:-1]]),
            join([first[0], 2 * (h[:-1] + h[1:]), last[0]]),
            join([h[1:], last[1], zero]),
        ]
    )
    right = join([first[2], 3 * (w[1:] * slope[:-1] + w[:-1] * slope[1:]), last[2]])
    return solve_banded(1, 1, bands, right.reshape(count, -1)).reshape(tuple(y.shape))


def _value(value: Any, like: Any) -> Any:
    return floating(value) * np.ones_like(like[:1])


def _periodic(h: Any, slope: Any, y: Any) -> Any:
    count = y.shape[0] - 1
    if count == 1:
        return 0 * y
    w = _column(h, y)
    before, between = np.roll(h, 1), np.roll(w, 1, axis=0)
    eye = np.eye(count)
    matrix = (
        2 * (before + h)[:, None] * eye
        + before[:, None] * np.roll(eye, 1, axis=1)
        + h[:, None] * np.roll(eye, -1, axis=1)
    )
    right = 3 * (w * np.roll(slope, 1, axis=0) + between * slope)
    # Row i: h[i] d[i-1] + 2 (h[i-1] + h[i]) d[i] + h[i-1] d[i+1].
    d = op("linalg.solve")(matrix, right.reshape(count, -1)).reshape(tuple(right.shape))
    return np.concatenate([d, d[:1]])


@of_arrays
def pchip_interpolate(xi: Any, yi: Any, x: Any, der: Any = 0, axis: int = 0) -> Any:
    """The values at ``x`` of a :class:`PchipInterpolator`, or its derivatives.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.scipy.interpolate.pchip_interpolate([0, 1, 2], dt.tensor([0.0, 1.0, 4.0]), 0.5)
    tensor(0.3125, dtype=dualtape.float64)
    """
    if not has_tensor((xi, yi, x)):
        return _interpolate.pchip_interpolate(xi, yi, x, der, axis)
    spline = PchipInterpolator(xi, yi, axis)
    return spline(x, der) if isinstance(der, int) else [spline(x, nu) for nu in der]
