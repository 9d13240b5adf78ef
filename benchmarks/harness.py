"""How a workload is measured: results are compared, then times are taken in turns.

Taking turns means that a slow moment of the machine hits all libraries, so their ratio is steadier than any
time. The minimum over turns is the cost of the code; the median says what a user sees.
"""

from __future__ import annotations

import gc
import statistics
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from benchmarks.peers import Peer
from benchmarks.workloads import Step, Workload

__all__ = ["Measurement", "Pace", "compare", "geometric_mean", "measure", "steps_for", "time_steps"]


@dataclass(frozen=True)
class Pace:
    """How long to measure: seconds of a turn, most turns, and what one library may take for a workload in all."""

    turn: float
    turns: int
    seconds: float


@dataclass
class Measurement:
    """What was found for one workload: seconds per step by library, or why there is none."""

    name: str
    kind: str
    minimum: dict[str, float] = field(default_factory=dict)
    median: dict[str, float] = field(default_factory=dict)
    problem: str | None = None

    def ratio(self, peer: str = "torch", which: str = "minimum", of: str = "dualtape") -> float | None:
        """dualtape's time (or another's, ``of``) over a peer's, or None where one of them was not measured."""
        times = getattr(self, which)
        return times[of] / times[peer] if {of, peer} <= times.keys() else None


def arrays(result: Any) -> list[np.ndarray]:
    """The values of a step's result as NumPy arrays."""
    parts = result if isinstance(result, tuple | list) else (result,)
    return [np.array(part.detach().numpy() if hasattr(part, "detach") else part) for part in parts]


def compare(steps: Mapping[str, Step], repeats: int = 3) -> str | None:
    """Run every library's step a few times; return what differs, or None if all results agree.

    More than one run, because a step may change its parameters: the second shows whether that was right.
    """
    for repeat in range(repeats):
        results = {library: arrays(step()) for library, step in steps.items()}
        ours = results["dualtape"]
        for library, found in results.items():
            if len(found) != len(ours):
                return f"{library} gives {len(found)} results, dualtape {len(ours)}"
            for k, (a, b) in enumerate(zip(found, ours, strict=True)):
                if a.shape != b.shape or a.dtype != b.dtype:
                    return f"result {k}: {library} gives {a.dtype}{a.shape}, dualtape {b.dtype}{b.shape}"
                tolerance = 1e-9 if a.dtype == np.float64 else 5e-4
                scale = max(float(np.abs(b).max()), 1.0) if b.size else 1.0
                if not np.allclose(a, b, rtol=tolerance, atol=tolerance * scale):
                    worst = float(np.abs(a - b).max())
                    return f"result {k}, run {repeat}: {library} and dualtape differ by {worst:.1e}"
    return None


def steps_for(program: Workload, peers: Sequence[Peer]) -> dict[str, Step]:
    """The program set up on every peer that has a form of it."""
    steps: dict[str, Step] = {}
    for peer in peers:
        if peer.functional is None:
            step = program.program(peer.library) if peer.wrapped is None else peer.wrapped(program.program)
            if step is not None:
                steps[peer.name] = step
        elif program.functional is not None and (program.traceable or not peer.traces):
            steps[peer.name] = _waiting(program.functional(peer.functional), peer.functional.ready)
    return steps


def _waiting(step: Step, ready: Any) -> Step:
    return lambda: ready(step())


def loops_for(step: Step, seconds: float) -> tuple[int, float]:
    """How often to run a step so that a turn takes about ``seconds``, and the seconds that one step takes."""
    loops = 1
    while True:
        started = time.perf_counter()
        for _ in range(loops):
            step()
        passed = time.perf_counter() - started
        if passed > seconds / 4:
            return max(1, round(loops * seconds / passed)), passed / loops
        loops *= 4


def time_steps(steps: Mapping[str, Step], pace: Pace) -> dict[str, list[float]]:
    """Time the steps in turns; return the seconds per step of every turn, by library."""
    loops: dict[str, int] = {}
    turns: dict[str, int] = {}
    for library, step in steps.items():
        loops[library], one = loops_for(step, pace.turn)
        # dualtape and PyTorch, whose ratio is the question, take the same number of turns; others are there for
        # orientation
        share = 1.0 if library in ("dualtape", "torch") else 0.3
        turns[library] = max(4, min(pace.turns, round(share * pace.seconds / (one * loops[library]))))
    pair = [turns[library] for library in ("dualtape", "torch") if library in turns]
    times: dict[str, list[float]] = {library: [] for library in steps}
    order = list(steps)
    collecting = gc.isenabled()
    gc.collect()
    gc.freeze()  # what the libraries have loaded is looked through once, not at every turn
    gc.disable()
    try:
        for turn in range(max(turns.values())):
            for library in order:
                if turn >= (min(pair) if library in ("dualtape", "torch") else turns[library]):
                    continue
                step, count = steps[library], loops[library]
                started = time.perf_counter()
                for _ in range(count):
                    step()
                times[library].append((time.perf_counter() - started) / count)
            order.reverse()
            # Garbage of one turn is not the next one's cost, and it is collected outside the clock.
            if turn % 5 == 4:
                gc.collect()
    finally:
        gc.unfreeze()
        if collecting:
            gc.enable()
    return times


def measure(program: Workload, peers: Sequence[Peer], pace: Pace) -> Measurement:
    """Set a workload up on every peer, compare the results, and time it."""
    found = Measurement(program.name, program.kind)
    try:
        steps = steps_for(program, peers)
        found.problem = compare(steps)
    except Exception as error:  # a workload that one library cannot run must not end the others
        found.problem = f"{type(error).__name__}: {str(error).splitlines()[0] if str(error) else ''}"
    if found.problem is None:
        for library, times in time_steps(steps, pace).items():
            found.minimum[library] = min(times)
            found.median[library] = statistics.median(times)
    return found


def geometric_mean(values: Iterable[float]) -> float:
    """The mean that suits ratios: twice as fast and half as fast cancel."""
    return float(np.exp(np.mean(np.log(list(values)))))
