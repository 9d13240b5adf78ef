"""Entering and leaving sharded tensors: linear ops, so that derivatives of every kind pass through them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ...arrays import as_array
from ..linear_ops import linear_op
from .array import Sharded, placed
from .spec import Code, Spec, spec_of

__all__ = ["gathered", "moved_to", "settled", "sharded"]

Codes = tuple[Code, ...]


def settled(codes: Codes) -> Codes:
    """Return the codes of a gradient: that of a pending sum is the same on each process."""
    return tuple([None if type(code) is str else code for code in codes])


def _to_sharded(x: Any, spec: Spec, back: Codes) -> Any:
    return Sharded(as_array(x), spec)


def _to_local(x: Any, spec: Spec, codes: Codes, back: Codes) -> Any:
    local = placed(as_array(x), spec.mesh, codes)
    return local.copy() if type(x) is Sharded and local is x.local else local


def _moved(x: Any, spec: Spec, codes: Codes) -> Any:
    x = as_array(x)
    return Sharded(placed(x, spec.mesh, codes), spec_of(spec.mesh, codes, x.shape))


# a local tensor, the spec of what it is a part of, and the codes of its gradient
sharded: Callable = linear_op("from_local", _to_sharded, lambda g, spec, back: gathered(g, spec, back, back))
# a sharded tensor, its spec, the codes under which its local part is wanted, and those of that part's gradient
gathered: Callable = linear_op(
    "to_local",
    _to_local,
    lambda g, spec, codes, back: moved_to(
        sharded(g, spec_of(spec.mesh, back, spec.shape), settled(back)), spec, settled(spec.codes)
    ),
)
# a sharded tensor, its spec, and the codes it is to have
moved_to: Callable = linear_op("redistribute", _moved, lambda g, spec, codes: moved_to(g, spec, settled(spec.codes)))
