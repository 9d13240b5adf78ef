"""States of the process that compiled programs compare by value, because reading them is cheap."""

from __future__ import annotations

import decimal
import logging
import random
import sys
from collections.abc import Callable
from typing import Any

import numpy as np

try:  # a dictionary that every change replaces
    from numpy._core.printoptions import format_options as _printing

    numpys_printing: Callable[[], Any] = _printing.get
except ImportError:  # of another NumPy: its contents

    def numpys_printing() -> Any:
        """Return how NumPy prints arrays, as one object for each of the settings."""
        return sys.intern(repr(np.get_printoptions()))


def stream_of(value: Any) -> str | None:
    """Return the state of a generator that is not dualtape's, None for other objects."""
    if isinstance(value, random.Random):
        return "system" if isinstance(value, random.SystemRandom) else str(hash(value.getstate()))
    if isinstance(value, np.random.Generator):
        value = value.bit_generator
    if isinstance(value, np.random.BitGenerator):
        # spawning moves the seeds alone
        return f"{value.state} {getattr(value.seed_seq, 'n_children_spawned', 0)}"
    return str(value.get_state()) if isinstance(value, np.random.RandomState) else None


def level_of(logger: logging.Logger) -> str:
    """Return the settings that decide which messages of a logger are shown."""
    return repr((logger.getEffectiveLevel(), logger.disabled, logger.manager.disable))


def parts_of(logger: logging.Logger) -> str:
    """Return the settings of a logger itself, and what its messages go to."""
    parts = [id(part) for part in (*logger.handlers, *logger.filters)]
    return repr((logger.level, logger.propagate, logger.hasHandlers(), parts))


def decimal_settings() -> str:
    """Return the settings of the decimal context that results depend on."""
    context = decimal.getcontext()
    names = ("prec", "rounding", "Emin", "Emax", "capitals", "clamp")
    return repr(([getattr(context, name) for name in names], [k.__name__ for k, on in context.traps.items() if on]))
