"""Schedules that go up and down: cycles, one cycle, restarts. The momentum may move in the opposite direction."""

from __future__ import annotations

from collections.abc import Callable
from math import cos, floor, log, pi
from typing import Any, Literal

from ..optimizer import Optimizer
from .base import LRScheduler, check_optimizer, of_groups, set_rate, state_of_callable, warn_outside_step


def _begin_momentum(scheduler: Any, base: Any, most: Any, last_epoch: int) -> tuple[list, list]:
    """Return the momentums of each group; a new schedule sets the largest."""
    optimizer = scheduler.optimizer
    if "momentum" not in optimizer.defaults and "betas" not in optimizer.defaults:
        raise ValueError("the optimizer has neither momentum nor betas: pass cycle_momentum=False")
    scheduler.use_beta1 = "betas" in optimizer.defaults
    bases, largest = of_groups("base_momentum", optimizer, base), of_groups("max_momentum", optimizer, most)
    if last_epoch == -1:
        for group, low, high in zip(optimizer.param_groups, bases, largest, strict=True):
            _set_momentum(scheduler, group, high)
            group["max_momentum"], group["base_momentum"] = high, low
    return bases, largest


def _set_momentum(scheduler: Any, group: dict[str, Any], value: Any) -> None:
    if scheduler.use_beta1:
        group["betas"] = (value, *group["betas"][1:])
    else:
        group["momentum"] = value


class CyclicLR(LRScheduler):
    """The rate up from ``base_lr`` to ``max_lr`` and down again, in cycles (Smith, 2015).

    Parameters
    ----------
    optimizer : Optimizer
    base_lr, max_lr : float or list of float
        For all groups, or for each.
    step_size_up, step_size_down : int
        Steps up and steps down; default: as many.
    mode : str
        ``"triangular"``; ``"triangular2"``: each cycle half as high; ``"exp_range"``: heights by powers of ``gamma``.
    gamma : float
    scale_fn : callable, optional
        The height, instead of a mode: a function of the cycle's or the step's number, as ``scale_mode`` says.
    scale_mode : str
        ``"cycle"`` or ``"iterations"``.
    cycle_momentum : bool
        Whether the momentum goes the other way, from ``max_momentum`` to ``base_momentum``.
    base_momentum, max_momentum : float or list of float
    last_epoch : int

    Examples
    --------
    >>> import dualtape as dt
    >>> optimizer = dt.optim.SGD([dt.ones(1, requires_grad=True)], lr=1.0, momentum=0.9)
    >>> scheduler = dt.optim.lr_scheduler.CyclicLR(optimizer, base_lr=1.0, max_lr=2.0, step_size_up=2)
    >>> [(optimizer.step(), scheduler.step(), scheduler.get_last_lr()[0])[-1] for _ in range(4)]
    [1.5, 2.0, 1.5, 1.0]
    """

    def __init__(
        self,
        optimizer: Optimizer,
        base_lr: float | list[float],
        max_lr: float | list[float],
        step_size_up: int = 2000,
        step_size_down: int | None = None,
        mode: Literal["triangular", "triangular2", "exp_range"] = "triangular",
        gamma: float = 1.0,
        scale_fn: Callable[[float], float] | None = None,
        scale_mode: Literal["cycle", "iterations"] = "cycle",
        cycle_momentum: bool = True,
        base_momentum: float = 0.8,
        max_momentum: float = 0.9,
        last_epoch: int = -1,
    ) -> None:
        check_optimizer(optimizer)
        self.optimizer = optimizer
        base_lrs = of_groups("base_lr", optimizer, base_lr)
        self.max_lrs = of_groups("max_lr", optimizer, max_lr)
        if mode not in ("triangular", "triangular2", "exp_range") and scale_fn is None:
            raise ValueError(f"unknown mode {mode!r}: pass 'triangular', 'triangular2', 'exp_range', or a scale_fn")
        if last_epoch == -1:
            for lr, group in zip(base_lrs, optimizer.param_groups, strict=True):
                set_rate(group, lr)
        up = float(step_size_up)
        self.total_size = up + (float(step_size_down) if step_size_down is not None else up)
        self.step_ratio = up / self.total_size
        self.mode = mode
        self.gamma = gamma
        self._scale_fn_custom = scale_fn
        self.scale_mode: str = scale_mode
        if scale_fn is None:
            self.scale_mode = "iterations" if mode == "exp_range" else "cycle"
        self.cycle_momentum = cycle_momentum
        if cycle_momentum:
            self.base_momentums, self.max_momentums = _begin_momentum(self, base_momentum, max_momentum, last_epoch)
        super().__init__(optimizer, last_epoch)
        self.base_lrs = base_lrs

    def scale_fn(self, x: float) -> float:
        """Return the amplitude of a cycle, or at a step."""
        if self._scale_fn_custom is not None:
            return self._scale_fn_custom(x)
        if self.mode == "triangular2":
            return 1 / 2.0 ** (x - 1)
        return self.gamma**x if self.mode == "exp_range" else 1.0

    def get_lr(self) -> list[Any]:
        """Return the rates of the groups at ``last_epoch``, and set the momentum."""
        warn_outside_step(self)
        cycle = floor(1 + self.last_epoch / self.total_size)
        x = 1.0 + self.last_epoch / self.total_size - cycle
        part = x / self.step_ratio if x <= self.step_ratio else (x - 1) / (self.step_ratio - 1)
        height = self.scale_fn(cycle if self.scale_mode == "cycle" else self.last_epoch)
        if self.cycle_momentum:
            for group, low, high in zip(
                self.optimizer.param_groups, self.base_momentums, self.max_momentums, strict=True
            ):
                _set_momentum(self, group, high - (high - low) * part * height)
        return [low + (high - low) * part * height for low, high in zip(self.base_lrs, self.max_lrs, strict=True)]

    def state_dict(self) -> dict[str, Any]:
        """Return the state without the optimizer; of a callable object as ``scale_fn``, its attributes."""
        state = super().state_dict()
        function = state.pop("_scale_fn_custom")
        return {**state, "_scale_fn_custom": None if function is None else state_of_callable(function)}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Restore the result of :meth:`state_dict`; a function as ``scale_fn`` remains."""
        super().load_state_dict({key: value for key, value in state_dict.items() if key != "_scale_fn_custom"})
        if state_dict["_scale_fn_custom"] is not None:
            self._scale_fn_custom.__dict__.update(state_dict["_scale_fn_custom"])


class CosineAnnealingWarmRestarts(LRScheduler):
    """The rate along a cosine down to ``eta_min``, repeatedly (Loshchilov and Hutter, 2016).

    Parameters
    ----------
    optimizer : Optimizer
    T_0 : int
        Steps until the first restart.
    T_mult : int
        How many times longer each cycle is than the one before.
    eta_min : float
    last_epoch : int

    Examples
    --------
    >>> import dualtape as dt
    >>> optimizer = dt.optim.SGD([dt.ones(1, requires_grad=True)], lr=1.0)
    >>> scheduler = dt.optim.lr_scheduler.CosineAnnealingWarmRestarts(optimizer, T_0=2)
    >>> [(optimizer.step(), scheduler.step(), scheduler.get_last_lr()[0])[-1] for _ in range(3)]
    [0.5, 1.0, 0.5]
    """

    def __init__(
        self, optimizer: Optimizer, T_0: int, T_mult: int = 1, eta_min: float = 0.0, last_epoch: int = -1
    ) -> None:
        if T_0 <= 0 or not isinstance(T_0, int):
            raise ValueError(f"T_0 is a count of steps, 1 or more; got {T_0}")
        if T_mult < 1 or not isinstance(T_mult, int):
            raise ValueError(f"T_mult must be an int, 1 or more; got {T_mult}")
        if not isinstance(eta_min, (float, int)):
            raise ValueError(f"eta_min must be a number, got {type(eta_min).__name__}")
        self.T_0 = T_0
        self.T_i: float = T_0
        self.T_mult = T_mult
        self.eta_min = eta_min
        self.T_cur: float = last_epoch
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[Any]:
        """The rates of the groups, ``T_cur`` steps after the last restart."""
        warn_outside_step(self)
        height = 1 + cos(pi * self.T_cur / self.T_i)
        return [self.eta_min + (base - self.eta_min) * height / 2 for base in self.base_lrs]

    def step(self, epoch: float | None = None) -> None:
        """Set the next learning rates, or those of an epoch, which may be between two."""
        if epoch is None and self.last_epoch >= 0:
            epoch = self.last_epoch + 1
            self.T_cur += 1
            if self.T_cur >= self.T_i:
                self.T_cur, self.T_i = self.T_cur % self.T_i, self.T_i * self.T_mult
        else:
            epoch = epoch or 0
            self.T_cur, self.T_i = self._dt_cycle_at(epoch)
        self.last_epoch = floor(epoch)
        self._get_lr_called_within_step = True
        try:
            values = self.get_lr()
        finally:
            self._get_lr_called_within_step = False
        self._dt_set(values)

    def _dt_cycle_at(self, epoch: float) -> tuple[float, float]:
        """Return the number of steps since the last restart, and the length of the cycle."""
        first, factor = self.T_0, self.T_mult
        if epoch < 0:
            raise ValueError(f"an epoch is 0 or more, got {epoch}")
        if epoch < first:
            return epoch, first
        if factor == 1:
            return epoch % first, self.T_i
        # Cycles of lengths T_0, T_0 factor, ... end at T_0 (factor^n - 1) / (factor - 1).
        restarts = int(log(epoch / first * (factor - 1) + 1, factor))
        return epoch - first * (factor**restarts - 1) / (factor - 1), first * factor**restarts


class OneCycleLR(LRScheduler):
    """The rate up to ``max_lr`` and down to nearly nothing, once (Smith and Topin, 2017).

    Parameters
    ----------
    optimizer : Optimizer
    max_lr : float or list of float
        For all groups, or for each.
    total_steps : int, optional
        Or else ``epochs`` times ``steps_per_epoch``.
    epochs, steps_per_epoch : int, optional
    pct_start : float
        The part of the steps that go up.
    anneal_strategy : str
        ``"cos"`` or ``"linear"``.
    cycle_momentum : bool
        Whether the momentum goes the other way, from ``max_momentum`` to ``base_momentum``.
    base_momentum, max_momentum : float or list of float
    div_factor, final_div_factor : float
        The first rate is ``max_lr / div_factor``, the last one that over ``final_div_factor``.
    three_phase : bool
        Down to the first rate in as many steps as up, and then to the last.
    last_epoch : int

    Examples
    --------
    >>> import dualtape as dt
    >>> optimizer = dt.optim.SGD([dt.ones(1, requires_grad=True)], lr=1.0, momentum=0.9)
    >>> scheduler = dt.optim.lr_scheduler.OneCycleLR(optimizer, max_lr=1.0, total_steps=10)
    >>> [(optimizer.step(), scheduler.step(), round(scheduler.get_last_lr()[0], 2))[-1] for _ in range(4)]
    [0.52, 1.0, 0.95, 0.81]
    """

    def __init__(
        self,
        optimizer: Optimizer,
        max_lr: float | list[float],
        total_steps: int | None = None,
        epochs: int | None = None,
        steps_per_epoch: int | None = None,
        pct_start: float = 0.3,
        anneal_strategy: Literal["cos", "linear"] = "cos",
        cycle_momentum: bool = True,
        base_momentum: float | list[float] = 0.85,
        max_momentum: float | list[float] = 0.95,
        div_factor: float = 25.0,
        final_div_factor: float = 1e4,
        three_phase: bool = False,
        last_epoch: int = -1,
    ) -> None:
        check_optimizer(optimizer)
        self.optimizer = optimizer
        if total_steps is not None:
            self.total_steps = _positive("total_steps", total_steps)
        elif epochs is not None and steps_per_epoch is not None:
            self.total_steps = _positive("epochs", epochs) * _positive("steps_per_epoch", steps_per_epoch)
        else:
            raise ValueError("how long is the cycle? Pass total_steps, or both epochs and steps_per_epoch")
        if not isinstance(pct_start, float) or not 0 <= pct_start <= 1:
            raise ValueError(f"pct_start is a part of the steps: a float from 0 to 1, got {pct_start!r}")
        if anneal_strategy not in ("cos", "linear"):
            raise ValueError(f"unknown anneal_strategy {anneal_strategy!r}: pass 'cos' or 'linear'")
        up, last = float(pct_start * self.total_steps) - 1, self.total_steps - 1
        self._schedule_phases = [_phase(up, "initial_lr", "max_lr", "max_momentum", "base_momentum")]
        if three_phase:
            down = float(2 * pct_start * self.total_steps) - 2
            self._schedule_phases += [
                _phase(down, "max_lr", "initial_lr", "base_momentum", "max_momentum"),
                _phase(last, "initial_lr", "min_lr", "max_momentum", "max_momentum"),
            ]
        else:
            self._schedule_phases.append(_phase(last, "max_lr", "min_lr", "base_momentum", "max_momentum"))
        self._anneal_func_type = anneal_strategy
        largest = of_groups("max_lr", optimizer, max_lr)
        if last_epoch == -1:
            for group, most in zip(optimizer.param_groups, largest, strict=True):
                group["initial_lr"] = most / div_factor
                group["max_lr"] = most
                group["min_lr"] = group["initial_lr"] / final_div_factor
        self.cycle_momentum = cycle_momentum
        if cycle_momentum:
            _begin_momentum(self, base_momentum, max_momentum, last_epoch)
        super().__init__(optimizer, last_epoch)

    def _dt_anneal(self, start: Any, end: Any, part: float) -> Any:
        if self._anneal_func_type == "linear":
            return (end - start) * part + start
        return end + (start - end) / 2.0 * (cos(pi * part) + 1)

    def get_lr(self) -> list[Any]:
        """Return the rates of the groups at ``last_epoch``, and set the momentum."""
        warn_outside_step(self)
        step = self.last_epoch
        if step > self.total_steps:
            raise ValueError(f"the cycle of {self.total_steps} steps is over, and this is step {step}")
        start = 0.0
        for phase in self._schedule_phases:
            end = phase["end_step"]
            if step <= end or phase is self._schedule_phases[-1]:
                break
            start = end
        part = (step - start) / (end - start)
        for group in self.optimizer.param_groups if self.cycle_momentum else ():
            momentum = self._dt_anneal(group[phase["start_momentum"]], group[phase["end_momentum"]], part)
            _set_momentum(self, group, momentum)
        groups = self.optimizer.param_groups
        return [self._dt_anneal(group[phase["start_lr"]], group[phase["end_lr"]], part) for group in groups]


def _positive(name: str, value: Any) -> int:
    if not isinstance(value, int) or value <= 0:
        raise ValueError(f"{name} must be an int above 0, got {value}")
    return value


def _phase(end: float, lr: str, to_lr: str, momentum: str, to_momentum: str) -> dict[str, Any]:
    return {"end_step": end, "start_lr": lr, "end_lr": to_lr, "start_momentum": momentum, "end_momentum": to_momentum}
