"""Entries written, or added, at an index along one dimension."""

from __future__ import annotations

from typing import Any

import numpy as np

from ... import errors
from ..._tensor import dtypes
from ..._tensor.tensor import Tensor, raw, wrap
from ...arrays.kernels.basics import add_at, full_like_shape
from ...arrays.kernels.memory_order import copy_in_order
from ..dispatch import FUNCTIONS
from ..formulas import normal_dim, times, use, zeros_like_shape
from ..samples import exact_index, ints, ours, real, sample
from ..table import GENERAL, LINEAR, composite, op
from .gathering import at, bounded, fitted, gathered, line, padded, vector
from .indexing import element


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


op("scatter_add", _scatter_add, kind=GENERAL, whole=True, inplace=True, constants=("index",), jvp=LINEAR,
   vjp=dict(x=lambda g: g, src=lambda g, dim, index, src_shape: padded(use("gather")(g, dim, index), src_shape)),
   numpy_vjp=dict(src=lambda g, dim, index, src_shape: padded(gathered(g, dim, index), src_shape)),
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
       src_shape: padded(gathered(g, dim, index), src_shape)),
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


# --- put ------------------------------------------------------------------------------------------


def _put(x: Any, index: Any, source: Any, accumulate: bool = False) -> Any:
    if index.dtype.kind not in "iu":
        raise RuntimeError(f"put_(): Expected a long tensor for index, but got {index.dtype}: convert it with .long()")
    same_kind("put_", x, source)
    if index.size != source.size:
        raise IndexError(
            f"put_(): Expected source and index to have the same number of elements, but got {source.size} and"
            f" {index.size}"
        )
    bounded("take", index, x.size)
    places, out = index.reshape(-1), x.copy().reshape(-1)
    if accumulate:
        add_at(out, (np.where(places < 0, places + x.size, places),), source.reshape(-1))
    else:
        out[places] = source.reshape(-1)
    return out.reshape(x.shape)


op("put", _put, kind=GENERAL, whole=True, inplace=True, constants=("index",), jvp=LINEAR,
   vjp=dict(x=lambda g, index, accumulate: g if accumulate else use("put")(g, index, zeros_like_shape(index.shape, g)),
            source=lambda g, index, source_shape: use("index")(g.reshape(-1), (raw(index).reshape(-1),))
            .reshape(source_shape)),
   samples=(sample(real(2, 3), exact_index([0, -1]), real(2)),
            sample(real(2, 3), exact_index([[1, 1], [-1, 0]]), real(2, 2), accumulate=True),
            sample(real(2, 3), exact_index([]), real(0)), sample(real(), exact_index([0]), real(1))),
   doc="""The tensor with values written (or added) at places of the flattened tensor.

   >>> import dualtape as dt
   >>> dt.put(dt.zeros(2, 2), dt.tensor([0, 3]), dt.tensor([5.0, 7.0]))
   tensor([[5., 0.],
           [0., 7.]])
   """)  # fmt: skip
