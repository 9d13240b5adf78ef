"""Problem 6: a boundary-value problem with thousands of unknowns, by transforms of one function."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

import dualtape as dt
from dualtape.func import jvp, sparse_jacobian, vmap
from dualtape.tour.report import Report

__all__ = ["TITLE", "WHAT", "exact", "residual", "solve", "solved"]

TITLE = "A boundary-value problem with a sparse Jacobian"
WHAT = """
Bratu's equation u'' + k exp(u) = 0 with u(0) = u(1) = 0 describes heat set free in a slab; above k = 3.5138 it
explodes. On a grid it is one equation per point, and each depends on three unknowns. The pattern of the
Jacobian is found, coloured, and filled in three products, however fine the grid is; Newton's method does the rest.
The answer is known in closed form. How the middle responds to k comes from the same function, forward.
"""


def residual(u: Any, k: Any) -> Any:
    """Return what is left of the equation at each inner point."""
    h = 1 / (len(u) + 1)
    left = dt.cat([u.new_zeros(1), u[:-1]])
    right = dt.cat([u[1:], u.new_zeros(1)])
    return (left - 2 * u + right) / h**2 + k * u.exp()


def exact(x: np.ndarray, k: float) -> tuple[np.ndarray, float]:
    """Return the lower solution at ``x``, and how its middle changes with ``k``."""
    theta = 0.0
    for _ in range(200):
        theta = float(np.sqrt(2 * k) * np.cosh(theta / 4))
    u = -2 * np.log(np.cosh((x - 0.5) * theta / 2) / np.cosh(theta / 4))
    s = np.sqrt(2 * k)
    change = np.cosh(theta / 4) / s / (1 - s * np.sinh(theta / 4) / 4)
    return u, float(np.tanh(theta / 4) / 2 * change)


def solved(n: int, k: float) -> tuple[np.ndarray, Any, int]:
    """Return the solution on ``n`` points, the Jacobian there, and the number of Newton steps."""
    from scipy.sparse.linalg import spsolve

    jacobian = sparse_jacobian(lambda u: residual(u, k))
    u, step, count = np.zeros(n), np.ones(n), 0
    while np.abs(step).max() > 1e-9 and count < 20:
        step = spsolve(jacobian(u).tocsc(), residual(dt.from_numpy(u), k).numpy())
        u, count = u - step, count + 1
    return u, jacobian, count


def solve(report: Report, out: Path | None) -> None:
    """Solve on three grids, check the order and the closed form, and differentiate the answer by the constant."""
    from scipy.sparse.linalg import spsolve

    k, rows, errors = 2.0, [], []
    for n in (499, 999, 1999):
        u, jacobian, steps = solved(n, k)
        truth, response = exact(np.linspace(0, 1, n + 2)[1:-1], k)
        errors.append(float(np.abs(u - truth).max()))
        rows.append(
            [str(n), str(jacobian.pattern.nnz), str(jacobian.passes), str(steps), f"{u.max():.9f}", f"{errors[-1]:.2e}"]
        )
    report.table(["unknowns", "entries that are not 0", "products", "Newton steps", "middle", "error"], rows)
    report.check("products for one Jacobian, on every grid", str(jacobian.passes), "must be 3", jacobian.passes == 3)
    report.check(
        "error on one grid / on the next",
        f"{errors[0] / errors[1]:.2f}",
        "order 2: 4",
        3.9 < errors[0] / errors[1] < 4.1,
    )
    report.below("error on the finest grid", errors[-1], 1e-6)

    # The answer as a function of k: the derivative of the residual by k, forward, through the inverse of the Jacobian.
    constant = dt.tensor(k, dtype=dt.float64)
    _, by_k = jvp(lambda c: residual(dt.from_numpy(u), c), (constant,), (dt.ones_like(constant),))
    answer = spsolve(jacobian(u).tocsc(), -by_k.numpy())[n // 2]
    report.figure("change of the middle with k", f"{answer:.8f}")
    report.below("its error against the closed form", abs(answer - response), 1e-5)

    # How good a guess is for many constants at once: one call for the whole batch.
    constants = dt.linspace(0.5, 3.5, 7, dtype=dt.float64)
    sizes = vmap(lambda c: residual(dt.from_numpy(u), c).abs().max())(constants)
    best = float(constants[int(sizes.argmin())])
    report.check("k of the equation it obeys, of seven tried", f"{best:.1f}", "must be 2.0", best == 2.0)
