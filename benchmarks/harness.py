"""How a workload is measured: results are compared, then times are taken in turns.

Taking turns means that a slow moment of the machine hits both libraries, so their ratio is steadier than
either time. The minimum over turns is the cost of the code; the median says what a user sees.
"""

from __future__ import annotations

import gc
import statistics
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from benchmarks.workloads import Step, Workload

__all__ = ["Measurement", "compare", "measure", "time_steps"]


@dataclass
class Measurement:
    """What was found for one workload: seconds per step by library, or why there is none."""

    name: str
    minimum: dict[str, float] = field(default_factory=dict)
    median: dict[str, float] = field(default_factory=dict)
    problem: str | None = None

    def ratio(self, which: str = "minimum") -> float | None:
        """Return dualtape's time over PyTorch's, or None where one of them was not measured."""
        times = getattr(self, which)
        return times["dualtape"] / times["torch"] if {"dualtape", "torch"} <= times.keys() else None


def arrays(result: Any) -> list[np.ndarray]:
    """Return the values of a step's result as NumPy arrays."""
    parts = result if isinstance(result, tuple | list) else (result,)
    return [part.detach().numpy().copy() for part in parts]


def compare(steps: Mapping[str, Step], repeats: int = 3) -> str | None:
    """Run every library's step a few times; return what differs, or None if all results agree.

    More than one run, because a step may change its parameters: the second shows whether that was right.
    """
    for repeat in range(repeats):
        results = {library: arrays(step()) for library, step in steps.items()}
        expected_library, expected = next(reversed(results.items()))
        for library, found in results.items():
            if len(found) != len(expected):
                return f"{library} gives {len(found)} results, {expected_library} {len(expected)}"
            for k, (a, b) in enumerate(zip(found, expected, strict=True)):
                if a.shape != b.shape or a.dtype != b.dtype:
                    ours, theirs = f"{a.dtype}{a.shape}", f"{b.dtype}{b.shape}"
                    return f"result {k}: {library} gives {ours}, {expected_library} gives {theirs}"
                tolerance = 1e-9 if a.dtype == np.float64 else 2e-4
                scale = max(float(np.abs(b).max()), 1.0) if b.size else 1.0
                if not np.allclose(a, b, rtol=tolerance, atol=tolerance * scale):
                    worst = float(np.abs(a - b).max())
                    return f"result {k}, run {repeat}: {library} and {expected_library} differ by {worst:.1e}"
    return None


def loops_for(step: Step, seconds: float) -> int:
    """Return how often to run a step so that a turn takes about `seconds`."""
    loops = 1
    while True:
        started = time.perf_counter()
        for _ in range(loops):
            step()
        passed = time.perf_counter() - started
        if passed > seconds / 4:
            return max(1, round(loops * seconds / passed))
        loops *= 4


def time_steps(steps: Mapping[str, Step], turns: int, seconds: float) -> dict[str, list[float]]:
    """Time the steps in turns; return the seconds per step of every turn, by library."""
    loops = {library: loops_for(step, seconds) for library, step in steps.items()}
    times: dict[str, list[float]] = {library: [] for library in steps}
    order = list(steps)
    collecting = gc.isenabled()
    gc.collect()
    gc.disable()
    try:
        for _ in range(turns):
            for library in order:
                step, count = steps[library], loops[library]
                started = time.perf_counter()
                for _ in range(count):
                    step()
                times[library].append((time.perf_counter() - started) / count)
            order.reverse()
            # Garbage of one turn is not the next one's cost, and it is collected outside the clock.
            gc.collect()
    finally:
        if collecting:
            gc.enable()
    return times


def measure(
    name: str, program: Workload, libraries: Mapping[str, Any], turns: int, seconds: float
) -> Measurement:
    """Set a workload up on every library, compare the results, and time it."""
    found = Measurement(name)
    try:
        steps = {library: program(module) for library, module in libraries.items()}
        found.problem = compare(steps)
    except Exception as error:  # a workload that one library cannot run must not end the others
        found.problem = f"{type(error).__name__}: {str(error).splitlines()[0] if str(error) else ''}"
    if found.problem is None:
        for library, times in time_steps(steps, turns, seconds).items():
            found.minimum[library] = min(times)
            found.median[library] = statistics.median(times)
    return found


def geometric_mean(values: Iterable[float]) -> float:
    """Return the mean that suits ratios: twice as fast and half as fast cancel."""
    return float(np.exp(np.mean(np.log(list(values)))))
