"""``dualtape.amp``: matrix products in a narrower type, the rest as it is; gradients scaled so that none vanishes."""

from __future__ import annotations

from .autocast_mode import autocast as autocast
from .autocast_mode import custom_bwd as custom_bwd
from .autocast_mode import custom_fwd as custom_fwd
from .autocast_mode import is_autocast_available as is_autocast_available
from .grad_scaler import GradScaler as GradScaler
