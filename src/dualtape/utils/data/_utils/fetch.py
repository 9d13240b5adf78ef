"""Fetchers: from the indices of samples to a batch."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import islice
from typing import Any

from ...._tensor.tensor import Tensor
from ..dataset import TensorDataset
from .collate import default_collate


@dataclass(eq=False, repr=False)
class _BaseDatasetFetcher:
    """A dataset, and the collation of its samples: of several if ``auto_collation``, else of one."""

    dataset: Any
    auto_collation: bool
    collate_fn: Callable
    drop_last: bool

    def fetch(self, possibly_batched_index: Any) -> Any:
        """Return the batch of several indices, or the sample of one."""
        take = self._several if self.auto_collation else self._one
        return take(possibly_batched_index)

    def _one(self, index: Any) -> Any:
        raise NotImplementedError

    def _several(self, indices: Any) -> Any:
        raise NotImplementedError


@dataclass(eq=False, repr=False)
class _IterableDatasetFetcher(_BaseDatasetFetcher):
    """Takes as many samples as there are indices."""

    ended: bool = field(default=False, init=False)

    def __post_init__(self) -> None:
        self.dataset_iter = iter(self.dataset)

    def _one(self, index: Any) -> Any:
        return self.collate_fn(next(self.dataset_iter))

    def _several(self, indices: Any) -> Any:
        # An iterator that has ended is not asked again: it may begin a second time.
        wanted = len(list(indices))
        samples = [] if self.ended else list(islice(self.dataset_iter, wanted))
        self.ended = len(samples) < wanted
        if not samples or (self.ended and self.drop_last):
            raise StopIteration
        return self.collate_fn(samples)


class _MapDatasetFetcher(_BaseDatasetFetcher):
    """Takes the samples at the indices."""

    def fetch(self, possibly_batched_index: Any) -> Any:
        try:
            return super().fetch(possibly_batched_index)
        except StopIteration as error:
            # It would end the epoch as if there were no more samples.
            raise RuntimeError(
                f"a dataset raised StopIteration for index {possibly_batched_index}, which is no sample and no end"
            ) from error

    def _one(self, index: Any) -> Any:
        return self.collate_fn(self.dataset[index])

    def _several(self, indices: Any) -> Any:
        rows = self._rows(indices)
        if rows is not None:
            return rows
        together = getattr(self.dataset, "__getitems__", None)
        return self.collate_fn(together(indices) if together else [self.dataset[index] for index in indices])

    def _rows(self, indices: Any) -> list[Tensor] | None:
        """Return the collated samples of plain tensors, indexed at once; None if collation may differ."""
        if type(self.dataset) is not TensorDataset or self.collate_fn is not default_collate:
            return None
        if type(indices) is not list or set(map(type, indices)) != {int}:
            return None
        tensors = self.dataset.tensors
        if any(type(tensor) is not Tensor or tensor.requires_grad for tensor in tensors):
            return None
        return [tensor[indices] for tensor in tensors]
