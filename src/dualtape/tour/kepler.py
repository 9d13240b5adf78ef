"""Problem 5: a custom function, differentiated through its equation instead of through its solver."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

import dualtape as dt
from dualtape.tour.report import Report

__all__ = ["TITLE", "WHAT", "Anomaly", "solve"]

TITLE = "A custom function: implicit differentiation of Kepler's equation"
WHAT = """
Where is a planet at a given time? Kepler's equation E - e sin E = M has no closed solution, so the
forward pass of a custom autograd.Function finds E by Newton's method on plain NumPy arrays. Its backward
pass needs no iteration: the equation itself says dE/dM = 1 / (1 - e cos E) and dE/de = sin E / (1 - e cos
E). The backward is made of tensor operations, so it can be differentiated again.
"""


class Anomaly(dt.autograd.Function):
    """The eccentric anomaly E for mean anomalies M and an eccentricity e: the root of E - e sin E = M.

    Examples
    --------
    >>> mean = dt.tensor([1.0], dtype=dt.float64)
    >>> anomaly = Anomaly.apply(mean, dt.tensor(0.5, dtype=dt.float64))
    >>> abs((anomaly - 0.5 * anomaly.sin() - mean).item()) < 1e-14
    True
    """

    @staticmethod
    def forward(ctx: Any, mean: dt.Tensor, eccentricity: dt.Tensor) -> dt.Tensor:
        """Solve the equation for every entry of `mean`."""
        m, e = mean.detach().numpy(), eccentricity.detach().numpy()
        root = m + e * np.sin(m)
        for _ in range(50):
            step = (root - e * np.sin(root) - m) / (1 - e * np.cos(root))
            root = root - step
            if np.abs(step).max() < 1e-15:
                break
        anomaly = dt.from_numpy(root)
        ctx.save_for_backward(eccentricity, anomaly)
        return anomaly

    @staticmethod
    def backward(ctx: Any, gradient: dt.Tensor) -> tuple[dt.Tensor, dt.Tensor]:
        """Return the gradients by `mean` and by `eccentricity`."""
        eccentricity, anomaly = ctx.saved_tensors
        by_mean = gradient / (1 - eccentricity * anomaly.cos())
        return by_mean, (by_mean * anomaly.sin()).sum()


def unrolled(mean: dt.Tensor, eccentricity: dt.Tensor, steps: int = 12) -> dt.Tensor:
    """Solve the equation by Newton's method on tensors: every iteration is recorded."""
    anomaly = mean + eccentricity * mean.sin()
    for _ in range(steps):
        excess = anomaly - eccentricity * anomaly.sin() - mean
        anomaly = anomaly - excess / (1 - eccentricity * anomaly.cos())
    return anomaly


def solve(report: Report, out: Path | None) -> None:
    """Check the function and its derivatives, then use it to find an eccentricity."""
    times = np.linspace(0.3, 5.9, 9)
    mean = dt.tensor(times, requires_grad=True)
    eccentricity = dt.tensor(0.6, dtype=dt.float64, requires_grad=True)
    anomaly = Anomaly.apply(mean, eccentricity)
    residual = anomaly - eccentricity * anomaly.sin() - mean
    report.below("residual of Kepler's equation", float(residual.detach().abs().max()), 1e-14)
    passed = dt.autograd.gradcheck(Anomaly.apply, (mean, eccentricity))
    report.check("gradcheck (first derivatives)", str(passed), "must be True", passed)
    passed = dt.autograd.gradgradcheck(Anomaly.apply, (mean, eccentricity))
    report.check("gradgradcheck (second derivatives)", str(passed), "must be True", passed)
    implicit = dt.autograd.grad(anomaly.sum(), (mean, eccentricity))
    explicit = dt.autograd.grad(unrolled(mean, eccentricity).sum(), (mean, eccentricity))
    worst = max(float((a - b).abs().max()) for a, b in zip(implicit, explicit, strict=True))
    report.below("difference to backward through 12 iterations", worst, 1e-12)

    # Mercury's distance from the Sun at nine moments, in units of the orbit's half axis: which orbit is it?
    truth = 0.205630
    distance = 1 - truth * Anomaly.apply(dt.from_numpy(times), dt.tensor(truth, dtype=dt.float64)).cos()
    guess = 0.6
    for _ in range(20):
        e = dt.tensor(guess, dtype=dt.float64, requires_grad=True)
        excess = 1 - e * Anomaly.apply(dt.from_numpy(times), e).cos() - distance
        slopes = np.array([dt.autograd.grad(entry, e, retain_graph=True)[0].item() for entry in excess])
        step = float(slopes @ excess.detach().numpy() / (slopes @ slopes))
        guess -= step
        if abs(step) < 1e-14:
            break
    report.figure("eccentricity from nine distances (guess: 0.6)", f"{guess:.6f}")
    report.below("error of that eccentricity (Mercury: 0.205630)", guess - truth, 1e-12)
