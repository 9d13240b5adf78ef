"""The functions of ``torch.nn.functional``: activations, layers, pools, norms, losses; declared in
:mod:`dualtape.ops`.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

from .._listing import listing
from ..autograd.underived import refuse_history
from ..errors import warn
from ..ops import FUNCTIONS, namespace
from ..ops.dispatch import call_inplace
from ..ops.families.losses import reduction_of
from ..ops.table import COMPOSITES, TABLE
from ..overrides.active_overrides import MISS, active_overrides, overridable

_ALSO_IN_PLACE = (
    "relu",
    "relu6",
    "elu",
    "selu",
    "celu",
    "leaky_relu",
    "silu",
    "mish",
    "hardtanh",
    "hardswish",
    "hardsigmoid",
    "threshold",
)
# The arguments of a loss after input and target, in PyTorch's order; the old two mean what reduction says now.
_OLD = ("size_average", "reduce")
_LOSSES = {
    "mse_loss": (*_OLD, "reduction", "weight"),
    "l1_loss": (*_OLD, "reduction", "weight"),
    "huber_loss": ("reduction", "delta", "weight"),
    "smooth_l1_loss": (*_OLD, "reduction", "beta"),
    "kl_div": (*_OLD, "reduction", "log_target"),
    "cross_entropy": ("weight", "size_average", "ignore_index", "reduce", "reduction", "label_smoothing"),
    "nll_loss": ("weight", "size_average", "ignore_index", "reduce", "reduction"),
    "binary_cross_entropy": ("weight", *_OLD, "reduction"),
    "binary_cross_entropy_with_logits": ("weight", *_OLD, "reduction", "pos_weight"),
}
_BROADCAST = ("mse_loss", "l1_loss", "huber_loss", "smooth_l1_loss")
_CONSTANTS = {  # weights that have no gradient
    "binary_cross_entropy": ("weight",),
    "binary_cross_entropy_with_logits": ("weight", "pos_weight"),
    "nll_loss": ("weight",),
}

if TYPE_CHECKING:

    def __getattr__(name: str) -> Any: ...


_FUNCTIONS = namespace("nn.functional")
globals().update(_FUNCTIONS)


def _with_inplace(name: str) -> Callable:
    """Return the function of an activation that takes ``inplace=`` as its last argument, as PyTorch's does."""
    row = TABLE[name]
    count = len(row.params) - 1

    def function(input: Any, *args: Any, inplace: bool = False, **kwargs: Any) -> Any:
        if len(args) > count:
            *args, inplace = args  # type: ignore[assignment]
        if inplace and active_overrides:
            from ..overrides.subclass import intercept

            answer = intercept(function, (input, *args), {**kwargs, "inplace": True})
            if answer is not MISS:
                return answer
        return call_inplace(row, (input, *args), kwargs) if inplace else row.function(input, *args, **kwargs)

    parameters = [p for p in row.signature(out=False).parameters.values()]
    parameters.append(inspect.Parameter("inplace", inspect.Parameter.POSITIONAL_OR_KEYWORD, default=False))
    return _described(function, name, row.doc, parameters)


def _written(name: str) -> Callable:
    """Return the function that writes an activation into its argument, as ``relu_``."""
    row = TABLE[name]

    def function(input: Any, *args: Any, **kwargs: Any) -> Any:
        return call_inplace(row, (input, *args), kwargs)

    doc = f"""Write :func:`{name}` into its argument.

    Examples
    --------
    >>> import dualtape as dt
    >>> x = dt.tensor([2.0])
    >>> dt.nn.functional.{name}_(x{", 0.0, 1.0" if name == "threshold" else ""}) is x
    True
    """
    return _described(function, f"{name}_", doc, list(row.signature(out=False).parameters.values()))


def _loss(name: str, order: tuple[str, ...]) -> Callable:
    """Return the function of a loss with PyTorch's arguments: the deprecated ones of a reduction, and weights of each
    element.
    """
    inner = TABLE[name].function if name in TABLE else COMPOSITES[name].function
    shown = inspect.signature(inner).parameters
    weighs = "weight" in order and "weight" not in shown
    broadcasts = name in _BROADCAST

    @partial(overridable, composite=name)
    def function(input: Any, target: Any, *args: Any, **kwargs: Any) -> Any:
        if len(args) > len(order):
            raise TypeError(f"{name}() takes at most {len(order) + 2} arguments (input, target, {', '.join(order)})")
        given = dict(zip(order, args, strict=False))
        twice = given.keys() & kwargs.keys()
        if twice:
            raise TypeError(f"{name}() got multiple values for argument {min(twice)!r}")
        given.update(kwargs)
        old = given.pop("size_average", None), given.pop("reduce", None)
        if old != (None, None) or given.get("reduction") == "elementwise_mean":
            given["reduction"] = reduction_of(*old, "elementwise_mean")
        elif name == "kl_div" and given.get("reduction", "mean") == "mean":
            warn(
                "kl_div: reduction='mean' divides by the number of all elements, and not by that of the samples, as the"
                " definition of the divergence and reduction='batchmean' do; PyTorch announces that it will change"
            )
        for argument in _CONSTANTS.get(name, ()):
            refuse_history(name, **{argument: given.get(argument)})
        expanded = input, target
        if broadcasts and _shape(input) != _shape(target):
            warn(
                f"{name}: Using a target size ({list(target.shape)}) that is different to the input size"
                f" ({list(input.shape)}): both are broadcast, which is likely to give another loss than was meant"
            )
            expanded = FUNCTIONS["broadcast_tensors"](input, target)
        if weighs and given.get("weight") is not None:
            if given["weight"].shape != input.shape:
                sizes = f"{list(given['weight'].shape)} and {list(input.shape)}"
                raise ValueError(f"{name}: Weights and input must have the same size, got {sizes}")
            return _weighted(name, inner, *expanded, **given)
        given.pop("weight", None) if weighs else None
        return inner(*expanded, **given)

    parameters = [inspect.Parameter(p, inspect.Parameter.POSITIONAL_OR_KEYWORD) for p in ("input", "target")]
    for p in order:
        default = shown[p].default if p in shown else None
        parameters.append(inspect.Parameter(p, inspect.Parameter.POSITIONAL_OR_KEYWORD, default=default))
    return _described(function, name, inner.__doc__, parameters)


def _shape(x: Any) -> tuple:
    array = getattr(x, "_array", x)  # whose shape takes a third of the time that a tensor's does
    return array.shape


def _weighted(
    name: str, inner: Callable, input: Any, target: Any, weight: Any, reduction: str = "mean", **settings: Any
) -> Any:
    losses = inner(input, target, reduction="none", **settings) * weight
    # PyTorch's huber_loss divides by the number of elements, the others by their weight.
    if reduction == "mean":
        return losses.mean() if name == "huber_loss" else losses.sum() / weight.sum()
    return losses.sum() if reduction == "sum" else losses


def _described(function: Callable, name: str, doc: str | None, parameters: list) -> Callable:
    function.__name__ = function.__qualname__ = name
    function.__doc__ = doc
    function.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    return function


globals().update({name: _with_inplace(name) for name in _ALSO_IN_PLACE})
globals().update({name: _loss(name, order) for name, order in _LOSSES.items()})
_WRITTEN = {
    f"{name}_": _written(name) for name in ("relu", "celu", "elu", "hardtanh", "leaky_relu", "selu", "threshold")
}
globals().update(_WRITTEN)


@partial(overridable, composite="rrelu_")
def rrelu_(input: Any, lower: float = 1.0 / 8, upper: float = 1.0 / 3, training: bool = False) -> Any:
    """Write :func:`rrelu` into its argument.

    Examples
    --------
    >>> import dualtape as dt
    >>> x = dt.tensor([2.0])
    >>> dt.nn.functional.rrelu_(x) is x
    True
    """
    return _FUNCTIONS["rrelu"](input, lower, upper, training, True)


def _implicit(name: str, dim: int | None, ndim: int) -> int:
    if dim is not None:
        return dim
    chosen = 0 if ndim in (0, 1, 3) else 1
    warn(
        f"{name}: Implicit dimension choice has been deprecated: of {ndim} dimensions it is {chosen}; pass dim={chosen}"
        ", or the one that is meant"
    )
    return chosen


@partial(overridable, composite="softmax")
def softmax(input: Any, dim: int | None = None, _stacklevel: int = 3, dtype: Any = None) -> Any:
    """Exponentials along ``dim``, divided by their sum.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.nn.functional.softmax(dt.zeros(2), dim=0)
    tensor([0.5000, 0.5000])
    """
    return FUNCTIONS["softmax"](input, _implicit("softmax", dim, input.ndim), dtype=dtype)


@partial(overridable, composite="log_softmax")
def log_softmax(input: Any, dim: int | None = None, _stacklevel: int = 3, dtype: Any = None) -> Any:
    """The logarithm of the softmax along ``dim``, without overflow.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.nn.functional.log_softmax(dt.zeros(2), dim=0)
    tensor([-0.6931, -0.6931])
    """
    return FUNCTIONS["log_softmax"](input, _implicit("log_softmax", dim, input.ndim), dtype=dtype)


@partial(overridable, composite="softmin")
def softmin(input: Any, dim: int | None = None, _stacklevel: int = 3, dtype: Any = None) -> Any:
    """The softmax of ``-input``.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.nn.functional.softmin(dt.zeros(2), dim=0)
    tensor([0.5000, 0.5000])
    """
    return FUNCTIONS["softmax"](-input, _implicit("softmin", dim, input.ndim), dtype=dtype)


__all__ = sorted({*_FUNCTIONS, *_ALSO_IN_PLACE, *_LOSSES, *_WRITTEN, "rrelu_", "softmax", "log_softmax", "softmin"})

__dir__ = listing(__name__)
