"""The Kullback-Leibler divergence between two distributions: a table of pairs of families."""

from __future__ import annotations

from . import between as _between
from . import within as _within
from .registry import _KL_MEMOIZE as _KL_MEMOIZE
from .registry import _KL_REGISTRY as _KL_REGISTRY
from .registry import kl_divergence as kl_divergence
from .registry import register_kl as register_kl

__all__ = ["register_kl", "kl_divergence"]
