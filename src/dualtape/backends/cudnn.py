"""cuDNN: not used. The switches keep what they are told: results are the same each time, whatever they say."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

enabled = False
benchmark = False
benchmark_limit = None
deterministic = True
allow_tf32 = False


def is_available() -> bool:
    """False.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.backends.cudnn.is_available()
    False
    """
    return False


def version() -> None:
    """None: there is no version of what is not there.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.backends.cudnn.version()
    """


def is_acceptable(tensor: Any) -> bool:
    """False.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.backends.cudnn.is_acceptable(dt.ones(1))
    False
    """
    return False


@contextmanager
def flags(
    enabled: bool = False,
    benchmark: bool = False,
    benchmark_limit: int | None = 10,
    deterministic: bool = False,
    allow_tf32: bool = True,
    fp32_precision: str = "none",
) -> Iterator[None]:
    """Nothing changes inside: no cuDNN is there to be told.

    Examples
    --------
    >>> import dualtape as dt
    >>> with dt.backends.cudnn.flags(deterministic=True):
    ...     pass
    """
    yield
