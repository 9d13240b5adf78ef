"""How dependences propagate through NumPy's functions: one rule for each kind, and a safe one for the rest.

A function that moves elements moves their sets; an elementwise one unites the sets that meet; a reduction unites over
the axes, a running one over the elements before; a contraction unites along the axes summed over, and a constant zero
among its factors propagates nothing. With a function without a rule every element of its results depends on everything
that its arguments depend on: too much, never too little.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, reduce
from typing import Any

import numpy as np

from .dependence import CONSTANT, VARYING, Sets
from .dependent import Dependent, asarray, constant, current, make_dependent, plain, sets_of, varies
from .products import (
    always_zero,
    by_signature,
    conservative,
    dot,
    einsum,
    inner,
    outer,
    placed,
    plain_keywords,
    spread_all,
    tensordot,
    vdot,
)

# ufuncs whose derivative is zero wherever it exists
_STEPS = {np.sign, np.floor, np.ceil, np.rint, np.trunc, np.floor_divide, np.heaviside, np.spacing}


# --- elementwise ----------------------------------------------------------------------------------


def ufunc_rule(ufunc: np.ufunc, method: str, inputs: tuple, kwargs: dict) -> Any:
    """Apply a ufunc, or one of its methods."""
    if method == "reduce":
        axis = kwargs.get("axis", 0)
        values = ufunc.reduce(*plain(inputs), **plain_keywords(kwargs, "out"))
        return placed(make_dependent(values, _over(inputs[0], axis, kwargs.get("keepdims", False))), kwargs.get("out"))
    if method == "accumulate":
        axis = kwargs.get("axis", inputs[1] if len(inputs) > 1 else 0)
        return placed(
            make_dependent(ufunc.accumulate(*plain(inputs), **plain_keywords(kwargs, "out")), _before(inputs[0], axis)),
            kwargs.get("out"),
        )
    if method == "at":
        return _at(ufunc, *inputs)
    if method == "outer":
        a, b = (asarray(x) for x in inputs)
        return ufunc(a.reshape(*a.shape, *(1,) * b.ndim), b, **kwargs)
    if method != "__call__":
        return conservative(getattr(ufunc, method), inputs, kwargs)
    out = kwargs.pop("out", None)
    sets = _ufunc_sets(ufunc, inputs)
    if "where" in kwargs:
        if out is None or not isinstance(out[0], Dependent):
            raise TypeError(f"{ufunc.__name__}: where= needs out= of the same kind of array")
        sets = current().pairs(sets, out[0].sets)
    if out is not None:
        for target in out:
            _check_target(target, sets)
        ufunc(*plain(inputs), out=plain(out), **plain_keywords(kwargs))
        for target in out:
            if isinstance(target, Dependent):
                target.sets[...] = np.minimum(sets, VARYING) if target.dtype.kind in "biu" else sets
        return out[0] if len(out) == 1 else out
    results = ufunc(*plain(inputs), **plain_keywords(kwargs))
    return (
        tuple(make_dependent(r, sets) for r in results) if isinstance(results, tuple) else make_dependent(results, sets)
    )


def _ufunc_sets(ufunc: np.ufunc, inputs: tuple) -> Sets:
    if ufunc.signature is not None:
        return by_signature(ufunc.signature, inputs)
    if ufunc in _STEPS and not any(np.asarray(plain(x)).dtype.kind == "c" for x in inputs):
        return np.minimum(united(*inputs), VARYING)
    # A comparison's dependencies do not matter, only whether its result may change.
    if _compares(ufunc):
        return reduce(np.maximum, (np.minimum(sets_of(x), VARYING) for x in inputs))
    if ufunc is np.multiply:
        a, b = inputs
        return current().pairs(
            np.where(always_zero(b), CONSTANT, sets_of(a)), np.where(always_zero(a), CONSTANT, sets_of(b))
        )
    if ufunc is np.power or ufunc is np.float_power:
        return united(made_where(~always_zero(inputs[1]), inputs[0]), inputs[1])
    return united(*inputs)


@cache
def _compares(ufunc: np.ufunc) -> bool:
    """Return whether the results for real numbers are truth values."""
    return any(kind.endswith("->?") and "d" in kind for kind in ufunc.types)


def made_where(kept: np.ndarray, x: Any) -> Any:
    """Return the sets of ``x`` where they are kept, as an operand."""
    sets = np.where(kept, sets_of(x), CONSTANT)
    return Dependent(np.empty(sets.shape), sets, current()) if sets.any() else np.empty(sets.shape)


def united(*operands: Any) -> Sets:
    """Return the union of operands broadcast together."""
    found = [sets_of(x) for x in operands if isinstance(x, Dependent)]
    shape = np.broadcast_shapes(*(np.shape(plain(x)) for x in operands))
    return np.broadcast_to(reduce(current().pairs, found), shape) if found else np.zeros(shape, np.int64)


def _check_target(target: Any, sets: Sets) -> None:
    """Raise before values that depend on the inputs are written where the dependence would be lost."""
    if not isinstance(target, Dependent) and target.dtype.kind in "fc" and sets.any():
        asarray(0.0).__array__()  # raises, with what to do


def _at(ufunc: np.ufunc, x: Any, index: Any, *operand: Any) -> None:
    """Apply the unbuffered ``ufunc.at``: each position unites with all values added to it."""
    key = plain(index)
    if not isinstance(x, Dependent):
        for o in operand:
            _check_target(x, sets_of(o))
        ufunc.at(x, key, *plain(operand))
        return
    ufunc.at(x.values, key, *plain(operand))
    if not operand or not (brought := sets_of(operand[0])).any():
        return
    places = np.arange(x.size).reshape(x.shape)[key]
    brought = np.broadcast_to(brought, places.shape).ravel()
    targets, local = np.unique(places.ravel(), return_inverse=True)
    before = x.sets.reshape(-1)[targets]  # a copy: the layout of x may be any
    united = current().unite(
        np.concatenate([np.arange(targets.size), local]), np.concatenate([before, brought]), targets.size
    )
    where = np.unravel_index(targets, x.shape)
    x.sets[where] = np.minimum(united, VARYING) if x.dtype.kind in "biu" else united


def _where(condition: Any, *choices: Any) -> Any:
    if not choices:
        return conservative(np.where, (condition,), {})
    a, b = choices
    sets = np.where(plain(condition), sets_of(a), sets_of(b))
    varies = sets_of(condition) != CONSTANT
    if varies.any():  # at another point it may choose the other
        sets = np.where(varies, np.maximum(current().pairs(sets_of(a), sets_of(b)), VARYING), sets)
    return make_dependent(np.where(plain(condition), plain(a), plain(b)), sets)


def _clip(x: Any, a_min: Any = None, a_max: Any = None, out: Any = None, **kwargs: Any) -> Any:
    bounds = [kwargs.pop("min", a_min), kwargs.pop("max", a_max)]
    values = np.clip(plain(x), *plain(bounds), **kwargs)
    return placed(make_dependent(values, united(x, *(b for b in bounds if b is not None))), out)


def _elementwise(function: Callable, steps: bool = False) -> Callable:
    """Return the rule of a function of its first argument, elementwise."""

    def rule(x: Any, *args: Any, **kwargs: Any) -> Any:
        values = function(plain(x), *plain(args), **plain_keywords(kwargs, "out"))
        sets = np.minimum(sets_of(x), VARYING) if steps and values.dtype.kind != "c" else sets_of(x)
        return placed(make_dependent(np.array(values, order="K"), sets), kwargs.get("out"))

    return rule


# --- what moves elements --------------------------------------------------------------------------


def _moving(function: Callable) -> Callable:
    """Return the rule of a function that moves the elements of its first argument: a view of the values is a view of
    the sets.
    """

    def rule(x: Any, *args: Any, **kwargs: Any) -> Any:
        if not isinstance(x, Dependent):
            x = asarray(x)
        sets = np.maximum(x.sets, VARYING) if varies(args) or varies(tuple(kwargs.values())) else x.sets
        args, kwargs = plain(args), plain_keywords(kwargs)
        return _both(function(x.values, *args, **kwargs), function(sets, *args, **kwargs))

    return rule


def _each(function: Callable) -> Callable:
    """Return the same rule for a function of any number of arrays."""

    def rule(*arrays: Any) -> Any:
        moved = tuple(_moving(function)(x) for x in arrays)
        return moved[0] if len(moved) == 1 else moved

    return rule


def _both(values: Any, sets: Any) -> Any:
    if isinstance(values, (list, tuple)):
        return type(values)(_both(v, s) for v, s in zip(values, sets, strict=True))
    return Dependent(np.asarray(values), np.asarray(sets), current())


def _joining(function: Callable) -> Callable:
    """Return the rule of a function that joins arrays."""

    def rule(arrays: Any, *args: Any, **kwargs: Any) -> Any:
        arrays = list(arrays)
        out = kwargs.pop("out", None)
        values = function(plain(arrays), *args, **kwargs)
        kwargs.pop("dtype", None)
        return placed(make_dependent(values, function([sets_of(a) for a in arrays], *args, **kwargs)), out)

    return rule


def _append(x: Any, values: Any, axis: Any = None) -> Any:
    parts: list[Any] = [asarray(x), asarray(values)]
    return np.concatenate([np.ravel(p) for p in parts] if axis is None else parts, 0 if axis is None else axis)


def _pad(x: Any, pad_width: Any, mode: Any = "constant", **kwargs: Any) -> Any:
    if mode not in ("constant", "edge", "reflect", "symmetric", "wrap") or kwargs.get("reflect_type", "even") != "even":
        return conservative(np.pad, (x, pad_width, mode), kwargs)
    if isinstance(kwargs.get("constant_values"), Dependent):
        return conservative(np.pad, (x, pad_width, mode), kwargs)
    zeros = {"constant_values": CONSTANT} if "constant_values" in kwargs else {}
    return make_dependent(np.pad(plain(x), pad_width, mode, **kwargs), np.pad(sets_of(x), pad_width, mode, **zeros))


def _sorted(function: Callable, places: Callable) -> Callable:
    def rule(x: Any, *args: Any, axis: Any = -1, **kwargs: Any) -> Any:
        if function is np.partition and len(args) > 1 or function is np.sort and args:
            args, axis = args[:-1], args[-1]
        if axis is None:
            x, axis = np.ravel(x), 0
        order = places(plain(x), *plain(args), axis=axis, **kwargs)
        values = np.take_along_axis(plain(x), order, axis)
        return make_dependent(values, _tied(values, np.take_along_axis(sets_of(x), order, axis), axis))

    return rule


def _tied(values: np.ndarray, sets: Sets, axis: int) -> Sets:
    """Return sets along an axis, those of equal values united, since any of them may be chosen for any other."""
    lanes = np.moveaxis(values, axis, -1).reshape(-1, values.shape[axis] if values.ndim else 1)
    order = np.argsort(lanes, -1, kind="stable")
    lined = np.take_along_axis(lanes, order, -1)
    new = np.ones(lined.shape, np.bool_)
    new[:, 1:] = lined[:, 1:] != lined[:, :-1]
    if new.all():
        return sets
    groups = np.empty(lined.shape, np.int64)
    np.put_along_axis(groups, order, (np.cumsum(new.ravel()) - 1).reshape(lined.shape), -1)
    there = np.moveaxis(sets, axis, -1)
    united = current().unite(groups.ravel(), there.ravel(), int(new.sum()))[groups]
    return np.moveaxis(united.reshape(there.shape), -1, axis)


def _copyto(target: Any, source: Any, casting: Any = "same_kind", where: Any = True) -> None:
    if not isinstance(target, Dependent):
        _check_target(target, sets_of(source))
        np.copyto(target, plain(source), casting, where=plain(where))
        return
    np.copyto(target.values, plain(source), casting, where=plain(where))
    sets = np.minimum(sets_of(source), VARYING) if target.dtype.kind in "biu" else sets_of(source)
    np.copyto(target.sets, sets, where=plain(where))


def _put_along_axis(target: Any, indices: Any, values: Any, axis: Any) -> None:
    np.put_along_axis(target.values, plain(indices), plain(values), axis)
    np.put_along_axis(target.sets, plain(indices), sets_of(values), axis)


def _full_like(
    x: Any, fill_value: Any, dtype: Any = None, order: Any = "K", subok: bool = True, shape: Any = None, **ignored: Any
) -> Any:
    return make_dependent(np.full_like(plain(x), plain(fill_value), dtype, order, shape=shape), sets_of(fill_value))


def strided(x: Dependent, shape: tuple, strides: tuple) -> Dependent:
    """Apply ``as_strided`` to both memories."""
    table = current()
    values = np.lib.stride_tricks.as_strided(x.values, shape, strides)
    size = x.values.itemsize
    if tuple(s * 8 for s in x.values.strides) == tuple(s * size for s in x.sets.strides) and all(
        s % size == 0 for s in strides
    ):
        return Dependent(
            values, np.lib.stride_tricks.as_strided(x.sets, shape, tuple(s // size * 8 for s in strides)), table
        )
    # another type's memory (the two parts of complex numbers): each place belongs to the element at or before it
    at = _addresses(x.shape, x.strides).ravel()
    order = np.argsort(at, kind="stable")
    places = np.searchsorted(at[order], _addresses(tuple(shape), tuple(strides)), side="right") - 1
    sets = x.sets.ravel()[order][places] if x.size else np.zeros(shape, np.int64)
    sets.flags.writeable = False  # no longer the memory of x
    return Dependent(values, sets, table)


def _addresses(shape: tuple, strides: tuple) -> np.ndarray:
    total = np.zeros((1,) * len(shape), np.int64)
    for d, (n, step) in enumerate(zip(shape, strides, strict=True)):
        total = total + (np.arange(n) * step).reshape((-1,) + (1,) * (len(shape) - d - 1))
    return np.broadcast_to(total, shape)


def reinterpreted(x: Dependent, dtype: np.dtype) -> Dependent:
    """Return the same memory as another dtype."""
    values = x.values.view(dtype)
    if values.shape == x.shape:
        sets = x.sets if dtype.kind in "fc" and x.dtype.kind in "fc" else np.minimum(x.sets, VARYING)
        return Dependent(values, sets, current())
    ratio = x.dtype.itemsize // dtype.itemsize
    if ratio:
        sets = np.repeat(x.sets, ratio, -1)
    else:
        sets = current().along(x.sets.reshape(*values.shape, -1), (values.ndim,))
    if dtype.kind not in "fc":
        sets = np.minimum(sets, VARYING)
    sets.flags.writeable = False
    return Dependent(values, sets, current())


# --- reductions -----------------------------------------------------------------------------------


def _over(x: Any, axis: Any, keepdims: bool) -> Sets:
    sets = sets_of(x)
    axes = tuple(range(sets.ndim)) if axis is None else tuple(np.atleast_1d(axis))
    return current().along(
        sets, tuple(sorted(int(d) % max(sets.ndim, 1) for d in axes)) if sets.ndim else (), bool(keepdims)
    )


def _before(x: Any, axis: Any) -> Sets:
    sets = sets_of(x)
    return current().running(sets.ravel() if axis is None else sets, 0 if axis is None else axis)


def _reduction(function: Callable, place: int = 1) -> Callable:
    """Return the rule of a reduction whose axis is its argument number ``place``."""

    def rule(x: Any, *args: Any, **kwargs: Any) -> Any:
        axis = kwargs.get("axis", args[place - 1] if len(args) >= place else None)
        others = [*args[: place - 1], *(kwargs.get(key) for key in ("initial", "where", "weights", "q"))]
        if any(isinstance(value, Dependent) for value in others) or (
            len(args) >= place + 2 and args[place + 1] is not None
        ):
            return conservative(function, (x, *args), kwargs)
        values = function(plain(x), *args, **plain_keywords(kwargs, "out"))
        keepdims = kwargs.get("keepdims", False)
        if np.shape(values) != np.shape(_over_shape(np.shape(plain(x)), axis, keepdims)):
            return conservative(function, (x, *args), kwargs)
        return placed(make_dependent(values, _over(x, axis, keepdims is True)), kwargs.get("out"))

    return rule


def _over_shape(shape: tuple, axis: Any, keepdims: Any) -> Any:
    """Return an array of the shape that a reduction leaves."""
    axes = axis if axis is None or isinstance(axis, int) else tuple(axis)
    return np.sum(np.broadcast_to(np.int8(0), shape), axes, keepdims=keepdims is True)


def _running(function: Callable) -> Callable:
    def rule(x: Any, axis: Any = None, dtype: Any = None, out: Any = None) -> Any:
        return placed(make_dependent(function(plain(x), axis, dtype), _before(x, axis)), out)

    return rule


def _diff(x: Any, n: int = 1, axis: int = -1, prepend: Any = None, append: Any = None) -> Any:
    parts = [
        np.broadcast_to(p, (*x.shape[:axis], 1, *x.shape[axis:][1:])) if np.ndim(p) == 0 else p
        for p in (prepend, append)
        if p is not None
    ]
    if parts:
        x = np.concatenate([*parts[: prepend is not None], x, *parts[prepend is not None :]], axis)
    for _ in range(n):
        x = np.moveaxis(x, axis, 0)
        x = np.moveaxis(np.not_equal(x[1:], x[:-1]) if x.dtype.kind == "b" else np.subtract(x[1:], x[:-1]), 0, axis)
    return x


def _trace(x: Any, offset: int = 0, axis1: int = 0, axis2: int = 1, dtype: Any = None, out: Any = None) -> Any:
    return np.sum(np.diagonal(x, offset, axis1, axis2), -1, dtype, out)


def _bincount(x: Any, weights: Any = None, minlength: int = 0) -> Any:
    values = np.bincount(plain(x), plain(weights), minlength)
    if not isinstance(weights, Dependent):
        return make_dependent(values, np.full(values.shape, VARYING if sets_of(x).any() else CONSTANT))
    return make_dependent(values, current().unite(plain(x), sets_of(weights).ravel(), values.size))


# --- matrices in batches, and everything else -----------------------------------------------------


def _by_matrix(function: Callable) -> Callable:
    """Return the rule of a function of whole matrices: each result depends on its own matrices."""

    def rule(*args: Any, **kwargs: Any) -> Any:
        results = function(*plain(args), **plain_keywords(kwargs))
        batch = np.shape(plain(args[0]))[:-2]
        per: Sets | None = None
        for x in args:
            if isinstance(x, Dependent):
                core = (-2, -1) if x.ndim >= len(batch) + 2 or not batch else (-1,)
                own = _over(x, core[-x.ndim :] if x.ndim else (), False)
                if own.shape != batch:
                    return conservative(function, args, kwargs)
                per = own if per is None else current().pairs(per, own)
        per = np.zeros(batch, np.int64) if per is None else per

        def spread(result: Any) -> Any:
            if isinstance(result, tuple):
                parts = [spread(r) for r in result]
                return type(result)(*parts) if hasattr(result, "_fields") else tuple(parts)
            result = np.asarray(result)
            if result.shape[: len(batch)] != batch:
                return spread_all(result, args, kwargs)
            return make_dependent(result, per.reshape((*batch, *(1,) * (result.ndim - len(batch)))))

        return spread(results)

    return rule


_CREATING = {np.zeros, np.ones, np.empty, np.eye, np.identity, np.arange}
_TAKEN_AS_THEY_ARE = {
    np.shape,
    np.ndim,
    np.size,
    np.result_type,
    np.may_share_memory,
    np.shares_memory,
    np.iscomplexobj,
    np.isrealobj,
    np.array_equal,
    np.allclose,
    np.einsum_path,
    np.can_cast,
    np.min_scalar_type,
}


def function_rule(function: Callable, args: tuple, kwargs: dict) -> Any:
    """Apply a NumPy function by its rule."""
    rule = RULES.get(function)
    if rule is not None:
        return rule(*args, **kwargs)
    if function in _TAKEN_AS_THEY_ARE:
        return function(*plain(args), **plain_keywords(kwargs))
    if function in _CREATING:
        return constant(function(*plain(args), **plain_keywords(kwargs)))
    return conservative(function, args, kwargs)


RULES: dict[Callable, Callable] = {
    np.where: _where,
    np.clip: _clip,
    np.append: _append,
    np.pad: _pad,
    np.copyto: _copyto,
    np.put_along_axis: _put_along_axis,
    np.full: lambda shape, value, dtype=None, **ignored: make_dependent(
        np.full(shape, plain(value), dtype), sets_of(value)
    ),
    np.asarray: lambda x, dtype=None, **ignored: asarray(x, dtype),
    np.array: lambda x, dtype=None, **ignored: asarray(x, dtype).copy("K"),
    np.full_like: _full_like,
    np.sort: _sorted(np.sort, np.argsort),
    np.partition: _sorted(np.partition, np.argpartition),
    np.zeros_like: lambda x, *args, **kwargs: constant(np.zeros_like(plain(x), *args, **kwargs)),
    np.ones_like: lambda x, *args, **kwargs: constant(np.ones_like(plain(x), *args, **kwargs)),
    np.empty_like: lambda x, *args, **kwargs: constant(np.empty_like(plain(x), *args, **kwargs)),
    **{f: _each(f) for f in (np.atleast_1d, np.atleast_2d, np.atleast_3d)},
    np.diff: _diff,
    np.trace: _trace,
    np.bincount: _bincount,
    np.real: lambda x: asarray(x).real,
    np.imag: lambda x: asarray(x).imag,
    np.copy: lambda x, order="K", **ignored: asarray(x).copy(order),
    np.count_nonzero: lambda *args, **kwargs: conservative(
        lambda *a, **k: np.asarray(np.count_nonzero(*a, **k)), args, kwargs
    ),
    np.dot: dot,
    np.tensordot: tensordot,
    np.inner: inner,
    np.outer: outer,
    np.vdot: vdot,
    np.einsum: einsum,
    **{f: _elementwise(f, steps=True) for f in (np.round, np.around, np.fix)},
    **{f: _elementwise(f) for f in (np.nan_to_num, np.sinc, np.i0, np.angle)},
    **{
        f: _moving(f)
        for f in (
            np.reshape,
            np.ravel,
            np.transpose,
            np.swapaxes,
            np.moveaxis,
            np.rollaxis,
            np.expand_dims,
            np.squeeze,
            np.broadcast_to,
            np.flip,
            np.fliplr,
            np.flipud,
            np.rot90,
            np.roll,
            np.repeat,
            np.tile,
            np.diagonal,
            np.diag,
            np.diagflat,
            np.tril,
            np.triu,
            np.take,
            np.take_along_axis,
            np.delete,
            np.resize,
            np.split,
            np.array_split,
            np.hsplit,
            np.vsplit,
            np.dsplit,
            np.compress,
        )
    },
    **{f: _joining(f) for f in (np.concatenate, np.stack, np.hstack, np.vstack, np.dstack, np.column_stack)},
    **{
        f: _reduction(f)
        for f in (
            np.sum,
            np.prod,
            np.max,
            np.min,
            np.amax,
            np.amin,
            np.mean,
            np.std,
            np.var,
            np.any,
            np.all,
            np.median,
            np.ptp,
            np.average,
            np.nansum,
            np.nanprod,
            np.nanmax,
            np.nanmin,
            np.nanmean,
            np.nanstd,
            np.nanvar,
            np.nanmedian,
        )
    },
    np.linalg.norm: _reduction(np.linalg.norm, 2),
    **{f: _running(f) for f in (np.cumsum, np.cumprod, np.nancumsum, np.nancumprod)},
    **{
        f: _by_matrix(f)
        for f in (
            np.linalg.inv,
            np.linalg.solve,
            np.linalg.cholesky,
            np.linalg.det,
            np.linalg.slogdet,
            np.linalg.eigh,
            np.linalg.eigvalsh,
            np.linalg.eig,
            np.linalg.eigvals,
            np.linalg.svd,
            np.linalg.svdvals,
            np.linalg.qr,
            np.linalg.pinv,
        )
    },
}
