"""Linear algebra under PyTorch's names: ``dualtape.linalg.solve`` and so on, declared in :mod:`dualtape.ops`."""

from __future__ import annotations

from .ops import namespace
from .ops.linalg_error import LinAlgError as LinAlgError

_FUNCTIONS = namespace("linalg")
globals().update(_FUNCTIONS)

__all__ = ["LinAlgError", *sorted(_FUNCTIONS)]
