"""An array type as strict as CuPy's, over NumPy's memory: what runs over it needs no NumPy array on the way.

Like ``cupy.ndarray`` it speaks NumPy's protocols and refuses what CuPy refuses: NumPy's arrays as operands, indices
or values beside its own (numbers and NumPy's scalars are welcome), a silent conversion to a NumPy array, most
methods of ufuncs, keywords that CuPy's functions do not have, sorting what is not contiguous, solving with batches
of different shapes. Results are always arrays, never scalars.
"""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np

from dualtape.arrays import register_module

# NumPy's functions that the ops use and that CuPy has by the same name and meaning
FUNCTIONS = frozenset(
    """
    all any argmax argmin argpartition argsort argwhere array_equal atleast_1d bincount broadcast_to concatenate
    copyto count_nonzero cumprod cumsum diagonal dot empty_like expand_dims flatnonzero flip full_like histogram
    imag isclose max may_share_memory min moveaxis nonzero ones_like partition prod put_along_axis real reshape
    result_type roll round searchsorted sinc sort squeeze stack sum swapaxes take take_along_axis tile transpose
    tril triu unique where zeros zeros_like linalg.cholesky linalg.det linalg.eigh linalg.inv linalg.pinv linalg.qr
    linalg.slogdet linalg.solve linalg.svd fft.fftn fft.ifftn fft.rfft fft.irfft
    """.split()
)
METHODS = """
    all any argmax argmin argpartition argsort astype conj conjugate copy cumprod cumsum diagonal dot fill flatten max mean min
    nonzero partition prod ravel repeat reshape round searchsorted squeeze std sum swapaxes take trace transpose var view
""".split()
REDUCED = ("add", "multiply")  # the ufuncs with a reduce and an accumulate of their own


def _unwrap(value: Any) -> Any:
    if isinstance(value, DuckArray):
        return value._values
    if isinstance(value, np.ndarray):
        raise TypeError(f"Unsupported type {type(value)}")
    if type(value) in (list, tuple):
        return type(value)(_unwrap(v) for v in value)
    return value


def _wrap(value: Any) -> Any:
    if isinstance(value, (np.ndarray, np.generic)):
        return DuckArray(np.asarray(value))
    if isinstance(value, (list, tuple)):
        items = [_wrap(v) for v in value]
        return type(value)(*items) if hasattr(value, "_fields") else type(value)(items)
    return value


def _check_keywords(name: str, kwargs: dict, allowed: tuple[str, ...]) -> None:
    for key in kwargs:
        if key not in allowed:
            raise TypeError(f"{name}() got an unexpected keyword argument {key!r}")


class DuckArray(np.lib.mixins.NDArrayOperatorsMixin):
    """An array of its own kind; see the module."""

    __slots__ = ("_values",)

    def __init__(self, values: np.ndarray) -> None:
        assert type(values) is np.ndarray
        self._values = values

    # --- NumPy's protocols ------------------------------------------------------------------------

    def __array__(self, *args: Any, **kwargs: Any) -> Any:
        raise TypeError(
            "Implicit conversion to a NumPy array is not allowed. Please use `.get()` to construct a NumPy array"
            " explicitly."
        )

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **kwargs: Any) -> Any:
        name = ufunc.__name__
        if any(getattr(i, "__array_priority__", 0) > 0 for i in inputs):
            return NotImplemented  # CuPy's arrays leave it to arrays of higher priority too
        if method in ("reduce", "accumulate"):
            _check_keywords(
                method, kwargs, ("axis", "dtype", "out", "keepdims") if method == "reduce" else ("axis", "dtype", "out")
            )
            if name not in REDUCED:
                raise NotImplementedError(f"`{name}.{method}` is not supported yet")
        elif method != "__call__":
            raise NotImplementedError(f"`{name}.{method}` is not supported yet")
        else:
            _check_keywords(name, kwargs, ("out", "dtype", "casting"))
        out = kwargs.pop("out", None)
        if out is not None:
            if not all(isinstance(o, DuckArray) for o in out):
                raise TypeError(f"return arrays must be of {DuckArray.__name__}")
            kwargs["out"] = tuple(o._values for o in out)
        result = getattr(ufunc, method)(*(_unwrap(i) for i in inputs), **kwargs)
        return out[0] if out is not None and len(out) == 1 else _wrap(result)

    def __array_function__(self, func: Any, types: Any, args: tuple, kwargs: dict) -> Any:
        name = f"{func.__module__}.{func.__name__}".removeprefix("numpy.")
        if name not in FUNCTIONS or any(t.__name__ == "Batched" for t in types):
            return NotImplemented
        for refused in ("device", "initial", "where"):
            if refused in kwargs and func is not np.copyto:
                raise TypeError(f"{name}() got an unexpected keyword argument {refused!r}")
        if func is np.searchsorted and isinstance(args[1], np.generic):
            raise NotImplementedError("Only python scalars or ndarrays are supported for v")
        values = _unwrap(args), {k: _unwrap(v) for k, v in kwargs.items()}
        if func is np.linalg.solve:
            a, b = values[0]
            if a.shape[:-1] != b.shape[: a.ndim - 1] or b.ndim not in (a.ndim, a.ndim - 1):
                raise ValueError("a must have (..., M, M) shape and b must have (..., M, K) for multidimensional b")
        result = func(*values[0], **values[1])
        return DuckArray(np.asarray(result)) if func is np.count_nonzero else _wrap(result)

    def __dlpack__(self, *args: Any, **kwargs: Any) -> Any:
        raise BufferError("memory of another device")

    # --- memory -----------------------------------------------------------------------------------

    def get(self) -> np.ndarray:
        return self._values.copy()

    device = SimpleNamespace(id=0)
    dtype = property(lambda self: self._values.dtype)
    shape = property(lambda self: self._values.shape)
    strides = property(lambda self: self._values.strides)
    ndim = property(lambda self: self._values.ndim)
    size = property(lambda self: self._values.size)
    itemsize = property(lambda self: self._values.itemsize)
    nbytes = property(lambda self: self._values.nbytes)
    flags = property(
        lambda self: SimpleNamespace(
            c_contiguous=self._values.flags.c_contiguous, f_contiguous=self._values.flags.f_contiguous
        )
    )
    base = property(lambda self: self._values.base)
    T = property(lambda self: DuckArray(self._values.T))
    real = property(lambda self: DuckArray(self._values.real))
    imag = property(lambda self: DuckArray(self._values.imag))

    def __getitem__(self, key: Any) -> Any:
        return _wrap(self._values[_unwrap(key)])

    def __setitem__(self, key: Any, value: Any) -> None:
        self._values[_unwrap(key)] = _unwrap(value)

    def sort(self, axis: int = -1) -> None:
        if not self._values.flags.c_contiguous:
            raise NotImplementedError("Sorting non-contiguous array is not supported.")
        self._values.sort(axis, kind="stable")

    # --- numbers ----------------------------------------------------------------------------------

    def item(self, *args: Any) -> Any:
        return self._values.item(*args)

    def tolist(self) -> Any:
        return self._values.tolist()

    def __len__(self) -> int:
        return len(self._values)

    def __iter__(self) -> Any:
        return (self[i] for i in range(len(self._values)))

    def __bool__(self) -> bool:
        return bool(self._values)

    def __int__(self) -> int:
        return int(self._values)

    def __float__(self) -> float:
        return float(self._values)

    def __complex__(self) -> complex:
        return complex(self._values)

    def __index__(self) -> int:
        return self._values.__index__()

    def __format__(self, spec: str) -> str:
        return format(self._values, spec)

    def __repr__(self) -> str:
        return f"duck({self._values!r})"


def _method(name: str) -> Any:
    def method(self: DuckArray, *args: Any, **kwargs: Any) -> Any:
        for refused in ("initial", "where"):
            if refused in kwargs:
                raise TypeError(f"{name}() got an unexpected keyword argument {refused!r}")
        return _wrap(getattr(self._values, name)(*_unwrap(args), **{k: _unwrap(v) for k, v in kwargs.items()}))

    method.__name__ = name
    return method


for _name in METHODS:
    setattr(DuckArray, _name, _method(_name))


def asarray(values: Any, dtype: Any = None) -> DuckArray:
    """A duck of a NumPy array, a list or a number; a duck is its own."""
    if isinstance(values, DuckArray):
        return values if dtype is None or values.dtype == dtype else values.astype(dtype)
    return DuckArray(np.asarray(values, dtype))


def _made(function: Any) -> Any:
    return lambda *args, **kwargs: _wrap(function(*_unwrap(args), **{k: _unwrap(v) for k, v in kwargs.items()}))


# the module that owns this kind of array, as cupy owns its own
duck = SimpleNamespace(
    __name__="duck",
    ndarray=DuckArray,
    asarray=asarray,
    add=SimpleNamespace(at=_made(np.add.at)),
    lib=SimpleNamespace(stride_tricks=SimpleNamespace(as_strided=_made(np.lib.stride_tricks.as_strided))),
    **{
        name: _made(getattr(np, name))
        for name in ("arange", "ascontiguousarray", "empty", "eye", "full", "ones", "zeros")
    },
)
register_module(DuckArray, duck)
