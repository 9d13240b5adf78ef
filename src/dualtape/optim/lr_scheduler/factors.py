"""Schedules that multiply the learning rate.

Each step multiplies the present rates, so that schedules compose; for a given epoch they use their closed form.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Iterable
from math import cos, pi
from typing import Any

from ..optimizer import Optimizer
from .base import LRScheduler, rates, state_of_callable, warn_outside_step


class _OfFunctions(LRScheduler):
    """A schedule by functions of the step number."""

    lr_lambdas: list[Callable[[int], Any]]

    def _dt_set_functions(self, optimizer: Optimizer, lr_lambda: Any) -> None:
        self.optimizer = optimizer
        count = len(optimizer.param_groups)
        several = isinstance(lr_lambda, (list, tuple))
        if several and len(lr_lambda) != count:
            raise ValueError(
                f"{len(lr_lambda)} functions for {count} groups of parameters: pass one for each, or one for all"
            )
        self.lr_lambdas = list(lr_lambda) if several else [lr_lambda] * count

    def state_dict(self) -> dict[str, Any]:
        """Return the state without the optimizer and functions; of callable objects, their attributes."""
        state = {key: value for key, value in self.__dict__.items() if key not in ("optimizer", "lr_lambdas")}
        return {**state, "lr_lambdas": [state_of_callable(function) for function in self.lr_lambdas]}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Restore the result of :meth:`state_dict`; functions remain."""
        self.__dict__.update({key: value for key, value in state_dict.items() if key != "lr_lambdas"})
        for function, state in zip(self.lr_lambdas, state_dict["lr_lambdas"], strict=True):
            if state is not None:
                function.__dict__.update(state)


class LambdaLR(_OfFunctions):
    """The first rate times a function of the step number.

    Parameters
    ----------
    optimizer : Optimizer
    lr_lambda : callable or list of callable
        One for all groups, or one for each.
    last_epoch : int

    Examples
    --------
    >>> import dualtape as dt
    >>> optimizer = dt.optim.SGD([dt.ones(1, requires_grad=True)], lr=1.0)
    >>> scheduler = dt.optim.lr_scheduler.LambdaLR(optimizer, lambda step: 1 / (1 + step))
    >>> optimizer.step(); scheduler.step(); scheduler.get_last_lr()
    [0.5]
    """

    def __init__(self, optimizer: Optimizer, lr_lambda: Any, last_epoch: int = -1) -> None:
        self._dt_set_functions(optimizer, lr_lambda)
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[Any]:
        """The rates of the groups at ``last_epoch``."""
        warn_outside_step(self)
        return [base * f(self.last_epoch) for f, base in zip(self.lr_lambdas, self.base_lrs, strict=True)]


class MultiplicativeLR(_OfFunctions):
    """The last rate times a function of the step number.

    Parameters
    ----------
    optimizer : Optimizer
    lr_lambda : callable or list of callable
        One for all groups, or one for each.
    last_epoch : int

    Examples
    --------
    >>> import dualtape as dt
    >>> optimizer = dt.optim.SGD([dt.ones(1, requires_grad=True)], lr=1.0)
    >>> scheduler = dt.optim.lr_scheduler.MultiplicativeLR(optimizer, lambda step: 0.5)
    >>> optimizer.step(); scheduler.step(); scheduler.get_last_lr()
    [0.5]
    """

    def __init__(self, optimizer: Optimizer, lr_lambda: Any, last_epoch: int = -1) -> None:
        self._dt_set_functions(optimizer, lr_lambda)
        for function in self.lr_lambdas:
            if not callable(function):
                raise TypeError(f"lr_lambda must be callable, got {type(function).__name__}")
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[Any]:
        """The rates of the groups at ``last_epoch``."""
        warn_outside_step(self)
        if self._is_initial:
            return rates(self.optimizer)
        groups = self.optimizer.param_groups
        return [group["lr"] * f(self.last_epoch) for f, group in zip(self.lr_lambdas, groups, strict=True)]


class StepLR(LRScheduler):
    """The rate times ``gamma``, once every ``step_size`` steps.

    Examples
    --------
    >>> import dualtape as dt
    >>> optimizer = dt.optim.SGD([dt.ones(1, requires_grad=True)], lr=1.0)
    >>> scheduler = dt.optim.lr_scheduler.StepLR(optimizer, step_size=2, gamma=0.5)
    >>> [(optimizer.step(), scheduler.step(), scheduler.get_last_lr()[0])[-1] for _ in range(4)]
    [1.0, 0.5, 0.5, 0.25]
    """

    def __init__(self, optimizer: Optimizer, step_size: int, gamma: float = 0.1, last_epoch: int = -1) -> None:
        self.step_size = step_size
        self.gamma = gamma
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[Any]:
        """The rates of the groups at ``last_epoch``."""
        warn_outside_step(self)
        if self.last_epoch == 0 or self.last_epoch % self.step_size != 0:
            return rates(self.optimizer)
        return self._dt_times(self.gamma)

    def _get_closed_form_lr(self) -> list[Any]:
        return [base * self.gamma ** (self.last_epoch // self.step_size) for base in self.base_lrs]


class MultiStepLR(LRScheduler):
    """The rate times ``gamma`` at each of the ``milestones``.

    Examples
    --------
    >>> import dualtape as dt
    >>> optimizer = dt.optim.SGD([dt.ones(1, requires_grad=True)], lr=1.0)
    >>> scheduler = dt.optim.lr_scheduler.MultiStepLR(optimizer, milestones=[1, 3], gamma=0.5)
    >>> [(optimizer.step(), scheduler.step(), scheduler.get_last_lr()[0])[-1] for _ in range(4)]
    [0.5, 0.5, 0.25, 0.25]
    """

    def __init__(
        self, optimizer: Optimizer, milestones: Iterable[int], gamma: float = 0.1, last_epoch: int = -1
    ) -> None:
        self.milestones = Counter(milestones)
        self.gamma = gamma
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[Any]:
        """The rates of the groups at ``last_epoch``."""
        warn_outside_step(self)
        if self.last_epoch not in self.milestones:
            return rates(self.optimizer)
        return self._dt_times(self.gamma ** self.milestones[self.last_epoch])

    def _get_closed_form_lr(self) -> list[Any]:
        passed = bisect_right(sorted(self.milestones.elements()), self.last_epoch)
        return [base * self.gamma**passed for base in self.base_lrs]


class ConstantLR(LRScheduler):
    """The rate times ``factor`` for ``total_iters`` steps.

    Examples
    --------
    >>> import dualtape as dt
    >>> optimizer = dt.optim.SGD([dt.ones(1, requires_grad=True)], lr=1.0)
    >>> scheduler = dt.optim.lr_scheduler.ConstantLR(optimizer, factor=0.5, total_iters=2)
    >>> [(optimizer.step(), scheduler.step(), scheduler.get_last_lr()[0])[-1] for _ in range(3)]
    [0.5, 1.0, 1.0]
    """

    def __init__(
        self, optimizer: Optimizer, factor: float = 1.0 / 3, total_iters: int = 5, last_epoch: int = -1
    ) -> None:
        if not 0 <= factor <= 1:
            raise ValueError(f"Invalid factor: {factor}; it must be from 0 to 1")
        self.factor = factor
        self.total_iters = total_iters
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[Any]:
        """The rates of the groups at ``last_epoch``."""
        warn_outside_step(self)
        if self.last_epoch == 0:
            return self._dt_times(self.factor)
        return rates(self.optimizer) if self.last_epoch != self.total_iters else self._dt_times(1.0 / self.factor)

    def _get_closed_form_lr(self) -> list[Any]:
        factor = self.factor + (self.last_epoch >= self.total_iters) * (1 - self.factor)
        return [base * factor for base in self.base_lrs]


class LinearLR(LRScheduler):
    """The rate times a factor that goes from ``start_factor`` to ``end_factor`` in ``total_iters`` steps.

    Examples
    --------
    >>> import dualtape as dt
    >>> optimizer = dt.optim.SGD([dt.ones(1, requires_grad=True)], lr=1.0)
    >>> scheduler = dt.optim.lr_scheduler.LinearLR(optimizer, start_factor=0.5, total_iters=2)
    >>> [(optimizer.step(), scheduler.step(), scheduler.get_last_lr()[0])[-1] for _ in range(3)]
    [0.75, 1.0, 1.0]
    """

    def __init__(
        self,
        optimizer: Optimizer,
        start_factor: float = 1.0 / 3,
        end_factor: float = 1.0,
        total_iters: int = 5,
        last_epoch: int = -1,
    ) -> None:
        if not 0 < start_factor <= 1:
            raise ValueError(f"Invalid start_factor: {start_factor}; it must be above 0 and at most 1")
        if not 0 <= end_factor <= 1:
            raise ValueError(f"Invalid end_factor: {end_factor}; it must be from 0 to 1")
        self.start_factor, self.end_factor, self.total_iters = start_factor, end_factor, total_iters
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[Any]:
        """The rates of the groups at ``last_epoch``."""
        warn_outside_step(self)
        if self.last_epoch == 0:
            return self._dt_times(self.start_factor)
        if self._is_initial or self.last_epoch > self.total_iters:
            return rates(self.optimizer)
        way = self.end_factor - self.start_factor
        return self._dt_times(1.0 + way / (self.total_iters * self.start_factor + (self.last_epoch - 1) * way))

    def _get_closed_form_lr(self) -> list[Any]:
        done = min(self.total_iters, self.last_epoch) / self.total_iters
        return [base * (self.start_factor + (self.end_factor - self.start_factor) * done) for base in self.base_lrs]


class ExponentialLR(LRScheduler):
    """The rate times ``gamma`` at each step.

    Examples
    --------
    >>> import dualtape as dt
    >>> optimizer = dt.optim.SGD([dt.ones(1, requires_grad=True)], lr=1.0)
    >>> scheduler = dt.optim.lr_scheduler.ExponentialLR(optimizer, gamma=0.5)
    >>> optimizer.step(); scheduler.step(); scheduler.get_last_lr()
    [0.5]
    """

    def __init__(self, optimizer: Optimizer, gamma: float, last_epoch: int = -1) -> None:
        self.gamma = gamma
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[Any]:
        """The rates of the groups at ``last_epoch``."""
        warn_outside_step(self)
        return rates(self.optimizer) if self._is_initial else self._dt_times(self.gamma)

    def _get_closed_form_lr(self) -> list[Any]:
        return [base * self.gamma**self.last_epoch for base in self.base_lrs]


class PolynomialLR(LRScheduler):
    """The rate times a power of the remaining fraction of ``total_iters`` steps.

    Examples
    --------
    >>> import dualtape as dt
    >>> optimizer = dt.optim.SGD([dt.ones(1, requires_grad=True)], lr=1.0)
    >>> scheduler = dt.optim.lr_scheduler.PolynomialLR(optimizer, total_iters=4)
    >>> optimizer.step(); scheduler.step(); scheduler.get_last_lr()
    [0.75]
    """

    def __init__(self, optimizer: Optimizer, total_iters: int = 5, power: float = 1.0, last_epoch: int = -1) -> None:
        self.total_iters = total_iters
        self.power = power
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[Any]:
        """The rates of the groups at ``last_epoch``."""
        warn_outside_step(self)
        if self._is_initial or self.last_epoch > self.total_iters:
            return rates(self.optimizer)
        left = [1.0 - epoch / self.total_iters for epoch in (self.last_epoch, self.last_epoch - 1)]
        return self._dt_times((left[0] / left[1]) ** self.power)

    def _get_closed_form_lr(self) -> list[Any]:
        left = 1.0 - min(self.total_iters, self.last_epoch) / self.total_iters
        return [base * left**self.power for base in self.base_lrs]


class CosineAnnealingLR(LRScheduler):
    """The rate along a cosine: down to ``eta_min`` in ``T_max`` steps, and up again.

    Examples
    --------
    >>> import dualtape as dt
    >>> optimizer = dt.optim.SGD([dt.ones(1, requires_grad=True)], lr=1.0)
    >>> scheduler = dt.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=2)
    >>> optimizer.step(); scheduler.step(); scheduler.get_last_lr()
    [0.5]
    """

    def __init__(self, optimizer: Optimizer, T_max: int, eta_min: float = 0.0, last_epoch: int = -1) -> None:
        self.T_max = T_max
        self.eta_min = eta_min
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[Any]:
        """The rates of the groups at ``last_epoch``."""
        warn_outside_step(self)
        if self._is_initial:
            return rates(self.optimizer)
        if self._step_count == 1 and self.last_epoch > 0:
            return self._get_closed_form_lr()
        groups = self.optimizer.param_groups
        if (self.last_epoch - 1 - self.T_max) % (2 * self.T_max) == 0:  # the turn, where the quotient is 0 / 0
            up = (1 - cos(pi / self.T_max)) / 2
            return [group["lr"] + (base - self.eta_min) * up for base, group in zip(self.base_lrs, groups, strict=True)]
        now, before = (1 + cos(pi * epoch / self.T_max) for epoch in (self.last_epoch, self.last_epoch - 1))
        return [now / before * (group["lr"] - self.eta_min) + self.eta_min for group in groups]

    def _get_closed_form_lr(self) -> list[Any]:
        height = 1 + cos(pi * self.last_epoch / self.T_max)
        return [self.eta_min + (base - self.eta_min) * height / 2 for base in self.base_lrs]
