"""Six problems that need derivatives, each solved from start to end and checked.

One module per problem; each has a `TITLE`, a `WHAT`, and `solve(report, out)`, which prints through the
report and records the figures that must hold. The problems read as programs a user could have written: they
use the public names only.
"""

from __future__ import annotations

import time
from pathlib import Path

from dualtape.tour import bratu, charges, iris, kepler, newton, orbit
from dualtape.tour.report import Report

__all__ = ["run"]

PROBLEMS = (charges, iris, orbit, newton, kepler, bratu)


def run(out: Path | None = None) -> bool:
    """Solve the six problems, print what was found, and write the pictures.

    Parameters
    ----------
    out : pathlib.Path, optional
        The folder for the pictures, made if missing. Without it no picture is written.

    Returns
    -------
    bool
        Whether every figure is what it has to be.
    """
    if out is not None:
        out.mkdir(parents=True, exist_ok=True)
    report = Report()
    report.say("dualtape tour: six problems that need derivatives, with the figures that show they are solved.")
    started = time.perf_counter()
    for number, problem in enumerate(PROBLEMS, 1):
        report.heading(f"{number} of {len(PROBLEMS)}. {problem.TITLE}", problem.WHAT)
        problem.solve(report, out)
        report.verdict()
    return report.close(time.perf_counter() - started)
