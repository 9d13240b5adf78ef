"""Elementwise functions.

Most are ops under the standard's name, listed in two tables; either of two arguments may be a number, and 0-d arrays
promote as others do.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import dualtape as dt

from .._tensor.tensor import Tensor
from . import types

# the standard's name, and the op's where it is another
_UNARY = {
    "bitwise_invert": "bitwise_not",
    **{
        name: name
        for name in """
        abs acos acosh asin asinh atan atanh ceil cos cosh exp expm1 floor imag isfinite isinf isnan log log1p log2
        log10 logical_not negative positive reciprocal round signbit sin sinh sqrt square tan tanh trunc
        """.split()
    },
}
_BINARY = {
    **{
        name: name
        for name in """
        add atan2 bitwise_and bitwise_or bitwise_xor copysign divide hypot logaddexp logical_and logical_or
        logical_xor maximum minimum multiply nextafter pow remainder subtract
        """.split()
    },
}
# ops whose second operand may be a number, which follows the array as the standard says
_TAKING_NUMBERS = frozenset(
    """
    add bitwise_and bitwise_left_shift bitwise_or bitwise_right_shift bitwise_xor divide equal floor_divide greater
    greater_equal less less_equal multiply not_equal pow remainder subtract
    """.split()
)

_COMPARISONS = dict(equal="eq", greater="gt", greater_equal="ge", less="lt", less_equal="le", not_equal="ne")
_SHIFTS = ("bitwise_left_shift", "bitwise_right_shift")

__all__ = ["clip", "conj", "floor_divide", "real", "sign", *_COMPARISONS, *_SHIFTS, *_UNARY, *_BINARY]  # noqa: PLE0605 - the tables above


def _unary(name: str, op: Callable[[Tensor], Tensor]) -> Callable[[Tensor], Tensor]:
    def function(x: Tensor, /) -> Tensor:
        return op(x)

    return _named(function, name, op)


def _binary(name: str, op: Callable[[Any, Any], Tensor]) -> Callable[[Any, Any], Tensor]:
    numbers = (bool, int, float, complex) if name in _TAKING_NUMBERS else ()

    def function(x1: Any, x2: Any, /) -> Tensor:
        if type(x2) in numbers and isinstance(x1, Tensor):
            return op(x1, x2)
        if not (isinstance(x1, Tensor) and isinstance(x2, Tensor) and (x1.dtype == x2.dtype or (x1.ndim and x2.ndim))):
            if not (isinstance(x1, Tensor) or isinstance(x2, Tensor)):
                raise TypeError(f"{name} takes at least one array, got {type(x1).__name__} and {type(x2).__name__}")
            x1, x2 = types.of_one_type(x1, x2)
        return op(x1, x2)

    return _named(function, name, op)


def _named(function: Any, name: str, op: Callable) -> Any:
    function.__name__ = function.__qualname__ = name
    function.__doc__ = op.__doc__
    return function


for _names, _made in ((_UNARY, _unary), (_BINARY, _binary)):
    for _name, _op in _names.items():
        globals()[_name] = _made(_name, getattr(dt, _op))


def _comparison(name: str, op: Callable[[Any, Any], Tensor]) -> Callable[[Any, Any], Tensor]:
    promoted = _binary(name, op)

    def function(x1: Any, x2: Any, /) -> Tensor:
        if isinstance(x1, Tensor) and isinstance(x2, Tensor):
            first, second = x1.detach()._array, x2.detach()._array
            if {first.dtype.kind, second.dtype.kind} == {"i", "u"}:  # no type holds both: NumPy compares exactly
                return dt.asarray(getattr(np, name)(first, second))
        return promoted(x1, x2)

    return _named(function, name, op)


def _shift(name: str, op: Callable[[Any, Any], Tensor]) -> Callable[[Any, Any], Tensor]:
    """Return a shift as NumPy has it: by as many bits as there are, or more, nothing (or the sign) is left."""
    function_of_arrays = getattr(np, name.removeprefix("bitwise_"))

    def function(x1: Any, x2: Any, /) -> Tensor:
        first, second = types.of_one_type(x1, x2)
        found = function_of_arrays(first.detach()._array, second.detach()._array)
        return dt.asarray(found, dtype=first.dtype)

    return _named(function, name, op)


for _name, _op in _COMPARISONS.items():
    globals()[_name] = _comparison(_name, getattr(dt, _op))
for _name in _SHIFTS:
    globals()[_name] = _shift(_name, getattr(dt, _name))

_divided_down = _binary("floor_divide", dt.floor_divide)


def floor_divide(x1: Any, x2: Any, /) -> Tensor:
    """The quotient rounded down; where a divisor is zero or an operand infinite, what NumPy gives.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.array_api.floor_divide(dt.tensor([-7.0, 7.0]), 2.0)
    tensor([-4.,  3.])
    """
    first, second = types.of_one_type(x1, x2)
    if first.dtype.is_floating_point:
        with np.errstate(all="ignore"):
            found = np.floor_divide(first.detach()._array, second.detach()._array)
        result = dt.asarray(found, dtype=first.dtype)
        return (
            result if not (first.requires_grad or second.requires_grad) else result + 0 * _divided_down(first, second)
        )
    if not first.dtype.is_complex and bool((second == 0).any()):
        with np.errstate(all="ignore"):
            return dt.asarray(np.floor_divide(first._array, second._array), dtype=first.dtype)
    return _divided_down(first, second)


def sign(x: Tensor, /) -> Tensor:
    """The sign: -1, 0 or 1, NaN of NaN; of a complex number, the number divided by its absolute value.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.array_api.sign(dt.tensor([-2.0, 0.0, float("nan")]))
    tensor([-1.,  0., nan])
    """
    found = dt.sgn(x)
    return dt.where(dt.isnan(x), x, found) if x.dtype.is_floating_point or x.dtype.is_complex else found


def clip(x: Tensor, /, min: Any = None, max: Any = None) -> Tensor:
    """``x`` where it is between two bounds, else the bound: numbers or arrays; in the type of ``x``.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.array_api.clip(dt.tensor([1.0, 5.0]), max=dt.tensor(2.0))
    tensor([1., 2.])
    """
    if min is None and max is None:
        return x.clone()
    low, high = (b if b is None else dt.asarray(b, dtype=x.dtype, device=x.device) for b in (min, max))
    return dt.clamp(x, low, high)


def conj(x: Tensor, /) -> Tensor:
    """The complex conjugate, in memory of its own.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.array_api.conj(dt.tensor([1j]))
    tensor([0.-1.j])
    """
    return dt.conj_physical(x)


def real(x: Tensor, /) -> Tensor:
    """The real part; of a real array, itself.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.array_api.real(dt.tensor([1 + 2j]))
    tensor([1.])
    """
    return dt.real(x) if x.dtype.is_complex else x
