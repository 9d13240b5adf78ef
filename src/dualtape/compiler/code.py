"""The names that the code of a function uses, read from its bytecode without running it."""

from __future__ import annotations

import dis
import importlib.util
import types
from collections.abc import Iterator
from typing import Any, NamedTuple

GLOBALS = frozenset({"LOAD_GLOBAL", "LOAD_NAME", "LOAD_FROM_DICT_OR_GLOBALS", "STORE_GLOBAL", "DELETE_GLOBAL"})
STORES = frozenset({"STORE_GLOBAL", "STORE_DEREF", "STORE_ATTR", "STORE_SUBSCR", "DELETE_GLOBAL", "DELETE_SUBSCR"})
STORES_NAMED = frozenset({"STORE_ATTR", "DELETE_ATTR"})
LOADS = frozenset({"LOAD_ATTR", "LOAD_METHOD", "IMPORT_FROM"})
_CELLS = frozenset({"LOAD_DEREF", "LOAD_CLASSDEREF", "LOAD_FROM_DICT_OR_DEREF"})
_SILENT = frozenset({"PUSH_NULL", "PRECALL", "CACHE", "EXTENDED_ARG", "KW_NAMES", "NOP", "NOT_TAKEN"})
VARIABLE = object()  # stands for an argument that only a run of the code knows


class Chain(NamedTuple):
    """A dotted name in code, as ``numpy.linalg.norm``.

    Attributes
    ----------
    names : tuple of str
        Its parts.
    is_global : bool
        Whether the first is a global or a builtin, rather than a variable of a closure.
    argument : object
        The only argument that it is called with: a constant, a chain, ``VARIABLE``; None if it is not called so.
    """

    names: tuple[str, ...]
    is_global: bool
    argument: Any


def chains_of(code: types.CodeType) -> Iterator[Chain]:
    """Return the dotted names in ``code``, and in the functions inside it."""
    instructions = [i for i in dis.get_instructions(code) if i.opname not in _SILENT]
    at = 0
    while at < len(instructions):
        first = instructions[at]
        at += 1
        if first.opname not in GLOBALS and first.opname not in _CELLS:
            continue
        names = [first.argval]
        while at < len(instructions) and instructions[at].opname in LOADS:
            names.append(instructions[at].argval)
            at += 1
        argument: Any = None
        if [i.arg for i in instructions[at + 1 : at + 2] if i.opname == "CALL"] == [1]:
            given = instructions[at]
            if given.opname in ("LOAD_CONST", "LOAD_SMALL_INT"):
                argument = given.argval
            elif given.opname in GLOBALS or given.opname in _CELLS:
                argument = Chain((given.argval,), given.opname in GLOBALS, None)
            elif given.opname.startswith("LOAD_FAST"):
                argument = VARIABLE
        yield Chain(tuple(names), first.opname in GLOBALS, argument)
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from chains_of(constant)


def imports_of(code: types.CodeType, space: dict) -> set[str]:
    """Return the modules imported by ``code``, and by the functions inside it, under their full names."""
    names: set[str] = set()
    before: list[Any] = [0, 0]
    for i in dis.get_instructions(code):
        if i.opname == "IMPORT_NAME":
            level, name = before[0], i.argval
            if level:
                name = importlib.util.resolve_name("." * level + name, space.get("__package__") or space["__name__"])
            names |= {name, name.partition(".")[0]}
        before = [before[1], i.argval]
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            names |= imports_of(constant, space)
    return names


_TEXTS = frozenset({"str", "repr", "format", "print", "ascii", "format_map", "__str__", "__repr__", "__format__"})
_FORMATS = frozenset({"FORMAT_VALUE", "FORMAT_SIMPLE", "FORMAT_WITH_SPEC", "CONVERT_VALUE"})


def writes_text(code: types.CodeType) -> bool:
    """Whether ``code`` may ask something for its text: by a name, in an f-string, or by the operator ``%``."""
    return not _TEXTS.isdisjoint(code.co_names) or any(
        i.opname in _FORMATS or i.opname == "BINARY_OP" and i.argrepr in ("%", "%=") for i in dis.get_instructions(code)
    )


def names_of(code: types.CodeType, kinds: frozenset[str]) -> set[str]:
    """Return the names in instructions of these kinds, of ``code`` and of the functions inside it."""
    names = {i.argval for i in dis.get_instructions(code) if i.opname in kinds}
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            names |= names_of(constant, kinds)
    return names
