"""Tables of programs of several lines: each begins with a line ``# what it shows``, and runs on both libraries."""

from __future__ import annotations

from typing import Any

import pytest


def blocks(text: str) -> list[Any]:
    """One pytest parameter for each program; the comment that opens it is its name."""
    found: list[Any] = []
    for line in text.strip().splitlines():
        if line.startswith("# "):
            found.append((line[2:].strip(), []))
        else:
            found[-1][1].append(line)
    return [pytest.param("\n".join(lines).strip(), id=name) for name, lines in found]
