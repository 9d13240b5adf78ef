"""``dualtape.cpu``: PyTorch's names for what concerns the CPU alone."""

from __future__ import annotations

from .._listing import listing
from . import amp as amp


def is_available() -> bool:
    """Whether there is a CPU: there is.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.cpu.is_available()
    True
    """
    return True


__dir__ = listing(__name__)
