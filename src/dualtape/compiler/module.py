"""A compiled module: the given module, with its calls run by a program.

It behaves like that module: attributes, training mode, parameters, state. Only the names in its state dict begin with
``_orig_mod.``, as PyTorch's do; hooks may be registered on either.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..nn import Module


class OptimizedModule(Module):
    """The result of :func:`dualtape.compile` for a module.

    Examples
    --------
    >>> import dualtape as dt
    >>> layer = dt.compile(dt.nn.Linear(2, 3))
    >>> layer(dt.ones(1, 2)).shape, layer.in_features, list(layer.state_dict())
    (dualtape.Size([1, 3]), 2, ['_orig_mod.weight', '_orig_mod.bias'])
    """

    _orig_mod: Module

    def __init__(self, module: Module, compiled: Callable, again: Callable[[Module], OptimizedModule]) -> None:
        super().__init__()
        del self.__dict__["training"]
        self._modules["_orig_mod"] = module
        self.__dict__["_compiled"] = compiled
        self.__dict__["_again"] = again  # compiles another module as this one was

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """Run the module's forward by a program."""
        return self.__dict__["_compiled"](*args, **kwargs)

    @property
    def training(self) -> bool:  # type: ignore[override]
        """The training mode of the module."""
        return self._orig_mod.training

    def __getattr__(self, name: str) -> Any:
        module = self.__dict__["_modules"]["_orig_mod"]
        return module if name == "_orig_mod" else getattr(module, name)

    def __setattr__(self, name: str, value: Any) -> None:
        setattr(self._orig_mod, name, value)

    def __delattr__(self, name: str) -> None:
        delattr(self._orig_mod, name)

    def __len__(self) -> int:
        return len(self.__dict__["_modules"]["_orig_mod"])

    def __dir__(self) -> list[str]:
        return sorted({*super().__dir__(), *dir(self._orig_mod)})

    def __reduce__(self) -> Any:
        kept = {name: value for name, value in self.__dict__.items() if name not in ("_modules", "_compiled", "_again")}
        return self._again, (self._orig_mod,), kept
