"""``python -m benchmarks.threads [COUNT ...]``: kernels of large arrays shared by threads, beside PyTorch."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np

import dualtape as dt

PROGRAMS: dict[str, Callable[[Any, Any], Any]] = {
    "x.sin() * x.exp(), compiled": lambda L, x: (x.sin() * x.exp()).tanh(),
    "its sum, compiled": lambda L, x: (x.sin() * x.exp()).tanh().sum(),
    "(x * 2 + 1).relu(), compiled": lambda L, x: (x * 2 + 1).relu(),
    "softmax": lambda L, x: L.softmax(x, -1),
    "gelu": lambda L, x: L.nn.functional.gelu(x),
    "silu": lambda L, x: L.nn.functional.silu(x),
    "layer_norm": lambda L, x: L.nn.functional.layer_norm(x, x.shape[-1:]),
}


def best(call: Callable[[], Any], seconds: float = 0.4) -> float:
    """The least time of a call, in milliseconds."""
    for _ in range(6):
        call()
    least, end = np.inf, time.perf_counter() + seconds
    while time.perf_counter() < end:
        started = time.perf_counter()
        call()
        least = min(least, time.perf_counter() - started)
    return least * 1e3


def main(counts: list[int]) -> int:
    """Print a line for each program: times of both, for each number of threads."""
    import torch

    from dualtape.compiler.native import threads

    array = np.random.default_rng(0).standard_normal((2048, 2048)).astype("f4")
    print(f"{'2048 x 2048 numbers':32}" + "".join(f"{f'{n} threads':>14}{'PyTorch':>9}{'ratio':>7}" for n in counts))
    for name, program in PROGRAMS.items():
        line = f"{name:32}"
        ours = dt.compile(program) if "compiled" in name else program
        for count in counts:
            threads.set_threads(count)
            torch.set_num_threads(count)
            x, theirs = dt.tensor(array), torch.tensor(array)
            here, there = best(lambda: ours(dt, x)), best(lambda: program(torch, theirs))  # noqa: B023 - used at once
            line += f"{here:11.2f} ms{there:9.2f}{here / there:7.2f}"
        print(line, flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main([int(word) for word in sys.argv[1:]] or [1, 2]))
