"""Events in the formats of other programs: traces, stacks, flame graphs."""

from __future__ import annotations

import json
import os
import socket
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any
from xml.sax.saxutils import escape

from .events import FunctionEvent, shown_time


def export_chrome_trace(events: Sequence[FunctionEvent], path: Any) -> None:
    """Write events in the trace-event format; an op and its node are joined by an arrow."""
    lines: list[dict] = []
    nodes = {event.sequence_nr: event for event in events if event.kind == "node"}
    for number, event in enumerate(events):
        arguments: dict[str, Any] = {"External id": number}
        if event.sequence_nr >= 0:
            arguments["Sequence number"] = event.sequence_nr
        if event.input_shapes:
            arguments["Input Dims"] = event.input_shapes
        if event.stack:
            arguments["Call stack"] = ";".join(event.stack)
        if event.own_memory:
            arguments["Bytes"] = event.own_memory
        if event.details:
            arguments["Arguments"] = event.details
        lines.append(
            {
                "ph": "X",
                "cat": {"op": "cpu_op", "range": "user_annotation"}.get(event.kind, event.kind),
                "name": event.name,
                "pid": os.getpid(),
                "tid": event.thread,
                "ts": event.start_ns / 1e3,
                "dur": event.cpu_time_total,
                "args": arguments,
            }
        )
        node = nodes.get(event.sequence_nr)
        if event.kind == "op" and node is not None:
            arrow = {"cat": "fwdbwd", "name": "fwdbwd", "id": event.sequence_nr, "pid": os.getpid()}
            lines.append({**arrow, "ph": "s", "tid": event.thread, "ts": event.start_ns / 1e3})
            lines.append({**arrow, "ph": "f", "bp": "e", "tid": node.thread, "ts": node.start_ns / 1e3})
    content = {"schemaVersion": 1, "displayTimeUnit": "ms", "traceEvents": lines}
    Path(path).write_text(json.dumps(content))


def export_stacks(events: Sequence[FunctionEvent], path: Any, metric: str) -> None:
    """Write each stack, the outermost line first, with its time in microseconds."""
    if metric not in ("self_cpu_time_total",):
        raise ValueError(f"export_stacks: metric must be 'self_cpu_time_total', got {metric!r}")
    if not any(event.stack for event in events):
        raise ValueError("export_stacks: no stacks were recorded: pass with_stack=True to profile")
    lines = []
    for event in events:
        time = int(event.self_cpu_time_total)
        if event.stack and time > 0:
            lines.append(";".join([*reversed(event.stack), event.name]).replace(" ", "_") + f" {time}")
    Path(path).write_text("\n".join(lines) + "\n")


def tensorboard_trace_handler(dir_name: str, worker_name: str | None = None, use_gzip: bool = False) -> Callable:
    """A function for ``on_trace_ready`` that writes each trace into a folder, under a name of its own.

    Examples
    --------
    >>> import dualtape as dt
    >>> handler = dt.profiler.tensorboard_trace_handler("traces")  # doctest: +SKIP
    """
    folder = Path(dir_name)
    folder.mkdir(parents=True, exist_ok=True)
    worker = worker_name or f"{socket.gethostname()}_{os.getpid()}"

    def handler(profile: Any) -> None:
        path = folder / f"{worker}.{time.time_ns()}.pt.trace.json"
        profile.export_chrome_trace(path)
        if use_gzip:
            import gzip

            path.with_name(path.name + ".gz").write_bytes(gzip.compress(path.read_bytes()))
            path.unlink()

    return handler


# --- flames ---------------------------------------------------------------------------------------


class _Frame:
    """A source line, or a name: the time spent in it, and its callees."""

    def __init__(self) -> None:
        self.time = 0.0
        self.inside: dict[str, _Frame] = {}

    def add(self, names: Sequence[str], time: float) -> None:
        self.time += time
        frame = self
        for name in names:
            frame = frame.inside.setdefault(name, _Frame())
            frame.time += time


_HEIGHT, _WIDTH, _LETTER = 18, 1200.0, 6.6
_COLOURS = ("#e8785a", "#e8935a", "#e8ae5a", "#e8c45a", "#d9725f", "#e08a4f")


def flame_svg(events: Sequence[FunctionEvent]) -> str:
    """Return a flame graph: widths are times, callers are beneath."""
    root = _Frame()
    for event in events:
        names = [event.name]
        if event.stack:
            names = [_short(line) for line in reversed(event.stack)] + names
        else:
            parent = event.cpu_parent
            while parent is not None:
                names.insert(0, parent.name)
                parent = parent.cpu_parent
        root.add(names, max(event.self_cpu_time_total, 0.0))
    depth = _depth(root)
    height = (depth + 1) * _HEIGHT + 40
    body: list[str] = []
    _draw(root, 0.0, _WIDTH, 0, height - 10 - _HEIGHT, root.time or 1.0, body)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{_WIDTH:.0f}" height="{height}" viewBox="0 0 {_WIDTH:.0f} '
        f'{height}" font-family="DejaVu Sans Mono, monospace" font-size="11">\n'
        f'<rect width="100%" height="100%" fill="#fffdf8"/>\n'
        f'<text x="10" y="20" font-size="13">{escape(shown_time(root.time))} in {len(events)} events</text>\n'
        + "\n".join(body)
        + "\n</svg>\n"
    )


def _short(line: str) -> str:
    path, _, rest = line.partition("(")
    return f"{Path(path).name}:{rest.partition(')')[0]}"


def _depth(frame: _Frame) -> int:
    deepest, waiting = 0, [(frame, 0)]
    while waiting:
        frame, level = waiting.pop()
        deepest = max(deepest, level)
        waiting.extend((inner, level + 1) for inner in frame.inside.values())
    return deepest


def _draw(frame: _Frame, x: float, width: float, level: int, bottom: float, total: float, body: list[str]) -> None:
    waiting = [(frame, x, width, level)]
    while waiting:
        frame, x, width, level = waiting.pop()
        at = x
        for name, inner in sorted(frame.inside.items(), key=lambda item: -item[1].time):
            share = width * inner.time / frame.time if frame.time else 0.0
            if share >= 0.5:
                y = bottom - level * _HEIGHT
                letters = int((share - 6) / _LETTER)
                words = name if len(name) <= letters else name[: max(letters - 1, 0)] + "…" if letters > 3 else ""
                colour = _COLOURS[sum(map(ord, name)) % len(_COLOURS)]
                told = f"{name}: {shown_time(inner.time)} ({inner.time / total:.1%})"
                body.append(
                    f'<g><title>{escape(told)}</title><rect x="{at:.1f}" y="{y:.0f}" width="{share:.1f}" '
                    f'height="{_HEIGHT - 1}" rx="2" fill="{colour}"/><text x="{at + 3:.1f}" y="{y + 13:.0f}">'
                    f"{escape(words)}</text></g>"
                )
                waiting.append((inner, at, share, level + 1))
            at += share
