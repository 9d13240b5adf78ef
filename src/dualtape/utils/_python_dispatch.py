"""``dualtape.utils._python_dispatch``: dispatch modes, under the name that PyTorch programs import."""

from __future__ import annotations

from ..overrides.dispatch_modes import TorchDispatchMode as TorchDispatchMode

__all__ = ["TorchDispatchMode"]
