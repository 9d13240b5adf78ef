"""No code has the same lines as PyTorch's Python files, but for what the contract fixes."""

from __future__ import annotations

from same_program import needs_torch
from tools import shared_runs

BODY = ["total = 0", "for x in xs:", "    total += x", "    xs.pop()", "return total"]


def module(body: list[str], name: str = "f") -> str:
    return f"def {name}(xs):\n" + "".join(f"    {line}\n" for line in body)


def runs(ours: str, theirs: str) -> list[shared_runs.Run]:
    return shared_runs.shared({"ours.py": ours}, [("theirs.py", theirs)])


@needs_torch
def test_no_run_of_lines_is_pytorchs_but_the_listed_ones_and_nothing_is_listed_in_vain() -> None:
    found = {run.key: run for run in shared_runs.of_the_source()}
    listed = shared_runs.allowed()
    unlisted = "\n".join(str(run) for key, run in found.items() if key not in listed)
    assert not unlisted, f"give these lines a shape of their own:\n{unlisted}"
    assert not listed.keys() - found.keys()


def test_a_run_is_found_whatever_its_indent_with_comments_and_blank_lines_between() -> None:
    other = ["# what it is for", *BODY[:2], "", *BODY[2:], "# an end"]
    (run,) = runs(module(BODY), "class C:\n" + "".join(f"    {line}\n" for line in module(other, "g").splitlines()))
    assert (run.first, run.last, run.other_first, run.lines) == (2, 6, 4, tuple(line.strip() for line in BODY))


def test_three_lines_are_no_run_and_the_longest_of_several_is_listed() -> None:
    assert runs(module(BODY[:3]), module(BODY[:3], "g")) == []
    others = [("short.py", module(BODY[:4], "g")), ("long.py", module(BODY, "g"))]
    (run,) = shared_runs.shared({"ours.py": module(BODY)}, others)
    assert run.other == "long.py" and len(run.lines) == 5


def test_what_the_contract_fixes_does_not_count() -> None:
    contract = '''
import a
import b
from c import (
    d,
    e,
)
__all__ = [
    "f",
    "g",
]

@one
@two(1)
def f(
    x: int = 1,
    y: str = "one",
    *,
    z: float = 2.0,
) -> None:
    """Return nothing.

    Examples
    --------
    >>> f(1)
    1
    >>> f(2)
    2
    """
    g(
        x,
        y=y,
        z=self.z,
        w=group["w"],
    )
'''
    assert runs(contract, contract) == []


def test_text_of_docstrings_counts() -> None:
    text = 'def f():\n    """Add.\n\n    One line is here.\n    Another is there.\n    A third.\n    """\n'
    (run,) = runs(text + "x = 1\n", "y = 2\n" + text.replace("def f", "def g") + "x = 1\n")
    assert "A third." in run.lines
