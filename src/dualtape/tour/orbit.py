"""Problem 3: differentiate through a long simulation, and steer it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

import dualtape as dt
from dualtape import draw
from dualtape.draw.marks import FAINT, INK
from dualtape.tour.differences import difference_gradient, relative_error
from dualtape.tour.report import Report

__all__ = ["TITLE", "WHAT", "fly", "solve"]

TITLE = "Steering an orbit"
WHAT = """
A probe leaves (1, 0) and flies around a star for 4 units of time: 800 leapfrog steps under an
inverse-square pull. Which launch velocity brings it to the target at the end? The derivative of the end
point by the velocity comes from backward() through all the steps, and Newton's method does the rest.
"""

STEPS = 800
TIME = 4.0
START = np.array([1.0, 0.0])
TARGET = np.array([-1.3, 0.8])
LAUNCH = np.array([0.0, 1.0])  # the velocity of the circular orbit: a guess that misses


def pull(position: dt.Tensor) -> dt.Tensor:
    """Return the acceleration towards the star, whose gravity is 1 at distance 1."""
    return -position * (position * position).sum() ** -1.5


def fly(velocity: dt.Tensor, steps: int = STEPS) -> tuple[dt.Tensor, dt.Tensor, list[dt.Tensor]]:
    """Integrate by leapfrog (kick, drift, kick); return the last position and velocity, and the track."""
    position = dt.from_numpy(START)
    step = TIME / steps
    track = [position]
    force = pull(position)
    for _ in range(steps):
        half = velocity + (step / 2) * force
        position = position + step * half
        force = pull(position)
        velocity = half + (step / 2) * force
        track.append(position)
    return position, velocity, track


def miss_and_jacobian(launch: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return end minus target, and its derivative by the launch velocity: one backward pass per row."""
    velocity = dt.tensor(launch, requires_grad=True)
    end, _, _ = fly(velocity)
    rows = [dt.autograd.grad(end[k], velocity, retain_graph=True)[0].numpy() for k in range(2)]
    return end.detach().numpy() - TARGET, np.stack(rows)


def conserved(position: np.ndarray, velocity: np.ndarray) -> np.ndarray:
    """Return energy and angular momentum."""
    energy = 0.5 * velocity @ velocity - 1 / np.sqrt(position @ position)
    return np.array([energy, position[0] * velocity[1] - position[1] * velocity[0]])


def solve(report: Report, out: Path | None) -> None:
    """Check the gradient through the simulation, aim, and check what physics conserves."""

    def squared_miss(launch: np.ndarray) -> float:
        end, _, _ = fly(dt.from_numpy(launch))
        return float(((end.numpy() - TARGET) ** 2).sum())

    launch = LAUNCH
    miss, jacobian = miss_and_jacobian(launch)
    before = float(np.hypot(*miss))
    nodes = count_nodes(fly(dt.tensor(launch, requires_grad=True))[0])
    report.figure("graph", f"{nodes} nodes for {STEPS} steps")
    expected = difference_gradient(squared_miss, launch, step=2e-4)
    error = relative_error(2 * miss @ jacobian, expected)
    report.below("gradient of the squared miss, relative error", error, 1e-8)
    rows = [["0", f"({launch[0]:+.6f}, {launch[1]:+.6f})", f"{before:.2e}"]]
    for count in range(1, 20):
        step = np.linalg.solve(jacobian, miss)
        # Far from the target a full Newton step may overshoot: halve it until the miss shrinks.
        while np.sqrt(squared_miss(launch - step)) >= np.hypot(*miss) > 1e-12:
            step = step / 2
        launch = launch - step
        miss, jacobian = miss_and_jacobian(launch)
        rows.append([str(count), f"({launch[0]:+.6f}, {launch[1]:+.6f})", f"{np.hypot(*miss):.2e}"])
        if np.hypot(*miss) < 1e-12:
            break
    report.table(["Newton step", "launch velocity", "miss distance"], rows)
    report.figure("miss distance before", f"{before:.3f}")
    report.below("miss distance after", float(np.hypot(*miss)), 1e-12)
    with dt.no_grad():
        end, last_velocity, track = fly(dt.from_numpy(launch))
        finer, _, _ = fly(dt.from_numpy(launch), 4 * STEPS)
    drift = conserved(end.numpy(), last_velocity.numpy()) / conserved(START, launch) - 1
    report.below("relative energy drift over the flight", float(drift[0]), 1e-4)
    report.below("relative angular momentum drift", float(drift[1]), 1e-12)
    coarse_miss = float(np.hypot(*(finer.numpy() - TARGET)))
    report.below("miss when flown with a 4 times smaller step", coarse_miss, 1e-3)
    if out is not None:
        path = out / "orbit.svg"
        path.write_text(picture(track, launch), encoding="utf-8")
        report.picture(path)


def count_nodes(tensor: dt.Tensor) -> int:
    """Return the number of nodes in the graph behind a tensor."""
    seen: set[Any] = {tensor.grad_fn}
    stack: list[Any] = [tensor.grad_fn]
    while stack:
        for node, _ in stack.pop().next_functions:
            if node is not None and node not in seen:
                seen.add(node)
                stack.append(node)
    return len(seen)


def picture(track: list[dt.Tensor], launch: np.ndarray) -> str:
    """Draw the first guess and the solution."""
    with dt.no_grad():
        guess = np.stack([position.numpy() for position in fly(dt.from_numpy(LAUNCH))[2]])
    found = np.stack([position.numpy() for position in track])
    title = f"Launch velocity ({launch[0]:.3f}, {launch[1]:.3f}) hits the target"
    plot = draw.Plot(title, "x", "y", (-1.95, 1.55), (-1.3, 1.5), width=680, height=580, legend="lower right")
    plot.line(guess[:, 0], guess[:, 1], FAINT, "first guess", dashed=True)
    plot.line(found[:, 0], found[:, 1], "#2f6fb0", "solution")
    plot.scatter([0.0], [0.0], "#e0a21b", "star", size=9)
    plot.scatter([START[0]], [START[1]], INK, "launch", "square")
    plot.scatter([TARGET[0]], [TARGET[1]], "#c0392b", "target", "cross", size=6)
    return plot.svg()
