"""Silence: NumPy's floating-point warnings off and on again, for the price of two writes to a context variable.

``np.errstate`` does the same, and builds its settings anew each time it is entered: about a microsecond, which is
the price of a small op. The names that it uses itself are not public, so it is still here, for a NumPy that does
not have them.
"""

from __future__ import annotations

from typing import Any

import numpy as np

try:
    from numpy._core.umath import _extobj_contextvar, _make_extobj  # type: ignore[attr-defined]

    _silent = _make_extobj(all="ignore")
except (ImportError, TypeError):

    def ignore_fp_errors() -> Any:
        """Silence NumPy; returns what :func:`unhush` takes."""
        context = np.errstate(all="ignore")
        context.__enter__()
        return context

    def restore_fp_errors(token: Any) -> None:
        """Let NumPy speak again, as it did before."""
        token.__exit__(None, None, None)

else:

    def ignore_fp_errors() -> Any:
        """Silence NumPy; returns what :func:`unhush` takes."""
        return _extobj_contextvar.set(_silent)

    restore_fp_errors = _extobj_contextvar.reset  # type: ignore[assignment]
