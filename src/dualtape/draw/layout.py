"""Layout of boxes in layers: predecessors above, short edges with few crossings.

Longest paths give the layers, sweeps over the neighbours' mean positions the order in them, and an order-preserving
regression the positions. Edges that pass through a layer bend there.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterator, Mapping, Sequence
from typing import Any

from .marks import CHARACTER

BOX_HEIGHT = 44
LAYER_GAP = 40
COLUMN_GAP = 28


class Box:
    """A box of the drawing, or the bend of an edge that passes through a layer."""

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
        self.above: list[Box] = []
        self.below: list[Box] = []


def layers_of(successors: Mapping[Any, list[Any]]) -> dict[Any, int]:
    """Return each node's layer: the length of the longest path to it; nodes without predecessors are just above their
    first use.
    """
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
    reached = {node for following in successors.values() for node in following}
    for node, following in successors.items():
        if following and node not in reached:
            layer[node] = min(layer[each] for each in following) - 1
    return layer


def arranged(boxes: Mapping[Hashable, Box], successors: Mapping[Hashable, list[Any]]) -> tuple[list, list]:
    """Set the centre of every box; return the layers, and each edge as the boxes it passes through."""
    layer_of = layers_of(successors)
    for node, box in boxes.items():
        box.layer = layer_of[node]
    layers, edges = _with_bends(boxes, successors)
    _untangle(layers)
    _place(layers)
    return layers, edges


def curves(edges: Sequence[Sequence[Box]]) -> Iterator[str]:
    """Return the edges as paths: those between the same two boxes side by side."""
    twins = Counter((id(path[0]), id(path[-1])) for path in edges)
    drawn: Counter[tuple[int, int]] = Counter()
    for path in edges:
        pair = (id(path[0]), id(path[-1]))
        drawn[pair] += 1
        yield _edge_path(path, (drawn[pair] - (twins[pair] + 1) / 2) * 22)


def _with_bends(
    boxes: Mapping[Any, Box], successors: Mapping[Any, list[Any]]
) -> tuple[list[list[Box]], list[list[Box]]]:
    """Sort boxes into layers and split long edges into one piece for each layer.

    Returns the layers, and each edge as the boxes it passes through.
    """
    layers: list[list[Box]] = [[] for _ in range(1 + max(box.layer for box in boxes.values()))]
    for box in boxes.values():
        layers[box.layer].append(box)
    edges = []
    for node, following in successors.items():
        for successor in following:
            path = [boxes[node]]
            for layer in range(boxes[node].layer + 1, boxes[successor].layer):
                bend = Box()
                bend.layer = layer
                layers[layer].append(bend)
                path.append(bend)
            path.append(boxes[successor])
            for upper, lower in zip(path, path[1:], strict=False):
                upper.below.append(lower)
                lower.above.append(upper)
            edges.append(path)
    return layers, edges


def _untangle(layers: list[list[Box]]) -> None:
    """Order each layer by the mean position of its neighbours, sweeping down and up, which reduces crossings."""
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


def _stiffness(box: Box, other: Box) -> float:
    """Return how strongly an edge is pulled to be vertical: the inner pieces of a long one most of all."""
    return (1.0, 2.0, 8.0)[(not box.lines) + (not other.lines)]


def _spread(layer: Sequence[Box], wanted: Sequence[float], weights: Sequence[float]) -> list[float]:
    """Return the positions nearest to the wanted ones at which the boxes of a layer keep order and distance.

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


def _place(layers: list[list[Box]]) -> None:
    """Set the centre of every box: pulled towards its neighbours, layer by layer, without overlaps."""
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


def _edge_path(path: Sequence[Box], shift: float) -> str:
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
