"""PyTorch's place of ``replace_all_batch_norm_modules_``."""

from __future__ import annotations

from ..func import replace_all_batch_norm_modules_

__all__ = ["replace_all_batch_norm_modules_"]
