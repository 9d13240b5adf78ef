"""SECURITY.md: what it lists is what the source does."""

from __future__ import annotations

import ast
import re
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "SECURITY.md").read_text()
SOURCES = {path: path.read_text() for path in sorted((ROOT / "src" / "dualtape").rglob("*.py"))}
VARIABLE = re.compile(r"[A-Z][A-Z0-9]*(_[A-Z0-9]+)+|PATH")
ROWS = [line for line in PAGE.splitlines() if line.startswith("| `")]


def code_of(text: str) -> list[ast.AST]:
    """The nodes of a module, docstrings left out."""
    return [node for node in ast.walk(ast.parse(text)) if not isinstance(node, ast.Expr)]


def test_the_environment_variables_that_are_read_are_listed():
    read = set()
    for path, text in SOURCES.items():
        # compile looks whether a traced function reads the environment, and reads none of it itself
        if path.name != "dependencies.py" and re.search(r"\bos\.(environ\b|getenv\()", text):
            read |= {
                node.value
                for node in code_of(text)
                if isinstance(node, ast.Constant) and isinstance(node.value, str) and VARIABLE.fullmatch(node.value)
                if not node.value.startswith("O_")  # flags of os.open
            }
    listed = {name for row in ROWS for name in re.findall(r"`([A-Z_]+)`", row.split("|")[1])}
    assert read == listed


def test_pickles_are_read_where_the_page_says_and_nowhere_else():
    reading = {
        path.relative_to(ROOT / "src" / "dualtape").as_posix()
        for path, text in SOURCES.items()
        if re.search(
            r"\bpickle\.(loads?|Unpickler)\b", "\n".join(re.sub(r"``.*?``", "", line) for line in text.splitlines())
        )
    }
    assert reading == {
        "distributed/objects.py",
        "distributed/rpc/messages.py",
        # of what this process has just written, to see whether it can be sent
        "distributed/spread.py",
        # with weights_only=False
        "serialization/objects.py",
        "utils/data/_utils/worker.py",
    }
    for words in ("`load(..., weights_only=False)`", "`distributed.rpc`", "`all_gather_object`", "`DataLoader`"):
        assert words in PAGE


def test_the_page_goes_with_the_source_distribution():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    assert "/SECURITY.md" in project["tool"]["hatch"]["build"]["targets"]["sdist"]["include"]
