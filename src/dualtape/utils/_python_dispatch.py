"""``dualtape.utils._python_dispatch``: dispatch modes, under the name that PyTorch's users import them by."""

from __future__ import annotations

from ..overrides.dispatch_modes import TorchDispatchMode as TorchDispatchMode

__all__ = ["TorchDispatchMode"]
