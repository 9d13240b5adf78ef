"""Events: their name, start, duration and nesting; averages of them, and tables."""

from __future__ import annotations

import enum
from collections.abc import Callable, Iterable
from typing import Any


class DeviceType(enum.Enum):
    """The device of an event.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.profiler.DeviceType.CPU.name
    'CPU'
    """

    CPU = 0
    CUDA = 1


class Interval:
    """Start and end, in microseconds."""

    __slots__ = ("start", "end")

    def __init__(self, start: float, end: float) -> None:
        self.start, self.end = start, end

    def elapsed_us(self) -> float:
        """Return the duration."""
        return self.end - self.start


class FunctionEvent:
    """One op, node of the graph, or user-defined range.

    Attributes
    ----------
    kind : str
        "op", "composite" or "module" (what is made of ops), "node", "range", "program" or "kernel" (of a program).
    sequence_nr : int
        The number that an op shares with its node; -1 where there is none.
    input_shapes, stack : list
        Of its arguments, and the lines that led to it, if they were asked for.
    cpu_memory_usage : int
        Bytes of the memory that it made for its results.
    """

    device_type = DeviceType.CPU
    is_async = is_remote = False
    count = 1

    def __init__(self, name: str, kind: str, start: int, thread: int, parent: FunctionEvent | None) -> None:
        self.name, self.kind, self.thread = name, kind, thread
        self.start_ns, self.end_ns = start, start
        self.cpu_parent = parent
        self.cpu_children: list[FunctionEvent] = []
        self.sequence_nr = -1
        self.input_shapes: list = []
        self.stack: list[str] = []
        self.own_memory = 0
        self.details = ""
        if parent is not None:
            parent.cpu_children.append(self)

    key = property(lambda self: self.name)
    is_user_annotation = property(lambda self: self.kind == "range")

    @property
    def time_range(self) -> Interval:
        """Start and end, in microseconds."""
        return Interval(self.start_ns / 1e3, self.end_ns / 1e3)

    @property
    def cpu_time_total(self) -> float:
        """The duration, in microseconds."""
        return (self.end_ns - self.start_ns) / 1e3

    cpu_time = cpu_time_total

    @property
    def self_cpu_time_total(self) -> float:
        """The duration without nested events."""
        return self.cpu_time_total - sum(child.cpu_time_total for child in self.cpu_children)

    @property
    def cpu_memory_usage(self) -> int:
        """Bytes allocated, including nested events."""
        return self.own_memory + sum(child.cpu_memory_usage for child in self.cpu_children)

    @property
    def self_cpu_memory_usage(self) -> int:
        """Bytes allocated, without nested events."""
        return self.own_memory

    def __repr__(self) -> str:
        return f"<FunctionEvent {self.name} {self.cpu_time_total:.3f}us shapes={self.input_shapes}>"


class FunctionEventAvg:
    """The average of events of one name, and, if requested, of one kind of arguments or one source line."""

    device_type = DeviceType.CPU

    def __init__(self, first: FunctionEvent) -> None:
        self.key, self.kind = first.key, first.kind
        self.input_shapes, self.stack = first.input_shapes, first.stack
        self.count = 0
        self.cpu_time_total = self.self_cpu_time_total = 0.0
        self.cpu_memory_usage = self.self_cpu_memory_usage = 0

    def add(self, event: FunctionEvent) -> None:
        """Include one more event."""
        self.count += event.count
        self.self_cpu_time_total += event.self_cpu_time_total
        self.self_cpu_memory_usage += event.self_cpu_memory_usage
        parent = getattr(event, "cpu_parent", None)
        while parent is not None and parent.key != event.key:
            parent = parent.cpu_parent
        if parent is None:  # one inside of another is in its time already
            self.cpu_time_total += event.cpu_time_total
            self.cpu_memory_usage += event.cpu_memory_usage

    @property
    def cpu_time(self) -> float:
        """The mean, in microseconds."""
        return self.cpu_time_total / self.count

    def __repr__(self) -> str:
        return f"<FunctionEventAvg {self.key} {self.count} calls, {self.cpu_time_total:.3f}us>"


class EventList(list):
    """Events, or averages of them."""

    def __init__(self, events: Iterable[Any] = (), memory: bool = False) -> None:
        super().__init__(events)
        self._memory = memory

    @property
    def self_cpu_time_total(self) -> float:
        """The total time of these events, in microseconds."""
        return sum(event.self_cpu_time_total for event in self)

    def key_averages(
        self, group_by_input_shapes: bool = False, group_by_stack_n: int = 0, group_by_overload_name: bool = False
    ) -> EventList:
        """Return averages over events of one name; of one kind of arguments and one line, if requested."""
        groups: dict[Any, FunctionEventAvg] = {}
        for event in self:
            shapes = str(event.input_shapes) if group_by_input_shapes else ""
            key = (event.key, shapes, *event.stack[:group_by_stack_n])
            if key not in groups:
                groups[key] = FunctionEventAvg(event)
                groups[key].stack = event.stack[:group_by_stack_n]
                groups[key].input_shapes = event.input_shapes if group_by_input_shapes else []
            groups[key].add(event)
        return EventList(groups.values(), self._memory)

    def total_average(self) -> Any:
        """Return the sum of all events as one."""
        if not self:
            raise ValueError("total_average: there are no events")
        total = FunctionEventAvg(self[0])
        total.key = "Total"
        for event in self:
            total.add(event)
        return total

    def table(
        self,
        sort_by: str | None = None,
        row_limit: int = 100,
        max_src_column_width: int = 75,
        max_name_column_width: int = 55,
        max_shapes_column_width: int = 80,
        header: str | None = None,
        top_level_events_only: bool = False,
        time_unit: str | None = None,
    ) -> str:
        """The events as a table.

        Parameters
        ----------
        sort_by : str, optional
            An attribute: ``cpu_time``, ``cpu_time_total``, ``self_cpu_time_total``, ``cpu_memory_usage``,
            ``self_cpu_memory_usage``, ``count``; the largest first.
        row_limit : int
            -1: all of them.
        time_unit : {"s", "ms", "us"}, optional
            Default: what suits each number.
        """
        rows = [e for e in self if not (top_level_events_only and getattr(e, "cpu_parent", None) is not None)]
        if sort_by is not None:
            if sort_by not in _SORTED:
                raise ValueError(f"table: sort_by must be one of {', '.join(_SORTED)}, got {sort_by!r}")
            rows.sort(key=lambda e: -getattr(e, sort_by))
        if time_unit not in (None, "s", "ms", "us"):
            raise ValueError(f"table: time_unit must be 's', 'ms' or 'us', got {time_unit!r}")
        total = self.self_cpu_time_total
        columns = self._columns(total, lambda us: shown_time(us, time_unit))
        shown = rows[:row_limit] if row_limit >= 0 else rows
        lines = [[_cut(make(e), width) for _, width, make in columns] for e in shown]
        limits = {
            "Name": max_name_column_width,
            "Input Shapes": max_shapes_column_width,
            "Source Location": max_src_column_width,
        }
        lines = [
            [_cut(text, limits.get(name, 99)) for text, (name, _, _) in zip(line, columns, strict=True)]
            for line in lines
        ]
        widths = [max([len(name), *(len(line[k]) for line in lines)]) for k, (name, _, _) in enumerate(columns)]
        rule = "  ".join("-" * width for width in widths)
        text = [header] if header else []
        text += [rule, "  ".join(f"{name:>{w}}" for (name, _, _), w in zip(columns, widths, strict=True)), rule]
        text += ["  ".join(f"{word:>{w}}" for word, w in zip(line, widths, strict=True)) for line in lines]
        return "\n".join([*text, rule, f"Self CPU time total: {shown_time(total, time_unit)}", ""])

    def _columns(self, total: float, time: Callable[[float], str]) -> list[tuple[str, int, Callable[[Any], str]]]:
        share = lambda us: f"{us / total:.2%}" if total else "0.00%"
        columns: list[tuple[str, int, Callable[[Any], str]]] = [
            ("Name", 200, lambda e: e.key),
            ("Self CPU %", 20, lambda e: share(e.self_cpu_time_total)),
            ("Self CPU", 20, lambda e: time(e.self_cpu_time_total)),
            ("CPU total %", 20, lambda e: share(e.cpu_time_total)),
            ("CPU total", 20, lambda e: time(e.cpu_time_total)),
            ("CPU time avg", 20, lambda e: time(e.cpu_time)),
        ]
        if self._memory:
            columns.append(("CPU Mem", 20, lambda e: shown_bytes(e.cpu_memory_usage)))
            columns.append(("Self CPU Mem", 20, lambda e: shown_bytes(e.self_cpu_memory_usage)))
        columns.append(("# of Calls", 20, lambda e: str(e.count)))
        if any(event.input_shapes for event in self):
            columns.append(("Input Shapes", 200, lambda e: str(e.input_shapes)))
        if any(event.stack for event in self):
            columns.append(("Source Location", 200, lambda e: e.stack[0] if e.stack else ""))
        return columns

    def __str__(self) -> str:
        return self.table()

    def _repr_html_(self) -> str:
        from xml.sax.saxutils import escape

        return f"<pre>{escape(self.table())}</pre>"


_SORTED = ("cpu_time", "cpu_time_total", "self_cpu_time_total", "cpu_memory_usage", "self_cpu_memory_usage", "count")


def _cut(text: str, width: int) -> str:
    return text if len(text) <= width else text[: width - 3] + "..."


def shown_time(us: float, unit: str | None = None) -> str:
    """Return a time in a suitable unit."""
    if unit == "s" or unit is None and us >= 1e6:
        return f"{us / 1e6:.3f}s"
    return f"{us / 1e3:.3f}ms" if unit == "ms" or unit is None and us >= 1e3 else f"{us:.3f}us"


def shown_bytes(count: int) -> str:
    """Return a size in a suitable unit."""
    for unit, size in (("GB", 1 << 30), ("MB", 1 << 20), ("KB", 1 << 10)):
        if abs(count) >= size:
            return f"{count / size:.2f} {unit}"
    return f"{count} B"
