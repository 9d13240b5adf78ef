"""Sparse tensors indexed and joined: entries keep their values, with their history, and get other indices.

Here are the functions that PyTorch has for coordinates: ``x[i]``, ``select``, ``index_select``, ``narrow_copy``,
``unbind``, ``unsqueeze``, ``cat``, ``stack`` and their like; and products that go by way of others, ``bmm`` and
``linear``. They run above autograd, so that each of them has the derivatives of what it calls.
"""

from __future__ import annotations

from collections.abc import Callable
from operator import index as integer
from typing import Any

import numpy as np

from .._tensor import dtypes
from .._tensor.tensor import Tensor, raw, wrap
from ..arrays.bfloat16_dtype import made
from ..autograd.function import Function
from ..ops.formulas import normal_dim, use
from .compressed import make_compressed
from .computing import matrix
from .coo import COMPOSITES, SparseTensor, make_sparse, sparse_of
from .layouts import SparseLayout, no_other_memory


def _entries(x: Any) -> tuple[SparseTensor, np.ndarray, Tensor]:
    """A sparse tensor in coordinates, its indices, and its values with their history."""
    x = x.to_sparse_coo()
    if x.requires_grad:
        x = x.coalesce()
        return x, x._entries[0], x.values()
    return x, x._entries[0], x._values()


def _at_position(x: Any, dim: int, index: Any) -> Any:
    """``x.select(dim, index)``: dense if no sparse dimension is left."""
    x = x.to_sparse_coo().coalesce()
    x, indices, values = _entries(x)
    d, position = normal_dim(dim, x.ndim), integer(index)
    size = x.shape[d]
    if not -size <= position < size:
        raise IndexError(f"select(): index {position} out of range for tensor of size {list(x.shape)} at dimension {d}")
    position %= size
    shape = tuple(n for k, n in enumerate(x.shape) if k != d)
    count = x.sparse_dim()
    if d >= count:
        return sparse_of(indices, values.select(d - count + 1, position), shape, False)
    chosen = np.flatnonzero(indices[d] == position)
    values = values[wrap(chosen)]
    if count == 1:
        return values.sum(0)
    return sparse_of(np.delete(indices, d, 0)[:, chosen], values, shape, True)


def _at_key(x: Any, key: Any) -> Any:
    """``x[key]``: integers, None and whole dimensions."""
    parts = list(key) if isinstance(key, tuple) else [key]
    if key is ... or key == ():
        raise NotImplementedError("Could not run 'alias' on a sparse tensor: use it as it is")
    dim = 0
    for position, k in enumerate(parts):
        if k is None:
            x = x.unsqueeze(dim)
            dim += 1
        elif k is ...:
            dim = x.ndim - len([rest for rest in parts[position + 1 :] if rest is not None])
        elif isinstance(k, slice) and k == slice(None):
            dim += 1
        elif hasattr(k, "__index__") and not isinstance(k, bool) and not getattr(k, "ndim", 0):
            if dim >= x.ndim:
                raise IndexError(f"too many indices for tensor of dimension {x.ndim}")
            x = x.select(dim, integer(k))
        else:
            kind = "slice" if isinstance(k, slice) else "index"
            raise NotImplementedError(f"Could not run '{kind}' on a sparse tensor: call to_dense() first")
    return x


def _index_select(x: Any, dim: int, index: Any) -> Any:
    x, indices, values = _entries(x.to_sparse_coo().coalesce())
    d, wanted = normal_dim(dim, x.ndim), np.asarray(raw(index))
    if wanted.ndim > 1 or wanted.dtype.kind not in "iu":
        raise IndexError(f"index_select(): expected a vector of integers, got {list(wanted.shape)} of {index.dtype}")
    wanted = wanted.reshape(-1)
    size = x.shape[d]
    outside = wanted[(wanted < 0) | (wanted >= size)]
    if outside.size:
        raise IndexError(
            f"index_select(): index contains {int(outside[0])} that is out of range for tensor of size"
            f" {list(x.shape)} at dimension {d}"
        )
    shape = (*x.shape[:d], wanted.size, *x.shape[d + 1 :])
    count = x.sparse_dim()
    if d >= count:
        return sparse_of(indices, values.index_select(d - count + 1, index.reshape(-1)), shape, False)
    # each entry goes to every position that asks for it: a segment of the sorted positions
    order = np.argsort(wanted, kind="stable")
    first, last = (np.searchsorted(wanted[order], indices[d], side) for side in ("left", "right"))
    repeats = last - first
    chosen = np.repeat(np.arange(indices.shape[1]), repeats)
    within = np.arange(chosen.size) - np.repeat(np.cumsum(repeats) - repeats, repeats)
    moved = indices[:, chosen]
    moved[d] = order[first[chosen] + within]
    return sparse_of(moved, values[wrap(chosen)], shape, False)


def _narrow_copy(x: Any, dim: int, start: int, length: int) -> Any:
    x, indices, values = _entries(x.to_sparse_coo().coalesce())
    d, start, length = normal_dim(dim, x.ndim), integer(start), integer(length)
    size = x.shape[d]
    start += size if start < 0 else 0
    if length < 0 or not 0 <= start <= size - length:
        raise RuntimeError(f"narrow_copy: start ({start}) + length ({length}) exceeds dimension size ({size})")
    shape = (*x.shape[:d], length, *x.shape[d + 1 :])
    count = x.sparse_dim()
    if d >= count:
        return sparse_of(indices, values.narrow(d - count + 1, start, length), shape, True)
    chosen = np.flatnonzero((indices[d] >= start) & (indices[d] < start + length))
    moved = indices[:, chosen]
    moved[d] -= start
    return sparse_of(moved, values[wrap(chosen)], shape, True)


def _unbind(x: Any, dim: int = 0) -> tuple:
    return tuple([_at_position(x, dim, i) for i in range(x.shape[normal_dim(dim, x.ndim)])])


def _unsqueeze(x: Any, dim: int) -> Any:
    if not isinstance(x, SparseTensor):
        raise NotImplementedError(f"Could not run 'unsqueeze' on a {x.layout!r} tensor: call to_sparse_coo() first")
    x, indices, values = _entries(x)
    d = normal_dim(dim, x.ndim + 1)
    shape = (*x.shape[:d], 1, *x.shape[d:])
    count = x.sparse_dim()
    if d > count:
        return sparse_of(indices, values.unsqueeze(d - count + 1), shape, False)
    return sparse_of(np.insert(indices, d, 0, 0), values, shape, False)


def _coordinates(name: str, tensors: Any) -> list:
    listed = list(tensors)
    if not listed:
        raise RuntimeError(f"{name}: expected a non-empty list of Tensors")
    for position, x in enumerate(listed):
        if isinstance(x, SparseTensor):
            continue
        if isinstance(x, SparseLayout):
            raise NotImplementedError(f"Could not run '{name}' on {x.layout!r} tensors: call to_sparse_coo() first")
        raise RuntimeError(
            f"{name}: Concatenating sparse tensors, but a dense tensor was found at position {position}: convert it"
            " with to_sparse()"
        )
    return listed


def _cat(tensors: Any, dim: int = 0, *, name: str = "cat") -> Any:
    listed = _coordinates(name, tensors)
    first = listed[0]
    d, count = normal_dim(dim, first.ndim), first.sparse_dim()
    for position, x in enumerate(listed):
        if (x.sparse_dim(), x.dense_dim()) != (count, first.dense_dim()):
            raise RuntimeError(
                f"{name}: All tensors must have the same sparse_dim and dense_dim: {count}, {first.dense_dim()}, but"
                f" tensor at position {position} has {x.sparse_dim()}, {x.dense_dim()}."
            )
        if any([a != b for k, (a, b) in enumerate(zip(x.shape, first.shape, strict=True)) if k != d]):
            raise RuntimeError(
                f"{name}: All tensors must have the same shape: {list(first.shape)} (except in the concatenating"
                f" dimension), but found shape: {list(x.shape)} at position {position}."
            )
    sizes = [x.shape[d] for x in listed]
    starts = [sum(sizes[:k]) for k in range(len(sizes))]
    shape = (*first.shape[:d], sum(sizes), *first.shape[d + 1 :])
    all_indices, all_values = [], []
    for x, start in zip(listed, starts, strict=True):
        _, indices, values = _entries(x)
        if d < count:
            indices = indices.copy()
            indices[d] += start
        elif len(listed) > 1:
            values = _padded(values, d - count + 1, start, shape[d])
        all_indices.append(indices)
        all_values.append(values)
    return sparse_of(np.concatenate(all_indices, 1), use("cat")(all_values, 0), shape, False)


def _padded(values: Tensor, dim: int, start: int, size: int) -> Tensor:
    """Values with zeros before and behind them along a dimension."""
    own = values.shape[dim]

    def zeros(n: int) -> Tensor:
        return values.detach().new_zeros((*values.shape[:dim], n, *values.shape[dim + 1 :]))

    return use("cat")([zeros(start), values, zeros(size - start - own)], dim)


def _stack(tensors: Any, dim: int = 0) -> Any:
    listed = _coordinates("stack", tensors)
    for position, x in enumerate(listed):
        if tuple(x.shape) != tuple(listed[0].shape):
            raise RuntimeError(
                f"stack expects each tensor to be equal size, but got {list(listed[0].shape)} at entry 0 and"
                f" {list(x.shape)} at entry {position}"
            )
    d = normal_dim(dim, listed[0].ndim + 1)
    return _cat([_unsqueeze(x, d) for x in listed], d, name="stack")


def _at_least(x: Any, dims: int) -> Any:
    while x.ndim < dims:
        x = _unsqueeze(x, 0)
    return x


def _vstack(tensors: Any) -> Any:
    return _cat([_at_least(x, 2) for x in _coordinates("vstack", tensors)], 0, name="vstack")


def _hstack(tensors: Any) -> Any:
    listed = _coordinates("hstack", tensors)
    return _cat(listed, 0 if listed[0].ndim == 1 else 1, name="hstack")


# --- products -------------------------------------------------------------------------------------


class _BatchedProduct(Function):
    """Sparse matrices times dense ones; the gradient of the sparse ones is whole, as of ``mm``."""

    @staticmethod
    def forward(ctx: Any, x: Any, y: Any) -> Any:
        ctx.save_for_backward(x, y)
        dense = raw(y)
        out = made(np.zeros, (x.shape[0], x.shape[1], dense.shape[2]), dense.dtype)
        indices, values = x.coalesce()._entries
        bounds = np.searchsorted(indices[0], np.arange(x.shape[0] + 1))
        for k, (start, stop) in enumerate(zip(bounds[:-1].tolist(), bounds[1:].tolist(), strict=True)):
            part = make_sparse(indices[1:, start:stop], values[start:stop], tuple(x.shape[1:]), True)
            wide = dense[k].astype(np.float32) if dense.dtype.itemsize == 2 else dense[k]
            out[k] = (matrix(part) @ wide).astype(dense.dtype, copy=False)
        return wrap(out)

    @staticmethod
    def backward(ctx: Any, g: Any) -> tuple:
        x, y = ctx.saved_tensors
        of_x, of_y = ctx.needs_input_grad
        return (
            g.bmm(y.conj().transpose(1, 2)) if of_x else None,
            _BatchedProduct.apply(x.conj().transpose(1, 2), g) if of_y else None,
        )


def _bmm(x: Any, y: Any) -> Any:
    if isinstance(y, SparseLayout):
        raise RuntimeError("bmm: Tensor 'mat2' must be dense: call to_dense() first")
    if not isinstance(x, SparseTensor) or x.sparse_dim() != 3 or x.dense_dim():
        raise NotImplementedError("bmm: expected coordinates of three sparse dimensions: call to_sparse_coo() first")
    if y.ndim != 3 or x.shape[0] != y.shape[0] or x.shape[2] != y.shape[1]:
        raise RuntimeError(f"bmm: batches of matrices {list(x.shape)} and {list(y.shape)} cannot be multiplied")
    if x.dtype != y.dtype:
        raise RuntimeError(f"bmm: expected tensors of one dtype, got {x.dtype} and {y.dtype}")
    return _BatchedProduct.apply(x, y)


def _linear(input: Any, weight: Any, bias: Any = None) -> Any:
    if weight.ndim != 2:
        raise NotImplementedError(f"linear: a sparse product takes a matrix as weight, got {list(weight.shape)}")
    if isinstance(input, SparseLayout):
        if input.ndim != 2:
            raise NotImplementedError(
                f"linear: expected a sparse matrix, got {list(input.shape)}: call to_dense() first"
            )
        out = input @ weight.t()
    else:
        rows = input.reshape(-1, input.shape[-1]) if input.shape[-1] else input
        out = (rows @ weight.t()).reshape((*input.shape[:-1], weight.shape[0]))
    return out if bias is None else out + bias


# --- tensors like another -------------------------------------------------------------------------


def _like(name: str, number: float = 0) -> Callable:
    """``ones_like`` and its kin: dense if ``layout`` says so, and of a compressed tensor the same pattern."""

    def like(x: Any, fill_value: Any = number, *, layout: Any = None, dtype: Any = None, **kwargs: Any) -> Any:
        wanted = x._array.dtype if dtype is None else dtypes.to_numpy(dtype)
        no_other_memory(kwargs.pop("device", None), bool(kwargs.pop("pin_memory", False)))
        requires_grad, _ = bool(kwargs.pop("requires_grad", False)), kwargs.pop("memory_format", None)
        if kwargs:
            raise TypeError(f"{name}() got an unexpected keyword argument {next(iter(kwargs))!r}")

        def filled(shape: tuple) -> Tensor:
            return wrap(made(np.zeros, shape, wanted)).fill_(fill_value)

        if layout is not None and layout.name == "strided":
            return filled(x._array.shape).requires_grad_(requires_grad)
        if layout not in (None, x.layout):
            raise NotImplementedError(f"{name}: a {x.layout!r} tensor makes its own layout or a strided one")
        if isinstance(x, SparseTensor):
            if name not in ("zeros_like", "empty_like"):
                raise NotImplementedError(f"Could not run '{name}' on a sparse tensor: call to_dense() first")
            indices, values = x._entries
            empty = make_sparse(indices[:, :0], raw(filled((0, *values.shape[1:]))), x._array.shape, True)
            return empty.requires_grad_(requires_grad)
        if name == "zeros_like":
            x = x._no_entries()
        parts = (*x._parts[:2], raw(filled(x._parts[2].shape)))
        return make_compressed(parts, x._array.shape, x.layout).requires_grad_(requires_grad)

    return like


COMPOSITES |= {
    "__getitem__": _at_key,
    "__iter__": lambda x: iter(_unbind(x)),
    "select": _at_position,
    "index_select": _index_select,
    "narrow_copy": _narrow_copy,
    "unbind": _unbind,
    "unsqueeze": _unsqueeze,
    "cat": _cat,
    "concat": _cat,
    "concatenate": _cat,
    "stack": _stack,
    "vstack": _vstack,
    "row_stack": _vstack,
    "hstack": _hstack,
    "bmm": _bmm,
    "linear": _linear,
    **{name: _like(name) for name in ("zeros_like", "empty_like", "full_like")},
    "ones_like": _like("ones_like", 1),
}
