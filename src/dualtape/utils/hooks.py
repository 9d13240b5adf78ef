"""``dualtape.utils.hooks``: what registering a hook gives, under the name that PyTorch's users import it by."""

from __future__ import annotations

from ..autograd.hooks import RemovableHandle as RemovableHandle
