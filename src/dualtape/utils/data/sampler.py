"""Samplers: the order in which samples are taken, and their batches."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence, Sized
from itertools import islice
from typing import Any, Generic, TypeVar

from ..._tensor import dtypes
from ..._tensor.creation import as_tensor
from ...random import Generator, multinomial, randint, randperm

__all__ = [
    "BatchSampler",
    "RandomSampler",
    "Sampler",
    "SequentialSampler",
    "SubsetRandomSampler",
    "WeightedRandomSampler",
]

T_co = TypeVar("T_co", covariant=True)


class Sampler(Generic[T_co]):
    """The indices of samples, in some order: a subclass has ``__iter__``.

    Examples
    --------
    >>> import dualtape as dt
    >>> class Backwards(dt.utils.data.Sampler):
    ...     def __iter__(self):
    ...         return iter([2, 1, 0])
    >>> list(dt.utils.data.DataLoader("abc", batch_size=3, sampler=Backwards()))
    [['c', 'b', 'a']]
    """

    def __iter__(self) -> Iterator[T_co]:
        raise NotImplementedError(f"{type(self).__name__} has no __iter__(): write one")


class SequentialSampler(Sampler[int]):
    """All samples, in their order.

    Examples
    --------
    >>> import dualtape as dt
    >>> list(dt.utils.data.SequentialSampler("abc"))
    [0, 1, 2]
    """

    def __init__(self, data_source: Sized) -> None:
        self.data_source = data_source

    def __len__(self) -> int:
        return len(self.data_source)

    def __iter__(self) -> Iterator[int]:
        yield from range(len(self))


class RandomSampler(Sampler[int]):
    """All samples in a random order, or ``num_samples`` of them, with replacement or without.

    Examples
    --------
    >>> import dualtape as dt
    >>> sorted(dt.utils.data.RandomSampler("abc"))
    [0, 1, 2]
    """

    def __init__(
        self,
        data_source: Sized,
        replacement: bool = False,
        num_samples: int | None = None,
        generator: Generator | None = None,
    ) -> None:
        if not isinstance(replacement, bool):
            raise TypeError(f"replacement must be True or False, got {replacement!r}")
        self.data_source, self._num_samples = data_source, num_samples
        self.replacement, self.generator = replacement, generator
        _check_count("num_samples", self.num_samples)

    @property
    def num_samples(self) -> int:
        """The number of samples drawn: by default the present size of the dataset."""
        return len(self.data_source) if self._num_samples is None else self._num_samples

    def __iter__(self) -> Iterator[int]:
        generator = self.generator or Generator().manual_seed(drawn_seed(None))
        total = len(self.data_source)
        # With replacement, PyTorch draws 32 at a time.
        for left in range(self.num_samples, 0, -32 if self.replacement else -total):
            if self.replacement:
                drawn = randint(0, total, (min(32, left),), generator=generator)
            else:
                drawn = randperm(total, generator=generator)
            yield from drawn.tolist()[:left]

    def __len__(self) -> int:
        return self.num_samples


def drawn_seed(generator: Generator | None) -> int:
    """Return a seed, drawn from a generator."""
    return int(randint(0, 2**63 - 1, (), dtype=dtypes.int64, generator=generator).item())


def _check_count(name: str, value: Any) -> None:
    if not isinstance(value, int) or isinstance(value, bool) or value <= 0:
        raise ValueError(f"{name} must be an int above 0, got {value!r}")


class SubsetRandomSampler(Sampler[int]):
    """Given indices, in random order.

    Examples
    --------
    >>> import dualtape as dt
    >>> sorted(dt.utils.data.SubsetRandomSampler([3, 5]))
    [3, 5]
    """

    def __init__(self, indices: Sequence[int], generator: Generator | None = None) -> None:
        self.indices, self.generator = indices, generator

    def __len__(self) -> int:
        return len(self.indices)

    def __iter__(self) -> Iterator[int]:
        yield from map(self.indices.__getitem__, randperm(len(self), generator=self.generator).tolist())


class WeightedRandomSampler(Sampler[int]):
    """Indices drawn with given probabilities.

    Examples
    --------
    >>> import dualtape as dt
    >>> list(dt.utils.data.WeightedRandomSampler([0.0, 1.0], num_samples=3))
    [1, 1, 1]
    """

    def __init__(
        self, weights: Sequence[float], num_samples: int, replacement: bool = True, generator: Generator | None = None
    ) -> None:
        _check_count("num_samples", num_samples)
        if not isinstance(replacement, bool):
            raise ValueError(f"replacement must be True or False, got {replacement!r}")
        self.weights = as_tensor(weights, dtype=dtypes.float64)
        if self.weights.dim() != 1:
            raise ValueError(f"weights must be a list of numbers, got shape {tuple(self.weights.shape)}")
        self.num_samples = num_samples
        self.replacement = replacement
        self.generator = generator

    def __iter__(self) -> Iterator[int]:
        yield from multinomial(self.weights, self.num_samples, self.replacement, generator=self.generator).tolist()

    def __len__(self) -> int:
        return self.num_samples


class BatchSampler(Sampler[list[int]]):
    """The indices of another sampler, in lists.

    Examples
    --------
    >>> import dualtape as dt
    >>> list(dt.utils.data.BatchSampler(range(5), batch_size=2, drop_last=False))
    [[0, 1], [2, 3], [4]]
    """

    def __init__(self, sampler: Sampler[int] | Iterable[int], batch_size: int, drop_last: bool) -> None:
        _check_count("batch_size", batch_size)
        if not isinstance(drop_last, bool):
            raise ValueError(f"drop_last must be True or False, got {drop_last!r}")
        self.sampler = sampler
        self.batch_size = batch_size
        self.drop_last = drop_last

    def __iter__(self) -> Iterator[list[int]]:
        numbers = iter(self.sampler)
        while batch := list(islice(numbers, self.batch_size)):
            if self.drop_last and len(batch) < self.batch_size:
                return
            yield batch

    def __len__(self) -> int:
        total: int = len(self.sampler)  # type: ignore[arg-type]
        return total // self.batch_size if self.drop_last else -(-total // self.batch_size)
