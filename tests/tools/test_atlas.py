"""The source atlas: what it finds in a small package made here, and in dualtape."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tools import atlas

ROOT = Path(__file__).parents[2]
SMALL = {
    "src/shop/__init__.py": '"""A shop."""\nfrom .till import Till\n',
    "src/shop/till.py": '"""Where | one pays."""\nfrom . import _money\nRATE = 2\nclass Till:\n    """Takes coins."""\n'
    '    def take(self):\n        """Take ``one``."""\n    def _count(self): ...\n',
    "src/shop/_money.py": "def round_coin(x):\n    import shop.till\n    import json\n",
    "src/shop/deep/__init__.py": "",
    "src/shop/deep/store.py": '"""Deep."""\nfrom ..till import RATE\nfrom ... import outside\n',
    "tests/test_till.py": "from shop.till import Till\n",
    "tests/test_paths.py": "FILES = ['deep/store.py']\n",
}


@pytest.fixture
def shop(tmp_path):
    for name, text in SMALL.items():
        file = tmp_path / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    return tmp_path


def test_modules_know_whom_they_import_and_who_imports_them(shop):
    modules = atlas.write(str(shop / "src" / "shop"), shop / "out")
    assert list(modules) == ["shop", "shop._money", "shop.deep", "shop.deep.store", "shop.till"]
    assert modules["shop"].imports == {"shop.till"}
    assert modules["shop.till"].imports == {"shop._money"}
    assert modules["shop._money"].imports == {"shop.till"}  # inside a function; json is no part of the package
    assert modules["shop.till"].importers == {"shop", "shop._money", "shop.deep.store"}


def test_tests_that_import_a_module_or_name_its_file_are_found(shop):
    modules = atlas.write(str(shop / "src" / "shop"), shop / "out")
    assert {name: module.tests for name, module in modules.items() if module.tests} == {
        "shop.till": {"test_till.py"},
        "shop.deep.store": {"test_paths.py"},
    }


def test_a_page_has_public_and_private_names_with_their_first_lines(shop):
    atlas.write(str(shop / "src" / "shop"), shop / "out")
    public, private = (shop / "out" / "shop.till.md").read_text().split("## Private names")
    assert "| `Till` | class | 4 | Takes coins. |" in public
    assert "| `Till.take` | method | 6 | Take `one`. |" in public
    assert "| `RATE` | constant | 3 |  |" in public
    assert "`Till._count`" in private and "`Till._count`" not in public
    assert "Where \\| one pays." in (shop / "out" / "index.md").read_text()


def test_the_index_of_words_splits_names(shop):
    atlas.write(str(shop / "src" / "shop"), shop / "out")
    index = (shop / "out" / "keywords.md").read_text()
    assert "**coin**: [`shop._money`](shop._money.md) (`round_coin`)" in index
    assert atlas.words("GradientEdge") == {"gradient", "edge"}


def test_a_page_of_a_module_that_is_gone_goes(shop):
    atlas.write(str(shop / "src" / "shop"), shop / "out")
    (shop / "src" / "shop" / "deep" / "store.py").unlink()
    atlas.write(str(shop / "src" / "shop"), shop / "out")
    assert not (shop / "out" / "shop.deep.store.md").exists()


def test_what_is_no_package_is_refused_before_anything_is_written(shop):
    with pytest.raises(SystemExit, match="is no package"):
        atlas.main([str(shop / "tests"), "-o", str(shop / "out")])
    assert not (shop / "out").exists()


def test_the_atlas_of_dualtape_has_a_page_for_every_module_and_no_dead_link(tmp_path, capsys):
    assert atlas.main([str(ROOT / "src" / "dualtape"), "-o", str(tmp_path)]) == 0
    assert "modules of" in capsys.readouterr().out
    files = list((ROOT / "src" / "dualtape").rglob("*.py"))
    assert len(list(tmp_path.glob("dualtape*.md"))) == len(files)
    for page in tmp_path.glob("*.md"):
        for target in re.findall(r"\]\(([\w.]+\.md)\)", page.read_text()):
            assert (tmp_path / target).exists(), f"{page.name} points to {target}"
    engine = (tmp_path / "dualtape.autograd.engine.md").read_text()
    assert "**Imported by**" in engine and "[`dualtape.autograd.api`](dualtape.autograd.api.md)" in engine


def test_the_package_may_be_given_by_its_name(tmp_path):
    modules = atlas.write("json", tmp_path)
    assert modules["json"].imports == {"json.decoder", "json.encoder"}


def test_docstrings_are_markdown_and_say_what_they_said():
    assert atlas.prose("``a_b`` of :mod:`x.y_z` and _private <T>") == r"`a_b` of `x.y_z` and \_private \<T>"
    told = atlas.paragraphs("First, on\ntwo lines.\n\n    laid out\n\n>>> 1 + 1\n2\n")
    assert told == "First, on\ntwo lines.\n\n```text\n    laid out\n```\n\n```text\n>>> 1 + 1\n2\n```"
    assert atlas.cell("a | b of `tanh_`") == "a \\| b of `tanh_`"
