"""``dualtape.utils.deterministic``: a setting of PyTorch's for memory that nothing has written."""

from __future__ import annotations

from .._listing import listing

__all__ = ["fill_uninitialized_memory"]

# Whether ``empty`` and similar functions fill their memory while deterministic algorithms are required.
fill_uninitialized_memory: bool = True

__dir__ = listing(__name__)
