"""``python -m benchmarks.compiled_autograd``: backwards of eager graphs by the engine, and as compiled programs."""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Callable
from typing import Any

for _name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(_name, "1")

import dualtape as dt  # noqa: E402 - after the number of threads is set


def chain(size: int, steps: int) -> tuple[Callable[[], Any], list]:
    """Products, hyperbolic tangents and sums, one after another: four nodes a step."""
    x, w = dt.randn(size, size, requires_grad=True), dt.randn(size, size, requires_grad=True)

    def loss() -> Any:
        h = x
        for _ in range(steps):
            h = (h @ w * 0.1).tanh() + h
        return h.sum()

    return loss, [x, w]


def best(loss: Callable[[], Any], leaves: list, count: int) -> float:
    """The least time of a backward, in seconds."""
    times = []
    for _ in range(count):
        for leaf in leaves:
            leaf.grad = None
        value = loss()
        started = time.perf_counter()
        value.backward()
        times.append(time.perf_counter() - started)
    return min(times)


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--count", type=int, default=200, help="backwards for each figure")
    count = options.parse_args().count
    print(f"{'':28}{'engine':>12}{'program':>12}{'ratio':>8}")
    for size, steps in ((1, 60), (10, 60), (100, 60), (10, 500)):
        loss, leaves = chain(size, steps)
        engine = best(loss, leaves, count)
        with dt.compiler.compiled_autograd(fullgraph=True):
            program = best(loss, leaves, count)
        name = f"{4 * steps} nodes, {size}x{size}"
        print(f"{name:28}{engine * 1e6:9.0f} µs{program * 1e6:9.0f} µs{program / engine:8.2f}")


if __name__ == "__main__":
    main()
