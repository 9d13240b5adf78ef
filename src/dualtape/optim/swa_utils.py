"""Averages of weights: a model whose parameters are the average of another's, and its learning-rate schedule."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from copy import deepcopy
from itertools import chain
from math import cos, pi
from typing import Any, Literal

from .. import modes
from .._listing import listing
from .._tensor import dtypes
from .._tensor.creation import tensor
from .._tensor.tensor import Tensor
from ..nn import Module
from ..nn import modules as layers
from .lr_scheduler.base import LRScheduler, of_groups, warn_outside_step
from .optimizer import Optimizer

__all__ = [
    "AveragedModel",
    "SWALR",
    "get_ema_avg_fn",
    "get_ema_multi_avg_fn",
    "get_swa_avg_fn",
    "get_swa_multi_avg_fn",
    "update_bn",
]


def _check_decay(decay: float) -> None:
    if not 0.0 <= decay <= 1.0:
        raise ValueError(f"Invalid decay: {decay}; it must be from 0 to 1")


def get_ema_avg_fn(decay: float = 0.999) -> Callable:
    """Return a function of an average, a tensor and a count: the exponential average that keeps ``decay`` of itself.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.optim.swa_utils.get_ema_avg_fn(0.75)(dt.ones(1), dt.zeros(1), 3)
    tensor([0.7500])
    """
    _check_decay(decay)

    @modes.no_grad()
    def ema_update(ema_param: Tensor, current_param: Tensor, num_averaged: Any) -> Tensor:
        return decay * ema_param + (1 - decay) * current_param

    return ema_update


def get_swa_avg_fn() -> Callable:
    """Return a function of an average, a tensor and a count: the average with one more tensor.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.optim.swa_utils.get_swa_avg_fn()(dt.ones(1), dt.zeros(1), 3)
    tensor([0.7500])
    """

    @modes.no_grad()
    def swa_update(averaged_param: Tensor, current_param: Tensor, num_averaged: Any) -> Tensor:
        return averaged_param + (current_param - averaged_param) / (num_averaged + 1)

    return swa_update


def get_ema_multi_avg_fn(decay: float = 0.999) -> Callable:
    """Return :func:`get_ema_avg_fn` for lists of tensors, in place.

    Examples
    --------
    >>> import dualtape as dt
    >>> averages = [dt.ones(1), dt.ones(2)]
    >>> dt.optim.swa_utils.get_ema_multi_avg_fn(0.75)(averages, [dt.zeros(1), dt.zeros(2)], 3); averages
    [tensor([0.7500]), tensor([0.7500, 0.7500])]
    """
    return _in_place(get_ema_avg_fn(decay))


def get_swa_multi_avg_fn() -> Callable:
    """Return :func:`get_swa_avg_fn` for lists of tensors, in place.

    Examples
    --------
    >>> import dualtape as dt
    >>> averages = [dt.ones(1), dt.ones(2)]
    >>> dt.optim.swa_utils.get_swa_multi_avg_fn()(averages, [dt.zeros(1), dt.zeros(2)], 3); averages
    [tensor([0.7500]), tensor([0.7500, 0.7500])]
    """
    return _in_place(get_swa_avg_fn())


def _in_place(average: Callable) -> Callable:
    @modes.no_grad()
    def update(averaged_param_list: list[Tensor], current_param_list: list[Tensor], num_averaged: Any) -> None:
        for averaged, current in zip(averaged_param_list, current_param_list, strict=True):
            averaged.copy_(average(averaged, current, num_averaged))

    return update


class AveragedModel(Module):
    """A copy of a model whose parameters are averages of those passed to :meth:`update_parameters`.

    Parameters
    ----------
    model : Module
    device : device, optional
        Where the averages are kept.
    avg_fn, multi_avg_fn : callable, optional
        How averages are made, of one tensor or of lists; default: equally weighted.
    use_buffers : bool
        Whether buffers are averaged, too; else they are copied.

    Examples
    --------
    >>> import dualtape as dt
    >>> model = dt.nn.Linear(1, 1)
    >>> averaged = dt.optim.swa_utils.AveragedModel(model)
    >>> for value in (1.0, 2.0, 3.0):
    ...     model.weight.data.fill_(value); averaged.update_parameters(model)  # doctest: +ELLIPSIS
    tensor...
    >>> averaged.module.weight
    Parameter containing:
    tensor([[2.]], requires_grad=True)
    """

    n_averaged: Tensor

    def __init__(
        self,
        model: Module,
        device: Any = None,
        avg_fn: Callable | None = None,
        multi_avg_fn: Callable | None = None,
        use_buffers: bool = False,
    ) -> None:
        super().__init__()
        if avg_fn is not None and multi_avg_fn is not None:
            raise AssertionError("pass avg_fn or multi_avg_fn, not both")
        self.module = deepcopy(model)
        if device is not None:
            self.module = self.module.to(device)
        self.register_buffer("n_averaged", tensor(0, dtype=dtypes.int64, device=device))
        self.avg_fn = avg_fn
        self.multi_avg_fn = multi_avg_fn
        self.use_buffers = use_buffers

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """The averaged model's output."""
        return self.module(*args, **kwargs)

    def update_parameters(self, model: Module) -> None:
        """Include a model's parameters in the averages; the first ones are copied."""
        pairs = zip(self._dt_averaged(self.module), self._dt_averaged(model), strict=False)
        averages, current = [], []
        for mine, theirs in pairs:
            averages.append(mine.detach())
            current.append(theirs.detach().to(mine.device))
        if self.n_averaged == 0:
            for mine, theirs in zip(averages, current, strict=True):
                mine.copy_(theirs)
        elif self.multi_avg_fn is not None:
            for dtype in {mine.dtype: None for mine in averages}:
                places = [k for k, mine in enumerate(averages) if mine.dtype == dtype]
                self.multi_avg_fn([averages[k] for k in places], [current[k] for k in places], self.n_averaged)
        else:
            average = self.avg_fn or get_swa_avg_fn()
            for mine, theirs in zip(averages, current, strict=True):
                mine.copy_(average(mine, theirs, self.n_averaged))
        if not self.use_buffers:
            for mine, theirs in zip(self.module.buffers(), model.buffers(), strict=True):
                mine.detach().copy_(theirs.detach().to(mine.device))
        self.n_averaged += 1

    def _dt_averaged(self, model: Module) -> Iterable[Tensor]:
        return chain(model.parameters(), model.buffers()) if self.use_buffers else model.parameters()


@modes.no_grad()
def update_bn(loader: Iterable[Any], model: Module, device: Any = None) -> None:
    """Recompute the statistics of a model's batch norms from the data of a loader.

    Parameters
    ----------
    loader : iterable
        Of batches, or of lists whose first entry is one.
    model : Module
    device : device, optional
        Where batches are moved.

    Examples
    --------
    >>> import dualtape as dt
    >>> model = dt.nn.BatchNorm1d(1)
    >>> dt.optim.swa_utils.update_bn([dt.tensor([[1.0], [3.0]])], model); model.running_mean
    tensor([2.])
    """
    norms: Any = [module for module in model.modules() if isinstance(module, layers.batchnorm._BatchNorm)]
    if not norms:
        return
    training, momenta = model.training, [norm.momentum for norm in norms]
    model.train()
    for norm in norms:
        norm.reset_running_stats()
        # the average of all batches
        norm.momentum = None
    for batch in loader:
        values = batch[0] if isinstance(batch, (list, tuple)) else batch
        model(values if device is None else values.to(device))
    for norm, momentum in zip(norms, momenta, strict=True):
        norm.momentum = momentum
    model.train(training)


class SWALR(LRScheduler):
    """The rate annealed to ``swa_lr`` in ``anneal_epochs`` steps, where it stays.

    Parameters
    ----------
    optimizer : Optimizer
    swa_lr : float or list of float
        For all groups, or for each.
    anneal_epochs : int
    anneal_strategy : str
        ``"cos"`` or ``"linear"``.
    last_epoch : int

    Examples
    --------
    >>> import dualtape as dt
    >>> optimizer = dt.optim.SGD([dt.ones(1, requires_grad=True)], lr=1.0)
    >>> scheduler = dt.optim.swa_utils.SWALR(optimizer, 0.5, anneal_epochs=2, anneal_strategy="linear")
    >>> [(optimizer.step(), scheduler.step(), scheduler.get_last_lr()[0])[-1] for _ in range(3)]
    [0.75, 0.5, 0.5]
    """

    def __init__(
        self,
        optimizer: Optimizer,
        swa_lr: float | list[float],
        anneal_epochs: int = 10,
        anneal_strategy: Literal["cos", "linear"] = "cos",
        last_epoch: int = -1,
    ) -> None:
        rates = of_groups("swa_lr", optimizer, swa_lr)
        if anneal_strategy not in ("cos", "linear"):
            raise ValueError(f"unknown anneal_strategy {anneal_strategy!r}: pass 'cos' or 'linear'")
        if not isinstance(anneal_epochs, int) or anneal_epochs < 0:
            raise ValueError(f"anneal_epochs is a count of steps, 0 or more; got {anneal_epochs}")
        for group, rate in zip(optimizer.param_groups, rates, strict=True):
            group["swa_lr"] = rate
        self._anneal_strategy = anneal_strategy
        self.anneal_epochs = anneal_epochs
        super().__init__(optimizer, last_epoch)

    def _dt_part(self, step: int) -> float:
        """Return the completed fraction of the annealing."""
        t = max(0, min(1, step / max(1, self.anneal_epochs)))
        return t if self._anneal_strategy == "linear" else (1 - cos(pi * t)) / 2

    def get_lr(self) -> list[Any]:
        """Return the rates of the groups, computed from the present ones."""
        warn_outside_step(self)
        step = self._step_count - 1
        if self.anneal_epochs == 0:
            step = max(1, step)
        before, now = self._dt_part(step - 1), self._dt_part(step)
        values = []
        for group in self.optimizer.param_groups:
            end = group["swa_lr"]
            start = end if before == 1 else (group["lr"] - before * end) / (1 - before)
            values.append(end * now + start * (1 - now))
        return values


__dir__ = listing(__name__)
