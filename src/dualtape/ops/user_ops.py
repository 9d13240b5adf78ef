"""The ops that programs register by ``dualtape.library``, found as ``dualtape.ops.namespace.name``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .dispatch import NAMESPACES

# For each namespace its ops by name.
REGISTERED: dict[str, dict[str, Any]] = {}
# Namespaces of PyTorch's own ops: what is not registered in them is left out.
_OF_PYTORCH = (
    "_quantized c10d debugprims export higher_order inductor mkl mkldnn mkldnn_prepacked onednn prim prims profiler"
    " quantization quantized rngprims static_runtime symm_mem loaded_libraries _native _test debug_mode_ops"
).split()


class OpNamespace:
    """The ops of one namespace.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.ops.mine
    <module 'dualtape.ops.mine' from 'dualtape.ops'>
    """

    def __init__(self, name: str) -> None:
        self.name = name
        self.__name__ = f"dualtape.ops.{name}"

    def _functions(self) -> dict[str, Callable]:
        return {**NAMESPACES.get(f"ops.{self.name}", {}), **REGISTERED.get(self.name, {})}

    def __getattr__(self, op: str) -> Any:
        if op.startswith("__"):
            raise AttributeError(op)
        found = REGISTERED.get(self.name, {}).get(op) or NAMESPACES.get(f"ops.{self.name}", {}).get(op)
        if found is None:
            raise AttributeError(f"'_OpNamespace' '{self.name}' object has no attribute '{op}'")
        return found

    def __dir__(self) -> list[str]:
        return sorted(self._functions())

    def __repr__(self) -> str:
        return f"<module '{self.__name__}' from 'dualtape.ops'>"


_namespaces: dict[str, OpNamespace] = {}


def namespace_of(name: str) -> OpNamespace | None:
    """Return the namespace of that name, which may be empty; None if it is one of PyTorch's own that has nothing
    here.
    """
    if name in _OF_PYTORCH and name not in REGISTERED and f"ops.{name}" not in NAMESPACES:
        return None
    return _namespaces.setdefault(name, OpNamespace(name))
