"""Bad input: whatever is wrong with the arguments of a function, the error names the function or what was expected, in
the library's words, and nothing has changed.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import dualtape as dt
from dualtape import linalg
from dualtape.nn import functional
from dualtape.ops import load_all
from same_program import needs_torch, programs, same

RAW = re.compile(
    "has no attribute|object is not|object cannot be|not supported between|unsupported operand|must be real"
)
WORDED = re.compile(r"\w\(\)|\w: |argument|must|expect", re.IGNORECASE)
NO_FUNCTIONS = {"set_printoptions", "manual_seed", "seed", "set_rng_state", "call_inplace", "load_all"}
WRONG: list[tuple] = [(3,), (3, 3), ("a",), ("a", "b"), (None,), (None, None), ([],), (object(),)]
SHAPES = ((), (0,), (2, 0), (0, 2), (2, 3), (1, 1, 2, 2))
ARGUMENTS: list[tuple] = [
    (), ("a",), (object(),), (None, None), (0,), (0, 0), (-5,), (100,), (1.5,), ([9, 9],), ((0, 1, 2),), (2, 0), (-1, -1),
    (3, 3, 3), ({},),
]  # fmt: skip


def functions() -> Iterator[tuple[str, Callable]]:
    load_all()
    for module in (dt, functional, linalg):
        for name in sorted({*dir(module), *getattr(module, "__all__", ())} - NO_FUNCTIONS):
            value = getattr(module, name, None)
            if not name.startswith("_") and callable(value) and not isinstance(value, type):
                yield f"{module.__name__.rpartition('.')[2]}.{name}", value
    for name in dir(dt.Tensor):
        value = getattr(dt.Tensor, name)
        if not name.startswith("_") and callable(value):
            yield f"Tensor.{name}", value


def calls(name: str) -> Iterator[tuple]:
    if not name.startswith("Tensor."):
        yield from WRONG
    for shape in SHAPES:
        for rest in ARGUMENTS:
            yield (dt.ones(shape), *rest)
        for other in SHAPES:
            yield (dt.ones(shape), dt.ones(other))


FUNCTIONS = list(functions())


@pytest.mark.parametrize(("name", "function"), FUNCTIONS, ids=[name for name, _ in FUNCTIONS])
def test_an_error_is_in_words_of_the_library_and_leaves_all_as_it_was(name: str, function: Callable) -> None:
    for args in calls(name):
        before = [(a, a.clone(), a._version) for a in args if isinstance(a, dt.Tensor)]
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                function(*args)
        except Exception as error:
            text = f"{type(error).__name__}: {error} for {args}"
            assert not isinstance(error, (AttributeError, ZeroDivisionError, AssertionError, UnboundLocalError)), text
            assert not RAW.search(str(error)) or WORDED.search(str(error)), text
            assert str(error) not in ("tuple index out of range", "list index out of range"), text
            for tensor, old, version in before:
                assert tensor._version == version and dt.equal(tensor, old), text


REFUSED = programs(
    r"""
    torch.unbind(torch.tensor(1.0))
    torch.diag_embed(torch.tensor(1.0))
    torch.nn.functional.pixel_shuffle(torch.ones(1, 4, 2, 2), 0)
    torch.nn.functional.cross_entropy(torch.ones(2, 0), torch.tensor([0, 0]))
    torch.diag(3)
    torch.sum(torch.ones(2), "a")
    torch.ones(2).view_as(3)
    torch.ones(2).size("a")
    torch.rand_like(3)
    """
)


@needs_torch
@pytest.mark.parametrize("line", REFUSED)
def test_what_is_refused_is_refused_with_pytorchs_type(line: str) -> None:
    same(line)


def test_a_list_that_holds_itself_is_refused() -> None:
    data: list = []
    data.append(data)
    with pytest.raises(ValueError, match="too many dimensions 'list'"):
        dt.tensor(data)


def test_printing_costs_what_is_shown() -> None:
    assert repr(dt.zeros(1).expand(10**12)) == "tensor([0., 0., 0.,  ..., 0., 0., 0.])"
    assert repr(dt.zeros(1).expand(2, 10**12)).count("...") == 2


@pytest.mark.parametrize(
    "write", [lambda x: x.zero_(), lambda x: x.fill_(1), lambda x: x.add_(1), lambda x: x.__setitem__(0, 1.0)]
)
def test_a_write_to_read_only_memory_says_so(write: Callable[[Any], Any]) -> None:
    array = np.ones(3)
    array.flags.writeable = False
    with pytest.raises(RuntimeError, match="read-only"):
        write(dt.from_numpy(array))
