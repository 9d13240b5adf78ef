"""Namespaces of batched arrays: they replace NumPy or CuPy where code asks for the module of an array."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

from ..bfloat16_dtype import cast
from ..kernels.basics import on_host
from ..protocol import module_of, register_module
from .array import Batched, BatchLevel, newest, per_sample


class Maker:
    """A namespace whose functions create arrays batched by the same levels as a given one.

    What is made for writing into has its place for every sample; constants are the same for all.
    """

    __slots__ = ("level", "below")

    add = SimpleNamespace(at=lambda out, index, values: add_at(out, index, values))
    lib = SimpleNamespace(
        stride_tricks=SimpleNamespace(as_strided=lambda x, shape, strides: _as_strided(x, shape, strides))
    )

    def __init__(self, array: Batched) -> None:
        self.level: BatchLevel = array.level
        self.below = module_of(array.values)  # makes the arrays inside

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Maker) and self.level is other.level and self.below == other.below

    __hash__ = None  # type: ignore[assignment]

    def zeros(self, shape: Any, dtype: Any = float) -> Batched:
        return Batched(self.below.zeros(self._all(shape), dtype), self.level)

    def ones(self, shape: Any, dtype: Any = float) -> Batched:
        return Batched(self.below.ones(self._all(shape), dtype), self.level)

    def empty(self, shape: Any, dtype: Any = float) -> Batched:
        return Batched(self.below.empty(self._all(shape), dtype), self.level)

    def full(self, shape: Any, value: Any, dtype: Any = None) -> Batched:
        if not isinstance(value, Batched):
            return Batched(self.below.full(self._all(shape), value, dtype), self.level)
        out = self.empty(shape, value.dtype if dtype is None else dtype)
        out[...] = value
        return out

    def asarray(self, values: Any, dtype: Any = None) -> Batched:
        if isinstance(values, Batched) and values.level is self.level:
            return values if dtype is None or values.dtype == dtype else cast(values, dtype)
        return Batched(self.below.asarray(values, dtype)[None], self.level)

    def arange(self, *args: Any, dtype: Any = None) -> Batched:
        return Batched(self.below.arange(*args, dtype=dtype)[None], self.level)

    def eye(self, *args: Any, **kwargs: Any) -> Batched:
        return Batched(self.below.eye(*args, **kwargs)[None], self.level)

    def ascontiguousarray(self, x: Batched) -> Batched:
        return x if x.flags.c_contiguous else Batched(module_of(x.values).ascontiguousarray(x.values), x.level)

    def on_host(self, function: Callable, *arrays: Any) -> Any:
        """Apply a function that only NumPy or SciPy has to each sample."""
        return per_sample(lambda *each: on_host(function, *each), newest(arrays), arrays, {}, "a function of SciPy's")

    def _all(self, shape: Any) -> tuple:
        return (self.level.size, *(shape if isinstance(shape, (tuple, list)) else (shape,)))


def _as_strided(x: Batched, shape: Any, strides: Any) -> Batched:
    values = x.values
    result = module_of(values).lib.stride_tricks.as_strided(
        values, (values.shape[0], *shape), (values.strides[0], *strides)
    )
    return Batched(result, x.level)


def add_at(out: Any, index: Any, values: Any) -> None:
    """Apply ``np.add.at`` to batched arrays."""
    from .index import add

    add(out, index, values)


register_module(Batched, Maker)
