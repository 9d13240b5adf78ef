"""NumPy's ufuncs on tensors beyond the plain call: ``out=``, ``where=``, ``dtype=``, and the methods.

A method that equals an op (``np.add.reduce`` is a sum) calls that op; all others follow NumPy's definition, the ufunc
applied from left to right.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import reduce
from itertools import accumulate
from typing import Any

import numpy as np

from ..._tensor.tensor import Tensor, raw, wrap
from ...arrays.lazy import special
from ..dispatch import FUNCTIONS
from ..table import UFUNCS, Registry
from . import as_arrays, write
from .registry import BY_VALUE, axes_of, by_value, op, tensor
from .vocabulary import _all, _any, _max, _min, _prod, _sum

_UNSET = object()
_DEFAULTS = {"casting": "same_kind", "order": "K", "subok": True}  # of what has no other meaning on tensors
_REDUCTIONS = {np.add: _sum, np.multiply: _prod, np.maximum: _max, np.minimum: _min}
_VERDICTS = {np.logical_and: _all, np.logical_or: _any}
_CUMULATIVE = {np.add: "cumsum", np.multiply: "cumprod"}


def call(ufunc: np.ufunc, method: str, inputs: tuple, kwargs: dict) -> Any:
    """Run ``ufunc.method(*inputs, **kwargs)`` on tensors."""
    function = _function_of(ufunc)
    if function is None:
        if ufunc in BY_VALUE:
            inputs, kwargs = _values(ufunc, inputs), {key: _values(ufunc, value) for key, value in kwargs.items()}
        else:
            inputs, kwargs = as_arrays(ufunc, inputs), as_arrays(ufunc, kwargs)
        return getattr(ufunc, method)(*inputs, **kwargs)
    if method == "__call__":
        return _called(ufunc, function, inputs, **kwargs)
    return _METHODS[method](ufunc, function, *inputs, **kwargs)


def _function_of(ufunc: np.ufunc) -> Callable | None:
    if ufunc not in UFUNCS and ufunc not in BY_VALUE:
        Registry.load("")  # it may be of any family that has not been read yet
        if "scipy.special" in sys.modules and getattr(special, ufunc.__name__, None) is ufunc:
            from .special import register

            register()
    return UFUNCS.get(ufunc)


def _values(ufunc: np.ufunc, value: Any) -> Any:
    if isinstance(value, tuple):
        return tuple(_values(ufunc, one) for one in value)
    if isinstance(value, Tensor) and type(value._array) is not np.ndarray:
        raise TypeError(f"np.{ufunc.__name__} looks at values, which tensors in vmap or on a device do not show")
    return raw(value)


def _called(
    ufunc: np.ufunc,
    function: Callable,
    inputs: tuple,
    out: Any = None,
    where: Any = True,
    dtype: Any = None,
    **options: Any,
) -> Any:
    _check_options(ufunc, options)
    if dtype is not None:
        inputs = tuple(i.to(np.dtype(dtype)) if isinstance(i, Tensor) else i for i in inputs)
    targets = out if isinstance(out, tuple) else (out,)
    if where is not True:
        if out is None or None in targets:
            raise TypeError(
                f"np.{ufunc.__name__}: where= leaves elements of a new tensor unset; give out=, or use np.where"
            )
    elif out is None:
        return function(*inputs)
    elif len(targets) == 1 and inputs[0] is targets[0] and isinstance(targets[0], Tensor):
        inplace = getattr(targets[0], f"{function.__name__}_", None)
        if inplace is not None:
            return inplace(*inputs[1:])
    if any(value is target for value in inputs for target in targets):
        inputs = tuple(i.clone() if isinstance(i, Tensor) else i for i in inputs)  # which the write must not change
    results = function(*inputs)
    results = results if isinstance(results, tuple) else (results,)
    written = []
    for target, result in zip(targets, results, strict=True):
        if where is not True:
            result = FUNCTIONS["where"](tensor(where), result, tensor(target))
        written.append(result if target is None else write(ufunc.__name__, target, _spread(result, target)))
    return written[0] if len(written) == 1 else tuple(written)


def _spread(result: Any, target: Any) -> Any:
    """Return the values to write to each element of ``target``: NumPy lets ``out`` be larger than the result."""
    if result.shape == target.shape:
        return result
    return FUNCTIONS["broadcast_to"](result, tuple(target.shape))


def _check_options(ufunc: np.ufunc, options: dict) -> None:
    for name, value in options.items():
        if name not in _DEFAULTS or value != _DEFAULTS[name]:
            raise TypeError(f"np.{ufunc.__name__} on tensors: {name}={value!r} is not supported")


# --- methods --------------------------------------------------------------------------------------


def _pair(ufunc: np.ufunc, method: str) -> None:
    if ufunc.nin != 2 or ufunc.nout != 1 or ufunc.signature is not None:
        raise ValueError(f"np.{ufunc.__name__}.{method}: only ufuncs of two arguments and one result have it")


def _target(ufunc: np.ufunc, out: Any, result: Any) -> Any:
    out = out[0] if isinstance(out, tuple) else out
    return result if out is None else write(ufunc.__name__, out, result)


def _reduce(
    ufunc: np.ufunc,
    function: Callable,
    array: Any,
    axis: Any = 0,
    dtype: Any = None,
    out: Any = None,
    keepdims: bool = False,
    initial: Any = None,
    where: Any = True,
) -> Any:
    _pair(ufunc, "reduce")
    x = tensor(array) if dtype is None else tensor(array).to(dtype)
    if ufunc in _REDUCTIONS:
        return _target(ufunc, out, _REDUCTIONS[ufunc](x, axis, keepdims=keepdims, initial=initial, where=where))
    if ufunc in _VERDICTS and initial is None:
        return _target(ufunc, out, _VERDICTS[ufunc](x, axis, keepdims=keepdims, where=None if where is True else where))
    if where is not True:
        raise TypeError(f"np.{ufunc.__name__}.reduce on tensors: where= is not supported")
    axes = axes_of(axis, x.ndim)
    if ufunc is np.logaddexp and initial is None and axes and x._array.size:
        return _target(ufunc, out, op("logsumexp")(x, axes, keepdims))
    if len(axes) > 1 and ufunc.identity is None:
        raise ValueError(
            f"reduction operation {ufunc.__name__!r} is not reorderable, so at most one axis may be specified"
        )
    shape = tuple(1 if d in axes else n for d, n in enumerate(x._array.shape))
    for one in sorted(axes, reverse=True):
        parts = list(x.unbind(one))
        if initial is not None and one == max(axes):
            parts.insert(0, FUNCTIONS["broadcast_to"](tensor(initial).to(x.dtype), tuple(parts[0].shape)))
        if not parts:
            if ufunc.identity is None:
                raise ValueError(f"zero-size array to reduction operation {ufunc.__name__} which has no identity")
            left = x._array.shape[:one] + x._array.shape[one + 1 :]
            parts = [wrap(np.full(left, ufunc.identity, x._array.dtype))]
        x = reduce(function, parts)
    return _target(ufunc, out, x.reshape(shape) if keepdims else x)


def _accumulate(
    ufunc: np.ufunc, function: Callable, array: Any, axis: int = 0, dtype: Any = None, out: Any = None
) -> Any:
    _pair(ufunc, "accumulate")
    x = tensor(array) if dtype is None else tensor(array).to(dtype)
    (axis,) = axes_of(axis, x.ndim)
    if ufunc in _CUMULATIVE:
        return _target(ufunc, out, FUNCTIONS[_CUMULATIVE[ufunc]](x, axis))
    parts = list(accumulate(x.unbind(axis), function))
    return _target(ufunc, out, FUNCTIONS["stack"](parts, axis) if parts else x.clone())


def _reduceat(
    ufunc: np.ufunc, function: Callable, array: Any, indices: Any, axis: int = 0, dtype: Any = None, out: Any = None
) -> Any:
    _pair(ufunc, "reduceat")
    x = tensor(array) if dtype is None else tensor(array).to(dtype)
    (axis,) = axes_of(axis, x.ndim)
    starts = np.asarray(raw(indices)).tolist()
    size = x._array.shape[axis]
    if any(not 0 <= start < size for start in starts):
        raise IndexError(f"index out of bounds in np.{ufunc.__name__}.reduceat: {starts} for an axis of size {size}")
    parts = []
    for start, stop in zip(starts, [*starts[1:], size], strict=True):
        part = FUNCTIONS["narrow"](x, axis, start, max(stop - start, 1))
        parts.append(_reduce(ufunc, function, part, axis, keepdims=True))
    return _target(ufunc, out, FUNCTIONS["cat"](parts, axis) if parts else FUNCTIONS["narrow"](x, axis, 0, 0))


def _outer(ufunc: np.ufunc, function: Callable, a: Any, b: Any, /, out: Any = None, dtype: Any = None) -> Any:
    if ufunc.nin != 2 or ufunc.signature is not None:
        raise ValueError(f"np.{ufunc.__name__}.outer: only ufuncs of two arguments have it")
    x, y = (tensor(v) if dtype is None else tensor(v).to(dtype) for v in (a, b))
    result = function(x.reshape((*x.shape, *(1,) * y.ndim)), y)
    return _target(ufunc, out, result) if ufunc.nout == 1 else result


def _at(ufunc: np.ufunc, function: Callable, a: Any, indices: Any, b: Any = _UNSET) -> None:
    """Apply in place at ``indices``, once for each time an index occurs."""
    if not isinstance(a, Tensor):
        return ufunc.at(a, raw(indices), *(() if b is _UNSET else as_arrays(ufunc, (b,))))
    if ufunc in (np.add, np.subtract):
        where = tuple(tensor(i) for i in (indices if isinstance(indices, tuple) else (indices,)))
        if all(i._array.dtype.kind in "iu" for i in where):
            change = tensor(b).to(a.dtype)
            a.index_put_(where, change if ufunc is np.add else -change, accumulate=True)
            return None
    places = np.arange(a._array.size).reshape(a._array.shape)[_plain_index(indices)]
    elements = list(a.clone().reshape(-1).unbind(0))
    others = (
        [()] * places.size
        if b is _UNSET
        else [(value,) for value in FUNCTIONS["broadcast_to"](tensor(b), places.shape).reshape(-1).unbind(0)]
    )
    for place, other in zip(places.reshape(-1).tolist(), others, strict=True):
        elements[place] = function(elements[place], *other).to(a.dtype)
    a.copy_(FUNCTIONS["stack"](elements).reshape(tuple(a.shape)))
    return None


def _plain_index(indices: Any) -> Any:
    return tuple(map(raw, indices)) if isinstance(indices, tuple) else raw(indices)


_METHODS: dict[str, Callable] = {
    "reduce": _reduce,
    "accumulate": _accumulate,
    "reduceat": _reduceat,
    "outer": _outer,
    "at": _at,
}


# --- ufuncs that PyTorch has no op for ------------------------------------------------------------


def _modf(x: Any) -> tuple:
    whole = FUNCTIONS["trunc"](tensor(x))
    return FUNCTIONS["where"](FUNCTIONS["isinf"](x), 0.0, x - whole), whole


def _float_power(x: Any, y: Any) -> Any:
    x, y = (v.to(np.float64) if isinstance(v, Tensor) and v._array.dtype.kind not in "fc" else v for v in (x, y))
    return FUNCTIONS["pow"](x, y)


def _divmod(x: Any, y: Any) -> tuple:
    return FUNCTIONS["floor_divide"](tensor(x), y), FUNCTIONS["remainder"](tensor(x), y)


def _vecdot(x: Any, y: Any) -> Any:
    return op("linalg.vecdot")(tensor(x), tensor(y))


def _matvec(a: Any, x: Any) -> Any:
    return FUNCTIONS["matmul"](tensor(a), tensor(x).unsqueeze(-1)).squeeze(-1)


def _vecmat(x: Any, a: Any) -> Any:
    return FUNCTIONS["matmul"](FUNCTIONS["conj"](tensor(x)).unsqueeze(-2), tensor(a)).squeeze(-2)


def _clip(a: Any, low: Any, high: Any) -> Any:
    return FUNCTIONS["clamp"](tensor(a), tensor(low), tensor(high))


def _of_tensors(name: str) -> Callable:
    def function(*inputs: Any) -> Any:
        return op(name)(*map(tensor, inputs))

    function.__name__ = name
    return function


_clip_ufunc = np._core.umath.clip  # type: ignore[attr-defined] # what the method clip of arrays calls
UFUNCS.update(
    {
        np.modf: _modf,
        np.divmod: _divmod,
        np.vecdot: _vecdot,
        _clip_ufunc: _clip,
        np.deg2rad: _of_tensors("deg2rad"),
        np.radians: _of_tensors("deg2rad"),
        np.rad2deg: _of_tensors("rad2deg"),
        np.degrees: _of_tensors("rad2deg"),
        np.cbrt: _of_tensors("cbrt"),
        np.ldexp: _of_tensors("ldexp"),
        np.frexp: _of_tensors("frexp"),
        np.logaddexp2: _of_tensors("logaddexp2"),
        np.heaviside: _of_tensors("heaviside"),
        np.nextafter: _of_tensors("nextafter"),
        np.gcd: _of_tensors("gcd"),
        np.float_power: _float_power,
        np.lcm: _of_tensors("lcm"),
    }
)
for _name, _function in (("matvec", _matvec), ("vecmat", _vecmat)):
    if hasattr(np, _name):  # NumPy 2.2
        UFUNCS[getattr(np, _name)] = _function
by_value(np.bitwise_count, np.isnat)
