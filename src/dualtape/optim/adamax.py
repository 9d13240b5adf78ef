"""Adamax: Adam with the maximum of decayed gradients in place of their average square."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._tensor.tensor import Tensor
from . import passes
from .elementwise import Elementwise, check_capturable, scalar, zeros_beside
from .optimizer import ParamsT, _get_value, check_betas, check_lr, check_not_negative

__all__ = ["Adamax", "adamax"]


class Adamax(Elementwise):
    """Adamax (Kingma and Ba, 2014): Adam by the infinity norm.

    Parameters
    ----------
    params : iterable
        Tensors, (name, tensor) pairs, or groups.
    lr, betas, eps, weight_decay
        As of :class:`Adam`; ``eps`` is added to the size of each gradient.
    foreach, maximize, differentiable, capturable
        As of :class:`Adam`.

    Examples
    --------
    >>> import dualtape as dt
    >>> x = dt.tensor([1.0, -2.0], requires_grad=True)
    >>> optimizer = dt.optim.Adamax([x], lr=0.5)
    >>> (x * x).sum().backward(); optimizer.step(); x
    tensor([ 0.5000, -1.5000], requires_grad=True)
    """

    def __init__(
        self,
        params: ParamsT,
        lr: float | Tensor = 2e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0,
        foreach: bool | None = None,
        *,
        maximize: bool = False,
        differentiable: bool = False,
        capturable: bool = False,
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
            "foreach": foreach,
            "maximize": maximize,
            "differentiable": differentiable,
            "capturable": capturable,
        }
        super().__init__(params, defaults)

    def _dt_begin(self, p: Tensor, group: dict[str, Any]) -> dict[str, Any]:
        return {"step": scalar(0, p, group), "exp_avg": zeros_beside(p), "exp_inf": zeros_beside(p)}

    def _dt_update(self, group: dict[str, Any], params: list, grads: list, states: list[dict]) -> None:
        adamax(
            params,
            grads,
            [s["exp_avg"] for s in states],
            [s["exp_inf"] for s in states],
            [s["step"] for s in states],
            foreach=group["foreach"],
            maximize=group["maximize"],
            differentiable=group["differentiable"],
            capturable=group["capturable"],
            eps=group["eps"],
            beta1=group["betas"][0],
            beta2=group["betas"][1],
            lr=group["lr"],
            weight_decay=group["weight_decay"],
        )


def adamax(
    params: list[Tensor],
    grads: list[Tensor],
    exp_avgs: list[Tensor],
    exp_infs: list[Tensor],
    state_steps: list[Tensor],
    foreach: bool | None = None,
    maximize: bool = False,
    differentiable: bool = False,
    capturable: bool = False,
    has_complex: bool = False,
    *,
    eps: float,
    beta1: float,
    beta2: float,
    lr: float,
    weight_decay: float,
) -> None:
    """Perform a step of :class:`Adamax` on lists of tensors, in place."""
    passes.check_steps(state_steps)
    check_capturable(capturable, params)
    rate = passes.number(lr, differentiable)

    def rule(step: Any) -> tuple[tuple, tuple]:
        step = _get_value(step) + 1
        return (step,), (rate / (1 - beta1**step),)

    passes.run(
        _update,
        rule,
        (beta1, beta2, eps, float(weight_decay), maximize),
        params,
        grads,
        [exp_avgs, exp_infs],
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
    largest: Any,
    size: Any,
    beta1: float,
    beta2: float,
    eps: float,
    decay: float,
    maximize: bool,
) -> tuple:
    if maximize:
        g = -g
    if decay != 0:
        g = g + p * decay
    average = average + (g - average) * (1 - beta1)
    largest = np.maximum(largest * beta2, np.abs(g) + eps)
    return p - size * (average / largest), average, largest
