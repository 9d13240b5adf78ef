"""Pictures as text: an outline, and the languages of Mermaid and Graphviz."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import TYPE_CHECKING

from ..profiler.events import shown_bytes
from .marks import COLOURS, FAINT, FONT

if TYPE_CHECKING:
    from .picture import Group, Item, Picture


def shared_levels(a: Group, b: Group) -> int:
    """Return how many levels two groups have in common."""
    return next((n for n, (x, y) in enumerate(zip(a, b, strict=False)) if x != y), min(len(a), len(b)))


def counted(nodes: int) -> str:
    """Return a number of nodes as text."""
    return f"{nodes} node{'s' * (nodes != 1)}"


def outline(picture: Picture) -> list[str]:
    """Render a picture as plain text: a line for each item with its name, shape, inputs, saved values and source
    line.
    """
    names = [_numbered(picture, k) for k in range(len(picture))]
    sources: dict[int, list[int]] = {}
    for a, b in picture.edges:
        sources.setdefault(b, []).append(a)
    lines = []
    open_: Group = ()
    wide = max((len(name) for name in names), default=0)
    for k, item in enumerate(picture.items):
        same = shared_levels(open_, item.group)
        lines += [f"{'  ' * (same + n + 1)}{name}:" for n, name in enumerate(item.group[same:])]
        open_ = item.group
        parts = [f"{names[k]:{wide}}", item.note]
        if k in sources:
            parts.append(f"<- {', '.join(names[a] for a in sources[k])}")
        elif item.kind != "op":
            parts.append(item.kind)
        parts += [f"keeps {shown_bytes(item.nbytes)}"] * bool(item.nbytes) + [item.line] * bool(item.line)
        lines.append("  " * (len(item.group) + 1) + "  ".join(filter(None, parts)).rstrip())
    return lines


def _numbered(picture: Picture, k: int) -> str:
    """Return the name of an item, with a number if it is not the first of that name."""
    before = sum(item.name == picture.items[k].name for item in picture.items[:k])
    return picture.items[k].name if not before else f"{picture.items[k].name}.{before}"


def mermaid(picture: Picture) -> str:
    """Return a flowchart, with a subgraph for each group."""
    lines = ["flowchart TD"]

    def declared(k: int, item: Item) -> str:
        return f"n{k}[{_for_mermaid(_label(item))}]:::{item.kind}_box"  # "call" alone is a word of Mermaid's

    _nested(picture, lines, "subgraph {number}[{name}]", "end", declared, _for_mermaid)
    lines += [f"  n{a} --> n{b}" for a, b in picture.edges]
    for kind in dict.fromkeys(item.kind for item in picture.items):
        fill, stroke = COLOURS[kind]
        lines.append(f"  classDef {kind}_box fill:{fill},stroke:{stroke}")
    return "\n".join(lines) + "\n"


def dot(picture: Picture) -> str:
    """Return a directed graph, with a cluster for each group."""
    font = FONT.split(",")[0]
    lines = [f'digraph {{ label={_dumped(picture.title)}; labelloc=t; fontname="{font}"; fontsize=13;']
    lines.append(f'  node [shape=box, style="rounded,filled", fontname="{font}", fontsize=11];')
    lines.append(f'  edge [color="{FAINT}", arrowsize=0.7];')

    def declared(k: int, item: Item) -> str:
        fill, stroke = COLOURS[item.kind]
        return (
            f'n{k} [label={_dumped(_label(item))}, fillcolor="{fill}", color="{stroke}", tooltip={_dumped(item.tip)}];'
        )

    # a label at the left: edges come in at the middle
    cluster = f'{{{{ label={{name}}; labeljust=l; fontsize=11; style=dashed; color="{FAINT}";'
    _nested(picture, lines, f"subgraph cluster_{{number}} {cluster}", "}", declared, _dumped)
    lines += [f"  n{a} -> n{b};" for a, b in picture.edges]
    return "\n".join([*lines, "}"]) + "\n"


def _label(item: Item) -> str:
    return f"{item.name}\n{item.note}".strip()


def _dumped(text: str) -> str:
    """Return a string in Graphviz's syntax."""
    return json.dumps(text, ensure_ascii=False)


def _for_mermaid(text: str) -> str:
    """Return a string in Mermaid's syntax: HTML, with entities of its own."""
    for sign, entity in (("#", "#35;"), ('"', "#quot;"), ("<", "#lt;"), (">", "#gt;"), ("\n", "<br/>")):
        text = text.replace(sign, entity)
    return f'"{text}"'


def _nested(
    picture: Picture,
    lines: list[str],
    begin: str,
    end: str,
    declared: Callable[[int, Item], str],
    quoted: Callable[[str], str],
) -> None:
    """Write items in order, with the beginnings and ends of groups."""
    open_: Group = ()
    number = 0
    for k, item in enumerate(picture.items):
        same = shared_levels(open_, item.group)
        lines += ["  " * (depth + 1) + end for depth in range(len(open_) - 1, same - 1, -1)]
        for depth in range(same, len(item.group)):
            number += 1
            lines.append("  " * (depth + 1) + begin.format(number=f"g{number}", name=quoted(item.group[depth])))
        open_ = item.group
        lines.append("  " * (len(open_) + 1) + declared(k, item))
    lines += ["  " * (depth + 1) + end for depth in range(len(open_) - 1, -1, -1)]
