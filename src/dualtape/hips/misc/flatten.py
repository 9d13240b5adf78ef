"""Trees of arrays as one vector, and back."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..._tensor.tensor import Tensor
from ...ops.numpy_entries.registry import tensor as _tensor
from ...pytree import tree_flatten, tree_unflatten

__all__ = ["flatten", "flatten_func"]


def flatten(value: Any) -> tuple[Any, Callable]:
    """The elements of all arrays and numbers in ``value`` as one vector, and the function that puts them back.

    Examples
    --------
    >>> import numpy as np
    >>> from dualtape.hips.misc import flatten
    >>> vector, unflatten = flatten({"w": np.eye(2), "b": 3.0})
    >>> unflatten(vector * 2)["w"]
    array([[2., 0.],
           [0., 2.]])
    """
    leaves, spec = tree_flatten(value)
    shapes = [np.shape(leaf) for leaf in leaves]
    ends = np.cumsum([int(np.prod(shape)) for shape in shapes]).tolist()

    def unflatten(vector: Any) -> Any:
        starts = [0, *ends[:-1]]
        parts = [vector[a:b] for a, b in zip(starts, ends, strict=True)]
        return tree_unflatten(
            [p.reshape(shape) if shape else p[0] for p, shape in zip(parts, shapes, strict=True)], spec
        )

    if any(isinstance(leaf, Tensor) for leaf in leaves):
        return np.concatenate([_tensor(leaf).reshape(-1) for leaf in leaves]), unflatten
    return np.concatenate([np.zeros(0), *(np.ravel(leaf) for leaf in leaves)]), unflatten


def flatten_func(func: Callable, example: Any) -> tuple[Callable, Callable, Any]:
    """``func`` as a function between vectors; what puts its argument back; ``example`` as a vector.

    Examples
    --------
    >>> import numpy as np
    >>> from dualtape.hips.misc.flatten import flatten_func
    >>> flat, unflatten, start = flatten_func(lambda p: {"w": p["w"] * 2}, {"w": np.ones(2)})
    >>> flat(start)
    array([2., 2.])
    """
    start, unflatten = flatten(example)

    def flat(vector: Any, *args: Any, **kwargs: Any) -> Any:
        return flatten(func(unflatten(vector), *args, **kwargs))[0]

    return flat, unflatten, start
