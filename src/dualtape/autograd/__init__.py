"""``dualtape.autograd``: gradients of what was recorded.

The tensor is built on this package's lower modules (node, engine, views), and its upper ones (api, function, graph)
on the tensor. So the names here are loaded on first use.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from . import graph as graph
    from .api import backward as backward
    from .api import grad as grad
    from .function import Function as Function
    from .gradcheck import gradcheck as gradcheck
    from .gradcheck import gradgradcheck as gradgradcheck
    from .node import Node as Node

_HOMES = {
    "Function": "function",
    "Node": "node",
    "backward": "api",
    "grad": "api",
    "gradcheck": "gradcheck",
    "gradgradcheck": "gradcheck",
    "no_grad": "..modes",
    "enable_grad": "..modes",
    "set_grad_enabled": "..modes",
    "inference_mode": "..modes",
    "set_multithreading_enabled": "..modes",
    "is_multithreading_enabled": "..modes",
    "enforce_grad_layout_policy": "..modes",
    "Variable": "variable",
}
# read when asked for
_LATER = {
    "detect_anomaly": ".anomaly",
    "set_detect_anomaly": ".anomaly",
    "_unsafe_preserve_version_counter": ".graph",
}
# modules under PyTorch's names
_ALSO = {
    "anomaly_mode": ".anomaly",
    "grad_mode": "..modes",
    "forward_ad": ".forward_ad",
    "profiler": ".profiler",
    "functional": ".functional",
}
_MODULES = ("function", "graph")

__all__ = [*_HOMES, *_MODULES]


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        home = _HOMES[name]
        module = import_module(home if home[0] == "." else f".{home}", __name__)
        globals().update({n: getattr(module, n) for n, h in _HOMES.items() if h == home})
        value = getattr(module, name)
    elif name in _LATER:
        value = getattr(import_module(_LATER[name], __name__), name)
    elif name in _ALSO:
        value = import_module(_ALSO[name], __name__)
    elif name in _MODULES:
        value = import_module(f".{name}", __name__)
    else:
        raise AttributeError(f"module 'dualtape.autograd' has no attribute {name!r}")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*__all__, *_LATER, *_ALSO})
