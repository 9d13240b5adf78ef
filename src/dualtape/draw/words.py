"""Pictures in words: an outline to read, and the languages of Mermaid and Graphviz."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from ..profiler.events import shown_bytes
from .marks import COLOURS, FONT

if TYPE_CHECKING:
    from .picture import Group, Item, Picture


def shared_levels(a: Group, b: Group) -> int:
    """How many levels two groups have in common."""
    return next((n for n, (x, y) in enumerate(zip(a, b, strict=False)) if x != y), min(len(a), len(b)))


def outline(picture: Picture) -> list[str]:
    """A line for each item: its name, its shape, what it is made of, what it keeps, where it was made."""
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
    """The name of an item, with a number where it is not the first of that name."""
    before = sum(item.name == picture.items[k].name for item in picture.items[:k])
    return picture.items[k].name if not before else f"{picture.items[k].name}.{before}"


def mermaid(picture: Picture) -> str:
    """A flowchart, with a subgraph for each group."""
    lines = ["flowchart TD"]
    _nested(picture, lines, "subgraph {number}[{name}]", "end", lambda k, item: f"n{k}[{_quoted(item)}]:::{item.kind}")
    lines += [f"  n{a} --> n{b}" for a, b in picture.edges]
    for kind in dict.fromkeys(item.kind for item in picture.items):
        fill, stroke = COLOURS[kind]
        lines.append(f"  classDef {kind} fill:{fill},stroke:{stroke}")
    return "\n".join(lines) + "\n"


def dot(picture: Picture) -> str:
    """A directed graph, with a cluster for each group."""
    font = FONT.split(",")[0]
    lines = [f"digraph {{ label={json.dumps(picture.title)}; labelloc=t;"]
    lines.append(f'  node [shape=box, style="rounded,filled", fontname="{font}", fontsize=11];')

    def declared(k: int, item: Item) -> str:
        fill, stroke = COLOURS[item.kind]
        return f'n{k} [label={_quoted(item)}, fillcolor="{fill}", color="{stroke}", tooltip={json.dumps(item.tip)}];'

    _nested(picture, lines, "subgraph cluster_{number} {{ label={name}; style=dashed;", "}", declared)
    lines += [f"  n{a} -> n{b};" for a, b in picture.edges]
    return "\n".join([*lines, "}"]) + "\n"


def _quoted(item: Item) -> str:
    return json.dumps(f"{item.name}\n{item.note}".strip(), ensure_ascii=False)


def _nested(picture: Picture, lines: list[str], begin: str, end: str, declared: object) -> None:
    open_: Group = ()
    number = 0
    for k, item in enumerate(picture.items):
        same = shared_levels(open_, item.group)
        lines += ["  " * (depth + 1) + end for depth in range(len(open_) - 1, same - 1, -1)]
        for depth in range(same, len(item.group)):
            number += 1
            name = json.dumps(item.group[depth], ensure_ascii=False)
            lines.append("  " * (depth + 1) + begin.format(number=f"g{number}", name=name))
        open_ = item.group
        lines.append("  " * (len(open_) + 1) + declared(k, item))  # type: ignore[operator]
    lines += ["  " * (depth + 1) + end for depth in range(len(open_) - 1, -1, -1)]
