"""``swap_tensors``: two tensor objects exchange what they are."""

from __future__ import annotations

import gc
import sys
import weakref

from .tensor import Tensor

__all__ = ["swap_tensors"]

_SLOTS = ("_array", "_edge", "_requires_grad", "_version_counter", "_grad", "_extra")


def swap_tensors(t1: Tensor, t2: Tensor) -> None:
    """Exchange the contents of two tensors: memory, history, gradient, class and attributes. The objects keep their
    identity.

    Parameters
    ----------
    t1, t2 : Tensor
        Neither may be a view or have one, have weak references, or be a leaf of a graph that is alive: what refers to
        the object would mean the other one then.

    Examples
    --------
    >>> import dualtape as dt
    >>> a, b = dt.zeros(2), dt.ones(3)
    >>> dt.utils.swap_tensors(a, b)
    >>> a, b
    (tensor([1., 1., 1.]), tensor([0., 0.]))
    """
    for name, tensor in (("t1", t1), ("t2", t2)):
        if not isinstance(tensor, Tensor):
            raise TypeError(f"swap_tensors: expected {name} to be a Tensor, got {type(tensor).__name__}")
        _check(name, tensor)
    if _own_slots(type(t1)) != _own_slots(type(t2)):
        raise RuntimeError(f"Cannot swap {type(t1).__name__} and {type(t2).__name__} if they have different slots")
    t1._grad_accumulator = t2._grad_accumulator = None
    t1.__class__, t2.__class__ = type(t2), type(t1)
    t1.__dict__, t2.__dict__ = t2.__dict__, t1.__dict__
    for slot in (*_SLOTS, *_own_slots(type(t1))):
        first, second = getattr(t1, slot, _UNSET), getattr(t2, slot, _UNSET)
        for tensor, value in ((t1, second), (t2, first)):
            if value is not _UNSET:
                setattr(tensor, slot, value)
            elif hasattr(tensor, slot):
                delattr(tensor, slot)


_UNSET = object()


def _own_slots(kind: type) -> list[str]:
    """Return the slots that classes derived from Tensor have of their own."""
    return sorted(
        {slot for each in kind.__mro__ if not issubclass(Tensor, each) for slot in vars(each).get("__slots__", ())}
    )


def _check(name: str, tensor: Tensor) -> None:
    accumulator = tensor._grad_accumulator
    # The slot, this name, and the argument of getrefcount refer to it.
    if accumulator is not None and sys.getrefcount(accumulator) > 3:
        raise RuntimeError(
            f"Cannot swap {name}: it is a leaf of a graph that is alive, whose backward would write to the other"
            " tensor; swap before the forward, or after the backward"
        )
    if len(weakref.getweakrefs(tensor)) > (accumulator is not None):
        raise RuntimeError(f"Cannot swap {name} because it has weakref associated with it")
    if tensor._view is not None or any(getattr(each, "base", None) is tensor for each in gc.get_referrers(tensor)):
        raise RuntimeError(f"Cannot swap {name}: it is a view, or has views, which would be of the other tensor")
