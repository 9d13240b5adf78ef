"""Adagrad: gradients over the root of the sum of all their squares."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._tensor.shaped import full_like
from .._tensor.tensor import Tensor
from . import passes
from .elementwise import Elementwise, check_fused, scalar
from .optimizer import ParamsT, _get_value, check_forms, check_lr, check_not_negative

__all__ = ["Adagrad", "adagrad"]


class Adagrad(Elementwise):
    """Adagrad (Duchi, Hazan and Singer, 2011). Gradients may be sparse.

    Parameters
    ----------
    params : iterable
        Tensors, (name, tensor) pairs, or groups.
    lr : float or Tensor
        The learning rate.
    lr_decay : float
        After n steps, the learning rate is divided by ``1 + n * lr_decay``.
    weight_decay : float
        How much of a parameter is added to its gradient.
    initial_accumulator_value : float
        What the sums of squares begin with.
    eps : float
        Added to the denominator.
    foreach, maximize, differentiable, fused
        As of :class:`Adam`.

    Examples
    --------
    >>> import dualtape as dt
    >>> x = dt.tensor([1.0, -2.0], requires_grad=True)
    >>> optimizer = dt.optim.Adagrad([x], lr=0.5)
    >>> (x * x).sum().backward(); optimizer.step(); x
    tensor([ 0.5000, -1.5000], requires_grad=True)
    """

    _dt_since = {"maximize": False, "foreach": None, "differentiable": False, "fused": None}
    _dt_sparse = None

    def __init__(
        self,
        params: ParamsT,
        lr: float | Tensor = 1e-2,
        lr_decay: float = 0,
        weight_decay: float = 0,
        initial_accumulator_value: float = 0,
        eps: float = 1e-10,
        foreach: bool | None = None,
        *,
        maximize: bool = False,
        differentiable: bool = False,
        fused: bool | None = None,
    ) -> None:
        check_lr(lr)
        check_not_negative("lr_decay value", lr_decay)
        check_not_negative("weight_decay value", weight_decay)
        check_not_negative("initial_accumulator_value value", initial_accumulator_value)
        check_not_negative("epsilon value", eps)
        defaults = {
            "lr": lr,
            "lr_decay": lr_decay,
            "eps": eps,
            "weight_decay": weight_decay,
            "initial_accumulator_value": initial_accumulator_value,
            "foreach": foreach,
            "maximize": maximize,
            "differentiable": differentiable,
            "fused": fused,
        }
        super().__init__(params, defaults)
        check_forms(foreach, fused, differentiable)
        for group in self.param_groups:
            for p in group["params"]:
                self.state[p] = self._dt_fresh(p, group)

    def _dt_fresh(self, p: Tensor, group: dict[str, Any]) -> dict[str, Any]:
        value: Any = self.defaults["initial_accumulator_value"]
        value = complex(value, value) if p.is_complex() else value
        return {"step": scalar(0, p, group), "sum": full_like(p.detach(), value)}

    def _dt_begin(self, p: Tensor, group: dict[str, Any]) -> dict[str, Any]:
        if group["fused"]:
            check_fused(p)
        return self._dt_fresh(p, group)

    def share_memory(self) -> None:
        """Move the sums into memory that processes share."""
        for group in self.param_groups:
            for p in group["params"]:
                self.state[p]["sum"].share_memory_()

    def _dt_update(self, group: dict[str, Any], params: list, grads: list, states: list[dict]) -> None:
        if group["fused"]:
            for p in params:
                check_fused(p)
        adagrad(
            params,
            grads,
            [s["sum"] for s in states],
            [s["step"] for s in states],
            fused=group["fused"],
            foreach=group["foreach"],
            differentiable=group["differentiable"],
            lr=group["lr"],
            weight_decay=group["weight_decay"],
            lr_decay=group["lr_decay"],
            eps=group["eps"],
            maximize=group["maximize"],
        )


def adagrad(
    params: list[Tensor],
    grads: list[Tensor],
    state_sums: list[Tensor],
    state_steps: list[Tensor],
    fused: bool | None = None,
    grad_scale: Tensor | None = None,
    found_inf: Tensor | None = None,
    has_sparse_grad: bool = False,
    foreach: bool | None = None,
    differentiable: bool = False,
    has_complex: bool = False,
    *,
    lr: float,
    weight_decay: float,
    lr_decay: float,
    eps: float,
    maximize: bool,
) -> None:
    """Perform a step of :class:`Adagrad` on lists of tensors, in place."""
    passes.check_steps(state_steps)
    unscaled = passes.unscaled(grads, grad_scale, found_inf, fused)
    if unscaled is None:
        return
    rate = passes.number(lr, differentiable)

    def rule(step: Any) -> tuple[tuple, tuple]:
        step = _get_value(step)
        return (step + 1,), (rate / (1 + step * lr_decay),)

    dense = [k for k, g in enumerate(unscaled) if type(g) is Tensor or not g.is_sparse]
    if len(dense) < len(params):
        if weight_decay != 0:
            raise RuntimeError("Adagrad cannot decay weights whose gradients are sparse: set weight_decay to 0")
        for k in set(range(len(params))).difference(dense):
            _, (size,) = rule(state_steps[k])
            state_steps[k].add_(1)
            _sparse_step(params[k], unscaled[k], state_sums[k], size, eps, maximize)
    passes.run(
        _update,
        rule,
        (eps, float(weight_decay), maximize),
        [params[k] for k in dense],
        [unscaled[k] for k in dense],
        [[state_sums[k] for k in dense]],
        [[state_steps[k] for k in dense]],
        foreach=True if fused else foreach,
        differentiable=differentiable,
    )


@passes.kernel
def _update(p: Any, g: Any, total: Any, size: Any, eps: float, decay: float, maximize: bool) -> tuple:
    if maximize:
        g = -g
    if decay != 0:
        g = g + p * decay
    total = total + g * g
    return p - size * (g / (np.sqrt(total) + eps)), total


def _sparse_step(p: Tensor, g: Tensor, total: Tensor, size: float, eps: float, maximize: bool) -> None:
    """Update only the entries of a sparse gradient."""
    g = g.coalesce()
    places, values = g._indices(), g._values()  # type: ignore[attr-defined]
    values = -values if maximize else values
    at = tuple(places)
    total[at] = total[at] + values * values
    p[at] = p[at] - size * (values / (total[at].sqrt() + eps))
