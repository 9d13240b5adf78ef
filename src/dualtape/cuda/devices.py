"""The GPUs of this machine, and the one in use."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from .._tensor.device import device as _device
from .._tensor.tensor import Tensor


class NoGPU(AssertionError, RuntimeError):
    """Raised when a GPU is needed and there is none."""


def module(what: str) -> Any:
    """CuPy, on a machine with a GPU."""
    if not is_available():
        raise NoGPU(f"{what} needs a GPU: CuPy is not installed, or finds none (cuda.is_available() is False)")
    import cupy

    return cupy


def number(device: Any) -> int:
    """The number of a GPU, given as a number, a name or a device; None is the current one."""
    if device is None:
        return current_device()
    if isinstance(device, int) and not isinstance(device, bool):
        return device
    wanted = _device(device)
    if wanted.type != "cuda":
        raise ValueError(f"Expected a cuda device, but got: {wanted}")
    return current_device() if wanted.index is None else wanted.index


def is_available() -> bool:
    """Whether CuPy is installed and finds a GPU.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.cuda.is_available()  # doctest: +SKIP
    False
    """
    return device_count() > 0


def device_count() -> int:
    """How many GPUs CuPy finds: 0 without it.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.cuda.device_count()  # doctest: +SKIP
    0
    """
    try:
        import cupy

        return cupy.cuda.runtime.getDeviceCount()
    except Exception:  # CuPy without a driver raises errors of its own
        return 0


def init() -> None:
    """Nothing is to be done: raises where there is no GPU.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.cuda.init()  # doctest: +SKIP
    """
    module("cuda.init")


def is_initialized() -> bool:
    """Whether there is a GPU; CuPy needs no more.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.cuda.is_initialized() == dt.cuda.is_available()
    True
    """
    return is_available()


def current_device() -> int:
    """The number of the GPU that is used where none is named.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.cuda.current_device()  # doctest: +SKIP
    0
    """
    return module("cuda.current_device").cuda.Device().id


def set_device(device: Any) -> None:
    """Use this GPU where none is named.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.cuda.set_device(0)  # doctest: +SKIP
    """
    module("cuda.set_device").cuda.Device(number(device)).use()


def synchronize(device: Any = None) -> None:
    """Wait until a GPU has done all that was asked of it.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.cuda.synchronize()  # doctest: +SKIP
    """
    module("cuda.synchronize").cuda.Device(number(device)).synchronize()


class device:
    """Inside ``with``, this GPU is used where none is named; None or a negative number: no change.

    Examples
    --------
    >>> import dualtape as dt
    >>> with dt.cuda.device(0):  # doctest: +SKIP
    ...     x = dt.ones(2, device="cuda")
    """

    def __init__(self, device: Any) -> None:
        given = None if device is None else device if isinstance(device, int) else number(device)
        self.idx = -1 if given is None else given
        self._before: list[int] = []

    def __enter__(self) -> Any:
        if self.idx >= 0:
            self._before.append(current_device())
            set_device(self.idx)
        return self

    def __exit__(self, *error: Any) -> None:
        if self.idx >= 0:
            set_device(self._before.pop())


class device_of(device):
    """Inside ``with``, the GPU of this tensor is used; no change for one on the CPU.

    Examples
    --------
    >>> import dualtape as dt
    >>> with dt.cuda.device_of(dt.ones(1)):
    ...     pass
    """

    def __init__(self, obj: Tensor) -> None:
        super().__init__(obj.device.index if obj.is_cuda else None)


def get_device_properties(device: Any = None) -> Any:
    """Name, memory, multiprocessors and capability of a GPU.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.cuda.get_device_properties(0).total_memory  # doctest: +SKIP
    """
    found = module("cuda.get_device_properties").cuda.runtime.getDeviceProperties(number(device))
    return SimpleNamespace(
        name=found["name"].decode(),
        total_memory=found["totalGlobalMem"],
        major=found["major"],
        minor=found["minor"],
        multi_processor_count=found["multiProcessorCount"],
        warp_size=found["warpSize"],
    )


def get_device_name(device: Any = None) -> str:
    """The name of a GPU.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.cuda.get_device_name()  # doctest: +SKIP
    """
    return get_device_properties(device).name


def get_device_capability(device: Any = None) -> tuple[int, int]:
    """The version of what a GPU can do.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.cuda.get_device_capability()  # doctest: +SKIP
    (9, 0)
    """
    found = get_device_properties(device)
    return found.major, found.minor


def get_arch_list() -> list[str]:
    """Empty: CuPy compiles for the GPU that is there.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.cuda.get_arch_list()
    []
    """
    return []


def can_device_access_peer(device: Any, peer_device: Any) -> bool:
    """Whether one GPU can read the memory of another.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.cuda.can_device_access_peer(0, 1)  # doctest: +SKIP
    """
    runtime = module("cuda.can_device_access_peer").cuda.runtime
    return bool(runtime.deviceCanAccessPeer(number(device), number(peer_device)))


def is_bf16_supported(including_emulation: bool = True) -> bool:
    """False: arrays of bfloat16 are in the memory of the CPU.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.cuda.is_bf16_supported()
    False
    """
    return False
