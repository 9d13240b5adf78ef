"""Arrays of bfloat16: float32 values of which the upper half is significant.

An op computes in float32, and its result is rounded once, when it becomes a tensor's (``settle``), as in PyTorch. A
write into an array that belongs to a tensor rounds the values. Values occupy four bytes in memory: the dtype limits the
numbers, not the memory.
"""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np

from .bfloat16_dtype import BFLOAT16, SINGLE
from .protocol import register_module

_METHODS = """
    all any argmax argmin argpartition argsort conj conjugate copy cumprod cumsum diagonal dot flatten max mean min
    nonzero prod ravel repeat reshape round searchsorted squeeze std sum swapaxes take trace transpose var
""".split()
# These jump, so that their arguments are the numbers as they are kept, not those with more digits.
_OF_KEPT = {np.equal, np.not_equal, np.less, np.less_equal, np.greater, np.greater_equal}
_REMAINDERS = {np.fmod, np.remainder}  # of a number, too, which is rounded first
_WRITING = {np.copyto, np.put_along_axis, np.place, np.put, np.fill_diagonal}  # into their first argument


def rounded(array: np.ndarray) -> BFloat16Array:
    """Return the nearest bfloat16 numbers, ties to even, as float32."""
    return BFloat16Array(_nearest(array.real if array.dtype.kind == "c" else array), True)


def _nearest(array: Any) -> np.ndarray:
    values = np.array(array, np.float32, order="K", copy=True)
    bits = (values if values.ndim else values.reshape(1)).view(np.uint32)
    odd = np.isnan(values).reshape(bits.shape)  # whose digits are not to be carried into what it is
    kept = bits[odd]
    bits += ((bits >> np.uint32(16)) & np.uint32(1)) + np.uint32(0x7FFF)
    bits &= np.uint32(0xFFFF0000)
    bits[odd] = kept
    return values


def _next_after(start: np.ndarray, end: np.ndarray) -> np.ndarray:
    """Return the bfloat16 numbers that follow ``start`` in the direction of ``end``, as float32."""
    start, end = np.broadcast_arrays(start, end)
    bits = start.reshape(-1).copy().view(np.int32) >> 16  # negative numbers have the sign bit of an int32
    towards, sought = start.reshape(-1), end.reshape(-1)
    grows = np.where(towards == 0, True, (sought > towards) == (towards > 0))  # in magnitude
    moved = bits + np.where(grows, 1, -1)
    moved = np.where(towards == 0, np.where(np.signbit(sought), -(2**15) + 1, 1), moved)
    found = np.ascontiguousarray(moved.astype(np.int32) << 16).view(np.float32)
    found = np.where(towards == sought, sought, found)
    return np.where(np.isnan(towards) | np.isnan(sought), np.float32(np.nan), found).reshape(start.shape)


class BFloat16Array(np.lib.mixins.NDArrayOperatorsMixin):
    """An array of bfloat16 that follows NumPy's protocols."""

    __slots__ = ("values", "settled")

    def __init__(self, values: np.ndarray, settled: bool = False) -> None:
        self.values = values
        self.settled = settled

    def settle(self) -> BFloat16Array:
        """Return the array with its values rounded: itself if they are."""
        return self if self.settled else BFloat16Array(_nearest(self.values), True)

    # --- NumPy's protocols ------------------------------------------------------------------------

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **kwargs: Any) -> Any:
        if any(not isinstance(x, _KNOWN) for x in inputs):
            return NotImplemented
        out = kwargs.pop("out", None)
        dtype = kwargs.pop("dtype", None)
        if dtype is not None:
            kwargs["dtype"] = SINGLE if dtype is BFLOAT16 else dtype
        if out is not None:
            return self._into(out, ufunc, method, inputs, kwargs)
        if method == "at":
            getattr(ufunc, method)(*map(_plain, inputs), **kwargs)
            return _rewritten(inputs[0])
        if ufunc is np.nextafter and method == "__call__" and _result_type(inputs) is BFLOAT16:
            return BFloat16Array(_next_after(*[_asarray(x, BFLOAT16).values for x in inputs]), True)
        if ufunc in _REMAINDERS and _result_type(inputs) is BFLOAT16:
            inputs = tuple(_asarray(x, BFLOAT16).settle() for x in inputs)
        elif ufunc is np.floor_divide and _result_type(inputs) is BFLOAT16:
            inputs = (_asarray(inputs[0], BFLOAT16).settle(), *inputs[1:])
        elif ufunc in _OF_KEPT:
            inputs = tuple(x.settle() if type(x) is BFloat16Array else x for x in inputs)
        result = getattr(ufunc, method)(*map(_plain, inputs), **kwargs)
        wider = any(isinstance(x, np.ndarray) and x.dtype.kind in "fc" for x in inputs)
        return result if wider or dtype is not None and dtype is not BFLOAT16 else _as_bfloat16(result)

    def _into(self, out: tuple, ufunc: Any, method: str, inputs: tuple, kwargs: dict) -> Any:
        """Apply a ufunc with ``out=``: compute first, then round and write."""
        kwargs.pop("casting", None)
        result = getattr(ufunc, method)(*map(_plain, inputs), **kwargs)
        for target, found in zip(out, result if isinstance(result, tuple) else (result,), strict=True):
            target[...] = found
        return out[0] if len(out) == 1 else out

    def __array_function__(self, func: Any, types: Any, args: tuple, kwargs: dict) -> Any:
        if any(not issubclass(kind, _KNOWN) for kind in types):
            return NotImplemented
        if func is np.result_type:
            return _result_type(args)
        kwargs.pop("like", None)
        asked = [a for a in (*args, *kwargs.values()) if a is BFLOAT16 or isinstance(a, (np.dtype, type))]
        values, options = _plain(args), {name: _plain(value) for name, value in kwargs.items()}
        if func is np.copyto:
            args[0][... if "where" not in kwargs else options["where"]] = (
                args[1] if "where" not in kwargs else np.broadcast_to(values[1], args[0].shape)[options["where"]]
            )
            return None
        result = func(*values, **options)
        if func in _WRITING:
            return _rewritten(args[0])
        if asked and not any(kind is BFLOAT16 for kind in asked):
            return result
        return _shared(result, args)

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        raise TypeError("NumPy has no bfloat16: convert the tensor with .float() first")

    def __dlpack__(self, *args: Any, **kwargs: Any) -> Any:
        raise BufferError("an array of bfloat16 has no memory that others could read")

    # --- memory -----------------------------------------------------------------------------------

    device = "cpu"
    dtype = BFLOAT16
    itemsize = 2
    shape = property(lambda self: self.values.shape)
    ndim = property(lambda self: self.values.ndim)
    size = property(lambda self: self.values.size)
    nbytes = property(lambda self: 2 * self.values.size)
    strides = property(lambda self: tuple([step // 2 for step in self.values.strides]))
    flags = property(lambda self: self.values.flags)
    base = property(lambda self: self.values.base)
    real = property(lambda self: self)
    T = property(lambda self: BFloat16Array(self.values.T, self.settled))

    @property
    def address(self) -> int:
        """The address of the values, counted as if each took two bytes, so that differences agree with the strides."""
        return self.values.__array_interface__["data"][0] // 2

    @property
    def imag(self) -> BFloat16Array:
        return BFloat16Array(np.zeros_like(self.values), True)

    def __getitem__(self, key: Any) -> Any:
        return BFloat16Array(np.asarray(self.values[_plain(key)]), self.settled)

    def __setitem__(self, key: Any, value: Any) -> None:
        self.values[_plain(key)] = value.settle().values if isinstance(value, BFloat16Array) else _nearest(value)

    def fill(self, value: Any) -> None:
        self[...] = value

    def sort(self, axis: int = -1, kind: Any = None, **options: Any) -> None:
        self.values.sort(axis, kind=kind, **options)

    def astype(
        self, dtype: Any, order: Any = "K", casting: str = "unsafe", subok: bool = True, copy: bool = True
    ) -> Any:
        values = self.settle().values
        if dtype is BFLOAT16:
            return BFloat16Array(values.copy(order) if copy else values, True)
        return values.astype(dtype, order=order, copy=copy)

    def copy(self, order: Any = "C") -> BFloat16Array:
        return BFloat16Array(self.values.copy(order), self.settled)

    def view(self, dtype: Any = None) -> BFloat16Array:
        if dtype is not None and dtype is not BFLOAT16:
            raise NotImplementedError(f"the bits of bfloat16 cannot be seen as {dtype}: convert the tensor instead")
        return BFloat16Array(self.values.view(), self.settled)

    # --- numbers ----------------------------------------------------------------------------------

    def get(self) -> np.ndarray:
        """Return the numbers as a float32 array."""
        return self.settle().values.copy()

    def item(self, *args: Any) -> Any:
        return self.settle().values.item(*args)

    def tolist(self) -> Any:
        return self.settle().values.tolist()

    def __len__(self) -> int:
        return len(self.values)

    def __iter__(self) -> Any:
        return (self[k] for k in range(len(self.values)))

    def __bool__(self) -> bool:
        return bool(self.values)

    def __int__(self) -> int:
        return int(self.values)

    def __float__(self) -> float:
        return float(self.settle().values)

    def __complex__(self) -> complex:
        return complex(self.settle().values)

    def __repr__(self) -> str:
        return f"bfloat16({self.values!r})"

    def __reduce__(self) -> tuple:
        return (BFloat16Array, (self.values, self.settled))

    def __deepcopy__(self, memo: dict) -> BFloat16Array:
        return BFloat16Array(self.values.copy("K"), self.settled)


_KNOWN = (BFloat16Array, np.ndarray, np.generic, int, float, bool, complex, list, tuple)


def _plain(value: Any) -> Any:
    """Return the float32 form of an argument, with which NumPy computes."""
    if type(value) is BFloat16Array:
        return value.values
    if type(value) is tuple or type(value) is list:
        return type(value)([_plain(part) for part in value])
    return SINGLE if value is BFLOAT16 else value


def _result_type(values: tuple) -> Any:
    """Return the result type of bfloat16 and other arguments; integers and Python numbers do not widen it."""
    wider = [
        np.dtype(getattr(v, "dtype", v)) for v in values if not _is_bfloat16(v) and not isinstance(v, (int, float))
    ]
    wider = [dtype for dtype in wider if dtype.kind in "fc"]
    return np.result_type(SINGLE, *wider) if wider else BFLOAT16


def _is_bfloat16(value: Any) -> bool:
    return value is BFLOAT16 or type(value) is BFloat16Array


def _as_bfloat16(result: Any) -> Any:
    """Return a new floating-point result as bfloat16, not rounded yet; other results unchanged."""
    if isinstance(result, tuple):
        parts = [_as_bfloat16(part) for part in result]
        return type(result)(*parts) if hasattr(result, "_fields") else tuple(parts)
    if isinstance(result, (np.ndarray, np.generic)) and result.dtype.kind == "f":
        return BFloat16Array(np.asarray(result, np.float32))
    return np.asarray(result) if isinstance(result, np.generic) else result


def _shared(result: Any, args: Any) -> Any:
    """Return a result, which may be a view of an argument, as bfloat16."""
    if isinstance(result, (tuple, list)):
        parts = [_shared(part, args) for part in result]
        return type(result)(*parts) if hasattr(result, "_fields") else type(result)(parts)
    found = _as_bfloat16(result)
    if type(found) is BFloat16Array:
        sources = [a for a in args if type(a) is BFloat16Array]
        found.settled = any(a.settled and np.may_share_memory(found.values, a.values) for a in sources)
    return found


def _rewritten(target: Any) -> None:
    """Round an array that was written into."""
    if type(target) is BFloat16Array and target.settled:
        target.values[...] = _nearest(target.values)


def _method(name: str) -> Any:
    def method(self: BFloat16Array, *args: Any, **kwargs: Any) -> Any:
        dtype = kwargs.get("dtype")
        kwargs = {key: _plain(value) for key, value in kwargs.items()}
        result = getattr(self.values, name)(*_plain(args), **kwargs)
        return result if dtype is not None and dtype is not BFLOAT16 else _shared(result, (self,))

    method.__name__ = name
    return method


for _name in _METHODS:
    if _name != "copy":
        setattr(BFloat16Array, _name, _method(_name))


def _maker(function: Any) -> Any:
    def make(*args: Any, **kwargs: Any) -> Any:
        brief = any(a is BFLOAT16 or type(a) is BFloat16Array for a in (*args, *kwargs.values()))
        result = function(*_plain(args), **{name: _plain(value) for name, value in kwargs.items()})
        return _shared(result, args) if brief else result

    return make


def _asarray(values: Any, dtype: Any = None) -> Any:
    if dtype is BFLOAT16:
        return values if type(values) is BFloat16Array else rounded(np.asarray(values))
    if type(values) is BFloat16Array:
        return values if dtype is None else values.astype(dtype)
    return np.asarray(values, dtype)


def _strided(x: Any, shape: Any = None, strides: Any = None, **kwargs: Any) -> Any:
    if type(x) is not BFloat16Array:
        return np.lib.stride_tricks.as_strided(x, shape, strides, **kwargs)
    steps = None if strides is None else [2 * step for step in strides]
    return BFloat16Array(np.lib.stride_tricks.as_strided(x.values, shape, steps, **kwargs), x.settled)


def _on_host(function: Any, *arrays: Any) -> Any:
    """Return ``function`` of the numbers in single precision, rounded."""
    result = function(*[a.values if type(a) is BFloat16Array else a for a in arrays])
    given = lambda each: rounded(each) if getattr(each, "dtype", None) == np.float32 else each
    return tuple([given(each) for each in result]) if isinstance(result, tuple) else given(result)


register_module(
    BFloat16Array,
    SimpleNamespace(
        __name__="bfloat16",
        takes_in=True,
        ndarray=BFloat16Array,
        asarray=_asarray,
        add=SimpleNamespace(at=np.add.at),
        concatenate=np.concatenate,
        on_host=_on_host,
        lib=SimpleNamespace(stride_tricks=SimpleNamespace(as_strided=_strided)),
        **{
            name: _maker(getattr(np, name))
            for name in ("arange", "ascontiguousarray", "empty", "eye", "full", "ones", "zeros")
        },
    ),
)
