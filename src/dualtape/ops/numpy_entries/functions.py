"""NumPy's numerical functions that are not ufuncs, on tensors: rounding, interpolation, polynomials, convolution."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..._tensor.tensor import Tensor, raw, wrap
from ..dispatch import FUNCTIONS
from .registry import NUMPY, axes_of, entry, floating, op, plain, tensor
from .vocabulary import _sum

# --- element by element ---------------------------------------------------------------------------


@entry(np.round, np.around)
def _round(a: Any, decimals: int = 0, out: None = None) -> Any:
    return FUNCTIONS["round"](a, decimals=decimals)


@entry(np.fix)
def _fix(x: Any, out: None = None) -> Any:
    return FUNCTIONS["trunc"](x)


@entry(np.nan_to_num)
def _nan_to_num(x: Any, copy: bool = True, nan: float = 0.0, posinf: Any = None, neginf: Any = None) -> Any:
    return (op("nan_to_num") if copy else x.nan_to_num_.__func__)(x, nan, posinf, neginf)


@entry(np.sinc)
def _sinc(x: Any) -> Any:
    return op("sinc")(floating(x))


@entry(np.i0)
def _i0(x: Any) -> Any:
    return op("i0")(floating(x))


@entry(np.unwrap)
def _unwrap(p: Any, discont: float | None = None, axis: int = -1, *, period: float = 2 * np.pi) -> Any:
    """Return ``p`` with jumps by whole periods removed; the periods do not depend on ``p``."""
    x = floating(p)
    jumps = np.unwrap(raw(x), discont, axis, period=period) - raw(x)
    return x + wrap(np.asarray(jumps, x._array.dtype))


# --- real functions where they become complex -----------------------------------------------------


def _complex_where(outside: Callable, name: str) -> Callable:
    def function(x: Any) -> Any:
        x = floating(x)
        if not x.is_complex() and bool(FUNCTIONS["any"](outside(x.detach()))):
            x = x.to(np.result_type(x._array.dtype, np.complex64))
        return FUNCTIONS[name](x)

    return function


def _negative(x: Tensor) -> Any:
    return x < 0


def _beyond_one(x: Tensor) -> Any:
    return x.abs() > 1


_log, _sqrt = _complex_where(_negative, "log"), _complex_where(_negative, "sqrt")
for _name, _outside in (
    ("sqrt", _negative),
    ("log", _negative),
    ("log2", _negative),
    ("log10", _negative),
    ("arccos", _beyond_one),
    ("arcsin", _beyond_one),
    ("arctanh", _beyond_one),
):
    entry(getattr(np.lib.scimath, _name))(_complex_where(_outside, _name))


@entry(np.lib.scimath.logn)
def _logn(n: Any, x: Any) -> Any:
    return _log(x) / _log(n)


@entry(np.lib.scimath.power)
def _power(x: Any, p: Any) -> Any:
    x, p = tensor(x), tensor(p)
    if not x.is_complex() and bool(FUNCTIONS["any"](x.detach() < 0)):
        x = x.to(np.result_type(x._array.dtype, np.complex64))
    return FUNCTIONS["pow"](x, p if p._array.dtype.kind in "fc" else p.to(np.float64))


# --- interpolation --------------------------------------------------------------------------------


@entry(np.interp)
def _interp(x: Any, xp: Any, fp: Any, left: Any = None, right: Any = None, period: float | None = None) -> Any:
    x, xp, fp = floating(x), floating(xp), floating(fp)
    if xp.ndim != 1 or fp.ndim != 1 or xp.shape != fp.shape:
        raise ValueError("Data points must be 1-D sequences of one length")
    if not xp.numel():
        raise ValueError("array of sample points is empty")
    if period is not None:
        if not period:
            raise ValueError("period must be a non-zero value")
        period, left, right = abs(period), None, None
        x, xp = x % period, xp % period
        order = wrap(np.argsort(raw(xp)))
        xp, fp = xp[order], fp[order]
        xp = FUNCTIONS["cat"]([xp[-1:] - period, xp, xp[:1] + period])
        fp = FUNCTIONS["cat"]([fp[-1:], fp, fp[:1]])
    points, at = np.asarray(raw(xp)), np.asarray(raw(x))
    below = np.clip(np.searchsorted(points, at, "right") - 1, 0, max(points.size - 2, 0))
    above = np.minimum(below + 1, points.size - 1)
    x0, x1, f0, f1 = xp[wrap(below)], xp[wrap(above)], fp[wrap(below)], fp[wrap(above)]
    width = FUNCTIONS["where"](wrap(points[below] == points[above]), 1, x1 - x0)
    inside = f0 + (x - x0) / width * (f1 - f0)
    inside = FUNCTIONS["where"](wrap(at == points[-1]), fp[-1], inside)
    inside = FUNCTIONS["where"](wrap(at < points[0]), fp[0] if left is None else tensor(left), inside)
    return FUNCTIONS["where"](wrap(at > points[-1]), fp[-1] if right is None else tensor(right), inside)


# --- convolution ----------------------------------------------------------------------------------


@entry(np.convolve)
def _convolve(a: Any, v: Any, mode: str = "full") -> Any:
    a, v = (x.reshape(1) if x.ndim == 0 else x for x in (tensor(a), tensor(v)))
    if not a.numel() or not v.numel():
        raise ValueError("a and v cannot be empty")
    if a.ndim != 1 or v.ndim != 1:
        raise ValueError("object too deep for desired array")
    if a.numel() < v.numel():
        a, v = v, a
    m, n = a.numel(), v.numel()
    start, size = {"full": (0, m + n - 1), "same": ((n - 1) // 2, m), "valid": (n - 1, m - n + 1)}[mode]
    common = np.result_type(a._array.dtype, v._array.dtype)
    padded = op("constant_pad_nd")(a.to(common), (n - 1 - start, size + start - m), 0)
    return FUNCTIONS["matmul"](padded.unfold(0, n, 1), FUNCTIONS["flip"](v.to(common), (0,)))


@entry(np.correlate)
def _correlate(a: Any, v: Any, mode: str = "valid") -> Any:
    a, v = tensor(a), tensor(v)
    swapped = a.numel() < v.numel()
    flipped = FUNCTIONS["flip"](FUNCTIONS["conj"](v), (0,))
    result = _convolve(a, flipped, mode)
    if mode != "same" or not swapped:
        return result
    m, n = a.numel(), v.numel()
    return _convolve(a, flipped, "full")[m // 2 : m // 2 + n]


# --- polynomials, the highest power first ---------------------------------------------------------


def _line(value: Any) -> Tensor:
    return op("atleast_1d")(tensor(value))


@entry(np.polyval)
def _polyval(p: Any, x: Any) -> Any:
    x = tensor(x)
    value: Any = np.zeros_like(x)
    for coefficient in tensor(p).unbind(0):
        value = value * x + coefficient
    return value


def _aligned(a1: Any, a2: Any) -> tuple[Tensor, Tensor]:
    a, b = _line(a1), _line(a2)
    size = max(a.numel(), b.numel())
    padded = (op("constant_pad_nd")(c, (size - c.numel(), 0), 0) for c in (a, b))
    return next(padded), next(padded)


@entry(np.polyadd)
def _polyadd(a1: Any, a2: Any) -> Any:
    a, b = _aligned(a1, a2)
    return a + b


@entry(np.polysub)
def _polysub(a1: Any, a2: Any) -> Any:
    a, b = _aligned(a1, a2)
    return a - b


@entry(np.polymul)
def _polymul(a1: Any, a2: Any) -> Any:
    return _convolve(_line(a1), _line(a2))


@entry(np.polyder)
def _polyder(p: Any, m: int = 1) -> Any:
    if m < 0:
        raise ValueError("Order of derivative must be positive (see polyint)")
    for _ in range(m):
        p = p[:-1] * wrap(np.arange(p.numel() - 1, 0, -1))
    return p


@entry(np.polyint)
def _polyint(p: Any, m: int = 1, k: Any = None) -> Any:
    if m < 0:
        raise ValueError("Order of integral must be positive (see polyder)")
    constants = tensor(0.0 if k is None else k).reshape(-1)
    if constants.numel() == 1 and m > 1:
        constants = constants.expand(m)
    if constants.numel() < m:
        raise ValueError("k must be a scalar or a rank-1 array of length 1 or >m.")
    p = floating(p)
    for step in range(m):
        p = FUNCTIONS["cat"]([p / wrap(np.arange(p.numel(), 0, -1)), constants[step : step + 1].to(p.dtype)])
    return p


@entry(np.polydiv)
def _polydiv(u: Any, v: Any) -> tuple:
    u, v = floating(_line(u)), floating(_line(v))
    m, n = u.numel() - 1, v.numel() - 1
    quotient = []
    rest = u
    for _ in range(max(m - n + 1, 0)):
        factor = rest[0] / v[0]
        quotient.append(factor)
        rest = FUNCTIONS["cat"]([rest[1 : n + 1] - factor * v[1:], rest[n + 1 :]])
    values = np.asarray(raw(rest))
    while rest.numel() > 1 and np.allclose(values[0], 0, rtol=1e-14):
        rest, values = rest[1:], values[1:]
    if not rest.numel():
        rest = wrap(np.zeros(1, u._array.dtype))
    return FUNCTIONS["stack"](quotient) if quotient else wrap(np.zeros(1, u._array.dtype)), rest


@entry(np.poly)
def _poly(seq_of_zeros: Any) -> Any:
    x = op("atleast_1d")(floating(seq_of_zeros))
    if x.ndim == 2:
        if x.shape[0] != x.shape[1]:
            raise ValueError("input must be 1d or non-empty square 2d array.")
        x = op("linalg.eigvals")(x)
    coefficients = wrap(np.ones(1, x._array.dtype))
    for root in x.unbind(0):
        coefficients = _convolve(coefficients, FUNCTIONS["stack"]([wrap(np.ones((), x._array.dtype)), -root]))
    if coefficients.is_complex():
        roots = np.asarray(raw(x))
        if np.all(np.sort(roots) == np.sort(roots.conj())):
            return coefficients.real
    return coefficients


@entry(np.roots)
def _roots(p: Any) -> Any:
    p = floating(_line(p))
    if p.ndim != 1:
        raise ValueError("Input must be a rank-1 array.")
    there = np.nonzero(np.asarray(raw(p)))[0]
    if not there.size:
        return wrap(np.zeros(0))
    at_zero = p.numel() - int(there[-1]) - 1
    p = p[int(there[0]) : int(there[-1]) + 1]
    size = p.numel() - 1
    nothing = wrap(np.zeros(at_zero, p._array.dtype))
    if not size:
        return nothing
    below = wrap(np.eye(size, k=-1, dtype=p._array.dtype)[1:])
    companion = FUNCTIONS["cat"]([(-p[1:] / p[0]).reshape(1, -1), below])
    found = op("linalg.eigvals")(companion)
    if not p.is_complex() and not np.any(np.asarray(raw(found)).imag):
        found = found.real
    return FUNCTIONS["cat"]([found, nothing.to(found.dtype)])


@entry(np.polyfit)
def _polyfit(
    x: Any, y: Any, deg: Any, rcond: float | None = None, full: bool = False, w: Any = None, cov: Any = False
) -> Any:
    plain("polyfit", full=(full, False), cov=(cov, False))
    x, y = floating(x), floating(y)
    rcond = x.numel() * np.finfo(x._array.dtype).eps if rcond is None else rcond
    columns = op("vander")(x, int(deg) + 1)
    if w is not None:
        weights = floating(w)
        columns = columns * weights.reshape(-1, 1)
        y = y * (weights if y.ndim == 1 else weights.reshape(-1, 1))
    scale = FUNCTIONS["sqrt"](_sum(columns * columns, 0))
    inverse = op("linalg.pinv")(columns / scale, rtol=rcond)
    solution = FUNCTIONS["matmul"](inverse, y)
    return solution / (scale if y.ndim == 1 else scale.reshape(-1, 1))


@entry(np.vander)
def _vander(x: Any, N: int | None = None, increasing: bool = False) -> Any:
    return op("vander")(x, N, increasing)


# --- products -------------------------------------------------------------------------------------


@entry(np.inner)
def _inner(a: Any, b: Any, /) -> Any:
    a, b = tensor(a), tensor(b)
    return a * b if min(a.ndim, b.ndim) == 0 else op("inner")(a, b)


@entry(np.outer)
def _outer(a: Any, b: Any, out: None = None) -> Any:
    return tensor(a).reshape(-1, 1) * tensor(b).reshape(1, -1)


@entry(np.linalg.outer)
def _linalg_outer(x1: Any, x2: Any, /) -> Any:
    if tensor(x1).ndim != 1 or tensor(x2).ndim != 1:
        raise ValueError("Input arrays must be one-dimensional")
    return _outer(x1, x2)


@entry(np.vdot)
def _vdot(a: Any, b: Any, /) -> Any:
    return _sum(FUNCTIONS["conj"](tensor(a).reshape(-1)) * tensor(b).reshape(-1))


@entry(np.kron)
def _kron(a: Any, b: Any) -> Any:
    return op("kron")(tensor(a), tensor(b))


@entry(np.cross)
def _cross(a: Any, b: Any, axisa: int = -1, axisb: int = -1, axisc: int = -1, axis: int | None = None) -> Any:
    axisa, axisb, axisc = (axisa, axisb, axisc) if axis is None else (axis,) * 3
    a, b = tensor(a), tensor(b)
    a, b = a.movedim(axes_of(axisa, a.ndim)[0], -1), b.movedim(axes_of(axisb, b.ndim)[0], -1)
    sizes = (a.shape[-1], b.shape[-1])
    allowed = (2, 3) if NUMPY < (2, 5) else (3,)
    if any(size not in allowed for size in sizes):
        raise ValueError(
            "cross: incompatible dimensions for cross product (dimension must be"
            f" {' or '.join(map(str, allowed))}), got vectors of length {sizes[0]} and {sizes[1]}"
        )
    if sizes == (2, 2):
        return a[..., 0] * b[..., 1] - a[..., 1] * b[..., 0]
    a, b = (op("constant_pad_nd")(x, (0, 3 - x.shape[-1]), 0) for x in (a, b))
    shape = np.broadcast_shapes(a._array.shape, b._array.shape)
    result = op("linalg.cross")(FUNCTIONS["broadcast_to"](a, shape), FUNCTIONS["broadcast_to"](b, shape))
    return result if result.ndim == 1 else result.movedim(-1, axisc)


@entry(np.linalg.cross)
def _linalg_cross(x1: Any, x2: Any, /, *, axis: int = -1) -> Any:
    if tensor(x1).shape[axis] != 3 or tensor(x2).shape[axis] != 3:
        raise ValueError("Both input arrays must be (arrays of) 3-dimensional vectors")
    return _cross(x1, x2, axis=axis)


@entry(np.trace)
def _trace(a: Any, offset: int = 0, axis1: int = 0, axis2: int = 1, dtype: Any = None, out: None = None) -> Any:
    return _sum(FUNCTIONS["diagonal"](a, offset, axis1, axis2), -1, dtype)
