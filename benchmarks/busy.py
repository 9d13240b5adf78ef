"""``python -m benchmarks.busy``: the same programs on a quiet machine and beside processes that use cores.

Threads of BLAS wait for one another, and a core that another process uses makes them wait for the scheduler. Each row
is the mean time of a call, quiet and beside ``--burners`` processes, of dualtape, of PyTorch where it is installed, and
of the same product or solution by NumPy's own functions. Each runs in a process of its own.
"""

from __future__ import annotations

import argparse
import importlib.util
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from importlib import import_module
from typing import Any

_SECONDS = 0.6  # of each measurement


def _programs(name: str) -> dict[str, Callable[[], Any]]:
    """Return the programs of the table, for a library."""
    library: Any = import_module(name)
    if name == "numpy":
        random = library.random.default_rng(0).random
        matrices = {n: random((n, n), "f4") for n in (64, 100, 128, 200, 512, 150)}
        programs = {f"product {n} x {n}": lambda m=m: m @ m for n, m in matrices.items() if n != 150}
        regular = matrices[150] + 150 * library.eye(150, dtype="f4")
        return {**programs, "solve 150 x 150": lambda: library.linalg.solve(regular, regular[0])}
    library.manual_seed(0)
    programs = {}
    for size in (64, 100, 128, 200, 512):
        matrix = library.rand(size, size)
        programs[f"product {size} x {size}"] = lambda matrix=matrix: matrix @ matrix
    system = library.rand(150, 150) + 150 * library.eye(150)
    programs["solve 150 x 150"] = lambda: library.linalg.solve(system, system[0])
    layer = library.nn.TransformerEncoderLayer(64, 4, 128, dropout=0.0, batch_first=True)
    batch = library.rand(8, 32, 64)
    optimizer = library.optim.Adam(layer.parameters(), 1e-3)

    def step() -> None:
        optimizer.zero_grad()
        layer(batch).square().mean().backward()
        optimizer.step()

    programs["transformer layer, training step"] = step
    return programs


def mean(function: Callable[[], Any]) -> float:
    """Return the mean time of a call, in microseconds."""
    function()
    start, count = time.perf_counter(), 0
    while time.perf_counter() - start < _SECONDS:
        function()
        count += 1
    return (time.perf_counter() - start) / count * 1e6


@contextmanager
def burning(count: int) -> Iterator[None]:
    """Context in which ``count`` processes use a core each."""
    processes = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(count)]
    try:
        time.sleep(0.2)
        yield
    finally:
        for process in processes:
            process.kill()
            process.wait()


def main(arguments: Sequence[str] | None = None) -> int:
    """Print a table."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.busy", description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--burners", type=int, default=1, metavar="N", help="processes (default: %(default)s)")
    parser.add_argument("--library", help=argparse.SUPPRESS)  # in a process of its own: its times, a line each
    options = parser.parse_args(arguments)
    if options.library:
        for row, program in _programs(options.library).items():
            quiet = mean(program)
            with burning(options.burners):
                print(row, quiet, mean(program), sep="\t", flush=True)
        return 0
    names = [name for name in ("dualtape", "numpy", "torch") if importlib.util.find_spec(name)]
    table: dict[str, dict[str, str]] = {}
    for name in names:
        command = [sys.executable, __file__, "--library", name, "--burners", str(options.burners)]
        # The other benchmarks hold BLAS to one thread by these variables.
        settings = {key: value for key, value in os.environ.items() if not key.endswith("_NUM_THREADS")}
        done = subprocess.run(command, capture_output=True, text=True, check=True, env=settings)
        for line in done.stdout.splitlines():
            row, quiet, busy = line.split("\t")
            table.setdefault(row, {})[name] = f"{float(quiet):9.1f}{float(busy):11.1f}"
    print(f"{'us of a call: quiet, busy':34}" + "".join(f"{name:>22}" for name in names))
    for row, found in table.items():
        print(f"{row:34}" + "".join(f"{found.get(name, ''):>22}" for name in names))
    return 0


if __name__ == "__main__":
    sys.exit(main())
