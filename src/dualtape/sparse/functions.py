"""The functions of ``dualtape.sparse``: products whose gradients keep the pattern, softmax over stored entries,
diagonals, solving.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .._tensor.creation import as_tensor
from .._tensor.device import sparse_csr
from .._tensor.tensor import Tensor, raw, wrap
from ..arrays.lazy import scipy_sparse_linalg
from ..autograd.function import Function
from . import rearranging as rearranging
from .compressed import CompressedTensor, compress, compressed_of, places, to_layout
from .computing import matrix, product, summed_over
from .coo import SparseTensor, at, sparse_of
from .layouts import SparseLayout

Sparse = SparseTensor | CompressedTensor


def _pattern(x: Sparse) -> tuple[np.ndarray, np.ndarray]:
    """Return the rows and columns of a sparse matrix's entries, each once."""
    return places(x._parts, x._kind) if isinstance(x, CompressedTensor) else tuple(x.coalesce()._entries[0])


def _at_pattern(x: Sparse, values: Tensor) -> Sparse:
    """Return a tensor with the pattern and layout of ``x`` and these values, with their history."""
    if isinstance(x, CompressedTensor):
        return compressed_of(x._parts, values, x.shape, x._kind)
    return sparse_of(x.coalesce()._entries[0], values, x.shape, True)


def _sampled(rows: Any, columns: Any, a: Tensor, b: Tensor) -> Any:
    """Return the entries of ``a @ b`` at these rows and columns, computing no others."""
    return (a[rows] * b.t()[columns]).sum(-1)


def _kept(g: Any, x: Any) -> Any:
    """Return the entries of a gradient at the pattern of ``x``, each once."""
    return masked(g, x.detach().coalesce() if isinstance(x, SparseTensor) else x.detach())


class SparseMm(Function):
    """A sparse matrix times a dense or sparse one; the gradient of a sparse one has its pattern."""

    @staticmethod
    def forward(ctx: Any, x: Any, y: Any) -> Any:
        ctx.save_for_backward(x, y)
        result = product(x, y)
        compressed = isinstance(x, CompressedTensor) and isinstance(y, CompressedTensor)
        return compress(result, sparse_csr) if compressed and isinstance(result, SparseTensor) else result

    @staticmethod
    def backward(ctx: Any, g: Any) -> tuple:
        x, y = ctx.saved_tensors
        of_x, of_y = ctx.needs_input_grad
        if isinstance(g, SparseLayout):
            return (
                _kept(mm(g, y.conj().t()), x) if of_x else None,
                _kept(mm(x.conj().t(), g), y) if of_y else None,
            )
        y = y.to_dense()  # whose product with a sparse matrix was made dense
        return (
            _at_pattern(x, _sampled(*_pattern(x), g, y.conj().t())) if of_x else None,
            mm(x.conj().t(), g) if of_y else None,
        )


def mm(mat1: Any, mat2: Any, reduce: str | None = None) -> Tensor:
    """The product of two matrices, at least one of them sparse; the gradient of a sparse one has its pattern.

    Parameters
    ----------
    mat1, mat2 : Tensor
        The result is sparse if both are.
    reduce : {"sum", "mean"}, optional
        Whether the products of a row's entries are added up or averaged: for a CSR matrix and a dense one.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.sparse.mm(dt.sparse_coo_tensor([[0], [1]], [2.0], (2, 2)), dt.ones(2, 1))
    tensor([[2.],
            [0.]])
    """
    if reduce is not None:
        return _reduced(mat1, mat2, reduce)
    first, second = isinstance(mat1, SparseLayout), isinstance(mat2, SparseLayout)
    if not first and not second:
        return mat1.mm(mat2)
    _check_matrices("sparse.mm", mat1, mat2)
    if first:
        return SparseMm.apply(mat1, mat2)
    return SparseMm.apply(mat2.t(), mat1.t()).t()


def _check_matrices(name: str, *matrices: Any) -> None:
    for each in matrices:
        if not isinstance(each, Tensor) or each.ndim != 2:
            raise RuntimeError(f"{name}: expected matrices, got {getattr(each, 'shape', type(each).__name__)}")


def _reduced(x: Any, y: Tensor, reduce: str) -> Tensor:
    if reduce not in ("sum", "mean"):
        raise NotImplementedError(f"sparse.mm: reduce is 'sum' or 'mean' here, got {reduce!r}")
    if not isinstance(x, CompressedTensor) or not x.is_sparse_csr or isinstance(y, SparseLayout):
        raise RuntimeError("sparse.mm: reduce is for a CSR matrix and a dense one")
    total = mm(x, y)
    counts = np.maximum(np.diff(x._parts[0]), 1).astype(y._array.dtype)
    return total if reduce == "sum" else total / wrap(counts[:, None])


def addmm(mat: Tensor, mat1: Any, mat2: Tensor, *, beta: Any = 1.0, alpha: Any = 1.0) -> Tensor:
    """``beta * mat + alpha * (mat1 @ mat2)`` for a sparse ``mat1``, whose gradient has its pattern.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.sparse.addmm(dt.ones(2, 1), dt.eye(2).to_sparse(), dt.ones(2, 1), alpha=3)
    tensor([[4.],
            [4.]])
    """
    return (mat if beta == 1 else mat * beta) + mm(mat1, mat2 if alpha == 1 else mat2 * alpha)


def sum(input: SparseTensor, dim: Any = None, dtype: Any = None) -> Tensor:
    """The sum of all entries of a sparse tensor, or over some of its dimensions: sparse where sparse ones remain.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.sparse.sum(dt.sparse_coo_tensor([[0, 1], [1, 1]], [2.0, 3.0], (2, 2)), 0).to_dense()
    tensor([0., 5.])
    """
    x = _coordinates("sparse.sum", input).coalesce()
    values: Any = x.values() if dtype is None else x.values().to(dtype)
    if dim is None:
        return values.sum()
    indices, values, shape, coalesced = summed_over(x, values, dim)
    return values if indices is None else sparse_of(indices, values, shape, coalesced).coalesce()


def _coordinates(name: str, x: Any) -> SparseTensor:
    if not isinstance(x, Tensor):
        raise TypeError(f"{name}(): argument 'input' must be a sparse Tensor, got {type(x).__name__}")
    if not isinstance(x, SparseTensor):
        raise NotImplementedError(f"{name} takes a tensor of layout sparse_coo, got {x.layout!r}: call to_sparse_coo()")
    return x


def softmax(input: SparseTensor, dim: int, *, dtype: Any = None) -> SparseTensor:
    """Softmax over the stored entries: others count as minus infinity.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.sparse.softmax(dt.tensor([[0.0, 2.0, 2.0]]).to_sparse(), 1).to_dense()
    tensor([[0.0000, 0.5000, 0.5000]])
    """
    return _softmax("softmax", input, dim, dtype)


def log_softmax(input: SparseTensor, dim: int, *, dtype: Any = None) -> SparseTensor:
    """The logarithm of :func:`softmax`, at the stored entries.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.sparse.log_softmax(dt.tensor([[0.0, 2.0, 2.0]]).to_sparse(), 1).values()
    tensor([-0.6931, -0.6931])
    """
    return _softmax("log_softmax", input, dim, dtype)


def _softmax(name: str, input: SparseTensor, dim: int, dtype: Any) -> SparseTensor:
    x = _coordinates(f"sparse.{name}", input).coalesce()
    values: Any = x.values() if dtype is None else x.values().to(dtype)
    if not values.is_floating_point():
        raise NotImplementedError(f'"{name}" not implemented for {values.dtype!r}: pass dtype=')
    if not -x.ndim <= dim < x.ndim:
        raise IndexError(f"Dimension out of range (expected to be in range of [{-x.ndim}, {x.ndim - 1}], got {dim})")
    dim %= x.ndim
    indices, count = x._entries[0], x.sparse_dim()
    if dim >= count:
        return sparse_of(indices, getattr(values, name)(dim - count + 1), x.shape, True)
    others = np.delete(indices, dim, 0)
    _, group = np.unique(others, axis=1, return_inverse=True)
    group = group.reshape(-1)
    groups = int(group.max(initial=-1)) + 1
    largest = np.full((groups, *values.shape[1:]), -np.inf, values._array.dtype)
    np.maximum.at(largest, group, values._array)
    shifted = values - wrap(largest[group])
    powers = shifted.exp()
    start: Any = wrap(np.zeros_like(largest))
    total = start.index_add(0, wrap(group), powers)
    result = shifted - total.log()[group] if name == "log_softmax" else powers / total[group]
    return sparse_of(indices, result, x.shape, True)


def sampled_addmm(
    input: CompressedTensor, mat1: Tensor, mat2: Tensor, *, beta: Any = 1.0, alpha: Any = 1.0
) -> CompressedTensor:
    """``beta * input + alpha * (mat1 @ mat2)`` at the entries of ``input``, the only ones that are computed.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.sparse.sampled_addmm(dt.eye(2).to_sparse_csr(), dt.ones(2, 3), dt.ones(3, 2)).values()
    tensor([4., 4.])
    """
    if not isinstance(input, CompressedTensor):
        raise NotImplementedError(
            f"sparse.sampled_addmm takes a compressed tensor, got {getattr(input, 'layout', type(input))!r}"
        )
    _check_matrices("sparse.sampled_addmm", input, mat1, mat2)
    if mat1.shape[1] != mat2.shape[0] or (mat1.shape[0], mat2.shape[1]) != tuple(input.shape):
        raise RuntimeError(
            f"sparse.sampled_addmm: {list(mat1.shape)} times {list(mat2.shape)} is not {list(input.shape)}"
        )
    found = _sampled(*_pattern(input), mat1, mat2) * alpha
    values = found if beta == 0 else input.values() * beta + found
    return compressed_of(input._parts, values, input.shape, input._kind)


def spdiags(diagonals: Tensor, offsets: Any, shape: Any, layout: Any = None) -> Any:
    """A sparse matrix with these diagonals: row ``k`` of ``diagonals`` at ``offsets[k]``.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.sparse.spdiags(dt.ones(1, 3), dt.tensor([1]), (2, 3)).to_dense()
    tensor([[0., 1., 0.],
            [0., 0., 1.]])
    """
    given = diagonals if diagonals.ndim == 2 else diagonals.reshape(1, -1)
    shifts = np.atleast_1d(np.asarray(raw(as_tensor(offsets))))
    if diagonals.ndim > 2 or shifts.shape != (given.shape[0],) or shifts.dtype.kind not in "iu" or len(shape) != 2:
        raise RuntimeError(
            f"spdiags: expected a matrix of diagonals, an integer offset for each and a shape of two numbers, got"
            f" {list(diagonals.shape)}, {shifts.tolist()} and {tuple(shape)}"
        )
    if len(set(shifts.tolist())) < shifts.size:
        raise RuntimeError(f"spdiags: offset tensor contains duplicate values: {shifts.tolist()}")
    columns = np.arange(given.shape[1])
    number, column = (part.reshape(-1) for part in np.meshgrid(np.arange(shifts.size), columns, indexing="ij"))
    row = column - shifts[number]
    kept = np.flatnonzero((row >= 0) & (row < shape[0]) & (column < shape[1]))
    values = given[number[kept], column[kept]]
    return to_layout(sparse_of(np.stack([row[kept], column[kept]]), values, tuple(shape), False), layout)


class Spsolve(Function):
    """``x`` with ``a @ x = b``."""

    @staticmethod
    def forward(ctx: Any, a: Any, b: Any) -> Any:
        found = scipy_sparse_linalg.splu(matrix(a).tocsc()).solve(b._array)
        solution = wrap(found.astype(b._array.dtype, copy=False))
        ctx.save_for_backward(a, solution)
        return solution

    @staticmethod
    def backward(ctx: Any, g: Any) -> tuple:
        a, x = ctx.saved_tensors
        of_a, _ = ctx.needs_input_grad
        of_b = Spsolve.apply(a.conj().t(), g)
        if not of_a:
            return None, of_b
        left, right = (of_b, x) if x.ndim == 2 else (of_b.unsqueeze(1), x.unsqueeze(1))
        return _at_pattern(a, -_sampled(*_pattern(a), left, right.conj().t())), of_b


def spsolve(input: Any, other: Tensor, *, left: bool = True) -> Tensor:
    """The solution ``x`` of ``input @ x = other`` for a sparse square matrix.

    Parameters
    ----------
    input : Tensor
        Square and sparse.
    other : Tensor
        A vector; a matrix is solved column by column.
    left : bool
        If False: of ``x @ input = other``.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.sparse.spsolve((2 * dt.eye(2)).to_sparse_csr(), dt.tensor([2.0, 6.0]))
    tensor([1., 3.])
    """
    if not isinstance(input, SparseLayout) or input.ndim != 2 or input.shape[0] != input.shape[1]:
        raise RuntimeError(f"spsolve: expected a sparse square matrix, got {list(input.shape)} {input.layout!r}")
    if input.dtype != other.dtype or input._array.dtype.kind not in "fc":
        raise RuntimeError(f"spsolve: expected one floating-point dtype, got {input.dtype} and {other.dtype}")
    if not 1 <= other.ndim <= 2 or other.shape[0 if left or other.ndim == 1 else 1] != input.shape[0]:
        raise RuntimeError(f"spsolve: {list(other.shape)} does not fit a matrix of {list(input.shape)}")
    if left:
        return Spsolve.apply(input, other)
    turned = other.t() if other.ndim == 2 else other
    found = Spsolve.apply(input.t(), turned)
    return found.t() if other.ndim == 2 else found


def masked(x: Any, mask: Any) -> Any:
    """The entries of ``x`` at the indices of a sparse tensor, in its layout."""
    if not isinstance(mask, SparseLayout):
        raise TypeError(f"sparse_mask(): argument 'mask' must be a sparse tensor, got {type(mask).__name__}")
    if x.shape != mask.shape:
        raise RuntimeError(
            f"sparse_mask(): operands have incompatible sizes; self has size {list(x.shape)} but mask has size"
            f" {list(mask.shape)}"
        )
    if isinstance(mask, CompressedTensor):
        rows, columns = places(mask._parts, mask._kind)
        values: Any = at(x, np.stack([rows.reshape(-1), columns.reshape(-1)]))
        return compressed_of(mask._parts, values.reshape(rows.shape), x.shape, mask._kind)
    entries: Any = mask
    return sparse_of(entries._entries[0], at(x, entries._entries[0]), x.shape, entries._sorted)


def hspmm(mat1: Any, mat2: Tensor) -> SparseTensor:
    """A sparse matrix times a dense one, as a sparse tensor of dense rows: those where ``mat1`` has entries.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.hspmm(dt.sparse_coo_tensor([[1], [0]], [2.0], (3, 2)), dt.ones(2, 2))
    tensor(indices=tensor([[1]]),
           values=tensor([[2., 2.]]),
           size=(3, 2), nnz=1, layout=dualtape.sparse_coo)
    """
    rows, values, shape = _product_rows("hspmm", mat1, mat2)
    return sparse_of(rows[None], values, shape, False)


def _product_rows(name: str, x: Any, y: Tensor) -> tuple[np.ndarray, Any, tuple]:
    """Return the rows of a product in which the sparse matrix has entries, their values, and the shape of the whole."""
    dense: Any = mm(_coordinates(name, x), y)
    rows = np.unique(x._entries[0][0])
    return rows, dense[rows], dense.shape


def smm(input: Any, mat2: Tensor) -> SparseTensor:
    """A sparse matrix times a dense one, as a sparse matrix.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.smm(dt.eye(2).to_sparse(), dt.ones(2, 1)).to_dense()
    tensor([[1.],
            [1.]])
    """
    rows, values, shape = _product_rows("smm", input, mat2)
    indices = np.stack([np.repeat(rows, shape[1]), np.tile(np.arange(shape[1]), rows.size)])
    return sparse_of(indices, values.reshape(-1), shape, False)


def sspaddmm(input: Any, mat1: Any, mat2: Tensor, *, beta: Any = 1, alpha: Any = 1) -> SparseTensor:
    """``beta * input + alpha * (mat1 @ mat2)``, where ``input``, ``mat1`` and the result are sparse.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.sspaddmm(dt.eye(2).to_sparse(), dt.eye(2).to_sparse(), dt.ones(2, 2), alpha=2).to_dense()
    tensor([[3., 2.],
            [2., 3.]])
    """
    return _coordinates("sspaddmm", input) * beta + smm(mat1, mat2) * alpha
