"""``dualtape tour``: every figure holds, and the pictures are pictures."""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree
from pathlib import Path

import numpy as np
import pytest

from dualtape import cli
from dualtape.tour import PROBLEMS, bratu, run
from dualtape.tour.report import Report


def test_the_tour_solves_every_problem(capsys: pytest.CaptureFixture, tmp_path: Path) -> None:
    assert run(tmp_path)
    printed = capsys.readouterr().out
    assert all(problem.TITLE in printed for problem in PROBLEMS) and "figures hold" in printed
    pictures = sorted(tmp_path.glob("*.svg"))
    assert len(pictures) == 3
    for picture in pictures:
        assert ElementTree.parse(picture).getroot().tag.endswith("svg")


def test_a_wrong_figure_is_told(capsys: pytest.CaptureFixture) -> None:
    report = Report()
    report.heading("1 of 1. Wrong", "")
    report.below("too large", 2.0, 1.0)
    report.verdict()
    assert not report.close(0.0)


def test_the_command_line(capsys: pytest.CaptureFixture) -> None:
    with pytest.raises(SystemExit) as stopped:
        cli.main(["--help"])
    assert stopped.value.code == 0 and "tour" in capsys.readouterr().out


def test_bratus_closed_form_obeys_the_equation() -> None:
    x = np.linspace(0, 1, 2001)[1:-1]
    u, _ = bratu.exact(x, 1.0)
    import dualtape as dt

    assert float(bratu.residual(dt.from_numpy(u), 1.0).abs().max()) < 1e-5
