"""Creating modules without initialising their parameters."""

from __future__ import annotations

import inspect
from typing import Any

from ..modules.module import Module


def skip_init(module_cls: Any, *args: Any, **kwargs: Any) -> Any:
    """A module whose parameters have arbitrary values, to be loaded or filled later.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.nn.utils.skip_init(dt.nn.Linear, 2, 3)
    Linear(in_features=2, out_features=3, bias=True)
    """
    if not isinstance(module_cls, type):
        raise TypeError(f"Expected a class of modules; got {module_cls!r}")
    if not issubclass(module_cls, Module):
        raise RuntimeError(f"Expected a Module; got {module_cls}")
    if "device" not in inspect.signature(module_cls).parameters:
        raise RuntimeError(f"Module must support a 'device' arg to skip initialization: {module_cls.__name__} has none")
    device = kwargs.pop("device", "cpu")
    return module_cls(*args, **kwargs).to_empty(device=device)
