"""Layers that take the shapes of their parameters from their first input."""

from __future__ import annotations

from typing import Any

from ..parameter import is_lazy

__all__ = ["LazyModuleMixin"]


class LazyModuleMixin:
    """Mixin before a Module: its parameters may be uninitialised until the first call, which calls
    ``initialize_parameters`` with its arguments; the module then becomes one of ``cls_to_become``.

    Examples
    --------
    >>> import dualtape as dt
    >>> from dualtape.nn.modules.lazy import LazyModuleMixin
    >>> class Scale(LazyModuleMixin, dt.nn.Module):
    ...     def __init__(self):
    ...         super().__init__()
    ...         self.factors = dt.nn.UninitializedParameter()
    ...     def initialize_parameters(self, x):
    ...         self.factors.materialize(x.shape[-1:])
    ...         dt.nn.init.ones_(self.factors)
    ...     def forward(self, x):
    ...         return self.factors * x
    >>> Scale()(dt.ones(2)).shape
    dualtape.Size([2])
    """

    cls_to_become: type | None = None
    _parameters: dict
    _buffers: dict

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._load_hook = self._register_load_state_dict_pre_hook(self._lazy_load_hook)  # type: ignore[attr-defined]
        self._initialize_hook = self.register_forward_pre_hook(self._infer_parameters, with_kwargs=True)  # type: ignore[attr-defined]

    def _save_to_state_dict(self, destination: dict, prefix: str, keep_vars: bool) -> None:
        for name, tensor in self._dt_persistent().items():  # type: ignore[attr-defined]
            destination[prefix + name] = tensor if keep_vars or is_lazy(tensor) else tensor.detach()

    def _lazy_load_hook(self, state_dict: dict, prefix: str, *others: Any) -> None:
        """Take the shapes from the tensors that are loaded."""
        for name, tensor in (*self._parameters.items(), *self._buffers.items()):
            new = state_dict.get(prefix + name)
            if is_lazy(tensor) and new is not None and not is_lazy(new):
                tensor.materialize(new.shape)

    def initialize_parameters(self, *args: Any, **kwargs: Any) -> None:
        """Initialise the parameters in the shapes that the arguments of the first call require."""
        raise NotImplementedError(
            f"{type(self).__name__} must define initialize_parameters, which gives its parameters their shapes"
        )

    def has_uninitialized_params(self) -> bool:
        """Return whether there are parameters or buffers without a shape."""
        return any(is_lazy(tensor) for tensor in (*self._parameters.values(), *self._buffers.values()))

    def _infer_parameters(self, module: Any, args: tuple, kwargs: dict | None = None) -> None:
        """Initialise the parameters, and change the class to ``cls_to_become``."""
        module.initialize_parameters(*args, **(kwargs or {}))
        if module.has_uninitialized_params():
            raise RuntimeError(
                f"{type(module).__name__} has not been fully initialized: its initialize_parameters left some without a"
                " shape"
            )
        for name in ("_initialize_hook", "_load_hook"):
            module.__dict__.pop(name).remove()
        module.__class__ = module.cls_to_become or type(module)
