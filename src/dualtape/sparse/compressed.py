"""Compressed sparse matrices by rows or columns, of numbers or blocks: CSR, CSC, BSR, BSC.

A compressed tensor computes in coordinate form: below autograd it becomes a :class:`SparseTensor`, and the results get
its layout again. Gradients have the layout of their tensor, or are dense.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import numpy as np

from .._tensor import dtypes
from .._tensor.copying import copied_leaf
from .._tensor.creation import as_tensor
from .._tensor.device import layout as Layout
from .._tensor.device import sparse_bsc, sparse_bsr, sparse_coo, sparse_csc, sparse_csr
from .._tensor.tensor import Tensor, raw, wrap
from ..arrays import Absent
from ..arrays.bfloat16_dtype import made
from ..autograd.function import Function
from ..overrides.subclass import of_class
from . import invariants
from .coo import COMPOSITES, OPS, ZERO_KEEPING, SparseTensor, at, from_dense, in_place, make_sparse
from .layouts import SparseLayout, no_other_memory, sparse_repr, without_asking

_BY_ROWS, _BLOCKS = {sparse_csr, sparse_bsr}, {sparse_bsr, sparse_bsc}
_TURNED = {sparse_csr: sparse_csc, sparse_csc: sparse_csr, sparse_bsr: sparse_bsc, sparse_bsc: sparse_bsr}
# PyTorch has these of coordinates; a compressed tensor has to be converted first
_COORDINATES_ALONE = {"index_select", "narrow_copy", "unsqueeze", "bmm"}
_TURNS, _PRODUCTS = {"t", "transpose", "permute"}, {"matmul", "mm", "addmm"}


class CompressedTensor(SparseLayout):
    """A sparse matrix by rows (CSR, BSR) or columns (CSC, BSC): their offsets, the indices in them, the values.

    Made by :func:`sparse_csr_tensor` and the functions of the other layouts, and by ``to_sparse_csr()``.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.tensor([[0.0, 1.0], [2.0, 0.0]]).to_sparse_csr()
    tensor(crow_indices=tensor([0, 1, 2]),
           col_indices=tensor([1, 0]),
           values=tensor([1., 2.]), size=(2, 2), nnz=2, layout=dualtape.sparse_csr)
    """

    _parts: tuple[np.ndarray, np.ndarray, np.ndarray]
    _kind: Layout
    _parts_held = ("_parts", "_kind")
    _never_turned = True

    @property
    def layout(self) -> Any:
        return self._kind

    @property
    def is_sparse_csr(self) -> bool:
        return self._kind is sparse_csr

    def _index(self, name: str) -> Tensor:
        compressed, plain = _index_names(self._kind)
        if name not in (compressed, plain):
            raise RuntimeError(f"{name}: a {self._kind!r} tensor has {compressed} and {plain}")
        return wrap(self._parts[0] if name == compressed else self._parts[1])

    def crow_indices(self) -> Tensor:
        return self._index("crow_indices")

    def col_indices(self) -> Tensor:
        return self._index("col_indices")

    def ccol_indices(self) -> Tensor:
        return self._index("ccol_indices")

    def row_indices(self) -> Tensor:
        return self._index("row_indices")

    def values(self) -> Tensor:
        return CompressedValues.apply(self) if self.requires_grad else wrap(self._parts[2])

    def _nnz(self) -> int:
        return self._parts[1].size

    def sparse_dim(self) -> int:
        return 2

    def dense_dim(self) -> int:
        return 0

    def _coordinates(self) -> SparseTensor:
        """Return the same entries in coordinate form, without history."""
        indices = np.stack([place.reshape(-1) for place in places(self._parts, self._kind)])
        values = self._parts[2].reshape(-1)
        return make_sparse(indices, values, self._array.shape, False)._added_up()

    def to_sparse_coo(self) -> Any:
        return to_layout(self, sparse_coo)

    def to_dense(self, dtype: Any = None, *, masked_grad: Any = None) -> Tensor:
        return self.to_sparse_coo().to_dense(dtype, masked_grad=masked_grad)

    def detach(self) -> Any:
        return make_compressed(self._parts, self._array.shape, self._kind)

    def stride(self, dim: int | None = None) -> Any:
        raise RuntimeError(f"{self._kind!r} tensors do not have strides")

    def is_contiguous(self, memory_format: Any = None) -> bool:
        raise RuntimeError(f"{self._kind!r} tensors do not have is_contiguous")

    def __repr__(self, *, tensor_contents: str | None = None) -> str:  # type: ignore[override]
        return sparse_repr(
            self, dict(zip((*_index_names(self._kind), "values"), self._parts, strict=True)), self._nnz()
        )

    def __deepcopy__(self, memo: dict) -> Any:
        return copied_leaf(self, memo, lambda: self._copied(memo).requires_grad_(self.requires_grad))

    def _no_entries(self) -> CompressedTensor:
        """Return zeros of the same shape, dtype and layout."""
        compressed, plain, values = self._parts
        return make_compressed((np.zeros_like(compressed), plain[:0], values[:0]), self._array.shape, self._kind)

    def _copied(self, memo: dict) -> CompressedTensor:
        return make_compressed(copy.deepcopy(self._parts, memo), self._array.shape, self._kind)

    def __reduce_ex__(self, protocol: Any) -> tuple:
        return (_unpickled, (self._parts, self._array.shape, self._kind.name, self.requires_grad))

    @classmethod
    def __torch_function__(cls, func: Callable, types: tuple, args: tuple = (), kwargs: dict | None = None) -> Any:
        x: Any = args[0] if args else None
        name = getattr(func, "__name__", "")
        if name in COMPOSITES and name not in _COORDINATES_ALONE:
            return COMPOSITES[name](*args, **(kwargs or {}))
        applies = name in ZERO_KEEPING and isinstance(x, CompressedTensor)
        if applies and x.requires_grad:
            return compressed_of(x._parts, func(x.values(), *args[1:], **(kwargs or {})), x.shape, x._kind)
        return without_asking(func, types, args, kwargs)

    @classmethod
    def __torch_dispatch__(cls, func: Callable, types: tuple, args: tuple = (), kwargs: dict | None = None) -> Any:
        name = getattr(func, "__name__", "")
        first = next((a for a in args if isinstance(a, CompressedTensor)), None)
        if first is None:  # it is in a list
            raise NotImplementedError(f"Could not run '{name}' on compressed tensors: call to_dense() first")
        plain = [a._coordinates() if isinstance(a, CompressedTensor) else a for a in args]
        if name == "add" and plain[0] is not args[0] and isinstance(plain[1], Tensor) and plain[1] is args[1]:
            alpha = args[2] if len(args) > 2 else 1
            plain = [plain[1] if alpha == 1 else plain[1] * alpha, plain[0]]
        result = SparseTensor.__torch_dispatch__(func, types, tuple(plain), kwargs)
        if not isinstance(result, SparseTensor) or result.ndim != 2:
            return result
        found = compress(result, _result_layout(name, first._kind), first._blocksize())
        if (name.endswith("_") and name in OPS or in_place(name)) and args[0] is first:
            first._parts = found._parts
            return first
        return found

    def _blocksize(self) -> tuple:
        return self._parts[2].shape[1:]


def _result_layout(name: str, kind: Layout) -> Layout:
    """Return the layout of an operation's result for tensors of layout ``kind``: products of CSC matrices are CSR."""
    if name in _PRODUCTS and kind is sparse_csc:
        return sparse_csr
    return _TURNED[kind] if name in _TURNS else kind


def _index_names(kind: Layout) -> tuple[str, str]:
    return ("crow_indices", "col_indices") if kind in _BY_ROWS else ("ccol_indices", "row_indices")


def places(parts: tuple, kind: Layout) -> tuple[np.ndarray, np.ndarray]:
    """Return the row and the column of each value, in the shape of the values."""
    compressed, plain, values = parts
    major = np.repeat(np.arange(compressed.size - 1), np.diff(compressed))
    row, column = (major, plain) if kind in _BY_ROWS else (plain, major)
    if kind not in _BLOCKS:
        return row, column
    height, width = values.shape[1:]
    rows = row[:, None, None] * height + np.arange(height)[:, None]
    columns = column[:, None, None] * width + np.arange(width)
    return np.broadcast_to(rows, values.shape), np.broadcast_to(columns, values.shape)


def make_compressed(parts: tuple, shape: tuple, kind: Layout) -> CompressedTensor:
    """Return a compressed tensor over these arrays, without checks."""
    tensor: Any = of_class(wrap(Absent(shape, parts[2].dtype)), CompressedTensor)
    tensor._parts, tensor._kind = parts, kind
    return tensor


def _unpickled(parts: tuple, shape: tuple, kind: str, requires_grad: bool) -> Any:
    return make_compressed(parts, shape, _named(kind)).requires_grad_(requires_grad)


def _named(kind: str) -> Layout:
    return next(layout for layout in _TURNED if layout.name == kind)


def compressed_of(parts: tuple, values: Tensor, shape: tuple, kind: Layout) -> CompressedTensor:
    """Return a compressed tensor with the indices of ``parts`` and these values, with their history."""
    if values.requires_grad:
        return SparseCompressedTensor.apply(values, parts[:2], tuple(shape), kind)
    return make_compressed((*parts[:2], values._array), tuple(shape), kind)


def compress(x: SparseTensor, kind: Layout, blocksize: tuple = ()) -> CompressedTensor:
    """Return a sparse matrix of coordinates in a compressed layout, without history."""
    x = x.coalesce()
    (rows, columns), values, shape = x._entries[0], x._entries[1], x._array.shape
    height, width = blocksize or (1, 1)
    major, minor = rows // height, columns // width
    count, length = shape[0] // height, shape[1] // width
    if kind not in _BY_ROWS:
        major, minor, count, length = minor, major, length, count
    found, inverse = np.unique(major * length + minor, return_inverse=True)
    blocks = made(np.zeros, (found.size, height, width), values.dtype)
    blocks[inverse, rows % height, columns % width] = values
    begins = np.concatenate([[0], np.cumsum(np.bincount(found // max(length, 1), minlength=count))]).astype(np.int64)
    parts = (begins, found % max(length, 1), blocks if kind in _BLOCKS else blocks.reshape(-1))
    return make_compressed(parts, shape, kind)


def to_layout(x: Tensor, kind: Any, blocksize: Any = None) -> Any:
    """Return ``x``, dense or sparse, in a sparse layout, with history."""
    kind = sparse_coo if kind is None else kind
    if kind is not sparse_coo and kind not in _TURNED:
        raise RuntimeError(f"to_sparse: expected a sparse layout, got {kind!r}")
    if (blocksize is not None) != (kind in _BLOCKS):
        raise RuntimeError(f"to_sparse: layout {kind!r} takes {'a' if kind in _BLOCKS else 'no'} blocksize")
    sparse: Any = x if isinstance(x, SparseLayout) else from_dense(x)
    if sparse.layout is kind and (blocksize is None or tuple(blocksize) == sparse._blocksize()):
        return sparse
    if kind in _TURNED:
        if sparse.ndim != 2 or sparse.dense_dim():
            raise NotImplementedError(
                f"compressed tensors are matrices here: got {sparse.sparse_dim()} sparse and {sparse.dense_dim()} dense"
                " dimensions"
            )
        if blocksize is not None and (len(blocksize) != 2 or any(n % b for n, b in zip(x.shape, blocksize))):  # noqa: B905
            raise RuntimeError(f"to_sparse: blocks of {tuple(blocksize)} do not fill a matrix of {tuple(x.shape)}")
    block = () if blocksize is None else tuple(blocksize)
    return Convert.apply(sparse, kind, block) if sparse.requires_grad else _converted(sparse, kind, block)


def _converted(x: Any, kind: Layout, block: tuple) -> Any:
    coordinates = x._coordinates() if isinstance(x, CompressedTensor) else x
    return coordinates if kind is sparse_coo else compress(coordinates, kind, block)


class Convert(Function):
    """The conversion from one sparse layout to another."""

    @staticmethod
    def forward(ctx: Any, x: Any, kind: Layout, block: tuple) -> Any:
        ctx.before = x.layout, (x._blocksize() or None) if isinstance(x, CompressedTensor) else None
        return _converted(x, kind, block)

    @staticmethod
    def backward(ctx: Any, g: Any) -> tuple:
        return to_layout(g, *ctx.before) if isinstance(g, SparseLayout) else g, None, None


class SparseCompressedTensor(Function):
    """The creation of a compressed tensor from its values."""

    @staticmethod
    def forward(ctx: Any, values: Any, indices: tuple, shape: tuple, kind: Layout) -> Any:
        ctx.places = places((*indices, values._array), kind)
        return make_compressed((*indices, values._array), shape, kind)

    @staticmethod
    def backward(ctx: Any, g: Any) -> tuple:
        rows, columns = ctx.places
        return at(g, np.stack([rows.reshape(-1), columns.reshape(-1)])).reshape(rows.shape), None, None, None


class CompressedValues(Function):
    """The values of a compressed tensor."""

    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        ctx.indices, ctx.size, ctx.kind = x._parts[:2], x._array.shape, x._kind
        return wrap(x._parts[2])

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        return compressed_of(ctx.indices, g, ctx.size, ctx.kind)


def sparse_compressed_tensor(
    compressed_indices: Any,
    plain_indices: Any,
    values: Any,
    size: Any = None,
    *,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    pin_memory: bool = False,
    requires_grad: bool = False,
    check_invariants: bool | None = None,
) -> CompressedTensor:
    """A sparse matrix by rows or columns, as ``layout`` says.

    Parameters
    ----------
    compressed_indices : Tensor or sequence
        Where the entries of each row (or column) begin, and the number of all at the end.
    plain_indices : Tensor or sequence
        The column (or row) of each entry.
    values : Tensor or nested sequence
        The entries: numbers, or for ``sparse_bsr`` and ``sparse_bsc`` blocks.
    size : pair of int, optional
        Default: the smallest that contains the indices.
    layout : layout
        ``sparse_csr``, ``sparse_csc``, ``sparse_bsr`` or ``sparse_bsc``.
    check_invariants : bool, optional
        Whether the order of the indices is checked; default: as :class:`check_sparse_tensor_invariants` says.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.sparse_compressed_tensor([0, 1, 2], [1, 0], [3.0, 4.0], layout=dt.sparse_csc).to_dense()
    tensor([[0., 4.],
            [3., 0.]])
    """
    if layout not in _TURNED:
        raise RuntimeError(f"sparse_compressed_tensor expected sparse compressed tensor layout but got {layout!r}")
    no_other_memory(device, pin_memory)
    name = layout.name
    entries = as_tensor(values, dtype=dtype)
    if requires_grad:
        entries = entries.detach()
    compressed, plain = (_indices(name, given) for given in (compressed_indices, plain_indices))
    if entries.ndim != (3 if layout in _BLOCKS else 1) or compressed.ndim != 1 or plain.ndim != 1:
        raise NotImplementedError(
            f"a {name} tensor is a matrix here, without batch or dense dimensions: expected two vectors of indices and"
            f" values of {3 if layout in _BLOCKS else 1} dimensions, got {compressed.ndim}, {plain.ndim} and"
            f" {entries.ndim}"
        )
    if entries.shape[0] != plain.size:
        raise RuntimeError(f"{name}: {plain.size} indices for {entries.shape[0]} values")
    height, width = entries.shape[1:] or (1, 1)
    by_rows = layout in _BY_ROWS
    if size is None:
        counts = [max(compressed.size - 1, 0), int(plain.max(initial=-1)) + 1]
        size = np.multiply(counts if by_rows else counts[::-1], (height, width)).tolist()
    shape = tuple(int(n) for n in size)
    if len(shape) != 2 or shape[0] % height or shape[1] % width:
        raise RuntimeError(f"{name}: blocks of {(height, width)} do not fill a matrix of {shape}")
    rows, columns = shape[0] // height, shape[1] // width
    lines, length = (rows, columns) if by_rows else (columns, rows)
    invariants.check_compressed(name, compressed, plain, lines, length, check_invariants)
    tensor = compressed_of((compressed, plain), entries, shape, layout)
    return tensor.requires_grad_() if requires_grad else tensor  # type: ignore[return-value]


def _indices(name: str, given: Any) -> np.ndarray:
    array = np.asarray(raw(as_tensor(given)))
    if array.dtype.kind not in "iu" and array.size:
        raise RuntimeError(f"the indices of a {name} tensor must be integers, got {dtypes.of(array.dtype)!r}")
    return array.astype(np.int64, copy=False)


def sparse_csr_tensor(
    crow_indices: Any,
    col_indices: Any,
    values: Any,
    size: Any = None,
    *,
    dtype: Any = None,
    device: Any = None,
    pin_memory: bool = False,
    requires_grad: bool = False,
    check_invariants: bool | None = None,
) -> CompressedTensor:
    """A sparse matrix by rows, of numbers: :func:`sparse_compressed_tensor` in the layout ``sparse_csr``.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.sparse_csr_tensor([0, 1, 2], [1, 0], [3.0, 4.0]).to_dense()
    tensor([[0., 3.],
            [4., 0.]])
    """
    return sparse_compressed_tensor(
        crow_indices,
        col_indices,
        values,
        size,
        layout=sparse_csr,
        dtype=dtype,
        device=device,
        pin_memory=pin_memory,
        requires_grad=requires_grad,
        check_invariants=check_invariants,
    )


def sparse_csc_tensor(
    ccol_indices: Any,
    row_indices: Any,
    values: Any,
    size: Any = None,
    *,
    dtype: Any = None,
    device: Any = None,
    pin_memory: bool = False,
    requires_grad: bool = False,
    check_invariants: bool | None = None,
) -> CompressedTensor:
    """A sparse matrix by columns, of numbers: :func:`sparse_compressed_tensor` in the layout ``sparse_csc``.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.sparse_csc_tensor([0, 1, 2], [1, 0], [3.0, 4.0]).to_dense()
    tensor([[0., 4.],
            [3., 0.]])
    """
    return sparse_compressed_tensor(
        ccol_indices,
        row_indices,
        values,
        size,
        layout=sparse_csc,
        dtype=dtype,
        device=device,
        pin_memory=pin_memory,
        requires_grad=requires_grad,
        check_invariants=check_invariants,
    )


def sparse_bsr_tensor(
    crow_indices: Any,
    col_indices: Any,
    values: Any,
    size: Any = None,
    *,
    dtype: Any = None,
    device: Any = None,
    pin_memory: bool = False,
    requires_grad: bool = False,
    check_invariants: bool | None = None,
) -> CompressedTensor:
    """A sparse matrix by rows, of blocks: :func:`sparse_compressed_tensor` in the layout ``sparse_bsr``.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.sparse_bsr_tensor([0, 1, 2], [1, 0], [[[1.0, 2.0]], [[3.0, 4.0]]]).to_dense()
    tensor([[0., 0., 1., 2.],
            [3., 4., 0., 0.]])
    """
    return sparse_compressed_tensor(
        crow_indices,
        col_indices,
        values,
        size,
        layout=sparse_bsr,
        dtype=dtype,
        device=device,
        pin_memory=pin_memory,
        requires_grad=requires_grad,
        check_invariants=check_invariants,
    )


def sparse_bsc_tensor(
    ccol_indices: Any,
    row_indices: Any,
    values: Any,
    size: Any = None,
    *,
    dtype: Any = None,
    device: Any = None,
    pin_memory: bool = False,
    requires_grad: bool = False,
    check_invariants: bool | None = None,
) -> CompressedTensor:
    """A sparse matrix by columns, of blocks: :func:`sparse_compressed_tensor` in the layout ``sparse_bsc``.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.sparse_bsc_tensor([0, 1, 2], [1, 0], [[[1.0, 2.0]], [[3.0, 4.0]]]).to_dense()
    tensor([[0., 0., 3., 4.],
            [1., 2., 0., 0.]])
    """
    return sparse_compressed_tensor(
        ccol_indices,
        row_indices,
        values,
        size,
        layout=sparse_bsc,
        dtype=dtype,
        device=device,
        pin_memory=pin_memory,
        requires_grad=requires_grad,
        check_invariants=check_invariants,
    )
