"""``dualtape.nn.attention``: the backends of attention. There is one here: a product, a softmax and a product."""

from __future__ import annotations

import enum
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from .._listing import listing


class SDPBackend(enum.Enum):
    """PyTorch's backends of attention.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.nn.attention.SDPBackend.MATH.value
    0
    """

    ERROR = -1
    MATH = 0
    FLASH_ATTENTION = 1
    EFFICIENT_ATTENTION = 2
    CUDNN_ATTENTION = 3
    OVERRIDEABLE = 4


@contextmanager
def sdpa_kernel(backends: SDPBackend | Sequence[SDPBackend], set_priority: bool = False) -> Iterator[None]:
    """Context in which attention uses one of the given backends; refused if MATH, the only one here, is not among them.

    Examples
    --------
    >>> import dualtape as dt
    >>> with dt.nn.attention.sdpa_kernel(dt.nn.attention.SDPBackend.MATH):
    ...     pass
    """
    chosen = [backends] if isinstance(backends, SDPBackend) else list(backends)
    if not all(isinstance(each, SDPBackend) for each in chosen) or not chosen:
        raise TypeError(f"sdpa_kernel: expected an SDPBackend or a list of them, got {backends!r}")
    if SDPBackend.MATH not in chosen:
        raise RuntimeError("No available kernel: attention is computed by SDPBackend.MATH alone; name it too")
    yield


__dir__ = listing(__name__)
