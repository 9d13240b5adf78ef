"""``dualtape ops`` and ``dualtape explain``: reports of the op table."""

from __future__ import annotations

import inspect
import re
import textwrap
import warnings
from difflib import get_close_matches
from pathlib import Path
from typing import Any

import numpy as np

import dualtape as dt
from dualtape.ops import AT_IMPORT, load_all
from dualtape.ops.families import index
from dualtape.ops.samples import Array
from dualtape.ops.table import COMPOSITES, TABLE

from .sources import declared, gradient, written


def rows() -> dict[str, Any]:
    """Return the public ops, by name."""
    load_all()
    named: dict[str, Any] = {**TABLE, **COMPOSITES}
    return {name: named[name] for name in sorted(named) if named[name].torch_name != "-"}


def summary(doc: str | None) -> str:
    """Return the first sentence of a docstring, on one line.

    Examples
    --------
    >>> summary("The sum of all\\n   of it. More of it.\\n\\nAnd so on.")
    'The sum of all of it.'
    """
    paragraph = " ".join((doc or "").strip().partition("\n\n")[0].split())
    return re.split(r"(?<=[^.]{2}[.])\s+(?=[A-Z`])", paragraph, maxsplit=1)[0]


def listed(words: list[str]) -> list[dict[str, Any]]:
    """Return the ops whose name, PyTorch name or first line contains all of the words."""
    found = []
    for name, row in rows().items():
        first = summary(row.doc)
        text = f"{name} {row.torch_name or ''} {first}".lower()
        if all(word.lower() in text for word in words):
            kind = "composition" if name in COMPOSITES else row.kind
            found.append({"name": name, "torch": row.torch_name or name, "kind": kind, "summary": first})
    return found


def missing() -> dict[str, list[str]]:
    """Return the names of PyTorch's that are left out, by reason, from the page that lists them."""
    package = Path(dt.__file__).parent
    places = (
        package / "data" / "left-out.md",
        package.parents[1] / "docs" / "left-out.md",
    )  # of a wheel, of the source
    page = next((place for place in places if place.exists()), None)
    if page is None:
        raise FileNotFoundError("the list of what is left out, left-out.md, was not installed with the package")
    found: dict[str, list[str]] = {}
    reason = ""
    for line in page.read_text().splitlines():
        if line.startswith(("- ", "  ")):
            reason = line[2:].partition(":")[0] if line.startswith("- ") else reason
            found.setdefault(reason, []).extend(word for word in line.split("`")[1::2])
    return found


def explained(name: str) -> dict[str, Any]:
    """Return the facts about an op."""
    known = rows()
    short = name.removeprefix("torch.").removeprefix("dualtape.")
    row = known.get(short) or known.get(short.replace(".", "_")) or known.get(short.rpartition(".")[2])
    if row is None:
        near = get_close_matches(short, known, 3)
        raise KeyError(f"there is no op {name!r}" + (f"; near it are {', '.join(near)}" if near else ""))
    composed = row.name in COMPOSITES
    function = row.function
    told: dict[str, Any] = {
        "name": row.name,
        "torch": row.torch_name or row.name,
        "signature": f"{row.name}{_signature(function)}",
        "description": inspect.cleandoc(row.doc or ""),
        "kind": "a composition of other ops" if composed else row.kind,
        "defined": _place(row.name, function if composed else row.forward),
    }
    if not composed:
        told["forward"] = written(row.forward)
        told["formulas"] = {param: gradient(formula) for param, formula in _formulas(row).items()}
        told["saves"] = [save[0] for save, users in zip(row.saves, row.users, strict=True) if users]
        told["node"] = list(row.node_names)
        told["in place"] = bool(row.inplace)
    picture = graph_of(row.name)
    told["graph"] = "" if picture is None else "\n".join(str(picture).splitlines()[1:])
    return told


def _formulas(row: Any) -> dict[str, Any]:
    return {param: formula for param, (formula, _) in zip(row.inputs, row.formulas, strict=False)}


def _signature(function: Any) -> str:
    try:
        signature = inspect.signature(function)
        bare = [p.replace(annotation=p.empty) for p in signature.parameters.values()]
        return str(signature.replace(parameters=bare, return_annotation=signature.empty))
    except (TypeError, ValueError):
        return "(...)"


def _place(name: str, function: Any) -> str:
    """Return where an op is declared; for a row made by a function, where its forward is."""
    root = Path(dt.__file__).parent
    shown = lambda path: path.relative_to(root.parent) if path.is_relative_to(root) else path
    family = index.family_of(name)
    for each in AT_IMPORT if family is None else (family,):
        path = root / ("random/draws.py" if each == "random" else f"ops/families/{each}.py")
        if (line := declared(str(path), name)) is not None:
            return f"{shown(path)}:{line}"
    code = getattr(inspect.unwrap(function), "__code__", None)
    return f"{shown(path)}" if code is None else f"{shown(Path(code.co_filename))}:{code.co_firstlineno}"


def _parameters(row: Any, sample: Any) -> tuple[tuple, dict]:
    """Return the arguments of a sample as tensors."""
    rng = np.random.default_rng(0)

    def made(value: Any) -> Any:
        if isinstance(value, Array):
            return dt.tensor(value.make(rng, "complex128" if row.complex == "only" else "float64"))
        if isinstance(value, np.ndarray):
            return dt.tensor(value)
        return type(value)(map(made, value)) if type(value) in (list, tuple) else value

    return tuple(map(made, sample.args)), {name: made(value) for name, value in sample.kwargs.items()}


def graph_of(name: str) -> Any:
    """Return a picture of the graph of an op on the first of its samples; None if it has no derivative."""
    row = rows()[name]
    for sample in row.samples[:1]:
        args, kwargs = _parameters(row, sample)
        with warnings.catch_warnings(), dt.random.fork_rng():
            warnings.simplefilter("ignore")
            try:
                picture = dt.draw(row.function, *args, **kwargs)
            except (ValueError, RuntimeError):  # nothing with a history, or an input that may have none
                return None
        for item in picture.items:
            item.line = ""  # it is of this function
        return picture
    return None


def shown(told: dict[str, Any]) -> str:
    """Return an explanation as text."""
    lines = [
        told["signature"],
        "",
        told["description"],
        "",
        f"kind      {told['kind']}",
        f"defined   {told['defined']}",
    ]
    lines.append(f"PyTorch   {told['torch']}")
    if "formulas" in told:
        lines += [
            f"node      {', '.join(map(str, told['node']))}",
            f"saves     {', '.join(told['saves']) or 'nothing'}",
        ]
        lines += ["", "forward", textwrap.indent(told["forward"], "    ")]
        for param, text in told["formulas"].items():
            lines += [f"gradient of {param}", textwrap.indent(text, "    ")]
    if told.get("graph"):
        lines += ["", "an example's graph", textwrap.indent(told["graph"], "    ")]
    return "\n".join(lines)
