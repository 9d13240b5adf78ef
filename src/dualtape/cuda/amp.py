"""``dualtape.cuda.amp``: autocast and GradScaler for GPUs, under deprecated names."""

from __future__ import annotations

from typing import Any

from ..amp import GradScaler as _GradScaler
from ..amp import autocast as _autocast
from ..amp import custom_bwd as custom_bwd
from ..amp import custom_fwd as custom_fwd


class autocast(_autocast):
    """``dualtape.autocast("cuda", dtype, enabled, cache_enabled)``.

    Examples
    --------
    >>> import dualtape as dt
    >>> with dt.cuda.amp.autocast(enabled=False):
    ...     (dt.ones(1, 1) @ dt.ones(1, 1)).dtype
    dualtape.float32
    """

    def __init__(self, enabled: bool = True, dtype: Any = None, cache_enabled: bool = True) -> None:
        super().__init__("cuda", dtype, enabled, cache_enabled)
        self._given = (enabled, dtype, cache_enabled)  # type: ignore[assignment]


class GradScaler(_GradScaler):
    """``dualtape.amp.GradScaler("cuda", ...)``.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.cuda.amp.GradScaler(enabled=False).is_enabled()
    False
    """

    def __init__(
        self,
        init_scale: float = 2.0**16,
        growth_factor: float = 2.0,
        backoff_factor: float = 0.5,
        growth_interval: int = 2000,
        enabled: bool = True,
    ) -> None:
        super().__init__("cuda", init_scale, growth_factor, backoff_factor, growth_interval, enabled)
