"""Apple's GPUs: not used."""

from __future__ import annotations


def is_available() -> bool:
    """False.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.backends.mps.is_available()
    False
    """
    return False


def is_built() -> bool:
    """False.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.backends.mps.is_built()
    False
    """
    return False
