"""What ``dir()`` of a public module lists: the names that are meant for users."""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import ModuleType

__all__ = ["listing"]


def listing(name: str) -> Callable[[], list[str]]:
    """Return the ``__dir__`` of the module ``name``: its public names, without what it imports for itself.

    These are the names in ``__all__``, or the module's own where there is none, and its public submodules.
    """

    def public_names() -> list[str]:
        module = sys.modules[name]
        found = set(getattr(module, "__all__", ()))
        for key, value in vars(module).items():
            if key.startswith("_"):
                continue
            if isinstance(value, ModuleType):
                if value.__name__ == f"{name}.{key}":
                    found.add(key)
            elif "__all__" not in vars(module) and _is_own(value):
                found.add(key)
        return sorted(found | {key for key in vars(module) if key in ("__all__", "__doc__", "__file__", "__name__")})

    return public_names


def _is_own(value: object) -> bool:
    """Return whether a value is the package's: not a class or function that another one defines."""
    where = getattr(value, "__module__", None)
    return not isinstance(where, str) or where.partition(".")[0] == __name__.partition(".")[0]
