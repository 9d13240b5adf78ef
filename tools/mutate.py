"""Mutation: take away the guards of the fast paths, one at a time, and see whether a test notices.

A guard is a condition: a comparison by ``is``, ``is not``, ``==`` or ``!=`` is turned round, a ``not`` dropped, a part
of an ``and`` or ``or`` dropped, any other condition negated. In the modules that write source, the same is done inside
the text they write. Each mutant runs in a copy of the tree against the tests meant for its module, until the first of
them fails; one that none of them notices has survived.

    python -m tools.mutate --sample 40 --seed 1
    python -m tools.mutate --module autograd/views.py --json survivors.json
"""

from __future__ import annotations

import argparse
import ast
import io
import json
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
import tokenize
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from queue import SimpleQueue
from typing import NamedTuple

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = Path("src/dualtape")
# of every op it would take minutes
_OPS = ("[mul]", "[exp]", "[sum]", "[max]", "[select]", "[expand]", "[unbind]", "[where]", "[cumsum]", "[mm]", "[cat]")
_NET = ["tests/ops/test_fastpath_net.py", "-k", " or ".join(_OPS)]
_WRITES, _WAYS, _VIEWS = (
    ["tests/ops/test_fast_writes.py"],
    ["tests/ops/test_fast_paths.py"],
    ["tests/autograd/test_views.py"],
)
_SAVED, _INDEXING, _FORWARD = (
    ["tests/autograd/test_saved.py"],
    ["tests/ops/test_indexing.py"],
    ["tests/autograd/test_forward_ad.py"],
)
_HISTORY, _BATCHES = ["tests/autograd/test_history.py", "tests/ops/test_edges.py"], ["tests/func/test_vmap.py"]
_NUMBERS = ["tests/ops/test_mixed_dtypes.py", "-k", "a_number_beside"]
_SPREAD = ["tests/ops/test_vmap_generated.py", "-k", "one_gradient and (mul- or pow- or div- or exp- or layer_norm)"]
_REFUSED, _DECLARED = (
    ["tests/ops/test_complex_refused.py"],
    ["tests/ops/test_library.py", "tests/overrides/test_subclass.py"],
)

# The tests meant for each module, the likeliest to notice first.
TESTS: dict[str, list[list[str]]] = {
    "ops/codegen/source.py": [_WRITES, _WAYS, _SAVED, _VIEWS, _NET],
    "ops/codegen/call.py": [
        _WAYS,
        _WRITES,
        _VIEWS,
        _SAVED,
        _NUMBERS,
        _NET,
        _HISTORY,
        _BATCHES,
        _REFUSED,
        _DECLARED,
        _FORWARD,
    ],
    "ops/codegen/inplace.py": [_WRITES, _WAYS, _NET, _VIEWS],
    "ops/codegen/vjp.py": [_WAYS, _WRITES, _SAVED, _NET, _BATCHES, _DECLARED, _SPREAD],
    "ops/codegen/jvp.py": [_FORWARD, _NET, _BATCHES],
    "ops/basic_indexing.py": [_WRITES, _INDEXING, _VIEWS],
    "ops/jvp_fastpath.py": [_DECLARED, _FORWARD, _NET, _BATCHES],
    "ops/op_node.py": [_WAYS, _SAVED, _WRITES, _DECLARED, _NET, _BATCHES, _SPREAD, _FORWARD],
    "autograd/views.py": [_VIEWS, _WRITES, _HISTORY, _SAVED, _BATCHES, _NET],
    "autograd/saved.py": [_SAVED, _WRITES, _NET],
    "arrays/kernels/numbers.py": [_WAYS, _WRITES, _NET],
}
_TEXTS = ("ops/codegen/", "ops/basic_indexing.py")  # modules whose strings are source


class Mutant(NamedTuple):
    """One change to a module: the bytes from ``start`` to ``end`` become ``text``."""

    module: str
    line: int
    what: str
    start: int
    end: int
    text: bytes

    def applied(self, source: bytes) -> bytes:
        return source[: self.start] + self.text + source[self.end :]


# --- where the guards are -----------------------------------------------------------------------------


class _Places:
    """From lines and columns to bytes."""

    def __init__(self, source: bytes) -> None:
        self.source = source
        self._lines = [0]
        for line in source.splitlines(keepends=True):
            self._lines.append(self._lines[-1] + len(line))

    def at(self, line: int, column: int) -> int:
        return self._lines[line - 1] + column

    def of(self, node: ast.expr) -> tuple[int, int]:
        assert node.end_lineno is not None and node.end_col_offset is not None
        return self.at(node.lineno, node.col_offset), self.at(node.end_lineno, node.end_col_offset)


_TURNED: dict[type, tuple[bytes, bytes]] = {
    ast.Is: (b"is", b"is not"),
    ast.IsNot: (b"is not", b"is"),
    ast.Eq: (b"==", b"!="),
    ast.NotEq: (b"!=", b"=="),
}


def mutants_of(module: str, source: bytes) -> list[Mutant]:
    """Every mutant of a module."""
    found = list(_in_code(module, source))
    if module.startswith(_TEXTS):
        found.extend(_in_texts(module, source))
    return sorted(set(found), key=lambda mutant: (mutant.start, mutant.end, mutant.text))


def _in_code(module: str, source: bytes) -> Iterator[Mutant]:
    places = _Places(source)
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Compare) and len(node.ops) == 1 and type(node.ops[0]) in _TURNED:
            old, new = _TURNED[type(node.ops[0])]
            start, end = places.of(node.left)[1], places.of(node.comparators[0])[0]
            between = source[start:end]
            if between.count(old) == 1:
                what = f"{old.decode()} -> {new.decode()}"
                yield Mutant(module, node.lineno, what, start, end, between.replace(old, new))
        elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
            start, end = places.of(node)
            yield Mutant(module, node.lineno, "not dropped", start, end, source[slice(*places.of(node.operand))])
        elif isinstance(node, ast.BoolOp):
            yield from _dropped(module, source, places, node)
        test = getattr(node, "test", None)
        if isinstance(node, (ast.If, ast.While, ast.IfExp)) and isinstance(test, (ast.Name, ast.Attribute, ast.Call)):
            start, end = places.of(test)
            yield Mutant(module, test.lineno, "negated", start, end, b"not " + source[start:end])


def _dropped(module: str, source: bytes, places: _Places, node: ast.BoolOp) -> Iterator[Mutant]:
    """An ``and`` or ``or`` without one of its parts, from the end of the part before or to the start of the next."""
    spans = [places.of(value) for value in node.values]
    for k, (value, span) in enumerate(zip(node.values, spans, strict=True)):
        start, end = (span[0], spans[1][0]) if k == 0 else (spans[k - 1][1], span[1])
        if source[start:end].count(b"(") == source[start:end].count(b")"):  # else a part stands in parentheses
            shown = " ".join(source[slice(*span)].decode().split())
            yield Mutant(module, value.lineno, f"dropped: {shown[:60]}", start, end, b"")


_IN_TEXT = re.compile(r"\bis not\b|\bis\b|==|!=|\bnot (?=[\w(])|(?<= )and(?= )|(?<= )or(?= )")
_REPLACED = {"is not": "is", "is": "is not", "==": "!=", "!=": "==", "not ": "", "and": "or", "or": "and"}


def _in_texts(module: str, source: bytes) -> Iterator[Mutant]:
    """The same inside strings that are source; docstrings are not."""
    places = _Places(source)
    documents = {
        node.body[0].lineno
        for node in ast.walk(ast.parse(source))
        if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef)) and ast.get_docstring(node) is not None
    }
    texts = {tokenize.STRING, getattr(tokenize, "FSTRING_MIDDLE", tokenize.STRING)}
    for token in tokenize.tokenize(io.BytesIO(source).readline):
        if token.type in texts and token.start[0] not in documents:
            column = len(token.line[: token.start[1]].encode())
            for match in _IN_TEXT.finditer(token.string):
                new = _REPLACED[match.group()]
                start = places.at(token.start[0], column) + len(token.string[: match.start()].encode())
                end = start + len(match.group().encode())
                what = f"in the text: {match.group().strip()} -> {new or 'nothing'}"
                yield Mutant(module, token.start[0], what, start, end, new.encode())


# --- running ------------------------------------------------------------------------------------------


def _copied(folder: Path) -> Path:
    for name in ("src", "tests", "docs", "pyproject.toml", "README.md"):
        source = ROOT / name
        if source.is_dir():
            shutil.copytree(source, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy(source, folder / name)
    return folder


def _notices(tree: Path, suites: list[list[str]], limit: float) -> str | None:
    """Which tests fail in ``tree``; None if all pass."""
    environment = {**os.environ, "PYTHONPATH": str(tree / "src"), "PYTHONDONTWRITEBYTECODE": "1"}
    for tests in suites:
        command = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", "--no-header", *tests]
        try:
            done = subprocess.run(command, cwd=tree, env=environment, capture_output=True, timeout=limit)
        except subprocess.TimeoutExpired:
            return f"{tests[0]}: no end"
        if done.returncode:
            return tests[0]
    return None


def run(mutants: list[Mutant], processes: int, limit: float) -> list[tuple[Mutant, str | None]]:
    """Each mutant with the tests that noticed it, or None."""
    with tempfile.TemporaryDirectory(prefix="dualtape-mutants-") as folder:
        trees: SimpleQueue[Path] = SimpleQueue()
        for k in range(processes):
            trees.put(_copied(Path(folder) / str(k)))
        if mutants:
            tree = trees.get()
            needed = [TESTS[module] for module in {mutant.module: None for mutant in mutants}]
            failing = _notices(tree, [list(one) for one in {tuple(t) for tests in needed for t in tests}], limit)
            trees.put(tree)
            if failing:
                raise SystemExit(f"{failing} fails without any change: nothing could be told from it")

        def one(mutant: Mutant) -> tuple[Mutant, str | None]:
            tree = trees.get()
            path = tree / PACKAGE / mutant.module
            source = path.read_bytes()
            try:
                path.write_bytes(mutant.applied(source))
                noticed = _notices(tree, TESTS[mutant.module], limit)
            finally:
                path.write_bytes(source)
                trees.put(tree)
            shown = "." if noticed else f"\n{mutant.module}:{mutant.line}: {mutant.what}\n"
            print(shown, end="", file=sys.stderr, flush=True)
            return mutant, noticed

        with ThreadPoolExecutor(processes) as pool:
            return list(pool.map(one, mutants))


def _part(text: str) -> tuple[int, int]:
    first, step = map(int, text.split("/"))
    if not 1 <= first <= step:
        raise ValueError(f"expected K/N with K from 1 to N, got {text}")
    return first, step


def main(arguments: list[str] | None = None) -> int:
    """The command; its status is the number of survivors, 100 at most."""
    parser = argparse.ArgumentParser(prog="python -m tools.mutate", description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--module", action="append", choices=TESTS, help="only this module; may be given several times")
    parser.add_argument("--sample", type=int, metavar="N", help="only N mutants, drawn at random")
    parser.add_argument("--seed", type=int, default=0, help="of the draw (default: 0)")
    parser.add_argument("--part", type=_part, metavar="K/N", default=(1, 1), help="every N-th mutant, from the K-th on")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write all mutants and who noticed them")
    parser.add_argument("--processes", type=int, default=2, help="mutants at once (default: 2)")
    parser.add_argument("--limit", type=float, default=300.0, help="seconds for one file of tests (default: 300)")
    parser.add_argument("--list", action="store_true", help="show the mutants, and run none")
    options = parser.parse_args(arguments)
    modules = options.module or list(TESTS)
    mutants = [m for module in modules for m in mutants_of(module, (ROOT / PACKAGE / module).read_bytes())]
    first, step = options.part
    mutants = mutants[first - 1 :: step]
    if options.sample is not None and options.sample < len(mutants):
        mutants = sorted(random.Random(options.seed).sample(mutants, options.sample))
    if options.list:
        for mutant in mutants:
            print(f"{mutant.module}:{mutant.line}: {mutant.what}")
        return 0
    outcomes = run(mutants, options.processes, options.limit)
    survivors = [mutant for mutant, noticed in outcomes if noticed is None]
    print(f"\n{len(survivors)} of {len(outcomes)} mutants survived", file=sys.stderr)
    for mutant in survivors:
        line = (ROOT / PACKAGE / mutant.module).read_text().splitlines()[mutant.line - 1].strip()
        print(f"| `{mutant.module}:{mutant.line}` | {mutant.what} | `{line}` |")
    if options.json is not None:
        listed = [{**m._asdict(), "text": m.text.decode(), "noticed by": noticed} for m, noticed in outcomes]
        options.json.write_text(json.dumps(listed, indent=1))
    return min(len(survivors), 100)


if __name__ == "__main__":
    sys.exit(main())
