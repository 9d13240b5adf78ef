"""``python -m benchmarks.optimizers``: derivatives for SciPy's optimizers: eager, compiled, and by differences.

Each derivative is compared with differences before it is timed; a difference ends the program with status 1.
"""

from __future__ import annotations

import sys
import timeit
from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from scipy.optimize import approx_fprime

import dualtape as dt


class Problem(NamedTuple):
    """A function of arrays, the transform that gives what an optimizer wants, and the point."""

    name: str
    function: Callable[[Any], Any]
    transform: Callable[[Callable], Callable]
    point: np.ndarray


def rosenbrock(x: Any) -> Any:
    """Return the sum of the chained Rosenbrock function."""
    return (100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2).sum()


_TIMES = np.linspace(0, 4, 400)


def oscillation(p: Any) -> Any:
    """Return a damped oscillation with five parameters at 400 times."""
    return p[0] * np.exp(-p[1] * _TIMES) * np.cos(p[2] * _TIMES + p[3]) + p[4]


PROBLEMS = (
    Problem("value and gradient, 50 unknowns", rosenbrock, dt.func.value_and_grad, np.linspace(-1, 1, 50)),
    Problem("Jacobian, 400 residuals of 5", oscillation, dt.func.jacfwd, np.array([1.0, 0.5, 3.0, 0.1, 0.2])),
    Problem("Hessian, 50 unknowns", rosenbrock, dt.func.hessian, np.linspace(-1, 1, 50)),
)


def best(function: Callable[[], Any]) -> float:
    """Return the fastest call of several, in microseconds."""
    timer = timeit.Timer(function)
    count, _ = timer.autorange()
    return min(timer.repeat(5, max(1, count // 4))) / max(1, count // 4) * 1e6


def differences(problem: Problem) -> Callable[[], Any]:
    """Return the computation of the same derivative by SciPy's forward differences."""
    if problem.transform is dt.func.hessian:
        gradient = lambda x: approx_fprime(x, rosenbrock, 1e-6)
        return lambda: approx_fprime(problem.point, gradient, 1e-4)
    return lambda: approx_fprime(problem.point, problem.function)


def main() -> int:
    """Print a table; return 1 if a derivative is wrong."""
    print(f"{'us of a call':36}{'eager':>10}{'compiled':>10}{'differences':>13}")
    for problem in PROBLEMS:
        eager = problem.transform(problem.function)
        compiled = dt.compile(eager)
        estimate = differences(problem)
        found = [f(problem.point) for f in (eager, compiled, compiled)]
        parts = [each[1] if isinstance(each, tuple) else each for each in found]
        scale = np.abs(parts[0]).max()
        if not all(np.allclose(part, estimate(), rtol=1e-2, atol=1e-2 * scale) for part in parts):
            print(f"{problem.name}: not what differences give", file=sys.stderr)
            return 1
        times = [best(partial(each, problem.point)) for each in (eager, compiled)]
        print(f"{problem.name:36}{times[0]:10.1f}{times[1]:10.1f}{best(estimate):13.1f}", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
