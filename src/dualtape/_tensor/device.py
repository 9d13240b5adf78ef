"""Devices: where an array's memory is. ``cpu`` uses NumPy, ``cuda`` CuPy, which is imported on demand.

``cpu`` is NumPy's, ``cuda`` is CuPy's, which is imported only when asked for.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import modes
from ..arrays import Batched, module_of
from . import naming

# What PyTorch knows as devices. All but the first two may be named, and hold no tensors here.
_TYPES = tuple(
    """
    cpu cuda ipu xpu mkldnn opengl opencl ideep hip ve fpga maia xla lazy vulkan mps meta hpu mtia privateuseone
    """.split()
)


class device:
    """The device on which a tensor's memory is: ``cpu``, or ``cuda`` with CuPy.

    Other names of PyTorch's devices are taken, so that programs can compare with them; there are no tensors on them.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.device("cuda", 0), dt.device("cpu") == dt.ones(1).device
    (device(type='cuda', index=0), True)
    """

    __slots__ = ("type", "index")

    def __init__(self, type: Any = "cpu", index: Any = None) -> None:
        if isinstance(type, device):
            type, index = type.type, type.index
        if isinstance(type, int) and not isinstance(type, bool):
            type, index = "cuda", type
        kind, _, number = str(type).partition(":")
        if kind not in _TYPES:
            raise RuntimeError(f"Expected one of {', '.join(_TYPES)} device type at start of device string: {type}")
        if number:
            if index is not None:
                raise RuntimeError(
                    f"type (string) must not include an index because index was passed explicitly: {type}"
                )
            if not number.isdigit():
                raise RuntimeError(f"Invalid device string: {type!r}; write 'cpu', 'cuda' or 'cuda:0'")
            index = int(number)
        self.type: str = kind
        self.index: int | None = index

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, device):
            return NotImplemented
        return (self.type, self.index) == (other.type, other.index)

    def __hash__(self) -> int:
        return hash((self.type, self.index))

    def __str__(self) -> str:
        return self.type if self.index is None else f"{self.type}:{self.index}"

    def __repr__(self) -> str:
        return (
            f"device(type={self.type!r})" if self.index is None else f"device(type={self.type!r}, index={self.index})"
        )

    def __reduce__(self) -> tuple:
        return (device, (self.type, self.index))

    def __enter__(self) -> device:
        """Make tensors on this device, until the context is left."""
        from ..overrides import devices

        devices.enter(self)
        return self

    def __exit__(self, *error: Any) -> None:
        from ..overrides import devices

        inside = None
        try:
            inside = modes.current()
            devices.leave(self)
        except RuntimeError:
            raise
        except BaseException:  # an interrupt, which may have come before it was left
            if inside is None or modes.current() is inside:
                devices.leave(self)
            raise


class layout:
    """A memory layout, by name.

    Examples
    --------
    >>> import dualtape as dt
    >>> isinstance(dt.strided, dt.layout)
    True
    """

    __slots__ = ("name",)

    def __init__(self, name: str) -> None:
        self.name = name

    def __repr__(self) -> str:
        return f"{naming.package}.{self.name}"


class memory_format(layout):
    """An order of the dimensions in memory, by name.

    Examples
    --------
    >>> import dualtape as dt
    >>> isinstance(dt.channels_last, dt.memory_format)
    True
    """

    __slots__ = ()


strided = layout("strided")
sparse_coo = layout("sparse_coo")
sparse_csr, sparse_csc = layout("sparse_csr"), layout("sparse_csc")
sparse_bsr, sparse_bsc = layout("sparse_bsr"), layout("sparse_bsc")
jagged = layout("jagged")
contiguous_format = memory_format("contiguous_format")
preserve_format = memory_format("preserve_format")
channels_last = memory_format("channels_last")
channels_last_3d = memory_format("channels_last_3d")

CPU = device("cpu")


def of(array: Any) -> device:
    """Return the device of an array."""
    if isinstance(array, np.ndarray) or module_of(array) is np or array.device == "cpu":
        return CPU
    return device("cuda", array.device.id)


def cupy(target: device | None = None) -> Any:
    """Return the module that handles the GPU's arrays; raise if the target is another device."""
    if target is not None and target.type != "cuda":
        raise NotImplementedError(
            f"there are no tensors on {target} here: memory is on the CPU, or with CuPy on 'cuda'; create or move the"
            " tensor there"
        )
    try:
        import cupy
    except ImportError as error:
        raise RuntimeError(
            "a cuda device was asked for, but CuPy is not installed: install the cupy package for your CUDA version"
        ) from error
    return cupy


def move(array: Any, target: device) -> Any:
    """Return ``array`` on ``target``: itself if it is there already."""
    if target.type == "cpu":
        return array if isinstance(array, np.ndarray) or array.device == "cpu" else array.get()
    if target.type == "cuda" and not isinstance(array, np.ndarray) and target.index in (None, array.device.id):
        return array
    if type(array) is Batched:
        return Batched(move(array.values, target), array.level)
    module = cupy(target)
    with module.cuda.Device(target.index if target.index is not None else module.cuda.Device().id):
        return module.asarray(array)
