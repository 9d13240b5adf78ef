"""Numbered sets of inputs: the dependences of a value, one set number per element.

A :class:`Table` belongs to one detection. Set 0 is empty and means a constant; set 1 is empty and means a value that
may change with the inputs, though its derivative is zero (a mask, a sign); sets 2, 3, ... are the single inputs; unions
are appended. Elements share sets by number: a set with as many members as there are inputs, broadcast to as many
elements, costs one set. The table only grows, up to a limit.
"""

from __future__ import annotations

from typing import Any

import numpy as np

CONSTANT, VARYING, FIRST = 0, 1, 2
LIMIT = 50_000_000  # members of all sets together: 400 MB
_CHUNK = 4_000_000  # members looked at at once

# int64 numbers of sets, in the shape of the values they belong to.
Sets = np.ndarray


class DensePatternError(RuntimeError):
    """Raised when a pattern has too many nonzeros for a sparse matrix to be useful."""


class Table:
    """The sets of one detection over ``columns`` inputs."""

    def __init__(self, columns: int, limit: int = LIMIT) -> None:
        self.columns = columns
        self.limit = limit
        self.count = FIRST + columns
        # member m of set s is kept as s * columns + m: sorted over the whole table, so that one search finds any
        # member of any set
        self._keys = np.arange(FIRST * columns, FIRST * columns + columns * columns, columns + 1, dtype=np.int64)
        self._starts = np.maximum(np.arange(-FIRST, columns + 1, dtype=np.int64), 0)
        self._used = columns  # of _keys; _starts is used up to count + 1

    def singles(self, shape: tuple) -> Sets:
        """Return, for each input, the set of itself."""
        return np.arange(FIRST, FIRST + self.columns, dtype=np.int64).reshape(shape)

    # --- unions -----------------------------------------------------------------------------------

    def pairs(self, a: Sets, b: Sets) -> Sets:
        """Return the union of two broadcast arrays of sets, elementwise."""
        a, b = np.broadcast_arrays(a, b)
        out = np.array(np.maximum(a, b))
        both = (a != b) & (np.minimum(a, b) >= FIRST)
        if not both.any():
            return out
        high = out[both]
        low = np.minimum(a[both], b[both])
        codes, places = np.unique(low * self.count + high, return_inverse=True)
        numbers = np.arange(codes.size)
        united = self.unite(
            np.concatenate([numbers, numbers]), np.concatenate(np.divmod(codes, self.count)), codes.size
        )
        out[both] = united[places]
        return out

    def along(self, sets: Sets, axes: tuple[int, ...], keepdims: bool = False) -> Sets:
        """Return the union over axes."""
        kept = [d for d in range(sets.ndim) if d not in axes]
        shape = tuple(1 if d in axes else n for d, n in enumerate(sets.shape) if keepdims or d not in axes)
        rows = (
            sets.transpose(*kept, *axes).reshape(int(np.prod([sets.shape[d] for d in kept], dtype=np.int64)), -1)
            if sets.size
            else sets
        )
        if not sets.size or not rows.any():
            return np.zeros(shape, np.int64)
        groups = np.repeat(np.arange(rows.shape[0]), rows.shape[1])
        return self.unite(groups, rows.ravel(), rows.shape[0]).reshape(shape)

    def everything(self, *several: Sets) -> int:
        """Return the union of all sets of all arrays."""
        used = np.unique(np.concatenate([np.unique(sets) for sets in several] or [np.zeros(1, np.int64)]))
        return int(self.unite(np.zeros(used.size, np.int64), used, 1)[0])

    def unite(self, groups: np.ndarray, sets: np.ndarray, count: int) -> np.ndarray:
        """Return the union of each group of sets: ``groups[k]``, from 0 to ``count - 1``, is the group of
        ``sets[k]``.
        """
        result = np.zeros(count, np.int64)
        result[groups[sets == VARYING]] = VARYING
        real = sets >= FIRST
        if not real.any():
            return result
        groups, sets = np.divmod(_distinct(groups[real] * self.count + sets[real]), self.count)
        heads = np.flatnonzero(np.concatenate([[True], groups[1:] != groups[:-1]]))
        # of the group, counting only those that are there
        number = np.cumsum(np.bincount(heads, minlength=groups.size)) - 1
        sizes = self._starts[sets + 1] - self._starts[sets]
        longest = np.maximum.reduceat(sizes * self.count + sets, heads) % self.count
        result[groups[heads]] = longest
        others = np.flatnonzero((sets != longest[number]) & (self._sizes(longest)[number] < self.columns))
        if others.size:
            lacking = np.zeros(heads.size, np.bool_)  # groups whose longest set does not hold the others
            for part in _parts(sizes[others], self.limit * 4, self._dense):
                chosen = others[part]
                members, owner = self._members(sets[chosen])
                held = self._holds(longest[number[chosen]][owner], members)
                lacking[number[chosen[owner[~held]]]] = True
            if lacking.any():
                wanted = lacking[number]
                local = (np.cumsum(lacking) - 1)[number[wanted]]
                result[groups[heads[lacking]]] = self._add(local, sets[wanted], int(lacking.sum()))
        return result

    def running(self, sets: Sets, axis: int) -> Sets:
        """Return the union of each element with those before it along an axis."""
        rows = np.moveaxis(sets, axis, -1)
        shape = rows.shape
        length = max(shape[-1], 1)
        flat = rows.ravel()
        out = np.maximum.accumulate(np.minimum(rows, VARYING), -1).ravel()
        real = np.flatnonzero(flat >= FIRST)
        if real.size:
            size = int((self._sizes(flat[real])).sum())
            if size > self.limit:
                raise self._dense()
            members, owner = self._members(flat[real])
            place = real[owner]
            lane = place // length
            order = np.lexsort((place, members, lane))
            lane, members, place = lane[order], members[order], place[order]
            first = np.concatenate([[True], (lane[1:] != lane[:-1]) | (members[1:] != members[:-1])])
            lane, members, place = lane[first], members[first], place[first]
            events = np.unique(place)  # where a lane's union grows
            event = np.searchsorted(events, place)
            last = np.searchsorted(events // length, lane, side="right")  # behind the lane's last event
            repeats = last - event
            if int(repeats.sum()) + self._used > self.limit:
                raise self._dense()
            owner = np.repeat(np.arange(event.size), repeats)
            numbers = event[owner] + _offsets(repeats)
            result = self._append(np.sort(numbers * self.columns + members[owner]), events.size)
            marks = np.zeros(flat.size, np.int64)
            marks[events] = np.arange(1, events.size + 1)
            seen = np.maximum.accumulate(marks.reshape(-1, length), -1)
            out = np.where(seen.ravel() > 0, result[np.maximum(seen.ravel() - 1, 0)], out)
        return np.ascontiguousarray(np.moveaxis(out.reshape(shape), -1, axis))

    # --- reading ----------------------------------------------------------------------------------

    def rows(self, sets: Sets) -> tuple[np.ndarray, np.ndarray]:
        """Return the members of each set in a flat array of sets, as CSR's ``indptr`` and ``indices``."""
        sizes = self._sizes(sets)
        if int(sizes.sum()) > self.limit:
            raise self._dense()
        return np.concatenate([[0], np.cumsum(sizes)]), self._members(sets)[0]

    def _sizes(self, sets: np.ndarray) -> np.ndarray:
        return self._starts[sets + 1] - self._starts[sets]

    def _members(self, sets: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return all members of a flat array of sets, and for each the index of its set in the array."""
        sizes = self._sizes(sets)
        owner = np.repeat(np.arange(sets.size), sizes)
        places = self._starts[sets][owner] + _offsets(sizes)
        return self._keys[places] - (sets * self.columns)[owner], owner

    def _holds(self, sets: np.ndarray, members: np.ndarray) -> np.ndarray:
        wanted = sets * self.columns + members
        places = np.searchsorted(self._keys[: self._used], wanted)
        return self._keys[np.minimum(places, self._used - 1)] == wanted

    # --- growing ----------------------------------------------------------------------------------

    def _add(self, groups: np.ndarray, sets: np.ndarray, count: int) -> np.ndarray:
        """Add the unions of each group's sets; groups are in order. Return their numbers."""
        parts = []
        for part in _parts(self._sizes(sets), self.limit * 4, self._dense):
            members, owner = self._members(sets[part])
            parts.append(_distinct(groups[part][owner] * self.columns + members))
            if sum(map(len, parts)) + self._used > self.limit:
                raise self._dense()
        return self._append(parts[0] if len(parts) == 1 else _distinct(np.concatenate(parts)), count)

    def _append(self, keys: np.ndarray, count: int) -> np.ndarray:
        """Add ``count`` sets given by sorted keys that number them from 0; return their numbers in the table."""
        need = self._used + keys.size
        if need > self._keys.size:
            self._keys = np.concatenate([self._keys[: self._used], np.empty(need, np.int64)])
        if self.count + count + 1 > self._starts.size:
            self._starts = np.concatenate([self._starts[: self.count + 1], np.empty(self.count + count, np.int64)])
        self._keys[self._used : need] = keys + self.count * self.columns
        ends = np.searchsorted(keys, np.arange(1, count + 1) * self.columns)
        self._starts[self.count + 1 : self.count + count + 1] = self._used + ends
        result = np.arange(self.count, self.count + count)
        self._used = need
        self.count += count
        return result

    def _dense(self) -> DensePatternError:
        return DensePatternError(
            f"the derivative is dense, or nearly: what the values depend on has more than {self.limit:,} entries for"
            f" {self.columns:,} inputs."
            " Compute a dense Jacobian or Hessian, or products with it (autograd.grad); or pass the pattern if you know"
            " that it is sparse"
        )


def _distinct(values: np.ndarray) -> np.ndarray:
    """Return the sorted distinct values."""
    values = np.sort(values)
    return values[np.concatenate([[True], values[1:] != values[:-1]])] if values.size else values


def _offsets(sizes: np.ndarray) -> np.ndarray:
    """Return 0, 1, ... for each size, concatenated."""
    ends = np.cumsum(sizes)
    return np.arange(ends[-1] if ends.size else 0) - np.repeat(ends - sizes, sizes)


def _parts(sizes: np.ndarray, limit: int, too_many: Any) -> list[slice]:
    """Yield slices that cover about ``limit`` members each."""
    ends = np.cumsum(sizes)
    if ends[-1] > limit:
        raise too_many()
    if ends[-1] <= _CHUNK:
        return [slice(0, sizes.size)]
    cuts = np.unique(np.searchsorted(ends, np.arange(_CHUNK, ends[-1], _CHUNK)))
    edges = [0, *(int(c) + 1 for c in cuts if c + 1 < sizes.size), sizes.size]
    return [slice(a, b) for a, b in zip(edges[:-1], edges[1:], strict=True) if a < b]
