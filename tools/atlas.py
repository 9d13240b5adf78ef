"""``python -m tools.atlas [PACKAGE] [-o DIR]``: a source atlas of a Python package, from the code itself.

One page for each module (what it says it is, its names, whom it imports, who imports it, which tests mention it), one
that lists them, and an index of the words that the names are made of. Nothing is imported: the files are parsed.
"""

from __future__ import annotations

import argparse
import ast
import importlib.util
import re
import sys
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

DEFAULT = Path("docs") / "_generated" / "atlas"
# For Sphinx: a page that its lists do not name. A thousand entries beside every page would take minutes to write.
ALONE = ("---", "orphan: true", "---", "")


@dataclass
class Name:
    """A function, class, method or constant: where it is and the first line of what it says."""

    name: str
    kind: str
    line: int
    brief: str

    @property
    def is_public(self) -> bool:
        return not any(part.startswith("_") and not part.endswith("__") for part in self.name.split("."))


@dataclass
class Module:
    """What the atlas knows of one file."""

    name: str
    file: Path
    lines: int
    doc: str
    names: list[Name]
    imports: set[str] = field(default_factory=set)
    importers: set[str] = field(default_factory=set)
    tests: set[str] = field(default_factory=set)

    @property
    def brief(self) -> str:
        return first_line(self.doc)


def first_line(doc: str | None) -> str:
    """The first paragraph of a docstring, on one line."""
    return " ".join(re.split(r"\n\s*\n", doc.strip(), maxsplit=1)[0].split()) if doc else ""


def names_of(body: list[ast.stmt], owner: str = "") -> Iterator[Name]:
    """Definitions in a module or a class, methods after their class; and a module's constants."""
    for node in body:
        if isinstance(node, ast.ClassDef):
            yield Name(owner + node.name, "class", node.lineno, first_line(ast.get_docstring(node)))
            yield from names_of(node.body, f"{owner}{node.name}.")
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            kind = "method" if owner else "function"
            yield Name(owner + node.name, kind, node.lineno, first_line(ast.get_docstring(node)))
        elif isinstance(node, ast.Assign | ast.AnnAssign) and not owner:
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            for target in targets:
                if isinstance(target, ast.Name) and target.id != "__all__":
                    yield Name(target.id, "constant", node.lineno, "")


def imported(tree: ast.AST, module: str, is_package: bool) -> Iterator[str]:
    """Dotted names that a file imports, also inside functions; what is imported from a package may be a module."""
    package = module if is_package else module.rpartition(".")[0]
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            parts = package.split(".")
            start = ".".join(parts[: len(parts) - node.level + 1]) if node.level else ""
            base = ".".join(part for part in (start, node.module) if part)
            yield from (f"{base}.{alias.name}" for alias in node.names)


def module_of(dotted: str, modules: dict[str, Module]) -> str | None:
    """The module that a dotted name is, or is in."""
    while dotted and dotted not in modules:
        dotted = dotted.rpartition(".")[0]
    return dotted or None


def read(folder: Path, tests: Path | None) -> dict[str, Module]:
    """Every module of a package, linked to those it imports and to the tests that mention it."""
    modules: dict[str, Module] = {}
    trees: dict[str, ast.Module] = {}
    for file in sorted(folder.rglob("*.py")):
        parts = file.relative_to(folder.parent).with_suffix("").parts
        name = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
        text = file.read_text(encoding="utf-8")
        trees[name] = tree = ast.parse(text, str(file))
        shown = file.relative_to(folder.parent)
        lines = len(text.splitlines())
        modules[name] = Module(name, shown, lines, ast.get_docstring(tree) or "", list(names_of(tree.body)))
    for name, tree in trees.items():
        found = {module_of(dotted, modules) for dotted in imported(tree, name, modules[name].file.stem == "__init__")}
        modules[name].imports = {other for other in found if other and other != name}
        for other in modules[name].imports:
            modules[other].importers.add(name)
    for file in sorted(tests.rglob("test_*.py")) if tests else ():
        text = file.read_text(encoding="utf-8")
        mentioned = {module_of(dotted, modules) for dotted in imported(ast.parse(text), "", False)}
        paths = set(re.findall(r"[\w/]+\.py", text))
        for name, module in modules.items():
            path = "/".join(module.file.parts[1:])
            if name in mentioned or ("/" in path and path in paths):
                module.tests.add(file.name)
    return modules


def prose(text: str) -> str:
    """Text of a docstring as Markdown: what was meant for another language says the same in this one."""
    text = re.sub(r":\w+:`~?([^`]+)`", r"``\1``", text)  # roles of Sphinx
    text = re.sub(r"``(.+?)``", r"`\1`", text, flags=re.S)
    parts = re.split(r"(`[^`]+`)", text)
    return "".join(p if k % 2 else re.sub(r"([<*_#])", r"\\\1", p) for k, p in enumerate(parts))


def paragraphs(doc: str) -> str:
    """A docstring as Markdown: its paragraphs flow, what is indented or laid out stays as it is."""
    blocks = []
    for block in re.split(r"\n\s*\n", doc.strip()):
        laid_out = re.search(r"^(\s{2,}\S|>>>|-{3,}|={3,}|\|)", block, re.M)
        blocks.append("```text\n" + block.replace("```", "'''") + "\n```" if laid_out else prose(block).lstrip("-+"))
    return "\n\n".join(blocks)


def cell(text: str) -> str:
    """Text of a docstring in a cell of a table: no cell ends early."""
    return prose(text).replace("|", "\\|")


def table(title: str, names: list[Name]) -> list[str]:
    rows = [f"| `{n.name}` | {n.kind} | {n.line} | {cell(n.brief)} |" for n in names]
    return [f"## {title}", "", "| name | kind | line | what it says |", "|---|---|--:|---|", *rows, ""] if rows else []


def links(title: str, names: set[str]) -> list[str]:
    return [f"**{title}**: " + ", ".join(f"[`{name}`]({name}.md)" for name in sorted(names)), ""] if names else []


def page(module: Module) -> str:
    """The page of a module."""
    tests = ["**Tests that mention it**: " + ", ".join(f"`{test}`" for test in sorted(module.tests)), ""]
    return "\n".join(
        [
            *ALONE,
            f"# `{module.name}`",
            "",
            f"`{module.file.as_posix()}`, {module.lines} lines",
            "",
            *([paragraphs(module.doc), ""] if module.doc else []),
            *links("Imports", module.imports),
            *links("Imported by", module.importers),
            *(tests if module.tests else []),
            *table("Public names", [n for n in module.names if n.is_public]),
            *table("Private names", [n for n in module.names if not n.is_public]),
        ]
    )


def words(name: str) -> set[str]:
    """The words a name is made of: ``register_multi_grad_hook`` and ``GradientEdge`` have four and two."""
    split = re.sub(r"([a-z0-9])([A-Z])", r"\1_\2", name.rpartition(".")[2]).lower().split("_")
    return {word for word in split if len(word) > 2 and not word.isdigit()}


def keywords(modules: dict[str, Module]) -> str:
    """The index of words over the whole source."""
    entries: dict[str, dict[str, list[str]]] = defaultdict(lambda: defaultdict(list))
    for module in modules.values():
        for name in module.names:
            for word in words(name.name):
                entries[word][module.name].append(name.name)
    lines = [*ALONE, "# Words", "", "The words that names are made of, and where they stand.", ""]
    letter = ""
    for word in sorted(entries):
        if word[0] != letter:
            letter = word[0]
            lines += [f"## {letter.upper()}", ""]
        places = (
            f"[`{m}`]({m}.md) (" + ", ".join(f"`{n}`" for n in ns) + ")" for m, ns in sorted(entries[word].items())
        )
        lines += [f"**{word}**: " + "; ".join(places), ""]
    return "\n".join(lines)


def contents(package: str, modules: dict[str, Module]) -> str:
    """The first page: every module with its first line."""
    rows = [
        f"| [`{m.name}`]({m.name}.md) | {m.lines} | {len(m.importers)} | {cell(m.brief)} |" for m in modules.values()
    ]
    total = sum(m.lines for m in modules.values())
    return "\n".join(
        [
            f"# Atlas of {package}",
            "",
            f"{len(modules)} modules, {total} lines, read from the source. Names by [their words](keywords.md).",
            "",
            "| module | lines | importers | what it says |",
            "|---|--:|--:|---|",
            *rows,
            "",
        ]
    )


def located(package: str) -> Path:
    """The folder of a package, given by its path or its name."""
    folder = Path(package).resolve()
    if not folder.is_dir() and (spec := importlib.util.find_spec(package.partition(".")[0])) is not None:
        places = list(spec.submodule_search_locations or ())
        folder = Path(places[0]).joinpath(*package.split(".")[1:]) if places else folder
    if not (folder / "__init__.py").is_file():
        raise SystemExit(f"{package} is no package: give the name of one that can be imported, or its folder")
    return folder


def write(package: str, out: Path) -> dict[str, Module]:
    """Write the atlas of a package into a folder, which is made; pages of modules that are gone go."""
    folder = located(package)
    above = [parent / "tests" for parent in folder.parents[:2] if (parent / "tests").is_dir()]
    modules = read(folder, above[0] if above else None)
    out.mkdir(parents=True, exist_ok=True)
    pages = {f"{name}.md": page(module) for name, module in modules.items()}
    pages |= {"index.md": contents(folder.name, modules), "keywords.md": keywords(modules)}
    for old in out.glob(f"{folder.name}*.md"):
        if old.name not in pages:
            old.unlink()
    for name, text in pages.items():
        (out / name).write_text(text, encoding="utf-8")
    return modules


def main(arguments: list[str] | None = None) -> int:
    """Write the atlas that the command line asks for."""
    parser = argparse.ArgumentParser(prog="python -m tools.atlas", description=(__doc__ or "").split("\n\n")[1])
    parser.add_argument("package", nargs="?", default="src/dualtape", help="a package's name or folder")
    parser.add_argument("-o", "--out", type=Path, default=DEFAULT, metavar="DIR", help=f"where to write ({DEFAULT})")
    options = parser.parse_args(arguments)
    modules = write(options.package, options.out)
    print(f"{len(modules)} modules of {options.package}: {options.out / 'index.md'}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
