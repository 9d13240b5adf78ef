"""The examples in the docstrings: every public function, class and method has one, and it does what it shows."""

from __future__ import annotations

import doctest
import inspect
from collections.abc import Iterator
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import dualtape as dt
from dualtape.ops import load_all
from dualtape.ops.table import COMPOSITES, TABLE

load_all()

FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
MODULES = [
    "",
    "autograd",
    "autograd.graph",
    "autograd.function",
    "autograd.functional",
    "autograd.forward_ad",
    "func",
    "linalg",
    "special",
    "fft",
    "fx",
    "fx.experimental.proxy_tensor",
    "fx.passes.shape_prop",
    "signal.windows",
    "nn",
    "nn.parameter",
    "nn.modules",
    "nn.modules.module",
    "nn.modules.lazy",
    "nn.modules.utils",
    "nn.init",
    "nn.utils",
    "nn.utils.rnn",
    "nn.utils.parametrize",
    "nn.utils.parametrizations",
    "nn.utils.prune",
    "nn.utils.stateless",
    "nn.functional",
    "random",
    "sparse",
    "nested",
    "amp",
    "cpu",
    "cpu.amp",
    "hips",
    "hips.extend",
    "hips.misc.flatten",
    "hips.misc.optimizers",
    "optim",
    "optim.optimizer",
    "optim.lr_scheduler",
    "utils.data",
    "hips.misc.fixed_points",
    "hips.test_util",
    "scipy.special",
    "scipy.linalg",
    "scipy.signal",
    "scipy.integrate",
    "scipy.optimize",
    "scipy.sparse.linalg",
    "distributions",
    "distributions.constraints",
    "distributions.constraint_registry",
    "distributions.utils",
    "distributions.relaxed_bernoulli",
    "distributions.relaxed_categorical",
    "array_api",
    "array_api.linalg",
    "array_api.fft",
    "draw",
]
WITH_METHODS = ("Tensor", "Generator", "Size", "dtype")
NEEDS_NO_EXAMPLE = {
    "scipy.linalg.LinAlgError",  # raised, not called
    "linalg.LinAlgError",  # raised, not called
    "autograd.function.FunctionCtx",  # made by Function.apply: its methods are shown in the examples of Function
}


def module(path: str) -> ModuleType | None:
    """A module of the package by its path, or None if there is none (yet)."""
    found: Any = dt
    for part in filter(None, path.split(".")):
        found = getattr(found, part, None)
        if found is None:
            return None
    return found


def names(space: ModuleType) -> list[str]:
    """The public names of a module: those it lists, else those that are its own."""
    listed = getattr(space, "__all__", None)
    if listed is not None:
        return list(listed)
    own = (space.__name__, "dualtape") if space is not dt else None
    found = []
    for name in dir(space):
        home = str(getattr(getattr(space, name, None), "__module__", ""))
        if not name.startswith("_") and (home in own if own else home.startswith("dualtape")):
            found.append(name)
    return found


def public() -> Iterator[tuple[str, Any]]:
    """(dotted name, object) for what a user can reach: functions, classes, and the methods of the classes users
    hold.
    """
    for path in MODULES:
        space = module(path)
        for name in names(space) if space is not None else ():
            thing = getattr(space, name)
            if not inspect.isfunction(thing) and not inspect.isclass(thing):
                continue
            dotted = ".".join(filter(None, (path, name)))
            yield dotted, thing
            if name in WITH_METHODS and not path:
                for method, function in vars(thing).items():
                    function = getattr(function, "__func__", function)
                    if not method.startswith("_") and inspect.isfunction(function):
                        yield f"{dotted}.{method}", function


def examples(name: str, doc: str) -> doctest.DocTest:
    return doctest.DocTestParser().get_doctest(inspect.cleandoc(doc), {"np": np}, name, None, 0)


def collected() -> list[tuple[str, str]]:
    """(name, docstring) of everything that shows an example, each docstring once."""
    seen: dict[str, str] = {}
    rows = ((f"op {row.name}", row) for row in (*TABLE.values(), *COMPOSITES.values()))
    for name, thing in (*public(), *((name, row.function) for name, row in rows)):
        doc = thing.__doc__ or ""
        if ">>>" in doc:
            seen.setdefault(doc, name)
    return [(name, doc) for doc, name in seen.items()]


DOCS = collected()


@pytest.mark.parametrize(("name", "doc"), DOCS, ids=[name for name, _ in DOCS])
def test_the_example_does_what_it_shows(name: str, doc: str) -> None:
    printed: list[str] = []
    result = doctest.DocTestRunner(optionflags=FLAGS).run(examples(name, doc), out=printed.append)
    assert result.attempted
    assert not result.failed, "".join(printed)


def test_everything_public_shows_an_example() -> None:
    bare = {name for name, thing in public() if ">>>" not in (thing.__doc__ or "")}
    assert sorted(bare - NEEDS_NO_EXAMPLE) == []


def test_the_list_of_exceptions_has_no_name_that_needs_none() -> None:
    documented = {name for name, thing in public() if ">>>" in (thing.__doc__ or "")}
    assert not documented & NEEDS_NO_EXAMPLE


def test_every_module_that_should_be_walked_is_there() -> None:
    for path in ("", "autograd", "autograd.graph", "autograd.function", "linalg", "nn.functional", "random"):
        assert module(path) is not None
        assert len(names(module(path))) >= 3, path


def test_examples_are_run_in_number() -> None:
    assert len(DOCS) > 400
