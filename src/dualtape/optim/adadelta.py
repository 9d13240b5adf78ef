"""Adadelta: steps scaled by the size of recent steps over the size of recent gradients."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._tensor.tensor import Tensor
from . import passes
from .elementwise import Elementwise, check_capturable, scalar, zeros_beside
from .optimizer import ParamsT, check_lr, check_not_negative

__all__ = ["Adadelta", "adadelta"]


class Adadelta(Elementwise):
    """Adadelta (Zeiler, 2012).

    Parameters
    ----------
    params : iterable
        Tensors, (name, tensor) pairs, or groups.
    lr : float or Tensor
        What steps are multiplied with.
    rho : float
        How much of the averages of squares a step keeps.
    eps : float
        Added to both averages before their roots are taken.
    weight_decay : float
        How much of a parameter is added to its gradient.
    foreach, capturable, maximize, differentiable
        As of :class:`Adam`.

    Examples
    --------
    >>> import dualtape as dt
    >>> x = dt.tensor([1.0, -2.0], requires_grad=True)
    >>> optimizer = dt.optim.Adadelta([x], lr=100.0)
    >>> (x * x).sum().backward(); optimizer.step(); x
    tensor([ 0.6838, -1.6838], requires_grad=True)
    """

    def __init__(
        self,
        params: ParamsT,
        lr: float | Tensor = 1.0,
        rho: float = 0.9,
        eps: float = 1e-6,
        weight_decay: float = 0,
        foreach: bool | None = None,
        *,
        capturable: bool = False,
        maximize: bool = False,
        differentiable: bool = False,
    ) -> None:
        check_lr(lr)
        if not 0.0 <= rho <= 1.0:
            raise ValueError(f"Invalid rho value: {rho}; it must be from 0 to 1")
        check_not_negative("epsilon value", eps)
        check_not_negative("weight_decay value", weight_decay)
        defaults = {
            "lr": lr,
            "rho": rho,
            "eps": eps,
            "weight_decay": weight_decay,
            "maximize": maximize,
            "capturable": capturable,
            "foreach": foreach,
            "differentiable": differentiable,
        }
        super().__init__(params, defaults)

    def _dt_begin(self, p: Tensor, group: dict[str, Any]) -> dict[str, Any]:
        return {"step": scalar(0, p, group), "square_avg": zeros_beside(p), "acc_delta": zeros_beside(p)}

    def _dt_update(self, group: dict[str, Any], params: list, grads: list, states: list[dict]) -> None:
        adadelta(
            params,
            grads,
            [s["square_avg"] for s in states],
            [s["acc_delta"] for s in states],
            [s["step"] for s in states],
            capturable=group["capturable"],
            foreach=group["foreach"],
            differentiable=group["differentiable"],
            lr=group["lr"],
            rho=group["rho"],
            eps=group["eps"],
            weight_decay=group["weight_decay"],
            maximize=group["maximize"],
        )


def adadelta(
    params: list[Tensor],
    grads: list[Tensor],
    square_avgs: list[Tensor],
    acc_deltas: list[Tensor],
    state_steps: list[Tensor],
    capturable: bool = False,
    foreach: bool | None = None,
    differentiable: bool = False,
    has_complex: bool = False,
    *,
    lr: float,
    rho: float,
    eps: float,
    weight_decay: float,
    maximize: bool,
) -> None:
    """Perform a step of :class:`Adadelta` on lists of tensors, in place."""
    passes.check_steps(state_steps)
    check_capturable(capturable, params)
    rate = passes.number(lr, differentiable)
    passes.run(
        _update,
        lambda step: ((step + 1,), (rate,)),
        (rho, eps, float(weight_decay), maximize),
        params,
        grads,
        [square_avgs, acc_deltas],
        [state_steps],
        foreach=foreach,
        differentiable=differentiable,
        capturable=capturable,
    )


@passes.kernel
def _update(
    p: Any, g: Any, square: Any, steps: Any, lr: Any, rho: float, eps: float, decay: float, maximize: bool
) -> tuple:
    if maximize:
        g = -g
    if decay != 0:
        g = g + p * decay
    square = square * rho + g * g * (1 - rho)
    step = np.sqrt(steps + eps) / np.sqrt(square + eps) * g
    return p - lr * step, square, steps * rho + step * step * (1 - rho)
