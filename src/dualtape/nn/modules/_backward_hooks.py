"""Backward hooks of a module: identity nodes around its forward that see the gradients of all inputs, and of all
outputs, together.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ..._tensor.tensor import Tensor
from ...autograd.function import Function
from ...errors import warn
from ...modes import is_grad_enabled


class BackwardHookFunction(Function):
    """The identity of several tensors: one node for the gradients of all."""

    @staticmethod
    def forward(ctx: Any, *args: Any) -> Any:
        ctx.mark_non_differentiable(*[arg for arg in args if not arg.requires_grad])
        return args

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        return grads


class BackwardHook:
    """One call of a module with backward hooks.

    Parameters
    ----------
    module : Module
        What the hooks get first.
    user_hooks : sequence of callable
        Called with the gradients of inputs and outputs, which follow each other in time: those of the outputs are kept
        until those of the inputs are there.
    user_pre_hooks : sequence of callable
        Called with the gradients of the outputs, when they are there.
    """

    def __init__(self, module: Any, user_hooks: Sequence[Callable], user_pre_hooks: Sequence[Callable]) -> None:
        self.module, self.user_hooks, self.user_pre_hooks = module, user_hooks, user_pre_hooks
        self.grad_outputs: Any = None
        # Which of the inputs are tensors; None if no gradient flows to them.
        self.inputs: list[int] | None = None
        self.outputs: list[int] = []
        self.n_inputs = self.n_outputs = 0

    def setup_input_hook(self, args: tuple) -> tuple:
        """Return the arguments for the module's forward."""
        self.n_inputs = len(args)
        args, self.inputs = self._identity(args, self._on_inputs)
        return args

    def setup_output_hook(self, result: Any) -> Any:
        """Return the result of the module."""
        results = result if isinstance(result, tuple) else (result,)
        self.n_outputs = len(results)
        results, places = self._identity(results, self._on_outputs)
        self.outputs = places or []
        return results if isinstance(result, tuple) else results[0]

    def _identity(self, args: tuple, hook: Callable) -> tuple[tuple, list[int] | None]:
        places = [k for k, arg in enumerate(args) if isinstance(arg, Tensor)]
        if not (is_grad_enabled() and any(args[k].requires_grad for k in places)):
            return args, None
        new = BackwardHookFunction.apply(*[args[k] for k in places])
        next(t.grad_fn for t in new if t.grad_fn is not None).register_hook(hook)
        filled = list(args)
        for k, tensor in zip(places, new, strict=True):
            filled[k] = tensor
        return (tuple(filled) if type(args) is tuple else type(args)(*filled)), places

    def _on_outputs(self, _: Any, grads: tuple) -> tuple | None:
        self.grad_outputs = _spread(self.outputs, grads, self.n_outputs)
        for hook in self.user_pre_hooks:
            answer = hook(self.module, self.grad_outputs)
            if answer is not None:
                self.grad_outputs = _checked(answer, self.n_outputs, "Backward pre hook", "grad_output")
        seen = self.grad_outputs
        if self.inputs is None:  # nothing will arrive there
            warn(
                "Full backward hook is firing when gradients are computed with respect to module outputs since no"
                " inputs require gradients: its grad_input is None for all of them",
            )
            for hook in self.user_hooks:
                answer = hook(self.module, (None,) * self.n_inputs, seen)
                if answer is not None and not (isinstance(answer, tuple) and all(g is None for g in answer)):
                    raise RuntimeError(
                        "Backward hook for Modules where no input requires gradient should always return None or None"
                        " for all gradients."
                    )
            self.grad_outputs = None
        return tuple(seen[k] for k in self.outputs)

    def _on_inputs(self, grads: tuple, _: Any) -> tuple | None:
        # The gradient did not come through the outputs, as in double backward.
        if self.grad_outputs is None:
            return None
        places = self.inputs or []
        found = _spread(places, grads, self.n_inputs)
        for hook in self.user_hooks:
            answer = hook(self.module, found, self.grad_outputs)
            if answer is not None:
                found = _checked(answer, self.n_inputs, "Backward hook", "grad_input")
        self.grad_outputs = None
        return tuple(found[k] for k in places)


def _spread(places: Sequence[int], values: Sequence, count: int) -> tuple:
    found = [None] * count
    for k, value in zip(places, values, strict=True):
        found[k] = value
    return tuple(found)


def _checked(answer: Any, count: int, what: str, of: str) -> Any:
    if len(answer) != count:
        raise RuntimeError(f"{what} returned an invalid number of {of}, got {len(answer)}, but expected {count}")
    return answer
