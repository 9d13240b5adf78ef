"""Linear algebra under PyTorch's names: ``dualtape.linalg.solve`` and so on, declared in :mod:`dualtape.ops`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ._listing import listing
from .ops import namespace
from .ops.linalg_error import LinAlgError as LinAlgError

if TYPE_CHECKING:

    def __getattr__(name: str) -> Any: ...


_FUNCTIONS = namespace("linalg")
globals().update(_FUNCTIONS)

__all__ = ["LinAlgError", *sorted(_FUNCTIONS)]

__dir__ = listing(__name__)
