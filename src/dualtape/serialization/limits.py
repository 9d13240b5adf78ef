"""Checks of a file's contents before they are used: spans of memory, names of attributes, amounts of work.

All arithmetic on numbers from a file is done here, in Python's integers, which do not overflow.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from .._tensor.device import device, layout
from .._tensor.dtypes import dtype
from .._tensor.tensor import Tensor
from .source import FileFormatError

MOST_DIMENSIONS = 64
_MOST_EQUAL_HASHES = 1000
_FREE_NODES = 1_000_000
_FREE_BYTES = 1 << 26
# what a key may be, or hold, beside numbers, strings and tuples; a tensor's hash is its identity
_KEYS = (float, complex, Tensor, dtype, device, layout, range, type(Ellipsis), np.generic)


def short(value: object, limit: int = 80) -> str:
    """Return a description of a value from a file in at most about ``limit`` characters, in bounded time.

    Unlike ``repr``, it looks at no more of the value than it shows: a tuple that holds itself twice, forty levels
    deep, has a representation of a terabyte.
    """
    if value is None or isinstance(value, (bool, float, complex)):
        return repr(value)
    if isinstance(value, int):
        return repr(value) if value.bit_length() <= 256 else f"an int of {value.bit_length()} bits"
    if isinstance(value, (str, bytes, bytearray)):
        return repr(value) if len(value) <= limit else f"{value[:limit]!r}..."
    if type(value) in (list, tuple):
        items: Sequence[Any] = value  # type: ignore[assignment]
        inside = [f"a {type(i).__name__}" if isinstance(i, (list, tuple, dict)) else short(i, 20) for i in items[:5]]
        text = ", ".join(inside) + (", ..." if len(items) > 5 else "")
        return f"[{text}]" if isinstance(value, list) else f"({text})"
    if isinstance(value, Exception):
        text = str(value)
        return f"{type(value).__name__}: {text if len(text) <= 200 else text[:200] + '...'}"
    return f"a {type(value).__name__}"


def check_sizes(what: str, sizes: object) -> None:
    """Raise unless ``sizes`` is a list or tuple of at most 64 nonnegative ints."""
    if not isinstance(sizes, (list, tuple)) or len(sizes) > MOST_DIMENSIONS:
        raise FileFormatError(
            f"{what} must be a list of at most {MOST_DIMENSIONS} sizes, got"
            f" {f'{len(sizes)} of them' if isinstance(sizes, (list, tuple)) else short(sizes)}"
        )
    if not all(type(n) is int and n >= 0 for n in sizes):
        raise FileFormatError(f"{what} must be ints of at least 0, got {short(sizes)}")


def check_span(what: str, shape: object, steps: object, start: object, unit: int, available: int) -> None:
    """Raise unless every element of a strided array lies inside its memory.

    Parameters
    ----------
    what : str
        What the array is, for the error.
    shape, steps : list or tuple of int
        From the file: sizes and strides; strides may be negative.
    start : int
        From the file: where the first element begins.
    unit : int
        The size of an element, in the unit of `steps`, `start` and `available` (1 where those count elements).
    available : int
        The size of the memory.
    """
    check_sizes(f"{what}: its shape", shape)
    if not isinstance(steps, (list, tuple)) or len(steps) != len(shape):  # type: ignore[arg-type]
        raise FileFormatError(f"{what}: expected one stride for each size {short(shape)}, got {short(steps)}")
    if type(start) is not int or start < 0 or not all(type(step) is int for step in steps):
        raise FileFormatError(f"{what}: its start and strides must be ints, got {short(start)} and {short(steps)}")
    if 0 in shape:  # type: ignore[operator]
        if start > available:
            raise FileFormatError(f"{what}: begins at {short(start)}, where the memory ends at {available}")
        return
    reaches = [(n - 1) * step for n, step in zip(shape, steps, strict=True)]  # type: ignore[call-overload]
    lowest = start + sum(reach for reach in reaches if reach < 0)
    end = start + sum(reach for reach in reaches if reach > 0) + unit
    if lowest < 0 or end > available:
        raise FileFormatError(
            f"{what}: of shape {short(shape)} and strides {short(steps)} from {short(start)} covers {short(lowest)} to"
            f" {short(end)}, and lies outside of its memory of {available}"
        )


def strided_over(
    what: str, memory: np.ndarray, element: np.dtype, shape: Sequence[int], start: int, steps: Sequence[int]
) -> np.ndarray:
    """Return an array over the bytes of ``memory``, at positions given by a file.

    Parameters
    ----------
    what : str
        What the array is, for errors.
    memory : array
        Contiguous.
    element : numpy.dtype
    shape, start, steps
        From the file: the sizes, the first byte, the strides in bytes.
    """
    check_span(what, shape, steps, start, element.itemsize, memory.nbytes)
    buffer: Any = memory.data
    if 0 in shape:
        # NumPy takes a buffer of no bytes for no buffer: the array gets a fresh one, in which it has no element
        buffer, start = bytearray(element.itemsize), 0
    try:
        return np.ndarray(tuple(shape), element, buffer, start, tuple(steps))
    except (ValueError, OverflowError) as error:  # sizes or strides beyond 64 bits
        raise FileFormatError(f"{what}: of shape {short(shape)} and strides {short(steps)}: {error}") from None


def set_attributes(target: Any, attributes: object) -> None:
    """Set the attributes that a file has for an object; raise if one would shadow a method of its class."""
    if not isinstance(attributes, dict) or not all(isinstance(name, str) for name in attributes):
        raise FileFormatError(
            f"the attributes of a {type(target).__name__} must be a dict of names, got {short(attributes)}"
        )
    for name in attributes:
        check_attribute(type(target), name)
    vars(target).update(attributes)


def check_attribute(kind: type, name: str) -> None:
    """Raise if an instance attribute of this name would shadow one of the class."""
    if hasattr(kind, name) or name.startswith("__"):
        raise FileFormatError(f"an attribute {short(name)} of a {kind.__name__} would hide what its class has there")


class Budget:
    """Limits on what a reader builds, in proportion to the size of its file.

    A few bytes of a file can ask for a copy of something large again and again, or for a key whose hash takes as long
    as the number of its paths. Each such step is charged here first.

    Parameters
    ----------
    instructions : int
        The number of bytes of the structure or pickle: limits the elements that are copied or hashed.
    file : int
        The number of bytes of the file: limits the bytes of arrays that are copied.
    """

    def __init__(self, instructions: int, file: int) -> None:
        self._nodes = _FREE_NODES + 16 * instructions
        self._bytes = _FREE_BYTES + 4 * file
        self._hashes: dict[
            int, tuple[object, Counter]
        ] = {}  # of large containers, which it keeps alive: ids stay unique

    def elements(self, count: int) -> None:
        """Charge for elements that are copied or traversed."""
        self._nodes -= count
        if self._nodes < 0:
            raise FileFormatError("it builds far more than its own size: refused")

    def copied(self, nbytes: int) -> None:
        """Charge for the bytes of an array that is copied."""
        self._bytes -= nbytes
        if self._bytes < 0:
            raise FileFormatError("it asks for copies of arrays far larger than itself: refused")

    def keys(self, container: dict | set | frozenset, keys: Iterable[object]) -> None:
        """Check keys before they are put into a container: hashing is bounded, and few have the same hash.

        A dict compares a new key with each one of the same hash, so that many of them take quadratic time. Hashes of
        strings are different in each process, and need no check.
        """
        keys = list(keys)
        for key in keys:
            self._key(key)
        if len(container) + len(keys) <= _MOST_EQUAL_HASHES:
            return
        known = self._hashes.get(id(container))
        if known is None:
            known = self._hashes[id(container)] = container, Counter(map(hash, container))
        counts = known[1]
        for key in keys:
            if not isinstance(key, (str, bytes)):
                found = hash(key)
                counts[found] += 1
                if counts[found] > _MOST_EQUAL_HASHES:
                    raise FileFormatError(f"more than {_MOST_EQUAL_HASHES} keys of a container have the same hash")

    def _key(self, key: object) -> None:
        """Check a key before it is hashed, by a traversal of its tuples that charges for each element."""
        pending = [key]
        while pending:
            item = pending.pop()
            if isinstance(item, (tuple, frozenset)):
                self.elements(1 + len(item))
                pending.extend(item)
            elif isinstance(item, (str, bytes)):
                self.elements(1 + len(item) // 64)
            elif isinstance(item, int):
                self.elements(1 + item.bit_length() // 64)
            elif item is None or isinstance(item, _KEYS):
                self.elements(1)
            else:
                raise FileFormatError(f"a {type(item).__name__} as a key, or in a set: not hashable, or not plain data")
