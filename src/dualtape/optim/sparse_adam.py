"""SparseAdam: Adam that updates only the entries of a sparse gradient."""

from __future__ import annotations

from typing import Any

from .._tensor.tensor import Tensor
from .elementwise import Elementwise, zeros_beside
from .optimizer import ParamsT, _get_value, check_betas, check_lr

__all__ = ["SparseAdam"]


class SparseAdam(Elementwise):
    """Adam for sparse gradients: averages, too, change only where the gradient has entries.

    Parameters
    ----------
    params : iterable
        Dense tensors, (name, tensor) pairs, or groups.
    lr, betas, eps, maximize
        As of :class:`Adam`.

    Examples
    --------
    >>> import dualtape as dt
    >>> x = dt.tensor([1.0, -2.0], requires_grad=True)
    >>> optimizer = dt.optim.SparseAdam([x], lr=0.5)
    >>> x.grad = dt.tensor([0.0, -4.0]).to_sparse(); optimizer.step(); x
    tensor([ 1.0000, -1.5000], requires_grad=True)
    """

    _dt_since = {"maximize": False}
    _dt_numbers = ()
    _dt_sparse = None

    def __init__(
        self,
        params: ParamsT,
        lr: float | Tensor = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        maximize: bool = False,
    ) -> None:
        check_lr(lr)
        if not 0.0 < lr:
            raise ValueError(f"Invalid learning rate: {lr}; it must be above 0")
        if not 0.0 < eps:
            raise ValueError(f"Invalid epsilon value: {eps}; it must be above 0")
        check_betas(betas)
        super().__init__(params, {"lr": lr, "betas": betas, "eps": eps, "maximize": maximize})
        for what, asked in (("Sparse", lambda p: p.is_sparse), ("Complex", lambda p: p.is_complex())):
            places = [
                [k, number]
                for k, group in enumerate(self.param_groups)
                for number, p in enumerate(group["params"])
                if asked(p)
            ]
            if places:
                raise ValueError(
                    f"SparseAdam takes real dense parameters; {what.lower()} are those at (group, number) {places}"
                )

    def _dt_begin(self, p: Tensor, group: dict[str, Any]) -> dict[str, Any]:
        return {"step": 0, "exp_avg": zeros_beside(p), "exp_avg_sq": zeros_beside(p)}

    def _dt_update(self, group: dict[str, Any], params: list, grads: list, states: list[dict]) -> None:
        if any(not gradient.is_sparse for gradient in grads):
            raise RuntimeError("SparseAdam: a gradient is dense; use Adam for its parameter")
        for state in states:
            state["step"] += 1
        sparse_adam(
            params,
            grads,
            [s["exp_avg"] for s in states],
            [s["exp_avg_sq"] for s in states],
            [s["step"] for s in states],
            eps=group["eps"],
            beta1=group["betas"][0],
            beta2=group["betas"][1],
            lr=_get_value(group["lr"]),
            maximize=group["maximize"],
        )


def sparse_adam(
    params: list[Tensor],
    grads: list[Tensor],
    exp_avgs: list[Tensor],
    exp_avg_sqs: list[Tensor],
    state_steps: list[int],
    *,
    eps: float,
    beta1: float,
    beta2: float,
    lr: float,
    maximize: bool,
) -> None:
    """Perform a step of :class:`SparseAdam` on lists of tensors, in place; ``state_steps`` count this step."""
    for p, gradient, average, square, step in zip(params, grads, exp_avgs, exp_avg_sqs, state_steps, strict=True):
        gradient = gradient.coalesce()
        values = -gradient._values() if maximize else gradient._values()
        if values.numel() == 0:
            continue
        at = tuple(gradient._indices())
        new_average = average[at] + (values - average[at]) * (1 - beta1)
        new_square = square[at] + (values * values - square[at]) * (1 - beta2)
        size = lr * (1 - beta2**step) ** 0.5 / (1 - beta1**step)
        average[at], square[at] = new_average, new_square
        p[at] = p[at] - size * (new_average / (new_square.sqrt() + eps))
