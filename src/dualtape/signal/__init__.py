"""Signals: ``dualtape.signal.windows``."""

from __future__ import annotations

from .._listing import listing
from . import windows as windows

__dir__ = listing(__name__)
