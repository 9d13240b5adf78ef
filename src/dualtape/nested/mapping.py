"""``vmap`` over the samples of nested tensors: one after the other, since their sizes differ."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .._tensor.tensor import Tensor
from ..ops.dispatch import FUNCTIONS
from ..pytree import broadcast_prefix, tree_flatten, tree_unflatten
from .construction import as_nested_tensor
from .ragged import NestedTensor


def by_samples(func: Callable, size: int, leaves: list, dims: list, spec: Any, out_dims: Any, randomness: str) -> Any:
    """Return ``func`` of each sample; results of one shape are stacked, others become nested tensors."""
    if randomness == "same":
        raise NotImplementedError("vmap over a nested tensor: every sample draws numbers of its own")
    for leaf, dim in zip(leaves, dims, strict=True):
        if isinstance(leaf, NestedTensor) and dim:
            raise ValueError(f"vmap over a nested tensor goes over its samples, dimension 0: got {dim}")
    parts = [leaf if dim is None else leaf.unbind(dim) for leaf, dim in zip(leaves, dims, strict=True)]
    rows: list[list] = []
    for k in range(size):
        sample = [part if dim is None else part[k] for part, dim in zip(parts, dims, strict=True)]
        found, shape = tree_flatten(func(*tree_unflatten(sample, spec)))
        rows.append(found)
    places = broadcast_prefix(out_dims, shape)
    if places is None:
        raise ValueError(f"vmap: out_dims={out_dims!r} does not fit the results, which are {shape}")
    joined = [_joined(list(results), dim) for results, dim in zip(zip(*rows, strict=True), places, strict=True)]
    return tree_unflatten(joined, shape)


def _joined(results: list, dim: Any) -> Tensor:
    if dim is None or not all(isinstance(result, Tensor) for result in results):
        raise ValueError("vmap over a nested tensor: the function must return tensors, and they have a dimension each")
    if len({tuple(result.shape) for result in results}) == 1:
        return FUNCTIONS["stack"](results, dim)
    if dim:
        raise ValueError(f"vmap: samples of different sizes are stacked in dimension 0, got out_dims={dim}")
    return as_nested_tensor(results)
