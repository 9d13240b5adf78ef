"""``dualtape.cpu.amp``: autocast and GradScaler for the CPU, under older names."""

from __future__ import annotations

from typing import Any

from ..amp import GradScaler as _GradScaler
from ..amp import autocast as _autocast


class autocast(_autocast):
    """``dualtape.autocast("cpu", dtype, enabled, cache_enabled)``.

    Examples
    --------
    >>> import dualtape as dt
    >>> with dt.cpu.amp.autocast():
    ...     (dt.ones(1, 1) @ dt.ones(1, 1)).dtype
    dualtape.bfloat16
    """

    def __init__(self, enabled: bool = True, dtype: Any = None, cache_enabled: bool = True) -> None:
        super().__init__("cpu", dtype, enabled, cache_enabled)
        self._given = (enabled, dtype, cache_enabled)  # type: ignore[assignment]


class GradScaler(_GradScaler):
    """``dualtape.amp.GradScaler("cpu", ...)``.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.cpu.amp.GradScaler(init_scale=4.0).get_scale()
    4.0
    """

    def __init__(
        self,
        init_scale: float = 2.0**16,
        growth_factor: float = 2.0,
        backoff_factor: float = 0.5,
        growth_interval: int = 2000,
        enabled: bool = True,
    ) -> None:
        super().__init__("cpu", init_scale, growth_factor, backoff_factor, growth_interval, enabled)
