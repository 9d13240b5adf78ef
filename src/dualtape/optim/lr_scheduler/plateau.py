"""A schedule that waits for a metric to stop improving."""

from __future__ import annotations

from math import inf
from typing import Any, Literal, SupportsFloat

from ...errors import warn
from ..optimizer import Optimizer
from .base import EPOCH_DEPRECATION_WARNING, LRScheduler, check_optimizer, rates, set_rate


class ReduceLROnPlateau(LRScheduler):
    """The rate times ``factor`` whenever a metric has not improved for ``patience`` steps.

    Parameters
    ----------
    optimizer : Optimizer
    mode : str
        Whether less is better (``"min"``) or more (``"max"``).
    factor : float
        Less than 1.
    patience : int
        How many steps without improvement are allowed.
    threshold, threshold_mode : float, str
        By how much a metric must be better: by that part of it (``"rel"``), or by that much (``"abs"``).
    cooldown : int
        How many steps after a reduction do not count.
    min_lr : float or list of float
        The smallest rate, for all groups or for each.
    eps : float
        A reduction by less is not made.

    Examples
    --------
    >>> import dualtape as dt
    >>> optimizer = dt.optim.SGD([dt.ones(1, requires_grad=True)], lr=1.0)
    >>> scheduler = dt.optim.lr_scheduler.ReduceLROnPlateau(optimizer, factor=0.5, patience=1)
    >>> [(optimizer.step(), scheduler.step(loss), scheduler.get_last_lr()[0])[-1] for loss in (3.0, 3.0, 3.0, 2.0)]
    [1.0, 1.0, 0.5, 0.5]
    """

    def __init__(
        self,
        optimizer: Optimizer,
        mode: Literal["min", "max"] = "min",
        factor: float = 0.1,
        patience: int = 10,
        threshold: float = 1e-4,
        threshold_mode: Literal["rel", "abs"] = "rel",
        cooldown: int = 0,
        min_lr: list[float] | float = 0,
        eps: float = 1e-8,
    ) -> None:
        if factor >= 1.0:
            raise ValueError(f"Invalid factor: {factor}; it must be less than 1")
        check_optimizer(optimizer)
        groups = len(optimizer.param_groups)
        several = isinstance(min_lr, (list, tuple))
        self.default_min_lr: Any = None if several else min_lr
        self.min_lrs: list[Any] = list(min_lr) if isinstance(min_lr, (list, tuple)) else [min_lr] * groups
        if len(self.min_lrs) != groups:
            raise ValueError(f"min_lr has {len(self.min_lrs)} values for {groups} groups of parameters")
        if mode not in ("min", "max"):
            raise ValueError(f"unknown mode {mode!r}: pass 'min' or 'max'")
        if threshold_mode not in ("rel", "abs"):
            raise ValueError(f"unknown threshold_mode {threshold_mode!r}: pass 'rel' or 'abs'")
        self.optimizer, self.factor, self.eps = optimizer, factor, eps
        self.patience, self.cooldown = patience, cooldown
        self.mode, self.threshold, self.threshold_mode = mode, threshold, threshold_mode
        self.mode_worse = inf if mode == "min" else -inf
        self.last_epoch, self._last_lr = 0, rates(optimizer)
        self._reset()

    def _reset(self) -> None:
        self.best = self.mode_worse
        self.cooldown_counter = 0
        self.num_bad_epochs = 0

    def step(self, metrics: SupportsFloat, epoch: int | None = None) -> None:  # type: ignore[override]
        """Record a metric, and reduce the rates if it has not improved for long enough.

        Parameters
        ----------
        metrics : float
            Or what can be made one: a loss.
        epoch : int, optional
            Deprecated: the number of the step.
        """
        current = float(metrics)
        if epoch is not None:
            warn(EPOCH_DEPRECATION_WARNING, UserWarning)
        self.last_epoch = self.last_epoch + 1 if epoch is None else epoch
        better, resting = self._is_better(current, self.best), self.in_cooldown
        self.best = current if better else self.best
        self.num_bad_epochs = 0 if better or resting else self.num_bad_epochs + 1
        self.cooldown_counter -= resting
        if self.num_bad_epochs > self.patience:
            self._reduce_lr()
            self.cooldown_counter, self.num_bad_epochs = self.cooldown, 0
        self._last_lr = rates(self.optimizer)

    def _reduce_lr(self) -> None:
        groups = self.optimizer.param_groups
        if len(groups) != len(self.min_lrs):
            if self.default_min_lr is None:
                raise RuntimeError(
                    f"The optimizer has {len(groups)} param groups, where ReduceLROnPlateau was made with"
                    f" {len(self.min_lrs)}: set its min_lrs to as many values"
                )
            self.min_lrs = [self.default_min_lr] * len(groups)
        for group, least in zip(groups, self.min_lrs, strict=True):
            before = float(group["lr"])
            after = max(before * self.factor, least)
            if before - after > self.eps:
                set_rate(group, after)

    @property
    def in_cooldown(self) -> bool:
        """Whether steps are not counted because of a recent reduction."""
        return self.cooldown_counter > 0

    def _is_better(self, a: float, best: float) -> bool:
        # Where more is better, the negatives are compared.
        sign = 1 if self.mode == "min" else -1
        relative = self.threshold_mode == "rel"
        bar = sign * best * (1.0 - sign * self.threshold) if relative else sign * best - self.threshold
        return sign * a < bar
