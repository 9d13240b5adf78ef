"""``dualtape.utils.dlpack``: exchange of memory with other libraries, under older names."""

from __future__ import annotations

from typing import Any

from .._tensor.creation import from_dlpack as from_dlpack
from .._tensor.tensor import Tensor


def to_dlpack(tensor: Tensor) -> Any:
    """The memory of a tensor as a capsule that other libraries take.

    Examples
    --------
    >>> import dualtape as dt
    >>> type(dt.utils.dlpack.to_dlpack(dt.ones(1))).__name__
    'PyCapsule'
    """
    return tensor.__dlpack__()
