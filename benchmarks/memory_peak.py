"""``python -m benchmarks.memory_peak``: the peak of memory of a training step, beside JAX's and PyTorch's.

Each library runs in a process of its own, on one thread: after a step on a few rows, which loads what that needs,
a step is run until it has settled, then the highest mark of the process is reset, and the step run again. What is shown
is how far that is above what the process held with its parameters and data before the first step; in brackets the
highest mark of the first step, which compiles. Linux only.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from collections.abc import Callable
from typing import Any

for _name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(_name, "1")
os.environ.setdefault("XLA_FLAGS", "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1")

import numpy as np  # noqa: E402

_rng = np.random.default_rng(0)
ROWS, WIDTH, LAYERS = 16384, 512, 6


def _normal(*shape: int) -> np.ndarray:
    return _rng.standard_normal(shape, dtype="f4") * np.float32(0.05)


def mlp(xp: Any, weights: Any, x: Any) -> Any:
    for w in weights:
        x = xp.tanh(x @ w)
    return (x * x).mean()


def norms(xp: Any, weights: Any, x: Any) -> Any:
    for w in weights:
        d = x - x.mean(-1, keepdims=True)
        x = x + xp.tanh(d / xp.sqrt((d * d).mean(-1, keepdims=True) + 1e-5) * w[0] + w[1])
    return (x * x).mean()


def elementwise(xp: Any, weights: Any, x: Any) -> Any:
    for w in weights:
        x = xp.exp(-x * x) * w[0] + xp.sin(x) * w[1]
    return (x * x).mean()


PROGRAMS = {"matrices and tanh": mlp, "normalised rows": norms, "elementwise": elementwise}


def _kilobytes(what: str) -> int:
    with open("/proc/self/status") as status:
        return next(int(line.split()[1]) for line in status if line.startswith(what))


def _dualtape(program: Callable, rows: int, compiled: bool) -> Callable[[], Any]:
    import dualtape as dt

    x, weights = dt.tensor(_normal(rows, WIDTH)), [dt.tensor(_normal(WIDTH, WIDTH)) for _ in range(LAYERS)]

    def step(x: Any, *weights: Any) -> Any:
        slopes, loss = dt.func.grad_and_value(lambda *w: program(np, w, x), argnums=tuple(range(LAYERS)))(*weights)
        return loss, [w - 0.1 * g for w, g in zip(weights, slopes, strict=True)]

    run = dt.compile(step, fullgraph=True) if compiled else step
    return lambda: run(x, *weights)


def _jax(program: Callable, rows: int) -> Callable[[], Any]:
    import jax
    import jax.numpy as jnp

    x, weights = jnp.asarray(_normal(rows, WIDTH)), [jnp.asarray(_normal(WIDTH, WIDTH)) for _ in range(LAYERS)]

    @jax.jit
    def step(x: Any, *weights: Any) -> Any:
        loss, slopes = jax.value_and_grad(lambda *w: program(jnp, w, x), argnums=tuple(range(LAYERS)))(*weights)
        return loss, [w - 0.1 * g for w, g in zip(weights, slopes, strict=True)]

    return lambda: jax.block_until_ready(step(x, *weights))


def _torch(program: Callable, rows: int, compiled: bool) -> Callable[[], Any]:
    import torch

    torch.set_num_threads(1)
    x, weights = torch.tensor(_normal(rows, WIDTH)), [torch.tensor(_normal(WIDTH, WIDTH)) for _ in range(LAYERS)]
    for w in weights:
        w.requires_grad_()

    def forward(x: Any, *weights: Any) -> Any:
        return program(torch, weights, x)

    run = torch.compile(forward) if compiled else forward

    def step() -> Any:
        loss = run(x, *weights)
        slopes = torch.autograd.grad(loss, weights)
        with torch.no_grad():
            return loss, [w - 0.1 * g for w, g in zip(weights, slopes, strict=True)]

    return step


WAYS: dict[str, Callable[[Callable, int], Callable[[], Any]]] = {
    "dualtape compiled": lambda program, rows: _dualtape(program, rows, True),
    "dualtape": lambda program, rows: _dualtape(program, rows, False),
    "JAX jit": _jax,
    "PyTorch compile": lambda program, rows: _torch(program, rows, True),
    "PyTorch": lambda program, rows: _torch(program, rows, False),
}


def _peak(step: Callable[[], Any], times: int) -> int:
    with open("/proc/self/clear_refs", "w") as marks:
        marks.write("5")
    for _ in range(times):
        step()
    return _kilobytes("VmHWM")


def measured(way: str, program: str) -> tuple[float, float]:
    """Megabytes above what the process held before, at the peak of a step that has run before, and of the first."""
    WAYS[way](PROGRAMS[program], 8)()
    step = WAYS[way](PROGRAMS[program], ROWS)
    before = _kilobytes("VmRSS")
    first = _peak(step, 1)
    step()
    return (_peak(step, 2) - before) / 1024, (first - before) / 1024


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--one", nargs=2, metavar=("WAY", "PROGRAM"), help=argparse.SUPPRESS)
    chosen = options.parse_args()
    if chosen.one:
        print(*measured(*chosen.one))
        return 0
    print(f"{'MB':20}" + "".join(f"{way:>20}" for way in WAYS))
    for program in PROGRAMS:
        line = f"{program:20}"
        for way in WAYS:
            command = [sys.executable, "-m", "benchmarks.memory_peak", "--one", way, program]
            done = subprocess.run(command, capture_output=True, text=True)
            shown = "none" if done.returncode else "{:.0f} ({:.0f})".format(*map(float, done.stdout.split()[-2:]))
            line += f"{shown:>20}"
        print(line, flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
