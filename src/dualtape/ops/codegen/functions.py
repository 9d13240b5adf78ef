"""The functions of an op as placeholders that are generated on the first call; until then the generator is not
imported.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .source import Code, lazily


def call(op: Any) -> Callable:
    """Return the function that users call."""
    return lazily(_write_call, op, op.name, op.name)


def _write_call(op: Any) -> Code:
    from .call import template

    return template(op)(op)


def operator_of(op: Any, name: str, other: Callable | None = None, kind: type | None = None) -> Callable:
    """Return the function of an elementwise op of two arguments as a Python operator: it returns NotImplemented for
    foreign types. ``other`` handles unusual cases. ``kind`` is the class of its results, Tensor by default; with it,
    ``other`` gets foreign types, too.
    """

    def write(op: Any) -> Code:
        from .call import pointwise

        return pointwise(op, True, other, kind)

    return lazily(write, op, name, f"{op.name}, as an operator")


def inplace(op: Any, name: str, as_operator: bool = False) -> Callable:
    """Return the in-place method; as an operator it returns NotImplemented for foreign types."""
    if as_operator:
        return lazily(_write_inplace_operator, op, name, f"{op.name}, as an in-place operator")
    return lazily(_write_inplace, op, name, f"{op.name}, in place")


def _write_inplace(op: Any) -> Code:
    from .inplace import write

    return write(op)


def _write_inplace_operator(op: Any) -> Code:
    from .inplace import write

    return write(op, "_operator_inplace")


def vjps(op: Any) -> dict[str, Callable]:
    """Return the backward functions of an op's nodes, for arrays and for tensors."""
    title = f"the backward of {op.name}"
    return {
        "_vjp": lazily(lambda row: _write_vjp(row, False), op, "_vjp", title),
        "_vjp_recorded": lazily(lambda row: _write_vjp(row, True), op, "_vjp_recorded", f"{title}, recorded"),
    }


def _write_vjp(op: Any, recorded: bool) -> Code:
    from .vjp import write

    return write(op, recorded)
