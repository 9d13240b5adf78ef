"""The sharded array: it appears as one array, of which each process has a shard.

NumPy's functions on sharded arrays run on the local shards, under placements that a rule allows (:mod:`.rules`); shards
with other placements are first redistributed, in the cheapest way. The plan for a call is cached, so that the next call
like it costs a look-up. Every process must make the same calls.

A slice of a sharded dimension is not a view of the memory of one process: it is a copy that refers to its original. A
write to the copy is also written to the original; reading the copy after a write to the original raises.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from math import prod
from operator import index
from typing import Any

import numpy

from ..._tensor.tensor import wrap
from ...arrays import as_array, module_of
from ...arrays.bfloat16_dtype import BFLOAT16, cast
from ...errors import MixedPlacements
from .redistribution import redistribute
from .spec import Code, Spec, chunk, spec_of

np: Any = numpy  # its stubs know nothing of other kinds of arrays

__all__ = ["RULES", "Sharded", "apply", "full", "placed", "store", "unruled"]

RULES: dict[Any, Callable] = {}  # NumPy's functions on sharded arrays; filled next door
UFUNC_METHODS: dict[str, Callable] = {}
# Functions without a rule, which ran on whole arrays: the number of bytes that were gathered.
unruled: dict[str, int] = {}
_plans: dict[tuple, Any] = {}
# (ufunc of two arrays, their specs): the spec of the result, where nothing is moved.
direct: dict[tuple, Spec] = {}
_PLAIN = (numpy.ndarray, numpy.generic)
_NUMBERS = (int, float, complex, bool)


class _Flags:
    """The flags of an array, derived from its strides."""

    __slots__ = ("_x",)

    writeable = True

    def __init__(self, x: Sharded) -> None:
        self._x = x

    @property
    def c_contiguous(self) -> bool:
        x = self._x
        return x.steps is None or _dense(x.steps, x.spec.shape, x.itemsize)

    @property
    def f_contiguous(self) -> bool:
        x = self._x
        return _dense(x.strides[::-1], x.spec.shape[::-1], x.itemsize)


def _is_bfloat16(kind: type) -> bool:
    """Return whether arrays of a class are of bfloat16."""
    return getattr(kind, "dtype", None) is BFLOAT16


def as_local(result: Any) -> Any:
    """Return a function's result for a shard as an array, rounded if it computes with extra digits."""
    return result if hasattr(result, "settle") else as_array(result)


def row_by_row(shape: tuple, itemsize: int) -> tuple[int, ...]:
    """Return the strides of a row-major array."""
    steps = [itemsize]
    for n in shape[:0:-1]:
        steps.append(steps[-1] * max(n, 1))
    return tuple(reversed(steps)) if shape else ()


def _dense(steps: tuple, shape: tuple, itemsize: int) -> bool:
    return all(n == 1 or a == b for n, a, b in zip(shape, steps, row_by_row(shape, itemsize), strict=True))


class Sharded(np.lib.mixins.NDArrayOperatorsMixin):
    """An array of a global shape, of which this process has ``local``."""

    __slots__ = ("local", "spec", "writes", "copied", "steps")

    __array_priority__ = 800  # batched arrays are outside
    in_parts = True

    def __init__(self, local: Any, spec: Spec, writes: list | None = None, copied: tuple | None = None) -> None:
        self.local = local
        self.spec = spec
        self.steps: tuple | None = None  # the strides of a view
        # The number of writes to its memory, shared by all arrays in it.
        self.writes = writes
        # (writes of what this is a copy of, [their number then], what writes it there)
        self.copied = copied

    # --- NumPy's protocols ------------------------------------------------------------------------

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **kwargs: Any) -> Any:
        spec = self.spec
        if method == "__call__" and not kwargs and len(inputs) == 2:
            x, y = inputs
            if type(x) is not type(y):
                refuse_own(ufunc.__name__, inputs)
            if type(x) is Sharded and type(y) is Sharded:
                found = direct.get((ufunc, x.spec, y.spec))
                if found is not None:
                    if x.copied is not None or y.copied is not None:
                        check_current(x)
                        check_current(y)
                    result = ufunc(x.local, y.local)
                    return Sharded(result if type(result) is numpy.ndarray else as_local(result), found)
        if method == "__call__" and not kwargs and not spec.partial and ufunc.signature is None and ufunc.nout == 1:
            if len(inputs) == 1:
                if self.copied is not None:
                    check_current(self)
                return Sharded(as_local(ufunc(self.local)), spec)
            if len(inputs) == 2:
                x, y = inputs
                if type(x) is Sharded:
                    kind = type(y)
                    if kind is Sharded and y.spec is spec or kind is float or kind is int:
                        if x.copied is not None or kind is Sharded and y.copied is not None:
                            check_current(x)
                            check_current(y)
                        return Sharded(as_local(ufunc(x.local, y.local if kind is Sharded else y)), spec)
        for value in inputs:
            if not isinstance(value, (Sharded, *_PLAIN, *_NUMBERS, list, tuple, slice)) and not _is_bfloat16(
                type(value)
            ):
                return NotImplemented
        rule = UFUNC_METHODS.get(method)
        if rule is None:
            return unknown(getattr(ufunc, method), inputs, kwargs, f"{ufunc.__name__}.{method}")
        return rule(ufunc, inputs, kwargs)

    def __array_function__(self, func: Callable, types: Any, args: tuple, kwargs: dict) -> Any:
        for kind in types:
            if kind is not Sharded and not issubclass(kind, _PLAIN) and not _is_bfloat16(kind):
                return NotImplemented
        if func in _JOINING:
            refuse_own(func.__name__, args)
        rule = RULES.get(func)
        if rule is not None:
            return rule(self, *args, **kwargs) if func in CREATIONS else rule(*args, **kwargs)
        return unknown(func, args, kwargs, f"{func.__module__}.{func.__name__}")

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        whole = full(self)
        return numpy.asarray(whole if isinstance(whole, numpy.ndarray) else whole.get(), dtype)

    def __dlpack__(self, *args: Any, **kwargs: Any) -> Any:
        raise BufferError("a sharded array is in no one's memory: use full_tensor() or to_local()")

    # --- shape and memory -------------------------------------------------------------------------

    shape = property(lambda self: self.spec.shape)
    ndim = property(lambda self: len(self.spec.shape))
    size = property(lambda self: prod(self.spec.shape))
    dtype = property(lambda self: self.local.dtype)
    itemsize = property(lambda self: self.local.dtype.itemsize)
    nbytes = property(lambda self: self.size * self.itemsize)
    base = property(lambda self: self.local.base)
    device = property(lambda self: self.local.device)
    flags = property(lambda self: _Flags(self))
    real = property(lambda self: half(self, self.local.real) if self.dtype.kind == "c" else self)
    imag = property(lambda self: half(self, self.local.imag))
    T = property(lambda self: np.transpose(self))

    @property
    def strides(self) -> tuple[int, ...]:
        """The strides of the global array: row-major, or those of a view of one. They are the same on each process."""
        return row_by_row(self.spec.shape, self.itemsize) if self.steps is None else self.steps

    def get(self) -> Any:
        """Return the whole as a NumPy array."""
        return numpy.asarray(self)

    # --- parts of others, for what changes elements each by itself --------------------------------

    def beside(self, other: Any) -> Any:
        """Return the shard of another array under the placements of this one."""
        return placed(other, self.spec.mesh, self.spec.codes)

    def sharing(self, whole: Any, dims: int | None = None) -> Sharded:
        """Return a new array, of which each process has the ``whole``, under the placements of this one; without
        pending sums.

        Parameters
        ----------
        whole : array
            The same on each process. Of another shape it is replicated.
        dims : int, optional
            The number of first dimensions that are those of this array, if the others are not: only they are in parts.
        """
        spec = self.spec
        kept = whole.ndim if dims is None and whole.shape == spec.shape else dims or 0
        codes = tuple([code if type(code) is int and code < kept else None for code in spec.codes])
        local = placed(whole, spec.mesh, codes)
        return Sharded(local, spec_of(spec.mesh, codes, whole.shape))

    def with_part(self, local: Any) -> Sharded:
        """Return an array with the placements of this one, of which this process has ``local``."""
        return Sharded(local, self.spec)

    def written(self) -> None:
        """Record that the memory of the shard has changed."""
        count_write(self)

    # --- reading and writing ----------------------------------------------------------------------

    def __getitem__(self, key: Any) -> Any:
        return RULES["getitem"](self, key)

    def __setitem__(self, key: Any, value: Any) -> None:
        RULES["setitem"](self, key, value)

    def copy(self, order: str = "C") -> Sharded:
        check_current(self)
        return Sharded(self.local.copy(order=order), self.spec)

    def astype(self, dtype: Any, order: str = "K", copy: bool = True, **kwargs: Any) -> Any:
        if not copy and self.dtype == dtype:
            return self
        brief = dtype is BFLOAT16
        wide = self.dtype.kind in "fc" and (brief or numpy.dtype(dtype).kind in self.dtype.kind + "c")
        x = self if wide or not self.spec.partial else reduced(self)
        check_current(x)
        return Sharded(cast(x.local, dtype) if brief else x.local.astype(dtype, order=order), x.spec)

    def settle(self) -> Sharded:
        """Return the array in the form that a tensor has: a shard that computes with extra digits is rounded."""
        if type(self.local) is numpy.ndarray:
            return self
        local = as_array(self.local)
        if local is not self.local:
            found = Sharded(local, self.spec, self.writes, self.copied)
            found.steps = self.steps
            return found
        return self

    def view(self, *args: Any) -> Any:
        return RULES["view"](self, *args)

    def fill(self, value: Any) -> None:
        self[...] = value

    def item(self, *args: Any) -> Any:
        return full(self).item(*args)

    def tolist(self) -> Any:
        return numpy.asarray(self).tolist()

    def flatten(self, order: str = "C") -> Any:
        return np.ravel(self).copy()

    def reshape(self, *shape: Any, **kwargs: Any) -> Any:
        return np.reshape(self, shape[0] if len(shape) == 1 else shape)

    def transpose(self, *axes: Any) -> Any:
        return np.transpose(self, None if not axes else axes[0] if len(axes) == 1 else axes)

    def conj(self) -> Any:
        return np.conjugate(self) if self.dtype.kind == "c" else self

    conjugate = conj

    def sort(self, axis: int = -1, **kwargs: Any) -> None:
        self[...] = np.sort(self, axis=axis, **kwargs)

    def partition(self, kth: Any, axis: int = -1) -> None:
        self[...] = np.partition(self, kth, axis)

    # --- Python's protocols -----------------------------------------------------------------------

    def __len__(self) -> int:
        return self.shape[0]

    def __iter__(self) -> Iterator[Any]:
        return (self[i] for i in range(len(self)))

    def __bool__(self) -> bool:
        return bool(full(self))

    def __int__(self) -> int:
        return int(full(self))

    def __float__(self) -> float:
        return float(full(self))

    def __complex__(self) -> complex:
        return complex(full(self))

    def __index__(self) -> int:
        return index(full(self))

    def __format__(self, spec: str) -> str:
        return format(numpy.asarray(self), spec)

    def __repr__(self) -> str:
        return f"Sharded({self.local!r}, {self.spec!r})"

    def tensor_repr(self, tensor: Any) -> str:
        """Return the ``repr`` of a tensor over it, with the local shard, since one process may print alone."""
        return (
            f"DTensor(local_tensor={wrap(self.local)!r}, device_mesh={self.spec.mesh!r},"
            f" placements={self.spec.placements})"
        )

    def __deepcopy__(self, memo: dict) -> Sharded:
        return self.copy()


def _method(name: str) -> Callable:
    function = getattr(np, name)

    def method(self: Sharded, *args: Any, **kwargs: Any) -> Any:
        return function(self, *args, **kwargs)

    method.__name__ = name
    return method


for _name in (
    "all any argmax argmin argpartition argsort clip cumprod cumsum diagonal dot max mean min nonzero prod ravel repeat"
    " round searchsorted squeeze std sum swapaxes take trace var"
).split():
    setattr(Sharded, _name, _method(_name))

CREATIONS = frozenset((np.zeros, np.ones, np.empty, np.full, np.eye, np.arange, np.asarray, np.array))


# --- memory ---------------------------------------------------------------------------------------


def check_current(x: Any) -> None:
    """Raise if ``x`` is a copy of a slice whose original was written since."""
    if type(x) is Sharded and x.copied is not None and x.copied[0][0] != x.copied[1][0]:
        raise RuntimeError(
            "a part of a sharded dimension was taken out before the tensor was written to: it is a copy, and has the"
            " old values. Take it out again, or redistribute the tensor first"
        )


def part(x: Sharded, local: Any, spec: Spec | None = None) -> Sharded:
    """Return an array in the memory of ``x``."""
    check_current(x)
    if x.writes is None:
        x.writes = [0]
    return Sharded(local, x.spec if spec is None else spec, x.writes, x.copied)


def half(x: Sharded, local: Any) -> Sharded:
    """Return the real or the imaginary part, in the memory of ``x``."""
    found = part(x, local)
    found.steps = x.strides
    return found


_JOINING = {numpy.dot, numpy.vdot, numpy.inner, numpy.tensordot, numpy.concatenate, numpy.stack, numpy.einsum}


def refuse_own(name: str, values: Any) -> None:
    """Raise for an array of numbers of one process's own beside one that several have in parts: nobody knows that it is
    the same for all of them. Whole numbers are classes and indices, a single number is a constant.
    """
    for value in values:
        if isinstance(value, (tuple, list)):
            refuse_own(name, value)
        elif type(value) is numpy.ndarray and value.size > 1 and value.dtype.kind in "fc":
            raise MixedPlacements(name, value.shape)


def placed(x: Any, mesh: Any, codes: tuple[Code, ...]) -> Any:
    """Return the local array of ``x`` under ``codes``; a NumPy array is the same on each process."""
    if type(x) is Sharded:
        check_current(x)
        return x.local if x.spec.codes == codes else redistribute(x.local, x.spec, codes)
    if all(code is None for code in codes):
        return x
    return redistribute(x, spec_of(mesh, (None,) * len(codes), x.shape), codes)


def full(x: Any) -> Any:
    """Return the whole of ``x``, on each process."""
    return placed(x, x.spec.mesh, (None,) * len(x.spec.codes)) if type(x) is Sharded else x


def reduced(x: Sharded) -> Sharded:
    """Return ``x`` without pending sums."""
    codes = tuple([None if type(code) is str else code for code in x.spec.codes])
    return Sharded(placed(x, x.spec.mesh, codes), spec_of(x.spec.mesh, codes, x.shape))


def whole_like(value: Any, mesh: Any) -> Any:
    """Return results that are equal on all processes as replicated arrays."""
    if isinstance(value, (tuple, list)):
        items = [whole_like(item, mesh) for item in value]
        return type(value)(*items) if hasattr(value, "_fields") else type(value)(items)
    if isinstance(value, numpy.generic) or hasattr(value, "strides"):
        value = as_array(value)
        return Sharded(value, spec_of(mesh, (None,) * len(mesh.shape), value.shape))
    return value


def store(target: Sharded, value: Any) -> None:
    """Write into all of ``target``, whose placement is kept."""
    check_current(target)
    spec = target.spec
    if isinstance(value, (Sharded, numpy.ndarray)) or hasattr(value, "strides"):
        if value.shape != target.shape:
            value = np.broadcast_to(value, target.shape)
        value = placed(value, spec.mesh, spec.codes)
    elif spec.partial:
        value = placed(module_of(target.local).full(target.shape, value, target.dtype), spec.mesh, spec.codes)
    target.local[...] = value
    count_write(target)


def count_write(target: Sharded) -> None:
    """Record a write to the memory of ``target``, and repeat it in the original of a copy."""
    if target.writes is not None:
        target.writes[0] += 1
    if target.copied is not None:
        target.copied[2]()


def copy_of(x: Sharded, local: Any, spec: Spec, view: Callable) -> Sharded:
    """Return a copy that stands for a view of ``x`` that no process has in memory; ``view`` gives it for a whole
    array.
    """
    if x.writes is None:
        x.writes = [0]
    seen = [x.writes[0]]
    writes = x.writes

    def push() -> None:
        whole = full(x).copy()
        view(whole)[...] = full(Sharded(local, spec))
        store(x, whole)
        seen[0] = writes[0]

    return Sharded(local, spec, None, (writes, seen, push))


# --- running a function on the parts --------------------------------------------------------------


class Plan:
    """The execution plan of a call: the codes of each input, and the specs of the results."""

    __slots__ = ("codes", "outs", "specs", "mesh", "moves", "steps", "direct", "slices")

    @classmethod
    def whole(cls, mesh: Any) -> Plan:
        """Return the plan for one replicated array with a replicated result."""
        none = (None,) * len(mesh.shape)
        return cls(mesh, [none], [(none, (0,) * len(none))], False, False)

    def __init__(self, mesh: Any, codes: list, outs: list, moves: bool, cuts: bool) -> None:
        self.mesh = mesh
        self.codes = codes  # of each input
        # Of each result: its codes, and the length of each dimension that it shards.
        self.outs = outs
        self.specs: list | None = None  # of each result, once it was seen
        self.moves = moves  # whether an input does not lie as it is wanted
        self.direct = not moves and not cuts  # whether the local arrays are the inputs, as they are
        # Of each input: the slices taken of the local array; None if more must be done.
        self.slices: list | None = None
        self.steps: dict[tuple, tuple] = {}  # of a view: its strides, by those of what it is a view of


def _described(x: Any) -> Any:
    return x.spec if type(x) is Sharded else x.shape if hasattr(x, "shape") else None


def plan_for(key: Any, arrays: list, rule: Callable) -> Plan:
    """Return the plan of a call with these arrays, cached by ``key`` and the arrays' specs."""
    if len(arrays) == 1:
        whole_key: tuple = (key, arrays[0].spec)
    else:
        whole_key = (key, *[_described(x) for x in arrays])
    found = _plans.get(whole_key)
    if found is None:
        from .choice import chosen

        if len(_plans) > 20000:
            _plans.clear()
            direct.clear()
        found = _plans[whole_key] = Plan(*chosen(arrays, list(rule())))
        slices = [_slices(x, codes, found.mesh) for x, codes in zip(arrays, found.codes, strict=True)]
        found.slices = None if False in slices else slices
    return found


def _slices(x: Any, codes: tuple[Code, ...], mesh: Any) -> Any:
    """Return the slices of its local array that a process needs under ``codes``: None for all of it, False if that is
    not enough.
    """
    now = x.spec.codes if type(x) is Sharded else (None,) * len(codes)
    if now == codes:
        return None
    shape = getattr(x, "shape", ())
    cut = [k for k in range(len(codes)) if now[k] != codes[k] and mesh.shape[k] > 1]
    if any(now[k] is not None or type(codes[k]) is not int or codes.count(codes[k]) > 1 for k in cut):
        return False
    found = [slice(None)] * len(shape)
    for k in cut:
        start, length = chunk(shape[codes[k]], mesh.shape[k], mesh._coordinate[k])  # type: ignore[index]
        found[codes[k]] = slice(start, start + length)  # type: ignore[index]
    return tuple(found) if cut else None


def ready(key: Any, x: Sharded) -> Any:
    """Return the plan of a call of one array, if it is cached and nothing is moved."""
    plan = _plans.get((key, x.spec))
    if plan is None or not plan.direct or plan.specs is None or x.copied is not None:
        return None
    return plan


def remember(ufunc: Any, inputs: tuple, result: Any) -> None:
    """Take the fast path for a call like this from now on, if nothing was moved."""
    x, y = inputs
    if type(x) is Sharded and type(y) is Sharded and type(result) is Sharded:
        plan = _plans.get((ufunc_key(ufunc), x.spec, y.spec))
        if plan is not None and plan.direct:
            direct[(ufunc, x.spec, y.spec)] = result.spec


def ufunc_key(ufunc: Any, divides: bool = False, kwargs: Any = ()) -> Any:
    """Return the cache key of a ufunc call."""
    return (ufunc, divides, *[(name, str(value)) for name, value in dict(kwargs).items()])


def apply(
    key: Any, arrays: list, rule: Callable, call: Callable, view: bool = False, shape: tuple | None = None
) -> Any:
    """Run ``call`` on the local shards of ``arrays``, under placements that ``rule`` allows.

    ``call`` gets the local arrays, and the plan. A ``view`` of the first lies in its memory, or is a copy that says so.
    The ``shape`` of the result is given where it is not that of the parts, with the lengths of what they are parts of.
    """
    plan = plan_for(key, arrays, rule)
    if plan.slices is not None and plan.specs is not None and len(plan.specs) == 1:  # nearly always
        if view:
            x = arrays[0]
            steps = plan.steps.get((x.steps, x.itemsize)) if shape is None else ()
            if steps is not None and plan.direct:
                found = part(x, call((x.local,), plan), plan.specs[0])
                if shape is None:
                    found.steps = steps
                return found
        else:
            own = []
            for x, taken in zip(arrays, plan.slices, strict=True):
                if type(x) is Sharded:
                    if x.copied is not None:
                        check_current(x)
                    x = x.local
                own.append(x if taken is None else x[taken])
            result = call(own, plan)
            return Sharded(result if type(result) is numpy.ndarray else as_local(result), plan.specs[0])
    mesh = plan.mesh
    locals_ = [
        placed(x, mesh, codes) if hasattr(x, "shape") else _number(x, mesh, codes)
        for x, codes in zip(arrays, plan.codes, strict=True)
    ]
    result = call(locals_, plan)
    several = isinstance(result, (tuple, list))
    results = [as_local(r) for r in (result if several else (result,))]
    if plan.specs is None:
        plan.specs = [
            spec_of(mesh, codes, shape or _global(r.shape, codes, lengths))
            for r, (codes, lengths) in zip(results, _each(plan.outs, len(results)), strict=True)
        ]
    if view:
        x = arrays[0]
        view_of = lambda whole: call([whole], Plan.whole(mesh))
        found = copy_of(x, results[0], plan.specs[0], view_of) if plan.moves else part(x, results[0], plan.specs[0])
        if shape is None:  # a new shape is of what lies row by row, or of a copy
            key = (x.steps, x.itemsize)
            if key not in plan.steps:
                # never read: only its strides are looked at
                kind = numpy.float16 if x.dtype is BFLOAT16 else x.dtype
                room = numpy.lib.stride_tricks.as_strided(numpy.empty(1, kind), x.shape, x.strides)
                plan.steps[key] = view_of(room).strides
            found.steps = plan.steps[key]
        return found
    made = [Sharded(r, spec) for r, spec in zip(results, plan.specs, strict=True)]
    if not several:
        return made[0]
    return type(result)(*made) if hasattr(result, "_fields") else type(result)(made)


def _number(x: Any, mesh: Any, codes: tuple[Code, ...]) -> Any:
    """Return a number for use beside pending sums: it belongs to one process."""
    if any(code == "sum" and place for code, place in zip(codes, mesh._coordinate, strict=True)):
        return type(x)(0)
    return x


def _each(outs: list, count: int) -> list:
    return outs if len(outs) == count else outs * count


def _global(shape: tuple, codes: tuple, lengths: tuple) -> tuple:
    found = list(shape)
    for code, length in zip(codes, lengths, strict=True):
        if type(code) is int:
            found[code] = length
    return tuple(found)


# --- what has no rule -----------------------------------------------------------------------------


def _each_array(value: Any, function: Callable) -> Any:
    kind = type(value)
    if kind is Sharded:
        return function(value)
    if kind is tuple or kind is list:
        return kind([_each_array(item, function) for item in value])
    if kind is dict:
        return {name: _each_array(item, function) for name, item in value.items()}
    return value


def unknown(function: Callable, args: tuple, kwargs: dict, name: str) -> Any:
    """Apply a function without a rule to whole arrays, on each process alike; it warns once for each ``name``."""
    found: list[Sharded] = []
    _each_array((args, kwargs), found.append)
    size = sum(x.nbytes for x in found if not x.spec.whole)
    if size:
        if name not in unruled:
            warnings.warn(
                f"{name} has no rule for sharded tensors: {size} bytes are gathered on each process, which does all"
                " of it",
                UserWarning,
                stacklevel=4,
            )
        unruled[name] = unruled.get(name, 0) + size
    mesh = found[0].spec.mesh
    written = [x for x in found if x is (args[0] if args else None) and function in WRITING]
    for x in written:
        check_current(x)
    copies: dict[int, Any] = {}

    def whole(x: Sharded) -> Any:
        if id(x) not in copies:
            copies[id(x)] = full(x).copy() if any(x is w for w in written) else full(x)
        return copies[id(x)]

    result = function(*_each_array(args, whole), **_each_array(kwargs, whole))
    for x in written:
        store(x, copies[id(x)])
    return whole_like(result, mesh)


WRITING: set[Any] = {np.copyto, np.put_along_axis, np.place, np.put, np.fill_diagonal}
