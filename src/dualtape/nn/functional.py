"""The functions of ``torch.nn.functional``: activations, layers, pools, norms, losses; declared in
:mod:`dualtape.ops`.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from ..autograd.underived import refuse_history
from ..ops import FUNCTIONS, namespace
from ..ops.dispatch import call_inplace
from ..ops.table import TABLE
from ..overrides.watching import MISS, overridable, watching

_ALSO_IN_PLACE = (
    "relu", "relu6", "elu", "selu", "celu", "leaky_relu", "silu", "mish", "hardtanh", "hardswish", "hardsigmoid",
    "threshold",
)  # fmt: skip
_WEIGHTED = {
    "binary_cross_entropy": ("weight",),
    "binary_cross_entropy_with_logits": ("weight", "pos_weight"),
    "nll_loss": ("weight",),
}


_FUNCTIONS = namespace("nn.functional")
globals().update(_FUNCTIONS)


def _with_inplace(name: str) -> Callable:
    """The function of an activation that takes ``inplace=`` as its last argument, as PyTorch's does."""
    row = TABLE[name]
    count = len(row.params) - 1

    def function(input: Any, *args: Any, inplace: bool = False, **kwargs: Any) -> Any:
        if len(args) > count:
            *args, inplace = args  # type: ignore[assignment]
        if inplace and watching:
            from ..overrides.subclass import intercept

            answer = intercept(function, (input, *args), {**kwargs, "inplace": True})
            if answer is not MISS:
                return answer
        return call_inplace(row, (input, *args), kwargs) if inplace else row.function(input, *args, **kwargs)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = row.doc
    return function


def _with_constants(name: str, *constants: str) -> Callable:
    """The function of a loss, which is not differentiable with respect to its weights, and says so."""
    row = TABLE[name]
    places = [(argument, row.params.index(argument) - 2) for argument in constants]

    def function(input: Any, target: Any, *args: Any, **kwargs: Any) -> Any:
        if args or kwargs:
            for argument, place in places:
                refuse_history(name, **{argument: args[place] if place < len(args) else kwargs.get(argument)})
        return row.function(input, target, *args, **kwargs)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = row.doc
    return function


globals().update({name: _with_inplace(name) for name in _ALSO_IN_PLACE})
globals().update({name: _with_constants(name, *constants) for name, constants in _WEIGHTED.items()})


def _implicit(dim: int | None, ndim: int) -> int:
    return dim if dim is not None else 0 if ndim in (0, 1, 3) else 1


@partial(overridable, composite="softmax")
def softmax(input: Any, dim: int | None = None, _stacklevel: int = 3, dtype: Any = None) -> Any:
    """Exponentials along ``dim``, divided by their sum.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.nn.functional.softmax(dt.zeros(2), dim=0)
    tensor([0.5000, 0.5000])
    """
    return FUNCTIONS["softmax"](input, _implicit(dim, input.ndim), dtype=dtype)


@partial(overridable, composite="log_softmax")
def log_softmax(input: Any, dim: int | None = None, _stacklevel: int = 3, dtype: Any = None) -> Any:
    """The logarithm of the softmax along ``dim``, without overflow.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.nn.functional.log_softmax(dt.zeros(2), dim=0)
    tensor([-0.6931, -0.6931])
    """
    return FUNCTIONS["log_softmax"](input, _implicit(dim, input.ndim), dtype=dtype)


@partial(overridable, composite="softmin")
def softmin(input: Any, dim: int | None = None, _stacklevel: int = 3, dtype: Any = None) -> Any:
    """The softmax of ``-input``.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.nn.functional.softmin(dt.zeros(2), dim=0)
    tensor([0.5000, 0.5000])
    """
    return softmax(-input, dim, dtype=dtype)


__all__ = sorted({*_FUNCTIONS, *_ALSO_IN_PLACE, *_WEIGHTED, "softmax", "log_softmax", "softmin"})
