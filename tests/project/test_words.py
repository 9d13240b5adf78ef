"""The repository speaks the field's language: no phrase that the glossary replaces, no file named that is not there."""

from __future__ import annotations

import ast
import io
import re
import tokenize
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
GLOSSARY = ROOT / "docs" / "dev" / "glossary.md"
SOURCES = sorted(
    path for folder in ("src", "tests", "tools", "benchmarks", "examples") for path in (ROOT / folder).rglob("*.py")
)
PAGES = sorted(
    path
    for path in [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), *(ROOT / "examples").glob("*.md")]
    if path != GLOSSARY and path.relative_to(ROOT).parts[1:2] not in [("_build",), ("_generated",)]
)
# Uses of a phrase in its ordinary meaning.
ALLOWED = re.compile(r"decimal places|``[^`]*``|`[^`]*`", re.I)


def phrases() -> list[str]:
    """The left column of the glossary's first table."""
    table = GLOSSARY.read_text().split("## Terms")[0]
    rows = re.findall(r"^\| ([^|]+) \|", table, re.M)[1:]
    return [phrase.strip() for row in rows for phrase in row.split(",") if set(phrase) - set("- ")]


@cache
def pattern() -> re.Pattern[str]:
    """What matches any of the phrases, in singular and plural, over ends of lines."""
    words = "|".join(re.escape(phrase).replace(r"\ ", r"\s+") + "s?" for phrase in phrases())
    return re.compile(rf"(?<![\w-])(?:{words})(?![\w-])", re.I)


def prose(path: Path) -> Iterator[tuple[int, str]]:
    """Yield (line, text) for each docstring and comment of a module."""
    source = path.read_text(encoding="utf-8")
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)):
            if text := ast.get_docstring(node, clean=False):
                yield node.body[0].lineno, text
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.COMMENT:
            yield token.start[0], token.string


def found(path: Path) -> list[str]:
    """Return where a file uses a phrase of the left column."""
    texts = (
        prose(path)
        if path.suffix == ".py"
        else [(1, re.sub(r"```.*?```", "", path.read_text(encoding="utf-8"), flags=re.S))]
    )
    return [
        f"{path.relative_to(ROOT)}:{line}: {' '.join(match[0].split())}"
        for line, text in texts
        for match in pattern().finditer(ALLOWED.sub("", text))
    ]


def test_the_glossary_is_read() -> None:
    assert {"way back", "quick way", "room", "each round"} <= set(phrases())
    assert pattern().search("by the quick\n  way") and not pattern().search("a roomy classroom")


@pytest.mark.parametrize("folder", sorted({path.relative_to(ROOT).parts[0] for path in SOURCES}))
def test_docstrings_and_comments_use_the_fields_words(folder: str) -> None:
    assert not [line for path in SOURCES if path.relative_to(ROOT).parts[0] == folder for line in found(path)]


def test_pages_use_the_fields_words() -> None:
    assert not [line for path in PAGES for line in found(path)]


_FILE = re.compile(r"(?<![\w/.-])((?:[a-z_]\w*/)+\w+\.(?:py|md|txt))\b(?!::)")
_MODULE = re.compile(r":(?:mod|func|class):`~?(\.{0,3}[\w.]+)`")
# Names of files that programs write, or that stand in examples.
ELSEWHERE = re.compile(r"^(torch|numpy|dir|path|site|my|tmp|model|_generated)/|/__pycache__/")


def bases(path: Path) -> list[Path]:
    """Where a file that is named in ``path`` may be."""
    return [
        ROOT,
        ROOT / "src",
        ROOT / "src" / "dualtape",
        ROOT / "docs",
        *path.parents[: len(path.relative_to(ROOT).parts)],
    ]


@pytest.mark.parametrize("path", [*SOURCES, *PAGES], ids=lambda path: path.relative_to(ROOT).as_posix())
def test_files_and_modules_that_prose_names_are_there(path: Path) -> None:
    texts = [text for _, text in prose(path)] if path.suffix == ".py" else [path.read_text(encoding="utf-8")]
    missing = []
    for text in texts:
        for name in _FILE.findall(text):
            if not ELSEWHERE.search(name) and not any((base / name).exists() for base in bases(path)):
                missing.append(name)
        if path.suffix == ".py":
            missing += [name for name in _MODULE.findall(text) if not _is_there(name, path)]
    assert not missing


def _is_there(name: str, path: Path) -> bool:
    """Whether a cross-reference leads to a module, or to a name in one."""
    dots = len(name) - len(name.lstrip("."))
    parts = name.strip(".").split(".")
    if dots:
        start = path.parents[dots - 1]
    elif parts[0] == "dualtape":
        start, parts = ROOT / "src", parts
    else:
        return "." not in name or parts[0] in ("numpy", "scipy", "inspect", "pickle", "collections")
    for length in range(len(parts), 0, -1):
        place = start.joinpath(*parts[:length])
        if place.is_dir() or place.with_suffix(".py").exists():
            return length >= len(parts) - 2
    return False
