"""Locks for objects created on first use, and their renewal in forked processes.

Everything else that threads share relies on the GIL.
"""

from __future__ import annotations

import os
import sys
import threading
import warnings
from collections.abc import Callable
from typing import Any

if not getattr(sys, "_is_gil_enabled", lambda: True)():
    warnings.warn(
        "dualtape relies on the GIL where threads share tensors, and this Python runs without it: share none between"
        " threads, or start Python with PYTHON_GIL=1",
        RuntimeWarning,
        stacklevel=2,
    )


def renew_in_child(namespace: dict[str, Any], **makers: Callable[[], Any]) -> None:
    """Replace locks in a module's ``namespace`` in every forked process: the thread that held an old one does not exist
    there.
    """
    if hasattr(os, "register_at_fork"):
        os.register_at_fork(after_in_child=lambda: namespace.update({name: make() for name, make in makers.items()}))


# One thread at a time makes what an op makes on first use: its functions, its node's class.
making = threading.RLock()
renew_in_child(globals(), making=threading.RLock)
