"""The CPU."""

from __future__ import annotations

import numpy as np


def get_cpu_capability() -> str:
    """The widest vectors that NumPy uses here, as PyTorch names them.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.backends.cpu.get_cpu_capability() in ("AVX512", "AVX2", "DEFAULT")
    True
    """
    found = np.show_config(mode="dicts")["SIMD Extensions"]
    names = {*found.get("baseline", ()), *found.get("found", ())}
    for name in ("AVX512", "AVX2"):
        if any(known.startswith(("AVX512", "X86_V4") if name == "AVX512" else ("AVX2", "X86_V3")) for known in names):
            return name
    return "DEFAULT"
