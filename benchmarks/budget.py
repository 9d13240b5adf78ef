"""`python -m benchmarks.budget`: where the time of one op goes, forward and backward, and what Python's garbage
collector adds to long graphs.

Each part is a few lines of what dualtape does, timed by themselves; the last line is what remains of the whole.
"""

from __future__ import annotations

import gc
import sys
import time
import timeit
from collections.abc import Callable
from typing import Any

import numpy as np

import dualtape as dt
from benchmarks.workloads import WORKLOADS
from dualtape import modes
from dualtape.autograd.node import Freed, next_sequence
from dualtape.autograd.plan import reach

__all__ = ["backward", "collector", "forward", "main"]

TENSOR = """
out = new(Tensor)
out._array = r
out._edge = out._version_counter = out._view = out._grad = out._grad_accumulator = out._extra = None
out._requires_grad = False
"""
NODE = """
node = new(kind)
node._edges = (edge, None)
node._shape, node._dtype = r.shape, r.dtype
node._extra = None
node._seq = next_sequence()
node._saved = (None, y, None)
out = (node, 0)
"""
CHECKS = """
type(x) is Tensor
mode = current()
a = x._array
dtype = a.dtype
type(y) is Tensor
y._array.dtype is dtype
y._view is None
y._requires_grad
mode.quick
x._view is None
r.dtype is dtype
type(r) is ndarray
"""


def forward(number: int = 20_000) -> dict[str, float]:
    """Nanoseconds of `x * y` on 10x10 numbers, recorded, and of its parts."""
    x, y = dt.ones(10, 10, requires_grad=True) * 1, dt.ones(10, 10)
    names: dict[str, Any] = {
        "x": x,
        "y": y,
        "r": x._array * y._array,
        "edge": x._edge,
        "kind": type((x * y).grad_fn),
        "new": object.__new__,
        "Tensor": dt.Tensor,
        "next_sequence": next_sequence,
        "current": modes.current,
        "ndarray": np.ndarray,
        "multiply": np.multiply,
        "a": x._array,
    }

    def timed(source: str) -> float:
        return min(timeit.repeat(source, globals=names, number=number, repeat=9)) / number * 1e9

    idle = timed("pass")
    parts = {"checks": CHECKS, "np.multiply": "multiply(a, a)", "the tensor": TENSOR, "the node": NODE}
    found = {name: timed(source) - idle for name, source in parts.items()}
    whole = timed("x * y") - idle
    return {**found, "the call, what to keep, branches": whole - sum(found.values()), "together": whole}


def backward(runs: int = 200) -> dict[str, float]:
    """Nanoseconds a node, in a chain of 100 `mul` and 100 `tanh`."""
    start, factor = dt.ones(10, 10, requires_grad=True), dt.ones(10, 10)
    g = np.ones((10, 10), np.float32)

    def chain() -> Any:
        value = start
        for _ in range(100):
            value = (value * factor).tanh()
        return value

    def nodes(value: Any) -> list:
        found, node = [], value.grad_fn
        while node._edges:
            found.append(node)
            node = node._edges[0][0]
        return found

    def timed(prepare: Callable[[], Any], step: Callable[[Any], Any]) -> float:
        best = float("inf")
        for _ in range(runs):
            given = prepare()
            begun = time.perf_counter()
            step(given)
            best = min(best, time.perf_counter() - begun)
        return best / 200 * 1e9

    freed = Freed(None)
    reached = timed(chain, lambda value: reach([value.grad_fn], None))
    kept = timed(lambda: nodes(chain()), lambda found: [node._vjp(g, None, None) for node in found])
    released = timed(lambda: nodes(chain()), lambda found: [node._vjp(g, None, freed) for node in found])
    whole = timed(lambda: chain().sum(), lambda value: value.backward())
    return {
        "finding what is reached": reached,
        "formulas and the unrolled functions around them": kept,
        "releasing what was saved": released - kept,
        "the engine": whole - reached - released,
        "together": whole,
    }


def collector(runs: int = 40) -> dict[str, float]:
    """How many times as long programs take with the garbage collector on, on average: some runs are hit by a full
    collection, most are not.
    """
    found = {}
    for name in (
        "chain of 200 ops 10x10, backward",
        "LSTM of 50 steps, batch 8",
        "orbit, 100 leapfrog steps",
        "ODE, 100 Runge-Kutta steps",
    ):
        step = WORKLOADS[name].program(dt)
        spent = {gc.disable: 0.0, gc.enable: 0.0}
        step()
        for _ in range(runs):
            for switch in spent:  # in turns, so that a slow moment of the machine hits both
                switch()
                begun = time.perf_counter()  # not timeit, which switches the collector off
                step()
                spent[switch] += time.perf_counter() - begun
        found[name] = spent[gc.enable] / spent[gc.disable]
    return found


def main() -> int:
    """Print the three tables."""
    gc.disable()
    for title, parts in (("forward, recorded: x * y", forward()), ("backward, a node of a chain", backward())):
        print(f"{title:52}{'ns':>8}")
        for name, nanoseconds in parts.items():
            print(f"  {name:50}{nanoseconds:8.0f}")
    gc.enable()
    print(f"{'with the garbage collector on':52}{'times':>8}")
    for name, ratio in collector().items():
        print(f"  {name:50}{ratio:8.2f}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
