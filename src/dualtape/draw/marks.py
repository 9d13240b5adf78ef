"""The elements of all pictures: a document, text, colours. SVG is returned as text."""

from __future__ import annotations

from collections.abc import Iterable
from xml.sax.saxutils import escape

FONT = "DejaVu Sans, Verdana, Helvetica, Arial, sans-serif"
INK = "#22303c"
FAINT = "#8a97a3"
QUIET = "#566573"
# An upper estimate of the width of a character at 12 px, so that words stay inside boxes.
CHARACTER = 7.4
# kind of box: its ground and its border
COLOURS = {
    "output": ("#fdf0dc", "#c9862b"),
    "op": ("#e6f0fb", "#3b78b5"),
    "leaf": ("#dff3e3", "#3f9a57"),
    "input": ("#dff3e3", "#3f9a57"),
    "constant": ("#f1f3f5", "#8a97a3"),
    "group": ("#efe8fa", "#7a55b8"),
    "kernel": ("#fdf0dc", "#c9862b"),
    "call": ("#fbe6ea", "#b5475b"),
    "outside": ("#ffffff", "#aab4bd"),
}


def document(width: float, height: float, body: Iterable[str], more: str = "") -> str:
    """Return drawing commands as an SVG document with a white background."""
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:.0f}" height="{height:.0f}" '
        f'viewBox="0 0 {width:.0f} {height:.0f}" font-family="{FONT}"{more}>',
        f'<rect width="{width:.0f}" height="{height:.0f}" fill="#ffffff"/>',
        *body,
        "</svg>",
    ]
    return "\n".join(lines) + "\n"


def text(
    x: float, y: float, words: str, size: int = 12, fill: str = INK, anchor: str = "middle", more: str = ""
) -> str:
    """Return a text at a position."""
    return (
        f'<text x="{x:.1f}" y="{y:.1f}" font-size="{size}" fill="{fill}" text-anchor="{anchor}" {more}>'
        f"{escape(words)}</text>"
    )
