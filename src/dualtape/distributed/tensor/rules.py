"""Rules: under which placements a function of NumPy's gives, of the parts, a part of the result.

A rule lists, for one dimension of the mesh, the code of the result and those of the arrays: an int shards that
dimension, None is replicated, "sum" (or another reduction) is pending. The kinds are few (element by element,
reduction, contraction, a map of dimensions, axes that must be whole), and tables say which function is of which.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from math import prod
from operator import index
from typing import Any

import numpy

from ...arrays import module_of
from .array import RULES, UFUNC_METHODS, WRITING, Sharded, apply, check_current, count_write, placed, store, unknown
from .spec import REDUCTIONS, Code

np: Any = numpy

Ways = Iterator[tuple[Any, tuple]]

# what stays pending through a ufunc: the result's code, the arrays'
_PENDING: dict[Any, list[tuple[Code, tuple]]] = {
    **dict.fromkeys((np.negative, np.positive, np.conjugate), [("sum", ("sum",)), ("avg", ("avg",))]),
    **dict.fromkeys((np.add, np.subtract), [("sum", ("sum", "sum")), ("avg", ("avg", "avg"))]),
    np.multiply: [("sum", ("sum", None)), ("sum", (None, "sum"))],
    np.maximum: [("max", ("max", "max"))],
    np.minimum: [("min", ("min", "min"))],
}
_PASSING = [(code, (code,)) for code in REDUCTIONS]  # through whatever only moves elements
# reductions: what parts of a reduced dimension leave pending
_REDUCTIONS: dict[Any, Code] = {np.add: "sum", np.multiply: "product", np.maximum: "max", np.minimum: "min",
                                np.logical_or: "max", np.logical_and: "min"}  # fmt: skip


def elementwise(shapes: Sequence[tuple]) -> Ways:
    """Element by element, with broadcasting."""
    rank = max(map(len, shapes))
    out = np.broadcast_shapes(*shapes)
    yield None, (None,) * len(shapes)
    for d in range(rank):
        places = [d - rank + len(shape) for shape in shapes]
        if out[d] != 1:
            yield d, tuple([e if e >= 0 and s[e] == out[d] else None for e, s in zip(places, shapes, strict=True)])


def reduction(ndim: int, axes: tuple, keepdims: bool, kind: Code) -> Ways:
    """Over axes; ``kind`` is what parts of them leave pending, None if they must be whole."""
    yield None, (None,)
    if kind is not None:
        yield kind, (kind,)
    for d in range(ndim):
        if d not in axes:
            yield (d if keepdims else d - sum(a < d for a in axes)), (d,)
        elif kind is not None:
            yield kind, (d,)


def contraction(a: str, b: str, out: str, shapes: Sequence[tuple]) -> Ways:
    """A product of two arrays whose dimensions have letters; those not in ``out`` are summed over."""
    yield None, (None, None)
    yield "sum", ("sum", None)
    yield "sum", (None, "sum")
    sizes = dict(zip(a, shapes[0], strict=True))
    for letter, n in zip(b, shapes[1], strict=True):
        sizes[letter] = max(n, sizes.get(letter, n))
    for letter, n in sizes.items():
        ins = []
        for letters, shape in ((a, shapes[0]), (b, shapes[1])):
            d = letters.find(letter)
            ins.append(d if d >= 0 and shape[d] == n else None)
        if n != 1 and (letter in out or None not in ins):
            yield (out.index(letter) if letter in out else "sum"), tuple(ins)


def mapped(dims: Sequence[int | None]) -> Ways:
    """A view: which dimension of the array each of the result's is, if it is one."""
    yield None, (None,)
    yield from _PASSING
    for new, old in enumerate(dims):
        if old is not None:
            yield new, (old,)


def whole_axes(shapes: Sequence[tuple], axes: Sequence[int], outputs: int = 1, linear: bool = False) -> Ways:
    """Axes must be whole; the others, where all arrays are equally long, may be in parts."""
    several = (lambda code: (code,) * outputs) if outputs > 1 else (lambda code: code)
    yield several(None), (None,) * len(shapes)
    if linear:
        yield several("sum"), ("sum",) * len(shapes)
    for d in range(len(shapes[0])):
        if d not in axes and all(len(s) == len(shapes[0]) and s[d] == shapes[0][d] for s in shapes):
            yield several(d), (d,) * len(shapes)


def _axis(axis: Any, ndim: int) -> int:
    axis = index(axis)
    if not -ndim <= axis < ndim:
        raise np.exceptions.AxisError(axis, ndim)
    return axis % ndim


def _axes(axis: Any, ndim: int) -> tuple[int, ...]:
    if axis is None:
        return tuple(range(ndim))
    return tuple([_axis(a, ndim) for a in axis]) if isinstance(axis, (tuple, list)) else (_axis(axis, ndim),)


# --- ufuncs ---------------------------------------------------------------------------------------


def _shape(x: Any) -> tuple:
    return getattr(x, "shape", ())


def _called(ufunc: Any, inputs: tuple, kwargs: dict) -> Any:
    out = kwargs.pop("out", None)
    where = kwargs.pop("where", True)
    if ufunc.signature is not None:
        if ufunc is not np.matmul or kwargs:
            result = unknown(ufunc, inputs, kwargs, ufunc.__name__)
        else:
            result = _matmul(*inputs)
    else:
        # parts of a sum divided by a zero would be infinities of both signs
        divides = ufunc is np.true_divide and isinstance(inputs[1], (int, float)) and inputs[1] != 0
        static = (ufunc, divides, *[(name, str(value)) for name, value in kwargs.items()])

        def rule() -> Ways:
            yield from elementwise([_shape(x) for x in inputs])
            yield from _PENDING.get(ufunc, ())
            if divides:
                yield "sum", ("sum", None)

        arrays = list(inputs)
        if ufunc.nout > 1:
            several = ufunc.nout
            ways = lambda: (((out,) * several, ins) for out, ins in elementwise([_shape(x) for x in inputs]))
            result = apply(static, arrays, ways,
                           lambda parts, plan: ufunc(*parts, **kwargs))  # fmt: skip
        else:
            result = apply(static, arrays, rule, lambda parts, plan: ufunc(*parts, **kwargs))
    if out is None:
        if where is not True:
            raise TypeError(f"{ufunc.__name__}: where= without out= leaves values undefined")
        return result
    results = result if isinstance(result, tuple) else (result,)
    for target, found in zip(out, results, strict=True):
        if where is not True:
            found = np.where(where, found, target)
        _into(target, found)
    return out[0] if len(out) == 1 else out


def _into(target: Any, found: Any) -> None:
    if type(target) is Sharded:
        store(target, found)
    else:
        target[...] = numpy.asarray(found)


def _letters(shapes: Sequence[tuple]) -> tuple[str, str, str]:
    """The letters of a matrix product's dimensions."""
    x, y = shapes
    batch = "abcdefghij"
    rank = max(len(x) - 2, len(y) - 2, 0)
    lead = batch[:rank]
    first = "k" if len(x) == 1 else lead[rank - len(x) + 2 :] + "mk"
    second = "k" if len(y) == 1 else lead[rank - len(y) + 2 :] + "kn"
    return first, second, lead + ("m" if len(x) > 1 else "") + ("n" if len(y) > 1 else "")


def _matmul(x: Any, y: Any) -> Any:
    shapes = [x.shape, y.shape]
    return apply(
        np.matmul, [x, y], lambda: contraction(*_letters(shapes), shapes), lambda parts, plan: np.matmul(*parts)
    )


def _dot(x: Any, y: Any) -> Any:
    shapes = [_shape(x), _shape(y)]
    if not all(shapes):
        return np.multiply(x, y)
    first = "abcdefgh"[: len(shapes[0]) - 1] + "z"
    second = "z" if len(shapes[1]) == 1 else "ijklmnop"[: len(shapes[1]) - 2] + "zy"
    return apply(np.dot, [x, y], lambda: contraction(first, second, (first + second).replace("z", ""), shapes),
                 lambda parts, plan: np.dot(*parts))  # fmt: skip


def _neutral(ufunc: Any, dtype: Any) -> Any:
    low = ufunc in (np.maximum, np.logical_or)
    if dtype.kind == "b":
        return not low
    if dtype.kind == "f":
        return -np.inf if low else np.inf
    limits = np.iinfo(dtype)
    return limits.min if low else limits.max


def _reduced(ufunc: Any, inputs: tuple, kwargs: dict) -> Any:
    options = dict(zip(("array", "axis", "dtype", "out", "keepdims", "initial", "where"), inputs, strict=False))
    options.update(kwargs)
    x = options["array"]
    if options.get("out") not in (None, (None,)) or "initial" in options or options.get("where", True) is not True:
        return unknown(ufunc.reduce, inputs, kwargs, f"{ufunc.__name__}.reduce")
    return reduce(ufunc, x, options.get("axis", 0), options.get("dtype"), bool(options.get("keepdims", False)))


def reduce(ufunc: Any, x: Any, axis: Any, dtype: Any, keepdims: bool) -> Any:
    """``ufunc.reduce`` of a sharded array."""
    axes = _axes(axis, x.ndim)
    kind = None if x.dtype.kind == "c" and ufunc not in (np.add, np.multiply) else _REDUCTIONS.get(ufunc)

    def call(parts: list, plan: Any) -> Any:
        local = parts[0]
        if not local.size and ufunc not in (np.add, np.multiply) and x.size and any(not local.shape[a] for a in axes):
            shape = [1 if d in axes else n for d, n in enumerate(local.shape) if keepdims or d not in axes]
            logical = ufunc in (np.logical_or, np.logical_and)
            return module_of(local).full(
                tuple(shape),
                _neutral(ufunc, np.dtype(bool) if logical else local.dtype),
                bool if logical else local.dtype,
            )
        return ufunc.reduce(local, axis=axes, keepdims=keepdims, **({} if dtype is None else {"dtype": dtype}))

    return apply(("reduce", ufunc, axes, keepdims, dtype), [x],
                 lambda: reduction(x.ndim, axes, keepdims, kind), call)  # fmt: skip


def _accumulated(ufunc: Any, inputs: tuple, kwargs: dict) -> Any:
    x = inputs[0]
    axis = _axis(inputs[1] if len(inputs) > 1 else kwargs.pop("axis", 0), x.ndim)
    return _along(f"{ufunc.__name__}.accumulate", [x], (axis,), lambda a: ufunc.accumulate(a, axis=axis, **kwargs),
                  str(kwargs), linear=ufunc is np.add)  # fmt: skip


def _added_at(ufunc: Any, inputs: tuple, kwargs: dict) -> None:
    target, key, *values = inputs
    check_current(target)
    whole = placed(target, target.spec.mesh, (None,) * len(target.spec.codes)).copy()
    ufunc.at(whole, _whole_key(key), *[_whole(v) for v in values])
    store(target, whole)


UFUNC_METHODS.update(__call__=_called, reduce=_reduced, accumulate=_accumulated, at=_added_at)


def _whole(x: Any) -> Any:
    return placed(x, x.spec.mesh, (None,) * len(x.spec.codes)) if type(x) is Sharded else x


def _whole_key(key: Any) -> Any:
    return tuple([_whole(k) for k in key]) if type(key) is tuple else _whole(key)


def _along(
    name: str, arrays: list, axes: Any, call: Callable, *static: Any, outputs: int = 1, linear: bool = False
) -> Any:
    """A function along axes that must be whole."""
    return apply((name, axes, *static), arrays,
                 lambda: whole_axes([x.shape for x in arrays], axes, outputs, linear),
                 lambda parts, plan: call(*parts))  # fmt: skip


# --- NumPy's functions ----------------------------------------------------------------------------


def rule(*functions: Any) -> Callable:
    """Register a rule for functions of NumPy's; by name, for other things."""

    def register(function: Callable) -> Callable:
        RULES.update(dict.fromkeys(functions, function))
        return function

    return register


def _reducing(ufunc: Any, typed: bool) -> Callable:
    """The function of NumPy's that is a ufunc's ``reduce``; of sums and products a dtype comes before ``out``."""

    def function(x: Any, axis: Any = None, *args: Any, keepdims: bool = False, **kwargs: Any) -> Any:
        if not args and not kwargs:
            return reduce(ufunc, x, axis, None, bool(keepdims))
        options = dict(
            zip(("dtype", "out", "keepdims") if typed else ("out", "keepdims"), args, strict=False), **kwargs
        )
        out, dtype, keep = options.pop("out", None), options.pop("dtype", None), options.pop("keepdims", keepdims)
        if options:
            return unknown(ufunc.reduce, (x,), {"axis": axis, "keepdims": keep, **options}, ufunc.__name__)
        found = reduce(ufunc, x, axis, dtype, bool(keep))
        if out is None:
            return found
        _into(out, found)
        return out

    return function


for _function, _ufunc in ((np.sum, np.add), (np.prod, np.multiply), (np.max, np.maximum), (np.min, np.minimum),
                          (np.any, np.logical_or), (np.all, np.logical_and)):  # fmt: skip
    RULES[_function] = _reducing(_ufunc, _function in (np.sum, np.prod))

RULES[np.dot] = _dot


@rule(np.mean)
def _mean(x: Any, axis: Any = None, dtype: Any = None, out: Any = None, keepdims: bool = False) -> Any:
    axes = _axes(axis, x.ndim)
    found = np.true_divide(reduce(np.add, x, axis, dtype, keepdims), prod([x.shape[a] for a in axes]))
    if out is None:
        return found
    _into(out, found)
    return out


@rule(np.count_nonzero)
def _count_nonzero(x: Any, axis: Any = None, keepdims: bool = False) -> Any:
    return reduce(np.add, np.not_equal(x, 0), axis, np.int64, keepdims)


@rule(np.where)
def _where(condition: Any, *others: Any) -> Any:
    if not others:
        return unknown(np.where, (condition,), {}, "numpy.where")
    arrays = [condition, *others]
    return apply(
        np.where, arrays, lambda: elementwise([_shape(x) for x in arrays]), lambda parts, plan: np.where(*parts)
    )


@rule(np.clip)
def _clip(x: Any, a_min: Any = None, a_max: Any = None, out: Any = None, **kwargs: Any) -> Any:
    found = x if a_min is None else np.maximum(x, a_min)
    found = found if a_max is None else np.minimum(found, a_max)
    if out is None:
        return found
    _into(out, found)
    return out


@rule(np.result_type)
def _result_type(*args: Any) -> Any:
    return np.result_type(*[a.local if type(a) is Sharded else a for a in args])


@rule(np.may_share_memory)
def _may_share(x: Any, y: Any, *args: Any) -> bool:
    return np.may_share_memory(*[a.local if type(a) is Sharded else a for a in (x, y)])


@rule(np.shape)
def _shape_of(x: Any) -> tuple:
    return x.shape


@rule(np.ndim)
def _ndim_of(x: Any) -> int:
    return x.ndim


@rule(np.iscomplexobj)
def _is_complex(x: Any) -> bool:
    return x.dtype.kind == "c"


@rule(np.real)
def _real(x: Any) -> Any:
    return x.real


@rule(np.imag)
def _imag(x: Any) -> Any:
    return x.imag if x.dtype.kind == "c" else np.zeros_like(x)


for _function in (np.round, np.sinc, np.nan_to_num, np.isclose):

    def _pointwise(*args: Any, _function: Any = _function, **kwargs: Any) -> Any:
        count = 2 if _function is np.isclose else 1
        arrays, rest = list(args[:count]), args[count:]
        out = kwargs.pop("out", None)
        found = apply((_function, str(rest), str(kwargs)), arrays, lambda: elementwise([_shape(x) for x in arrays]),
                      lambda parts, plan: _function(*parts, *rest, **kwargs))  # fmt: skip
        if out is None:
            return found
        _into(out, found)
        return out

    RULES[_function] = _pointwise


# --- views ----------------------------------------------------------------------------------------


@rule(np.transpose)
def _transpose(x: Any, axes: Any = None) -> Any:
    order = tuple(reversed(range(x.ndim))) if axes is None else tuple([_axis(a, x.ndim) for a in axes])
    return apply(
        ("transpose", order), [x], lambda: mapped(order), lambda parts, plan: parts[0].transpose(order), view=True
    )


@rule(np.moveaxis)
def _moveaxis(x: Any, source: Any, destination: Any) -> Any:
    froms, tos = _axes(source, x.ndim), _axes(destination, x.ndim)
    order = [d for d in range(x.ndim) if d not in froms]
    for to, axis in sorted(zip(tos, froms, strict=True)):
        order.insert(to, axis)
    return np.transpose(x, order)


@rule(np.swapaxes)
def _swapaxes(x: Any, axis1: Any, axis2: Any) -> Any:
    order = list(range(x.ndim))
    a, b = _axis(axis1, x.ndim), _axis(axis2, x.ndim)
    order[a], order[b] = b, a
    return np.transpose(x, order)


@rule(np.expand_dims)
def _expand_dims(x: Any, axis: Any) -> Any:
    places = axis if isinstance(axis, (tuple, list)) else (axis,)
    rank = x.ndim + len(places)
    new = {_axis(a, rank) for a in places}
    old = iter(range(x.ndim))
    dims = [None if d in new else next(old) for d in range(rank)]
    return apply(("expand_dims", tuple(dims)), [x], lambda: mapped(dims),
                 lambda parts, plan: np.expand_dims(parts[0], tuple(new)), view=True)  # fmt: skip


@rule(np.squeeze)
def _squeeze(x: Any, axis: Any = None) -> Any:
    gone = tuple([d for d in range(x.ndim) if x.shape[d] == 1]) if axis is None else _axes(axis, x.ndim)
    for d in gone:
        if x.shape[d] != 1:
            raise ValueError("cannot select an axis to squeeze out which has size not equal to one")
    dims = [d for d in range(x.ndim) if d not in gone]
    return apply(
        ("squeeze", gone), [x], lambda: mapped(dims), lambda parts, plan: np.squeeze(parts[0], gone), view=True
    )


@rule(np.broadcast_to)
def _broadcast_to(x: Any, shape: Any, **kwargs: Any) -> Any:
    shape = tuple(shape) if isinstance(shape, (tuple, list)) else (shape,)
    lead = len(shape) - x.ndim
    dims = [d - lead if d >= lead and x.shape[d - lead] == n else None for d, n in enumerate(shape)]
    np.broadcast_shapes(x.shape, shape)

    def call(parts: list, plan: Any) -> Any:
        codes = plan.outs[0][0]
        sizes = [parts[0].shape[d] if d is not None and new in codes else shape[new] for new, d in enumerate(dims)]
        return np.broadcast_to(parts[0], tuple(sizes))

    return apply(("broadcast_to", shape), [x], lambda: mapped(dims), call, view=True)


def _regrouped(old: tuple, new: tuple, count: int) -> Ways:
    """A reshape: dimensions that stay, and those that lead others they are merged with or split into, evenly."""
    yield from mapped([None] * len(new))
    i = j = 0
    while i < len(old) and j < len(new):
        ends_i, ends_j = i + 1, j + 1
        a, b = old[i], new[j]
        while a != b and (ends_i < len(old) or ends_j < len(new)):
            if a < b and ends_i < len(old) or ends_j == len(new):
                a *= old[ends_i] if ends_i < len(old) else 1
                ends_i += 1
            else:
                b *= new[ends_j]
                ends_j += 1
            if ends_i > len(old) or ends_j > len(new):
                return
        if (
            ends_i == i + 1
            and ends_j == j + 1
            and old[i] == new[j]
            or (old[i] > 1 and new[j] > 1 and not old[i] % count and not new[j] % count)
        ):
            yield j, (i,)
        i, j = ends_i, ends_j


@rule(np.reshape)
def _reshape(x: Any, /, shape: Any = None, order: str = "C", **kwargs: Any) -> Any:
    sizes = [index(n) for n in (shape if isinstance(shape, (tuple, list)) else (shape,))]
    rest = prod([n for n in sizes if n != -1])
    if -1 in sizes:
        if sizes.count(-1) > 1 or not rest or x.size % rest:
            raise ValueError(f"cannot reshape array of size {x.size} into shape {tuple(sizes)}")
        sizes[sizes.index(-1)] = x.size // rest
    elif rest != x.size:
        raise ValueError(f"cannot reshape array of size {x.size} into shape {tuple(sizes)}")
    target = tuple(sizes)
    mesh = x.spec.mesh

    def call(parts: list, plan: Any) -> Any:
        lengths = list(target)
        for k, code in enumerate(plan.outs[0][0]):
            if type(code) is int:
                place = plan.codes[0][k]
                if parts[0].shape[place] and x.shape[place]:
                    lengths[code] = target[code] * parts[0].shape[place] // x.shape[place]
                else:
                    lengths[code] = 0
        return parts[0].reshape(tuple(lengths))

    return apply(("reshape", target), [x], lambda: _regrouped(x.shape, target, prod(mesh.shape)), call, True, target)


@rule(np.ravel)
def _ravel(x: Any, order: str = "C") -> Any:
    return np.reshape(x, (x.size,))


@rule(np.atleast_1d)
def _atleast_1d(x: Any) -> Any:
    return x if x.ndim else np.reshape(x, (1,))


@rule("view")
def _view_as(x: Sharded, dtype: Any) -> Any:
    same = numpy.dtype(dtype).itemsize == x.itemsize
    dims = [d if same or d < x.ndim - 1 else None for d in range(x.ndim)]
    pending = not same or numpy.dtype(dtype).kind != x.dtype.kind

    def ways() -> Ways:
        for out, ins in mapped(dims):
            if type(out) is not str or not pending:
                yield out, ins

    return apply(("view", str(numpy.dtype(dtype))), [x], ways, lambda parts, plan: parts[0].view(dtype), view=True)


@rule("pairs")
def _pairs(x: Sharded) -> Any:
    def call(parts: list, plan: Any) -> Any:
        local = parts[0].real
        return numpy.lib.stride_tricks.as_strided(local, (*local.shape, 2), (*local.strides, local.itemsize))

    return apply("pairs", [x], lambda: mapped([*range(x.ndim), None]), call, view=True)


@rule(np.diagonal)
def _diagonal(x: Any, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Any:
    gone = (_axis(axis1, x.ndim), _axis(axis2, x.ndim))
    dims = [*[d for d in range(x.ndim) if d not in gone], None]
    return apply(("diagonal", offset, gone), [x], lambda: mapped(dims),
                 lambda parts, plan: _writable(np.diagonal(parts[0], offset, *gone), parts[0]), view=True)  # fmt: skip


def _writable(view: Any, of: Any) -> Any:
    """What NumPy gives as read-only, as it could be."""
    if isinstance(view, numpy.ndarray):
        view.flags.writeable = of.flags.writeable
    return view


# --- along axes -----------------------------------------------------------------------------------

for _function in (np.sort, np.argsort, np.cumsum, np.cumprod, np.partition, np.argpartition):

    def _ordered(x: Any, *args: Any, _function: Any = _function, **kwargs: Any) -> Any:
        kth = args[:1] if _function in (np.partition, np.argpartition) else ()
        rest = args[len(kth) :]
        default = None if _function in (np.cumsum, np.cumprod) else -1
        axis = rest[0] if rest else kwargs.pop("axis", default)
        if axis is None:
            x, axis = np.ravel(x), 0
        axis = _axis(axis, x.ndim)
        return _along(_function.__name__, [x], (axis,), lambda a: _function(a, *kth, axis=axis, **kwargs), str(kth),
                      str(kwargs), linear=_function is np.cumsum)  # fmt: skip

    RULES[_function] = _ordered


@rule(np.flip)
def _flip(m: Any, axis: Any = None) -> Any:
    axes = _axes(axis, m.ndim)
    return apply(("flip", axes), [m], lambda: mapped([None if d in axes else d for d in range(m.ndim)]),
                 lambda parts, plan: np.flip(parts[0], axes), view=True)  # fmt: skip


@rule(np.roll)
def _roll(x: Any, shift: Any, axis: Any = None) -> Any:
    if axis is None:
        return np.reshape(np.roll(np.ravel(x), shift, 0), x.shape)
    axes = _axes(axis, x.ndim)
    return _along("roll", [x], axes, lambda a: np.roll(a, shift, axes if isinstance(shift, (tuple, list)) else axes[0]),
                  str(shift), linear=True)  # fmt: skip


for _function in (np.argmax, np.argmin):

    def _place(x: Any, axis: Any = None, out: Any = None, *, keepdims: bool = False, _function: Any = _function) -> Any:
        axes = _axes(axis, x.ndim)
        found = apply((_function, axis, keepdims), [x], lambda: reduction(x.ndim, axes, keepdims, None),
                      lambda parts, plan: _function(parts[0], axis=axis, keepdims=keepdims))  # fmt: skip
        if out is None:
            return found
        _into(out, found)
        return out

    RULES[_function] = _place


@rule(np.take)
def _take(a: Any, indices: Any, axis: Any = None, out: Any = None, mode: str = "raise") -> Any:
    if axis is None:
        a, axis = np.ravel(a), 0
    axis = _axis(axis, a.ndim)
    rank = len(_shape(indices))

    def ways() -> Ways:
        yield None, (None, None)
        yield "sum", ("sum", None)
        for d in range(a.ndim):
            if d != axis:
                yield (d if d < axis else d + rank - 1), (d, None)
        for d in range(rank):
            yield axis + d, (None, d)

    found = apply(("take", axis, mode), [a, indices], ways, lambda parts, plan: np.take(*parts, axis=axis, mode=mode))
    if out is None:
        return found
    _into(out, found)
    return out


@rule(np.take_along_axis)
def _take_along(arr: Any, indices: Any, axis: Any = -1) -> Any:
    if axis is None:
        return unknown(np.take_along_axis, (arr, indices, axis), {}, "numpy.take_along_axis")
    axis = _axis(axis, arr.ndim)
    return _along("take_along_axis", [arr, indices], (axis,), lambda a, i: np.take_along_axis(a, i, axis))


@rule(np.put_along_axis)
def _put_along(arr: Any, indices: Any, values: Any, axis: Any) -> None:
    axis = _axis(axis, arr.ndim)
    check_current(arr)
    codes = arr.spec.codes
    same = all(type(c) is not str and c != axis for c in codes) and all(
        indices.shape[d] == arr.shape[d] for d in codes if type(d) is int
    )
    if not same:
        unknown(np.put_along_axis, (arr, indices, values, axis), {}, "numpy.put_along_axis")
        return
    parts = [placed(np.broadcast_to(v, indices.shape) if _shape(v) else v, arr.spec.mesh, codes) if _shape(v) else v
             for v in (indices, values)]  # fmt: skip
    np.put_along_axis(arr.local, parts[0], parts[1], axis)
    count_write(arr)


for _function in (np.tril, np.triu):

    def _triangle(m: Any, k: int = 0, _function: Any = _function) -> Any:
        return _along(_function.__name__, [m], (m.ndim - 2, m.ndim - 1), lambda a: _function(a, k), k, linear=True)

    RULES[_function] = _triangle


for _name, _count in (("cholesky", 1), ("det", 1), ("eigh", 2), ("inv", 1), ("pinv", 1), ("qr", 2), ("slogdet", 2)):

    def _matrices(a: Any, *args: Any, _name: str = _name, _count: int = _count, **kwargs: Any) -> Any:
        outputs = 1 if "r" in (args[:1] or (kwargs.get("mode"),)) else _count
        return _along(f"linalg.{_name}", [a], (a.ndim - 2, a.ndim - 1),
                      lambda m: getattr(np.linalg, _name)(m, *args, **kwargs), str(args), str(kwargs),
                      outputs=outputs)  # fmt: skip

    RULES[getattr(np.linalg, _name)] = _matrices


@rule(np.linalg.svd)
def _svd(a: Any, full_matrices: bool = True, compute_uv: bool = True, **kwargs: Any) -> Any:
    return _along("linalg.svd", [a], (a.ndim - 2, a.ndim - 1),
                  lambda m: np.linalg.svd(m, full_matrices, compute_uv, **kwargs), full_matrices, compute_uv,
                  str(kwargs), outputs=3 if compute_uv else 1)  # fmt: skip


@rule(np.linalg.solve)
def _solve(a: Any, b: Any) -> Any:
    def rule() -> Ways:
        yield None, (None, None)
        yield "sum", (None, "sum")
        if b.ndim > 1:
            yield b.ndim - 1 if b.ndim >= a.ndim else a.ndim - 1, (None, b.ndim - 1)
        for d in range(a.ndim - 2):
            if b.ndim == a.ndim and b.shape[d] == a.shape[d]:
                yield d, (d, d)

    return apply("linalg.solve", [a, b], rule, lambda parts, plan: np.linalg.solve(*parts))


for _name in ("fftn", "ifftn", "rfft", "irfft", "fft", "ifft", "rfftn", "irfftn"):

    def _transformed(a: Any, *args: Any, _name: str = _name, **kwargs: Any) -> Any:
        several = _name.endswith("n")
        names = ("s", "axes", "norm") if several else ("n", "axis", "norm")
        options = dict(zip(names, args, strict=False), **kwargs)
        axes = _axes(options.get(names[1], None if several else -1), a.ndim)
        return _along(
            f"fft.{_name}", [a], axes, lambda x: getattr(np.fft, _name)(x, **options), str(options), linear=True
        )

    RULES[getattr(np.fft, _name)] = _transformed


# --- joining --------------------------------------------------------------------------------------


@rule(np.concatenate)
def _concatenate(arrays: Any, axis: Any = 0, out: Any = None, **kwargs: Any) -> Any:
    items = list(arrays)
    axis = _axis(axis, items[0].ndim)
    found = apply(("concatenate", axis), items, lambda: whole_axes([x.shape for x in items], (axis,), linear=True),
                  lambda parts, plan: np.concatenate(parts, axis))  # fmt: skip
    if out is None:
        return found
    _into(out, found)
    return out


@rule(np.stack)
def _stack(arrays: Any, axis: Any = 0, out: Any = None, **kwargs: Any) -> Any:
    return _concatenate([np.expand_dims(x, _axis(axis, x.ndim + 1)) for x in arrays], axis, out)


@rule(np.tile)
def _tile(x: Any, reps: Any) -> Any:
    reps = tuple(reps) if isinstance(reps, (tuple, list)) else (reps,)
    rank = max(x.ndim, len(reps))
    counts = (1,) * (rank - len(reps)) + reps
    dims = [d - rank + x.ndim if d >= rank - x.ndim and counts[d] == 1 else None for d in range(rank)]
    return apply(("tile", reps), [x], lambda: mapped(dims), lambda parts, plan: np.tile(parts[0], reps))


@rule(np.repeat)
def _repeat(a: Any, repeats: Any, axis: Any = None) -> Any:
    if axis is None:
        a, axis = np.ravel(a), 0
    axis = _axis(axis, a.ndim)
    counts = _whole(repeats)
    return _along("repeat", [a], (axis,), lambda x: np.repeat(x, counts, axis), str(counts), linear=True)


# --- parts ----------------------------------------------------------------------------------------


def _plain_key(key: Any, shape: tuple) -> tuple | None:
    """A key of integers, slices, None and an ellipsis, with every dimension named; None for another."""
    parts = key if type(key) is tuple else (key,)
    for each in parts:
        if isinstance(each, bool) or not isinstance(each, (slice, int, numpy.integer, type(None), type(Ellipsis))):
            return None
    used = sum(1 for each in parts if each is not None and each is not Ellipsis)
    if used > len(shape):
        raise IndexError(f"too many indices for array: array is {len(shape)}-dimensional, but {used} were indexed")
    rest = (slice(None),) * (len(shape) - used)
    place = next((k for k, each in enumerate(parts) if each is Ellipsis), len(parts))
    return (*parts[:place], *rest, *parts[place + 1 :])


def _key_dims(key: tuple, shape: tuple) -> list[int | None]:
    """Which dimension each of the result's is, if it is all of one."""
    dims: list[int | None] = []
    d = 0
    for each in key:
        if each is None:
            dims.append(None)
            continue
        if isinstance(each, slice):
            dims.append(d if each.indices(shape[d]) == (0, shape[d], 1) else None)
        d += 1
    return dims


def _local_key(each: Any, dim: int | None) -> Any:
    return slice(None) if dim is not None else each


@rule("getitem")
def _getitem(x: Sharded, key: Any) -> Any:
    plain = _plain_key(key, x.shape)
    if plain is None:
        return unknown(lambda a, k: a[k], (x, key if type(key) is tuple else (key,)), {}, "indexing by arrays")
    dims = _key_dims(plain, x.shape)
    static = tuple([(s.start, s.stop, s.step) if isinstance(s, slice) else s for s in plain])
    for d, each in zip([k for k in range(len(plain)) if plain[k] is not None], x.shape, strict=False):
        if not isinstance(plain[d], slice) and not -each <= plain[d] < each:
            raise IndexError(f"index {plain[d]} is out of bounds for axis with size {each}")
    # of a dimension in parts, all of it is all that is here
    kept = iter(dims)
    here = tuple([k if isinstance(k, (int, numpy.integer)) else _local_key(k, next(kept)) for k in plain])
    return apply(("getitem", static), [x], lambda: mapped(dims), lambda parts, plan: parts[0][(*here, ...)], view=True)


@rule("setitem")
def _setitem(x: Sharded, key: Any, value: Any) -> None:
    check_current(x)
    plain = _plain_key(key, x.shape)
    if plain is not None:
        if all(isinstance(k, slice) and k == slice(None) for k in plain):
            store(x, value)
            return
        dims = _key_dims(plain, x.shape)
        if all(code is None or code in dims for code in x.spec.codes):
            target = _getitem(x, plain)  # in the same memory
            store(target, value)
            return
    if not x.spec.whole and plain is None:
        unknown(_written, (x, key, value), {}, "writing to places given by arrays")
        return
    whole = placed(x, x.spec.mesh, (None,) * len(x.spec.codes))
    whole = whole if whole is x.local else whole.copy()
    whole[_whole_key(key)] = _whole(value)
    if whole is not x.local:
        store(x, whole)
    else:
        count_write(x)


def _written(x: Any, key: Any, value: Any) -> None:
    x[key] = value


WRITING.add(_written)


@rule(np.copyto)
def _copyto(dst: Any, src: Any, casting: str = "same_kind", where: Any = True) -> None:
    if where is not True:
        src = np.where(where, src, dst)
    _into(dst, src)
