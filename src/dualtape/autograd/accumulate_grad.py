"""Sinks of the backward: a gradient that reaches a leaf is captured for the caller or added to the leaf's ``.grad``."""

from __future__ import annotations

import sys
import threading
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import errors, modes
from .._locks import renew_in_child
from .._tensor.tensor import wrap
from ..arrays import Absent, Batched, as_array
from ..arrays.batched.array import holds
from ..arrays.bfloat16_dtype import made
from .hook_calls import post_hooks, pre_hooks, tensor_hooks
from .node import edge_of
from .other_gradients import added, first_of, is_other, shown_gradient, summed
from .versions import UNTRACKED

if TYPE_CHECKING:
    from .._tensor.tensor import Tensor
    from .._typing import Array
    from .engine import GraphTask
    from .node import AccumulateGrad

ndarray = np.ndarray
# Additions to leaves' gradients happen one at a time, whatever thread they come from.
_accumulation = threading.Lock()
renew_in_child(globals(), _accumulation=threading.Lock)


# An interpreter that does not count references has no such function: then every array counts as held elsewhere.
getrefcount = getattr(sys, "getrefcount", lambda _: sys.maxsize)


def _counted() -> tuple[int, int, int]:
    """Return the reference counts of an array held by one list, by a name as well, and by one other object: those that
    occur where gradients meet.
    """
    if not hasattr(sys, "getrefcount"):
        return 0, 0, 0
    waiting = [np.empty(1)]
    alone = getrefcount(waiting[0])
    held = waiting[0]
    view = np.empty(1).reshape(1, 1)
    return alone, getrefcount(held), getrefcount(view.base)


ONLY_IN_LIST, HELD, ONLY_IN_VIEW = _counted()


def capture(wanted: dict[int, list[int]], buffer: list, task: GraphTask) -> None:
    """Store the gradients that ``task`` was asked for."""
    for number, places in wanted.items():
        for place in places:
            task.results[place] = buffer[number]


def accumulate(node: AccumulateGrad, buffer: list, task: GraphTask) -> None:
    """Deliver the complete gradient of a leaf: run the leaf's hooks, then capture it or add it to ``.grad``."""
    variable = node._leaf()
    if variable is None:
        variable = node.variable  # which raises
    if variable._view is not None:
        # If the base was written since and requires grad, this view is no leaf any more.
        edge_of(variable)
    if variable._edge is not None and buffer[0] is not None:
        raise errors.moved_leaf()
    if variable._extra is not None or node._extra is not None:
        tensor_hooks(node, buffer, task)
    captures = task.captures
    if captures is not None and node in captures:
        capture(captures[node], buffer, task)
        return
    if node not in task.reached:
        return
    if node._extra is not None:
        pre_hooks(node, buffer, task)
    if variable._requires_grad:
        if buffer[0] is not None:
            with _accumulation:
                leaf = variable._array
                if variable._grad is None and type(buffer[0]) is ndarray and not task.record and type(leaf) is ndarray:
                    # A leaf takes over an array that nothing else holds, that owns its memory and lies as the leaf
                    # does.
                    unshared = getrefcount(buffer[0]) <= ONLY_IN_LIST
                    grad = buffer[0]
                    if not _laid_out(grad, leaf) and not (
                        unshared and grad.base is None and not modes.current().layout
                    ):
                        grad = (
                            np.empty_like(leaf, dtype=grad.dtype) if _dense(leaf) else np.empty(leaf.shape, grad.dtype)
                        )
                        grad[...] = buffer[0]
                    elif not unshared or grad.base is not None and not _reshaped(grad):
                        grad = grad.copy("K")
                    variable._grad = wrap(grad)
                else:
                    _add(variable, buffer, task)
        extra = variable._extra
        if extra is not None and extra.post_hooks:
            for hook in tuple(extra.post_hooks.values()):
                returned = hook(variable)
                if returned is not None:
                    kind = RuntimeError if is_other(returned) else TypeError
                    raise kind(
                        f"Tensor post accumulate grad hooks should return None, got a {type(returned).__name__}: the"
                        " gradient is in the tensor's .grad"
                    )
        if node._extra is not None:
            post_hooks(node, (), buffer, task)


def _add(variable: Tensor, buffer: list, task: GraphTask) -> None:
    """Add the gradient in ``buffer`` to the leaf's ``.grad``; the reference path for all but a first array."""
    held = variable._grad
    arriving = getattr(buffer[0], "_array", buffer[0])
    if type(arriving) is Batched and not holds(variable._array, arriving):
        raise errors.batched_leaf()
    if task.record:
        variable._grad = _copied(buffer[0], variable) if held is None else summed(held, buffer[0])
    elif held is None:
        grad = as_array(buffer[0])
        if type(grad) is not np.ndarray and is_other(grad) or type(variable._array) is Absent:
            grad = first_of(grad)
        else:
            grad = made(np.empty_like, variable._array, grad.dtype)
            grad[...] = buffer[0]
        variable._grad = shown_gradient(grad)
    elif held._version_counter is UNTRACKED and not modes.current().inference:
        raise errors.inference_write("AccumulateGrad")
    else:
        counter = held._shared_counter
        try:
            # The count comes first: after an interrupt, a write may be counted that was not done, but none is
            # uncounted.
            counter[0] += 1
            np.add(held._array, buffer[0], out=held._array, casting="same_kind")
        except TypeError:
            # One of them is no array, or NumPy does not add their dtypes.
            counter[0] -= 1
            variable._grad = added(held, buffer[0])


def _reshaped(grad: Array) -> bool:
    """Return whether a gradient is a reshaped view of a whole array that nothing else refers to."""
    base = grad.base
    return (
        type(base) is ndarray
        and base.base is None
        and base.nbytes == grad.nbytes
        and base.flags.owndata
        and getrefcount(base) <= ONLY_IN_VIEW + 1
        and grad.flags.writeable
    )


def _laid_out(grad: Array, leaf: Array) -> bool:
    """Return a gradient in the memory order of its leaf, or row-major if the leaf has gaps."""
    return grad.strides == leaf.strides or (grad.flags.c_contiguous and (leaf.flags.c_contiguous or not _dense(leaf)))


def _dense(array: Array) -> bool:
    """Return whether the elements fill their memory without gaps, in any order of the axes."""
    if array.flags.forc:
        return True
    room = array.itemsize
    for stride, n in sorted([(stride, n) for stride, n in zip(array.strides, array.shape, strict=True) if n != 1]):
        if stride != room:
            return False
        room *= n
    return True


def _copied(grad: Tensor, leaf: Tensor) -> Any:
    """Return a copy of a gradient with history, in the memory order of its leaf."""
    if isinstance(leaf._array, Absent) or isinstance(grad._array, Absent):
        return grad.clone()
    return shown_gradient(made(np.empty_like, leaf._array, grad._array.dtype)).copy_(grad)
