"""The standard's data types: kinds, promotion, limits, and information about the namespace."""

from __future__ import annotations

import builtins
import functools
from typing import Any, NamedTuple

import numpy as np

import dualtape as dt

from .._tensor.dtypes import of, to_numpy
from .._tensor.tensor import Tensor

__all__ = ["astype", "can_cast", "finfo", "iinfo", "isdtype", "result_type"]

_KINDS = {
    "bool": ("bool",),
    "signed integer": ("int8", "int16", "int32", "int64"),
    "unsigned integer": ("uint8", "uint16", "uint32", "uint64"),
    "real floating": ("float32", "float64"),
    "complex floating": ("complex64", "complex128"),
}
_KINDS["integral"] = _KINDS["signed integer"] + _KINDS["unsigned integer"]
_KINDS["numeric"] = _KINDS["integral"] + _KINDS["real floating"] + _KINDS["complex floating"]
_DTYPES = _KINDS["bool"] + _KINDS["numeric"]
_NUMBERS = (bool, int, float, complex)


def astype(x: Tensor, dtype: dt.dtype, /, *, copy: bool = True, device: Any = None) -> Tensor:
    """``x`` in another type; with ``copy=False`` the same tensor where nothing changes.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.array_api.astype(dt.tensor([1, 0]), dt.bool)
    tensor([ True, False])
    """
    if x.dtype.is_complex and not dtype.is_complex:
        raise TypeError(f"astype does not take {x.dtype!r} to {dtype!r}: take real(x) or imag(x) first")
    return x.to(device=device, dtype=dtype, copy=copy)


def can_cast(from_: Any, to: dt.dtype, /) -> bool:
    """Whether promotion may convert the one type to the other.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.array_api.can_cast(dt.int32, dt.int64), dt.array_api.can_cast(dt.float32, dt.int64)
    (True, False)
    """
    try:
        return result_type(from_, to) == to
    except TypeError:  # no type holds both: a signed and an unsigned integer of 64 bits
        return False


def result_type(*arrays_and_dtypes: Any) -> dt.dtype:
    """The type that arrays, types and Python numbers promote to; a number follows the kind of the others.

    0-d arrays count as others do, which they do not in ``dualtape.result_type``.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.array_api.result_type(dt.ones(2), dt.tensor(1.0, dtype=dt.float64), 2.0)
    dualtape.float64
    """
    if not arrays_and_dtypes:
        raise ValueError("result_type takes at least one array or dtype")
    numbers = [value for value in arrays_and_dtypes if isinstance(value, _NUMBERS)]
    kinds = [getattr(value, "dtype", value) for value in arrays_and_dtypes if not isinstance(value, _NUMBERS)]
    if not kinds:
        return dt.result_type(*(numbers * 2 if len(numbers) == 1 else numbers[:2]))
    result = functools.reduce(_promoted, map(of, map(to_numpy, kinds)))
    for number in numbers:
        result = dt.result_type(dt.empty(1, dtype=result), number)
    return result


def _promoted(a: dt.dtype, b: dt.dtype) -> dt.dtype:
    if a == b or not (isdtype(a, "integral") and isdtype(b, "integral")):
        return dt.promote_types(a, b)
    wider = np.promote_types(a.numpy, b.numpy)
    if wider.kind == "f":
        raise TypeError(f"{a!r} and {b!r} have no integer type in common: convert one of them with astype")
    return of(wider)


def isdtype(dtype: dt.dtype, kind: Any) -> bool:
    """Whether a type is of a kind: another type, a name of the standard's for several, or a tuple of either.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.array_api.isdtype(dt.int8, ("real floating", "signed integer"))
    True
    """
    if isinstance(kind, tuple):
        return builtins.any(isdtype(dtype, each) for each in kind)
    if isinstance(kind, str):
        if kind not in _KINDS:
            raise ValueError(f"unrecognized data type kind {kind!r}: the standard has {', '.join(_KINDS)}")
        return builtins.any(dtype == getattr(dt, name) for name in _KINDS[kind])
    return dtype == kind


class finfo_object(NamedTuple):
    """Limits of a floating-point type."""

    bits: int
    eps: float
    max: float
    min: float
    smallest_normal: float
    dtype: dt.dtype


class iinfo_object(NamedTuple):
    """Limits of an integer type."""

    bits: int
    max: int
    min: int
    dtype: dt.dtype


def finfo(type: Any, /) -> finfo_object:
    """Limits of a floating-point type, or of an array's.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.array_api.finfo(dt.ones(1)).dtype
    dualtape.float32
    """
    info = dt.finfo(_of(type))
    return finfo_object(info.bits, info.eps, info.max, info.min, info.smallest_normal, getattr(dt, info.dtype))


def iinfo(type: Any, /) -> iinfo_object:
    """Limits of an integer type, or of an array's.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.array_api.iinfo(dt.int8).max
    127
    """
    info = dt.iinfo(_of(type))
    return iinfo_object(info.bits, info.max, info.min, getattr(dt, info.dtype))


def _of(type: Any) -> dt.dtype:
    return type.dtype if isinstance(type, Tensor) else type


def of_one_type(*values: Any) -> list[Any]:
    """Return arrays and Python numbers as arrays of their promoted type."""
    kind = result_type(*values)
    return [x.to(kind) if isinstance(x, Tensor) else dt.asarray(x, dtype=kind) for x in values]


class Info:
    """The result of ``__array_namespace_info__()``: devices, types and capabilities of the namespace.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.array_api.__array_namespace_info__().default_dtypes()["integral"]
    dualtape.int64
    """

    def capabilities(self) -> dict[str, Any]:
        return {"boolean indexing": True, "data-dependent shapes": True, "max dimensions": 64}

    def default_device(self) -> dt.device:
        return dt.get_default_device()

    def devices(self) -> list[dt.device]:
        return [dt.device("cpu"), *(dt.device("cuda", n) for n in range(dt.cuda.device_count()))]

    def default_dtypes(self, *, device: Any = None) -> dict[str, dt.dtype]:
        real = dt.get_default_dtype()
        return {
            "real floating": real,
            "complex floating": real.to_complex(),
            "integral": dt.int64,
            "indexing": dt.int64,
        }

    def dtypes(self, *, device: Any = None, kind: Any = None) -> dict[str, dt.dtype]:
        everything = {name: getattr(dt, name) for name in _DTYPES}
        return everything if kind is None else {name: d for name, d in everything.items() if isdtype(d, kind)}
