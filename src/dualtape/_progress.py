"""Progress of long loops on the terminal: a bar of rich if that is installed, else a single line.

A loop is written ``for item in steps(items, "rows", progress, n)``. Without a terminal, or with ``progress=False``, it
iterates over the items themselves, at no cost.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterable, Iterator
from typing import Any

_PATIENCE = 1.0  # seconds before anything is shown, if it was not asked for
_OFTEN = 0.1  # seconds between two lines


def steps(items: Iterable[Any], words: str, progress: bool | None, total: int) -> Iterable[Any]:
    """Iterate over ``items`` and show the progress if wanted, by default (None) on a terminal."""
    return _with_bar(items, Bar(words, total, progress is True)) if _is_wanted(progress) else items


def counter(words: str, progress: bool | None) -> Bar | None:
    """Return a bar for an unknown number of steps; None if none is shown."""
    return Bar(words, None, progress is True) if _is_wanted(progress) else None


def _is_wanted(progress: bool | None) -> bool:
    if progress is not None and not isinstance(progress, bool):
        raise TypeError(f"progress must be True, False or None, got {progress!r}")
    return _is_terminal() if progress is None else progress


def _stream() -> Any:
    return sys.stderr


def _is_terminal() -> bool:
    try:
        return _stream().isatty()
    except (AttributeError, ValueError):  # there is none, or it is closed
        return False


def _with_bar(items: Iterable[Any], bar: Bar) -> Iterator[Any]:
    try:
        for k, item in enumerate(items):
            yield item
            bar.reached(k + 1)
    finally:
        bar.close()


class Bar:
    """The display of a loop's progress, removed when the loop has ended."""

    def __init__(self, words: str, total: int | None, at_once: bool) -> None:
        self.words, self.total = words, total
        self.begun = time.perf_counter()
        self.next = self.begun + (0 if at_once else _PATIENCE)
        self.shown: Any = None

    def reached(self, count: int) -> None:
        """Show that ``count`` steps are done."""
        now = time.perf_counter()
        if now < self.next:
            return
        self.next = now + _OFTEN
        if self.shown is None:
            self.shown = _rich(self.words, self.total) or _Line(self.words, self.total, self.begun)
        self.shown.update(count)

    def close(self) -> None:
        """Remove the display."""
        if self.shown is not None:
            self.shown.close()
            self.shown = None


class _Line:
    """A single line that is rewritten."""

    def __init__(self, words: str, total: int | None, begun: float) -> None:
        self.words, self.total, self.begun, self.wide = words, total, begun, 0

    def update(self, count: int) -> None:
        text = f"{self.words}: {count}"
        if self.total:
            left = (time.perf_counter() - self.begun) * (self.total / count - 1)
            text += f" of {self.total}, {left:.0f} s left"
        _stream().write(f"\r{text:{self.wide}}")
        _stream().flush()
        self.wide = max(self.wide, len(text))

    def close(self) -> None:
        _stream().write(f"\r{'':{self.wide}}\r")
        _stream().flush()


def _rich(words: str, total: int | None) -> Any:
    try:
        from rich.console import Console  # type: ignore[import-not-found, unused-ignore]  # an extra
        from rich.progress import Progress  # type: ignore[import-not-found, unused-ignore]  # an extra
    except ImportError:
        return None

    class Rich:
        def __init__(self) -> None:
            self.bars = Progress(console=Console(stderr=True), transient=True)
            self.bars.start()
            self.task = self.bars.add_task(words, total=total)

        def update(self, count: int) -> None:
            self.bars.update(self.task, completed=count)

        def close(self) -> None:
            self.bars.stop()

    return Rich()
