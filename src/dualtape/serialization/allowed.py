"""Classes and functions that ``load`` may call for a file, beside those of plain data: a list that users extend."""

from __future__ import annotations

import pickletools
import zipfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

from .pickles import Word
from .source import FileFormatError

__all__ = [
    "add_safe_globals",
    "clear_safe_globals",
    "get_safe_globals",
    "get_unsafe_globals_in_checkpoint",
    "safe_globals",
]

Global = Any  # a class or a function, or a pair of it and the name that files have for it
_known: dict[tuple[str, str], Any] = {}  # by module and name
_listed: list[Global] = []


def _key(value: Global) -> tuple[tuple[str, str], Any]:
    if isinstance(value, tuple):
        if len(value) != 2 or not isinstance(value[1], str):
            raise TypeError(f"safe globals: expected (class or function, 'module.name'), got {value!r}")
        module, _, name = value[1].rpartition(".")
        return (module, name), value[0]
    if not callable(value) or not hasattr(value, "__qualname__"):
        raise TypeError(f"safe globals: expected classes and functions, got {type(value).__name__}")
    return (value.__module__, value.__qualname__), value


def add_safe_globals(safe_globals: Iterable[Global]) -> None:
    """Let :func:`dualtape.load` call these classes and functions for files that name them.

    Their instances get the state that the file has for them. A file can call them with any arguments: add only what
    does no harm whatever it is given.

    Parameters
    ----------
    safe_globals : iterable
        Classes and functions, or pairs of one and the name, with its module, that files have for it.

    Examples
    --------
    >>> import dualtape as dt
    >>> from fractions import Fraction
    >>> dt.serialization.add_safe_globals([Fraction])
    >>> dt.serialization.get_safe_globals()
    [<class 'fractions.Fraction'>]
    >>> dt.serialization.clear_safe_globals()
    """
    pairs = [(*_key(value), value) for value in safe_globals]
    for key, found, value in pairs:
        if _known.get(key) is not found:
            _known[key] = found
            _listed.append(value)


def get_safe_globals() -> list[Global]:
    """Return what was added.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.serialization.get_safe_globals()
    []
    """
    return list(_listed)


def clear_safe_globals() -> None:
    """Forget what was added.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.serialization.clear_safe_globals()
    """
    _known.clear()
    _listed.clear()


@contextmanager
def safe_globals(safe_globals: Iterable[Global]) -> Iterator[None]:
    """Context in which :func:`dualtape.load` may call these classes and functions.

    Examples
    --------
    >>> import dualtape as dt
    >>> from fractions import Fraction
    >>> with dt.serialization.safe_globals([Fraction]):
    ...     len(dt.serialization.get_safe_globals())
    1
    """
    known, listed = dict(_known), list(_listed)
    try:
        add_safe_globals(safe_globals)
        yield
    finally:
        clear_safe_globals()
        _known.update(known)
        _listed.extend(listed)


def words() -> dict[tuple[str, str], Word]:
    """Return what was added, as the reader of pickles takes it."""
    return {key: Word(f"{key[0]}.{key[1]}", value, own=True) for key, value in _known.items()}


def get_unsafe_globals_in_checkpoint(f: Any) -> list[str]:
    """Return the names that a PyTorch checkpoint asks for and :func:`dualtape.load` would refuse; nothing is run.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.serialization.get_unsafe_globals_in_checkpoint("model.pt")  # doctest: +SKIP
    ['__main__.Network']
    """
    from .checkpoints import known_names

    try:
        with zipfile.ZipFile(f) as archive:
            (name,) = [each for each in archive.namelist() if each.endswith("/data.pkl")]
            data = archive.read(name)
    except (zipfile.BadZipFile, ValueError):
        raise FileFormatError(
            "get_unsafe_globals_in_checkpoint: expected a PyTorch checkpoint: a zip archive"
        ) from None
    asked: dict[str, None] = {}
    strings: list[str] = []
    for opcode, argument, _ in pickletools.genops(data):
        if opcode.name == "GLOBAL":
            module, _, word = str(argument).partition(" ")
        elif opcode.name == "STACK_GLOBAL" and len(strings) > 1:
            module, word = strings[-2:]
        else:
            if isinstance(argument, str):
                strings.append(argument)
            continue
        if (module, word) not in known_names() and (module, word) not in _known:
            asked[f"{module}.{word}"] = None
    return list(asked)
