"""Compiled programs as pictures: the traced instructions, and their kernels."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ..arrays.traced.tape import Instruction, Value
from ..compiler import replay
from ..compiler.native.ir import CONST, FILL, INPUT, SCALAR
from .graphs import shape_words
from .picture import Item, Picture

_WORDS = {
    "tiny": "straight code",
    "loop": "loop",
    "nest": "loops by rows",
    "product": "product",
    "call": "call",
    "check": "check",
}


class Pictures(list[Picture]):
    """Several pictures in sequence.

    Examples
    --------
    >>> import dualtape as dt
    >>> print(dt.compiler.draw(lambda x: (x * 2).sum())(dt.ones(3))[0])
    forward, as it was traced: 3 nodes
      input 0   [3]  input
      multiply  [3]  <- input 0
      sum       scalar  <- multiply
    """

    def text(self) -> str:
        """Return their outlines."""
        return "\n\n".join(picture.text() for picture in self)

    def html(self) -> str:
        """Return an HTML page with all of them."""
        body = "<hr>".join(picture._repr_html_() for picture in self)
        return f'<!doctype html><html lang="en"><head><meta charset="utf-8"></head><body>{body}</body></html>\n'

    def save(self, path: Any) -> None:
        """Write .html or .txt; other files are of one picture: ``pictures[0].save(path)``."""
        ways = {".html": self.html, ".txt": self.text}
        if Path(path).suffix not in ways:
            raise ValueError(
                f"save: expected a name that ends in .html or .txt, got {str(path)!r}; or save one of them"
            )
        Path(path).write_text(ways[Path(path).suffix]())

    def __str__(self) -> str:
        return self.text()

    def _repr_html_(self) -> str:
        return "<hr>".join(picture._repr_html_() for picture in self)


def of_program(
    name: str, instructions: list[Instruction], inputs: list[Value], outputs: list[Value], made: Any
) -> Pictures:
    """Return a program before and after fusion; ``made`` is the object that runs it."""
    pictures = Pictures([_traced(f"{name}, as it was traced", instructions, inputs, outputs)])
    schedule = getattr(made, "schedule", None)
    if schedule is not None:
        pictures.append(_scheduled(f"{name}, in kernels", schedule))
    return pictures


def _traced(title: str, instructions: list[Instruction], inputs: list[Value], outputs: list[Value]) -> Picture:
    items = [Item(f"input {k}", shape_words(v.shape), "input") for k, v in enumerate(inputs)]
    maker = {id(value): k for k, value in enumerate(inputs)}
    home = {id(value.memory): k for k, value in enumerate(inputs)}
    writer: dict[int, int] = {}  # of a memory: what wrote to it last
    edges = []
    last = {id(value) for value in outputs}
    for instruction in instructions:
        k = len(items)
        for value in instruction.reads:
            memory = id(value.memory)
            sources = {maker.get(id(value), home.get(memory)), writer.get(memory)} - {None}
            edges += [(source, k) for source in sources]
        gives = instruction.gives
        kind = "output" if any(id(value) in last for value in gives) else "op"
        note = ", ".join(shape_words(value.shape) for value in gives)
        line = "" if instruction.where is None else f"{Path(instruction.where[0]).name}:{instruction.where[1]}"
        items.append(Item(_called(instruction), note, kind, (), line))
        maker |= {id(value): k for value in gives}
        for value in replay.written_by(instruction):
            writer[id(value.memory)] = k
    return Picture(title, items, edges)  # type: ignore[arg-type]


def _called(instruction: Instruction) -> str:
    function = instruction.function
    owner = getattr(getattr(function, "__self__", None), "__name__", "")
    name = getattr(function, "__name__", None) or (function if isinstance(function, str) else instruction.kind)
    return f"{owner}.{name}" if owner and not owner.startswith("numpy") else str(name)


def _scheduled(title: str, schedule: Any) -> Picture:
    items = []
    home = {member: cluster for cluster in schedule.clusters for member in cluster.members}
    kernels = {id(c): f"{k + 1}: {_WORDS.get(c.kind, c.kind)}" for k, c in enumerate(schedule.clusters)}
    order = [k for k in range(len(schedule.nodes)) if k not in home]
    order += [k for cluster in schedule.clusters for k in cluster.members]
    number = {k: n for n, k in enumerate(order)}
    for k in order:
        node = schedule.nodes[k]
        kind = {INPUT: "input", CONST: "constant", FILL: "constant"}.get(node.op, "op")
        group: tuple[str, ...] = ()
        if k in home:
            kind = "call" if home[k].kind == "call" else kind
            group = (kernels[id(home[k])],) if len(home[k].members) > 1 else ()
            kind = "kernel" if not group and kind == "op" else kind
        name = f"{node.attr[0]} reduced" if node.op == "reduce" and isinstance(node.attr, tuple) else str(node.op)
        name = f"input {node.attr[0]}" if node.op == INPUT else name
        items.append(Item(name, shape_words(node.shape), kind, group))
    edges = [
        (number[access[0]], number[k])
        for k in order
        for access in schedule.nodes[k].operands
        if access[0] != SCALAR and access[0] in number
    ]
    return Picture(title, items, edges)
