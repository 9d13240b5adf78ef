"""Optimizers of parameters that are on several workers."""

from __future__ import annotations

import threading
from typing import Any

from ..autograd import get_gradients
from ..rpc import RRef, rpc_async

__all__ = ["DistributedOptimizer"]


class _Local:
    """The optimizer of one worker's parameters."""

    _lock = threading.Lock()  # one step at a time: it sets the gradients of the parameters

    def __init__(self, kind: Any, parameters: list[RRef], args: tuple, kwargs: dict) -> None:
        self.parameters = [ref.local_value() for ref in parameters]
        self.optimizer = kind(self.parameters, *args, **kwargs)

    def step(self, context_id: int) -> None:
        grads = get_gradients(context_id)
        with self._lock:
            kept = [p.grad for p in self.parameters]
            try:
                for p in self.parameters:
                    p.grad = grads.get(p)
                self.optimizer.step()
            finally:
                for p, grad in zip(self.parameters, kept, strict=True):
                    p.grad = grad


def _make(kind: Any, parameters: list[RRef], args: tuple, kwargs: dict) -> RRef:
    return RRef(_Local(kind, parameters, args, kwargs))


def _step(ref: RRef, context_id: int) -> None:
    ref.local_value().step(context_id)


class DistributedOptimizer:
    """An optimizer on each worker that has some of the parameters; all step by the gradients of one context.

    Parameters
    ----------
    optimizer_class : type
        The optimizer, as of :mod:`dualtape.optim`.
    params_rref : list of RRef
        The parameters, wherever they are.
    *args, **kwargs
        For the optimizers.

    Examples
    --------
    >>> import dualtape as dt
    >>> import dualtape.distributed.autograd as dist_autograd
    >>> import dualtape.distributed.rpc as rpc
    >>> from dualtape.distributed.optim import DistributedOptimizer
    >>> rpc.init_rpc("alone")
    >>> x = dt.ones(2, requires_grad=True)
    >>> optimizer = DistributedOptimizer(dt.optim.SGD, [rpc.RRef(x)], lr=0.5)
    >>> with dist_autograd.context() as context_id:
    ...     dist_autograd.backward(context_id, [(x * x).sum()])
    ...     optimizer.step(context_id)
    >>> x
    tensor([0., 0.], requires_grad=True)
    >>> rpc.shutdown()
    """

    def __init__(self, optimizer_class: Any, params_rref: list[RRef], *args: Any, **kwargs: Any) -> None:
        owners: dict[Any, list[RRef]] = {}
        for ref in params_rref:
            owners.setdefault(ref.owner(), []).append(ref)
        calls = [
            (owner, rpc_async(owner, _make, (optimizer_class, refs, args, kwargs))) for owner, refs in owners.items()
        ]
        self.remote_optimizers = [(owner, call.wait()) for owner, call in calls]

    def step(self, context_id: int) -> None:
        """Update all parameters by their gradients in a context; those without one keep their values."""
        calls = [rpc_async(owner, _step, (ref, context_id)) for owner, ref in self.remote_optimizers]
        for call in calls:
            call.wait()

    def __repr__(self) -> str:
        return f"DistributedOptimizer on {', '.join(owner.name for owner, _ in self.remote_optimizers)}"
