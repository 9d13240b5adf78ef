"""L-BFGS: Newton's direction estimated from differences of recent gradients, and a line search along it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .. import modes
from .._tensor.tensor import Tensor
from .optimizer import Optimizer, ParamsT, _get_value, as_real, check_lr, op

__all__ = ["LBFGS"]


class LBFGS(Optimizer):
    """Limited-memory BFGS. One group of parameters; :meth:`step` needs a closure.

    Parameters
    ----------
    params : iterable
        Tensors, or (name, tensor) pairs.
    lr : float or Tensor
        The length of steps; with a line search the one it begins with.
    max_iter : int
        Iterations of a step.
    max_eval : int, optional
        Evaluations of a step. Default: ``max_iter * 5 // 4``.
    tolerance_grad, tolerance_change : float
        A step ends when no number of the gradient is larger, or when parameters or loss change by less.
    history_size : int
        How many differences of gradients are kept.
    line_search_fn : str, optional
        ``"strong_wolfe"``, or none.

    Examples
    --------
    >>> import dualtape as dt
    >>> x = dt.tensor([1.0, -2.0], requires_grad=True)
    >>> optimizer = dt.optim.LBFGS([x], line_search_fn="strong_wolfe")
    >>> def closure():
    ...     optimizer.zero_grad()
    ...     loss = ((x - 3) ** 2).sum()
    ...     loss.backward()
    ...     return loss
    >>> loss = optimizer.step(closure); x.detach().round(decimals=3)
    tensor([3., 3.])
    """

    def __init__(
        self,
        params: ParamsT,
        lr: float | Tensor = 1,
        max_iter: int = 20,
        max_eval: int | None = None,
        tolerance_grad: float = 1e-7,
        tolerance_change: float = 1e-9,
        history_size: int = 100,
        line_search_fn: str | None = None,
    ) -> None:
        check_lr(lr)
        defaults = {
            "lr": lr,
            "max_iter": max_iter,
            "max_eval": max_iter * 5 // 4 if max_eval is None else max_eval,
            "tolerance_grad": tolerance_grad,
            "tolerance_change": tolerance_change,
            "history_size": history_size,
            "line_search_fn": line_search_fn,
        }
        super().__init__(params, defaults)
        if len(self.param_groups) != 1:
            raise ValueError(f"LBFGS takes one group of parameters, got {len(self.param_groups)}")

    @property
    def _params(self) -> list[Tensor]:
        return self.param_groups[0]["params"]

    def _dt_gradient(self) -> Tensor:
        """Return all gradients in one vector of real numbers; those of complex parameters as pairs."""
        parts = []
        for p in self._params:
            gradient = p.grad
            if gradient is None:
                gradient = p.new_zeros(p.shape)
            elif gradient.is_sparse:
                gradient = gradient.to_dense()
            parts.append(as_real(gradient).reshape(-1))
        return op("cat")(parts, 0)

    def _dt_move(self, distance: float, direction: Tensor) -> None:
        start = 0
        for p in self._params:
            real = as_real(p)
            stop = start + real.numel()
            real.add_(direction[start:stop].view_as(real), alpha=distance)
            start = stop

    @modes.no_grad()
    def step(self, closure: Callable[[], Any]) -> Any:
        """Iterate until a limit or a tolerance is reached.

        Parameters
        ----------
        closure : callable
            Forgets the gradients, computes the loss and its gradients, and returns the loss.

        Returns
        -------
        object
            What the closure returned first.
        """
        if len(self.param_groups) != 1:
            raise AssertionError(f"LBFGS has one group of parameters, found {len(self.param_groups)}")
        group = self.param_groups[0]
        if group["line_search_fn"] not in (None, "strong_wolfe"):
            raise RuntimeError(f"unknown line_search_fn {group['line_search_fn']!r}: pass 'strong_wolfe' or None")
        closure = modes.enable_grad()(closure)
        lr, tolerance = float(_get_value(group["lr"])), group["tolerance_change"]
        state = self.state[self._params[0]]
        state.setdefault("func_evals", 0)
        state.setdefault("n_iter", 0)

        first = closure()
        loss = float(first)
        evaluations = 1
        state["func_evals"] += 1
        gradient = self._dt_gradient()
        if gradient.abs().max() <= group["tolerance_grad"]:
            return first

        def evaluate(distance: float) -> tuple[float, Tensor]:
            self._dt_move(distance, direction)
            found = float(closure()), self._dt_gradient()
            for p, values in zip(self._params, here, strict=True):
                p.copy_(values)
            return found

        direction, distance = state.get("d"), state.get("t")
        for iteration in range(1, group["max_iter"] + 1):
            state["n_iter"] += 1
            direction = self._dt_direction(state, gradient, direction, distance, group["history_size"])
            if state.get("prev_flat_grad") is None:
                state["prev_flat_grad"] = gradient.clone()
            else:
                state["prev_flat_grad"].copy_(gradient)
            state["prev_loss"] = before = loss
            distance = lr
            if state["n_iter"] == 1:
                distance = min(1.0, 1.0 / gradient.abs().sum().item()) * lr
            slope = gradient.dot(direction).item()
            if slope > -tolerance:
                break
            spent = 0
            if group["line_search_fn"] is not None:
                left = group["max_eval"] - evaluations
                here = [p.clone() for p in self._params]
                loss, gradient, distance, spent = _strong_wolfe(
                    evaluate, distance, direction, loss, gradient, slope, tolerance, left
                )
                self._dt_move(distance, direction)
            else:
                self._dt_move(distance, direction)
                if iteration != group["max_iter"]:
                    loss = float(closure())
                    gradient = self._dt_gradient()
                    spent = 1
            evaluations += spent
            state["func_evals"] += spent
            if evaluations >= group["max_eval"] or gradient.abs().max() <= group["tolerance_grad"]:
                break
            if direction.mul(distance).abs().max() <= tolerance or abs(loss - before) < tolerance:
                break
        state["d"], state["t"] = direction, distance
        return first

    def _dt_direction(self, state: dict, gradient: Tensor, last: Any, distance: Any, most: int) -> Tensor:
        """Return Newton's direction, estimated from the stored differences."""
        if state["n_iter"] == 1 or last is None:  # a closure that raised has ended the first step
            state.update(old_dirs=[], old_stps=[], ro=[], H_diag=1)
            return gradient.neg()
        changes, moves, factors = state["old_dirs"], state["old_stps"], state["ro"]
        change, move = gradient.sub(state["prev_flat_grad"]), last.mul(distance)
        curvature = change.dot(move)
        if curvature > 1e-10:
            if len(changes) == most:
                for kept in (changes, moves, factors):
                    kept.pop(0)
            changes.append(change)
            moves.append(move)
            factors.append(1.0 / curvature)
            state["H_diag"] = curvature / change.dot(change)
        weights = state.setdefault("al", [None] * most)
        result = gradient.neg()
        for k in reversed(range(len(changes))):
            weights[k] = moves[k].dot(result) * factors[k]
            result.add_(changes[k] * -weights[k])
        result = result.mul(state["H_diag"])
        for k in range(len(changes)):
            result.add_(moves[k] * (weights[k] - changes[k].dot(result) * factors[k]))
        return result


def _cubic_interpolate(x1: Any, f1: Any, g1: Any, x2: Any, f2: Any, g2: Any, bounds: Any = None) -> float:
    """Return the minimum, within bounds, of the cubic through two points with given slopes."""
    low, high = bounds if bounds is not None else (min(x1, x2), max(x1, x2))
    d1 = g1 + g2 - 3 * (f1 - f2) / (x1 - x2)
    square = d1**2 - g1 * g2
    if not square >= 0:
        return (low + high) / 2.0
    d2 = square**0.5
    if x1 <= x2:
        best = x2 - (x2 - x1) * ((g2 + d2 - d1) / (g2 - g1 + 2 * d2))
    else:
        best = x1 - (x1 - x2) * ((g1 + d2 - d1) / (g1 - g2 + 2 * d2))
    return min(max(best, low), high)


def _strong_wolfe(
    evaluate: Callable[[float], tuple[float, Tensor]],
    t: float,
    d: Tensor,
    f: float,
    g: Tensor,
    slope: float,
    tolerance: float,
    most: int,
    c1: float = 1e-4,
    c2: float = 0.9,
) -> tuple[float, Tensor, float, int]:
    """Return a distance along ``d`` that satisfies the strong Wolfe conditions.

    Returns the loss and the gradient there, the distance, and how often the loss was evaluated.
    """
    size = d.abs().max().item()

    def at(distance: float) -> tuple:
        loss, gradient = evaluate(distance)
        return distance, loss, gradient, gradient.dot(d).item()

    # a bracket: two points (distance, loss, gradient, slope) with a good one between
    last, now = (0.0, f, g, slope), at(t)
    evaluations, done, bracket = 1, False, None
    k = 0
    while k < most:
        t, loss, _, now_slope = now
        if loss > f + c1 * t * slope or (k > 1 and loss >= last[1]):
            bracket = [last, now]
            break
        if abs(now_slope) <= -c2 * slope:
            bracket, done = [now], True
            break
        if now_slope >= 0:
            bracket = [last, now]
            break
        bounds = (t + 0.01 * (t - last[0]), t * 10)
        further = _cubic_interpolate(last[0], last[1], last[3], t, loss, now_slope, bounds)
        last, now = now, at(further)
        evaluations += 1
        k += 1
    if bracket is None:
        bracket = [(0.0, f, g, slope), now]
    low, high = (0, 1) if bracket[0][1] <= bracket[-1][1] else (1, 0)
    stuck = False
    while not done and k < most:
        ends = [point[0] for point in bracket]
        if abs(ends[1] - ends[0]) * size < tolerance:
            break
        t = _cubic_interpolate(*(bracket[end][part] for end in (0, 1) for part in (0, 1, 3)))
        margin = 0.1 * (max(ends) - min(ends))
        if min(max(ends) - t, t - min(ends)) < margin:  # close to an end: once is progress enough, twice is not
            if stuck or t >= max(ends) or t <= min(ends):
                t = max(ends) - margin if abs(t - max(ends)) < abs(t - min(ends)) else min(ends) + margin
                stuck = False
            else:
                stuck = True
        else:
            stuck = False
        now = at(t)
        evaluations += 1
        k += 1
        if now[1] > f + c1 * t * slope or now[1] >= bracket[low][1]:
            bracket[high] = now
            low, high = (0, 1) if bracket[0][1] <= bracket[1][1] else (1, 0)
        else:
            if abs(now[3]) <= -c2 * slope:
                done = True
            elif now[3] * (bracket[high][0] - bracket[low][0]) >= 0:
                bracket[high] = bracket[low]
            bracket[low] = now
    t, loss, gradient, _ = bracket[low]
    return loss, gradient, t, evaluations
