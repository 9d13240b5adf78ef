"""Common algorithms of programs in several processes: uneven inputs, and communication hooks."""

from __future__ import annotations

from .join import Join, Joinable, JoinHook

__all__ = ["Join", "JoinHook", "Joinable"]
