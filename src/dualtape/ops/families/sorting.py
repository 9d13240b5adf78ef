"""Order statistics: sorting, the largest, the k-th, medians and quantiles.

NaN counts as larger than every number. Sorting is stable, so of equal elements the first comes first; where PyTorch
picks one of several that tie by accident of its algorithm, the first is taken here.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..._tensor.tensor import Tensor, wrap
from ...arrays import Batched, zeros
from ...arrays.kernels.basics import (
    FEW,
    add_reduce,
    all_samples,
    asarray_like,
    full_like_shape,
    on_host,
    small_grid,
    take_along,
)
from ..dispatch import FUNCTIONS
from ..formulas import normal_dim
from ..samples import apart, edge, exact, ints, mask, sample
from ..table import GENERAL, REDUCTION, TABLE, composite, op
from .reductions import LONG, SELECTING, need_elements, numpy_names, pick, place, refuse_complex, ties, total


def _order(x: Any, d: int, descending: bool) -> Any:
    """Return the indices that sort ``x`` along an axis."""
    if type(x) is np.ndarray:  # the same by methods and slices
        if not descending:
            return x.argsort(d, "stable")
        back = (slice(None),) * d + (slice(None, None, -1),)
        return x.shape[d] - 1 - x[back].argsort(d, "stable")[back]
    if not descending:
        return np.argsort(x, axis=d, kind="stable")
    # read backwards both before and after, so that those that tie stay in their order
    return x.shape[d] - 1 - np.flip(np.argsort(np.flip(x, d), axis=d, kind="stable"), d)


def _sort(x: Any, dim: int = -1, descending: bool = False, stable: bool | None = None) -> tuple:
    refuse_complex("sort", x, RuntimeError)
    d = normal_dim(dim, x.ndim)
    if x.ndim == 0:
        return x.copy(), zeros((), LONG, x)
    indices = _order(x, d, descending)
    return take_along(x, indices, d), indices


def _put_back(g_values: Any, x_shape: tuple, dim: int, indices: Any) -> Any:
    """Return the gradient of picked entries for NumPy's arrays; of few entries in a single call."""
    if not x_shape or indices.size > FEW:
        return place(g_values, x_shape, dim, indices, True)
    out = np.zeros(x_shape, g_values.dtype)
    out[small_grid(normal_dim(dim, len(x_shape)), indices)] = g_values
    return out


# The row of an op that gives entries along a dimension, each at most once, and their indices.
_PERMUTED: dict[str, Any] = dict(
    outputs=("values", "indices"), complex=False,
    vjp=dict(x=lambda g_values, x_shape, dim, indices: place(g_values, x_shape, dim, indices, True)),
    numpy_vjp=dict(x=lambda g_values, x_shape, dim, indices: _put_back(g_values, x_shape, dim, indices)),
    jvp=dict(x=lambda t, dim, indices: (pick(t, dim, indices, True), None)),
)  # fmt: skip
_SORTED = (
    sample(apart(3, 4)), sample(apart(3, 4), 0), sample(apart(2, 3, 4), 1, True), sample(apart()),
    sample(apart(0, 3), 0),
    sample(apart(3, 4, layout="F"), 0, True), edge(exact([3.0, 1.0, 3.0, 2.0, 3.0])),
    edge(exact([3.0, 1.0, 3.0, 2.0, 3.0]), 0, True),
    edge(exact([1.0, np.nan, -np.inf, np.inf, np.nan])),
    edge(exact([1.0, np.nan, -np.inf, np.inf, np.nan]), -1, True), edge(ints(3, 4, high=9)), edge(mask(5)),
)  # fmt: skip

sort = op("sort", _sort, kind=GENERAL, whole=True, node=("SortBackward0", "SortBackward1"), variant=lambda x, dim, descending,
    stable: int(stable is not None),
   samples=(*_SORTED, sample(apart(3, 4), dim=0, stable=True)), **_PERMUTED,
   doc="""The elements in order along ``dim``, and where they came from.

   >>> import dualtape as dt
   >>> values, indices = dt.sort(dt.tensor([3.0, 1.0, 2.0])); values, indices
   (tensor([1., 2., 3.]), tensor([1, 2, 0]))
   """)  # fmt: skip
op("argsort", lambda x, dim=-1, descending=False, stable=False: _sort(x, dim, descending)[1], kind=GENERAL, whole=True,
    constants=("x",), complex=False,
   samples=tuple(edge(*s.args, **s.kwargs) for s in _SORTED),
   doc="""The indices that sort the elements along ``dim``.

   >>> import dualtape as dt
   >>> dt.argsort(dt.tensor([3.0, 1.0, 2.0]))
   tensor([1, 2, 0])
   """)  # fmt: skip


@composite("msort", samples=(sample(apart(3, 4)), sample(apart(5))), complex=False)
def msort(input: Any) -> Any:
    """The elements in order along the first dimension.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.msort(dt.tensor([3.0, 1.0, 2.0]))
    tensor([1., 2., 3.])
    """
    return sort(input, 0)[0]


_MANY = 10_000  # elements from which looking for candidates pays


def _candidates(x: np.ndarray, k: int) -> tuple | None:
    """Return, for each row, the few elements that can be among its ``k`` largest, in their order, and their indices;
    None if they are not few.

    Rows are dealt out into stacks: the k-th largest of the stacks' tops is a bound that at least k elements reach,
    and in most rows not many more.
    """
    rows, n = x.shape
    height = max(1, n // (8 * k))
    width = n // height
    tops = np.maximum.reduce(x[:, : height * width].reshape(rows, height, width), 1)
    if x.dtype.kind == "f" and np.isnan(np.maximum(tops.max(), x[:, height * width :].max(initial=-np.inf))):
        return None
    bound = np.partition(tops, width - k, axis=1)[:, width - k, None]
    where = np.flatnonzero(x >= bound)
    row, place = np.divmod(where, n)
    counts = np.bincount(row, minlength=rows)
    most = int(counts.max())
    if most * 4 > n:
        return None
    column = np.arange(where.size) - np.repeat(np.cumsum(counts) - counts, counts)
    values = np.full((rows, most), -np.inf if x.dtype.kind == "f" else np.iinfo(x.dtype).min, x.dtype)
    indices = np.zeros((rows, most), LONG)
    values[row, column] = x.reshape(-1)[where]
    indices[row, column] = place
    return values, indices


def _topk(x: Any, k: int, dim: int = -1, largest: bool = True, sorted: bool = True) -> tuple:
    refuse_complex("topk", x, RuntimeError)
    d = normal_dim(dim, x.ndim)
    if x.dtype.kind == "b":
        raise RuntimeError("topk does not support bool dtypes: convert the tensor with .to(dualtape.uint8)")
    if not 0 <= k <= (x.shape[d] if x.ndim else 1):
        raise RuntimeError(
            f"topk: selected index k out of range: k is {k}, dimension {d} has size {x.shape[d] if x.ndim else 1}"
        )
    if x.ndim == 0:
        return x.copy(), zeros((), LONG, x)
    n = x.shape[d]
    whole = (slice(None),) * d
    if k * 8 > n or k == 0:
        indices = _order(x, d, largest)[(*whole, slice(0, k))].copy()
    elif (
        largest
        and type(x) is np.ndarray
        and x.size > _MANY
        and d == x.ndim - 1
        and x.flags.c_contiguous
        and (few := _candidates(x.reshape(-1, n), k))
    ):
        values, part = few
        order = _order(values, 1, True)[:, :k]
        shape = (*x.shape[:-1], k)
        return np.take_along_axis(values, order, 1).reshape(shape), np.take_along_axis(part, order, 1).reshape(shape)
    else:
        split = n - k if largest else k - 1
        part = np.sort(np.argpartition(x, split, axis=d)[(*whole, slice(n - k, n) if largest else slice(0, k))], axis=d)
        indices = np.take_along_axis(part, _order(np.take_along_axis(x, part, axis=d), d, largest), axis=d)
    return take_along(x, indices, d), indices


op("topk", _topk, kind=GENERAL, whole=True, **_PERMUTED,
   samples=(sample(apart(3, 4), 2), sample(apart(3, 4), 3, 0), sample(apart(2, 3, 4), 2, -2, False),
       sample(apart(3, 4), 0), sample(apart(), 1),
            sample(apart(3, 4), 2, largest=False), sample(apart(2, 40), 3), sample(apart(40, 2), 3, 0, False),
            edge(exact([1.0, np.nan, 5.0]), 2), edge(exact([1.0, np.nan, 5.0]), 2, largest=False)),
   doc="""The ``k`` largest elements along ``dim``, or the smallest, in order, and their indices.

   >>> import dualtape as dt
   >>> dt.topk(dt.tensor([3.0, 1.0, 2.0]), 2).values
   tensor([3., 2.])
   """)  # fmt: skip

# --- one of the order -----------------------------------------------------------------------------


def _at(x: Any, d: int, keepdim: bool, indices: Any) -> tuple:
    """Return the entries at ``indices``, whose axis ``d`` has size 1, with or without that axis."""
    values = take_along(x, indices, d)
    if keepdim:
        return values, indices
    shape = (*x.shape[:d], *x.shape[d + 1 :])
    return values.reshape(shape), indices.reshape(shape)


def _nth(order: Any, d: int, n: int) -> Any:
    """Return the ``n``-th entries along an axis, which is kept with size 1."""
    return order[(slice(None),) * d + (slice(n, n + 1),)].copy()


def _kthvalue(x: Any, k: int, dim: int = -1, keepdim: bool = False) -> tuple:
    refuse_complex("kthvalue", x)
    if x.dtype.kind == "b":
        raise NotImplementedError("kthvalue: not implemented for bool; convert the tensor with .to(dualtape.uint8)")
    d = normal_dim(dim, x.ndim)
    if not 1 <= k <= (x.shape[d] if x.ndim else 1):
        raise RuntimeError(
            f"kthvalue(): selected number k out of range for dimension {d}: k is {k}, the size"
            f" {x.shape[d] if x.ndim else 1}"
        )
    if x.ndim == 0:
        return x.copy(), zeros((), LONG, x)
    return _at(x, d, keepdim, _nth(_order(x, d, False), d, k - 1))


op("kthvalue", _kthvalue, kind=REDUCTION, **SELECTING,
   samples=(sample(apart(3, 4), 2), sample(apart(3, 4), 1, 0, True), sample(apart(2, 3, 4), 3, -2), sample(apart(), 1),
       edge(exact([1.0, np.nan, 2.0]), 3),
            edge(ints(5, high=99), 2)),
   doc="""The ``k``-th smallest element along ``dim``, and its index.

   >>> import dualtape as dt
   >>> dt.kthvalue(dt.tensor([3.0, 1.0, 2.0]), 2).values
   tensor(2.)
   """)  # fmt: skip


def _middle_all(name: str, x: Any) -> Any:
    refuse_complex(name, x)
    if x.dtype.kind == "b":
        raise NotImplementedError(f"{name}: not implemented for bool; convert the tensor with .to(dualtape.uint8)")
    flat = x.reshape(-1)
    if type(x) is Batched and flat.size:
        return _middle(name, flat, 0, False)[0]
    if x.dtype.kind == "f" and (not flat.size or np.isnan(flat).any()):
        numbers = flat[~np.isnan(flat)]
        if numbers.size == 0 or (name == "median" and numbers.size < flat.size):
            return full_like_shape((), np.nan, x.dtype, x)
        flat = numbers
    elif not flat.size:
        raise RuntimeError(f"{name}: an empty tensor of integers has no median")
    k = (flat.size - 1) // 2
    return np.partition(flat, k)[k]


def _middle(name: str, x: Any, dim: int, keepdim: bool) -> tuple:
    refuse_complex(name, x)
    d = normal_dim(dim, x.ndim)
    need_elements(name, x, d)
    if x.ndim == 0:
        return x.copy(), zeros((), LONG, x)
    order = _order(x, d, False)
    # a sum that is a number has no NaN in it
    if x.dtype.kind != "f" or type(x) is np.ndarray and not np.isnan(np.add.reduce(x, None)):
        return _at(x, d, keepdim, _nth(order, d, (x.shape[d] - 1) // 2))
    odd = np.isnan(x)
    numbers = x.shape[d] - add_reduce(odd, d, LONG, None, True)
    indices = np.take_along_axis(order, np.maximum(numbers - 1, 0) // 2, axis=d)
    if name == "median":
        indices = np.where(numbers < x.shape[d], np.argmax(odd, axis=d, keepdims=True), indices)
    return _at(x, d, keepdim, indices)


def _median(name: str, what: str) -> tuple:
    camel = name.capitalize()
    whole = op(f"{name}_all", lambda x, dim=None, keepdim=False: _middle_all(name, x), kind=REDUCTION, public=False,
        method=False, node=f"{camel}Backward0",
       vjp=dict(x=lambda g, x, out: g * ties(x, out, None, False, True)),
       jvp=dict(x=lambda t, x, out: total(t * ties(x, out, None, False, True), None, False)),
       samples=(sample(apart(5)), sample(apart(3, 4)), sample(apart()), edge(apart(0)),
           edge(exact([3.0, 1.0, 3.0, 3.0])),
                edge(exact([3.0, np.nan, 1.0, np.nan]))),
       complex=False, torch_name=name, doc=f"The median of all elements{what}.")  # fmt: skip
    along = op(f"{name}_dim", lambda x, dim, keepdim=False: _middle(name, x, dim, keepdim), kind=REDUCTION,
        public=False, method=False,
       node=f"{camel}Backward1", torch_name=name, **SELECTING,
       samples=(sample(apart(3, 4), 1), sample(apart(3, 4), -2, True), sample(apart(2, 3, 4), 1), sample(apart(), 0),
           sample(apart(0, 3), 1),
                edge(exact([[1.0, np.nan, 2.0], [3.0, 1.0, 2.0]]), 1), edge(exact([np.nan, np.nan]), 0)),
       doc=f"The median along a dimension{what}, and its index.")  # fmt: skip
    TABLE[f"{name}_dim"].result_type.__name__ = name  # type: ignore[union-attr]
    return whole, along


_median_all, _median_dim = _median("median", "")
_nanmedian_all, _nanmedian_dim = _median("nanmedian", " that are numbers")
_MEDIANS = (
    sample(apart(3, 4)),
    sample(apart(3, 4), 1),
    sample(apart(3, 4), dim=0, keepdim=True),
    edge(ints(3, 4, high=9)),
)


@composite("median", samples=_MEDIANS, complex=False)
@numpy_names
def median(input: Any, dim: int | None = None, keepdim: bool = False, **out: Any) -> Any:
    """The middle element in order, the lower of two; along ``dim`` also its index. NaN if there is one.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.median(dt.tensor([3.0, 1.0, 2.0]))
    tensor(2.)
    """
    return _median_all(input, **out) if dim is None else _median_dim(input, dim, keepdim, **out)


@composite("nanmedian", samples=_MEDIANS, complex=False)
@numpy_names
def nanmedian(input: Any, dim: int | None = None, keepdim: bool = False, **out: Any) -> Any:
    """The median of what is a number; along ``dim`` also its index.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.nanmedian(dt.tensor([3.0, float("nan"), 2.0, 1.0]))
    tensor(2.)
    """
    return _nanmedian_all(input, **out) if dim is None else _nanmedian_dim(input, dim, keepdim, **out)


def _most_common(row: Any) -> int:
    if row.size <= FEW:
        often: dict = {}
        last: dict = {}
        for number, value in enumerate(row.tolist()):
            often[value] = often.get(value, 0) + 1
            last[value] = number
        most = max(often.values())
        common = [value for value, times in often.items() if times == most and value == value]  # every NaN is another
        return last[min(common)] if common else 0
    values, counts = np.unique(row, return_counts=True, equal_nan=False)
    places = np.flatnonzero(row == values[np.argmax(counts)])
    return int(places[-1]) if places.size else 0


def _mode(x: Any, dim: int = -1, keepdim: bool = False) -> tuple:
    refuse_complex("mode", x)
    d = normal_dim(dim, x.ndim)
    need_elements("mode", x, d)
    if x.ndim == 0:
        return x.copy(), zeros((), LONG, x)
    rows = x if d == x.ndim - 1 else np.moveaxis(x, d, -1)
    found = on_host(lambda lines: np.array([_most_common(line) for line in lines], LONG), rows.reshape(-1, x.shape[d]))
    return _at(x, d, keepdim, found.reshape((*x.shape[:d], 1, *x.shape[d + 1 :])))


op("mode", _mode, kind=REDUCTION, **SELECTING,
   samples=(edge(exact([3.0, 1.0, 3.0, 2.0, 3.0])), edge(exact([[1.0, 2.0, 0.0], [2.0, 2.0, -1.0]])),
       edge(exact([[1.0, 2.0, 0.0], [2.0, 2.0, -1.0]]), 0, True),
            edge(apart()), edge(exact([1.0, np.nan, 2.0])), edge(ints(3, 5, high=3))),
   doc="""The most common element along ``dim``, the smallest of several, and its last index.

   >>> import dualtape as dt
   >>> dt.mode(dt.tensor([3, 1, 3, 2])).values
   tensor(3)
   """)  # fmt: skip

# --- quantiles ------------------------------------------------------------------------------------


def _quantile(name: str, input: Any, q: Any, dim: int | None, keepdim: bool, interpolation: str) -> Any:
    dtype = input._array.dtype
    if dtype not in (np.float32, np.float64):
        raise RuntimeError(f"{name}() input tensor must be either float or double dtype, got {input.dtype!r}")
    if interpolation not in ("linear", "lower", "higher", "nearest", "midpoint"):
        raise RuntimeError(
            f"{name}() interpolation must be one of linear, lower, higher, midpoint or nearest, but got {interpolation}"
        )
    if not isinstance(q, Tensor):
        if not 0 <= q <= 1:
            raise RuntimeError(f"{name}() q must be in the range [0, 1] but got {q}")
        q = wrap(asarray_like(q, input._array, dtype))
    elif q._array.dtype != dtype:
        raise RuntimeError(f"{name}() q tensor must be same dtype as the input tensor: {q.dtype!r} and {input.dtype!r}")
    if q.ndim > 1:
        raise RuntimeError(f"{name}() q must be a scalar or 1D tensor, got {q.ndim} dimensions")
    if q.numel() and not ((all_samples(q._array) >= 0) & (all_samples(q._array) <= 1)).all():
        raise RuntimeError(f"{name}() q values must be in the range [0, 1]")
    if input.numel() == 0:
        raise RuntimeError(f"{name}() input tensor must be non-empty")
    d = 0 if dim is None else normal_dim(dim, input.ndim)
    shape = list(input._array.shape)
    kept = [1] * len(shape) if dim is None else [1 if i == d else n for i, n in enumerate(shape)]
    values = (
        input.reshape(-1) if dim is None or not shape else input if d == len(shape) - 1 else input.movedim(d, -1)
    ).sort(-1)[0]
    if name == "nanquantile":
        last = np.maximum((~np.isnan(values._array)).sum(-1, keepdims=True) - 1, 0).astype(dtype)
        rank = q.reshape(-1) * wrap(last)
    else:
        odd = np.isnan(values._array[..., -1:])  # in order, NaNs are last
        last = np.full_like(odd, values._array.shape[-1] - 1, dtype)
        rank = q.reshape(-1) * wrap(last)
        if all_samples(odd).any():
            rank = FUNCTIONS["where"](wrap(odd), wrap(last), rank)
    low = np.floor(rank._array)
    at = {"higher": np.ceil(rank._array), "nearest": np.rint(rank._array)}.get(interpolation, low)
    out = values.gather(-1, wrap(at.astype(LONG)))
    if interpolation in ("linear", "midpoint"):
        above = values.gather(-1, wrap(np.ceil(rank._array).astype(LONG)))
        out = FUNCTIONS["lerp"](
            out, above, rank - wrap(low) if interpolation == "linear" else wrap(np.full_like(low, 0.5))
        )
    if q.ndim:
        out = out.movedim(-1, 0)
    whole = kept if keepdim else [n for i, n in enumerate(shape) if i != d] if dim is not None else []
    return out.reshape([*([] if q.ndim == 0 else [q.numel()]), *whole])


_QUANTILES = (
    sample(apart(3, 4), 0.3), sample(apart(3, 4), 0.3, 1), sample(apart(3, 4), exact([0.1, 0.65, 0.9]), dim=0),
    sample(apart(2, 3, 4), exact([0.1, 0.65]), dim=1, keepdim=True), sample(apart(), 0.3),
    sample(apart(3, 4), 0.3, keepdim=True),
    *(edge(apart(3, 4), 0.3, 1, interpolation=i) for i in ("lower", "higher", "nearest", "midpoint")),
    edge(exact([[1.0, np.nan, 3.0, 2.0], [4.0, 1.0, 2.0, 3.0]]), 0.3, 1),
)  # fmt: skip


@composite("quantile", samples=_QUANTILES, complex=False)
def quantile(
    input: Any, q: Any, dim: int | None = None, keepdim: bool = False, *, interpolation: str = "linear"
) -> Any:
    """The ``q``-th quantiles along ``dim``; several ``q`` make the first dimension of the result.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.quantile(dt.tensor([0.0, 1.0, 2.0, 3.0]), dt.tensor([0.25, 0.5]))
    tensor([0.7500, 1.5000])
    """
    return _quantile("quantile", input, q, dim, keepdim, interpolation)


@composite("nanquantile", samples=_QUANTILES, complex=False)
def nanquantile(
    input: Any, q: Any, dim: int | None = None, keepdim: bool = False, *, interpolation: str = "linear"
) -> Any:
    """The ``q``-th quantiles along ``dim`` of what is a number.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.nanquantile(dt.tensor([0.0, float("nan"), 2.0]), 0.5)
    tensor(1.)
    """
    return _quantile("nanquantile", input, q, dim, keepdim, interpolation)
