"""``dualtape.utils._pytree``: trees of containers, under the name that PyTorch programs import."""

from __future__ import annotations

from ..pytree import *  # noqa: F403 - what its __all__ names
