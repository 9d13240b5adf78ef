"""``Size``: a shape; a tuple with PyTorch's repr and ``numel``."""

from __future__ import annotations

from collections.abc import Iterable
from math import prod
from typing import Any, SupportsIndex, overload

from . import naming


class Size(tuple[int, ...]):
    """A tensor's shape.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.ones(2, 3).shape, dt.ones(2, 3).shape.numel()
    (dualtape.Size([2, 3]), 6)
    """

    __slots__ = ()

    def __new__(cls, sizes: Iterable = ()) -> Size:
        return tuple.__new__(cls, [_whole(n, i) for i, n in enumerate(sizes)])

    def numel(self) -> int:
        """The number of elements of a tensor of this shape.

        Examples
        --------
        >>> import dualtape as dt
        >>> dt.Size([2, 3]).numel()
        6
        """
        return prod(self)

    def __repr__(self) -> str:
        return f"{naming.package}.Size({list(self)})"

    def __add__(self, other: tuple) -> Size:
        return Size(tuple.__add__(self, other)) if isinstance(other, tuple) else NotImplemented

    def __radd__(self, other: tuple) -> Size:
        return Size(tuple.__add__(other, self)) if isinstance(other, tuple) else NotImplemented

    def __mul__(self, n: int) -> Size:  # type: ignore[override]
        return Size(tuple.__mul__(self, n))

    __rmul__ = __mul__  # type: ignore[assignment]

    @overload
    def __getitem__(self, key: SupportsIndex) -> int: ...
    @overload
    def __getitem__(self, key: slice) -> Size: ...
    def __getitem__(self, key: Any) -> Any:
        item = tuple.__getitem__(self, key)
        return Size(item) if isinstance(key, slice) else item


def _whole(n: SupportsIndex, place: int) -> int:
    try:
        return n.__index__()
    except (AttributeError, TypeError):
        raise TypeError(f"Size() takes an iterable of 'int' (item {place} is {type(n).__name__!r})") from None
