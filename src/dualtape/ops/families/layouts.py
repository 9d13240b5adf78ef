"""New tensors with a chosen memory layout: by strides, by the order of their dimensions, in a file; and deprecated
constructors.
"""

from __future__ import annotations

from math import floor, prod
from operator import index
from pathlib import Path
from typing import Any

import numpy as np

from ... import errors
from ..._tensor import dtypes
from ..._tensor.creation import _finished, in_dtype_of, plain_memory
from ..._tensor.legacy import _made
from ..._tensor.tensor import Tensor
from ...arrays.batched.array import batch, levels_of
from ...arrays.kernels.basics import in_parts
from ...errors import warn
from ...overrides.active_overrides import overridable
from ..dispatch import FUNCTIONS

_float = dtypes.default_float


def _kind(dtype: Any) -> np.dtype:
    return _float() if dtype is None else dtypes.to_numpy(dtype)


def empty_strided(
    size: Any, stride: Any, *, dtype: Any = None, layout: Any = None, device: Any = None, requires_grad: bool = False
) -> Tensor:
    """A tensor of a shape and strides, its values whatever is in memory.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.empty_strided((2, 3), (1, 2)).stride()
    (1, 2)
    """
    plain_memory(layout)
    sizes, steps = tuple([index(n) for n in size]), tuple([index(n) for n in stride])
    if len(sizes) != len(steps):
        raise RuntimeError(
            f"empty_strided: dimensionality of sizes ({len(sizes)}) must match dimensionality of strides ({len(steps)})"
        )
    if min((*sizes, *steps), default=0) < 0:
        raise RuntimeError(f"empty_strided: sizes {list(sizes)} and strides {list(steps)} must not be negative")
    room = 1 + sum([(n - 1) * s for n, s in zip(sizes, steps, strict=True)]) if prod(sizes) else 0
    memory = np.empty(room, _kind(dtype))
    array = np.lib.stride_tricks.as_strided(memory, sizes, [s * memory.itemsize for s in steps])
    return _finished(array, device, requires_grad)


def empty_permuted(
    size: Any, physical_layout: Any, *, dtype: Any = None, layout: Any = None, device: Any = None,
    requires_grad: bool = False,
) -> Tensor:  # fmt: skip
    """A tensor of a shape whose dimensions lie in memory in the order given, the outermost first.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.empty_permuted((2, 3, 4), (0, 2, 1)).stride()
    (12, 1, 3)
    """
    plain_memory(layout)
    sizes, order = tuple([index(n) for n in size]), tuple([index(d) for d in physical_layout])
    if sorted(order) != list(range(len(sizes))):
        raise RuntimeError(
            f"empty_permuted: the {len(sizes)} dimensions must be in physical_layout, each once, got {list(order)}"
        )
    array = np.empty([sizes[d] for d in order], _kind(dtype)).transpose(np.argsort(order))
    return _finished(array, device, requires_grad)


def new_empty_strided(self: Tensor, size: Any, stride: Any, *, dtype: Any = None, **more: Any) -> Tensor:
    """Like :func:`empty_strided`, with this tensor's dtype and device by default.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.ones(1, dtype=dt.int8).new_empty_strided((2,), (3,)).stride()
    (3,)
    """
    levels = levels_of([self._array])
    if levels:  # memory for each sample, one after the other
        extent = 1 + sum([(n - 1) * step for n, step in zip(size, stride, strict=True)]) if prod(size) else 0
        sizes = [level.size for level in levels]
        size = (*sizes, *size)
        stride = (*[extent * prod(sizes[k + 1 :]) for k in range(len(sizes))], *stride)
    result = empty_strided(size, stride, dtype=dtype or self.dtype, **{"device": self.device, **more})
    for level in levels:
        result._array = batch(result._array, level, 0)
    if in_parts(self._array):
        result._array = self._array.sharing(result._array)
    return result


def new(self: Tensor, *data: Any) -> Tensor:
    """An old way to make a tensor of this one's dtype: of a shape, not initialised, or from data.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.tensor([1]).new([1.5, 2.5])
    tensor([1, 2])
    """
    return _made(data, self._array.dtype)


def _range(
    start: Any = 0, end: Any = None, step: Any = 1, *, out: Tensor | None = None, dtype: Any = None, layout: Any = None,
    device: Any = None, requires_grad: bool = False,
) -> Tensor:  # fmt: skip
    """Numbers from ``start`` to ``end``, which is included, unlike in :func:`arange`; it is to go from PyTorch.

    Examples
    --------
    >>> import dualtape as dt, warnings
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("ignore")
    ...     dt.range(1, 4)
    tensor([1., 2., 3., 4.])
    """
    warn(
        "range is deprecated and will be removed in a future release because its behavior is inconsistent with Python's"
        " range builtin. Instead, use arange, which produces values in [start, end).",
        UserWarning,
    )
    plain_memory(layout)
    if out is not None:
        dtype = in_dtype_of(out, dtype)
    if end is None:
        raise TypeError('range() missing 1 required positional arguments: "end"')
    if step == 0:
        raise RuntimeError("range: step must be nonzero")
    if (end - start) / step < 0:
        raise RuntimeError(
            f"range: upper bound and lower bound inconsistent with step sign: {start} to {end} by {step}"
        )
    count = floor((end - start) / step) + 1
    return _finished((start + step * np.arange(count)).astype(_kind(dtype)), device, requires_grad, out)


_range.__name__ = _range.__qualname__ = "range"


def from_file(
    filename: Any, shared: bool | None = None, size: int = 0, *, dtype: Any = None, layout: Any = None,
    device: Any = None, requires_grad: bool = False,
) -> Tensor:  # fmt: skip
    """The first ``size`` elements of a file as a tensor; with ``shared``, what is written to it goes to the file, which
    is made, or made longer, where it must be.

    Examples
    --------
    >>> import dualtape as dt, tempfile, os
    >>> path = os.path.join(tempfile.mkdtemp(), "numbers")
    >>> _ = dt.from_file(path, shared=True, size=2, dtype=dt.int32).fill_(7)
    >>> dt.from_file(path, size=2, dtype=dt.int32)
    tensor([7, 7], dtype=dualtape.int32)
    """
    plain_memory(layout)
    kind = _kind(dtype)
    path, length = Path(filename), size * kind.itemsize
    found = path.stat().st_size if path.exists() else 0
    if shared and found < length:
        with path.open("ab") as file:
            file.truncate(length)
    elif found < length:
        raise RuntimeError(f"from_file: {path} has {found} bytes, {length} are needed for {size} elements")
    memory = np.memmap(path, kind, "r+" if shared else "c", shape=(size,)) if size else np.empty(0, kind)
    return _finished(np.asarray(memory), device, requires_grad)


def to_dlpack(tensor: Tensor) -> Any:
    """A capsule that other libraries' ``from_dlpack`` takes: the same memory.

    Examples
    --------
    >>> import dualtape as dt
    >>> type(dt.to_dlpack(dt.ones(1))).__name__
    'PyCapsule'
    """
    if not isinstance(tensor, Tensor):
        raise errors.not_a_tensor("to_dlpack", "tensor", tensor)
    return tensor.__dlpack__()


FUNCTIONS["to_dlpack"] = overridable(to_dlpack)
for _function in (empty_strided, empty_permuted, _range, from_file):
    FUNCTIONS[_function.__name__] = overridable(_function, leaf=True)
Tensor.new = overridable(new, leaf=True)  # type: ignore[method-assign]
Tensor.new_empty_strided = overridable(new_empty_strided, leaf=True)  # type: ignore[method-assign]
