"""``python -m benchmarks.activations``: activations of 512x1000 numbers beside PyTorch, fused and not."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable
from typing import Any

for _name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(_name, "1")

import numpy as np  # noqa: E402

import dualtape as dt  # noqa: E402

NAMES = """sigmoid silu gelu softplus elu mish hardswish leaky_relu logsigmoid relu6 hardsigmoid softmax
log_softmax""".split()


def best(call: Callable, seconds: float = 0.3) -> float:
    """The least time of a call, in microseconds, once kernels are made."""
    for _ in range(6):
        call()
    least, end = np.inf, time.perf_counter() + seconds
    while time.perf_counter() < end:
        started = time.perf_counter()
        call()
        least = min(least, time.perf_counter() - started)
    return least * 1e6


def main() -> int:
    import torch

    torch.set_num_threads(1)
    rng = np.random.default_rng(0)
    array, cotangent = (rng.standard_normal((512, 1000)).astype("f4") for _ in range(2))
    print(f"{'':14}{'torch':>10}{'fused':>8}{'not':>8}     {'and back':>10}{'fused':>8}{'not':>8}")
    for name in NAMES:
        figures: list[float] = []
        for back in (False, True):
            for library, fused in ((torch, True), (dt, True), (dt, False)):
                function: Any = getattr(library.nn.functional, name)
                rest = (-1,) if "softmax" in name else ()
                x = library.tensor(array, requires_grad=back)
                g = library.tensor(cotangent)
                before = dt.compiler.fuse_eager(fused)
                if back:
                    call = lambda: library.autograd.grad(function(x, *rest), x, g)  # noqa: B023 - used at once
                else:
                    call = lambda: function(x, *rest)  # noqa: B023
                figures.append(best(call))
                dt.compiler.fuse_eager(before)
        there, fused_time, plain, there_back, fused_back, plain_back = figures
        print(
            f"{name:14}{there:7.0f} µs{fused_time / there:8.2f}{plain / there:8.2f}"
            f"     {there_back:7.0f} µs{fused_back / there_back:8.2f}{plain_back / there_back:8.2f}",
            flush=True,
        )
    return 0


if __name__ == "__main__":
    sys.exit(main())
