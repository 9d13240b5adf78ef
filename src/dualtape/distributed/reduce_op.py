"""Reductions over processes: PyTorch's ``ReduceOp``."""

from __future__ import annotations

from enum import IntEnum
from typing import Any

__all__ = ["ReduceOp"]


class RedOpType(IntEnum):
    """The kinds of reductions."""

    SUM, AVG, PRODUCT, MIN, MAX, BAND, BOR, BXOR, PREMUL_SUM, UNUSED = range(10)

    def __str__(self) -> str:
        return f"RedOpType.{self.name}"


class ReduceOp:
    """A reduction; its kinds are attributes: ``ReduceOp.SUM``, ``AVG``, ``PRODUCT``, ``MIN``, ``MAX``, ``BAND``,
    ``BOR``, ``BXOR``.

    Examples
    --------
    >>> from dualtape.distributed import ReduceOp
    >>> ReduceOp.MAX
    <RedOpType.MAX: 4>
    """

    RedOpType: Any = RedOpType
    SUM, AVG, PRODUCT, MIN, MAX = RedOpType.SUM, RedOpType.AVG, RedOpType.PRODUCT, RedOpType.MIN, RedOpType.MAX
    BAND, BOR, BXOR, PREMUL_SUM = RedOpType.BAND, RedOpType.BOR, RedOpType.BXOR, RedOpType.PREMUL_SUM

    __slots__ = ("op", "factor")

    def __init__(self, op: RedOpType, factor: Any = None) -> None:
        self.op = RedOpType(op)
        self.factor = factor

    def __eq__(self, other: object) -> bool:
        if isinstance(other, ReduceOp):
            return self.op == other.op and self.factor == other.factor
        return self.factor is None and self.op == other

    def __hash__(self) -> int:
        return hash(self.op)

    def __repr__(self) -> str:
        return f"<{self.op}>" if self.factor is None else f"<{self.op} of {self.factor} times the values>"


def _make_nccl_premul_sum(factor: Any) -> ReduceOp:
    """Return the sum of each process's values times ``factor``."""
    return ReduceOp(RedOpType.PREMUL_SUM, factor)


def kind_of(name: str, op: Any, dtype: Any) -> tuple[RedOpType, Any]:
    """Return the kind of a reduction and its factor; raise if values of ``dtype`` cannot be reduced by it."""
    factor = None
    if isinstance(op, ReduceOp):
        op, factor = op.op, op.factor
    if type(op) is not RedOpType or op is RedOpType.UNUSED:
        raise TypeError(f"{name}: op must be one of ReduceOp's (ReduceOp.SUM, ...), got {op!r}")
    if op is RedOpType.PREMUL_SUM and factor is None:
        raise ValueError(f"{name}: PREMUL_SUM needs its factor")
    refused = {"c": (RedOpType.MIN, RedOpType.MAX), "b": (RedOpType.AVG, RedOpType.PREMUL_SUM)}.get(dtype.kind, ())
    if dtype.kind in "fc":
        refused = (*refused, RedOpType.BAND, RedOpType.BOR, RedOpType.BXOR)
    if op in refused:
        raise ValueError(f"{name} does not support {op} on tensors of {dtype.name}")
    return op, factor
