"""Which function of NumPy's may run on parts, and on which: tables, filled by kind of function.

:mod:`ways` has the kinds of rules; the others say which function is of which.
"""

from __future__ import annotations

from . import along_axes, arithmetic, indexing, views  # noqa: F401 - fill the tables
