"""Entries of the NumPy functions that formulas use, on tensors: each name of the vocabulary has one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..._tensor import dtypes, shaped
from ..._tensor.tensor import Tensor, raw, wrap
from ...arrays import Absent, is_array, module_of
from ...overrides.active_overrides import overridable
from ..dispatch import FUNCTIONS
from ..table import UFUNCS
from .registry import CREATIONS, axes_of, entry, op, plain, tensor


def _reduced(name: str, a: Any, axis: Any, keepdims: bool, initial: Any, where: Any, neutral: Any, **more: Any) -> Any:
    """Return a reduction by the op ``name``; ``neutral`` replaces the elements that ``where`` leaves out."""
    a = tensor(a)
    if where is not None and where is not True:
        if neutral is None and initial is None:
            raise ValueError(f"np.{name[1:]}: where= needs initial=, since there may be nothing to reduce")
        a = FUNCTIONS["where"](where, a, initial if neutral is None else neutral)
    if axis == ():
        result = a
    elif initial is not None and neutral is None and not a._array.size:
        result = tensor(np.sum(np.zeros(a._array.shape, a._array.dtype), axis, keepdims=keepdims) + initial)
    elif name == "prod":
        result = _product(a, axis, keepdims, **more)
    elif axis is None and neutral is not None and a.ndim == 0:
        result = FUNCTIONS[name](a, **more)
    else:
        result = FUNCTIONS[name](a, tuple(range(a.ndim)) if axis is None else axis, keepdims, **more)
    if initial is None:
        return result
    return FUNCTIONS[{"sum": "add", "prod": "mul", "amax": "maximum", "amin": "minimum"}[name]](
        result, initial if name in ("sum", "prod") else tensor(initial).to(result.dtype)
    )


def _product(a: Any, axis: Any, keepdims: bool, dtype: Any = None) -> Any:
    if axis is None:
        flat = FUNCTIONS["prod"](a, dtype=dtype)
        return flat.reshape((1,) * a.ndim) if keepdims else flat
    for one in sorted(axes_of(axis, a.ndim), reverse=True):
        a = FUNCTIONS["prod"](a, one, keepdims, dtype=dtype)
    return a


@entry(np.sum)
def _sum(
    a: Any,
    axis: Any = None,
    dtype: Any = None,
    out: None = None,
    keepdims: bool = False,
    initial: Any = None,
    where: Any = None,
) -> Any:
    if where is None and initial is None and axis is not None and axis != () and isinstance(a, Tensor):
        return FUNCTIONS["sum"](a, axis, keepdims, dtype=dtype)  # what formulas ask for
    return _reduced("sum", a, axis, keepdims, initial, where, 0, dtype=dtype)


@entry(np.mean)
def _mean(
    a: Any, axis: Any = None, dtype: Any = None, out: None = None, keepdims: bool = False, *, where: Any = None
) -> Any:
    a = tensor(a)
    if where is not None and where is not True:
        count = _sum(np.broadcast_to(raw(where), a._array.shape), axis, np.int64, None, keepdims)
        return _sum(a, axis, dtype, None, keepdims, None, where) / count
    if dtype is None and a._array.dtype.kind not in "fc":
        dtype = np.float64
    if axis == ():  # which PyTorch takes for all axes
        return a.clone() if dtype is None else a.to(dtype)
    return FUNCTIONS["mean"](a, tuple(range(a.ndim)) if axis is None else axis, keepdims, dtype=dtype)


@entry(np.prod)
def _prod(
    a: Any,
    axis: Any = None,
    dtype: Any = None,
    out: None = None,
    keepdims: bool = False,
    initial: Any = None,
    where: Any = None,
) -> Any:
    return _reduced("prod", a, axis, keepdims, initial, where, 1, dtype=dtype)


@entry(np.max, np.amax)
def _max(
    a: Any, axis: Any = None, out: None = None, keepdims: bool = False, initial: Any = None, where: Any = None
) -> Any:
    return _reduced("amax", a, axis, keepdims, initial, where, None)


@entry(np.min, np.amin)
def _min(
    a: Any, axis: Any = None, out: None = None, keepdims: bool = False, initial: Any = None, where: Any = None
) -> Any:
    return _reduced("amin", a, axis, keepdims, initial, where, None)


@entry(np.any)
def _any(a: Any, axis: Any = None, out: None = None, keepdims: bool = False, *, where: Any = None) -> Any:
    if where is not None:
        a = FUNCTIONS["logical_and"](tensor(a), tensor(where))
    return FUNCTIONS["any"](a, axis, keepdims)


@entry(np.all)
def _all(a: Any, axis: Any = None, out: None = None, keepdims: bool = False, *, where: Any = None) -> Any:
    if where is not None:
        a = FUNCTIONS["logical_or"](tensor(a), FUNCTIONS["logical_not"](tensor(where)))
    return FUNCTIONS["all"](a, axis, keepdims)


@entry(np.count_nonzero)
def _count(a: Any, axis: Any = None, *, keepdims: bool = False) -> Any:
    return _sum(FUNCTIONS["ne"](a, 0), axis, None, None, keepdims)


@entry(np.cumsum)
def _cumsum(a: Any, axis: Any = None, dtype: Any = None, out: None = None) -> Any:
    return FUNCTIONS["cumsum"](a.reshape(-1) if axis is None else a, axis or 0, dtype=dtype)


@entry(np.cumprod)
def _cumprod(a: Any, axis: Any = None, dtype: Any = None, out: None = None) -> Any:
    return FUNCTIONS["cumprod"](a.reshape(-1) if axis is None else a, axis or 0, dtype=dtype)


@entry(np.where)
def _where(condition: Any, x: Any = None, y: Any = None) -> Any:
    if x is None and y is None:
        return FUNCTIONS["nonzero"](condition, as_tuple=True)
    if not isinstance(condition, Tensor) and not is_array(condition):
        condition = tensor(condition)
    if raw(condition).dtype.kind != "b":
        condition = FUNCTIONS["ne"](condition, 0)
    x, y = (tensor(v) if isinstance(v, (list, tuple)) else v for v in (x, y))
    return FUNCTIONS["where"](condition, x, y)


@entry(np.clip)
def _clip(a: Any, a_min: Any = None, a_max: Any = None, out: None = None, *, min: Any = None, max: Any = None) -> Any:
    low, high = a_min if min is None else min, a_max if max is None else max
    low, high = (tensor(bound) if isinstance(bound, (list, tuple)) else bound for bound in (low, high))
    if isinstance(low, (Tensor, np.ndarray)) != isinstance(high, (Tensor, np.ndarray)):
        low, high = (None if bound is None else tensor(bound) for bound in (low, high))
    return FUNCTIONS["clamp"](tensor(a), low, high)


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
    if axis is None:
        return FUNCTIONS["squeeze"](a)
    for one in axes_of(axis, a.ndim):
        if a._array.shape[one] != 1:
            raise ValueError("cannot select an axis to squeeze out which has size not equal to one")
    return FUNCTIONS["squeeze"](a, axis)


@entry(np.broadcast_to)
def _broadcast_to(array: Any, shape: Any, subok: bool = False) -> Any:  # a subclass is what tensors keep anyway
    return FUNCTIONS["broadcast_to"](array, (shape,) if isinstance(shape, int) else tuple(shape))


@entry(np.reshape)
def _reshape(a: Any, /, shape: Any, order: str = "C", *, copy: bool | None = None) -> Any:
    if order in ("F", "A") and a.ndim:
        plain("reshape", order=(order, "F"), copy=(copy, None))
        last_first = tuple(reversed((shape,) if isinstance(shape, int) else tuple(shape)))
        return _transpose(FUNCTIONS["reshape"](_transpose(a), last_first))
    plain("reshape", order=(order, "C"))
    if copy is False:
        return a.view(shape)
    return FUNCTIONS["reshape"](a.clone() if copy else a, shape)


@entry(np.ravel)
def _ravel(a: Any, order: str = "C") -> Any:
    return _reshape(a, -1, order) if order != "K" else FUNCTIONS["reshape"](a, (-1,))


def _joined(name: str, arrays: Any, axis: int, dtype: Any, casting: str) -> Any:
    plain(name, casting=(casting, "same_kind"))
    result = FUNCTIONS[name]([tensor(a) for a in arrays], axis)
    return result if dtype is None else result.to(dtype)


@entry(np.concatenate)
def _concatenate(
    arrays: Any, /, axis: int | None = 0, out: None = None, *, dtype: Any = None, casting: str = "same_kind"
) -> Any:
    if axis is None:
        arrays, axis = [tensor(a).reshape(-1) for a in arrays], 0
    return _joined("cat", arrays, axis, dtype, casting)


@entry(np.stack)
def _stack(arrays: Any, axis: int = 0, out: None = None, *, dtype: Any = None, casting: str = "same_kind") -> Any:
    return _joined("stack", arrays, axis, dtype, casting)


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
def _take_along_axis(arr: Any, indices: Any, axis: int | None = -1) -> Any:
    return FUNCTIONS["take_along_dim"](tensor(arr), tensor(indices), axis)


@entry(np.dot)
def _dot(a: Any, b: Any, out: None = None) -> Any:
    a, b = (tensor(v) if isinstance(v, (list, tuple)) else v for v in (a, b))
    if min(getattr(a, "ndim", 0), getattr(b, "ndim", 0)) == 0:
        return FUNCTIONS["mul"](a, b)
    if b.ndim > 2 or (a.ndim > 2 and b.ndim == 1):
        return FUNCTIONS["tensordot"](a, b, ([a.ndim - 1], [max(b.ndim - 2, 0)]))
    return FUNCTIONS["matmul"](a, b)


@entry(np.tensordot)
def _tensordot(a: Any, b: Any, axes: Any = 2) -> Any:
    if not isinstance(axes, int):
        axes = [[one] if isinstance(one, int) else list(one) for one in axes]
    return FUNCTIONS["tensordot"](tensor(a), tensor(b), axes)


@entry(np.einsum)
def _einsum(
    equation: Any, *operands: Any, dtype: Any = None, order: str = "K", casting: str = "safe", optimize: Any = False
) -> Any:  # optimize= says how, not what
    plain("einsum", order=(order, "K"), casting=(casting, "safe"))
    result = FUNCTIONS["einsum"](equation, *operands)
    return result if dtype is None else result.to(dtype)


def _filled_like(numpy: Callable, a: Any, dtype: Any, shape: Any, *value: Any) -> Tensor:
    """Return a new tensor like ``a``; of its class if that has no array."""
    dtype = _like(a, dtype)
    if type(a._array) is not Absent:
        return wrap(numpy(a._array, *value, dtype=dtype, shape=shape))
    if shape is not None:  # what computes with it turns it into the class's
        return wrap(numpy(np.empty(()), *value, dtype=dtype, shape=shape))
    return overridable(getattr(shaped, numpy.__name__), leaf=True)(a, *value, dtype=dtype)


def _like(tensor_or_dtype: Any, dtype: Any) -> Any:
    return dtypes.to_numpy(dtype) if dtype is not None else tensor_or_dtype._array.dtype


def _like_entry(numpy: Callable) -> None:
    @entry(numpy)
    def make(
        a: Any, dtype: Any = None, order: str = "K", subok: bool = True, shape: Any = None, *, device: Any = None
    ) -> Any:
        plain(numpy.__name__, order=(order, "K"), device=(device, None))
        return _filled_like(numpy, a, dtype, shape)


for _numpy in (np.zeros_like, np.ones_like, np.empty_like):
    _like_entry(_numpy)


@entry(np.full_like)
def _full_like(
    a: Any,
    fill_value: Any,
    dtype: Any = None,
    order: str = "K",
    subok: bool = True,
    shape: Any = None,
    *,
    device: Any = None,
) -> Any:
    plain("full_like", order=(order, "K"), device=(device, None))
    if not isinstance(fill_value, Tensor):
        return _filled_like(np.full_like, a, dtype, shape, fill_value)
    shape = a._array.shape if shape is None else shape
    return _broadcast_to(fill_value.to(_like(a, dtype)), shape).clone()


@entry(np.ndim)
def _ndim(a: Any) -> int:
    return a.ndim


@entry(np.shape)
def _shape(a: Any) -> tuple:
    return tuple(a._array.shape)


@entry(np.size)
def _size(a: Any, axis: Any = None) -> int:
    shape = a._array.shape
    return a._array.size if axis is None else int(np.prod([shape[one] for one in axes_of(axis, len(shape))]))


@entry(np.result_type)
def _result_type(*arrays_and_dtypes: Any) -> Any:
    return dtypes.result_dtype([raw(a) for a in arrays_and_dtypes])


def _creation(name: str) -> None:
    """Return an entry for ``np.zeros(..., like=tensor)`` and similar functions: a tensor over the same kind of array,
    without history.
    """
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

    CREATIONS[numpy] = make


for _name in """
    zeros ones full eye arange empty identity tri fromiter fromfunction frombuffer fromstring fromfile loadtxt
    genfromtxt
""".split():
    _creation(_name)


def array(
    object: Any, dtype: Any = None, *, copy: bool | None = True, order: str = "K", subok: bool = False, ndmin: int = 0
) -> Tensor:
    """Run ``np.array`` on tensors, or lists that contain tensors: return a tensor with their history."""
    if order not in ("K", "C", "A", None):
        plain("array", order=(order, "K"))
    made = tensor(object)
    if dtype is not None:
        made = made.to(dtype)
    if copy and made is object:
        made = made.clone()
    elif copy is False and made is not object:
        raise ValueError("Unable to avoid copy while creating an array as requested.")
    return made.reshape((1,) * (ndmin - made.ndim) + tuple(made.shape)) if made.ndim < ndmin else made


def asarray(
    a: Any, dtype: Any = None, order: str | None = None, *, device: Any = None, copy: bool | None = None
) -> Tensor:
    """Run ``np.asarray`` on tensors, or lists that contain tensors."""
    plain("asarray", device=(device, None))
    return array(a, dtype, copy=copy, order=order or "K")


CREATIONS[np.array] = lambda like, *args, **kwargs: array(*args, **kwargs)
for _as_array in (np.asarray, np.asanyarray, np.ascontiguousarray):
    CREATIONS[_as_array] = lambda like, *args, **kwargs: asarray(*args, **kwargs)
_creation("require")
CREATIONS[np.asfortranarray] = lambda like, a, dtype=None: _transpose(
    asarray(_transpose(tensor(a)), dtype).contiguous()
)
for _ufunc, _op in (
    (np.add, "add"),
    (np.subtract, "sub"),
    (np.reciprocal, "reciprocal"),
    (np.rint, "round"),
    (np.floor_divide, "floor_divide"),
    (np.remainder, "remainder"),
    (np.power, "pow"),
    (np.float_power, "pow"),
    (np.true_divide, "true_divide"),
    (np.matmul, "matmul"),
    (np.fabs, "abs"),
    (np.conjugate, "conj_physical"),
):
    if _op in FUNCTIONS:
        UFUNCS[_ufunc] = FUNCTIONS[_op]


def _same(numpy: Callable, name: str) -> None:
    """Register an op under a NumPy function of matrices that takes the same arguments."""

    @entry(numpy)
    def translation(*matrices: Any) -> Any:
        return op(name)(*map(tensor, matrices))


_same(np.linalg.inv, "inverse")
_same(np.linalg.solve, "linalg.solve")


@entry(np.linalg.cholesky)
def _cholesky(a: Any, /, *, upper: bool = False) -> Any:
    return op("linalg.cholesky")(a, upper=upper)
