"""``dualtape.multiprocessing``: Python's own module, under the name that PyTorch programs import.

Tensors are sent to other processes as pickles, a copy each, where PyTorch shares memory.
"""

from __future__ import annotations

import multiprocessing as _standard
from multiprocessing import *  # noqa: F403
from multiprocessing import get_context as _context
from typing import Any

from ._listing import listing


def get_all_sharing_strategies() -> set[str]:
    """Empty: tensors are copied.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.multiprocessing.get_all_sharing_strategies()
    set()
    """
    return set()


def get_sharing_strategy() -> str:
    """``"copy"``: tensors are copied.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.multiprocessing.get_sharing_strategy()
    'copy'
    """
    return "copy"


def set_sharing_strategy(new_strategy: str) -> None:
    """Accept the name of one of PyTorch's ways to share memory: tensors are copied whichever it is.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.multiprocessing.set_sharing_strategy("file_system")
    """
    if new_strategy not in ("copy", "file_descriptor", "file_system"):
        raise ValueError(
            f"set_sharing_strategy: expected 'file_descriptor', 'file_system' or 'copy', got {new_strategy!r}"
        )


def spawn(
    fn: Any, args: tuple = (), nprocs: int = 1, join: bool = True, daemon: bool = False, start_method: str = "spawn"
) -> Any:
    """Call ``fn(rank, *args)`` in ``nprocs`` processes; the first that fails ends all, and is named.

    Examples
    --------
    >>> import dualtape as dt
    >>> dt.multiprocessing.spawn(print, nprocs=2)  # doctest: +SKIP
    """
    context: Any = _context(start_method)
    processes = [context.Process(target=fn, args=(rank, *args), daemon=daemon) for rank in range(nprocs)]
    for process in processes:
        process.start()
    if not join:
        return processes
    waiting = dict(zip((p.sentinel for p in processes), enumerate(processes), strict=True))
    while waiting:
        for sentinel in _standard.connection.wait(list(waiting)):
            rank, process = waiting.pop(sentinel)
            process.join()
            if process.exitcode:
                for _, other in waiting.values():
                    other.terminate()
                raise RuntimeError(f"process {rank} terminated with exit code {process.exitcode}")
    return None


__dir__ = listing(__name__)
