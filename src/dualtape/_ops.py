"""``torch._ops``: the classes of registered ops; the functions of ``ops.aten`` are instances of them, too."""

from __future__ import annotations

from .library.overloads import OpOverload as OpOverload
from .library.overloads import OpOverloadPacket as OpOverloadPacket
from .ops.user_ops import OpNamespace

__all__ = ["OpOverload", "OpOverloadPacket"]

_OpNamespace = OpNamespace
