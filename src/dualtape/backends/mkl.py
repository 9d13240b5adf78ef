"""Intel's library for linear algebra: not used."""

from __future__ import annotations


def is_available() -> bool:
    """False.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.backends.mkl.is_available()
    False
    """
    return False
