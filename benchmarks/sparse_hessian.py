"""`python -m benchmarks.sparse_hessian`: sparse Hessians and Jacobians, in units of one gradient (or one evaluation).

For each problem and size: the time to detect the pattern, to colour it, the number of products, and the time of one
Hessian with the pattern known, beside that of one gradient. Every result is compared with the derivative written
out by hand; a difference ends the program with status 1.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse

import dualtape as dt
from dualtape.func.sparse import _Plan, hessian_pattern, jacobian_pattern, sparse_hessian, sparse_jacobian


@dataclass
class Problem:
    """A function of one array, its second derivative (or its Jacobian) by hand, and where to take it."""

    name: str
    function: Callable[[Any], Any]
    exact: Callable[[np.ndarray], Any]
    point: Callable[[int], np.ndarray]
    hessian: bool = True


def rosenbrock(x: Any) -> Any:
    return (100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2).sum()


def rosenbrock_hessian(x: np.ndarray) -> Any:
    diagonal = np.zeros(x.size)
    diagonal[1:] += 200
    diagonal[:-1] += 1200 * x[:-1] ** 2 - 400 * x[1:] + 2
    return scipy.sparse.diags_array([-400 * x[:-1], diagonal, -400 * x[:-1]], offsets=[-1, 0, 1])


def arrow(x: Any) -> Any:
    return (x[0] * x[1:] ** 2).sum() + x[0].exp()


def arrow_hessian(x: np.ndarray) -> Any:
    n, rest = x.size, np.arange(1, x.size)
    values = np.concatenate([[np.exp(x[0])], np.full(n - 1, 2 * x[0]), 2 * x[1:], 2 * x[1:]])
    rows, columns = np.concatenate([[0], rest, rest, 0 * rest]), np.concatenate([[0], rest, 0 * rest, rest])
    return scipy.sparse.coo_array((values, (rows, columns)), (n, n))


def poisson(u: Any) -> Any:
    """The residual of -laplace(u) + exp(u) = 1 on a square, zero around it."""
    wide = dt.nn.functional.pad(u, (1, 1, 1, 1))
    return 4 * u - wide[2:, 1:-1] - wide[:-2, 1:-1] - wide[1:-1, 2:] - wide[1:-1, :-2] + u.exp() - 1


def poisson_jacobian(u: np.ndarray) -> Any:
    m = u.shape[0]
    line = scipy.sparse.diags_array([-np.ones(m - 1), 2 * np.ones(m), -np.ones(m - 1)], offsets=[-1, 0, 1])
    eye = scipy.sparse.eye_array(m)
    return (
        scipy.sparse.kron(line, eye)
        + scipy.sparse.kron(eye, line)
        + scipy.sparse.diags_array([np.exp(u.ravel())], offsets=[0])
    )


def vector(n: int) -> np.ndarray:
    return np.random.default_rng(0).standard_normal(n)


def square(n: int) -> np.ndarray:
    m = round(n**0.5)
    return np.random.default_rng(0).standard_normal((m, m))


PROBLEMS = (
    Problem("chained Rosenbrock, Hessian", rosenbrock, rosenbrock_hessian, vector),
    Problem("arrowhead, Hessian", arrow, arrow_hessian, vector),
    Problem("Poisson on a square, Jacobian", poisson, poisson_jacobian, square, hessian=False),
)


def timed(step: Callable[[], Any], repeats: int = 1) -> tuple[float, Any]:
    """The fastest of several runs, and what the last one gave."""
    best, result = float("inf"), None
    for _ in range(repeats):
        started = time.perf_counter()
        result = step()
        best = min(best, time.perf_counter() - started)
    return best, result


def measure(problem: Problem, n: int) -> tuple[str, bool]:
    """A line of the table, and whether the result is right."""
    x = problem.point(n)
    detect, pattern = timed(lambda: (hessian_pattern if problem.hessian else jacobian_pattern)(problem.function)(x))
    colour, _ = timed(lambda: _Plan(pattern, "symmetric" if problem.hessian else None))
    derivative = (sparse_hessian if problem.hessian else sparse_jacobian)(problem.function, pattern=pattern)
    derivative(x)
    whole, found = timed(lambda: derivative(x), 7)

    def unit() -> Any:
        point = dt.tensor(x, requires_grad=True)
        out = problem.function(point)
        return dt.autograd.grad(out, point, None if problem.hessian else dt.ones_like(out))

    unit()
    one, _ = timed(unit, 7)
    expected = problem.exact(x).tocsr()
    error = abs(found - expected).max() / abs(expected).max()
    line = f"{x.size:>9,}{pattern.nnz:>11,}{detect:>10.3f}{colour:>10.3f}{derivative.passes:>9}"
    line += f"{whole * 1e3:>12.2f}{one * 1e3:>12.2f}{whole / one:>8.1f}{error:>10.1e}"
    return line, bool(error < 1e-12)


def modes(n: int) -> str:
    """The time of one product of the Poisson problem's Jacobian in both modes."""
    x = square(n)
    pattern = jacobian_pattern(poisson)(x)
    cells = []
    for mode in ("forward", "reverse"):
        jacobian = sparse_jacobian(poisson, pattern=pattern, mode=mode)
        jacobian(x)
        cells.append(f"{mode} {timed(lambda jacobian=jacobian: jacobian(x), 7)[0] / jacobian.passes * 1e3:.3f} ms")  # type: ignore[misc]
    return f"n {x.size:,}: {', '.join(cells)} for each product"


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; return 1 if a result is wrong."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.sparse_hessian", description=__doc__.splitlines()[0] if __doc__ else ""
    )
    parser.add_argument(
        "--sizes", type=int, nargs="+", default=[1_000, 10_000, 100_000], metavar="N", help="numbers of variables"
    )
    parser.add_argument(
        "--modes",
        action="store_true",
        help="instead: what a product of the Jacobian costs in forward and in reverse mode",
    )
    options = parser.parse_args(arguments)
    hessian_pattern(rosenbrock)(np.ones(3))  # so that imports are not counted
    if options.modes:
        for n in options.sizes:
            print(modes(n), flush=True)
        return 0
    right = True
    for problem in PROBLEMS:
        print(f"\n{problem.name}")
        print(
            f"{'n':>9}{'nonzeros':>11}{'detect s':>10}{'colour s':>10}{'products':>9}{'matrix ms':>12}"
            f"{'gradient ms':>12}{'ratio':>8}{'error':>10}"
        )
        for n in options.sizes:
            line, good = measure(problem, n)
            right = right and good
            print(line, flush=True)
    print(
        "\nratio: the whole matrix, pattern and colours known, over one gradient (of the Jacobian: one evaluation and"
        " one product)"
    )
    return 0 if right else 1


if __name__ == "__main__":
    sys.exit(main())
