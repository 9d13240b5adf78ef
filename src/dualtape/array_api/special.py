"""SciPy's special functions with derivatives, which SciPy looks for in an array's namespace.

Others are computed by SciPy: from these, or on NumPy's arrays.
"""

from __future__ import annotations

from typing import Any

from ..scipy import special as _special

__all__ = dir(_special)  # noqa: PLE0605 - those of the other


def __getattr__(name: str) -> Any:
    if name in __all__:
        return getattr(_special, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return list(__all__)
