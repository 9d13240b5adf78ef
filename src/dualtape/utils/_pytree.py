"""``dualtape.utils._pytree``: trees of containers, under the name that PyTorch's users import them by."""

from __future__ import annotations

from ..pytree import *  # noqa: F403 - what its __all__ names
