"""Switch NumPy's floating-point warnings off and on again at the cost of two writes to a context variable.

``np.errstate`` does the same, but builds its settings each time it is entered, which takes about a microsecond, as long
as a small op. It uses names that are not public; for a NumPy without them, NumPy's own functions are the fallback.

An interrupt may come after any call. So the settings are read first, and the change is made inside ``try``::

    before = fp_errors()\n    try:\n        ignore_fp_errors()\n        ...\n    finally:\n
restore_fp_errors(before)
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

fp_errors: Callable[[], Any]  # how NumPy reports errors now, for restore_fp_errors
ignore_fp_errors: Callable[[], Any]  # it reports none
restore_fp_errors: Callable[[Any], Any]

try:
    from numpy._core.umath import _extobj_contextvar, _make_extobj

    ignore_fp_errors = partial(_extobj_contextvar.set, _make_extobj(all="ignore"))
except (ImportError, TypeError):
    fp_errors, ignore_fp_errors = np.geterr, partial(np.seterr, all="ignore")
    restore_fp_errors = lambda before: np.seterr(**before)
else:
    fp_errors, restore_fp_errors = _extobj_contextvar.get, _extobj_contextvar.set

_AT_FIRST = fp_errors()
_QUIET = ("ignore", "warn")


def reports_errors() -> bool:
    """Return whether floating-point errors are to be raised or reported rather than ignored."""
    return fp_errors() is not _AT_FIRST and any([what not in _QUIET for what in np.geterr().values()])
