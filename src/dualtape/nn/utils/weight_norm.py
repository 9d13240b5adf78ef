"""Weight normalisation in its deprecated form, by a hook before the forward; the present one is in
``parametrizations``.
"""

from __future__ import annotations

from typing import Any

from ...errors import warn
from ...ops import FUNCTIONS, load
from ..modules.module import Module
from ..parameter import Parameter, UninitializedParameter

__all__ = ["WeightNorm", "remove_weight_norm", "weight_norm"]

load("norm_except_dim")


def norm_except(weight: Any, dim: int) -> Any:
    """Return the norm over all dimensions but one; -1: over all."""
    return FUNCTIONS["norm_except_dim"](weight, 2, dim)


def rescaled(length: Any, direction: Any, dim: int) -> Any:
    """Return the direction, scaled to that length."""
    return direction * (length / norm_except(direction, dim))


class WeightNorm:
    """The hook that computes a weight from its length and direction.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.nn.utils.weight_norm.__name__
    'weight_norm'
    """

    def __init__(self, name: str, dim: int | None) -> None:
        self.name, self.dim = name, -1 if dim is None else dim

    def compute_weight(self, module: Module) -> Any:
        """Return the weight, computed from the module's tensors."""
        return rescaled(getattr(module, f"{self.name}_g"), getattr(module, f"{self.name}_v"), self.dim)

    @staticmethod
    def apply(module: Module, name: str, dim: int | None) -> WeightNorm:
        """Register the hook on a module."""
        if any(isinstance(hook, WeightNorm) and hook.name == name for hook in module._forward_pre_hooks.values()):
            raise RuntimeError(f"{name!r} has a weight_norm already: remove it first")
        hook = WeightNorm(name, dim)
        weight = getattr(module, name)
        if isinstance(weight, UninitializedParameter):
            raise ValueError(
                "The module passed to `WeightNorm` can't have uninitialized parameters: run a forward first"
            )
        del module._parameters[name]
        module.register_parameter(f"{name}_g", Parameter(norm_except(weight, hook.dim).data))
        module.register_parameter(f"{name}_v", Parameter(weight.data))
        setattr(module, name, hook.compute_weight(module))
        module.register_forward_pre_hook(hook)
        return hook

    def remove(self, module: Module) -> None:
        """Make the weight an ordinary parameter."""
        weight = self.compute_weight(module)
        delattr(module, self.name)
        del module._parameters[f"{self.name}_g"], module._parameters[f"{self.name}_v"]
        setattr(module, self.name, Parameter(weight.data))

    def __call__(self, module: Module, inputs: Any) -> None:
        setattr(module, self.name, self.compute_weight(module))


def weight_norm(module: Module, name: str = "weight", dim: int | None = 0) -> Module:
    """Make a weight the product of a length ``weight_g`` and a direction ``weight_v``, which are learned separately.

    The newer form is :func:`dualtape.nn.utils.parametrizations.weight_norm`.

    Examples
    --------
    >>> import warnings, dualtape as dt
    >>> with warnings.catch_warnings(action="ignore"):
    ...     layer = dt.nn.utils.weight_norm(dt.nn.Linear(4, 2))
    >>> layer.weight_g.shape, layer.weight_v.shape
    (dualtape.Size([2, 1]), dualtape.Size([2, 4]))
    """
    warn(
        "`nn.utils.weight_norm` is deprecated in favor of `nn.utils.parametrizations.weight_norm`.",
        FutureWarning,
    )
    WeightNorm.apply(module, name, dim)
    return module


def remove_weight_norm(module: Module, name: str = "weight") -> Module:
    """Make a weight that :func:`weight_norm` has split an ordinary one.

    Examples
    --------
    >>> import warnings, dualtape as dt
    >>> with warnings.catch_warnings(action="ignore"):
    ...     layer = dt.nn.utils.weight_norm(dt.nn.Linear(4, 2))
    >>> [name for name, _ in dt.nn.utils.remove_weight_norm(layer).named_parameters()]
    ['bias', 'weight']
    """
    for key, hook in module._forward_pre_hooks.items():
        if isinstance(hook, WeightNorm) and hook.name == name:
            hook.remove(module)
            del module._forward_pre_hooks[key]
            return module
    raise ValueError(f"{name!r} of {module} has no weight_norm to remove")
