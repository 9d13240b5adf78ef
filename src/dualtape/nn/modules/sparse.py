"""Embeddings: rows of a table by index; and sums, means or maxima of bags of them."""

from __future__ import annotations

from typing import Any

from ..._tensor.shaped import empty
from ..._tensor.tensor import Tensor
from ...modes import no_grad
from .. import functional as F
from .. import init
from ..parameter import Parameter
from .module import Module

__all__ = ["Embedding", "EmbeddingBag"]


class _Table(Module):
    """A weight with a row for each index, of which one may be padding: initially zero, and without a gradient."""

    num_embeddings: int
    embedding_dim: int
    padding_idx: int | None
    weight: Any

    def _dt_make_table(
        self,
        num_embeddings: int,
        embedding_dim: int,
        padding_idx: int | None,
        weight: Any,
        freeze: bool,
        device: Any,
        dtype: Any,
    ) -> None:
        if padding_idx is not None:
            if not -num_embeddings <= padding_idx < num_embeddings:
                raise AssertionError(f"padding_idx must be within num_embeddings: {padding_idx} and {num_embeddings}")
            padding_idx %= num_embeddings
        self.num_embeddings, self.embedding_dim, self.padding_idx = num_embeddings, embedding_dim, padding_idx
        if weight is None:
            made = empty((num_embeddings, embedding_dim), device=device, dtype=dtype)
            self.weight = Parameter(made, requires_grad=not freeze)
            self.reset_parameters()
        else:
            if list(weight.shape) != [num_embeddings, embedding_dim]:
                raise AssertionError(
                    "Shape of weight does not match num_embeddings and embedding_dim:"
                    f" {list(weight.shape)} and {[num_embeddings, embedding_dim]}"
                )
            self.weight = Parameter(weight, requires_grad=not freeze)

    def reset_parameters(self) -> None:
        """Draw the rows normally; that of the padding becomes zero."""
        init.normal_(self.weight)
        if self.padding_idx is not None:
            with no_grad():
                self.weight[self.padding_idx].fill_(0)


def _check_pretrained(embeddings: Any) -> tuple[int, int]:
    if embeddings.dim() != 2:
        raise AssertionError(f"Embeddings parameter is expected to be 2-dimensional, got {embeddings.dim()} dimensions")
    return tuple(embeddings.shape)


class Embedding(_Table):
    """The rows of a table at given indices.

    Parameters
    ----------
    num_embeddings, embedding_dim : int
        The number of rows, and their size.
    padding_idx : int, optional
        A row that begins as zero and has no gradient.
    max_norm : float, optional
        Rows that are used and longer than this, in the norm ``norm_type``, are shortened in place.
    scale_grad_by_freq : bool
        Divide the gradient of a row by how often it was used.
    sparse : bool
        The gradient of the table is a sparse tensor.

    Examples
    --------
    >>> import dualtape as dt
    >>> table = dt.nn.Embedding(10, 3)
    >>> table(dt.tensor([[1, 2], [4, 3]])).shape
    dualtape.Size([2, 2, 3])
    """

    __constants__ = [
        "num_embeddings",
        "embedding_dim",
        "padding_idx",
        "max_norm",
        "norm_type",
        "scale_grad_by_freq",
        "sparse",
    ]

    def __init__(
        self,
        num_embeddings: int,
        embedding_dim: int,
        padding_idx: int | None = None,
        max_norm: float | None = None,
        norm_type: float = 2.0,
        scale_grad_by_freq: bool = False,
        sparse: bool = False,
        _weight: Any = None,
        _freeze: bool = False,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        self.max_norm, self.norm_type = max_norm, norm_type
        self.scale_grad_by_freq, self.sparse = scale_grad_by_freq, sparse
        self._dt_make_table(num_embeddings, embedding_dim, padding_idx, _weight, _freeze, device, dtype)

    def forward(self, input: Tensor) -> Tensor:
        return F.embedding(
            input, self.weight, self.padding_idx, self.max_norm, self.norm_type, self.scale_grad_by_freq, self.sparse
        )

    def extra_repr(self) -> str:
        shown = f"{self.num_embeddings}, {self.embedding_dim}"
        shown += f", padding_idx={self.padding_idx}" if self.padding_idx is not None else ""
        shown += f", max_norm={self.max_norm}" if self.max_norm is not None else ""
        shown += f", norm_type={self.norm_type}" if self.norm_type != 2 else ""
        shown += f", scale_grad_by_freq={self.scale_grad_by_freq}" if self.scale_grad_by_freq else ""
        return shown + (", sparse=True" if self.sparse else "")

    @classmethod
    def from_pretrained(
        cls,
        embeddings: Any,
        freeze: bool = True,
        padding_idx: int | None = None,
        max_norm: float | None = None,
        norm_type: float = 2.0,
        scale_grad_by_freq: bool = False,
        sparse: bool = False,
    ) -> Embedding:
        """An embedding over a given table, which is learned unless it is frozen."""
        rows, columns = _check_pretrained(embeddings)
        return cls(rows, columns, padding_idx, max_norm, norm_type, scale_grad_by_freq, sparse, embeddings, freeze)


class EmbeddingBag(_Table):
    """The sum, mean or maximum of the rows of each bag of indices.

    Parameters
    ----------
    num_embeddings, embedding_dim, max_norm, norm_type, scale_grad_by_freq, sparse, padding_idx
        As of :class:`Embedding`; padding is not part of a bag.
    mode : str
        ``"sum"``, ``"mean"`` or ``"max"``.
    include_last_offset : bool
        The offsets end with the end of the last bag.

    Examples
    --------
    >>> import dualtape as dt
    >>> table = dt.nn.EmbeddingBag(10, 3, mode="sum")
    >>> table(dt.tensor([1, 2, 4, 5, 4, 3, 2, 9]), dt.tensor([0, 4])).shape
    dualtape.Size([2, 3])
    """

    __constants__ = [
        "num_embeddings",
        "embedding_dim",
        "max_norm",
        "norm_type",
        "scale_grad_by_freq",
        "mode",
        "sparse",
        "include_last_offset",
        "padding_idx",
    ]

    def __init__(
        self,
        num_embeddings: int,
        embedding_dim: int,
        max_norm: float | None = None,
        norm_type: float = 2.0,
        scale_grad_by_freq: bool = False,
        mode: str = "mean",
        sparse: bool = False,
        _weight: Any = None,
        include_last_offset: bool = False,
        padding_idx: int | None = None,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        self.max_norm, self.norm_type, self.scale_grad_by_freq = max_norm, norm_type, scale_grad_by_freq
        self.mode, self.sparse, self.include_last_offset = mode, sparse, include_last_offset
        self._dt_make_table(num_embeddings, embedding_dim, padding_idx, _weight, False, device, dtype)

    def forward(self, input: Any, offsets: Any = None, per_sample_weights: Any = None) -> Any:
        return F.embedding_bag(
            input,
            self.weight,
            offsets,
            self.max_norm,
            self.norm_type,
            self.scale_grad_by_freq,
            self.mode,
            self.sparse,
            per_sample_weights,
            self.include_last_offset,
            self.padding_idx,
        )

    def extra_repr(self) -> str:
        shown = f"{self.num_embeddings}, {self.embedding_dim}"
        shown += f", max_norm={self.max_norm}" if self.max_norm is not None else ""
        shown += f", norm_type={self.norm_type}" if self.norm_type != 2 else ""
        shown += f", scale_grad_by_freq={self.scale_grad_by_freq}" if self.scale_grad_by_freq else ""
        shown += f", mode={self.mode!r}"
        return shown + (f", padding_idx={self.padding_idx}" if self.padding_idx is not None else "")

    @classmethod
    def from_pretrained(
        cls,
        embeddings: Any,
        freeze: bool = True,
        max_norm: float | None = None,
        norm_type: float = 2.0,
        scale_grad_by_freq: bool = False,
        mode: str = "mean",
        sparse: bool = False,
        include_last_offset: bool = False,
        padding_idx: int | None = None,
    ) -> EmbeddingBag:
        """An embedding over a given table, which is learned unless it is frozen."""
        rows, columns = _check_pretrained(embeddings)
        table = cls(
            rows,
            columns,
            max_norm,
            norm_type,
            scale_grad_by_freq,
            mode,
            sparse,
            embeddings,
            include_last_offset,
            padding_idx,
        )
        table.weight.requires_grad = not freeze
        return table
