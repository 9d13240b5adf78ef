"""``_foreach_add`` and the other ``_foreach`` functions: an op on each tensor of a list, as third-party optimizers call
them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .._tensor.tensor import Tensor
from .dispatch import FUNCTIONS
from .table import TABLE

_OPS = frozenset(
    """
    abs acos add addcdiv addcmul asin atan ceil clamp_max clamp_min clone copy cos cosh div erf erfc exp expm1 floor
    frac lerp lgamma log log10 log1p log2 max maximum minimum mm mul neg norm pow powsum reciprocal round rsqrt
    sigmoid sign sin sinh sqrt sub tan tanh trunc zero
""".split()
)
_NO_VALUE = frozenset({"copy", "zero"})  # in place only


def foreach(name: str) -> Callable[..., Any] | None:
    """Return the function ``_foreach_...`` of this name; None if there is none."""
    word = name.removeprefix("_foreach_")
    op, inplace = (word[:-1], True) if word.endswith("_") else (word, False)
    if op not in _OPS or op in _NO_VALUE and not inplace or op in ("max", "mm", "norm", "powsum", "clone") and inplace:
        return None

    def each(self: Any, *args: Any, **kwargs: Any) -> Any:
        first = self if isinstance(self, (list, tuple)) else args[0] if op == "pow" and args else self
        if not isinstance(first, (list, tuple)) or not all(isinstance(t, Tensor) for t in first):
            raise TypeError(f"{name}: expected a list of tensors, got {type(first).__name__}")
        count = len(first)
        if not count:
            raise RuntimeError(f"{name}: Tensor list must have at least one tensor.")
        for given in (self, *args):
            if isinstance(given, (list, tuple)) and len(given) != count:
                raise RuntimeError(f"{name}: lists must have the same length, got {count} and {len(given)}")
        function = _function(op, inplace)

        def one(value: Any, k: int) -> Any:
            return value[k] if isinstance(value, (list, tuple)) else value

        results = [function(one(self, k), *(one(a, k) for a in args), **kwargs) for k in range(count)]
        return self if inplace else tuple(results)

    each.__name__ = each.__qualname__ = name
    each.__doc__ = f"``{word}`` on each tensor of a list."
    return each


def _function(op: str, inplace: bool) -> Callable[..., Any]:
    if op in ("addcmul", "addcdiv"):
        name = op + ("_" if inplace else "")
        return lambda x, a, b, value=1, **more: getattr(x, name)(a, b, value=value, **more)
    if op == "norm":
        return lambda x, ord=2, dtype=None: TABLE["linalg_vector_norm"].function(x, ord, dtype=dtype)
    if op == "powsum":
        return lambda x, ord=2, dtype=None: TABLE["linalg_vector_norm"].function(x, ord, dtype=dtype) ** ord
    if op == "pow" and not inplace:
        return FUNCTIONS["pow"]
    name = {"maximum": "clamp_min", "minimum": "clamp_max"}.get(op, op) + ("_" if inplace else "")
    return lambda x, *args, **kwargs: getattr(x, name)(*args, **kwargs)
