"""Placeholders for the names of PyTorch's that dualtape does not have: programs may import them and not use them.

A placeholder is no instance and no class of anything: ``isinstance(x, placeholder)`` is False. It may stand in an
annotation. Calling it, deriving a class from it, or asking it for an attribute raises :class:`LeftOutError`, which says
why it is left out. The list of PyTorch's modules and names is written by ``python -m tools.torch_names``.
"""

from __future__ import annotations

import fnmatch
import gzip
import re
from collections import Counter
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any, NoReturn, Union

__all__ = ["LeftOut", "LeftOutError", "is_module", "left_out_names", "placeholder", "reason", "used"]

_DATA = Path(__file__).parent / "data"
_NAMES = _DATA / "torch-names.txt.gz"
# The page of what is left out: in an installed package, and in a checkout.
_PAGES = (_DATA / "left-out.md", _DATA.parents[2] / "docs" / "left-out.md")
# Hardware that is not supported: questions after it have an answer.
_HARDWARE = ("xpu", "mps", "mtia", "hpu", "xla", "ipu", "maia")
_ANSWERS: dict[str, object] = {"is_available": False, "is_built": False, "is_initialized": False, "device_count": 0}

used: Counter[str] = Counter()  # placeholders that were used, with how often


class LeftOutError(NotImplementedError, AttributeError):
    """A name of PyTorch's that dualtape does not have was used."""


# --- the lists ------------------------------------------------------------------------------------


@cache
def _modules() -> dict[str, str]:
    """Return the names in each of PyTorch's modules, as the file has them: apart by spaces."""
    lines = gzip.decompress(_NAMES.read_bytes()).decode().splitlines()
    return {module: names for module, _, names in (line.partition(" ") for line in lines)}


@cache
def _names(module: str) -> frozenset[str]:
    return frozenset(_modules().get(module, "").split())


def is_module(name: str) -> bool:
    """Return whether PyTorch has a module of that name."""
    return name in _modules() and not name.endswith(":")


def left_out_names(module: str) -> list[str]:
    """Return the names in a module of PyTorch's, and the modules in it."""
    inside = [name.rpartition(".")[2] for name in _modules() if name.rpartition(".")[0] == module]
    return sorted({*(name.rstrip("!") for name in _names(module)), *inside})


@cache
def _reasons() -> dict[str, dict[str, str]]:
    """Return the reason for each pattern of names, by module, from the page that lists them; those of whole modules are
    under "Modules".
    """
    page = next((path for path in _PAGES if path.exists()), None)
    found: dict[str, dict[str, str]] = {}
    patterns, why = found.setdefault("", {}), ""
    for line in page.read_text(encoding="utf-8").splitlines() if page is not None else ():
        if line.startswith("## "):
            patterns = found.setdefault(line[3:].strip("` "), {})
        elif line.startswith(("- ", "  ")):
            if line.startswith("- "):
                why, _, line = line[2:].partition(": `")
                line = f"`{line}"
            for pattern in re.findall("`([^`]+)`", line):
                patterns.setdefault(pattern, why)
    return found


def reason(path: str) -> str:
    """Return why a name of PyTorch's, given with its module, is left out; an empty string if no page says."""
    module, _, name = path.rpartition(".")
    for pattern, why in _reasons().get(module, {}).items():
        if fnmatch.fnmatchcase(name, pattern):
            return why
    modules = _reasons().get("Modules", {})
    while path:
        for pattern, why in modules.items():
            if fnmatch.fnmatchcase(path, pattern):
                return why
        # The reason of a module is that of what is in it.
        path = path.rpartition(".")[0]
    return ""


# --- placeholders ---------------------------------------------------------------------------------


class LeftOut:
    """Placeholder of a name of PyTorch's."""

    def __init__(self, path: str) -> None:
        self.__module__, _, self.__name__ = path.rpartition(".")
        self.__qualname__ = self.__name__
        self.__doc__ = f"Placeholder: dualtape does not have {path}."

    def _refuse(self, what: str) -> NoReturn:
        path = f"{self.__module__}.{self.__name__}"
        used[path] += 1
        raise _error(path, what)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        self._refuse("was called")

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") and name.endswith("__"):
            raise AttributeError(name)
        path = f"{self.__module__}.{self.__name__}"
        # The overload of an operation, or a constant of a class of them, may be named like the whole.
        if path.startswith("torch.ops.") or name in _names(f"{path}:"):
            return LeftOut(f"{path}.{name}")
        self._refuse(f"was asked for {name!r}")

    def __mro_entries__(self, bases: tuple) -> tuple:
        self._refuse("was made the base of a class")

    def __instancecheck__(self, value: object) -> bool:
        return False

    def __subclasscheck__(self, kind: type) -> bool:
        return False

    # In annotations.

    def __getitem__(self, parameters: object) -> LeftOut:
        return self

    def __or__(self, other: Any) -> Any:
        return Union[self, other]  # noqa: UP007 - of what is no type

    def __ror__(self, other: Any) -> Any:
        return Union[other, self]  # noqa: UP007

    def __repr__(self) -> str:
        return f"<left out: {self.__module__}.{self.__name__}>"

    def __reduce__(self) -> tuple:
        return LeftOut, (f"{self.__module__}.{self.__name__}",)


def _error(path: str, what: str) -> LeftOutError:
    why = reason(path)
    return LeftOutError(
        f"{path} {what}, which dualtape does not have{f' ({why})' if why else ''}: take another way in the program, or"
        " run this part with PyTorch; docs/left-out.md lists what is not here"
    )


def _never_raised(path: str) -> type[Exception]:
    """Return an exception class in the place of one of PyTorch's: programs catch it, and nothing raises it."""
    module, _, name = path.rpartition(".")

    def refuse(self: Exception, *args: object) -> None:
        used[path] += 1
        raise _error(path, "was raised")

    members = {"__module__": module, "__doc__": f"Placeholder: nothing here raises {path}.", "__init__": refuse}
    return type(name, (Exception,), members)


def placeholder(path: str) -> Any:
    """Return what stands for a name of PyTorch's that is not here; None if PyTorch has no such name.

    Examples
    --------
    >>> from dualtape._placeholders import placeholder
    >>> tracer = placeholder("torch.jit._script.ScriptFunction")
    >>> isinstance(3, tracer)
    False
    >>> tracer()
    Traceback (most recent call last):
        ...
    dualtape._placeholders.LeftOutError: torch.jit._script.ScriptFunction was called, which dualtape does not have...
    """
    module, _, name = path.rpartition(".")
    if module.rpartition(".")[2] in _HARDWARE and name in _ANSWERS:
        return lambda: _ANSWERS[name]
    names = _names(module)
    if f"{name}!" in names:
        return _never_raised(path)
    return LeftOut(path) if name in names else None


def empty(name: str) -> ModuleType:
    """Return what is behind the door of a module that is not here: nothing."""
    why = reason(name)
    return ModuleType(name, f"PyTorch's {name}, which dualtape does not have{f': {why}' if why else ''}.")
