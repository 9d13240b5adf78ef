"""Conversions between dense and sparse layouts, and the sparse methods of dense tensors."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from .._typing import DTypeLike
from .device import sparse_bsc, sparse_bsr, sparse_coo, sparse_csc, sparse_csr

if TYPE_CHECKING:
    from collections.abc import Sequence

    from .._typing import Layout, Number
    from .tensor import Tensor

_SPARSE_ONLY = {  # what it is for, an example
    "coalesce": ("coordinate ", "to_sparse().coalesce().values()", "tensor([1., 1.])"),
    "is_coalesced": ("coordinate ", "to_sparse().is_coalesced()", "True"),
    "indices": ("coordinate ", "to_sparse().indices().tolist()", "[[0, 1], [0, 1]]"),
    "values": ("", "to_sparse().values()", "tensor([1., 1.])"),
    "crow_indices": ("row compressed ", "to_sparse_csr().crow_indices()", "tensor([0, 1, 2])"),
    "col_indices": ("row compressed ", "to_sparse_csr().col_indices()", "tensor([0, 1])"),
    "ccol_indices": ("column compressed ", "to_sparse_csc().ccol_indices()", "tensor([0, 1, 2])"),
    "row_indices": ("column compressed ", "to_sparse_csc().row_indices()", "tensor([0, 1])"),
}


class Layouts:
    """The layout methods of Tensor."""

    __slots__ = ()

    def to_dense(self: Any, dtype: DTypeLike | None = None, *, masked_grad: bool | None = None) -> Any:
        """The tensor itself, or in another dtype: it is dense already.

        Examples
        --------
        >>> import dualtape as dt
        >>> dt.ones(2).to_dense()
        tensor([1., 1.])
        """
        return self if dtype is None else self.to(dtype)

    def to_sparse(
        self: Any,
        sparse_dim: int | None = None,
        *,
        layout: Layout | None = None,
        blocksize: Sequence[int] | None = None,
    ) -> Any:
        """The entries that are not zero, with their indices.

        Parameters
        ----------
        sparse_dim : int, optional
            How many dimensions have indices; default: all.
        layout : layout
            Default: ``sparse_coo``.
        blocksize : pair of int
            For ``sparse_bsr`` and ``sparse_bsc``.

        Examples
        --------
        >>> import dualtape as dt
        >>> dt.tensor([0.0, 3.0]).to_sparse().indices()
        tensor([[1]])
        """
        if sparse_dim is not None and not isinstance(sparse_dim, int):
            raise TypeError(f"to_sparse(): argument 'sparse_dim' must be int, not {type(sparse_dim).__name__}")
        if sparse_dim is not None and (layout is not None or blocksize is not None):
            raise RuntimeError("to_sparse: takes sparse_dim, or layout and blocksize, not both")
        from ..sparse import compressed, coo

        if sparse_dim is not None:
            return coo.from_dense(self, sparse_dim)
        return compressed.to_layout(self, layout, blocksize)

    def to_sparse_coo(self: Any) -> Any:
        """The entries that are not zero, in coordinate form.

        Examples
        --------
        >>> import dualtape as dt
        >>> dt.tensor([0.0, 3.0]).to_sparse_coo().values()
        tensor([3.])
        """
        return self.to_sparse(layout=sparse_coo)

    def to_sparse_csr(self: Any, dense_dim: int | None = None) -> Any:
        """A matrix's entries that are not zero, by rows.

        Examples
        --------
        >>> import dualtape as dt
        >>> dt.tensor([[0.0, 3.0], [1.0, 2.0]]).to_sparse_csr().crow_indices()
        tensor([0, 1, 3])
        """
        return _compressed(self, sparse_csr, None, dense_dim)

    def to_sparse_csc(self: Any, dense_dim: int | None = None) -> Any:
        """A matrix's entries that are not zero, by columns.

        Examples
        --------
        >>> import dualtape as dt
        >>> dt.tensor([[0.0, 3.0], [1.0, 2.0]]).to_sparse_csc().values()
        tensor([1., 3., 2.])
        """
        return _compressed(self, sparse_csc, None, dense_dim)

    def to_sparse_bsr(self: Any, blocksize: Sequence[int], dense_dim: int | None = None) -> Any:
        """A matrix's blocks that are not zero, by rows.

        Examples
        --------
        >>> import dualtape as dt
        >>> dt.eye(4).to_sparse_bsr((2, 2)).values().shape
        dualtape.Size([2, 2, 2])
        """
        return _compressed(self, sparse_bsr, blocksize, dense_dim)

    def to_sparse_bsc(self: Any, blocksize: Sequence[int], dense_dim: int | None = None) -> Any:
        """A matrix's blocks that are not zero, by columns.

        Examples
        --------
        >>> import dualtape as dt
        >>> dt.eye(4).to_sparse_bsc((2, 2)).row_indices()
        tensor([0, 1])
        """
        return _compressed(self, sparse_bsc, blocksize, dense_dim)

    def sparse_mask(self: Any, mask: Tensor) -> Any:
        """The entries at the indices of a sparse tensor, in its layout.

        Examples
        --------
        >>> import dualtape as dt
        >>> dt.tensor([[1.0, 2.0], [3.0, 4.0]]).sparse_mask(dt.eye(2).to_sparse()).values()
        tensor([1., 4.])
        """
        from ..sparse import functions

        return functions.masked(self, mask)

    def sparse_dim(self: Any) -> int:
        """The number of dimensions that have indices.

        Examples
        --------
        >>> import dualtape as dt
        >>> dt.ones(2, 3).sparse_dim(), dt.ones(2, 3).to_sparse().sparse_dim()
        (0, 2)
        """
        return 0

    def dense_dim(self: Any) -> int:
        """The number of dimensions that have no indices.

        Examples
        --------
        >>> import dualtape as dt
        >>> dt.ones(2, 3).dense_dim(), dt.ones(2, 3).to_sparse(1).dense_dim()
        (2, 1)
        """
        return self.ndim

    def smm(self: Any, mat2: Tensor) -> Any:
        """:func:`dualtape.smm` of a sparse matrix and ``mat2``.

        Examples
        --------
        >>> import dualtape as dt
        >>> dt.eye(2).to_sparse().smm(dt.ones(2, 1)).to_dense().tolist()
        [[1.0], [1.0]]
        """
        from ..sparse import functions

        return functions.smm(self, mat2)

    def sspaddmm(self: Any, mat1: Tensor, mat2: Tensor, *, beta: Number = 1, alpha: Number = 1) -> Any:
        """:func:`dualtape.sspaddmm` of a sparse matrix, and a sparse and a dense one.

        Examples
        --------
        >>> import dualtape as dt
        >>> x = dt.eye(2).to_sparse()
        >>> x.sspaddmm(x, dt.ones(2, 2)).to_dense()
        tensor([[2., 1.],
                [1., 2.]])
        """
        from ..sparse import functions

        return functions.sspaddmm(self, mat1, mat2, beta=beta, alpha=alpha)


def _compressed(tensor: Tensor, layout: Layout | None, blocksize: Sequence[int] | None, dense_dim: int | None) -> Any:
    if dense_dim not in (None, 0):
        raise NotImplementedError(f"compressed tensors are matrices of numbers here, got dense_dim={dense_dim}")
    return tensor.to_sparse(layout=layout, blocksize=blocksize)


_DOC = """``{name}`` of a sparse {wanted}tensor.

        Examples
        --------
        >>> import dualtape as dt
        >>> dt.eye(2).{example}
        {shown}
        """


def _refusal(name: str, wanted: str, example: str, shown: str) -> Callable:
    """Return the method of a dense tensor that only a sparse one has: it raises."""

    def method(self: Tensor) -> Any:
        raise RuntimeError(f"{name} expected sparse {wanted}tensor layout but got {self.layout!r}")

    method.__name__, method.__qualname__ = name, f"Tensor.{name}"
    method.__doc__ = _DOC.format(name=name, wanted=wanted, example=example, shown=shown)
    return method


for _name, _parts in _SPARSE_ONLY.items():
    setattr(Layouts, _name, _refusal(_name, *_parts))
