"""Collation: combine many samples into one of the same structure, whose leaves are batches."""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping, MutableMapping, MutableSequence, Sequence
from typing import Any

import numpy as np

from ...._tensor import dtypes
from ...._tensor.creation import as_tensor, tensor
from ...._tensor.device import strided
from ...._tensor.tensor import Tensor
from ....ops import FUNCTIONS

_TEXT = frozenset("SaUO")  # kinds of NumPy's that no tensor has


def default_convert(data: Any) -> Any:
    """Arrays and NumPy numbers as tensors, also inside containers; other objects unchanged.

    Examples
    --------
    >>> import dualtape as dt, numpy as np
    >>> dt.utils.data.default_convert({"x": np.array([1.0, 2.0]), "y": 3})
    {'x': tensor([1., 2.], dtype=dualtape.float64), 'y': 3}
    """
    if isinstance(data, Tensor) or isinstance(data, (np.str_, np.bytes_)):
        return data
    if isinstance(data, (np.ndarray, np.generic)):
        return data if data.dtype.kind in _TEXT else as_tensor(data)
    if isinstance(data, Mapping):
        return _mapping(data, {key: default_convert(data[key]) for key in data})
    if isinstance(data, tuple):
        parts = [default_convert(part) for part in data]
        return type(data)(*parts) if hasattr(data, "_fields") else parts
    if isinstance(data, Sequence) and not isinstance(data, (str, bytes)):
        return _sequence(data, [default_convert(part) for part in data])
    return data


def _mapping(like: Any, values: dict) -> Any:
    """Return a mapping of the type of another; a dict, if that is not possible."""
    try:
        if isinstance(like, MutableMapping):
            new = copy.copy(like)
            new.update(values)
            return new
        return type(like)(values)
    except TypeError:
        return values


def _sequence(like: Any, values: list) -> Any:
    """Return a sequence of the type of another; a list, if that is not possible."""
    try:
        if isinstance(like, MutableSequence):
            new = copy.copy(like)
            for k, value in enumerate(values):
                new[k] = value
            return new
        return type(like)(values)
    except TypeError:
        return values


def collate(batch: Any, *, collate_fn_map: dict[Any, Callable] | None = None) -> Any:
    """The structure of one sample, with the leaves of all samples combined.

    Parameters
    ----------
    batch : sequence
        Samples of one structure.
    collate_fn_map : dict
        For types of leaves, or tuples of types, functions ``f(leaves, collate_fn_map=...)``.

    Examples
    --------
    >>> from dualtape.utils.data._utils.collate import collate
    >>> collate([("a", 1), ("b", 2)], collate_fn_map={(str, int): lambda leaves, collate_fn_map: list(leaves)})
    [['a', 'b'], [1, 2]]
    """
    first = batch[0]
    kind = type(first)
    if collate_fn_map is not None:
        if kind in collate_fn_map:
            return collate_fn_map[kind](batch, collate_fn_map=collate_fn_map)
        for known, function in collate_fn_map.items():
            if isinstance(first, known):
                return function(batch, collate_fn_map=collate_fn_map)
    if isinstance(first, Mapping):
        found = {key: collate([sample[key] for sample in batch], collate_fn_map=collate_fn_map) for key in first}
        return _mapping(first, found)
    if isinstance(first, tuple) and hasattr(first, "_fields"):
        return kind(*[collate(leaves, collate_fn_map=collate_fn_map) for leaves in zip(*batch, strict=False)])
    if isinstance(first, Sequence):
        if any(len(sample) != len(first) for sample in batch):
            raise RuntimeError(
                f"samples of different lengths make no batch: {[len(sample) for sample in batch]}; pass a collate_fn"
            )
        parts = [collate(leaves, collate_fn_map=collate_fn_map) for leaves in zip(*batch, strict=True)]
        return parts if isinstance(first, tuple) else _sequence(first, parts)
    raise _unknown(kind)


def _unknown(kind: Any) -> TypeError:
    return TypeError(
        f"default_collate makes no batch of {kind}: give it tensors, arrays, numbers, strings or containers of them"
    )


def collate_tensor_fn(batch: Any, *, collate_fn_map: dict[Any, Callable] | None = None) -> Tensor:
    """Tensors, stacked."""
    first = batch[0]
    if first.is_nested or first.layout is not strided:
        what = "nested" if first.is_nested else "sparse"
        raise RuntimeError(f"default_collate does not stack {what} tensors: pass a collate_fn that puts them together")
    return FUNCTIONS["stack"](list(batch), 0)


def collate_numpy_array_fn(batch: Any, *, collate_fn_map: dict[Any, Callable] | None = None) -> Any:
    """Arrays of NumPy's, as tensors, stacked."""
    if batch[0].dtype.kind in _TEXT:
        raise _unknown(batch[0].dtype)
    return collate([as_tensor(array) for array in batch], collate_fn_map=collate_fn_map)


def collate_numpy_scalar_fn(batch: Any, *, collate_fn_map: dict[Any, Callable] | None = None) -> Tensor:
    """Numbers of NumPy's, as a tensor of their dtype."""
    return as_tensor(np.asarray(batch))


def collate_float_fn(batch: Any, *, collate_fn_map: dict[Any, Callable] | None = None) -> Tensor:
    """Floats, as float64."""
    return tensor(batch, dtype=dtypes.float64)


def collate_int_fn(batch: Any, *, collate_fn_map: dict[Any, Callable] | None = None) -> Tensor:
    """Integers, as int64; truth values, as bool."""
    return tensor(batch)


def collate_str_fn(batch: Any, *, collate_fn_map: dict[Any, Callable] | None = None) -> Any:
    """Strings, as they are."""
    return batch


default_collate_fn_map: dict[Any, Callable] = {
    Tensor: collate_tensor_fn,
    np.ndarray: collate_numpy_array_fn,
    (np.bool_, np.number, np.object_): collate_numpy_scalar_fn,
    float: collate_float_fn,
    int: collate_int_fn,
    str: collate_str_fn,
    bytes: collate_str_fn,
}


def default_collate(batch: Any) -> Any:
    """A batch of samples: tensors and numbers become tensors with one more dimension, containers keep their structure.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.utils.data.default_collate([{"x": 1, "y": "a"}, {"x": 2, "y": "b"}])
    {'x': tensor([1, 2]), 'y': ['a', 'b']}
    """
    return collate(batch, collate_fn_map=default_collate_fn_map)
