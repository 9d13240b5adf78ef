"""NumPy's functions on tensors of its kind that have no derivative, and the dtypes of functions of several arrays."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ... import modes
from ..._tensor.tensor import Tensor, raw, wrap
from ...arrays import is_array
from ...pytree import tree_leaves, tree_map
from ..families.conversion import cast_to

# Functions that write to an argument, which counts the write.
_WRITING = {np.copyto, np.fill_diagonal, np.place, np.put, np.put_along_axis, np.putmask}
# Functions of several arrays that compute in their common dtype.
PROMOTING = {
    np.append,
    np.column_stack,
    np.concatenate,
    np.convolve,
    np.correlate,
    np.cross,
    np.dot,
    np.dstack,
    np.hstack,
    np.inner,
    np.kron,
    np.outer,
    np.select,
    np.stack,
    np.tensordot,
    np.vdot,
    np.vstack,
    np.where,
    np.block,
    np.einsum,
    np.average,
    getattr(np, "trapezoid", np.where),
}


def by_value(func: Callable, args: tuple, kwargs: dict) -> Any:
    """Return the result of a function of integers or truth values, by NumPy; None if it may have a derivative, shares
    memory with an argument, or changes one.
    """
    if func in _WRITING or kwargs.get("out") is not None or modes.current().tracing is not None:
        return None
    tensors = [leaf for leaf in tree_leaves((args, kwargs)) if isinstance(leaf, Tensor)]
    if not all([type(t._array) is np.ndarray and t._array.dtype.kind in "biu" for t in tensors]):
        return None
    values, named = tree_map(raw, (args, kwargs))
    with np.errstate(all="ignore"):
        result = func(*values, **named)
    arrays = [leaf for leaf in tree_leaves(result) if isinstance(leaf, np.ndarray)]
    if any([np.may_share_memory(array, t._array) for array in arrays for t in tensors]):
        return None
    from .tensor import marked

    return tree_map(_wrapped(marked), result)


def _wrapped(marked: Callable) -> Callable:
    def wrapped(leaf: Any) -> Any:
        return marked(wrap(np.asarray(leaf))) if isinstance(leaf, (np.ndarray, np.generic)) else leaf

    return wrapped


def promoted(func: Callable, args: tuple) -> tuple:
    """Return the arguments of a function with all arrays in their common dtype, by NumPy's rules."""
    first = 1 if func in (np.where, np.select, np.einsum) else 0  # a condition, or text
    found = [_kind_of(leaf, func is np.where) for leaf in tree_leaves(args[first:])]
    kinds = [one for one in found if one is not None]
    if len({one for one in kinds if isinstance(one, np.dtype)}) < 2 and not any(
        isinstance(one, float) for one in kinds
    ):
        return args
    common = np.result_type(*kinds)
    if common.kind not in "fc":
        return args
    return (*args[:first], *tree_map(lambda leaf: _in(common, leaf), args[first:]))


def _kind_of(leaf: Any, weak: bool) -> Any:
    """Return what decides about the common dtype: an array's dtype, or a Python number itself if it is ``weak``."""
    array = raw(leaf)
    if isinstance(array, np.generic) or is_array(array):
        return array.dtype if isinstance(array.dtype, np.dtype) and array.dtype.kind in "biufc" else None
    return None if type(array) not in (float, complex) else array if weak else np.dtype(type(array))


def _in(dtype: np.dtype, leaf: Any) -> Any:
    if isinstance(leaf, Tensor):
        return leaf if leaf._array.dtype == dtype else cast_to(leaf, dtype)
    if isinstance(leaf, np.generic) or is_array(leaf):
        return leaf if leaf.dtype == dtype or leaf.dtype.kind not in "biufc" else leaf.astype(dtype)
    return leaf
