"""Modules in several processes: :class:`DistributedDataParallel`; and :class:`DataParallel`, in one."""

from __future__ import annotations

from ..._listing import listing
from .data_parallel import DataParallel as DataParallel
from .data_parallel import data_parallel as data_parallel
from .distributed import DistributedDataParallel as DistributedDataParallel

__dir__ = listing(__name__)
