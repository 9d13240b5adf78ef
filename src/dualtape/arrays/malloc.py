"""Allocate and free one large block at import, so that the C library keeps large freed blocks from then on.

glibc asks the system for each block that is larger than all it has seen freed, and returns the end of its heap once two
such blocks are free there. A backward pass frees more than that, so that the next step takes the same memory again,
page by page, at several times the cost of the arithmetic. After a block of nearly 32 MB, the largest that counts, was
freed, it keeps up to 64 MB. The block is never written to, so that no page of it is committed. Where limits were set by
hand (``MALLOC_TRIM_THRESHOLD_``), and in other C libraries, nothing changes. It is skipped where memory is short
(``ulimit -v``) or ``DUALTAPE_MALLOC=0`` is in the environment.
"""

from __future__ import annotations

import functools
import os
from collections.abc import Callable
from contextlib import suppress

import numpy as np

_SEEN = 2**25 - 2**16

if os.environ.get("DUALTAPE_MALLOC") != "0":
    with suppress(MemoryError):
        np.empty(_SEEN, np.uint8)


@functools.cache
def _trimming() -> Callable[[int], int]:
    import ctypes

    try:
        return ctypes.CDLL(None).malloc_trim
    except (AttributeError, OSError, TypeError):  # another C library
        return lambda kept: 0


def give_back() -> None:
    """Return freed memory to the system, after a large one-time computation."""
    if os.environ.get("DUALTAPE_MALLOC") != "0":
        _trimming()(0)
