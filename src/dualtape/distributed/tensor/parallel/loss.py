"""``loss_parallel``: the cross entropy of logits sharded along the classes, which are never gathered: neither they, nor
their gradient.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy

from ...._tensor.tensor import Tensor, wrap
from ....arrays import module_of
from ....nn import functional as F
from ....overrides import TorchFunctionMode
from ...linear_ops import linear_op
from ..array import Sharded, placed, whole_like
from ..spec import Code, Spec, spec_of

np: Any = numpy

__all__ = ["loss_parallel"]


def _without(spec: Spec, dim: int, mark: Code) -> tuple[Code, ...]:
    """Return the codes after ``dim`` is reduced; ``mark`` where it was sharded."""
    return tuple([mark if c == dim else c - 1 if type(c) is int and c > dim else c for c in spec.codes])


def _places(classes: Any, spec: Spec, dim: int) -> tuple[Any, Any]:
    """Return the targets as indices into the local classes, and which of them are local."""
    here = np.expand_dims(placed(classes, spec.mesh, _without(spec, dim, None)), dim) - spec.starts[dim]
    inside = (here >= 0) & (here < spec.local_shape[dim])
    return np.where(inside, here, 0), inside


def _pick(x: Any, classes: Any, dim: int, spec: Spec) -> Any:
    places, inside = _places(classes, spec, dim)
    local = placed(x, spec.mesh, spec.codes)
    picked = np.where(inside, np.take_along_axis(local, places, dim), 0) if local.shape[dim] else 0 * inside
    codes = _without(spec, dim, "sum")
    shape = (*spec.shape[:dim], *spec.shape[dim + 1 :])
    return Sharded(picked.squeeze(dim).astype(local.dtype, copy=False), spec_of(spec.mesh, codes, shape))


def _spread(x: Any, classes: Any, dim: int, spec: Spec) -> Any:
    places, inside = _places(classes, spec, dim)
    local = placed(x, spec.mesh, _without(spec, dim, None))
    out = module_of(local).zeros(spec.local_shape, local.dtype)
    if out.shape[dim]:  # a process may have no class
        np.put_along_axis(out, places, np.where(inside, np.expand_dims(local, dim), 0), dim)
    return Sharded(out, spec)


# log-probabilities, the classes that are picked, their dimension, and how the log-probabilities lie
_picked: Any = linear_op(
    "pick_class", _pick, lambda g, classes, dim, spec: _spread_back(g, classes, dim, spec), constants=("classes",)
)
_spread_back: Any = linear_op(
    "spread_class", _spread, lambda g, classes, dim, spec: _picked(g, classes, dim, spec), constants=("classes",)
)


def _on_every_rank(x: Tensor, mesh: Any) -> Tensor:
    """A constant that every rank has: classes and their weights."""
    return x if type(x._array) is Sharded or x.requires_grad else wrap(whole_like(x._array, mesh))


def _cross_entropy(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    ignore_index: int = -100,
    reduction: str = "mean",
    label_smoothing: float = 0.0,
) -> Tensor:
    """Return ``cross_entropy`` with sharded classes."""
    dim = 0 if input.ndim == 1 else 1
    logs = F.log_softmax(input, dim)
    spec = logs._array.spec
    kept = target != ignore_index
    classes = kept * target
    if bool(((classes < 0) | (classes >= input.shape[dim])).any()):
        raise IndexError(f"cross_entropy: a target is out of bounds for {input.shape[dim]} classes")
    kept = _on_every_rank(kept, spec.mesh)
    if weight is not None:
        weight = _on_every_rank(weight, spec.mesh)
    counts = kept.to(input.dtype) if weight is None else weight.detach()[classes] * kept
    losses = -_picked(logs, classes, dim, spec) * counts
    if label_smoothing:
        scaled = logs if weight is None else logs * weight.reshape((-1,) + (1,) * (input.ndim - 1 - dim))
        smooth = -scaled.sum(dim) * kept
        losses = losses * (1 - label_smoothing) + smooth * (label_smoothing / input.shape[dim])
    if reduction == "none":
        return losses
    return losses.sum() / counts.sum() if reduction == "mean" else losses.sum()


class _InParts(TorchFunctionMode):
    def __torch_function__(self, func: Any, types: Any, args: tuple = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        if func is not F.cross_entropy:
            return func(*args, **kwargs)
        x = args[0] if args else kwargs["input"]
        target = args[1] if len(args) > 1 else kwargs["target"]
        if type(x._array) is not Sharded or target.is_floating_point():
            return func(*args, **kwargs)
        dim = 0 if x.ndim == 1 else 1
        if x._array.spec.codes.count(dim) != 1:
            raise ValueError(
                f"loss_parallel: the classes (dimension {dim}) must be in parts along one dimension of the mesh, got"
                f" {x.placements}"
            )
        return _cross_entropy(*args, **kwargs)


@contextmanager
def loss_parallel() -> Iterator[None]:
    """Context in which ``cross_entropy`` of logits sharded along the classes keeps them sharded, with its gradient.

    Examples
    --------
    >>> import dualtape as dt
    >>> from dualtape.distributed import destroy_process_group, init_device_mesh
    >>> from dualtape.distributed.tensor import Shard, distribute_tensor
    >>> from dualtape.distributed.tensor.parallel import loss_parallel
    >>> mesh = init_device_mesh("cpu", (1,))
    >>> logits = distribute_tensor(dt.zeros(2, 4, requires_grad=True), mesh, [Shard(1)])
    >>> with loss_parallel():
    ...     loss = dt.nn.functional.cross_entropy(logits, dt.tensor([1, 3]))
    >>> loss.backward()
    >>> loss.full_tensor(), logits.grad.placements
    (tensor(1.3863, grad_fn=<ToLocalBackward>), (Shard(dim=1),))
    >>> destroy_process_group()
    """
    with _InParts():
        yield
