"""Small plots as SVG text, without a plotting library: points, lines and coloured regions, with axes and a legend."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

import numpy as np

from .marks import CHARACTER, FAINT, INK, document, text

__all__ = ["Plot", "nice_ticks"]


def nice_ticks(low: float, high: float, wanted: int = 6) -> list[float]:
    """Return about `wanted` round numbers (1, 2 or 5 times a power of ten apart) inside [low, high].

    Examples
    --------
    >>> from dualtape.draw.plots import nice_ticks
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
    >>> from dualtape.draw import Plot
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
            text((left + right) / 2, 30, self.title, 15, more='font-weight="bold"'),
            '<g clip-path="url(#inside)">',
            *self._marks,
            "</g>",
            f'<rect x="{left}" y="{top}" width="{right - left}" height="{bottom - top}" fill="none" '
            f'stroke="{INK}" stroke-width="1.2"/>',
        ]
        for tick in nice_ticks(*self.xlim):
            x = self._x(tick)
            body.append(f'<path d="M{x:.1f},{bottom} v6" stroke="{INK}"/>')
            body.append(text(x, bottom + 20, f"{tick:g}"))
        for tick in nice_ticks(*self.ylim):
            y = self._y(tick)
            body.append(f'<path d="M{left},{y:.1f} h-6" stroke="{INK}"/>')
            body.append(text(left - 10, y + 4, f"{tick:g}", anchor="end"))
        body.append(text((left + right) / 2, self.height - 16, self.xlabel, 13))
        middle = (top + bottom) / 2
        body.append(text(20, middle, self.ylabel, 13, more=f'transform="rotate(-90 20 {middle:.1f})"'))
        body += self._legend_box()
        return document(self.width, self.height, body)

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
            body.append(text(x + 42, line + 4, label, anchor="start"))
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
