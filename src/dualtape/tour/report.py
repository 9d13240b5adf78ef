"""How the tour talks: headings, figures, and checks that are counted."""

from __future__ import annotations

import sys
import textwrap
from collections.abc import Sequence
from pathlib import Path
from typing import TextIO

__all__ = ["Report"]

WIDTH = 92
LABEL = 48


class Report:
    """Prints the tour and remembers which checks failed.

    Parameters
    ----------
    stream : text file, optional
        Where to print; standard output by default.

    Examples
    --------
    >>> report = Report()
    >>> report.below("error", 1e-9, 1e-6)
      error                                             1.0e-09   must be below 1e-06       ok
    """

    def __init__(self, stream: TextIO | None = None) -> None:
        self._stream = sys.stdout if stream is None else stream
        self._here: list[bool] = []
        self._all: list[bool] = []

    def say(self, words: str = "") -> None:
        """Print a line."""
        print(words, file=self._stream, flush=True)

    def heading(self, title: str, what: str) -> None:
        """Begin a problem: its title, and what is being solved."""
        self.say()
        self.say(title)
        self.say("-" * len(title))
        for paragraph in what.strip().split("\n\n"):
            self.say(textwrap.fill(" ".join(paragraph.split()), WIDTH))
        self.say()

    def figure(self, label: str, value: str) -> None:
        """Print a figure that is only information."""
        self.say(f"  {label:{LABEL}}  {value}")

    def table(self, heads: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
        """Print columns, each as wide as its widest entry."""
        widths = [max(len(row[k]) for row in [heads, *rows]) for k in range(len(heads))]
        for row in [heads, *rows]:
            line = "   ".join(f"{cell:>{width}}" for cell, width in zip(row, widths, strict=True))
            self.say("  " + line.rstrip())

    def picture(self, path: Path) -> None:
        """Say where a picture went."""
        self.figure("picture", str(path))

    def check(self, label: str, value: str, rule: str, passed: bool) -> None:
        """Print a figure that must hold, and remember whether it does."""
        self._here.append(bool(passed))
        self._all.append(bool(passed))
        self.say(f"  {label:{LABEL}}  {value:8}  {rule:24}  {'ok' if passed else 'WRONG'}")

    def below(self, label: str, value: float, limit: float) -> None:
        """Check that a figure is small enough; NaN is not."""
        self.check(label, f"{value:.1e}", f"must be below {limit:.0e}", abs(value) < limit)

    def published(self, label: str, value: float, expected: float, digits: int) -> None:
        """Check that a figure agrees with a published one to the digits that are published."""
        agrees = abs(value - expected) < 0.6 * 10.0**-digits
        self.check(label, f"{value:.{digits}f}", f"published: {expected:.{digits}f}", agrees)

    def verdict(self) -> None:
        """End a problem: say whether all its checks held."""
        wrong = self._here.count(False)
        if wrong:
            self.say(f"  => WRONG: {wrong} of {len(self._here)} figures are not what they have to be")
        else:
            self.say(f"  => right: all {len(self._here)} figures hold")
        self._here = []

    def close(self, seconds: float) -> bool:
        """Print the last line; return whether every check held."""
        wrong = self._all.count(False)
        self.say()
        if wrong:
            self.say(f"{wrong} of {len(self._all)} figures are WRONG ({seconds:.1f} s).")
        else:
            self.say(f"All {len(self._all)} figures hold ({seconds:.1f} s).")
        return not wrong
