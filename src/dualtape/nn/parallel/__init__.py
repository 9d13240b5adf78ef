"""Modules in several processes: :class:`DistributedDataParallel`."""

from __future__ import annotations

from .distributed import DistributedDataParallel as DistributedDataParallel
