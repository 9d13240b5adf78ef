"""``python -m tools.stubs``: writes what editors and type checkers read of the functions that the op table makes.

The functions and methods are written when a program first calls them, so that no checker finds them in the source.
``src/dualtape/__init__.pyi`` has the package's names, those of ``nn``, ``optim`` and ``utils`` say where theirs are
written, ``src/dualtape/_tensor/methods.pyi`` has the methods of tensors:
parameters as ``inspect`` shows them, the first sentence of the docstring, and what the samples of the row gave.
``--check`` writes nothing and fails if a file is not what it would write.
"""

from __future__ import annotations

import ast
import functools
import importlib
import inspect
import pkgutil
import re
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

import dualtape as dt
from dualtape import _lazy
from dualtape._tensor import layouts, memory, protocols, tensor
from dualtape.ops import FUNCTIONS, load_all
from dualtape.ops.samples import Array, Sample
from dualtape.ops.table import COMPOSITES, TABLE, Composite, Op

ROOT = Path(dt.__file__).parent
NAMESPACES = ("linalg", "special", "fft", "nn.functional")
# whose names come by stars or load on first use, which checkers do not follow; and names to add to those seen
PACKAGES = {"nn": ("DataParallel",), "nn.modules": (), "optim": (), "utils": ("_pytree", "_python_dispatch")}
PACKAGE, METHODS = ROOT / "__init__.pyi", ROOT / "_tensor" / "methods.pyi"
_CALLED = {"draw": "from .draw import Drawing as _Drawing\ndraw: _Drawing"}  # modules that are functions too
_BUILTINS = "bool complex float int"  # which the package has, and tensors have, as names of their own
_OPERATORS = re.compile(
    "__([ri]?(add|sub|mul|truediv|floordiv|mod|pow|matmul|and|or|xor|lshift|rshift)"
    "|lt|le|gt|ge|eq|ne|abs|neg|pos|invert|getitem|setitem)__$"
)


def main() -> int:
    load_all()
    wanted = {PACKAGE: _package(), METHODS: _methods(), **{_path(name): _namespace(name) for name in NAMESPACES}}
    wanted |= {_path(name).with_suffix("") / "__init__.pyi": _exports(name) for name in PACKAGES}
    if "--check" in sys.argv:
        stale = [path for path, text in wanted.items() if not path.exists() or path.read_text() != text]
        print("\n".join(f"{path.relative_to(ROOT)} is not current: run python -m tools.stubs" for path in stale))
        return bool(stale)
    for path, text in wanted.items():
        path.write_text(text)
    return 0


# --- one function -----------------------------------------------------------------------------------


def _declared(name: str, function: Any, self: bool = False, space: str = "") -> str:
    """A declaration of ``function`` of a namespace; of a method, the first parameter is ``self``."""
    row = _row(name, function, space)
    try:
        parameters = list(inspect.signature(function).parameters.values())
    except (TypeError, ValueError):
        parameters = [inspect.Parameter("args", inspect.Parameter.VAR_POSITIONAL)]
        parameters += [inspect.Parameter("kwargs", inspect.Parameter.VAR_KEYWORD)]
    if self:
        first = parameters[0].kind if parameters else None
        rest = parameters if first in (inspect.Parameter.VAR_POSITIONAL, None) else parameters[1:]
        parameters = [inspect.Parameter("self", inspect.Parameter.POSITIONAL_OR_KEYWORD), *rest]
        if isinstance(row, Op) and row.varargs is not None:
            place = row.varargs
            parameters[place] = inspect.Parameter(parameters[place].name, inspect.Parameter.VAR_POSITIONAL)
    shown = ", ".join(_parameters(parameters))
    summary = _summary(function)
    body = f'\n    """{summary}"""\n' if summary else " ...\n"
    return f"def {name}({shown}) -> {_result(name, function, row)}:{body}"


def _parameters(parameters: list[inspect.Parameter]) -> Iterator[str]:
    starred = False
    for p in parameters:
        if p.kind is p.KEYWORD_ONLY and not starred:
            starred = True
            yield "*"
        starred |= p.kind is p.VAR_POSITIONAL
        mark = "*" if p.kind is p.VAR_POSITIONAL else "**" if p.kind is p.VAR_KEYWORD else ""
        kind = "" if p.name == "self" else f": {_annotation(p)}"
        yield f"{mark}{p.name}{kind}" + ("" if p.default is p.empty else " = ...")


def _annotation(p: inspect.Parameter) -> str:
    """Annotations of numbers and truth as they are; anything else may be a tensor, an array or a number."""
    given = p.annotation if isinstance(p.annotation, str) else ""
    if set(re.findall(r"\w+", given)) <= {*_BUILTINS.split(), "str", "None"} and given:
        return re.sub(rf"\b({_BUILTINS.replace(' ', '|')})\b", r"_\1", given)
    if isinstance(p.default, bool):
        return "_bool"
    return "Any"


def _summary(function: Any) -> str:
    doc = inspect.getdoc(function) or ""
    return " ".join(doc.split("\n\n")[0].split()).replace("\\", "\\\\").replace('"', "'")


_OPERANDS = {
    **dict.fromkeys(("__abs__", "__invert__", "__neg__", "__pos__"), "self"),
    "__getitem__": "self, key: Any, /",
    "__setitem__": "self, key: Any, value: Any, /",
}
_VALUES = {"dtype": "dtype", "str": "str", "float": "_float"}  # kinds of what is no function
_IN_PLACE = re.compile(r"(\w+)_$")


def _result(name: str, function: Any, row: Op | Composite | None) -> str:
    if not name.startswith("__") and _IN_PLACE.match(name):
        return "Tensor"
    if _OPERATORS.match(name):
        return "None" if name == "__setitem__" else "Tensor"
    if row is None:
        given = inspect.signature(function).return_annotation
        return given if given in ("Tensor", "tuple", "list") else f"_{given}" if given in _BUILTINS.split() else "Any"
    if isinstance(row, Op):
        if row.outputs is None:
            return "Tensor"
        return "tuple[Tensor, ...]" if row.outputs == "listed" else _named(row)
    kinds = {kind for each in row.samples if (kind := _kind(row, each)) is not None}
    return kinds.pop() if len(kinds) == 1 else "Any"


def _row(name: str, function: Any, space: str) -> Op | Composite | None:
    own = getattr(function, "__name__", "")
    prefix = "" if space in ("", "nn.functional") else f"{space}_"
    for key in (prefix + name, prefix + own, own):
        if key in TABLE or key in COMPOSITES:
            return TABLE.get(key) or COMPOSITES[key]
    return None


def _named(row: Op) -> str:
    return f"_{row.name}_result".replace(".", "_")


def _kind(row: Composite, given: Sample) -> str | None:
    """What the function gave for a sample of real numbers, or else of complex ones; None if it refused both."""
    for dtype in (np.float32, np.complex64):
        make = functools.partial(_made, rng=np.random.default_rng(0), dtype=dtype)
        try:
            with dt.no_grad(), warnings.catch_warnings():
                warnings.simplefilter("ignore")
                result = row.function(*map(make, given.args), **{name: make(v) for name, v in given.kwargs.items()})
            break
        except (RuntimeError, TypeError, ValueError):
            pass
    else:
        return None
    if isinstance(result, dt.Tensor):
        return "Tensor"
    if isinstance(result, tuple) and all(isinstance(part, dt.Tensor) for part in result):
        return "tuple[Tensor, ...]" if type(result) is tuple else "Any"
    return f"_{type(result).__name__}" if type(result).__name__ in _BUILTINS.split() else "Any"


def _made(value: Any, rng: np.random.Generator, dtype: Any) -> Any:
    if isinstance(value, (Array, np.ndarray)):
        return dt.tensor(value.make(rng, dtype) if isinstance(value, Array) else value)
    return type(value)(_made(part, rng, dtype) for part in value) if type(value) in (list, tuple) else value


def _file(doc: str, imports: list[str], body: list[str]) -> str:
    """A file of declarations, with a class for each result with names that they speak of."""
    text = "".join(body)
    results = [
        f"class {_named(row)}(NamedTuple):\n" + "".join(f"    {name}: Tensor\n" for name in row.outputs) + "\n"
        for row in TABLE.values()
        if isinstance(row.outputs, tuple) and f"-> {_named(row)}:" in text
    ]
    return "".join([_HEAD.format(doc=doc), *(f"{line}\n" for line in imports), "\n", *results, text])


# --- the files --------------------------------------------------------------------------------------

_HEAD = '''"""{doc} Written by ``python -m tools.stubs``."""

# ruff: noqa - written by a tool, one signature a line
from builtins import bool as _bool, complex as _complex, float as _float, int as _int
from typing import Any, NamedTuple

'''


def _methods() -> str:
    """The methods that the table puts on tensors: what is not written out in the classes that they are of."""
    homes = {memory: "Memory", layouts: "Layouts", protocols: "Protocols", tensor: "Tensor"}
    written = {name for module, cls in homes.items() for name in _defined(module, cls)}
    written |= {*dir(object)} - {"__eq__", "__ne__", "__lt__", "__le__", "__gt__", "__ge__"}
    lines = ["class Methods:\n"]
    for name in sorted({*dir(dt.Tensor)} - written):
        member = getattr(dt.Tensor, name)
        if _OPERATORS.match(name):
            lines.append(
                f"    def {name}({_OPERANDS.get(name, 'self, other: Any, /')}) -> {_result(name, member, None)}: ..."
            )
            lines.append("  # type: ignore[override]  # of object: a bool\n" if name in ("__eq__", "__ne__") else "\n")
        elif callable(member) and not name.startswith("__"):
            text = _declared(name, member, self=True)
            lines.append("".join(f"    {line}\n" for line in text.splitlines()))
        elif isinstance(member, property):
            lines.append(f"    @property\n    def {name}(self) -> Any: ...\n")
    return _file("The methods of tensors that the op table declares.", ["from .tensor import Tensor"], lines)


def _defined(module: ModuleType, cls: str) -> set[str]:
    tree = ast.parse(inspect.getsource(module))
    body = next(node for node in tree.body if isinstance(node, ast.ClassDef) and node.name == cls).body
    names = {node.name for node in body if isinstance(node, (ast.FunctionDef, ast.ClassDef))}
    names |= {node.target.id for node in body if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name)}
    return names | {
        t.id for node in body if isinstance(node, ast.Assign) for t in node.targets if isinstance(t, ast.Name)
    }


def _package() -> str:
    imports: list[str] = []
    tree = ast.parse((ROOT / "__init__.py").read_text())
    imported = [node for node in tree.body if isinstance(node, ast.ImportFrom) and node.level]
    seen = set()
    for node in imported:
        for alias in node.names:
            public = not (alias.asname or alias.name).startswith("_")
            if alias.name == "*":
                module = sys.modules[f"dualtape.{node.module}"]
                imports += [f"from .{node.module} import {name} as {name}" for name in sorted(module.__all__)]
                seen |= set(module.__all__)
            elif public:
                imports.append(f"from .{node.module or ''} import {alias.name} as {alias.name}")
                seen.add(alias.name)
    imports += [_CALLED.get(name, f"from . import {name} as {name}") for name in sorted(_lazy._MODULES)]
    for name, home in sorted(_lazy._NAMES.items()):
        if _importable(name, home):
            imports.append(f"from .{home} import {name} as {name}")
            seen.add(name)
    lines = []
    for name in sorted({*dir(dt)} - seen - set(_lazy._MODULES)):
        value = getattr(dt, name)
        if name.startswith("_") and name != "__version__" and name not in FUNCTIONS:
            continue
        if inspect.isfunction(value):
            lines.append(_declared(name, value))
        elif not isinstance(value, ModuleType):
            kind = "dtype" if isinstance(value, dt.dtype) else type(value).__name__
            lines.append(f"{name}: {_VALUES.get(kind, 'Any')}\n")
    return _file("The names of the package.", imports, lines)


def _path(namespace: str) -> Path:
    return ROOT.joinpath(*namespace.split(".")).with_suffix(".pyi")


def _namespace(path: str) -> str:
    """The functions of a namespace that is filled from the table."""
    module = importlib.import_module(f"dualtape.{path}")
    lines = []
    own = {name for name, value in vars(module).items() if getattr(value, "__module__", "") == module.__name__}
    for name in sorted({*module.__all__, *own}):
        value = getattr(module, name)
        if isinstance(value, type):
            lines.append(f"class {name}({value.__bases__[0].__name__}): ...\n")
        elif inspect.isfunction(value):
            lines.append(_declared(name, value, space=path))
    imports = [f"from {'.' * (path.count('.') + 1)} import Tensor"]
    return _file(f"The names of ``dualtape.{path}``.", imports, lines)


def _exports(path: str) -> str:
    """The names of a package that has no functions of its own, each from where it is written."""
    package = importlib.import_module(f"dualtape.{path}")
    modules = {found.name for found in pkgutil.iter_modules(package.__path__)}
    lines = []
    for name in sorted({*vars(package), *modules, *PACKAGES[path]}):
        if name.startswith("_") and name not in PACKAGES[path]:
            continue
        if name in modules:
            lines.append(f"from . import {name} as {name}")
        elif (home := getattr(getattr(package, name), "__module__", None) or "").startswith(f"dualtape.{path}."):
            lines.append(f"from {home.removeprefix(f'dualtape.{path}')} import {name} as {name}")
    doc = f'"""The names of ``dualtape.{path}``. Written by ``python -m tools.stubs``."""'
    return "\n".join([doc, "", "# ruff: noqa - written by a tool, one signature a line", *lines, ""])


def _importable(name: str, module: str) -> bool:
    """Whether a checker finds ``name`` in the source of its module."""
    source = ROOT.joinpath(*module.split("."))
    source = source.with_suffix(".py") if source.with_suffix(".py").exists() else source / "__init__.py"
    return (
        re.search(rf"^(class|def) {name}\b|^(from .* )?import .*\b{name}\b|^{name}\b.*=", source.read_text(), re.M)
        is not None
    )


if __name__ == "__main__":
    raise SystemExit(main())
