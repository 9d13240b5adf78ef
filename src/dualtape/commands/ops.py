"""``dualtape ops`` and ``dualtape explain``: the op table, for people."""

from __future__ import annotations

import inspect
import textwrap
from difflib import get_close_matches
from pathlib import Path
from typing import Any

import dualtape as dt
from dualtape.ops import load_all
from dualtape.ops.table import COMPOSITES, TABLE


def rows() -> dict[str, Any]:
    """The ops that users call, by name."""
    load_all()
    named: dict[str, Any] = {**TABLE, **COMPOSITES}
    return {name: named[name] for name in sorted(named) if named[name].torch_name != "-"}


def listed(words: list[str]) -> list[dict[str, Any]]:
    """The ops in whose name, PyTorch's name or first line all of the words stand."""
    found = []
    for name, row in rows().items():
        first = (row.doc or "").strip().partition("\n")[0]
        text = f"{name} {row.torch_name or ''} {first}".lower()
        if all(word.lower() in text for word in words):
            kind = "composition" if name in COMPOSITES else row.kind
            found.append({"name": name, "torch": row.torch_name or name, "kind": kind, "summary": first})
    return found


def missing() -> dict[str, list[str]]:
    """Names of PyTorch's that are left out, by their reason: from the page that lists them."""
    page = Path(dt.__file__).parents[2] / "docs" / "left-out.md"
    if not page.exists():
        raise FileNotFoundError(
            "the list of what is left out, docs/left-out.md, is in the source and not in the package"
        )
    found: dict[str, list[str]] = {}
    reason = ""
    for line in page.read_text().splitlines():
        if line.startswith(("- ", "  ")):
            reason = line[2:].partition(":")[0] if line.startswith("- ") else reason
            found.setdefault(reason, []).extend(word for word in line.split("`")[1::2])
    return found


def explained(name: str) -> dict[str, Any]:
    """What there is to know about an op."""
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
        "defined": _place(function if composed else row.forward),
    }
    if not composed:
        told["forward"] = _source(row.forward)
        told["formulas"] = {param: _source(formula) for param, formula in _formulas(row).items()}
        told["saves"] = [save[0] for save, users in zip(row.saves, row.users, strict=True) if users]
        told["node"] = list(row.node_names)
        told["in place"] = bool(row.inplace)
    return told


def _formulas(row: Any) -> dict[str, Any]:
    return {param: formula for param, (formula, _) in zip(row.inputs, row.formulas, strict=False)}


def _signature(function: Any) -> str:
    try:
        return str(inspect.signature(function))
    except (TypeError, ValueError):
        return "(...)"


def _place(function: Any) -> str:
    code = getattr(inspect.unwrap(function) if callable(function) else function, "__code__", None)
    if code is None:
        return f"numpy.{getattr(function, '__name__', function)}"
    path = Path(code.co_filename)
    root = Path(dt.__file__).parent
    shown = path.relative_to(root.parent) if path.is_relative_to(root.parent) else path
    return f"{shown}:{code.co_firstlineno}"


def _source(function: Any) -> str:
    if not hasattr(function, "__code__"):
        return f"numpy.{getattr(function, '__name__', function)}"
    try:
        lines = textwrap.dedent(inspect.getsource(function)).strip().splitlines()
    except (OSError, TypeError):
        return "(written by the generator)"
    return "\n".join(lines[:12] + (["..."] if len(lines) > 12 else []))


def shown(told: dict[str, Any]) -> str:
    """An explanation as text."""
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
    return "\n".join(lines)
