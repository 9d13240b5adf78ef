"""The page for contributors says where the tests of each package are."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
TABLE = re.findall(r"^\| `tests/(\w+)` \| (.*) \|$", PAGE, re.M)


def test_each_folder_of_tests_has_a_row() -> None:
    folders = {path.parent.relative_to(ROOT / "tests").as_posix() for path in (ROOT / "tests").rglob("test_*.py")}
    assert [name for name, _ in TABLE] == sorted(folders)


def test_each_package_of_the_source_is_in_a_row() -> None:
    named = set(re.findall(r"`([\w/.]+)`", " ".join(text for _, text in TABLE)))
    packages = {path.parent.name for path in (ROOT / "src" / "dualtape").glob("*/__init__.py")}
    elsewhere = {"_C", "_functorch", "backends", "cpu", "cuda", "signal"}  # aliases, or tested with another package
    assert not {name for name in packages - elsewhere if f"{name}/" not in named}
    missing = {name for name in named if not any((ROOT / top / name).exists() for top in ("src/dualtape", "", "tests"))}
    assert not missing
