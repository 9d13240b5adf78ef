"""Special functions under PyTorch's names: ``dualtape.special.gammaln`` and so on, declared in :mod:`dualtape.ops`."""

from __future__ import annotations

from ._listing import listing
from .ops import namespace

_FUNCTIONS = namespace("special")
globals().update(_FUNCTIONS)

__all__ = sorted(_FUNCTIONS)

__dir__ = listing(__name__)
