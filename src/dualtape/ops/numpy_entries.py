"""NumPy's functions on tensors: ``np.tanh(x)`` of a tensor is a tensor with history.

Ufuncs come from the op table. The functions here translate NumPy's signature to the op's; each name of the
vocabulary has one, so that formulas run on tensors.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .._tensor import creation, dtypes
from .._tensor.tensor import Tensor, raw, wrap
from ..arrays import Absent, module_of
from ..autograd.tangents import active, tangent
from ..modes import current
from ..overrides.watching import overridable
from .dispatch import FUNCTIONS
from .table import TABLE, UFUNCS, Registry

ENTRIES: dict[Callable, Callable] = {}
CREATIONS: dict[Callable, Callable] = {}  # called with the tensor given as like=


def call_ufunc(ufunc: np.ufunc, method: str, inputs: tuple, kwargs: dict) -> Any:
    """``ufunc`` on tensors."""
    if ufunc not in UFUNCS:
        Registry.load("")  # it may be of any family that has not been read yet
    function = UFUNCS.get(ufunc)
    if function is None:
        return getattr(ufunc, method)(*_as_arrays(ufunc.__name__, inputs), **_as_arrays(ufunc.__name__, kwargs))
    if method == "__call__":
        out = kwargs.pop("out", None)
        dtype = kwargs.pop("dtype", None)
        if kwargs:
            raise TypeError(f"np.{ufunc.__name__} on tensors takes out= and dtype= only, got {', '.join(kwargs)}")
        if out is not None:
            return _ufunc_out(ufunc, function, inputs, out)
        if dtype is not None:
            inputs = tuple(i.to(dtype) if isinstance(i, Tensor) else i for i in inputs)
        return function(*inputs)
    reduction = {"add": "sum", "multiply": "prod", "maximum": "amax", "minimum": "amin"}.get(ufunc.__name__)
    if method == "reduce" and reduction is not None and not isinstance(kwargs.get("out"), tuple):
        axis = kwargs.get("axis", inputs[1] if len(inputs) > 1 else 0)
        x = inputs[0]
        if axis is None:
            axis = tuple(range(x.ndim))
        if reduction == "prod":
            return _prod(x, axis, keepdims=kwargs.get("keepdims", False))
        return x if axis == () else FUNCTIONS[reduction](x, axis, kwargs.get("keepdims", False))
    if method == "accumulate" and ufunc.__name__ in ("add", "multiply"):
        return FUNCTIONS["cumsum" if ufunc.__name__ == "add" else "cumprod"](inputs[0], kwargs.get("axis", 0))
    raise TypeError(f"np.{ufunc.__name__}.{method} is not supported on tensors; use the dualtape function for it")


def _ufunc_out(ufunc: np.ufunc, function: Callable, inputs: tuple, out: tuple) -> Any:
    target = out[0]
    if not isinstance(target, Tensor):
        with np.errstate(all="ignore"):
            for value in inputs:
                if isinstance(value, Tensor) and value.requires_grad:
                    raise RuntimeError(
                        f"np.{ufunc.__name__}: an ndarray as out= cannot carry the history of a tensor that requires"
                        " grad; use"
                        " tensor.detach(), or pass a tensor"
                    )
            return ufunc(*(raw(i) for i in inputs), out=target)
    if inputs and inputs[0] is target:
        inplace = getattr(target, f"{function.__name__}_", None)
        if inplace is not None:
            return inplace(*inputs[1:])
    return target.copy_(function(*inputs))  # type: ignore[attr-defined]


def call_function(like: Tensor, func: Callable, args: tuple, kwargs: dict) -> Any:
    """A NumPy function on tensors."""
    if func in CREATIONS:
        return CREATIONS[func](like, *args, **kwargs)
    if kwargs.get("out") is not None:
        raise TypeError(f"np.{func.__name__} on tensors takes no out=: assign the result, or write it with copy_")
    entry = ENTRIES.get(func)
    if entry is None:
        name = getattr(func, "__name__", str(func))
        return func(*_as_arrays(name, args), **_as_arrays(name, kwargs))
    return entry(*args, **kwargs)


def _as_arrays(name: str, values: Any) -> Any:
    """The arguments of a function that knows arrays only, as arrays: of tensors that have no derivative to carry."""
    if isinstance(values, Tensor):
        if values.requires_grad:
            raise RuntimeError(
                f"np.{name}: Can't call numpy() on Tensor that requires grad: np.{name} has no derivative here. Use the"
                " dualtape function for it, or call it on tensor.detach().numpy()"
            )
        if type(values._array) is not np.ndarray or current().levels and is_moving(values):
            raise TypeError(
                f"np.{name} has no entry for tensors with tangents, in vmap, or on a device: use the dualtape function"
                " for it, or call it on tensor.detach().numpy()"
            )
        return values._array
    if type(values) is dict:
        return {key: _as_arrays(name, value) for key, value in values.items()}
    return type(values)([_as_arrays(name, v) for v in values]) if type(values) in (list, tuple) else values


def is_moving(tensor: Tensor) -> bool:
    """Whether a tensor has a tangent at an open level."""
    return any(tangent(tensor, level) is not None for level in active(current()))


def entry(*functions: Callable) -> Callable[[Callable], Callable]:
    """Register the function that stands for ``functions`` on tensors."""

    def register(translation: Callable) -> Callable:
        for function in functions:
            ENTRIES[function] = translation
        return translation

    return register


def same(numpy: Callable, name: str) -> None:
    """NumPy's function and the op ``name`` take the same arguments, up to ``axis``/``keepdims`` as keywords."""

    def translation(*args: Any, **kwargs: Any) -> Any:
        return (FUNCTIONS[name] if name in FUNCTIONS else TABLE[name].function)(*args, **kwargs)

    ENTRIES[numpy] = translation


def _dims(axis: Any, x: Tensor) -> Any:
    return tuple(range(x.ndim)) if axis is None else axis


@entry(np.sum)
def _sum(a: Any, axis: Any = None, dtype: Any = None, out: Any = None, keepdims: bool = False) -> Any:
    return FUNCTIONS["sum"](a, _dims(axis, a), keepdims, dtype=dtype) if axis != () else a


@entry(np.mean)
def _mean(a: Any, axis: Any = None, dtype: Any = None, out: Any = None, keepdims: bool = False) -> Any:
    return FUNCTIONS["mean"](a, _dims(axis, a), keepdims, dtype=dtype)


@entry(np.prod)
def _prod(a: Any, axis: Any = None, dtype: Any = None, out: Any = None, keepdims: bool = False) -> Any:
    if axis is None:
        flat = FUNCTIONS["prod"](a)
        return flat.reshape((1,) * a.ndim) if keepdims else flat
    axes = (axis,) if isinstance(axis, int) else tuple(axis)
    for one in sorted((d % a.ndim for d in axes), reverse=True):
        a = FUNCTIONS["prod"](a, one, keepdims)
    return a


@entry(np.max, np.amax)
def _max(a: Any, axis: Any = None, out: Any = None, keepdims: bool = False) -> Any:
    return FUNCTIONS["amax"](a, _dims(axis, a), keepdims)


@entry(np.min, np.amin)
def _min(a: Any, axis: Any = None, out: Any = None, keepdims: bool = False) -> Any:
    return FUNCTIONS["amin"](a, _dims(axis, a), keepdims)


@entry(np.any)
def _any(a: Any, axis: Any = None, out: Any = None, keepdims: bool = False) -> Any:
    return FUNCTIONS["any"](a, axis, keepdims)


@entry(np.all)
def _all(a: Any, axis: Any = None, out: Any = None, keepdims: bool = False) -> Any:
    return FUNCTIONS["all"](a, axis, keepdims)


@entry(np.count_nonzero)
def _count(a: Any, axis: Any = None, keepdims: bool = False) -> Any:
    return FUNCTIONS["sum"](FUNCTIONS["ne"](a, 0), _dims(axis, a), keepdims)


@entry(np.cumsum)
def _cumsum(a: Any, axis: Any = None, dtype: Any = None, out: Any = None) -> Any:
    return FUNCTIONS["cumsum"](a.reshape(-1) if axis is None else a, axis or 0)


@entry(np.cumprod)
def _cumprod(a: Any, axis: Any = None, dtype: Any = None, out: Any = None) -> Any:
    return FUNCTIONS["cumprod"](a.reshape(-1) if axis is None else a, axis or 0)


@entry(np.where)
def _where(condition: Any, x: Any, y: Any) -> Any:
    return FUNCTIONS["where"](condition, x, y)


@entry(np.clip)
def _clip(a: Any, a_min: Any = None, a_max: Any = None, out: Any = None, *, min: Any = None, max: Any = None) -> Any:
    return FUNCTIONS["clamp"](a, a_min if min is None else min, a_max if max is None else max)


@entry(np.real)
def _real(val: Any) -> Any:
    return val.real


@entry(np.imag)
def _imag(val: Any) -> Any:
    return val.imag


@entry(np.angle)
def _angle(z: Any, deg: bool = False) -> Any:
    angle = FUNCTIONS["angle"](z)
    return angle * (180 / np.pi) if deg else angle


@entry(np.transpose)
def _transpose(a: Any, axes: Any = None) -> Any:
    return FUNCTIONS["permute"](a, tuple(reversed(range(a.ndim))) if axes is None else tuple(axes))


@entry(np.swapaxes)
def _swapaxes(a: Any, axis1: int, axis2: int) -> Any:
    return FUNCTIONS["transpose"](a, axis1, axis2)


@entry(np.moveaxis)
def _moveaxis(a: Any, source: Any, destination: Any) -> Any:
    return FUNCTIONS["movedim"](a, source, destination)


@entry(np.expand_dims)
def _expand_dims(a: Any, axis: Any) -> Any:
    axes = (axis,) if isinstance(axis, int) else tuple(axis)
    ndim = a.ndim + len(axes)
    for one in sorted(x % ndim for x in axes):
        a = FUNCTIONS["unsqueeze"](a, one)
    return a


@entry(np.squeeze)
def _squeeze(a: Any, axis: Any = None) -> Any:
    return FUNCTIONS["squeeze"](a) if axis is None else FUNCTIONS["squeeze"](a, axis)


@entry(np.broadcast_to)
def _broadcast_to(array: Any, shape: Any, subok: bool = False) -> Any:
    return FUNCTIONS["broadcast_to"](array, (shape,) if isinstance(shape, int) else tuple(shape))


@entry(np.reshape)
def _reshape(a: Any, /, shape: Any = None, order: str = "C", *, newshape: Any = None, copy: bool | None = None) -> Any:
    return FUNCTIONS["reshape"](a, shape)


@entry(np.ravel)
def _ravel(a: Any, order: str = "C") -> Any:
    return FUNCTIONS["reshape"](a, (-1,))


@entry(np.concatenate)
def _concatenate(arrays: Any, axis: int = 0, out: Any = None, dtype: Any = None, casting: str = "same_kind") -> Any:
    return FUNCTIONS["cat"](list(arrays), axis)


@entry(np.stack)
def _stack(arrays: Any, axis: int = 0, out: Any = None, *, dtype: Any = None, casting: str = "same_kind") -> Any:
    return FUNCTIONS["stack"](list(arrays), axis)


@entry(np.flip)
def _flip(m: Any, axis: Any = None) -> Any:
    return FUNCTIONS["flip"](
        m, tuple(range(m.ndim)) if axis is None else (axis,) if isinstance(axis, int) else tuple(axis)
    )


@entry(np.roll)
def _roll(a: Any, shift: Any, axis: Any = None) -> Any:
    return FUNCTIONS["roll"](a, shift, axis)


@entry(np.diagonal)
def _diagonal(a: Any, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Any:
    return FUNCTIONS["diagonal"](a, offset, axis1, axis2)


@entry(np.tril)
def _tril(m: Any, k: int = 0) -> Any:
    return FUNCTIONS["tril"](m, k)


@entry(np.triu)
def _triu(m: Any, k: int = 0) -> Any:
    return FUNCTIONS["triu"](m, k)


@entry(np.take_along_axis)
def _take_along_axis(arr: Any, indices: Any, axis: int = -1) -> Any:
    return FUNCTIONS["take_along_dim"](arr, indices, axis)


@entry(np.dot)
def _dot(a: Any, b: Any, out: Any = None) -> Any:
    if min(getattr(a, "ndim", 0), getattr(b, "ndim", 0)) == 0:
        return FUNCTIONS["mul"](a, b)
    if b.ndim > 2 or (a.ndim > 2 and b.ndim == 1):
        return FUNCTIONS["tensordot"](a, b, ([a.ndim - 1], [max(b.ndim - 2, 0)]))
    return FUNCTIONS["matmul"](a, b)


@entry(np.tensordot)
def _tensordot(a: Any, b: Any, axes: Any = 2) -> Any:
    return FUNCTIONS["tensordot"](a, b, axes)


@entry(np.einsum)
def _einsum(equation: str, *operands: Any, out: Any = None, optimize: Any = False, **kwargs: Any) -> Any:
    return FUNCTIONS["einsum"](equation, *operands)


def _filled_like(numpy: Callable, a: Any, dtype: Any, shape: Any, *value: Any) -> Tensor:
    """A new tensor like ``a``; of a class that has no array, its own."""
    dtype = _like(a, dtype)
    if type(a._array) is not Absent:
        return wrap(numpy(a._array, *value, dtype=dtype, shape=shape))
    if shape is not None:  # what computes with it turns it into the class's
        return wrap(numpy(np.empty(()), *value, dtype=dtype, shape=shape))
    return overridable(getattr(creation, numpy.__name__), leaf=True)(a, *value, dtype=dtype)


def _like(tensor_or_dtype: Any, dtype: Any) -> Any:
    return dtypes.to_numpy(dtype) if dtype is not None else tensor_or_dtype._array.dtype


@entry(np.zeros_like)
def _zeros_like(a: Any, dtype: Any = None, order: str = "K", subok: bool = True, shape: Any = None, **kw: Any) -> Any:
    return _filled_like(np.zeros_like, a, dtype, shape)


@entry(np.ones_like)
def _ones_like(a: Any, dtype: Any = None, order: str = "K", subok: bool = True, shape: Any = None, **kw: Any) -> Any:
    return _filled_like(np.ones_like, a, dtype, shape)


@entry(np.empty_like)
def _empty_like(a: Any, dtype: Any = None, order: str = "K", subok: bool = True, shape: Any = None, **kw: Any) -> Any:
    return _filled_like(np.empty_like, a, dtype, shape)


@entry(np.full_like)
def _full_like(
    a: Any, fill_value: Any, dtype: Any = None, order: str = "K", subok: bool = True, shape: Any = None, **kw: Any
) -> Any:
    return _filled_like(np.full_like, a, dtype, shape, raw(fill_value))


@entry(np.ndim)
def _ndim(a: Any) -> int:
    return a.ndim


@entry(np.shape)
def _shape(a: Any) -> tuple:
    return tuple(a._array.shape)


@entry(np.size)
def _size(a: Any, axis: int | None = None) -> int:
    return a._array.size if axis is None else a._array.shape[axis]


@entry(np.result_type)
def _result_type(*arrays_and_dtypes: Any) -> Any:
    return dtypes.result_dtype([raw(a) for a in arrays_and_dtypes])


def _creation(name: str) -> Callable:
    """``np.zeros(..., like=tensor)``: a tensor over the same kind of array, without history."""
    numpy = getattr(np, name)

    def make(like: Tensor, *args: Any, **kwargs: Any) -> Tensor:
        inner = like._array
        if type(inner) is np.ndarray or type(inner) is Absent:
            return wrap(numpy(*args, **kwargs))
        module = module_of(inner)
        if module is np:
            return wrap(numpy(*args, like=inner, **kwargs))
        kwargs.pop("device", None)  # NumPy passes it on, CuPy's functions do not know it
        return wrap(getattr(module, name)(*args, **kwargs))

    return make


for _name in ("zeros", "ones", "full", "eye", "arange", "empty"):
    CREATIONS[getattr(np, _name)] = _creation(_name)
for _ufunc, _op in (
    (np.add, "add"), (np.subtract, "sub"), (np.reciprocal, "reciprocal"), (np.rint, "round"),
    (np.floor_divide, "floor_divide"),
    (np.remainder, "remainder"), (np.power, "pow"), (np.float_power, "pow"), (np.true_divide, "true_divide"),
    (np.matmul, "matmul"), (np.fabs, "abs"),
):  # fmt: skip
    if _op in FUNCTIONS:
        UFUNCS[_ufunc] = FUNCTIONS[_op]
for _numpy, _op in ((np.linalg.inv, "inverse"), (np.linalg.cholesky, "cholesky"), (np.linalg.solve, "linalg_solve")):
    same(_numpy, _op)
