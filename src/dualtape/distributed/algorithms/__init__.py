"""What programs in several processes do in common: uneven inputs, and hooks for averages."""

from __future__ import annotations

from .join import Join, Joinable, JoinHook

__all__ = ["Join", "JoinHook", "Joinable"]
