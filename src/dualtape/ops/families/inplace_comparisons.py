"""Comparison and logic in place: truth values, 0 or 1, written over the first tensor in its own dtype.

The out-of-place forms have no derivative, since their results have no gradient; these have one, which is zero, since
the old values are overwritten.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..dispatch import INPLACE_NAMES
from ..samples import edge, exact, mask, real
from ..table import BROADCASTING, COMMON, ELEMENTWISE, TABLE, camel, op
from .arithmetic import tensor_divisor

_COMPARED = (edge(exact([1.0, 2.0, 3.0]), exact([1.0, 3.0, 2.0])), edge(real(3, 4), real(4)), edge(real(3), 0.5))
_NAMES = {
    "eq": (), "ne": ("not_equal",), "lt": ("less",), "le": ("less_equal",), "gt": ("greater",),
    "ge": ("greater_equal",),
}  # fmt: skip


def _written(name: str, also: tuple = (), **row: Any) -> None:
    INPLACE_NAMES[f"set_{name}"] = f"{name}_"
    row.setdefault("node", f"{camel(name)}Backward0")
    op(f"set_{name}", TABLE[name].forward, public=False, method=False, inplace=True, also=(name, *also),
       torch_name=name, **row, doc=TABLE[name].doc)  # fmt: skip


for _name, _also in _NAMES.items():
    _node = _name.capitalize()
    _written(_name, _also, kind=BROADCASTING, promote=COMMON, samples=_COMPARED, complex=_name in ("eq", "ne"),
             node=(f"{_node}Backward0", f"{_node}Backward1"), variant=tensor_divisor,
             vjp=dict(x=lambda g: np.zeros_like(g), y=lambda g: np.zeros_like(g)))  # fmt: skip
for _name in ("logical_and", "logical_or", "logical_xor"):
    _written(_name, kind=BROADCASTING, scalars=False, samples=(edge(mask(3), mask(3)), edge(real(3), mask(3))),
             vjp=dict(x=lambda g: np.zeros_like(g), y=lambda g: np.zeros_like(g)))  # fmt: skip
_written("logical_not", kind=ELEMENTWISE, samples=(edge(mask(3)), edge(exact([0.0, 2.0]))),
         vjp=dict(x=lambda g: np.zeros_like(g)))  # fmt: skip
