"""NumPy's indices on its kind of tensors: negative steps are views, single elements are values, bytes are indices."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from ..._tensor.tensor import Tensor, raw
from ...arrays import is_array
from .. import basic_indexing
from ..dispatch import FUNCTIONS
from ..families import indexing
from ..families.conversion import cast_to
from ..families.parts import slice_back
from ..numpy_entries.registry import tensor
from ..table import TABLE

_ROWS = 1000  # so many rows, at most, are views of their own when a matrix is iterated over


class Indexing:
    """``x[key]`` and ``x[key] = value`` of :class:`~dualtape.ops.numpy_tensor.NumpyTensor`."""

    __slots__ = ()

    def __getitem__(self: Any, key: Any) -> Any:
        kind = type(key)
        if kind is int:
            if self._array.ndim == 1:
                return _marked(_element(self, (key,)))
            view = basic_indexing.view_at(self, (key,), False)
        elif kind is slice:
            view = basic_indexing.view_at(self, (key,), True)
        elif kind is tuple:
            if _is_element(self, key):
                return _marked(_element(self, key))
            view = basic_indexing.view_at(self, key, False)
        else:
            view = None
        if view is not None:
            view.__class__ = type(self)
            return view
        x, key, moved = _prepared(self, key)
        if _is_element(x, key if type(key) is tuple else (key,)):
            return _marked(_element(x, key if type(key) is tuple else (key,)))
        result = indexing.getitem(x, key)
        if moved is not None:
            result = FUNCTIONS["movedim"](result, *moved)
        return _marked(TABLE["alias"].function(self) if result is self else result)

    def __setitem__(self: Any, key: Any, value: Any) -> None:
        if not isinstance(value, Tensor) and type(value) not in (int, float):
            value = _value(value)
        if basic_indexing.assign(self, key, value):
            return
        x, key, moved = _prepared(self, key)
        if moved is not None:
            shape = np.moveaxis(np.empty(x._array.shape)[key], *moved).shape
            value = FUNCTIONS["movedim"](FUNCTIONS["broadcast_to"](tensor(value), shape), *moved[::-1])
        if type(value) is float and self._array.dtype.kind in "iu":
            value = int(value)
        if isinstance(value, Tensor) and value._array.dtype != self._array.dtype:
            value = cast_to(value, self._array.dtype)
        indexing.setitem(x, key, value)

    def _elements(self: Any) -> Iterator[Any]:
        """Iterate over the first dimension as NumPy does: over values, or over rows that are views."""
        if self._array.ndim == 0:
            raise TypeError("iteration over a 0-d array")
        n = self._array.shape[0]
        if self._array.ndim > 1 and n <= _ROWS:
            for k in range(n):
                yield self[k]
            return
        version, parts = -1, ()
        for k in range(n):
            counter = self._shared_counter
            if counter[0] != version:  # what is written on the way is seen
                version = counter[0]
                parts = FUNCTIONS["unbind"](FUNCTIONS["clone"](self) if self._array.ndim == 1 else self, 0)
            yield _marked(parts[k])


def _marked(value: Any) -> Any:
    from .tensor import marked

    return marked(value)


def _value(value: Any) -> Any:
    """Return what is assigned as a tensor."""
    if is_array(value) or isinstance(value, (list, tuple, np.generic)):
        return tensor(value)
    return value


def _is_element(x: Any, key: tuple) -> bool:
    """Return whether ``key`` has an integer for each dimension."""
    return len(key) == x._array.ndim and all([type(k) is int for k in key])


def _element(x: Any, key: tuple) -> Any:
    """Return the value at integer indices as a tensor of its own, which later writes to ``x`` do not change."""
    for place, (index, n) in enumerate(zip(key, x._array.shape, strict=True)):
        if not -n <= index < n:
            raise IndexError(f"index {index} is out of bounds for axis {place} with size {n}")
    return TABLE["element"].function(x, key)


def _prepared(x: Any, key: Any) -> tuple[Any, Any, Any]:
    """Return the tensor and the key for the indexing of tensors that mean what NumPy's mean, and between which
    positions dimensions of the result have to move, or None.

    Negative steps are taken first, as views; arrays of bytes, which PyTorch takes for masks, become integers; beside
    arrays an integer is an array, too.
    """
    parts = [_part(k) for k in key] if type(key) is tuple else [_part(key)]
    if sum([k is Ellipsis for k in parts]) > 1:
        raise IndexError("an index can only have a single ellipsis ('...')")
    taken = [_taken(k) for k in parts]
    if sum(taken) > x._array.ndim:
        raise IndexError(
            f"too many indices for array: array is {x._array.ndim}-dimensional, but {sum(taken)} were indexed"
        )
    dim = 0
    for place, (k, count) in enumerate(zip(parts, taken, strict=True)):
        if k is Ellipsis:
            dim = x._array.ndim - sum(taken[place + 1 :])
        elif hasattr(raw(k), "dtype") and raw(k).dtype.kind == "b":
            _check_mask(raw(k).shape, x._array.shape, dim)
        elif type(k) is slice and k.step is not None and k.step < 0:
            x = slice_back(x, dim, k.start, k.stop, k.step)
            parts[place] = slice(None)
        dim += count
    if len(parts) == 1:
        return x, tuple(parts) if type(key) is tuple else parts[0], None
    return x, *_with_arrays(parts, x._array.ndim - sum(taken))


def _check_mask(mask: tuple, shape: tuple, dim: int) -> None:
    """Raise unless a mask has the sizes of the dimensions from ``dim`` on."""
    for k, (ours, theirs) in enumerate(zip(mask, shape[dim:], strict=False)):
        if ours != theirs:
            raise IndexError(
                f"boolean index did not match indexed array along axis {dim + k}; size of axis is {theirs} but size of"
                f" corresponding boolean axis is {ours}"
            )


def _with_arrays(parts: list, rest: int) -> tuple[tuple, Any]:
    """Return a key in which integers beside arrays are arrays, and where the dimensions of these are in its result if
    NumPy has them first: an ellipsis between arrays parts them, also where it stands for no dimension.
    """
    if not any([hasattr(raw(k), "dtype") for k in parts]):
        return tuple(parts), None
    flat: list = []
    for k in parts:
        array = raw(k)
        if type(array) is np.ndarray and array.dtype.kind == "b" and array.ndim:
            flat.extend(np.nonzero(array))
        else:
            flat.append(k)
    shapes = [raw(k).shape for k in flat if hasattr(raw(k), "dtype")]
    try:
        shape = np.broadcast_shapes(*shapes)
    except ValueError:
        raise IndexError(
            "shape mismatch: indexing arrays could not be broadcast together with shapes "
            + " ".join(str(tuple(one)) for one in shapes)
        ) from None
    flat = [np.full(shape, k) if type(k) is int else k for k in flat]
    places = [place for place, k in enumerate(flat) if hasattr(raw(k), "dtype") or type(k) is bool]
    between = flat[places[0] : places[-1] + 1]
    parted = [k for k in between if type(k) is slice or k is None or k is Ellipsis]
    if parted != [Ellipsis] or rest:
        return tuple(flat), None
    before = sum([type(k) is slice or k is None for k in flat[: places[0]]])
    return tuple(k for k in flat if k is not Ellipsis), (
        tuple(range(before, before + len(shape))),
        tuple(range(len(shape))),
    )


def _part(k: Any) -> Any:
    """Return one part of a key with Python's integers, and arrays in the dtypes that indices have."""
    if type(k) is slice:
        start, stop, step = (None if one is None else _integer(one) for one in (k.start, k.stop, k.step))
        if step == 0:
            raise ValueError("slice step cannot be zero")
        return slice(start, stop, step)
    if k is None or k is Ellipsis or type(k) is int or type(k) is bool:
        return k
    if isinstance(k, np.bool_):
        return bool(k)
    if isinstance(k, np.integer):
        return int(k)
    if isinstance(k, (list, tuple)):
        found: Any = tensor(k) if any(isinstance(one, Tensor) for one in k) else np.asarray(k)
        k = found if not isinstance(found, np.ndarray) or found.size else found.astype(np.intp)
    array = raw(k)
    if hasattr(array, "dtype"):
        if array.dtype.kind not in "biu":
            raise IndexError(
                "only integers, slices (`:`), ellipsis (`...`), numpy.newaxis (`None`) and integer or boolean arrays"
                f" are valid indices, got an array of {array.dtype}"
            )
        if array.dtype.kind == "u" or array.dtype.kind == "i" and array.dtype != np.int64:
            k = k.to(np.int64) if isinstance(k, Tensor) else k.astype(np.int64)
        if not array.ndim and array.dtype.kind != "b" and type(array) is np.ndarray:
            return int(array)
        return k
    return _integer(k)


def _integer(value: Any) -> int:
    try:
        return value.__index__()
    except (AttributeError, TypeError):
        raise IndexError(
            "only integers, slices (`:`), ellipsis (`...`), numpy.newaxis (`None`) and integer or boolean arrays are"
            f" valid indices, got {type(value).__name__}"
        ) from None


def _taken(k: Any) -> int:
    """Return how many dimensions a part of a key takes."""
    if k is None or k is Ellipsis or type(k) is bool:
        return 0
    array = raw(k)
    return array.ndim if getattr(getattr(array, "dtype", None), "kind", "") == "b" else 1
