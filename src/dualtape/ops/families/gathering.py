"""Entries by index along one dimension: gather, scatter and related ops."""

from __future__ import annotations

from typing import Any

import numpy as np

from ... import errors
from ..._tensor import dtypes
from ..._tensor.tensor import Tensor, wrap
from ...arrays.kernels.basics import (
    FEW,
    add_at,
    added_along_rows,
    all_samples,
    arange_like,
    full_like_shape,
    small_grid,
    taken_along_rows,
)
from ...arrays.kernels.memory_order import copy_in_order
from ..dispatch import FUNCTIONS
from ..formulas import normal_dim, times, use, zeros_like_shape
from ..samples import exact_index, ints, ours, real, sample
from ..table import GENERAL, LINEAR, composite, op
from . import shapes
from .indexing import element, index_at

_long, _unsigned = np.dtype(np.int64), np.dtype(np.uint64)


def bounded(name: str, index: Any, n: int) -> None:
    if index.dtype.kind not in "iu":
        raise RuntimeError(f"{name}(): expected dtype int64 for index, got {index.dtype}: convert it with .long()")
    if type(index) is np.ndarray and index.dtype is _long and index.size:
        if 0 <= index.item(index.view(_unsigned).argmax()) < n:  # as unsigned numbers, negative ones are the largest
            return
    index = all_samples(index)
    if index.size and (index.min() < -n if name == "take" else index.min() < 0):
        raise errors.IndexOutOfBounds(f"{name}: index {int(index.min())} is out of bounds for a dimension of size {n}")
    if index.size and index.max() >= n:
        raise errors.IndexOutOfBounds(f"{name}: index {int(index.max())} is out of bounds for a dimension of size {n}")


def _grid(shape: tuple, dim: int, index: Any) -> tuple:
    """Return full index arrays that address ``index`` along ``dim`` and each element's own position along the
    others.
    """
    others = [arange_like(n, index).reshape((-1,) + (1,) * (len(shape) - i - 1)) for i, n in enumerate(shape)]
    return (*others[:dim], index, *others[dim + 1 :])


def at(dim: int, index: Any) -> tuple:
    """Return :func:`_grid` for any kind of index; for small NumPy indices it is cached."""
    return small_grid(dim, index) if type(index) is np.ndarray and index.size <= FEW else _grid(index.shape, dim, index)


def fitted(name: str, x: Any, dim: int, index: Any, src: Any = None) -> int:
    d = normal_dim(dim, x.ndim)
    if index.ndim != x.ndim and max(index.ndim, 1) != max(x.ndim, 1) and index.size:
        raise RuntimeError(
            f"{name}(): Index tensor must have the same number of dimensions as input tensor: {index.ndim} and {x.ndim}"
        )
    given, shape = index.shape, x.shape
    if len(given) == len(shape) and (given[:d] != shape[:d] or given[d + 1 :] != shape[d + 1 :]) and index.size:
        for i, (size, most) in enumerate(zip(given, shape, strict=True)):
            if size > most and i != d:
                raise RuntimeError(
                    f"{name}(): Size does not match at dimension {i} expected index {list(given)} to be no larger than"
                    " self"
                    f" {list(shape)} apart from dimension {d}"
                )
    bounded(name, index, x.shape[d] if x.ndim else 1)
    return d


def line(x: Any) -> Any:
    """Return a number as an array of length 1, as which it counts along a dimension."""
    return x if x.ndim else x.reshape(1)


def _memory(shape: tuple, dim: int, index: Any) -> Any:
    """Return the flat indices of the entries that ``index`` names along ``dim``: one list of integers is faster than
    one for each dimension.
    """
    places, step = index, 1
    for i in range(len(shape) - 1, -1, -1):
        if i == dim:
            places = places if step == 1 else places + index * (step - 1)
        elif index.shape[i] > 1:
            starts = np.arange(0, index.shape[i] * max(step, 1), max(step, 1))
            places = places + (starts if i == len(shape) - 1 else starts.reshape((-1,) + (1,) * (len(shape) - i - 1)))
        step *= shape[i]
    return places


def _by_rows(shape: tuple, dim: int, index: Any) -> bool:
    """Return whether ``index`` is a NumPy array with many entries for each row of an array of this shape."""
    return (
        dim == len(shape) - 1
        and index.size > _MANY
        and type(index) is np.ndarray
        and index.dtype is _long
        and index.shape[:-1] == shape[:-1]
    )


_MANY = 10_000  # numbers from which going by blocks of rows, or making a sparse matrix, pays


def _gather_back(g: Any, x_shape: tuple, dim: int, index: Any, sparse_grad: bool) -> Any:
    """Return the gradient of :func:`_gather` for NumPy's arrays; the forward checked the index."""
    if sparse_grad or not x_shape or type(index) is not np.ndarray:
        return _gather_gradient(g, x_shape, dim, index, sparse_grad)
    d = normal_dim(dim, len(x_shape))
    if g.dtype.char in "fdFD" and _by_rows(x_shape, d, index):
        return added_along_rows(index, g, x_shape[d])
    out = np.zeros(x_shape, g.dtype)
    if index.ndim and index.size <= FEW:
        np.add.at(out, small_grid(d, index), g)
        return out
    np.add.at(out.reshape(-1), _memory(x_shape, d, index).ravel(), g.ravel())
    return out


def _gather_gradient(g: Any, x_shape: tuple, dim: int, index: Any, sparse_grad: bool) -> Any:
    return (
        _sparse_gathered(g, x_shape, dim, index)
        if sparse_grad
        else use("scatter_add")(zeros_like_shape(x_shape, g), dim, index, g)
    )


def _gather(x: Any, dim: int, index: Any, sparse_grad: bool = False) -> Any:
    d = fitted("gather", x, dim, index)
    if not index.size:
        return zeros_like_shape(index.shape, x)
    if not x.ndim or not index.ndim:
        return _gather(line(x), 0, line(index)).reshape(index.shape)
    if type(x) is np.ndarray and index.size > FEW and x.flags.c_contiguous:
        if _by_rows(x.shape, d, index):
            return taken_along_rows(x, index)
        # there is nothing to wrap, and nothing to check again
        return x.reshape(-1).take(_memory(x.shape, d, index), mode="wrap")
    return x[at(d, index)]


def _scatter_add(x: Any, dim: int, index: Any, src: Any) -> Any:
    d = fitted("scatter_add", x, dim, index)
    same_kind("scatter_add", x, src)
    if not index.size:
        return x.copy()
    if x.ndim < 2 and not (x.ndim and index.ndim and src.ndim):
        return _scatter_add(line(x), 0, line(index), line(src)).reshape(x.shape)
    check_src("scatter_add", index, src)
    out = x.copy()
    add_at(out, at(d, index), corner(src, index.shape))
    return out


def same_kind(name: str, x: Any, source: Any) -> None:
    if source.dtype != x.dtype:
        raise RuntimeError(
            f"{name}(): self and source expected to have the same dtype, but got (self) {dtypes.of(x.dtype)!r} and"
            f" (source) {dtypes.of(source.dtype)!r}: convert one with .to(...)"
        )


def corner(src: Any, shape: tuple) -> Any:
    """Return the part of ``src`` that an index of ``shape`` reads."""
    return src if src.shape == shape else src[tuple([slice(0, n) for n in shape])]


def check_src(name: str, index: Any, src: Any) -> None:
    if src.ndim != index.ndim:
        raise RuntimeError(
            f"{name}(): Index tensor must have the same number of dimensions as src tensor: {index.ndim} and {src.ndim}"
        )
    if src.ndim and src.shape != index.shape and any(n > m for n, m in zip(index.shape, src.shape, strict=True)):
        raise RuntimeError(f"{name}(): Expected index {list(index.shape)} to be no larger than src {list(src.shape)}")


def _scatter(x: Any, dim: int, index: Any, src: Any) -> Any:
    d = fitted("scatter", x, dim, index)
    if not index.size:
        if hasattr(src, "dtype"):
            same_kind("scatter", x, src)
        return x.copy()
    if not x.ndim or not index.ndim:
        return _scatter(line(x), 0, line(index), src).reshape(x.shape)
    if hasattr(src, "dtype"):
        same_kind("scatter", x, src)
    if getattr(src, "ndim", 0):
        check_src("scatter", index, src)
        src = corner(src, index.shape)
    elif not hasattr(src, "dtype"):
        src = dtypes.number_as(src, x.dtype)
    out = x.copy()
    out[at(d, index)] = src
    return out


def padded(g: Any, shape: tuple) -> Any:
    """Return ``g`` in the corner of zeros of ``shape``: the gradient of entries that were not read is zero."""
    if tuple(g.shape) == tuple(shape):
        return g
    if 0 in g.shape:
        return zeros_like_shape(shape, g)
    if len(shape) != g.ndim:  # a number stands for an array of length 1, or the other way round
        return padded(g.reshape(1), shape) if shape else g.sum().reshape(shape)
    for dim, (n, m) in enumerate(zip(g.shape, shape, strict=True)):
        if n != m:
            g = use("slice_zero")(g, (*g.shape[:dim], m, *g.shape[dim + 1 :]), dim, 0, n, 1)
    return g


def _sparse_gathered(g: Any, shape: tuple, dim: int, index: Any) -> Any:
    from ...sparse import coo

    places = index._array if isinstance(index, Tensor) else index
    return coo.gathered(g, _grid(places.shape, normal_dim(dim, len(shape)), places) if shape else (), shape)


_GATHERED = (
    sample(real(3, 4), 1, ints(3, 2, high=4)),
    sample(real(3, 4), 0, ints(2, 4, high=3)),
    sample(real(4), -1, ints(3, high=4)),
)
op("gather", _gather, kind=GENERAL, whole=True, keywords=("sparse_grad",), constants=("index",), jvp=LINEAR,
   vjp=dict(x=_gather_gradient), numpy_vjp=dict(x=_gather_back),
   samples=(*_GATHERED, sample(real(3, 4), 1, ints(2, 2, high=4)), sample(real(), 0, ints(high=1))),
   doc="""Entries picked along a dimension by an index tensor.

   >>> import dualtape as dt
   >>> dt.gather(dt.tensor([[1, 2], [3, 4]]), 1, dt.tensor([[0], [1]]))
   tensor([[1],
           [4]])
   """)  # fmt: skip
op("scatter_add", _scatter_add, kind=GENERAL, whole=True, inplace=True, constants=("index",), jvp=LINEAR,
   vjp=dict(x=lambda g: g, src=lambda g, dim, index, src_shape: padded(use("gather")(g, dim, index), src_shape)),
   numpy_vjp=dict(src=lambda g, dim, index, src_shape: padded(_gather(g, dim, index), src_shape)),
   samples=(sample(real(3, 4), 1, ints(3, 2, high=4), real(3, 2)), sample(real(4), 0, exact_index([1, 1, 0]), real(3)),
            ours(real(3, 4), 0, ints(2, 3, high=3), real(3, 4))),
   doc="""The tensor with values added at an index along a dimension.

   >>> import dualtape as dt
   >>> dt.scatter_add(dt.zeros(3), 0, dt.tensor([0, 0, 2]), dt.ones(3))
   tensor([2., 0., 1.])
   """)  # fmt: skip
_scatter_op = op("scatter_set", _scatter, kind=GENERAL, public=False, method=False, inplace=True, constants=("index",),
    jvp=LINEAR, scalars=True,
   torch_name="scatter",
   node=("ScatterBackward0", "ScatterBackward1"), variant=lambda x, dim, index, src: int(not hasattr(src, "dtype")),
   vjp=dict(x=lambda g, dim, index: use("scatter_set")(g, dim, index, 0),
            src=lambda g, dim, index, src_shape: padded(use("gather")(g, dim, index), src_shape)),
   numpy_vjp=dict(x=lambda g, dim, index: _scatter(g, dim, index, 0), src=lambda g, dim, index,
       src_shape: padded(_gather(g, dim, index), src_shape)),
   samples=(sample(real(3, 4), 0, exact_index([[0, 1, 2, 0], [1, 2, 0, 1]]), real(2, 4)),
       sample(real(4), 0, exact_index([1, 0]), 2.0)),
   doc="""The tensor with values written at an index along a dimension.

   >>> import dualtape as dt
   >>> dt.zeros(3).scatter_(0, dt.tensor([2]), 5.0)
   tensor([0., 0., 5.])
   """)  # fmt: skip


@composite(
    "scatter",
    samples=(
        sample(real(4), 0, exact_index([1, 0]), real(2)),
        ours(real(4), 0, exact_index([1, 1]), real(2), reduce="add"),
        ours(real(4), 0, exact_index([1, 1]), real(2), reduce="multiply"),
        ours(real(4), 0, exact_index([1, 1]), 2.0, reduce="multiply"),
    ),
)
def scatter(input: Any, dim: int, index: Any, src: Any = None, *, value: Any = None, reduce: str | None = None) -> Any:
    """The tensor with values written (or added, or multiplied) at an index along a dimension.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.scatter(dt.zeros(3), 0, dt.tensor([2, 0]), dt.tensor([5.0, 7.0]))
    tensor([7., 0., 5.])
    """
    if src is None:
        src = value
    if reduce is None:
        return _scatter_op(input, dim, index, src)
    if reduce not in ("add", "multiply"):
        raise RuntimeError(f"scatter: reduce argument must be either add or multiply, got {reduce!r}")
    if isinstance(src, Tensor):
        errors.warn("scatter: reduce= with a tensor is deprecated: use scatter_reduce, which has more reductions")
    values = (
        src
        if isinstance(src, Tensor)
        else wrap(full_like_shape(index._array.shape, src, input._array.dtype, input._array))
    )
    if reduce == "add":
        return FUNCTIONS["scatter_add"](input, dim, index, values)
    return FUNCTIONS["scatter_reduce"](input, dim, index, values, "prod")


def _scatter_(
    self: Tensor, dim: int, index: Any, src: Any = None, *, value: Any = None, reduce: str | None = None
) -> Tensor:
    """In-place form of :func:`scatter`.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.zeros(3).scatter_(0, dt.tensor([2]), 5.0)
    tensor([0., 0., 5.])
    """
    src = value if src is None else src
    if reduce is None:
        return self.scatter_set_(dim, index, src)
    return self.copy_(scatter(self, dim, index, src, reduce=reduce))


Tensor.scatter_ = _scatter_  # type: ignore[method-assign, assignment]


def _index_select(x: Any, dim: int, index: Any) -> Any:
    d, index = normal_dim(dim, x.ndim), vector("index_select", index)
    bounded("index_select", index, x.shape[d] if x.ndim else 1)
    return np.take(x, index, axis=d) if x.ndim else x.copy()


def vector(name: str, index: Any) -> Any:
    """Return ``index``, a vector or a number, as a vector."""
    if index.ndim > 1:
        raise IndexError(f"{name}(): Index is supposed to be a vector, got shape {list(index.shape)}")
    return line(index)


def _index_add(x: Any, dim: int, index: Any, source: Any, alpha: Any = 1) -> Any:
    d, index = normal_dim(dim, x.ndim), vector("index_add_", index)
    bounded("index_add", index, x.shape[d] if x.ndim else 1)
    same_kind("index_add", x, source)
    if (*source.shape[:d], *source.shape[d + 1 :]) != (*x.shape[:d], *x.shape[d + 1 :]) or source.ndim != x.ndim:
        raise RuntimeError(
            "index_add_(): source tensor shape must match self tensor shape, excluding the specified dimension. Got"
            f" self.shape = {list(x.shape)}, source.shape = {list(source.shape)}, dim = {dim}"
        )
    if (source.shape[d] if x.ndim else 1) != index.size:
        raise RuntimeError(
            f"index_add_(): Number of indices ({index.size}) should be equal to source.size(dim)"
            f" ({source.shape[d] if x.ndim else 1})"
        )
    source = times(alpha, source)
    if not x.ndim:
        return x + source
    out = x.copy()
    add_at(out, (slice(None),) * d + (index,), source)
    return out


def _index_copy(x: Any, dim: int, index: Any, source: Any) -> Any:
    d, index = normal_dim(dim, x.ndim), vector("index_copy_", index)
    bounded("index_copy", index, x.shape[d] if x.ndim else 1)
    same_kind("index_copy_", x, source)
    if source.ndim != x.ndim and source.ndim and x.ndim:
        raise IndexError(
            "index_copy_(): When source and destination are not scalars, their dimensionality must match. Source"
            f" dimensionality ({source.ndim}), destination dimensionality ({x.ndim})"
        )
    count = source.shape[d] if source.ndim else 1
    if count != index.size:
        raise IndexError(
            f"index_copy_(): Number of indices ({index.size}) should be equal to source.size(dim) ({count})"
        )
    if (
        source.ndim == x.ndim
        and source.size
        and ((*source.shape[:d], *source.shape[d + 1 :]) != (*x.shape[:d], *x.shape[d + 1 :]))
    ):
        raise RuntimeError(
            "index_copy_(): Source/destination tensor must have same slice shapes, apart from the indexed dimension:"
            f" {list(source.shape)} and {list(x.shape)} at dimension {d}"
        )
    if not x.ndim:
        return source.reshape(()).copy()
    out = x.copy()
    out[(slice(None),) * d + (index,)] = source
    return out


op("index_select", _index_select, kind=GENERAL, whole=True, constants=("index",), jvp=LINEAR,
   vjp=dict(x=lambda g, x_shape, dim, index: use("index_add")(zeros_like_shape(x_shape, g), dim, index, g) if x_shape else g),
   samples=(sample(real(3, 4), 0, ints(5, high=3)), sample(real(3, 4), -1, ints(2, high=4)),
       sample(real(3), 0, ints(0, high=3))),
   doc="""Entries along a dimension, by a vector of indices.

   >>> import dualtape as dt
   >>> dt.index_select(dt.arange(4), 0, dt.tensor([3, 1]))
   tensor([3, 1])
   """)  # fmt: skip
op("index_add", _index_add, kind=GENERAL, whole=True, keywords=("alpha",), inplace=True, constants=("index",), jvp=LINEAR,
   vjp=dict(x=lambda g: g, source=lambda g, dim, index, alpha: use("index_select")(g, dim, index) * np.conj(alpha)),
   samples=(sample(real(3, 4), 0, ints(5, high=3), real(5, 4)),
       sample(real(3, 4), 1, ints(2, high=4), real(3, 2), alpha=2)),
   doc="""The tensor with entries of ``source`` added at indices along a dimension.

   >>> import dualtape as dt
   >>> dt.index_add(dt.zeros(3), 0, dt.tensor([0, 0]), dt.tensor([1.0, 2.0]))
   tensor([3., 0., 0.])
   """)  # fmt: skip
op("index_copy", _index_copy, kind=GENERAL, whole=True, inplace=True, constants=("index",), jvp=LINEAR,
   vjp=dict(x=lambda g, dim, index: use("index_fill")(g, dim, index, 0), source=lambda g, dim,
       index: use("index_select")(g, dim, index)),
   samples=(sample(real(3, 4), 0, exact_index([2, 0]), real(2, 4)),),
   doc="""The tensor with entries of ``source`` written at indices along a dimension.

   >>> import dualtape as dt
   >>> dt.index_copy(dt.zeros(3), 0, dt.tensor([2]), dt.tensor([5.0]))
   tensor([0., 0., 5.])
   """)  # fmt: skip


def _index_fill(x: Any, dim: int, index: Any, value: Any) -> Any:
    d = normal_dim(dim, x.ndim)
    if index.ndim > 1:
        raise RuntimeError(f"index_fill_(): Index has to be a vector/scalar, got shape {list(index.shape)}")
    if index.dtype.kind not in "iu":
        raise IndexError(f"index_fill_(): Expected dtype int64 for index, got {index.dtype}: convert it with .long()")
    out = copy_in_order(line(x))
    out[(slice(None),) * d + (index,)] = element(value, x)
    return out.reshape(x.shape)


op("index_fill", _index_fill, kind=GENERAL, inplace=True, node=("IndexFillBackward0", "IndexFillBackward1"),
   variant=lambda x, dim, index, value: int(hasattr(value, "dtype")), constants=("index",), jvp=LINEAR, scalars=True,
   vjp=dict(x=lambda g, dim, index: use("index_fill")(g, dim, index, 0), value=lambda g, dim,
       index: np.sum(use("index_select")(g, dim, index))),
   samples=(sample(real(3, 4), 0, exact_index([2, 0]), 1.5), sample(real(3, 4), 1, exact_index([2]), real())),
   doc="""The tensor with one value at indices along a dimension.

   >>> import dualtape as dt
   >>> dt.index_fill(dt.zeros(3), 0, dt.tensor([1]), 7.0)
   tensor([0., 7., 0.])
   """)  # fmt: skip


@composite("take", samples=(sample(real(3, 4), ints(2, 2, low=-3, high=12)),))
def take(input: Any, index: Any) -> Any:
    """Entries by their index in the flattened tensor.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.take(dt.eye(2), dt.tensor([0, 3]))
    tensor([1., 1.])
    """
    return index_at(input.reshape(-1), (index,))


@composite(
    "take_along_dim",
    samples=(
        sample(real(3, 4), ints(3, 2, high=4), 1),
        sample(real(3, 4), ints(1, 4, high=3), 0),
        sample(real(3), ints(2, high=3)),
    ),
)
def take_along_dim(input: Any, indices: Any, dim: int | None = None) -> Any:
    """Entries picked along a dimension, input and indices broadcast against each other.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.take_along_dim(dt.tensor([[3.0, 1.0]]), dt.tensor([[1, 0]]), 1)
    tensor([[1., 3.]])
    """
    index = indices if isinstance(indices, Tensor) else wrap(np.asarray(indices))
    if dim is None:
        return FUNCTIONS["gather"](input.reshape(-1), 0, index.reshape(-1))
    d = normal_dim(dim, input.ndim)
    a, b = list(input._array.shape), list(index._array.shape)
    a[d] = b[d] = 1
    try:
        common = list(np.broadcast_shapes(tuple(a), tuple(b)))
    except ValueError as error:
        raise RuntimeError(f"take_along_dim: {error}") from None
    n = common[d] = input._array.shape[d]
    wide = input if input._array.shape == tuple(common) else shapes.expand(input, tuple(common))
    common[d] = index._array.shape[d]
    places = index if index._array.shape == tuple(common) else shapes.expand(index, tuple(common))
    try:
        return FUNCTIONS["gather"](wide, d, places)
    except errors.IndexOutOfBounds:
        if not n:
            raise
        return FUNCTIONS["gather"](wide, d, places % n)  # round and round, as PyTorch counts here: -1 is the last
