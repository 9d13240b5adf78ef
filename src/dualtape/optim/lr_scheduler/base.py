"""Base of schedules: a step counter, and learning rates stored in the optimizer's groups."""

from __future__ import annotations

import types
from collections.abc import Callable
from functools import wraps
from typing import Any
from weakref import ref

from ..._tensor.tensor import Tensor
from ...errors import warn
from ..optimizer import Optimizer, _to_scalar

EPOCH_DEPRECATION_WARNING = (
    "scheduler.step(epoch) is deprecated: call scheduler.step(). With an epoch, the closed form of the schedule is used"
    " where there is one."
)


class LRScheduler:
    """A schedule of learning rates; :meth:`get_lr` of a subclass computes them.

    Parameters
    ----------
    optimizer : Optimizer
        Whose groups' ``"lr"`` is set.
    last_epoch : int
        The number of the last step; -1 begins a schedule, at the rates that the groups have.

    Examples
    --------
    >>> import dualtape as dt
    >>> class Halving(dt.optim.lr_scheduler.LRScheduler):
    ...     def get_lr(self):
    ...         return [base / 2 ** self.last_epoch for base in self.base_lrs]
    >>> optimizer = dt.optim.SGD([dt.ones(1, requires_grad=True)], lr=1.0)
    >>> scheduler = Halving(optimizer)
    >>> optimizer.step(); scheduler.step(); scheduler.get_last_lr()
    [0.5]
    """

    _get_lr_called_within_step = False
    _is_initial = False  # during the step that begins a schedule

    def __init__(self, optimizer: Optimizer, last_epoch: int = -1) -> None:
        check_optimizer(optimizer)
        self.optimizer = optimizer
        for number, group in enumerate(optimizer.param_groups):
            if last_epoch == -1:
                group.setdefault("initial_lr", copied(group["lr"]))
            elif "initial_lr" not in group:
                raise KeyError(
                    f"group {number} has no 'initial_lr', from which a schedule goes on: load the optimizer's state"
                    " first, or set it to the rate the schedule began with"
                )
        self.base_lrs: list[Any] = rates(optimizer, "initial_lr")
        self.last_epoch = last_epoch
        _notice_steps(optimizer)
        self._initial_step()

    def _initial_step(self) -> None:
        self._step_count = 0
        self._is_initial = True
        try:
            self.step()
        finally:
            self._is_initial = False

    def state_dict(self) -> dict[str, Any]:
        """Return the state without the optimizer.

        Examples
        --------
        >>> import dualtape as dt
        >>> optimizer = dt.optim.SGD([dt.ones(1, requires_grad=True)], lr=1.0)
        >>> dt.optim.lr_scheduler.StepLR(optimizer, 10).state_dict()["step_size"]
        10
        """
        return {key: value for key, value in self.__dict__.items() if key != "optimizer"}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Restore the result of :meth:`state_dict`."""
        self.__dict__.update(state_dict)

    def get_last_lr(self) -> list[Any]:
        """Return the rates of the groups that this schedule set last."""
        return self._last_lr

    def get_lr(self) -> list[Any]:
        """Return the rates of the groups at ``last_epoch``."""
        raise NotImplementedError(f"{type(self).__name__} has no get_lr(): write one")

    def step(self, epoch: int | None = None) -> None:
        """Set the next learning rates; to be called after the optimizer's step.

        Parameters
        ----------
        epoch : int, optional
            Deprecated: the number of the step.

        Examples
        --------
        >>> import dualtape as dt
        >>> optimizer = dt.optim.SGD([dt.ones(1, requires_grad=True)], lr=1.0)
        >>> scheduler = dt.optim.lr_scheduler.ExponentialLR(optimizer, 0.5)
        >>> optimizer.step(); scheduler.step(); optimizer.param_groups[0]["lr"]
        0.5
        """
        if self._step_count == 1:
            if not hasattr(self.optimizer.step, "_wrapped_by_lr_sched"):
                warn(
                    "the optimizer's step was overridden since the schedule was made: whether it comes before the"
                    " schedule's, as it should, is not known",
                    UserWarning,
                )
            elif not getattr(self.optimizer, "_opt_called", False):
                warn(
                    "the schedule made its step before the optimizer, so that its first rate was never used: call"
                    " optimizer.step() first",
                    UserWarning,
                )
        self._step_count += 1
        if epoch is not None:
            warn(EPOCH_DEPRECATION_WARNING, UserWarning)
        self._update_lr(epoch)

    def _update_lr(self, epoch: int | None = None) -> None:
        self._get_lr_called_within_step = True
        try:
            self.last_epoch = self.last_epoch + 1 if epoch is None else epoch
            closed: Callable | None = getattr(self, "_get_closed_form_lr", None)
            values = self.get_lr() if epoch is None or closed is None else closed()
        finally:
            self._get_lr_called_within_step = False
        self._dt_set(values)

    def _dt_set(self, values: list[Any]) -> None:
        for group, value in zip(self.optimizer.param_groups, values, strict=True):
            set_rate(group, value)
        self._last_lr = rates(self.optimizer)

    def _dt_times(self, factor: float) -> list[Any]:
        """Return the present rates of the groups, times a factor."""
        return [group["lr"] * factor for group in self.optimizer.param_groups]


class _LRScheduler(LRScheduler):
    """The deprecated name of schedules."""


def _notice_steps(optimizer: Any) -> None:
    """Make the optimizer record that it made a step."""
    if hasattr(optimizer.step, "_wrapped_by_lr_sched"):
        return
    known, function = ref(optimizer), optimizer.step.__func__  # weakly: what is dropped is to be freed at once

    @wraps(function)
    def step(*args: Any, **kwargs: Any) -> Any:
        owner = known()
        owner._opt_called = True  # type: ignore[union-attr]
        return function.__get__(owner, type(owner))(*args, **kwargs)

    step._wrapped_by_lr_sched = True  # type: ignore[attr-defined]
    optimizer.step = step


# --- what schedules are written with --------------------------------------------------------------


def check_optimizer(optimizer: Any) -> None:
    """Raise unless it is an optimizer."""
    if not isinstance(optimizer, Optimizer):
        raise TypeError(f"{type(optimizer).__name__} is not an Optimizer")


def copied(value: Any) -> Any:
    """Return a rate that does not change with the group's, which may be a tensor."""
    return value.clone() if isinstance(value, Tensor) else value


def rates(optimizer: Optimizer, key: str = "lr") -> list[Any]:
    """Return a value of each group."""
    return [copied(group[key]) for group in optimizer.param_groups]


def set_rate(group: dict[str, Any], value: Any) -> None:
    """Set a group's learning rate, in place if it is a tensor."""
    if isinstance(group["lr"], Tensor):
        group["lr"].fill_(_to_scalar(value))
    else:
        group["lr"] = value


def of_groups(name: str, optimizer: Optimizer, value: Any) -> list[Any]:
    """Return a value for each group: given as a list, or one for all."""
    groups = optimizer.param_groups
    if not isinstance(value, (list, tuple)):
        value = [value] * len(groups)
    elif len(value) != len(groups):
        raise ValueError(
            f"{name} has {len(value)} values for {len(groups)} groups of parameters: pass one for each, or a number"
        )
    return [copied(each) for each in value]


def warn_outside_step(scheduler: LRScheduler) -> None:
    """Warn that ``get_lr()`` computes the next rates, and that ``get_last_lr()`` returns the present ones."""
    if not scheduler._get_lr_called_within_step:
        warn(
            "get_lr() computes the next rates: get_last_lr() has those that are set",
            UserWarning,
        )


def state_of_callable(function: Any) -> dict[str, Any] | None:
    """Return the part of a callable that enters a checkpoint: the attributes of an object; None for a function."""
    return None if isinstance(function, types.FunctionType) else function.__dict__.copy()
