"""``numpy.linalg`` for programs whose arrays may be tensors."""

from __future__ import annotations

from typing import Any

import numpy as _numpy

from . import looked_up

__all__ = list(_numpy.linalg.__all__)  # noqa: PLE0605 - those of the NumPy that is installed


def __getattr__(name: str) -> Any:
    return looked_up(_numpy.linalg, name, __name__)


def __dir__() -> list[str]:
    return dir(_numpy.linalg)
