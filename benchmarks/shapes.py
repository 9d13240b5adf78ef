"""``python -m benchmarks.shapes``: what a new shape costs a compiled function, beside PyTorch's compile and JAX's jit.

A training step of a small network and attention over sequences, with batches and lengths that change at each call. The
first call, with an empty cache; the mean of the others, each with a shape that has not come before; for comparison, a
call with a shape that has.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable
from typing import Any

os.environ["DUALTAPE_CACHE"] = "0"
for _name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(_name, "1")

import numpy as np  # noqa: E402

import dualtape as dt  # noqa: E402

try:
    import jax
    import jax.numpy as jnp
except ImportError:
    jax = jnp = None  # type: ignore[assignment]
try:
    import torch
except ImportError:
    torch = None  # type: ignore[assignment]

_rng = np.random.default_rng(0)
SIZES = [40, 41, 50, 64, 67, 71, 80, 93, 100, 110, 121, 134]


def _normal(*shape: int) -> np.ndarray:
    return _rng.standard_normal(shape, dtype="f4") * np.float32(0.3)


def network(xp: Any, w: Any, u: Any, x: Any) -> Any:
    h = xp.tanh(x @ w) @ u
    return (h * h).sum() / x.shape[0]


def attention(xp: Any, w: Any, u: Any, x: Any) -> Any:
    q, k = x @ w, x @ u
    a = xp.exp(q @ k.swapaxes(-1, -2) * 0.1)
    return ((a / a.sum(-1, keepdims=True)) @ x).sum() / x.shape[1]


PROGRAMS: dict[str, tuple[Callable, list[np.ndarray], Callable[[int], np.ndarray]]] = {
    "network, batches": (network, [_normal(10, 32), _normal(32, 3)], lambda n: _normal(n, 10)),
    "attention, batches": (attention, [_normal(16, 16), _normal(16, 16)], lambda n: _normal(n, 12, 16)),
    "attention, lengths": (attention, [_normal(16, 16), _normal(16, 16)], lambda n: _normal(4, n, 16)),
}


def ways(program: Callable) -> dict[str, tuple[Callable, Callable, Callable]]:
    """By name: the compiled step, what makes its arguments, what waits for its results."""
    found: dict[str, tuple[Callable, Callable, Callable]] = {}
    step = dt.func.grad_and_value(lambda w, u, x: program(np, w, u, x), argnums=(0, 1))
    found["dualtape"] = (dt.compile(step, fullgraph=True), dt.tensor, lambda r: r)
    if jax is not None:
        grad = jax.value_and_grad(lambda w, u, x: program(jnp, w, u, x), argnums=(0, 1))
        found["JAX jit"] = (jax.jit(grad), jnp.asarray, jax.block_until_ready)
    if torch is not None and "--torch" in sys.argv:
        torch.set_num_threads(1)
        theirs = torch.func.grad_and_value(lambda w, u, x: program(torch, w, u, x), argnums=(0, 1))
        found["PyTorch compile"] = (torch.compile(theirs, dynamic=True), torch.tensor, lambda r: r)
    return found


def main() -> int:
    print(f"{'ms':22}{'':18}{'first call':>12}{'new shape':>12}{'known shape':>12}")
    for name, (program, weights, data) in PROGRAMS.items():
        for who, (step, made, wait) in ways(program).items():
            w, u = map(made, weights)
            times = []
            for n in SIZES:
                x = made(data(n))
                started = time.perf_counter()
                wait(step(w, u, x))
                times.append(time.perf_counter() - started)
            again = []
            for _ in range(200):
                started = time.perf_counter()
                wait(step(w, u, x))
                again.append(time.perf_counter() - started)
            new = sum(times[1:]) / len(times[1:])
            print(f"{name:22}{who:18}{times[0] * 1e3:12.1f}{new * 1e3:12.2f}{min(again) * 1e3:12.3f}", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
