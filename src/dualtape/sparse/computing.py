"""Implementations of ops on sparse tensors below autograd: sums, multiples, products, in coordinate form.

Nothing is recorded here; the rows of these ops have their derivatives, which run on sparse tensors again. Matrix
products use SciPy.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .._tensor import dtypes
from .._tensor.tensor import Tensor, raw, wrap
from ..arrays.bfloat16_dtype import cast, number
from ..arrays.lazy import scipy_sparse
from ..ops.formulas import normal_dim
from .coo import OPS, SparseTensor, add_into, make_sparse


def matrix(x: Any) -> Any:
    """Return a sparse tensor of two dimensions as a SciPy matrix."""
    if isinstance(x, SparseTensor):
        if x.dense_dim() or x.ndim != 2:
            raise RuntimeError(
                f"a product takes a sparse matrix, got {x.sparse_dim()} sparse and {x.dense_dim()} dense dimensions"
            )
        return scipy_sparse.coo_array((_wide(x._entries[1]), tuple(x._entries[0])), shape=x._array.shape).tocsr()
    compressed, plain, values = x._parts
    kind = getattr(scipy_sparse, f"{x.layout.name[-3:]}_array", None)
    if kind is None:
        return matrix(x._coordinates())
    return kind((_wide(values), plain, compressed), shape=x._array.shape)


def _wide(values: np.ndarray) -> np.ndarray:
    """Return values in a dtype that SciPy can multiply: it supports no half types."""
    return values.astype(np.float32) if values.dtype.itemsize == 2 and values.dtype.kind not in "iu" else values


def product(x: Any, y: Any) -> Tensor:
    """Return the product of two matrices, or a matrix and a vector, at least one of them sparse: dense if one of them
    is.
    """
    a, b = x._array, y._array
    if a.dtype != b.dtype:
        raise RuntimeError(f"expected m1 and m2 to have the same dtype, but got: {x.dtype} != {y.dtype}")
    if a.shape[-1] != b.shape[0] or b.ndim > 2:
        raise RuntimeError(f"mat1 and mat2 shapes cannot be multiplied: {list(a.shape)} and {list(b.shape)}")
    sparse = [t.layout.name != "strided" for t in (x, y)]
    result = (matrix(x) if sparse[0] else _wide(a)) @ (matrix(y) if sparse[1] else _wide(b))
    if not all(sparse):
        return wrap(result.astype(a.dtype, copy=False))
    result = result.tocsr()
    result.sort_indices()
    found = result.tocoo()
    indices = np.stack([found.row, found.col]).astype(np.int64)
    return make_sparse(indices, found.data.astype(a.dtype, copy=False), result.shape, True)


def _check(x: Any, y: Any) -> None:
    if tuple(x.shape) != tuple(y.shape):
        raise RuntimeError(
            f"add: expected tensors of the same size with a sparse one, got {list(x.shape)} and {list(y.shape)}"
        )


def _added(x: Any, y: Any, alpha: Any = 1) -> Any:
    if isinstance(x, SparseTensor) and isinstance(y, SparseTensor):
        _check(x, y)
        dtype = dtypes.promote_numpy(x._array.dtype, y._array.dtype)
        entries = y._entries[1] if alpha == 1 else y._entries[1] * number(alpha, y._array.dtype)
        indices = np.concatenate([x._entries[0], y._entries[0]], axis=1)
        values = np.concatenate([cast(x._entries[1], dtype), cast(entries, dtype)])
        total = make_sparse(indices, values, x._array.shape, False)
        return total.coalesce() if x._sorted and y._sorted else total
    if isinstance(x, SparseTensor):
        if isinstance(y, Tensor) or not hasattr(y, "dtype"):
            raise RuntimeError("add(sparse, dense) is not supported. Use add(dense, sparse) instead.")
        x, y = y, x  # the engine adds what arrives in any order
    _check(x, y)
    dtype = dtypes.promote_numpy(raw(x).dtype, y._array.dtype)
    out = raw(x).copy() if raw(x).dtype == dtype else cast(raw(x), dtype)
    add_into(out, y, alpha)
    return wrap(out)


def _subtracted(x: Any, y: Any, alpha: Any = 1) -> Any:
    return _added(x, y, -alpha)


def _added_in_place(x: Any, y: Any, alpha: Any = 1) -> Any:
    if isinstance(x, SparseTensor):
        total = _added(x, y, alpha)
        x._entries, x._sorted = total._entries, total._sorted
    else:
        _check(x, y)
        add_into(x._array, y, alpha)
    return x


def _scaled(x: Any, y: Any) -> Any:
    if isinstance(x, SparseTensor) and isinstance(y, SparseTensor):
        if x._entries[0] is not y._entries[0] and x._entries[0].tobytes() != y._entries[0].tobytes() or not x._sorted:
            return _common(x.coalesce(), y.coalesce())
        return x._with(x._values() * y._values())
    if isinstance(y, SparseTensor):
        x, y = y, x
    if not isinstance(y, Tensor) or not y._array.ndim:
        return x._with(x._values() * y)
    shape = np.broadcast_shapes(x._array.shape, y._array.shape)
    if shape != x._array.shape:
        raise RuntimeError(f"mul: a sparse tensor of size {list(x.shape)} does not become larger: {list(shape)}")
    return x._with(x._values() * wrap(np.broadcast_to(y._array, shape)[tuple(x._entries[0])]))


def _common(x: SparseTensor, y: SparseTensor) -> SparseTensor:
    """Return the product of two coalesced tensors, at the indices that both have."""
    if x._array.shape != y._array.shape:
        raise RuntimeError(f"mul: expected sparse tensors of one size, got {list(x.shape)} and {list(y.shape)}")
    shape = x._array.shape[: x.sparse_dim()]
    a, b = (np.ravel_multi_index(tuple(t._entries[0]), shape) for t in (x, y))
    _, mine, other = np.intersect1d(a, b, assume_unique=True, return_indices=True)
    values = wrap(x._entries[1][mine]) * wrap(y._entries[1][other])
    return make_sparse(x._entries[0][:, mine], values._array, x._array.shape, True)


def _divided(x: Any, y: Any, *, rounding_mode: Any = None) -> Any:
    if isinstance(y, SparseTensor) or isinstance(y, Tensor) and y._array.ndim:
        raise NotImplementedError("Sparse division requires a scalar or zero-dim dense tensor divisor")
    x = x if rounding_mode is None else x.coalesce()
    return x._with(x._values().div(y, rounding_mode=rounding_mode))


def _power(x: Any, exponent: Any) -> Any:
    if isinstance(exponent, Tensor):
        raise NotImplementedError("Could not run 'pow' on a sparse tensor with a tensor: call to_dense() first")
    if exponent == 0:
        raise RuntimeError("pow: cannot raise to zeroth power on sparse tensor; it would make the result tensor dense")
    x = x.coalesce()
    return x._with(x._values() ** exponent)


def _copied(x: Any, source: Any, non_blocking: bool = False) -> Any:
    if not isinstance(source, SparseTensor):
        raise RuntimeError(
            f"copy_() between tensors of layouts {x.layout!r} and {source.layout!r} is not implemented: call to_dense()"
            " or to_sparse() first"
        )
    return _clone(source) if source._array.dtype == x._array.dtype else _cast(source, x.dtype)


def _zeroed(x: Any, **like: Any) -> Any:
    dtype = like.pop("dtype", None)
    if any(value not in (None, False) for value in like.values()):
        raise NotImplementedError(f"a sparse tensor of zeros takes no {', '.join(like)}")
    values = x._entries[1][:0]
    return make_sparse(
        x._entries[0][:, :0],
        values if dtype is None else values.astype(dtypes.to_numpy(dtype)),
        x._array.shape,
        True,
    )


def _clone(x: Any, memory_format: Any = None) -> Any:
    return make_sparse(x._entries[0].copy(), x._entries[1].copy(), x._array.shape, x._sorted)


def summed_over(x: SparseTensor, values: Any, dim: Any) -> tuple:
    """Sum a coalesced tensor with these values over ``dim``; return indices (None: it is dense), values, shape, and
    whether it is coalesced.
    """
    count = x.sparse_dim()
    dims = {normal_dim(d, x.ndim) for d in (dim if isinstance(dim, (tuple, list)) else (dim,))}
    dense = tuple(d - count + 1 for d in dims if d >= count)
    values = values.sum(dense) if dense else values
    kept = [d for d in range(count) if d not in dims]
    shape = tuple(n for d, n in enumerate(x.shape) if d not in dims)
    return (x._entries[0][kept], values, shape, len(kept) == count) if kept else (None, values.sum(0), shape, True)


def _sum(x: Any, dim: Any = None, keepdim: bool = False, dtype: Any = None) -> Any:
    if keepdim:
        raise NotImplementedError("Could not run 'sum' with keepdim=True on a sparse tensor: call to_dense() first")
    values = x.coalesce()._values() if dtype is None else x.coalesce()._values().to(dtype)
    if dim in (None, ()):
        return values.sum()
    indices, values, shape, coalesced = summed_over(x.coalesce(), values, dim)
    return values if indices is None else make_sparse(indices, values._array, shape, coalesced).coalesce()


def _norm(x: Any, order: Any = 2, *args: Any, **kwargs: Any) -> Any:
    if args or kwargs or order not in (2, "fro", None):
        raise NotImplementedError("Could not run 'norm' with arguments on a sparse tensor: call to_dense() first")
    values = x.coalesce()._entries[1]
    return wrap(np.asarray(np.linalg.norm(values.reshape(-1))).astype(values.real.dtype))


def _cast(x: Any, dtype: Any, *rest: Any) -> Any:
    return make_sparse(x._entries[0], x._entries[1].astype(dtypes.to_numpy(dtype)), x._array.shape, x._sorted)


def _permuted(x: Any, dims: Any) -> Any:
    order = [normal_dim(d, x.ndim) for d in dims]
    if x.dense_dim() and order[x.sparse_dim() :] != list(range(x.sparse_dim(), x.ndim)):
        raise NotImplementedError("Could not run 'permute' on the dense dimensions of a sparse tensor")
    kept = order[: x.sparse_dim()]
    return make_sparse(x._entries[0][kept], x._entries[1], tuple(x._array.shape[d] for d in order), False)


def _transposed(x: Any, dim0: int = 0, dim1: int = 1) -> Any:
    order, count = list(range(x.ndim)), x.sparse_dim()
    first, second = normal_dim(dim0, x.ndim), normal_dim(dim1, x.ndim)
    if first == second:
        return x.detach()
    if max(first, second) >= count:
        raise RuntimeError(
            f"sparse transpose: transposed dimensions must be sparse, got {dim0} and {dim1} of a tensor of {count}"
            f" sparse and {x.dense_dim()} dense dimensions"
        )
    order[first], order[second] = second, first
    return _permuted(x, order)


def _t(x: Any) -> Any:
    if x.sparse_dim() > 2 or x.dense_dim():
        raise RuntimeError(
            f"t() expects a tensor with <= 2 sparse and 0 dense dimensions, but got {x.sparse_dim()} sparse and"
            f" {x.dense_dim()} dense dimensions"
        )
    return _transposed(x) if x.ndim == 2 else x.detach()


def _addmm(mat: Any, x: Any, y: Any, beta: Any = 1, alpha: Any = 1) -> Any:
    found = product(x, y) * alpha
    return found if beta == 0 else (mat * beta) + found


def _conjugate(x: Any) -> Any:
    return x._with(x._values().conj())


OPS |= {
    "add": _added,
    "sub": _subtracted,
    "add_": _added_in_place,
    "sub_": lambda x, y, alpha=1: _added_in_place(x, y, -alpha),
    "mul": _scaled,
    "pow": _power,
    "div": _divided,
    "true_divide": _divided,
    "floor_divide": lambda x, y: _divided(x, y, rounding_mode="floor"),
    "trunc_divide": lambda x, y: _divided(x, y, rounding_mode="trunc"),
    "zeros_like": _zeroed,
    "zero": _zeroed,
    "copy": _copied,
    "clone": _clone,
    "sum": _sum,
    "norm": _norm,
    "linalg_vector_norm": _norm,
    "to_dtype": _cast,
    "_to_copy": _cast,
    "cast": _cast,
    "matmul": product,
    "mm": product,
    "mv": product,
    "addmm": _addmm,
    "transpose": _transposed,
    "t": _t,
    "permute": _permuted,
    "conj": _conjugate,
    "conj_physical": _conjugate,
    "any": lambda x: x._values().any(),
}
