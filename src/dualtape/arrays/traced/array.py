"""The traced array: a NumPy array, and a tape that records every operation on it.

Values are real while a program is traced: code that reads them gets its answer, and the answer is recorded as a check.
After a tape was closed (the program has ended, or cannot be traced) its arrays compute as NumPy's, and give NumPy's.
"""

from __future__ import annotations

import functools
from operator import attrgetter
from types import SimpleNamespace
from typing import Any

import numpy

from ..batched.array import Batched
from ..bfloat16_dtype import BFLOAT16, cast
from ..protocol import register_module
from .tape import CALL, GETITEM, METHOD, SETITEM, SHAPE, Memory, Tape, Value, leaves, mapped

np: Any = numpy  # its stubs know nothing of other kinds of arrays
_ndarray, _scalar = numpy.ndarray, numpy.generic


class Traced(np.lib.mixins.NDArrayOperatorsMixin):
    """A NumPy array and its value on a tape."""

    __slots__ = ("values", "value", "tape", "__weakref__")

    device = "cpu"
    __array_priority__ = 800  # below vmap's, which hides them

    def __init__(self, values: numpy.ndarray, value: Value, tape: Tape) -> None:
        self.values = values
        self.value = value
        self.tape = tape
        if tape.keep:
            value.array = values

    # --- NumPy's protocols ------------------------------------------------------------------------

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **kwargs: Any) -> Any:
        for i in inputs:
            if type(i) is not Traced and (type(i) is Batched or hasattr(i, "_array")):
                return NotImplemented  # tensors, and vmap's arrays: they are further out
        if method == "__call__" and not kwargs and ufunc.nout == 1:
            return _elementwise(ufunc, inputs)
        if method == "at":
            getattr(ufunc, method)(*plain(inputs), **plain(kwargs))
            return written(inputs[0], CALL, getattr(ufunc, method), inputs, kwargs)
        return recorded(CALL, ufunc if method == "__call__" else getattr(ufunc, method), inputs, kwargs)

    def __array_function__(self, func: Any, types: Any, args: tuple, kwargs: dict) -> Any:
        for kind in types:
            if kind is not Traced and (kind is Batched or hasattr(kind, "_array")):
                return NotImplemented
        if func in _ABOUT:
            return func(*plain(args), **plain(kwargs))
        if func in _WRITING:
            func(*plain(args), **plain(kwargs))
            return written(args[0], CALL, func, args, kwargs)
        kwargs.pop("like", None)
        if func in _LIKE and kwargs.get("dtype") is BFLOAT16:
            self.tape.fail("it computes with bfloat16")
            single = [cast(a, np.float32) if getattr(a, "dtype", None) is BFLOAT16 else a for a in plain(args)]
            return cast(func(*single, **plain({**kwargs, "dtype": np.float32})), BFLOAT16)
        if func in _LIKE and self.tape.open and tape_of((args[1:], kwargs)) is None:
            return constant(func(*plain(args), **plain(kwargs)), self.tape)  # whatever its argument holds
        if tape_of((args, kwargs)) is None:  # like= alone says what to make
            made = _WRITABLE.get(func, func)(*plain(args), **plain(kwargs))
            return constant(made, self.tape) if self.tape.open else made
        return recorded(CALL, _WRITABLE.get(func, func), args, kwargs, static=func in _STATIC)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> numpy.ndarray:
        self._looked_at()
        return np.asarray(self.values, dtype) if copy is None else np.array(self.values, dtype, copy=copy)

    def __dlpack__(self, *args: Any, **kwargs: Any) -> Any:
        self.tape.fail("values are given to another library")
        return self.values.__dlpack__(*args, **kwargs)

    def __dlpack_device__(self) -> Any:
        return self.values.__dlpack_device__()

    # --- memory -----------------------------------------------------------------------------------

    dtype = property(attrgetter("values.dtype"))
    shape = property(attrgetter("values.shape"))
    strides = property(attrgetter("values.strides"))
    ndim = property(attrgetter("values.ndim"))
    size = property(attrgetter("values.size"))
    itemsize = property(attrgetter("values.itemsize"))
    nbytes = property(attrgetter("values.nbytes"))
    flags = property(attrgetter("values.flags"))
    base = property(attrgetter("values.base"))
    __array_interface__ = property(attrgetter("values.__array_interface__"))
    T = property(lambda self: recorded(METHOD, "transpose", (self,), {}))
    real = property(lambda self: recorded(CALL, np.real, (self,), {}))
    imag = property(lambda self: recorded(CALL, np.imag, (self,), {}))

    def get(self) -> numpy.ndarray:
        """Return its values, for code that does not compute with arrays."""
        self._looked_at()
        return self.values.copy()

    def shared(self) -> numpy.ndarray:
        """Return its values over the same memory; what is done with them is not recorded."""
        self.tape.fail("the memory of a tensor is given away as an array of NumPy's")
        return self.values

    def __getitem__(self, key: Any) -> Any:
        return recorded(GETITEM, None, (self, key), {}, static=not _has_mask(key))

    def __setitem__(self, key: Any, value: Any) -> None:
        try:
            self.values[plain(key)] = plain(value)
        except _BY_VALUE as error:
            _raised(tape_of((self, key, value)), error)
            raise
        written(self, SETITEM, None, (self, key, value), {})

    def fill(self, value: Any) -> None:
        self[...] = value

    def sort(self, axis: int = -1, kind: Any = None, order: Any = None) -> None:
        self[...] = np.sort(self, axis, kind)

    def partition(self, kth: Any, axis: int = -1, kind: Any = None, order: Any = None) -> None:
        self[...] = np.partition(self, kth, axis)

    # --- numbers: what is read is checked in every run --------------------------------------------

    def _looked_at(self) -> None:
        self.tape.read(self.value, self.values)

    def item(self, *args: Any) -> Any:
        self._looked_at()
        return self.values.item(*args)

    def tolist(self) -> Any:
        self._looked_at()
        return self.values.tolist()

    def tobytes(self, order: Any = "C") -> bytes:
        self._looked_at()
        return self.values.tobytes(order)

    @property
    def flat(self) -> Any:
        """Iterate over its elements, to be read."""
        self._looked_at()
        seen = self.values.copy()
        seen.flags.writeable = False
        return seen.flat

    def __len__(self) -> int:
        return len(self.values)

    def __iter__(self) -> Any:
        return (self[i] for i in range(len(self.values)))

    def __bool__(self) -> bool:
        self._looked_at()
        return bool(self.values)

    def __int__(self) -> int:
        self._looked_at()
        return int(self.values)

    def __float__(self) -> float:
        self._looked_at()
        return float(self.values)

    def __complex__(self) -> complex:
        self._looked_at()
        return complex(self.values)

    def __index__(self) -> int:
        self._looked_at()
        return self.values.__index__()

    def __format__(self, spec: str) -> str:
        self._looked_at()
        return format(self.values, spec)

    def __repr__(self) -> str:
        return f"traced({self.values!r})"

    def __reduce__(self) -> Any:
        self.tape.fail("values are pickled")
        return self.values.__reduce__()

    def __deepcopy__(self, memo: dict) -> Any:
        return self.copy()

    # --- methods that are no functions of NumPy's -------------------------------------------------

    def copy(self, order: Any = "C") -> Any:
        return recorded(METHOD, "copy", (self, order), {})

    def astype(
        self, dtype: Any, order: Any = "K", casting: Any = "unsafe", subok: bool = True, copy: bool = True
    ) -> Any:
        if dtype is BFLOAT16:
            self.tape.fail("it computes with bfloat16")
            return cast(self.values, BFLOAT16)
        if not copy and self.values.dtype == dtype:
            return self
        if dtype is BFLOAT16:
            self.tape.fail("it computes in bfloat16")
            return cast(self.values, dtype)
        return recorded(METHOD, "astype", (self, np.dtype(dtype), order, casting), {})

    def view(self, dtype: Any = None) -> Any:
        return recorded(METHOD, "view", (self,) if dtype is None else (self, np.dtype(dtype)), {})

    def flatten(self, order: Any = "C") -> Any:
        return recorded(METHOD, "flatten", (self, order), {})

    def conj(self) -> Any:
        return self if self.values.dtype.kind != "c" else np.conjugate(self)

    conjugate = conj

    def reshape(self, *shape: Any, order: Any = "C") -> Any:
        return recorded(METHOD, "reshape", (self, *shape), {} if order == "C" else {"order": order})

    def transpose(self, *axes: Any) -> Any:
        return recorded(METHOD, "transpose", (self, *axes), {})


def _method(name: str) -> Any:
    function = getattr(np, name)

    def method(self: Traced, *args: Any, **kwargs: Any) -> Any:
        return function(self, *args, **kwargs)

    method.__name__ = name
    return method


for _name in """all any argmax argmin argpartition argsort clip cumprod cumsum diagonal dot max mean min nonzero prod
                ravel repeat round searchsorted squeeze std sum swapaxes take trace var""".split():
    setattr(Traced, _name, _method(_name))


# --- writing down ---------------------------------------------------------------------------------


def plain(tree: Any) -> Any:
    """Return ``tree`` with NumPy's arrays in place of traced ones."""
    if type(tree) is Traced:
        return tree.values
    if type(tree) is tuple:
        return tuple([leaf.values if type(leaf) is Traced else plain(leaf) for leaf in tree])
    if isinstance(tree, (tuple, list, dict)):
        return mapped(tree, lambda leaf: leaf.values if type(leaf) is Traced else leaf)
    if type(tree) is slice:
        return slice(
            *[
                None if part is None else part if type(part) is int else part.__index__()
                for part in (tree.start, tree.stop, tree.step)
            ]
        )
    return tree


def tape_of(tree: Any) -> Tape | None:
    """Return the tape of the arrays in ``tree`` if it is still open, else None."""
    found: list = []

    def look(leaf: Any) -> Any:
        if type(leaf) is Traced and leaf.tape.open:
            found.append(leaf.tape)
        return leaf

    mapped(tree, look)
    if not found:
        return None
    if any(tape is not found[0] for tape in found):
        for tape in found:
            tape.fail("values of one traced program are used in another")
        return None
    return found[0]


def recorded(kind: str, function: Any, args: tuple, kwargs: dict, static: bool = True) -> Any:
    """Call a function, record the call, and return traced results."""
    if not kwargs or "out" not in kwargs:
        simple = _simple(args, kwargs)
        if simple is not None:
            return _recorded_simply(kind, function, kwargs, static, *simple)
    out = kwargs.get("out")
    if kwargs and isinstance(out, tuple) and len(out) == 1:
        out = out[0]
    tape = tape_of((args, kwargs))
    try:
        result = _done(kind, function, plain(args), plain(kwargs))
    except _BY_VALUE as error:
        _raised(tape, error)
        raise
    if out is not None:
        return written(out, kind, function, args, kwargs) if tape is not None else out
    if tape is None:
        return result
    inputs = (mapped(args, lambda leaf: taken(leaf, tape)), mapped(kwargs, lambda leaf: taken(leaf, tape)))
    operands = leaves(inputs)
    constant = all([value.constant is not None and not value.memory.written for value in operands])
    return _given(tape, kind, function, inputs, operands, constant, result, static)


def called(function: Any, args: tuple) -> Any:
    """Call a function of arrays and record it as one instruction, whatever it does inside."""
    found: list = []
    mapped(args, found.append)
    if any([type(leaf) is not Traced and not isinstance(leaf, _ndarray) and hasattr(leaf, "dtype") for leaf in found]):
        return function(*args)  # vmap's arrays, and others that are further out
    masked = any([type(leaf) is Traced and leaf.dtype.kind == "b" for leaf in found])
    if function not in _whole:
        _whole[function] = functools.partial(_densely, function)
    return recorded(CALL, _whole[function], args, {}, static=not masked)


# Functions that are recorded as one call, with their results as programs take them.
_whole: dict[Any, Any] = {}


def is_whole(function: Any) -> bool:
    """Return whether an instruction's function is recorded as a whole."""
    return type(function) is functools.partial and function.func is _densely


def _densely(function: Any, *args: Any) -> Any:
    """Return the result of ``function`` in contiguous memory, as programs store it."""
    return mapped(function(*args), _dense)


def _dense(leaf: Any) -> Any:
    return leaf.copy("K") if isinstance(leaf, _ndarray) and leaf.base is not None and not leaf.flags.forc else leaf


def _done(kind: str, function: Any, raw: tuple, kwargs: dict) -> Any:
    if kind == CALL:
        return function(*raw, **kwargs)
    if kind == GETITEM:
        return raw[0][raw[1]]
    return getattr(raw[0], function)(*raw[1:], **kwargs)


# errors that may come of what arrays hold, rather than of what they are
_BY_VALUE = (IndexError, ValueError, ArithmeticError)


def _raised(tape: Tape | None, error: Exception) -> None:
    """Give up tracing: a call raised, and a replay with other values might not."""
    if tape is not None:
        tape.fail(f"an operation raises {type(error).__name__}, and it goes on")


_PLAIN = {int, float, bool, str, type(None), numpy.dtype, type(Ellipsis)}


def _is_plain(item: Any) -> bool:
    """Return whether an argument is stored in an instruction as it is and holds no array."""
    kind = type(item)
    if kind in _PLAIN or isinstance(item, numpy.dtype):
        return True
    if kind is tuple:
        return all([type(part) in _PLAIN or _is_plain(part) for part in item])
    return kind is slice and {type(item.start), type(item.stop), type(item.step)} <= _PLAIN


def _simple(args: tuple, kwargs: dict) -> tuple | None:
    """Return arguments that are traced arrays of one tape and plain values in two forms: for NumPy, and as recorded."""
    tape, raw, inputs, operands, fixed = None, [], [], [], True
    for item in args:
        if type(item) is Traced:
            if tape is None:
                tape = item.tape
                if not tape.open:
                    return None
            elif item.tape is not tape:
                return None
            value = item.value
            raw.append(item.values)
            inputs.append(value)
            operands.append(value)
            if value.constant is None or value.memory.written:
                fixed = False
        elif type(item) in _PLAIN or _is_plain(item):
            raw.append(item)
            inputs.append(item)
        else:
            return None
    for item in kwargs.values():
        if not _is_plain(item):
            return None
    return None if tape is None else (tape, raw, tuple(inputs), operands, fixed)


def _recorded_simply(
    kind: str,
    function: Any,
    kwargs: dict,
    static: bool,
    tape: Tape,
    raw: list,
    inputs: tuple,
    operands: list,
    fixed: bool,
) -> Any:
    try:
        result = _done(kind, function, raw, kwargs)  # type: ignore[arg-type]
    except _BY_VALUE as error:
        _raised(tape, error)
        raise
    if type(result) is not _ndarray:
        return _given(tape, kind, function, (inputs, kwargs), operands, fixed, result, static)
    value = Value(result, _memory_of(result, operands), result if fixed else None)
    tape.add(kind, function, inputs, kwargs, value, operands, [value])
    if not static and not fixed:
        tape.add(SHAPE, None, (value, result.shape), {}, ())
    return Traced(result, value, tape)


def _given(
    tape: Tape,
    kind: str,
    function: Any,
    inputs: tuple[tuple, dict],
    operands: list,
    constant: bool,
    result: Any,
    static: bool,
) -> Any:
    """Record an instruction and return its results, with values in place of arrays."""
    values: list[tuple[Value, Any]] = []

    def given(leaf: Any) -> Any:
        if not isinstance(leaf, (_ndarray, _scalar)):
            return leaf
        array = np.asarray(leaf)
        if values:
            for _, traced in values:
                if traced.values is array:
                    return traced
        value = Value(array, _memory_of(array, operands))
        value.scalar = isinstance(leaf, _scalar)
        if constant:
            value.constant = array
        traced = Traced(array, value, tape)
        values.append((value, traced))
        return traced

    result = mapped(result, given)
    results = mapped(result, lambda leaf: leaf.value if type(leaf) is Traced else None)
    tape.add(kind, function, *inputs, results, operands, [value for value, _ in values])
    if not static:
        for value, traced in values:
            if value.constant is None:
                tape.add(SHAPE, None, (value, traced.values.shape), {}, ())
    return result


def _elementwise(ufunc: Any, inputs: tuple) -> Any:
    """Apply a ufunc to arrays and numbers, and record it: nearly every instruction."""
    tape, raw, taken_in, reads, fixed = None, [], [], [], True
    for i in inputs:
        if type(i) is Traced:
            raw.append(i.values)
            if i.tape.open:
                if tape is not None and tape is not i.tape:
                    return recorded(CALL, ufunc, inputs, {})
                tape, value = i.tape, i.value
                taken_in.append(value)
                reads.append(value)
                if value.constant is None or value.memory.written:
                    fixed = False
                continue
            i = i.values
        else:
            raw.append(i)
        taken_in.append(i)
    try:
        result = ufunc(*raw)
    except _BY_VALUE as error:
        _raised(tape, error)
        raise
    if tape is None:
        return result
    for k, i in enumerate(taken_in):
        if isinstance(i, _ndarray):
            taken_in[k] = tape.constant(i)
            reads.append(taken_in[k])
    array = result if type(result) is _ndarray else np.asarray(result)
    value = Value(array, None, array if fixed else None)
    value.scalar = array is not result
    tape.add(CALL, ufunc, tuple(taken_in), {}, value, reads, [value])
    return Traced(array, value, tape)


def written(target: Any, kind: str, function: Any, args: tuple, kwargs: dict) -> Any:
    """Record a call that wrote into ``target``, an argument or ``out=``; it has been made already."""
    tape = tape_of((args, kwargs))
    if tape is None:
        return target
    targets = target if isinstance(target, tuple) else (target,)
    for each in targets:
        if type(each) is not Traced:
            tape.fail("traced values are written into an array of NumPy's")
            return target
    inputs = (mapped(args, lambda leaf: taken(leaf, tape)), mapped(kwargs, lambda leaf: taken(leaf, tape)))
    for each in targets:
        each.value.memory.written = True
    tape.add(kind, function, *inputs, ())
    return target


def taken(leaf: Any, tape: Tape) -> Any:
    """Return an argument in the form that an instruction stores."""
    if type(leaf) is Traced:
        return leaf.value if leaf.tape is tape else tape.constant(leaf.values)
    if isinstance(leaf, _ndarray):
        return tape.constant(leaf)
    if type(leaf) is slice:
        return plain(leaf)
    return leaf


def _memory_of(array: numpy.ndarray, operands: list[Value]) -> Memory | None:
    """Return the memory that a result looks at: an argument's, or None for its own.

    A view may reach beyond the argument that it was made of, as ``as_strided`` of the real parts does.
    """
    if array.base is None and array.flags.owndata:
        return None
    low, high = np.lib.array_utils.byte_bounds(array) if array.size else (0, 0)
    for value in operands:
        start = value.memory.address + value.offset
        first = start + sum((n - 1) * s for n, s in zip(value.shape, value.strides, strict=True) if s < 0)
        last = start + sum((n - 1) * s for n, s in zip(value.shape, value.strides, strict=True) if s > 0)
        if low < last + value.dtype.itemsize and first < high and array.size and 0 not in value.shape:
            return value.memory
    return None


def _has_mask(key: Any) -> bool:
    if isinstance(key, tuple):
        return any(_has_mask(part) for part in key)
    return getattr(getattr(key, "dtype", None), "kind", "") == "b" or type(key) is list


# functions that say something about arrays, and compute nothing with what they hold
_ABOUT = {
    np.shape,
    np.ndim,
    np.size,
    np.result_type,
    np.may_share_memory,
    np.shares_memory,
    np.iscomplexobj,
    np.isrealobj,
    np.can_cast,
    np.min_scalar_type,
    np.common_type,
}
_LIKE = {np.zeros_like, np.ones_like, np.full_like, np.empty_like}
_WRITING = {np.copyto, np.put_along_axis, np.put, np.putmask, np.place, np.fill_diagonal}


def _broadcast_to(array: Any, shape: Any, subok: bool = False) -> Any:
    """Return ``numpy.broadcast_to(array, shape)``, writable if ``array`` is."""
    view = numpy.broadcast_to(array, shape)
    return numpy.lib.stride_tricks.as_strided(array, view.shape, view.strides)


def _diagonal(array: Any, *args: Any, **kwargs: Any) -> Any:
    """Return ``numpy.diagonal(array)``, writable if ``array`` is."""
    view = numpy.diagonal(array, *args, **kwargs)
    view.flags.writeable = array.flags.writeable
    return view


# NumPy makes these views read-only; tensors write to them.
_WRITABLE = {np.broadcast_to: _broadcast_to, np.diagonal: _diagonal}
# functions whose results have a shape that is known from the shapes of their arguments
_STATIC = {
    getattr(np, name)
    for name in """
    sum prod max min amax amin mean var std all any cumsum cumprod argmax argmin count_nonzero where clip concatenate
    stack transpose swapaxes moveaxis expand_dims squeeze broadcast_to reshape ravel flip roll diagonal tril triu
    take_along_axis zeros ones full eye arange empty zeros_like ones_like full_like empty_like tensordot einsum dot
    matmul inner outer vdot real imag conjugate angle sort argsort partition argpartition copy round take tile pad
    trace diff isclose nan_to_num split array_split atleast_1d atleast_2d broadcast_arrays searchsorted digitize
    interp convolve logaddexp median nanmedian
    """.split()
    if hasattr(np, name)
}


def constant(array: numpy.ndarray, tape: Tape) -> Traced:
    """Return a new array of the program that is the same in every run, until it is written to."""
    values = np.array(array)
    return Traced(values, Value(values, constant=values.copy("K")), tape)


# --- what stands for the module that owns this kind of array --------------------------------------


def _on_host(function: Any, *arrays: Any) -> Any:
    """Call a function that needs NumPy's arrays, such as SciPy's, and record it as one instruction."""
    return recorded(CALL, function, arrays, {}, static=False)


def _module(array: Any) -> Any:
    """Return the module that creates arrays beside ``array``."""
    tape = array.tape
    if not tape.open:
        return np
    if tape.module is not None:
        return tape.module

    def made(name: str) -> Any:
        function = getattr(np, name)
        return lambda *args, **kwargs: constant(function(*plain(args), **plain(kwargs)), tape)

    def asarray(values: Any, dtype: Any = None) -> Any:
        if type(values) is Traced:
            return values if dtype is None or values.dtype == dtype else values.astype(dtype)
        if isinstance(values, (list, tuple)) and tape_of(values) is not None:
            return np.stack([asarray(value, dtype) for value in values])
        return constant(np.asarray(values, dtype), tape)

    def full(shape: Any, value: Any, dtype: Any = None) -> Any:
        if type(value) is Traced:
            return recorded(CALL, np.full, (shape, value), {} if dtype is None else {"dtype": dtype})
        return constant(np.full(shape, value, dtype), tape)

    tape.module = SimpleNamespace(
        __name__="dualtape.arrays.traced",
        ndarray=Traced,
        takes_in=True,
        asarray=asarray,
        ascontiguousarray=lambda x: x if x.values.flags.c_contiguous else x.copy(),
        full=full,
        on_host=_on_host,
        add=np.add,
        lib=SimpleNamespace(
            stride_tricks=SimpleNamespace(
                as_strided=lambda x, shape=None, strides=None: recorded(
                    CALL, numpy.lib.stride_tricks.as_strided, (x, shape, strides), {}
                )
            )
        ),
        **{name: made(name) for name in ("arange", "empty", "eye", "ones", "zeros")},
    )
    return tape.module


register_module(Traced, _module)
