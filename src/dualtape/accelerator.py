"""``dualtape.accelerator``: the accelerator of this machine, a GPU by CuPy, or none.

Programs ask here which device to compute on; the answers are those of :mod:`dualtape.cuda`. Functions that need a
device raise where there is none.
"""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from typing import Any

from . import cuda
from ._tensor.device import device as _device

__all__ = [
    "current_accelerator",
    "current_device_index",
    "current_stream",
    "device_count",
    "device_index",
    "empty_cache",
    "get_memory_info",
    "is_available",
    "max_memory_allocated",
    "max_memory_reserved",
    "memory_allocated",
    "memory_reserved",
    "memory_stats",
    "reset_peak_memory_stats",
    "set_device_index",
    "synchronize",
]


def is_available() -> bool:
    """Whether there is an accelerator: CuPy is installed, and finds a GPU.

    Examples
    --------
    >>> import dualtape as dt
    >>> device = dt.accelerator.current_accelerator().type if dt.accelerator.is_available() else "cpu"
    """
    return cuda.is_available()


def device_count() -> int:
    """The number of accelerators.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.accelerator.device_count() > 0 or not dt.accelerator.is_available()
    True
    """
    return cuda.device_count()


def current_accelerator(check_available: bool = False) -> _device | None:
    """The device, without a number; None where there is none. It is looked for with ``check_available`` and without.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.accelerator.current_accelerator()  # doctest: +SKIP
    device(type='cuda')
    """
    return _device("cuda") if cuda.is_available() else None


def current_device_index() -> int:
    """The index of the accelerator in use."""
    return cuda.current_device()


def set_device_index(device: Any, /) -> None:
    """Use the accelerator of that index from now on."""
    cuda.set_device(cuda.devices.number(device))


def device_index(device: int | None, /) -> AbstractContextManager:
    """Context with the accelerator of that index in use; with None, the present one."""
    return nullcontext() if device is None else cuda.device(device)


def synchronize(device: Any = None, /) -> None:
    """Wait until the accelerator has finished its work."""
    cuda.synchronize(device)


def current_stream(device: Any = None, /) -> Any:
    """The stream to which work is submitted."""
    return cuda.current_stream(device)


def empty_cache() -> None:
    """Return cached memory that is not in use to the accelerator."""
    cuda.devices.module("accelerator.empty_cache")
    cuda.empty_cache()


def get_memory_info(device_index: Any = None, /) -> tuple[int, int]:
    """The free and the total memory of the accelerator, in bytes."""
    return cuda.mem_get_info(device_index)


def memory_allocated(device_index: Any = None, /) -> int:
    """The bytes used by arrays."""
    cuda.devices.module("accelerator.memory_allocated")
    return cuda.memory_allocated(device_index)


def memory_reserved(device_index: Any = None, /) -> int:
    """The bytes reserved, used or not."""
    cuda.devices.module("accelerator.memory_reserved")
    return cuda.memory_reserved(device_index)


def max_memory_allocated(device_index: Any = None, /) -> int:
    """The largest number of bytes used by arrays so far."""
    cuda.devices.module("accelerator.max_memory_allocated")
    return cuda.max_memory_allocated(device_index)


def max_memory_reserved(device_index: Any = None, /) -> int:
    """The largest number of bytes reserved so far."""
    cuda.devices.module("accelerator.max_memory_reserved")
    return cuda.max_memory_reserved(device_index)


def memory_stats(device_index: Any = None, /) -> dict[str, int]:
    """Statistics of its memory, under PyTorch's names."""
    cuda.devices.module("accelerator.memory_stats")
    return cuda.memory_stats(device_index)


def reset_peak_memory_stats(device_index: Any = None, /) -> None:
    """Reset the maximum of used memory."""
    cuda.devices.module("accelerator.reset_peak_memory_stats")
    cuda.reset_peak_memory_stats(device_index)
