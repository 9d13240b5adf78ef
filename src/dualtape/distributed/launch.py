"""``dualtape launch``: run a script in several processes, by ``mpiexec``."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

__all__ = ["command", "launch"]

# libraries that would otherwise start a thread for each core in each process
_THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")


def command(processes: int, script: str, arguments: Sequence[str] = ()) -> list[str]:
    """Return the command line that runs ``script`` in ``processes`` processes."""
    if processes < 1:
        raise ValueError(f"launch: the number of processes must be at least 1, got {processes}")
    if not Path(script).is_file():
        raise ValueError(f"launch: there is no file {script}")
    # of the environment that this Python is in, before others
    beside = shutil.which("mpiexec", path=str(Path(sys.executable).parent))
    found = beside or shutil.which("mpiexec")
    if found is None:
        raise ValueError("launch: there is no mpiexec here; pip install 'dualtape[distributed]' brings one")
    # mpi4py ends all processes if one of them ends with an error
    return [found, "-n", str(processes), sys.executable, "-m", "mpi4py", script, *arguments]


def launch(processes: int, script: str, arguments: Sequence[str] = ()) -> int:
    """Run ``script`` in ``processes`` processes of this Python, and return the exit status.

    Each has its share of the cores, unless the environment says how many threads it has.
    """
    words = command(processes, script, arguments)
    share = str(max((os.cpu_count() or 1) // processes, 1))
    environment = {**dict.fromkeys(_THREADS, share), **os.environ}
    return subprocess.run(words, env=environment, check=False).returncode
