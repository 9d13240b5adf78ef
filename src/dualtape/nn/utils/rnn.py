"""Sequences of several lengths in one tensor: padded, or packed step by step without padding."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..._listing import listing
from ..._tensor.creation import tensor
from ..._tensor.dtypes import NAMED
from ..._tensor.shaped import arange, empty_like, full
from ..._tensor.tensor import Tensor, wrap
from ...ops import FUNCTIONS

if TYPE_CHECKING:
    from typing import Self

__all__ = [
    "PackedSequence",
    "invert_permutation",
    "pack_padded_sequence",
    "pack_sequence",
    "pad_packed_sequence",
    "pad_sequence",
    "unpack_sequence",
    "unpad_sequence",
]


class PackedSequence_(NamedTuple):
    data: Any
    batch_sizes: Any
    sorted_indices: Any
    unsorted_indices: Any


class PackedSequence(PackedSequence_):
    """Sequences in step order: the first elements of all, the second of those that have one, and so on.

    Made by :func:`pack_padded_sequence` and :func:`pack_sequence`; recurrent layers take and give it.

    Parameters
    ----------
    data : Tensor
        The elements, step by step.
    batch_sizes : Tensor
        How many sequences have each step.
    sorted_indices, unsorted_indices : Tensor, optional
        The order that sorts the sequences from long to short, and the one back.

    Examples
    --------
    >>> import dualtape as dt
    >>> from dualtape.nn.utils.rnn import pack_sequence
    >>> packed = pack_sequence([dt.tensor([1, 2, 3]), dt.tensor([4])])
    >>> packed.data, packed.batch_sizes
    (tensor([1, 4, 2, 3]), tensor([2, 1, 1]))
    """

    def __new__(
        cls, data: Any, batch_sizes: Any = None, sorted_indices: Any = None, unsorted_indices: Any = None
    ) -> Self:
        if unsorted_indices is None:
            unsorted_indices = invert_permutation(sorted_indices)
        if batch_sizes is None:
            data, batch_sizes = data
        if batch_sizes.device.type != "cpu":
            raise ValueError(f"batch_sizes should always be on CPU, got {batch_sizes.device}")
        return super().__new__(cls, data, batch_sizes, sorted_indices, unsorted_indices)

    def to(self, *args: Any, **kwargs: Any) -> Self:
        """Return a copy with its data converted, and its orders on the same device."""
        data = self.data.to(*args, **kwargs)
        if data is self.data:
            return self
        where = {"device": data.device}
        orders = (None if order is None else order.to(**where) for order in self[2:])
        return type(self)(data, self.batch_sizes, *orders)

    def cpu(self, *args: Any, **kwargs: Any) -> Self:
        """Return it on the CPU."""
        return self.to(*args, device="cpu", **kwargs)

    def cuda(self, *args: Any, **kwargs: Any) -> Self:
        """Return it on a GPU."""
        return self.to(*args, **{"device": "cuda", **kwargs})

    def pin_memory(self) -> Self:
        """Return it in memory that a GPU may read."""
        orders = (None if order is None else order.pin_memory() for order in self[2:])
        return type(self)(self.data.pin_memory(), self.batch_sizes, *orders)

    @property
    def is_cuda(self) -> bool:
        """Whether it is on a GPU."""
        return self.data.is_cuda

    def is_pinned(self) -> bool:
        """Whether a GPU may read its memory."""
        return self.data.is_pinned()


def _conversion(name: str, dtype: str) -> Any:
    def method(self: PackedSequence) -> PackedSequence:
        return self.to(dtype=NAMED[dtype])

    method.__name__, method.__doc__ = name, f"With data of dtype {dtype}."
    return method


for _name, _dtype in (
    ("double", "float64"),
    ("float", "float32"),
    ("half", "float16"),
    ("long", "int64"),
    ("int", "int32"),
    ("short", "int16"),
    ("char", "int8"),
    ("byte", "uint8"),
):
    setattr(PackedSequence, _name, _conversion(_name, _dtype))


def invert_permutation(permutation: Tensor | None) -> Tensor | None:
    """The inverse of a permutation.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.nn.utils.rnn.invert_permutation(dt.tensor([2, 0, 1]))
    tensor([1, 2, 0])
    """
    if permutation is None:
        return None
    inverse = empty_like(permutation)
    inverse[permutation] = arange(permutation.numel(), dtype=permutation.dtype, device=permutation.device)
    return inverse


def pack_padded_sequence(
    input: Tensor, lengths: Any, batch_first: bool = False, enforce_sorted: bool = True
) -> PackedSequence:
    """Pack sequences that are padded to one length.

    Parameters
    ----------
    input : Tensor
        (T, N, ...), or (N, T, ...) if ``batch_first``.
    lengths : Tensor or list of int
        The length of each sequence.
    enforce_sorted : bool
        They must come from long to short; else they are sorted.

    Examples
    --------
    >>> import dualtape as dt
    >>> padded = dt.tensor([[1, 2, 0], [3, 4, 5]])
    >>> dt.nn.utils.rnn.pack_padded_sequence(padded, [2, 3], batch_first=True, enforce_sorted=False).data
    tensor([3, 1, 4, 2, 5])
    """
    counts = lengths if isinstance(lengths, Tensor) else tensor(lengths, dtype=NAMED["int64"])
    if counts.device.type != "cpu":
        raise RuntimeError("'lengths' argument should be a 1D CPU int64 tensor, but it is on a GPU: call .cpu()")
    if counts.dim() != 1 or counts.dtype != NAMED["int64"]:
        raise RuntimeError(
            f"'lengths' argument should be a 1D CPU int64 tensor, but got {counts.dim()}D {counts.dtype} tensor"
        )
    order = None
    if not enforce_sorted:
        counts, order = counts.sort(descending=True)
        order = order.to(input.device)
        input = input.index_select(0 if batch_first else 1, order)
    sizes = np.asarray(counts._array)
    if input.numel() == 0:
        raise RuntimeError("Cannot pack empty tensors.")
    steps = input.transpose(0, 1) if batch_first else input
    if len(sizes) != steps.shape[1]:
        raise RuntimeError(
            f"Expected `len(lengths)` to be equal to batch_size, but got {len(sizes)} (batch_size={steps.shape[1]})"
        )
    if sizes.min() <= 0:
        raise RuntimeError("Length of all samples has to be greater than 0, but found an element that is <= 0")
    if (np.diff(sizes) > 0).any():
        raise RuntimeError(
            "`lengths` array must be sorted in decreasing order when `enforce_sorted` is True: pass"
            " enforce_sorted=False"
        )
    if sizes[0] > steps.shape[0]:
        raise RuntimeError(f"Expected lengths of at most {steps.shape[0]}, the padded length, got {sizes[0]}")
    times, rows = _places(sizes)
    flat = steps.reshape(-1, *steps.shape[2:]).index_select(0, wrap(times * steps.shape[1] + rows).to(input.device))
    return PackedSequence(flat, wrap(np.bincount(times).astype(np.int64)), order)


def _places(lengths: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return step and sequence of each packed element, for lengths from long to short."""
    there = np.arange(lengths[0])[:, None] < lengths[None, :]
    times, rows = np.nonzero(there)
    return times, rows


def pad_packed_sequence(
    sequence: PackedSequence, batch_first: bool = False, padding_value: float = 0.0, total_length: int | None = None
) -> tuple[Tensor, Tensor]:
    """The sequences padded to one length, and their lengths: the inverse of :func:`pack_padded_sequence`.

    Examples
    --------
    >>> import dualtape as dt
    >>> from dualtape.nn.utils.rnn import pack_sequence, pad_packed_sequence
    >>> pad_packed_sequence(pack_sequence([dt.tensor([1, 2]), dt.tensor([3])]), batch_first=True)
    (tensor([[1, 2],
            [3, 0]]), tensor([2, 1]))
    """
    sizes = np.asarray(sequence.batch_sizes._array)
    longest = len(sizes)
    if total_length is not None and total_length < longest:
        raise ValueError(
            "total_length must be at least that of the longest sequence:"
            f" got {total_length}, and a sequence has {longest} steps"
        )
    data = sequence.data
    lengths = (sizes[None, :] > np.arange(sizes[0])[:, None]).sum(1)
    times, rows = _places(lengths)
    shape = (total_length or longest, int(sizes[0]), *data.shape[1:])
    padded = full(shape, padding_value, dtype=data.dtype, device=data.device)
    padded = padded.index_put((wrap(times).to(data.device), wrap(rows).to(data.device)), data)
    counts = wrap(lengths.astype(np.int64))
    order = sequence.unsorted_indices
    if order is not None:
        padded, counts = padded.index_select(1, order), counts[order.cpu()]
    return padded.transpose(0, 1) if batch_first else padded, counts


def pad_sequence(
    sequences: Any, batch_first: bool = False, padding_value: float = 0.0, padding_side: str = "right"
) -> Tensor:
    """Sequences of several lengths as one tensor, padded on one side.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.nn.utils.rnn.pad_sequence([dt.tensor([1, 2]), dt.tensor([3])], batch_first=True)
    tensor([[1, 2],
            [3, 0]])
    """
    if padding_side not in ("left", "right"):
        raise RuntimeError(f"pad_sequence: padding_side must be 'left' or 'right', got {padding_side!r}")
    if isinstance(sequences, Tensor):
        sequences = sequences.unbind(0)
    if not isinstance(sequences, Sequence) and not hasattr(sequences, "__iter__"):
        raise RuntimeError(
            f"pad_sequence: expected a list or another iterable of tensors, got a {type(sequences).__name__}"
        )
    sequences = list(sequences)
    if not sequences:
        raise RuntimeError("pad_sequence: received an empty list of sequences")
    longest = max(s.shape[0] for s in sequences)
    rows = []
    for s in sequences:
        missing = longest - s.shape[0]
        filling = s.new_full((missing, *s.shape[1:]), padding_value)
        rows.append(FUNCTIONS["cat"]([s, filling] if padding_side == "right" else [filling, s], 0) if missing else s)
    return FUNCTIONS["stack"](rows, 0 if batch_first else 1)


def unpad_sequence(padded_sequences: Tensor, lengths: Tensor, batch_first: bool = False) -> list[Tensor]:
    """The sequences of a padded tensor, each of its own length.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.nn.utils.rnn.unpad_sequence(dt.tensor([[1, 2], [3, 0]]), dt.tensor([2, 1]), batch_first=True)
    [tensor([1, 2]), tensor([3])]
    """
    rows = padded_sequences if batch_first else padded_sequences.transpose(0, 1)
    return [row[: int(length)] for row, length in zip(rows.unbind(0), lengths, strict=True)]


def pack_sequence(sequences: list[Tensor], enforce_sorted: bool = True) -> PackedSequence:
    """Pack sequences of several lengths.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.nn.utils.rnn.pack_sequence([dt.tensor([1, 2]), dt.tensor([3])]).data
    tensor([1, 3, 2])
    """
    lengths = tensor([s.size(0) for s in sequences], dtype=NAMED["int64"])
    return pack_padded_sequence(pad_sequence(sequences), lengths, enforce_sorted=enforce_sorted)


def unpack_sequence(packed_sequences: PackedSequence) -> list[Tensor]:
    """The sequences of a packed one, each of its own length.

    Examples
    --------
    >>> import dualtape as dt
    >>> from dualtape.nn.utils.rnn import pack_sequence, unpack_sequence
    >>> unpack_sequence(pack_sequence([dt.tensor([1, 2]), dt.tensor([3])]))
    [tensor([1, 2]), tensor([3])]
    """
    padded, lengths = pad_packed_sequence(packed_sequences, batch_first=True)
    return unpad_sequence(padded, lengths, batch_first=True)


__dir__ = listing(__name__)
