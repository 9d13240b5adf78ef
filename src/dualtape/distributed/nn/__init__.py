"""Collectives that can be differentiated: :mod:`dualtape.distributed.nn.functional`."""

from __future__ import annotations

from . import functional as functional
from .functional import *  # noqa: F403
