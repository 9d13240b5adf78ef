"""``Size``: a shape, a tuple that prints and counts as PyTorch's does."""

from __future__ import annotations

from math import prod


class Size(tuple):
    """A tensor's shape.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.ones(2, 3).shape, dt.ones(2, 3).shape.numel()
    (dualtape.Size([2, 3]), 6)
    """

    __slots__ = ()

    def numel(self) -> int:
        """The number of elements of a tensor of this shape."""
        return prod(self)

    def __repr__(self) -> str:
        return f"dualtape.Size({list(self)})"

    def __add__(self, other: tuple) -> Size:  # type: ignore[override]
        return Size(tuple(self) + tuple(other))

    def __radd__(self, other: tuple) -> Size:
        return Size(tuple(other) + tuple(self))

    def __mul__(self, n: int) -> Size:  # type: ignore[override]
        return Size(tuple.__mul__(self, n))

    def __getitem__(self, key):  # type: ignore[no-untyped-def, override]
        item = tuple.__getitem__(self, key)
        return Size(item) if isinstance(key, slice) else item
