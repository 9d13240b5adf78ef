"""`python -m benchmarks.import_time`: what `import dualtape` costs, next to `import numpy`.

Each import is timed inside a fresh interpreter, and the two take turns, so that a slow moment of the machine
hits both.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Sequence

__all__ = ["import_times", "main"]

PROGRAM = "import time; start = time.perf_counter(); import {module}; print(time.perf_counter() - start)"


def import_seconds(module: str, bytecode: str) -> float:
    """Return the seconds that importing a module takes in a fresh interpreter, its bytecode in a given folder."""
    command = [sys.executable, "-X", f"pycache_prefix={bytecode}", "-c", PROGRAM.format(module=module)]
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    done = subprocess.run(command, capture_output=True, text=True, env=environment)
    if done.returncode != 0:
        raise RuntimeError(
            f"import_time: `import {module}` failed in a fresh interpreter; is it installed?\n{done.stderr}"
        )
    return float(done.stdout)


def import_times(modules: Sequence[str], runs: int) -> dict[str, list[float]]:
    """Time the imports in turns; return the seconds of every run, by module."""
    times: dict[str, list[float]] = {module: [] for module in modules}
    with tempfile.TemporaryDirectory() as bytecode:
        for module in modules:
            import_seconds(module, bytecode)  # fills the bytecode and file caches
        for _ in range(runs):
            for module in modules:
                times[module].append(import_seconds(module, bytecode))
    return times


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the times and their ratio."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.import_time", description=__doc__)
    parser.add_argument("--runs", type=int, default=20, metavar="N", help="imports of each (default: %(default)s)")
    options = parser.parse_args(arguments)
    if options.runs < 1:
        parser.error(f"--runs: expected at least 1, got {options.runs}")
    times = import_times(("numpy", "dualtape"), options.runs)
    print(f"{'import':12}{'min ms':>10}{'median ms':>12}")
    for module, seconds in times.items():
        print(f"{module:12}{min(seconds) * 1e3:10.1f}{statistics.median(seconds) * 1e3:12.1f}")
    smallest = min(times["dualtape"]) / min(times["numpy"])
    middle = statistics.median(times["dualtape"]) / statistics.median(times["numpy"])
    print(f"{'ratio':12}{smallest:10.2f}{middle:12.2f}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
