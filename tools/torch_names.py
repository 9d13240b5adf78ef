"""``python -m tools.torch_names``: write the list of PyTorch's modules and the names in them, for the doorway.

Needs torch. Modules in Python are read, not imported: their classes, functions, assignments, and what they import from
one another. Of modules in C++ and of all that ``import torch`` loads, the names are those that they have. A name that
is an exception has a ``!`` behind it: the doorway has to give a class for it, since programs catch it.
The constants of a class in C++ have a line of their own, with a ``:`` behind the class.
"""

from __future__ import annotations

import ast
import gzip
import importlib.util
import sys
import warnings
from collections.abc import Iterable, Iterator
from pathlib import Path
from types import ModuleType

TARGET = Path(__file__).parent.parent / "src" / "dualtape" / "data" / "torch-names.txt.gz"
_RAISED = ("Error", "Exception", "Warning")


def _sources(root: Path) -> Iterator[tuple[str, Path]]:
    """Yield the name and the file of each of PyTorch's modules in Python."""
    for path in sorted(root.rglob("*.py")):
        parts = ("torch", *path.relative_to(root).with_suffix("").parts)
        if all(part.isidentifier() for part in parts):
            yield ".".join(parts).removesuffix(".__init__"), path


def _bound(body: Iterable[ast.stmt]) -> Iterator[tuple[str, bool]]:
    """Yield the names that statements bind at the top of a module, and whether each is an exception."""
    for node in body:
        if isinstance(node, ast.ClassDef):
            bases = [ast.unparse(base) for base in node.bases]
            yield node.name, any(base.endswith(_RAISED) for base in bases) or node.name.endswith(_RAISED)
        elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            yield node.name, False
        elif isinstance(node, (ast.Assign, ast.AnnAssign)):
            for target in node.targets if isinstance(node, ast.Assign) else [node.target]:
                yield from ((each.id, False) for each in ast.walk(target) if isinstance(each, ast.Name))
        elif isinstance(node, ast.ImportFrom) and (node.level or (node.module or "").startswith("torch")):
            names = [alias.asname or alias.name for alias in node.names]
            yield from ((name, name.endswith(_RAISED)) for name in names if name != "*")
        elif isinstance(node, (ast.If, ast.With)):
            yield from _bound([*node.body, *getattr(node, "orelse", ())])
        elif isinstance(node, ast.Try):
            handled = [statement for handler in node.handlers for statement in handler.body]
            yield from _bound([*node.body, *handled, *node.orelse, *node.finalbody])


def _loaded(module: ModuleType) -> Iterator[tuple[str, bool]]:
    """Yield the names of an imported module, without modules of others that it imported."""
    for name, value in list(vars(module).items()):
        if name not in ("annotations", "torch") and (
            not isinstance(value, ModuleType) or value.__name__.startswith("torch")
        ):
            yield name, isinstance(value, type) and issubclass(value, BaseException)


def found() -> dict[str, dict[str, bool]]:
    """Return the names of each module, and whether each is an exception."""
    warnings.simplefilter("ignore")
    import torch

    modules: dict[str, dict[str, bool]] = {}
    for name, path in _sources(Path(torch.__file__).parent):
        try:
            modules[name] = dict(_bound(ast.parse(path.read_text(encoding="utf-8")).body))
        except SyntaxError:
            continue
    for name, module in sorted(sys.modules.items()):
        if name.partition(".")[0] == "torch" and isinstance(module, ModuleType):
            modules.setdefault(name, {}).update(_loaded(module))
    for operation in torch._C._dispatch_get_all_op_names():
        namespace, _, name = operation.partition("::")
        modules.setdefault(f"torch.ops.{namespace}", {})[name.partition(".")[0]] = False
    for package in ("torch._C", "torch"):  # the members of enumerations in C++
        for name, value in sorted(vars(sys.modules[package]).items()):
            members = getattr(value, "__members__", None)
            if isinstance(value, type) and isinstance(members, dict):
                modules[f"{package}.{name}:"] = dict.fromkeys(map(str, members), False)
    for name in list(modules):  # a package without a file of its own
        while name.rpartition(".")[0]:
            name = name.rpartition(".")[0]
            modules.setdefault(name, {})
    return modules


def text(modules: dict[str, dict[str, bool]]) -> str:
    """Return a line for each module: its name, and the names in it."""
    lines = []
    for module, names in sorted(modules.items()):
        kept = sorted(name + "!" * raised for name, raised in names.items() if not name.startswith("__"))
        lines.append(" ".join([module, *kept]))
    return "\n".join(lines) + "\n"


def main() -> int:
    if importlib.util.find_spec("torch") is None:
        print("tools.torch_names: PyTorch is not installed: make oracle", file=sys.stderr)
        return 1
    lines = text(found())
    with open(TARGET, "wb") as file, gzip.GzipFile("", "wb", 9, file, mtime=0) as packed:
        packed.write(lines.encode())
    print(f"{TARGET.name}: {lines.count(chr(10))} modules, {len(lines.split())} names, {TARGET.stat().st_size} bytes")
    return 0


if __name__ == "__main__":
    sys.exit(main())
