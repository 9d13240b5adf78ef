"""Namespaces of sharded arrays: they replace NumPy or CuPy where code asks for the module of an array. New arrays are
replicated, or have the array's placements if they have its shape.
"""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy

from ...arrays import module_of, register_module
from ...arrays.kernels.basics import on_host
from .array import RULES, Sharded, copy_of, full, unknown, whole_like
from .spec import spec_of

np: Any = numpy

__all__ = ["Maker"]


class Maker:
    """A namespace whose functions create arrays on the mesh of a given one."""

    __slots__ = ("like", "below")

    add = SimpleNamespace(at=lambda out, index, values: np.add.at(out, index, values))
    lib = SimpleNamespace(
        stride_tricks=SimpleNamespace(as_strided=lambda x, shape, strides: _as_strided(x, shape, strides))
    )

    def __init__(self, array: Sharded) -> None:
        self.like = array
        self.below = module_of(array.local)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Maker) and self.below == other.below and self.like.spec.mesh is other.like.spec.mesh

    __hash__ = None  # type: ignore[assignment]

    def _made(self, make: str, shape: Any, *args: Any) -> Sharded:
        shape = tuple(shape) if isinstance(shape, (tuple, list)) else (int(shape),)
        spec = self.like.spec
        if shape != spec.shape:
            spec = spec_of(spec.mesh, (None,) * len(spec.codes), shape)
        elif spec.partial:
            spec = spec_of(spec.mesh, tuple([None if type(code) is str else code for code in spec.codes]), shape)
        return Sharded(getattr(self.below, make)(spec.local_shape, *args), spec)

    def zeros(self, shape: Any, dtype: Any = float) -> Sharded:
        return self._made("zeros", shape, dtype)

    def ones(self, shape: Any, dtype: Any = float) -> Sharded:
        return self._made("ones", shape, dtype)

    def empty(self, shape: Any, dtype: Any = float) -> Sharded:
        return self._made("empty", shape, dtype)

    def pairs(self, x: Sharded) -> Any:
        """Return complex numbers as pairs of real ones, over the same memory."""
        return RULES["pairs"](x)

    def full(self, shape: Any, value: Any, dtype: Any = None) -> Sharded:
        if isinstance(value, Sharded):
            out = self.empty(shape, value.dtype if dtype is None else dtype)
            out[...] = value
            return out
        return self._made("full", shape, value, dtype)

    def asarray(self, values: Any, dtype: Any = None) -> Any:
        if isinstance(values, Sharded):
            return values if dtype is None or values.dtype == dtype else values.astype(dtype)
        return whole_like(self.below.asarray(values, dtype), self.like.spec.mesh)

    def arange(self, *args: Any, dtype: Any = None) -> Any:
        return whole_like(self.below.arange(*args, dtype=dtype), self.like.spec.mesh)

    def eye(self, *args: Any, **kwargs: Any) -> Any:
        return whole_like(self.below.eye(*args, **kwargs), self.like.spec.mesh)

    def concatenate(self, arrays: Any, axis: int = 0) -> Any:
        return np.concatenate(arrays, axis)

    def ascontiguousarray(self, x: Sharded) -> Sharded:
        return x if x.flags.c_contiguous else Sharded(x.local.copy(), x.spec)

    def on_host(self, function: Any, *arrays: Any) -> Any:
        """Apply a function that only NumPy or SciPy has."""
        return unknown(lambda *each: on_host(function, *each), arrays, {}, "a function of SciPy's")


def _as_strided(x: Sharded, shape: Any, strides: Any) -> Any:
    """Return a copy of the elements that the strides of ``x`` select."""
    order = sorted(range(x.ndim), key=lambda d: (-x.strides[d], d))
    module = module_of(x.local)
    local = module.ascontiguousarray(full(x).transpose(order)).transpose(np.argsort(order))
    found = module.lib.stride_tricks.as_strided(local, shape, strides)
    spec = spec_of(x.spec.mesh, (None,) * len(x.spec.codes), found.shape)
    return copy_of(
        x, found, spec, lambda whole: module.lib.stride_tricks.as_strided(_lying(whole, order), shape, strides)
    )


def _lying(whole: Any, order: list) -> Any:
    if not whole.transpose(order).flags.c_contiguous:
        raise RuntimeError(
            "a view by strides of a sharded tensor whose dimensions lie in another order is not written to"
        )
    return whole


def _creation(name: str) -> Any:
    def make(like: Sharded, *args: Any, **kwargs: Any) -> Any:
        for ignored in ("order", "copy", "subok", "ndmin", "device"):
            kwargs.pop(ignored, None)
        return getattr(Maker(like), name)(*args, **kwargs)

    return make


for _name in ("zeros", "ones", "empty", "full", "eye", "arange", "asarray"):
    RULES[getattr(np, _name)] = _creation(_name)
RULES[np.array] = RULES[np.asarray]


def _like(name: str) -> Any:
    def make(x: Any, *args: Any, dtype: Any = None, shape: Any = None, **ignored: Any) -> Any:
        values = 1 if name == "full" else 0
        if len(args) > values:
            dtype, args = args[values], args[:values]
        if not isinstance(x, Sharded):
            return getattr(np, f"{name}_like")(x, *args, dtype=dtype, shape=shape)
        return getattr(Maker(x), name)(x.shape if shape is None else shape, *args, x.dtype if dtype is None else dtype)

    return make


for _name in ("zeros", "ones", "empty", "full"):
    RULES[getattr(np, f"{_name}_like")] = _like(_name)

register_module(Sharded, Maker)
