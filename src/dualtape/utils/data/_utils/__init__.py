"""The parts of the loader that libraries import."""

from __future__ import annotations

from . import collate as collate
from . import fetch as fetch
from . import worker as worker
