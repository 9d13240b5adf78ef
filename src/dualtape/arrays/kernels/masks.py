"""Selection by a mask as bit arithmetic: ``np.where`` branches at every element, which costs ten times as much for
irregular masks.

No number is multiplied, so infinities and NaN that are not selected have no effect. Small arrays, other dtypes and
other kinds of arrays use ``np.where``.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .sums import row_blocks

_BITS: dict[Any, Any] = {np.dtype(np.float32): np.dtype(np.int32), np.dtype(np.float64): np.dtype(np.int64)}
_MANY = 2000  # elements from which the passes over a block pay


def _worthwhile(condition: Any, values: Any) -> bool:
    if type(values) is not np.ndarray or type(condition) is not np.ndarray or values.size <= _MANY:
        return False
    return values.dtype in _BITS and condition.dtype == bool and condition.shape == values.shape


def kept(values: Any, condition: Any, wanted: bool = True) -> Any:
    """Return the values where ``condition`` equals ``wanted``, and 0 elsewhere."""
    if not _worthwhile(condition, values):
        return np.where(condition, values, 0) if wanted else np.where(condition, 0, values)
    out = np.empty(values.shape, values.dtype)
    bits = _BITS[values.dtype]
    flat, chosen, result = values.reshape(-1).view(bits), condition.reshape(-1), out.reshape(-1).view(bits)
    for some in row_blocks(flat.shape):
        part = result[some]
        part[...] = chosen[some]
        if wanted:
            np.negative(part, part)  # 1 becomes -1, whose bits are all set
        else:
            part -= 1
        part &= flat[some]
    return out


def either(condition: Any, x: Any, y: Any) -> Any:
    """Return ``np.where(condition, x, y)``."""
    if not _worthwhile(condition, x) or type(y) is not np.ndarray or y.dtype != x.dtype or y.shape != x.shape:
        return np.where(condition, x, y)
    out = np.empty(x.shape, x.dtype)
    bits = _BITS[x.dtype]
    first, second, result = (v.reshape(-1).view(bits) for v in (x, y, out))
    chosen = condition.reshape(-1)
    for some in row_blocks(first.shape):
        part = result[some]
        part[...] = chosen[some]
        np.negative(part, part)
        part &= first[some] ^ second[some]
        part ^= second[some]
    return out
