"""Problem 4: second derivatives by differentiating the gradient, and Newton's method with them."""

from __future__ import annotations

from pathlib import Path

import numpy as np

import dualtape as dt
from dualtape.tour.report import Report

__all__ = ["TITLE", "WHAT", "gradient_and_hessian", "log_loss", "solve"]

TITLE = "Newton's method with a Hessian from double backward"
WHAT = """
Before the last flight of Challenger, 7 of 23 shuttle flights had damaged O-rings. How does the chance of
damage depend on the temperature at launch? Logistic regression is the textbook answer. Its Hessian is the
derivative of the gradient, recorded with create_graph=True; Newton's method then doubles the number of
right digits at each step, and the inverse Hessian gives the standard errors. Coefficients and standard
errors are published: 15.043 (7.379) and -0.2322 (0.1082).
"""

# Temperature in degrees Fahrenheit and whether an O-ring was damaged: Dalal, Fowlkes and Hoadley, "Risk
# analysis of the space shuttle", Journal of the American Statistical Association 84 (1989).
TEMPERATURE = np.array(
    [66, 70, 69, 68, 67, 72, 73, 70, 57, 63, 70, 78, 67, 53, 67, 75, 70, 81, 76, 79, 75, 76, 58],
    dtype=np.float64,
)
DAMAGED = np.array([0, 1, 0, 0, 0, 0, 0, 0, 1, 1, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0, 1, 0, 1], dtype=np.float64)
CENTRE = TEMPERATURE.mean()


def log_loss(coefficients: dt.Tensor) -> dt.Tensor:
    """Return minus the log-likelihood of (value at the mean temperature, slope)."""
    score = coefficients[0] + coefficients[1] * dt.from_numpy(TEMPERATURE - CENTRE)
    return (dt.nn.functional.softplus(score) - dt.from_numpy(DAMAGED) * score).sum()


def gradient_and_hessian(at: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the first derivatives, and the derivatives of each of them."""
    coefficients = dt.tensor(at, requires_grad=True)
    (gradient,) = dt.autograd.grad(log_loss(coefficients), coefficients, create_graph=True)
    rows = [dt.autograd.grad(entry, coefficients, retain_graph=True)[0] for entry in gradient]
    return gradient.detach().numpy(), dt.stack(rows).numpy()


def solve(report: Report, out: Path | None) -> None:
    """Run Newton's method; check its order, and the published coefficients and standard errors."""
    path = [np.zeros(2)]
    slopes = []
    for _ in range(12):
        gradient, hessian = gradient_and_hessian(path[-1])
        slopes.append(float(np.abs(gradient).max()))
        if slopes[-1] < 1e-12:
            break
        path.append(path[-1] - np.linalg.solve(hessian, gradient))
    path = path[: len(slopes)]
    solution = path[-1]
    errors = [float(np.linalg.norm(point - solution)) for point in path[:-1]]
    rows = []
    for count, point in enumerate(path):
        intercept = point[0] - point[1] * CENTRE
        quotient = f"{errors[count] / errors[count - 1] ** 2:.2f}" if 0 < count < len(errors) else ""
        error = f"{errors[count]:.1e}" if count < len(errors) else ""
        rows.append([str(count), f"{intercept:.10f}", f"{point[1]:.12f}", f"{slopes[count]:.1e}", error, quotient])
    report.table(["step", "intercept", "slope", "gradient", "error", "error / last error²"], rows)

    # Quadratic convergence: log(error) doubles. The last error above rounding tells the order.
    clear = [error for error in errors if error > 1e-13]
    order = float(np.log(clear[-1] / clear[-2]) / np.log(clear[-2] / clear[-3]))
    report.check("order of convergence", f"{order:.2f}", "Newton: 2", 1.8 < order < 2.3)
    report.below("largest gradient entry at the solution", slopes[-1], 1e-12)
    intercept = solution[0] - solution[1] * CENTRE
    covariance = np.linalg.inv(hessian)
    to_intercept = np.array([1.0, -CENTRE])
    spread = float(np.sqrt(to_intercept @ covariance @ to_intercept))
    report.published("intercept", intercept, 15.043, 3)
    report.published("slope per degree Fahrenheit", float(solution[1]), -0.2322, 4)
    report.published("standard error of the intercept", spread, 7.379, 3)
    report.published("standard error of the slope", float(np.sqrt(covariance[1, 1])), 0.1082, 4)
    chance = 1 / (1 + np.exp(-(intercept + 31 * solution[1])))
    report.figure("fitted chance of damage at 31 F, that morning", f"{chance:.2%}")
