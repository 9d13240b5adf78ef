"""``dualtape.return_types``: the classes of results that have names, as ``return_types.max`` of ``x.max(dim=0)``."""

from __future__ import annotations

from typing import Any

from . import errors
from .ops import FUNCTIONS, load_all
from .ops.table import TABLE, ResultTuple


def _classes() -> dict[str, type]:
    load_all()
    inner = {name for name in TABLE if name not in FUNCTIONS and not name.startswith("linalg_")}
    return {kind.__name__: kind for kind in ResultTuple.__subclasses__() if kind.__name__ not in inner}


def __getattr__(name: str) -> Any:
    if name == "all_return_types":
        return list(_classes().values())
    found = _classes()
    if name.startswith("__") or name not in found:
        raise errors.missing(__name__, name, found)
    return found[name]


def __dir__() -> list[str]:
    return sorted(["all_return_types", *_classes()])
