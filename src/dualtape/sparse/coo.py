"""Sparse tensors in coordinate form, as far as gradients need them: made by backward, added up, made dense, read by
optimisers.

A sparse tensor has no array of its own; it answers the ops it knows in ``__torch_dispatch__``, and says of the
others that they are not there. Ops on sparse tensors record as all others do; the ways from dense to sparse and back
are custom functions. A gradient of a sparse tensor is a matrix, dense or sparse: what counts is the sum at each index.
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
from ..autograd.function import Function
from ..ops.formulas import normal_dim
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
        dense = ToDense.apply(self, masked_grad is not False) if self.requires_grad else wrap(_dense(self))
        return dense if dtype is None else dense.to(dtype)  # type: ignore[attr-defined]

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
        if self.grad_fn is not None:
            size += f", grad_fn=<{type(self.grad_fn).__name__}>"
        elif self.requires_grad:
            size += ", requires_grad=True"
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


def sparse_of(indices: np.ndarray, values: Tensor, shape: tuple, coalesced: bool) -> SparseTensor:
    """A sparse tensor of these entries, with the history of ``values``."""
    if values.requires_grad:
        return SparseCooTensor.apply(values, indices, tuple(shape), coalesced)
    return make_sparse(indices, values._array, shape, coalesced)


def _dense(x: SparseTensor) -> np.ndarray:
    array = np.zeros(x._array.shape, x._array.dtype)
    _add_into(array, x, 1)
    return array


def _at(g: Tensor, indices: np.ndarray) -> Tensor:
    """The entries of a gradient, dense or sparse, at these indices."""
    g = g.to_dense()
    return g[tuple(indices)] if len(indices) else g.unsqueeze(0).expand(indices.shape[1], *g.shape)  # type: ignore[attr-defined]


class SparseCooTensor(Function):
    @staticmethod
    def forward(ctx: Any, values: Any, indices: Any, shape: tuple, coalesced: bool) -> Any:  # type: ignore[override]
        ctx.indices = indices
        return make_sparse(indices, values._array, shape, coalesced)

    @staticmethod
    def backward(ctx: Any, g: Any) -> tuple:  # type: ignore[override]
        return _at(g, ctx.indices), None, None, None


class Values(Function):
    """The values of a coalesced tensor."""

    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:  # type: ignore[override]
        ctx.indices, ctx.size = x._entries[0], x._array.shape
        return wrap(x._entries[1])

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:  # type: ignore[override]
        return sparse_of(ctx.indices, g, ctx.size, True)


class Coalesce(Function):
    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:  # type: ignore[override]
        return x._added_up()

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:  # type: ignore[override]
        return g


class ToDense(Function):
    @staticmethod
    def forward(ctx: Any, x: Any, masked: bool) -> Any:  # type: ignore[override]
        ctx.indices, ctx.size = (x._added_up()._entries[0], x._array.shape) if masked else (None, None)
        return wrap(_dense(x))

    @staticmethod
    def backward(ctx: Any, g: Any) -> tuple:  # type: ignore[override]
        return g if ctx.indices is None else sparse_of(ctx.indices, _at(g, ctx.indices), ctx.size, True), None


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
        given = values if values is None else as_tensor(values, dtype=dtype).detach()
        return sparse_coo_tensor(indices, given, size, dtype=dtype, is_coalesced=is_coalesced).requires_grad_()  # type: ignore[return-value]
    if indices is None:
        if size is None:
            raise TypeError("sparse_coo_tensor() takes indices and values, or a size")
        numpy = dtypes.default_float() if dtype is None else dtypes.to_numpy(dtype)
        return make_sparse(np.zeros((len(size), 0), np.int64), np.zeros(0, numpy), tuple(size), False)
    places = np.atleast_1d(raw(as_tensor(indices)))
    entries = as_tensor(values, dtype=dtype)
    if places.dtype.kind not in "iub" and places.size:
        raise RuntimeError(f"indices must be an integer tensor, got {dtypes.of(places.dtype)!r}")
    if places.ndim != 2:
        raise RuntimeError(f"indices must have two dimensions (dimension, entry), got {list(places.shape)}")
    if entries.ndim == 0:
        entries = entries.expand(places.shape[1]).clone()  # type: ignore[attr-defined]
    places = places.astype(np.int64)
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
    for row, n in zip(places, shape, strict=False):
        if row.size and (row.min() < 0 or row.max() >= n):
            raise RuntimeError(
                f"size is inconsistent with indices: an index of {row.min()} to {row.max()} where the size is {n}"
            )
    return sparse_of(places, entries, shape, bool(is_coalesced))


def from_dense(tensor: Tensor, sparse_dim: int | None = None) -> SparseTensor:
    """The entries of a dense tensor that are not zero."""
    array: Any = tensor._array
    count = array.ndim if sparse_dim is None else sparse_dim
    found = array if count == array.ndim else (array != 0).any(axis=tuple(range(count, array.ndim)))
    indices = np.stack(np.nonzero(found)) if count else np.zeros((0, 1), np.int64)
    return sparse_of(indices.astype(np.int64), _at(tensor, indices), array.shape, True)


def rows(g: Any, indices: Any, shape: tuple, padding_idx: int) -> SparseTensor:
    """The gradient of a table of which ``indices`` were taken."""
    places, values = np.asarray(raw(indices)).reshape(-1), _as_tensor(g).reshape(-1, shape[-1])
    if padding_idx >= 0:
        keep = np.flatnonzero(places != padding_idx)
        places, values = places[keep], values[keep]
    return sparse_of(places.astype(np.int64)[None], values, shape, False)


def _as_tensor(g: Any) -> Any:
    return g if isinstance(g, Tensor) else wrap(g)


def gathered(g: Any, indices: tuple, shape: tuple) -> SparseTensor:
    """The gradient of a tensor of which the entries at ``indices`` were taken."""
    values = _as_tensor(g).reshape(-1)
    places = (
        np.stack([np.broadcast_to(i, g.shape).reshape(-1) for i in indices])
        if indices
        else np.zeros((0, values.numel()), np.int64)
    )
    return sparse_of(places.astype(np.int64), values, shape, False)


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
    return wrap(np.matmul(_dense(x), raw(y)))


def _permuted(x: Any, dims: Any) -> Any:
    order = [d % x.ndim for d in dims]
    if x.dense_dim() and order[x.sparse_dim() :] != list(range(x.sparse_dim(), x.ndim)):
        raise NotImplementedError("Could not run 'permute' on the dense dimensions of a sparse tensor")
    kept = order[: x.sparse_dim()]
    return make_sparse(x._entries[0][kept], x._entries[1], tuple(x._array.shape[d] for d in order), False)


def _transposed(x: Any, dim0: int = 0, dim1: int = 1) -> Any:
    order = list(range(x.ndim))
    order[dim0], order[dim1] = order[dim1], order[dim0]
    return _permuted(x, order)


def mm(mat1: Any, mat2: Any) -> Tensor:
    """The product of a sparse matrix and a dense one.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.sparse.mm(dt.sparse_coo_tensor([[0], [1]], [2.0], (2, 2)), dt.ones(2, 1))
    tensor([[2.],
            [0.]])
    """
    return mat1 @ mat2


def sum(input: SparseTensor, dim: Any = None, dtype: Any = None) -> Tensor:
    """The sum of all entries of a sparse tensor, or over some of its dimensions: sparse where sparse ones remain.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.sparse.sum(dt.sparse_coo_tensor([[0, 1], [1, 1]], [2.0, 3.0], (2, 2)), 0).to_dense()
    tensor([0., 5.])
    """
    if not isinstance(input, SparseTensor):
        raise TypeError(f"sparse.sum(): argument 'input' must be a sparse Tensor, got {type(input).__name__}")
    x = input.coalesce()
    values: Any = x.values() if dtype is None else x.values().to(dtype)  # type: ignore[attr-defined]
    if dim is None:
        return values.sum()
    count = x.sparse_dim()
    dims = {normal_dim(d, x.ndim) for d in (dim if isinstance(dim, (tuple, list)) else (dim,))}
    dense = tuple(d - count + 1 for d in dims if d >= count)
    values = values.sum(dense) if dense else values
    kept = [d for d in range(count) if d not in dims]
    if not kept:
        return values.sum(0)
    shape = tuple(n for d, n in enumerate(x.shape) if d not in dims)
    return sparse_of(x._entries[0][kept], values, shape, len(kept) == count)


_OPS: dict[str, Callable] = {
    "add": _added, "sub": _subtracted, "add_": _added_in_place, "sub_": lambda x, y,
    alpha=1: _added_in_place(x, y, -alpha), "mul": _scaled,
    "div": _divided, "true_divide": _divided, "mul_": _written(_scaled), "div_": _written(_divided),
    "true_divide_": _written(_divided),
    "zero_": _written(_zeroed), "clone": _clone, "sum": _sum, "norm": _norm, "linalg_vector_norm": _norm,
    "to_dtype": _cast, "_to_copy": _cast, "cast": _cast,
    "matmul": _product, "mm": _product, "mv": _product, "transpose": _transposed, "t": _transposed,
    "permute": _permuted,
    "conj": lambda x: make_sparse(x._entries[0], x._entries[1].conj(), x._array.shape, x._sorted),
}  # fmt: skip
