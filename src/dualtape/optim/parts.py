"""Updates of sharded parameters: an elementwise update applies to each shard.

The arrays (``distributed.tensor``) provide the operations: ``beside`` gives the shard of another array with the same
placement, ``with_part`` makes an array with the same placement, ``written`` reports that their memory has changed.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .._tensor.tensor import Tensor, wrap
from ..arrays.kernels.basics import in_parts

__all__ = ["on_parts"]


def _part(tensor: Tensor, local: Any) -> Tensor:
    """Return the shard of a tensor, as a tensor that shares its version counter."""
    found = wrap(local)
    found._version_counter = tensor._shared_counter
    return found


def on_parts(params: Sequence[Tensor], grads: Sequence[Tensor], slots: Sequence[list | None]) -> tuple | None:
    """Return the shards of parameters, gradients and slots, and a function to call when they have changed; None if
    their placements differ.
    """
    used = [slot for slot in slots if slot is not None]
    for k, p in enumerate(params):
        array = p._array
        if not in_parts(array) or array.spec.partial or array.copied is not None:
            return None
        for slot in used:
            if slot[k] is not None and getattr(slot[k]._array, "spec", None) is not array.spec:
                return None
    own = [_part(p, p._array.local) for p in params]
    their = [wrap(p._array.beside(g._array)) for p, g in zip(params, grads, strict=True)]
    kept = [None if slot is None else [None if t is None else _part(t, t._array.local) for t in slot] for slot in slots]

    def finish() -> None:
        for p in params:
            p._array.written()
        for slot, parts in zip(slots, kept, strict=True):
            for k, part in enumerate(parts or ()):
                if slot is not None and slot[k] is None and part is not None:
                    slot[k] = wrap(params[k]._array.with_part(part._array))

    return own, their, kept, finish
