"""Data types: PyTorch's names and promotion rules over NumPy's dtypes.

A :class:`dtype` wraps one ``numpy.dtype`` and is accepted wherever NumPy takes one. Arrays inside the library carry
NumPy dtypes; this module is where the two worlds meet, and it knows nothing about tensors.
"""

from __future__ import annotations

from functools import cache
from math import isinf
from typing import Any

import numpy as np

from .. import errors
from ..arrays.bfloat16_dtype import BFLOAT16, cast, limits
from . import naming

__all__ = ["can_cast", "dtype", "finfo", "get_default_dtype", "iinfo", "promote_types", "set_default_dtype"]

_RANK = {"b": 0, "u": 1, "i": 1, "f": 2, "c": 3}


class dtype:
    """The type of a tensor's elements, named as PyTorch names it.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.float32.is_floating_point, dt.float32.itemsize, dt.float32 == np.float32
    (True, 4, True)
    """

    __slots__ = ("name", "numpy", "_hash")

    def __init__(self, name: str, numpy: np.dtype) -> None:
        self.name = name
        self.numpy = numpy
        self._hash = hash(numpy)

    @property
    def dtype(self) -> np.dtype:
        """The NumPy dtype, under the name by which NumPy itself looks it up."""
        return self.numpy

    @property
    def kind(self) -> str:
        """NumPy's letter for the category, so that formulas can read it from tensors and arrays alike."""
        return self.numpy.kind

    @property
    def itemsize(self) -> int:
        return self.numpy.itemsize

    @property
    def is_floating_point(self) -> bool:
        return self.numpy.kind == "f"

    @property
    def is_complex(self) -> bool:
        return self.numpy.kind == "c"

    @property
    def is_signed(self) -> bool:
        return self.numpy.kind in "ifc"

    def to_real(self) -> Any:
        """The real type of the same precision.

        Examples
        --------
        >>> import dualtape as dt
        >>> dt.complex64.to_real()
        dualtape.float32
        """
        return of(real_of(self.numpy))

    def to_complex(self) -> Any:
        """The complex type of the same precision.

        Examples
        --------
        >>> import dualtape as dt
        >>> dt.float64.to_complex()
        dualtape.complex128
        """
        if self.numpy.kind not in "fc":
            raise RuntimeError(f"{self!r} has no complex type of its own: convert it to a floating-point type first")
        return of(complex_of(self.numpy))

    def __repr__(self) -> str:
        return f"{naming.package}.{self.name}"

    def __eq__(self, other: object) -> bool:
        if isinstance(other, dtype):
            return self.numpy is other.numpy or self.numpy == other.numpy
        if isinstance(other, (np.dtype, type)):
            try:
                return self.numpy == np.dtype(other)
            except TypeError:
                return False
        return NotImplemented

    def __hash__(self) -> int:
        return self._hash

    def __reduce__(self) -> str | tuple:
        return (of, (self.numpy,))


float16 = half = dtype("float16", np.dtype(np.float16))
bfloat16 = dtype("bfloat16", BFLOAT16)
float32 = dtype("float32", np.dtype(np.float32))
float64 = double = dtype("float64", np.dtype(np.float64))
complex64 = cfloat = dtype("complex64", np.dtype(np.complex64))
complex128 = cdouble = dtype("complex128", np.dtype(np.complex128))
uint8 = dtype("uint8", np.dtype(np.uint8))
uint16 = dtype("uint16", np.dtype(np.uint16))
uint32 = dtype("uint32", np.dtype(np.uint32))
uint64 = dtype("uint64", np.dtype(np.uint64))
int8 = dtype("int8", np.dtype(np.int8))
int16 = short = dtype("int16", np.dtype(np.int16))
int32 = dtype("int32", np.dtype(np.int32))
int64 = long = dtype("int64", np.dtype(np.int64))
bool_ = dtype("bool", np.dtype(np.bool_))

NAMED = {
    "float16": float16,
    "half": half,
    "bfloat16": bfloat16,
    "float32": float32,
    "float": float32,
    "float64": float64,
    "double": double,
    "complex64": complex64,
    "cfloat": cfloat,
    "complex128": complex128,
    "cdouble": cdouble,
    "uint8": uint8,
    "uint16": uint16,
    "uint32": uint32,
    "uint64": uint64,
    "int8": int8,
    "int16": int16,
    "short": short,
    "int32": int32,
    "int": int32,
    "int64": int64,
    "long": long,
    "bool": bool_,
}
_BY_NUMPY = {d.numpy: d for d in NAMED.values()}

_default = float32


def of(numpy: np.dtype) -> dtype:
    """Return the :class:`dtype` of a NumPy dtype."""
    try:
        return _BY_NUMPY[numpy]
    except KeyError:
        if numpy.name == "bfloat16":  # that of the package ml_dtypes
            return bfloat16
        native = numpy.newbyteorder("=")
        if native in _BY_NUMPY:
            return _BY_NUMPY[native]
        raise TypeError(
            f"arrays of dtype {numpy} cannot be tensors: expected one of"
            f" {', '.join(d.name for d in _BY_NUMPY.values())};"
            " convert the array with .astype first"
        ) from None


def to_numpy(kind: object) -> np.dtype:
    """Return the NumPy dtype of a user's ``dtype=``: ours, NumPy's, or Python's
    ``float``/``int``/``bool``/``complex``.
    """
    if type(kind) is dtype:
        return kind.numpy
    if kind is BFLOAT16:
        return kind
    try:
        return of(np.dtype(kind)).numpy  # type: ignore[call-overload]
    except TypeError:
        raise TypeError(f"dtype must be a dualtape or NumPy dtype, got {kind!r} ({type(kind).__name__})") from None


def get_default_dtype() -> dtype:
    """The floating-point type that Python floats become.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.get_default_dtype()
    dualtape.float32
    """
    return _default


def set_default_dtype(d: dtype) -> None:
    """Set the floating-point type that Python floats, and integers in float functions, become.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.set_default_dtype(dt.float64); dt.tensor(1.5).dtype
    dualtape.float64
    >>> dt.set_default_dtype(dt.float32)
    """
    global _default
    if not isinstance(d, (dtype, np.dtype)):
        raise TypeError(f"invalid dtype object: expected a floating-point dtype, got {d!r}")
    d = of(to_numpy(d))
    if d.numpy.kind != "f":
        raise TypeError(f"only floating-point types are supported as the default type, got {d!r}")
    _default = d


def default_float() -> np.dtype:
    return _default.numpy


def real_of(numpy: np.dtype) -> np.dtype:
    """Return the real dtype of the same precision."""
    return np.dtype(f"f{numpy.itemsize // 2}") if numpy.kind == "c" else numpy


def complex_of(numpy: np.dtype) -> np.dtype:
    """Return the complex dtype that can hold a real dtype's values."""
    if numpy.kind == "c":
        return numpy
    return complex128.numpy if numpy == float64.numpy else complex64.numpy


def promote_numpy(a: np.dtype, b: np.dtype) -> np.dtype:
    """Return PyTorch's promoted type of two dtypes: an integer never widens a float."""
    if a is b or a == b:
        return a
    ra, rb = _RANK[a.kind], _RANK[b.kind]
    if ra == 2 and rb < 2:
        return a
    if rb == 2 and ra < 2:
        return b
    if ra == 3 and rb < 2:
        return a
    if rb == 3 and ra < 2:
        return b
    if {a.kind, b.kind} == {"u", "i"} and "uint8" not in (a.name, b.name):
        raise errors.promotion(a, b)
    if "float16" in (a.name, b.name) and "c" in (a.kind, b.kind):
        return a if a.kind == "c" else b
    if BFLOAT16 in (a, b):
        other = b if a == BFLOAT16 else a
        return float32.numpy if other.itemsize == 2 else other
    out = np.promote_types(a, b)
    return out if out in _BY_NUMPY else float64.numpy


def promote_types(type1: dtype, type2: dtype) -> dtype:
    """The smallest dtype that both can be converted to by PyTorch's rules.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.promote_types(dt.int64, dt.float16)
    dualtape.float16
    """
    return of(promote_numpy(to_numpy(type1), to_numpy(type2)))


def can_cast(from_: dtype, to: dtype) -> bool:
    """Whether PyTorch's rules let a result of one type be written to another: never down a category.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.can_cast(dt.float64, dt.float32), dt.can_cast(dt.float32, dt.int64)
    (True, False)
    """
    return writes_to(to_numpy(from_), to_numpy(to))


def writes_to(source: np.dtype, target: np.dtype) -> bool:
    """Return whether a result of one NumPy dtype may be written into memory of another."""
    return _RANK[source.kind] <= _RANK[target.kind]


def scalar_dtype(value: object) -> np.dtype:
    """Return the dtype that a Python number has where no tensor of its category is involved."""
    kind = type(value)
    if kind is bool:
        return bool_.numpy
    if isinstance(value, int):
        return int64.numpy
    if isinstance(value, complex):
        return complex_of(_default.numpy)
    return _default.numpy


def number_as(value: complex, target: np.dtype) -> Any:
    """Return a Python number as an element of type ``target``; raise, as PyTorch does, if it does not fit."""
    kind = target.kind
    if isinstance(value, complex) and kind in "iuf":
        if value.imag:
            raise errors.number_overflow(value, of(target))
        value = value.real
    if kind in "iu":
        if isinstance(value, float) and not np.isfinite(value):
            raise errors.number_overflow(value, of(target))
        whole = int(value.real)
        if not _fits(whole, target, isinstance(value, int)):
            raise errors.number_overflow(value, of(target))
        return np.array(whole % 2 ** (8 * target.itemsize) if kind == "u" else whole, target)[()]
    if kind == "f" and target is not BFLOAT16 and abs(value) > _largest(target) and not isinf(value.real):
        raise errors.number_overflow(value, of(target))
    return cast(np.array(value, float), target) if target is BFLOAT16 else np.array(value, target)[()]


@cache
def _largest(target: np.dtype) -> float:
    return float(limits(target).max)


def _fits(value: int, target: np.dtype, wraps: bool) -> bool:
    """Return whether an integer type can hold ``value``; an unsigned one also takes small negative integers, modulo its
    range.
    """
    info = np.iinfo(target)
    return (-int(info.max) if wraps and target.kind == "u" else int(info.min)) <= value <= int(info.max)


def checked_cast(array: np.ndarray, target: np.dtype) -> np.ndarray:
    """Return an array of Python numbers as integers or booleans of another type; raise if they do not fit."""
    if target.kind in "iu" and array.size:
        if array.dtype.kind == "c":
            raise TypeError(
                f"complex numbers cannot be interpreted as integers ({of(target)!r}): take the real part first"
            )
        for extreme in (array.min().item(), array.max().item()):
            if (
                extreme != extreme
                or abs(extreme) == np.inf
                or not _fits(int(extreme), target, array.dtype.kind in "iub")
            ):
                raise errors.number_overflow(extreme, of(target))
    return cast(array, target)


def result_dtype(operands: tuple | list) -> np.dtype:
    """Return PyTorch's result type of arrays and Python numbers.

    Arrays with dimensions decide; 0-d arrays, and after them Python numbers, only lift the category.
    """
    ranked: list[np.dtype | None] = [None, None, None]
    for value in operands:
        if isinstance(value, (bool, int, float, complex)):
            place, numpy = 2, scalar_dtype(value)
        else:
            place, numpy = (0 if value.ndim else 1), value.dtype
        seen = ranked[place]
        ranked[place] = numpy if seen is None else promote_numpy(seen, numpy)
    result: np.dtype | None = None
    for found in ranked:
        if found is None:
            continue
        numpy = found
        if result is None:
            result = numpy
        elif _RANK[numpy.kind] > _RANK[result.kind]:
            lifts = numpy.kind == "c" and result.kind == "f"
            result = complex_of(result) if lifts else promote_numpy(result, numpy)
    assert result is not None
    return result


class finfo:
    """Limits of a floating-point type, as ``torch.finfo``.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.finfo(dt.float32).eps
    1.1920928955078125e-07
    """

    __slots__ = ("bits", "dtype", "eps", "max", "min", "resolution", "smallest_normal", "tiny")

    def __init__(self, type: dtype | None = None) -> None:
        eighths = _FLOAT8.get(getattr(type, "__name__", ""))
        if eighths is not None:  # no arrays have these types: programs ask for their limits all the same
            self.bits, self.dtype, self.resolution = 8, str(getattr(type, "__name__", "")), 1.0
            self.eps, self.max, self.min, self.tiny = eighths
            self.smallest_normal = self.tiny
            return
        numpy = to_numpy(type) if type is not None else _default.numpy
        if numpy.kind not in "fc":
            raise TypeError(f"finfo takes a floating-point type, got {of(numpy)!r}; use iinfo for integers")
        info = limits(real_of(numpy))
        self.bits, self.dtype = info.bits, of(real_of(numpy)).name
        self.eps, self.max, self.min = float(info.eps), float(info.max), float(info.min)
        self.tiny = self.smallest_normal = float(info.tiny)
        self.resolution = float(info.resolution)

    def __repr__(self) -> str:
        shown = ", ".join(
            f"{name}={getattr(self, name):g}" for name in ("resolution", "min", "max", "eps", "smallest_normal", "tiny")
        )
        return f"finfo({shown}, dtype={self.dtype})"


# The step behind 1, the largest and the lowest number, and the smallest normal one of types of eight bits.
_FLOAT8 = {
    "float8_e4m3fn": (2.0**-3, 448.0, -448.0, 2.0**-6),
    "float8_e4m3fnuz": (2.0**-3, 240.0, -240.0, 2.0**-7),
    "float8_e5m2": (2.0**-2, 57344.0, -57344.0, 2.0**-14),
    "float8_e5m2fnuz": (2.0**-3, 57344.0, -57344.0, 2.0**-15),
    "float8_e8m0fnu": (1.0, 2.0**127, 2.0**-127, 2.0**-127),
}


class iinfo:
    """Limits of an integer type, as ``torch.iinfo``.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.iinfo(dt.int8).max
    127
    """

    __slots__ = ("bits", "dtype", "max", "min")

    def __init__(self, type: dtype) -> None:
        numpy = to_numpy(type)
        if numpy.kind not in "iu":
            raise TypeError(f"iinfo takes an integer type, got {of(numpy)!r}; use finfo for floating-point types")
        info = np.iinfo(numpy)
        self.bits, self.max, self.min, self.dtype = info.bits, int(info.max), int(info.min), of(numpy).name

    def __repr__(self) -> str:
        return f"iinfo(min={self.min}, max={self.max}, dtype={self.dtype})"
