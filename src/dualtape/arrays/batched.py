"""The batched array: one sample to whoever looks at it, all samples of a ``vmap`` in memory.

A :class:`Batched` holds ``values``, an array of any kind whose axis 0 is hidden, and the :class:`Level` the axis belongs to. The hidden
axis is as long as the batch, or 1: the same for all samples. NumPy's functions on batched arrays take the newest level off and go on
with the arrays inside, their axes shifted by one; those may be batched by an older level, and answer in the same way. The rules,
function by function, stand next door.
"""

from __future__ import annotations

import itertools
import warnings
from collections.abc import Callable, Iterator
from math import prod
from types import SimpleNamespace
from typing import Any

import numpy

from .protocol import module_of, register_module, settle

np: Any = numpy  # its stubs know nothing of other kinds of arrays

RULES: dict[Callable, Callable] = {}  # NumPy's functions on batched arrays; filled when the first level is made
_numbers = itertools.count(1)
_warned: set[str] = set()


class NotBatchable(RuntimeError):
    """Code wants of a batch what only a single sample can give; the ops catch it, and go sample by sample."""


class DynamicShape(NotBatchable):
    """The shape of a result depends on values, which may differ from sample to sample."""


class NotAnArray(NotBatchable, TypeError):
    """A function that takes NumPy's arrays only was given a batch; the short cuts catch it, and go the whole way."""


DYNAMIC = frozenset(("nonzero", "argwhere", "where", "index", "masked_select", "unique", "unique_consecutive"))  # the ops for which that is an answer


class Level:
    """One ``vmap``.

    Attributes
    ----------
    number : int
        Newer levels have higher numbers.
    size : int
        The number of samples.
    randomness : str
        What random functions do inside: "error", "same" or "different".
    open : bool
        Whether the function is still running.
    """

    __slots__ = ("number", "size", "randomness", "open")

    def __init__(self, size: int, randomness: str = "error") -> None:
        from . import batched_products, batched_rules  # noqa: F401 - fill RULES

        self.number = next(_numbers)
        self.size = size
        self.randomness = randomness
        self.open = True

    def __repr__(self) -> str:
        return f"<vmap level {self.number} of {self.size} samples>"


class Maker:
    """Stands for the module whose functions make arrays batched as a given one is: by its levels, and no others.

    What is made for writing into has its place for every sample; constants are the same for all.
    """

    __slots__ = ("level", "below")

    add = SimpleNamespace(at=lambda out, index, values: add_at(out, index, values))
    lib = SimpleNamespace(stride_tricks=SimpleNamespace(as_strided=lambda x, shape, strides: _as_strided(x, shape, strides)))

    def __init__(self, array: Batched) -> None:
        self.level: Level = array.level
        self.below = module_of(array.values)  # makes the arrays inside

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Maker) and self.level is other.level and self.below == other.below

    __hash__ = None  # type: ignore[assignment]

    def zeros(self, shape: Any, dtype: Any = float) -> Batched:
        return Batched(self.below.zeros(self._all(shape), dtype), self.level)

    def ones(self, shape: Any, dtype: Any = float) -> Batched:
        return Batched(self.below.ones(self._all(shape), dtype), self.level)

    def empty(self, shape: Any, dtype: Any = float) -> Batched:
        return Batched(self.below.empty(self._all(shape), dtype), self.level)

    def full(self, shape: Any, value: Any, dtype: Any = None) -> Batched:
        if not isinstance(value, Batched):
            return Batched(self.below.full(self._all(shape), value, dtype), self.level)
        out = self.empty(shape, value.dtype if dtype is None else dtype)
        out[...] = value
        return out

    def asarray(self, values: Any, dtype: Any = None) -> Batched:
        if isinstance(values, Batched) and values.level is self.level:
            return values if dtype is None or values.dtype == dtype else values.astype(dtype)
        return Batched(self.below.asarray(values, dtype)[None], self.level)

    def arange(self, *args: Any, dtype: Any = None) -> Batched:
        return Batched(self.below.arange(*args, dtype=dtype)[None], self.level)

    def eye(self, *args: Any, **kwargs: Any) -> Batched:
        return Batched(self.below.eye(*args, **kwargs)[None], self.level)

    def ascontiguousarray(self, x: Batched) -> Batched:
        return x if x.flags.c_contiguous else Batched(module_of(x.values).ascontiguousarray(x.values), x.level)

    def on_host(self, function: Callable, *arrays: Any) -> Any:
        """What only NumPy and SciPy have, of each sample."""
        from .kernels import on_host

        return per_sample(lambda *each: on_host(function, *each), newest(arrays), arrays, {}, "a function of SciPy's")

    def _all(self, shape: Any) -> tuple:
        return (self.level.size, *(shape if isinstance(shape, (tuple, list)) else (shape,)))


def _reading(name: str, phrase: str) -> Callable:
    def read(self: Any, *args: Any, **kwargs: Any) -> Any:
        if name == "__array__":  # also if it is the same for all samples: what NumPy makes of it would not be batched, and its gradients are
            raise NotAnArray(f"vmap: {phrase}")
        if self.values.shape[0] == 1 and name != "get":
            return getattr(self.values[0, ...], name)(*args, **kwargs)
        raise NotBatchable(f"vmap: {phrase}")

    return read


_CONTROL_FLOW = (
    "It looks like you're attempting to use a Tensor in some data-dependent control flow. Inside vmap a tensor stands for all samples at once,"
    " and has no single truth value: choose values with where(condition, a, b) instead"
)
_ITEM = (
    "It looks like you're calling .item() on a Tensor (or converting it to a Python number or an array). Inside vmap a tensor stands for all"
    " samples at once: rewrite it with tensor operations, or move it out of vmap"
)


def _no_address() -> Any:
    raise RuntimeError("Cannot access data pointer of Tensor that doesn't have storage: inside vmap a sample has no memory of its own")


def _alike(inputs: tuple, first: Batched) -> bool:
    """Whether the inputs are numbers and arrays of one level and one number of dimensions: hidden axes then stand above each other."""
    level, rank = first.level, first.values.ndim
    return all(type(i) is float or type(i) is int or (type(i) is Batched and i.level is level and i.values.ndim == rank) for i in inputs)


class Batched(np.lib.mixins.NDArrayOperatorsMixin):
    """An array of one sample's shape, for all samples of a level."""

    __slots__ = ("values", "level")

    __array_priority__ = 900  # CuPy's arrays leave operations on both to this kind

    def __init__(self, values: Any, level: Level) -> None:
        self.values = values
        self.level = level

    # --- NumPy's protocols ---------------------------------------------------------------------------------------------------

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **kwargs: Any) -> Any:
        if method == "__call__" and not kwargs and ufunc.nout == 1 and ufunc.signature is None and _alike(inputs, self):
            return Batched(ufunc(*[i.values if type(i) is Batched else i for i in inputs]), self.level)
        from .batched_rules import call_ufunc

        if any(hasattr(i, "_array") for i in inputs):
            return NotImplemented  # a tensor: its own answer
        return call_ufunc(newest((inputs, kwargs)), ufunc, method, inputs, kwargs)

    def __array_function__(self, func: Callable, types: Any, args: tuple, kwargs: dict) -> Any:
        if any(hasattr(kind, "_array") for kind in types):
            return NotImplemented
        level = newest((args, kwargs)) or self.level  # with like=, the arguments hold no batched array
        rule = RULES.get(func)
        if rule is not None:
            return rule(self if func in CREATIONS else level, *args, **kwargs)
        return per_sample(func, level, args, kwargs, f"{func.__module__}.{func.__name__}")

    # --- shape and memory of one sample -----------------------------------------------------------------------------------------

    dtype = property(lambda self: self.values.dtype)
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
    T = property(lambda self: np.transpose(self))

    @property
    def flags(self) -> Any:
        pairs = [(n, s) for n, s in zip(self.shape, self.strides, strict=True) if n != 1]
        dense = lambda order: all(s == self.itemsize * prod(n for n, _ in order[k + 1 :]) for k, (_, s) in enumerate(order))
        empty = self.size == 0
        writeable = getattr(self.values.flags, "writeable", True)
        return SimpleNamespace(c_contiguous=empty or dense(pairs), f_contiguous=empty or dense(pairs[::-1]), writeable=writeable)

    def samples(self) -> Iterator[Any]:
        """The sample arrays, one after the other."""
        return (self.sample(i) for i in range(self.level.size))

    def sample(self, i: int) -> Any:
        """One sample."""
        return self.values[0 if self.values.shape[0] == 1 else i, ...]

    def full(self) -> Any:
        """The array inside, its hidden axis as long as the batch; not to be written to."""
        values = self.values
        return values if values.shape[0] == self.level.size else np.broadcast_to(values, (self.level.size, *values.shape[1:]))

    # --- reading and writing ------------------------------------------------------------------------------------------------------

    def __getitem__(self, key: Any) -> Any:
        from .batched_index import get

        level = newest(key)
        if level is not None and level.number > self.level.number:
            return get(Batched(self[None], level), key)
        return get(self, key)

    def __setitem__(self, key: Any, value: Any) -> None:
        from .batched_index import put

        put(self, key, value)

    def copy(self, order: str = "C") -> Batched:
        values = self.values
        if values.shape[0] != self.level.size:  # a copy is made to be written to
            values = self.full()
        elif order == "K" and isinstance(values, np.ndarray):
            axes = sorted(range(1, values.ndim), key=lambda d: -values.strides[d])  # the sample's layout, the hidden axis first
            back = np.argsort([0, *axes])
            return Batched(np.transpose(np.transpose(values, (0, *axes)).copy(), back), self.level)
        return Batched(values.copy(), self.level)

    def astype(self, dtype: Any, order: str = "K", copy: bool = True, **ignored: Any) -> Batched:
        return self if not copy and self.dtype == dtype else Batched(self.values.astype(dtype), self.level)

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
        return np.reshape(self, shape[0] if len(shape) == 1 else shape)

    def transpose(self, *axes: Any) -> Any:
        return np.transpose(self, None if not axes else axes[0] if len(axes) == 1 else axes)

    # --- Python's protocols -------------------------------------------------------------------------------------------------------

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
    "all any argmax argmin argpartition argsort conj conjugate cumprod cumsum diagonal dot max mean min nonzero prod ravel repeat round searchsorted"
    " squeeze std sum swapaxes take trace var clip"
).split():
    setattr(Batched, _name, _method(_name, getattr(np, _name)))

for _name in "item tolist get __bool__ __array__ __int__ __float__ __complex__ __index__ __dlpack__ __dlpack_device__".split():
    setattr(Batched, _name, _reading(_name, _CONTROL_FLOW if _name == "__bool__" else _ITEM))

register_module(Batched, Maker)

CREATIONS = frozenset((np.zeros, np.ones, np.empty, np.full, np.eye, np.arange, np.asarray, np.array))  # called with like=


# --- levels ----------------------------------------------------------------------------------------------------------------------


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
    """Whether an op's arguments hold a batched array, themselves or in a list: asked on every op's way."""
    for value in values:
        kind = type(value)
        if kind is Batched:
            return True
        if kind is tuple or kind is list:
            for item in value:
                if type(item) is Batched:
                    return True
    return False


def newest(values: Any) -> Any:
    """The newest level of the batched arrays in ``values``, nested in tuples, lists and dicts; or None."""
    found = None
    for array in _walk(values):
        if found is None or array.level.number > found.number:
            found = array.level
    return found


def levels_of(values: Any) -> list[Level]:
    """All levels of the batched arrays in ``values``, oldest first."""
    found: set[Level] = set()
    for array in _walk(values):
        while type(array) is Batched:
            found.add(array.level)
            array = array.values
    return sorted(found, key=lambda level: level.number)


def batch(x: Any, level: Level, dim: int) -> Any:
    """The axis ``dim`` of an array hidden, as that of ``level``."""
    if type(x) is Batched and x.level.number > level.number:
        return Batched(batch(x.values, level, dim + 1), x.level)
    return Batched(np.moveaxis(x, dim, 0) if dim else x, level)


def unbatch(x: Any, level: Level, dim: int) -> Any:
    """The hidden axis of ``level`` shown as axis ``dim``; what is not batched by that level is repeated."""
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


def lift(x: Any, level: Level) -> Any:
    """An array batched by ``level``, the same for all samples; itself if it is batched so already."""
    if type(x) is Batched:
        if x.level is level:
            return x
        if x.level.number > level.number:
            inner = x.values
            return x if is_batched(inner, level) else Batched(batch(inner[None], level, 0), x.level)
    return Batched(x[None], level)


def unlift(g: Any, level: Level) -> Any:
    """The sum over samples of what each of them has; of an array that is the same for all, as often as there are samples."""
    if type(g) is Batched:
        if g.level is level:
            values = g.values
            return settle(values.sum(0) if values.shape[0] == level.size else values[0, ...] * level.size)
        if g.level.number > level.number:
            return Batched(unlift(g.values, level), g.level)
    return settle(g * level.size)


def is_batched(x: Any, level: Level) -> bool:
    """Whether an array is batched by ``level``."""
    while type(x) is Batched:
        if x.level is level:
            return True
        x = x.values
    return False


def extent(x: Any, level: Level) -> int:
    """The length of an array's hidden axis of ``level``; 1 without."""
    while type(x) is Batched:
        if x.level is level:
            return x.values.shape[0]
        x = x.values
    return 1


def holds(target: Any, value: Any) -> bool:
    """Whether ``value`` can be written into ``target``: which has a place for every sample where ``value`` has."""
    return all(is_batched(target, level) and extent(target, level) >= extent(value, level) for level in levels_of(value))


def samples_overlap(x: Any) -> bool:
    """Whether several samples of a batched array share their memory: it was expanded before it was batched."""
    while type(x) is Batched:
        x = x.values
        if x.shape[0] > 1 and x.strides[0] == 0:
            return True
    return False


def fitting(value: Any, target: Any) -> Any:
    """``value`` without those levels that ``target`` is not batched by, where it is the same for all samples: as it can be written there."""
    if type(value) is not Batched:
        return value
    inner = fitting(value.values, target)
    if inner.shape[0] == 1 and not is_batched(target, value.level):
        return inner[0, ...]
    return value if inner is value.values else Batched(inner, value.level)


def room_for(target: Any, value: Any) -> Any:
    """What must be added to ``target`` so that it has a place for every sample that ``value`` has one for: zeros, or None if it has."""
    room: Any = None
    for level in levels_of(value):
        if not is_batched(target, level) or extent(target, level) < extent(value, level):
            zero = Batched(module_of(innermost(value)).zeros((level.size,), value.dtype), level)
            room = zero if room is None else room + zero
    return room


def innermost(x: Any) -> Any:
    """The array in which a batched array's values are, whatever the number of levels."""
    while type(x) is Batched:
        x = x.values
    return x


# --- sample by sample --------------------------------------------------------------------------------------------------------------


def warn_slow(name: str) -> None:
    """Say, once for each ``name``, that it runs sample by sample."""
    if name not in _warned:
        _warned.add(name)
        warnings.warn(f"vmap: there is a performance drop because {name} has no rule for batches: it runs once for each sample", UserWarning, stacklevel=4)


def per_sample(function: Callable, level: Level, args: Any, kwargs: dict, name: str) -> Any:
    """``function`` on each sample of ``level``, and what it gives stacked; said once for each ``name``, since it is slow."""
    warn_slow(name)

    def pick(value: Any, i: int) -> Any:
        if type(value) is Batched:
            if value.level is level:
                return value.sample(i) if level.size else np.zeros(value.shape, value.dtype)
            return Batched(pick(value.values, i), value.level) if is_batched(value, level) else value
        if type(value) in (tuple, list):
            return type(value)(pick(item, i) for item in value)
        return value

    made = [function(*pick(tuple(args), i), **{k: pick(v, i) for k, v in kwargs.items()}) for i in range(level.size or 1)]
    return stacked(made, level)


def stacked(made: list, level: Level) -> Any:
    """What was made of the samples, as one batched array; of tuples and lists, one for each place."""
    first = made[0]
    if first is None:
        return None
    if isinstance(first, (tuple, list)):
        columns = [stacked(list(column), level) for column in zip(*made, strict=True)]
        return type(first)(*columns) if hasattr(first, "_fields") else type(first)(columns)
    shapes = [getattr(m, "shape", ()) for m in made]
    if any(shape != shapes[0] for shape in shapes):
        raise DynamicShape(
            "vmap: We do not support batching operators that can output dynamic shape: the samples' results have the shapes "
            + ", ".join(str(list(shape)) for shape in shapes[:4])
        )
    whole = np.stack([m if hasattr(m, "ndim") else np.asarray(m) for m in made])
    if not level.size:
        whole = whole[:0]
    if type(whole) is Batched and whole.level.number > level.number:  # axis 0 of what is batched anew belongs to the older level
        return batch(whole, level, 0)
    return Batched(whole, level)


def _as_strided(x: Batched, shape: Any, strides: Any) -> Batched:
    values = x.values
    made = module_of(values).lib.stride_tricks.as_strided(values, (values.shape[0], *shape), (values.strides[0], *strides))
    return Batched(made, x.level)


def add_at(out: Any, index: Any, values: Any) -> None:
    """``np.add.at`` with batched arrays."""
    from .batched_index import add

    add(out, index, values)
