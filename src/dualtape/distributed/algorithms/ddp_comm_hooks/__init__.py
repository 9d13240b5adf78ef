"""Hooks for ``DistributedDataParallel.register_comm_hook``."""

from __future__ import annotations

from . import default_hooks as default_hooks
