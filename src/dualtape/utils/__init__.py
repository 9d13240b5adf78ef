"""``dualtape.utils``: helpers around training code."""

from __future__ import annotations

from . import checkpoint as checkpoint
