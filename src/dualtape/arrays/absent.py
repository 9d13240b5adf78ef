"""The array of a tensor that keeps its values elsewhere: it has a shape and a dtype, and refuses to compute.

A wrapper subclass holds other tensors and handles operations itself; a sparse tensor holds indices and values. Code
that asks for their memory by mistake gets an error instead of wrong values.
"""

from __future__ import annotations

from math import prod
from types import SimpleNamespace
from typing import Any

import numpy as np


class NoMemory(RuntimeError, TypeError):
    """Raised when code asks for the memory of a tensor that has none."""


class Absent(np.lib.mixins.NDArrayOperatorsMixin):
    """Shape and dtype without memory."""

    __slots__ = ("shape", "dtype", "steps", "device")

    def __init__(self, shape: tuple, dtype: np.dtype, steps: tuple | None = None, device: Any = None) -> None:
        self.shape = tuple(int(n) for n in shape)
        self.dtype = dtype
        self.steps = steps  # in elements, where they were given
        self.device = device

    @property
    def ndim(self) -> int:
        return len(self.shape)

    @property
    def size(self) -> int:
        return prod(self.shape)

    @property
    def itemsize(self) -> int:
        return self.dtype.itemsize

    @property
    def nbytes(self) -> int:
        return self.size * self.dtype.itemsize

    @property
    def strides(self) -> tuple:
        steps = self.steps
        if steps is None:
            steps = tuple(prod(max(n, 1) for n in self.shape[k + 1 :]) for k in range(len(self.shape)))
        return tuple(step * self.dtype.itemsize for step in steps)

    @property
    def flags(self) -> Any:
        dense = self.steps is None or Absent(self.shape, self.dtype).strides == self.strides
        return SimpleNamespace(c_contiguous=dense, f_contiguous=dense and self.ndim < 2, writeable=True)

    def astype(self, dtype: Any, **ignored: Any) -> Absent:
        return Absent(self.shape, np.dtype(dtype), self.steps, self.device)

    def copy(self, order: str = "C") -> Absent:
        return self

    def _refuse(self, *args: Any, **kwargs: Any) -> Any:
        raise NoMemory(
            "this tensor has no memory of its own: its class must answer the operation in __torch_dispatch__"
        )

    item = tolist = get = __array__ = __getitem__ = __setitem__ = __dlpack__ = __dlpack_device__ = _refuse
    __array_ufunc__ = __array_function__ = _refuse

    def __reduce__(self) -> tuple:
        return (Absent, (self.shape, self.dtype, self.steps, self.device))
