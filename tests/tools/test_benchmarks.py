"""The benchmarks: every program runs and gives what it should; nothing here looks at a clock."""

from __future__ import annotations

import json

import numpy as np
import pytest

import dualtape as dt
from benchmarks import footprint, harness, peers
from benchmarks.__main__ import main, summary
from benchmarks.workloads import LARGE, SMALL, WORKLOADS, Workload

PEERS, _ = peers.find_peers(("torch", "autograd"))
QUICK = harness.Pace(1e-5, 2, 1e-3)
SOME = [name for name, w in WORKLOADS.items() if w.kind == SMALL or w.functional is not None]


@pytest.mark.parametrize("name", SOME)
def test_a_program_gives_the_same_on_every_library(name: str) -> None:
    assert harness.compare(harness.steps_for(WORKLOADS[name], PEERS), repeats=2) is None


def test_large_and_small_ones_are_there() -> None:
    assert {w.kind for w in WORKLOADS.values()} == {SMALL, LARGE}


def test_results_that_differ_are_not_timed() -> None:
    wrong = Workload("wrong", SMALL, lambda torch: lambda: torch.tensor(np.float32(1.0 if torch is dt else 2.0)))
    other = peers.Peer("torch", "0", type("Other", (), {"tensor": staticmethod(dt.tensor)}))
    found = harness.measure(wrong, [PEERS[0], other], QUICK)
    assert found.problem is not None and "differ" in found.problem and not found.minimum


def test_a_program_that_raises_is_a_problem_of_its_own() -> None:
    broken = Workload("broken", SMALL, lambda torch: lambda: 1 / 0)
    assert harness.measure(broken, PEERS[:1], QUICK).problem == "ZeroDivisionError: division by zero"


def test_every_library_takes_turns() -> None:
    calls: list = []
    steps = {"dualtape": lambda: calls.append("dualtape"), "torch": lambda: calls.append("torch")}
    times = harness.time_steps(steps, QUICK)
    assert set(times) == {"dualtape", "torch"} and all(times.values())


def test_the_summary_counts_what_meets_its_target() -> None:
    found = [
        harness.Measurement("a", SMALL, {"dualtape": 1.0, "torch": 2.0}),
        harness.Measurement("b", SMALL, {"dualtape": 2.0, "torch": 1.0}),
    ]
    assert any(
        "geometric mean 1.00 of 2" in line and "1 at most 0.7" in line for line in summary(found, ["dualtape", "torch"])
    )


def test_the_command_writes_json(tmp_path, capsys) -> None:
    target = tmp_path / "found.json"
    assert main(["--quick", "--only", "tanh 1x1, no grad", "--peers", "none", "--json", str(target)]) == 0
    assert "tanh 1x1, no grad" in capsys.readouterr().out
    assert json.loads(target.read_text())["workloads"][0]["minimum"]["dualtape"] > 0


def test_an_unknown_workload_is_refused(capsys) -> None:
    with pytest.raises(SystemExit):
        main(["--only", "no such thing"])
    assert "no workload has 'no such thing'" in capsys.readouterr().err


def test_the_installed_size_leaves_byte_code_out(tmp_path, monkeypatch) -> None:
    package = tmp_path / "small_package"
    package.mkdir()
    (package / "__init__.py").write_text("x = 1\n")
    (package / "__init__.pyc").write_bytes(b"1234")
    monkeypatch.syspath_prepend(tmp_path)
    assert footprint.installed_bytes("small_package") == 6
    assert footprint.installed_bytes("no_such_package") is None


def test_the_budget_adds_up() -> None:
    from benchmarks import budget

    for parts in (budget.forward(number=50), budget.backward(runs=2)):
        assert sum(parts.values()) == pytest.approx(2 * parts["together"])
        assert parts["together"] > 0
