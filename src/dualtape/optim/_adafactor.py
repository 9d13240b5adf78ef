"""Adafactor: Adam's average square of a matrix, stored as the averages of its rows and of its columns."""

from __future__ import annotations

from typing import Any

from .. import modes
from .._tensor.dtypes import finfo
from .._tensor.shaped import zeros_like
from .._tensor.tensor import Tensor
from . import passes
from .elementwise import Elementwise, scalar
from .optimizer import ParamsT, _get_value, check_lr

__all__ = ["Adafactor", "adafactor"]


class Adafactor(Elementwise):
    """Adafactor (Shazeer and Stern, 2018), without momentum.

    Parameters
    ----------
    params : iterable
        Tensors, (name, tensor) pairs, or groups.
    lr : float or Tensor
        The largest step, relative to the size of a parameter.
    beta2_decay : float
        The power of the number of steps with which averages of squares follow.
    eps : pair of float
        The smallest root of an average square (None: that of the dtype), and the smallest size of a parameter.
    d : float
        The size from which on updates are scaled down.
    weight_decay : float
        The part of itself that a parameter loses at each step, times the learning rate.
    foreach : bool, optional
        Accepted for either: each parameter is computed by itself, as its sizes are its own.
    maximize : bool
        Go up, not down.

    Examples
    --------
    >>> import dualtape as dt
    >>> x = dt.tensor([3.0, -3.0], requires_grad=True)
    >>> optimizer = dt.optim.Adafactor([x], lr=0.5)
    >>> (x * x).sum().backward(); optimizer.step(); x
    tensor([ 1.5000, -1.5000], requires_grad=True)
    """

    _dt_since = {"foreach": None}

    def __init__(
        self,
        params: ParamsT,
        lr: float | Tensor = 1e-2,
        beta2_decay: float = -0.8,
        eps: tuple[float | None, float] = (None, 1e-3),
        d: float = 1.0,
        weight_decay: float = 0.0,
        *,
        foreach: bool | None = None,
        maximize: bool = False,
    ) -> None:
        check_lr(lr)
        if not 0.0 >= beta2_decay:
            raise ValueError(f"beta2_decay is a power that must not grow: expected 0 or less, got {beta2_decay}")
        if eps[0] is not None and not 0.0 <= eps[0]:
            raise ValueError(f"eps[0], the least root of a variance, must be 0 or more, or None; got {eps[0]}")
        if not 0.0 <= eps[1]:
            raise ValueError(f"eps[1], the least size of a parameter, must be 0 or more; got {eps[1]}")
        if not 1.0 <= d:
            raise ValueError(f"d, from where on updates are clipped, must be 1 or more; got {d}")
        if not 0.0 <= weight_decay:
            raise ValueError(f"Invalid weight_decay: {weight_decay}; it must be 0 or more")
        defaults = {
            "lr": lr,
            "beta2_decay": beta2_decay,
            "eps": eps,
            "d": d,
            "weight_decay": weight_decay,
            "foreach": foreach,
            "maximize": maximize,
        }
        super().__init__(params, defaults)

    def _dt_begin(self, p: Tensor, group: dict[str, Any]) -> dict[str, Any]:
        if p.is_complex():
            raise RuntimeError("Adafactor: a parameter is complex; pass its view_as_real() instead")
        gradient: Any = p.grad
        state = {"step": scalar(0, p, group)}
        if gradient.dim() > 1:
            state["row_var"] = gradient.new_zeros((*gradient.shape[:-1], 1))
            state["col_var"] = gradient.new_zeros((*gradient.shape[:-2], 1, gradient.shape[-1]))
        else:
            state["variance"] = zeros_like(gradient.detach())
        return state

    def _dt_update(self, group: dict[str, Any], params: list, grads: list, states: list[dict]) -> None:
        adafactor(
            params,
            grads,
            [s.get("row_var") for s in states],
            [s.get("col_var") for s in states],
            [s.get("variance") for s in states],
            [s["step"] for s in states],
            foreach=group["foreach"],
            d=group["d"],
            lr=group["lr"],
            beta2_decay=group["beta2_decay"],
            weight_decay=group["weight_decay"],
            eps1=group["eps"][0],
            eps2=group["eps"][1],
            maximize=group["maximize"],
        )


def adafactor(
    params: list[Tensor],
    grads: list[Tensor],
    row_vars: list[Tensor | None],
    col_vars: list[Tensor | None],
    variances: list[Tensor | None],
    state_steps: list[Tensor],
    foreach: bool | None = None,
    grad_scale: Tensor | None = None,
    found_inf: Tensor | None = None,
    has_complex: bool = False,
    *,
    d: float,
    lr: float | Tensor,
    beta2_decay: float,
    weight_decay: float,
    eps1: float | None,
    eps2: float,
    maximize: bool,
) -> None:
    """Perform a step of :class:`Adafactor` on lists of tensors, in place."""
    passes.check_steps(state_steps)
    passes.unscaled(grads, grad_scale, found_inf, False)
    rate = float(_get_value(lr))
    with modes.no_grad():
        for p, gradient, rows, columns, variance, count in zip(
            params, grads, row_vars, col_vars, variances, state_steps, strict=True
        ):
            least = finfo(p.dtype).eps if eps1 is None else eps1
            count += 1
            step = count.item()
            intake = step**beta2_decay
            size = max(eps2, p.norm(2).item() / p.numel() ** 0.5) * min(rate, 1 / step**0.5)
            if weight_decay != 0:
                p.mul_(1 - rate * weight_decay)
            if rows is not None and columns is not None:
                rows.lerp_(gradient.square().mean(-1, keepdim=True), intake)
                columns.lerp_(gradient.square().mean(-2, keepdim=True), intake)
                estimate = (rows @ columns).div_(rows.mean(-2, keepdim=True).clamp_(min=least))
            elif variance is not None:
                estimate = variance.lerp_(gradient.square(), intake).clone()
            else:
                raise AssertionError("a parameter has neither row_var and col_var nor variance")
            update = estimate.clamp_(min=least * least).rsqrt_().mul_(gradient)
            clip = max(1.0, update.norm(2).item() / (update.numel() ** 0.5 * d))
            p.add_(update, alpha=(size if maximize else -size) / clip)
