"""The batched array: it shows the shape of one sample and holds all samples of a ``vmap``.

A :class:`Batched` holds ``values``, an array of any kind whose axis 0 is hidden, and the :class:`BatchLevel` the axis
belongs to. The hidden axis is as long as the batch, or 1 for the same value in all samples. A NumPy function on batched
arrays removes the newest level and continues with the arrays inside, their axes shifted by one; those may be batched by
an older level, and do the same. The rules are in ``rules.py``, ``products.py`` and ``index.py``.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from math import prod
from operator import attrgetter, index
from typing import Any

import numpy

from ...errors import warn
from ..bfloat16_dtype import cast
from ..protocol import as_array, module_of

np: Any = numpy  # its stubs know nothing of other kinds of arrays

# NumPy's functions on batched arrays; filled when the first level is made.
RULES: dict[Callable, Callable] = {}
_complete = False  # whether they are
# Under this key: ufuncs that are not the same ufunc on the arrays inside.
_UFUNC: Any = numpy.ufunc
_PLAIN_KEYS = {int, slice, type(None), type(Ellipsis)}
_WHOLE = slice(None)
_ndarray, _scalar = numpy.ndarray, numpy.generic
_numbers = itertools.count(1)
_warned: set[str] = set()


class NotBatchable(RuntimeError):
    """Raised when code needs a value that only a single sample has; the ops catch it and run sample by sample."""


class DynamicShape(NotBatchable):
    """Raised when the shape of a result depends on values, which may differ between samples."""


class NotAnArray(NotBatchable, TypeError):
    """Raised when a function that takes NumPy's arrays only gets a batch; fast paths catch it and take the reference
    path.
    """


# the ops for which that is an answer
DYNAMIC = frozenset(("nonzero", "argwhere", "where", "index", "masked_select", "unique", "unique_consecutive"))


class BatchLevel:
    """The level of one ``vmap``.

    Attributes
    ----------
    number : int
        Newer levels have higher numbers.
    size : int
        The number of samples.
    randomness : str
        What random functions do inside: "error", "same" or "different".
    name : str
        What is mapped.
    open : bool
        Whether the function is still running.
    ended : bool
        Whether it has run: then only a backward still computes with arrays of this level.
    """

    __slots__ = ("number", "size", "randomness", "name", "open", "ended")

    def __init__(self, size: int, randomness: str = "error", name: str = "") -> None:
        global _complete
        if not _complete:  # an import statement takes longer than the rest
            from . import maker, products, rules  # noqa: F401 - fill RULES, and say what makes batched arrays

            _complete = True
        self.number = next(_numbers)
        self.size = size
        self.randomness = randomness
        self.name = name
        self.open = True
        self.ended = False

    def __repr__(self) -> str:
        return f"<vmap level {self.number} of {self.size} samples>"


def going_backward() -> bool:
    """Return whether a backward is running in this thread; the engine replaces this function."""
    return False


def check_inside(x: Any) -> None:
    """Raise if an array belongs to a ``vmap`` that has ended, unless a backward is running through it."""
    while type(x) is Batched:
        if x.level.ended:
            _check_backward(x.level)
        x = x.values


def _check_backward(level: BatchLevel) -> None:
    if not going_backward():
        raise RuntimeError(
            f"vmap: a tensor may have escaped from inside a function being vmapped: it is a sample of vmap({level.name}"
            f"), level {level.number}, which has ended. Return it from the function, and use what vmap returns"
        )


def _reading(name: str, phrase: str) -> Callable:
    def read(self: Any, *args: Any, **kwargs: Any) -> Any:
        check_inside(self)
        # also if it is the same for all samples: what NumPy makes of it would not be batched, and its gradients are
        if name == "__array__":
            raise NotAnArray(f"vmap: {phrase}")
        if self.values.shape[0] == 1 and name != "get":
            return getattr(self.values[0, ...], name)(*args, **kwargs)
        raise NotBatchable(f"vmap: {phrase}")

    return read


_CONTROL_FLOW = (
    "It looks like you're attempting to use a Tensor in some data-dependent control flow. Inside vmap a tensor stands"
    " for all samples at once,"
    " and has no single truth value: choose values with where(condition, a, b) instead"
)
_ITEM = (
    "It looks like you're calling .item() on a Tensor (or converting it to a Python number or an array). Inside vmap a"
    " tensor stands for all"
    " samples at once: rewrite it with tensor operations, or move it out of vmap"
)


def _no_address() -> Any:
    raise RuntimeError(
        "Cannot access data pointer of Tensor that doesn't have storage: inside vmap a sample has no memory of its own"
    )


def _aligned(inputs: tuple, level: BatchLevel) -> list | None:
    """Return the arrays inside a ufunc's inputs with aligned hidden axes; None if another level or kind of array is
    among them.
    """
    arrays: list = []
    rank = 0
    even = True
    for i in inputs:
        kind = type(i)
        if kind is Batched:
            if i.level is not level:
                return None
            i = i.values
            if i.ndim != rank:
                even = even and not rank
                rank = max(rank, i.ndim)
        elif kind is _ndarray:
            if i.ndim >= rank:
                even, rank = False, i.ndim + 1
        elif kind is not float and kind is not int and not isinstance(i, _scalar):
            return None
        arrays.append(i)
    return arrays if even else [padded(i, level, rank - 1) for i in inputs]


def _write(ufunc: Any, inputs: tuple, out: Any) -> bool:
    """Write a ufunc's result into ``out`` if all are batched alike; return False, with nothing done, if not."""
    check_inside(out)
    arrays = _aligned((*inputs, out), out.level) if type(out) is Batched else None
    if arrays is None or arrays[-1] is not out.values:
        return False
    try:
        ufunc(*arrays[:-1], out=arrays[-1])
    except (TypeError, ValueError):
        return False  # another shape or dtype: the caller reports it
    return True


def padded(x: Any, level: BatchLevel, rank: int) -> Any:
    """Return the array inside, a sample's rank filled up to ``rank`` for broadcasting; other operands unchanged."""
    if type(x) is Batched and x.level is level:
        lead = rank + 1 - x.values.ndim
        return x.values[(_WHOLE, *(None,) * lead)] if lead else x.values
    return x


def inner_axis(axis: Any, ndim: int) -> int:
    """Return the axis of the array inside for an axis of a sample."""
    axis = index(axis)
    if not -ndim <= axis < ndim:
        raise np.exceptions.AxisError(axis, ndim)
    return axis % ndim + 1


def inner_axes(axis: Any, ndim: int) -> Any:
    """Return the axes of the array inside for one axis of a sample, several, or all (None)."""
    if axis is None:
        return tuple(range(1, ndim + 1))
    return tuple([inner_axis(a, ndim) for a in axis]) if isinstance(axis, (tuple, list)) else inner_axis(axis, ndim)


class _Flags:
    """The memory flags of one sample; of a sample without elements as NumPy has them."""

    __slots__ = ("_of",)

    def __init__(self, array: Batched) -> None:
        self._of = array

    c_contiguous = property(lambda self: self._dense(1))
    f_contiguous = property(lambda self: self._dense(-1))
    writeable = property(lambda self: getattr(self._of.values.flags, "writeable", True))

    def _dense(self, order: int) -> bool:
        values = self._of.values
        step = values.dtype.itemsize
        for n, stride in zip(values.shape[1:][::-order], values.strides[1:][::-order], strict=True):
            if n != 1:
                if stride != step:
                    return not self._of.size
                step *= n
        return True


class Batched(np.lib.mixins.NDArrayOperatorsMixin):
    """An array with the shape of one sample that holds all samples of a level."""

    __slots__ = ("values", "level")

    __array_priority__ = 900  # CuPy's arrays leave operations on both to this kind

    def __init__(self, values: Any, level: BatchLevel) -> None:
        if level.ended:
            _check_backward(level)
        self.values = values
        self.level = level

    # --- NumPy's protocols ------------------------------------------------------------------------

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **kwargs: Any) -> Any:
        if method == "__call__" and not kwargs and ufunc.nout == 1 and ufunc.signature is None:
            level = self.level
            if len(inputs) == 1:
                return Batched(ufunc(self.values), level)
            x, y = inputs if len(inputs) == 2 else (None, None)
            if (
                type(x) is Batched
                and type(y) is Batched
                and x.level is level
                and y.level is level
                and x.values.ndim == y.values.ndim
            ):
                # nearly always: the hidden axes stand above each other
                return Batched(ufunc(x.values, y.values), level)
            arrays = _aligned(inputs, level)
            if arrays is not None:
                return Batched(ufunc(*arrays), level)
        elif method == "__call__" and len(kwargs) == ufunc.nout == 1 and "out" in kwargs and ufunc.signature is None:
            if _write(ufunc, inputs, kwargs["out"][0]):
                return kwargs["out"][0]
        for i in inputs:
            if type(i) is not Batched and hasattr(i, "_array"):
                return NotImplemented  # a tensor: its own answer
        return RULES[_UFUNC](newest((inputs, kwargs)), ufunc, method, inputs, kwargs)

    def __array_function__(self, func: Callable, types: Any, args: tuple, kwargs: dict) -> Any:
        for kind in types:
            if kind is not Batched and hasattr(kind, "_array"):
                return NotImplemented
        level = newest((args, kwargs)) or self.level  # with like=, the arguments hold no batched array
        rule = RULES.get(func)
        if rule is not None:
            return rule(self if func in CREATIONS else level, *args, **kwargs)
        return per_sample(func, level, args, kwargs, f"{func.__module__}.{func.__name__}")

    # --- shape and memory of one sample -----------------------------------------------------------

    dtype = property(attrgetter("values.dtype"))
    shape = property(lambda self: self.values.shape[1:])
    ndim = property(lambda self: self.values.ndim - 1)
    size = property(lambda self: prod(self.values.shape[1:]))
    strides = property(lambda self: self.values.strides[1:])
    itemsize = property(lambda self: self.values.dtype.itemsize)
    nbytes = property(lambda self: self.size * self.itemsize)
    base = property(lambda self: self.values.base)
    data = property(lambda self: _no_address())
    device = property(lambda self: self.values.device)
    real = property(lambda self: Batched(self.values.real, self.level))
    imag = property(lambda self: Batched(self.values.imag, self.level))
    flags = property(_Flags)
    T = property(lambda self: Batched(self.values.transpose((0, *range(self.values.ndim - 1, 0, -1))), self.level))

    def samples(self) -> Iterator[Any]:
        """Yield the sample arrays in order."""
        return (self.sample(i) for i in range(self.level.size))

    def sample(self, i: int) -> Any:
        """Return one sample."""
        return self.values[0 if self.values.shape[0] == 1 else i, ...]

    def full(self) -> Any:
        """Return the array inside, its hidden axis as long as the batch; it must not be written to."""
        values = self.values
        return (
            values
            if values.shape[0] == self.level.size
            else np.broadcast_to(values, (self.level.size, *values.shape[1:]))
        )

    # --- reading and writing ----------------------------------------------------------------------

    def __getitem__(self, key: Any) -> Any:
        if type(key) is not tuple:
            key = (key,)
        for part in key:
            if type(part) not in _PLAIN_KEYS:
                break
        else:  # a part of each sample, by numbers and slices
            return Batched(self.values[(_WHOLE, *key)], self.level)
        from .index import get

        level = newest(key)
        if level is not None and level.number > self.level.number:
            return get(Batched(self[None], level), key)
        return get(self, key)

    def __setitem__(self, key: Any, value: Any) -> None:
        parts = key if type(key) is tuple else (key,)
        for part in parts:
            if type(part) not in _PLAIN_KEYS:
                break
        else:
            if self._set(parts, value):
                return
        from .index import put

        put(self, key, value)

    def _set(self, key: tuple, value: Any) -> bool:
        """Write a number, or an equally batched value, to a part of each sample; return False, with nothing done, if
        neither applies.
        """
        check_inside(self)
        target = self.values[(_WHOLE, *key)]
        if type(value) is Batched:
            values = value.values
            if (
                value.level is not self.level
                or values.ndim > target.ndim
                or values.shape[0] not in (1, target.shape[0])
            ):
                return False
            value = padded(value, self.level, target.ndim - 1)
        elif type(value) is not float and type(value) is not int:
            return False
        target[...] = value
        return True

    def copy(self, order: str = "C") -> Batched:
        values = self.values
        if values.shape[0] != self.level.size:  # a copy is made to be written to
            values = self.full()
        elif order == "K" and isinstance(values, np.ndarray):
            # the sample's layout, the hidden axis first
            axes = sorted(range(1, values.ndim), key=lambda d: -values.strides[d])
            back = np.argsort([0, *axes])
            return Batched(np.transpose(np.transpose(values, (0, *axes)).copy(), back), self.level)
        return Batched(values.copy(), self.level)

    def astype(self, dtype: Any, order: str = "K", copy: bool = True, **ignored: Any) -> Batched:
        return self if not copy and self.dtype == dtype else Batched(cast(self.values, dtype), self.level)

    def view(self, *args: Any) -> Batched:
        return Batched(self.values.view(*args), self.level)

    def fill(self, value: Any) -> None:
        self[...] = value

    def sort(self, axis: int = -1, **kwargs: Any) -> None:
        self[...] = np.sort(self, axis=axis, **kwargs)

    def partition(self, kth: Any, axis: int = -1) -> None:
        self[...] = np.partition(self, kth, axis)

    def flatten(self) -> Batched:
        return np.ravel(self).copy()

    def reshape(self, *shape: Any, **kwargs: Any) -> Any:
        values = self.values
        sizes = tuple(
            [index(n) for n in (shape[0] if len(shape) == 1 and isinstance(shape[0], (tuple, list)) else shape)]
        )
        rest = prod([n for n in sizes if n != -1])
        if -1 in sizes:
            if sizes.count(-1) > 1 or not rest or self.size % rest:
                raise ValueError(f"cannot reshape array of size {self.size} into shape {sizes}")
            sizes = tuple([self.size // rest if n == -1 else n for n in sizes])
        elif rest != self.size:
            raise ValueError(f"cannot reshape array of size {self.size} into shape {sizes}")
        return Batched(values.reshape((values.shape[0], *sizes)), self.level)

    def conj(self) -> Batched:
        return np.conjugate(self) if self.values.dtype.kind == "c" else self

    conjugate = conj

    def transpose(self, *axes: Any) -> Any:
        return np.transpose(self, None if not axes else axes[0] if len(axes) == 1 else axes)

    def __neg__(self) -> Batched:
        return Batched(np.negative(self.values), self.level)

    # --- Python's protocols -----------------------------------------------------------------------

    def __len__(self) -> int:
        return self.shape[0]

    def __iter__(self) -> Iterator[Any]:
        return (self[i, ...] for i in range(len(self)))

    def __format__(self, spec: str) -> str:
        return repr(self)

    def __repr__(self) -> str:
        return f"Batched(lvl={self.level.number}, value={self.values!r})"

    def __deepcopy__(self, memo: dict) -> Batched:
        return self.copy()


def _method(name: str, function: Callable) -> Any:
    def method(self: Batched, *args: Any, **kwargs: Any) -> Any:
        return function(self, *args, **kwargs)

    method.__name__ = name
    return method


for _name in (
    "all any argmax argmin argpartition argsort cumprod cumsum diagonal dot max mean min nonzero prod ravel repeat"
    " round searchsorted"
    " squeeze std sum swapaxes take trace var clip"
).split():
    setattr(Batched, _name, _method(_name, getattr(np, _name)))

for (
    _name
) in "item tolist get __bool__ __array__ __int__ __float__ __complex__ __index__ __dlpack__ __dlpack_device__".split():
    setattr(Batched, _name, _reading(_name, _CONTROL_FLOW if _name == "__bool__" else _ITEM))


def _operator(name: str, ufunc: Any) -> None:
    """Return an operator that applies to the arrays inside directly if both operands are batched alike, or one is a
    number.
    """
    general = getattr(Batched, name)

    def operator(self: Batched, other: Any) -> Any:
        values, level = self.values, self.level
        if type(other) is Batched:
            if other.level is level and other.values.ndim == values.ndim:
                return Batched(ufunc(values, other.values), level)
        elif type(other) is float or type(other) is int:
            return Batched(ufunc(values, other), level)
        return general(self, other)

    operator.__name__ = name
    setattr(Batched, name, operator)


for _name, _ufunc in (
    ("__add__", np.add),
    ("__sub__", np.subtract),
    ("__mul__", np.multiply),
    ("__truediv__", np.true_divide),
    ("__pow__", np.power),
):
    _operator(_name, _ufunc)

# called with like=
CREATIONS = frozenset((np.zeros, np.ones, np.empty, np.full, np.eye, np.arange, np.asarray, np.array))


# --- levels ---------------------------------------------------------------------------------------


def _walk(value: Any) -> Iterator[Batched]:
    kind = type(value)
    if kind is Batched:
        yield value
    elif kind is tuple or kind is list:
        for item in value:
            yield from _walk(item)
    elif kind is dict:
        for item in value.values():
            yield from _walk(item)


def any_batched(values: list) -> bool:
    """Return whether an op's arguments hold a batched array, directly or in a list. Every op calls it."""
    for value in values:
        kind = type(value)
        if kind is Batched:
            return True
        if kind is tuple or kind is list:
            for item in value:
                if type(item) is Batched:
                    return True
    return False


def alike(result: Any, x: Any, y: Any) -> bool:
    """Return whether ``x`` and ``y`` are batched by the same levels as ``result``; a number fits any level."""
    if type(result) is not Batched:
        return type(x) is not Batched and type(y) is not Batched
    if type(x) is not Batched or x.level is not result.level:
        return False
    if type(y) is float or type(y) is int:
        return alike(result.values, x.values, y)
    return type(y) is Batched and y.level is result.level and alike(result.values, x.values, y.values)


def newest(values: Any) -> Any:
    """Return the newest level of the batched arrays in ``values``, nested in tuples, lists and dicts; None if there are
    none.
    """
    kind = type(values)
    if kind is Batched:
        return values.level
    if kind is dict:
        values = values.values()
    elif kind is not tuple and kind is not list:
        return None
    found = None
    for value in values:
        kind = type(value)
        if kind is Batched:
            level = value.level
        elif (kind is tuple or kind is list or kind is dict) and value:
            level = newest(value)
        else:
            continue
        if found is None or (level is not None and level.number > found.number):
            found = level
    return found


def levels_of(values: Any) -> list[BatchLevel]:
    """Return all levels of the batched arrays in ``values``, oldest first."""
    found: set[BatchLevel] = set()
    for array in _walk(values):
        while type(array) is Batched:
            found.add(array.level)
            array = array.values
    return sorted(found, key=lambda level: level.number)


def batch(x: Any, level: BatchLevel, dim: int) -> Any:
    """Return an array whose axis ``dim`` is hidden as that of ``level``."""
    if type(x) is Batched and x.level.number > level.number:
        return Batched(batch(x.values, level, dim + 1), x.level)
    return Batched(np.moveaxis(x, dim, 0) if dim else x, level)


def unbatch(x: Any, level: BatchLevel, dim: int) -> Any:
    """Return an array with the hidden axis of ``level`` as axis ``dim``; an array not batched by that level is
    repeated.
    """
    if type(x) is Batched:
        if x.level is level:
            values = x.values
            if values.shape[0] != level.size:
                values = x.full().copy()
            return np.moveaxis(values, 0, dim) if dim else values
        if x.level.number > level.number:
            return Batched(unbatch(x.values, level, dim + 1), x.level)
    shape = (*x.shape[:dim], level.size, *x.shape[dim:])
    return np.broadcast_to(np.expand_dims(x, dim), shape).copy()


def lift(x: Any, level: BatchLevel) -> Any:
    """Return an array batched by ``level``, the same for all samples; itself if it is batched so already."""
    if type(x) is Batched:
        if x.level is level:
            return x
        if x.level.number > level.number:
            inner = x.values
            return x if is_batched(inner, level) else Batched(batch(inner[None], level, 0), x.level)
    return Batched(x[None], level)


def unlift(g: Any, level: BatchLevel) -> Any:
    """Return the sum over samples; an array that is the same for all is multiplied by their number."""
    if type(g) is Batched:
        if g.level is level:
            values = g.values
            return as_array(values.sum(0) if values.shape[0] == level.size else values[0, ...] * level.size)
        if g.level.number > level.number:
            return Batched(unlift(g.values, level), g.level)
    return as_array(g * level.size)


def is_batched(x: Any, level: BatchLevel) -> bool:
    """Return whether an array is batched by ``level``."""
    while type(x) is Batched:
        if x.level is level:
            return True
        x = x.values
    return False


def extent(x: Any, level: BatchLevel) -> int:
    """Return the length of an array's hidden axis of ``level``; 1 without one."""
    while type(x) is Batched:
        if x.level is level:
            return x.values.shape[0]
        x = x.values
    return 1


def holds(target: Any, value: Any) -> bool:
    """Return whether ``value`` can be written into ``target``: if every level of ``value`` batches ``target`` as
    well.
    """
    return all(
        is_batched(target, level) and extent(target, level) >= extent(value, level) for level in levels_of(value)
    )


def samples_overlap(x: Any) -> bool:
    """Return whether several samples of a batched array share their memory, as after ``expand``."""
    while type(x) is Batched:
        x = x.values
        if x.shape[0] > 1 and x.strides[0] == 0:
            return True
    return False


def fitting(value: Any, target: Any) -> Any:
    """Return ``value`` without the levels that do not batch ``target``, where it is the same for all samples, so that
    it can be written there.
    """
    if type(value) is not Batched:
        return value
    inner = fitting(value.values, target)
    if inner.shape[0] == 1 and not is_batched(target, value.level):
        return inner[0, ...]
    return value if inner is value.values else Batched(inner, value.level)


def room_for(target: Any, value: Any) -> Any:
    """Return the zeros to add to ``target`` so that it is batched by all levels of ``value``; None if it is already."""
    room: Any = None
    for level in levels_of(value):
        if not is_batched(target, level) or extent(target, level) < extent(value, level):
            zero = Batched(module_of(innermost(value)).zeros((level.size,), value.dtype), level)
            room = zero if room is None else room + zero
    return room


def relabelled(x: Any, levels: list[BatchLevel]) -> Any:
    """Return a batched array with its levels replaced by ``levels``, oldest first: for the same ``vmap``, run again."""
    if type(x) is not Batched:
        return x
    inner = relabelled(x.values, levels[:-1])
    return x if x.level is levels[-1] and inner is x.values else Batched(inner, levels[-1])


def innermost(x: Any) -> Any:
    """Return the array that holds a batched array's values, below all levels."""
    while type(x) is Batched:
        x = x.values
    return x


# --- sample by sample -----------------------------------------------------------------------------


def warn_slow(name: str) -> None:
    """Warn, once for each ``name``, that it runs sample by sample."""
    if name not in _warned:
        _warned.add(name)
        warn(
            f"vmap: there is a performance drop because {name} has no rule for batches: it runs once for each sample",
            UserWarning,
        )


def sample_of(x: Any, level: BatchLevel, i: int) -> Any:
    """Return one sample of ``level``; an array not batched by it is returned unchanged."""
    if type(x) is not Batched:
        return x
    return x.sample(i) if x.level is level else Batched(sample_of(x.values, level, i), x.level)


def per_sample(function: Callable, level: BatchLevel, args: Any, kwargs: dict, name: str) -> Any:
    """Return ``function`` of each sample of ``level``, stacked; it warns once for each ``name``, since this is slow."""
    warn_slow(name)

    def pick(value: Any, i: int) -> Any:
        if type(value) is Batched:
            if value.level is level:
                return value.sample(i) if level.size else np.zeros(value.shape, value.dtype)
            return Batched(pick(value.values, i), value.level) if is_batched(value, level) else value
        if type(value) in (tuple, list):
            return type(value)(pick(item, i) for item in value)
        return value

    result = [
        function(*pick(tuple(args), i), **{k: pick(v, i) for k, v in kwargs.items()}) for i in range(level.size or 1)
    ]
    return stacked(result, level)


def stacked(result: list, level: BatchLevel) -> Any:
    """Return the results for single samples as one batched array; for tuples and lists, one for each entry."""
    first = result[0]
    if first is None:
        return None
    if isinstance(first, (tuple, list)):
        columns = [stacked(list(column), level) for column in zip(*result, strict=True)]
        return type(first)(*columns) if hasattr(first, "_fields") else type(first)(columns)
    shapes = [getattr(m, "shape", ()) for m in result]
    if any(shape != shapes[0] for shape in shapes):
        raise DynamicShape(
            "vmap: We do not support batching operators that can output dynamic shape: the samples' results have the"
            " shapes " + ", ".join(str(list(shape)) for shape in shapes[:4])
        )
    whole = np.stack([m if hasattr(m, "ndim") else np.asarray(m) for m in result])
    if not level.size:
        whole = whole[:0]
    # the new hidden axis 0 belongs to the older level
    if type(whole) is Batched and whole.level.number > level.number:
        return batch(whole, level, 0)
    return Batched(whole, level)
