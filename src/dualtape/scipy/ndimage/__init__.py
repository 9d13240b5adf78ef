"""``scipy.ndimage`` for tensors: filters, images at other coordinates, measurements.

``output=`` may be a dtype. Weights, widths, shifts, matrices and coordinates may be tensors with history, too.
"""

from __future__ import annotations

from typing import Any

from ...arrays.lazy import scipy_ndimage as _ndimage
from .._like import names_of, scipys
from . import filters, geometry, measurements, ranks

__all__ = sorted({*filters.__all__, *geometry.__all__, *measurements.__all__, *ranks.__all__})  # noqa: PLE0605

globals().update(
    {name: getattr(module, name) for module in (filters, geometry, measurements, ranks) for name in module.__all__}
)


def __getattr__(name: str) -> Any:
    return scipys(_ndimage, name, __name__)


__dir__ = names_of(_ndimage, __name__)
