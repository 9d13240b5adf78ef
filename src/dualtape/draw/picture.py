"""A picture before it is drawn: items, the edges between them, and nested groups of items.

Everything that is drawn is converted to this first (``graphs.py``, ``programs.py``); ``boxes.py`` (SVG), ``page.py``
(HTML) and ``words.py`` (text, Mermaid, Graphviz) render it. Groups are nested by their paths. A group can be closed to
a single item, and repeated parts are shown once, with their count.
"""

from __future__ import annotations

import dataclasses
import shutil
import subprocess
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from ..profiler.events import shown_bytes
from . import boxes, page, words
from .words import counted

Group = tuple[str, ...]
LEGIBLE = 60  # items that one picture shows
_SECTION = 40  # items of a section without groups
_LONGEST = 40  # entries of what is looked for as repeated


@dataclasses.dataclass(slots=True)
class Item:
    """One box.

    Attributes
    ----------
    name, note : str
        The two lines in the box.
    kind : str
        "op", "leaf", "input", "output", "constant", "kernel", "call", "group" or "outside": the colour.
    group : tuple of str
        The path of the group it is in.
    line : str
        Where in the program it was made, if that is known.
    nbytes : int
        What it keeps for the backward.
    more : str
        Further facts.
    also : tuple of str
        The names of those that it stands for, where they differ from its own.

    Examples
    --------
    >>> import dualtape as dt
    >>> print(dt.draw.Picture("a sum", [dt.draw.Item("x", "[3]", "leaf"), dt.draw.Item("sum")], [(0, 1)]))
    a sum: 2 nodes
      x    [3]  leaf
      sum  <- x
    """

    name: str
    note: str = ""
    kind: str = "op"
    group: Group = ()
    line: str = ""
    nbytes: int = 0
    more: str = ""
    also: tuple[str, ...] = ()

    @property
    def words(self) -> str:
        """Return the text that a search matches: without its groups, which are matched themselves."""
        return " ".join(filter(None, (self.name, self.note, self.more, self.line, *self.also)))

    @property
    def tip(self) -> str:
        """Return the tooltip of the box."""
        kept = f"keeps {shown_bytes(self.nbytes)}" if self.nbytes else ""
        also = f"also {_listed(self.also)}" if self.also else ""
        return "\n".join(filter(None, (self.name, self.note, self.more, "/".join(self.group), kept, self.line, also)))


class Picture:
    """Items in the order of the computation, and edges between them.

    In a notebook it is a page; printed, an outline. ``save`` writes the file that its name asks for.

    Examples
    --------
    >>> import dualtape as dt
    >>> x = dt.ones(3, requires_grad=True)
    >>> picture = dt.draw((x * x).sum(), names={"x": x})
    >>> print(picture)
    the graph of a tensor: 3 nodes
      x    [3]  leaf
      mul  [3]  <- x, x
      sum  scalar  <- mul
    """

    def __init__(self, title: str, items: list[Item], edges: Iterable[tuple[int, int]]) -> None:
        self.title, self.items, self.edges = title, items, list(edges)

    def __len__(self) -> int:
        return len(self.items)

    @property
    def facts(self) -> str:
        """Return a summary of its size."""
        kept = sum(item.nbytes for item in self.items)
        return counted(len(self)) + (f", {shown_bytes(kept)} kept for the backward" if kept else "")

    def __str__(self) -> str:
        return self.text()

    def __repr__(self) -> str:
        return f"<Picture of {self.title}>"

    # --- other views of it -------------------------------------------------------------------------

    def without_repeats(self) -> Picture:
        """Return the picture with parts that occur three times or more in sequence shown once, in a group with their
        count.
        """
        groups: dict[int, Group] = {}  # of the items that stay, in their order
        stands: dict[int, int] = {}  # for each other item, one that looks like it
        _fold(self._entries((), range(len(self.items))), (), groups, stands)
        number = {k: n for n, k in enumerate(groups)}

        def place(k: int) -> int:
            while k in stands:
                k = stands[k]
            return number[k]

        also: dict[int, dict[str, None]] = {}
        stay = list(groups)
        for k in stands:
            kept = stay[place(k)]
            if self.items[k].name != self.items[kept].name:
                also.setdefault(kept, {})[self.items[k].name] = None
        items = [
            dataclasses.replace(self.items[k], group=group, also=tuple(also.get(k, ()))) for k, group in groups.items()
        ]
        edges = [(number[a], number[b]) for a, b in self.edges if a in number and b in number]
        known = set(edges)
        for a, b in self.edges:
            edge = place(a), place(b)
            if edge[0] < edge[1] and edge not in known:
                known.add(edge)
                edges.append(edge)
        return Picture(self.title, items, edges)

    def short(self) -> Picture:
        """Return the picture without repeats; in sections, if it is still too large to be legible."""
        picture = self.without_repeats()
        if sum(not item.group for item in picture.items) + len(picture.groups()) > LEGIBLE:
            loose = [item for item in picture.items if not item.group]
            for start in range(0, len(loose), _SECTION):
                section = loose[start : start + _SECTION]
                for item in section:
                    item.group = (f"nodes {start + 1} to {start + len(section)}",)
        return picture

    def closed(self, path: Group = (), depth: int = 0) -> Picture:
        """Return the contents of the group ``path``, with groups deeper than ``depth`` closed; and the items connected
        to it.
        """
        keys = [self._stand_in(k, path, len(path) + depth) for k in range(len(self.items))]
        across = [(a, b) for a, b in self.edges if (keys[a][0] == "outside") != (keys[b][0] == "outside")]
        joined = {k for edge in across for k in edge}
        members: dict[tuple, list[int]] = {}
        for k, key in enumerate(keys):
            if key[0] != "outside" or k in joined:
                members.setdefault(key, []).append(k)
        place = {k: n for n, group in enumerate(members.values()) for k in group}
        items = [self._standing(key, group, path) for key, group in members.items()]
        inside = [(a, b) for a, b in self.edges if "outside" not in (keys[a][0], keys[b][0])]
        edges = dict.fromkeys((place[a], place[b]) for a, b in (*inside, *across) if place[a] != place[b])
        return Picture(self.title, items, _forward(edges))

    def _stand_in(self, k: int, path: Group, level: int) -> tuple[str, Any]:
        """Return the representation of an item in the view of a group: itself, or the group that contains it."""
        group = self.items[k].group
        same = words.shared_levels(group, path)
        if same < len(path):
            return "outside", group[: same + 1] if len(group) > same else k
        return ("group", group[: level + 1]) if len(group) > level else ("item", k)

    def _standing(self, key: tuple[str, Any], members: list[int], path: Group) -> Item:
        kind, which = key
        if kind == "item":
            return dataclasses.replace(self.items[which])
        name = which[-1] if isinstance(which, tuple) else self.items[which].name
        if kind == "outside":
            return Item(name, kind=kind)
        kept = sum(self.items[k].nbytes for k in members)
        return Item(name, counted(len(members)) + (f", {shown_bytes(kept)}" if kept else ""), kind, path, "", kept)

    def legible(self) -> Picture:
        """Return the picture without repeats, with as many levels of groups open as remain legible."""
        short = self.short()
        deepest = max((len(item.group) for item in short.items), default=0)
        views = (short.closed((), depth) for depth in range(deepest, -1, -1))
        return next((view for view in views if len(view) <= LEGIBLE), short.closed())

    def groups(self, path: Group = ()) -> dict[Group, int]:
        """Return the groups directly inside ``path``, with the number of items in each."""
        found: dict[Group, int] = {}
        for item in self.items:
            if item.group[: len(path)] == path and len(item.group) > len(path):
                key = item.group[: len(path) + 1]
                found[key] = found.get(key, 0) + 1
        return found

    def _entries(self, path: Group, among: Iterable[int]) -> list[_Entry]:
        """Return the contents of a group in order: items, and groups with their own entries."""
        entries: list[_Entry] = []
        inside: dict[Group, list[int]] = {}
        sources: dict[int, list[int]] = {}
        for a, b in self.edges:
            sources.setdefault(b, []).append(a)
        for k in among:
            item = self.items[k]
            if len(item.group) > len(path):
                key = item.group[: len(path) + 1]
                if key not in inside:
                    inside[key] = []
                    entries.append(_Entry(key[-1], [], inside[key]))
                inside[key].append(k)
            else:
                back = tuple(k - a for a in sources.get(k, ()) if k - a <= _LONGEST and self.items[a].kind == "op")
                name = "" if item.kind == "leaf" else item.name  # each layer has weights of its own
                entries.append(_Entry("", (name, item.note, item.kind, back), [k]))
        for entry in entries:
            if entry.name:
                entry.inner = self._entries((*path, entry.name), entry.members)
                entry.label = [each.label for each in entry.inner]
        return entries

    # --- ways to show it ---------------------------------------------------------------------------

    def svg(self, *, engine: str | None = None) -> str:
        """Return SVG, by our own layout, or by Graphviz with ``engine="dot"``."""
        if engine is None:
            return boxes.svg(self.legible())
        return self._graphviz(engine, "svg").decode()

    def html(self) -> str:
        """Return an HTML page: groups open and close, names can be searched."""
        return page.page(self)

    def mermaid(self) -> str:
        """Return a Mermaid flowchart."""
        return words.mermaid(self.legible())

    def dot(self) -> str:
        """Return a graph in Graphviz's language."""
        return words.dot(self.legible())

    def text(self) -> str:
        """Return an outline, a line for each item."""
        return "\n".join([f"{self.title}: {self.facts}", *words.outline(self.without_repeats())])

    def save(self, path: Any) -> None:
        """Write a file: .svg, .html, .mmd, .dot, .txt; .png and .pdf with Graphviz."""
        path = Path(path)
        ways = {".svg": self.svg, ".html": self.html, ".mmd": self.mermaid, ".dot": self.dot, ".txt": self.text}
        if path.suffix in ways:
            path.write_text(ways[path.suffix]())
        elif path.suffix in (".png", ".pdf"):
            path.write_bytes(self._graphviz("dot", path.suffix[1:]))
        else:
            raise ValueError(f"save: expected a name that ends in {', '.join(ways)}, .png or .pdf, got {path.name!r}")

    def _graphviz(self, engine: str, format: str) -> bytes:
        program = shutil.which(engine)
        if program is None:
            raise RuntimeError(
                f"Graphviz's program {engine!r} was not found: install Graphviz, or save as .svg or .html"
            )
        return subprocess.run(
            [program, f"-T{format}"], input=self.dot().encode(), capture_output=True, check=True
        ).stdout

    def _repr_html_(self) -> str:
        return page.embedded(self)


@dataclasses.dataclass(slots=True)
class _Entry:
    """An item or a group, with a key for equal ones and its items."""

    name: str
    label: Any
    members: list[int]
    inner: list[_Entry] = dataclasses.field(default_factory=list)


def _listed(names: Sequence[str], most: int = 3) -> str:
    """Return the first of several names."""
    return ", ".join(names[:most]) + (" …" if len(names) > most else "")


def _names_of(entries: list[_Entry]) -> str:
    """Return the name of a run of entries, after its contents."""
    names = dict.fromkeys(entry.name or entry.label[0] for entry in entries)
    return _listed([name for name in names if name]) or "leaf"


def _fold(entries: list[_Entry], path: Group, groups: dict[int, Group], stands: dict[int, int]) -> None:
    """Return the items that remain when repeats are shown once, with their groups."""
    k = 0
    while k < len(entries):
        period, times = _repeat(entries, k)
        alone = period == 1 and bool(entries[k].name)
        home = (*path, f"{_names_of(entries[k : k + period])} × {times}") if times > 1 and not alone else path
        for n, entry in enumerate(entries[k : k + period]):
            if entry.name:
                name = f"{entry.name} × {times}" if times > 1 and alone else entry.name
                _fold(entry.inner, (*home, name), groups, stands)
            else:
                groups |= dict.fromkeys(entry.members, home)
            for other in entries[k + n + period : k + period * times : period]:
                stands |= dict(zip(other.members, entry.members, strict=True))
        k += period * times


def _repeat(entries: list[_Entry], k: int) -> tuple[int, int]:
    """Return the period that repeats from entry ``k`` on and saves most, and its count: (1, 1) if there is none."""
    best, saved = (1, 1), 0
    for period in range(1, min(_LONGEST, (len(entries) - k) // 3) + 1):
        times = 1
        while all(
            entries[k + n].label == other.label
            for n, other in enumerate(entries[k + times * period : k + (times + 1) * period])
        ) and k + (times + 1) * period <= len(entries):
            times += 1
        if times > 2 and period * (times - 1) > saved:
            best, saved = (period, times), period * (times - 1)
    return best


def _forward(edges: dict[tuple, None]) -> list[tuple[int, int]]:
    """Return edges without those that close a cycle, which closed groups may form."""
    after: dict[int, list[int]] = {}
    kept = []
    for a, b in edges:
        waiting, seen = [b], {b}
        while waiting:
            for other in after.get(waiting.pop(), ()):
                if other not in seen:
                    seen.add(other)
                    waiting.append(other)
        if a not in seen:
            after.setdefault(a, []).append(b)
            kept.append((a, b))
    return kept
