"""Pictures without a plotting library: the graph behind a tensor, and small plots, as SVG text.

`graph_svg` walks `grad_fn.next_functions` with an explicit stack and lays the nodes out in layers; `Plot`
collects points, lines and coloured regions and draws them with axes and a legend. Both return a string of
SVG; writing it to a file is the caller's business. It is meant for pictures one looks at, not for a million
nodes.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any
from xml.sax.saxutils import escape

import numpy as np

__all__ = ["Plot", "graph_svg"]

FONT = "DejaVu Sans, Verdana, Helvetica, Arial, sans-serif"
INK = "#22303c"
FAINT = "#8a97a3"


def _document(width: float, height: float, body: Iterable[str]) -> str:
    """Wrap drawing commands in an SVG document with a white ground."""
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:.0f}" height="{height:.0f}" '
        f'viewBox="0 0 {width:.0f} {height:.0f}" font-family="{FONT}">',
        f'<rect width="{width:.0f}" height="{height:.0f}" fill="#ffffff"/>',
        *body,
        "</svg>",
    ]
    return "\n".join(lines) + "\n"


def _text(
    x: float, y: float, words: str, size: int = 12, fill: str = INK, anchor: str = "middle", more: str = ""
) -> str:
    return (
        f'<text x="{x:.1f}" y="{y:.1f}" font-size="{size}" fill="{fill}" text-anchor="{anchor}" {more}>'
        f"{escape(words)}</text>"
    )


# ------------------------------------------------------------------------------------------
# the graph behind a tensor

BOX_HEIGHT = 44
LAYER_GAP = 40
COLUMN_GAP = 28
MARGIN = 28
CHARACTER = 7.4  # an upper estimate of the width of a character at 12 px, so that words stay inside boxes


class _Box:
    """A node of the drawing: a graph node, or the bend of an edge that passes through a layer."""

    __slots__ = ("above", "below", "fill", "layer", "lines", "order", "stroke", "width", "x", "y")

    def __init__(self, lines: Sequence[str] = (), fill: str = "", stroke: str = "") -> None:
        self.lines = lines
        self.fill = fill
        self.stroke = stroke
        self.width = max((len(line) for line in lines), default=0) * CHARACTER + (30 if lines else 10)
        self.layer = 0
        self.order = 0.0
        self.x = 0.0
        self.y = 0.0
        self.above: list[_Box] = []
        self.below: list[_Box] = []


def _walk(root: Any, max_nodes: int) -> dict[Any, list[Any]]:
    """Return every node reachable from `root` with its successors, in the order of discovery."""
    successors: dict[Any, list[Any]] = {root: []}
    stack = [root]
    while stack:
        node = stack.pop()
        for following, _ in node.next_functions:
            if following is None:
                continue
            successors[node].append(following)
            if following not in successors:
                if len(successors) >= max_nodes:
                    raise ValueError(
                        f"graph_svg: the graph has more than max_nodes={max_nodes} nodes, too many to read "
                        "as a picture; draw a smaller expression, or pass a larger max_nodes"
                    )
                successors[following] = []
                stack.append(following)
    return successors


def _layers(successors: Mapping[Any, list[Any]]) -> dict[Any, int]:
    """Return each node's layer: the length of the longest path to it from the root."""
    waiting = dict.fromkeys(successors, 0)
    for following in successors.values():
        for node in following:
            waiting[node] += 1
    layer = dict.fromkeys(successors, 0)
    ready = [node for node, count in waiting.items() if count == 0]
    while ready:
        node = ready.pop()
        for following in successors[node]:
            layer[following] = max(layer[following], layer[node] + 1)
            waiting[following] -= 1
            if waiting[following] == 0:
                ready.append(following)
    return layer


def _shape_words(shape: Iterable[int]) -> str:
    sizes = tuple(int(size) for size in shape)
    return "scalar" if not sizes else " × ".join(map(str, sizes))


def _describe(node: Any, names: Mapping[int, str]) -> _Box:
    """Make the box of a graph node: leaves say which tensor they hold, the others what they compute."""
    variable = getattr(node, "variable", None)
    if variable is not None:
        name = names.get(id(variable))
        shape = _shape_words(variable.shape)
        first = f"{name}  ({shape})" if name else f"leaf  ({shape})"
        return _Box((first, node.name().rsplit("::", 1)[-1]), "#dff3e3", "#3f9a57")
    metadata = getattr(node, "_input_metadata", None) or ()
    shapes = [_shape_words(item.shape) for item in metadata if getattr(item, "shape", None) is not None]
    lines = (node.name(), f"gradient: {', '.join(shapes)}") if shapes else (node.name(),)
    return _Box(lines, "#e6f0fb", "#3b78b5")


def _with_bends(
    boxes: Mapping[Any, _Box], successors: Mapping[Any, list[Any]]
) -> tuple[list[list[_Box]], list[list[_Box]]]:
    """Sort boxes into layers and cut long edges into pieces of one layer each.

    Returns the layers, and each edge as the boxes it passes through.
    """
    layers: list[list[_Box]] = [[] for _ in range(1 + max(box.layer for box in boxes.values()))]
    for box in boxes.values():
        layers[box.layer].append(box)
    edges = []
    for node, following in successors.items():
        for successor in following:
            path = [boxes[node]]
            for layer in range(boxes[node].layer + 1, boxes[successor].layer):
                bend = _Box()
                bend.layer = layer
                layers[layer].append(bend)
                path.append(bend)
            path.append(boxes[successor])
            for upper, lower in zip(path, path[1:], strict=False):
                upper.below.append(lower)
                lower.above.append(upper)
            edges.append(path)
    return layers, edges


def _untangle(layers: list[list[_Box]]) -> None:
    """Order each layer by the mean position of its neighbours, sweeping down and up: fewer crossings."""
    for layer in layers:
        for position, box in enumerate(layer):
            box.order = position
    for sweep in range(8):
        downwards = sweep % 2 == 0
        for layer in layers if downwards else reversed(layers):
            for box in layer:
                neighbours = box.above if downwards else box.below
                if neighbours:
                    box.order = sum(other.order for other in neighbours) / len(neighbours)
            layer.sort(key=lambda box: box.order)
            for position, box in enumerate(layer):
                box.order = position - (len(layer) - 1) / 2


def _stiffness(box: _Box, other: _Box) -> float:
    """How strongly an edge wants to be vertical: the inner pieces of a long one most of all."""
    return (1.0, 2.0, 8.0)[(not box.lines) + (not other.lines)]


def _spread(layer: Sequence[_Box], wanted: Sequence[float], weights: Sequence[float]) -> list[float]:
    """Return the places nearest to the wanted ones at which the boxes of a layer keep order and distance.

    With the distances taken off it is isotonic regression: merge neighbours that want to pass each other.
    """
    offsets = [0.0]
    for left, right in zip(layer, layer[1:], strict=False):
        offsets.append(offsets[-1] + (left.width + right.width) / 2 + COLUMN_GAP)
    groups: list[tuple[float, float, int]] = []  # (mean, weight, how many)
    for place, offset, weight in zip(wanted, offsets, weights, strict=True):
        mean, count = place - offset, 1
        while groups and groups[-1][0] >= mean:
            other_mean, other_weight, other_count = groups.pop()
            mean = (mean * weight + other_mean * other_weight) / (weight + other_weight)
            weight += other_weight
            count += other_count
        groups.append((mean, weight, count))
    means = [mean for mean, _, count in groups for _ in range(count)]
    return [mean + offset for mean, offset in zip(means, offsets, strict=True)]


def _place(layers: list[list[_Box]]) -> None:
    """Give every box its centre: pull towards its neighbours, layer by layer, without overlaps."""
    for layer in layers:
        left = 0.0
        for box in layer:
            box.x = left + box.width / 2
            left += box.width + COLUMN_GAP
        shift = (left - COLUMN_GAP) / 2
        for box in layer:
            box.x -= shift
    for sweep in range(60):
        for layer in layers if sweep % 2 == 0 else reversed(layers):
            wanted, weights = [], []
            for box in layer:
                vjps = [(_stiffness(box, other), other.x) for other in box.above + box.below]
                weight = sum(stiffness for stiffness, _ in vjps)
                wanted.append(sum(stiffness * x for stiffness, x in vjps) / weight if vjps else box.x)
                weights.append(weight or 1.0)
            for box, x in zip(layer, _spread(layer, wanted, weights), strict=True):
                box.x = x
    for depth, layer in enumerate(layers):
        for box in layer:
            box.y = depth * (BOX_HEIGHT + LAYER_GAP) + BOX_HEIGHT / 2


def _edge_path(path: Sequence[_Box], shift: float) -> str:
    """Draw an edge as smooth vertical-to-vertical curves through its bends."""
    last = len(path) - 1
    commands = []
    for i, box in enumerate(path):
        if i == 0:
            x, y = box.x + shift, box.y + BOX_HEIGHT / 2
            commands.append(f"M{x:.1f},{y:.1f}")
            continue
        top = box.y - BOX_HEIGHT / 2
        end = (box.x + shift, top - 7) if i == last else (box.x, top)
        middle = (y + end[1]) / 2
        commands.append(f"C{x:.1f},{middle:.1f} {end[0]:.1f},{middle:.1f} {end[0]:.1f},{end[1]:.1f}")
        x, y = end
        if i != last:
            y = box.y + BOX_HEIGHT / 2
            commands.append(f"L{x:.1f},{y:.1f}")
    return " ".join(commands)


def graph_svg(
    tensor: Any, names: Mapping[str, Any] | None = None, title: str | None = None, max_nodes: int = 500
) -> str:
    """Draw the autograd graph behind a tensor.

    The node that made the tensor is on top; arrows go the way the gradient flows, along `next_functions`,
    down to the leaves, which are green.

    Parameters
    ----------
    tensor : Tensor
        The result whose graph is drawn; it must have a `grad_fn`.
    names : mapping of str to Tensor, optional
        Names for the leaves.
    title : str, optional
        A line of text above the graph.
    max_nodes : int
        A graph with more nodes than this raises `ValueError` instead of making an unreadable picture.

    Returns
    -------
    str
        An SVG document.

    Examples
    --------
    >>> import dualtape as dt
    >>> w = dt.ones(3, requires_grad=True)
    >>> picture = graph_svg((w * w).sum(), names={"w": w})
    >>> picture.startswith("<svg"), "SumBackward0" in picture
    (True, True)
    """
    root = tensor.grad_fn
    if root is None:
        raise ValueError(
            "graph_svg: expected a tensor that was computed from a tensor with requires_grad=True, but this "
            "one has no grad_fn; call it on the result of an operation, outside no_grad()"
        )
    successors = _walk(root, max_nodes)
    layer_of = _layers(successors)
    known = {id(value): name for name, value in (names or {}).items()}
    boxes = {node: _describe(node, known) for node in successors}
    for node, box in boxes.items():
        box.layer = layer_of[node]
    boxes[root].fill, boxes[root].stroke = "#fdf0dc", "#c9862b"
    layers, edges = _with_bends(boxes, successors)
    _untangle(layers)
    _place(layers)

    head = 44 if title else 0
    foot = 62
    everything = [box for layer in layers for box in layer]
    left = min(box.x - box.width / 2 for box in everything) - MARGIN
    width = max(box.x + box.width / 2 for box in everything) + MARGIN - left
    width = max(width, len(title or "") * CHARACTER * 1.25 + 2 * MARGIN, 490)
    used = max(box.x + box.width / 2 for box in everything) + MARGIN - left
    height = MARGIN + head + len(layers) * (BOX_HEIGHT + LAYER_GAP) - LAYER_GAP + foot
    for box in everything:
        box.x += (width - used) / 2 - left
        box.y += MARGIN + head

    body = [
        '<defs><marker id="arrow" viewBox="0 0 8 8" refX="1" refY="4" markerWidth="8" markerHeight="8" '
        'orient="auto" markerUnits="userSpaceOnUse">'
        f'<path d="M0,0 L8,4 L0,8 z" fill="{FAINT}"/></marker></defs>'
    ]
    if title:
        body.append(_text(width / 2, MARGIN + 12, title, 15, more='font-weight="bold"'))
    twins = Counter((id(path[0]), id(path[-1])) for path in edges)
    drawn: Counter[tuple[int, int]] = Counter()
    for path in edges:
        # A tensor used twice by one operation gives two edges between the same boxes: side by side.
        pair = (id(path[0]), id(path[-1]))
        drawn[pair] += 1
        shift = (drawn[pair] - (twins[pair] + 1) / 2) * 22
        body.append(
            f'<path d="{_edge_path(path, shift)}" fill="none" stroke="{FAINT}" stroke-width="1.6" '
            'marker-end="url(#arrow)"/>'
        )
    for box in boxes.values():
        body.append(
            f'<rect x="{box.x - box.width / 2:.1f}" y="{box.y - BOX_HEIGHT / 2:.1f}" width="{box.width:.1f}" '
            f'height="{BOX_HEIGHT}" rx="7" fill="{box.fill}" stroke="{box.stroke}" stroke-width="1.4"/>'
        )
        if len(box.lines) == 1:
            body.append(_text(box.x, box.y + 4, box.lines[0], 12, more='font-weight="bold"'))
        else:
            body.append(_text(box.x, box.y - 4, box.lines[0], 12, more='font-weight="bold"'))
            body.append(_text(box.x, box.y + 13, box.lines[1], 11, "#566573"))
    body += _graph_key(width, height - 22)
    return _document(width, height, body)


def _graph_key(width: float, y: float) -> list[str]:
    """The line at the bottom that says what the colours mean."""
    entries = (
        ("output", "#fdf0dc", "#c9862b"),
        ("operation", "#e6f0fb", "#3b78b5"),
        ("leaf", "#dff3e3", "#3f9a57"),
    )
    x = width / 2 - 214
    body = []
    for words, fill, stroke in entries:
        body.append(
            f'<rect x="{x:.1f}" y="{y - 9:.1f}" width="16" height="11" rx="3" fill="{fill}" stroke="{stroke}"/>'
        )
        body.append(_text(x + 22, y, words, 11, "#566573", "start"))
        x += 44 + len(words) * 6.2
    body.append(_text(x, y, "arrows: the way the gradient flows", 11, "#566573", "start"))
    return body


# ------------------------------------------------------------------------------------------
# plots


def nice_ticks(low: float, high: float, wanted: int = 6) -> list[float]:
    """Return about `wanted` round numbers (1, 2 or 5 times a power of ten apart) inside [low, high].

    Examples
    --------
    >>> nice_ticks(0.0, 2.6)
    [0.0, 0.5, 1.0, 1.5, 2.0, 2.5]
    """
    if not high > low:
        raise ValueError(f"nice_ticks: expected low < high, got low={low} and high={high}")
    rough = (high - low) / max(wanted - 1, 1)
    power = 10.0 ** math.floor(math.log10(rough))
    step = power * min((1, 2, 5, 10), key=lambda factor: abs(factor * power - rough))
    first = math.ceil(low / step - 1e-9)
    last = math.floor(high / step + 1e-9)
    return [round(k * step, 12) for k in range(first, last + 1)]


class Plot:
    """A plot with two linear axes: coloured regions, lines and points, and a legend for what has a label.

    Parameters
    ----------
    title, xlabel, ylabel : str
        The words around the plot.
    xlim, ylim : pair of float
        The ranges of the axes. They are given, never guessed from the data.
    width, height : int
        The size of the picture in pixels.
    legend : str
        The corner of the legend: "upper left", "upper right", "lower left" or "lower right".

    Examples
    --------
    >>> plot = Plot("a line", "x", "y", (0, 1), (0, 1))
    >>> plot.line([0, 1], [0, 1], "#3b78b5", "y = x")
    >>> "y = x" in plot.svg()
    True
    """

    def __init__(
        self,
        title: str,
        xlabel: str,
        ylabel: str,
        xlim: tuple[float, float],
        ylim: tuple[float, float],
        width: int = 720,
        height: int = 520,
        legend: str = "upper left",
    ) -> None:
        vertical, _, horizontal = legend.partition(" ")
        if vertical not in ("upper", "lower") or horizontal not in ("left", "right"):
            raise ValueError(
                f"Plot: expected legend 'upper left', 'upper right', 'lower left' or 'lower right', got {legend!r}"
            )
        self._legend_low, self._legend_right = vertical == "lower", horizontal == "right"
        self.title, self.xlabel, self.ylabel = title, xlabel, ylabel
        self.xlim, self.ylim = xlim, ylim
        self.width, self.height = width, height
        self._left, self._right, self._top, self._bottom = 68, width - 24, 52, height - 58
        self._marks: list[str] = []
        self._legend: list[tuple[str, str, str]] = []

    def _x(self, value: float) -> float:
        low, high = self.xlim
        return self._left + (value - low) / (high - low) * (self._right - self._left)

    def _y(self, value: float) -> float:
        low, high = self.ylim
        return self._bottom - (value - low) / (high - low) * (self._bottom - self._top)

    def regions(self, classes: np.ndarray, fills: Sequence[str]) -> None:
        """Fill the plot with one colour per class.

        Parameters
        ----------
        classes : numpy.ndarray
            Integers, shape (rows, columns): the class of each cell of an even grid over the plot, the first
            row at the bottom.
        fills : sequence of str
            The colour of each class.
        """
        rows, columns = classes.shape
        cell_width = (self._right - self._left) / columns
        cell_height = (self._bottom - self._top) / rows
        for row in range(rows):
            y = self._bottom - (row + 1) * cell_height
            # Equal neighbours become one rectangle: the file stays small.
            starts = np.flatnonzero(np.diff(classes[row], prepend=-1))
            for start, end in zip(starts, [*starts[1:], columns], strict=True):
                self._marks.append(
                    f'<rect x="{self._left + start * cell_width:.2f}" y="{y:.2f}" '
                    f'width="{(end - start) * cell_width + 0.3:.2f}" height="{cell_height + 0.3:.2f}" '
                    f'fill="{fills[int(classes[row, start])]}" shape-rendering="crispEdges"/>'
                )

    def line(
        self,
        xs: Iterable[float],
        ys: Iterable[float],
        colour: str,
        label: str | None = None,
        dashed: bool = False,
        width: float = 2.0,
    ) -> None:
        """Draw a line through the points."""
        points = " ".join(f"{self._x(x):.2f},{self._y(y):.2f}" for x, y in zip(xs, ys, strict=True))
        dash = ' stroke-dasharray="6 4"' if dashed else ""
        self._marks.append(
            f'<polyline points="{points}" fill="none" stroke="{colour}" stroke-width="{width}" '
            f'stroke-linejoin="round"{dash}/>'
        )
        if label:
            self._legend.append(("dashed" if dashed else "line", colour, label))

    def scatter(
        self,
        xs: Iterable[float],
        ys: Iterable[float],
        colour: str,
        label: str | None = None,
        marker: str = "circle",
        size: float = 4.5,
    ) -> None:
        """Draw a marker at each point: "circle", "square", "triangle", "cross" or "ring"."""
        for x, y in zip(xs, ys, strict=True):
            self._marks.append(_marker(marker, self._x(x), self._y(y), size, colour))
        if label:
            self._legend.append((marker, colour, label))

    def svg(self) -> str:
        """Return the plot as an SVG document."""
        left, right, top, bottom = self._left, self._right, self._top, self._bottom
        body = [
            f'<defs><clipPath id="inside"><rect x="{left}" y="{top}" width="{right - left}" '
            f'height="{bottom - top}"/></clipPath></defs>',
            _text((left + right) / 2, 30, self.title, 15, more='font-weight="bold"'),
            '<g clip-path="url(#inside)">',
            *self._marks,
            "</g>",
            f'<rect x="{left}" y="{top}" width="{right - left}" height="{bottom - top}" fill="none" '
            f'stroke="{INK}" stroke-width="1.2"/>',
        ]
        for tick in nice_ticks(*self.xlim):
            x = self._x(tick)
            body.append(f'<path d="M{x:.1f},{bottom} v6" stroke="{INK}"/>')
            body.append(_text(x, bottom + 20, f"{tick:g}"))
        for tick in nice_ticks(*self.ylim):
            y = self._y(tick)
            body.append(f'<path d="M{left},{y:.1f} h-6" stroke="{INK}"/>')
            body.append(_text(left - 10, y + 4, f"{tick:g}", anchor="end"))
        body.append(_text((left + right) / 2, self.height - 16, self.xlabel, 13))
        middle = (top + bottom) / 2
        body.append(_text(20, middle, self.ylabel, 13, more=f'transform="rotate(-90 20 {middle:.1f})"'))
        body += self._legend_box()
        return _document(self.width, self.height, body)

    def _legend_box(self) -> list[str]:
        if not self._legend:
            return []
        width = 52 + max(len(label) for _, _, label in self._legend) * CHARACTER
        height = 12 + 22 * len(self._legend)
        x = self._right - 12 - width if self._legend_right else self._left + 12
        y = self._bottom - 12 - height if self._legend_low else self._top + 12
        body = [
            f'<rect x="{x:.1f}" y="{y}" width="{width:.1f}" height="{height}" rx="5" fill="#ffffff" '
            f'fill-opacity="0.92" stroke="{FAINT}"/>'
        ]
        for row, (kind, colour, label) in enumerate(self._legend):
            line = y + 17 + 22 * row
            if kind in ("line", "dashed"):
                dash = ' stroke-dasharray="6 4"' if kind == "dashed" else ""
                body.append(f'<path d="M{x + 9:.1f},{line} h26" stroke="{colour}" stroke-width="2"{dash}/>')
            else:
                body.append(_marker(kind, x + 22, line, 4.5, colour))
            body.append(_text(x + 42, line + 4, label, anchor="start"))
        return body


def _marker(kind: str, x: float, y: float, size: float, colour: str) -> str:
    paint = f'fill="{colour}" stroke="#ffffff" stroke-width="0.9"'
    if kind == "circle":
        return f'<circle cx="{x:.2f}" cy="{y:.2f}" r="{size}" {paint}/>'
    if kind == "ring":
        outline = f'fill="none" stroke="{colour}" stroke-width="2"'
        return f'<circle cx="{x:.2f}" cy="{y:.2f}" r="{size}" {outline}/>'
    if kind == "square":
        return f'<rect x="{x - size:.2f}" y="{y - size:.2f}" width="{2 * size}" height="{2 * size}" {paint}/>'
    if kind == "triangle":
        top, half, low = y - 1.2 * size, 1.1 * size, y + 0.8 * size
        return f'<path d="M{x:.2f},{top:.2f} L{x + half:.2f},{low:.2f} L{x - half:.2f},{low:.2f} z" {paint}/>'
    if kind == "cross":
        arm = f"l{2 * size},{2 * size} m0,{-2 * size} l{-2 * size},{2 * size}"
        outline = f'fill="none" stroke="{colour}" stroke-width="2.4"'
        return f'<path d="M{x - size:.2f},{y - size:.2f} {arm}" {outline}/>'
    raise ValueError(f"Plot.scatter: expected marker 'circle', 'ring', 'square', 'triangle' or 'cross', got {kind!r}")
