"""Datasets: samples by index, or in sequence; and datasets made of datasets."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from itertools import accumulate
from math import floor, isclose
from typing import Any, Generic, TypeVar

from ..._tensor.tensor import Tensor
from ...errors import warn
from ...random import Generator, default_generator, randperm

__all__ = [
    "ChainDataset",
    "ConcatDataset",
    "Dataset",
    "IterableDataset",
    "StackDataset",
    "Subset",
    "TensorDataset",
    "random_split",
]

T_co = TypeVar("T_co", covariant=True)


class Dataset(Generic[T_co]):
    """Samples by index: a subclass has ``__getitem__`` and, for samplers, ``__len__``; with ``__getitems__``, of a list
    of indices, a batch is fetched at once.

    Examples
    --------
    >>> import dualtape as dt
    >>> class Squares(dt.utils.data.Dataset):
    ...     def __len__(self):
    ...         return 3
    ...     def __getitem__(self, index):
    ...         return index ** 2
    >>> list(dt.utils.data.DataLoader(Squares(), batch_size=2))
    [tensor([0, 1]), tensor([4])]
    """

    def __getitem__(self, index: Any) -> T_co:
        raise NotImplementedError(f"{type(self).__name__} has no __getitem__(): write one")

    def __add__(self, other: Dataset) -> ConcatDataset:
        return ConcatDataset([self, other])


class IterableDataset(Dataset[T_co], Iterable[T_co]):
    """Samples in sequence: a subclass has ``__iter__``.

    Examples
    --------
    >>> import dualtape as dt
    >>> class Counting(dt.utils.data.IterableDataset):
    ...     def __iter__(self):
    ...         return iter(range(3))
    >>> list(dt.utils.data.DataLoader(Counting(), batch_size=2))
    [tensor([0, 1]), tensor([2])]
    """

    def __add__(self, other: Dataset) -> ChainDataset:  # type: ignore[override]
        return ChainDataset([self, other])


class TensorDataset(Dataset[tuple[Tensor, ...]]):
    """Samples that are the rows of tensors.

    Examples
    --------
    >>> import dualtape as dt
    >>> data = dt.utils.data.TensorDataset(dt.arange(3), dt.eye(3))
    >>> len(data), data[1]
    (3, (tensor(1), tensor([0., 1., 0.])))
    """

    tensors: tuple[Tensor, ...]

    def __init__(self, *tensors: Tensor) -> None:
        if any(tensor.shape[0] != tensors[0].shape[0] for tensor in tensors):
            raise AssertionError(f"tensors of different lengths: {[tensor.shape[0] for tensor in tensors]}")
        self.tensors = tensors

    def __getitem__(self, index: Any) -> tuple[Tensor, ...]:
        return tuple([tensor[index] for tensor in self.tensors])

    def __len__(self) -> int:
        return self.tensors[0].shape[0]


class StackDataset(Dataset[Any]):
    """Samples of several datasets side by side: a tuple, or, of keywords, a dict.

    Examples
    --------
    >>> import dualtape as dt
    >>> data = dt.utils.data.StackDataset(x=[1, 2], y="ab")
    >>> data[1]
    {'x': 2, 'y': 'b'}
    """

    datasets: tuple | dict

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        if args and kwargs:
            raise ValueError("pass datasets by position, for tuples, or by name, for dicts; not both")
        if not args and not kwargs:
            raise ValueError("there is nothing to stack: pass a dataset")
        lengths = [len(dataset) for dataset in args or kwargs.values()]
        if set(lengths) != {lengths[0]}:
            raise ValueError(f"datasets of different lengths: {lengths}")
        self._length = lengths[0]
        self.datasets = args or kwargs

    def _dt_sample(self, parts: Iterable[Any]) -> Any:
        return dict(zip(self.datasets, parts, strict=True)) if isinstance(self.datasets, dict) else tuple(parts)

    def _dt_each(self) -> Iterable[Any]:
        return self.datasets.values() if isinstance(self.datasets, dict) else self.datasets

    def __getitem__(self, index: Any) -> Any:
        return self._dt_sample([dataset[index] for dataset in self._dt_each()])

    def __getitems__(self, indices: list) -> list:
        columns = []
        for dataset in self._dt_each():
            columns.append(_several(dataset, indices))
            if len(columns[-1]) != len(indices):
                raise ValueError(
                    f"__getitems__ of a {type(dataset).__name__} gave {len(columns[-1])} samples, not {len(indices)}"
                )
        return [self._dt_sample(parts) for parts in zip(*columns, strict=True)]

    def __len__(self) -> int:
        return self._length


def _several(dataset: Any, indices: list) -> list:
    at_once = getattr(dataset, "__getitems__", None)
    return at_once(indices) if callable(at_once) else [dataset[index] for index in indices]


class ConcatDataset(Dataset[T_co]):
    """Datasets concatenated.

    Examples
    --------
    >>> import dualtape as dt
    >>> data = dt.utils.data.ConcatDataset(["ab", "cde"])
    >>> len(data), data[2], data[-1]
    (5, 'c', 'e')
    """

    datasets: list
    cumulative_sizes: list[int]

    @staticmethod
    def cumsum(sequence: Iterable[Any]) -> list[int]:
        """Return the index at which each dataset ends."""
        return list(accumulate(len(dataset) for dataset in sequence))

    def __init__(self, datasets: Iterable[Any]) -> None:
        self.datasets = list(datasets)
        if not self.datasets:
            raise AssertionError("there is nothing to join: pass a dataset")
        if any(isinstance(dataset, IterableDataset) for dataset in self.datasets):
            raise AssertionError("an IterableDataset has no numbers to go by: join it with ChainDataset")
        self.cumulative_sizes = self.cumsum(self.datasets)

    def __len__(self) -> int:
        return self.cumulative_sizes[-1]

    def __getitem__(self, idx: int) -> T_co:
        if idx < 0:
            if -idx > len(self):
                raise ValueError(f"index {idx} is before the first of {len(self)} samples")
            idx += len(self)
        number = bisect_right(self.cumulative_sizes, idx)
        return self.datasets[number][idx - self.cumulative_sizes[number - 1] if number else idx]


class ChainDataset(IterableDataset):
    """Iterable datasets in sequence.

    Examples
    --------
    >>> import dualtape as dt
    >>> class Counting(dt.utils.data.IterableDataset):
    ...     def __iter__(self):
    ...         return iter(range(2))
    >>> list(Counting() + Counting())
    [0, 1, 0, 1]
    """

    def __init__(self, datasets: Iterable[Dataset]) -> None:
        self.datasets = datasets

    def _dt_checked(self) -> Iterator[Any]:
        for dataset in self.datasets:
            if not isinstance(dataset, IterableDataset):
                raise AssertionError(f"ChainDataset is made of IterableDatasets, got a {type(dataset).__name__}")
            yield dataset

    def __iter__(self) -> Iterator[Any]:
        for dataset in self._dt_checked():
            yield from dataset

    def __len__(self) -> int:
        return sum(len(dataset) for dataset in self._dt_checked())


class Subset(Dataset[T_co]):
    """Some samples of a dataset.

    Examples
    --------
    >>> import dualtape as dt
    >>> list(dt.utils.data.Subset("abcd", [3, 1]))
    ['d', 'b']
    """

    dataset: Any
    indices: Sequence[int]

    def __init__(self, dataset: Any, indices: Sequence[int]) -> None:
        kind = type(self)
        if kind.__getitem__ is not Subset.__getitem__ and kind.__getitems__ is Subset.__getitems__:
            raise NotImplementedError(
                f"{kind.__name__} overrides __getitem__ but not __getitems__, by which the loader fetches batches:"
                " override both"
            )
        self.dataset = dataset
        self.indices = indices

    def __getitem__(self, idx: Any) -> Any:
        if isinstance(idx, list):
            return self.dataset[[self.indices[k] for k in idx]]
        return self.dataset[self.indices[idx]]

    def __getitems__(self, indices: list[int]) -> list:
        return _several(self.dataset, [self.indices[k] for k in indices])

    def __len__(self) -> int:
        return len(self.indices)


def random_split(
    dataset: Dataset, lengths: Sequence[int | float], generator: Generator | None = default_generator
) -> list[Subset]:
    """Disjoint random subsets of a dataset.

    Parameters
    ----------
    dataset : Dataset
    lengths : sequence of int or float
        How many samples each has, or what part of all; what is left over then goes to the first ones.
    generator : Generator

    Examples
    --------
    >>> import dualtape as dt
    >>> [len(part) for part in dt.utils.data.random_split(range(10), [0.7, 0.3])]
    [7, 3]
    """
    total = len(dataset)  # type: ignore[arg-type]
    if isclose(sum(lengths), 1) and sum(lengths) <= 1:
        for k, part in enumerate(lengths):
            if not 0 <= part <= 1:
                raise ValueError(f"part {k} must be from 0 to 1, got {part}")
        counts = [floor(total * part) for part in lengths]
        for k in range(total - sum(counts)):
            counts[k % len(counts)] += 1
        for k, count in enumerate(counts):
            if count == 0:
                warn(f"part {k} of the split has no samples")
        lengths = counts
    if sum(lengths) != total:
        raise ValueError(f"the lengths add up to {sum(lengths)}, and there are {total} samples")
    order = randperm(total, generator=generator).tolist()
    ends = list(accumulate(int(length) for length in lengths))
    return [Subset(dataset, order[start:end]) for start, end in zip([0, *ends], ends, strict=False)]
