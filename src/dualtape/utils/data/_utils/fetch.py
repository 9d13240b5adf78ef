"""Fetchers: from the indices of samples to a batch."""

from __future__ import annotations

from typing import Any

from ...._tensor.tensor import Tensor
from ..dataset import TensorDataset
from .collate import default_collate


class _BaseDatasetFetcher:
    """A dataset, and the collation of its samples."""

    def __init__(self, dataset: Any, auto_collation: bool, collate_fn: Any, drop_last: bool) -> None:
        self.dataset = dataset
        self.auto_collation = auto_collation
        self.collate_fn = collate_fn
        self.drop_last = drop_last

    def fetch(self, possibly_batched_index: Any) -> Any:
        """Return the batch of several indices, or the sample of one."""
        raise NotImplementedError


class _IterableDatasetFetcher(_BaseDatasetFetcher):
    """Takes as many samples as there are indices."""

    def __init__(self, dataset: Any, auto_collation: bool, collate_fn: Any, drop_last: bool) -> None:
        super().__init__(dataset, auto_collation, collate_fn, drop_last)
        self.dataset_iter = iter(dataset)
        self.ended = False

    def fetch(self, possibly_batched_index: Any) -> Any:
        if self.ended:
            raise StopIteration
        if not self.auto_collation:
            return self.collate_fn(next(self.dataset_iter))
        samples = []
        for _ in possibly_batched_index:
            try:
                samples.append(next(self.dataset_iter))
            except StopIteration:
                self.ended = True
                break
        if not samples or (self.drop_last and len(samples) < len(possibly_batched_index)):
            raise StopIteration
        return self.collate_fn(samples)


class _MapDatasetFetcher(_BaseDatasetFetcher):
    """Takes the samples at the indices."""

    def fetch(self, possibly_batched_index: Any) -> Any:
        dataset = self.dataset
        if not self.auto_collation:
            return self.collate_fn(dataset[possibly_batched_index])
        if type(dataset) is TensorDataset and self.collate_fn is default_collate:
            rows = _rows(dataset, possibly_batched_index)
            if rows is not None:
                return rows
        if getattr(dataset, "__getitems__", None):
            return self.collate_fn(dataset.__getitems__(possibly_batched_index))
        return self.collate_fn([dataset[index] for index in possibly_batched_index])


def _rows(dataset: TensorDataset, indices: Any) -> list[Tensor] | None:
    """Return the collated samples of plain tensors, indexed at once; None if collation may differ."""
    if type(indices) is not list or set(map(type, indices)) != {int}:
        return None
    if any(type(tensor) is not Tensor or tensor.requires_grad for tensor in dataset.tensors):
        return None
    return [tensor[indices] for tensor in dataset.tensors]
