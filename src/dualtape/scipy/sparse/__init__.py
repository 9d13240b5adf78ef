"""``scipy.sparse`` for tensors: its solvers. Its matrices are SciPy's own; sparse tensors are ``dualtape.sparse``."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from ..._listing import listing
from ...arrays.lazy import scipy_sparse as _sparse
from .._like import scipys


def __getattr__(name: str) -> Any:
    return import_module(".linalg", __name__) if name == "linalg" else scipys(_sparse, name, __name__)


__dir__ = listing(__name__)
