"""Arrays with dependences: values, and for each element the set of inputs that it was computed from.

Ordinary code runs over them, forwards and derivative formulas alike, with the values it would have anyway: so branches,
masks and orders are those of the point. The set numbers are an array of the same layout as the values, and operations
that move elements move both: views stay views, and a write through one writes both. The rules for the sets of results
are in :mod:`.rules` and :mod:`.products`.
"""

from __future__ import annotations

from contextvars import ContextVar
from types import SimpleNamespace
from typing import Any

import numpy as np

from ..protocol import register_module
from .dependence import VARYING, Sets, Table

detecting: ContextVar[Table | None] = ContextVar("detecting", default=None)


def current() -> Table:
    """Return the table of the running detection."""
    table = detecting.get()
    if table is None:
        raise RuntimeError("an array of a pattern detection was used after the detection had ended")
    return table


class Dependent(np.lib.mixins.NDArrayOperatorsMixin):
    """Values and their dependences."""

    __slots__ = ("values", "sets", "table", "__weakref__")

    device = "cpu"

    def __init__(self, values: np.ndarray, sets: Sets, table: Table) -> None:
        self.values = values
        self.sets = sets
        self.table = table

    # --- NumPy's protocols ------------------------------------------------------------------------

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **kwargs: Any) -> Any:
        from .rules import ufunc_rule

        return ufunc_rule(ufunc, method, inputs, kwargs)

    def __array_function__(self, func: Any, types: Any, args: tuple, kwargs: dict) -> Any:
        from .rules import function_rule

        return function_rule(func, args, kwargs)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        if self.values.dtype.kind in "biu":  # masks and indices: they carry no derivative
            return self.values if dtype is None else self.values.astype(dtype)
        raise TypeError(
            "while a sparsity pattern is detected, values are no NumPy arrays: a tensor that was made outside of the"
            " function cannot be"
            " written to inside it, and SciPy's and other libraries' functions cannot be called on the values; write to"
            " a tensor made inside"
            " the function, use the library's own operations, or give the pattern with pattern="
        )

    def __dlpack__(self, *args: Any, **kwargs: Any) -> Any:
        raise BufferError("values whose pattern is being detected cannot be shared with another library")

    # --- memory -----------------------------------------------------------------------------------

    dtype = property(lambda self: self.values.dtype)
    shape = property(lambda self: self.values.shape)
    strides = property(lambda self: self.values.strides)
    ndim = property(lambda self: self.values.ndim)
    size = property(lambda self: self.values.size)
    itemsize = property(lambda self: self.values.itemsize)
    nbytes = property(lambda self: self.values.nbytes)
    flags = property(lambda self: self.values.flags)
    base = property(lambda self: self.values.base)
    T = property(lambda self: self.transpose())

    @property
    def real(self) -> Dependent:
        return Dependent(self.values.real, self.sets[...], self.table)

    @property
    def imag(self) -> Dependent:
        if self.values.dtype.kind != "c":
            return constant(np.zeros_like(self.values))
        return Dependent(self.values.imag, self.sets[...], self.table)

    def get(self) -> np.ndarray:
        """Return the values without dependences."""
        return self.values.copy()

    def __getitem__(self, key: Any) -> Dependent:
        sets = np.asarray(self.sets[plain(key)])
        if varies(key):
            sets = np.maximum(sets, VARYING)
        return Dependent(np.asarray(self.values[plain(key)]), sets, self.table)

    def __setitem__(self, key: Any, value: Any) -> None:
        key = plain(key)
        sets = sets_of(value)
        if self.values.dtype.kind in "biu":
            sets = np.minimum(sets, VARYING)
        self.values[key] = plain(value)
        self.sets[key] = sets

    def fill(self, value: Any) -> None:
        self[...] = value

    def sort(self, axis: int = -1, kind: Any = None, order: Any = None) -> None:
        self[...] = np.sort(self, axis)

    def partition(self, kth: Any, axis: int = -1, kind: Any = None, order: Any = None) -> None:
        self[...] = np.partition(self, kth, axis)

    # --- numbers ----------------------------------------------------------------------------------

    def item(self, *args: Any) -> Any:
        return self.values.item(*args)

    def tolist(self) -> Any:
        return self.values.tolist()

    def __len__(self) -> int:
        return len(self.values)

    def __iter__(self) -> Any:
        return (self[i] for i in range(len(self.values)))

    def __bool__(self) -> bool:
        return bool(self.values)

    def __int__(self) -> int:
        return int(self.values)

    def __float__(self) -> float:
        return float(self.values)

    def __complex__(self) -> complex:
        return complex(self.values)

    def __index__(self) -> int:
        return self.values.__index__()

    def __format__(self, spec: str) -> str:
        return format(self.values, spec)

    def __repr__(self) -> str:
        return f"dependent({self.values!r}, {self.sets!r})"

    # --- methods that are no functions of NumPy's -------------------------------------------------

    def copy(self, order: Any = "C") -> Dependent:
        return Dependent(self.values.copy(order), self.sets.copy(order), self.table)

    def astype(
        self, dtype: Any, order: Any = "K", casting: Any = "unsafe", subok: bool = True, copy: bool = True
    ) -> Dependent:
        if not copy and self.values.dtype == dtype:
            return self
        values = self.values.astype(dtype, order)
        return make_dependent(values, self.sets)

    def view(self, dtype: Any = None) -> Dependent:
        if dtype is None:
            return self[...]
        from .rules import reinterpreted

        return reinterpreted(self, np.dtype(dtype))

    def flatten(self, order: Any = "C") -> Dependent:
        return Dependent(self.values.flatten(order), self.sets.flatten(order), self.table)

    def conj(self) -> Dependent:
        conjugated: Any = np.conjugate(self)
        return conjugated

    conjugate = conj

    def reshape(self, *shape: Any, order: Any = "C") -> Dependent:
        return Dependent(self.values.reshape(*shape, order=order), self.sets.reshape(*shape, order=order), self.table)

    def transpose(self, *axes: Any) -> Dependent:
        return Dependent(self.values.transpose(*axes), self.sets.transpose(*axes), self.table)


def _method(name: str) -> Any:
    function = getattr(np, name)

    def method(self: Dependent, *args: Any, **kwargs: Any) -> Any:
        return function(self, *args, **kwargs)

    method.__name__ = name
    return method


for _name in """all any argmax argmin argpartition argsort clip cumprod cumsum diagonal dot max mean min nonzero prod
                ravel repeat round
                searchsorted squeeze std sum swapaxes take trace var""".split():
    setattr(Dependent, _name, _method(_name))


# --- into and out of it ---------------------------------------------------------------------------


def plain(value: Any) -> Any:
    """Return ``value`` with NumPy's arrays in place of dependent ones, also inside lists and tuples."""
    if isinstance(value, Dependent):
        return value.values
    if type(value) in (list, tuple):
        return type(value)(plain(item) for item in value)
    return value


def varies(value: Any) -> bool:
    """Return whether an index, or one of several, may differ at another point: the selected elements then vary, too."""
    if isinstance(value, Dependent):
        return bool(value.sets.any())
    return type(value) in (list, tuple) and any(varies(item) for item in value)


def sets_of(value: Any) -> Sets:
    """Return the sets of any operand: a constant's are 0."""
    if isinstance(value, Dependent):
        if value.table is not current():
            raise RuntimeError("values of one pattern detection were used inside another")
        return value.sets
    return np.zeros(np.shape(value), np.int64)


def make_dependent(values: Any, sets: Sets) -> Dependent:
    """Return a new array with ``sets`` broadcast to the values; integers have no dependences, they only vary."""
    values = np.asarray(values)
    own = np.empty_like(values, np.int64)
    own[...] = sets
    if values.dtype.kind in "biu":
        np.minimum(own, VARYING, out=own)
    return Dependent(values, own, current())


def constant(values: Any) -> Dependent:
    """Return a new array without dependences, with memory of its own."""
    values = np.array(values, order="K")
    return Dependent(values, np.zeros_like(values, np.int64), current())


def inputs(values: np.ndarray) -> Dependent:
    """Return the inputs of the running detection, each dependent on itself."""
    values = np.array(values, order="C")
    return Dependent(values, current().singles(values.shape), current())


def asarray(values: Any, dtype: Any = None) -> Dependent:
    """Return ``values`` as an array of this kind: itself if it is one already."""
    if isinstance(values, Dependent):
        return values if dtype is None or values.dtype == dtype else values.astype(dtype)
    return constant(np.asarray(plain(values), dtype))


def _contiguous(x: Any) -> Dependent:
    return x if x.values.flags.c_contiguous else x.copy()


def _on_host(function: Any, *arrays: Any) -> Any:
    from .products import conservative

    return conservative(function, arrays, {})


def _made(name: str) -> Any:
    function = getattr(np, name)
    return lambda *args, **kwargs: constant(
        function(*plain(args), **{key: plain(value) for key, value in kwargs.items()})
    )


def _full(shape: Any, value: Any, dtype: Any = None) -> Dependent:
    return make_dependent(np.full(shape, plain(value), dtype), sets_of(value))


def _as_strided(x: Any, shape: Any = None, strides: Any = None) -> Dependent:
    from .rules import strided

    return strided(x, shape, strides)


# what stands for the module that owns this kind of array, as CuPy owns its own
module = SimpleNamespace(
    __name__="dualtape.arrays.dependent",
    ndarray=Dependent,
    takes_in=True,
    asarray=asarray,
    ascontiguousarray=_contiguous,
    full=_full,
    on_host=_on_host,
    add=np.add,
    lib=SimpleNamespace(stride_tricks=SimpleNamespace(as_strided=_as_strided)),
    **{name: _made(name) for name in ("arange", "empty", "eye", "ones", "zeros")},
)
register_module(Dependent, module)
