"""Entries combined at an index: added, multiplied, averaged, or the largest or smallest wins.

Several entries may have one index; the entry that was there takes part or not.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..._tensor.tensor import wrap
from ...arrays.kernels.basics import asarray_like, full_like_shape, host, on_host
from ..dispatch import FUNCTIONS
from ..formulas import normal_dim, use, zeros_like_shape
from ..samples import apart, edge, exact, exact_index, ours, real, sample
from ..table import GENERAL, LINEAR, composite, named, op
from .gathering import at, fitted, line, padded, vector
from .reductions import others
from .scattering import check_src, corner, same_kind

# --- combined -------------------------------------------------------------------------------------

_COMBINED = {"sum": np.add, "mean": np.add, "prod": np.multiply, "amax": np.maximum, "amin": np.minimum}


def _neutral(reduce: str, dtype: np.dtype) -> Any:
    """Return the identity element of a reduction."""
    if reduce in ("sum", "mean"):
        return 0
    if reduce == "prod":
        return 1
    if dtype.kind == "f":
        return -np.inf if reduce == "amax" else np.inf
    if dtype.kind == "b":
        return reduce == "amin"
    return np.iinfo(dtype).min if reduce == "amax" else np.iinfo(dtype).max


def _combine(name: str, x: Any, dim: int, index: Any, src: Any, reduce: str, include_self: bool) -> Any:
    d = fitted(name, x, dim, index)
    same_kind(name, x, src)
    if not index.size:
        return x.copy()
    if x.ndim < 2 and not (x.ndim and index.ndim and src.ndim):
        return _combine(name, line(x), 0, line(index), line(src), reduce, include_self).reshape(x.shape)
    check_src(name, index, src)
    if reduce in ("amax", "amin") and x.dtype.kind == "c":
        raise NotImplementedError(f"{name}: {reduce} is not implemented for complex numbers: they have no order")
    if type(x) is not np.ndarray:
        return on_host(lambda x, i, src: _combine(name, x, dim, i, src, reduce, include_self), x, index, src)
    places, src = at(d, index), corner(src, index.shape)
    out = x.copy()
    if not include_self:
        out[places] = _neutral(reduce, x.dtype)
    _COMBINED[reduce].at(out, places, src)
    if reduce == "mean":
        counts = np.full(x.shape, include_self, np.int64)
        np.add.at(counts, places, 1)
        divide = np.true_divide if x.dtype.kind in "fc" else np.floor_divide
        out = divide(out, np.maximum(counts, 1)).astype(x.dtype)
    return out


def _check(name: str, reduce: Any, known: Any) -> None:
    if reduce not in known:
        raise RuntimeError(f"{name}(): reduce argument must be one of {', '.join(known)}, got {reduce!r}")


def _scatter_reduce(x: Any, dim: int, index: Any, src: Any, reduce: str, include_self: bool = True) -> Any:
    _check("scatter_reduce", reduce, _COMBINED)
    return _combine("scatter_reduce", x, dim, index, src, reduce, include_self)


def _counts(x: Any, dim: int, index: Any, src: Any, include_self: bool, own: Any = 1, each: Any = 1) -> Any:
    """Return how many entries went to each position, or of those how many ``own`` and ``each`` mark."""
    start = np.zeros_like(x) + own
    if not include_self:
        start = use("scatter_set")(start, dim, index, 0)
    return use("scatter_add")(start, dim, index, np.zeros_like(src) + each)


def _read(src: Any, index: Any) -> Any:
    return src if tuple(src.shape) == tuple(index.shape) else src[tuple([slice(0, n) for n in index.shape])]


def _share(g: Any, x: Any, dim: int, index: Any, src: Any, out: Any, reduce: str, include_self: bool) -> tuple:
    """Return the gradients of x and of the entries read of src, except for products: they are shared by the entries
    that made the result.
    """
    if reduce == "sum":
        mine, share = g, g
    elif reduce == "mean":
        mine = share = g / np.maximum(_counts(g, dim, index, src, include_self), 1)
    else:
        own, each = x == out, src == use("gather")(out, dim, index)
        counts = _counts(g, dim, index, src, include_self, own, each)
        # Of a sum that is NaN there are no shares: its gradient is NaN.
        share = g / counts
        return _untouched(own * share, dim, index, include_self), each * use("gather")(share, dim, index)
    return _untouched(mine, dim, index, include_self), use("gather")(share, dim, index)


def _untouched(g: Any, dim: int, index: Any, include_self: bool) -> Any:
    return g if include_self else use("scatter_set")(g, dim, index, 0)


def _layer_places(shape: tuple, dim: int, index: Any) -> tuple:
    """Return indices that give each entry a position of its own: along a new first axis, in order of occurrence."""
    grid = np.broadcast_arrays(*at(normal_dim(dim, len(shape)), index))
    places = np.ravel_multi_index(tuple(grid), shape).reshape(-1)
    order = np.argsort(places, kind="stable")
    first = np.searchsorted(places[order], places[order])  # where those that share a place begin
    rank = np.empty_like(places)
    rank[order] = np.arange(places.size) - first
    return (rank.reshape(index.shape), *grid)


def _layers(x: Any, shape: tuple, dim: int, index: Any) -> Any:
    if type(x) is not np.ndarray:
        return on_host(lambda x, index: _layers(x, shape, dim, index), x, index)
    key = _layer_places(shape, dim, index)
    out = np.zeros((1 + key[0].max(initial=-1), *shape), x.dtype)
    out[key] = x
    return out


def _from_layers(x: Any, dim: int, index: Any) -> Any:
    if type(x) is not np.ndarray:
        return on_host(lambda x, index: _from_layers(x, dim, index), x, index)
    return x[_layer_places(x.shape[1:], dim, index)]


_LAYERED = exact_index([[0, 1, 1], [2, 1, 0]])
op("scatter_layers", _layers, kind=GENERAL, whole=True, public=False, method=False, constants=("index",), jvp=LINEAR,
   torch_name="-", vjp=dict(x=lambda g, dim, index: use("scatter_from_layers")(g, dim, index)),
   samples=(sample(real(2, 3), (3, 3), 1, _LAYERED),),
   doc="Entries at an index along a dimension, those that share a place one above the other; zeros elsewhere.")  # fmt: skip
op("scatter_from_layers", _from_layers, kind=GENERAL, whole=True, public=False, method=False, constants=("index",), jvp=LINEAR,
   torch_name="-", vjp=dict(x=lambda g, x_shape, dim, index: use("scatter_layers")(g, x_shape[1:], dim, index)),
   samples=(sample(real(2, 3, 3), 1, _LAYERED),), doc="The entries of scatter_layers, taken back.")  # fmt: skip


def _product_gradients(g: Any, x: Any, dim: int, index: Any, src: Any, include_self: bool) -> tuple:
    """Return the gradients of products with as many layers of factors as the most that share a position, padded with
    ones: needed where products are differentiated twice.
    """
    if not x.ndim or not index.ndim or not src.ndim:
        g, x, places, src = g.reshape((1,)), x.reshape((1,)), index.reshape(-1), src.reshape(-1)
        mine, theirs = _product_gradients(g, x, 0, places, src, include_self)
        return mine.reshape(()), theirs.reshape(tuple(index.shape))
    shape = tuple(x.shape)
    layers = use("scatter_layers")
    rest = layers(src, shape, dim, index) + (1 - layers(np.ones_like(src), shape, dim, index))
    own = x if include_self else use("scatter_set")(x, dim, index, 1)
    change = g * others(np.concatenate([own[None], rest], axis=0), 0).conj()
    return _untouched(change[0], dim, index, include_self), use("scatter_from_layers")(change[1:], dim, index)


def _gradients(g: Any, x: Any, dim: int, index: Any, src: Any, out: Any, reduce: str, include_self: bool) -> tuple:
    if reduce == "prod":
        return _product_gradients(g, x, dim, index, _read(src, index), include_self)
    return _share(g, x, dim, index, _read(src, index), out, reduce, include_self)


def _quick_gradients(
    g: Any, x: Any, dim: int, index: Any, src: Any, out: Any, reduce: str, include_self: bool
) -> tuple:
    """Return the same where it is not differentiated again: a product without one of its factors by a division, zeros
    counted separately.
    """
    if reduce != "prod":
        return _share(g, x, dim, index, _read(src, index), out, reduce, include_self)
    src = _read(src, index)
    safe, mine = np.where(src == 0, 1, src), np.where(x == 0, 1, x)
    product = use("scatter_reduce")(mine, dim, index, safe, "prod", include_self)
    none = _counts(x, dim, index, src, include_self, x == 0, src == 0)
    own = np.where(none == (x == 0), product / mine, 0)
    each = np.where(use("gather")(none, dim, index) == (src == 0), use("gather")(product, dim, index) / safe, 0)
    theirs = use("gather")(g, dim, index) * each.conj()
    if include_self:
        return g * own.conj(), theirs
    return use("scatter_set")(g, dim, index, 0), theirs


def _declare(name: str, forward: Any, source: str, places: Any, doc: str, samples: tuple) -> None:
    """Declare a row of either kind; ``places`` makes the index of each entry of ``source`` from the op's arguments."""
    names = ("g", "x", "dim", "index", source, "out", "reduce", "include_self")

    def formula(gradients: Any, which: int) -> Any:
        def either(g: Any, x: Any, dim: int, index: Any, src: Any, out: Any, reduce: str, include_self: bool) -> Any:
            where = places(index, src, x, dim)
            if 0 in where.shape:
                return zeros_like_shape(tuple(src.shape), g) if which else g
            found = gradients(g, x, dim, where, src, out, reduce, include_self)[which]
            return padded(found, src.shape) if which else found

        return named(either, names)

    op(name, forward, kind=GENERAL, inplace=True, keywords=("include_self",), constants=("index",), samples=samples,
       complex=None,
       vjp={"x": formula(_gradients, 0), source: formula(_gradients, 1)},
       numpy_vjp={"x": formula(_quick_gradients, 0), source: formula(_quick_gradients, 1)}, doc=doc)  # fmt: skip


_KINDS = [(reduce, include) for reduce in _COMBINED for include in (True, False)]
_SOME = exact_index([[0, 1, 1], [2, 1, 0]])
_SCATTERED = tuple([sample(apart(3, 3), 0, _SOME, apart(2, 3), kind, include_self=own) for kind, own in _KINDS])
_ZEROS = exact([0.0, 2.0, 3.0, 0.0]), exact([0.0, 5.0, 0.0, 2.0])
_declare(
    "scatter_reduce",
    _scatter_reduce,
    "src",
    lambda index, src, x, dim: index,
    """Values combined with what is at an index along a dimension: ``reduce`` is "sum", "prod", "mean", "amax" or
   "amin"; with ``include_self=False`` what was there does not count.

   >>> import dualtape as dt
   >>> dt.scatter_reduce(dt.ones(2), 0, dt.tensor([0, 0, 1]), dt.tensor([5.0, 7.0, 2.0]), "amax")
   tensor([7., 2.])
   """,
    (
        *_SCATTERED,
        ours(apart(3, 3), 1, exact_index([[0], [0]]), apart(2, 3), "prod"),
        sample(real(), 0, exact_index([0, 0]), real(2), "prod"),
        sample(real(3), 0, exact_index([]), real(0), "prod"),
        *[
            sample(_ZEROS[0], 0, exact_index([0, 0, 1, 1]), _ZEROS[1], "prod", include_self=own)
            for own in (True, False)
        ],
        edge(exact([1.0, 2.0, np.nan]), 0, exact_index([0, 1, 1]), exact([1.0, 2.0, 2.0]), "amax"),
        edge(exact([1.0, 3.0]), 0, exact_index([0, 1, 1]), exact([np.nan, 2.0, 2.0]), "amin", include_self=False),
    ),
)


def _index_reduce(x: Any, dim: int, index: Any, source: Any, reduce: str, include_self: bool = True) -> Any:
    _check("index_reduce", reduce, ("prod", "mean", "amax", "amin"))
    d, index = normal_dim(dim, x.ndim), vector("index_reduce", index)
    wanted = (*x.shape[:d], index.size, *x.shape[d + 1 :])
    if source.shape != wanted and (x.ndim or source.ndim):
        raise RuntimeError(f"index_reduce(): source must have the shape {list(wanted)}, got {list(source.shape)}")
    return _combine("index_reduce", x, d, _spread(index, source, x, d), source, reduce, include_self)


def _spread(index: Any, source: Any, x: Any, dim: int) -> Any:
    """Return an index of whole slices as that of each of their entries."""
    if not source.ndim:
        return index.reshape(())
    d = normal_dim(dim, source.ndim)
    return np.broadcast_to(index.reshape((-1,) + (1,) * (source.ndim - d - 1)), source.shape)


_declare(
    "index_reduce",
    _index_reduce,
    "source",
    _spread,
    """Slices combined with those at indices along a dimension: ``reduce`` is "prod", "mean", "amax" or "amin"; with
   ``include_self=False`` what was there does not count.

   >>> import dualtape as dt
   >>> dt.index_reduce(dt.ones(2), 0, dt.tensor([0, 0]), dt.tensor([5.0, 7.0]), "prod")
   tensor([35.,  1.])
   """,
    (
        *[
            sample(apart(3, 3), 0, exact_index([2, 0, 0, 1]), apart(4, 3), kind, include_self=own)
            for kind, own in _KINDS
            if kind != "sum"
        ],
        sample(real(2, 3), 1, exact_index([1]), real(2, 1), "prod"),
        sample(_ZEROS[0], 0, exact_index([0, 0, 1, 1]), _ZEROS[1], "prod"),
    ),
)


_BY_LENGTH = {"sum": "sum", "mean": "sum", "prod": "prod", "max": "amax", "min": "amin", "amax": "amax", "amin": "amin"}
_WITH_INITIAL = {"sum": "add", "prod": "mul", "amax": "clamp_min", "amin": "clamp_max"}


@composite("segment_reduce", method=False, complex=False, samples=(
    *[sample(apart(5, 2), kind, lengths=exact_index([2, 3])) for kind in ("sum", "mean", "prod", "max", "min")],
    sample(apart(2, 4), "sum", lengths=exact_index([[1, 3], [4, 0]]), axis=1),
    sample(apart(4), "max", offsets=exact_index([0, 1, 4])),
    edge(exact([1.0, 3.0, 3.0, 4.0]), "max", lengths=exact_index([3, 0, 1])),
    *[edge(exact([1.0, 0.0, 0.0, 4.0]), kind, lengths=exact_index([3, 0, 1]), initial=0.5)
      for kind in ("sum", "mean", "prod", "max", "min")],
))  # fmt: skip
def segment_reduce(
    data: Any, reduce: str, *, lengths: Any = None, indices: Any = None, offsets: Any = None, axis: int = 0,
    unsafe: bool = False, initial: float | None = None,
) -> Any:  # fmt: skip
    """Runs of entries along ``axis`` combined: ``reduce`` is "sum", "mean", "prod", "max" or "min".

    Parameters
    ----------
    lengths, offsets : Tensor
        How long each run is, or where it begins (and, last, where the last one ends); one of them. ``axis`` is their
        last dimension.
    unsafe : bool
        Do not check that the runs cover the axis; what is behind them is left out.
    initial : float, optional
        What each run is combined with; the result of a run that is empty.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.segment_reduce(dt.tensor([1.0, 2.0, 5.0]), "max", lengths=dt.tensor([2, 1]))
    tensor([2., 5.])
    """
    if indices is not None:
        raise RuntimeError("segment_reduce(): indices based reduction is not supported: give lengths or offsets")
    if (lengths is None) == (offsets is None):
        raise RuntimeError("segment_reduce(): Either lengths or offsets must be defined, and only one of them")
    if reduce not in _BY_LENGTH:
        raise RuntimeError(f"segment_reduce(): reduce must be one of {', '.join(_BY_LENGTH)}, got {reduce!r}")
    if data._array.dtype.kind != "f":
        raise NotImplementedError(f"segment_reduce is not implemented for {data.dtype!r}: convert it with .to(...)")
    sizes = host(lengths._array) if offsets is None else np.diff(host(offsets._array), axis=-1)
    axis = normal_dim(axis, data.ndim)
    if axis != sizes.ndim - 1:
        raise RuntimeError(f"segment_reduce(): Expected axis to be the last dimension of lengths but got {axis}.")
    shape, count = data._array.shape, sizes.shape[-1]
    if not unsafe and ((sizes < 0).any() or (sizes.sum(-1) != shape[axis]).any()):
        raise RuntimeError(
            "segment_reduce(): Expected all rows of lengths along axis to sum to the size of data there, and none to be"
            " negative, or unsafe=True"
        )
    ends = sizes.cumsum(-1).reshape(*shape[:axis], 1, count)
    of = (np.arange(shape[axis])[:, None] >= ends).sum(-1)  # which run each entry is in; the last one is behind them
    places = np.broadcast_to(of.reshape(shape[: axis + 1] + (1,) * (data.ndim - axis - 1)), shape)
    kind = _BY_LENGTH[reduce]
    whole = (*shape[:axis], count + 1, *shape[axis + 1 :])
    start = wrap(full_like_shape(whole, _neutral(kind, data._array.dtype), data._array.dtype, data._array))
    out = FUNCTIONS["scatter_reduce"](
        start, axis, wrap(asarray_like(places, data._array)), data, kind, include_self=kind in ("sum", "prod")
    )
    out = FUNCTIONS["narrow"](out, axis, 0, count).clone()
    if initial is not None:
        out = FUNCTIONS[_WITH_INITIAL[kind]](out, initial)
    if reduce == "mean":
        divisor = sizes.reshape(*sizes.shape, *(1,) * (data.ndim - axis - 1))
        out = out / wrap(asarray_like(divisor if initial is None else np.maximum(divisor, 1), data._array)).to(
            out.dtype
        )
    return out
