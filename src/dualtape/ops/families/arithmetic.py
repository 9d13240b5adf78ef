"""Arithmetic of two or more tensors, broadcast together: sums, products, powers, extremes, selection."""

from __future__ import annotations

from typing import Any

import numpy as np

from ... import errors
from ..._tensor import dtypes
from ..._tensor.tensor import Tensor
from ...arrays.kernels.masks import either, kept
from ...arrays.kernels.numbers import number_array
from ..dispatch import FUNCTIONS
from ..formulas import times_checked
from ..samples import apart, edge, exact, mask, positive, real, sample
from ..table import BILINEAR, BROADCASTING, COMMON, FLOAT, LINEAR, UFUNCS, composite, op

_PAIRS = (
    sample(real(3, 4), real(3, 4)), sample(real(3, 4), real(4)), sample(real(3, 1), real(1, 4)),
    sample(real(), real(2)),
    sample(real(), real()), sample(real(0, 3), real(3)), sample(real(3, 4), 2.5),
    sample(real(3, 4, layout="F"), real(3, 4)),
)  # fmt: skip


multiply, ndarray, single, double = np.multiply, np.ndarray, np.dtype(np.float32), np.dtype(np.float64)


_REAL = {np.float64, np.float32, np.float16, float, int}


def _conjugate(number: Any) -> Any:
    """Return the conjugate; a real number is its own, which NumPy determines slowly."""
    return number if type(number) in _REAL else number.conjugate()


def _product(g: Any, y: Any) -> Any:
    """Return g times the conjugate of an array or a number."""
    if type(y) is ndarray:
        return multiply(g, y.conjugate())
    if type(g) is not ndarray:
        return g * (y if type(y) in _REAL else y.conjugate())
    real = (type(y) is float or type(y) is int) and (g.dtype is single or g.dtype is double)
    return multiply(g, number_array(y, g.dtype) if real else np.asarray(y.conjugate(), g.dtype))


def _divided(g: Any, x: Any, y: Any) -> Any:
    """Return -g * x / y**2, the gradient of a divisor, allocating a single array."""
    if type(g) is not ndarray:
        return -g * _conjugate(x / y / y)
    ratio = np.true_divide(np.asarray(x, y.dtype) if type(x) is not np.ndarray and type(y) is np.ndarray else x, y)
    if type(ratio) is not np.ndarray or ratio.shape != g.shape or ratio.dtype != g.dtype:
        return -g * (ratio / y).conjugate()
    np.true_divide(ratio, y, ratio)
    np.multiply(g, ratio.conjugate(), ratio)
    return np.negative(ratio, ratio)


def _power_gradient(g: Any, x: Any, exponent: Any) -> Any:
    """Return exponent * x ** (exponent - 1) * g; for a number as exponent a single array is allocated."""
    if type(exponent) is np.ndarray or exponent == 0 or x.dtype.kind != "f" or type(exponent) is complex:
        return g * (exponent * _power_below(x, exponent)).conjugate()
    if exponent == 2:
        out = np.multiply(x, np.asarray(2, x.dtype))
    else:
        out = np.power(x, np.asarray(exponent - 1, x.dtype))
        out = np.multiply(out, np.asarray(exponent, x.dtype), *((out,) if type(out) is np.ndarray else ()))
    return np.multiply(g, out, out) if type(out) is np.ndarray else g * out


def _scaled(g: Any, alpha: Any) -> Any:
    return g if alpha == 1 else g * np.conj(alpha)


op("add", lambda x, y, alpha=1: np.add(x, times_checked("alpha", alpha, y)), kind=BROADCASTING, keywords=("alpha",), promote=COMMON,
    jvp=LINEAR,
   vjp=dict(x=lambda g: g, y=_scaled), numpy_forward=np.add, samples=(*_PAIRS, sample(real(3), real(3), alpha=2)),
   doc="""x + alpha * y.

   >>> import dualtape as dt
   >>> dt.add(dt.tensor([1.0, 2.0]), 10, alpha=2)
   tensor([21., 22.])
   """)  # fmt: skip
op("sub", lambda x, y, alpha=1: np.subtract(x, times_checked("alpha", alpha, y)), kind=BROADCASTING, keywords=("alpha",),
    promote=COMMON,
   jvp=LINEAR, vjp=dict(x=lambda g: g, y=lambda g, alpha: -_scaled(g, alpha)), also=("subtract",),
   numpy_forward=np.subtract,
   samples=(*_PAIRS, sample(real(3), real(3), alpha=2)),
   doc="""x - alpha * y.

   >>> import dualtape as dt
   >>> dt.sub(dt.tensor([1.0, 2.0]), 10, alpha=2)
   tensor([-19., -18.])
   """)  # fmt: skip
op("mul", np.multiply, kind=BROADCASTING, promote=COMMON, jvp=BILINEAR, also=("multiply",),
   numpy_vjp=dict(x=_product, y=lambda g, x: _product(g, x)), numpy_scalars=True,
   vjp=dict(x=lambda g, y: g * y.conjugate(), y=lambda g, x: g * x.conjugate()),
   samples=_PAIRS,
   doc="""x * y.

   >>> import dualtape as dt
   >>> dt.mul(dt.tensor([1.0, 2.0]), dt.tensor([3.0, 4.0]))
   tensor([3., 8.])
   """)  # fmt: skip
_div = op("true_divide", np.true_divide, kind=BROADCASTING, promote=FLOAT, node="DivBackward0", public=False,
    method=False,
   inplace=True,
   vjp=dict(x=lambda g, y: g / y.conjugate(), y=lambda g, x, y: -g * (x / y / y).conjugate()),
   numpy_vjp=dict(x=lambda g, y: g / (y.conjugate() if type(y) is ndarray else _conjugate(y)), y=_divided), numpy_scalars=True,
   jvp=dict(x=lambda t, y: t / y, y=lambda t, y, out: -t * out / y),
   samples=(sample(real(3, 4), positive(4)), sample(real(), positive()), sample(real(3), 2.0),
       sample(real(0, 3), positive(3)),
            edge(exact([1.0, 0.0, -1.0]), exact([0.0, 0.0, np.inf]))),
   doc="""x / y.

   >>> import dualtape as dt
   >>> dt.true_divide(dt.tensor([3, 4]), 2)
   tensor([1.5000, 2.0000])
   """)  # fmt: skip


def refuse_bools(name: str, x: Any) -> None:
    """Raise for an op of two boolean tensors that NumPy would compute in int8."""
    if x.dtype.kind == "b":
        raise NotImplementedError(f"{name}: not implemented for two boolean tensors: convert one with .to(...) first")


def _no_zero(name: str, x: Any, y: Any) -> None:
    refuse_bools(name, x)
    if x.dtype.kind in "iu" and np.any(y == 0):
        raise RuntimeError(f"ZeroDivisionError: {name} of integers by zero: compute with floats, or mask the zeros out")


def _floor_divide(x: Any, y: Any) -> Any:
    _no_zero("floor_divide", x, y)
    out = np.floor_divide(x, y)
    return np.where(np.equal(y, 0), np.true_divide(x, y), out).astype(out.dtype) if x.dtype.kind == "f" else out


def _remainder(x: Any, y: Any) -> Any:
    _no_zero("remainder", x, y)
    return np.remainder(x, y)


def _fmod(x: Any, y: Any) -> Any:
    _no_zero("fmod", x, y)
    return np.fmod(x, y)


def _trunc_divide(x: Any, y: Any) -> Any:
    if x.dtype.kind not in "iu":
        return np.trunc(np.true_divide(x, y)).astype(x.dtype)
    _no_zero("div", x, y)
    out = np.floor_divide(x, y)  # by way of floats, large quotients would be rounded
    return out + np.logical_and(out < 0, out * y != x)


def tensor_divisor(x: Any, y: Any) -> int:
    return int(hasattr(y, "dtype"))


_STEP = dict(x=lambda g: g * 0, y=lambda g: g * 0)
_STILL = dict(x=lambda t: t * 0, y=lambda t: t * 0)
_DIVISIONS = (edge(apart(3, 4), exact([0.4, -0.3, 0.25, 2.0])), edge(apart(3), 0.25), edge(apart(), apart()))

floor_divide = op("floor_divide", _floor_divide, kind=BROADCASTING, promote=COMMON, inplace=True,
   vjp=_STEP, jvp=_STILL, samples=_DIVISIONS, complex=False, node="FloorDivideBackward0",
   doc="""The quotient rounded down; its gradient is zero.

   >>> import dualtape as dt
   >>> dt.floor_divide(dt.tensor([7, -7]), 2)
   tensor([ 3, -4])
   """)  # fmt: skip
trunc_divide = op("trunc_divide", _trunc_divide, kind=BROADCASTING, promote=COMMON,
   public=False, method=False, inplace=False, vjp=_STEP, jvp=_STILL, node="DivBackward1", samples=_DIVISIONS[:1],
   torch_name="-", complex=False,
   doc="The quotient rounded towards zero.")  # fmt: skip
op("remainder", _remainder, kind=BROADCASTING, promote=COMMON, node=("RemainderBackward0", "RemainderBackward1"),
    variant=tensor_divisor,
   vjp=dict(x=lambda g: g, y=lambda g, x, y: -g * np.floor_divide(x, y)),
   jvp=dict(x=lambda t: t, y=lambda t, x, y: -t * np.floor_divide(x, y)),
   samples=(sample(apart(3, 4), exact([0.43, -0.31, 0.27, 2.1])), sample(apart(3), 0.29),
       edge(exact([1.0, -1.0]), exact([0.0, 1.0])), edge(exact([1.0, 0.75, -0.75]), exact([0.1, -np.inf, np.inf]))),
   complex=False,
   doc="""What floor division leaves, with the divisor's sign.

   >>> import dualtape as dt
   >>> dt.remainder(dt.tensor([7.0, -7.0]), 4)
   tensor([3., 1.])
   """)  # fmt: skip
op("fmod", _fmod, kind=BROADCASTING, promote=COMMON, node=("FmodBackward0", "FmodBackward1"), variant=tensor_divisor,
   vjp=dict(x=lambda g: g, y=lambda g, x, y: -g * np.trunc(x / y)),
   jvp=dict(x=lambda t: t, y=lambda t, x, y: -t * np.trunc(x / y)),
   samples=(sample(apart(3, 4), exact([0.43, -0.31, 0.27, 2.1])), sample(apart(3), 0.29)), complex=False,
   doc="""What division towards zero leaves, with the dividend's sign.

   >>> import dualtape as dt
   >>> dt.fmod(dt.tensor([7.0, -7.0]), 4)
   tensor([ 3., -3.])
   """)  # fmt: skip


@composite("div", also=("divide",), samples=(
    sample(real(3), positive(3)), edge(apart(3), 0.25, rounding_mode="floor"),
    edge(apart(3), 0.25, rounding_mode="trunc"),
))  # fmt: skip
def div(input: Any, other: Any, *, rounding_mode: str | None = None, out: Any = None) -> Any:
    """``input / other``; with ``rounding_mode`` "floor" or "trunc", rounded down or towards zero.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.div(dt.tensor([7.0, -7.0]), 2, rounding_mode="trunc")
    tensor([ 3., -3.])
    """
    if rounding_mode not in (None, "floor", "trunc"):
        raise RuntimeError(f"div: rounding_mode must be None, 'floor' or 'trunc', got {rounding_mode!r}")
    divide = {None: _div, "floor": floor_divide, "trunc": trunc_divide}[rounding_mode]
    return divide(input, other) if out is None else divide(input, other, out=out)


FUNCTIONS["true_divide"] = Tensor.true_divide = _div  # type: ignore[method-assign]


def _div_(self: Any, other: Any, *, rounding_mode: str | None = None) -> Any:
    """In-place form of :func:`div`.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.ones(2).div_(4)
    tensor([0.2500, 0.2500])
    """
    if rounding_mode is None:
        return self.true_divide_(other)
    result = div(self, other, rounding_mode=rounding_mode)
    if not dtypes.can_cast(result.dtype, self.dtype):
        raise errors.dtype_write("div_", result.dtype, self.dtype)
    return self.copy_(result)


Tensor.div_ = Tensor.divide_ = _div_  # type: ignore[method-assign]


op("rsub", lambda x, y, alpha=1: np.subtract(y, times_checked("alpha", alpha, x)), kind=BROADCASTING, keywords=("alpha",),
    promote=COMMON, method=False,
   inplace=False, jvp=LINEAR, node=("RsubBackward1", "RsubBackward0"), variant=lambda x, y,
   alpha=1: int(hasattr(y, "dtype")),
   vjp=dict(x=lambda g, alpha: -_scaled(g, alpha), y=lambda g: g),
   samples=(sample(real(3), real(3)), sample(real(3), 2.0, alpha=3), sample(real(3, 4), real(4))),
   doc="""y - alpha * x.

   >>> import dualtape as dt
   >>> dt.rsub(dt.tensor([1.0]), 5)
   tensor([4.])
   """)  # fmt: skip


# --- powers ---------------------------------------------------------------------------------------


def _negative_power() -> RuntimeError:
    return RuntimeError("Integers to negative integer powers are not allowed: convert the base to a float type")


def _pow(x: Any, exponent: Any) -> Any:
    if x.dtype.kind == "u" and not exponent.ndim and exponent > np.iinfo(x.dtype).max // 2:
        raise _negative_power()  # a negative number in an unsigned type
    if x.dtype.kind == "b" and exponent.dtype.kind == "b":
        if exponent.ndim:
            refuse_bools("pow", x)
        return np.logical_or(x, np.logical_not(exponent))
    if x.dtype.kind in "iu" and (exponent < 0).any():
        if not exponent.ndim:
            raise _negative_power()
        odd = np.where(exponent % 2 == 0, 1, x)  # 1 and -1 are their own inverses, the rest rounds to 0
        return np.where(exponent < 0, np.where(np.abs(x) == 1, odd, 0), np.power(x, np.maximum(exponent, 0))).astype(
            x.dtype
        )
    return np.power(x, exponent)


def _power_below(x: Any, exponent: Any) -> Any:
    """Return x ** (exponent - 1), and 1 where the exponent is 0: there the factor in front is 0, and 0 * inf must not
    be NaN.
    """
    if isinstance(exponent, (int, float, complex)):
        return np.power(x, exponent - 1) if exponent != 0 else np.ones_like(x)
    zero = exponent == 0
    return np.where(zero, 1, np.power(x, np.where(zero, 1, exponent - 1)))


def _log_power(x: Any, exponent: Any, out: Any) -> Any:
    """Return out * log(x), and 0 for 0 ** (a positive power): the limit, where log alone is infinite."""
    base = x * np.ones_like(out)
    flat = np.logical_and(base == 0, np.real(exponent) >= 0)
    return np.where(flat, 0, out * np.log(np.where(flat, 1, base)))


_SCALARS = (int, float, complex)

op("pow", _pow, kind=BROADCASTING, promote=COMMON, node=("PowBackward0", "PowBackward1", "PowBackward2"),
   variant=lambda x, exponent: 0 if isinstance(exponent, _SCALARS) else 2 if isinstance(x, _SCALARS) else 1,
   vjp=dict(x=lambda g, x, exponent: g * (exponent * _power_below(x, exponent)).conjugate(),
            exponent=lambda g, x, exponent, out: g * _log_power(x, exponent, out).conjugate()),
   numpy_vjp=dict(x=_power_gradient),
   jvp=dict(x=lambda t, x, exponent: t * (exponent * _power_below(x, exponent)),
            exponent=lambda t, x, exponent, out: t * _log_power(x, exponent, out)),
   aliases={"other": "exponent"},
   samples=(sample(positive(3, 4), real(4)), sample(positive(), real()), sample(real(3), 2), sample(real(3), 3.0),
       sample(positive(3), 0.5),
            sample(positive(3), -1.5), sample(2.0, real(3)), sample(real(0, 3), 2), sample(real(3), 0),
            sample(real(3), 1),
            edge(exact([0.0, 0.0, 0.0, 2.0]), exact([0.0, 1.0, 2.0, 0.0])), edge(exact([0.0, 1.0]), 0),
            edge(0.0, exact([0.0, 1.0, 2.0])),
            edge(exact([0.0, -1.0]), 2), edge(exact([0.0, 4.0]), 0.5)),
   doc="""Each element to a power.

   >>> import dualtape as dt
   >>> dt.pow(dt.tensor([1.0, 2.0, 3.0]), 2)
   tensor([1., 4., 9.])
   """)  # fmt: skip
UFUNCS[np.power] = FUNCTIONS["pow"]
UFUNCS[np.fmod] = FUNCTIONS["fmod"]


# --- extremes and selection -----------------------------------------------------------------------


def _extreme(name: str, forward: Any, wins: Any, doc: str) -> None:
    """Declare the larger or smaller of two elements; at ties each gets half of the gradient."""

    def share(g: Any, x: Any, y: Any) -> Any:
        return np.where(x == y, g * 0.5, np.where(wins(y, x), 0, g))

    op(name, forward, kind=BROADCASTING, promote=COMMON, inplace=False, complex=False,
       vjp=dict(x=lambda g, x, y: share(g, x, y), y=lambda g, x, y: share(g, y, x)),
       jvp=dict(x=lambda t, x, y: share(t, x, y), y=lambda t, x, y: share(t, y, x)),
       samples=(sample(apart(3, 4), real(4)), sample(apart(), real()),
           edge(exact([1.0, 2.0, 3.0]), exact([1.0, 3.0, 2.0])),
                edge(exact([np.nan, 1.0, np.inf]), exact([1.0, np.nan, np.inf]))), doc=doc)  # fmt: skip


_extreme("maximum", np.maximum, lambda a, b: a > b, """The larger of each pair; NaN if either is.

   >>> import dualtape as dt
   >>> dt.maximum(dt.tensor([1.0, 5.0]), dt.tensor([3.0, 2.0]))
   tensor([3., 5.])
   """)  # fmt: skip
_extreme("minimum", np.minimum, lambda a, b: a < b, """The smaller of each pair; NaN if either is.

   >>> import dualtape as dt
   >>> dt.minimum(dt.tensor([1.0, 5.0]), dt.tensor([3.0, 2.0]))
   tensor([1., 2.])
   """)  # fmt: skip

_where_op = op("where_op", lambda condition, x, y: either(condition, x, y), kind=BROADCASTING, node="WhereBackward0",
    public=False,
   method=False, inplace=False, constants=("condition",), promote=COMMON, torch_name="where",
   vjp=dict(x=lambda g, condition: np.where(condition, g, 0), y=lambda g, condition: np.where(condition, 0, g)),
   numpy_vjp=dict(x=lambda g, condition: kept(g, condition), y=lambda g, condition: kept(g, condition, False)),
   jvp=dict(x=lambda t, condition: np.where(condition, t, 0), y=lambda t, condition: np.where(condition, 0, t)),
   samples=(sample(mask(3, 4), real(3, 4), real(4)), sample(mask(3, 1), real(4), real()), sample(mask(3), real(3), 0.5),
            edge(mask(3), exact([np.nan, np.inf, 1.0]), exact([1.0, 2.0, np.nan]))),
   doc="x where the condition holds, else y.")  # fmt: skip


@composite("where", samples=(sample(mask(3), real(3), real(3)),), method=False)
def where(condition: Any, input: Any = None, other: Any = None, *, out: Any = None) -> Any:
    """``input`` where the condition holds, else ``other``; with the condition alone, the indices where it holds.

    Examples
    --------
    >>> import dualtape as dt
    >>> x = dt.tensor([1.0, -2.0])
    >>> dt.where(x > 0, x, 0.0)
    tensor([1., 0.])
    """
    if input is None and other is None:
        return FUNCTIONS["nonzero"](condition, as_tuple=True)
    if input is None or other is None:
        raise TypeError("where() takes a condition alone, or a condition and two values; got a condition and one value")
    if getattr(condition, "dtype", None) != np.bool_:
        if getattr(condition, "dtype", None) != np.uint8:
            raise RuntimeError(
                f"where expected condition to be a boolean tensor, but got {getattr(condition, 'dtype', type(condition))}"
            )
        errors.warn("where: a condition of dtype uint8 is deprecated: use one of dtype bool")
    return _where_op(condition, input, other) if out is None else _where_op(condition, input, other, out=out)


def _where_method(self: Any, condition: Any, other: Any) -> Any:
    """``self`` where the condition holds, else ``other``.

    Examples
    --------
    >>> import dualtape as dt
    >>> x = dt.tensor([1.0, -2.0])
    >>> x.where(x > 0, 0.0)
    tensor([1., 0.])
    """
    return where(condition, self, other)


Tensor.where = _where_method  # type: ignore[method-assign]


def _inside(x: Any, min: Any, max: Any) -> Any:
    """Return where the gradient of clamp passes: between the bounds, and on them."""
    inside = None
    if min is not None:
        inside = x >= min
    if max is not None:
        inside = x <= max if inside is None else np.logical_and(inside, x <= max)
    return inside


def _clamp(x: Any, min: Any = None, max: Any = None) -> Any:
    if min is None and max is None:
        raise RuntimeError("clamp: at least one of 'min' or 'max' must not be None")
    if x.dtype.kind == "c":
        raise NotImplementedError("clamp is not supported for complex types: they have no order")
    out = x if min is None else np.maximum(x, min)
    return out if max is None else np.minimum(out, max)


op("clamp", _clamp, kind=BROADCASTING, promote=COMMON, node=("ClampBackward0", "ClampBackward1"), also=("clip",),
   variant=lambda x, min, max: int(not (hasattr(min, "dtype") or hasattr(max, "dtype"))),
   vjp=dict(x=lambda g, x, min, max: np.where(_inside(x, min, max), g, 0),
            min=lambda g, x, min, max: np.where(_below(x, min, max), g, 0),
            max=lambda g, x, min, max: np.where(_above(x, min, max), g, 0)),
   numpy_vjp=dict(x=lambda g, x, min, max: kept(g, _inside(x, min, max))),
   jvp=dict(x=lambda t, x, min, max: np.where(_inside(x, min, max), t, 0),
            min=lambda t, x, min, max: np.where(_below(x, min, max), t, 0),
            max=lambda t, x, min, max: np.where(_above(x, min, max), t, 0)),
   samples=(sample(apart(3, 4), -0.4, 0.5), sample(apart(3, 4), min=-0.2), sample(apart(3, 4), max=0.21),
       sample(apart(), 0.0, 1.0),
            sample(apart(3, 4), real(4), exact([0.9, 2.0, 0.6, -3.0])), edge(exact([0.0, 1.0, 2.0, np.nan]), 0.0, 1.0)),
   complex=False,
   doc="""Each element, but at least ``min`` and at most ``max``; the gradient passes where nothing was cut, the bounds
   included.

   >>> import dualtape as dt
   >>> dt.clamp(dt.tensor([-2.0, 0.5, 3.0]), 0, 1)
   tensor([0.0000, 0.5000, 1.0000])
   """)  # fmt: skip


def _below(x: Any, min: Any, max: Any) -> Any:
    """Return where the lower bound is the result."""
    return x < min if max is None else np.logical_and(x < min, min < max)


def _above(x: Any, min: Any, max: Any) -> Any:
    """Return where the upper bound is the result."""
    return x > max if min is None else np.logical_or(x > max, max < min)


_BOUNDED = (sample(apart(3, 4), 0.2), sample(apart(3, 4), real(4)), edge(exact([0.0, 1.0, np.nan]), 0.0))
op("clamp_min", lambda x, min: _clamp(x, min), kind=BROADCASTING, promote=COMMON, complex=False,
   node=("ClampMinBackward0", "ClampMinBackward1"), variant=tensor_divisor,
   vjp=dict(x=lambda g, x, min: np.where(x >= min, g, 0), min=lambda g, x, min: np.where(x < min, g, 0)),
   jvp=dict(x=lambda t, x, min: np.where(x >= min, t, 0), min=lambda t, x, min: np.where(x < min, t, 0)),
   samples=_BOUNDED,
   doc="""Each element, but at least ``min``.

   >>> import dualtape as dt
   >>> dt.clamp_min(dt.tensor([-2.0, 3.0]), 0)
   tensor([0., 3.])
   """)  # fmt: skip
op("clamp_max", lambda x, max: _clamp(x, None, max), kind=BROADCASTING, promote=COMMON, complex=False,
   node=("ClampMaxBackward0", "ClampMaxBackward1"), variant=tensor_divisor,
   vjp=dict(x=lambda g, x, max: np.where(x <= max, g, 0), max=lambda g, x, max: np.where(x > max, g, 0)),
   jvp=dict(x=lambda t, x, max: np.where(x <= max, t, 0), max=lambda t, x, max: np.where(x > max, t, 0)),
   samples=_BOUNDED,
   doc="""Each element, but at most ``max``.

   >>> import dualtape as dt
   >>> dt.clamp_max(dt.tensor([-2.0, 3.0]), 0)
   tensor([-2.,  0.])
   """)  # fmt: skip
