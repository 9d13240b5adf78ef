"""``dualtape.utils.hooks``: the handle of a hook, under the name that PyTorch programs import."""

from __future__ import annotations

from typing import Any

from .._listing import listing
from ..autograd.hooks import RemovableHandle as RemovableHandle


def __getattr__(name: str) -> Any:
    if name == "BackwardHook":  # of modules, which are read on demand
        from ..nn import modules

        return modules.module.BackwardHook
    raise AttributeError(f"module 'dualtape.utils.hooks' has no attribute {name!r}")


__dir__ = listing(__name__)
