"""Types that signatures share; a name that ends in ``Like`` is of what is accepted and converted."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

if TYPE_CHECKING:
    from ._tensor.device import device
    from ._tensor.dtypes import dtype

__all__ = ["DTypeLike", "DeviceLike", "Tree"]

DTypeLike: TypeAlias = "dtype | np.dtype[Any] | type | str"
DeviceLike: TypeAlias = "device | str | int"
# A tensor, or tuples, lists, dicts and registered containers of trees.
Tree: TypeAlias = Any
