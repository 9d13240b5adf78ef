"""``python -m tools.shared_runs``: runs of equal lines in the source and in the installed PyTorch; needs torch.

Names and signatures of PyTorch's are the contract, what is written under them is not: code that has the same lines in
both should have a shape of its own here. Lines are compared without the white space around them; blank lines and
comments do not count. A run is listed if four of its lines or more are code other than imports, signatures, decorators,
``__all__``, examples in docstrings, and names of arguments, one to a line, as they are passed on or listed.
``tests/shared_runs.txt`` has the runs that stay.
"""

from __future__ import annotations

import ast
import re
import sys
from collections import defaultdict
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

LENGTH = 4
# A line that passes an argument on under its name, or lists the name: `eps`, `eps=self.eps`, `"eps": group["eps"]`.
_ARGUMENT = re.compile(r"""(["']?\w+["']?\s*[=:]\s*)?((self|group)[.\[])?["']?\w+["']?\]?,""")
SOURCE = Path(__file__).parent.parent / "src" / "dualtape"
LISTED = Path(__file__).parent.parent / "tests" / "shared_runs.txt"


class Line(NamedTuple):
    number: int
    text: str
    counts: bool


class Run(NamedTuple):
    """Equal lines: the first and the last line number here, and where they begin there."""

    file: str
    first: int
    last: int
    other: str
    other_first: int
    lines: tuple[str, ...]

    @property
    def key(self) -> str:
        """How ``tests/shared_runs.txt`` names the run, whatever its line number: the file and the first line."""
        return f"{self.file}: {self.lines[0]}"

    def __str__(self) -> str:
        shown = "".join(f"\n    {line}" for line in self.lines)
        return f"{self.file}:{self.first}-{self.last} = {self.other}:{self.other_first}{shown}"


def bare_lines(text: str) -> list[tuple[int, str]]:
    """Return the lines that are neither blank nor comments, stripped, with their numbers."""
    stripped = ((number, line.strip()) for number, line in enumerate(text.splitlines(), 1))
    return [(number, line) for number, line in stripped if line and not line.startswith("#")]


def lines_of(text: str) -> list[Line]:
    """Return the lines of a module, each with whether it counts."""
    passed_over = set(_contract(ast.parse(text)))
    return [
        Line(number, line, number not in passed_over and any(map(str.isalnum, line)) and not _ARGUMENT.fullmatch(line))
        for number, line in bare_lines(text)
    ]


def _contract(tree: ast.Module) -> Iterator[int]:
    """Yield the numbers of the lines that a program with PyTorch's names has in common with it."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import | ast.ImportFrom):
            yield from _span(node)
        elif isinstance(node, ast.Assign) and any(isinstance(t, ast.Name) and t.id == "__all__" for t in node.targets):
            yield from _span(node)
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            first = min([node.lineno, *[decorator.lineno for decorator in node.decorator_list]])
            yield from range(first, max(node.body[0].lineno, node.lineno + 1))
            yield from _examples(node)
        elif isinstance(node, ast.Module):
            yield from _examples(node)


def _span(node: ast.stmt) -> range:
    return range(node.lineno, (node.end_lineno or node.lineno) + 1)


def _examples(node: ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef) -> Iterator[int]:
    """Yield the numbers of a docstring's lines from its examples on."""
    first = node.body[0] if node.body else None
    if not isinstance(first, ast.Expr) or not isinstance(first.value, ast.Constant):
        return
    within = False
    for number, line in zip(_span(first), str(first.value.value).splitlines(), strict=False):
        within = within or line.strip().startswith(("Examples", ">>>"))
        if within:
            yield number


def shared(ours: dict[str, str], theirs: Iterable[tuple[str, str]]) -> list[Run]:
    """Return the runs of equal lines of our files and theirs, both given by name and text; the longest at each line."""
    modules = {name: lines_of(text) for name, text in ours.items()}
    windows = defaultdict(list)
    for name, lines in modules.items():
        for k in range(len(lines) - LENGTH + 1):
            windows[tuple([line.text for line in lines[k : k + LENGTH]])].append((name, k))
    found: dict[tuple[str, int], Run] = {}
    for other, text in theirs:
        others = bare_lines(text)
        texts = [line for _, line in others]
        # by file and by the difference of positions, so that windows that overlap are neighbours of one run
        matches = defaultdict(list)
        for j, window in enumerate(zip(*[texts[i:] for i in range(LENGTH)], strict=False)):
            for name, k in windows.get(window, ()):
                matches[name, k - j].append(k)
        for (name, offset), starts in matches.items():
            lines = modules[name]
            for first, last in _spans(starts):
                run = lines[first:last]
                if sum([line.counts for line in run]) < LENGTH:
                    continue
                known = found.get((name, run[-1].number))
                if known is None or len(known.lines) < len(run):
                    found[name, run[-1].number] = Run(
                        name,
                        run[0].number,
                        run[-1].number,
                        other,
                        others[first - offset][0],
                        tuple([line.text for line in run]),
                    )
    return [run for run in found.values() if not any(_within(run, other) for other in found.values())]


def _spans(starts: list[int]) -> Iterator[tuple[int, int]]:
    """Yield the first line and the end of each run of windows that overlap."""
    first = previous = starts[0]
    for start in [*starts[1:], None]:
        if start != previous + 1:
            yield first, previous + LENGTH
            first = start if start is not None else first
        previous = start if start is not None else previous


def _within(run: Run, other: Run) -> bool:
    """Return whether ``other`` is a longer run around this one."""
    return run is not other and run.file == other.file and other.first <= run.first and run.last <= other.last


def of_the_source() -> list[Run]:
    """Return the runs that the source shares with the installed PyTorch."""
    import torch

    root = Path(torch.__file__).parent
    ours = {str(path.relative_to(SOURCE)): path.read_text() for path in sorted(SOURCE.rglob("*.py"))}
    theirs = ((str(path.relative_to(root)), path.read_text("utf-8", "replace")) for path in sorted(root.rglob("*.py")))
    return sorted(shared(ours, theirs))


def allowed() -> dict[str, str]:
    """Return the runs that stay, by file and first line, with the reason."""
    rows = [line.split(" -- ") for line in LISTED.read_text().splitlines() if line and not line.startswith("#")]
    return {key: reason for key, reason in rows}


def main() -> int:
    """Print the runs that are not listed; the exit status is 1 if there are some."""
    listed = allowed()
    unlisted = [run for run in of_the_source() if run.key not in listed]
    for run in unlisted:
        print(run)
    return bool(unlisted)


if __name__ == "__main__":
    sys.exit(main())
