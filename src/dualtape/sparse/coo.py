"""Sparse tensors in coordinate form, as far as gradients need them: made by backward, added up, made dense, read by
optimisers.

A sparse tensor has no array of its own; it answers the ops it knows in ``__torch_dispatch__``, and says of the
others that they are not there. History through sparse tensors is not recorded.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import numpy as np

from .._tensor import dtypes
from .._tensor.creation import as_tensor
from .._tensor.device import sparse_coo
from .._tensor.tensor import Tensor, raw, wrap
from ..arrays import Absent
from ..overrides.subclass import disabled_function, of_class

_ZERO_KEEPING = {
    "abs",
    "neg",
    "sqrt",
    "sin",
    "tan",
    "sinh",
    "tanh",
    "asin",
    "atan",
    "floor",
    "ceil",
    "round",
    "sgn",
    "sign",
    "square",
    "expm1",
    "log1p",
}


class SparseTensor(Tensor):
    """A tensor that keeps its entries that are not zero: ``indices`` (dimension, entry) and ``values`` (entry, ...).

    Entries with the same index add up; :meth:`coalesce` does it. Made by :func:`sparse_coo_tensor`, by
    ``to_sparse()``, and by the backward of ``embedding(sparse=True)`` and ``gather(sparse_grad=True)``.

    Examples
    --------
    >>> import dualtape as dt
    >>> s = dt.sparse_coo_tensor([[0, 2, 2]], [1.0, 2.0, 3.0], (4,))
    >>> s.to_dense()
    tensor([1., 0., 5., 0.])
    """

    _overrides_members = False  # operations ask this class; properties need not
    __torch_function__ = disabled_function  # type: ignore[assignment]

    _entries: tuple[np.ndarray, np.ndarray]
    _sorted: bool

    @property
    def is_sparse(self) -> bool:
        return True

    @property
    def layout(self) -> Any:
        return sparse_coo

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
        """Whether each index is there once, in order."""
        return self._sorted

    def indices(self) -> Tensor:
        """The indices of a coalesced tensor."""
        self._check_coalesced("indices")
        return self._indices()

    def values(self) -> Tensor:
        """The values of a coalesced tensor."""
        self._check_coalesced("values")
        return self._values()

    def _check_coalesced(self, what: str) -> None:
        if not self._sorted:
            raise RuntimeError(
                f"Cannot get {what} on an uncoalesced tensor, please call .coalesce() first, or read _{what}()"
            )

    def coalesce(self) -> SparseTensor:
        """The same tensor with each index once, in order."""
        if self._sorted:
            return self
        indices, values = self._entries
        shape = self._array.shape[: indices.shape[0]]
        flat = (
            np.ravel_multi_index(tuple(indices), shape)
            if shape and indices.size
            else np.zeros(indices.shape[1], np.intp)
        )
        places, inverse = np.unique(flat, return_inverse=True)
        total = np.zeros((places.size, *values.shape[1:]), values.dtype)
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
        array = np.zeros(self._array.shape, self._array.dtype if dtype is None else dtypes.to_numpy(dtype))
        _add_into(array, self, 1)
        return wrap(array)

    def to_sparse(self, sparse_dim: int | None = None) -> SparseTensor:
        return self

    def detach(self) -> Any:
        return make_sparse(*self._entries, self._array.shape, self._sorted)

    @property  # type: ignore[misc]
    def data(self) -> Any:  # type: ignore[override]
        return self.detach()

    def stride(self, dim: int | None = None) -> Any:
        return (0,) * self._array.ndim if dim is None else 0

    def is_contiguous(self, memory_format: Any = None) -> bool:
        return False

    def numpy(self, *, force: bool = False) -> np.ndarray:
        raise TypeError("can't convert Sparse layout tensor to numpy. Use Tensor.to_dense() first.")

    def tolist(self) -> Any:
        raise RuntimeError("a sparse tensor has no list of values: use to_dense().tolist()")

    def __repr__(self, *, tensor_contents: str | None = None) -> str:  # type: ignore[override]
        parts = []
        for name, tensor in (("indices", self._indices()), ("values", self._values())):
            parts.append(f"{name}=" + repr(tensor).replace("\n", "\n" + " " * (len(name) + 8)))
        size = f"size={tuple(self._array.shape)}, nnz={self._nnz()}, layout=dualtape.sparse_coo"
        return "tensor(" + ",\n       ".join([*parts, size]) + ")"

    def __deepcopy__(self, memo: dict) -> Any:
        return make_sparse(*copy.deepcopy(self._entries, memo), self._array.shape, self._sorted)

    def __reduce_ex__(self, protocol: Any) -> tuple:
        return (make_sparse, (*self._entries, self._array.shape, self._sorted))

    @classmethod
    def __torch_dispatch__(cls, func: Callable, types: tuple, args: tuple = (), kwargs: dict | None = None) -> Any:
        name = getattr(func, "__name__", "")
        handler = _OPS.get(name)
        if handler is not None:
            return handler(*args, **(kwargs or {}))
        if name in _ZERO_KEEPING and len(args) == 1:
            x = args[0] if name == "neg" else args[0].coalesce()
            return make_sparse(x._entries[0], func(wrap(x._entries[1]))._array, x._array.shape, x._sorted)
        raise NotImplementedError(f"Could not run '{name}' on a sparse tensor: call to_dense() first")


def make_sparse(indices: np.ndarray, values: np.ndarray, shape: tuple, coalesced: bool) -> SparseTensor:
    """A sparse tensor over these arrays, no questions asked."""
    tensor: Any = of_class(wrap(Absent(shape, values.dtype)), SparseTensor)
    tensor._entries = (indices, values)
    tensor._sorted = coalesced
    return tensor


def sparse_coo_tensor(
    indices: Any = None, values: Any = None, size: Any = None, *, dtype: Any = None, device: Any = None,
    requires_grad: bool = False,
    check_invariants: bool | None = None, is_coalesced: bool | None = None,
) -> SparseTensor:  # fmt: skip
    """A tensor of which only the entries at ``indices`` are kept.

    Parameters
    ----------
    indices : Tensor or nested sequence
        One row for each dimension, one column for each entry.
    values : Tensor or nested sequence
        The entries; further dimensions of them are dense.
    size : sequence of int, optional
        Default: the smallest in which the indices have room.
    dtype : dtype, optional

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.sparse_coo_tensor([[0, 1], [2, 0]], [3.0, 4.0], (2, 3)).to_dense()
    tensor([[0., 0., 3.],
            [4., 0., 0.]])
    """
    if requires_grad:
        raise RuntimeError(
            "sparse tensors that require grad are not supported: gradients may be sparse, leaves are dense"
        )
    if indices is None:
        if size is None:
            raise TypeError("sparse_coo_tensor() takes indices and values, or a size")
        numpy = dtypes.default_float() if dtype is None else dtypes.to_numpy(dtype)
        return make_sparse(np.zeros((len(size), 0), np.int64), np.zeros(0, numpy), tuple(size), False)
    places = np.atleast_1d(raw(as_tensor(indices)))
    entries = raw(as_tensor(values, dtype=dtype))
    if places.dtype.kind not in "iub" and places.size:
        raise RuntimeError(f"indices must be an integer tensor, got {dtypes.of(places.dtype)!r}")
    if places.ndim != 2:
        raise RuntimeError(f"indices must have two dimensions (dimension, entry), got {list(places.shape)}")
    if entries.ndim == 0:
        entries = np.broadcast_to(entries, (places.shape[1],)).copy()
    places = places.astype(np.int64)
    if entries.shape[0] != places.shape[1]:
        raise RuntimeError(
            f"indices and values must have one column for each entry, got {places.shape[1]} and {entries.shape[0]}"
        )
    if size is None:
        size = (*(int(row.max()) + 1 if row.size else 0 for row in places), *entries.shape[1:])
    shape = tuple(int(n) for n in size)
    if len(shape) != places.shape[0] + entries.ndim - 1:
        raise RuntimeError(
            f"a size of {len(shape)} dimensions for {places.shape[0]} sparse and {entries.ndim - 1} dense ones:"
            f" {list(shape)}"
        )
    for row, n in zip(places, shape, strict=False):
        if row.size and (row.min() < 0 or row.max() >= n):
            raise RuntimeError(
                f"size is inconsistent with indices: an index of {row.min()} to {row.max()} where the size is {n}"
            )
    return make_sparse(places, entries, shape, bool(is_coalesced))


def from_dense(tensor: Tensor, sparse_dim: int | None = None) -> SparseTensor:
    """The entries of a dense tensor that are not zero."""
    array: Any = tensor._array
    count = array.ndim if sparse_dim is None else sparse_dim
    found = array if count == array.ndim else (array != 0).any(axis=tuple(range(count, array.ndim)))
    indices = np.stack(np.nonzero(found)) if count else np.zeros((0, 1), np.int64)
    return make_sparse(indices.astype(np.int64), array[tuple(indices)].copy(), array.shape, True)


def rows(g: Any, indices: Any, shape: tuple, padding_idx: int) -> SparseTensor:
    """The gradient of a table of which ``indices`` were taken."""
    places, values = np.asarray(raw(indices)).reshape(-1), raw(g).reshape(-1, shape[-1])
    if padding_idx >= 0:
        keep = places != padding_idx
        places, values = places[keep], values[keep]
    return make_sparse(places.astype(np.int64)[None], values, shape, False)


def gathered(g: Any, indices: tuple, shape: tuple) -> SparseTensor:
    """The gradient of a tensor of which the entries at ``indices`` were taken."""
    values = raw(g)
    places = (
        np.stack([np.broadcast_to(i, values.shape).reshape(-1) for i in indices])
        if indices
        else np.zeros((0, values.size), np.int64)
    )
    return make_sparse(places.astype(np.int64), values.reshape(-1), shape, False)


# --- the ops a sparse tensor knows ----------------------------------------------------------------


def _add_into(array: Any, sparse: SparseTensor, alpha: Any) -> None:
    indices, values = sparse._entries
    if indices.shape[0]:
        np.add.at(array, tuple(indices), values if alpha == 1 else values * alpha)
    else:
        array += values.sum(axis=0) * alpha


def _check(x: Any, y: Any) -> None:
    if tuple(x.shape) != tuple(y.shape):
        raise RuntimeError(
            f"add: expected tensors of the same size with a sparse one, got {list(x.shape)} and {list(y.shape)}"
        )


def _added(x: Any, y: Any, alpha: Any = 1) -> Any:
    if isinstance(x, SparseTensor) and isinstance(y, SparseTensor):
        _check(x, y)
        indices = np.concatenate([x._entries[0], y._entries[0]], axis=1)
        values = np.concatenate([x._entries[1], y._entries[1] if alpha == 1 else y._entries[1] * alpha])
        total = make_sparse(indices, values, x._array.shape, False)
        return total.coalesce() if x._sorted and y._sorted else total
    if isinstance(x, SparseTensor):
        if isinstance(y, Tensor):
            raise RuntimeError("add(sparse, dense) is not supported. Use add(dense, sparse) instead.")
        x, y = y, x  # the engine adds what arrives in any order
    _check(x, y)
    dtype = np.result_type(raw(x).dtype, y._array.dtype)
    out = np.array(raw(x), dtype=dtype)
    _add_into(out, y, alpha)
    return wrap(out)


def _subtracted(x: Any, y: Any, alpha: Any = 1) -> Any:
    return _added(x, y, -alpha)


def _added_in_place(x: Any, y: Any, alpha: Any = 1) -> Any:
    if isinstance(x, SparseTensor):
        total = _added(x, y, alpha)
        x._entries, x._sorted = total._entries, total._sorted
    else:
        _check(x, y)
        _add_into(x._array, y, alpha)
    return x


def _scaled(x: Any, y: Any) -> Any:
    if isinstance(y, SparseTensor) and isinstance(x, SparseTensor):
        x, y = x.coalesce(), y.to_dense()
    elif isinstance(y, SparseTensor):
        x, y = y, x
    factor = raw(y)
    if np.ndim(factor):
        factor = np.broadcast_to(factor, x._array.shape)[tuple(x._entries[0])]
    return _with_values(x, np.multiply(x._entries[1], factor))


def _with_values(x: Any, values: Any) -> Any:
    return make_sparse(
        x._entries[0],
        values if values.dtype.kind == "c" or x._array.dtype.kind != "f" else values.astype(x._array.dtype),
        x._array.shape,
        x._sorted,
    )


def _divided(x: Any, y: Any) -> Any:
    if isinstance(y, Tensor) and y._array.ndim:
        raise NotImplementedError("Could not run 'div' on a sparse tensor by a tensor: call to_dense() first")
    return _with_values(x, np.true_divide(x._entries[1], raw(y)))


def _written(function: Callable) -> Callable:
    def in_place(x: Any, *args: Any) -> Any:
        result = function(x, *args)
        x._entries, x._sorted = result._entries, result._sorted
        return x

    return in_place


def _zeroed(x: Any) -> Any:
    return make_sparse(x._entries[0][:, :0], x._entries[1][:0], x._array.shape, False)


def _clone(x: Any, memory_format: Any = None) -> Any:
    return make_sparse(x._entries[0].copy(), x._entries[1].copy(), x._array.shape, x._sorted)


def _sum(x: Any, dim: Any = None, keepdim: bool = False, dtype: Any = None) -> Any:
    if dim not in (None, ()):
        raise NotImplementedError("Could not run 'sum' over some dimensions of a sparse tensor: call to_dense() first")
    return wrap(np.asarray(x._entries[1].sum()))


def _norm(x: Any, order: Any = 2, *args: Any, **kwargs: Any) -> Any:
    if args or kwargs or order not in (2, "fro", None):
        raise NotImplementedError("Could not run 'norm' with arguments on a sparse tensor: call to_dense() first")
    return wrap(np.asarray(np.linalg.norm(x.coalesce()._entries[1])).astype(x._array.dtype))


def _cast(x: Any, dtype: Any, *rest: Any) -> Any:
    return make_sparse(x._entries[0], x._entries[1].astype(dtypes.to_numpy(dtype)), x._array.shape, x._sorted)


def _product(x: Any, y: Any) -> Any:
    if not isinstance(x, SparseTensor) or isinstance(y, SparseTensor) or x.dense_dim():
        raise NotImplementedError(
            "Could not run 'matmul' but for a sparse matrix and a dense tensor: call to_dense() first"
        )
    return wrap(np.matmul(x.to_dense()._array, raw(y)))


_OPS: dict[str, Callable] = {
    "add": _added, "sub": _subtracted, "add_": _added_in_place, "sub_": lambda x, y,
    alpha=1: _added_in_place(x, y, -alpha), "mul": _scaled,
    "div": _divided, "true_divide": _divided, "mul_": _written(_scaled), "div_": _written(_divided),
    "true_divide_": _written(_divided),
    "zero_": _written(_zeroed), "clone": _clone, "sum": _sum, "norm": _norm, "linalg_vector_norm": _norm,
    "to_dtype": _cast, "_to_copy": _cast, "cast": _cast,
    "matmul": _product, "mm": _product, "mv": _product,
}  # fmt: skip
