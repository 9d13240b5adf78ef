"""Entries read by index along one dimension, or by their position in memory."""

from __future__ import annotations

from typing import Any

import numpy as np

from ... import errors
from ..._tensor.tensor import Tensor, wrap
from ...arrays.kernels.basics import FEW, added_along_rows, all_samples, arange_like, small_grid, taken_along_rows
from ...arrays.kernels.memory_order import in_rows
from ..dispatch import FUNCTIONS
from ..formulas import normal_dim, use, zeros_like_shape
from ..samples import ints, real, sample
from ..table import GENERAL, LINEAR, composite, op
from . import shapes
from .indexing import index_at

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


# From so many numbers on, blocks of rows, or a sparse matrix, pay.
_MANY = 10_000


def _gather_back(g: Any, x_shape: tuple, dim: int, index: Any, sparse_grad: bool) -> Any:
    """Return the gradient of :func:`gathered` for NumPy's arrays; the forward checked the index."""
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


def gathered(x: Any, dim: int, index: Any, sparse_grad: bool = False) -> Any:
    d = fitted("gather", x, dim, index)
    if not index.size:
        return zeros_like_shape(index.shape, x)
    if not x.ndim or not index.ndim:
        return gathered(line(x), 0, line(index)).reshape(index.shape)
    if type(x) is np.ndarray and index.size > FEW and x.flags.c_contiguous:
        if _by_rows(x.shape, d, index):
            return taken_along_rows(x, index)
        # there is nothing to wrap, and nothing to check again
        return x.reshape(-1).take(_memory(x.shape, d, index), mode="wrap")
    return in_rows(x[at(d, index)])


def padded(g: Any, shape: tuple) -> Any:
    """Return ``g`` in the corner of zeros of ``shape``: the gradient of entries that were not read is zero."""
    if tuple(g.shape) == tuple(shape):
        return g
    if 0 in g.shape:
        return zeros_like_shape(shape, g)
    # A number stands for an array of length 1, or the other way round.
    if len(shape) != g.ndim:
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
op("gather", gathered, kind=GENERAL, whole=True, keywords=("sparse_grad",), constants=("index",), jvp=LINEAR,
   vjp=dict(x=_gather_gradient), numpy_vjp=dict(x=_gather_back),
   samples=(*_GATHERED, sample(real(3, 4), 1, ints(2, 2, high=4)), sample(real(), 0, ints(high=1))),
   doc="""Entries picked along a dimension by an index tensor.

   >>> import dualtape as dt
   >>> dt.gather(dt.tensor([[1, 2], [3, 4]]), 1, dt.tensor([[0], [1]]))
   tensor([[1],
           [4]])
   """)  # fmt: skip


def _index_select(x: Any, dim: int, index: Any) -> Any:
    d, index = normal_dim(dim, x.ndim), vector("index_select", index)
    bounded("index_select", index, x.shape[d] if x.ndim else 1)
    return np.take(x, index, axis=d) if x.ndim else x.copy()


def vector(name: str, index: Any) -> Any:
    """Return ``index``, a vector or a number, as a vector."""
    if index.ndim > 1:
        raise IndexError(f"{name}(): Index is supposed to be a vector, got shape {list(index.shape)}")
    return line(index)


op("index_select", _index_select, kind=GENERAL, whole=True, constants=("index",), jvp=LINEAR,
   vjp=dict(x=lambda g, x_shape, dim, index: use("index_add")(zeros_like_shape(x_shape, g), dim, index, g) if x_shape else g),
   samples=(sample(real(3, 4), 0, ints(5, high=3)), sample(real(3, 4), -1, ints(2, high=4)),
       sample(real(3), 0, ints(0, high=3))),
   doc="""Entries along a dimension, by a vector of indices.

   >>> import dualtape as dt
   >>> dt.index_select(dt.arange(4), 0, dt.tensor([3, 1]))
   tensor([3, 1])
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
