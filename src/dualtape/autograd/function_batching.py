"""``autograd.Function`` under ``vmap``: its ``vmap`` staticmethod, or its forward on batched tensors.

A ``vmap`` staticmethod replaces ``forward``: it gets tensors with a visible batch dimension and returns the position of
that dimension in its results. ``setup_context`` and ``backward`` then see batched tensors, as they do without the
staticmethod.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from .. import modes
from .._tensor.tensor import Tensor, wrap
from ..arrays import Batched
from ..arrays.batched.array import BatchLevel, batch, is_batched, levels_of, unbatch


class VmapInfo(NamedTuple):
    """Information about the batch that a ``vmap`` staticmethod receives."""

    batch_size: int
    randomness: str


def levels(tensors: list) -> list[BatchLevel]:
    """Return the levels that batch some of ``tensors``, oldest first."""
    return levels_of([t._array for t in tensors if type(t._array) is Batched])


def lifted(args: tuple, found: list[BatchLevel], mapped: Callable) -> tuple:
    """Return the arguments, where those that need a gradient are batched by all levels that batch one of them."""
    from ..ops.batching import lift

    def one(leaf: object) -> Any:
        if isinstance(leaf, Tensor) and leaf.requires_grad:
            for level in found:
                leaf = lift(leaf, level)
        return leaf

    return mapped(args, one)


def rule_of(cls: Any, base: Any) -> bool:
    """Return whether ``cls`` has a batching rule; raise if its declarations contradict each other."""
    own = cls.vmap is not base.vmap
    if own and cls.generate_vmap_rule:
        raise RuntimeError(
            f"You tried to vmap over {cls.__name__}, but it has both generate_vmap_rule=True and an overridden vmap"
            " staticmethod. Please set"
            " generate_vmap_rule=False or delete the overridden vmap staticmethod to avoid ambiguity."
        )
    if own and cls.setup_context is base.setup_context:
        raise RuntimeError(
            f"{cls.__name__}: In order to use an autograd.Function with a vmap staticmethod, it must override the"
            " setup_context staticmethod: forward,"
            " which would fill ctx, is not called"
        )
    return own


def forward(cls: Any, args: tuple, level: BatchLevel) -> Any:
    """Return the results of the ``vmap`` staticmethod of ``cls``, batched by ``level`` again."""
    from ..pytree import broadcast_prefix, tree_flatten, tree_map, tree_unflatten

    has = lambda leaf: isinstance(leaf, Tensor) and is_batched(leaf._array, level)
    in_dims = tree_map(lambda leaf: 0 if has(leaf) else None, args)
    plain = tree_map(lambda leaf: wrap(unbatch(leaf._array, level, 0)) if has(leaf) else leaf, args)
    mode = modes.current()
    inside = mode.replace(batches=tuple([one for one in mode.batches if one is not level]))
    try:
        modes._set(inside)
        result = cls.vmap(VmapInfo(level.size, level.randomness), in_dims, *plain)
    finally:
        now = modes._set(mode).old_value
        if now is not inside:
            modes.keep(now, mode, "batches")
    if not isinstance(result, tuple) or len(result) != 2:
        raise RuntimeError(
            "Expected the vmap staticmethod to have two returns, an output and out_dims with pytree structure"
            " compatible with the output."
            f" Got a {type(result)} instead"
        )
    output, out_dims = result
    leaves, spec = tree_flatten(output)
    dims = broadcast_prefix(out_dims, spec)
    if dims is None:
        raise RuntimeError(
            "The autograd.Function's vmap staticmethod returned an incompatible (output, out_dims) tuple. Expected"
            f" out_dims={out_dims} to be compatible"
            f" with the structure of `output`, {spec}"
        )
    hidden = [
        leaf if dim is None or not isinstance(leaf, Tensor) else wrap(batch(leaf._array, level, dim % leaf.ndim))
        for leaf, dim in zip(leaves, dims, strict=True)
    ]
    return tree_unflatten(hidden, spec)
