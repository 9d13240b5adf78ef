"""``dualtape.utils.hooks``: the handle that removes a hook, and hooks on the backward of modules."""

from __future__ import annotations

from ..autograd.hooks import RemovableHandle as RemovableHandle
from ..nn import modules as _modules

BackwardHook = _modules.module.BackwardHook

__all__ = ["BackwardHook", "RemovableHandle"]
