"""Adam: steps by the average of gradients over the root of the average of their squares."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._tensor.tensor import Tensor
from . import passes
from .elementwise import Elementwise, check_capturable, check_fused, scalar, zeros_beside
from .optimizer import ParamsT, _to_scalar, check_betas, check_forms, check_lr, check_not_negative

__all__ = ["Adam", "adam"]


class Adam(Elementwise):
    """Adam (Kingma and Ba, 2014).

    Parameters
    ----------
    params : iterable
        Tensors, (name, tensor) pairs, or groups.
    lr : float or Tensor
        The learning rate.
    betas : pair of float, or of Tensor
        How much of the averages of gradients and of their squares a step keeps.
    eps : float
        Added to the denominator.
    weight_decay : float
        How much of a parameter is added to its gradient.
    amsgrad : bool
        Divide by the largest average of squares so far.
    foreach : bool, optional
        Parameters of a kind in one pass, or each by itself; default: the small ones in one pass.
    maximize : bool
        Go up, not down.
    capturable : bool
        Counts of steps stay on the device; on CPU, no step can be captured, and this raises.
    differentiable : bool
        Record the step.
    fused : bool, optional
        As ``foreach``, for floating-point parameters.
    decoupled_weight_decay : bool
        Decay parameters, not gradients, as :class:`AdamW` does.

    Examples
    --------
    >>> import dualtape as dt
    >>> x = dt.tensor([1.0, -2.0], requires_grad=True)
    >>> optimizer = dt.optim.Adam([x], lr=0.5)
    >>> (x * x).sum().backward(); optimizer.step(); x
    tensor([ 0.5000, -1.5000], requires_grad=True)
    """

    _dt_since = {**Elementwise._dt_since, "amsgrad": False, "decoupled_weight_decay": False, "fused": None}
    _dt_sparse = ": use SparseAdam"

    def __init__(
        self,
        params: ParamsT,
        lr: float | Tensor = 1e-3,
        betas: tuple[float | Tensor, float | Tensor] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0,
        amsgrad: bool = False,
        *,
        foreach: bool | None = None,
        maximize: bool = False,
        capturable: bool = False,
        differentiable: bool = False,
        fused: bool | None = None,
        decoupled_weight_decay: bool = False,
    ) -> None:
        if isinstance(lr, Tensor) and foreach and not capturable:
            raise ValueError("a Tensor as lr needs foreach=False, or capturable=True")
        check_lr(lr)
        check_not_negative("epsilon value", eps)
        check_betas(betas)
        check_not_negative("weight_decay value", weight_decay)
        if not all(isinstance(beta, float) for beta in betas) and not all(isinstance(beta, Tensor) for beta in betas):
            raise ValueError("betas: one is a float and one is a Tensor; make them alike")
        for k, beta in enumerate(betas):
            if isinstance(beta, Tensor) and foreach and not capturable:
                raise ValueError(f"a Tensor as betas[{k}] needs foreach=False, or capturable=True")
            if isinstance(beta, Tensor) and beta.numel() != 1:
                raise ValueError(f"betas[{k}] has {beta.numel()} elements, expected one")
        defaults = {
            "lr": lr,
            "betas": tuple(map(_to_scalar, betas)),
            "eps": eps,
            "weight_decay": weight_decay,
            "amsgrad": amsgrad,
            "maximize": maximize,
            "foreach": foreach,
            "capturable": capturable,
            "differentiable": differentiable,
            "fused": fused,
            "decoupled_weight_decay": decoupled_weight_decay,
        }
        super().__init__(params, defaults)
        check_forms(foreach, fused, differentiable)

    def _dt_begin(self, p: Tensor, group: dict[str, Any]) -> dict[str, Any]:
        if group["fused"]:
            check_fused(p)
        state = {"step": scalar(0, p, group), "exp_avg": zeros_beside(p), "exp_avg_sq": zeros_beside(p)}
        if group["amsgrad"]:
            state["max_exp_avg_sq"] = zeros_beside(p)
        return state

    def _dt_update(self, group: dict[str, Any], params: list, grads: list, states: list[dict]) -> None:
        if group["differentiable"] and any(state["step"].requires_grad for state in states):
            raise RuntimeError("a state's step requires grad: detach it, counts are not differentiated")
        if group["foreach"] and isinstance(group["lr"], Tensor) and not group["capturable"]:
            raise RuntimeError("a Tensor as lr needs foreach=False, or capturable=True")
        amsgrad = group["amsgrad"]
        adam(
            params,
            grads,
            [s["exp_avg"] for s in states],
            [s["exp_avg_sq"] for s in states],
            [s["max_exp_avg_sq"] for s in states] if amsgrad else [],
            [s["step"] for s in states],
            foreach=group["foreach"],
            capturable=group["capturable"],
            differentiable=group["differentiable"],
            fused=group["fused"],
            decoupled_weight_decay=group["decoupled_weight_decay"],
            amsgrad=amsgrad,
            beta1=group["betas"][0],
            beta2=group["betas"][1],
            lr=group["lr"],
            weight_decay=group["weight_decay"],
            eps=group["eps"],
            maximize=group["maximize"],
        )


def adam(
    params: list[Tensor],
    grads: list[Tensor],
    exp_avgs: list[Tensor],
    exp_avg_sqs: list[Tensor],
    max_exp_avg_sqs: list[Tensor],
    state_steps: list[Tensor],
    foreach: bool | None = None,
    capturable: bool = False,
    differentiable: bool = False,
    fused: bool | None = None,
    grad_scale: Tensor | None = None,
    found_inf: Tensor | None = None,
    has_complex: bool = False,
    decoupled_weight_decay: bool = False,
    *,
    amsgrad: bool,
    beta1: float | Tensor,
    beta2: float | Tensor,
    lr: float | Tensor,
    weight_decay: float,
    eps: float,
    maximize: bool,
) -> None:
    """Perform a step of :class:`Adam` on lists of tensors, in place.

    Examples
    --------
    >>> import dualtape as dt
    >>> from dualtape.optim.adam import adam
    >>> x, g, average, square, step = dt.ones(1), dt.ones(1), dt.zeros(1), dt.zeros(1), dt.tensor(0.0)
    >>> adam([x], [g], [average], [square], [], [step], amsgrad=False, beta1=0.9, beta2=0.999, lr=0.5,
    ...      weight_decay=0.0, eps=1e-8, maximize=False)
    >>> x, step
    (tensor([0.5000]), tensor(1.))
    """
    passes.check_steps(state_steps)
    check_capturable(capturable, params)
    unscaled = passes.unscaled(grads, grad_scale, found_inf, fused)
    if unscaled is None:
        return
    lr, beta1, beta2, decay = (passes.number(x, differentiable) for x in (lr, beta1, beta2, weight_decay))

    def rule(step: Any) -> tuple[tuple, tuple]:
        step = step + 1
        return (step,), (lr / (1 - beta1**step), (1 - beta2**step) ** 0.5, 1 - lr * decay)

    passes.run(
        _update,
        rule,
        (beta1, beta2, eps, decay, amsgrad, decoupled_weight_decay, maximize),
        params,
        unscaled,
        [exp_avgs, exp_avg_sqs, max_exp_avg_sqs if amsgrad else None],
        [state_steps],
        foreach=True if fused else foreach,
        differentiable=differentiable,
        capturable=capturable,
    )


@passes.kernel
def _update(
    p: Any,
    g: Any,
    average: Any,
    square: Any,
    largest: Any,
    size: Any,
    root: Any,
    shrink: Any,
    beta1: Any,
    beta2: Any,
    eps: float,
    decay: Any,
    amsgrad: bool,
    decoupled: bool,
    maximize: bool,
) -> tuple:
    if maximize:
        g = -g
    if decoupled:
        p = p * shrink
    elif isinstance(decay, Tensor) or decay != 0:
        g = g + p * decay
    average = average + (g - average) * (1 - beta1)
    square = square * beta2 + g * g * (1 - beta2)
    if not amsgrad:
        return p - size * (average / (np.sqrt(square) / root + eps)), average, square
    largest = np.maximum(largest, square)
    return p - size * (average / (np.sqrt(largest) / root + eps)), average, square, largest
