"""Rprop: each number has a step size of its own, which grows while its gradient keeps its sign, and shrinks
otherwise.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .._tensor.shaped import full_like
from .._tensor.tensor import Tensor
from . import passes
from .elementwise import Elementwise, check_capturable, scalar, zeros_beside
from .optimizer import ParamsT, _get_value, check_lr

__all__ = ["Rprop", "rprop"]


class Rprop(Elementwise):
    """Resilient backpropagation (Riedmiller and Braun, 1993).

    Parameters
    ----------
    params : iterable
        Tensors, (name, tensor) pairs, or groups.
    lr : float or Tensor
        The first step of each number.
    etas : pair of float
        What a step is multiplied with when the gradient changed its sign, and when it did not.
    step_sizes : pair of float
        The smallest and the largest step.
    capturable, foreach, maximize, differentiable
        As of :class:`Adam`.

    Examples
    --------
    >>> import dualtape as dt
    >>> x = dt.tensor([1.0, -2.0], requires_grad=True)
    >>> optimizer = dt.optim.Rprop([x], lr=0.5)
    >>> (x * x).sum().backward(); optimizer.step(); x
    tensor([ 0.5000, -1.5000], requires_grad=True)
    """

    def __init__(
        self,
        params: ParamsT,
        lr: float | Tensor = 1e-2,
        etas: tuple[float, float] = (0.5, 1.2),
        step_sizes: tuple[float, float] = (1e-6, 50),
        *,
        capturable: bool = False,
        foreach: bool | None = None,
        maximize: bool = False,
        differentiable: bool = False,
    ) -> None:
        check_lr(lr)
        if not 0.0 < etas[0] < 1.0 < etas[1]:
            raise ValueError(
                f"Invalid eta values: {etas[0]}, {etas[1]}; the first must be between 0 and 1, the second above 1"
            )
        defaults = {
            "lr": lr,
            "etas": etas,
            "step_sizes": step_sizes,
            "foreach": foreach,
            "maximize": maximize,
            "differentiable": differentiable,
            "capturable": capturable,
        }
        super().__init__(params, defaults)

    def _dt_begin(self, p: Tensor, group: dict[str, Any]) -> dict[str, Any]:
        lr = float(_get_value(group["lr"]))
        size: Any = complex(lr, lr) if p.is_complex() else lr
        return {"step": scalar(0, p, group), "prev": zeros_beside(p), "step_size": full_like(p.detach(), size)}

    def _dt_update(self, group: dict[str, Any], params: list, grads: list, states: list[dict]) -> None:
        rprop(
            params,
            grads,
            [s["prev"] for s in states],
            [s["step_size"] for s in states],
            [s["step"] for s in states],
            foreach=group["foreach"],
            capturable=group["capturable"],
            maximize=group["maximize"],
            differentiable=group["differentiable"],
            step_size_min=group["step_sizes"][0],
            step_size_max=group["step_sizes"][1],
            etaminus=group["etas"][0],
            etaplus=group["etas"][1],
        )


def rprop(
    params: list[Tensor],
    grads: list[Tensor],
    prevs: list[Tensor],
    step_sizes: list[Tensor],
    state_steps: list[Tensor],
    foreach: bool | None = None,
    capturable: bool = False,
    maximize: bool = False,
    differentiable: bool = False,
    has_complex: bool = False,
    *,
    step_size_min: float,
    step_size_max: float,
    etaminus: float,
    etaplus: float,
) -> None:
    """Perform a step of :class:`Rprop` on lists of tensors, in place."""
    passes.check_steps(state_steps)
    check_capturable(capturable, params)
    passes.run(
        _update,
        lambda step: ((step + 1,), ()),
        (step_size_min, step_size_max, etaminus, etaplus, maximize),
        params,
        grads,
        [prevs, step_sizes],
        [state_steps],
        foreach=foreach,
        differentiable=differentiable,
        capturable=capturable,
    )


@passes.kernel
def _update(
    p: Any, g: Any, before: Any, size: Any, least: float, most: float, shrink: float, grow: float, maximize: bool
) -> tuple:
    if maximize:
        g = -g
    turn = g * before
    size = np.where(turn > 0, size * grow, np.where(turn < 0, size * shrink, size))
    size = np.minimum(np.maximum(size, least), most)
    g = np.where(turn < 0, 0.0, g)
    return p - np.sign(g) * size, g, size
