"""oneDNN: not used."""

from __future__ import annotations

enabled = False


def is_available() -> bool:
    """False.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.backends.mkldnn.is_available()
    False
    """
    return False
