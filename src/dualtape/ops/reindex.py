"""``python -m dualtape.ops.reindex``: write ``families/index.py``, which maps names to families.

New ops are found by their rows; there is no list to extend.
"""

from __future__ import annotations

import sys
from importlib import import_module
from pathlib import Path
from textwrap import wrap
from typing import Any

from .._tensor.tensor import Tensor
from . import AT_IMPORT, home, publish
from .dispatch import FUNCTIONS, NAMESPACES

FOLDER = Path(__file__).parent / "families"

_HEAD = '''"""Which family has which names, of those read on demand. Written by ``python -m dualtape.ops.reindex``."""

# fmt: off
from __future__ import annotations

'''
_TAIL = '''
_FAMILIES: dict[str, str] = {}  # of each name


def family_of(name: str) -> str | None:
    """The family that has a name; None if no family is known to."""
    if not _FAMILIES:
        for family, names in NAMES.items():
            _FAMILIES.update(dict.fromkeys(names.split(), family))
    return _FAMILIES.get(name)
'''


def found() -> tuple[dict[str, set[str]], ...]:
    """Return the names of ops and functions of each family, its methods, and the families of each namespace.

    To be called in a fresh process.
    """
    families = sorted({path.stem for path in FOLDER.glob("*.py")} - {"__init__", "index", *AT_IMPORT})
    names: dict[str, set[str]] = {family: set() for family in (*families, "random")}
    methods: dict[str, set[str]] = {family: set() for family in names}
    spaces: dict[str, set[str]] = {}
    for part in ("publish", "publish_composite"):
        setattr(publish, part, _noting_names(getattr(publish, part), names, methods, spaces))
    # A name that no row declares belongs to the family whose import adds it.
    for family in names:
        before, had = _members(), set(FUNCTIONS)
        import_module(home(family), __package__)
        names[family] |= set(FUNCTIONS) - had - set().union(*names.values())
        known = set().union(*methods.values())
        methods[family] |= {name for name in _members() - before if not name.startswith("__")} - known
    return names, methods, spaces


def _members() -> set[str]:
    return {name for name, member in vars(Tensor).items() if type(member) is not publish.Later}


def _noting_names(publish_row: Any, names: dict, methods: dict, spaces: dict) -> Any:
    """Return ``publish_row`` extended to record the names that each family publishes."""

    def function(row: Any, **options: Any) -> Any:
        before, had = set(FUNCTIONS), _members()
        answer = publish_row(row, **options)
        family = _family(sys._getframe(1))
        if family in names:
            names[family] |= {row.name, *(set(FUNCTIONS) - before)}
            methods[family] |= _members() - had
            for space, functions in NAMESPACES.items():
                if row.function in functions.values():
                    spaces.setdefault(space, set()).add(family)
        return answer

    return function


def _family(frame: Any) -> str:
    """Return the family being imported, which may declare its rows by a function of another's."""
    while frame.f_code.co_name != "<module>" or ".families." not in frame.f_globals["__name__"]:
        frame = frame.f_back
    return frame.f_globals["__name__"].rpartition(".")[2]


def text() -> str:
    """Return the text of the index."""
    names, methods, spaces = found()
    return _HEAD + "\n".join([_shown("NAMES", names), _shown("METHODS", methods), _shown("SPACES", spaces)]) + _TAIL


def _shown(variable: str, content: dict[str, set[str]]) -> str:
    lines = [f"{variable} = {{"]
    for family, names in content.items():
        parts = [f'" {part}"' for part in wrap(" ".join(sorted(names)), 100)] or ['""']
        lines.extend([f'    "{family}": (', *(f"        {part}" for part in parts), "    ),"])
    return "\n".join([*lines, "}"]) + "\n"


if __name__ == "__main__":
    path = FOLDER / "index.py"
    new = text()
    if path.read_text() != new:
        path.write_text(new)
        print(f"{path.name}: brought up to date")
