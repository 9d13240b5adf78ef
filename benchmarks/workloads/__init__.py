"""The programs that are measured, each written once as a function of the library.

A program is called with the library (`dualtape` or `torch`), sets up its inputs, and returns a `step`: a function
without arguments that does the work and returns the tensors to compare. Inputs come from NumPy with a fixed seed,
so that all see the same numbers. A second form, for libraries that differentiate functions, may stand beside it: it
must give the same results.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from typing import Any

import numpy as np

__all__ = ["LARGE", "SMALL", "WORKLOADS", "Step", "Workload", "numbers", "workload"]

Step = Callable[[], Any]

SMALL, LARGE = "small", "large"  # whether a library's overhead decides, or its kernels and its memory traffic
TARGETS = {SMALL: 0.7, LARGE: 1.1}  # of PyTorch eager's time


@dataclass
class Workload:
    """A program with its name, its kind and its forms."""

    name: str
    kind: str
    program: Callable[[Any], Step]
    functional: Callable[[Any], Step] | None = None
    traceable: bool = True  # a compiler that unrolls the program takes a bearable time
    threaded: bool = False  # PyTorch's kernel runs on several threads, and NumPy's on one

    def for_functions(self, function: Callable[[Any], Step]) -> Callable[[Any], Step]:
        """Add the form for libraries that differentiate functions: a decorator."""
        self.functional = function
        return function

    def for_short_functions(self, function: Callable[[Any], Step]) -> Callable[[Any], Step]:
        """The same for a program so long that a compiler which unrolls it takes minutes: JAX is left out."""
        self.traceable = False
        return self.for_functions(function)


WORKLOADS: dict[str, Workload] = {}


def workload(name: str, kind: str = SMALL, threaded: bool = False) -> Callable[[Callable[[Any], Step]], Workload]:
    """Register a program under the name that the table shows."""

    def register(program: Callable[[Any], Step]) -> Workload:
        if name in WORKLOADS:
            raise ValueError(f"workload: the name {name!r} is taken; choose another")
        WORKLOADS[name] = Workload(name, kind, program, threaded=threaded)
        return WORKLOADS[name]

    return register


def numbers(*shape: int, dtype: Any = np.float32, seed: int = 0, scale: float = 1.0) -> np.ndarray:
    """Random numbers that are the same for every library."""
    return (np.random.default_rng(seed).normal(size=shape) * scale).astype(dtype)


for _module in (
    "operations",
    "programs",
    "derivatives",
    "graph_features",
    "networks",
    "modules",
    "large",
    "families",
    "training",
):
    import_module(f"benchmarks.workloads.{_module}")
