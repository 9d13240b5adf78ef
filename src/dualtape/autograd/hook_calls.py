"""Call hooks while the engine runs: convert gradients to tensors for them, and their results back."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from .._tensor.tensor import Tensor
from .node import AccumulateGrad, Node
from .other_gradients import is_other, raw_gradient, shown_gradient, summed
from .unbroadcast import AnyDtype, fit, fit_recorded

if TYPE_CHECKING:
    from .._typing import Gradient
    from .engine import GraphTask


def _shown(grad: Gradient | None, task: GraphTask) -> Any:
    """Return a gradient as the tensor that hooks see."""
    return grad if task.record or grad is None else shown_gradient(grad)


def _taken(value: object, task: GraphTask, meta: tuple, hook: Callable, given: Gradient | None) -> Any:
    """Return a hook's result in the form that the engine keeps."""
    name = getattr(hook, "__qualname__", repr(hook))
    if not isinstance(value, Tensor):
        raise TypeError(
            f"expected Variable, but hook returned '{type(value).__name__}': hook '{name}' must return None or a Tensor"
            " for each gradient"
        )
    shape, dtype = meta
    if type(dtype) is AnyDtype:
        like = value if given is None else given
        dtype = dtype.chosen(getattr(like, "_array", like).dtype, hook)
    if value._array.dtype != dtype:
        raise RuntimeError(
            f"hook '{name}' has changed the type of value (was {dtype} got {value._array.dtype}): convert it back"
        )
    if value._array.shape != shape:
        raise RuntimeError(
            f"hook '{name}' has changed the size of value (was {list(shape)} got {list(value._array.shape)})"
        )
    return value if task.record else raw_gradient(value)


def tensor_hooks(node: Any, buffer: list, task: GraphTask) -> None:
    """Run the hooks of the tensors whose gradients have arrived, and store the gradients to be retained."""
    if type(node) is AccumulateGrad:
        extra = node.variable._extra
        if extra is not None:
            for hook in tuple(extra.hooks.values()):
                _tensor_hook(hook, node, 0, buffer, task)
    extra = node._extra
    if extra is None:
        return
    for number, hooks in tuple(extra.tensor_hooks.items()):
        for hook in tuple(hooks.values()):
            _tensor_hook(hook, node, number, buffer, task)
    for number, ref in tuple(extra.retained.items()):
        tensor = ref()
        if tensor is not None and buffer[number] is not None:
            _retain(tensor, buffer[number], task)


def pre_hooks(node: Any, buffer: list, task: GraphTask) -> None:
    """Run a node's pre-hooks."""
    for hook in tuple(node._extra.pre_hooks.values()):
        result = hook(tuple(_shown(grad, task) for grad in buffer))
        if result is not None:
            result = _as_tuple(result, len(buffer), f"a pre-hook of {node._title()}")
            for number, value in enumerate(result):
                buffer[number] = (
                    None if value is None else _taken(value, task, node._outputs[number], hook, buffer[number])
                )


def _tensor_hook(hook: Callable, node: Node, number: int, buffer: list, task: GraphTask) -> None:
    result = hook(_shown(buffer[number], task))
    if result is not None:
        if buffer[number] is None:
            raise RuntimeError(
                f"can't replace a None gradient with a non-None value: output {number} of {node._title()} was not used"
            )
        buffer[number] = _taken(result, task, node._outputs[number], hook, buffer[number])


def _retain(tensor: Tensor, grad: Any, task: GraphTask) -> None:
    held = tensor._grad
    if task.record:
        tensor._grad = grad.clone() if held is None else summed(held, grad)
    elif held is None:
        tensor._grad = shown_gradient(grad.clone() if is_other(grad) else grad.copy())
    else:
        tensor._grad = shown_gradient(
            summed(held, shown_gradient(grad))
            if is_other(grad) or is_other(raw_gradient(held))
            else np.add(held._array, grad)
        )


def post_hooks(node: Any, grads: Any, buffer: list, task: GraphTask) -> Any:
    """Run a node's post-hooks on the gradients it produced."""
    hooks = tuple(node._extra.post_hooks.values())
    # Hooks see gradients as the next nodes get them: cast, and summed over broadcast dimensions.
    if hooks:
        fitted = fit_recorded if task.record else fit
        grads = [
            grad if edge is None or grad is None else fitted(grad, edge[0]._outputs[edge[1]], node)
            for edge, grad in zip(node._edges, grads, strict=True)
        ]
    for hook in hooks:
        shown = tuple(
            None if edge is None or (node._selective and edge[0] not in task.reached) else _shown(grad, task)
            for edge, grad in zip(node._edges, grads, strict=True)
        )
        result = hook(shown, tuple(_shown(grad, task) for grad in buffer))
        if result is not None:
            result = _as_tuple(result, len(node._edges), f"a hook of {node._title()}")
            grads = [
                None if edge is None or value is None else _taken(value, task, edge[0]._outputs[edge[1]], hook, grad)
                for edge, grad, value in zip(node._edges, grads, result, strict=True)
            ]
    return grads


def _as_tuple(value: object, count: int, who: str) -> tuple:
    if not isinstance(value, tuple):
        raise TypeError(f"expected tuple, but {who} returned a {type(value).__name__}")
    if len(value) != count:
        raise RuntimeError(f"{who} returned {len(value)} gradients where {count} were expected; use None for no change")
    return value
