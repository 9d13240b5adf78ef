"""Base of optimizers whose update rule is elementwise: they share their step."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .. import modes
from .._tensor.shaped import full, zeros_like
from .._tensor.tensor import Tensor, wrap
from ..arrays import zeros
from .optimizer import Optimizer, _get_scalar_dtype, _use_grad_for_differentiable


class Elementwise(Optimizer):
    """An optimizer that collects the arguments of its rule for each parameter with a gradient."""

    _dt_since: dict[str, Any] = {"maximize": False, "foreach": None, "capturable": False, "differentiable": False}
    _dt_numbers: tuple[str, ...] = ("step",)  # entries of a state that are tensors of one element
    _dt_sparse: str | None = ""  # what to say of sparse gradients; None: they are taken

    def _dt_states(self, group: dict[str, Any], params: list) -> list[dict]:
        """Return the state of each parameter, created if there is none."""
        states = [self.state.get(p) for p in params]
        if not all(states):
            begun = [state or self._dt_begin(p, group) for p, state in zip(params, states, strict=True)]
            self.state.update(zip(params, begun, strict=True))
            return begun
        return states  # type: ignore[return-value]

    def _dt_begin(self, p: Tensor, group: dict[str, Any]) -> dict[str, Any]:
        """Return the initial state of a parameter."""
        raise NotImplementedError

    def _dt_update(self, group: dict[str, Any], params: list, grads: list, states: list[dict]) -> None:
        """Update the parameters of a group."""
        raise NotImplementedError

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        for group in self.param_groups:
            for name, value in self._dt_since.items():  # which checkpoints of earlier versions do not have
                group.setdefault(name, value)
            for p in group["params"]:
                kept = self.state.get(p)
                for name in self._dt_numbers if kept else ():
                    if not isinstance(kept[name], Tensor):  # type: ignore[index]
                        kept[name] = scalar(kept[name], p, group)  # type: ignore[index]

    @_use_grad_for_differentiable
    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """Update the parameters once, by their gradients.

        Parameters
        ----------
        closure : callable, optional
            Computes the loss and its gradients, and returns the loss: it is called first.

        Returns
        -------
        object
            What the closure returned; None without one.
        """
        loss = None
        if closure is not None:
            with modes.enable_grad():
                loss = closure()
        for group in self.param_groups:
            params = [p for p in group["params"] if p.grad is not None]
            grads = [p.grad for p in params]
            if self._dt_sparse is not None and {*map(type, grads)} != {Tensor} and any(g.is_sparse for g in grads):
                raise RuntimeError(f"{type(self).__name__} cannot use a sparse gradient{self._dt_sparse}")
            if params:
                self._dt_update(group, params, grads, self._dt_states(group, params))
        return loss


def scalar(value: Any, p: Tensor, group: dict[str, Any]) -> Tensor:
    """Return a number of a parameter's state: beside the parameter if it must be on its device."""
    fused = group.get("fused")
    dtype = _get_scalar_dtype(fused)
    if not fused and not group.get("capturable"):
        return full((), float(value), dtype=dtype, device="cpu")
    array = zeros((), dtype.numpy, p._array)
    array[...] = float(value)
    return wrap(array)


def zeros_beside(p: Tensor) -> Tensor:
    """Return zeros in the memory order of a parameter."""
    return zeros_like(p.detach())


def check_fused(p: Tensor) -> None:
    """Raise unless a parameter is one that fused steps support."""
    if not p.is_floating_point():
        raise RuntimeError(f"fused=True is for real floating-point parameters, got {p.dtype!r}: pass fused=False")


def check_capturable(capturable: bool, params: list[Tensor]) -> None:
    """Raise if steps are to be captured on a device that does not support it."""
    if capturable and any(p.device.type != "cuda" for p in params):
        raise AssertionError("capturable=True, but a parameter is not on a CUDA device: pass capturable=False")
