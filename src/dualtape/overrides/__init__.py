"""``dualtape.overrides``: overriding operations from outside, under PyTorch's names.

``active_overrides`` is the only module that ordinary programs use; ``subclass`` calls ``__torch_function__`` (above
autograd), ``dispatch`` calls ``__torch_dispatch__`` (below it), and the two kinds of modes are contexts around them.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

_PUBLIC = {
    **dict.fromkeys(
        (
            "BaseTorchFunctionMode",
            "TorchFunctionMode",
            "handle_torch_function",
            "has_torch_function",
            "has_torch_function_unary",
            "has_torch_function_variadic",
            "is_tensor_like",
        ),
        "function_modes",
    ),
    **dict.fromkeys(
        (
            "get_ignored_functions",
            "get_overridable_functions",
            "get_testing_overrides",
            "is_tensor_method_or_property",
            "resolve_name",
            "wrap_torch_function",
        ),
        "listing",
    ),
}

__all__ = list(_PUBLIC)


# The tensor is built on ``active_overrides``, and the public names on the tensor: they load on demand.
def __getattr__(name: str) -> Any:
    if name not in _PUBLIC:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f".{_PUBLIC[name]}", __name__), name)


def __dir__() -> list[str]:
    return sorted(__all__)
