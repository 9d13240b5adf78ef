"""What runs while the shapes of an op's results are asked for: ``get_ctx`` and the context of a fake."""

from __future__ import annotations

from collections.abc import Callable
from contextvars import ContextVar
from typing import Any

__all__ = ["FakeImplCtx", "get_ctx", "in_fake"]


class FakeImplCtx:
    """What a fake may ask for: a size that only the values could tell."""

    def __init__(self, op: str) -> None:
        self.op = op
        # Whether a size was asked for, so that the sizes of the results mean nothing.
        self.dynamic = False

    def new_dynamic_size(self, *, min: int = 0, max: int | None = None) -> int:
        """Return a stand-in for a size that depends on values: the least that it may be, and one at least."""
        if not isinstance(min, int) or not isinstance(max, (int, type(None))):
            raise ValueError(
                f"ctx.new_dynamic_size(min={min}, max={max}): expected min and max to be statically known ints"
            )
        if min < 0:
            raise ValueError(f"ctx.new_dynamic_size(min={min}, ...): expected min to be greater than or equal to 0")
        self.dynamic = True
        return min or 1

    create_unbacked_symint = new_dynamic_size


_active: ContextVar[FakeImplCtx | None] = ContextVar("_active", default=None)


def get_ctx() -> FakeImplCtx | None:
    """Return the context of the fake that runs now; None outside one.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.library.get_ctx() is None
    True
    """
    return _active.get()


def in_fake(op: str, fake: Callable, args: tuple, kwargs: dict[str, Any]) -> tuple[Any, FakeImplCtx]:
    """Return what a fake returns, and the context that it ran in."""
    ctx = FakeImplCtx(op)
    token = _active.set(ctx)
    try:
        return fake(*args, **kwargs), ctx
    finally:
        _active.reset(token)
