"""A sampler for one of several processes that share a dataset."""

from __future__ import annotations

from collections.abc import Iterator
from math import ceil
from typing import Any

from ...random import Generator, randperm
from .sampler import Sampler

__all__ = ["DistributedSampler"]


class DistributedSampler(Sampler[int]):
    """Every ``num_replicas``-th index, from ``rank`` on, of an order that is the same in all processes.

    Parameters
    ----------
    dataset : Dataset
    num_replicas, rank : int, optional
        How many processes there are, and which this is; as the process group says by default.
    shuffle : bool
        Whether the order is random: by ``seed`` and the epoch.
    seed : int
    drop_last : bool
        Whether what cannot be shared out is left out; else some samples are taken twice.

    Examples
    --------
    >>> import dualtape as dt
    >>> list(dt.utils.data.DistributedSampler(range(5), num_replicas=2, rank=1, shuffle=False))
    [1, 3, 0]
    """

    def __init__(
        self,
        dataset: Any,
        num_replicas: int | None = None,
        rank: int | None = None,
        shuffle: bool = True,
        seed: int = 0,
        drop_last: bool = False,
    ) -> None:
        if num_replicas is None or rank is None:
            from ... import distributed

            num_replicas = distributed.get_world_size() if num_replicas is None else num_replicas
            rank = distributed.get_rank() if rank is None else rank
        if not 0 <= rank < num_replicas:
            raise ValueError(f"rank {rank} is not one of {num_replicas} processes: they count from 0")
        self.dataset, self.num_replicas, self.rank = dataset, num_replicas, rank
        self.shuffle, self.seed, self.epoch, self.drop_last = shuffle, seed, 0, drop_last
        total = len(dataset)
        self.num_samples = total // num_replicas if drop_last else ceil(total / num_replicas)
        self.total_size = self.num_samples * num_replicas

    def __iter__(self) -> Iterator[int]:
        order = list(range(len(self.dataset)))
        if self.shuffle:
            generator = Generator()
            generator.manual_seed(self.seed + self.epoch)
            order = randperm(len(self.dataset), generator=generator).tolist()
        while 0 < len(order) < self.total_size:
            order += order[: self.total_size - len(order)]
        return iter(order[self.rank : self.total_size : self.num_replicas])

    def __len__(self) -> int:
        return self.num_samples

    def set_epoch(self, epoch: int) -> None:
        """Set the epoch, which determines the order."""
        self.epoch = epoch
