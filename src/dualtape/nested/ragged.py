"""Ragged batches: the samples of a nested tensor are packed into one tensor of values, along its ragged dimension.

A nested tensor of size ``(batch, j, features)`` has values of size ``(sum of the lengths, features)``; dimension ``d >
0`` of the former is dimension ``d - 1`` of the latter. It has a node of its own in the graph; operations (``rules.py``)
extract the values, compute with them, and pack the results: both conversions are custom functions.
"""

from __future__ import annotations

import copy
import itertools
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from .._tensor.copying import copied_leaf
from .._tensor.device import jagged
from .._tensor.printing import _history
from .._tensor.size import Size
from .._tensor.tensor import Tensor, wrap
from ..arrays import Absent
from ..autograd.function import Function
from ..ops.formulas import normal_dim
from ..overrides.subclass import disabled_function, of_class

_numbers = itertools.count(1)


class RaggedSize(int):
    """The size of a ragged dimension: it equals itself, and no integer."""

    def __new__(cls, number: int) -> RaggedSize:
        return super().__new__(cls, -1 - number)  # what computes with it by mistake gets no valid size

    def __repr__(self) -> str:
        return f"j{-1 - int(self)}"

    __str__ = __repr__

    def __index__(self) -> RaggedSize:
        return self  # a shape keeps it as it is


class Ragged:
    """How samples are packed: their offsets, their lengths, and the ragged dimension."""

    __slots__ = ("offsets", "lengths", "dim", "size")

    def __init__(
        self, offsets: np.ndarray, lengths: np.ndarray | None = None, dim: int = 1, size: RaggedSize | None = None
    ) -> None:
        self.offsets, self.lengths, self.dim = offsets, lengths, dim
        self.size = RaggedSize(next(_numbers)) if size is None else size

    @property
    def batch(self) -> int:
        return self.offsets.size - 1

    @property
    def counts(self) -> np.ndarray:
        """Return the length of each sample."""
        return np.diff(self.offsets) if self.lengths is None else self.lengths

    @property
    def longest(self) -> int:
        return int(self.counts.max(initial=0))

    @property
    def samples(self) -> np.ndarray:
        """Return, for each packed position, the sample it belongs to."""
        return np.repeat(np.arange(self.batch), self.counts)

    @property
    def positions(self) -> np.ndarray:
        """Return, for each packed position, the index in its sample."""
        counts = self.counts
        return np.arange(counts.sum()) - np.repeat(np.cumsum(counts) - counts, counts)

    @property
    def places(self) -> np.ndarray:
        """Return the indices of the elements of all samples among the values, without gaps."""
        return self.offsets[:-1][self.samples] + self.positions

    def at(self, dim: int) -> Ragged:
        """Return the same samples with another ragged dimension."""
        return self if dim == self.dim else Ragged(self.offsets, self.lengths, dim, self.size)

    def matches(self, other: Ragged) -> bool:
        """Return whether the samples have the same lengths, along the same dimension."""
        return self is other or (self.dim == other.dim and np.array_equal(self.counts, other.counts))


class NestedTensor(Tensor):
    """A batch of samples of different lengths.

    Made by :func:`nested_tensor`, :func:`as_nested_tensor` and :func:`nested_tensor_from_jagged`.

    Examples
    --------
    >>> import dualtape as dt
    >>> x = dt.nested.nested_tensor([[1.0, 2.0], [3.0, 4.0, 5.0]], requires_grad=True)
    >>> (x * x).sum().backward()
    >>> x.grad.unbind()
    (tensor([2., 4.]), tensor([ 6.,  8., 10.]))
    """

    _overrides_members = False  # operations ask this class; properties need not

    _values: Tensor  # the values, without history
    _ragged: Ragged

    @property
    def is_nested(self) -> bool:
        return True

    @property
    def layout(self) -> Any:
        return jagged

    @property
    def shape(self) -> Any:
        ragged = self._ragged
        sizes: list[int] = list(self._values.shape)
        sizes[ragged.dim - 1] = ragged.size
        return Size((ragged.batch, *sizes))

    def size(self, dim: int | None = None) -> Any:
        return self.shape if dim is None else self.shape[normal_dim(dim, self.ndim)]

    def numel(self) -> int:
        return self._values.numel() // max(self._values.shape[self._ragged.dim - 1], 1) * int(self._ragged.counts.sum())

    def values(self) -> Tensor:
        """All samples, packed: with history.

        Examples
        --------
        >>> import dualtape as dt
        >>> dt.nested.nested_tensor([[1.0], [2.0, 3.0]]).values()
        tensor([1., 2., 3.])
        """
        return Values.apply(self) if self.requires_grad else self._values

    def offsets(self) -> Tensor:
        """Where each sample begins, and where the last one ends.

        Examples
        --------
        >>> import dualtape as dt
        >>> dt.nested.nested_tensor([[1.0], [2.0, 3.0]]).offsets()
        tensor([0, 1, 3])
        """
        return wrap(self._ragged.offsets)

    def lengths(self) -> Tensor | None:
        """The length of each sample, where there are gaps between them; else None.

        Examples
        --------
        >>> import dualtape as dt
        >>> dt.nested.nested_tensor_from_jagged(dt.arange(4), [0, 2, 4], [1, 2]).lengths()
        tensor([1, 2])
        """
        lengths = self._ragged.lengths
        return None if lengths is None else wrap(lengths)

    def unbind(self, dim: int = 0) -> tuple:
        """The samples.

        Examples
        --------
        >>> import dualtape as dt
        >>> dt.nested.nested_tensor([[1.0], [2.0, 3.0]]).unbind()
        (tensor([1.]), tensor([2., 3.]))
        """
        if normal_dim(dim, self.ndim):
            raise RuntimeError(f"unbind(): only supported for NestedTensor on dim=0, got dim={dim}")
        values: Any = self.values()
        starts, counts = self._ragged.offsets[:-1].tolist(), self._ragged.counts.tolist()
        return tuple(values.narrow(self._ragged.dim - 1, start, n) for start, n in zip(starts, counts, strict=True))

    def to_padded_tensor(self, padding: float, output_size: Any = None) -> Tensor:
        """A dense tensor: each sample, and ``padding`` up to the longest (or ``output_size``).

        Examples
        --------
        >>> import dualtape as dt
        >>> dt.nested.nested_tensor([[1.0], [2.0, 3.0]]).to_padded_tensor(0.0)
        tensor([[1., 0.],
                [2., 3.]])
        """
        from .rules import padded

        return padded(self, padding, output_size)

    def contiguous(self, memory_format: Any = None) -> NestedTensor:
        """The same samples, one right after the other.

        Examples
        --------
        >>> import dualtape as dt
        >>> dt.nested.nested_tensor_from_jagged(dt.arange(4), [0, 2, 4], [1, 2]).contiguous().values()
        tensor([0, 2, 3])
        """
        ragged = self._ragged
        if ragged.lengths is None:
            return self
        values: Any = self.values()
        tight = Ragged(_ends(ragged.lengths), None, ragged.dim, ragged.size)
        return pack(values.index_select(ragged.dim - 1, wrap(ragged.places)), tight)

    def is_contiguous(self, memory_format: Any = None) -> bool:
        return self._ragged.lengths is None and self._values.is_contiguous()

    def stride(self, dim: int | None = None) -> Any:
        raise RuntimeError("a nested tensor has no strides: ask its values()")

    def detach(self) -> Any:
        return make_nested(self._values.detach(), self._ragged)

    @property  # type: ignore[misc]
    def data(self) -> Any:
        return self.detach()

    def numpy(self, *, force: bool = False) -> np.ndarray:
        raise RuntimeError("a nested tensor is no array: use values(), unbind() or to_padded_tensor()")

    def tolist(self) -> Any:
        raise RuntimeError("a nested tensor is no list: use [x.tolist() for x in nested.unbind()]")

    def __len__(self) -> int:
        return self._ragged.batch

    def __iter__(self) -> Iterator:
        return iter(self.unbind())

    def __getitem__(self, key: Any) -> Any:
        if isinstance(key, (int, np.integer)):
            if not -len(self) <= key < len(self):
                raise IndexError(f"sample {key} of a batch of {len(self)}")
            return self.unbind()[key]
        from .rules import at_key

        return at_key(self, key if isinstance(key, tuple) else (key,))

    def __repr__(self, *, tensor_contents: str | None = None) -> str:  # type: ignore[override]
        history = _history(self)
        more = "" if history is None else f", {history}"
        sizes = ", ".join(map(repr, self.shape))
        return f"NestedTensor(size=({sizes}), offsets={self.offsets()!r}{more}, contiguous={self.is_contiguous()})"

    def __deepcopy__(self, memo: dict) -> Any:
        return copied_leaf(self, memo, lambda: self._copied(memo).requires_grad_(self.requires_grad))

    def _copied(self, memo: dict) -> Any:
        return make_nested(copy.deepcopy(self._values.detach(), memo), self._ragged)

    def __reduce_ex__(self, protocol: Any) -> tuple:
        ragged = self._ragged
        return (_unpickled, (self._values, ragged.offsets, ragged.lengths, ragged.dim, self.requires_grad))

    @classmethod
    def __torch_function__(cls, func: Callable, types: tuple, args: tuple = (), kwargs: dict | None = None) -> Any:
        from .rules import rule_of

        rule = rule_of(func)
        if rule is None:
            return disabled_function(func, types, args, kwargs)
        return rule(func, *args, **(kwargs or {}))

    @classmethod
    def __torch_dispatch__(cls, func: Callable, types: tuple, args: tuple = (), kwargs: dict | None = None) -> Any:
        from .rules import rule_of

        rule = rule_of(func)  # gradients are added up beneath autograd
        if rule is None:
            name = getattr(func, "__name__", "")
            raise NotImplementedError(f"Could not run '{name}' on a nested tensor: use its values(), or unbind() it")
        return rule(func, *args, **(kwargs or {}))


def _ends(lengths: np.ndarray) -> np.ndarray:
    """Offsets of samples of these lengths, one right after the other."""
    return np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)


def make_nested(values: Tensor, ragged: Ragged) -> NestedTensor:
    """A nested tensor over these values, without history."""
    shape = (ragged.batch, *values.shape)
    tensor: Any = of_class(wrap(Absent(shape, values._array.dtype)), NestedTensor)
    tensor._values, tensor._ragged = values, ragged
    return tensor


def pack(values: Tensor, ragged: Ragged) -> NestedTensor:
    """A nested tensor over these values, with their history."""
    return FromValues.apply(values, ragged) if values.requires_grad else make_nested(values, ragged)


def _unpickled(values: Tensor, offsets: Any, lengths: Any, dim: int, requires_grad: bool) -> Any:
    return make_nested(values, Ragged(offsets, lengths, dim)).requires_grad_(requires_grad)


class FromValues(Function):
    """Packed values as a nested tensor."""

    @staticmethod
    def forward(ctx: Any, values: Any, ragged: Ragged) -> Any:
        ctx.ragged, ctx.size = ragged, values.shape
        return make_nested(values.detach(), ragged)

    @staticmethod
    def backward(ctx: Any, g: Any) -> tuple:
        values = g.values()
        if values.shape != ctx.size:  # the gaps between samples are gone: they have no gradient
            zeros = values.new_zeros(ctx.size)
            values = zeros.index_copy(ctx.ragged.dim - 1, wrap(ctx.ragged.places), values)
        return values, None


class Values(Function):
    """The values of a nested tensor."""

    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        ctx.ragged = x._ragged
        return x._values.detach()

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        return pack(g, ctx.ragged)
