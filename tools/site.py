"""``python -m tools.site [--bench FILE]``: writes what the documentation site shows and nobody writes by hand.

A page for each op of the table, one for each public namespace, the examples, the source atlas, and benchmarks if a file
of measurements is given (``make bench BENCH_ARGS='--json FILE'``). All of it goes to ``docs/_generated``; ``make docs``
runs this, then Sphinx.
"""

from __future__ import annotations

import argparse
import html
import importlib
import inspect
import json
import math
import re
import shutil
import sys
import warnings
from pathlib import Path
from typing import Any

import dualtape as dt
from dualtape.commands.ops import explained, graph_of, summary
from dualtape.ops.table import TABLE
from tools import atlas, coverage
from tools.formulas import mathml

ROOT = Path(__file__).parent.parent
OUT = ROOT / "docs" / "_generated"
NAMESPACES = {
    "autograd": "Gradients",
    "autograd.graph": "Graphs, hooks, saved tensors",
    "autograd.forward_ad": "Forward mode",
    "autograd.functional": "Functions of functions, the older ones",
    "func": "Transforms",
    "nn": "Layers and losses",
    "nn.functional": "Functions of networks",
    "nn.init": "Initial weights",
    "nn.utils": "Clipping, parametrisations, packed sequences",
    "optim": "Optimizers",
    "optim.lr_scheduler": "Learning rates",
    "optim.swa_utils": "Averages of weights",
    "utils.data": "Datasets and loaders",
    "utils.checkpoint": "Computing again instead of keeping",
    "distributions": "Distributions",
    "linalg": "Linear algebra",
    "fft": "Fourier transforms",
    "special": "Special functions",
    "control_flow": "Control flow",
    "compiler": "Compiling",
    "profiler": "Profiling",
    "library": "Ops of your own",
    "draw": "Pictures of graphs",
    "array_api": "The array API standard",
    "scipy.integrate": "Differential equations",
    "scipy.optimize": "Roots and minima",
    "scipy.linalg": "SciPy's linear algebra",
    "hips": "HIPS autograd's names",
}


def differences(page: str) -> list[tuple[set[str], str]]:
    """The entries of the page of differences: the words in the code of their heads, and their text."""
    entries = []
    for entry in re.split(r"^- ", page, flags=re.M)[1:]:
        head = re.match(r"\*\*(.+?)\*\*", entry, re.S)
        codes = re.findall(r"`([^`]+)`", head[1]) if head else []
        entries.append(({word for code in codes for word in re.findall(r"\w+", code)}, " ".join(entry.split())))
    return entries


def fenced(language: str, text: str) -> list[str]:
    return [f"```{language}", text, "```", ""]


def op_page(name: str, differs: list[tuple[set[str], str]], covered: dict[str, str]) -> str:
    """What the table knows of an op: signature, formulas as they are written, what is saved, its node."""
    told = explained(name)
    lines = [*atlas.ALONE, f"# {name}", "", *fenced("python", told["signature"])]
    description, _, example = told["description"].partition(">>>")
    lines += [atlas.cell(re.sub(r"\n\nExamples\n-+\s*$", "", description.strip())), ""]
    if example:
        lines += fenced("pycon", inspect.cleandoc(">>>" + example))
    facts = {"PyTorch's name": f"`{told['torch']}`", "kind": told["kind"], "defined": f"`{told['defined']}`"}
    if name in TABLE:
        facts["node"] = ", ".join(f"`{node}`" for node in told["node"])
        facts["saves"] = ", ".join(f"`{key}`" for key in told["saves"]) or "nothing"
        facts["in place"] = f"`{name}_`" if told["in place"] else ""
    lines += [
        "| of the row | |",
        "|---|---|",
        *(f"| {key} | {atlas.cell(value)} |" for key, value in facts.items() if value),
        "",
    ]
    if name in TABLE:
        lines += ["## Forward", "", *fenced("python", told["forward"])]
        lines += derivative(told["formulas"])
    if (picture := graph_of(name)) is not None:
        lines += ["## Graph", "", "What it records on a sample:", "", f'<div class="graph">{picture.svg()}</div>', ""]
    if name in covered:
        lines += ["## What it was found to do", "", *coverage.HEAD.strip().splitlines()[-2:], covered[name], ""]
    here = [text for words, text in differs if name in words]
    if here:
        lines += ["## Where PyTorch differs", "", *(f"- {text}" for text in here), ""]
    return "\n".join(lines)


def derivative(formulas: dict[str, str]) -> list[str]:
    """The formulas of an op's gradients: as mathematics where that has signs for them, and as they are written."""
    if not formulas:
        return []
    lines = ["## Derivative", ""]
    drawn = {param: mathml(text) for param, text in formulas.items()}
    if any(drawn.values()):
        lines += ["From the gradient *g* of the result; an asterisk is the complex conjugate.", ""]
        lines += ["| gradient of | |", "|---|---|", *(f"| `{p}` | {text} |" for p, text in drawn.items() if text), ""]
    written = dict.fromkeys(formulas.values())
    return [*lines, "As it is written:", "", *fenced("python", "\n".join(written))]


def write_ops(out: Path) -> int:
    """A page for each op, and one that lists them."""
    out.mkdir(parents=True)
    differs = differences((ROOT / "docs" / "differences.md").read_text())
    rows = re.findall(r"^\| `(\w+)` .*$", coverage.PAGE.read_text(), re.M)
    covered = dict(zip(rows, re.findall(r"^\| `\w+` .*$", coverage.PAGE.read_text(), re.M), strict=True))
    names = [row.name for row in coverage.rows()]
    listed = []
    for name in names:
        text = op_page(name, differs, covered)
        (out / f"{name}.md").write_text(text, encoding="utf-8")
        brief = summary(explained(name)["description"])
        listed.append(f"| [{name}]({name}.md) | {atlas.cell(brief)} |")
    head = f"# Ops\n\nThe {len(names)} ops of the table, each with its formulas.\n\n| op | |\n|---|---|\n"
    (out / "index.md").write_text(head + "\n".join(listed) + "\n", encoding="utf-8")
    return len(names)


def public(module: Any) -> list[str]:
    """The names of a namespace that have something to say."""
    names = getattr(module, "__all__", None) or [n for n in dir(module) if not n.startswith("_")]
    found = {n: getattr(module, n) for n in names}
    return sorted(n for n, v in found.items() if (callable(v) and v.__doc__ and "dualtape" in (v.__module__ or "")))


def write_api(out: Path) -> None:
    """A page for each namespace: a table of its names, then what each says of itself."""
    out.mkdir(parents=True)
    seen: set[int] = set()
    for name, title in {"Tensor": "The tensor", **NAMESPACES}.items():
        if name == "Tensor":
            body = [".. autoclass:: dualtape.Tensor", "   :members:", "   :undoc-members:"]
            where = "dualtape.Tensor"
        else:
            where = f"dualtape.{name}"
            module = importlib.import_module(where)
            names = public(module)
            body = [f".. currentmodule:: {where}", "", ".. autosummary::", "   :nosignatures:", ""]
            body += [f"   {n}" for n in names] + [""]
            for n in names:
                value = getattr(module, n)
                body += [f".. auto{'class' if inspect.isclass(value) else 'function'}:: {n}"]
                body += ["   :no-index:", ""] if id(value) in seen else [""]  # it has another home already
                seen.add(id(value))
        text = [f"# {title}: `{where}`", "", *fenced("{eval-rst}", "\n".join(body))]
        (out / f"{name}.md").write_text("\n".join(text), encoding="utf-8")
    toc = "\n".join(["```{toctree}", ":maxdepth: 1", "", "Tensor", *NAMESPACES, "```", ""])
    (out / "index.md").write_text(
        f"# Reference\n\nThe ops of `dualtape` itself have [pages of their own](../ops/index.md).\n\n{toc}",
        encoding="utf-8",
    )


def write_examples(out: Path) -> None:
    """The list of examples, and the text of each."""
    folder = ROOT / "examples"
    text = re.sub(r"\[([\w.]+\.py)\]\(\1\)", r"[\1](#\1)", (folder / "README.md").read_text())
    for example in sorted(folder.glob("*.py")):
        text += f"\n({example.name})=\n## {example.name}\n\n```python\n{example.read_text()}```\n"
    (out / "examples.md").write_text(text, encoding="utf-8")


def write_pictures(out: Path) -> None:
    """The graph of the first page, and one of 300 nodes with its search and its groups."""
    x = dt.ones(3, requires_grad=True)
    small = dt.draw(dt.tanh(x).pow(2).sum(), names={"x": x})
    small.title = ""
    (out / "front.html").write_text(f'<div class="graph front">{small.svg()}</div>', encoding="utf-8")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about masks that this one does not have
        network = dt.nn.Transformer(16, 2, num_encoder_layers=2, num_decoder_layers=2, dim_feedforward=32)
    picture = dt.draw(network, dt.ones(3, 2, 16), dt.ones(3, 2, 16))
    (out / "graph.html").write_text(f'<div class="graph">{picture._repr_html_()}</div>', encoding="utf-8")


def bars(ratios: dict[str, float]) -> str:
    """A picture of times as parts of another's, on a logarithmic scale, the line at one."""
    low, high = max(0.05, min(0.1, *ratios.values())), min(4.0, max(2.0, *ratios.values()))  # what is beyond is cut
    place = lambda r: 260 + 420 * math.log(min(max(r, low), high) / low) / math.log(high / low)
    rows = [f'<line x1="{place(1):.1f}" x2="{place(1):.1f}" y1="0" y2="{18 * len(ratios)}" stroke="#888"/>']
    for i, (name, ratio) in enumerate(sorted(ratios.items(), key=lambda item: item[1])):
        colour = "#2a7f62" if ratio <= 1 else "#b5523b"
        left, right = sorted((place(ratio), place(1)))
        rows.append(f'<rect x="{left:.1f}" y="{18 * i + 3}" width="{right - left:.1f}" height="12" fill="{colour}"/>')
        rows.append(f'<text x="250" y="{18 * i + 13}" text-anchor="end">{html.escape(name)}</text>')
        rows.append(f'<text x="690" y="{18 * i + 13}">{ratio:.2f}</text>')
    style = 'font-family="sans-serif" font-size="12" fill="currentColor"'
    return f'<svg class="bars" viewBox="0 0 740 {18 * len(ratios)}" {style}>{"".join(rows)}</svg>'


def benchmarks_page(measured: dict[str, Any] | None) -> str:
    """The measurements of a file of ``make bench``: a picture and the machine they are from."""
    if measured is None:
        told = "make bench BENCH_ARGS='--json benchmarks.json' && make docs BENCH=benchmarks.json"
        return f"# Benchmarks\n\nThis site was built without measurements: `{told}`.\n"
    machine = ", ".join(f"{key} {value}" for key, value in {**measured["machine"], **measured["versions"]}.items())
    lines = [
        "# Benchmarks",
        "",
        "Times as parts of PyTorch's, on a logarithmic scale: green is faster than PyTorch. The",
    ]
    lines += [f"same programs in one process, in turns; the fastest of many. {machine}.", ""]
    kinds = dict.fromkeys(w["kind"] for w in measured["workloads"])
    for kind in kinds:
        found = [w for w in measured["workloads"] if w["kind"] == kind and w.get("ratio")]
        ratios = {w["name"]: w["ratio"] for w in found}
        mean = math.exp(sum(map(math.log, ratios.values())) / len(ratios))
        lines += [f"## {kind.capitalize()} programs", "", f"{mean:.2f} in geometric mean over {len(ratios)}.", ""]
        lines += [bars(ratios), "", "| program | dualtape | PyTorch |", "|---|---:|---:|"]
        lines += [f"| {w['name']} | {_microseconds(w, 'dualtape')} | {_microseconds(w, 'torch')} |" for w in found]
        lines.append("")
    return "\n".join(lines)


def _microseconds(workload: dict[str, Any], peer: str) -> str:
    return f"{1e6 * workload['minimum'][peer]:,.1f} µs"


def main(arguments: list[str] | None = None) -> int:
    """Write the generated pages."""
    parser = argparse.ArgumentParser(prog="python -m tools.site")
    parser.add_argument("--bench", type=Path, metavar="FILE", help="measurements written by make bench")
    options = parser.parse_args(arguments)
    measured = json.loads(options.bench.read_text()) if options.bench else None
    shutil.rmtree(OUT, ignore_errors=True)
    OUT.mkdir(parents=True)
    count = write_ops(OUT / "ops")
    write_api(OUT / "api")
    write_examples(OUT)
    write_pictures(OUT)
    modules = atlas.write(str(ROOT / "src" / "dualtape"), OUT / "atlas")
    (OUT / "benchmarks.md").write_text(benchmarks_page(measured), encoding="utf-8")
    print(f"{count} ops, {len(NAMESPACES) + 1} namespaces, {len(modules)} modules")
    return 0


if __name__ == "__main__":
    sys.exit(main())
