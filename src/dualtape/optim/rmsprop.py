"""RMSprop: gradients over the root of the average of their squares."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._tensor.tensor import Tensor
from . import passes
from .elementwise import Elementwise, check_capturable, scalar, zeros_beside
from .optimizer import ParamsT, check_lr, check_not_negative

__all__ = ["RMSprop", "rmsprop"]


class RMSprop(Elementwise):
    """RMSprop (Hinton, 2012).

    Parameters
    ----------
    params : iterable
        Tensors, (name, tensor) pairs, or groups.
    lr : float or Tensor
        The learning rate.
    alpha : float
        How much of the average of squares a step keeps.
    eps : float
        Added to the denominator.
    weight_decay : float
        How much of a parameter is added to its gradient.
    momentum : float
        How much of the last step is kept.
    centered : bool
        Divide by the root of the variance, not of the average square.
    capturable, foreach, maximize, differentiable
        As of :class:`Adam`.

    Examples
    --------
    >>> import dualtape as dt
    >>> x = dt.tensor([1.0, -2.0], requires_grad=True)
    >>> optimizer = dt.optim.RMSprop([x], lr=0.05)
    >>> (x * x).sum().backward(); optimizer.step(); x
    tensor([ 0.5000, -1.5000], requires_grad=True)
    """

    _dt_since = {**Elementwise._dt_since, "momentum": 0, "centered": False}

    def __init__(
        self,
        params: ParamsT,
        lr: float | Tensor = 1e-2,
        alpha: float = 0.99,
        eps: float = 1e-8,
        weight_decay: float = 0,
        momentum: float = 0,
        centered: bool = False,
        capturable: bool = False,
        foreach: bool | None = None,
        maximize: bool = False,
        differentiable: bool = False,
    ) -> None:
        check_lr(lr)
        check_not_negative("epsilon value", eps)
        check_not_negative("momentum value", momentum)
        check_not_negative("weight_decay value", weight_decay)
        check_not_negative("alpha value", alpha)
        defaults = {
            "lr": lr,
            "momentum": momentum,
            "alpha": alpha,
            "eps": eps,
            "centered": centered,
            "weight_decay": weight_decay,
            "capturable": capturable,
            "foreach": foreach,
            "maximize": maximize,
            "differentiable": differentiable,
        }
        super().__init__(params, defaults)

    def _dt_begin(self, p: Tensor, group: dict[str, Any]) -> dict[str, Any]:
        state = {"step": scalar(0, p, group), "square_avg": zeros_beside(p)}
        if group["momentum"] > 0:
            state["momentum_buffer"] = zeros_beside(p)
        if group["centered"]:
            state["grad_avg"] = zeros_beside(p)
        return state

    def _dt_update(self, group: dict[str, Any], params: list, grads: list, states: list[dict]) -> None:
        rmsprop(
            params,
            grads,
            [s["square_avg"] for s in states],
            [s["grad_avg"] for s in states] if group["centered"] else [],
            [s["momentum_buffer"] for s in states] if group["momentum"] > 0 else [],
            [s["step"] for s in states],
            foreach=group["foreach"],
            maximize=group["maximize"],
            differentiable=group["differentiable"],
            capturable=group["capturable"],
            lr=group["lr"],
            alpha=group["alpha"],
            eps=group["eps"],
            weight_decay=group["weight_decay"],
            momentum=group["momentum"],
            centered=group["centered"],
        )


def rmsprop(
    params: list[Tensor],
    grads: list[Tensor],
    square_avgs: list[Tensor],
    grad_avgs: list[Tensor],
    momentum_buffer_list: list[Tensor],
    state_steps: list[Tensor],
    foreach: bool | None = None,
    maximize: bool = False,
    differentiable: bool = False,
    capturable: bool = False,
    has_complex: bool = False,
    *,
    lr: float,
    alpha: float,
    eps: float,
    weight_decay: float,
    momentum: float,
    centered: bool,
) -> None:
    """Perform a step of :class:`RMSprop` on lists of tensors, in place."""
    passes.check_steps(state_steps)
    check_capturable(capturable, params)
    rate = passes.number(lr, differentiable)
    passes.run(
        _update,
        lambda step: ((step + 1,), (rate,)),
        (alpha, eps, float(weight_decay), float(momentum), centered, maximize),
        params,
        grads,
        [square_avgs, grad_avgs if centered else None, momentum_buffer_list if momentum > 0 else None],
        [state_steps],
        foreach=foreach,
        differentiable=differentiable,
        capturable=capturable,
    )


@passes.kernel
def _update(
    p: Any,
    g: Any,
    square: Any,
    average: Any,
    buffer: Any,
    lr: Any,
    alpha: float,
    eps: float,
    decay: float,
    momentum: float,
    centered: bool,
    maximize: bool,
) -> tuple:
    if maximize:
        g = -g
    if decay != 0:
        g = g + p * decay
    square = square * alpha + g * g * (1 - alpha)
    slots = [square]
    if centered:
        average = average + (g - average) * (1 - alpha)
        slots.append(average)
        root = np.sqrt(square - average * average)
    else:
        root = np.sqrt(square)
    step = g / (root + eps)
    if momentum > 0:
        step = buffer * momentum + step
        slots.append(step)
    return p - lr * step, *slots
