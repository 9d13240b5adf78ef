"""``dualtape.utils.dlpack``: exchange of memory with other libraries, under deprecated names."""

from __future__ import annotations

import enum
from typing import Any

from .._listing import listing
from .._tensor.creation import from_dlpack as from_dlpack
from .._tensor.tensor import Tensor


class DLDeviceType(enum.IntEnum):
    """The numbers that DLPack gives to kinds of devices.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.ones(1).__dlpack_device__()[0] == dt.utils.dlpack.DLDeviceType.kDLCPU
    True
    """

    kDLCPU = 1
    kDLCUDA = 2
    kDLCUDAHost = 3
    kDLOpenCL = 4
    kDLVulkan = 7
    kDLMetal = 8
    kDLVPI = 9
    kDLROCM = 10
    kDLROCMHost = 11
    kDLExtDev = 12
    kDLCUDAManaged = 13
    kDLOneAPI = 14
    kDLWebGPU = 15
    kDLHexagon = 16
    kDLMAIA = 17


def to_dlpack(tensor: Tensor) -> Any:
    """The memory of a tensor as a capsule that other libraries take.

    Examples
    --------
    >>> import dualtape as dt
    >>> type(dt.utils.dlpack.to_dlpack(dt.ones(1))).__name__
    'PyCapsule'
    """
    return tensor.__dlpack__()


__dir__ = listing(__name__)
