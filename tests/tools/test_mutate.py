"""The tool that takes guards away: it finds them, and what it leaves is still Python."""

from __future__ import annotations

import pytest

from tools.mutate import PACKAGE, ROOT, TESTS, mutants_of

SOURCE = b'''
def f(x, y):
    """Where x is y."""
    if x is None or not y:
        return 1
    return 2 if x.ready else x == 3
'''


def test_each_guard_is_taken_away_once() -> None:
    lines = [mutant.applied(SOURCE).decode().splitlines() for mutant in mutants_of("autograd/views.py", SOURCE)]
    assert sorted(line for changed in lines for line in changed if line not in SOURCE.decode().splitlines()) == [
        "    if not y:",
        "    if x is None or y:",
        "    if x is None:",
        "    if x is not None or not y:",
        "    return 2 if not x.ready else x == 3",
        "    return 2 if x.ready else x != 3",
    ]


def test_guards_are_found_inside_the_source_that_a_generator_writes() -> None:
    text = b'code(f"if {x} is not None and not y:")\n'
    changed = {mutant.applied(text) for mutant in mutants_of("ops/codegen/call.py", text)}
    assert changed == {
        b'code(f"if {x} is None and not y:")\n',
        b'code(f"if {x} is not None or not y:")\n',
        b'code(f"if {x} is not None and y:")\n',
    }
    assert not mutants_of("autograd/views.py", text)


@pytest.mark.parametrize("module", TESTS)
def test_every_mutant_is_python(module: str) -> None:
    source = (ROOT / PACKAGE / module).read_bytes()
    mutants = mutants_of(module, source)
    assert mutants
    for mutant in mutants:
        assert mutant.applied(source) != source
        compile(mutant.applied(source), module, "exec")


@pytest.mark.parametrize("module", TESTS)
def test_the_tests_that_are_meant_for_a_module_are_there(module: str) -> None:
    assert all((ROOT / tests[0]).exists() for tests in TESTS[module])
