"""ASGD: gradient descent that also averages the parameters over its path."""

from __future__ import annotations

from typing import Any

from .._tensor.tensor import Tensor
from . import passes
from .elementwise import Elementwise, check_capturable, scalar, zeros_beside
from .optimizer import ParamsT, _get_value, check_lr, check_not_negative

__all__ = ["ASGD", "asgd"]


class ASGD(Elementwise):
    """Averaged stochastic gradient descent (Polyak and Juditsky, 1992). The average is the state's ``"ax"``.

    Parameters
    ----------
    params : iterable
        Tensors, (name, tensor) pairs, or groups.
    lr : float or Tensor
        The first learning rate.
    lambd : float
        How quickly parameters, and the learning rate, decay.
    alpha : float
        The power with which the learning rate decays.
    t0 : float
        The step at which averaging begins.
    weight_decay : float
        How much of a parameter is added to its gradient.
    foreach, maximize, differentiable, capturable
        As of :class:`Adam`.

    Examples
    --------
    >>> import dualtape as dt
    >>> x = dt.tensor([1.0, -2.0], requires_grad=True)
    >>> optimizer = dt.optim.ASGD([x], lr=0.25, lambd=0.0)
    >>> (x * x).sum().backward(); optimizer.step(); x
    tensor([ 0.5000, -1.0000], requires_grad=True)
    """

    _dt_numbers = ("step", "eta", "mu")

    def __init__(
        self,
        params: ParamsT,
        lr: float | Tensor = 1e-2,
        lambd: float = 1e-4,
        alpha: float = 0.75,
        t0: float = 1e6,
        weight_decay: float = 0,
        foreach: bool | None = None,
        maximize: bool = False,
        differentiable: bool = False,
        capturable: bool = False,
    ) -> None:
        check_lr(lr)
        check_not_negative("weight_decay value", weight_decay)
        defaults = {
            "lr": lr,
            "lambd": lambd,
            "alpha": alpha,
            "t0": t0,
            "weight_decay": weight_decay,
            "foreach": foreach,
            "maximize": maximize,
            "differentiable": differentiable,
            "capturable": capturable,
        }
        super().__init__(params, defaults)

    def _dt_begin(self, p: Tensor, group: dict[str, Any]) -> dict[str, Any]:
        lr = _get_value(group["lr"])
        return {
            "step": scalar(0, p, group),
            "eta": scalar(lr, p, group),
            "mu": scalar(1, p, group),
            "ax": zeros_beside(p),
        }

    def _dt_update(self, group: dict[str, Any], params: list, grads: list, states: list[dict]) -> None:
        asgd(
            params,
            grads,
            [s["ax"] for s in states],
            [s["mu"] for s in states],
            [s["eta"] for s in states],
            [s["step"] for s in states],
            foreach=group["foreach"],
            maximize=group["maximize"],
            differentiable=group["differentiable"],
            capturable=group["capturable"],
            lambd=group["lambd"],
            lr=group["lr"],
            t0=group["t0"],
            alpha=group["alpha"],
            weight_decay=group["weight_decay"],
        )


def asgd(
    params: list[Tensor],
    grads: list[Tensor],
    axs: list[Tensor],
    mus: list[Tensor],
    etas: list[Tensor],
    state_steps: list[Tensor],
    foreach: bool | None = None,
    maximize: bool = False,
    differentiable: bool = False,
    capturable: bool = False,
    has_complex: bool = False,
    *,
    lambd: float,
    lr: float,
    t0: float,
    alpha: float,
    weight_decay: float,
) -> None:
    """Perform a step of :class:`ASGD` on lists of tensors, in place."""
    passes.check_steps(state_steps)
    check_capturable(capturable, params)
    rate = passes.number(lr)

    def rule(step: Any, eta: Any, mu: Any) -> tuple[tuple, tuple]:
        step, eta, mu = float(_get_value(step)) + 1, float(_get_value(eta)), float(_get_value(mu))
        new = (step, rate / (1 + lambd * rate * step) ** alpha, 1 / max(1, step - t0))
        return new, (1 - lambd * eta, eta, mu, mu == 1)

    passes.run(
        _update,
        rule,
        (float(weight_decay), maximize),
        params,
        grads,
        [axs],
        [state_steps, etas, mus],
        foreach=foreach,
        differentiable=differentiable,
        capturable=capturable,
    )


@passes.kernel
def _update(
    p: Any, g: Any, average: Any, shrink: Any, eta: Any, mu: Any, first: bool, decay: float, maximize: bool
) -> tuple:
    if maximize:
        g = -g
    if decay != 0:
        g = g + p * decay
    p = p * shrink - g * eta
    return p, p if first else average + (p - average) * mu
