"""``dualtape.accelerator``: what computes beside the processor on this machine: a GPU, by CuPy, or nothing.

Programs ask here which device to compute on; the answers are those of :mod:`dualtape.cuda`. What needs a device raises
where there is none.
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
    """Whether there is one: CuPy is installed, and finds a GPU.

    Examples
    --------
    >>> import dualtape as dt
    >>> device = dt.accelerator.current_accelerator().type if dt.accelerator.is_available() else "cpu"
    """
    return cuda.is_available()


def device_count() -> int:
    """How many there are.

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
    """The number of the one in use."""
    return cuda.current_device()


def set_device_index(device: Any, /) -> None:
    """Use the one of that number from now on."""
    cuda.set_device(cuda.devices.number(device))


def device_index(device: int | None, /) -> AbstractContextManager:
    """Use the one of that number inside; with None, the one in use."""
    return nullcontext() if device is None else cuda.device(device)


def synchronize(device: Any = None, /) -> None:
    """Wait until it has done what it was given."""
    cuda.synchronize(device)


def current_stream(device: Any = None, /) -> Any:
    """The stream that work is given to."""
    return cuda.current_stream(device)


def empty_cache() -> None:
    """Give memory that is kept and not used back to it."""
    cuda.devices.module("accelerator.empty_cache")
    cuda.empty_cache()


def get_memory_info(device_index: Any = None, /) -> tuple[int, int]:
    """Its memory that is free, and all of it, in bytes."""
    return cuda.mem_get_info(device_index)


def memory_allocated(device_index: Any = None, /) -> int:
    """Bytes that arrays take there."""
    cuda.devices.module("accelerator.memory_allocated")
    return cuda.memory_allocated(device_index)


def memory_reserved(device_index: Any = None, /) -> int:
    """Bytes that are kept there, used or not."""
    cuda.devices.module("accelerator.memory_reserved")
    return cuda.memory_reserved(device_index)


def max_memory_allocated(device_index: Any = None, /) -> int:
    """The most bytes that arrays took there."""
    cuda.devices.module("accelerator.max_memory_allocated")
    return cuda.max_memory_allocated(device_index)


def max_memory_reserved(device_index: Any = None, /) -> int:
    """The most bytes that were kept there."""
    cuda.devices.module("accelerator.max_memory_reserved")
    return cuda.max_memory_reserved(device_index)


def memory_stats(device_index: Any = None, /) -> dict[str, int]:
    """What is known of its memory, by PyTorch's names."""
    cuda.devices.module("accelerator.memory_stats")
    return cuda.memory_stats(device_index)


def reset_peak_memory_stats(device_index: Any = None, /) -> None:
    """Begin anew to look for the most."""
    cuda.devices.module("accelerator.reset_peak_memory_stats")
    cuda.reset_peak_memory_stats(device_index)
