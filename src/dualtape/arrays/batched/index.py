"""Indexing of batched arrays: a key for one sample becomes a key for all samples, and values are laid out for it.

Where an index is batched too, the hidden axis gets an index array of its own (0, 1, ..., n - 1, along the hidden axis),
so that each sample takes its own entries. NumPy inserts the dimensions of index arrays at the position of the first, or
in front if a slice separates them: a :class:`_Plan` stores their position in the inner result and in that of one
sample.
"""

from __future__ import annotations

from typing import Any

import numpy

from ..protocol import module_of
from .array import Batched, BatchLevel, DynamicShape, NotBatchable, extent, fitting, innermost, is_batched, newest

np: Any = numpy  # its stubs know nothing of other kinds of arrays

_WHOLE = slice(None)


class _Plan:
    """A sample's key, converted for the array inside."""

    __slots__ = ("key", "depth", "before", "hidden", "rank")

    key: tuple  # for the values
    # How many dimensions the index arrays have together; 0 without any.
    depth: int
    before: int  # how many dimensions of a sample's result stand before theirs
    # Whether the hidden axis has an index array, so that the result has it in front of the others.
    hidden: bool
    rank: int  # dimensions of a sample's result

    def __init__(self, x: Batched, key: Any, level: BatchLevel) -> None:
        parts = _expanded(key, x.ndim)
        arrays = [p for p in parts if hasattr(p, "ndim")]
        advanced = [
            d
            for d, p in enumerate(parts)
            if hasattr(p, "ndim") or (arrays and isinstance(p, (int, np.integer)) and not isinstance(p, bool))
        ]
        self.hidden = any(type(p) is Batched and is_batched(p, level) for p in arrays)
        self.depth = max((p.ndim for p in arrays), default=0)
        kept = [d for d, p in enumerate(parts) if d not in advanced and (p is None or isinstance(p, slice))]
        together = not advanced or advanced[-1] - advanced[0] + 1 == len(advanced)
        self.before = sum(d < advanced[0] for d in kept) if advanced and together else 0
        self.rank = len(kept) + self.depth
        if self.hidden:
            inner = [_front(p, level, self.depth) for p in parts]
            n = x.values.shape[0]
            self.key = (np.arange(n).reshape((n,) + (1,) * self.depth), *inner)
        else:
            self.key = (_WHOLE, *parts)
            # without an index array of its own, the hidden axis comes after those of the others if they do not
            # stand together
            if advanced and not together:
                self.before = -1
        module = module_of(innermost(x))
        if module is not numpy:  # which takes no arrays of NumPy's beside its own
            self.key = tuple(module.asarray(p) if isinstance(p, np.ndarray) else p for p in self.key)

    def out(self, result: Any) -> Any:
        """Return the inner result with its axes ordered as in a sample's result, the hidden one first."""
        if self.before < 0:
            return np.moveaxis(result, self.depth, 0)
        if self.hidden and self.before and self.depth:
            return np.moveaxis(result, range(1, 1 + self.depth), range(1 + self.before, 1 + self.before + self.depth))
        return result

    def into(self, values: Any) -> Any:
        """Return values with the hidden axis first, laid out as the key selects."""
        lead = self.rank + 1 - values.ndim
        if lead > 0:
            values = values[(_WHOLE, *(None,) * lead)]
        while values.ndim > self.rank + 1 and values.shape[1] == 1:
            values = values[:, 0, ...]
        if self.before < 0:
            return np.moveaxis(values, 0, self.depth)
        if self.hidden and self.before and self.depth:
            return np.moveaxis(values, range(1 + self.before, 1 + self.before + self.depth), range(1, 1 + self.depth))
        return values


def _expanded(key: Any, ndim: int) -> list:
    """Return the parts of a key: lists as arrays, masks as indices, the ellipsis written out."""
    parts: list = []
    for part in key if isinstance(key, tuple) else (key,):
        if isinstance(part, (list, bool, np.bool_)):
            part = np.asarray(part)
        if hasattr(part, "ndim") and not isinstance(part, np.generic) and part.dtype.kind == "b":
            if type(part) is Batched:
                raise DynamicShape(
                    "vmap: We do not support batching operators that can output dynamic shape: indexing with a mask"
                    " that differs from sample to"
                    " sample selects a different number of entries in each; use where(mask, a, b) or masked_fill"
                    " instead"
                )
            if part.ndim == 0:
                parts.extend((None, np.zeros(int(part), np.int64)))
            else:
                parts.extend(np.nonzero(part))
        else:
            parts.append(int(part) if isinstance(part, np.integer) else part)
    taken = sum(p is not None and p is not Ellipsis for p in parts)
    if taken > ndim:
        raise IndexError(f"too many indices for array: array is {ndim}-dimensional, but {taken} were indexed")
    fill = [_WHOLE] * (ndim - taken)
    for d, part in enumerate(parts):
        if part is Ellipsis:
            return parts[:d] + fill + parts[d + 1 :]
    return parts + fill


def _front(part: Any, level: BatchLevel, depth: int) -> Any:
    """Return an index array with the hidden axis first, followed by as many axes as all index arrays have together."""
    if not hasattr(part, "ndim"):
        return part
    values = part.values if type(part) is Batched and part.level is level else part[None]
    return values[(_WHOLE, *(None,) * (depth + 1 - values.ndim))]


def get(x: Batched, key: Any) -> Batched:
    """Return ``x[key]``."""
    plan = _Plan(x, key, x.level)
    return Batched(plan.out(x.values[plan.key]), x.level)


def _ready(x: Any, key: Any, value: Any) -> None:
    """Raise unless ``x`` is batched by every level that an index or the value is batched by."""
    level = newest((key, value))
    if level is None:
        return
    if type(x) is not Batched or level.number > x.level.number:
        raise NotBatchable(_CANNOT_WRITE)
    own = x.level
    longest = max((extent(v, own) for v in (*(key if isinstance(key, tuple) else (key,)), value)), default=1)
    if longest > x.values.shape[0]:
        raise NotBatchable(_CANNOT_WRITE)


_CANNOT_WRITE = (
    "vmap: inplace arithmetic(self, *extra_args) is not possible: what is written differs from sample to sample, and"
    " the target is one for all of"
    " them. Use the out-of-place form (x = x + y), or make the target inside vmap from a batched tensor (zeros_like,"
    " new_zeros, clone)"
)


def put(x: Batched, key: Any, value: Any) -> None:
    """Assign ``x[key] = value``."""
    value = fitting(value, x)
    _ready(x, key, value)
    mask = key[0] if isinstance(key, tuple) and len(key) == 1 else key
    if type(mask) is Batched and mask.dtype.kind == "b":
        _put_masked(x, mask, value)
        return
    plan = _Plan(x, key, x.level)
    x.values[plan.key] = _inside(plan, value, x.level)


def _inside(plan: _Plan, value: Any, level: BatchLevel) -> Any:
    if not hasattr(value, "ndim") or isinstance(value, np.generic):
        return value
    return plan.into(value.values if type(value) is Batched and value.level is level else value[None])


def _put_masked(x: Batched, mask: Batched, value: Any) -> None:
    if np.ndim(value) == 0:
        more = x.ndim - mask.ndim
        where = mask.reshape((*mask.shape, *(1,) * more))
        np.copyto(x, value, where=where)
        return
    each = lambda v, i: v.sample(i) if type(v) is Batched and v.level is x.level else v
    for i in range(x.level.size):
        x.values[i][each(mask, i)] = each(value, i)


def add(x: Any, key: Any, value: Any) -> None:
    """Apply ``np.add.at(x, key, value)``."""
    value = fitting(value, x)
    _ready(x, key, value)
    if type(x) is not Batched:  # the value was the same for all samples
        module_of(x).add.at(x, key, value)
        return
    plan = _Plan(x, key, x.level)
    inner = _inside(plan, value, x.level)
    if not plan.depth:
        x.values[plan.key] += inner
        return
    module_of(x.values).add.at(x.values, plan.key, inner)
