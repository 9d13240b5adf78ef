"""Silence: NumPy's floating-point warnings off and on again, for the price of two writes to a context variable.

``np.errstate`` does the same, and builds its settings anew each time it is entered: about a microsecond, which is
the price of a small op. The names that it uses itself are not public, so NumPy's own functions are still here, for a
NumPy that does not have them.

An interrupt may come after any call. So the settings are read before, and what changes them stands inside ``try``::

    before = fp_errors()
    try:
        ignore_fp_errors()
        ...
    finally:
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
    """Whether floating-point errors are to be raised, or told to somebody, rather than passed over."""
    return fp_errors() is not _AT_FIRST and any([what not in _QUIET for what in np.geterr().values()])
