"""The methods and attributes of ``numpy.ndarray`` for tensors of NumPy's kind.

Where NumPy and PyTorch both have a name, NumPy's meaning wins; PyTorch's is taken where a keyword is given that only
PyTorch has (``x.sum(dim=0)``). What PyTorch alone has (``x.exp()``) is inherited, and its new tensors are of NumPy's
kind.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from types import FunctionType
from typing import Any

import numpy as np

from ..._tensor.device import contiguous_format
from ..._tensor.dtypes import dtype as torch_dtype
from ..._tensor.layouts import Layouts
from ..._tensor.memory import Memory
from ..._tensor.protocols import Elsewhere, Protocols
from ..._tensor.size import Size
from ..._tensor.tensor import Tensor, wrap
from ...autograd.tangents import check_exportable
from ..dispatch import FUNCTIONS
from ..families.conversion import cast_to
from ..publish import Later
from ..table import TABLE

_FLOATS = (np.dtype(np.float64), np.dtype(np.float32))


def _of_scalar(name: str, args: tuple, kwargs: dict) -> tuple[tuple, dict]:
    """Return the arguments of a method of an array without dimensions, without an axis where NumPy takes 0 and -1."""
    axis: Any = args[0] if args else kwargs.get("axis")
    if name == "swapaxes" or axis is not None and axis != () and (name in _OF_SOME_DIMENSION or axis not in (0, -1)):
        raise np.exceptions.AxisError(axis[0] if isinstance(axis, tuple) else axis, 0)
    if name in ("prod", "squeeze"):
        return args[1:], {key: value for key, value in kwargs.items() if key != "axis"}
    return args, kwargs


def _numpy(func: Callable, args: tuple, kwargs: dict) -> Any:
    """Call a NumPy function on ``args``, whose first is of NumPy's kind."""
    from .tensor import call_function

    return call_function(args[0], func, args, kwargs)


def _torch(name: str, x: Any, args: tuple, kwargs: dict) -> Any:
    """Call PyTorch's method of that name; its new tensors are of NumPy's kind."""
    from .tensor import marked_tree

    return marked_tree(getattr(Tensor, name)(x, *args, **kwargs), (x, *args))


# --- methods that are NumPy's functions -----------------------------------------------------------


def _method(name: str, func: Callable, keywords: tuple, at_once: str | None = None) -> Callable:
    """Return the method ``name``, which calls ``func``; ``keywords`` are those that NumPy's has.

    Parameters
    ----------
    name : str
    func : callable
        A NumPy function, whose first parameter is the array.
    keywords : tuple of str
        A call with another keyword means PyTorch's method.
    at_once : str, optional
        An op that does the same to a tensor of floating-point numbers where no argument is given.
    """
    has_torchs = hasattr(Tensor, name) and type(getattr(Tensor, name)) is not Elsewhere

    def method(self: Any, *args: Any, **kwargs: Any) -> Any:
        if kwargs and not known.issuperset(kwargs):
            if not has_torchs:
                unknown = sorted(set(kwargs) - known)
                raise TypeError(f"{name}() has no argument {unknown[0]!r}: expected one of {sorted(known)}")
            return _torch(name, self, args, kwargs)
        if at_once is not None and not args and not kwargs and self._array.dtype in _FLOATS:
            return _marked(FUNCTIONS[at_once](self))
        x = self
        if not self._array.ndim:
            if name in _OF_ONE_DIMENSION:
                x = self.reshape(1)
            elif name in _ALONG_AXIS:
                args, kwargs = _of_scalar(name, args, kwargs)
        result = _numpy(func, (x, *args), kwargs)
        return FUNCTIONS["clone"](result) if name == "round" and result is self else result

    known = frozenset(keywords)
    method.__name__ = method.__qualname__ = name
    method.__doc__ = f"NumPy's :meth:`numpy.ndarray.{name}`."
    return method


_OF_ONE_DIMENSION = {"argsort", "cumprod", "cumsum", "repeat"}  # to which a scalar is an array of one element
_ALONG_AXIS = {
    *("all", "any", "argmax", "argmin", "max", "mean", "min", "prod", "squeeze", "std", "sum", "swapaxes", "var")
}
_OF_SOME_DIMENSION = {"mean", "std", "var"}  # which refuse an axis of a scalar, where the others take 0 and -1
_FUNCTIONS: dict[str, tuple] = {
    # name: function, keywords, and optionally an op that does the same at once
    "all": (np.all, ("axis", "out", "keepdims", "where")),
    "any": (np.any, ("axis", "out", "keepdims", "where")),
    "argmax": (np.argmax, ("axis", "out", "keepdims")),
    "argmin": (np.argmin, ("axis", "out", "keepdims")),
    "argpartition": (np.argpartition, ("kth", "axis", "kind", "order")),
    "argsort": (np.argsort, ("axis", "kind", "order", "stable")),
    "cumprod": (np.cumprod, ("axis", "dtype", "out")),
    "cumsum": (np.cumsum, ("axis", "dtype", "out")),
    "diagonal": (np.diagonal, ("offset", "axis1", "axis2")),
    "dot": (np.dot, ("b", "out")),
    "max": (np.max, ("axis", "out", "keepdims", "initial", "where")),
    "mean": (np.mean, ("axis", "dtype", "out", "keepdims", "where"), "mean"),
    "min": (np.min, ("axis", "out", "keepdims", "initial", "where")),
    "nonzero": (np.nonzero, ()),
    "prod": (np.prod, ("axis", "dtype", "out", "keepdims", "initial", "where")),
    "repeat": (np.repeat, ("repeats", "axis")),
    "round": (np.round, ("decimals", "out")),
    "searchsorted": (np.searchsorted, ("v", "side", "sorter")),
    "squeeze": (np.squeeze, ("axis",)),
    "std": (np.std, ("axis", "dtype", "out", "ddof", "keepdims", "where", "mean", "correction")),
    "sum": (np.sum, ("axis", "dtype", "out", "keepdims", "initial", "where"), "sum"),
    "swapaxes": (np.swapaxes, ("axis1", "axis2")),
    "take": (np.take, ("indices", "axis", "out", "mode")),
    "trace": (np.trace, ("offset", "axis1", "axis2", "dtype", "out")),
    "var": (np.var, ("axis", "dtype", "out", "ddof", "keepdims", "where", "mean", "correction")),
}


class Count(int):
    """The number of elements, ``x.size``; called, PyTorch's ``x.size()`` and ``x.size(dim)``."""

    _shape: tuple

    def __call__(self, dim: int | None = None) -> Any:
        return Size(self._shape) if dim is None else self._shape[dim]


class DeviceName(str):
    """A device's name, ``x.device``, which also equals PyTorch's device of that name."""

    @property
    def type(self) -> str:
        """The kind of device."""
        return self.partition(":")[0]

    @property
    def index(self) -> Any:
        """Its number, or None."""
        number = self.partition(":")[2]
        return int(number) if number else None

    def __eq__(self, other: object) -> bool:
        return str.__eq__(self, str(other))

    def __ne__(self, other: object) -> bool:
        return not self == other

    __hash__ = str.__hash__


class Methods:
    """Methods and attributes of :class:`~dualtape.ops.numpy_tensor.NumpyTensor`."""

    __slots__ = ()

    # --- attributes -------------------------------------------------------------------------------

    @property
    def shape(self: Any) -> tuple:
        """The sizes of the dimensions."""
        return tuple(self._array.shape)

    @shape.setter
    def shape(self: Any, shape: Any) -> None:
        raise AttributeError(
            "the shape of an array that is differentiated cannot be assigned: use x = x.reshape(shape)"
        )

    @property
    def size(self: Any) -> int:
        """The number of elements."""
        count = Count(self._array.size)
        count._shape = self._array.shape
        return count

    @property
    def dtype(self: Any) -> Any:
        """NumPy's dtype."""
        return self._array.dtype

    @property
    def device(self: Any) -> str:
        """The device's name, ``"cpu"`` for an array of NumPy's."""
        return DeviceName(Tensor.device.__get__(self))

    @property
    def strides(self: Any) -> tuple:
        """The distances in memory from one element to the next along each dimension, in bytes."""
        return tuple(self._array.strides)

    @property
    def flags(self: Any) -> Any:
        """How the elements lie in memory."""
        return self._array.flags

    @property
    def base(self: Any) -> Any:
        """The array that this one is a view of, or None."""
        view = self._view
        return None if view is None else _kind()(view.base)

    @property
    def flat(self: Any) -> Any:
        """An iterator over the elements, which can be indexed and assigned to."""
        return Flat(self)

    @flat.setter
    def flat(self: Any, value: Any) -> None:
        Flat(self)[...] = value

    @property
    def T(self: Any) -> Any:
        """The array with its dimensions in reverse order."""
        return self.transpose()

    @property
    def mT(self: Any) -> Any:
        """The array with its last two dimensions exchanged."""
        if self._array.ndim < 2:
            raise ValueError("matrix transpose with ndim < 2 is undefined")
        return self.swapaxes(-1, -2)

    @property
    def real(self: Any) -> Any:
        """The real part, a view."""
        return self if self._array.dtype.kind != "c" else _torch_member("real", self)

    @real.setter
    def real(self: Any, value: Any) -> None:
        self.real[...] = value

    @property
    def imag(self: Any) -> Any:
        """The imaginary part: a view; zeros of a real array."""
        return _imaginary(self)

    @imag.setter
    def imag(self: Any, value: Any) -> None:
        if self._array.dtype.kind != "c":
            raise TypeError("array does not have imaginary part to set")
        self.imag[...] = value

    @property
    def data(self: Any) -> Any:
        """The buffer of the values, of an array that is not differentiated."""
        return _values(self, "data").data

    @property
    def ctypes(self: Any) -> Any:
        """For C functions, of an array that is not differentiated."""
        return _values(self, "ctypes").ctypes

    # --- copies and conversions -------------------------------------------------------------------

    def copy(self: Any, order: str = "C") -> Any:
        """Return a copy, with the history of this array."""
        if order == "F" or order == "A" and self._array.flags.fnc:
            return self.transpose().copy().transpose()
        if order not in ("C", "A", "K"):
            raise ValueError(f"order must be one of 'C', 'F', 'A', or 'K', got {order!r}")
        return _marked(FUNCTIONS["clone"](self, memory_format=None if order == "K" else contiguous_format))

    def astype(
        self: Any, dtype: Any, order: str = "K", casting: Any = "unsafe", subok: bool = True, copy: bool = True
    ) -> Any:
        """Return the values in another dtype."""
        wanted = dtype.numpy if isinstance(dtype, torch_dtype) else np.dtype(dtype)
        if not np.can_cast(self._array.dtype, wanted, casting):
            raise TypeError(f"Cannot cast array data from {self._array.dtype!r} to {wanted!r} according to {casting!r}")
        if wanted.kind not in "biufc":
            raise TypeError(f"astype: expected a dtype of numbers, got {wanted}: use np.asarray(x) of values alone")
        if self._array.dtype == wanted:
            return self.copy() if copy else self
        return _marked(cast_to(self, wanted))

    def flatten(self: Any, order: str = "C", **torchs: Any) -> Any:
        """Return a copy in one dimension; with PyTorch's ``start_dim=`` and ``end_dim=`` PyTorch's method."""
        if torchs or not isinstance(order, str):
            if isinstance(order, int):
                raise TypeError(
                    f"flatten: order must be str, not int: PyTorch's dimensions are keywords here,"
                    f" x.flatten(start_dim={order})"
                )
            return _torch("flatten", self, (), torchs)
        return self.ravel(order).copy()

    def ravel(self: Any, order: str = "C") -> Any:
        """Return the elements in one dimension, a view where that can be."""
        if order == "K":
            places = sorted(range(self._array.ndim), key=lambda d: -abs(self._array.strides[d]))
            return self.transpose(*places).reshape(-1) if places else self.reshape(-1)
        return self.reshape(-1, order=order)

    def reshape(self: Any, *shape: Any, order: str = "C", copy: bool | None = None) -> Any:
        """Return the elements in another shape, a view where that can be."""
        wanted = shape[0] if len(shape) == 1 else shape
        if order == "C" and copy is None:
            return _marked_unless(FUNCTIONS["reshape"](self, _sizes(wanted)), self)
        if copy is False and order == "C":
            return self.view(_sizes(wanted))
        if order == "F" or order == "A" and self._array.flags.fnc:
            return self.transpose().reshape(_sizes(wanted)[::-1]).transpose()
        if order not in ("C", "A"):
            raise ValueError(f"order must be one of 'C', 'F', 'A', got {order!r}")
        return (self.copy() if copy else self).reshape(_sizes(wanted))

    def transpose(self: Any, *axes: Any, **torchs: Any) -> Any:
        """Return a view with the dimensions in another order; in reverse order without arguments."""
        if torchs:
            return _torch("transpose", self, axes, torchs)
        if len(axes) == 1 and (axes[0] is None or isinstance(axes[0], (tuple, list))):
            (axes,) = axes
        ndim = self._array.ndim
        order = tuple(range(ndim))[::-1] if not axes else tuple(axes)
        if len(order) != ndim:
            raise ValueError(
                f"axes don't match array: expected {ndim} axes, got {order}; PyTorch's transpose(dim0, dim1) is"
                " x.swapaxes(dim0, dim1)"
            )
        return _marked(FUNCTIONS["permute"](self, order))

    def view(self: Any, *args: Any, **kwargs: Any) -> Any:
        """Return a view; with a dtype, of the same bytes; with a shape, PyTorch's."""
        if not args and not kwargs:
            return _marked(TABLE["alias"].function(self))
        given = args[0] if args else kwargs.get("dtype")
        if isinstance(given, type) and issubclass(given, np.ndarray) or "type" in kwargs:
            raise TypeError(
                "view: an array that is differentiated cannot become another class; np.asarray(x) has values"
            )
        if isinstance(given, (int, np.integer, tuple, list)) or "dtype" not in kwargs and kwargs:
            return _torch("view", self, args, kwargs)
        wanted = given if isinstance(given, torch_dtype) else np.dtype(given)
        if self._array.dtype == wanted:
            return self.view()
        return _torch("view", self, (wanted,), {})

    def conj(self: Any) -> Any:
        """Return the complex conjugates."""
        return self.__class__.conjugate(self)

    def conjugate(self: Any) -> Any:
        """Return the complex conjugates."""
        if self._array.dtype.kind != "c":
            return self.copy()
        return _marked(FUNCTIONS["conj_physical"](self))

    def clip(self: Any, min: Any = None, max: Any = None, out: Any = None, **kwargs: Any) -> Any:
        """Return the values, limited to the interval from ``min`` to ``max``."""
        more = kwargs if out is None else {**kwargs, "out": out}
        return _numpy(np.clip, (self, min, max), more)

    def compress(self: Any, condition: Any, axis: int | None = None, out: Any = None) -> Any:
        """Return the slices along ``axis`` for which ``condition`` holds."""
        return _compressed(self, condition, axis, {} if out is None else {"out": out})

    def choose(self: Any, choices: Any, out: Any = None, mode: str = "raise") -> Any:
        """Return for each element, an integer, the value at its place in the array of that number in ``choices``."""
        return _numpy(np.choose, (self, choices), {"mode": mode} if out is None else {"mode": mode, "out": out})

    def item(self: Any, *args: Any) -> Any:
        """Return one element as a Python number, which has no history."""
        if not args:
            if self._array.size != 1:
                raise ValueError("can only convert an array of size 1 to a Python scalar")
            return Tensor.item(self)
        index = args[0] if len(args) == 1 and isinstance(args[0], tuple) else args
        if len(index) == 1 and self._array.ndim != 1:
            index = np.unravel_index(_flat_index(index[0], self._array.size), self._array.shape)
        return Tensor.item(self[tuple(int(k) for k in index)])

    def tobytes(self: Any, order: str | None = "C") -> bytes:
        """Return the bytes of the values, of an array that is not differentiated."""
        return _values(self, "tobytes").tobytes(order)  # type: ignore[arg-type]

    def tofile(self: Any, fid: Any, sep: str = "", format: str = "%s") -> None:
        """Write the values to a file, of an array that is not differentiated."""
        _values(self, "tofile").tofile(fid, sep, format)

    def dump(self: Any, file: Any) -> None:
        """Pickle the values to a file, of an array that is not differentiated."""
        _values(self, "dump").dump(file)

    def dumps(self: Any) -> bytes:
        """Return the pickled values, of an array that is not differentiated."""
        return _values(self, "dumps").dumps()

    def byteswap(self: Any, inplace: bool = False) -> Any:
        """Return the values with their bytes in reverse order, of an array that is not differentiated."""
        return _values(self, "byteswap").byteswap(inplace)

    def getfield(self: Any, dtype: Any, offset: int = 0) -> Any:
        """Return part of each element's bytes, of an array that is not differentiated."""
        return _values(self, "getfield").getfield(dtype, offset)

    # --- in place ---------------------------------------------------------------------------------

    def fill(self: Any, value: Any) -> None:
        """Write one value to all elements."""
        self[...] = value

    def put(self: Any, indices: Any, values: Any, mode: str = "raise", **torchs: Any) -> None:
        """Write ``values`` to the elements at ``indices`` of the flattened array."""
        _numpy(np.put, (self, indices, values), {"mode": mode})

    def sort(self: Any, axis: int | None = -1, kind: Any = None, order: Any = None, **torchs: Any) -> Any:
        """Sort in place; with PyTorch's keywords, PyTorch's method, which returns values and indices."""
        more = {key: value for key, value in torchs.items() if key != "stable"}
        if more:
            return _torch("sort", self, (), torchs)
        if not isinstance(axis, (int, np.integer)):
            raise TypeError(f"sort: expected an integer for axis, got {axis!r}")
        if not self._array.ndim:
            raise np.exceptions.AxisError(axis, 0)
        self[...] = _numpy(np.sort, (self,), {"axis": axis, "kind": kind, "order": order, **torchs})
        return None

    def partition(self: Any, kth: Any, axis: int = -1, kind: str = "introselect", order: Any = None) -> None:
        """Partition in place, so that the ``kth`` element is where it is in the sorted array."""
        self[...] = _numpy(np.partition, (self, kth), {"axis": axis})

    def resize(self: Any, *args: Any, **kwargs: Any) -> None:
        """Raise: an array that is differentiated has memory of one size."""
        raise ValueError(
            "resize: an array that is differentiated keeps its size: use np.resize(x, shape), which returns a new one"
        )

    def setfield(self: Any, *args: Any, **kwargs: Any) -> None:
        """Raise: part of an element's bytes has no derivative."""
        raise TypeError("setfield: part of an element's bytes has no derivative: use x[...] = value")

    def setflags(self: Any, write: bool | None = None, align: bool | None = None, uic: bool | None = None) -> None:
        """Raise: whether an array that is differentiated may be written to is not for sale."""
        raise ValueError("setflags: flags of an array that is differentiated cannot be set: set them on the array")

    def to_device(self: Any, device: Any, /, *, stream: Any = None) -> Any:
        """Return the array itself for ``"cpu"``; others raise."""
        if stream is not None:
            raise ValueError("The stream argument in to_device() is not supported: expected None")
        if str(device) != str(self.device):
            raise ValueError(f"Unsupported device: {device}. An array stays on {self.device}")
        return self


def _compressed(x: Any, condition: Any, axis: int | None, more: dict) -> Any:
    from .tensor import call_function

    return call_function(x, np.compress, (condition, x, axis), more)


def _kind() -> Any:
    from .tensor import NumpyTensor

    return NumpyTensor


def _marked(value: Any) -> Any:
    from .tensor import marked

    return marked(value)


def _marked_unless(value: Any, given: Any) -> Any:
    """Return a result of NumPy's kind; an argument that came back, as a view of it."""
    return _marked(TABLE["alias"].function(value) if value is given else value)


def _torch_member(name: str, x: Any) -> Any:
    """Return what the property ``name`` of a plain tensor gives."""
    return _marked_unless(getattr(Tensor, name).__get__(x, type(x)), x)


def _imaginary(x: Any) -> Any:
    if x._array.dtype.kind != "c":
        return _marked(wrap(np.zeros_like(x._array)))
    return _torch_member("imag", x)


def _sizes(shape: Any) -> Any:
    if isinstance(shape, (int, np.integer)):
        return (int(shape),)
    return tuple(int(n) for n in shape)


def _flat_index(index: int, size: int) -> int:
    if not -size <= index < size:
        raise IndexError(f"index {index} is out of bounds for size {size}")
    return int(index) % size


def _values(x: Any, what: str) -> np.ndarray:
    """Return the array of values for what has no derivative; raise if a derivative would be lost."""
    if x.requires_grad:
        raise TypeError(
            f"{what}: its bytes are asked of an array that is differentiated, which would lose the derivative: use"
            f" x.detach().{what}"
        )
    check_exportable(x)
    return Tensor.numpy(x)


class Flat:
    """The elements of an array in one dimension, ``x.flat``: to iterate over, to index, to assign to."""

    def __init__(self, x: Any) -> None:
        self.base, self.index = x, 0

    @property
    def coords(self) -> tuple:
        """The index of the next element."""
        return tuple(int(k) for k in np.unravel_index(self.index, self.base.shape)) if len(self) else ()

    def copy(self) -> Any:
        """Return the elements as an array of one dimension."""
        return self.base.flatten()

    def __len__(self) -> int:
        return int(self.base.size)

    def __iter__(self) -> Iterator[Any]:
        return self

    def __next__(self) -> Any:
        if self.index >= len(self):
            raise StopIteration
        self.index += 1
        return self[self.index - 1]

    def __getitem__(self, key: Any) -> Any:
        result = self.base.ravel()[key]
        return result.copy() if isinstance(result, Tensor) else result

    def __setitem__(self, key: Any, value: Any) -> None:
        x = self.base
        places = np.arange(len(self))[key]
        values = np.asarray(value) if not isinstance(value, Tensor) else value
        if isinstance(values, np.ndarray):
            x[np.unravel_index(places, x.shape)] = np.resize(values, np.shape(places))  # repeated, if it is shorter
            return
        if values._array.size not in (1, np.size(places)):
            values = values.ravel()[np.resize(np.arange(values._array.size), np.size(places))]
        x[np.unravel_index(places, x.shape)] = values.reshape(np.shape(places)) if values._array.size > 1 else values

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        return np.asarray(self.base.flatten(), dtype)


for _name, (_func, _keywords, *_at_once) in _FUNCTIONS.items():
    setattr(Methods, _name, _method(_name, _func, _keywords, *_at_once))


# --- what PyTorch alone has -----------------------------------------------------------------------

# Methods whose results are other things than new tensors, or that need the object itself.
_AS_THEY_ARE = frozenset(
    """
    backward register_hook register_post_accumulate_grad_hook requires_grad_ retain_grad numpy tolist is_inference
    stride storage_offset data_ptr numel nelement ndimension dim element_size is_contiguous
""".split()
)


def _inherited(name: str) -> Callable:
    def method(self: Any, *args: Any, **kwargs: Any) -> Any:
        from .tensor import marked_tree

        return marked_tree(getattr(Tensor, name)(self, *args, **kwargs), (self, *args))

    method.__name__ = method.__qualname__ = name
    return method


def _inherit() -> None:
    """Define each method that PyTorch alone has, so that its new tensors are of NumPy's kind."""
    for owner in (Tensor, Protocols, Layouts, Memory):
        for name, member in vars(owner).items():
            if name.startswith("_") or name in _AS_THEY_ARE or name in vars(Methods):
                continue
            if isinstance(member, (FunctionType, Later)):
                setattr(Methods, name, _inherited(name))


_inherit()
