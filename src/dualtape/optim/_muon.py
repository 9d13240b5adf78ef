"""Muon: momentum of a matrix, orthogonalised."""

from __future__ import annotations

from math import sqrt
from typing import Any

from .. import modes
from .._tensor.shaped import zeros_like
from .._tensor.tensor import Tensor
from .elementwise import Elementwise
from .optimizer import ParamsT, _get_value, check_lr, op

__all__ = ["Muon"]


class Muon(Elementwise):
    """Muon (Jordan et al., 2024), for parameters that are matrices.

    Parameters
    ----------
    params : iterable
        Matrices, (name, matrix) pairs, or groups.
    lr : float
        The learning rate.
    weight_decay : float
        The part of itself that a parameter loses at each step, times the learning rate.
    momentum : float
        How much of the average of gradients a step keeps.
    nesterov : bool
        Look one step of momentum ahead.
    ns_coefficients : triple of float
        The coefficients of the Newton-Schulz iteration.
    eps : float
        The smallest norm of a gradient.
    ns_steps : int
        How often the iteration is run.
    adjust_lr_fn : str, optional
        How the learning rate depends on the shape: ``"original"`` (default) or ``"match_rms_adamw"``.

    Examples
    --------
    >>> import dualtape as dt
    >>> x = dt.eye(2, requires_grad=True)
    >>> optimizer = dt.optim.Muon([x], lr=0.1)
    >>> (x * x).sum().backward(); optimizer.step(); x[0, 1]
    tensor(0., grad_fn=<SelectBackward0>)
    """

    _dt_since = {}
    _dt_numbers = ()

    def __init__(
        self,
        params: ParamsT,
        lr: float = 1e-3,
        weight_decay: float = 0.1,
        momentum: float = 0.95,
        nesterov: bool = True,
        ns_coefficients: tuple[float, float, float] = (3.4445, -4.775, 2.0315),
        eps: float = 1e-7,
        ns_steps: int = 5,
        adjust_lr_fn: str | None = None,
    ) -> None:
        check_lr(lr)
        if not 0.0 <= momentum:
            raise ValueError(f"Invalid momentum: {momentum}; it must be 0 or more")
        if not 0.0 <= weight_decay:
            raise ValueError(f"Invalid weight_decay: {weight_decay}; it must be 0 or more")
        if adjust_lr_fn not in (None, "original", "match_rms_adamw"):
            raise ValueError(f"unknown adjust_lr_fn {adjust_lr_fn!r}: pass 'original', 'match_rms_adamw' or None")
        defaults = {
            "lr": lr,
            "weight_decay": weight_decay,
            "momentum": momentum,
            "nesterov": nesterov,
            "ns_coefficients": ns_coefficients,
            "eps": eps,
            "ns_steps": ns_steps,
            "adjust_lr_fn": adjust_lr_fn,
        }
        super().__init__(params, defaults)
        shapes = [tuple(p.shape) for group in self.param_groups for p in group["params"]]
        for shape in shapes:
            if len(shape) != 2:
                raise ValueError(f"Muon is for matrices, got a parameter of shape {shape}: give it another optimizer")

    def _dt_begin(self, p: Tensor, group: dict[str, Any]) -> dict[str, Any]:
        if p.is_complex():
            raise RuntimeError("Muon: a parameter is complex, and only real matrices are made orthogonal")
        return {"momentum_buffer": zeros_like(p.grad.detach())}  # type: ignore[union-attr]

    def _dt_update(self, group: dict[str, Any], params: list, grads: list, states: list[dict]) -> None:
        muon(
            params,
            grads,
            [s["momentum_buffer"] for s in states],
            lr=group["lr"],
            weight_decay=group["weight_decay"],
            momentum=group["momentum"],
            nesterov=group["nesterov"],
            ns_coefficients=group["ns_coefficients"],
            ns_steps=group["ns_steps"],
            eps=group["eps"],
            adjust_lr_fn=group["adjust_lr_fn"],
            has_complex=False,
        )


def muon(
    params: list[Tensor],
    grads: list[Tensor],
    muon_momentum_bufs: list[Tensor],
    *,
    foreach: bool | None = None,
    lr: float,
    weight_decay: float,
    momentum: float,
    nesterov: bool,
    ns_coefficients: tuple[float, float, float],
    ns_steps: int,
    eps: float,
    adjust_lr_fn: str | None,
    has_complex: bool,
) -> None:
    """Perform a step of :class:`Muon` on lists of matrices, in place."""
    if foreach:
        raise RuntimeError("muon has no form for lists: pass foreach=False")
    if has_complex:
        raise ValueError("muon takes real matrices only")
    rate = float(_get_value(lr))
    with modes.no_grad():
        for p, gradient, buffer in zip(params, grads, muon_momentum_bufs, strict=True):
            if gradient.ndim != 2:
                raise ValueError(f"muon: a gradient has shape {tuple(gradient.shape)}, expected a matrix")
            buffer.lerp_(gradient, 1 - momentum)
            update = gradient.lerp(buffer, momentum) if nesterov else buffer
            update = _zeropower_via_newtonschulz(update, ns_coefficients, ns_steps, eps)
            p.mul_(1 - rate * weight_decay)
            p.add_(update, alpha=-_adjust_lr(rate, adjust_lr_fn, p.shape))


def _zeropower_via_newtonschulz(
    grad: Tensor, ns_coefficients: tuple[float, float, float], ns_steps: int, eps: float
) -> Tensor:
    """Return the orthogonal matrix closest to a matrix, approximately, in bfloat16."""
    if ns_steps >= 100:
        raise ValueError(f"ns_steps={ns_steps} is too many: expected below 100")
    if len(ns_coefficients) != 3:
        raise ValueError(f"ns_coefficients must be three numbers, got {len(ns_coefficients)}")
    a, b, c = ns_coefficients
    tall = grad.shape[0] > grad.shape[1]
    x = grad.bfloat16()
    x = x.T if tall else x
    x = x / x.norm().clamp(min=eps)
    addmm = op("addmm")
    for _ in range(ns_steps):
        gram = x @ x.T
        x = addmm(x, addmm(gram, gram, gram, beta=b, alpha=c), x, beta=a)
    return x.T if tall else x


def _adjust_lr(lr: float, adjust_lr_fn: str | None, param_shape: Any) -> float:
    rows, columns = param_shape[:2]
    if adjust_lr_fn == "match_rms_adamw":
        return lr * 0.2 * sqrt(max(rows, columns))
    return lr * sqrt(max(1, rows / columns))
