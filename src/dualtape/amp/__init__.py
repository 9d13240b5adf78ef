"""``dualtape.amp``: automatic mixed precision: matrix products in a narrower dtype, and scaled gradients."""

from __future__ import annotations

from .._listing import listing
from .autocast_mode import autocast as autocast
from .autocast_mode import custom_bwd as custom_bwd
from .autocast_mode import custom_fwd as custom_fwd
from .autocast_mode import is_autocast_available as is_autocast_available
from .grad_scaler import GradScaler as GradScaler

__dir__ = listing(__name__)
