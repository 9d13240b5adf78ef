"""The examples run, each in a process of its own, and what they assert about their answers holds."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
EXAMPLES = sorted((ROOT / "examples").glob("*.py"))
ONE_CORE = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "PYTHONWARNINGS": "error"}


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda example: example.stem)
def test_an_example_runs_without_pytorch_and_prints_what_it_found(example, tmp_path):
    (tmp_path / "torch.py").write_text("raise ImportError('an example must not need PyTorch')")
    paths = os.pathsep.join([str(tmp_path), str(ROOT / "src")])
    environment = {**os.environ, **ONE_CORE, "PYTHONPATH": paths}
    run = subprocess.run(
        [sys.executable, example], cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=120
    )
    assert run.returncode == 0, run.stderr
    assert run.stdout.count("\n") >= 2
    assert "assert " in example.read_text()


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda example: example.stem)
def test_an_example_is_short(example):
    assert 40 <= len(example.read_text().splitlines()) <= 110


def test_every_example_is_listed():
    listed = (ROOT / "examples" / "README.md").read_text()
    assert [example.name for example in EXAMPLES if f"({example.name})" not in listed] == []
