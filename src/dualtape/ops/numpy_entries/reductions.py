"""NumPy's statistics, cumulative sums and differences on tensors."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..._tensor.tensor import Tensor, raw, wrap
from ..dispatch import FUNCTIONS
from .registry import axes_of, entry, floating, op, plain, tensor
from .vocabulary import _all, _cumprod, _cumsum, _max, _mean, _min, _prod, _sum

# --- spread ---------------------------------------------------------------------------------------


@entry(np.var)
def _var(
    a: Any,
    axis: Any = None,
    dtype: Any = None,
    out: None = None,
    ddof: float = 0,
    keepdims: bool = False,
    *,
    where: Any = None,
    mean: Any = None,
    correction: float | None = None,
) -> Any:
    x = floating(a) if dtype is None else tensor(a).to(dtype)
    ddof = ddof if correction is None else correction
    if where is None and mean is None and axis != ():  # which PyTorch takes for all axes
        return FUNCTIONS["var"](x, axes_of(axis, x.ndim), keepdim=keepdims, correction=ddof)
    centre = _mean(x, axis, keepdims=True, where=where) if mean is None else mean
    square = FUNCTIONS["square"](FUNCTIONS["abs"](x - centre))
    kept = np.broadcast_to(True if where is None else raw(where), x._array.shape)
    count = _sum(kept, axis, np.int64, None, keepdims)
    return _sum(square, axis, None, None, keepdims, None, where) / (count - ddof)


@entry(np.std)
def _std(
    a: Any,
    axis: Any = None,
    dtype: Any = None,
    out: None = None,
    ddof: float = 0,
    keepdims: bool = False,
    *,
    where: Any = None,
    mean: Any = None,
    correction: float | None = None,
) -> Any:
    ddof = ddof if correction is None else correction
    if where is None and mean is None and axis != ():
        x = floating(a) if dtype is None else tensor(a).to(dtype)
        return FUNCTIONS["std"](x, axes_of(axis, x.ndim), keepdim=keepdims, correction=ddof)
    return FUNCTIONS["sqrt"](_var(a, axis, dtype, None, ddof, keepdims, where=where, mean=mean))


@entry(np.ptp)
def _ptp(a: Any, axis: Any = None, out: None = None, keepdims: bool = False) -> Any:
    return _max(a, axis, None, keepdims) - _min(a, axis, None, keepdims)


@entry(np.average)
def _average(a: Any, axis: Any = None, weights: Any = None, returned: bool = False, *, keepdims: bool = False) -> Any:
    x = floating(a)
    if weights is None:
        w = wrap(np.ones(x._array.shape, x._array.dtype))
    else:
        w = tensor(weights)
        if w._array.shape != x._array.shape:
            if axis is None:
                raise TypeError("Axis must be specified when shapes of a and weights differ.")
            axes = axes_of(axis, x.ndim)
            if w._array.shape != tuple(x._array.shape[one] for one in axes):
                raise ValueError("Shape of weights must be consistent with shape of a along specified axis.")
            order = sorted(range(len(axes)), key=axes.__getitem__)
            w = w.permute(*order).reshape([n if d in axes else 1 for d, n in enumerate(x._array.shape)])
            w = FUNCTIONS["broadcast_to"](w, x._array.shape)
    scale = _sum(w, axis, None, None, keepdims)
    if bool(_any_zero(scale)):
        raise ZeroDivisionError("Weights sum to zero, can't be normalized")
    result = _sum(x * w, axis, None, None, keepdims) / scale
    return (result, scale.to(result.dtype)) if returned else result


def _any_zero(x: Tensor) -> Any:
    return FUNCTIONS["any"](FUNCTIONS["eq"](x.detach(), 0))


def _observations(m: Any, y: Any, rowvar: bool, name: str) -> Tensor:
    """Return the variables of ``m`` and ``y`` as rows."""
    parts = []
    for one in (m, y):
        if one is None:
            continue
        x = floating(one)
        if x.ndim > 2:
            raise ValueError(f"np.{name}: {'m' if one is m else 'y'} has more than 2 dimensions")
        x = x.reshape(1, -1) if x.ndim < 2 else x
        parts.append(x if rowvar or x._array.shape[0] == 1 and one.ndim < 2 else x.T)
    return FUNCTIONS["cat"](parts, 0) if len(parts) > 1 else parts[0]


@entry(np.cov)
def _cov(
    m: Any,
    y: Any = None,
    rowvar: bool = True,
    bias: bool = False,
    ddof: int | None = None,
    fweights: Any = None,
    aweights: Any = None,
    *,
    dtype: Any = None,
) -> Any:
    rows = _observations(m, y, rowvar, "cov")
    correction = (0 if bias else 1) if ddof is None else ddof
    weights = {name: None if w is None else tensor(w) for name, w in (("fweights", fweights), ("aweights", aweights))}
    result = op("cov")(rows if dtype is None else rows.to(dtype), correction=correction, **weights)
    return result.squeeze()


@entry(np.corrcoef)
def _corrcoef(x: Any, y: Any = None, rowvar: bool = True, *, dtype: Any = None) -> Any:
    rows = _observations(x, y, rowvar, "corrcoef")
    return op("corrcoef")(rows if dtype is None else rows.to(dtype)).squeeze()


# --- order statistics -----------------------------------------------------------------------------


def _lined_up(a: Any, axis: Any) -> tuple[Tensor, tuple[int, ...]]:
    """Return ``a`` with the elements to reduce on one last axis, and the shape of the result if all axes are kept."""
    x = floating(a)
    axes = axes_of(axis, x.ndim)
    kept = tuple(1 if d in axes else n for d, n in enumerate(x._array.shape))
    rest = tuple(d for d in range(x.ndim) if d not in axes)
    return x.permute((*rest, *axes)).reshape((*(x._array.shape[d] for d in rest), -1)), kept


def _quantiles(name: str, a: Any, q: Any, axis: Any, method: str, keepdims: bool, ignore_nan: bool) -> Any:
    """Return quantiles by the NumPy method of this name; its result for 0, 1, 2 ...

    is the position between sorted elements.
    """
    if isinstance(q, Tensor) and q.requires_grad:
        raise RuntimeError(f"np.{name} has no derivative with respect to q here: give it as numbers")
    lined, kept = _lined_up(a, axis)
    if lined.is_complex():
        raise TypeError(f"np.{name}: a must be an array of real numbers")
    where = np.asarray(raw(q), np.float64)
    size = lined._array.shape[-1]
    if not size:
        raise IndexError(f"np.{name}: there is nothing to take a quantile of")
    ordered = FUNCTIONS["sort"](lined, -1)[0]  # NaN come last
    if ignore_nan:
        count = FUNCTIONS["isfinite"](lined) | FUNCTIONS["isinf"](lined)
        counts = np.asarray(raw(count)).sum(-1)
        known = {n: _position(where, n, method) for n in np.unique(counts).tolist()}
        position = np.stack([known[n] for n in counts.reshape(-1).tolist()], -1).reshape(where.shape + counts.shape)
    else:
        position = np.broadcast_to(
            _position(where, size, method).reshape(where.shape + (1,) * (lined.ndim - 1)),
            where.shape + lined._array.shape[:-1],
        )
    flat = position.reshape((-1, *lined._array.shape[:-1]))
    below = np.floor(flat).astype(np.int64)
    take = np.moveaxis(np.minimum(np.stack([below, below + 1]), size - 1), (0, 1), (-2, -1))
    both = FUNCTIONS["take_along_dim"](
        ordered, wrap(np.ascontiguousarray(take.reshape((*lined._array.shape[:-1], -1)))), -1
    ).reshape((*lined._array.shape[:-1], 2, -1))
    low, high = both.unbind(-2)
    weight = np.moveaxis(flat - below, 0, -1).astype(ordered._array.dtype)
    mixed = FUNCTIONS["where"](wrap(weight == 0), low, low + (high - low) * wrap(weight))
    if not ignore_nan:
        mixed = FUNCTIONS["where"](FUNCTIONS["isnan"](ordered[..., -1:]), np.nan, mixed)
    mixed = mixed.movedim(-1, 0)
    return mixed.reshape(where.shape + (kept if keepdims else lined._array.shape[:-1]))


def _position(q: np.ndarray, size: int, method: str) -> np.ndarray:
    return np.asarray(np.quantile(np.arange(max(size, 1), dtype=np.float64), q, method=method))  # type: ignore[call-overload]


def _quantile_entries() -> None:
    for ignore_nan in (False, True):
        for percent in (False, True):
            numpy = getattr(np, ("nan" if ignore_nan else "") + ("percentile" if percent else "quantile"))
            _quantile_entry(numpy, ignore_nan, 100 if percent else 1)


def _quantile_entry(numpy: Any, ignore_nan: bool, scale: int) -> None:
    @entry(numpy)
    def quantile(
        a: Any,
        q: Any,
        axis: Any = None,
        out: None = None,
        overwrite_input: bool = False,
        method: str = "linear",
        keepdims: bool = False,
        *,
        weights: Any = None,
    ) -> Any:
        plain(numpy.__name__, weights=(weights, None), overwrite_input=(overwrite_input, False))
        q = q if isinstance(q, Tensor) else np.asarray(q)
        return _quantiles(numpy.__name__, a, q / scale, axis, method, keepdims, ignore_nan)


_quantile_entries()


@entry(np.median)
def _median(a: Any, axis: Any = None, out: None = None, overwrite_input: bool = False, keepdims: bool = False) -> Any:
    plain("median", overwrite_input=(overwrite_input, False))
    return _quantiles("median", a, 0.5, axis, "linear", keepdims, False)


@entry(np.nanmedian)
def _nanmedian(
    a: Any, axis: Any = None, out: None = None, overwrite_input: bool = False, keepdims: bool = False
) -> Any:
    plain("nanmedian", overwrite_input=(overwrite_input, False))
    return _quantiles("nanmedian", a, 0.5, axis, "linear", keepdims, True)


# --- without NaN ----------------------------------------------------------------------------------


def _filled(a: Any, value: Any, where: Any = None) -> tuple[Tensor, Tensor]:
    """Return ``a`` with ``value`` in place of NaN and of elements that ``where`` leaves out, and the mask of those."""
    x = tensor(a)
    gone = FUNCTIONS["isnan"](x)
    if where is not None:
        gone = FUNCTIONS["logical_or"](gone, FUNCTIONS["logical_not"](tensor(where)))
    return FUNCTIONS["where"](gone, value, x), gone


@entry(np.nansum)
def _nansum(
    a: Any,
    axis: Any = None,
    dtype: Any = None,
    out: None = None,
    keepdims: bool = False,
    initial: Any = None,
    where: Any = None,
) -> Any:
    return _sum(_filled(a, 0, where)[0], axis, dtype, None, keepdims, initial)


@entry(np.nanprod)
def _nanprod(
    a: Any,
    axis: Any = None,
    dtype: Any = None,
    out: None = None,
    keepdims: bool = False,
    initial: Any = None,
    where: Any = None,
) -> Any:
    return _prod(_filled(a, 1, where)[0], axis, dtype, None, keepdims, initial)


@entry(np.nanmean)
def _nanmean(
    a: Any, axis: Any = None, dtype: Any = None, out: None = None, keepdims: bool = False, *, where: Any = None
) -> Any:
    filled, gone = _filled(floating(a), 0, where)
    return _sum(filled, axis, dtype, None, keepdims) / _sum(~gone, axis, np.int64, None, keepdims)


@entry(np.nanvar)
def _nanvar(
    a: Any,
    axis: Any = None,
    dtype: Any = None,
    out: None = None,
    ddof: float = 0,
    keepdims: bool = False,
    *,
    where: Any = None,
    mean: Any = None,
    correction: float | None = None,
) -> Any:
    x = floating(a)
    there = ~FUNCTIONS["isnan"](x)
    there = there if where is None else FUNCTIONS["logical_and"](there, tensor(where))
    ddof = ddof if correction is None else correction
    result = _var(_filled(x, 0)[0], axis, dtype, None, ddof, keepdims, where=there, mean=mean)
    count = _sum(there, axis, np.int64, None, keepdims)
    return FUNCTIONS["where"](count > ddof, result, np.nan)


@entry(np.nanstd)
def _nanstd(
    a: Any,
    axis: Any = None,
    dtype: Any = None,
    out: None = None,
    ddof: float = 0,
    keepdims: bool = False,
    *,
    where: Any = None,
    mean: Any = None,
    correction: float | None = None,
) -> Any:
    more = dict(where=where, mean=mean, correction=correction)
    return FUNCTIONS["sqrt"](_nanvar(a, axis, dtype, None, ddof, keepdims, **more))


def _nan_extreme(numpy: Any, extreme: Any, worst: float) -> None:
    @entry(numpy)
    def nanextreme(
        a: Any, axis: Any = None, out: None = None, keepdims: bool = False, initial: Any = None, where: Any = None
    ) -> Any:
        filled, gone = _filled(a, worst, where)
        result = extreme(filled, axis, None, keepdims, initial)
        return result if initial is not None else FUNCTIONS["where"](_all(gone, axis, None, keepdims), np.nan, result)


_nan_extreme(np.nanmax, _max, -np.inf)
_nan_extreme(np.nanmin, _min, np.inf)


def _nan_places(numpy: Any, name: str, worst: float) -> None:
    @entry(numpy)
    def nanplaces(a: Any, axis: Any = None, out: None = None, *, keepdims: bool = False) -> Any:
        filled, gone = _filled(a, worst)
        if bool(FUNCTIONS["any"](_all(gone, axis))):
            raise ValueError("All-NaN slice encountered")
        return FUNCTIONS[name](filled, axis, keepdims)


_nan_places(np.nanargmax, "argmax", -np.inf)
_nan_places(np.nanargmin, "argmin", np.inf)


@entry(np.nancumsum)
def _nancumsum(a: Any, axis: Any = None, dtype: Any = None, out: None = None) -> Any:
    return _cumsum(_filled(a, 0)[0], axis, dtype)


@entry(np.nancumprod)
def _nancumprod(a: Any, axis: Any = None, dtype: Any = None, out: None = None) -> Any:
    return _cumprod(_filled(a, 1)[0], axis, dtype)


# --- one after the other --------------------------------------------------------------------------


def _cumulative(numpy: Any, running: Any, neutral: int) -> None:
    @entry(numpy)
    def cumulative(x: Any, /, *, axis: int | None = None, dtype: Any = None, include_initial: bool = False) -> Any:
        if axis is None:
            if x.ndim > 1:
                raise ValueError("For arrays which have more than one dimension ``axis`` argument is required.")
            axis = 0
        result = running(tensor(x), axis, dtype)
        if not include_initial:
            return result
        first = FUNCTIONS["narrow"](result.detach(), axis, 0, 1) * 0 + neutral
        return FUNCTIONS["cat"]([first, result], axis)


_cumulative(getattr(np, "cumulative_sum", None), _cumsum, 0)
_cumulative(getattr(np, "cumulative_prod", None), _cumprod, 1)


@entry(np.diff)
def _diff(a: Any, n: int = 1, axis: int = -1, prepend: Any = None, append: Any = None) -> Any:
    x = tensor(a)
    ends = []
    for end in (prepend, append):
        if end is not None:
            end = tensor(end)
            if end.ndim == 0:
                end = FUNCTIONS["broadcast_to"](
                    end, tuple(1 if d == axis % x.ndim else m for d, m in enumerate(x.shape))
                )
        ends.append(end)
    return op("diff")(x, n, axis, *ends)


@entry(np.ediff1d)
def _ediff1d(ary: Any, to_end: Any = None, to_begin: Any = None) -> Any:
    steps = op("diff")(tensor(ary).reshape(-1))
    return FUNCTIONS["cat"](
        [tensor(part).reshape(-1).to(steps.dtype) for part in (to_begin, steps, to_end) if part is not None]
    )


@entry(np.trapezoid)
def _trapezoid(y: Any, x: Any = None, dx: Any = 1.0, axis: int = -1) -> Any:
    y = tensor(y)
    (axis,) = axes_of(axis, y.ndim)
    if x is None:
        width = dx
    else:
        x = tensor(x)
        width = op("diff")(x, 1, 0 if x.ndim == 1 else axis)
        if x.ndim == 1:
            width = width.reshape([-1 if d == axis else 1 for d in range(y.ndim)])
    size = y._array.shape[axis]
    left, right = (FUNCTIONS["narrow"](y, axis, start, max(size - 1, 0)) for start in (0, min(size, 1)))
    return _sum(width * (left + right) / 2.0, axis)


@entry(np.gradient)
def _gradient(f: Any, *varargs: Any, axis: Any = None, edge_order: int = 1) -> Any:
    x = floating(f)
    axes = axes_of(axis, x.ndim)
    if len(varargs) not in (0, 1, len(axes)):
        raise TypeError("invalid number of arguments")
    spacings = varargs if len(varargs) == len(axes) else (varargs or (1.0,)) * len(axes)
    slopes = tuple(_slope(x, spacing, one, edge_order) for spacing, one in zip(spacings, axes, strict=True))
    return slopes[0] if len(slopes) == 1 else slopes


def _slope(x: Tensor, spacing: Any, axis: int, edge_order: int) -> Tensor:
    """Return the gradient along one axis: central differences inside, one-sided ones at the ends."""
    size = x._array.shape[axis]
    if edge_order not in (1, 2):
        raise ValueError("'edge_order' greater than 2 not supported")
    if size < edge_order + 1:
        raise ValueError(
            "Shape of array too small to calculate a numerical gradient, at least (edge_order + 1) elements are"
            " required."
        )
    x = x.movedim(axis, -1)
    h = tensor(spacing)
    if h.ndim == 0:
        steps = FUNCTIONS["broadcast_to"](h.to(x.dtype), (size - 1,))
    elif h.ndim == 1 and h._array.shape[0] == size:
        steps = op("diff")(h.to(x.dtype))
    else:
        raise ValueError("when 1d, distances must match the length of the corresponding dimension")
    rise = op("diff")(x) / steps
    before, after = steps[:-1], steps[1:]
    inside = (rise[..., :-1] * after + rise[..., 1:] * before) / (before + after)
    first, last = rise[..., :1], rise[..., -1:]
    if edge_order == 2:
        first = first + (first - rise[..., 1:2]) * (steps[0] / (steps[0] + steps[1]))
        last = last + (last - rise[..., -2:-1]) * (steps[-1] / (steps[-1] + steps[-2]))
    return FUNCTIONS["cat"]([first, inside, last], -1).movedim(-1, axis)
