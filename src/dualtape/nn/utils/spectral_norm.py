"""Spectral normalisation in its deprecated form, by a hook before the forward; the present one is in
``parametrizations``.
"""

from __future__ import annotations

from typing import Any

from ...modes import no_grad
from .. import functional as F
from ..modules.module import Module
from ..parameter import Parameter, UninitializedParameter
from .parametrizations import outputs_of

__all__ = ["SpectralNorm", "remove_spectral_norm", "spectral_norm"]


class SpectralNorm:
    """The hook that divides a weight by its largest singular value.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.nn.utils.spectral_norm.__name__
    'spectral_norm'
    """

    _version = 1

    def __init__(self, name: str = "weight", n_power_iterations: int = 1, dim: int = 0, eps: float = 1e-12) -> None:
        if n_power_iterations <= 0:
            raise ValueError(f"n_power_iterations must be 1 or more, got {n_power_iterations}")
        self.name, self.n_power_iterations, self.dim, self.eps = name, n_power_iterations, dim, eps

    def reshape_weight_to_matrix(self, weight: Any) -> Any:
        """Return the weight as a matrix of outputs by everything else."""
        return weight.movedim(self.dim, 0).flatten(1)

    def compute_weight(self, module: Module, do_power_iteration: bool) -> Any:
        """Return the weight, computed from the module's tensors."""
        weight, u, v = (getattr(module, self.name + suffix) for suffix in ("_orig", "_u", "_v"))
        matrix = self.reshape_weight_to_matrix(weight)
        if do_power_iteration:
            with no_grad():
                for _ in range(self.n_power_iterations):
                    v.copy_(F.normalize(matrix.t().mv(u), dim=0, eps=self.eps))
                    u.copy_(F.normalize(matrix.mv(v), dim=0, eps=self.eps))
                # clones: the buffers are written again before the backward of a second forward
                u, v = u.clone(), v.clone()
        return weight / u.dot(matrix.mv(v))

    @staticmethod
    def apply(module: Module, name: str, n_power_iterations: int, dim: int, eps: float) -> SpectralNorm:
        """Register the hook on a module."""
        if any(isinstance(hook, SpectralNorm) and hook.name == name for hook in module._forward_pre_hooks.values()):
            raise RuntimeError(f"{name!r} has a spectral_norm already: remove it first")
        hook = SpectralNorm(name, n_power_iterations, dim, eps)
        weight = module._parameters[name]
        if weight is None:
            raise ValueError(f"{name!r} is None, and a spectral_norm needs a tensor")
        if isinstance(weight, UninitializedParameter):
            raise ValueError(
                "The module passed to `SpectralNorm` can't have uninitialized parameters: run a forward first"
            )
        with no_grad():
            sizes = hook.reshape_weight_to_matrix(weight).shape
            u, v = (F.normalize(weight.new_empty(size).normal_(0, 1), dim=0, eps=eps) for size in sizes)
        delattr(module, name)
        module.register_parameter(f"{name}_orig", weight)
        setattr(module, name, weight.data)  # not a parameter: the hook sets it again
        module.register_buffer(f"{name}_u", u)
        module.register_buffer(f"{name}_v", v)
        module.register_forward_pre_hook(hook)
        module._register_state_dict_hook(hook._describe)
        return hook

    def _describe(self, module: Module, state_dict: Any, prefix: str, local_metadata: dict) -> None:
        local_metadata.setdefault("spectral_norm", {})[f"{self.name}.version"] = self._version

    def remove(self, module: Module) -> None:
        """Make the weight an ordinary parameter."""
        with no_grad():
            weight = self.compute_weight(module, do_power_iteration=False)
        for suffix in ("", "_u", "_v", "_orig"):
            delattr(module, self.name + suffix)
        module.register_parameter(self.name, Parameter(weight.detach()))

    def __call__(self, module: Module, inputs: Any) -> None:
        setattr(module, self.name, self.compute_weight(module, do_power_iteration=module.training))


def spectral_norm(
    module: Module, name: str = "weight", n_power_iterations: int = 1, eps: float = 1e-12, dim: int | None = None
) -> Module:
    """Divide a weight by its largest singular value, estimated by power iterations.

    The newer form is :func:`dualtape.nn.utils.parametrizations.spectral_norm`, which says what the arguments are.

    Examples
    --------
    >>> import dualtape as dt
    >>> layer = dt.nn.utils.spectral_norm(dt.nn.Linear(4, 2))
    >>> list(layer.state_dict())
    ['bias', 'weight_orig', 'weight_u', 'weight_v']
    """
    SpectralNorm.apply(module, name, n_power_iterations, outputs_of(module) if dim is None else dim, eps)
    return module


def remove_spectral_norm(module: Module, name: str = "weight") -> Module:
    """Make a weight that :func:`spectral_norm` divides an ordinary one.

    Examples
    --------
    >>> import dualtape as dt
    >>> layer = dt.nn.utils.remove_spectral_norm(dt.nn.utils.spectral_norm(dt.nn.Linear(4, 2)))
    >>> list(layer.state_dict())
    ['bias', 'weight']
    """
    for hooks in (module._forward_pre_hooks, module._state_dict_hooks):
        for key, hook in list(hooks.items()):
            owner = hook if isinstance(hook, SpectralNorm) else getattr(hook, "__self__", None)
            if isinstance(owner, SpectralNorm) and owner.name == name:
                if hooks is module._forward_pre_hooks:
                    owner.remove(module)
                del hooks[key]
    if name not in module._parameters:
        raise ValueError(f"{name!r} of {module} has no spectral_norm to remove")
    return module
