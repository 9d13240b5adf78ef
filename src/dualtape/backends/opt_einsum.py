"""the package opt_einsum, for the order of a contraction: NumPy's own search is used: not used."""

from __future__ import annotations

enabled = False
strategy = None


def is_available() -> bool:
    """False.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.backends.opt_einsum.is_available()
    False
    """
    return False
