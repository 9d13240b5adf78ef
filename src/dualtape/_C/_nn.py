"""``torch._C._nn``: how PyTorch reads the arguments of ``to``; functions of ``nn.functional``, for generated code."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from .._tensor.device import device
from .._tensor.dtypes import dtype
from ..nn import modules as _modules

__all__ = ["_parse_to"]


def _parse_to(*args: Any, **kwargs: Any) -> tuple[device | None, dtype | None, bool, Any]:
    """Return device, dtype, whether to copy without waiting, and the memory format, as the arguments of ``to`` say.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt._C._nn._parse_to("cpu", dt.float64)
    (device(type='cpu'), dualtape.float64, False, None)
    """
    return _modules._convert.parse_to(*args, **kwargs)


def __getattr__(name: str) -> Any:
    if name.startswith("__"):
        raise AttributeError(name)
    functions = import_module("dualtape.nn.functional")
    found = getattr(functions, "logsigmoid" if name == "log_sigmoid" else name, None)
    if found is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return found
