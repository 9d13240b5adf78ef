"""Pictures as SVG: boxes in layers, arrows between them, and a legend of the colours."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from typing import TYPE_CHECKING, Any
from xml.sax.saxutils import escape, quoteattr

from .layout import BOX_HEIGHT, LAYER_GAP, Box, arranged, curves
from .marks import CHARACTER, COLOURS, FAINT, QUIET, document, text

if TYPE_CHECKING:
    from .picture import Picture

MARGIN = 28
_LONGEST = 34  # characters of a line in a box
_WORDS = {"op": "operation", "call": "call of a library", "outside": "elsewhere"}


def svg(picture: Picture) -> str:
    """Return the picture with all of its items as SVG."""
    shown = {
        k: Box((_cut(item.name), *([_cut(item.note)] if item.note else [])), *COLOURS[item.kind])
        for k, item in enumerate(picture.items)
    }
    successors: dict[Hashable, list] = {k: [] for k in shown}
    for a, b in picture.edges:
        successors[a].append(b)
    kinds = dict.fromkeys(item.kind for item in picture.items)
    key = [(_WORDS.get(kind, kind), *COLOURS[kind]) for kind in kinds]
    more = [
        (item.tip, item.name if item.kind == "group" else "", item.kind == "outside", item.words)
        for item in picture.items
    ]
    return drawn(shown, successors, picture.title, key, "arrows: the way of the data", more)


def drawn(
    boxes: Mapping[Any, Box],
    successors: Mapping[Any, list],
    title: str | None,
    key: Sequence[tuple[str, str, str]],
    foot: str,
    more: Sequence[tuple[str, str, bool, str]] = (),
) -> str:
    """Return SVG of boxes and the edges between them.

    ``more`` has each box's tip, the name of the group that it stands for, whether it is elsewhere, and what else it is
    to be found by.
    """
    layers, edges = arranged(boxes, successors)
    head = 44 if title else 0
    everything = [box for layer in layers for box in layer]
    left = min(box.x - box.width / 2 for box in everything) - MARGIN
    used = max(box.x + box.width / 2 for box in everything) + MARGIN - left
    legend = 24 + sum(44 + len(name) * 6.4 for name, _, _ in key) + len(foot) * 6.4
    width = max(used, len(title or "") * CHARACTER * 1.25 + 2 * MARGIN, legend)
    height = MARGIN + head + len(layers) * (BOX_HEIGHT + LAYER_GAP) - LAYER_GAP + 62
    for box in everything:
        box.x += (width - used) / 2 - left
        box.y += MARGIN + head
    body = [
        '<defs><marker id="arrow" viewBox="0 0 8 8" refX="1" refY="4" markerWidth="8" markerHeight="8" '
        'orient="auto" markerUnits="userSpaceOnUse">'
        f'<path d="M0,0 L8,4 L0,8 z" fill="{FAINT}"/></marker></defs>'
    ]
    if title:
        body.append(text(width / 2, MARGIN + 12, title, 15, more='font-weight="bold"'))
    for path in curves(edges):
        body.append(f'<path d="{path}" fill="none" stroke="{FAINT}" stroke-width="1.6" marker-end="url(#arrow)"/>')
    for k, box in enumerate(boxes.values()):
        body += _box(box, *(more[k] if more else ("", "", False, "")))
    x = (width - legend) / 2 + 12
    for name, fill, stroke in key:
        y = height - 31
        body.append(f'<rect x="{x:.1f}" y="{y}" width="16" height="11" rx="3" fill="{fill}" stroke="{stroke}"/>')
        body.append(text(x + 22, height - 22, name, 11, QUIET, "start"))
        x += 44 + len(name) * 6.4
    body.append(text(x, height - 22, foot, 11, QUIET, "start"))
    return document(width, height, body)


def _box(box: Box, tip: str, group: str, outside: bool, words: str) -> list[str]:
    dashed = ' stroke-dasharray="4 3"' if outside else ""
    opens = f" data-group={quoteattr(group)}" if group else ""
    found = f" data-words={quoteattr(words)}" if words else ""
    lines = [
        f'<g class="box{" outside" if outside else ""}"{opens}{found}>',
        f"<title>{escape(tip)}</title>" if tip else "",
    ]
    lines.append(
        f'<rect x="{box.x - box.width / 2:.1f}" y="{box.y - BOX_HEIGHT / 2:.1f}" width="{box.width:.1f}" '
        f'height="{BOX_HEIGHT}" rx="7" fill="{box.fill}" stroke="{box.stroke}" stroke-width="1.4"{dashed}/>'
    )
    first = box.y + (4 if len(box.lines) == 1 else -4)
    lines.append(text(box.x, first, box.lines[0], 12, more='font-weight="bold"'))
    lines += [text(box.x, box.y + 13, line, 11, QUIET) for line in box.lines[1:2]]
    return [*filter(None, lines), "</g>"]


def _cut(words: str) -> str:
    if len(words) <= _LONGEST:
        return words
    if "." in words and " " not in words:  # a parameter's path: its end tells it from its neighbours
        return "…" + words[1 - _LONGEST :]
    return words[: _LONGEST - 1] + "…"
