"""Memory shared with other libraries: DLPack in both directions, and objects that convert themselves to arrays.

This module handles arrays; ``creation.py`` makes tensors of them.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import numpy as np

from ..arrays.protocol import is_array, module_of
from ..autograd.tangents import check_exportable
from .device import cupy

if TYPE_CHECKING:
    from .tensor import Tensor

_CPU, _CUDA = 1, 2  # DLPack's numbers


def check_may_leave(tensor: Tensor) -> None:
    """Raise if other libraries may not share the memory of ``tensor``, since what they do with it is not recorded."""
    if tensor.requires_grad:
        raise BufferError("Can't export tensors that require gradient: use tensor.detach()")
    check_exportable(tensor)


def exported(tensor: Any, stream: object, max_version: Any, dl_device: tuple | None, copy: bool | None) -> Any:
    """Return a DLPack capsule over a tensor's memory, for ``Tensor.__dlpack__``."""
    check_may_leave(tensor)
    if stream is not None and (not isinstance(stream, int) or isinstance(stream, bool)):
        raise TypeError(f"stream must be int or None, got {stream!r}")
    if dl_device is not None and tuple(map(int, dl_device)) != tuple(map(int, tensor.__dlpack_device__())):
        tensor, copy = _moved(tensor, dl_device, copy), None
    array = tensor._array.copy() if copy else tensor._array
    options = {} if max_version is None else {"max_version": max_version}
    if isinstance(array, np.ndarray):
        if stream not in (None, -1):
            raise ValueError(f"stream must be None or -1 on the CPU, where there is nothing to wait for; got {stream}")
    else:
        options["stream"] = stream
    return array.__dlpack__(**options)


def _moved(tensor: Tensor, dl_device: tuple[int, int], copy: bool | None) -> Any:
    kind, index = map(int, dl_device)
    if kind not in (_CPU, _CUDA):
        raise BufferError(f"Unsupported device_type: {kind}; tensors are on the CPU ({_CPU}) or a GPU ({_CUDA})")
    if copy is False:
        raise BufferError(f"a tensor on {tensor.device} reaches the device {(kind, index)} by a copy: drop copy=False")
    return tensor.to("cpu" if kind == _CPU else f"cuda:{index}")


class _Capsule:
    """Wraps a bare capsule in the interface that NumPy expects."""

    def __init__(self, capsule: object) -> None:
        self.capsule = capsule

    def __dlpack__(self, **options: object) -> Any:
        return self.capsule


def imported(source: object) -> Any:
    """Return an array over the memory of an object with DLPack, or of a capsule that was not consumed yet."""
    if type(source).__name__ == "PyCapsule":
        source = _Capsule(source)
    elif not hasattr(source, "__dlpack__"):
        raise TypeError(f"from_dlpack takes what has __dlpack__, or a capsule of it, got {type(source).__name__}")
    library: Any = np
    if is_array(source):
        library = module_of(source)
    elif hasattr(source, "__dlpack_device__") and source.__dlpack_device__()[0] == _CUDA:
        library = cupy()
    try:
        return library.from_dlpack(source)
    except RuntimeError as error:
        if isinstance(source, _Capsule) and "cupy" in sys.modules and "device" in str(error):
            return sys.modules["cupy"].from_dlpack(source)
        if "dtype" in str(error):
            raise BufferError(
                "from_dlpack: the memory holds numbers of a type that NumPy has not (bfloat16, float8): tensor() copies"
                " what the library can turn into an array"
            ) from error
        raise


def array_of(data: object) -> Any:
    """Return the array of a table's column, or of another library's array; None if the object has none.

    Missing values have no number: they are refused, not made NaN.
    """
    if isinstance(data, (int, float, complex)):  # a number that is traced has __array__, and is no array
        return None
    if not (hasattr(data, "__array__") or hasattr(data, "__array_interface__")):
        return None
    if missing := _missing(data):
        raise ValueError(f"{type(data).__name__} has {missing} missing values: fill or drop them first")
    array = np.asarray(data)
    if array.dtype.kind == "O":
        raise TypeError(
            f"{type(data).__name__} holds Python objects, or misses values: make it numeric and without gaps first"
        )
    return array


def _missing(data: Any) -> int:
    count = getattr(data, "null_count", 0)  # Arrow's; a method of Polars'
    if hasattr(data, "isna"):  # pandas'; in its columns of NumPy's types, NaN is a number as others are
        kinds = np.atleast_1d(np.array(data.dtypes, object))
        count = 0 if all(isinstance(kind, np.dtype) for kind in kinds) else data.isna
    return int(np.sum(np.asarray(count() if callable(count) else count)))
