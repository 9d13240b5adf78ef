"""Reports of memory: saved by a graph for its backward, and used by all live tensors."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from typing import Any
from xml.sax.saxutils import escape

import numpy as np

from .._tensor.copying import owner_of
from .._tensor.tensor import Tensor
from ..autograd.node import AccumulateGrad, Freed
from ..autograd.saved import SavedVariable
from ..ops.op_node import OpNode
from ..ops.table import BROADCASTING, ELEMENTWISE
from .events import shown_bytes

_HERE = __file__.rpartition("profiler")[0]


class SavedEntry:
    """Memory that a node has saved.

    Attributes
    ----------
    op, line : str
        The node that keeps it, and the line that made the node, if anomaly mode recorded it.
    shape, dtype : tuple, str
    nbytes : int
        Of its memory, as often as it is counted: 0 where another entry has it already, or a leaf does.
    recomputable : bool
        Whether it is what an elementwise op gave: it could be computed again (``utils.checkpoint``).
    """

    __slots__ = ("op", "line", "shape", "dtype", "nbytes", "recomputable", "leaf")

    def __init__(self, op: str, line: str, shape: tuple, dtype: str, nbytes: int, recomputable: bool, leaf: bool):
        self.op, self.line, self.shape, self.dtype = op, line, shape, dtype
        self.nbytes, self.recomputable, self.leaf = nbytes, recomputable, leaf

    def __repr__(self) -> str:
        return f"<{self.op} keeps {self.dtype}{list(self.shape)}, {shown_bytes(self.nbytes)}>"


class SavedMemory:
    """The memory that a graph saves for its backward: a table when printed; a picture in a notebook.

    Attributes
    ----------
    entries : list of SavedEntry
        The largest first.
    nbytes : int
        All of it, each memory once; leaves, which are there in any case, are not counted.
    """

    def __init__(self, entries: list[SavedEntry]) -> None:
        self.entries = sorted(entries, key=lambda entry: -entry.nbytes)
        self.nbytes = sum(entry.nbytes for entry in entries)

    def by_op(self) -> dict[str, int]:
        """Return bytes by the name of the node, the largest first."""
        return self._by(lambda entry: entry.op)

    def by_line(self) -> dict[str, int]:
        """Return bytes by the line that made the node, if anomaly mode recorded it."""
        return self._by(lambda entry: entry.line or "unknown (run inside autograd.detect_anomaly())")

    def _by(self, key: Any) -> dict[str, int]:
        sums: dict[str, int] = {}
        for entry in self.entries:
            sums[key(entry)] = sums.get(key(entry), 0) + entry.nbytes
        return dict(sorted(sums.items(), key=lambda item: -item[1]))

    @property
    def recomputable(self) -> int:
        """Bytes of results of elementwise ops, which a checkpoint could recompute."""
        return sum(entry.nbytes for entry in self.entries if entry.recomputable)

    def __str__(self) -> str:
        lines = [f"saved for backward: {shown_bytes(self.nbytes)} in {len(self.entries)} entries"]
        if self.nbytes:
            lines[0] += f", of which elementwise ops could compute {shown_bytes(self.recomputable)} again"
        wide = max([len(entry.op) for entry in self.entries[:20]], default=0)
        for entry in self.entries[:20]:
            again = "  could be recomputed" if entry.recomputable and entry.nbytes else ""
            shared = "  a leaf" if entry.leaf else "  shared" if not entry.nbytes and 0 not in entry.shape else ""
            where = f"  {entry.line}" if entry.line else ""
            shape = f"{entry.dtype}{list(entry.shape)}"
            lines.append(f"{shown_bytes(entry.nbytes):>12}  {entry.op:{wide}}  {shape}{again}{shared}{where}")
        if len(self.entries) > 20:
            lines.append(f"{'...':>12}  and {len(self.entries) - 20} more")
        return "\n".join(lines)

    __repr__ = __str__

    def svg(self) -> str:
        """Return a picture: bars of the nodes that save most."""
        sums = list(self.by_op().items())[:16]
        most = max([size for _, size in sums], default=1) or 1
        rows = []
        for k, (name, size) in enumerate(sums):
            y, width = 34 + 24 * k, 380 * size / most
            rows += [
                f'<text x="190" y="{y + 13}" text-anchor="end">{escape(name)}</text>',
                f'<rect x="200" y="{y}" height="17" rx="3" width="{max(1.0, width):.1f}" fill="#3b78b5"/>',
                f'<text x="{206 + width:.1f}" y="{y + 13}">{shown_bytes(size)}</text>',
            ]
        head = [
            f'<svg xmlns="http://www.w3.org/2000/svg" width="700" height="{44 + 24 * len(sums)}"',
            ' font-family="DejaVu Sans, sans-serif" font-size="12"><rect width="100%" height="100%" fill="#ffffff"/>',
            f'<text x="14" y="20" font-weight="bold">saved for backward: {shown_bytes(self.nbytes)}</text>',
        ]
        return "".join([*head, *rows, "</svg>\n"])

    _repr_svg_ = svg


def saved(loss: Tensor) -> SavedMemory:
    """The memory that the graph behind a tensor saves for its backward.

    Each memory is counted once, views with what they are views of; leaves are listed, and not counted.

    Parameters
    ----------
    loss : Tensor
        With a history.

    Examples
    --------
    >>> import dualtape as dt
    >>> x = dt.ones(1000, requires_grad=True)
    >>> report = dt.autograd.graph.saved(x.exp().sin().sum())
    >>> report.nbytes, report.by_op()
    (4000, {'SinBackward0': 4000, 'ExpBackward0': 0})
    """
    if not isinstance(loss, Tensor) or loss.grad_fn is None:
        raise ValueError(
            "saved: expected a tensor that was computed from one with requires_grad=True, got"
            f" {'one without a history' if isinstance(loss, Tensor) else type(loss).__name__}"
        )
    entries: list[SavedEntry] = []
    for node, value, own, size in counted([loss.grad_fn]):
        array = value._array if isinstance(value, Tensor) else value
        leaf = isinstance(value, Tensor) and value._edge is None
        made = node if own else value._edge[0] if isinstance(value, Tensor) and value._edge is not None else None
        cheap = isinstance(made, OpNode) and made.op.kind in (ELEMENTWISE, BROADCASTING)
        entries.append(
            SavedEntry(node._title(), line_of(node), tuple(array.shape), str(array.dtype), size, cheap, leaf)
        )
    return SavedMemory(entries)


def counted(roots: list) -> Iterator[tuple[Any, Any, bool, int]]:
    """Yield the saved values of a graph: node, value, whether it is the node's own result, and its bytes.

    Memory is counted where it is met first; that of a leaf, which is there in any case, never.
    """
    known: set[int] = set()
    for node in nodes_of(roots):
        for value, own in _kept(node):
            memory = owner_of(value._array if isinstance(value, Tensor) else value)
            leaf = isinstance(value, Tensor) and value._edge is None
            new = id(memory) not in known and not leaf
            if not leaf:
                known.add(id(memory))
            yield node, value, own, int(memory.nbytes) if new else 0


def nodes_of(roots: list) -> Iterator[Any]:
    """Return the nodes of a graph, the youngest first."""
    seen, waiting = set(roots), list(roots)
    while waiting:
        node = waiting.pop()
        for edge in node._edges or ():
            if edge is not None and edge[0] not in seen:
                seen.add(edge[0])
                waiting.append(edge[0])
    return iter(sorted(seen, key=lambda node: -node._seq))


def _kept(node: Any) -> Iterator[tuple[Any, bool]]:
    """Yield the saved tensors and arrays of a node, each with whether it is the node's own result."""
    saved = getattr(node, "_saved", None)
    if type(node) is AccumulateGrad or isinstance(saved, Freed):
        return
    waiting = list(saved) if isinstance(saved, (tuple, list)) else [saved]
    while waiting:
        entry = waiting.pop(0)
        if isinstance(entry, SavedVariable):
            continue  # which hooks have packed away: only they know how
        if isinstance(entry, Tensor):
            if entry._array is not None and hasattr(entry._array, "nbytes"):
                yield entry, False
        elif isinstance(entry, np.ndarray):
            yield entry, True
        elif isinstance(entry, (tuple, list)):
            waiting[:0] = list(entry[:1] if _is_entry(entry) else entry)


def _is_entry(entry: Any) -> bool:
    """Return whether it is (value, counter, version, ...)."""
    return isinstance(entry, tuple) and len(entry) >= 3 and type(entry[1]) is list and isinstance(entry[2], int)


def users_frames(node: Any) -> list[Any]:
    """Return the frames of user functions that made a node, the outermost first, if anomaly mode recorded them."""
    stack = None if node._extra is None else node._extra.stack
    return [code for code, _ in stack or () if not code.co_filename.startswith((_HERE, "<frozen", "<dualtape"))]


def line_of(node: Any) -> str:
    """Return the line that made a node, if anomaly mode recorded it."""
    stack = None if node._extra is None else node._extra.stack
    for code, place in reversed(stack or []):
        if not code.co_filename.startswith((_HERE, "<")):
            line = next((n for first, last, n in code.co_lines() if first <= place < last), code.co_firstlineno)
            return f"{code.co_filename}:{line}"
    return ""


def memory_summary(limit: int = 20) -> str:
    """A table of the live tensors, each memory once, the largest first.

    Parameters
    ----------
    limit : int
        How many lines.

    Examples
    --------
    >>> import dualtape as dt
    >>> x = dt.ones(1000, 1000)
    >>> "float32[1000, 1000]" in dt.memory_summary()
    True
    """
    if not isinstance(limit, int) or limit < 0:
        raise TypeError(f"memory_summary: limit must be a number of lines, got {limit!r:.40}")
    groups: dict[tuple, list[int]] = {}
    known: set[int] = set()
    total = 0
    for tensor in [thing for thing in gc.get_objects() if issubclass(type(thing), Tensor)]:
        array = getattr(tensor, "_array", None)
        if array is None or not hasattr(array, "nbytes"):
            continue
        memory = owner_of(array)
        size = 0 if id(memory) in known else int(memory.nbytes)
        known.add(id(memory))
        total += size
        group = groups.setdefault((str(array.dtype), tuple(array.shape)), [0, 0])
        group[0] += 1
        group[1] += size
    rows = sorted(groups.items(), key=lambda item: -item[1][1])
    lines = [f"{sum(count for count, _ in groups.values())} tensors, {shown_bytes(total)}"]
    for (dtype, shape), (count, size) in rows[:limit]:
        lines.append(f"{shown_bytes(size):>12}  {count:>6} x {dtype}{list(shape)}")
    if len(rows) > limit:
        lines.append(f"{'...':>12}  and {len(rows) - limit} more shapes")
    return "\n".join(lines)
