"""Placement rules: which NumPy function may run on shards, and under which placements; tables, filled by kind of
function.

:mod:`.ways` has the kinds of rules; the others say which function is of which kind.
"""

from __future__ import annotations

from . import along_axes, arithmetic, indexing, views  # noqa: F401 - fill the tables
