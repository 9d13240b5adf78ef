"""Problem 1: the gradient of an energy with many interacting terms, against finite differences."""

from __future__ import annotations

from pathlib import Path

import numpy as np

import dualtape as dt
from dualtape import draw
from dualtape.tour.differences import difference_gradient, relative_error
from dualtape.tour.report import Report

__all__ = ["TITLE", "WHAT", "energy", "solve"]

TITLE = "A gradient against finite differences"
WHAT = """
Twelve ions repel each other in an anisotropic trap. Their energy is a sum over 66 pairs plus the trap's
pull, and the forces are minus its gradient. One backward pass gives all 36 force components and the 3
derivatives by the trap's stiffness; finite differences need 4 energies for each of them.
"""

LEFT, RIGHT = np.triu_indices(12, 1)


def energy(positions: dt.Tensor, stiffness: dt.Tensor) -> dt.Tensor:
    """Return the Coulomb energy of all pairs plus the energy in the trap."""
    gap = positions[dt.from_numpy(LEFT)] - positions[dt.from_numpy(RIGHT)]
    distance = (gap * gap).sum(dim=1).sqrt()
    return (1 / distance).sum() + 0.5 * (stiffness * positions * positions).sum()


def solve(report: Report, out: Path | None) -> None:
    """Compare every derivative, check Newton's third law, and draw the graph of the energy."""
    start = np.random.default_rng(7).normal(size=(12, 3))
    trap = np.array([1.0, 1.5, 4.0])
    positions = dt.tensor(start, requires_grad=True)
    stiffness = dt.tensor(trap, requires_grad=True)
    value = energy(positions, stiffness)
    value.backward()
    assert positions.grad is not None and stiffness.grad is not None
    by_position, by_stiffness = positions.grad.numpy(), stiffness.grad.numpy()

    def value_at(where: np.ndarray, springs: np.ndarray) -> float:
        return energy(dt.from_numpy(where), dt.from_numpy(springs)).item()

    report.figure("energy", f"{value.item():.6f}")
    report.figure("largest force component", f"{np.abs(by_position).max():.6f}")
    expected = difference_gradient(lambda x: value_at(x, trap), start)
    report.below("largest relative error, 36 force components", relative_error(by_position, expected), 1e-8)
    expected = difference_gradient(lambda k: value_at(start, k), trap)
    report.below("largest relative error, 3 trap derivatives", relative_error(by_stiffness, expected), 1e-8)
    # Pair forces cancel in the sum, so only the trap's pull is left: an exact check.
    left_over = by_position.sum(axis=0) - trap * start.sum(axis=0)
    report.below("net force between the ions (Newton's third law)", float(np.abs(left_over).max()), 1e-12)
    if out is not None:
        picture = draw.graph_svg(
            energy(positions, stiffness),
            names={"positions": positions, "stiffness": stiffness},
            title="The graph behind the energy of twelve ions in a trap",
        )
        path = out / "graph.svg"
        path.write_text(picture, encoding="utf-8")
        report.picture(path)
