"""Schedules made of schedules: in sequence, and combined."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from typing import Any

from ..optimizer import Optimizer
from .base import LRScheduler, rates, set_rate
from .plateau import ReduceLROnPlateau


class _Combined(LRScheduler):
    """Base of schedules that contain schedules."""

    _schedulers: Sequence[Any]

    def state_dict(self) -> dict[str, Any]:
        """Return the state without the optimizer, with the states of the schedules."""
        state = {key: value for key, value in self.__dict__.items() if key not in ("optimizer", "_schedulers")}
        return {**state, "_schedulers": [scheduler.state_dict() for scheduler in self._schedulers]}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Restore the result of :meth:`state_dict`."""
        self.__dict__.update({key: value for key, value in state_dict.items() if key != "_schedulers"})
        for scheduler, state in zip(self._schedulers, state_dict["_schedulers"], strict=True):
            scheduler.load_state_dict(state)


def _check(kind: str, schedulers: Sequence[Any], optimizer: Any) -> Any:
    """Return the optimizer that all schedules share."""
    if len(schedulers) < 1:
        raise ValueError(f"{kind} is made of schedules: the list is empty")
    for number, scheduler in enumerate(schedulers):
        if not hasattr(scheduler, "optimizer"):
            raise TypeError(f"{kind}: entry {number} is a {type(scheduler).__name__}, which has no optimizer")
        if isinstance(scheduler, ReduceLROnPlateau):
            raise ValueError(
                f"{kind}: entry {number} is a ReduceLROnPlateau, whose step needs a metric; step it by itself"
            )
        optimizer = optimizer or scheduler.optimizer
        if optimizer is not scheduler.optimizer:
            raise ValueError(
                f"{kind}: entry {number}, a {type(scheduler).__name__}, is for another optimizer than the rest"
            )
    return optimizer


class SequentialLR(_Combined):
    """Schedules in sequence, each from its milestone on.

    Parameters
    ----------
    optimizer : Optimizer
    schedulers : list of LRScheduler
    milestones : list of int
        Where the second begins, the third, and so on.
    last_epoch : int

    Examples
    --------
    >>> import dualtape as dt
    >>> from dualtape.optim.lr_scheduler import ConstantLR, ExponentialLR, SequentialLR
    >>> optimizer = dt.optim.SGD([dt.ones(1, requires_grad=True)], lr=1.0)
    >>> warm, cool = ConstantLR(optimizer, 0.5, total_iters=9), ExponentialLR(optimizer, 0.5)
    >>> scheduler = SequentialLR(optimizer, [warm, cool], milestones=[2])
    >>> [(optimizer.step(), scheduler.step(), scheduler.get_last_lr()[0])[-1] for _ in range(4)]
    [0.5, 1.0, 0.5, 0.25]
    """

    def __init__(
        self, optimizer: Optimizer, schedulers: list[LRScheduler], milestones: list[int], last_epoch: int = -1
    ) -> None:
        _check(type(self).__name__, schedulers, optimizer)
        if len(milestones) != len(schedulers) - 1:
            raise ValueError(
                f"{len(schedulers)} schedules need {len(schedulers) - 1} milestones, one for each but the first; got"
                f" {len(milestones)}"
            )
        self._schedulers: list[Any] = schedulers
        self._milestones = milestones
        self.last_epoch = last_epoch + 1
        self.optimizer = optimizer
        for group in optimizer.param_groups:
            set_rate(group, group["initial_lr"])
        self.recursive_undo()  # each made its first step when it was made
        first = schedulers[bisect_right(milestones, 0)]
        first._initial_step()
        self._last_lr = first.get_last_lr()

    def recursive_undo(self, sched: Any = None) -> None:
        """Undo one step of each schedule, also of nested ones."""
        sched = self if sched is None else sched
        if hasattr(sched, "_schedulers"):
            for scheduler in sched._schedulers:
                self.recursive_undo(scheduler)
        elif hasattr(sched, "last_epoch"):
            sched.last_epoch -= 1

    def step(self) -> None:  # type: ignore[override]
        """Set the next learning rates."""
        self.last_epoch += 1
        number = bisect_right(self._milestones, self.last_epoch)
        scheduler = self._schedulers[number]
        begins = number > 0 and self._milestones[number - 1] == self.last_epoch
        scheduler._update_lr(0) if begins else scheduler.step()
        self._last_lr = scheduler.get_last_lr()


class ChainedScheduler(_Combined):
    """Schedules applied together: each changes the rates that the one before it set.

    Parameters
    ----------
    schedulers : sequence of LRScheduler
    optimizer : Optimizer, optional
        Default: that of the first.

    Examples
    --------
    >>> import dualtape as dt
    >>> from dualtape.optim.lr_scheduler import ChainedScheduler, ExponentialLR
    >>> optimizer = dt.optim.SGD([dt.ones(1, requires_grad=True)], lr=1.0)
    >>> scheduler = ChainedScheduler([ExponentialLR(optimizer, 0.5), ExponentialLR(optimizer, 0.5)])
    >>> optimizer.step(); scheduler.step(); scheduler.get_last_lr()
    [0.25]
    """

    def __init__(self, schedulers: Sequence[LRScheduler], optimizer: Optimizer | None = None) -> None:
        optimizer = _check(type(self).__name__, schedulers, optimizer)
        self._schedulers = schedulers
        self.optimizer = optimizer
        self._last_lr = rates(self.optimizer)

    def step(self) -> None:  # type: ignore[override]
        """Set the next learning rates."""
        for scheduler in self._schedulers:
            scheduler.step()
        self._last_lr = rates(self.optimizer)
