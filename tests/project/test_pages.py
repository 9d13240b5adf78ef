"""The pages in docs: their examples do what they show, and what they point to is there."""

from __future__ import annotations

import doctest
import re
import subprocess
import sys
from pathlib import Path

import pytest

import dualtape as dt

ROOT = Path(__file__).parents[2]
GUIDE = ROOT / "docs" / "guide"
WRITTEN = [page for page in (ROOT / "docs").rglob("*.md") if not page.relative_to(ROOT).parts[1].startswith("_")]
PAGES = sorted([*WRITTEN, *(ROOT / "examples").glob("*.md"), ROOT / "README.md", ROOT / "CHANGELOG.md"])
FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.M | re.S)


def name(page: Path) -> str:
    return page.relative_to(ROOT).as_posix()


def run_session(text: str, namespace: dict, page: Path) -> None:
    """Run what stands after ``>>>`` and compare what it shows."""
    examples = doctest.DocTestParser().get_doctest(text, {}, page.name, str(page), 0)
    examples.globs = namespace
    runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE, verbose=False)
    told: list[str] = []
    runner.run(examples, out=told.append, clear_globs=False)
    assert runner.failures == 0, "".join(told)


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_the_examples_of_a_page_do_what_they_show(page):
    text = page.read_text()
    namespace = {"__name__": "page"}
    if page.parent == GUIDE:
        default = dt.get_default_dtype()
        try:
            for language, code in FENCE.findall(text):  # in order, in one namespace
                if language == "python":
                    exec(compile(code, name(page), "exec"), namespace)
                elif language == "pycon":
                    run_session(code, namespace, page)
        finally:
            dt.set_default_dtype(default)
    else:
        text = re.sub(r"^```.*$", "", text, flags=re.M)
        if page.name == "architecture.md":
            text = text.replace(">>> ", "")  # an op that the page shows how to add
        run_session(text, namespace, page)


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_what_a_page_points_to_is_there(page):
    for target in re.findall(r"\]\(([^)#]+)(?:#[^)]*)?\)", page.read_text()):
        if not re.match(r"https?:|mailto:", target):
            assert (page.parent / target).exists(), f"{page.name} points to {target}"


def test_the_page_of_generated_code_shows_what_runs() -> None:
    program = "from tools import generated_code as g; assert g.PAGE.read_text(encoding='utf-8') == g.page()"
    subprocess.run([sys.executable, "-c", program], cwd=ROOT, check=True)


def test_a_guide_has_no_example_that_nothing_runs():
    for page in GUIDE.glob("*.md"):
        outside = FENCE.sub("", page.read_text())
        assert ">>>" not in outside, page.name
        assert {language for language, _ in FENCE.findall(page.read_text())} <= {"python", "pycon", "text"}, page.name


def test_the_modules_that_a_guide_names_are_there():
    for page in GUIDE.glob("*.md"):
        for module in re.findall(r"`(\w+/[\w/]+\.py)`", page.read_text()):
            assert (ROOT / "src" / "dualtape" / module).exists(), f"{page.name} names {module}"


def test_pages_have_examples():
    assert sum(page.read_text().count(">>>") for page in PAGES) >= 10
