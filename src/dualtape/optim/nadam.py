"""NAdam: Adam with Nesterov's momentum."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._tensor.tensor import Tensor
from . import passes
from .elementwise import Elementwise, check_capturable, scalar, zeros_beside
from .optimizer import ParamsT, _get_scalar_dtype, _get_value, check_betas, check_lr, check_not_negative

__all__ = ["NAdam", "nadam"]


class NAdam(Elementwise):
    """NAdam (Dozat, 2016).

    Parameters
    ----------
    params : iterable
        Tensors, (name, tensor) pairs, or groups.
    lr, betas, eps, weight_decay
        As of :class:`Adam`.
    momentum_decay : float
        How quickly the momentum grows to the first of ``betas``.
    decoupled_weight_decay : bool
        Decay parameters, not gradients.
    foreach, maximize, capturable, differentiable
        As of :class:`Adam`.

    Examples
    --------
    >>> import dualtape as dt
    >>> x = dt.tensor([1.0, -2.0], requires_grad=True)
    >>> optimizer = dt.optim.NAdam([x], lr=0.5)
    >>> (x * x).sum().backward(); optimizer.step(); x
    tensor([ 0.4718, -1.4718], requires_grad=True)
    """

    _dt_since = {**Elementwise._dt_since, "decoupled_weight_decay": False}
    _dt_numbers = ("step", "mu_product")

    def __init__(
        self,
        params: ParamsT,
        lr: float | Tensor = 2e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0,
        momentum_decay: float = 4e-3,
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
        check_not_negative("momentum_decay value", momentum_decay)
        defaults = {
            "lr": lr,
            "betas": betas,
            "eps": eps,
            "weight_decay": weight_decay,
            "momentum_decay": momentum_decay,
            "decoupled_weight_decay": decoupled_weight_decay,
            "maximize": maximize,
            "foreach": foreach,
            "capturable": capturable,
            "differentiable": differentiable,
        }
        super().__init__(params, defaults)

    def _dt_begin(self, p: Tensor, group: dict[str, Any]) -> dict[str, Any]:
        return {
            "step": scalar(0, p, group),
            "mu_product": scalar(1, p, group),
            "exp_avg": zeros_beside(p),
            "exp_avg_sq": zeros_beside(p),
        }

    def _dt_update(self, group: dict[str, Any], params: list, grads: list, states: list[dict]) -> None:
        nadam(
            params,
            grads,
            [s["exp_avg"] for s in states],
            [s["exp_avg_sq"] for s in states],
            [s["mu_product"] for s in states],
            [s["step"] for s in states],
            decoupled_weight_decay=group["decoupled_weight_decay"],
            foreach=group["foreach"],
            capturable=group["capturable"],
            differentiable=group["differentiable"],
            maximize=group["maximize"],
            beta1=group["betas"][0],
            beta2=group["betas"][1],
            lr=group["lr"],
            weight_decay=group["weight_decay"],
            momentum_decay=group["momentum_decay"],
            eps=group["eps"],
        )


def nadam(
    params: list[Tensor],
    grads: list[Tensor],
    exp_avgs: list[Tensor],
    exp_avg_sqs: list[Tensor],
    mu_products: list[Tensor],
    state_steps: list[Tensor],
    decoupled_weight_decay: bool = False,
    foreach: bool | None = None,
    capturable: bool = False,
    differentiable: bool = False,
    has_complex: bool = False,
    maximize: bool = False,
    *,
    beta1: float,
    beta2: float,
    lr: float,
    weight_decay: float,
    momentum_decay: float,
    eps: float,
) -> None:
    """Perform a step of :class:`NAdam` on lists of tensors, in place."""
    passes.check_steps(state_steps)
    passes.check_steps(mu_products)
    check_capturable(capturable, params)
    rate = passes.number(lr, differentiable)

    def rule(step: Any, product: Any) -> tuple[tuple, tuple]:
        step = _get_value(step) + 1
        now = beta1 * (1 - 0.5 * 0.96 ** (step * momentum_decay))
        later = beta1 * (1 - 0.5 * 0.96 ** ((step + 1) * momentum_decay))
        product = product * now
        if isinstance(product, float):  # as it is kept
            product = float(_get_scalar_dtype().numpy.type(product))
        sizes = (rate * (1 - now) / (1 - product), rate * later / (1 - product * later))
        return (step, product), (*sizes, 1 - beta2**step, 1 - rate * weight_decay)

    passes.run(
        _update,
        rule,
        (beta1, beta2, eps, float(weight_decay), decoupled_weight_decay, maximize),
        params,
        grads,
        [exp_avgs, exp_avg_sqs],
        [state_steps, mu_products],
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
    size_of_average: Any,
    correction: Any,
    shrink: Any,
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
    root = np.sqrt(square / correction) + eps
    return p - size * (g / root) - size_of_average * (average / root), average, square
