"""``dir()`` of a public module lists what users may use, and nothing that the module imports for itself."""

from __future__ import annotations

import re
from importlib import import_module
from pathlib import Path
from types import ModuleType

import pytest

import dualtape

SOURCE = Path(dualtape.__file__).parent
MODULES = sorted(
    ".".join(("dualtape", *path.relative_to(SOURCE).with_suffix("").parts)).removesuffix(".__init__")
    for path in SOURCE.rglob("*.py")
    if "__dir__ = listing(__name__)" in path.read_text(encoding="utf-8")
)


def test_public_namespaces_list_their_names() -> None:
    for (
        name
    ) in "nn nn.functional optim func linalg distributions utils.data compiler scipy.sparse hips library".split():
        assert f"dualtape.{name}" in MODULES
    assert len(MODULES) > 50


@pytest.mark.parametrize("name", MODULES)
def test_what_is_listed_is_there_and_of_the_library(name: str) -> None:
    module = import_module(name)
    listed = dir(module)
    assert listed == sorted(set(listed))
    for each in listed:
        value = getattr(module, each)
        if re.fullmatch(r"__\w+__", each) or each in getattr(module, "__all__", ()):
            continue
        assert not each.startswith("_")
        where = value.__name__ if isinstance(value, ModuleType) else getattr(value, "__module__", None)
        assert not isinstance(where, str) or where.startswith(("dualtape", "scipy", "numpy")), (each, where)


@pytest.mark.parametrize("name", MODULES)
def test_all_that_is_public_is_listed(name: str) -> None:
    module = import_module(name)
    assert set(getattr(module, "__all__", ())) <= set(dir(module))
    assert "annotations" not in dir(module) and "Any" not in dir(module)
