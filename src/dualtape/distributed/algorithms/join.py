"""Uneven inputs: ranks without further inputs take part in the collectives of the others until all are done."""

from __future__ import annotations

import warnings
from abc import ABC, abstractmethod
from typing import Any

import numpy as np

from ..._tensor.tensor import wrap
from .. import collectives
from ..reduce_op import ReduceOp

__all__ = ["Join", "JoinHook", "Joinable"]


class JoinHook:
    """The actions of a rank that has no more inputs."""

    def main_hook(self) -> None:
        """Run the collectives of one step of the others."""

    def post_hook(self, is_last_joiner: bool) -> None:
        """Called when all ranks are done."""


class _Config:
    __slots__ = ("enable", "throws", "first", "divides")

    def __init__(self, enable: bool = False, throws: bool = False, first: bool = False) -> None:
        self.enable = enable
        self.throws = throws
        self.first = first  # the one that says, for all, that this rank is not done
        self.divides = True


class Joinable(ABC):
    """Base of objects for a :class:`Join`: in each step they call ``Join.notify_join_context`` first."""

    @abstractmethod
    def __init__(self) -> None:
        super().__init__()
        self._join_config = _Config()

    @abstractmethod
    def join_hook(self, **kwargs: Any) -> JoinHook:
        """Return the actions for when this rank is done."""

    @property
    @abstractmethod
    def join_device(self) -> Any:
        """The device of its collectives."""

    @property
    @abstractmethod
    def join_process_group(self) -> Any:
        """The process group of its collectives."""


class Join:
    """Context in which each rank may take a different number of steps.

    Parameters
    ----------
    joinables : list of Joinable
        What makes collectives in each step, in the order in which it does.
    enable : bool
        Whether ranks may have different numbers.
    throw_on_early_termination : bool
        Whether all ranks raise as soon as one is done.
    **kwargs
        For the hooks.

    Examples
    --------
    >>> import dualtape as dt
    >>> import dualtape.distributed as dist
    >>> from dualtape.distributed.algorithms import Join
    >>> dist.init_process_group()
    >>> model = dt.nn.parallel.DistributedDataParallel(dt.nn.Linear(1, 1))
    >>> with Join([model]):
    ...     for batch in dt.ones(3, 1, 1):
    ...         model(batch).sum().backward()
    >>> dist.destroy_process_group()
    """

    def __init__(
        self, joinables: list[Joinable], enable: bool = True, throw_on_early_termination: bool = False, **kwargs: Any
    ) -> None:
        if not joinables:
            raise ValueError("Join needs at least one joinable (a DistributedDataParallel, say), got none")
        self._joinables = joinables
        self._enable = enable
        self._throws = throw_on_early_termination
        groups = {id(joinable.join_process_group) for joinable in joinables}
        if len(groups) > 1:
            raise ValueError("Join: all joinables must be of one process group")
        self._group = joinables[0].join_process_group
        self._hooks = [joinable.join_hook(**kwargs) for joinable in joinables]

    def __enter__(self) -> None:
        for k, joinable in enumerate(self._joinables):
            divides = joinable._join_config.divides
            joinable._join_config = _Config(self._enable, self._throws, k == 0)
            joinable._join_config.divides = divides

    def __exit__(self, kind: Any, value: Any, traceback: Any) -> None:
        for joinable in self._joinables:
            joinable._join_config.enable = False
        if not self._enable or kind is not None:
            return
        last, steps = True, 0
        while _active(self._group, 0):
            if self._throws:
                raise RuntimeError(f"Rank {self._group.rank()} exhausted all inputs: throw_on_early_termination")
            last = False
            for hook in self._hooks:
                hook.main_hook()
            steps += 1
        if steps > 1000:
            warnings.warn(f"Join: this rank was done {steps} steps before the last", UserWarning, stacklevel=2)
        for hook in self._hooks:
            hook.post_hook(last)

    @staticmethod
    def notify_join_context(joinable: Joinable) -> None:
        """Tell the ranks that are done that this one is not; called once in each step."""
        config = joinable._join_config
        if config.enable and config.first:
            group = joinable.join_process_group
            if _active(group, 1) < group.size() and config.throws:
                raise RuntimeError("Detected at least one rank that exhausted inputs: throw_on_early_termination")


def _active(group: Any, here: int) -> int:
    """Return how many ranks are not done."""
    said = wrap(np.array([here]))
    collectives.all_reduce(said, ReduceOp.SUM, group)
    return int(said.item())
