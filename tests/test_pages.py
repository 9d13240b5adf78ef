"""The pages in docs: their examples do what they show, and what they point to is there."""

from __future__ import annotations

import doctest
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PAGES = sorted([*(ROOT / "docs").rglob("*.md"), ROOT / "README.md", ROOT / "CHANGELOG.md"])


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_the_examples_of_a_page_do_what_they_show(page):
    text = page.read_text()
    text = re.sub(r"^```.*$", "", text, flags=re.M)
    if page.name == "architecture.md":
        text = text.replace(">>> ", "")  # an op that the page shows how to add
    examples = doctest.DocTestParser().get_doctest(text, {}, page.name, str(page), 0)
    flags = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
    runner = doctest.DocTestRunner(optionflags=flags, verbose=False)
    told: list[str] = []
    runner.run(examples, out=told.append)
    assert runner.failures == 0, "".join(told)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_what_a_page_points_to_is_there(page):
    for target in re.findall(r"\]\(([^)#]+)(?:#[^)]*)?\)", page.read_text()):
        if not re.match(r"https?:|mailto:", target):
            assert (page.parent / target).exists(), f"{page.name} points to {target}"


def test_pages_have_examples():
    assert sum(page.read_text().count(">>>") for page in PAGES) >= 10
