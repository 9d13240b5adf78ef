"""RAdam: Adam that uses its average square only after enough steps."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._tensor.tensor import Tensor
from . import passes
from .elementwise import Elementwise, check_capturable, scalar, zeros_beside
from .optimizer import ParamsT, _get_value, check_betas, check_lr, check_not_negative

__all__ = ["RAdam", "radam"]


class RAdam(Elementwise):
    """Rectified Adam (Liu et al., 2019).

    Parameters
    ----------
    params : iterable
        Tensors, (name, tensor) pairs, or groups.
    lr, betas, eps, weight_decay
        As of :class:`Adam`.
    decoupled_weight_decay : bool
        Decay parameters, not gradients.
    foreach, maximize, capturable, differentiable
        As of :class:`Adam`.

    Examples
    --------
    >>> import dualtape as dt
    >>> x = dt.tensor([1.0, -2.0], requires_grad=True)
    >>> optimizer = dt.optim.RAdam([x], lr=0.25)
    >>> (x * x).sum().backward(); optimizer.step(); x
    tensor([ 0.5000, -1.0000], requires_grad=True)
    """

    _dt_since = {**Elementwise._dt_since, "decoupled_weight_decay": False}

    def __init__(
        self,
        params: ParamsT,
        lr: float | Tensor = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0,
        decoupled_weight_decay: bool = False,
        *,
        foreach: bool | None = None,
        maximize: bool = False,
        capturable: bool = False,
        differentiable: bool = False,
    ) -> None:
        check_lr(lr)
        check_not_negative("epsilon value", eps)
        check_betas(betas)
        check_not_negative("weight_decay value", weight_decay)
        defaults = {
            "lr": lr,
            "betas": betas,
            "eps": eps,
            "weight_decay": weight_decay,
            "maximize": maximize,
            "foreach": foreach,
            "capturable": capturable,
            "decoupled_weight_decay": decoupled_weight_decay,
            "differentiable": differentiable,
        }
        super().__init__(params, defaults)

    def _dt_begin(self, p: Tensor, group: dict[str, Any]) -> dict[str, Any]:
        return {"step": scalar(0, p, group), "exp_avg": zeros_beside(p), "exp_avg_sq": zeros_beside(p)}

    def _dt_update(self, group: dict[str, Any], params: list, grads: list, states: list[dict]) -> None:
        radam(
            params,
            grads,
            [s["exp_avg"] for s in states],
            [s["exp_avg_sq"] for s in states],
            [s["step"] for s in states],
            decoupled_weight_decay=group["decoupled_weight_decay"],
            foreach=group["foreach"],
            differentiable=group["differentiable"],
            capturable=group["capturable"],
            maximize=group["maximize"],
            beta1=group["betas"][0],
            beta2=group["betas"][1],
            lr=group["lr"],
            weight_decay=group["weight_decay"],
            eps=group["eps"],
        )


def radam(
    params: list[Tensor],
    grads: list[Tensor],
    exp_avgs: list[Tensor],
    exp_avg_sqs: list[Tensor],
    state_steps: list[Tensor],
    decoupled_weight_decay: bool = False,
    foreach: bool | None = None,
    differentiable: bool = False,
    capturable: bool = False,
    has_complex: bool = False,
    maximize: bool = False,
    *,
    beta1: float,
    beta2: float,
    lr: float,
    weight_decay: float,
    eps: float,
) -> None:
    """Perform a step of :class:`RAdam` on lists of tensors, in place."""
    passes.check_steps(state_steps)
    check_capturable(capturable, params)
    rate = passes.number(lr, differentiable)
    most = 2 / (1 - beta2) - 1  # the length of the average square in the end

    def rule(step: Any) -> tuple[tuple, tuple]:
        step = _get_value(step) + 1
        # Also of a capturable step: Python decides which form the update has.
        now = float(step)
        correction = 1 - beta2**now
        length = most - 2 * now * beta2**now / correction
        rectified = length > 5
        factor = 1.0
        if rectified:
            factor = (correction * (length - 4) * (length - 2) * most / ((most - 4) * (most - 2) * length)) ** 0.5
        return (step,), (rate / (1 - beta1**now) * factor, 1 - rate * weight_decay, rectified)

    passes.run(
        _update,
        rule,
        (beta1, beta2, eps, float(weight_decay), decoupled_weight_decay, maximize),
        params,
        grads,
        [exp_avgs, exp_avg_sqs],
        [state_steps],
        foreach=foreach,
        differentiable=differentiable,
        capturable=capturable,
    )


@passes.kernel
def _update(
    p: Any,
    g: Any,
    average: Any,
    square: Any,
    size: Any,
    shrink: Any,
    rectified: bool,
    beta1: float,
    beta2: float,
    eps: float,
    decay: float,
    decoupled: bool,
    maximize: bool,
) -> tuple:
    if maximize:
        g = -g
    if decay != 0 and decoupled:
        p = p * shrink
    elif decay != 0:
        g = g + p * decay
    average = average + (g - average) * (1 - beta1)
    square = square * beta2 + g * g * (1 - beta2)
    return p - size * (average / (np.sqrt(square) + eps) if rectified else average), average, square
