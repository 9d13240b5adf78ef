"""Sparse tensors in coordinate form: indices and values.

A sparse tensor has no array of its own; it implements ops in ``__torch_dispatch__`` (``computing.py``), and raises for
the others. Ops on sparse tensors record as usual; functions that preserve zero act on the values, and conversions
between dense and sparse are custom functions. A gradient of a sparse tensor is a matrix, dense or sparse: the sum at
each index counts.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import numpy as np

from .. import errors
from .._tensor import dtypes
from .._tensor.copying import copied_leaf
from .._tensor.creation import as_tensor
from .._tensor.device import sparse_coo
from .._tensor.tensor import Tensor, raw, wrap
from ..arrays import Absent
from ..arrays.bfloat16_dtype import made
from ..autograd.function import Function
from ..ops.formulas import use
from ..overrides.subclass import of_class
from . import invariants
from .layouts import SparseLayout, no_other_memory, sparse_repr, without_asking

ZERO_KEEPING = {
    "abs",
    "asin",
    "asinh",
    "atan",
    "atanh",
    "ceil",
    "deg2rad",
    "erf",
    "erfinv",
    "expm1",
    "floor",
    "frac",
    "isinf",
    "isnan",
    "isneginf",
    "isposinf",
    "log1p",
    "nan_to_num",
    "neg",
    "positive",
    "rad2deg",
    "relu",
    "round",
    "sgn",
    "sign",
    "signbit",
    "sin",
    "sinh",
    "sqrt",
    "square",
    "tan",
    "tanh",
    "trunc",
}
OPS: dict[str, Callable] = {}  # what a sparse tensor answers beneath autograd, by name
COMPOSITES: dict[str, Callable] = {}  # what is made of other functions, above autograd, by name


class SparseTensor(SparseLayout):
    """A tensor that stores its nonzero entries: ``indices`` (dimension, entry) and ``values`` (entry, ...).

    Entries with the same index add up; :meth:`coalesce` does it. Made by :func:`sparse_coo_tensor`, by
    ``to_sparse()``, and by the backward of ``embedding(sparse=True)`` and ``gather(sparse_grad=True)``.

    Examples
    --------
    >>> import dualtape as dt
    >>> s = dt.sparse_coo_tensor([[0, 2, 2]], [1.0, 2.0, 3.0], (4,))
    >>> s.to_dense()
    tensor([1., 0., 5., 0.])
    """

    _entries: tuple[np.ndarray, np.ndarray]
    _sorted: bool
    _parts_held = ("_entries", "_sorted")
    _parts_turned = ("_entries", "_sorted")  # what a view op in place exchanges, beside the shape

    @property
    def is_sparse(self) -> bool:
        return True

    @property
    def layout(self) -> Any:
        return sparse_coo

    def to_sparse_coo(self) -> SparseTensor:
        return self

    def _indices(self) -> Tensor:
        return wrap(self._entries[0])

    def _values(self) -> Tensor:
        return wrap(self._entries[1])

    def _nnz(self) -> int:
        return self._entries[0].shape[1]

    def sparse_dim(self) -> int:
        """The number of dimensions that have indices."""
        return self._entries[0].shape[0]

    def dense_dim(self) -> int:
        """The number of dimensions that each entry has."""
        return self._entries[1].ndim - 1

    def is_coalesced(self) -> bool:
        """Return whether each index occurs once, in order."""
        return self._sorted

    def indices(self) -> Tensor:
        """The indices of a coalesced tensor."""
        self._check_coalesced("indices")
        return self._indices()

    def values(self) -> Tensor:
        """The values of a coalesced tensor."""
        self._check_coalesced("values")
        return self._values_with_history()

    def _values_with_history(self) -> Tensor:
        return Values.apply(self) if self.requires_grad else self._values()

    def _check_coalesced(self, what: str) -> None:
        if not self._sorted:
            raise RuntimeError(
                f"Cannot get {what} on an uncoalesced tensor, please call .coalesce() first, or read _{what}()"
            )

    def coalesce(self) -> SparseTensor:
        """The same tensor with each index once, in order."""
        if self._sorted:
            return self
        return Coalesce.apply(self) if self.requires_grad else self._added_up()

    def _added_up(self) -> SparseTensor:
        indices, values = self._entries
        shape = self._array.shape[: indices.shape[0]]
        flat = (
            np.ravel_multi_index(tuple(indices), shape)
            if shape and indices.size
            else np.zeros(indices.shape[1], np.intp)
        )
        places, inverse = np.unique(flat, return_inverse=True)
        total = made(np.zeros, (places.size, *values.shape[1:]), values.dtype)
        np.add.at(total, inverse, values)
        kept = (
            np.stack(np.unravel_index(places, shape)).astype(np.int64)
            if shape
            else np.zeros((0, places.size), np.int64)
        )
        return make_sparse(kept, total, self._array.shape, True)

    def to_dense(self, dtype: Any = None, *, masked_grad: Any = None) -> Tensor:
        """All the entries, zeros included.

        Examples
        --------
        >>> import dualtape as dt
        >>> dt.sparse_coo_tensor([[1]], [2.0], (3,)).to_dense()
        tensor([0., 2., 0.])
        """
        dense = ToDense.apply(self, masked_grad is not False) if self.requires_grad else wrap(_dense(self))
        return dense if dtype is None else dense.to(dtype)

    def detach(self) -> Any:
        return make_sparse(*self._entries, self._array.shape, self._sorted)

    def stride(self, dim: int | None = None) -> Any:
        return (0,) * self._array.ndim if dim is None else 0

    def is_contiguous(self, memory_format: Any = None) -> bool:
        return False

    def __repr__(self, *, tensor_contents: str | None = None) -> str:  # type: ignore[override]
        return sparse_repr(self, {"indices": self._entries[0], "values": self._entries[1]}, self._nnz())

    def __deepcopy__(self, memo: dict) -> Any:
        return copied_leaf(self, memo, lambda: self._copied(memo).requires_grad_(self.requires_grad))

    def _no_entries(self) -> SparseTensor:
        """Return zeros of the same shape, dtype and numbers of sparse and dense dimensions."""
        indices, values = self._entries
        return make_sparse(indices[:, :0], values[:0], self._array.shape, True)

    def _copied(self, memo: dict) -> SparseTensor:
        return make_sparse(*copy.deepcopy(self._entries, memo), self._array.shape, self._sorted)

    def __reduce_ex__(self, protocol: Any) -> tuple:
        return (_unpickled, (self._entries, self._array.shape, self._sorted, self.requires_grad))

    @classmethod
    def __torch_function__(cls, func: Callable, types: tuple, args: tuple = (), kwargs: dict | None = None) -> Any:
        x: Any = args[0] if args else None
        name = getattr(func, "__name__", "")
        if name in COMPOSITES:
            return COMPOSITES[name](*args, **(kwargs or {}))
        applies = name in ZERO_KEEPING - {"neg"} and isinstance(x, SparseTensor)
        if applies and x.requires_grad:
            entries = x.coalesce()
            return sparse_of(entries._entries[0], func(entries.values(), *args[1:], **(kwargs or {})), x.shape, True)
        return without_asking(func, types, args, kwargs)

    @classmethod
    def __torch_dispatch__(cls, func: Callable, types: tuple, args: tuple = (), kwargs: dict | None = None) -> Any:
        name = getattr(func, "__name__", "")
        if name in OPS:
            return OPS[name](*args, **(kwargs or {}))
        if name in ZERO_KEEPING:
            x = args[0] if name == "neg" else args[0].coalesce()
            return x._with(func(x._values(), *args[1:], **(kwargs or {})))
        if in_place(name) and isinstance(args[0], SparseTensor):
            plain = name.strip("_")
            result = (
                OPS[plain](*args, **(kwargs or {}))
                if plain in OPS
                else cls.__torch_dispatch__(getattr(Tensor, plain), types, args, kwargs)
            )
            return args[0]._written(name.lstrip("_"), result)
        raise NotImplementedError(f"Could not run '{name}' on a sparse tensor: call to_dense() first")

    def _written(self, name: str, result: SparseTensor) -> SparseTensor:
        """Take over the entries of what an operation has made of this tensor."""
        if not dtypes.writes_to(result._array.dtype, self._array.dtype):
            raise errors.dtype_write(name, result.dtype, self.dtype)
        if result._array.shape != self._array.shape:
            raise RuntimeError(
                f"{name}: a sparse tensor of size {list(self.shape)} does not take one of size {list(result.shape)}"
            )
        values = result._entries[1].astype(self._array.dtype, copy=result._entries[1] is not self._entries[1])
        self._entries, self._sorted = (result._entries[0], values), result._sorted
        return self

    def _with(self, values: Tensor) -> SparseTensor:
        """Return the same indices with other values, without history."""
        return make_sparse(self._entries[0], values._array, self._array.shape, self._sorted)


def in_place(name: str) -> bool:
    """Return whether a function writes what another one makes of a sparse tensor, such as ``neg_`` and ``_div_``."""
    return name.endswith("_") and not name.endswith("__") and name.strip("_") in OPS.keys() | ZERO_KEEPING


def make_sparse(indices: np.ndarray, values: np.ndarray, shape: tuple, coalesced: bool) -> SparseTensor:
    """Return a sparse tensor over these arrays, without checks."""
    tensor: Any = of_class(wrap(Absent(shape, values.dtype)), SparseTensor)
    tensor._entries = (indices, values)
    tensor._sorted = coalesced
    return tensor


def _unpickled(entries: tuple, shape: tuple, coalesced: bool, requires_grad: bool) -> Any:
    indices, values = entries
    return make_sparse(indices, values, shape, coalesced).requires_grad_(requires_grad)


def sparse_of(indices: np.ndarray, values: Tensor, shape: tuple, coalesced: bool) -> SparseTensor:
    """Return a sparse tensor of these entries, with the history of ``values``."""
    if values.requires_grad:
        return SparseCooTensor.apply(values, indices, tuple(shape), coalesced)
    return make_sparse(indices, values._array, shape, coalesced)


def _dense(x: SparseTensor) -> np.ndarray:
    array = made(np.zeros, x._array.shape, x._array.dtype)
    add_into(array, x, 1)
    return array


def at(g: Tensor, indices: np.ndarray) -> Tensor:
    """Return the entries of a tensor, dense or sparse, at these indices."""
    if isinstance(g, SparseLayout) and g.sparse_dim() == len(indices) > 0:
        return _looked_up(g.to_sparse_coo().coalesce(), indices)
    g = g.to_dense()
    return g[tuple(indices)] if len(indices) else g.unsqueeze(0).expand(indices.shape[1], *g.shape)


def _looked_up(x: SparseTensor, indices: np.ndarray) -> Tensor:
    """Return the entries of a coalesced tensor at these indices, zero where it has none, without a dense
    intermediate.
    """
    shape = x._array.shape[: len(indices)]
    there, wanted = (np.ravel_multi_index(tuple(place), shape) for place in (x._entries[0], indices))
    order = np.searchsorted(there, wanted)
    found = np.append(there, -1)[order] == wanted
    values: Any = x.values()
    zero = values.new_zeros((1, *values.shape[1:]))
    return use("cat")([values, zero])[np.where(found, order, there.size)]


class SparseCooTensor(Function):
    @staticmethod
    def forward(ctx: Any, values: Any, indices: Any, shape: tuple, coalesced: bool) -> Any:
        ctx.indices = indices
        return make_sparse(indices, values._array, shape, coalesced)

    @staticmethod
    def backward(ctx: Any, g: Any) -> tuple:
        return at(g, ctx.indices), None, None, None


def _entries_of(tensor: Tensor, indices: np.ndarray) -> SparseTensor:
    """Return the entries of a dense tensor at these indices, without history."""
    tensor = tensor.detach()
    return make_sparse(indices.astype(np.int64), at(tensor, indices)._array, tensor._array.shape, True)


class ToSparse(Function):
    """The selection of a dense tensor's entries. Its gradient is dense: zeros of a dense tensor may change."""

    @staticmethod
    def forward(ctx: Any, x: Any, indices: np.ndarray) -> Any:
        return _entries_of(x, indices)

    @staticmethod
    def backward(ctx: Any, g: Any) -> tuple:
        return g.to_dense(), None


class Values(Function):
    """The values of a coalesced tensor."""

    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        ctx.indices, ctx.size = x._entries[0], x._array.shape
        return wrap(x._entries[1])

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        return sparse_of(ctx.indices, g, ctx.size, True)


class Coalesce(Function):
    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        return x._added_up()

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        return g


class ToDense(Function):
    @staticmethod
    def forward(ctx: Any, x: Any, masked: bool) -> Any:
        ctx.indices, ctx.size = (x._added_up()._entries[0], x._array.shape) if masked else (None, None)
        ctx.sparse_dim = x.sparse_dim()
        return wrap(_dense(x))

    @staticmethod
    def backward(ctx: Any, g: Any) -> tuple:
        # Every entry of the gradient that is not zero, in the layout of the input.
        if ctx.indices is None:
            return g if isinstance(g, SparseLayout) else from_dense(g, ctx.sparse_dim), None
        return sparse_of(ctx.indices, at(g, ctx.indices), ctx.size, True), None


def sparse_coo_tensor(
    indices: Any = None,
    values: Any = None,
    size: Any = None,
    *,
    dtype: Any = None,
    device: Any = None,
    pin_memory: bool = False,
    requires_grad: bool = False,
    check_invariants: bool | None = None,
    is_coalesced: bool | None = None,
) -> SparseTensor:
    """A tensor of which only the entries at ``indices`` are stored.

    Parameters
    ----------
    indices : Tensor or nested sequence
        One row for each dimension, one column for each entry.
    values : Tensor or nested sequence
        The entries; further dimensions of them are dense.
    size : sequence of int, optional
        Default: the smallest that contains the indices.
    dtype : dtype, optional
    check_invariants : bool, optional
        Whether `is_coalesced` is checked; default: as :class:`check_sparse_tensor_invariants` says. Indices out of
        range are always refused.
    is_coalesced : bool, optional
        Each index is there once, in order.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.sparse_coo_tensor([[0, 1], [2, 0]], [3.0, 4.0], (2, 3)).to_dense()
    tensor([[0., 0., 3.],
            [4., 0., 0.]])
    """
    no_other_memory(device, pin_memory)
    if indices is None:
        if size is None:
            raise TypeError("sparse_coo_tensor() takes indices and values, or a size")
        numpy = dtypes.default_float() if dtype is None else dtypes.to_numpy(dtype)
        empty = make_sparse(np.zeros((len(size), 0), np.int64), np.zeros(0, numpy), tuple(size), bool(is_coalesced))
        return empty.requires_grad_(requires_grad)  # type: ignore[return-value]
    places = np.atleast_1d(raw(as_tensor(indices)))
    entries = as_tensor(values, dtype=dtype)
    if requires_grad:
        entries = entries.detach()
    if places.dtype.kind not in "iub" and places.size:
        raise RuntimeError(f"indices must be an integer tensor, got {dtypes.of(places.dtype)!r}")
    if places.ndim != 2:
        raise RuntimeError(f"indices must have two dimensions (dimension, entry), got {list(places.shape)}")
    if entries.ndim == 0:
        entries = entries.expand(places.shape[1]).clone()
    places = places.astype(np.int64, copy=not isinstance(indices, Tensor))  # a tensor's memory is shared
    if entries.shape[0] != places.shape[1]:
        raise RuntimeError(
            f"indices and values must have one column for each entry, got {places.shape[1]} and {entries.shape[0]}"
        )
    if size is not None and not isinstance(size, (tuple, list)):
        raise TypeError(f"sparse_coo_tensor(): argument 'size' must be a tuple of ints, not {type(size).__name__}")
    if size is None:
        size = (*(int(row.max()) + 1 if row.size else 0 for row in places), *entries.shape[1:])
    shape = tuple(int(n) for n in size)
    if len(shape) != places.shape[0] + entries.ndim - 1:
        raise RuntimeError(
            f"a size of {len(shape)} dimensions for {places.shape[0]} sparse and {entries.ndim - 1} dense ones:"
            f" {list(shape)}"
        )
    invariants.check_coo(places, shape, bool(is_coalesced), check_invariants)
    tensor = sparse_of(places, entries, shape, bool(is_coalesced))
    return tensor.requires_grad_() if requires_grad else tensor  # type: ignore[return-value]


def from_dense(tensor: Tensor, sparse_dim: int | None = None) -> SparseTensor:
    """Return the nonzero entries of a dense tensor."""
    array: Any = tensor._array
    count = array.ndim if sparse_dim is None else sparse_dim
    found = array if count == array.ndim else (array != 0).any(axis=tuple(range(count, array.ndim)))
    indices = np.stack(np.nonzero(found)) if count else np.zeros((0, 1), np.int64)
    return ToSparse.apply(tensor, indices.astype(np.int64)) if tensor.requires_grad else _entries_of(tensor, indices)


def rows(g: Any, indices: Any, shape: tuple, padding_idx: int) -> SparseTensor:
    """Return the gradient of a table whose rows ``indices`` were read."""
    places, values = np.asarray(raw(indices)).reshape(-1), _as_tensor(g).reshape(-1, shape[-1])
    if padding_idx >= 0:
        keep = np.flatnonzero(places != padding_idx)
        places, values = places[keep], values[keep]
    return sparse_of(places.astype(np.int64)[None], values, shape, False)


def _as_tensor(g: Any) -> Any:
    return g if isinstance(g, Tensor) else wrap(g)


def gathered(g: Any, indices: tuple, shape: tuple) -> SparseTensor:
    """Return the gradient of a tensor whose entries at ``indices`` were read."""
    values = _as_tensor(g).reshape(-1)
    places = (
        np.stack([np.broadcast_to(i, g.shape).reshape(-1) for i in indices])
        if indices
        else np.zeros((0, values.numel()), np.int64)
    )
    return sparse_of(places.astype(np.int64), values, shape, False)


def add_into(array: Any, sparse: SparseTensor, alpha: Any) -> None:
    indices, values = sparse._entries
    if indices.shape[0]:
        np.add.at(array, tuple(indices), values if alpha == 1 else values * alpha)
    else:
        array += values.sum(axis=0) * alpha
