"""``numpy.random`` itself: what it draws are plain arrays."""

from __future__ import annotations

from typing import Any

import numpy.random as _random
from numpy.random import *  # noqa: F403

from .. import errors

__all__ = list(_random.__all__)  # noqa: PLE0605 - those of the NumPy that is installed


def __getattr__(name: str) -> Any:
    try:
        return getattr(_random, name)
    except AttributeError:
        raise errors.missing(__name__, name, dir(_random), "neither has NumPy's") from None
