"""``torch._C._nn``: how PyTorch reads the arguments of ``to``."""

from __future__ import annotations

from typing import Any

from .._tensor.device import device
from .._tensor.dtypes import dtype
from ..nn.modules._convert import parse_to

__all__ = ["_parse_to"]


def _parse_to(*args: Any, **kwargs: Any) -> tuple[device | None, dtype | None, bool, Any]:
    """Return device, dtype, whether to copy without waiting, and the memory format, as the arguments of ``to`` say.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt._C._nn._parse_to("cpu", dt.float64)
    (device(type='cpu'), dualtape.float64, False, None)
    """
    return parse_to(*args, **kwargs)
