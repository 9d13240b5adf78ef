"""`python -m benchmarks.scaling`: long graphs, and memory, on dualtape and PyTorch.

Three questions. Does the time per node stay the same from a thousand to a million nodes, and what does a node
weigh? Does backward give memory back as it goes? What is the peak of a training step? Memory is the process's own
(Linux's resident set), measured the same way for both, each in a fresh interpreter.
"""

from __future__ import annotations

import argparse
import ctypes
import gc
import json
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import THREADS
from benchmarks.workloads import WORKLOADS

__all__ = ["main"]

MB = 1e6
STEPS = ("MLP training step, 256 x 512 wide", "conv net training step", "transformer block, training step")
_STATUS, _CLEAR = Path("/proc/self/status"), Path("/proc/self/clear_refs")


def resident(which: str = "VmRSS") -> int:
    """Bytes that the process holds now, or (VmHWM) held at most."""
    for line in _STATUS.read_text().splitlines():
        if line.startswith(which):
            return int(line.split()[1]) * 1024
    raise RuntimeError(f"scaling: {_STATUS} has no {which}; this measurement needs Linux")


def as_array() -> None:
    """Give back to the system what the allocator keeps for later, so that what is held is what is used."""
    gc.collect()
    ctypes.CDLL(None).malloc_trim(0)


def forget_peak() -> None:
    """Make what is held now the most that was ever held."""
    _CLEAR.write_text("5")


# --- measured in a process of its own -------------------------------------------------------------


def long_chain(torch: Any, nodes: int) -> dict[str, float]:
    """Time and bytes per node of a chain of additions and products on one number."""
    start = torch.tensor(np.float64(0.5), requires_grad=True)

    def build(count: int) -> Any:
        value = start
        for _ in range(count // 2):
            value = value * 0.5 + 0.5
        return value

    build(100).backward()  # what is loaded and allocated once
    as_array()
    gc.disable()
    before = resident()
    started = time.perf_counter()
    value = build(nodes)
    built = time.perf_counter()
    held = resident()
    value.backward()
    done = time.perf_counter()
    del value
    freed = time.perf_counter()
    return {
        "forward ns": (built - started) / nodes * 1e9,
        "backward ns": (done - built) / nodes * 1e9,
        "free ns": (freed - done) / nodes * 1e9,
        "bytes": (held - before) / nodes,
    }


def release(torch: Any) -> dict[str, float]:
    """Memory before, after the forward, at its most during backward, and after it: 50 products of a megabyte each,
    all saved.
    """
    start = torch.tensor(np.linspace(0, 1, 250_000, dtype=np.float32), requires_grad=True)
    torch.tanh(start).sum().backward()
    start.grad = None
    as_array()
    before = resident()
    value = start
    for _ in range(50):
        value = torch.tanh(value)
    total = value.sum()
    del value
    held = resident()
    forget_peak()
    total.backward()
    peak = resident("VmHWM")
    as_array()
    after = resident()
    return {"forward MB": (held - before) / MB, "peak MB": (peak - before) / MB, "after MB": (after - before) / MB}


def training_peak(torch: Any, name: str) -> dict[str, float]:
    """The most that a training step holds beyond what its parameters and inputs do."""
    step = WORKLOADS[name].program(torch)
    for _ in range(5):  # what is made once is made now
        step()
    as_array()
    before = resident()
    forget_peak()
    for _ in range(3):
        step()
    return {"peak MB": (resident("VmHWM") - before) / MB}


MEASURES: dict[str, Callable[..., dict[str, float]]] = {
    "long_chain": long_chain,
    "release": release,
    "training_peak": training_peak,
}


def elsewhere(library: str, measure: str, argument: Any = None) -> dict[str, float]:
    """Run a measure on a library in a fresh interpreter."""
    call = json.dumps([library, measure, argument])
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.scaling", "--measure", call], capture_output=True, text=True
    )
    if done.returncode != 0:
        raise RuntimeError(f"scaling: {measure} failed on {library}\n{done.stderr}")
    return json.loads(done.stdout)


# Nothing but the library is imported: what this module imports has large arrays, whose memory would then be at hand.
BARE = """
import sys, time, {library} as torch
if "{library}" == "torch":
    torch.set_num_threads({threads})
x, times = torch.full((1000, 1000), 0.5, requires_grad=True), []
for _ in range(31):
    started = time.perf_counter()
    (x * 2).tanh().sum().backward()
    x.grad = None
    times.append(time.perf_counter() - started)
print(sorted(times)[15] * 1e3)
"""


def bare_step(library: str) -> float:
    """Milliseconds of a step on 1000x1000 numbers in a process that has done nothing else, its memory taken from
    the system and given back included.
    """
    done = subprocess.run(
        [sys.executable, "-c", BARE.format(library=library, threads=THREADS)],
        capture_output=True,
        text=True,
        check=True,
    )
    return float(done.stdout)


# --- the tables -----------------------------------------------------------------------------------


def table(title: str, rows: dict[str, tuple[str, Any]], libraries: Sequence[str], results: dict) -> None:
    """Measure and print one table: a line for each case and library."""
    print(f"\n{title}")
    head = True
    for name, (measure, argument) in rows.items():
        for library in libraries:
            found = elsewhere(library, measure, argument)
            results.setdefault(title, {}).setdefault(name, {})[library] = found
            if head:
                print(f"{'':36}{'':10}{''.join(f'{key:>14}' for key in found)}")
                head = False
            print(f"{name:36}{library:10}{''.join(f'{value:14.1f}' for value in found.values())}", flush=True)


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the tables."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.scaling", description=__doc__)
    parser.add_argument(
        "--longest", type=int, default=1_000_000, metavar="N", help="nodes of the longest graph (default: %(default)s)"
    )
    parser.add_argument("--json", type=Path, metavar="FILE", help="also write the measurements to FILE")
    parser.add_argument("--measure", help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    if options.measure is not None:
        library, measure, argument = json.loads(options.measure)
        torch = import_module(library)
        if library == "torch":
            torch.set_num_threads(THREADS)
        print(json.dumps(MEASURES[measure](torch, *(() if argument is None else (argument,)))))
        return 0
    libraries = [name for name in ("dualtape", "torch") if find_spec(name) is not None]
    lengths = [n for n in (1_000, 10_000, 100_000, 1_000_000) if n <= options.longest]
    results: dict = {}
    table("graph length: per node", {f"{n} nodes": ("long_chain", n) for n in lengths}, libraries, results)
    table("backward gives memory back as it goes", {"50 saved results of 1 MB": ("release", None)}, libraries, results)
    print("\n(x * 2).tanh().sum() of 1000x1000 numbers and its backward, in a fresh process")
    steps = results["bare step, ms"] = {library: bare_step(library) for library in libraries}
    print("\n".join(f"{'':36}{library:10}{spent:14.1f} ms" for library, spent in steps.items()), flush=True)
    table("peak of a training step", {name: ("training_peak", name) for name in STEPS}, libraries, results)
    if options.json is not None:
        options.json.write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
