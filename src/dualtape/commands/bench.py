"""Speed on this machine: a few small programs, timed. ``make bench`` compares with other libraries."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

import dualtape as dt
from dualtape._progress import steps

_TURNS, _SECONDS = 25, 0.01  # of each program: how many turns, how long one is


def _programs() -> Iterator[tuple[str, Callable[[], Any]]]:
    rng = np.random.default_rng(0)
    x = dt.tensor(rng.standard_normal(3), requires_grad=True)
    large = dt.tensor(rng.standard_normal((300, 300)), requires_grad=True)
    model = dt.nn.Sequential(dt.nn.Linear(32, 64), dt.nn.Tanh(), dt.nn.Linear(64, 10))
    optimizer = dt.optim.SGD(model.parameters(), lr=1e-3)
    batch = dt.tensor(rng.standard_normal((16, 32)), dtype=dt.float32)

    def backward(loss: dt.Tensor) -> None:
        loss.backward()

    def chain() -> None:
        y = x
        for _ in range(100):
            y = y * 1.01
        y.sum().backward()

    def step() -> None:
        optimizer.zero_grad()
        model(batch).square().mean().backward()
        optimizer.step()

    yield "an op: x * x", lambda: x * x
    yield "a gradient: (x * x).sum()", lambda: backward((x * x).sum())
    yield "a chain of 100 ops and its backward", chain
    yield "a training step of a small network", step
    yield "a Hessian of 3 elements", lambda: dt.func.hessian(lambda v: (v * v).tanh().sum())(x.detach())
    yield "vmap of a gradient over 50 rows", lambda: dt.vmap(dt.func.grad(lambda v: v.exp().sum()))(large.detach()[:50])
    yield "a product of 300 x 300 and its backward", lambda: backward((large @ large).sum())


def timed(progress: bool | None = None) -> list[dict[str, Any]]:
    """Return the fastest and the median time of each program, in seconds of a call."""
    programs = list(_programs())
    results = []
    for name, run in steps(programs, "bench", progress, len(programs)):
        begun = time.perf_counter()
        run()
        many = max(1, int(_SECONDS / max(time.perf_counter() - begun, 1e-7)))
        turns = []
        for _ in range(_TURNS):
            begun = time.perf_counter()
            for _ in range(many):
                run()
            turns.append((time.perf_counter() - begun) / many)
        results.append({"name": name, "minimum": min(turns), "median": sorted(turns)[_TURNS // 2]})
    return results


def shown(results: list[dict[str, Any]]) -> str:
    """Return the results as a table."""
    wide = max(len(result["name"]) for result in results)
    lines = [f"{'':{wide}}   fastest    median"]
    for result in results:
        times = "  ".join(f"{1e6 * result[key]:8.1f}" for key in ("minimum", "median"))
        lines.append(f"{result['name']:{wide}}  {times}  µs")
    return "\n".join(lines)
